//! Lists of edges of every format, opened with their columns; and the edges of those that are tables: text, Parquet, or any other.

use std::path::{Path, PathBuf};

use super::array::ArrayEdges;
use super::checks::{NO_WEIGHT, Take, WEIGHTS, checked};
use super::first::{First, FirstLine, first_line};
use crate::cell::{is_missing, plain};
use crate::format::{Format, is_tsv};
use crate::lines::shown;
use crate::read::files::unknown_format;
use crate::read::is_table;
use crate::read::list::{List, ListCells, ListRows, Place};
use crate::read::npz::Archive;
use crate::read::roles::{Cells, EdgeColumns, edge_columns, is_canonical};
use crate::read::table::ColumnKind;
use crate::text::Known;
use lapwing_core::text::{option, quoted};
use lapwing_core::{Edge, EdgeReader, Error, Result, Run};

/// The array of edges in an archive.
pub(in crate::read) const EDGES: &str = "edges";

/// What is known of a list of edges before it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeOptions {
    /// Number of nodes; `None` is up to the largest, if the edges explain so many: 100,000 and 20 for each edge.
    pub n_nodes: Option<usize>,
    /// Whether ids are names even if all of them are written as numbers of rows.
    pub are_names: bool,
    /// Whether the first line of a text names the columns; `None` if the text tells it.
    pub header: Option<bool>,
    /// The byte between the cells of a text; `None` if the text tells it.
    pub delimiter: Option<u8>,
    /// The byte before the decimals of a weight in a text; `None` if the text tells it.
    pub decimal: Option<u8>,
}

/// A file of edges whose columns are known.
#[derive(Clone, Debug)]
pub(in crate::read) struct EdgeList {
    pub path: PathBuf,
    /// What to look at in the choice of columns.
    pub notes: Vec<String>,
    /// Number of rows, if the file states it.
    pub n_rows: Option<u64>,
    /// Whether ids are names: if so it was said, or if one in the first rows is no number as a program writes it.
    pub(super) has_names: bool,
    /// The first line of a text, if it was not left to be read as an edge.
    pub(super) first: Option<FirstLine>,
    /// The table, if it is no array.
    pub(super) table: Option<List>,
    /// The places of the ends in the table, and of the weight if there is one.
    columns: Vec<usize>,
}

impl EdgeList {
    /// Opens an array, one of an archive, or a table; for other formats, the error says that `expected` is expected.
    pub(in crate::read) fn open(path: &Path, options: &EdgeOptions, expected: &str) -> Result<Self> {
        let (notes, n_rows) = match Format::from_path(path) {
            Format::Npy => ArrayEdges::open(path, None).map(|array| (array.notes, array.n_rows))?,
            Format::Npz => {
                let mut archive = Archive::open(path)?;
                if !archive.has(EDGES) {
                    return Err(archive.unknown("a matrix of scipy.sparse.save_npz or an array edges"));
                }
                ArrayEdges::new(archive.open_array(EDGES, true)?, None).map(|array| (array.notes, array.n_rows))?
            }
            _ if is_table(path) => return Self::of_table(path, options),
            _ => return Err(unknown_format(path, expected)),
        };
        let (path, has_names) = (path.to_owned(), options.are_names);
        Ok(Self { path, notes, n_rows: Some(n_rows), has_names, first: None, table: None, columns: Vec::new() })
    }

    fn of_table(path: &Path, options: &EdgeOptions) -> Result<Self> {
        let EdgeOptions { delimiter, decimal, .. } = *options;
        let known = Known { delimiter, decimal, is_tsv: is_tsv(path), ..Known::default() };
        let mut list = List::open(path, |_| known)?;
        let kind = list.lines().map_or(First::Edge, |_| first_line(&list.records, options.header));
        if kind != First::Edge {
            list.take_header()?;
        }
        let (is_header, is_open, is_sure) = match kind {
            First::Names { is_header, is_sure } => (is_header, true, is_sure),
            _ => (true, false, true),
        };
        let (taken, edges) = list.records.split_at(usize::from(kind != First::Edge).min(list.records.len()));
        let cells: Vec<Cells> = (0..list.table.names().len()).map(|at| cells_of(&list, edges, at)).collect();
        let names = if is_header { &list.names[..] } else { &[] };
        let found = edge_columns(names, &cells).map_err(|reason| Error::format(path, None, reason))?;
        let EdgeColumns { nodes, weight, notes } = found;
        let node = |at: usize| taken.first().and_then(|line| line.get(at)).cloned().unwrap_or_default();
        let (nodes_of_first, line) = (nodes.map(node), list.first_line);
        let first = FirstLine { nodes: nodes_of_first, line, is_header, is_open, is_sure };
        let first = (!taken.is_empty() && options.header.is_none()).then_some(first);
        let has_names = options.are_names
            || is_open
            || nodes.iter().any(|&at| cells.get(at).is_some_and(|cells| !cells.are_whole()));
        if list.text().is_none() {
            if let Some(&at) = nodes.iter().find(|&&at| !list.table.has_names(at)) {
                return Err(type_error(&list, at, NODES));
            }
            if let Some(at) = weight.filter(|&at| list.table.kinds()[at] != ColumnKind::Number) {
                return Err(type_error(&list, at, "weights are numbers"));
            }
        }
        let n_rows = list.table.n_rows().map(|n_rows| n_rows as u64);
        let columns = nodes.into_iter().chain(weight).collect();
        Ok(Self { path: path.to_owned(), notes, n_rows, has_names, first, table: Some(list), columns })
    }

    /// Whether it can be read only once.
    pub(super) fn is_once(&self) -> bool {
        self.table.as_ref().is_some_and(List::is_once)
    }

    /// Refuses nodes that are known to be no numbers.
    pub(super) fn check_numbers(&self) -> Result<()> {
        let Some(table) = &self.table else { return Ok(()) };
        let is_text = |at: &&usize| table.text().is_none() && table.table.is_stored_text(**at);
        if let Some(&at) = self.columns[..2].iter().find(is_text) {
            return Err(type_error(table, at, NODES));
        }
        match &self.first {
            // The first line was taken as two names; here it is an edge of numbers.
            Some(FirstLine { nodes, line, is_header: false, .. }) => nodes
                .iter()
                .try_for_each(|node| self.node(node).map(drop))
                .map_err(|e| Place::Line(*line).error(&self.path, e)),
            _ => Ok(()),
        }
    }

    /// Starts to read the edges of numbered nodes.
    pub(in crate::read) fn rows(&self, n_nodes: Option<usize>, run: &Run) -> Result<Box<dyn EdgeReader + '_>> {
        self.check_numbers()?;
        Ok(match &self.table {
            Some(table) => Box::new(self.table_rows(table, false, n_nodes)?),
            None if Format::from_path(&self.path) == Format::Npz => {
                Box::new(ArrayEdges::new(Archive::open(&self.path)?.open_array(EDGES, true)?.held(run)?, n_nodes)?)
            }
            None => Box::new(ArrayEdges::open(&self.path, n_nodes)?),
        })
    }

    /// What `numbers` makes of the list; if its nodes have names, what `names` makes of it, with a note if only later rows show these.
    pub(in crate::read) fn numbers_or_names<T>(
        &self,
        run: &Run,
        numbers: impl FnOnce() -> Result<T>,
        names: impl FnOnce(Option<String>) -> Result<T>,
    ) -> Result<T> {
        if self.has_names {
            return names(None);
        }
        match numbers() {
            // A name may stand behind many numbers.
            Err(error @ Error::Format { .. }) => match self.late_name(run) {
                Some(note) => names(Some(note)),
                None => Err(error),
            },
            found => found,
        }
    }

    /// A note on the first id that is no number as a program writes it, which makes names of all ids, if there is one; the list is read up
    /// to it.
    fn late_name(&self, run: &Run) -> Option<String> {
        let mut rows = self.rows_from(self.table.as_ref().filter(|list| !list.is_once())?, true, 0).ok()?;
        while let Some(found) = rows.next(usize::MAX, run).ok()? {
            let ends = [rows.cells(0), rows.cells(1)];
            let mut ids = found.flat_map(|at| ends.map(|cells| (cells.text(at).trim(), at)));
            if let Some((name, at)) = ids.find(|(id, _)| !id.is_empty() && !is_canonical(id)) {
                let (place, name) = (rows.place(at), quoted(name));
                return Some(format!("all ids are names, since {name} in {place} is no number of a row"));
            }
        }
        None
    }

    /// Where a row stands.
    pub(in crate::read) fn place(&self, row: u64, run: &Run) -> Place {
        let find = || {
            let mut edges = self.table_rows(self.table.as_ref()?, true, None).ok()?;
            edges.skip(row, run).ok()?;
            let found = edges.rows.next(1, run).ok()??;
            Some(edges.rows.place(found.start))
        };
        find().unwrap_or(Place::Row(row))
    }

    /// Whether a column of the table holds weights.
    pub(super) fn has_weight(&self) -> bool {
        self.columns.len() > 2
    }

    /// Starts to read edges of numbered nodes, or of nodes with names as texts.
    pub(super) fn table_rows<'t>(
        &'t self,
        table: &'t List,
        are_names: bool,
        n_nodes: Option<usize>,
    ) -> Result<TableEdges<'t>> {
        Ok(TableEdges { edges: self, table, rows: self.rows_from(table, are_names, 0)?, n_nodes, are_names })
    }

    /// Starts to read the table from row `first` on, or from an earlier one.
    fn rows_from(&self, table: &List, are_names: bool, first: usize) -> Result<ListRows> {
        // Where numbers are wrong, the file is read again to count the lines, unless it cannot be.
        let with_lines = are_names || table.is_once();
        table.rows(&self.columns, if are_names { 2 } else { 0 }, first, with_lines)
    }

    /// The node that a text spells, or what is wrong with it.
    fn node(&self, text: &str) -> Result<i64, String> {
        match text.parse() {
            // As a program writes it.
            Ok(number) if matches!(text.as_bytes(), [_] | [b'1'..=b'9', ..]) => Ok(number),
            _ => self.signed_node(text.trim()),
        }
    }

    /// The same for texts that are not digits alone.
    #[cold]
    fn signed_node(&self, text: &str) -> Result<i64, String> {
        let number = text.parse::<i64>().ok();
        let what = match number {
            Some(number) if is_canonical(text) => return Ok(number),
            Some(number) if number >= 0 => format!("is not written as a number of a row, {number}"),
            _ => "is not an integer".to_owned(),
        };
        let advice = match self.is_once() {
            true => "write the edges to a file, which is read twice".to_owned(),
            false => format!("say so ({})", option("nodes", "names")),
        };
        Err(format!("node '{}' {what}; if nodes have names, {advice}", shown(text.as_bytes())))
    }
}

/// What nodes must be if they have no names.
const NODES: &str = "nodes are integers counted from 0";

/// What a column seems to hold: by its type, or by the cells of the first edges.
fn cells_of(list: &List, edges: &[Vec<String>], at: usize) -> Cells {
    match list.text().is_some() {
        true => Cells::of(edges, at),
        false if list.table.is_stored_integer(at) => Cells::Whole,
        // Nodes that are no integers are refused by their type.
        false if list.table.kinds()[at] == ColumnKind::Number => Cells::Odd,
        false => Cells::Text,
    }
}

/// The error for a column of another type.
fn type_error(list: &List, at: usize, expected: &str) -> Error {
    let (name, stored) = (&list.table.names()[at], list.table.stored_type(at));
    Error::format(list.table.path(), None, format!("column '{name}' holds {stored}; {expected}"))
}

/// The edges of a table in order.
pub(super) struct TableEdges<'t> {
    edges: &'t EdgeList,
    table: &'t List,
    rows: ListRows,
    n_nodes: Option<usize>,
    are_names: bool,
}

impl TableEdges<'_> {
    /// An error about a row of the current arrays.
    fn error(&self, at: usize, reason: impl std::fmt::Display, run: &Run) -> Error {
        let place = match self.rows.place(at) {
            Place::Row(row) if self.table.text().is_some() => self.edges.place(row, run),
            place => place,
        };
        place.error(&self.edges.path, reason)
    }

    fn edge(&self, cells: &[ListCells<'_>; 3], at: usize) -> Result<Edge, String> {
        let nodes = [self.node(cells[0], at)?, self.node(cells[1], at)?];
        checked(self.n_nodes, nodes, self.weight(cells[2], at)?)
    }

    #[inline]
    fn node(&self, cells: ListCells<'_>, at: usize) -> Result<i64, String> {
        match cells.number(at) {
            // Numbers beyond 2⁵³ are rounded, and out of range.
            Some(number) if number.fract() == 0.0 => Ok(number as i64),
            Some(_) => Err("a node is missing".into()),
            None => self.edges.node(cells.text(at)),
        }
    }

    #[inline]
    fn weight(&self, cells: ListCells<'_>, at: usize) -> Result<f64, String> {
        if !self.edges.has_weight() {
            return Ok(NO_WEIGHT);
        }
        if let Some(weight) = cells.number(at) {
            return Ok(weight);
        }
        let text = cells.text(at).trim();
        let decimal = self.table.table.decimal();
        let with_point = || text.parse().ok().filter(|_| decimal != b'.');
        let missing = || is_missing(text.as_bytes()).then_some(f64::NAN);
        let weight = plain(text.as_bytes(), decimal).or_else(with_point).or_else(missing);
        weight.ok_or_else(|| format!("weight '{}' is no number; {WEIGHTS}", shown(text.as_bytes())))
    }

    fn cells(&self) -> [ListCells<'_>; 3] {
        [0, 1, 2].map(|column| self.rows.cells(column))
    }

    /// Hands at most `most` of the next edges to `take`, with their nodes as texts; returns their number, 0 at the end.
    pub(super) fn read_names(&mut self, most: usize, run: &Run, take: Take<'_>) -> Result<usize> {
        let Some(found) = self.rows.next(most, run)? else { return Ok(0) };
        let cells = self.cells();
        for at in found.clone() {
            let nodes = [0, 1].map(|column| cells[column].text(at).trim());
            let weight = self.weight(cells[2], at).map_err(|reason| self.error(at, reason, run))?;
            take(nodes, weight, self.rows.place(at))?;
        }
        Ok(found.len())
    }
}

impl EdgeReader for TableEdges<'_> {
    fn read(&mut self, most: usize, out: &mut Vec<Edge>, run: &Run) -> Result<()> {
        let end = out.len().saturating_add(most);
        while out.len() < end
            && let Some(found) = self.rows.next(end - out.len(), run)?
        {
            let cells = self.cells();
            for at in found {
                out.push(self.edge(&cells, at).map_err(|reason| self.error(at, reason, run))?);
            }
        }
        Ok(())
    }

    fn share(&self) -> Option<f64> {
        self.rows.share()
    }

    fn skip(&mut self, count: u64, run: &Run) -> Result<()> {
        let end = self.rows.next_row().saturating_add(usize::try_from(count).unwrap_or(usize::MAX));
        if self.table.text().is_none() {
            self.rows = self.edges.rows_from(self.table, self.are_names, end)?;
        }
        while self.rows.next_row() < end && self.rows.next(end - self.rows.next_row(), run)?.is_some() {}
        Ok(())
    }
}
