//! Graphs as matrices: symmetric, without loops, with finite positive weights, and equal after writing and reading.

use std::path::Path;

use lapwing_core::{Csr, Error};
use lapwing_graph::Graph;
use lapwing_table::read::read_graph;
use lapwing_table::write::write_graph;

use crate::bench::{Bench, Checked, Verdict, accepted, answer, holds};

/// Sparse matrices and lists of edges in archives.
pub fn npz(bench: &Bench, path: &Path, _: &[u8]) -> Verdict {
    let Some(matrix) = answer(read_graph(path, None, &bench.run))? else { return accepted(false) };
    check_matrix(&matrix)?;
    let n_nodes = matrix.n_rows();
    // Each row of compressed rows takes bytes of the file, if only some bits of deflated ones.
    holds(n_nodes <= 1 << 24, || format!("{n_nodes} nodes of a small file"))?;
    let Some(again) = answer(read_graph(path, Some(n_nodes), &bench.run))? else {
        return Err("a graph is refused when its own number of nodes is given".into());
    };
    holds(again == matrix, || "a graph read twice differs".into())?;
    if matrix.nnz() < 64 && n_nodes < 1024 {
        check_written(bench, &matrix)?;
    }
    accepted(true)
}

/// Checks the conditions on a graph.
pub fn check_matrix(matrix: &Csr<f64>) -> Checked {
    let bad = matrix.values().iter().find(|weight| !(**weight > 0.0 && weight.is_finite()));
    holds(bad.is_none(), || format!("an invalid weight: {bad:?}"))?;
    holds(matrix.transpose().is_ok_and(|transposed| *matrix == transposed), || "an asymmetric graph".into())?;
    if matrix.values().iter().sum::<f64>() > f64::MAX / 2.0 {
        // The degrees overflow: such a graph can be read and written, but not used.
        return Ok(());
    }
    let graph = Graph::new(matrix.clone()).map_err(|error| format!("a matrix that is refused as a graph: {error}"))?;
    holds(graph.adjacency() == matrix, || "a graph with loops or zeros".into())
}

/// Checks that a graph is equal after writing and reading.
pub fn check_written(bench: &Bench, matrix: &Csr<f64>) -> Checked {
    for name in ["w.npz", "w.npy"] {
        let path = bench.path(name);
        write_graph(&path, matrix).map_err(|error| format!("cannot be written: {error}"))?;
        let read = read_graph(&path, Some(matrix.n_rows()), &bench.run);
        let read = match read {
            // The process has reached its memory limit.
            Err(Error::TooLarge { .. }) => continue,
            read => read.map_err(|error| format!("refused after writing: {error}"))?,
        };
        holds(read == *matrix, || "another graph after writing".into())?;
    }
    Ok(())
}
