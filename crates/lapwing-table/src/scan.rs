//! Rows of a table in order: what is asked for of each column, and what a reader of any format yields.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef};

use crate::cell::{CellType, Tally};
use lapwing_core::{Result, Run};

/// How a column of a table is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    /// Its place in the table.
    pub column: usize,
    /// What its values are, and how they are written where its cells are texts.
    pub cells: CellType,
    /// The number that stands for no number.
    pub sentinel: Option<f64>,
}

impl Ask {
    pub(crate) fn new(column: usize, cells: CellType) -> Self {
        Self { column, cells, sentinel: None }
    }
}

/// Where a block of a text starts, so that a later scan can start there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowMark {
    pub byte: u64,
    pub row: usize,
    /// Lines before it.
    pub lines: u64,
}

/// Rows of some columns in order, as values of the types that were asked for. What only texts have is nothing elsewhere.
pub(crate) trait Rows: Send {
    /// The next rows, one array for each column; `None` at the end.
    fn next(&mut self, run: &Run) -> Result<Option<Vec<ArrayRef>>>;

    /// Counts of the cells read so far, in the order of the columns.
    fn tallies(&self) -> &[Tally];

    /// Number of rows before the next one.
    fn n_rows(&self) -> usize;

    /// What was passed over among the rows of a text, in words.
    fn passed(&self) -> Vec<String> {
        Vec::new()
    }

    /// The lines of the last rows of a text, if they were wanted.
    fn lines(&self) -> &[u64] {
        &[]
    }

    /// The rows of a text at which reading can start, of those read so far; they are taken out.
    fn take_marks(&mut self) -> Vec<RowMark> {
        Vec::new()
    }

    /// Bytes of text read so far.
    fn n_bytes(&self) -> u64 {
        0
    }
}

/// Yields the next rows of some columns, one array for each column; `None` at the end.
pub(crate) type NextRows = Box<dyn FnMut(&Run) -> Result<Option<Vec<ArrayRef>>> + Send>;

/// Reads the rows of a table in order.
pub(crate) struct TableRows {
    rows: Box<dyn Rows>,
    /// Of each column, the number that stands for no number.
    sentinels: Vec<Option<f64>>,
}

impl TableRows {
    pub(crate) fn new(rows: impl Rows + 'static, asks: &[Ask]) -> Self {
        Self { rows: Box::new(rows), sentinels: asks.iter().map(|ask| ask.sentinel).collect() }
    }

    /// The next rows, one array for each column; `None` at the end.
    pub(crate) fn next(&mut self, run: &Run) -> Result<Option<Vec<ArrayRef>>> {
        let Some(mut arrays) = self.rows.next(run)? else { return Ok(None) };
        for (array, sentinel) in arrays.iter_mut().zip(&self.sentinels) {
            if let Some(sentinel) = sentinel {
                *array = without(array, *sentinel);
            }
        }
        Ok(Some(arrays))
    }

    /// Calls `take` with the rows that are left, batch by batch, and the bytes of text read so far, while the next rows are read. Stops early
    /// if `goes_on`, given the number of rows read so far, is false.
    pub(crate) fn each(
        &mut self,
        goes_on: impl Fn(usize) -> bool,
        mut take: impl FnMut(Vec<ArrayRef>, u64) -> Result<()> + Send,
        run: &Run,
    ) -> Result<()> {
        let mut current = self.next(run)?;
        while let Some(arrays) = current {
            let (goes_on, n_bytes) = (goes_on(self.n_rows()), self.n_bytes());
            let read = || if goes_on { self.next(run) } else { Ok(None) };
            let (taken, next) = run.install(|| rayon::join(|| take(arrays, n_bytes), read));
            taken?;
            current = next?;
        }
        Ok(())
    }
}

impl Deref for TableRows {
    type Target = dyn Rows;

    fn deref(&self) -> &Self::Target {
        &*self.rows
    }
}

impl DerefMut for TableRows {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.rows
    }
}

/// Numbers, NaN in the place of those that stand for none.
fn without(array: &ArrayRef, sentinel: f64) -> ArrayRef {
    if let Some(doubles) = array.as_primitive_opt::<Float64Type>() {
        return Arc::new(doubles.unary::<_, Float64Type>(|x| if x == sentinel { f64::NAN } else { x }));
    }
    match array.as_primitive_opt::<Float32Type>() {
        Some(singles) => {
            Arc::new(singles.unary::<_, Float32Type>(|x| if f64::from(x) == sentinel { f32::NAN } else { x }))
        }
        None => Arc::clone(array),
    }
}

/// Takes the first `n` rows of a batch, which keeps the others.
pub(crate) fn take_rows(batch: &mut Vec<ArrayRef>, n: usize) -> Vec<ArrayRef> {
    let rest = batch.iter().map(|array| array.slice(n, array.len() - n)).collect();
    std::mem::replace(batch, rest).iter().map(|array| array.slice(0, n)).collect()
}
