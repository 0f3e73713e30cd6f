//! Tables: files as features, labels and graphs, and labels as files.
//!
//! | module | what it does |
//! |---|---|
//! | [`read`] | files of any format: tables, arrays, labels, edges, names |
//! | [`prepare`] | columns as features, by a recipe that new rows repeat |
//! | `samples`, `rows` | features from files of any format, whole and in blocks of rows |
//! | [`mod@write`] | labels beside the columns of a table, and graphs |
//!
//! An internal part of lapwing: its items may change in any version. What is stable is what the crate `lapwing` lists.

pub mod prepare;
pub mod read;
mod rows;
mod samples;
pub mod write;

pub use self::rows::{RowFile, can_stream};
pub use self::samples::{probe, read_label_column, read_samples};
