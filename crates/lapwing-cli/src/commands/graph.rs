//! `lapwing graph`: builds the graph of some features, or takes a given one, and describes it.

use std::path::PathBuf;

use clap::Args;
use lapwing::data::Report;
use lapwing::graph::{AffinityGraph, GraphParams, Widths};
use lapwing_core::peak_memory_bytes;
use lapwing_report::summary::{Row, of_cost, of_graph, of_scaling, of_shape, row};
use lapwing_report::{Parts, graph_page, stage_page};
use lapwing_table::write::{GRAPH_ENDINGS, check_named_graph, stage_named_graph};
use serde_json::json;

use crate::failure::Failure;
use crate::files::Files;
use crate::input::Input;
use crate::options::{DataOptions, GraphSettings, ParamsOptions, ReportOption, RunOptions};
use crate::outcome::Outcome;
use crate::session::Session;
use crate::text::{count, number};
use crate::written::{Written, check_stdout, is_stdout};

const EXAMPLES: &str = "\
Examples:
  lapwing graph vectors.npy -o graph.npz          build a graph, describe it, and keep it
  lapwing graph flowers.csv --drop species -k 10   describe the graph of some columns
  lapwing graph vectors.npy --weights learned -k 10 -o graph.npz
                                                   learn the graph, about ten edges a row, instead of building it
  lapwing graph --graph edges.csv --json           describe a graph that is there already";

/// Build the graph of some features and describe it
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Graph {
    #[command(flatten)]
    data: DataOptions,

    #[command(flatten)]
    params: ParamsOptions,

    /// Where the graph goes: .npz for scipy, or edges as .parquet, .csv or .npy; - writes CSV to standard output
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    output: Option<PathBuf>,

    #[command(flatten)]
    report: ReportOption,

    /// Exit with code 1 if learning a graph stopped before its duality gap was within the tolerance
    #[arg(long, help_heading = "Output")]
    strict: bool,

    #[command(flatten)]
    run: RunOptions,
}

impl Graph {
    pub fn run(&self, settings: &GraphSettings) -> Result<Outcome, Failure> {
        let params = GraphParams { learn: settings.1.clone(), ..settings.0.clone() };
        params.validate()?;
        self.data.check()?;
        self.data.check_one()?;
        check_stdout("graph", self.output.as_deref(), self.run.json)?;
        let session = Session::start(&self.run)?;
        let files = self.params.files(self.data.files(Files::default()));
        self.report.files(files.write("--output", self.output.as_deref(), &GRAPH_ENDINGS)).check()?;
        let mut report = Report::default();
        let mut input = session.read(&mut report, || {
            Input::read(&self.data, false, None, self.data.table.term_weights(false), &session.run)
        })?;
        input.prepared.describe(&mut report);
        report.warnings.append(&mut input.warnings);
        if let (None, Some(_), Some(path)) = (&self.data.data, &input.names, &self.output) {
            check_named_graph(path)?;
        }
        let affinity = input.affinity(&params, &mut report, &session.run)?;
        note_choices(&mut report, &affinity, &params);

        session.run.check()?;
        let mut written = Written::default();
        // Output to standard output comes last, because it cannot be undone.
        let to_stdout = self.output.as_deref().is_some_and(is_stdout);
        let stage_graph = |report: &mut Report, written: &mut Written| -> Result<(), Failure> {
            let Some(path) = &self.output else { return Ok(()) };
            let (edges, names) = (affinity.graph.adjacency(), input.names.as_deref());
            let stage = |_: &mut Report| stage_named_graph(path, edges, names, &session.run);
            written.add("graph", report.time("write", &session.run, stage)?);
            Ok(())
        };
        if !to_stdout {
            stage_graph(&mut report, &mut written)?;
        }
        report.peak_bytes = peak_memory_bytes();
        if let Some(path) = &self.report.path {
            let title = &self.data.title();
            let page = graph_page(title, rows(&report), &report, &affinity.graph);
            written.add("report", stage_page(path, &page)?);
        }
        if to_stdout {
            stage_graph(&mut report, &mut written)?;
        }
        written.publish()?;
        let body = || {
            let body = json!({
                "n_samples": report.n_samples, "n_features": report.n_features, "graph": report.graph,
                "scaling": report.parts.get("scaling"),
                "knn": affinity.knn, "chosen": report.chosen, "phases": report.phases,
                "peak_bytes": report.peak_bytes, "warnings": report.warnings,
            });
            (body, json!({}))
        };
        session.print_end("graph", &report.warnings, body, || rows(&report), (&written, to_stdout))?;
        Ok(Outcome::of(self.strict, affinity.learned.as_ref().is_none_or(|learned| learned.converged)))
    }
}

/// Adds to the report what was chosen for the graph.
fn note_choices(report: &mut Report, affinity: &AffinityGraph, params: &GraphParams) {
    if let (Widths::One(width), None, None) = (&affinity.widths, params.bandwidth, &affinity.learned) {
        report.choose("bandwidth", *width);
    }
    if let Some(knn) = &affinity.knn {
        report.choose("knn", knn.method);
    }
}

fn rows(report: &Report) -> Vec<Row> {
    let mut rows = of_shape(report);
    rows.extend(of_scaling(&Parts::of(report)));
    if let Some(graph) = &report.graph {
        rows.extend(of_graph(graph));
        let duplicates = graph.n_duplicate_rows.filter(|&n| n > 0);
        rows.extend(duplicates.map(|n| row("rows with only duplicates around", count(n))));
    }
    let width = report.chosen.get("bandwidth").and_then(|width| width.as_f64());
    rows.extend(width.map(|width| row("bandwidth (auto)", number(width))));
    let metric = report.chosen.get("metric").and_then(|metric| metric.as_str());
    rows.extend(metric.map(|metric| row("metric (auto)", metric)));
    rows.extend(of_cost(&report.phases, report.peak_bytes));
    rows
}
