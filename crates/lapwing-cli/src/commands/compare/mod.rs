//! `lapwing compare`: accuracy of each method on labels that are hidden from it, and which method to take.

mod next;
mod results;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lapwing::data::{Features, Report, Targets};
use lapwing::models::{Certify, CompareParams, Comparison, Keep, Method, ProblemSize, Settings, compare};
use lapwing_core::{params, peak_memory_bytes};
use lapwing_report::summary::of_scaling;
use lapwing_report::{Page, Parts, Table, comparison, stage_page};
use serde_json::json;

use crate::failure::Failure;
use crate::files::{Files, REPORT_ENDINGS};
use crate::input::{Input, refuse_weight};
use crate::options::{DataOptions, LabelOptions, MethodName, ParamsOptions, RunOptions, SampleOption};
use crate::outcome::Outcome;
use crate::session::Session;
use crate::text::{aligned, count, summary};
use crate::written::Written;
use next::next_command;
use results::{HEADINGS, cells, notes, rows, tiles};

/// More runs are announced, with the way to limit their time.
const MOST_RUNS: usize = 50;

const EXAMPLES: &str = "\
Examples:
  lapwing compare digits.csv --label-column digit
      accuracy on the hidden labels with 1, 5 and 20 labels of each digit kept, mean of 5 draws
  lapwing compare flowers.csv --label-column species
      few rows have a species: each fifth of these labels is hidden in turn (--folds 5)
  lapwing compare digits.csv --label-column digit --labeled 10,50,100 --methods harmonic,laprls --budget 60s
  lapwing compare vectors.npy --labels all.txt --per-class 10 --repeats 20 --report compare.html";

/// Hide labels and measure each method on them, to see which method to use
///
/// All methods get the same labels, draw by draw. For each number of labels the output names the best method, those whose
/// difference from it may be chance, and the fastest of these. The last line is the command that labels with it. Accuracies depend
/// on the seed only, unless there is a --budget; seconds depend on the machine.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Compare {
    #[command(flatten)]
    data: DataOptions,

    #[command(flatten)]
    labels: LabelOptions,

    #[command(flatten)]
    sample: SampleOption,

    #[command(flatten)]
    keep: KeepOptions,

    /// Methods, separated by commas [default: all but anchor, nystrom, glnp and majority; with --graph, those that need no features]
    ///
    /// By default, sparse-harmonic is left out if it would keep all edges, and subsampling if it would take all rows: their labels are
    /// then those of harmonic.
    #[arg(long, value_name = "M1,M2,…", value_delimiter = ',', help_heading = "Comparison")]
    #[arg(value_parser = MethodName)]
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

/// Which labels are kept, and how often.
#[derive(Args)]
#[command(next_help_heading = "Comparison")]
struct KeepOptions {
    /// Numbers of labels to keep, in all, separated by commas [default: see --per-class]
    #[arg(long, value_name = "N1,N2,…", value_delimiter = ',', value_parser = params::count)]
    labeled: Vec<usize>,

    /// Numbers of labels to keep of each class [default: 1,5,20 as far as there are labels, or --folds if few rows have one]
    #[arg(long, value_name = "N1,N2,…", value_delimiter = ',', value_parser = params::count)]
    per_class: Vec<usize>,

    /// Split the labels into K stratified folds and hide each in turn; for data of which few rows have a label
    ///
    /// The default, with 5 folds, if fewer than half of the rows have a label, or fewer than about 10 of each class.
    #[arg(long, value_name = "K", value_parser = params::count, conflicts_with_all = ["labeled", "per_class"])]
    folds: Option<usize>,

    /// Draws of labels for each number, or splits into folds [default: 5; 3 splits]
    #[arg(long, value_name = "N", value_parser = params::count)]
    repeats: Option<usize>,

    /// Most time of all runs, such as 60s, 5m or 1h [default: none]
    ///
    /// Each method has its first run before any has its second; then those that took the least time go on. A method stops when its
    /// next run would take too long. The number of draws, and so the result, then depends on the machine.
    #[arg(long, value_name = "TIME", value_parser = params::duration)]
    budget: Option<Duration>,
}

impl KeepOptions {
    fn params(&self) -> CompareParams {
        let totals = self.labeled.iter().map(|&n| Keep::Total(n));
        let per_class = self.per_class.iter().map(|&n| Keep::PerClass(n));
        let keep = totals.chain(per_class).chain(self.folds.map(Keep::Folds)).collect();
        CompareParams { keep, repeats: self.repeats, budget: self.budget }
    }
}

/// The methods to compare.
struct Chosen {
    methods: Vec<Box<dyn Method>>,
    /// Those left out, each with the method whose results are the same.
    same: Vec<(&'static str, &'static str)>,
}

impl Compare {
    pub fn run(&self, settings: &[Settings]) -> Result<Outcome, Failure> {
        self.data.check_labels(&self.labels)?;
        for settings in settings {
            refuse_weight(settings, "--prior-weight changes nothing for compare, which takes no prior")?;
        }
        let methods = self.methods(settings)?;
        let session = Session::start(&self.run)?;
        let inputs = self.params.files(self.labels.files(self.data.files(Files::default())));
        inputs.write("--report", self.report.as_deref(), REPORT_ENDINGS).check()?;
        let mut report = Report::default();
        let (input, labels) = session.read(&mut report, || {
            Input::labeled_or_sampled(&self.data, &self.labels, self.sample.fit_rows, &session.run)
        })?;
        let targets = Targets::one_hot(&labels, None)?;
        let chosen = self.without_twins(methods, settings, &input.problem(&targets).size(&session.run));
        let (features, graph) = (input.features.as_ref(), input.graph.as_ref());
        let params = self.keep.params();
        let n_runs = chosen.methods.len().saturating_mul(params.n_runs(&labels, &session.run)?);
        if params.budget.is_none() && n_runs > MOST_RUNS {
            session.note(&format!("{} runs; --budget 60s stops after about that time", count(n_runs)));
        }
        // The comparison reports its own steps.
        let found = report.time("compare", &session.run.quiet(), |_| {
            compare(features, graph, &labels, &chosen.methods, &params, &session.run)
        })?;
        input.prepared.describe(&mut report);
        report.warnings.extend(input.warnings.iter().cloned());
        report.n_samples = input.n_samples();
        report.n_features = features.map(Features::n_cols);
        report.n_classes = Some(labels.n_classes());
        report.n_labeled = labels.n_labeled();
        report.peak_bytes = peak_memory_bytes();
        let next = self.next(&found, settings);

        session.run.check()?;
        let mut written = Written::default();
        if let Some(path) = &self.report {
            let advice = found.winners.iter().map(|winner| winner.text.clone()).chain(next.clone()).collect();
            let page = Page {
                kicker: "Comparison by lapwing".into(),
                title: self.data.title(),
                tiles: tiles(&report, &found),
                figures: vec![comparison(&found.rows)],
                tables: vec![Table::new("Results", HEADINGS, found.rows.iter().map(cells))],
                lists: vec![("Which method", advice), ("About the table", notes(&found, &chosen.same))],
                summaries: vec![("Summary", rows(&report))],
                ..Page::default()
            };
            written.add("report", stage_page(path, &page.render())?);
            written.publish()?;
        }
        self.print(&session, &report, (&found, &chosen.same), next, &written)?;
        Ok(Outcome::of(self.strict, found.rows.iter().all(|result| result.unreached == 0.0)))
    }

    /// The methods to compare: those of `--methods`, else all that can use the given features or graph.
    fn methods(&self, settings: &[Settings]) -> Result<Vec<Box<dyn Method>>, Failure> {
        let mut kept = Vec::new();
        for settings in settings {
            // The last row of each number of labels is this one, without a run.
            if self.methods.is_empty() && settings.spec().name == "majority" {
                continue;
            }
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

    /// Leaves out methods that nobody named and whose results are those of another one.
    fn without_twins(&self, mut methods: Vec<Box<dyn Method>>, settings: &[Settings], size: &ProblemSize) -> Chosen {
        let find = |name: &str| settings.iter().find(|settings| settings.spec().name == name);
        let twin = |method: &dyn Method| {
            let name = method.same_as(size).filter(|_| self.methods.is_empty())?;
            let (own, other) = (&find(method.name())?.params, &find(name)?.params);
            (own.graph == other.graph && own.harmonic == other.harmonic).then_some((method.name(), name))
        };
        let same: Vec<_> = methods.iter().filter_map(|method| twin(&**method)).collect();
        methods.retain(|method| !same.iter().any(|(name, _)| *name == method.name()));
        Chosen { methods, same }
    }

    /// The command that labels with the winner at the largest number of labels; none if a budget ended before that is known.
    fn next(&self, found: &Comparison, settings: &[Settings]) -> Option<String> {
        let winner = found.winners.iter().max_by_key(|winner| winner.n_labeled).filter(|winner| winner.is_enough)?;
        let settings = settings.iter().find(|settings| settings.spec().name == winner.recommended)?;
        Some(format!(
            "next: {}",
            next_command(&self.data, &self.labels, settings, (self.sample.fit_rows, self.run.seed))
        ))
    }

    fn print(
        &self,
        session: &Session,
        report: &Report,
        (found, same): (&Comparison, &[(&str, &str)]),
        next: Option<String>,
        written: &Written,
    ) -> Result<(), Failure> {
        report.warnings.iter().for_each(|warning| session.warn(warning));
        if session.json {
            let left_out: Vec<_> = same.iter().map(|(method, of)| json!({"method": method, "same_as": of})).collect();
            let body = json!({
                "warnings": report.warnings, "scaling": report.parts.get("scaling"),
                "n_samples": report.n_samples, "n_features": report.n_features, "n_classes": report.n_classes,
                "n_labeled": report.n_labeled, "repeats": found.repeats, "phases": report.phases,
                "peak_bytes": report.peak_bytes,
            });
            let more = json!({
                "results": found.rows, "winners": found.winners, "unfinished": found.unfinished,
                "failed": found.failed, "left_out": left_out,
                "next": next.as_deref().map(|next| next.trim_start_matches("next: ")),
            });
            return session.print(&written.object("compare", &body, more)?);
        }
        let heads = HEADINGS.iter().map(|&head| head.to_owned()).collect();
        let rows: Vec<_> = [heads].into_iter().chain(found.rows.iter().map(cells)).collect();
        let lines = |lines: Vec<String>| lines.into_iter().map(|line| line + "\n").collect::<String>();
        let advice = lines(found.winners.iter().map(|winner| winner.text.clone()).collect());
        session.print(&format!(
            "{}\n{}{}{advice}{}",
            lines(aligned(&rows, 1)),
            lines(notes(found, same)),
            summary(&[of_scaling(&Parts::of(report)).into_iter().collect(), written.rows()].concat()),
            lines(next.into_iter().collect()),
        ))
    }
}
