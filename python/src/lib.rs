//! Binding between the Python package `lapwing` and the Rust crates: converts, releases the interpreter lock, calls.
//!
//! Estimators, warnings and labels of any type live in Python; here are arrays, numbers and names only.

use pyo3::prelude::*;

mod arrays;
mod control;
mod error;
mod extension;
mod fit;
mod graph;
mod index;
mod learn;
mod model;
mod parameters;
mod rule;
mod solver;
mod sparsify;
mod unfolded;
mod versions;

/// Compiled part of lapwing.
#[pymodule]
mod _lapwing {
    #[pymodule_export]
    use crate::extension::{Eigenfunctions, KernelMachine, Landmarks, extend};
    #[pymodule_export]
    use crate::fit::{fit_classifier, fit_regressor};
    #[pymodule_export]
    use crate::graph::{check_graph, components, kneighbors, knn_graph, weigh_neighbors};
    #[pymodule_export]
    use crate::index::NeighborIndex;
    #[pymodule_export]
    use crate::learn::{learn_graph, learn_weights, single_node_weights};
    #[pymodule_export]
    use crate::model::{load_model, save_model};
    #[pymodule_export]
    use crate::parameters::{check_parameters, parameters};
    #[pymodule_export]
    use crate::rule::apply_rule;
    #[pymodule_export]
    use crate::solver::Solver;
    #[pymodule_export]
    use crate::sparsify::{Sparsifier, effective_resistances, sparsify, start_sparsifier};
    #[pymodule_export]
    use crate::unfolded::Network;
    #[pymodule_export]
    use crate::versions::build_info;
}
