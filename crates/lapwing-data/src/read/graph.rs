//! Graphs: edge lists and sparse matrices, always handed on as a symmetric matrix without a diagonal.

use std::io::{Cursor, Read};
use std::path::Path;

use super::csv::Records;
use super::format::{Format, map, unknown_ending};
use super::npy::{NpyReader, Origin};
use super::npz::Archive;
use crate::{Csr, Error, Result, Run};

/// Relative difference up to which the two directions of an edge count as equal.
const SYMMETRY_TOLERANCE: f64 = 1e-12;

/// Rows handled between two looks at the run's cancellation.
const CHECK_ROWS: usize = 4096;

/// Reads a graph of `n_rows` nodes (as many as occur, where `None`) as a symmetric matrix of weights.
///
/// Edge lists, `.csv` (also `.gz`, `.zst`, with or without a header), `.parquet`, `.npy`, or an array `edges` in `.npz`:
/// rows u, v\[, weight\] of nodes counted from 0, each undirected edge once or in both directions. Rows that repeat an
/// edge in the same direction add up; an edge given in both directions counts once. Sparse matrices: `.npz` of
/// `scipy.sparse.save_npz`, symmetric. Self loops and edges of weight 0 are left out.
///
/// # Errors
/// [`Error::Graph`] naming the edge whose directions differ; [`Error::Format`] naming the row of a weight that is
/// negative or not finite or a node that is not an integer in range; [`Error::Shape`] for a matrix of another size.
///
/// # Complexity
/// O(edges + nodes) time; about three times the bytes of the result in memory.
pub fn read_graph(path: &Path, n_rows: Option<usize>, run: &Run) -> Result<Csr<f64>> {
    let mut edges = Edges { path, n_rows, entries: Vec::new(), end: 0 };
    match Format::of(path) {
        Format::Csv => edges.read_csv(run)?,
        Format::Npy => {
            let map = map(path)?;
            let origin = Origin { path, array: "" };
            edges.read_array(NpyReader::new(Cursor::new(&map[..]), map.len() as u64, origin)?, run)?;
        }
        Format::Npz => {
            let mut archive = Archive::open(path)?;
            if let Some(matrix) = archive.scipy_sparse::<f64>(run)? {
                return check_matrix(path, &matrix, n_rows).and_then(|()| symmetric(path, &matrix, false, run));
            }
            if !archive.has("edges") {
                return Err(archive.unknown("a matrix of scipy.sparse.save_npz or an array edges"));
            }
            edges.read_array(archive.array("edges")?, run)?;
        }
        #[cfg(feature = "tables")]
        Format::Parquet => edges.read_parquet(run)?,
        #[cfg(not(feature = "tables"))]
        Format::Parquet => return Err(super::format::without_tables(path)),
        _ => return Err(unknown_ending(path, "a graph as .npz, or an edge list as .csv, .parquet or .npy")),
    }
    let n = n_rows.unwrap_or(edges.end);
    let directed = Csr::from_entries(n, n, &edges.entries)?;
    drop(edges);
    symmetric(path, &directed, true, run)
}

fn check_matrix(path: &Path, matrix: &Csr<f64>, n_rows: Option<usize>) -> Result<()> {
    let n = n_rows.unwrap_or(matrix.n_rows());
    if (matrix.n_rows(), matrix.n_cols()) != (n, n) {
        let got = format!("{} × {} entries", matrix.n_rows(), matrix.n_cols());
        return Err(Error::shape(format!("the graph {}", path.display()), format!("{n} × {n}"), got));
    }
    for row in 0..n {
        let (columns, weights) = matrix.row(row);
        let bad = columns.iter().zip(weights).find(|&(&col, &w)| col as usize != row && !is_weight(w));
        if let Some((col, w)) = bad {
            return Err(Error::graph(format!("{}: entry ({row}, {col}) is {w}; {WEIGHTS}", path.display())));
        }
    }
    Ok(())
}

const WEIGHTS: &str = "weights must be finite and at least 0";

fn is_weight(weight: f64) -> bool {
    weight >= 0.0 && weight.is_finite()
}

/// Edges as listed, one direction each.
struct Edges<'a> {
    path: &'a Path,
    /// Number of nodes, where it is known beforehand.
    n_rows: Option<usize>,
    entries: Vec<(u32, u32, f64)>,
    /// Largest node seen plus 1.
    end: usize,
}

impl Edges<'_> {
    fn push(&mut self, nodes: [i64; 2], weight: f64) -> Result<(), String> {
        let end = self.n_rows.map_or(i64::from(u32::MAX), |n| n as i64);
        if let Some(node) = nodes.iter().find(|node| !(0..end).contains(node)) {
            return Err(match self.n_rows {
                Some(n) => format!("node {node} is out of range; the data has {n} rows, counted from 0"),
                None => format!("node {node} is out of range; nodes count from 0 to {}", u32::MAX - 1),
            });
        }
        if !is_weight(weight) {
            return Err(format!("weight {weight}; {WEIGHTS}"));
        }
        let [u, v] = nodes.map(|node| node as u32);
        self.end = self.end.max(u.max(v) as usize + 1);
        if u != v {
            self.entries.push((u, v, weight));
        }
        Ok(())
    }

    fn row_error(&self, row: usize, reason: &str) -> Error {
        Error::format(self.path, None, format!("row {row}: {reason}"))
    }

    fn width_error(&self, found: usize) -> Error {
        Error::format(self.path, None, format!("{found} columns; expected two nodes and perhaps a weight"))
    }

    fn read_csv(&mut self, run: &Run) -> Result<()> {
        let mut records = Records::open(self.path)?;
        let has_weight = match records.names.len() {
            2 => false,
            3 => true,
            n => return Err(self.width_error(n)),
        };
        let mut row = 0;
        while records.next()? {
            if row % CHECK_ROWS == 0 {
                run.check()?;
            }
            let node = |at: usize| {
                let text = String::from_utf8_lossy(records.record.get(at).unwrap_or_default());
                text.parse::<i64>().map_err(|_| records.error(format!("node '{text}' is not an integer")))
            };
            let nodes = [node(0)?, node(1)?];
            let weight = if has_weight { records.number(2)? } else { 1.0 };
            self.push(nodes, weight).map_err(|reason| records.error(reason))?;
            row += 1;
        }
        Ok(())
    }

    fn read_array<R: Read>(&mut self, reader: NpyReader<'_, R>, run: &Run) -> Result<()> {
        let (n_edges, width) = reader.header.matrix_shape(reader.origin)?;
        if !matches!(width, 2 | 3) {
            return Err(self.width_error(width));
        }
        self.entries.reserve_exact(n_edges);
        if reader.header.dtype.is_integer() {
            let values: Vec<i64> = reader.numbers(run)?;
            for (row, edge) in values.chunks_exact(width).enumerate() {
                let weight = edge.get(2).map_or(1.0, |&w| w as f64);
                self.push([edge[0], edge[1]], weight).map_err(|reason| self.row_error(row, &reason))?;
            }
            return Ok(());
        }
        let values: Vec<f64> = reader.numbers(run)?;
        for (row, edge) in values.chunks_exact(width).enumerate() {
            if let Some(node) = edge[..2].iter().find(|node| node.fract() != 0.0) {
                return Err(self.row_error(row, &format!("node {node} is not an integer")));
            }
            let weight = edge.get(2).copied().unwrap_or(1.0);
            self.push([edge[0] as i64, edge[1] as i64], weight).map_err(|reason| self.row_error(row, &reason))?;
        }
        Ok(())
    }

    #[cfg(feature = "tables")]
    fn read_parquet(&mut self, run: &Run) -> Result<()> {
        use super::parquet::{Table, primitives};
        use arrow_array::types::{Float64Type, Int64Type};

        let (path, table) = (self.path, Table::open(self.path)?);
        let columns: Vec<usize> =
            (0..table.names.len()).filter(|&at| !table.names[at].starts_with("__index_level_")).collect();
        if !matches!(columns.len(), 2 | 3) {
            return Err(self.width_error(columns.len()));
        }
        if let Some(&at) = columns[..2].iter().find(|&&at| !table.is_integer(at)) {
            return Err(table.type_error(at, "nodes are integers counted from 0"));
        }
        if let Some(&at) = columns.get(2).filter(|&&at| !table.is_number(at)) {
            return Err(table.type_error(at, "weights are numbers"));
        }
        let mut row = 0;
        table.each_batch(&columns, run, |arrays| {
            let (mut nodes, mut weights) = ([Vec::new(), Vec::new()], Vec::new());
            for (array, nodes) in arrays.iter().zip(&mut nodes) {
                primitives::<Int64Type>(path, array, -1, |node| nodes.push(node))?;
            }
            match arrays.get(2) {
                Some(array) => primitives::<Float64Type>(path, array, f64::NAN, |weight| weights.push(weight))?,
                None => weights.resize(nodes[0].len(), 1.0),
            }
            for ((&u, &v), &weight) in nodes[0].iter().zip(&nodes[1]).zip(&weights) {
                self.push([u, v], weight).map_err(|reason| self.row_error(row, &reason))?;
                row += 1;
            }
            Ok(())
        })
    }
}

/// The symmetric matrix of `matrix`, without its diagonal and zeros.
///
/// Where only one direction of an edge is stored, `one_way` takes it for both; otherwise it is an error, as are two
/// directions that differ. Of two that differ by rounding, the upper triangle's counts, so that the result is exactly
/// symmetric.
fn symmetric(path: &Path, matrix: &Csr<f64>, one_way: bool, run: &Run) -> Result<Csr<f64>> {
    let transposed = matrix.transpose();
    let n = matrix.n_rows();
    let (mut indptr, mut indices, mut weights) = (Vec::with_capacity(n + 1), Vec::new(), Vec::new());
    indptr.push(0u64);
    for row in 0..n {
        if row % CHECK_ROWS == 0 {
            run.check()?;
        }
        for (col, there, back) in merged(matrix.row(row), transposed.row(row)) {
            let weight = match (there, back) {
                (Some(there), Some(back)) if is_close(there, back) => {
                    if row < col as usize {
                        there
                    } else {
                        back
                    }
                }
                (Some(one), None) | (None, Some(one)) if one_way || one == 0.0 => one,
                _ if col as usize == row => 0.0,
                _ => {
                    let (there, back) = (there.unwrap_or(0.0), back.unwrap_or(0.0));
                    let reason = format!(
                        "{}: not symmetric: the weight from {row} to {col} is {there}, from {col} to {row} it is {back}",
                        path.display()
                    );
                    return Err(Error::graph(reason));
                }
            };
            if weight != 0.0 && col as usize != row {
                indices.push(col);
                weights.push(weight);
            }
        }
        indptr.push(indices.len() as u64);
    }
    Csr::new(n, n, indptr, indices, weights)
}

fn is_close(a: f64, b: f64) -> bool {
    (a - b).abs() <= SYMMETRY_TOLERANCE * a.abs().max(b.abs())
}

type SparseRow<'a> = (&'a [u32], &'a [f64]);

/// The entries of two sparse rows side by side, by ascending column.
fn merged<'a>(left: SparseRow<'a>, right: SparseRow<'a>) -> impl Iterator<Item = (u32, Option<f64>, Option<f64>)> + 'a {
    let (mut i, mut j) = (0, 0);
    std::iter::from_fn(move || {
        let col = match (left.0.get(i), right.0.get(j)) {
            (None, None) => return None,
            (Some(&a), Some(&b)) => a.min(b),
            (Some(&col), None) | (None, Some(&col)) => col,
        };
        let at = |row: SparseRow<'a>, next: &mut usize| {
            let value = row.0.get(*next).filter(|&&c| c == col).map(|_| row.1[*next]);
            *next += usize::from(value.is_some());
            value
        };
        Some((col, at(left, &mut i), at(right, &mut j)))
    })
}
