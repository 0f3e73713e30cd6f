//! The rows of a table in order, as arrays of the types that a reader asks for, or as the file stores them.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType;

use super::canonical::{self, canonical};
use super::{ColumnType, RowMark, TableFile, Tally};
use crate::read::parquet;
use crate::read::text::{CellType, TextScan};
use lapwing_core::{Result, Run};

/// Rows in the types of their file.
pub(super) enum Stored {
    Parquet(Box<parquet::TableScan<Arc<parquet::Table>, Vec<ArrayRef>>>),
    Ipc(Box<crate::read::ipc::IpcScan>),
    Held { batches: VecDeque<RecordBatch>, columns: Vec<usize> },
}

impl Stored {
    pub(super) fn next(&mut self, run: &Run) -> Result<Option<Vec<ArrayRef>>> {
        match self {
            Self::Parquet(scan) => Ok(scan
                .next(usize::MAX, run)?
                .map(|(arrays, rows)| arrays.iter().map(|array| array.slice(rows.start, rows.len())).collect())),
            Self::Ipc(scan) => scan.next(run),
            Self::Held { batches, columns } => {
                run.check()?;
                let Some(first) = batches.pop_front() else { return Ok(None) };
                Ok(Some(columns.iter().map(|&at| first.column(at).clone()).collect()))
            }
        }
    }
}

pub(super) enum Scan {
    Text(Box<TextScan>),
    Stored(Stored),
    Parts {
        parts: Arc<Vec<(TableFile, Vec<usize>)>>,
        next: usize,
        rows: Option<Box<TableRows>>,
        columns: Vec<usize>,
        fit: Vec<Option<CellType>>,
    },
}

/// Reads the rows of a table in order.
pub(crate) struct TableRows {
    pub(super) path: PathBuf,
    pub(super) scan: Scan,
    pub(super) types: Vec<ColumnType>,
    /// How stored texts are read.
    pub(super) parsed: Vec<Option<CellType>>,
    /// Counts of the cells read so far, in the order of the columns.
    pub(super) tallies: Vec<Tally>,
    pub(super) first_row: usize,
    /// Number of rows before the next one.
    pub(super) n_rows: usize,
}

impl TableRows {
    /// The next rows, one array for each column; `None` at the end.
    pub(crate) fn next(&mut self, run: &Run) -> Result<Option<Vec<ArrayRef>>> {
        let stored = match &mut self.scan {
            Scan::Text(scan) => {
                let arrays = scan.next(run)?;
                self.n_rows = scan.n_rows();
                return Ok(arrays);
            }
            Scan::Parts { parts, next, rows, columns, fit } => {
                loop {
                    if rows.is_none() {
                        let Some((table, places)) = parts.get(*next) else { return Ok(None) };
                        let columns: Vec<usize> = columns.iter().map(|&at| places[at]).collect();
                        *rows = Some(Box::new(table.scan_as(&columns, &self.types, fit)?));
                        *next += 1;
                    }
                    let Some(part) = rows else { continue };
                    let n_before = part.n_rows;
                    if let Some(arrays) = part.next(run)? {
                        self.n_rows += part.n_rows - n_before;
                        return Ok(Some(arrays));
                    }
                    // The rows of a part start where those before it end.
                    let before = self.n_rows - part.n_rows;
                    self.tallies
                        .iter_mut()
                        .zip(part.tallies())
                        .for_each(|(all, part)| all.add(part.clone(), before, 0));
                    *rows = None;
                }
            }
            Scan::Stored(scan) => scan.next(run)?,
        };
        let Some(stored) = stored else { return Ok(None) };
        let mut arrays = Vec::with_capacity(stored.len());
        for (((array, &kind), parsed), tally) in stored.iter().zip(&self.types).zip(&self.parsed).zip(&mut self.tallies)
        {
            arrays.push(canonical(&self.path, array, (kind, *parsed), self.n_rows, tally)?);
        }
        self.n_rows += stored.first().map_or(0, |array| array.len());
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
            let (goes_on, n_bytes) = (goes_on(self.n_rows), self.n_bytes());
            let read = || if goes_on { self.next(run) } else { Ok(None) };
            let (taken, next) = run.install(|| rayon::join(|| take(arrays, n_bytes), read));
            taken?;
            current = next?;
        }
        Ok(())
    }

    /// Counts of the cells read so far, in the order of the columns.
    pub(crate) fn tallies(&self) -> &[Tally] {
        match &self.scan {
            Scan::Text(scan) => &scan.tallies,
            _ => &self.tallies,
        }
    }

    /// The row with which reading started.
    pub(crate) fn first_row(&self) -> usize {
        self.first_row
    }

    /// The rows of a text at which reading can start, of those read so far; they are taken out.
    pub(crate) fn take_marks(&mut self) -> Vec<RowMark> {
        match &mut self.scan {
            Scan::Text(scan) => std::mem::take(&mut scan.marks),
            _ => Vec::new(),
        }
    }

    /// Bytes of text read so far; 0 for other formats.
    pub(crate) fn n_bytes(&self) -> u64 {
        match &self.scan {
            Scan::Text(scan) => scan.n_bytes(),
            _ => 0,
        }
    }

    /// Number of rows read so far.
    pub(crate) fn n_rows(&self) -> usize {
        self.n_rows
    }
}

/// Rows of columns that are written again.
pub(crate) struct KeptRows(pub(super) Kept);

pub(super) enum Kept {
    /// In the types of their file.
    Stored(PathBuf, Stored, Vec<DataType>),
    /// As values of types.
    Typed(TableRows, Vec<ColumnType>),
}

impl KeptRows {
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
