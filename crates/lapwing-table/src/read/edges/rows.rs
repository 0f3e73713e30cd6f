//! Edge lists of every format: opened by the ending of the name, with the same checks for every row.

use std::path::{Path, PathBuf};

use super::EdgeOptions;
use super::array::ArrayEdges;
use super::checks::Checks;
use super::table::EdgeTable;
use crate::read::files::unknown_format;
use crate::read::format::Format;
use crate::read::is_table;
use crate::read::list::Place;
use crate::read::npy::Source;
use lapwing_core::{Edge, EdgeReader, Result, Run};

/// Rows of a block when all rows are read.
const BLOCK_ROWS: usize = 1 << 15;
/// Least share of a file between two reports of progress.
const LEAST_STEP: f64 = 0.005;

/// A file of edges whose columns are known.
#[derive(Clone, Debug)]
pub(in crate::read) struct EdgeList {
    pub path: PathBuf,
    /// What to look at in the choice of columns.
    pub notes: Vec<String>,
    /// Number of rows, if the file states it.
    pub n_rows: Option<u64>,
    /// The table, if it is no array.
    pub(super) table: Option<Box<EdgeTable>>,
}

impl EdgeList {
    /// Opens an array or a table; for other formats, the error says that `expected` is expected.
    pub(in crate::read) fn open(path: &Path, options: &EdgeOptions, expected: &str) -> Result<Self> {
        let of = |notes, n_rows, table| Self { path: path.to_owned(), notes, n_rows, table };
        match Format::from_path(path) {
            Format::Npy => {
                let mut array = ArrayEdges::open(path, Checks { n_nodes: None })?;
                Ok(of(array.take_notes(), Some(array.n_rows()), None))
            }
            _ if is_table(path) => {
                let mut table = EdgeTable::open(path, options)?;
                Ok(of(std::mem::take(&mut table.notes), table.n_rows(), Some(Box::new(table))))
            }
            _ => Err(unknown_format(path, expected)),
        }
    }

    /// Whether nodes have names, by the first rows.
    pub(in crate::read) fn has_names(&self) -> bool {
        self.table.as_ref().is_some_and(|table| table.has_names)
    }

    /// Whether it can be read only once.
    pub(in crate::read) fn is_once(&self) -> bool {
        self.table.as_ref().is_some_and(|table| table.is_once())
    }

    /// Refuses nodes that are known to be no numbers.
    pub(in crate::read) fn check_numbers(&self) -> Result<()> {
        self.table.as_ref().map_or(Ok(()), |table| table.check_numbers())
    }

    /// The edges of numbered nodes.
    pub(in crate::read) fn rows(&self, checks: Checks) -> Result<EdgeRows<'_>> {
        self.check_numbers()?;
        match &self.table {
            Some(table) => Ok(EdgeRows { n_rows: self.n_rows, reader: Box::new(table.rows(false, checks)?) }),
            None => Ok(EdgeRows::of_array(ArrayEdges::open(&self.path, checks)?)),
        }
    }

    /// A note on the first id that is no number as a program writes it, which makes names of all ids, if there is one.
    pub(in crate::read) fn late_name(&self, run: &Run) -> Option<String> {
        let table = self.table.as_ref().filter(|table| !table.is_once())?;
        table.late_name(run).ok().flatten()
    }

    /// Where a row stands.
    pub(in crate::read) fn place(&self, row: u64, run: &Run) -> Place {
        self.table.as_ref().map_or(Place::Row(row), |table| table.place(row, run))
    }
}

/// Edges of numbered nodes, read in order.
pub(in crate::read) struct EdgeRows<'a> {
    /// Number of rows, if the file states it.
    pub n_rows: Option<u64>,
    pub reader: Box<dyn EdgeReader + 'a>,
}

impl<'a> EdgeRows<'a> {
    /// The edges of an open array.
    pub(in crate::read) fn of_array<R: Source + Send + 'a>(reader: ArrayEdges<'a, R>) -> Self {
        Self { n_rows: Some(reader.n_rows()), reader: Box::new(reader) }
    }

    /// Hands all rows to `take`, block by block. Reports the share that has been read, if it is known but the number of rows is not.
    pub(in crate::read) fn each(mut self, run: &Run, mut take: impl FnMut(&[Edge])) -> Result<()> {
        let mut shares = Shares::default();
        let mut block = Vec::with_capacity(BLOCK_ROWS);
        loop {
            block.clear();
            self.reader.read(BLOCK_ROWS, &mut block, run)?;
            if block.is_empty() {
                return Ok(());
            }
            take(&block);
            if let (None, Some(share)) = (self.n_rows, self.reader.share()) {
                shares.report(share, run);
            }
        }
    }
}

/// The share of a file that was reported last.
#[derive(Default)]
pub(super) struct Shares(f64);

impl Shares {
    /// Reports a share, unless it is hardly larger than the last one.
    pub(super) fn report(&mut self, share: f64, run: &Run) {
        if share >= self.0 + LEAST_STEP {
            self.0 = share;
            run.share(share, "");
        }
    }
}
