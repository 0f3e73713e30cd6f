//! Edge lists whose nodes have names: `alice,bob,0.3`.
//!
//! A list is named if a node is no number as a program writes it, or if the rows of the data have names: nodes are then compared as
//! text, as written. Two names in the first line of a text may be a header ([`FirstLine`]). If the list is read alone, they are an edge
//! if one of them comes again; if the names are known, if one of them is among these.

use std::path::Path;

use super::blocks::report_share;
use super::checks::{NO_WEIGHT, Take, WEIGHTS, is_weight};
use super::first::FirstLine;
use super::table::{EdgeList, TableEdges};
use crate::read::list::Place;
use lapwing_core::bad_names::{BadNames, Tally};
use lapwing_core::row_names::Named;
use lapwing_core::text::quoted;
use lapwing_core::{Edge, EdgeReader, Error, Result, RowNames, Run};

/// Rows of a block of numbers.
const BLOCK_ROWS: usize = 1 << 12;

/// An open list, whose nodes are read as text.
pub(in crate::read) struct NamedEdges<'a> {
    list: &'a EdgeList,
    source: Source<'a>,
}

enum Source<'a> {
    Table(Box<TableEdges<'a>>),
    /// Nodes are numbers in the file, and names in the data. With the next row.
    Numbers(Box<dyn EdgeReader + 'a>, u64),
}

impl<'a> NamedEdges<'a> {
    /// Opens a list whose nodes are compared with names as text.
    pub(in crate::read) fn open(list: &'a EdgeList, run: &Run) -> Result<Self> {
        let source = match &list.table {
            Some(table) => Source::Table(Box::new(list.table_rows(table, true, None)?)),
            None => Source::Numbers(list.rows(None, run)?, 0),
        };
        Ok(Self { list, source })
    }

    /// Share of the list that has been read, if it is known.
    pub(super) fn share(&self) -> Option<f64> {
        match &self.source {
            Source::Table(rows) => rows.share(),
            Source::Numbers(_, row) => self.list.n_rows.map(|n_rows| *row as f64 / n_rows.max(1) as f64),
        }
    }

    /// Hands all rows to `take`, and reports the share that has been read, if it is known.
    fn each(&mut self, run: &Run, take: Take<'_>) -> Result<()> {
        let mut reported = 0.0;
        while self.read(BLOCK_ROWS, run, &mut *take)? > 0 {
            report_share(self.share(), &mut reported, run);
        }
        Ok(())
    }

    /// Hands at most `most` of the next rows to `take`; returns their number, 0 at the end.
    fn read(&mut self, most: usize, run: &Run, take: Take<'_>) -> Result<usize> {
        let path = &self.list.path;
        let take = &mut |nodes: [&str; 2], weight: f64, place: Place| {
            check(path, nodes, weight, place)?;
            take(nodes, weight, place)
        };
        match &mut self.source {
            Source::Table(rows) => rows.read_names(most, run, take),
            Source::Numbers(edges, row) => {
                let mut block = Vec::new();
                edges.read(most.min(BLOCK_ROWS), &mut block, run)?;
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
    Err(place.error(path, reason))
}

/// The nodes of a list in the order in which they appear first.
pub(in crate::read) struct Interned {
    pub names: RowNames,
    /// Names that were taken for nodes and were a header: nodes handed to the caller count from here.
    pub n_header: u32,
    /// The edge of the first line, if that may have been a header; the caller gets it last.
    pub first: Option<Edge>,
    /// What to look at.
    pub notes: Vec<String>,
}

/// Numbers the nodes of a list by their names, and hands all edges to `take`. `n_nodes` is the number of nodes that was given, which no
/// list with names has; `late` is a further note.
pub(in crate::read) fn intern(
    mut edges: NamedEdges<'_>,
    n_nodes: Option<usize>,
    late: Option<String>,
    run: &Run,
    mut take: impl FnMut(Edge),
) -> Result<Interned> {
    if let Some(n_nodes) = n_nodes {
        return Err(Error::param("number of nodes", n_nodes, "none: the nodes have names, which are counted"));
    }
    let mut names = RowNames::new("node", Named::Nodes);
    let line = edges.list.first.as_ref().filter(|line| line.is_open);
    let (mut notes, mut comes_again, mut n_edges) = (edges.list.notes.clone(), false, 0usize);
    let intern = |names: &mut RowNames, [u, v]: [&str; 2], weight| -> Result<Edge> {
        Ok(Edge { u: names.intern(u)?, v: names.intern(v)?, weight })
    };
    let first =
        line.map(|line| intern(&mut names, line.nodes.each_ref().map(String::as_str), NO_WEIGHT)).transpose()?;
    let n_doubtful = names.len() as u32;
    edges.each(run, &mut |nodes, weight, _| {
        let edge = intern(&mut names, nodes, weight)?;
        comes_again |= edge.u < n_doubtful || edge.v < n_doubtful;
        n_edges += 1;
        take(edge);
        Ok(())
    })?;
    let mut is_header = false;
    if let Some(line) = line.filter(|_| !comes_again) {
        // In most lists a node has several edges. Two words that occur in the first line only then name the columns.
        is_header = line.is_header || 2 * (names.len() - n_doubtful as usize) < 3 * n_edges;
        notes.extend(line.note(is_header));
    }
    notes.extend(late);
    if is_header {
        let names = names.without_first(n_doubtful as usize)?;
        return Ok(Interned { names, n_header: n_doubtful, first: None, notes });
    }
    first.into_iter().for_each(take);
    Ok(Interned { names, n_header: 0, first, notes })
}

/// Edges with nodes of unknown names.
pub(in crate::read) struct Unknown {
    /// Distinct names.
    pub n_nodes: usize,
    pub n_edges: usize,
    /// What to look at.
    pub notes: Vec<String>,
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
    let (mut n_left_out, path, mut notes) = (0, &edges.list.path, edges.list.notes.clone());
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
    if let Some(FirstLine { nodes: [u, v], line, is_header, .. }) =
        edges.list.first.as_ref().filter(|_| !edges.list.has_weight())
        && (!is_header || names.find(u).is_some() || names.find(v).is_some())
    {
        look_up([u, v], NO_WEIGHT, Place::Line(*line))?;
        if *is_header {
            let (u, v) = (quoted(u), quoted(v));
            notes.push(format!("the first line, {u} and {v}, is taken for an edge; if it names the columns, call them source and target"));
        }
    }
    edges.each(run, &mut look_up)?;
    let found = Unknown { n_nodes: unknown.len(), n_edges: n_left_out, notes };
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
        let (names, path) = (self.names, &self.edges.list.path);
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
