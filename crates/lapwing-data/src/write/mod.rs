//! Writers: labeled tables and graphs, each file written whole or not at all.

mod atomic;
mod graph;
mod npy;
#[cfg(feature = "tables")]
mod parquet;
mod table;

pub use self::atomic::{check_writable, write_atomic};
pub use self::graph::{GRAPH_ENDINGS, write_graph};
#[cfg(test)]
pub(crate) use self::npy::npy_header;
pub use self::table::{LABEL_ENDINGS, LabeledRows, write_labels};
