//! Graphs from edge lists and sparse matrices, as symmetric matrices without a diagonal.

use std::path::Path;

use super::edges::{
    EDGES, EdgeList, EdgeOptions, Extent, NamedEdges, Unknown, WEIGHTS, each, edge_warning, find, intern, is_weight,
};
use super::npz::Archive;
use crate::format::Format;
use lapwing_core::memory::ask;
use lapwing_core::text::{option, quoted};
use lapwing_core::{Csr, Edge, Error, Result, RowNames, Run, Warning, memory};

/// Relative difference up to which the two directions of an edge count as equal.
const SYMMETRY_TOLERANCE: f64 = 1e-12;

/// Rows between two checks of the run's cancellation.
const CHECK_ROWS: usize = 4096;

/// Reads a graph of `n_rows` nodes (up to the largest node if `None`, and the edges explain it) as a symmetric matrix of weights.
///
/// Edge lists, in the formats of [`EdgeFile`](super::EdgeFile) or an array `edges` in `.npz`: rows u, v\[, weight\] of
/// nodes counted from 0, each undirected edge once or in both directions. Weights of rows that repeat an edge in the
/// same direction are added; an edge given in both directions counts once. Sparse matrices: `.npz` of
/// `scipy.sparse.save_npz`, symmetric. Self loops and edges of weight 0 are left out.
///
/// # Errors
/// [`Error::Graph`] naming an edge whose directions differ, or the sum of whose weights is infinite; [`Error::Format`]
/// naming the row of a weight that is negative or not finite, or of a node that is not an integer in range;
/// [`Error::Shape`] for a matrix of another size.
///
/// # Complexity
/// O(edges + nodes) time; about three times the bytes of the result in memory.
pub fn read_graph(path: &Path, n_rows: Option<usize>, run: &Run) -> Result<Csr<f64>> {
    of_numbers(path, &EdgeOptions { n_nodes: n_rows, ..EdgeOptions::default() }, run).map(|(graph, _)| graph)
}

/// The graph of nodes that are numbers, and what to look at.
fn of_numbers(path: &Path, options: &EdgeOptions, run: &Run) -> Result<(Csr<f64>, Vec<String>)> {
    if Format::from_path(path) == Format::Npz
        && let Some(matrix) = Archive::open(path)?.scipy_sparse::<f64>(run)?
    {
        check_matrix(path, &matrix, options.n_nodes)?;
        return Ok((symmetric(path, &matrix, false, None, run)?, Vec::new()));
    }
    of_list(&EdgeList::open(path, options, KNOWN)?, options, run)
}

/// The graph of a list of edges of numbered nodes, listed once or in both directions, and what to look at.
fn of_list(list: &EdgeList, options: &EdgeOptions, run: &Run) -> Result<(Csr<f64>, Vec<String>)> {
    let rows = list.rows(options.n_nodes, run)?;
    let (mut entries, mut extent) = (Vec::new(), Extent::default());
    // A damaged file may state any number of rows. If the reservation fails, the buffer grows with the rows that there
    // are.
    let stated = list.n_rows.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let _ = ask(|| entries.try_reserve_exact(stated));
    each(rows, list.n_rows, run, |edges| {
        extent.add(edges);
        edges.iter().for_each(|&edge| push(&mut entries, edge));
    })?;
    let n = options.n_nodes.map_or_else(|| extent.nodes(&list.path, |row| list.place(row, run)), Ok)?;
    Ok((of_entries(&list.path, entries, n, None, run)?, list.notes.clone()))
}

const KNOWN: &str = "a graph as .npz, or an edge list as .csv, .parquet or .npy";

/// The nodes of a graph beside rows of data, or alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeOptions<'n> {
    /// Number of nodes, if there are rows.
    pub n_nodes: Option<usize>,
    /// Names of the rows, if they have any.
    pub names: Option<&'n RowNames>,
    /// Whether edges of nodes with other names are left out.
    pub ignore_unknown: bool,
    /// What is known of the list of edges; its number of nodes is that of a graph without rows.
    pub edges: EdgeOptions,
}

/// A graph whose nodes may have names.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NamedGraph {
    /// Symmetric weights, as [`read_graph`] returns.
    pub adjacency: Csr<f64>,
    /// Names that nodes have in a file without rows of data.
    pub names: Option<RowNames>,
    /// What to look at in the choice of columns and of the first line, and how many edges were left out.
    pub warnings: Vec<Warning>,
}

/// Reads a graph as [`read_graph`] does, whose nodes may have names: edge lists of names in text, with a header or without, or
/// in columns of text of a Parquet table.
///
/// If rows have names, the nodes of every list of edges are compared with these as text, even numbers; a sparse matrix has the
/// order of the rows. Else the nodes have names, kept as written, if one is no number as a program writes it (`bob`, `007`); they are
/// numbered in the order in which they appear first. Columns and the first line are read as [`EdgeFile`](super::EdgeFile) reads them.
///
/// # Errors
/// As [`read_graph`]; [`Error::Names`] with the number, and the first few, of all unknown nodes; [`Error::Graph`] for nodes with names
/// beside rows without.
///
/// # Complexity
/// As [`read_graph`], and about 20 bytes for each name besides its text.
pub fn read_named_graph(path: &Path, options: &NodeOptions<'_>, run: &Run) -> Result<NamedGraph> {
    if let Some(names) = options.names {
        return with_known_names(path, names, options, run);
    }
    let edges = EdgeOptions { n_nodes: options.n_nodes.or(options.edges.n_nodes), ..options.edges };
    let numbered = |(adjacency, notes): (Csr<f64>, Vec<String>)| NamedGraph::new(path, adjacency, &notes);
    if Format::from_path(path) == Format::Npz {
        return of_numbers(path, &edges, run).map(numbered);
    }
    let list = EdgeList::open(path, &edges, KNOWN)?;
    let named = |late: Option<String>| {
        if options.n_nodes.is_some() {
            return Err(Error::graph(format!(
                "{}: its nodes have names, and the rows of the data have none; give the column that names the rows: {}",
                path.display(),
                option("id", "COLUMN")
            )));
        }
        let mut entries = Vec::new();
        let open = NamedEdges::open(&list, run)?;
        let found = intern(open, edges.n_nodes, late, run, |edge| push(&mut entries, edge))?;
        // A header is no edge, and its names were numbered before all others.
        entries.iter_mut().for_each(|(u, v, _)| (*u, *v) = (*u - found.n_header, *v - found.n_header));
        let adjacency = of_entries(path, entries, found.names.len(), Some(&found.names), run)?;
        Ok(NamedGraph { names: Some(found.names), ..NamedGraph::new(path, adjacency, &found.notes) })
    };
    list.numbers_or_names(run, || of_list(&list, &edges, run).map(numbered), named)
}

impl NamedGraph {
    /// A graph whose nodes are all known by their numbers.
    fn new(path: &Path, adjacency: Csr<f64>, notes: &[String]) -> Self {
        let warnings = edge_warning(path, notes).into_iter().collect();
        Self { adjacency, names: None, warnings }
    }
}

/// The graph of rows with names.
fn with_known_names(path: &Path, names: &RowNames, options: &NodeOptions<'_>, run: &Run) -> Result<NamedGraph> {
    let n = names.len();
    // A matrix has the order of the rows.
    if Format::from_path(path) == Format::Npz && !Archive::open(path)?.has(EDGES) {
        return Ok(NamedGraph::new(path, read_graph(path, Some(n), run)?, &[]));
    }
    let list = EdgeList::open(path, &options.edges, KNOWN)?;
    let edges = NamedEdges::open(&list, run)?;
    let mut entries = Vec::new();
    let found = find(edges, names, options.ignore_unknown, run, |edge| push(&mut entries, edge))?;
    let Unknown { n_nodes, n_edges, notes } = found;
    let adjacency = of_entries(path, entries, n, Some(names), run)?;
    let mut graph = NamedGraph::new(path, adjacency, &notes);
    let left_out = || Warning::UnknownNodes { n_nodes, n_edges, path: path.display().to_string() };
    graph.warnings.splice(0..0, (n_nodes > 0).then(left_out));
    Ok(graph)
}

/// Appends an edge that is no loop.
fn push(entries: &mut Vec<(u32, u32, f64)>, edge: Edge) {
    if edge.u != edge.v {
        entries.push((edge.u, edge.v, edge.weight));
    }
}

/// The matrix of edges among `n` nodes, which may have names.
fn of_entries(
    path: &Path,
    entries: Vec<(u32, u32, f64)>,
    n: usize,
    names: Option<&RowNames>,
    run: &Run,
) -> Result<Csr<f64>> {
    check_room(path, n)?;
    let directed = Csr::from_entries(n, n, &entries)?;
    drop(entries);
    check_sums(path, &directed, names)?;
    symmetric(path, &directed, true, names, run)
}

/// A node in messages.
fn shown(node: usize, names: Option<&RowNames>) -> String {
    names.map_or_else(|| node.to_string(), |names| quoted(names.name(node)))
}

/// Refuses edges whose summed weights overflow double precision.
fn check_sums(path: &Path, matrix: &Csr<f64>, names: Option<&RowNames>) -> Result<()> {
    let Some(at) = matrix.values().iter().position(|weight| !weight.is_finite()) else { return Ok(()) };
    let (u, v) = (matrix.indptr().partition_point(|&start| start as usize <= at) - 1, matrix.indices()[at] as usize);
    let (u, v) = (shown(u, names), shown(v, names));
    let reason = "comes again and again, and its weights add up to more than double precision holds";
    Err(Error::graph(format!("{}: edge ({u}, {v}) {reason}; scale all weights down", path.display())))
}

/// Bytes for each node while the matrix is built: offsets of two matrices, and the place of the next entry.
const NODE_BYTES: usize = 32;

/// Checks that there is memory for `n` nodes: one damaged digit of a node's number can make billions.
fn check_room(path: &Path, n: usize) -> Result<()> {
    let what = format!("{}: a graph of {n} nodes", path.display());
    let advice = "number the nodes from 0 without gaps";
    memory::with_capacity::<u8>(&what, n.saturating_mul(NODE_BYTES), advice).map(drop)
}

fn check_matrix(path: &Path, matrix: &Csr<f64>, n_rows: Option<usize>) -> Result<()> {
    let n = n_rows.unwrap_or(matrix.n_rows());
    if (matrix.n_rows(), matrix.n_cols()) != (n, n) {
        let got = format!("{} × {} entries", matrix.n_rows(), matrix.n_cols());
        return Err(Error::shape(format!("the graph {}", path.display()), format!("{n} × {n}"), got));
    }
    for row in 0..n {
        let (columns, weights) = matrix.row(row);
        let bad = columns.iter().zip(weights).find(|&(&col, &w)| col as usize != row && !is_weight(w));
        if let Some((col, w)) = bad {
            return Err(Error::graph(format!("{}: entry ({row}, {col}) is {w}; {WEIGHTS}", path.display())));
        }
    }
    Ok(())
}

/// The symmetric matrix of `matrix`, without its diagonal and zeros.
///
/// If only one direction of an edge is stored, `one_way` uses it for both; otherwise it is an error, as are two
/// different directions. If they differ only by rounding, the upper triangle's weight is used, so that the result is
/// exactly symmetric.
fn symmetric(path: &Path, matrix: &Csr<f64>, one_way: bool, names: Option<&RowNames>, run: &Run) -> Result<Csr<f64>> {
    let transposed = matrix.transpose()?;
    let n = matrix.n_rows();
    let (mut indptr, mut indices, mut weights) = (Vec::with_capacity(n + 1), Vec::new(), Vec::new());
    indptr.push(0u64);
    for row in 0..n {
        if row % CHECK_ROWS == 0 {
            run.check()?;
        }
        for (col, there, back) in merged(matrix.row(row), transposed.row(row)) {
            let weight = match (there, back) {
                (Some(there), Some(back)) if is_close(there, back) => {
                    if row < col as usize {
                        there
                    } else {
                        back
                    }
                }
                (Some(one), None) | (None, Some(one)) if one_way || one == 0.0 => one,
                _ if col as usize == row => 0.0,
                _ => {
                    let (u, v) = (shown(row, names), shown(col as usize, names));
                    let (there, back) = (there.unwrap_or(0.0), back.unwrap_or(0.0));
                    let reason =
                        format!("not symmetric: the weight from {u} to {v} is {there}, from {v} to {u} it is {back}");
                    return Err(Error::graph(format!("{}: {reason}", path.display())));
                }
            };
            if weight != 0.0 && col as usize != row {
                indices.push(col);
                weights.push(weight);
            }
        }
        indptr.push(indices.len() as u64);
    }
    Csr::new(n, n, indptr, indices, weights)
}

fn is_close(a: f64, b: f64) -> bool {
    (a - b).abs() <= SYMMETRY_TOLERANCE * a.abs().max(b.abs())
}

type SparseRow<'a> = (&'a [u32], &'a [f64]);

/// The entries of two sparse rows side by side, by ascending column.
fn merged<'a>(left: SparseRow<'a>, right: SparseRow<'a>) -> impl Iterator<Item = (u32, Option<f64>, Option<f64>)> + 'a {
    let (mut i, mut j) = (0, 0);
    std::iter::from_fn(move || {
        let col = match (left.0.get(i), right.0.get(j)) {
            (None, None) => return None,
            (Some(&a), Some(&b)) => a.min(b),
            (Some(&col), None) | (None, Some(&col)) => col,
        };
        let at = |row: SparseRow<'a>, next: &mut usize| {
            let value = row.0.get(*next).filter(|&&c| c == col).map(|_| row.1[*next]);
            *next += usize::from(value.is_some());
            value
        };
        Some((col, at(left, &mut i), at(right, &mut j)))
    })
}
