//! Names of the rows of a table: one of its columns, read alone. Other columns are not decoded.

use std::path::Path;

use arrow_array::cast::AsArray;

use super::columns::find_name;
use super::files::unknown_format;
use super::table::no_rows;
use super::{ReadOptions, TableFile};
use crate::cell::CellType;
use crate::format::{is_rereadable, only_once};
use crate::scan::Ask;
use lapwing_core::row_names::Ids;
use lapwing_core::{Error, Result, RowNames, Run};

/// Formats that have named columns.
const KNOWN: &str = "a table, since ids are a column of one: .parquet, .arrow, .jsonl, .csv, .csv.gz or .csv.zst";

/// Reads the names of the rows of a table: the cells of the column `id` of `options`, without spaces around them.
///
/// # Errors
/// [`Error::Names`] for ids that are empty or not all different, which are counted, and the first few shown;
/// [`Error::Param`] if no id column is named; [`Error::Format`] for files that are no tables, an unknown column, and values
/// that are neither text nor integers; [`Error::Io`], [`Error::Interrupted`].
///
/// # Complexity
/// One pass over the text, or over that column of a Parquet file; about 20 bytes for each row besides the bytes of its name.
pub fn read_names(path: &Path, options: &ReadOptions, run: &Run) -> Result<RowNames> {
    let Some(column) = &options.id else {
        return Err(Error::param("id column", "not given", "the name of a column"));
    };
    if !super::is_table(path) {
        return Err(unknown_format(path, KNOWN));
    }
    if !super::is_rereadable_table(path) {
        return Err(only_once(path));
    }
    let table = TableFile::open(path, options)?;
    let at = find_name(path, table.names(), column)?;
    if !table.has_names(at) {
        let reason = format!("column '{column}' holds {}; ids are integers or text", table.stored_type(at));
        return Err(Error::format(path, None, reason));
    }
    let mut ids = Ids::new(column);
    let mut rows = table.scan_from(0, &[], &[Ask::new(at, CellType::Label)], true)?;
    while let Some(arrays) = rows.next(run)? {
        let texts = arrays.iter().filter_map(|array| array.as_string_opt::<i32>()).flat_map(|texts| texts.iter());
        for (place, text) in texts.enumerate() {
            ids.push(text.unwrap_or_default(), rows.lines().get(place).copied())?;
        }
    }
    if ids.len() == 0 { Err(no_rows(path)) } else { ids.finish(&path.display().to_string()) }
}

/// The names of all columns of a table; `None` for other files, and for those that can be read only once.
///
/// # Errors
/// [`Error::Format`] for a damaged file, [`Error::Io`].
pub fn column_names(path: &Path) -> Result<Option<Vec<String>>> {
    let is_readable = super::is_rereadable_table(path);
    let open = || TableFile::open(path, &ReadOptions::default());
    Ok(is_readable.then(open).transpose()?.map(|table| table.names().to_vec()))
}

/// The names of samples, if the options name their column. Features are read in a pass of their own.
pub(crate) fn of_samples(path: &Path, options: &ReadOptions, run: &Run) -> Result<Option<RowNames>> {
    match options.id {
        None => Ok(None),
        Some(_) if !is_rereadable(path) => Err(only_once(path)),
        Some(_) => read_names(path, options, run).map(Some),
    }
}

/// The error for a file that got other rows while it was read.
pub(crate) fn changed(path: &Path) -> Error {
    Error::format(path, None, "the file has changed while it was read (it has another number of rows)")
}
