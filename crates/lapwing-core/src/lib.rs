//! What all parts of lapwing share: feature matrices, labels, graphs as edges, run control (threads, seed, progress, cancellation),
//! parameters by name, errors, the model file, files that are written completely or not at all, and the summary that every fit returns.
//!
//! All other crates of the workspace but `lapwing-simd` depend on this one, and it on that alone.
//!
//! An internal part of lapwing: its items may change in any version. What is stable is what the crate `lapwing` lists.

#[doc(hidden)]
pub mod bad_columns;
#[doc(hidden)]
pub mod bad_names;
pub mod communicator;
mod dense;
mod edges;
mod error;
mod features;
mod generated;
pub mod hash;
#[doc(hidden)]
pub mod labels;
mod lock;
#[doc(hidden)]
pub mod mapped;
mod matrix;
pub mod memory;
pub mod model_file;
pub mod ordered;
pub mod parallel;
pub mod params;
mod progress;
pub mod publish;
mod report;
#[doc(hidden)]
pub mod row_names;
pub mod rows;
mod run;
#[doc(hidden)]
pub mod scaling;
#[doc(hidden)]
pub mod scan;
mod sparse;
#[doc(hidden)]
pub mod spreads;
mod standardize;
#[doc(hidden)]
pub mod text;
mod tfidf;
mod warning;

pub use bad_columns::{BadCells, BadColumn, BadColumns, Fault};
pub use bad_names::BadNames;
pub use communicator::{Alone, Communicator};
pub use dense::{Dense, DenseValues};
pub use edges::{Edge, EdgeReader, EdgeSource};
pub use error::{Error, Result, parse_choice};
pub use features::Features;
pub use generated::GeneratedRows;
pub use labels::{ClassNames, Labels, SparseLabels, Targets, UNLABELED};
pub use lock::lock;
pub use matrix::{Buffer, Matrix};
pub use memory::{available_memory_bytes, check_memory, check_plan};
pub use progress::{Counter, Progress, Silent, fallen};
pub use report::{GraphSummary, Phase, Report, SolveSummary, peak_memory_bytes};
pub use row_names::{Named, RowNames};
pub use rows::{RowReader, RowSource, gather, gather_finite};
pub use run::{CancelToken, Run, Stream};
pub use scaling::{FittedScaling, Scaling, Standardize, TermWeights};
pub use sparse::Csr;
pub use spreads::Spreads;
pub use standardize::Standardizer;
pub use tfidf::Tfidf;
pub use warning::Warning;
