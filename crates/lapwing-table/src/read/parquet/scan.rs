//! Rows of chosen columns of a table, decoded batch by batch.

use std::borrow::Borrow;
use std::ops::Range;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_cast::cast;
use rayon::prelude::*;

use super::{Batches, Table, arrow_error};
use lapwing_core::{Result, Run};

/// Values of a batch of features, about.
const BATCH_VALUES: usize = 1 << 18;

/// Rows of a batch of at most that many columns.
const MAX_BATCH_ROWS: usize = 1 << 13;

/// Columns of a batch as values of the types that a consumer needs.
pub(in crate::read) trait Decode: Sized {
    /// Decodes arrays of equal length.
    fn decode(path: &Path, arrays: &[ArrayRef]) -> Result<Self>;
}

/// Reads columns of a table (owned or borrowed) from any row on.
pub(in crate::read) struct TableScan<T, B> {
    table: T,
    columns: Vec<usize>,
    batch_rows: usize,
    /// The opened file, once for each part of the columns that is decoded at the same time; `None` until rows are needed, so that
    /// skipping rows before costs nothing.
    batches: Option<Vec<Batches>>,
    /// Number of parts.
    n_parts: usize,
    /// The current batch.
    batch: Option<B>,
    /// Number of rows of the batch.
    len: usize,
    /// Next row of the batch.
    at: usize,
    /// Next row of the table.
    row: usize,
}

impl<T: Borrow<Table>, B: Decode> TableScan<T, B> {
    /// Rows of `columns` from `row` on.
    pub(in crate::read) fn new(table: T, columns: Vec<usize>, row: usize) -> Self {
        let batch_rows = (BATCH_VALUES / columns.len().max(1)).clamp(1 << 8, MAX_BATCH_ROWS);
        Self { table, columns, batch_rows, batches: None, n_parts: 1, batch: None, len: 0, at: 0, row }
    }

    /// As [`new`](Self::new), with the columns in parts that the threads of a run decode at the same time.
    pub(in crate::read) fn in_parallel(table: T, columns: Vec<usize>, row: usize, threads: usize) -> Self {
        let n_parts = threads.min(columns.len()).max(1);
        Self { n_parts, ..Self::new(table, columns, row) }
    }

    /// Number of the next row.
    pub(in crate::read) fn row(&self) -> usize {
        self.row
    }

    /// The next rows, at most `most` and at least one: a batch, and the rows of it; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Format`] if the table holds other rows than its footer states.
    pub(in crate::read) fn next(&mut self, most: usize, run: &Run) -> Result<Option<(&B, Range<usize>)>> {
        let table: &Table = self.table.borrow();
        while self.at == self.len && self.row < table.n_rows {
            let batches = match &mut self.batches {
                Some(batches) => batches,
                none => {
                    let parts = (0..self.n_parts).map(|part| part_of(&self.columns, part, self.n_parts));
                    let open = |columns: Vec<usize>| table.batches(&columns, self.row as u64, self.batch_rows);
                    none.insert(parts.map(open).collect::<Result<_>>()?)
                }
            };
            let Some(arrays) = next_of(batches, self.columns.len(), run)? else {
                return Err(table.rows_error(self.row));
            };
            self.len = arrays.first().map_or(0, |array| array.len());
            if self.len > table.n_rows - self.row {
                return Err(table.rows_error(self.row + self.len));
            }
            self.batch = Some(B::decode(&table.path, &arrays)?);
            self.at = 0;
        }
        let start = self.at;
        self.at += most.min(self.len - start);
        self.row += self.at - start;
        Ok(self.batch.as_ref().filter(|_| self.at > start).map(|batch| (batch, start..self.at)))
    }

    /// Skips rows; ends early at the end.
    pub(in crate::read) fn skip(&mut self, n_rows: usize, run: &Run) -> Result<()> {
        let table: &Table = self.table.borrow();
        let end = self.row.saturating_add(n_rows).min(table.n_rows);
        if self.batches.is_none() {
            self.row = end;
        }
        while self.row < end && self.next(end - self.row, run)?.is_some() {}
        Ok(())
    }
}

/// Every `n_parts`-th column from the column `part` on.
fn part_of(columns: &[usize], part: usize, n_parts: usize) -> Vec<usize> {
    columns.iter().copied().skip(part).step_by(n_parts).collect()
}

/// The next rows of all parts, in the order of the columns.
fn next_of(parts: &mut [Batches], n_columns: usize, run: &Run) -> Result<Option<Vec<ArrayRef>>> {
    if let [one] = parts {
        return one.next(run);
    }
    let n_parts = parts.len();
    let decoded: Result<Vec<Option<Vec<ArrayRef>>>> =
        run.install(|| parts.par_iter_mut().map(|part| part.next(run)).collect());
    let Some(decoded) = decoded?.into_iter().collect::<Option<Vec<Vec<ArrayRef>>>>() else { return Ok(None) };
    let array = |at: usize| decoded.get(at % n_parts).and_then(|part| part.get(at / n_parts)).cloned();
    let arrays: Option<Vec<ArrayRef>> = (0..n_columns).map(array).collect();
    // A damaged file may have columns of different lengths.
    Ok(arrays.filter(|arrays| arrays.windows(2).all(|pair| pair[0].len() == pair[1].len())))
}

/// Arrays that the consumer decodes.
impl Decode for Vec<ArrayRef> {
    fn decode(_: &Path, arrays: &[ArrayRef]) -> Result<Self> {
        Ok(arrays.to_vec())
    }
}

/// The values of an array as primitives, nulls as `missing`.
pub(in crate::read) fn primitives<T: ArrowPrimitiveType>(
    path: &Path,
    array: &ArrayRef,
    missing: T::Native,
) -> Result<PrimitiveArray<T>> {
    let array = cast(array, &T::DATA_TYPE).map_err(|e| arrow_error(path, e))?;
    let values = array.as_primitive::<T>();
    Ok(match values.null_count() {
        0 => values.clone(),
        _ => {
            let mut filled = vec![missing; values.len()];
            for (start, end) in values.nulls().into_iter().flat_map(|nulls| nulls.valid_slices()) {
                filled[start..end].copy_from_slice(&values.values()[start..end]);
            }
            PrimitiveArray::new(filled.into(), None)
        }
    })
}
