//! What files can hold, by their formats.

use std::path::Path;

use super::table::parts_of;
use crate::format::start::unread;
use crate::format::{Format, is_rereadable};
use lapwing_core::Error;

/// Whether the format of `path` can hold labels in addition to features without naming their column.
pub fn holds_labels(path: &Path) -> bool {
    matches!(Format::from_path(path), Format::Npz | Format::Svmlight)
}

/// Whether the format of `path` can have a named column or array of labels.
pub fn names_labels(path: &Path) -> bool {
    is_table(path) || matches!(Format::from_path(path), Format::Npz | Format::Other)
}

/// Whether `path` is a table of columns that may hold anything: a text, Parquet, Arrow, or a folder of these.
pub fn is_table(path: &Path) -> bool {
    Format::from_path(path).is_table() || is_divided(path)
}

/// Whether `path` is a folder of tables, or a pattern for names of tables.
pub fn is_divided(path: &Path) -> bool {
    parts_of(path).is_ok_and(|parts| parts.is_some())
}

/// Whether `path` is a table that can be read more than once.
pub fn is_rereadable_table(path: &Path) -> bool {
    is_table(path) && is_rereadable(path)
}

/// The error for a file whose format is not among `known`, with what it is.
pub(crate) fn unknown_format(path: &Path, known: &str) -> Error {
    // A folder or a pattern of no tables.
    parts_of(path).err().unwrap_or_else(|| unread(path, known))
}
