//! Writers of labeled tables, at once or in blocks of rows, and of graphs. Every file is written completely or not at
//! all; several files can be published together.

mod columns;
mod csv;
mod graph;
mod kept;
mod labels;
mod npy;
mod sink;
mod table;
#[cfg(test)]
mod tests;
mod writer;

pub use self::columns::{COLUMN_ENDINGS, ColumnTable};
pub use self::graph::{GRAPH_ENDINGS, check_named_graph, stage_matrix, stage_named_graph, write_graph};
pub use self::kept::KeptColumns;
#[cfg(test)]
pub(crate) use self::npy::npy_header;
pub use self::table::{LABEL_ENDINGS, LabelColumns, LabeledRows, ending};
pub use self::writer::LabelWriter;
