//! Edges as rows of a Parquet table.

use std::path::Path;

use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef};

use super::rows::{Checks, NO_WEIGHT, row_text, width_text};
use crate::read::parquet::{BATCH_ROWS, Batches, Table, primitives};
use crate::{Edge, EdgeReader, Error, Result, Run};

/// A table of two integer columns and perhaps one of weights.
pub(super) struct ParquetEdges<'a> {
    path: &'a Path,
    columns: Vec<usize>,
    checks: Checks,
    n_rows: u64,
    /// The file until its first row is read: what is skipped before costs nothing.
    table: Option<Table>,
    batches: Option<Batches>,
    /// Rows decoded and not handed on yet: those of `batch` from `at` on.
    batch: Batch,
    at: usize,
    /// Rows handed on or skipped.
    row: u64,
}

/// The columns of some rows.
#[derive(Default)]
struct Batch {
    nodes: [Vec<i64>; 2],
    weights: Vec<f64>,
}

impl<'a> ParquetEdges<'a> {
    pub(super) fn open(path: &'a Path, checks: Checks) -> Result<Self> {
        let table = Table::open(path)?;
        let columns = edge_columns(path, &table)?;
        let n_rows = table.n_rows as u64;
        let batch = Batch::default();
        Ok(Self { path, columns, checks, n_rows, table: Some(table), batches: None, batch, at: 0, row: 0 })
    }

    /// Number of rows as the file states it.
    pub(super) fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// Makes sure that there are decoded rows; false at the end.
    fn refill(&mut self, run: &Run) -> Result<bool> {
        if let Some(table) = self.table.take() {
            self.batches = Some(table.batches(&self.columns, self.row, BATCH_ROWS)?);
        }
        while self.at == self.batch.weights.len() {
            let next = self.batches.as_mut().map_or(Ok(None), |batches| batches.next(run))?;
            let Some(arrays) = next else { return self.check_end() };
            self.batch.fill(self.path, &arrays)?;
            self.at = 0;
        }
        Ok(true)
    }

    fn check_end(&self) -> Result<bool> {
        if self.row != self.n_rows {
            let reason = format!("the file is damaged (it states {} rows and holds {})", self.n_rows, self.row);
            return Err(Error::format(self.path, None, reason));
        }
        Ok(false)
    }

    fn edge(&self, at: usize) -> Result<Edge, String> {
        let Batch { nodes: [u, v], weights } = &self.batch;
        self.checks.edge([u[at], v[at]], weights[at])
    }

    /// Goes over at most `count` decoded rows.
    fn pass(&mut self, count: u64) -> std::ops::Range<usize> {
        let start = self.at;
        self.at += count.min((self.batch.weights.len() - start) as u64) as usize;
        self.row += (self.at - start) as u64;
        start..self.at
    }
}

impl Batch {
    fn fill(&mut self, path: &Path, arrays: &[ArrayRef]) -> Result<()> {
        let Self { nodes, weights } = self;
        for (array, nodes) in arrays.iter().zip(nodes) {
            nodes.clear();
            primitives::<Int64Type>(path, array, -1, |node| nodes.push(node))?;
        }
        weights.clear();
        match arrays.get(2) {
            Some(array) => primitives::<Float64Type>(path, array, f64::NAN, |weight| weights.push(weight)),
            None => {
                weights.resize(arrays[0].len(), NO_WEIGHT);
                Ok(())
            }
        }
    }
}

/// The columns of the nodes and of the weights; what pandas keeps of its index is none of them.
fn edge_columns(path: &Path, table: &Table) -> Result<Vec<usize>> {
    let columns: Vec<usize> =
        (0..table.names.len()).filter(|&at| !table.names[at].starts_with("__index_level_")).collect();
    if !matches!(columns.len(), 2 | 3) {
        return Err(Error::format(path, None, width_text(columns.len())));
    }
    if let Some(&at) = columns[..2].iter().find(|&&at| !table.is_integer(at)) {
        return Err(table.type_error(at, "nodes are integers counted from 0"));
    }
    match columns.get(2).filter(|&&at| !table.is_number(at)) {
        Some(&at) => Err(table.type_error(at, "weights are numbers")),
        None => Ok(columns),
    }
}

impl EdgeReader for ParquetEdges<'_> {
    fn read(&mut self, most: usize, out: &mut Vec<Edge>, run: &Run) -> Result<()> {
        let end = out.len().saturating_add(most);
        while out.len() < end && self.refill(run)? {
            let first = self.row;
            for (row, at) in (first..).zip(self.pass((end - out.len()) as u64)) {
                let edge = self.edge(at);
                out.push(edge.map_err(|reason| Error::format(self.path, None, row_text(row, &reason)))?);
            }
        }
        Ok(())
    }

    fn skip(&mut self, mut count: u64, run: &Run) -> Result<()> {
        if self.table.is_some() {
            self.row = self.row.saturating_add(count).min(self.n_rows);
            return Ok(());
        }
        while count > 0 && self.refill(run)? {
            count -= self.pass(count).len() as u64;
        }
        Ok(())
    }
}
