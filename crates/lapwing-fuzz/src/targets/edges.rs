//! Lists of edges: the matrix and the stream hold the same edges, and a sparsifier accepts the stream.

use std::path::Path;

use lapwing_data::read::{EdgeFile, read_graph};
use lapwing_data::{Csr, Edge, EdgeSource, Error, Result};
use lapwing_graph::sparsify::{Budget, Sparsifier, SparsifyParams};

use super::graphs::{check_matrix, check_written};
use super::{Bench, Checked, accepted, answer, holds, refused};
use crate::judge::Verdict;

/// The most edges of a file that is compared.
const MOST_EDGES: usize = 1 << 14;
/// The most nodes of a stream that is sparsified.
const MOST_NODES: usize = 64;

/// Lists of edges in any format.
pub fn edges(bench: &Bench, path: &Path, _: &[u8]) -> Verdict {
    let matrix = read_graph(path, None, &bench.run);
    let streamed = answer(stream(bench, path))?;
    if streamed.is_none() {
        return match matrix {
            Ok(_) => Err("edges are accepted as a graph and refused as a stream".into()),
            Err(error) => refused(&error).and_then(|()| accepted(false)),
        };
    }
    let Some(Some((n_nodes, edges))) = streamed else { return accepted(true) };
    edges.iter().zip(0..).try_for_each(|(edge, row)| edge.check(n_nodes, row)).map_err(|e| format!("accepted: {e}"))?;
    sparsified(bench, n_nodes, &edges)?;
    match matrix {
        Ok(matrix) => check_pairs(&matrix, &edges).and_then(|()| check_matrix(&matrix))?,
        // Different weights of the two directions, and too many nodes, are errors of the matrix alone.
        Err(Error::Graph { .. } | Error::TooLarge { .. }) => {}
        Err(error) => return Err(format!("edges are accepted as a stream and refused as a graph: {error}")),
    }
    if let Some(matrix) = answer(read_graph(path, Some(n_nodes), &bench.run))?.filter(|matrix| matrix.nnz() < 64) {
        check_written(bench, &matrix)?;
    }
    accepted(true)
}

/// Nodes and edges of a file, read in blocks of seven; `None` for more than [`MOST_EDGES`].
fn stream(bench: &Bench, path: &Path) -> Result<Option<(usize, Vec<Edge>)>> {
    let file = EdgeFile::open(path, None, &bench.run)?;
    if file.n_edges().is_none_or(|edges| edges > MOST_EDGES as u64) {
        return Ok(None);
    }
    let (mut reader, mut edges) = (file.open(&bench.run)?, Vec::new());
    loop {
        let before = edges.len();
        reader.read(7, &mut edges, &bench.run)?;
        if edges.len() == before {
            return Ok(Some((file.n_nodes(), edges)));
        }
    }
}

/// The matrix has an entry for each direction of each pair of nodes that edges of the stream join.
fn check_pairs(matrix: &Csr<f64>, edges: &[Edge]) -> Checked {
    let joins = |edge: &&Edge| edge.u != edge.v && edge.weight > 0.0;
    let pairs: std::collections::HashSet<(u32, u32)> =
        edges.iter().filter(joins).map(|edge| (edge.u.min(edge.v), edge.u.max(edge.v))).collect();
    holds(2 * pairs.len() == matrix.nnz(), || format!("edges in the matrix: {}, {} joined", matrix.nnz(), pairs.len()))
}

/// A sparsifier with a small budget makes a valid graph of the stream.
fn sparsified(bench: &Bench, n_nodes: usize, edges: &[Edge]) -> Checked {
    if n_nodes == 0 || n_nodes > MOST_NODES || edges.len() > 512 {
        return Ok(());
    }
    let params = SparsifyParams {
        budget: Budget::Edges(2 * n_nodes),
        capacity: Some(4 * n_nodes),
        n_projections: 8,
        ..SparsifyParams::default()
    };
    let Some(mut sparsifier) = answer(Sparsifier::new(n_nodes, params, &bench.run))? else { return Ok(()) };
    let finished = sparsifier.add(edges, &bench.run).and_then(|()| sparsifier.finish(&bench.run));
    answer(finished)?.map_or(Ok(()), |(graph, _)| check_matrix(graph.adjacency()))
}
