//! Tables of typed columns, from any file that holds one.
//!
//! A [`TableFile`] knows the names and kinds of its columns. Its scans yield the rows in order, some thousand at a time, as arrays of
//! five types: numbers, truth values, dates, texts, and vectors. What a source stores otherwise (decimals, dictionaries, times) is
//! converted; cells that do not fit the type asked for are missing, and counted. Formats differ in `source` and in how they are opened
//! (`open`).

mod canonical;
mod file;
mod kind;
mod open;
mod parts;
mod source;

use std::path::Path;

pub use self::file::TableFile;
pub use self::kind::ColumnKind;
pub(crate) use self::parts::parts_of;
use lapwing_core::Error;

/// The error for a table without rows.
pub(crate) fn no_rows(path: &Path) -> Error {
    Error::format(path, None, "no rows after the header")
}
