//! The graph of the last edges of a stream.
//!
//! Edges leave in the order in which they came. So the oldest edge of the window is also the oldest of each of its ends, and the
//! neighbors of a node are a queue: an edge is added and removed in constant time. Memory: 48 bytes for each edge of the window, 40 for
//! each node.

use std::collections::VecDeque;

use lapwing_core::parallel::*;
use lapwing_core::{Csr, Edge, Result, Run, check_memory};

use crate::{Components, Graph};

/// The last edges of a stream, with the neighbors of each node. An edge that comes again adds to the weight until it leaves; loops and
/// edges of weight 0 take a place in the window and join nothing.
#[derive(Clone, Debug)]
pub struct WindowGraph {
    most: usize,
    edges: VecDeque<Edge>,
    /// Other ends and weights, in the order of the stream.
    beside: Vec<VecDeque<(u32, f64)>>,
}

impl WindowGraph {
    /// A graph of `n_nodes` nodes that holds the last `most` edges.
    ///
    /// # Errors
    /// [`Error::TooLarge`](lapwing_core::Error::TooLarge) if the nodes do not fit in memory.
    pub fn new(n_nodes: usize, most: usize) -> Result<Self> {
        check_memory("the nodes of a window", 40 * n_nodes as u64, "give no more nodes than there are")?;
        Ok(Self { most: most.max(1), edges: VecDeque::new(), beside: vec![VecDeque::new(); n_nodes] })
    }

    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.beside.len()
    }

    /// Number of edges held.
    pub fn n_edges(&self) -> usize {
        self.edges.len()
    }

    /// Adds an edge whose ends are nodes, and returns the oldest one if it leaves for it.
    pub fn push(&mut self, edge: Edge) -> Option<Edge> {
        let left = if self.edges.len() == self.most { self.pop() } else { None };
        self.edges.push_back(edge);
        if joins(&edge) {
            self.beside[edge.u as usize].push_back((edge.v, edge.weight));
            self.beside[edge.v as usize].push_back((edge.u, edge.weight));
        }
        left
    }

    /// Removes the oldest edge.
    pub fn pop(&mut self) -> Option<Edge> {
        let edge = self.edges.pop_front()?;
        if joins(&edge) {
            self.beside[edge.u as usize].pop_front();
            self.beside[edge.v as usize].pop_front();
        }
        Some(edge)
    }

    /// The other ends of the edges of a node with their weights, the oldest first; a node may occur more than once.
    pub fn neighbors(&self, node: usize) -> impl Iterator<Item = (u32, f64)> {
        self.beside[node].iter().copied()
    }

    /// The connected components.
    pub fn components(&self) -> Components {
        Components::of(self.n_nodes(), |node| self.neighbors(node).map(|(other, _)| other))
    }

    /// The graph, with edges that occur more than once as one.
    ///
    /// # Errors
    /// [`Error::Graph`](lapwing_core::Error::Graph) for weights whose sums exceed double precision.
    ///
    /// # Complexity
    /// O(m·log d) for m edges and d edges of a node; parallel.
    pub fn graph(&self, run: &Run) -> Result<Graph> {
        let rows: Vec<Vec<(u32, f64)>> = run.install(|| {
            let rows = self.beside.par_iter().with_min_len(1024);
            rows.map(merged).collect()
        });
        let mut indptr = vec![0u64];
        indptr.extend(rows.iter().scan(0, |end, row| {
            *end += row.len() as u64;
            Some(*end)
        }));
        let (indices, values) = rows.into_iter().flatten().unzip();
        Graph::from_symmetric(Csr::new(self.n_nodes(), self.n_nodes(), indptr, indices, values)?)
    }
}

fn joins(edge: &Edge) -> bool {
    edge.u != edge.v && edge.weight > 0.0
}

/// The neighbors in ascending order, each once. Weights of one pair are added in the order of the stream at both ends, so that the matrix
/// is symmetric to the last bit.
fn merged(beside: &VecDeque<(u32, f64)>) -> Vec<(u32, f64)> {
    let mut row: Vec<(u32, f64)> = beside.iter().copied().collect();
    row.sort_by_key(|(other, _)| *other);
    row.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1 += later.1;
        }
        same
    });
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(count: u32) -> impl Iterator<Item = Edge> {
        (0..count).map(|at| Edge { u: at * 7 % 13, v: at * at % 11, weight: f64::from(at % 4) })
    }

    #[test]
    fn it_is_the_graph_of_the_last_edges() {
        let run = Run::new(Some(2), 0).unwrap();
        let mut window = WindowGraph::new(13, 40).unwrap();
        let all: Vec<Edge> = edges(500).collect();
        for (at, edge) in all.iter().enumerate() {
            let left = window.push(*edge);
            assert_eq!(left, (at >= 40).then(|| all[at - 40]));
            let held: Vec<_> = all[(at + 1).saturating_sub(40)..=at].iter().map(|e| (e.u, e.v, e.weight)).collect();
            let expected = Graph::from_edges(13, &held).unwrap();
            let found = window.graph(&run).unwrap();
            assert_eq!(found, expected);
            assert_eq!(window.components(), expected.components());
        }
        while window.pop().is_some() {}
        assert_eq!((window.n_edges(), window.graph(&run).unwrap().n_edges()), (0, 0));
        assert!(window.neighbors(3).next().is_none());
    }
}
