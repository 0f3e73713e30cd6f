//! `--plan`: memory and passes that a fit needs, without doing it.

use std::path::Path;

use lapwing::data::read::{EdgeFile, EdgeOptions, RowFile, read_label_column, read_samples};
use lapwing::data::{EdgeSource, Report, RowNames, RowSource, Run, TermWeights};
use lapwing::models::{Plan, ProblemSize};
use lapwing_report::summary::{Row, row};
use lapwing_table::prepare::probe_prepared;
use lapwing_table::read::is_table;
use lapwing_table::{can_stream, probe};
use serde_json::json;

use crate::Outcome;
use crate::failure::Failure;
use crate::input::{Input, no_labels, read_options};
use crate::named::{graph_of, labels_of, names_of};
use crate::options::{DataOptions, LabelOptions, StandardizeOption, TfidfOption};
use crate::output::{Written, json_object};
use crate::rows::{RowStream, are_rows};
use crate::session::Session;
use crate::text::{bytes, count, summary};

/// Features up to this size are read to count their labels.
const CHEAP_BYTES: usize = 64 << 20;

/// What is planned.
pub struct Planned<'a> {
    /// The plan of a problem of that size.
    pub plan: &'a dyn Fn(&ProblemSize) -> Plan,
    /// Whether rows can be read in blocks, and edges as a stream.
    pub reads_rows: bool,
    pub reads_streams: bool,
    /// Whether it needs labels.
    pub needs_labels: bool,
}

/// Prints rows, edges, memory and passes over the input. `may_stream` is false if an output needs all rows in memory.
pub fn print_plan(
    session: &Session,
    data: &DataOptions,
    labels: &LabelOptions,
    planned: &Planned<'_>,
    may_stream: bool,
) -> Result<Outcome, Failure> {
    let mut size = ProblemSize {
        n_samples: 0,
        n_features: 0,
        n_edges: None,
        input_bytes: 0,
        sparse: false,
        streamed: false,
        n_classes: 0,
        n_labeled: 0,
        threads: session.run.threads(),
    };
    // Bytes of one pass over the input, and whether labels were counted.
    let (read_bytes, are_counted);
    let plan = match (&data.graph, &data.data) {
        (graph, Some(path)) => {
            let in_blocks = may_stream && planned.reads_rows && are_rows(path) && !data.table.must_hold();
            let is_prepared = data.table.prepares() && is_table(path);
            let (options, run) = (read_options(&data.table, Some(labels)), &session.run);
            let file = match is_prepared {
                true => probe_prepared(path, &options, data.table.standardize.into(), in_blocks, run)?,
                false => probe(path, &options)?,
            };
            (size.n_samples, size.n_features) = (file.n_rows, file.n_cols);
            (size.input_bytes, size.sparse) = (file.bytes_in_memory, file.n_entries.is_some());
            are_counted = count_labels(session, data, labels, None, planned, &mut size)?;
            size.streamed = in_blocks;
            read_bytes = pass_bytes(path, data, labels, &size, session)?;
            if let Some(graph) = graph {
                let given = session.read(&mut Report::default(), || {
                    let names = names_of(path, &data.table, &session.run)?;
                    let options = EdgeOptions::default();
                    graph_of(
                        graph,
                        Some(size.n_samples),
                        names.as_deref(),
                        labels.ignore.unknown,
                        options,
                        &session.run,
                    )
                })?;
                size.n_edges = Some(given.adjacency.nnz() / 2);
            }
            let is_standardized = match data.table.standardize {
                // Tables are scaled while they are read.
                _ if is_prepared => false,
                StandardizeOption::On => true,
                StandardizeOption::Off => false,
                StandardizeOption::Auto => {
                    !size.sparse && !size.streamed && is_in_units(path, data, labels, &size, session)
                }
            };
            match is_standardized {
                true => plan_standardized(planned, size),
                false if data.table.tfidf == Some(TfidfOption::On) => {
                    (planned.plan)(&size).scaled(&size, size.input_bytes)
                }
                // Numbers are held as doubles until the features are made of them.
                false
                    if is_prepared
                        && !size.sparse
                        && !size.streamed
                        && file.bytes_in_memory < 8 * file.n_rows * file.n_cols =>
                {
                    let mut plan = (planned.plan)(&size).scaled(&size, 8 * file.n_rows * file.n_cols);
                    plan.passes -= 2;
                    plan
                }
                false => (planned.plan)(&size),
            }
        }
        _ => {
            let (streams, run) = (planned.reads_streams, &session.run);
            let nodes = data.edge_options().n_nodes;
            let input =
                session.read(&mut Report::default(), || Input::read(data, streams, None, TermWeights::Off, run))?;
            // `input_bytes` stays 0: the plan adds the bytes of the graph by its edges.
            size.n_samples = input.n_samples();
            let rows = input.edges.as_ref().map(|edges| counted(edges, run)).transpose()?;
            size.n_edges = input.graph.as_ref().map(|affinity| affinity.graph.n_edges()).or(rows);
            let is_stream = input.edges.is_some();
            let names = input.names.clone();
            drop(input);
            are_counted = count_labels(session, data, labels, names.as_deref(), planned, &mut size)?;
            let mut plan = (planned.plan)(&size);
            // One more pass counts the nodes if their number is not given.
            plan.passes += usize::from(is_stream && nodes.is_none());
            let file = data.graph.as_deref().and_then(|path| std::fs::metadata(path).ok());
            read_bytes = file.filter(|file| file.is_file()).map_or(0, |file| file.len());
            plan
        }
    };
    if session.json {
        session.print(&json_object(
            "plan",
            &plan,
            json!({"size": size, "read_bytes": plan.passes as u64 * read_bytes, "labels_counted": are_counted}),
            &Written::default(),
        )?)?;
    } else {
        session.print(&summary(&rows(&size, &plan, read_bytes)))?;
    }
    Ok(Outcome::Done)
}

/// Whether auto will standardize, as far as the first rows tell; rows of bytes are pixels.
fn is_in_units(path: &Path, data: &DataOptions, labels: &LabelOptions, size: &ProblemSize, session: &Session) -> bool {
    let is_bytes = size.input_bytes <= size.n_samples.saturating_mul(size.n_features);
    if is_bytes || !are_rows(path) {
        return false;
    }
    let rows = RowStream::open(path, &data.table, Some(labels), &session.run);
    rows.ok().and_then(|rows| rows.first_spreads(&session.run)).is_some_and(|spreads| spreads.decide)
}

/// Bytes of one pass over the features: those of the file if it is read in blocks, else those in memory.
fn pass_bytes(
    path: &Path,
    data: &DataOptions,
    labels: &LabelOptions,
    size: &ProblemSize,
    session: &Session,
) -> Result<u64, Failure> {
    if !size.streamed || !can_stream(path) {
        return Ok(size.input_bytes as u64);
    }
    let file = RowFile::open(path, &read_options(&data.table, Some(labels)), &session.run);
    match std::fs::metadata(path) {
        // A table of other columns than numbers.
        Ok(metadata) if file.is_err() && data.table.prepares() && metadata.is_file() => Ok(metadata.len()),
        _ => Ok(file?.bytes()),
    }
}

/// The number of edges of a file; one whose number of nodes is given may not have been read.
fn counted(edges: &EdgeFile, run: &Run) -> Result<usize, Failure> {
    if let Some(n_edges) = edges.n_edges() {
        return Ok(n_edges as usize);
    }
    let (mut reader, mut block, mut n_edges) = (edges.open(run)?, Vec::new(), 0);
    loop {
        block.clear();
        reader.read(1 << 15, &mut block, run)?;
        if block.is_empty() {
            return Ok(n_edges);
        }
        n_edges += block.len();
    }
}

/// Counts classes and labels if that is cheap; `nodes` are the names of the nodes of a graph alone. Else assumes round numbers, prints a note and returns false.
fn count_labels(
    session: &Session,
    data: &DataOptions,
    labels: &LabelOptions,
    nodes: Option<&RowNames>,
    planned: &Planned<'_>,
    size: &mut ProblemSize,
) -> Result<bool, Failure> {
    if !planned.needs_labels && labels.labels.is_none() && labels.label_column.is_none() {
        return Ok(true);
    }
    let table = data.data.as_deref().filter(|path| labels.label_column.is_some() && is_table(path));
    if let (None, Some(path)) = (&labels.labels, table) {
        let options = read_options(&data.table, Some(labels));
        let known = session.read(&mut Report::default(), || read_label_column(path, &options, &session.run))?;
        (size.n_classes, size.n_labeled) = (known.n_classes(), known.n_labeled());
        return Ok(true);
    }
    if labels.labels.is_none() && size.input_bytes > CHEAP_BYTES {
        size.n_classes = 10;
        size.n_labeled = (size.n_samples / 100).max(1);
        session.note("labels are not read for a plan of this size: taking 10 classes and 1 % of the rows as labeled");
        return Ok(false);
    }
    let known = match (&labels.labels, &data.data) {
        (None, Some(path)) => {
            let options = read_options(&data.table, Some(labels));
            session.read(&mut Report::default(), || read_samples(path, &options, &session.run))?.labels
        }
        (Some(path), table) => {
            let names = table.as_deref().map(|table| names_of(table, &data.table, &session.run)).transpose()?.flatten();
            Some(
                labels_of(path, size.n_samples, names.as_deref().or(nodes), labels, data.table.text.header())?.0.into(),
            )
        }
        (None, None) => None,
    };
    let known = known.ok_or_else(|| no_labels(data.data.is_none()))?;
    (size.n_classes, size.n_labeled) = (known.n_classes(), known.n_labeled());
    Ok(true)
}

/// The plan of a fit on standardized features, which are a copy in single precision.
fn plan_standardized(planned: &Planned<'_>, mut size: ProblemSize) -> Plan {
    let read_bytes = size.input_bytes;
    size.input_bytes = 4 * size.n_samples * size.n_features;
    (planned.plan)(&size).scaled(&size, read_bytes)
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
