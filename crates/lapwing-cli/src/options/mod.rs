//! Options that several commands share, in the groups that the help shows.

mod choice;
mod data;
mod method;
mod run;
mod sparsify;

pub use data::{DataOptions, LabelOptions, TableOptions};
pub use method::{GraphOptions, HarmonicOptions, method_options};
pub use run::{ProgressStyle, RunOptions};
pub use sparsify::SparsifyOptions;
