//! Tables whose columns have types: the formats, as far as they differ, and their rows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;

use super::canonical::canonical;
use crate::cell::Tally;
use crate::read::{ipc, parquet};
use crate::scan::{Ask, NextRows, Rows};
use lapwing_core::{Result, Run};

/// Rows that are looked at for what texts hold.
const SAMPLE_ROWS: usize = 1000;

/// A source whose columns have types.
#[derive(Debug)]
pub(super) enum Stored {
    Parquet(Arc<parquet::Table>),
    Ipc(ipc::IpcTable),
    /// Batches in memory.
    Held(Vec<RecordBatch>),
}

impl Stored {
    /// Starts to read columns as they are stored, from row `first` on if any row can be the first; returns the row with which reading
    /// starts.
    pub(super) fn rows(&self, columns: &[usize], first: usize) -> Result<(usize, NextRows)> {
        Ok(match self {
            Self::Parquet(table) => (first, table.rows(columns, first)?),
            Self::Ipc(table) => {
                let mut batches = table.batches(columns)?;
                (0, Box::new(move |run| batches.next(run)))
            }
            Self::Held(batches) => {
                let (mut batches, columns) = (batches.clone().into_iter(), columns.to_vec());
                let arrays = move |batch: RecordBatch| columns.iter().map(|&at| batch.column(at).clone()).collect();
                (0, Box::new(move |run| run.check().map(|()| batches.next().map(&arrays))))
            }
        })
    }

    /// The first rows of some columns; none of a table without rows.
    pub(super) fn first(&self, columns: &[usize]) -> Result<Vec<ArrayRef>> {
        if columns.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.rows(columns, 0)?.1(&Run::new(Some(1), 0)?)?.unwrap_or_default())
    }

    /// Cells of some columns of texts, in some of the first rows.
    pub(super) fn first_texts(&self, columns: &[usize]) -> Result<Vec<Vec<Vec<u8>>>> {
        let first = self.first(columns)?;
        let cells = |array: &ArrayRef| {
            let texts = cast(array, &DataType::Utf8).ok()?;
            let texts = texts.as_string_opt::<i32>()?.iter().take(SAMPLE_ROWS).flatten();
            Some(texts.map(|text| text.trim().as_bytes().to_vec()).collect())
        };
        Ok((0..columns.len()).map(|at| first.get(at).and_then(cells).unwrap_or_default()).collect())
    }

    /// Bytes of the source, or those of some columns if they can be read alone.
    pub(super) fn bytes_of(&self, columns: &[usize]) -> u64 {
        match self {
            Self::Parquet(table) => table.bytes_of(columns),
            Self::Ipc(table) => table.bytes,
            Self::Held(batches) => {
                let column = |batch: &RecordBatch, at: &usize| batch.column(*at).get_array_memory_size() as u64;
                batches.iter().flat_map(|batch| columns.iter().map(move |at| column(batch, at))).sum()
            }
        }
    }
}

/// Rows of stored types, as values of those that were asked for.
pub(super) struct StoredRows {
    path: PathBuf,
    asks: Vec<Ask>,
    next: NextRows,
    tallies: Vec<Tally>,
    n_rows: usize,
}

impl StoredRows {
    /// Starts to read at row `first`, or at an earlier one.
    pub(super) fn new(path: &Path, stored: &Stored, asks: &[Ask], first: usize) -> Result<Self> {
        let (n_rows, next) = stored.rows(&asks.iter().map(|ask| ask.column).collect::<Vec<usize>>(), first)?;
        let tallies = vec![Tally::default(); asks.len()];
        Ok(Self { path: path.to_owned(), asks: asks.to_vec(), next, tallies, n_rows })
    }
}

impl Rows for StoredRows {
    fn next(&mut self, run: &Run) -> Result<Option<Vec<ArrayRef>>> {
        let Some(stored) = (self.next)(run)? else { return Ok(None) };
        let columns = stored.iter().zip(&self.asks).zip(&mut self.tallies);
        let array = |((array, ask), tally): ((&ArrayRef, &Ask), &mut Tally)| {
            canonical(&self.path, array, ask.cells, self.n_rows, tally)
        };
        let arrays = columns.map(array).collect::<Result<_>>();
        self.n_rows += stored.first().map_or(0, |array| array.len());
        arrays.map(Some)
    }

    fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    fn n_rows(&self) -> usize {
        self.n_rows
    }
}
