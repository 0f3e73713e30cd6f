//! Rows of a Parquet table, whose footer is read once for all readers.

use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, Float32Array, Float64Array, PrimitiveArray};
use arrow_cast::cast;

use super::{Place, are_all};
use crate::read::ReadOptions;
use crate::read::parquet::{Batches, Table, arrow_error};
use crate::{Error, Result, RowReader, Run};

/// Values of a batch, about.
const BATCH_VALUES: usize = 1 << 18;

/// Values written row by row while they stay in a processor's cache.
const TILE_VALUES: usize = 1 << 14;

/// A table of which some columns are features.
#[derive(Debug)]
pub(super) struct ParquetRows {
    path: PathBuf,
    table: Table,
    pub n_rows: usize,
    /// Columns that are features.
    features: Vec<usize>,
    pub feature_names: Vec<String>,
    /// Bytes of these in the file.
    pub bytes: u64,
}

impl ParquetRows {
    pub(super) fn open(path: &Path, options: &ReadOptions) -> Result<Self> {
        let table = Table::open(path)?;
        let features = table.choose(options)?.features;
        let feature_names = features.iter().map(|&at| table.names[at].clone()).collect();
        let n_rows = table.checked_rows()?;
        let bytes = table.bytes_of(&features);
        Ok(Self { path: path.to_owned(), table, n_rows, features, feature_names, bytes })
    }

    pub(super) fn chosen(&self) -> Option<&[usize]> {
        (!are_all(&self.features, self.table.names.len())).then_some(&self.features)
    }

    pub(super) fn reader<'s>(&'s self, place: Place, shift: &'s [f32]) -> Result<Box<dyn RowReader + 's>> {
        let is_at_end = place.row == self.n_rows;
        let start = || self.table.batches(&self.features, place.row as u64, self.batch_rows());
        let batches = (!is_at_end).then(start).transpose()?;
        Ok(Box::new(Reader { rows: self, batches, columns: Vec::new(), at: 0, shift, place }))
    }

    /// Rows of a batch.
    fn batch_rows(&self) -> usize {
        (BATCH_VALUES / self.features.len().max(1)).clamp(1 << 8, 1 << 13)
    }
}

/// Batches that are decoded to pass over their rows; the pages that another start reads hold about as many.
const SKIPPED_BATCHES: usize = 16;

/// Values of a feature in some rows.
enum Column {
    Single(Float32Array),
    Double(Float64Array),
}

impl Column {
    /// In single precision where that keeps every value.
    fn new(path: &Path, array: &ArrayRef, is_single: bool) -> Result<Self> {
        match is_single {
            true => floats::<Float32Type>(path, array).map(Self::Single),
            false => floats::<Float64Type>(path, array).map(Self::Double),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Single(values) => values.len(),
            Self::Double(values) => values.len(),
        }
    }

    /// Writes the values from `first` on, less `shift`, into `cells`; missing ones as NaN.
    fn copy<'c>(&self, first: usize, shift: f32, cells: impl Iterator<Item = &'c mut f32>) {
        match self {
            Self::Single(array) => copy_column(array, first, cells, |x| x - shift),
            Self::Double(array) => copy_column(array, first, cells, |x| (x - f64::from(shift)) as f32),
        }
    }
}

fn floats<T: ArrowPrimitiveType>(path: &Path, array: &ArrayRef) -> Result<PrimitiveArray<T>> {
    let array = cast(array, &T::DATA_TYPE).map_err(|e| arrow_error(path, e))?;
    Ok(array.as_primitive::<T>().clone())
}

fn copy_column<'c, T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    first: usize,
    cells: impl Iterator<Item = &'c mut f32>,
    less: impl Fn(T::Native) -> f32,
) {
    let values = &array.values()[first..];
    match array.nulls() {
        None => cells.zip(values).for_each(|(cell, &value)| *cell = less(value)),
        Some(nulls) => cells.zip(values).enumerate().for_each(|(at, (cell, &value))| {
            *cell = if nulls.is_valid(first + at) { less(value) } else { f32::NAN };
        }),
    }
}

struct Reader<'s> {
    rows: &'s ParquetRows,
    batches: Option<Batches>,
    /// Rows that are decoded, column by column; those from `at` on are to be handed on.
    columns: Vec<Column>,
    at: usize,
    shift: &'s [f32],
    place: Place,
}

impl Reader<'_> {
    /// Number of rows that are decoded and not handed on.
    fn ready(&self) -> usize {
        self.columns.iter().map(Column::len).min().map_or(0, |len| len - self.at)
    }

    /// Decodes until there are rows.
    fn refill(&mut self, run: &Run) -> Result<()> {
        while self.ready() == 0 {
            let next = self.batches.as_mut().map_or(Ok(None), |batches| batches.next(run))?;
            let Some(arrays) = next else { return Err(self.ends_early()) };
            let column = |(array, &at)| Column::new(&self.rows.path, array, self.rows.table.is_single(at));
            self.columns = arrays.iter().zip(&self.rows.features).map(column).collect::<Result<_>>()?;
            self.at = 0;
        }
        Ok(())
    }

    fn ends_early(&self) -> Error {
        let reason = format!("the file is damaged (it states {} rows and holds fewer)", self.rows.n_rows);
        Error::format(&self.rows.path, None, reason)
    }
}

impl RowReader for Reader<'_> {
    fn read(&mut self, mut out: &mut [f32], run: &Run) -> Result<()> {
        let mut left = self.place.advance(out.len())?;
        let n_cols = self.place.n_cols;
        let tile_rows = (TILE_VALUES / n_cols).max(1);
        while left > 0 {
            self.refill(run)?;
            let rows = left.min(self.ready()).min(tile_rows);
            let (tile, rest) = std::mem::take(&mut out).split_at_mut(rows * n_cols);
            for (at, column) in self.columns.iter().enumerate() {
                let shift = self.shift.get(at).copied().unwrap_or(0.0);
                column.copy(self.at, shift, tile[at..].iter_mut().step_by(n_cols));
            }
            (self.at, left, out) = (self.at + rows, left - rows, rest);
        }
        Ok(())
    }

    /// Within the rows that are decoded, and on to those of the next few batches: to open the file anew decodes as much.
    fn skip(&mut self, n_rows: usize, run: &Run) -> Result<bool> {
        if n_rows > self.ready() + SKIPPED_BATCHES * self.rows.batch_rows() || !self.place.skip(n_rows) {
            return Ok(false);
        }
        let mut left = n_rows;
        while left > 0 {
            let rows = left.min(self.ready());
            (self.at, left) = (self.at + rows, left - rows);
            if left > 0 {
                self.refill(run)?;
            }
        }
        Ok(true)
    }
}
