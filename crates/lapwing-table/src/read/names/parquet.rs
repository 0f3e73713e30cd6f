//! Names of rows as a column of a Parquet table.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_cast::cast;
use arrow_schema::DataType;

use crate::read::parquet::{Decode, Table, arrow_error};
use lapwing_core::Result;

/// Columns of text, or of integers as text.
pub(in crate::read) struct Texts(pub Vec<StringArray>);

impl Decode for Texts {
    fn decode(path: &Path, arrays: &[ArrayRef]) -> Result<Self> {
        let texts = arrays.iter().map(|array| texts(path, array));
        texts.collect::<Result<_>>().map(Self)
    }
}

/// The cells of a column as text.
pub(in crate::read) fn texts(path: &Path, array: &ArrayRef) -> Result<StringArray> {
    let array = cast(array, &DataType::Utf8).map_err(|e| arrow_error(path, e))?;
    Ok(array.as_string::<i32>().clone())
}

/// The cell in a row of a column; empty if it is missing.
pub(in crate::read) fn cell(column: &StringArray, row: usize) -> &str {
    if column.is_null(row) { "" } else { column.value(row).trim() }
}

/// Whether cells of column `at` can be names: text or integers.
pub(in crate::read) fn are_names(table: &Table, at: usize) -> bool {
    is_text(table, at) || table.is_integer(at)
}

/// Whether column `at` holds text.
pub(in crate::read) fn is_text(table: &Table, at: usize) -> bool {
    let kind = match &table.types[at] {
        DataType::Dictionary(_, values) => values,
        other => other,
    };
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}
