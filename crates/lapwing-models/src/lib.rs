//! The methods, which label every row from features or a graph and some labels.
//!
//! Every method implements [`Method`]; [`method()`] finds one by name. [`compare()`] runs several on one data set.
//!
//! From the bottom up: `core` is what methods share, `maps` are linear maps whose weights are fitted, `methods` are the methods, which
//! never know each other; `choose` and `label_loop` stand above them; `registry` lists all,
//! `classifier` labels new rows, and `fit_rows` fits to rows that are not held.
//!
//! An internal part of lapwing: its items may change in any version. What is stable is what the crate `lapwing` lists.

mod choose;
mod classifier;
mod core;
mod fit_rows;
#[cfg(test)]
#[path = "../../../tests/golden/reader.rs"]
mod golden;
pub mod label_loop;
mod maps;
mod method_params;
mod methods;
mod registry;
#[cfg(test)]
#[path = "../../../tests/testkit/mod.rs"]
mod testkit;

pub use choose::auto::{Auto, AutoParams, Candidates};
pub use choose::compare::{CompareParams, CompareRow, Comparison, Failed, Keep, Rival, Unfinished, Winner, compare};
pub use classifier::{Classifier, KINDS, extension_from_bytes, extension_to_file};
pub use fit_rows::fit_rows;
pub use method_params::MethodParams;
pub use registry::{METHODS, MethodSpec, PUBLISHED, PublishedName, Settings, method, method_names};

pub use self::core::class_prior::ClassPrior;
pub use self::core::class_sizes::{
    LabelsDrawn, SizeOptions, SizeParams, SizedLabeling, Sizing, SizingParams, WithSizes,
};
pub use self::core::expected::{ClassAccuracy, ExpectedAccuracy, ReliabilityBin, class_accuracy, reliability};
pub use self::core::extend::{Extend, Extension, Shape};
pub use self::core::fitted::{Fitted, FittedRegression};
pub use self::core::held_out::{HeldOut, HeldOutSource};
pub use self::core::lazy_index::LazyIndex;
pub use self::core::method::{HeldOutFit, Method};
pub use self::core::neighbors::NeighborExtension;
pub use self::core::plan::{Plan, PlanStep};
pub use self::core::problem::{Problem, ProblemSize};
pub use self::core::row_fit::RowFit;
pub use self::core::rule::{Labeling, Rule};
pub use self::core::sampling::{
    Beside, Draw, RowProblem, Sample, Search, draw_sample, fit_sample, plan_rows, rows_that_fit,
};
pub use self::core::scores::{Extended, RowScores};
pub use self::core::venn_abers::VennAbers;
pub use self::core::{metrics, split};
pub use self::methods::harmonic::{
    Calibration, Certify, Clamp, Decision, Form, Harmonic, HarmonicParams, HarmonicStream, SparseHarmonic,
    SparseHarmonicParams, StreamAnswer, StreamParams,
};
pub use self::methods::lapsvm::{LapSvm, LapSvmParams};
pub use self::methods::low_rank::{LowRank, LowRankParams};
pub use self::methods::unfolded::{UnfoldedGnn, UnfoldedParams};
pub use self::methods::{harmonic, lapsvm, low_rank, unfolded};

/// Simple methods that others are measured against.
pub mod baselines {
    pub use crate::methods::eigenfunction::{Eigenfunction, EigenfunctionParams};
    pub use crate::methods::forest::{Forest, ForestParams};
    pub use crate::methods::linear::{Linear, LinearParams, linear_prior};
    pub use crate::methods::majority::Majority;
    pub use crate::methods::nearest_label::{NearestLabel, NearestLabelParams};
    pub use crate::methods::simple_harmonic::{SimpleHarmonic, SimpleHarmonicParams};
    pub use crate::methods::subsampling::{Subsampling, SubsamplingParams};
}
