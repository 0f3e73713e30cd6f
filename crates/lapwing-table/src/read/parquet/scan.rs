//! Rows of chosen columns of a table, decoded batch by batch.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use rayon::prelude::*;

use super::Table;
use crate::read::batches::Batches;
use lapwing_core::{Result, Run};

/// Values of a batch of features, about.
const BATCH_VALUES: usize = 1 << 18;

/// Rows of a batch of at most that many columns.
const MAX_BATCH_ROWS: usize = 1 << 13;

/// Reads columns of a table from any row on.
pub(in crate::read) struct TableScan {
    table: Arc<Table>,
    n_columns: usize,
    /// The opened file, once for each part of the columns that is decoded at the same time.
    parts: Vec<Batches>,
    /// Next row of the table.
    row: usize,
}

impl TableScan {
    /// Rows of `columns` from `row` on, with the columns in up to `most_parts` parts that the threads of a run decode at the same time.
    pub(in crate::read) fn new(table: Arc<Table>, columns: &[usize], row: usize, most_parts: usize) -> Result<Self> {
        let batch_rows = (BATCH_VALUES / columns.len().max(1)).clamp(1 << 8, MAX_BATCH_ROWS);
        let n_parts = most_parts.min(columns.len()).max(1);
        let part = |first: usize| columns.iter().copied().skip(first).step_by(n_parts).collect::<Vec<usize>>();
        // Behind the last row there is nothing to open.
        let parts = (0..n_parts).filter(|_| row < table.n_rows);
        let parts = parts.map(|first| table.batches(&part(first), row, batch_rows)).collect::<Result<_>>()?;
        Ok(Self { table, n_columns: columns.len(), parts, row })
    }

    /// The next rows, one array for each column; `None` at the end.
    pub(in crate::read) fn next(&mut self, run: &Run) -> Result<Option<Vec<ArrayRef>>> {
        let table = &self.table;
        if self.row >= table.n_rows {
            return Ok(None);
        }
        let Some(arrays) = next_of(&mut self.parts, self.n_columns, run)? else {
            return Err(table.rows_error(self.row));
        };
        let n_rows = arrays.first().map_or(0, |array| array.len());
        if n_rows > table.n_rows - self.row {
            return Err(table.rows_error(self.row + n_rows));
        }
        self.row += n_rows;
        Ok(Some(arrays))
    }
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
