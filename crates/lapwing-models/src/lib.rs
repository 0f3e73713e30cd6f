//! The methods, which label every row from features or a graph and some labels.
//!
//! Every method implements [`Method`]; [`method()`] finds one by name. [`compare()`] runs several on one data set.
//!
//! An internal part of lapwing: its items may change in any version. What is stable is what the crate `lapwing` lists.

mod auto;
pub mod baselines;
mod calibration;
mod class_mass;
mod class_sizes;
mod classifier;
mod compare;
mod expected;
mod extend;
mod fitting;
#[cfg(test)]
#[path = "../../../tests/golden/reader.rs"]
mod golden;
pub mod harmonic;
mod held_out;
pub mod label_loop;
mod labeling;
pub mod lapsvm;
pub mod low_rank;
mod method;
pub mod metrics;
mod notes;
mod registry;
mod resident;
pub mod split;
mod uncertainty;
pub mod unfolded;
mod venn_abers;

pub use auto::{Auto, AutoParams, Candidates};
pub use class_sizes::{LabelsDrawn, SizeOptions, SizeParams, SizedLabeling, Sizing, SizingParams, WithSizes};
pub use classifier::Classifier;
pub use compare::{CompareParams, CompareRow, Comparison, Failed, Keep, Rival, Unfinished, Winner, compare};
pub use expected::{ClassAccuracy, ExpectedAccuracy, ReliabilityBin, class_accuracy, reliability};
pub use extend::{Extended, Extension, LazyIndex, NeighborExtension};
pub use harmonic::{
    Calibration, Certify, Clamp, ClassPrior, Decision, Form, Harmonic, HarmonicParams, SparseHarmonic,
    SparseHarmonicParams,
};
pub use held_out::{HeldOut, HeldOutSource};
pub use labeling::{Labeling, Rule};
pub use lapsvm::{KernelExtension, LapSvm, LapSvmParams};
pub use low_rank::{LowRank, LowRankExtension, LowRankParams, RowFit};
pub use method::{Fitted, FittedRegression, HeldOutFit, Method, Plan, PlanStep, Problem, ProblemSize};
pub use registry::{METHODS, MethodParams, MethodSpec, Settings, method, method_names};
pub use unfolded::{UnfoldedExtension, UnfoldedGnn, UnfoldedParams};
pub use venn_abers::VennAbers;
