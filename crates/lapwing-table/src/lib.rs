//! Tables: files as features, labels and graphs, and labels as files.
//!
//! From the bottom up, each uses only what stands above it in this list:
//!
//! | module | what it does |
//! |---|---|
//! | `lines`, `cell` | what cells of text mean, and what a column of them holds |
//! | `format` | what a file is; texts unpacked and in UTF-8 |
//! | `scan` | what is asked of a column, and the rows that answer |
//! | `text` | texts as tables: delimiters, headers, records |
//! | [`read`] | files of any format: tables, arrays, labels, edges, names |
//! | [`prepare`] | columns as features, by a recipe that new rows repeat |
//! | `samples`, `rows` | features from files of any format, whole and in blocks of rows |
//! | [`mod@write`] | labels beside the columns of a table, and graphs |
//!
//! An internal part of lapwing: its items may change in any version. What is stable is what the crate `lapwing` lists.

mod cell;
mod format;
mod lines;
pub mod prepare;
pub mod read;
mod rows;
mod samples;
mod scan;
mod text;
pub mod write;

pub use self::rows::{RowFile, can_stream};
pub use self::samples::{probe, read_label_column, read_samples};
