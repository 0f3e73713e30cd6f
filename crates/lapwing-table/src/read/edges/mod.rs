//! Edge lists read in blocks: files of edges that need not fit in memory.
//!
//! Arrays and tables have a reader of rows each (`array`, `table`) that implements [`EdgeReader`]; [`EdgeList`] opens it, and every row is
//! checked. [`EdgeFile`] reads a file any number of times, [`read_graph`](super::read_graph) once into a matrix.

mod array;
mod blocks;
mod checks;
mod first;
mod named;
mod table;

use std::path::Path;
use std::sync::Arc;

pub(super) use self::blocks::each;
pub(super) use self::checks::{Extent, WEIGHTS, is_weight};
use self::named::{Interned, NamedReader};
pub(super) use self::named::{NamedEdges, Unknown, find, intern};
pub use self::table::EdgeOptions;
pub(super) use self::table::{EDGES, EdgeList};
use crate::format::{Format, ONLY_ONCE, is_rereadable};
use lapwing_core::{Edge, EdgeReader, EdgeSource, Error, Result, RowNames, Run, Warning};

/// Least number of rows between two reports of the progress of a scan.
const SCAN_ROWS: u64 = 1 << 20;

/// Formats that can be read in blocks.
const KNOWN: &str = "edges as .npy, .parquet, .csv, .csv.gz or .csv.zst";

/// A file of edges as a stream, of any size.
///
/// Rows are u, v\[, weight\] of nodes counted from 0; without weights, all are 1. Columns are found by their names: `source` and
/// `target`, `from` and `to`, `u` and `v`, `src` and `dst`, `node1` and `node2` and the like, `weight`, `w`, `value`; else by their
/// places, ends before the weight. [`warnings`](Self::warnings) say what was left open, and which columns were left out.
///
/// | ending | contents | skipping rows |
/// |---|---|---|
/// | `.npy` of records | one dimension; two integer fields and perhaps a number: `[('u', '<u4'), ('v', '<u4'), ('weight', '<f4')]` is the most compact, 12 bytes a row | at once |
/// | `.npy` of numbers | (m, 2) or (m, 3), integers or floats, C or Fortran order | at once |
/// | `.parquet` | two integer columns and perhaps a numeric one | at once |
/// | `.csv`, `.tsv`, `.txt`, also compressed, or `-` for standard input | cells between commas, tabs, semicolons, bars or spaces; a header if the cells below are of another type | reads |
/// | any other table: `.arrow`, `.jsonl`, `.xlsx`, a folder of tables | columns as those of Parquet or of a text | reads |
///
/// Records of little-endian u32 nodes without gaps, with no weight or one in f32 or f64, decode fastest; any other
/// array takes about four times as long, Parquet twice, and CSV ten times as long.
///
/// A pipe or standard input can be read only once, and only if the number of nodes is given.
///
/// # Complexity
/// Memory for some blocks of the file, whatever its size: 256 KiB of an array, 2 MiB of text for each thread, some thousand rows and
/// the pages of their columns of a Parquet file. Nothing is mapped.
///
/// # Example
/// ```
/// # use lapwing_core::{EdgeSource, Run};
/// # use lapwing_table::read::EdgeFile;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("edges.csv");
/// std::fs::write(&path, "u,v,weight\n0,1,0.5\n4,1,2\n")?;
/// let run = Run::new(None, 0)?;
/// let file = EdgeFile::open(&path, None, &run)?;
/// assert_eq!((file.n_nodes(), file.n_edges()), (5, Some(2)));
///
/// let (mut reader, mut block, mut volume) = (file.open(&run)?, Vec::new(), 0.0);
/// loop {
///     block.clear();
///     reader.read(1 << 16, &mut block, &run)?;
///     if block.is_empty() {
///         break;
///     }
///     volume += block.iter().map(|edge| 2.0 * edge.weight).sum::<f64>();
/// }
/// assert_eq!(volume, 5.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EdgeFile {
    list: EdgeList,
    n_nodes: usize,
    n_edges: Option<u64>,
    /// The names of the nodes, if they have any, and the edge of the first line of text.
    named: Option<(Arc<RowNames>, Option<Edge>)>,
}

impl EdgeFile {
    /// Opens a file of edges among `n_nodes` nodes and reads its header; if the number is not given, reads the whole
    /// file once to find the largest node.
    ///
    /// # Errors
    /// [`Error::Format`] for an unknown ending, columns that are no edges, and, if the whole file is read, as
    /// [`EdgeReader::read`]; [`Error::Param`] for more than 2³² − 1 nodes, or if their number is not given for a file
    /// that can be read only once; [`Error::Io`], [`Error::Interrupted`].
    pub fn open(path: &Path, n_nodes: Option<usize>, run: &Run) -> Result<Self> {
        let options = EdgeOptions { n_nodes, ..EdgeOptions::default() };
        Self::of_numbers(open_list(path, &options)?, &options, run)
    }

    fn of_numbers(list: EdgeList, options: &EdgeOptions, run: &Run) -> Result<Self> {
        list.check_numbers()?;
        let (n_nodes, n_edges) = match options.n_nodes {
            Some(n_nodes) => (n_nodes, list.n_rows),
            None => scan(&list, run).map(|(n_nodes, n_edges)| (n_nodes, Some(n_edges)))?,
        };
        Ok(Self { list, n_nodes, n_edges, named: None })
    }

    /// As [`open`](Self::open), with more that is known of the list, and for nodes with names too: a list of them is read once to number
    /// the names in the order in which they appear first. Every pass then looks up the names.
    ///
    /// Nodes have names if one of them is no number as a program writes it (`bob`, `007`); names are kept as written. Two names in the
    /// first line of a text are an edge if one of them comes again; else what the line says decides, with a warning. A pipe has no
    /// names.
    ///
    /// # Errors
    /// As [`open`](Self::open); [`Error::Param`] for a number of nodes, where names are counted.
    ///
    /// # Complexity
    /// For nodes with names: memory for these, about 20 bytes each besides their text, and one pass.
    pub fn open_with(path: &Path, options: &EdgeOptions, run: &Run) -> Result<Self> {
        let list = open_list(path, options)?;
        if list.is_once() && list.has_names {
            return Err(Error::param("file", path.display(), "a file, since nodes with names are read twice"));
        }
        let numbers = || Self::of_numbers(list.clone(), options, run);
        list.numbers_or_names(run, numbers, |late| Self::of_names(list.clone(), options, late, run))
    }

    fn of_names(mut list: EdgeList, options: &EdgeOptions, late: Option<String>, run: &Run) -> Result<Self> {
        let (mut n_edges, mut next) = (0, 0);
        run.progress().start("scan", 0);
        let edges = NamedEdges::open(&list, run)?;
        let is_counted = edges.share().is_none();
        let found = intern(edges, options.n_nodes, late, run, |_| {
            n_edges += 1;
            if is_counted && n_edges >= next {
                run.progress().update(n_edges, "rows");
                next = n_edges + SCAN_ROWS;
            }
        });
        run.progress().finish();
        let Interned { names, first, notes, .. } = found?;
        list.notes = notes;
        Ok(Self { list, n_nodes: names.len(), n_edges: Some(n_edges), named: Some((Arc::new(names), first)) })
    }

    /// What to look at in the choice of columns and of the first line.
    pub fn warnings(&self) -> Vec<Warning> {
        edge_warning(&self.list.path, &self.list.notes).into_iter().collect()
    }

    /// The names of the nodes, if they have any.
    pub fn names(&self) -> Option<&Arc<RowNames>> {
        self.named.as_ref().map(|(names, _)| names)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.list.path
    }
}

impl EdgeSource for EdgeFile {
    fn path(&self) -> Option<&Path> {
        Some(&self.list.path)
    }

    /// False for pipes and standard input.
    fn is_rereadable(&self) -> bool {
        !self.list.is_once()
    }

    fn n_nodes(&self) -> usize {
        self.n_nodes
    }

    fn n_edges(&self) -> Option<u64> {
        self.n_edges
    }

    fn open<'s>(&'s self, run: &Run) -> Result<Box<dyn EdgeReader + 's>> {
        if let Some((names, first)) = &self.named {
            return Ok(Box::new(NamedReader { edges: NamedEdges::open(&self.list, run)?, names, first: *first }));
        }
        self.list.rows(Some(self.n_nodes), run)
    }
}

/// The warning of notes about a list.
pub(super) fn edge_warning(path: &Path, notes: &[String]) -> Option<Warning> {
    let what = notes.join("; ");
    (!notes.is_empty()).then(|| Warning::ReadAs { path: path.display().to_string(), what })
}

fn open_list(path: &Path, options: &EdgeOptions) -> Result<EdgeList> {
    if let Some(n) = options.n_nodes.filter(|&n| n > u32::MAX as usize) {
        return Err(Error::param("number of nodes", n, format!("at most {}", u32::MAX)));
    }
    if Format::from_path(path) == Format::Npz {
        return Err(Error::format(path, None, format!("archives are not read in blocks; expected {KNOWN}")));
    }
    if !is_rereadable(path) && options.n_nodes.is_none() {
        return Err(Error::param("number of nodes", "not given", format!("one, since {ONLY_ONCE}")));
    }
    EdgeList::open(path, options, KNOWN)
}

/// Counts nodes and rows.
fn scan(list: &EdgeList, run: &Run) -> Result<(usize, u64)> {
    let rows = list.rows(None, run)?;
    let total = list.n_rows.unwrap_or(0);
    // Else the share of the file is reported.
    let is_counted = total > 0 || rows.share().is_none();
    let (step, mut next) = (SCAN_ROWS.max(total / 128), 0);
    let mut found = Extent::default();
    run.progress().start("scan", total);
    let result = each(rows, list.n_rows, run, |edges| {
        found.add(edges);
        if is_counted && found.n_edges >= next {
            run.progress().update(found.n_edges, "rows");
            next = found.n_edges + step;
        }
    });
    run.progress().finish();
    result.and_then(|()| Ok((found.nodes(&list.path, |row| list.place(row, run))?, found.n_edges)))
}
