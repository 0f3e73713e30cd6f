//! Readers: features with or without labels, labels alone, graphs, rows and edges in blocks.
//!
//! The contents determine the format, and the ending of the file name where they leave it open. Arrays (`.npy`) are memory-mapped if their
//! layout allows it, tables are read into one row-major buffer, sparse files stay sparse.
//!
//! Each format has one scan that yields batches of typed values: `npy::NpyReader` and `npy::ArrayScan` for arrays,
//! `table::TableFile::scan` for tables of any format. Samples, streamed rows, labels and edges are made of these. No length that a file states
//! is trusted before it is compared with the bytes of the file; a damaged file gives an error, never a panic.

pub(crate) mod array;
mod batches;
pub(crate) mod columns;
mod edges;
mod fields;
pub(crate) mod files;
mod fingerprint;
mod graph;
mod ipc;
pub(crate) mod labels;
mod list;
pub(crate) mod names;
mod npy;
pub(crate) mod npz;
mod options;
pub(crate) mod origin;
mod parquet;
mod roles;
mod sheet;
pub(crate) mod svmlight;
pub(crate) mod table;

pub(crate) use self::columns::{by_name as choose, find_name, make_distinct};
pub use self::edges::{EdgeFile, EdgeOptions};
pub use self::fields::{join_columns, shell_word, split_columns};
pub use self::files::{holds_labels, is_divided, is_rereadable_table, is_table, names_labels};
pub(crate) use self::fingerprint::fingerprint;
pub use self::graph::{NamedGraph, NodeOptions, read_graph, read_named_graph};
pub use self::labels::{LabelFileOptions, NamedLabels, each_line, read_label_file, read_labels, read_sparse_labels};
pub use self::names::{column_names, read_names};
pub use self::options::{ReadAs, ReadOptions};
pub use self::origin::{Samples, Size};
pub use self::table::{ColumnKind, TableFile};
pub use crate::text::{Dialect, Doubt, Separator};
