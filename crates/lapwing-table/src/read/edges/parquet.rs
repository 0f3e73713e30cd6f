//! Edges as rows of a Parquet table.

use std::path::Path;

use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{ArrayRef, PrimitiveArray};

use super::named::{Place, Take};
use super::rows::{Checks, NO_WEIGHT, row_text};
use crate::read::names::{Texts, are_names, cell, is_text};
use crate::read::parquet::{Decode, Table, TableScan, primitives};
use crate::read::roles::{Cells, EdgeColumns, edge_columns};
use lapwing_core::{Edge, EdgeReader, Error, Result, Run};

/// Reads a table of two integer columns and perhaps one of weights.
pub(super) struct ParquetEdges<'a> {
    path: &'a Path,
    checks: Checks,
    n_rows: u64,
    scan: TableScan<Table, Batch>,
    pub notes: Vec<String>,
}

/// The columns of some rows.
struct Batch {
    nodes: [PrimitiveArray<Int64Type>; 2],
    weights: Option<PrimitiveArray<Float64Type>>,
}

impl Decode for Batch {
    fn decode(path: &Path, arrays: &[ArrayRef]) -> Result<Self> {
        let [u, v] = [0, 1].map(|at| primitives(path, &arrays[at], -1));
        let weights = arrays.get(2).map(|array| primitives(path, array, f64::NAN)).transpose()?;
        Ok(Self { nodes: [u?, v?], weights })
    }
}

impl<'a> ParquetEdges<'a> {
    pub(super) fn open(path: &'a Path, checks: Checks) -> Result<Self> {
        let table = Table::open(path)?;
        let (columns, notes) = chosen_columns(path, &table)?;
        if let Some(&at) = columns[..2].iter().find(|&&at| !table.is_integer(at)) {
            return Err(table.type_error(at, "nodes are integers counted from 0"));
        }
        Ok(Self { path, checks, n_rows: table.n_rows as u64, scan: TableScan::new(table, columns, 0), notes })
    }

    /// Number of rows that the file states.
    pub(super) fn n_rows(&self) -> u64 {
        self.n_rows
    }
}

/// Whether a column of nodes holds text.
pub(super) fn has_names(path: &Path) -> bool {
    let table = Table::open(path).ok();
    let columns = table.as_ref().and_then(|table| chosen_columns(path, table).ok());
    table.zip(columns).is_some_and(|(table, (columns, _))| columns[..2].iter().any(|&at| is_text(&table, at)))
}

/// The columns of the nodes and of the weights, and what to look at.
fn chosen_columns(path: &Path, table: &Table) -> Result<(Vec<usize>, Vec<String>)> {
    let cells = |at: usize| match (table.is_integer(at), table.is_number(at)) {
        (true, _) => Cells::Whole,
        // Nodes that are no integers are refused by their type.
        (false, true) => Cells::Odd,
        _ => Cells::Text,
    };
    let cells: Vec<Cells> = (0..table.names.len()).map(cells).collect();
    let found = edge_columns(&table.names, &cells).map_err(|reason| Error::format(path, None, reason))?;
    let EdgeColumns { nodes, weight, notes } = found;
    match weight.filter(|&at| !table.is_number(at)) {
        Some(at) => Err(table.type_error(at, "weights are numbers")),
        None => Ok((nodes.into_iter().chain(weight).collect(), notes)),
    }
}

/// Rows of two names, or numbers as text, and perhaps a weight.
pub(super) struct TextNodes {
    scan: TableScan<Table, TextBatch>,
    pub notes: Vec<String>,
}

/// The columns of some rows.
struct TextBatch {
    nodes: Texts,
    weights: Option<PrimitiveArray<Float64Type>>,
}

impl Decode for TextBatch {
    fn decode(path: &Path, arrays: &[ArrayRef]) -> Result<Self> {
        let weights = arrays.get(2).map(|array| primitives(path, array, f64::NAN)).transpose()?;
        Ok(Self { nodes: Texts::decode(path, &arrays[..2])?, weights })
    }
}

impl TextNodes {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let table = Table::open(path)?;
        let (columns, notes) = chosen_columns(path, &table)?;
        match columns[..2].iter().find(|&&at| !are_names(&table, at)) {
            Some(&at) => Err(table.type_error(at, "nodes are integers or text")),
            None => Ok(Self { scan: TableScan::new(table, columns, 0), notes }),
        }
    }

    /// Hands at most `most` of the next rows to `take`; returns their number, 0 at the end.
    pub(super) fn read(&mut self, most: usize, run: &Run, take: Take<'_>) -> Result<usize> {
        let first = self.scan.row();
        let Some((batch, rows)) = self.scan.next(most, run)? else { return Ok(0) };
        let Texts(nodes) = &batch.nodes;
        for (at, row) in rows.clone().enumerate() {
            let weight = batch.weights.as_ref().map_or(NO_WEIGHT, |weights| weights.value(row));
            take([cell(&nodes[0], row), cell(&nodes[1], row)], weight, Place::Row((first + at) as u64))?;
        }
        Ok(rows.len())
    }
}

impl EdgeReader for ParquetEdges<'_> {
    fn read(&mut self, most: usize, out: &mut Vec<Edge>, run: &Run) -> Result<()> {
        let end = out.len().saturating_add(most);
        while out.len() < end {
            let first = self.scan.row();
            let Some((batch, rows)) = self.scan.next(end - out.len(), run)? else { break };
            let nodes = batch.nodes.each_ref().map(|nodes| &nodes.values()[rows.clone()]);
            let weights = batch.weights.as_ref().map(|weights| &weights.values()[rows]);
            self.checks
                .append(nodes, weights, out)
                .map_err(|(row, reason)| Error::format(self.path, None, row_text((first + row) as u64, &reason)))?;
        }
        Ok(())
    }

    fn skip(&mut self, count: u64, run: &Run) -> Result<()> {
        self.scan.skip(usize::try_from(count).unwrap_or(usize::MAX), run)
    }
}
