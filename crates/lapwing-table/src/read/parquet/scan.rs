//! Rows of chosen columns of a table, decoded batch by batch.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use lapwing_core::parallel::*;

use super::Table;
use crate::read::batches::Batches;
use crate::scan::NextRows;
use lapwing_core::{Result, Run};

/// Values of a batch of features, about.
const BATCH_VALUES: usize = 1 << 18;

/// Rows of a batch of at most that many columns.
const MAX_BATCH_ROWS: usize = 1 << 13;

/// Parts of the columns that are decoded at the same time.
const MAX_PARTS: usize = 16;

impl Table {
    /// Starts to read columns from row `row` on. The threads of a run decode parts of the columns at the same time, for which the file is opened
    /// once each.
    pub(in crate::read) fn rows(self: &Arc<Self>, columns: &[usize], mut row: usize) -> Result<NextRows> {
        let (table, n_columns) = (Arc::clone(self), columns.len());
        let batch_rows = (BATCH_VALUES / n_columns.max(1)).clamp(1 << 8, MAX_BATCH_ROWS);
        let n_parts = MAX_PARTS.min(n_columns).max(1);
        let part = |first: usize| columns.iter().copied().skip(first).step_by(n_parts).collect::<Vec<usize>>();
        // Behind the last row there is nothing to open.
        let parts = (0..n_parts).filter(|_| row < self.n_rows);
        let mut parts: Vec<Batches> =
            parts.map(|first| self.batches(&part(first), row, batch_rows)).collect::<Result<_>>()?;
        Ok(Box::new(move |run| {
            if row >= table.n_rows {
                return Ok(None);
            }
            let arrays = next_of(&mut parts, n_columns, run)?.ok_or_else(|| table.rows_error(row))?;
            row += arrays.first().map_or(0, |array| array.len());
            if row > table.n_rows { Err(table.rows_error(row)) } else { Ok(Some(arrays)) }
        }))
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
