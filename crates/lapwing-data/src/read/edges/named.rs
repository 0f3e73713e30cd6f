//! Edge lists whose nodes have names: `alice,bob,0.3`.
//!
//! A list is named if a node in its first rows is no number, or if the rows of the data have names: these are then compared as
//! text. A text without weights may or may not start with a header. If it is read alone, its first line is an edge exactly if
//! one of the two names comes again; if the names are known, exactly if one of them is among these.

use std::path::Path;

use super::rows::{Checks, EdgeList, NO_WEIGHT, Shares, WEIGHTS, is_weight, width_text};
use crate::read::format::{Format, is_rereadable};
use crate::read::records::Records;
use crate::row_names::{BadNames, Named, Tally, quoted};
use crate::{Edge, EdgeReader, Error, Result, RowNames, Run};

/// Rows of a text that tell whether its nodes are numbers or names.
const LOOKED_AT: usize = 1000;

/// Rows of a block of numbers.
const BLOCK_ROWS: usize = 1 << 12;

/// Takes an edge: its nodes, weight, and place in the file.
pub(super) type Take<'t> = &'t mut dyn FnMut([&str; 2], f64, Place) -> Result<()>;

/// The place of an edge.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Line(u64),
    Row(u64),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// The first line of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    /// A header, or a row as all others.
    Header,
    Edge,
    /// Two names: a header, or an edge without a weight.
    Either,
}

/// An open list, whose nodes are read as text.
pub(in crate::read) struct NamedEdges<'a> {
    path: &'a Path,
    source: Source<'a>,
}

enum Source<'a> {
    Text(Box<TextEdges>),
    #[cfg(feature = "tables")]
    Table(Box<super::parquet::TextNodes>),
    /// Nodes are numbers in the file, and names in the data. With the next row.
    Numbers(EdgeList<'a>, u64),
}

/// Whether the nodes of a list have names, by its first rows. A damaged list has none: its reader says what is wrong.
pub(in crate::read) fn are_named(path: &Path, run: &Run) -> bool {
    match Format::from_path(path) {
        Format::Csv => Records::open(path).is_ok_and(|mut records| look_like_names(&mut records, run)),
        #[cfg(feature = "tables")]
        Format::Parquet => super::parquet::has_names(path),
        _ => false,
    }
}

fn look_like_names(records: &mut Records, run: &Run) -> bool {
    if first_line(records) == First::Edge {
        return true;
    }
    let mut rows = 0;
    while rows < LOOKED_AT && records.next(run).unwrap_or(false) {
        if has_name(records) {
            return true;
        }
        rows += 1;
    }
    false
}

/// Whether a node of the current record is no number.
fn has_name(records: &Records) -> bool {
    (0..2).any(|at| !records.cell(at).is_empty() && !is_number(records.cell(at)))
}

fn is_number(cell: &[u8]) -> bool {
    // Texts such as `inf` and `nan`, which also are numbers to the parser, may be names.
    let may_be = cell.first().is_some_and(|byte| byte.is_ascii_digit() || b"+-.".contains(byte));
    may_be && std::str::from_utf8(cell).is_ok_and(|text| text.parse::<f64>().is_ok())
}

/// What the first line is, before any record is read.
fn first_line(records: &Records) -> First {
    match &records.names[..] {
        _ if !records.has_header() => First::Header,
        [_, _] => First::Either,
        [_, _, weight] if is_number(weight.as_bytes()) => First::Edge,
        _ => First::Header,
    }
}

impl<'a> NamedEdges<'a> {
    /// Opens a list whose nodes are compared with names as text.
    pub(in crate::read) fn open(path: &'a Path, expected: &str) -> Result<Self> {
        let source = match Format::from_path(path) {
            Format::Csv => {
                let records = Records::open(path)?;
                let first = first_line(&records);
                Source::Text(Box::new(TextEdges::new(records, first)?))
            }
            #[cfg(feature = "tables")]
            Format::Parquet => Source::Table(Box::new(super::parquet::TextNodes::open(path)?)),
            _ => Source::Numbers(EdgeList::open(path, Checks { n_nodes: None }, expected)?, 0),
        };
        Ok(Self { path, source })
    }

    /// A list of numbers.
    pub(in crate::read) fn of_numbers(path: &'a Path, edges: EdgeList<'a>) -> Self {
        Self { path, source: Source::Numbers(edges, 0) }
    }

    /// Text that can be read only once, if its first row has names; else the text from its start on.
    pub(in crate::read) fn once(path: &'a Path) -> Result<Result<Self, Records>> {
        let mut records = Records::open(path)?;
        // Before a record is read, which then is the next one.
        let first = first_line(&records);
        match first == First::Edge || (records.peek()? && has_name(&records)) {
            true => Ok(Ok(Self { path, source: Source::Text(Box::new(TextEdges::new(records, first)?)) })),
            false => Ok(Err(records)),
        }
    }

    /// The first line, if it is or may be an edge.
    fn first(&self) -> Option<(First, [String; 2], f64, u64)> {
        let Source::Text(text) = &self.source else { return None };
        let [u, v] = [0, 1].map(|at| text.records.names[at].clone());
        let weight = text.records.names.get(2).map_or(Some(NO_WEIGHT), |weight| weight.parse().ok());
        (text.first != First::Header).then_some((text.first, [u, v], weight.unwrap_or(f64::NAN), 1))
    }

    /// Share of the list that has been read, if it is known.
    pub(super) fn share(&self) -> Option<f64> {
        match &self.source {
            Source::Text(text) => text.records.share(),
            #[cfg(feature = "tables")]
            Source::Table(_) => None,
            Source::Numbers(edges, row) => edges.n_rows.map(|n_rows| *row as f64 / n_rows.max(1) as f64),
        }
    }

    /// Hands all rows to `take`, and reports the share that has been read, if it is known.
    fn each(&mut self, run: &Run, take: Take<'_>) -> Result<()> {
        let mut shares = Shares::default();
        while self.read(BLOCK_ROWS, run, &mut *take)? > 0 {
            self.share().into_iter().for_each(|share| shares.report(share, run));
        }
        Ok(())
    }

    /// Hands at most `most` of the next rows to `take`; returns their number, 0 at the end.
    fn read(&mut self, most: usize, run: &Run, take: Take<'_>) -> Result<usize> {
        let path = self.path;
        let take = &mut |nodes: [&str; 2], weight: f64, place: Place| {
            check(path, nodes, weight, place)?;
            take(nodes, weight, place)
        };
        match &mut self.source {
            Source::Text(text) => text.read(most, run, take),
            #[cfg(feature = "tables")]
            Source::Table(table) => table.read(most, run, take),
            Source::Numbers(edges, row) => {
                let mut block = Vec::new();
                edges.reader.read(most.min(BLOCK_ROWS), &mut block, run)?;
                let [mut u, mut v] = [itoa::Buffer::new(), itoa::Buffer::new()];
                for edge in &block {
                    take([u.format(edge.u), v.format(edge.v)], edge.weight, Place::Row(*row))?;
                    *row += 1;
                }
                Ok(block.len())
            }
        }
    }
}

/// Refuses empty names and weights that are none.
fn check(path: &Path, nodes: [&str; 2], weight: f64, place: Place) -> Result<()> {
    let reason = match nodes.iter().any(|node| node.is_empty()) {
        true => "a node has no name".into(),
        false if !is_weight(weight) => format!("weight {weight}; {WEIGHTS}"),
        false => return Ok(()),
    };
    Err(match place {
        Place::Line(line) => Error::format(path, Some(line), reason),
        Place::Row(row) => Error::format(path, None, super::rows::row_text(row, &reason)),
    })
}

/// Lines of two names and perhaps a weight.
struct TextEdges {
    records: Records,
    has_weight: bool,
    first: First,
}

impl TextEdges {
    fn new(records: Records, first: First) -> Result<Self> {
        match records.names.len() {
            found @ (2 | 3) => Ok(Self { records, has_weight: found == 3, first }),
            found => Err(Error::format(records.path(), None, width_text(found))),
        }
    }

    fn read(&mut self, most: usize, run: &Run, take: Take<'_>) -> Result<usize> {
        let mut n_rows = 0;
        while n_rows < most && self.records.next(run)? {
            let records = &self.records;
            let node = |at| {
                let text = std::str::from_utf8(records.cell(at));
                text.map_err(|_| records.error(format!("the node '{}' is not UTF-8 text", records.shown(at))))
            };
            let weight = match self.has_weight {
                true => records
                    .number(2)
                    .ok_or_else(|| records.error(format!("weight '{}' is no number; {WEIGHTS}", records.shown(2))))?,
                false => NO_WEIGHT,
            };
            take([node(0)?.trim(), node(1)?.trim()], weight, Place::Line(records.line()))?;
            n_rows += 1;
        }
        Ok(n_rows)
    }
}

/// The nodes of a list in the order in which they appear first.
pub(in crate::read) struct Interned {
    pub names: RowNames,
    /// Names that were taken for nodes and were a header: nodes handed to the caller count from here.
    pub n_header: u32,
    /// The edge of the first line, if that is no header; it has not been handed to the caller.
    pub first: Option<Edge>,
}

/// Numbers the nodes of a list by their names, and hands all edges but that of the first line to `take`.
pub(in crate::read) fn intern(mut edges: NamedEdges<'_>, run: &Run, mut take: impl FnMut(Edge)) -> Result<Interned> {
    let mut names = RowNames::new("node", Named::Nodes);
    let (mut n_doubtful, mut comes_again, mut first) = (0, false, None);
    if let Some((kind, [u, v], weight, line)) = edges.first() {
        if kind == First::Edge {
            check(edges.path, [&u, &v], weight, Place::Line(line))?;
        }
        first = Some(Edge { u: names.intern(u.trim())?, v: names.intern(v.trim())?, weight });
        n_doubtful = if kind == First::Either { names.len() as u32 } else { 0 };
    }
    edges.each(run, &mut |[u, v], weight, _| {
        let edge = Edge { u: names.intern(u)?, v: names.intern(v)?, weight };
        comes_again |= edge.u < n_doubtful || edge.v < n_doubtful;
        take(edge);
        Ok(())
    })?;
    if n_doubtful == 0 || comes_again {
        return Ok(Interned { names, n_header: 0, first });
    }
    Ok(Interned { names: names.without_first(n_doubtful as usize)?, n_header: n_doubtful, first: None })
}

/// Edges with nodes of unknown names.
#[derive(Default)]
pub(in crate::read) struct Unknown {
    /// Distinct names.
    pub n_nodes: usize,
    pub n_edges: usize,
}

/// Hands the edges of a list between known names to `take`; unknown ones are refused unless `ignore_unknown`.
pub(in crate::read) fn find(
    mut edges: NamedEdges<'_>,
    names: &RowNames,
    ignore_unknown: bool,
    run: &Run,
    mut take: impl FnMut(Edge),
) -> Result<Unknown> {
    let (mut unknown, mut shown, mut n_edges) = (RowNames::new("node", Named::Nodes), Tally::default(), 0);
    let (mut n_left_out, path) = (0, edges.path);
    let mut look_up = |[u, v]: [&str; 2], weight: f64, place: Place| {
        n_edges += 1;
        if let (Some(u), Some(v)) = (names.find(u), names.find(v)) {
            take(Edge { u, v, weight });
            return Ok(());
        }
        n_left_out += 1;
        for node in [u, v].into_iter().filter(|node| names.find(node).is_none()) {
            if unknown.find(node).is_none() {
                unknown.intern(node)?;
                shown.note(|| format!("{} in {place}", quoted(node)));
            }
        }
        Ok(())
    };
    if let Some((kind, [u, v], weight, line)) = edges.first()
        && (kind == First::Edge || names.find(&u).is_some() || names.find(&v).is_some())
    {
        check(path, [&u, &v], weight, Place::Line(line))?;
        look_up([u.trim(), v.trim()], weight, Place::Line(line))?;
    }
    edges.each(run, &mut look_up)?;
    let found = Unknown { n_nodes: unknown.len(), n_edges: n_left_out };
    if found.n_nodes == 0 || ignore_unknown {
        return Ok(found);
    }
    Err(unknown_error(path, names, &shown, [n_left_out, n_edges]))
}

fn unknown_error(path: &Path, names: &RowNames, shown: &Tally, [n_left_out, n_edges]: [usize; 2]) -> Error {
    let known = names.iter().next().filter(|_| n_left_out == n_edges);
    let known = known.map_or_else(String::new, |name| format!(", where the first is {}", quoted(name)));
    let be = if shown.count == 1 { "is no id" } else { "are no ids" };
    let nodes = shown.counted("node");
    let fact = format!(
        "{nodes}, in {n_left_out} of {n_edges} edges, {be} of the column '{}' of the data{known} {}",
        names.column(),
        shown.list()
    );
    let (what, advice) = (path.display().to_string(), "correct these names");
    Error::names(BadNames { what, facts: vec![fact], advice, has_unknown: true })
}

/// The error for a list with names beside rows without.
pub(in crate::read) fn needs_ids(path: &Path) -> Error {
    let reason =
        "its nodes have names, and the rows of the data have none; give the column that names the rows: --id COLUMN";
    Error::graph(format!("{}: {reason}", path.display()))
}

/// Whether names must be found in a single reading.
pub(in crate::read) fn is_once(path: &Path) -> bool {
    !is_rereadable(path) && Format::from_path(path) == Format::Csv
}

/// A pass over a list whose nodes are known by their names.
pub(super) struct NamedReader<'s> {
    pub edges: NamedEdges<'s>,
    pub names: &'s RowNames,
    /// The edge of the first line, until it is read.
    pub first: Option<Edge>,
}

impl EdgeReader for NamedReader<'_> {
    fn read(&mut self, most: usize, out: &mut Vec<Edge>, run: &Run) -> Result<()> {
        let mut left = most;
        if left > 0
            && let Some(first) = self.first.take()
        {
            out.push(first);
            left -= 1;
        }
        let (names, path) = (self.names, self.edges.path);
        let changed = || Error::format(path, None, "the file has changed (it has other nodes)");
        while left > 0 {
            let n_rows = self.edges.read(left, run, &mut |[u, v], weight, _| {
                let (u, v) = names.find(u).zip(names.find(v)).ok_or_else(changed)?;
                out.push(Edge { u, v, weight });
                Ok(())
            })?;
            if n_rows == 0 {
                break;
            }
            left -= n_rows;
        }
        Ok(())
    }
}
