//! Where rows come from: the formats of tables, as far as they differ.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};

use super::parts::Part;
use crate::read::text::TextTable;
use crate::read::{ipc, parquet};
use lapwing_core::{Result, Run};

/// Parts of the columns of a Parquet file that are decoded at the same time.
const MAX_PARTS: usize = 16;

/// What the rows of a table are read from.
#[derive(Debug)]
pub(super) enum Source {
    /// Cells of text, which have no types of their own.
    Text(Arc<TextTable>),
    /// Columns of stored types.
    Stored(Stored),
    /// Tables with the same columns, one below the other.
    Parts(Arc<Vec<Part>>),
}

/// A source whose columns have types.
#[derive(Debug)]
pub(super) enum Stored {
    Parquet(Arc<parquet::Table>),
    Ipc(ipc::IpcTable),
    /// Batches in memory.
    Held(Vec<RecordBatch>),
}

/// Yields the next rows of some columns, one array for each column; `None` at the end.
pub(super) type NextRows = Box<dyn FnMut(&Run) -> Result<Option<Vec<ArrayRef>>> + Send>;

impl Stored {
    /// Starts to read columns as they are stored, from row `first` on if any row can be the first; returns the row with which reading
    /// starts.
    pub(super) fn rows(&self, columns: &[usize], first: usize) -> Result<(usize, NextRows)> {
        Ok(match self {
            Self::Parquet(table) => {
                let mut scan = parquet::TableScan::new(Arc::clone(table), columns, first, MAX_PARTS)?;
                (first, Box::new(move |run| scan.next(run)))
            }
            Self::Ipc(table) => {
                let mut scan = table.batches(columns)?;
                (0, Box::new(move |run| scan.next(run)))
            }
            Self::Held(batches) => {
                let (mut batches, columns) = (batches.clone().into_iter(), columns.to_vec());
                let arrays = move |batch: RecordBatch| columns.iter().map(|&at| batch.column(at).clone()).collect();
                (0, Box::new(move |run| run.check().map(|()| batches.next().map(&arrays))))
            }
        })
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
