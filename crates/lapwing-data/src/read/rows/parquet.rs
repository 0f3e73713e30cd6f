//! Rows of a Parquet table, whose footer is read once for all readers.

use std::path::Path;

use arrow_array::types::{Float32Type, Float64Type};

use super::{OpenRows, RowFile, chosen};
use crate::read::ReadOptions;
use crate::read::parquet::{FeatureScan, Table};
use crate::scan::{Centered, Place};
use crate::{Result, RowReader, Run};

/// A table some of whose columns are features.
#[derive(Debug)]
struct ParquetRows {
    table: Table,
    /// Columns that are features.
    features: Vec<usize>,
}

pub(super) fn open(path: &Path, options: &ReadOptions) -> Result<RowFile> {
    let table = Table::open(path)?;
    let features = table.choose(options)?.features;
    let feature_names = Some(features.iter().map(|&at| table.names[at].clone()).collect());
    let (n_rows, n_cols, bytes) = (table.n_rows, features.len(), table.bytes_of(&features));
    let chosen = chosen(features.clone(), table.names.len());
    let rows = Box::new(ParquetRows { table, features });
    Ok(RowFile { path: path.to_owned(), n_rows, n_cols, bytes, is_seekable: true, feature_names, chosen, rows })
}

impl OpenRows for ParquetRows {
    fn reader<'s>(&'s self, place: Place, center: &'s [f32], _: &Run) -> Result<Box<dyn RowReader + 's>> {
        let (columns, row) = (self.features.clone(), place.row);
        Ok(match self.table.are_single(&columns) {
            true => Centered::boxed(FeatureScan::<Float32Type>::new(&self.table, columns, row), place, center),
            false => Centered::boxed(FeatureScan::<Float64Type>::new(&self.table, columns, row), place, center),
        })
    }
}
