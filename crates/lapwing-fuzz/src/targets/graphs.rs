//! Graphs as matrices: symmetric, without loops, with finite positive weights, and the same when they are written and read.

use lapwing_data::read::read_graph;
use lapwing_data::write::write_graph;
use lapwing_data::{Csr, Error};
use lapwing_graph::Graph;

use super::{Bench, accepted, answer, holds};
use crate::judge::Verdict;

type Checked = std::result::Result<(), String>;

/// Sparse matrices and lists of edges in archives.
pub fn npz(bench: &Bench, bytes: &[u8]) -> Verdict {
    let path = bench.file("g.npz", bytes);
    let Some(matrix) = answer(read_graph(&path, None, &bench.run))? else { return accepted(false) };
    check_matrix(&matrix)?;
    let n_nodes = matrix.n_rows();
    let Some(again) = answer(read_graph(&path, Some(n_nodes), &bench.run))? else {
        return Err("a graph that was read is refused with its own number of nodes".into());
    };
    holds(again == matrix, || "a graph read twice differs".into())?;
    if matrix.nnz() < 64 && n_nodes < 1024 {
        check_written(bench, &matrix)?;
    }
    accepted(true)
}

/// What a graph must be.
pub fn check_matrix(matrix: &Csr<f64>) -> Checked {
    let bad = matrix.values().iter().find(|weight| !(**weight > 0.0 && weight.is_finite()));
    holds(bad.is_none(), || format!("a weight that is no weight: {bad:?}"))?;
    holds(matrix.transpose().is_ok_and(|transposed| *matrix == transposed), || "a graph that is not symmetric".into())?;
    if matrix.values().iter().sum::<f64>() > f64::MAX / 2.0 {
        // No degrees can be made of such weights: the graph may be read and written, but not used.
        return Ok(());
    }
    let graph = Graph::new(matrix.clone()).map_err(|error| format!("a graph that is refused as one: {error}"))?;
    holds(graph.adjacency() == matrix, || "a graph with loops or zeros".into())
}

/// A graph that is written is read as it was.
pub fn check_written(bench: &Bench, matrix: &Csr<f64>) -> Checked {
    for name in ["w.npz", "w.npy"] {
        let path = bench.path(name);
        write_graph(&path, matrix).map_err(|error| format!("cannot be written: {error}"))?;
        let read = read_graph(&path, Some(matrix.n_rows()), &bench.run);
        let read = match read {
            // The limit of this process, at another time.
            Err(Error::TooLarge { .. }) => continue,
            read => read.map_err(|error| format!("refused when it was written: {error}"))?,
        };
        holds(read == *matrix, || "another graph when it was written".into())?;
    }
    Ok(())
}
