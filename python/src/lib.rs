//! Binding between the Python package `lapwing` and the Rust crates: converts, releases the interpreter lock, calls.
//!
//! Estimators, warnings and labels of any type live in Python; here are arrays, numbers and names only.

use pyo3::prelude::*;

mod arrays;
mod baselines;
mod control;
mod error;
mod extension;
mod graph;
mod harmonic;
mod index;
mod lapsvm;
mod learn;
mod low_rank;
mod model;
mod options;
mod solver;
mod sparsify;
mod unfolded;
mod versions;

/// Compiled part of lapwing.
#[pymodule]
mod _lapwing {
    #[pymodule_export]
    use crate::baselines::{fit_eigenfunction, fit_nearest_label, fit_simple_harmonic, fit_subsampling};
    #[pymodule_export]
    use crate::extension::{Eigenfunctions, KernelMachine, Landmarks, extend};
    #[pymodule_export]
    use crate::graph::{check_graph, components, kneighbors, knn_graph, weigh_neighbors};
    #[pymodule_export]
    use crate::harmonic::{apply_rule, check_sizes, decide_by_sizes, fit_classifier, fit_regressor};
    #[pymodule_export]
    use crate::index::NeighborIndex;
    #[pymodule_export]
    use crate::lapsvm::{fit_kernel_classifier, fit_kernel_regressor};
    #[pymodule_export]
    use crate::learn::{learn_graph, learn_weights, single_node_weights};
    #[pymodule_export]
    use crate::low_rank::fit_low_rank;
    #[pymodule_export]
    use crate::model::{load_model, save_model};
    #[pymodule_export]
    use crate::solver::Solver;
    #[pymodule_export]
    use crate::sparsify::{Sparsifier, effective_resistances, sparsify, start_sparsifier};
    #[pymodule_export]
    use crate::unfolded::{Network, fit_network_classifier, fit_network_regressor};
    #[pymodule_export]
    use crate::versions::build_info;
}
