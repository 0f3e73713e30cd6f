//! Rows with names: labels that are found by them, and what to say where names cannot be used.

use std::path::Path;
use std::sync::Arc;

use lapwing::data::read::{EdgeOptions, LabelFileOptions, NodeOptions, read_label_file, read_named_graph, read_names};
use lapwing::data::{Csr, RowNames, Run, SparseLabels, Warning};
use lapwing_table::write::ending;

use crate::failure::Failure;
use crate::options::{LabelOptions, TableOptions, read_options};

/// The names of the rows of a table that is read in blocks, if an option names their column.
pub fn names_of(path: &Path, table: &TableOptions, run: &Run) -> Result<Option<Arc<RowNames>>, Failure> {
    let read = || read_names(path, &read_options(table, None), run);
    Ok(table.id.column.as_ref().map(|_| read()).transpose()?.map(Arc::new))
}

/// The labels of a file for `n_rows` rows, which may have names; with warnings of its reader, and if labels of unknown names were left
/// out.
pub fn labels_of(
    path: &Path,
    n_rows: usize,
    names: Option<&RowNames>,
    options: &LabelOptions,
    header: Option<bool>,
) -> Result<(SparseLabels, Vec<Warning>), Failure> {
    let (unlabeled, ignore_unknown) = (options.unlabeled.as_deref(), options.ignore.unknown);
    // That the rows have a header says nothing of the labels.
    let header = header.filter(|has_header| !has_header);
    let found = read_label_file(path, n_rows, names, &LabelFileOptions { unlabeled, ignore_unknown, header })?;
    let n_labels = found.n_unknown;
    let left_out = (n_labels > 0).then(|| Warning::UnknownLabels { n_labels, path: path.display().to_string() });
    Ok((found.labels, left_out.into_iter().chain(found.warnings).collect()))
}

/// A graph that was given, alone or beside rows.
pub struct GivenGraph {
    pub adjacency: Csr<f64>,
    /// Names of the nodes of a graph alone, if they have any.
    pub names: Option<Arc<RowNames>>,
    /// What was left out, and what to look at.
    pub warnings: Vec<Warning>,
}

/// Reads the graph of `n_rows` rows, which may have names; without rows, the nodes may have names of their own, and `edges` is what is
/// known of them.
pub fn graph_of(
    path: &Path,
    n_rows: Option<usize>,
    names: Option<&RowNames>,
    ignore_unknown: bool,
    edges: EdgeOptions,
    run: &Run,
) -> Result<GivenGraph, Failure> {
    let read = read_named_graph(path, &NodeOptions { n_nodes: n_rows, names, ignore_unknown, edges }, run)?;
    let (n_nodes, n_edges) = (read.n_unknown, read.n_left_out);
    let left_out = || Warning::UnknownNodes { n_nodes, n_edges, path: path.display().to_string() };
    let warnings = (n_nodes > 0).then(left_out).into_iter().chain(read.warnings).collect();
    Ok(GivenGraph { adjacency: read.adjacency, names: read.names.map(Arc::new), warnings })
}

/// A warning if names of rows are not written to `output`.
pub fn numbered(output: &Path, names: Option<&Arc<RowNames>>) -> Option<Warning> {
    (ending(output).as_deref() == Some("npy") && names.is_some())
        .then(|| Warning::NumberedRows { path: output.display().to_string() })
}
