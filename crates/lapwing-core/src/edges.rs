//! Edges read in blocks, for sparsifiers and streamed products of graphs that do not fit in memory.
//!
//! An [`EdgeSource`] can be opened any number of times; an [`EdgeReader`] holds one block of edges, 16 bytes each.

use std::path::Path;

use crate::{Csr, Error, Result, Run};

/// An undirected edge with its weight. A row of a stream may be a loop or have weight 0; such rows join no nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Edge {
    /// One end.
    pub u: u32,
    /// The other end.
    pub v: u32,
    /// Weight, finite and at least 0.
    pub weight: f64,
}

/// A graph as a stream of edges that can be read any number of times, always in the same order.
///
/// Every row is one undirected edge; the weights of rows that repeat an edge, in either direction, are added.
pub trait EdgeSource: Send + Sync {
    /// Number of nodes n; edges join nodes 0..n.
    fn n_nodes(&self) -> usize;

    /// Number of rows, if it is known before the end.
    fn n_edges(&self) -> Option<u64>;

    /// Whether the source can be opened more than once; a pipe cannot.
    fn is_rereadable(&self) -> bool {
        true
    }

    /// The file that the edges are read from, for messages.
    fn path(&self) -> Option<&Path> {
        None
    }

    /// Starts at the first row.
    ///
    /// # Errors
    /// What the source cannot do: [`Error::Io`], [`Error::Format`].
    fn open<'s>(&'s self, run: &Run) -> Result<Box<dyn EdgeReader + 's>>;
}

/// One pass over an [`EdgeSource`].
pub trait EdgeReader: Send {
    /// Appends at most `most` of the next rows to `out`; appends none only at the end.
    ///
    /// # Errors
    /// [`Error::Format`] naming the row of an end out of range or of a weight that is negative or not finite;
    /// [`Error::Io`], [`Error::Interrupted`].
    fn read(&mut self, most: usize, out: &mut Vec<Edge>, run: &Run) -> Result<()>;

    /// Share of the source that has been read, for progress; `None` if it is not known.
    fn share(&self) -> Option<f64> {
        None
    }

    /// Skips the next `count` rows; ends early at the end of the stream.
    ///
    /// # Errors
    /// As [`EdgeReader::read`].
    fn skip(&mut self, mut count: u64, run: &Run) -> Result<()> {
        let mut passed = Vec::new();
        while count > 0 {
            passed.clear();
            self.read(count.min(1 << 16) as usize, &mut passed, run)?;
            if passed.is_empty() {
                break;
            }
            count -= passed.len() as u64;
        }
        Ok(())
    }
}

impl Edge {
    /// Checks one row of a stream among `n_nodes` nodes.
    ///
    /// # Errors
    /// [`Error::Graph`] naming the row, counted from 0.
    pub fn check(&self, n_nodes: usize, row: u64) -> Result<()> {
        let Self { u, v, weight } = *self;
        if let Some(node) = [u, v].into_iter().find(|&node| node as usize >= n_nodes) {
            let reason = format!("row {row} of the edges: node {node} is out of range; there are {n_nodes} nodes");
            return Err(Error::graph(format!("{reason}, counted from 0")));
        }
        if !(weight >= 0.0 && weight.is_finite()) {
            let reason = format!("row {row} of the edges: weight {weight}; weights must be finite and at least 0");
            return Err(Error::graph(reason));
        }
        Ok(())
    }
}

/// The upper triangle of a symmetric matrix, row by row.
impl EdgeSource for Csr<f64> {
    fn n_nodes(&self) -> usize {
        self.n_rows()
    }

    fn n_edges(&self) -> Option<u64> {
        None
    }

    fn open<'s>(&'s self, _: &Run) -> Result<Box<dyn EdgeReader + 's>> {
        Ok(Box::new(UpperTriangle { matrix: self, row: 0, at: 0 }))
    }
}

struct UpperTriangle<'a> {
    matrix: &'a Csr<f64>,
    row: usize,
    /// Next entry of the row.
    at: usize,
}

impl EdgeReader for UpperTriangle<'_> {
    fn read(&mut self, most: usize, out: &mut Vec<Edge>, run: &Run) -> Result<()> {
        run.check()?;
        let end = out.len() + most;
        while self.row < self.matrix.n_rows() && out.len() < end {
            let (columns, weights) = self.matrix.row(self.row);
            while self.at < columns.len() && out.len() < end {
                let (v, weight) = (columns[self.at], weights[self.at]);
                if v as usize > self.row {
                    out.push(Edge { u: self.row as u32, v, weight });
                }
                self.at += 1;
            }
            if self.at == columns.len() {
                (self.row, self.at) = (self.row + 1, 0);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(source: &dyn EdgeSource, most: usize, skip: u64) -> Vec<Edge> {
        let run = Run::new(Some(1), 0).unwrap();
        let mut reader = source.open(&run).unwrap();
        reader.skip(skip, &run).unwrap();
        let mut out = Vec::new();
        loop {
            let before = out.len();
            reader.read(most, &mut out, &run).unwrap();
            assert!(out.len() - before <= most);
            if out.len() == before {
                return out;
            }
        }
    }

    #[test]
    fn blocks_of_any_size_give_the_same_rows() {
        let entries = [(0, 1, 1.0), (1, 0, 1.0), (1, 2, 2.0), (2, 1, 2.0), (0, 3, 3.0), (3, 0, 3.0)];
        let matrix = Csr::from_entries(5, 5, &entries).unwrap();
        let edges = [(0, 1, 1.0), (0, 3, 3.0), (1, 2, 2.0)].map(|(u, v, weight)| Edge { u, v, weight });
        for most in 1..5 {
            assert_eq!(all(&matrix, most, 0), edges);
            assert_eq!(all(&matrix, most, 2), edges[2..]);
            assert!(all(&matrix, most, 9).is_empty());
        }
    }

    #[test]
    fn bad_edges_are_named() {
        let text = |edge: Edge| edge.check(3, 1).unwrap_err().to_string();
        assert!(text(Edge { u: 0, v: 3, weight: 1.0 }).contains("row 1 of the edges: node 3 is out of range"));
        assert!(text(Edge { u: 0, v: 1, weight: f64::NAN }).contains("row 1 of the edges: weight NaN"));
    }
}
