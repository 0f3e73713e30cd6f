//! The rows of a table in order, as arrays of the types that a reader asks for, or as the file stores them.

use std::path::{Path, PathBuf};

use arrow_array::ArrayRef;
use arrow_schema::DataType;

use super::canonical;
use super::source::{Rows, StoredRows};
use super::{ColumnType, RowMark, Tally};
use lapwing_core::{Result, Run};

/// Reads the rows of a table in order.
pub(crate) struct TableRows {
    path: PathBuf,
    rows: Box<dyn Rows>,
    /// Of each column, the number that stands for no number.
    sentinels: Vec<Option<f64>>,
    first_row: usize,
}

impl TableRows {
    pub(super) fn new(path: PathBuf, rows: Box<dyn Rows>, sentinels: Vec<Option<f64>>) -> Self {
        let first_row = rows.n_rows();
        Self { path, rows, sentinels, first_row }
    }

    /// The next rows, one array for each column; `None` at the end.
    pub(crate) fn next(&mut self, run: &Run) -> Result<Option<Vec<ArrayRef>>> {
        let Some(mut arrays) = self.rows.next(run)? else { return Ok(None) };
        for (array, sentinel) in arrays.iter_mut().zip(&self.sentinels) {
            if let Some(sentinel) = sentinel {
                *array = canonical::without(array, *sentinel);
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

    /// Counts of the cells read so far, in the order of the columns.
    pub(crate) fn tallies(&self) -> &[Tally] {
        self.rows.tallies()
    }

    /// What was passed over among the rows of a text, in words.
    pub(crate) fn passed(&self) -> Vec<String> {
        self.rows.passed()
    }

    /// The lines of the last rows of a text, if they were wanted.
    pub(crate) fn lines(&self) -> &[u64] {
        self.rows.lines()
    }

    /// The row with which reading started.
    pub(crate) fn first_row(&self) -> usize {
        self.first_row
    }

    /// The rows of a text at which reading can start, of those read so far; they are taken out.
    pub(crate) fn take_marks(&mut self) -> Vec<RowMark> {
        self.rows.take_marks()
    }

    /// Bytes of text read so far; 0 for other formats.
    pub(crate) fn n_bytes(&self) -> u64 {
        self.rows.n_bytes()
    }

    /// Number of rows before the next one.
    pub(crate) fn n_rows(&self) -> usize {
        self.rows.n_rows()
    }
}

/// Rows of columns that are written again.
pub(crate) struct KeptRows(Kept);

enum Kept {
    /// In the types of their file.
    Stored(PathBuf, Box<dyn StoredRows>, Vec<DataType>),
    /// As values of types.
    Typed(TableRows, Vec<ColumnType>),
}

impl KeptRows {
    pub(super) fn stored(path: PathBuf, rows: Box<dyn StoredRows>, types: Vec<DataType>) -> Self {
        Self(Kept::Stored(path, rows, types))
    }

    pub(super) fn typed(rows: TableRows, types: Vec<ColumnType>) -> Self {
        Self(Kept::Typed(rows, types))
    }

    pub(crate) fn path(&self) -> &Path {
        match &self.0 {
            Kept::Stored(path, ..) => path,
            Kept::Typed(rows, _) => &rows.path,
        }
    }

    /// The types of the arrays.
    pub(crate) fn types(&self) -> Vec<DataType> {
        match &self.0 {
            Kept::Stored(_, _, types) => types.clone(),
            Kept::Typed(_, types) => types.iter().map(canonical::data_type).collect(),
        }
    }

    pub(crate) fn next(&mut self, run: &Run) -> Result<Option<Vec<ArrayRef>>> {
        match &mut self.0 {
            Kept::Stored(_, rows, _) => rows.next(run),
            Kept::Typed(rows, types) => {
                let Some(arrays) = rows.next(run)? else { return Ok(None) };
                Ok(Some(
                    arrays.iter().zip(types.iter()).map(|(array, kind)| canonical::with_nulls(array, kind)).collect(),
                ))
            }
        }
    }
}
