//! Lists of edges: the matrix and the stream hold the same, and a sparsifier takes the stream.

use std::path::Path;

use lapwing_data::read::{EdgeFile, read_graph};
use lapwing_data::{Csr, Edge, EdgeSource, Error, Result};
use lapwing_graph::sparsify::{Budget, Sparsifier, SparsifyParams};

use super::graphs::{check_matrix, check_written};
use super::{Bench, accepted, answer, holds};
use crate::judge::Verdict;

/// Edges that are compared at most.
const MOST_EDGES: usize = 1 << 14;
/// Nodes among which streams are sparsified, at most.
const MOST_NODES: usize = 64;

type Checked = std::result::Result<(), String>;

/// CSV.
pub fn csv(bench: &Bench, bytes: &[u8]) -> Verdict {
    of_file(bench, "e.csv", bytes)
}

/// NumPy arrays, of records or numbers.
pub fn npy(bench: &Bench, bytes: &[u8]) -> Verdict {
    of_file(bench, "e.npy", bytes)
}

/// Parquet.
pub fn parquet(bench: &Bench, bytes: &[u8]) -> Verdict {
    of_file(bench, "e.parquet", bytes)
}

fn of_file(bench: &Bench, name: &str, bytes: &[u8]) -> Verdict {
    let path = bench.file(name, bytes);
    let matrix = read_graph(&path, None, &bench.run);
    let streamed = answer(stream(bench, &path))?;
    if streamed.is_none() {
        return match matrix {
            Ok(_) => Err("a graph was read of edges that are refused as a stream".into()),
            Err(error) => super::refused(&error).and_then(|()| accepted(false)),
        };
    }
    let Some(Some((n_nodes, edges))) = streamed else { return accepted(true) };
    edges.iter().zip(0..).try_for_each(|(edge, row)| edge.check(n_nodes, row)).map_err(|e| format!("accepted: {e}"))?;
    sparsified(bench, n_nodes, &edges)?;
    match matrix {
        Ok(matrix) => check_sum(&matrix, &edges).and_then(|()| check_matrix(&matrix))?,
        // Weights of the two directions, and too many nodes, matter to the matrix alone.
        Err(Error::Graph { .. } | Error::TooLarge { .. }) => {}
        Err(error) => return Err(format!("edges that are read as a stream are refused as a graph: {error}")),
    }
    if let Some(matrix) = answer(read_graph(&path, Some(n_nodes), &bench.run))?.filter(|matrix| matrix.nnz() < 64) {
        check_written(bench, &matrix)?;
    }
    accepted(true)
}

/// Nodes and edges of a file in blocks of seven; none of edges too many.
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

/// No edge that joins two nodes is lost: where the sums are finite, they agree.
fn check_sum(matrix: &Csr<f64>, edges: &[Edge]) -> Checked {
    let joins = |edge: &&Edge| edge.u != edge.v && edge.weight > 0.0;
    let has_edges = edges.iter().any(|edge| joins(&edge));
    holds(has_edges == (matrix.nnz() > 0), || "edges of the stream are missing in the matrix".into())?;
    let pairs: std::collections::HashSet<(u32, u32)> =
        edges.iter().filter(joins).map(|edge| (edge.u.min(edge.v), edge.u.max(edge.v))).collect();
    holds(2 * pairs.len() == matrix.nnz(), || format!("edges in the matrix: {}, {} joined", matrix.nnz(), pairs.len()))
}

/// A stream goes through a sparsifier that has to thin it.
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
    if answer(sparsifier.add(edges, &bench.run))?.is_none() {
        return Ok(());
    }
    match answer(sparsifier.finish(&bench.run))? {
        Some((graph, _)) => check_matrix(graph.adjacency()),
        None => Ok(()),
    }
}
