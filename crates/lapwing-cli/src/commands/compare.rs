//! `lapwing compare`: accuracy of each method with few labels, on data whose labels are known.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use lapwing::data::{Labels, Report, Run};
use lapwing::models::{Certify, CompareParams, CompareRow, Method, Settings, compare, method_names};
use lapwing_data::peak_memory_bytes;
use serde_json::json;

use crate::Outcome;
use crate::failure::Failure;
use crate::files::{Files, REPORT_ENDINGS};
use crate::html::{compare_page, stage_page};
use crate::input::{Input, check_label_source};
use crate::options::{self, DataOptions, LabelOptions, ParamsOptions, RunOptions};
use crate::output::{Written, json_object};
use crate::session::Session;
use crate::summary::{Row, of_cost, of_scaling, row};
use crate::text::{count, percent, seconds, summary, table};

const EXAMPLES: &str = "\
Examples:
  lapwing compare digits.csv --label-column digit --labeled 10,50,100
      accuracy on the hidden labels with 10, 50 and 100 labels kept, mean of 5 draws
  lapwing compare vectors.npy --labels all.txt --labeled 100 --repeats 20 --report compare.html";

/// Hide labels of a labeled data set and measure each method on them
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Compare {
    #[command(flatten)]
    data: DataOptions,

    #[command(flatten)]
    labels: LabelOptions,

    /// Numbers of labels to keep, separated by commas
    #[arg(long, value_name = "N1,N2,…", value_delimiter = ',', value_parser = options::count, required = true)]
    #[arg(help_heading = "Comparison")]
    labeled: Vec<usize>,

    /// Draws of labels for each number
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = options::count, help_heading = "Comparison")]
    repeats: usize,

    /// Methods, separated by commas [default: all but anchor, nystrom and glnp; with --graph, those that need no features]
    #[arg(long, value_name = "M1,M2,…", value_delimiter = ',', help_heading = "Comparison")]
    #[arg(value_parser = PossibleValuesParser::new(method_names()))]
    methods: Vec<String>,

    #[command(flatten)]
    params: ParamsOptions,

    /// Write an HTML report with a plot: one file that loads nothing else
    #[arg(long, value_name = "FILE.html", help_heading = "Output")]
    report: Option<PathBuf>,

    /// Exit with code 1 if no label reaches some rows
    #[arg(long, help_heading = "Output")]
    strict: bool,

    #[command(flatten)]
    run: RunOptions,
}

impl Compare {
    pub fn run(&self, methods: &[Settings]) -> Result<Outcome, Failure> {
        check_label_source(&self.data, &self.labels)?;
        let methods = self.methods(methods)?;
        let session = Session::start(&self.run)?;
        let inputs = self.params.files(self.labels.files(self.data.files(Files::default())));
        inputs.write("--report", self.report.as_deref(), REPORT_ENDINGS).check()?;
        let mut report = Report::default();
        let (input, labels) = session.read(&mut report, || self.read(&session.run))?;
        let params = CompareParams { n_labeled: self.labeled.clone(), repeats: self.repeats };
        let (features, graph) = (input.features.as_ref(), input.graph.as_ref());
        let results = report
            .time("compare", &session.run, |_| compare(features, graph, &labels, &methods, &params, &session.run))?;
        input.scaling.describe(&mut report);
        report.n_samples = input.n_samples();
        report.n_features = features.map(|features| features.n_cols());
        report.n_classes = Some(labels.n_classes());
        report.n_labeled = labels.n_labeled();
        report.peak_bytes = peak_memory_bytes();

        session.run.check()?;
        let mut written = Written::default();
        if let Some(path) = &self.report {
            let headings = HEADINGS.iter().map(|&heading| heading.to_owned()).collect();
            let table = (headings, results.iter().map(cells).collect());
            let (title, rows) = (&self.data.title(), rows(&report, self.repeats));
            let page = compare_page(title, tiles(&report, &results), rows, &results, table);
            written.add("report", stage_page(path, &page)?);
            written.publish()?;
        }
        self.print(&session, &report, &results, &written)?;
        let is_fine = results.iter().all(|result| result.unreached == 0.0);
        Ok(if self.strict && !is_fine { Outcome::Look } else { Outcome::Done })
    }

    /// The methods to compare: those of `--methods`, else all that can use the given features or graph.
    fn methods(&self, methods: &[Settings]) -> Result<Vec<Box<dyn Method>>, Failure> {
        let mut kept = Vec::new();
        for settings in methods {
            let mut settings = settings.clone();
            // A comparison does not show certified labels.
            settings.params.harmonic.certify = Certify::Off;
            let method = settings.method()?;
            match self.data.check_method(&*method) {
                Ok(()) => kept.push(method),
                Err(failure) if !self.methods.is_empty() => return Err(failure),
                Err(_) => {}
            }
        }
        Ok(kept)
    }

    fn read(&self, run: &Run) -> Result<(Input, Labels), Failure> {
        let mut input = Input::read(&self.data, None, Some(&self.labels), run)?;
        let labels = input.labels(&self.labels)?;
        Ok((input, labels))
    }

    fn print(
        &self,
        session: &Session,
        report: &Report,
        results: &[CompareRow],
        written: &Written,
    ) -> Result<(), Failure> {
        report.warnings.iter().for_each(|warning| session.warn(warning));
        if session.json {
            let body = json!({
                "warnings": report.warnings, "parts": report.parts,
                "n_samples": report.n_samples, "n_features": report.n_features, "n_classes": report.n_classes,
                "n_labeled": report.n_labeled, "repeats": self.repeats, "phases": report.phases,
                "peak_bytes": report.peak_bytes,
            });
            return session.print(&json_object("compare", &body, json!({"results": results}), written)?);
        }
        let cells: Vec<_> = results.iter().map(cells).collect();
        let scaled: Vec<Row> = of_scaling(report).into_iter().collect();
        session.print(&format!("{}{}", table(HEADINGS, &cells), summary(&[scaled, written.rows()].concat())))
    }
}

/// Headings of the table of results.
const HEADINGS: &[&str] = &["method", "labels", "accuracy", "unreached", "seconds", "graph seconds"];

/// A line of the table of results.
fn cells(result: &CompareRow) -> Vec<String> {
    vec![
        result.method.clone(),
        count(result.n_labeled),
        format!("{:.3} ± {:.3}", result.accuracy_mean, result.accuracy_sd),
        percent(result.unreached),
        format!("{:.2}", result.seconds),
        format!("{:.2}", result.graph_seconds),
    ]
}

fn tiles(report: &Report, results: &[CompareRow]) -> Vec<Row> {
    let mut tiles = vec![row("rows", count(report.n_samples)), row("classes", count(report.n_classes.unwrap_or(0)))];
    let best = results.iter().max_by(|a, b| a.accuracy_mean.total_cmp(&b.accuracy_mean));
    tiles.extend(best.map(|best| {
        row(format!("best, {} with {} labels", best.method, count(best.n_labeled)), percent(best.accuracy_mean))
    }));
    tiles.push(row("time", seconds(report.seconds())));
    tiles
}

fn rows(report: &Report, repeats: usize) -> Vec<Row> {
    let mut rows = vec![row("rows", count(report.n_samples))];
    rows.extend(report.n_features.map(|n| row("features", count(n))));
    rows.extend(of_scaling(report));
    rows.extend(report.n_classes.map(|n| row("classes", count(n))));
    rows.push(row("labels known", count(report.n_labeled)));
    rows.push(row("draws of labels", count(repeats)));
    rows.extend(of_cost(&report.phases, report.peak_bytes));
    rows
}
