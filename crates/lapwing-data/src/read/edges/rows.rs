//! Edge lists of every format: opened by the ending of the name, with the same checks for every row.

use std::path::Path;

use super::array::ArrayEdges;
use super::csv::CsvEdges;
use crate::read::format::{Format, unknown_ending};
use crate::read::npy::Source;
use crate::read::records::Records;
use crate::{Edge, EdgeReader, Error, Result, Run};

/// Rows of a block when all rows are read.
const BLOCK_ROWS: usize = 1 << 15;
/// Least share of a file between two reports of progress.
const LEAST_STEP: f64 = 0.005;

/// Weight of the edges of a list without weights.
pub(super) const NO_WEIGHT: f64 = 1.0;

/// The message for an edge list with `found` columns.
pub(super) fn width_text(found: usize) -> String {
    format!("{found} columns; expected two nodes and perhaps a weight")
}

/// The checks of every row.
#[derive(Clone, Copy)]
pub(in crate::read) struct Checks {
    /// Number of nodes, if it is known before reading.
    pub n_nodes: Option<usize>,
}

impl Checks {
    /// The edge of a row, or the message of a failed check.
    pub(super) fn edge(self, nodes: [i64; 2], weight: f64) -> Result<Edge, String> {
        if let Some(node) = nodes.iter().find(|&&node| node < 0 || node >= i64::from(self.end())) {
            return Err(match self.n_nodes {
                Some(n) => format!("node {node} is out of range; the data has {n} rows, counted from 0"),
                None => format!("node {node} is out of range; nodes count from 0 to {}", u32::MAX - 1),
            });
        }
        if !is_weight(weight) {
            return Err(format!("weight {weight}; {WEIGHTS}"));
        }
        let [u, v] = nodes.map(|node| node as u32);
        Ok(Edge { u, v, weight })
    }

    /// Appends rows of nodes and weights, up to the length of the shortest column; returns the first bad row and its
    /// message.
    pub(super) fn append(
        self,
        [u, v]: [&[i64]; 2],
        weights: Option<&[f64]>,
        out: &mut Vec<Edge>,
    ) -> Result<(), (usize, String)> {
        for (row, (&u, &v)) in u.iter().zip(v).enumerate() {
            let weight = weights.map_or(NO_WEIGHT, |weights| weights[row]);
            out.push(self.edge([u, v], weight).map_err(|reason| (row, reason))?);
        }
        Ok(())
    }

    /// Whether all of `edges` pass.
    pub(super) fn hold(self, edges: &[Edge]) -> bool {
        let end = self.end();
        // No branches, so that the compiler vectorizes the loop.
        edges.iter().fold(true, |good, edge| good & (edge.u < end) & (edge.v < end) & is_weight(edge.weight))
    }

    /// The first number that is no node.
    fn end(self) -> u32 {
        self.n_nodes.and_then(|n| u32::try_from(n).ok()).unwrap_or(u32::MAX)
    }
}

/// The message for a bad weight.
pub(in crate::read) const WEIGHTS: &str = "weights must be finite and at least 0";

/// Whether `weight` is finite and at least 0.
pub(in crate::read) fn is_weight(weight: f64) -> bool {
    (0.0..f64::INFINITY).contains(&weight)
}

/// An open edge list.
pub(in crate::read) struct EdgeList<'a> {
    /// Number of rows, if the file states it.
    pub n_rows: Option<u64>,
    pub reader: Box<dyn EdgeReader + 'a>,
}

impl<'a> EdgeList<'a> {
    /// Opens a `.npy`, `.parquet` or CSV file; for other formats, the error says that `expected` is expected.
    pub(in crate::read) fn open(path: &'a Path, checks: Checks, expected: &str) -> Result<Self> {
        match Format::from_path(path) {
            Format::Csv => Ok(Self { n_rows: None, reader: Box::new(CsvEdges::open(path, checks)?) }),
            Format::Npy => ArrayEdges::open(path, checks).map(Self::from_array),
            #[cfg(feature = "tables")]
            Format::Parquet => {
                let reader = super::parquet::ParquetEdges::open(path, checks)?;
                Ok(Self { n_rows: Some(reader.n_rows()), reader: Box::new(reader) })
            }
            #[cfg(not(feature = "tables"))]
            Format::Parquet => Err(crate::read::format::without_tables(path)),
            _ => Err(unknown_ending(path, expected)),
        }
    }

    /// The edges of text none of which was read.
    pub(in crate::read) fn from_text(records: Records, checks: Checks) -> Result<Self> {
        Ok(Self { n_rows: None, reader: Box::new(CsvEdges::of_records(records, checks)?) })
    }

    /// The edges of an open array.
    pub(in crate::read) fn from_array<R: Source + Send + 'a>(reader: ArrayEdges<'a, R>) -> Self {
        Self { n_rows: Some(reader.n_rows()), reader: Box::new(reader) }
    }

    /// Hands all rows to `take`, block by block. Reports the share that has been read, if it is known but the number of rows is not.
    pub(in crate::read) fn each(mut self, run: &Run, mut take: impl FnMut(&[Edge])) -> Result<()> {
        let mut shares = Shares::default();
        let mut block = Vec::with_capacity(BLOCK_ROWS);
        loop {
            block.clear();
            self.reader.read(BLOCK_ROWS, &mut block, run)?;
            if block.is_empty() {
                return Ok(());
            }
            take(&block);
            if let (None, Some(share)) = (self.n_rows, self.reader.share()) {
                shares.report(share, run);
            }
        }
    }
}

/// The share of a file that was reported last.
#[derive(Default)]
pub(super) struct Shares(f64);

impl Shares {
    /// Reports a share, unless it is hardly larger than the last one.
    pub(super) fn report(&mut self, share: f64, run: &Run) {
        if share >= self.0 + LEAST_STEP {
            self.0 = share;
            run.share(share, "");
        }
    }
}

/// The message about row `row`, counted from 0, of a format without lines.
pub(super) fn row_text(row: u64, reason: &str) -> String {
    format!("row {row}: {reason}")
}

/// The number of nodes that `edges` need.
pub(in crate::read) fn nodes_of(edges: &[Edge]) -> usize {
    edges.iter().map(|edge| edge.u.max(edge.v) as usize + 1).max().unwrap_or(0)
}

/// Refuses more nodes than 32-bit numbers can count.
pub(super) fn check_count(n_nodes: Option<usize>) -> Result<()> {
    match n_nodes.filter(|&n| n > u32::MAX as usize) {
        Some(n) => Err(Error::param("number of nodes", n, format!("at most {}", u32::MAX))),
        None => Ok(()),
    }
}
