//! Where rows come from: one trait for all formats.

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, Schema};

use super::canonical::canonical;
use crate::read::cell::{CellType, ColumnType, Tally};
use crate::read::text::{Dialect, RowMark, TextTable};
use crate::read::{ipc, parquet};
use lapwing_core::{Error, Result, Run};

/// Parts of the columns of a Parquet file that are decoded at the same time.
const MAX_PARTS: usize = 16;

/// Rows of a source that are looked at for what texts hold.
const SAMPLE_ROWS: usize = 1000;

/// What is read of a source: columns, the types of their values, and how cells of text are written.
#[derive(Clone, Debug)]
pub(in crate::read) struct Ask {
    pub columns: Vec<usize>,
    pub types: Vec<ColumnType>,
    pub cells: Vec<CellType>,
    /// Whether the lines of the rows of a text are wanted.
    pub with_lines: bool,
}

/// A table whose columns have names and stored types.
pub(super) trait Source: fmt::Debug + Send + Sync {
    /// The stored type of a column; texts for a file of text.
    fn stored_type(&self, at: usize) -> DataType;

    /// The number of rows, if the source states it.
    fn n_rows(&self) -> Option<usize>;

    /// Bytes of the source, or those of some columns if they can be read alone.
    fn bytes_of(&self, columns: &[usize]) -> u64;

    /// Starts to read rows as values of types.
    fn rows(&self, ask: Ask, from: RowMark) -> Result<Box<dyn Rows>>;

    /// Starts to read columns as they are stored; `None` for cells of text, which have no other types.
    fn stored_rows(&self, _columns: &[usize], _first: usize) -> Result<Option<Box<dyn StoredRows>>> {
        Ok(None)
    }

    /// Cells of some columns of texts, in some of the first rows.
    fn samples(&self, columns: &[usize]) -> Result<Vec<Vec<Vec<u8>>>> {
        let Some(mut rows) = self.stored_rows(columns, 0)? else { return Ok(vec![Vec::new(); columns.len()]) };
        let first = rows.next(&Run::new(Some(1), 0)?)?.unwrap_or_default();
        let cells = |array: &ArrayRef| {
            let texts = cast(array, &DataType::Utf8).ok()?;
            let texts = texts.as_string_opt::<i32>()?.iter().take(SAMPLE_ROWS).flatten();
            Some(texts.map(|text| text.trim().as_bytes().to_vec()).collect())
        };
        Ok((0..columns.len()).map(|at| first.get(at).and_then(cells).unwrap_or_default()).collect())
    }

    /// Whether reading can start at any row at little cost: at the marks of an earlier reading, if it is a text.
    fn is_seekable(&self) -> bool {
        false
    }

    /// Whether all cells are text.
    fn is_text(&self) -> bool {
        false
    }

    /// How the cells of a text are written.
    fn dialect(&self) -> Option<Dialect> {
        None
    }

    /// The files of a source of several.
    fn files(&self) -> Option<Vec<PathBuf>> {
        None
    }
}

/// The rows of a source in order, as arrays of the types that were asked for.
pub(in crate::read) trait Rows: Send {
    /// The next rows, one array for each column; `None` at the end.
    fn next(&mut self, run: &Run) -> Result<Option<Vec<ArrayRef>>>;

    /// Number of rows before the next one.
    fn n_rows(&self) -> usize;

    /// Counts of the cells read so far, in the order of the columns.
    fn tallies(&self) -> &[Tally];

    /// Bytes of text read so far; 0 for other formats.
    fn n_bytes(&self) -> u64 {
        0
    }

    /// What was passed over among the rows of a text, in words.
    fn passed(&self) -> Vec<String> {
        Vec::new()
    }

    /// The lines of the last rows of a text, if they were wanted.
    fn lines(&self) -> &[u64] {
        &[]
    }

    /// Places of a text at which reading can start, of those read so far; they are taken out.
    fn take_marks(&mut self) -> Vec<RowMark> {
        Vec::new()
    }
}

/// The rows of a source in order, in its types.
pub(in crate::read) trait StoredRows: Send {
    /// The next rows, one array for each column; `None` at the end.
    fn next(&mut self, run: &Run) -> Result<Option<Vec<ArrayRef>>>;
}

/// Stored rows as values of types.
pub(super) struct Converted {
    path: PathBuf,
    stored: Box<dyn StoredRows>,
    ask: Ask,
    tallies: Vec<Tally>,
    n_rows: usize,
}

impl Converted {
    /// Rows from row `first` on, of a table `path` in messages.
    pub(super) fn boxed(
        path: PathBuf,
        stored: Option<Box<dyn StoredRows>>,
        ask: Ask,
        first: usize,
    ) -> Result<Box<dyn Rows>> {
        let stored = stored.ok_or_else(|| Error::Internal { reason: "a table without stored types".into() })?;
        let tallies = vec![Tally::default(); ask.columns.len()];
        Ok(Box::new(Self { path, stored, ask, tallies, n_rows: first }))
    }
}

impl Rows for Converted {
    fn next(&mut self, run: &Run) -> Result<Option<Vec<ArrayRef>>> {
        let Some(stored) = self.stored.next(run)? else { return Ok(None) };
        let read_as = self.ask.types.iter().zip(&self.ask.cells);
        let mut arrays = Vec::with_capacity(stored.len());
        for ((array, (&kind, &cells)), tally) in stored.iter().zip(read_as).zip(&mut self.tallies) {
            arrays.push(canonical(&self.path, array, (kind, cells), self.n_rows, tally)?);
        }
        self.n_rows += stored.first().map_or(0, |array| array.len());
        Ok(Some(arrays))
    }

    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn tallies(&self) -> &[Tally] {
        &self.tallies
    }
}

impl Source for Arc<TextTable> {
    fn stored_type(&self, _: usize) -> DataType {
        DataType::Utf8
    }

    fn n_rows(&self) -> Option<usize> {
        None
    }

    fn bytes_of(&self, _: &[usize]) -> u64 {
        self.text.stored_bytes()
    }

    fn rows(&self, ask: Ask, from: RowMark) -> Result<Box<dyn Rows>> {
        Ok(Box::new(self.scan_from(from, ask)?))
    }

    fn samples(&self, columns: &[usize]) -> Result<Vec<Vec<Vec<u8>>>> {
        let column = |at: &usize| self.sniffed.records.iter().filter_map(|record| record.get(*at).cloned()).collect();
        Ok(columns.iter().map(column).collect())
    }

    fn is_seekable(&self) -> bool {
        TextTable::is_seekable(self)
    }

    fn is_text(&self) -> bool {
        true
    }

    fn dialect(&self) -> Option<Dialect> {
        self.dialect
    }
}

impl Source for Arc<parquet::Table> {
    fn stored_type(&self, at: usize) -> DataType {
        self.schema().field(at).data_type().clone()
    }

    fn n_rows(&self) -> Option<usize> {
        Some(self.n_rows)
    }

    fn bytes_of(&self, columns: &[usize]) -> u64 {
        parquet::Table::bytes_of(self, columns)
    }

    fn rows(&self, ask: Ask, from: RowMark) -> Result<Box<dyn Rows>> {
        let stored = self.stored_rows(&ask.columns, from.row)?;
        Converted::boxed(self.path.clone(), stored, ask, from.row)
    }

    fn stored_rows(&self, columns: &[usize], first: usize) -> Result<Option<Box<dyn StoredRows>>> {
        let scan = parquet::TableScan::new(Arc::clone(self), columns, first, MAX_PARTS)?;
        Ok(Some(Box::new(scan)))
    }

    fn is_seekable(&self) -> bool {
        true
    }
}

impl Source for ipc::IpcTable {
    fn stored_type(&self, at: usize) -> DataType {
        self.schema.field(at).data_type().clone()
    }

    fn n_rows(&self) -> Option<usize> {
        None
    }

    fn bytes_of(&self, _: &[usize]) -> u64 {
        self.bytes
    }

    fn rows(&self, ask: Ask, from: RowMark) -> Result<Box<dyn Rows>> {
        Converted::boxed(self.path.clone(), self.stored_rows(&ask.columns, from.row)?, ask, from.row)
    }

    fn stored_rows(&self, columns: &[usize], _: usize) -> Result<Option<Box<dyn StoredRows>>> {
        Ok(Some(Box::new(self.batches(columns)?)))
    }
}

/// Batches in memory.
#[derive(Debug)]
pub(super) struct Held {
    pub path: PathBuf,
    pub schema: Schema,
    pub batches: Vec<RecordBatch>,
}

struct HeldRows {
    batches: VecDeque<RecordBatch>,
    columns: Vec<usize>,
}

impl Source for Held {
    fn stored_type(&self, at: usize) -> DataType {
        self.schema.field(at).data_type().clone()
    }

    fn n_rows(&self) -> Option<usize> {
        Some(self.batches.iter().map(RecordBatch::num_rows).sum())
    }

    fn bytes_of(&self, columns: &[usize]) -> u64 {
        let column = |batch: &RecordBatch, at: &usize| batch.column(*at).get_array_memory_size() as u64;
        self.batches.iter().flat_map(|batch| columns.iter().map(move |at| column(batch, at))).sum()
    }

    /// Reading starts with the first batch, whatever row was asked for.
    fn rows(&self, ask: Ask, _: RowMark) -> Result<Box<dyn Rows>> {
        Converted::boxed(self.path.clone(), self.stored_rows(&ask.columns, 0)?, ask, 0)
    }

    fn stored_rows(&self, columns: &[usize], _: usize) -> Result<Option<Box<dyn StoredRows>>> {
        Ok(Some(Box::new(HeldRows { batches: self.batches.clone().into(), columns: columns.to_vec() })))
    }

    fn is_seekable(&self) -> bool {
        true
    }
}

impl StoredRows for HeldRows {
    fn next(&mut self, run: &Run) -> Result<Option<Vec<ArrayRef>>> {
        run.check()?;
        let Some(first) = self.batches.pop_front() else { return Ok(None) };
        Ok(Some(self.columns.iter().map(|&at| first.column(at).clone()).collect()))
    }
}
