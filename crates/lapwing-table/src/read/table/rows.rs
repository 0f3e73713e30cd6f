//! The rows of a table in order, as arrays of the types that a reader asks for, or as the file stores them.

use std::path::{Path, PathBuf};

use arrow_array::ArrayRef;
use arrow_schema::DataType;

use super::parts::PartRows;
use super::source::NextRows;
use super::{CellType, ColumnType, RowMark, Tally, canonical};
use crate::read::text::TextScan;
use lapwing_core::{Result, Run};

/// What is read of a table: columns, the types of their values, and how cells of text are written.
pub(super) struct Ask {
    pub columns: Vec<usize>,
    pub types: Vec<ColumnType>,
    pub cells: Vec<CellType>,
}

/// Reads the rows of a table in order.
pub(crate) struct TableRows {
    pub(super) path: PathBuf,
    pub(super) rows: Rows,
    pub(super) ask: Ask,
    /// Of each column, the number that stands for no number.
    pub(super) sentinels: Vec<Option<f64>>,
    /// Counts of the cells read so far, in the order of the columns; a text has its own.
    pub(super) tallies: Vec<Tally>,
    /// Number of rows before the next one; a text has its own.
    pub(super) n_rows: usize,
}

/// Where the rows come from.
pub(super) enum Rows {
    Text(Box<TextScan>),
    Stored(NextRows),
    Parts(Box<PartRows>),
}

impl TableRows {
    /// The next rows, one array for each column; `None` at the end.
    pub(crate) fn next(&mut self, run: &Run) -> Result<Option<Vec<ArrayRef>>> {
        let arrays = match &mut self.rows {
            Rows::Text(scan) => scan.next(run)?,
            Rows::Parts(parts) => parts.next(&self.ask, &mut self.tallies, &mut self.n_rows, run)?,
            Rows::Stored(next) => match next(run)? {
                Some(stored) => Some(self.converted(&stored)?),
                None => None,
            },
        };
        let Some(mut arrays) = arrays else { return Ok(None) };
        for (array, sentinel) in arrays.iter_mut().zip(&self.sentinels) {
            if let Some(sentinel) = sentinel {
                *array = canonical::without(array, *sentinel);
            }
        }
        Ok(Some(arrays))
    }

    /// The next rows as values of the types asked for.
    fn converted(&mut self, stored: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        let read_as = self.ask.types.iter().copied().zip(self.ask.cells.iter().copied());
        let columns = stored.iter().zip(read_as).zip(&mut self.tallies);
        let array = |((array, read_as), tally)| canonical::canonical(&self.path, array, read_as, self.n_rows, tally);
        let arrays = columns.map(array).collect();
        self.n_rows += stored.first().map_or(0, |array| array.len());
        arrays
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

    /// The rows of a text.
    fn text(&self) -> Option<&TextScan> {
        if let Rows::Text(scan) = &self.rows { Some(scan) } else { None }
    }

    /// Counts of the cells read so far, in the order of the columns.
    pub(crate) fn tallies(&self) -> &[Tally] {
        self.text().map_or(&self.tallies, |scan| &scan.tallies)
    }

    /// What was passed over among the rows of a text, in words.
    pub(crate) fn passed(&self) -> Vec<String> {
        self.text().map_or_else(Vec::new, |scan| scan.passed.words())
    }

    /// The lines of the last rows of a text, if they were wanted.
    pub(crate) fn lines(&self) -> &[u64] {
        self.text().map_or(&[], |scan| &scan.lines)
    }

    /// The rows of a text at which reading can start, of those read so far; they are taken out.
    pub(crate) fn take_marks(&mut self) -> Vec<RowMark> {
        if let Rows::Text(scan) = &mut self.rows { std::mem::take(&mut scan.marks) } else { Vec::new() }
    }

    /// Bytes of text read so far; 0 for other formats.
    pub(crate) fn n_bytes(&self) -> u64 {
        self.text().map_or(0, TextScan::n_bytes)
    }

    /// Number of rows before the next one.
    pub(crate) fn n_rows(&self) -> usize {
        self.text().map_or(self.n_rows, TextScan::n_rows)
    }
}

/// Rows of columns that are written again.
pub(crate) struct KeptRows {
    pub(super) path: PathBuf,
    pub(super) types: Vec<DataType>,
    pub(super) rows: NextRows,
}

impl KeptRows {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The types of the arrays.
    pub(crate) fn types(&self) -> Vec<DataType> {
        self.types.clone()
    }

    /// The next rows, one array for each column; `None` at the end.
    pub(crate) fn next(&mut self, run: &Run) -> Result<Option<Vec<ArrayRef>>> {
        (self.rows)(run)
    }
}
