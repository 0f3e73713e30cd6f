//! `lapwing audit`: which of the given labels are probably wrong.

use std::path::{Path, PathBuf};

use clap::Args;
use lapwing::data::{Labels, Report, RowNames, Run, Targets};
use lapwing::graph::GraphParams;
use lapwing::models::{Audit as Found, AuditParams, AuditSummary, ProblemSize, audit, plan_loop};
use lapwing_core::params::{Both, Parameters, count};
use lapwing_core::peak_memory_bytes;
use lapwing_report::summary::{Row, of_audit, of_cost, of_graph, of_scaling, of_table, row};
use lapwing_report::{AuditPage, Parts, by_doubt, stage_page};
use lapwing_table::write::{COLUMN_ENDINGS, ColumnTable};
use serde_json::{Value, json};

use super::plan::{Planned, print_plan};
use crate::failure::Failure;
use crate::files::Files;
use crate::input::Input;
use crate::options::{
    BesideOptions, DataOptions, LabelOptions, ParamsOptions, ReportOption, RunOptions, SampleOption, SaveGraphOption,
};
use crate::outcome::Outcome;
use crate::session::Session;
use crate::text;
use crate::written::{Written, check_stdout, is_stdout};

const EXAMPLES: &str = "\
Examples:
  lapwing audit flowers.csv --label-column species -o audit.csv
      all rows, the most doubtful label first
  lapwing audit vectors.npy --labels known.csv --top 100 -o audit.csv --report audit.html
      the hundred most doubtful labels, and a page to look at
  lapwing audit flowers.csv --label-column species --strict
      exit with code 1 if any label is probably wrong";

/// Say which labels are probably wrong
///
/// Every label is compared with what the other labels say of its row. OUT has a line for each row, the most doubtful label first: the
/// given label, the class that is proposed, the quality of the label (the share of its class, between 0 and 1), whether it is
/// flagged as probably wrong and whether it could be judged, the group of rows that nearly equal each other and whether labels
/// in the group contradict each other, how far the row is from its neighbors (percentile), and whether any label reaches it.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Audit {
    #[command(flatten)]
    data: DataOptions,

    #[command(flatten)]
    labels: LabelOptions,

    #[command(flatten)]
    sample: SampleOption,

    #[command(flatten)]
    params: ParamsOptions,

    /// Where the rows go: .csv or .parquet; - writes CSV to standard output
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Write only the N most doubtful labels, or those flagged as probably wrong
    #[arg(long, value_name = "N|flagged", value_parser = top, help_heading = "Output")]
    top: Option<Top>,

    #[command(flatten)]
    beside: BesideOptions,

    #[command(flatten)]
    save_graph: SaveGraphOption,

    #[command(flatten)]
    report: ReportOption,

    /// Print the memory and the passes over the input that it needs; nothing is computed or written
    #[arg(long, help_heading = "Output")]
    plan: bool,

    /// Exit with code 1 if any label is flagged
    #[arg(long, help_heading = "Output")]
    strict: bool,

    #[command(flatten)]
    run: RunOptions,
}

/// Which labels are written.
#[derive(Clone, Copy)]
enum Top {
    Count(usize),
    Flagged,
}

fn top(text: &str) -> Result<Top, String> {
    match text {
        "flagged" => Ok(Top::Flagged),
        _ => count(text).map(Top::Count).map_err(|fault| format!("{fault}, or flagged")),
    }
}

impl Audit {
    pub fn run(&self, settings: &Both<GraphParams, AuditParams>) -> Result<Outcome, Failure> {
        let Both(graph, params) = settings;
        graph.validate()?;
        params.check_ranges()?;
        self.check()?;
        if self.data.data.is_none() && graph.metric.is_some() {
            return Err(Failure::usage("--metric needs DATA: a graph alone has no distances"));
        }
        let session = Session::start(&self.run)?;
        if self.plan {
            let fit_rows = self.sample.fit_rows.unwrap_or(usize::MAX);
            let plan = |size: &ProblemSize| plan_loop(graph, &size.part(fit_rows), true);
            let planned = Planned { plan: Box::new(plan), reads_rows: false, reads_streams: false, needs_labels: true };
            return print_plan(&session, &self.data, &self.labels, &planned, false);
        }
        self.files().check()?;
        let mut before = Report::default();
        let (mut input, labels) = session.read(&mut before, || {
            Input::labeled_or_sampled(&self.data, &self.labels, self.sample.fit_rows, &session.run)
        })?;
        input.prepared.describe(&mut before);
        let affinity = input.affinity(graph, &mut before, &session.run)?;
        before.warnings.append(&mut input.warnings);
        let targets = Targets::one_hot(&labels, None)?;
        let measured = input.features.as_ref().map(|rows| (rows, graph.resolved(rows).metric()));
        let found = audit(&affinity.graph, measured, &targets, params, &session.run)?;
        before.join(found.report.clone());
        let mut written = Written::default();
        self.save_graph.stage(&affinity, input.names.as_deref(), &mut before, &session.run, &mut written)?;
        if let Some(path) = &self.report.path {
            before.peak_bytes = peak_memory_bytes();
            let page = AuditPage {
                title: &self.data.title(),
                report: &before,
                found: &found,
                labels: &labels,
                features: input.features.as_ref(),
                names: input.names.as_deref(),
            };
            written.add("report", stage_page(path, &page.render())?);
        }
        self.finish(&session, before, &found, (&labels, &input), written)?;
        Ok(Outcome::of(self.strict, !found.flagged.contains(&true)))
    }

    fn finish(
        &self,
        session: &Session,
        mut report: Report,
        found: &Found,
        of: (&Labels, &Input),
        mut written: Written,
    ) -> Result<(), Failure> {
        let table = |path: &Path| self.table(found, of, path, &session.run);
        written.publish_with_table("audit", self.output.as_deref(), table, &mut report, &session.run)?;
        report.peak_bytes = peak_memory_bytes();
        let names = of.0.classes.names();
        let body = || (&report, json!({"audit": named(&found.summary, &names, of.1.names.as_deref())}));
        let to_stderr = self.output.as_deref().is_some_and(is_stdout);
        session.print_end(
            "audit",
            &report.warnings,
            body,
            || summary(&report, &found.summary, &names),
            (&written, to_stderr),
        )
    }

    fn table(
        &self,
        found: &Found,
        (labels, input): (&Labels, &Input),
        path: &Path,
        run: &Run,
    ) -> Result<ColumnTable, Failure> {
        let mut rows = by_doubt(found, labels);
        match self.top {
            Some(Top::Flagged) => rows.retain(|&row| found.flagged[row as usize]),
            Some(Top::Count(n)) => {
                rows.retain(|&row| found.judged[row as usize]);
                rows.truncate(n);
            }
            None => {}
        }
        let at = || rows.iter().map(|&row| row as usize);
        let names = labels.classes.names();
        let mut table = ColumnTable::of_rows(&rows, input.names.as_deref());
        let given = |row: usize| usize::try_from(labels.index[row]).ok().map(|class| &names[class]);
        table.texts("given", at().map(given));
        table.texts("proposed", at().map(|row| found.proposed[row].map(|class| &names[class as usize])));
        table.numbers("quality", at().map(|row| found.quality[row]));
        table.flags("flagged", at().map(|row| found.flagged[row]));
        table.flags("judged", at().map(|row| found.judged[row]));
        table.integers("duplicate_group", at().map(|row| found.duplicate_group[row].map(i64::from)));
        table.flags("contradicts", at().map(|row| found.contradicts[row]));
        table.numbers("outlier_percentile", at().map(|row| found.outlier_percentile[row]));
        table.flags("reached", at().map(|row| found.reached[row]));
        if let Some(kept) = self.beside.kept(&self.data)? {
            table.kept(kept, &input.numbers(&rows), path, run)?;
        }
        Ok(table)
    }

    fn check(&self) -> Result<(), Failure> {
        self.data.check_labels(&self.labels)?;
        self.beside.check(&self.data)?;
        check_stdout("rows", self.output.as_deref(), self.run.json)
    }

    fn files(&self) -> Files<'_> {
        let files = self.params.files(self.labels.files(self.data.files(Files::default())));
        let files = files.write("--output", self.output.as_deref(), &COLUMN_ENDINGS);
        self.save_graph.files(self.report.files(files))
    }
}

/// The summary with names of classes and rows instead of their numbers.
fn named(found: &AuditSummary, names: &[String], rows: Option<&RowNames>) -> Value {
    let classes = |list: &[usize]| json!(list.iter().filter_map(|&class| names.get(class)).collect::<Vec<_>>());
    let mut facts = json!(found);
    facts["few_labels"] = classes(&found.few_labels);
    facts["no_labels"] = classes(&found.no_labels);
    facts["not_predicted"] = classes(&found.not_predicted);
    for (at, pair) in found.confused.iter().enumerate() {
        facts["confused"][at]["classes"] = classes(&pair.classes);
    }
    if let (Some(names), Some(new)) = (rows, &found.new_class) {
        facts["new_class"]["rows"] = new.rows.iter().map(|&row| names.name(row as usize)).collect();
    }
    facts
}

fn summary(report: &Report, found: &AuditSummary, names: &[String]) -> Vec<Row> {
    let (parts, mut rows) = (Parts::of(report), vec![row("rows", text::count(report.n_samples))]);
    rows.extend(of_table(&parts));
    rows.extend(of_scaling(&parts));
    rows.push(row("labels given", text::count(report.n_labeled)));
    rows.extend(report.n_classes.map(|n| row("classes", text::count(n))));
    rows.extend(report.graph.iter().flat_map(of_graph));
    rows.extend(of_audit(found, names));
    rows.extend(of_cost(&report.phases, report.peak_bytes));
    rows
}
