//! Lists of edges: the matrix and the stream hold the same edges, and a sparsifier accepts the stream.

use std::path::Path;

use lapwing_core::{Csr, Edge, EdgeSource, Error, Result, RowNames};
use lapwing_graph::sparsify::{Budget, Sparsifier, SparsifyParams};
use lapwing_table::read::{EdgeFile, EdgeOptions, NodeOptions, read_graph, read_named_graph};

use super::graphs::{check_matrix, check_written};
use crate::bench::{Bench, Checked, Verdict, accepted, answer, holds, refused};

/// The most edges of a file that is compared.
const MOST_EDGES: usize = 1 << 14;
/// The most nodes of a stream that is sparsified.
const MOST_NODES: usize = 64;
/// Nodes that a list may have without asking: some, and more for each edge.
const UNASKED: u64 = 100_000;
const UNASKED_OF_EDGE: u64 = 20;

/// Lists of edges in any format.
pub fn edges(bench: &Bench, path: &Path, _: &[u8]) -> Verdict {
    named(bench, path)?;
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
        // Different weights of the two directions are an error of the matrix alone.
        Err(Error::Graph { .. }) => {}
        Err(error) => return Err(format!("edges are accepted as a stream and refused as a graph: {error}")),
    }
    if let Some(matrix) = answer(read_graph(path, Some(n_nodes), &bench.run))?.filter(|matrix| matrix.nnz() < 64) {
        check_written(bench, &matrix)?;
    }
    accepted(true)
}

/// Nodes that may have names: the graph and the stream have the same ones, and no more than the edges explain.
fn named(bench: &Bench, path: &Path) -> Checked {
    let graph = read_named_graph(path, &NodeOptions::default(), &bench.run);
    let file = answer(EdgeFile::open_with(path, &EdgeOptions::default(), &bench.run))?;
    let (graph, file) = match (graph, file) {
        (Ok(graph), Some(file)) => (graph, file),
        (Err(error), None) => return refused(&error),
        (Err(Error::Graph { .. }), Some(_)) => return Ok(()),
        (Ok(_), None) => return Err("named edges are accepted as a graph and refused as a stream".into()),
        (Err(error), Some(_)) => {
            return Err(format!("named edges are accepted as a stream and refused as a graph: {error}"));
        }
    };
    let n_nodes = file.n_nodes();
    holds(n_nodes == graph.adjacency.n_rows(), || "other nodes in the stream than in the graph".into())?;
    holds(file.names().map(|names| &**names) == graph.names.as_ref(), || "other names in the stream".into())?;
    let few = graph.names.as_ref().is_none_or(|names| names.iter().all(|name| !name.is_empty()));
    holds(few && file.names().is_none_or(|names: &std::sync::Arc<RowNames>| names.len() == n_nodes), || {
        "nodes without names".into()
    })?;
    let most = file.n_edges().map(|n_edges| UNASKED + UNASKED_OF_EDGE * n_edges);
    holds(most.is_none_or(|most| n_nodes as u64 <= most), || format!("{n_nodes} nodes of few edges"))
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
