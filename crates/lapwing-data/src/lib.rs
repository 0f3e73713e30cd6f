//! What goes into lapwing and what comes out: feature matrices, labels, readers, writers, the model
//! file, run control (threads, seed, progress, cancellation) and the summary every fit returns.
//!
//! Everything else of the workspace builds on this crate; it knows nothing of graphs or methods.

mod bad_columns;
pub mod communicator;
mod edges;
mod error;
mod generated;
pub mod hash;
mod labels;
mod matrix;
pub mod memory;
pub mod model_file;
pub mod ordered;
pub mod read;
mod report;
mod rows;
mod run;
mod sparse;
mod standardize;
pub mod write;

pub use bad_columns::{BadCells, BadColumn, BadColumns, Fault};
pub use communicator::{Alone, Communicator};
pub use edges::{Edge, EdgeReader, EdgeSlice, EdgeSource};
pub use error::{Error, Result, parse_choice};
pub use generated::GeneratedRows;
pub use labels::{ClassNames, Labels, SparseLabels, Targets, UNLABELED};
pub use matrix::{Buffer, Dense, DenseValues, Features, Matrix};
pub use memory::{available_memory_bytes, check_memory};
pub use report::{GraphSummary, Phase, Report, SolveSummary, peak_memory_bytes};
pub use rows::{RowReader, RowSource, gather, gather_finite};
pub use run::{CancelToken, Progress, Run, Silent, Stream};
pub use sparse::Csr;
pub use standardize::Standardizer;
