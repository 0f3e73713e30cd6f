//! Binding between the Python package `lapwing` and the Rust crates: converts arguments, releases the interpreter lock, calls.
//!
//! Python handles estimators, warnings and labels of any type; this crate handles arrays, numbers and names only.

// Functions of Python take what its callers pass one by one.
#![allow(clippy::too_many_arguments)]

use pyo3::prelude::*;

mod arrays;
mod audit;
mod control;
mod error;
mod fit;
mod graph;
mod index;
mod label_loop;
mod labels;
mod learn;
mod model;
mod parameters;
mod report;
mod sample;
mod scaling;
mod solver;
mod sparsify;
mod stream;
mod table;
mod versions;

/// Compiled part of lapwing.
#[pymodule]
mod _lapwing {
    #[pymodule_export]
    use crate::{
        audit::{HeldAudit, audit, audit_regression},
        fit::{fit_classifier, fit_regressor, fit_rows, plan},
        graph::{HeldGraph, check_graph, components, kneighbors, knn_graph, save_graph, weigh_neighbors},
        index::NeighborIndex,
        label_loop::{Suggester, jackknife_plus, least_labels, leave_one_out_scores, prediction_sets},
        learn::{learn_graph, learn_weights, single_node_weights},
        model::{Model, load_model},
        parameters::{check_parameters, parameters},
        report::{fit_page, map_points},
        sample::{RowDraw, RowSearch},
        scaling::{doubt_scaling, fit_scaling},
        solver::Solver,
        sparsify::{Sparsifier, effective_resistances, sparsify, start_sparsifier},
        stream::{EdgeStream, start_stream},
        table::{apply_recipe, fit_table, recipe_names, usual_labels},
        versions::{build_info, published_name},
    };
}
