//! Parameters of neighbor searches, of affinity graphs and of learned weights.

mod graph;
mod learn;
mod search;

pub use graph::{GraphParams, SELF_TUNING_BANDWIDTH, Symmetrize, Weighting};
pub use learn::{LearnModel, LearnParams, LearnSolver, SparsityMean};
pub use search::{KnnMethod, KnnParams, Metric, ZeroRows};
