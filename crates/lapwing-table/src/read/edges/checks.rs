//! The checks of every row of a list of edges, and how many nodes a list may have.

use std::path::Path;

use crate::read::list::Place;
use crate::read::npz::most_nodes;
use lapwing_core::text::option;
use lapwing_core::{Edge, Result};

/// Weight of the edges of a list without weights.
pub(super) const NO_WEIGHT: f64 = 1.0;

/// Takes an edge: its nodes, weight, and place in the file.
pub(super) type Take<'t> = &'t mut dyn FnMut([&str; 2], f64, Place) -> Result<()>;

/// The edge of a row among `n_nodes` nodes, if their number is known before reading; or the message of a failed check.
pub(super) fn checked(n_nodes: Option<usize>, nodes: [i64; 2], weight: f64) -> Result<Edge, String> {
    if let Some(node) = nodes.iter().find(|&&node| node < 0 || node >= i64::from(end(n_nodes))) {
        return Err(match n_nodes {
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

/// Whether all of `edges` pass the checks.
pub(super) fn hold(n_nodes: Option<usize>, edges: &[Edge]) -> bool {
    let end = end(n_nodes);
    // No branches, so that the compiler vectorizes the loop.
    edges.iter().fold(true, |good, edge| good & (edge.u < end) & (edge.v < end) & is_weight(edge.weight))
}

/// The first number that is no node.
fn end(n_nodes: Option<usize>) -> u32 {
    n_nodes.and_then(|n| u32::try_from(n).ok()).unwrap_or(u32::MAX)
}

/// The message for a bad weight.
pub(in crate::read) const WEIGHTS: &str = "weights must be finite and at least 0";

/// Whether `weight` is finite and at least 0.
pub(in crate::read) fn is_weight(weight: f64) -> bool {
    (0.0..f64::INFINITY).contains(&weight)
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

    /// The number of nodes, if the edges explain it; else the number must be given, so that memory does not grow with a single id. `place`
    /// tells where a row stands.
    pub(in crate::read) fn nodes(&self, path: &Path, place: impl FnOnce(u64) -> Place) -> Result<usize> {
        let (n, n_edges) = (self.n_nodes, self.n_edges);
        if n as u64 <= most_nodes(n_edges) {
            return Ok(n);
        }
        let edges = if n_edges == 1 { "1 edge".to_owned() } else { format!("{n_edges} edges") };
        let reason = format!(
            "node {} would make {n} nodes of only {edges}; if ids are numbers of rows, give the number of nodes ({}), and if they are names, say so ({})",
            n - 1,
            option("nodes", &n.to_string()),
            option("nodes", "names")
        );
        Err(place(self.row).error(path, reason))
    }
}
