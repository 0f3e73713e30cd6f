//! `--plan`: memory and passes that a fit needs, without doing it.

use std::fs::Metadata;
use std::path::Path;

use lapwing::data::read::{
    EdgeFile, NodeOptions, ReadOptions, RowFile, read_label_column, read_named_graph, read_samples,
};
use lapwing::data::{EdgeSource, Report, RowNames, RowSource, Run, Standardize, TermWeights};
use lapwing::models::{self, Method, Plan, ProblemSize};
use lapwing_core::available_memory_bytes;
use lapwing_graph::sparsify::for_each_portion;
use lapwing_report::summary::{Row, row};
use lapwing_table::prepare::probe_prepared;
use lapwing_table::read::is_table;
use lapwing_table::{can_stream, probe};
use serde_json::json;

use crate::failure::Failure;
use crate::input::{Input, RowStream, are_rows, generated, labels_of, names_of};
use crate::options::{DataOptions, LabelOptions, no_labels, read_options};
use crate::outcome::Outcome;
use crate::session::Session;
use crate::text::{bytes, count, summary};
use crate::written::Written;

/// Features up to this size are read to count their labels.
const CHEAP_BYTES: usize = 64 << 20;
/// A fit takes at most so many times the bytes of its file: some 60 bytes for a byte of compressed numbers of few columns.
const MOST_GROWTH: u64 = 100;

/// What is planned.
pub struct Planned<'a> {
    /// The plan of a problem of that size.
    pub plan: Box<dyn Fn(&ProblemSize) -> Plan + 'a>,
    /// Whether rows can be read in blocks, and edges as a stream.
    pub reads_rows: bool,
    pub reads_streams: bool,
    /// Whether it needs labels.
    pub needs_labels: bool,
}

/// What is known before a fit.
struct Found {
    size: ProblemSize,
    plan: Plan,
    /// Bytes of one pass over the input.
    read_bytes: u64,
    /// Whether labels were counted.
    are_counted: bool,
}

/// Prints rows, edges, memory and passes over the input. `may_stream` is false if an output needs all rows in memory.
pub fn print_plan(
    session: &Session,
    data: &DataOptions,
    labels: &LabelOptions,
    planned: &Planned<'_>,
    may_stream: bool,
) -> Result<Outcome, Failure> {
    let planner = Planner { session, data, labels, planned };
    let Found { size, plan, read_bytes, are_counted } = match &data.data {
        Some(path) => planner.of_rows(path, may_stream)?,
        None => planner.of_graph()?,
    };
    if session.json {
        let more = json!({"size": size, "read_bytes": plan.passes as u64 * read_bytes, "labels_counted": are_counted});
        session.print(&Written::default().object("plan", &plan, more)?)?;
    } else {
        session.print(&summary(&rows(&size, &plan, read_bytes)))?;
    }
    Ok(Outcome::Done)
}

/// Rows of `path` to fit, if memory does not hold a fit of all of them; `None` if it does, or if free memory is unknown.
pub fn rows_that_fit(
    session: &Session,
    data: &DataOptions,
    labels: &LabelOptions,
    method: &dyn Method,
    path: &Path,
) -> Result<Option<usize>, Failure> {
    let Some(free) = available_memory_bytes() else { return Ok(None) };
    let is_small = |file: Metadata| file.is_file() && file.len().saturating_mul(MOST_GROWTH) < free;
    if generated(path).is_some() || std::fs::metadata(path).is_ok_and(is_small) {
        return Ok(None);
    }
    let all = |size: &ProblemSize| method.plan(size);
    let planned = Planned { plan: Box::new(all), reads_rows: false, reads_streams: false, needs_labels: true };
    let Found { size, plan, .. } = Planner { session, data, labels, planned: &planned }.of_rows(path, false)?;
    if plan.peak_bytes <= free {
        return Ok(None);
    }
    let rows = models::rows_that_fit(method, &size, free);
    let (needed, free, all) = (bytes(plan.peak_bytes), bytes(free), count(size.n_samples));
    session.note(&format!(
        "a fit of all {all} rows needs up to {needed} of memory, and {free} are free: about {} rows are fitted, and all are labeled by the \
         model (--fit-rows takes another number)",
        count(rows)
    ));
    Ok(Some(rows))
}

/// Finds the size of the input of a fit.
struct Planner<'p> {
    session: &'p Session<'p>,
    data: &'p DataOptions,
    labels: &'p LabelOptions,
    planned: &'p Planned<'p>,
}

impl Planner<'_> {
    /// A size of which nothing is known but the threads.
    fn unknown_size(&self) -> ProblemSize {
        ProblemSize {
            n_samples: 0,
            n_features: 0,
            n_edges: None,
            input_bytes: 0,
            sparse: false,
            streamed: false,
            n_classes: 0,
            n_labeled: 0,
            threads: self.session.run.threads(),
        }
    }

    /// Features, perhaps with a graph beside them.
    fn of_rows(&self, path: &Path, may_stream: bool) -> Result<Found, Failure> {
        let (table, run, mut size) = (&self.data.table, &self.session.run, self.unknown_size());
        let in_blocks = may_stream && self.planned.reads_rows && are_rows(path) && !table.must_hold();
        if generated(path).is_some() {
            let rows = RowStream::open(path, table, None, run)?;
            let known = rows.labels(path, table, self.labels, None, run)?.0;
            let (n_samples, n_features) = (rows.source().n_rows(), rows.source().n_cols());
            (size.n_samples, size.n_features, size.input_bytes) = (n_samples, n_features, 4 * n_samples * n_features);
            (size.n_classes, size.n_labeled, size.streamed) = (known.n_classes(), known.n_labeled(), in_blocks);
            let (plan, read_bytes) = ((self.planned.plan)(&size), size.input_bytes as u64);
            return Ok(Found { size, plan, read_bytes, are_counted: true });
        }
        let is_prepared = table.prepares() && is_table(path);
        let file = match is_prepared {
            true => probe_prepared(path, &self.read_options(), table.standardize, in_blocks, run)?,
            false => probe(path, &self.read_options())?,
        };
        (size.n_samples, size.n_features) = (file.n_rows, file.n_cols);
        (size.input_bytes, size.sparse) = (file.bytes_in_memory, file.n_entries.is_some());
        let are_counted = self.count_labels(None, &mut size)?;
        size.streamed = in_blocks;
        let read_bytes = self.pass_bytes(path, &size)?;
        if let Some(graph) = &self.data.graph {
            let given = self.session.read(&mut Report::default(), || -> Result<_, Failure> {
                let (names, ignore_unknown) = (names_of(path, table, run)?, self.labels.ignore.unknown);
                let (n_nodes, names) = (Some(size.n_samples), names.as_deref());
                let nodes = NodeOptions { n_nodes, names, ignore_unknown, ..NodeOptions::default() };
                Ok(read_named_graph(graph, &nodes, run)?)
            })?;
            size.n_edges = Some(given.adjacency.nnz() / 2);
        }
        // Numbers of a table are held as doubles until the features are made of them.
        let cells_bytes = 8 * file.n_rows * file.n_cols;
        let is_held = !size.sparse && !size.streamed;
        // Tables are scaled while they are read.
        let is_standardized = match table.standardize {
            _ if is_prepared => false,
            Standardize::Auto => is_held && self.is_in_units(path, &size),
            option => option == Standardize::On,
        };
        let plan = if is_standardized {
            // The standardized features are a copy in single precision.
            let input_bytes = 4 * size.n_samples * size.n_features;
            self.scaled(&ProblemSize { input_bytes, ..size }, size.input_bytes)
        } else if table.tfidf == Some(TermWeights::On) {
            self.scaled(&size, size.input_bytes)
        } else if is_prepared && is_held && file.bytes_in_memory < cells_bytes {
            let mut plan = self.scaled(&size, cells_bytes);
            plan.passes -= 2;
            plan
        } else {
            (self.planned.plan)(&size)
        };
        Ok(Found { size, plan, read_bytes, are_counted })
    }

    /// A graph alone.
    fn of_graph(&self) -> Result<Found, Failure> {
        let (data, run, mut size) = (self.data, &self.session.run, self.unknown_size());
        let read = || Input::read(data, self.planned.reads_streams, None, TermWeights::Off, run);
        let input = self.session.read(&mut Report::default(), read)?;
        // `input_bytes` stays 0: the plan adds the bytes of the graph by its edges.
        size.n_samples = input.n_samples();
        let rows = input.edges.as_ref().map(|edges| counted(edges, run)).transpose()?;
        size.n_edges = input.graph.as_ref().map(|affinity| affinity.graph.n_edges()).or(rows);
        let (is_stream, names) = (input.edges.is_some(), input.names.clone());
        drop(input);
        let are_counted = self.count_labels(names.as_deref(), &mut size)?;
        let mut plan = (self.planned.plan)(&size);
        // One more pass counts the nodes if their number is not given.
        plan.passes += usize::from(is_stream && data.edge_options().n_nodes.is_none());
        let file = data.graph.as_deref().and_then(|path| std::fs::metadata(path).ok());
        let read_bytes = file.filter(|file| file.is_file()).map_or(0, |file| file.len());
        Ok(Found { size, plan, read_bytes, are_counted })
    }

    fn read_options(&self) -> ReadOptions {
        read_options(&self.data.table, Some(self.labels))
    }

    /// The plan of a fit on features that are made of `read_bytes` of others.
    fn scaled(&self, size: &ProblemSize, read_bytes: usize) -> Plan {
        (self.planned.plan)(size).scaled(size, read_bytes)
    }

    /// Whether auto will standardize, as far as the first rows tell; rows of bytes are pixels.
    fn is_in_units(&self, path: &Path, size: &ProblemSize) -> bool {
        let is_bytes = size.input_bytes <= size.n_samples.saturating_mul(size.n_features);
        if is_bytes || !are_rows(path) {
            return false;
        }
        let rows = RowStream::open(path, &self.data.table, Some(self.labels), &self.session.run);
        rows.ok().and_then(|rows| rows.first_spreads(&self.session.run)).is_some_and(|spreads| spreads.decide)
    }

    /// Bytes of one pass over the features: those of the file if it is read in blocks, else those in memory.
    fn pass_bytes(&self, path: &Path, size: &ProblemSize) -> Result<u64, Failure> {
        if !size.streamed || !can_stream(path) {
            return Ok(size.input_bytes as u64);
        }
        let file = RowFile::open(path, &self.read_options(), &self.session.run);
        match std::fs::metadata(path) {
            // A table of other columns than numbers.
            Ok(metadata) if file.is_err() && self.data.table.prepares() && metadata.is_file() => Ok(metadata.len()),
            _ => Ok(file?.bytes()),
        }
    }

    /// Counts classes and labels if that is cheap; `nodes` are the names of the nodes of a graph alone. Else assumes round numbers, prints
    /// a note and returns false.
    fn count_labels(&self, nodes: Option<&RowNames>, size: &mut ProblemSize) -> Result<bool, Failure> {
        let (session, run, options) = (self.session, &self.session.run, self.read_options());
        if !self.planned.needs_labels && !self.labels.is_given() {
            return Ok(true);
        }
        (size.n_classes, size.n_labeled) = match (&self.labels.labels, &self.data.data) {
            (Some(path), table) => {
                let names = table.as_deref().map(|table| names_of(table, &self.data.table, run)).transpose()?.flatten();
                let names = names.as_deref().or(nodes);
                let known = labels_of(path, size.n_samples, names, self.labels, self.data.table.text.header())?.labels;
                (known.n_classes(), known.n_labeled())
            }
            (None, Some(path)) if self.labels.label_column.is_some() && is_table(path) => {
                let known = session.read(&mut Report::default(), || read_label_column(path, &options, run))?;
                (known.n_classes(), known.n_labeled())
            }
            (None, _) if size.input_bytes > CHEAP_BYTES => {
                session.note(
                    "labels are not read for a plan of this size: taking 10 classes and 1 % of the rows as labeled",
                );
                (size.n_classes, size.n_labeled) = (10, (size.n_samples / 100).max(1));
                return Ok(false);
            }
            (None, Some(path)) => {
                let known = session.read(&mut Report::default(), || read_samples(path, &options, run))?.labels;
                let known = known.ok_or_else(|| no_labels(false))?;
                (known.n_classes(), known.n_labeled())
            }
            (None, None) => return Err(no_labels(true)),
        };
        Ok(true)
    }
}

/// The number of edges of a file; one whose number of nodes is given may not have been read.
fn counted(edges: &EdgeFile, run: &Run) -> Result<usize, Failure> {
    let (known, mut n_edges) = (edges.n_edges(), 0);
    if known.is_none() {
        for_each_portion(edges, run, |portion| {
            n_edges += portion.len();
            Ok(())
        })?;
    }
    Ok(known.map_or(n_edges, |known| known as usize))
}

fn rows(size: &ProblemSize, plan: &Plan, read_bytes: u64) -> Vec<Row> {
    let about = if size.n_edges.is_some() { "" } else { "about " };
    let mut rows = vec![row("rows", count(plan.n_samples))];
    if plan.n_edges > 0 {
        rows.push(row("edges", format!("{about}{}", count(plan.n_edges))));
    }
    rows.push(row("peak memory", bytes(plan.peak_bytes)));
    rows.extend(plan.steps.iter().map(|step| row(format!("  {}", step.name), bytes(step.peak_bytes))));
    rows.push(row("passes over the input", count(plan.passes)));
    if read_bytes > 0 {
        rows.push(row("bytes read", bytes(plan.passes as u64 * read_bytes)));
    }
    rows
}
