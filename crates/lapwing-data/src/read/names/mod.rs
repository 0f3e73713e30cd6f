//! Names of the rows of a table: one of its columns, read alone. Other columns are not decoded.

#[cfg(feature = "tables")]
mod parquet;

use std::path::Path;

#[cfg(feature = "tables")]
pub(super) use self::parquet::{Texts, are_names, cell, is_text};
use super::ReadOptions;
use super::columns::find_name;
use super::csv::no_rows;
use super::format::{Format, is_rereadable, only_once, unknown_ending};
use super::records::Records;
use crate::row_names::Ids;
use crate::{Error, Result, RowNames, Run};

/// Formats that have named columns.
const KNOWN: &str = "a table, since ids are a column of one: .parquet, .csv, .csv.gz or .csv.zst";

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
    match Format::from_path(path) {
        Format::Csv => of_text(path, column, run),
        #[cfg(feature = "tables")]
        Format::Parquet => parquet::read(path, column, run),
        #[cfg(not(feature = "tables"))]
        Format::Parquet => Err(super::format::without_tables(path)),
        _ => Err(unknown_ending(path, KNOWN)),
    }
}

/// The names of all columns of a table; `None` for other files, and for those that can be read only once.
///
/// # Errors
/// [`Error::Format`] for a damaged file, [`Error::Io`].
pub fn column_names(path: &Path) -> Result<Option<Vec<String>>> {
    match Format::from_path(path) {
        _ if !is_rereadable(path) => Ok(None),
        Format::Csv => Ok(Some(Records::open(path)?.names.to_vec())),
        #[cfg(feature = "tables")]
        Format::Parquet => Ok(Some(super::parquet::Table::open(path)?.names)),
        _ => Ok(None),
    }
}

/// The names of samples, if the options name their column. Features are read in a pass of their own.
pub(super) fn of_samples(path: &Path, options: &ReadOptions, run: &Run) -> Result<Option<RowNames>> {
    match options.id {
        None => Ok(None),
        Some(_) if !is_rereadable(path) => Err(only_once(path)),
        Some(_) => read_names(path, options, run).map(Some),
    }
}

/// The error for a file that got other rows while it was read.
pub(super) fn changed(path: &Path) -> Error {
    Error::format(path, None, "the file has changed while it was read (it has another number of rows)")
}

fn of_text(path: &Path, column: &str, run: &Run) -> Result<RowNames> {
    let mut records = Records::open(path)?;
    let at = find_name(path, &records.names, column)?;
    let mut ids = Ids::new(column);
    while records.next(run)? {
        let id = std::str::from_utf8(records.cell(at)).map_err(|_| {
            records.error(format!("the id '{}' in column '{column}' is not UTF-8 text", records.shown(at)))
        })?;
        ids.push(id, Some(records.line()))?;
    }
    if ids.len() == 0 { Err(no_rows(path)) } else { ids.finish(&path.display().to_string()) }
}
