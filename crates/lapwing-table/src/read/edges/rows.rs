//! Edge lists of every format: opened by the ending of the name, with the same checks for every row.

use std::path::Path;

use super::EdgeOptions;
use super::array::ArrayEdges;
use super::csv::CsvEdges;
use super::text::EdgeText;
use crate::read::format::{Format, is_rereadable, unknown_ending};
use crate::read::npy::Source;
use lapwing_core::{Edge, EdgeReader, Error, Result, Run};

/// Rows of a block when all rows are read.
const BLOCK_ROWS: usize = 1 << 15;
/// Least share of a file between two reports of progress.
const LEAST_STEP: f64 = 0.005;

/// Weight of the edges of a list without weights.
pub(super) const NO_WEIGHT: f64 = 1.0;

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
    /// What to look at in the choice of columns.
    pub notes: Vec<String>,
}

impl<'a> EdgeList<'a> {
    /// Opens a `.npy`, `.parquet` or CSV file; for other formats, the error says that `expected` is expected.
    pub(in crate::read) fn open(path: &'a Path, options: &EdgeOptions, checks: Checks, expected: &str) -> Result<Self> {
        match Format::from_path(path) {
            Format::Csv => Self::from_text(EdgeText::open(path, options)?, checks),
            Format::Npy => ArrayEdges::open(path, checks).map(Self::from_array),
            Format::Parquet => {
                let mut reader = super::parquet::ParquetEdges::open(path, checks)?;
                let notes = std::mem::take(&mut reader.notes);
                Ok(Self { n_rows: Some(reader.n_rows()), reader: Box::new(reader), notes })
            }
            _ => Err(unknown_ending(path, expected)),
        }
    }

    /// The edges of text none of which was read.
    pub(in crate::read) fn from_text(mut text: EdgeText, checks: Checks) -> Result<Self> {
        let notes = std::mem::take(&mut text.columns.notes);
        Ok(Self { n_rows: None, reader: Box::new(CsvEdges::new(text, checks)?), notes })
    }

    /// The edges of an open array.
    pub(in crate::read) fn from_array<R: Source + Send + 'a>(mut reader: ArrayEdges<'a, R>) -> Self {
        let notes = reader.take_notes();
        Self { n_rows: Some(reader.n_rows()), reader: Box::new(reader), notes }
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

/// Nodes that any list may have, and that it may have for each edge: nodes of which not one in ten has an edge are hardly meant, and
/// one wrong digit makes billions. Methods take some hundred bytes for each.
const FEW_NODES: u64 = 100_000;
const NODES_OF_EDGE: u64 = 20;

/// The most nodes that `n_edges` edges explain.
pub(in crate::read) fn most_nodes(n_edges: u64) -> u64 {
    NODES_OF_EDGE.saturating_mul(n_edges).saturating_add(FEW_NODES)
}

/// Edges and nodes of a list so far.
#[derive(Default)]
pub(in crate::read) struct Extent {
    pub n_nodes: usize,
    pub n_edges: u64,
    /// The row with the largest node.
    row: u64,
}

impl Extent {
    /// Adds the next rows.
    pub(in crate::read) fn add(&mut self, edges: &[Edge]) {
        let end = |edge: &Edge| edge.u.max(edge.v) as usize + 1;
        let largest = edges.iter().map(end).max().unwrap_or(0);
        if largest > self.n_nodes {
            let at = edges.iter().position(|edge| end(edge) == largest).unwrap_or(0);
            (self.n_nodes, self.row) = (largest, self.n_edges + at as u64);
        }
        self.n_edges += edges.len() as u64;
    }

    /// The number of nodes, if the edges explain it; else the number must be given, so that memory does not grow with a single id.
    pub(in crate::read) fn nodes(&self, path: &Path, options: &EdgeOptions, run: &Run) -> Result<usize> {
        let (n, n_edges) = (self.n_nodes, self.n_edges);
        if n as u64 <= most_nodes(n_edges) {
            return Ok(n);
        }
        let edges = if n_edges == 1 { "1 edge".to_owned() } else { format!("{n_edges} edges") };
        let reason = format!(
            "node {} would make {n} nodes of only {edges}; if ids are numbers of rows, give the number of nodes (--nodes {n}), and if they are names, say so (--nodes names)",
            n - 1
        );
        match line_of(path, self.row, options, run) {
            Some(line) => Err(Error::format(path, Some(line), reason)),
            None => Err(Error::format(path, None, row_text(self.row, &reason))),
        }
    }
}

/// The line of an edge in a text that can be read again.
fn line_of(path: &Path, row: u64, options: &EdgeOptions, run: &Run) -> Option<u64> {
    let is_text = Format::from_path(path) == Format::Csv && is_rereadable(path);
    let mut records = is_text.then(|| EdgeText::open(path, options).ok()).flatten()?.records;
    (0..=row).try_for_each(|_| records.next(run).ok().filter(|found| *found).map(drop))?;
    Some(records.line())
}

/// Refuses more nodes than 32-bit numbers can count.
pub(super) fn check_count(n_nodes: Option<usize>) -> Result<()> {
    match n_nodes.filter(|&n| n > u32::MAX as usize) {
        Some(n) => Err(Error::param("number of nodes", n, format!("at most {}", u32::MAX))),
        None => Ok(()),
    }
}
