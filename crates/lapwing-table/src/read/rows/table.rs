//! Rows of a table of numbers.

use std::path::Path;

use super::{OpenRows, RowFile, chosen};
use crate::prepare::PreparedRows;
use crate::read::{ReadOptions, TableFile, choose};
use lapwing_core::scan::Place;
use lapwing_core::{Error, Result, RowReader, RowSource, Run};

pub(super) fn open(path: &Path, options: &ReadOptions, run: &Run) -> Result<RowFile> {
    let table = TableFile::open(path, options)?;
    let features = choose(path, table.names(), options)?.features;
    let chosen = chosen(features, table.names().len());
    let rows = PreparedRows::plain(table, options, run)?;
    Ok(RowFile {
        path: path.to_owned(),
        n_rows: rows.n_rows(),
        n_cols: rows.n_cols(),
        bytes: rows.bytes(),
        is_seekable: rows.is_seekable(),
        feature_names: Some(rows.recipe().feature_names()),
        chosen,
        rows: Box::new(rows),
    })
}

impl OpenRows for PreparedRows {
    fn reader<'s>(&'s self, place: Place, center: &'s [f64], run: &Run) -> Result<Box<dyn RowReader + 's>> {
        self.reader_at(place, center, run)
    }

    fn bad_cells(&self, run: &Run) -> Result<Option<Error>> {
        self.plain_error(run)
    }
}
