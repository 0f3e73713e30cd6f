//! Options that several commands share, in the groups that the help shows.

mod baselines;
mod choice;
mod data;
mod lapsvm;
mod learn;
mod low_rank;
mod method;
mod names;
mod number;
mod run;
mod scope;
mod sparse_harmonic;
mod sparsify;
mod unfolded;

pub use baselines::BaselineOptions;
pub use data::{DataOptions, LabelOptions, Names, TableOptions};
pub use lapsvm::LapSvmOptions;
pub use learn::LearnOptions;
pub use low_rank::LowRankOptions;
pub use method::{GraphOptions, HarmonicOptions, MethodChoices};
pub use names::{failure_in_words_of, method_by_options};
pub use number::count;
pub use run::{ProgressStyle, RunOptions};
pub use scope::{Given, check_used, check_used_by_graph};
pub use sparse_harmonic::SparseHarmonicOptions;
pub use sparsify::SparsifyOptions;
pub use unfolded::UnfoldedOptions;
