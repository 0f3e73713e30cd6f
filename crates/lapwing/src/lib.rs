//! Labels for millions of rows from a handful of labeled ones: large-scale graph-based semi-supervised learning.
//!
//! Two interleaved half circles, one label each, and every other row finds its own:
//!
//! ```
//! use lapwing::prelude::*;
//!
//! let moon = |row: usize| {
//!     let (y, x) = (row as f32 / 400.0 * std::f32::consts::PI).sin_cos();
//!     if row % 2 == 0 { [x, y] } else { [1.0 - x, 0.5 - y] }
//! };
//! let features = Features::from_f32(400, 2, (0..400).flat_map(moon).collect())?;
//! let mut given = vec![None; 400];
//! (given[0], given[1]) = (Some(0), Some(1));
//! let targets = Targets::one_hot(&Labels::from_integers(given), None)?;
//! let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
//! let fitted = method("harmonic", &MethodParams::default())?.fit(&problem, &Run::new(None, 0)?)?;
//! let right = (0..400).filter(|&row| fitted.labeling.labels[row] == row as u32 % 2).count();
//! assert_eq!(right, 400);
//! # Ok::<(), lapwing::Error>(())
//! ```
//!
//! The parts, each a module: [`data`] (matrices, labels, files, run control), [`solve`] (Laplacian systems), [`graph`]
//! (nearest neighbors, affinity graphs), [`models`] (the methods). What is used together stands in [`prelude`].

pub use lapwing_data as data;
pub use lapwing_data::{Error, Result};
pub use lapwing_graph as graph;
pub use lapwing_models as models;
pub use lapwing_solve as solve;

/// What a program that labels rows needs.
pub mod prelude {
    pub use lapwing_data::{CancelToken, Features, Labels, Matrix, Report, Run, Targets};
    pub use lapwing_graph::{AffinityGraph, Graph, GraphParams, affinity_graph};
    pub use lapwing_models::{
        Fitted, Harmonic, HarmonicParams, Labeling, Method, MethodParams, Model, Problem, method,
    };
}

/// The Rust examples of the pages compile.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/guide.md")]
    struct Guide;
    #[doc = include_str!("../../../docs/methods/graph-learning.md")]
    struct GraphLearning;
    #[doc = include_str!("../../../docs/methods/lapsvm.md")]
    struct LapSvm;
    #[doc = include_str!("../../../docs/methods/low-rank.md")]
    struct LowRank;
    #[doc = include_str!("../../../docs/methods/unfolded-gnn.md")]
    struct UnfoldedGnn;
}
