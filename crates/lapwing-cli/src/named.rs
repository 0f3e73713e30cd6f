//! Rows with names: labels that are found by them, and what to say where names cannot be used.

use std::path::Path;
use std::sync::Arc;

use lapwing::data::read::{NodeOptions, read_named_graph, read_named_labels, read_names, read_sparse_labels};
use lapwing::data::{Csr, RowNames, Run, SparseLabels, Warning};

use crate::failure::Failure;
use crate::input::read_options;
use crate::options::{LabelOptions, TableOptions};

/// The names of the rows of a table that is read in blocks, if an option names their column.
pub fn names_of(path: &Path, table: &TableOptions, run: &Run) -> Result<Option<Arc<RowNames>>, Failure> {
    let read = || read_names(path, &read_options(table, None), run);
    Ok(table.id.column.as_ref().map(|_| read()).transpose()?.map(Arc::new))
}

/// The labels of a file for `n_rows` rows, which may have names; warns if labels of unknown names were left out.
pub fn labels_of(
    path: &Path,
    n_rows: usize,
    names: Option<&RowNames>,
    options: &LabelOptions,
) -> Result<(SparseLabels, Option<Warning>), Failure> {
    let unlabeled = options.unlabeled.as_deref();
    let Some(names) = names else { return Ok((read_sparse_labels(path, n_rows, unlabeled)?, None)) };
    let found = read_named_labels(path, names, unlabeled, options.ignore.unknown)?;
    let n_labels = found.n_unknown;
    let warning = (n_labels > 0).then(|| Warning::UnknownLabels { n_labels, path: path.display().to_string() });
    Ok((found.labels, warning))
}

/// A graph that was given, alone or beside rows.
pub struct GivenGraph {
    pub adjacency: Csr<f64>,
    /// Names of the nodes of a graph alone, if they have any.
    pub names: Option<Arc<RowNames>>,
    /// What was left out.
    pub warning: Option<Warning>,
}

/// Reads the graph of `n_rows` rows, which may have names; without rows, the nodes may have names of their own.
pub fn graph_of(
    path: &Path,
    n_rows: Option<usize>,
    names: Option<&RowNames>,
    ignore_unknown: bool,
    run: &Run,
) -> Result<GivenGraph, Failure> {
    let read = read_named_graph(path, &NodeOptions { n_nodes: n_rows, names, ignore_unknown }, run)?;
    let (n_nodes, n_edges) = (read.n_unknown, read.n_left_out);
    let left_out = || Warning::UnknownNodes { n_nodes, n_edges, path: path.display().to_string() };
    let warning = (n_nodes > 0).then(left_out);
    Ok(GivenGraph { adjacency: read.adjacency, names: read.names.map(Arc::new), warning })
}

/// A warning if names of rows are not written to `output`.
pub fn numbered(output: &Path, names: Option<&Arc<RowNames>>) -> Option<Warning> {
    let is_array = output.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("npy"));
    (is_array && names.is_some()).then(|| Warning::NumberedRows { path: output.display().to_string() })
}
