//! Writers: labeled tables, at once or in blocks of rows, and graphs; each file written whole or not at all.

mod atomic;
mod csv;
mod encode;
mod graph;
mod npy;
#[cfg(feature = "tables")]
mod parquet;
mod record_file;
mod table;
mod writer;

pub use self::atomic::{AtomicFile, check_writable, write_atomic};
pub use self::graph::{GRAPH_ENDINGS, write_graph};
#[cfg(test)]
pub(crate) use self::npy::npy_header;
pub use self::record_file::RecordFile;
pub use self::table::{LABEL_ENDINGS, LabelColumns, LabeledRows, write_labels};
pub use self::writer::LabelWriter;
