//! `lapwing suggest`: which rows to label next.

use std::path::{Path, PathBuf};

use clap::Args;
use lapwing::data::{Labels, Report, Run, Targets, Warning};
use lapwing::graph::GraphParams;
use lapwing::models::{
    ProblemSize, SuggestParams, SuggestSummary, Suggester, Suggestion, Suggestions, Wanted, plan_loop,
};
use lapwing_core::params::{self, Both};
use lapwing_core::peak_memory_bytes;
use lapwing_report::Parts;
use lapwing_report::summary::{Row, of_cost, of_graph, of_scaling, of_table, row};
use lapwing_table::write::{COLUMN_ENDINGS, ColumnTable};
use serde_json::{Value, json};

use super::plan::{Planned, print_plan};
use crate::failure::Failure;
use crate::files::Files;
use crate::input::{Input, numbers_of, rows_of};
use crate::options::{
    BesideOptions, DataOptions, LabelOptions, ParamsOptions, RunOptions, SampleOption, SaveGraphOption,
    check_rereadable, read_options,
};
use crate::outcome::Outcome;
use crate::session::Session;
use crate::text::{count, percent};
use crate::written::{Written, check_stdout, is_stdout};

const EXAMPLES: &str = "\
Examples:
  lapwing suggest flowers.csv --drop species -n 12 -o todo.csv
      twelve rows to label first; write their labels into the column label
  lapwing suggest flowers.csv --drop species --labels todo.csv -n 12 -o next.csv
      the next twelve, given the labels in todo.csv
  lapwing suggest vectors.npy --labels known.csv -n 50 --check 0.2 --save-graph graph.npz -o todo.csv
      ten of the fifty are drawn at random, as a test; keep the graph
  lapwing suggest --graph graph.npz --labels known.csv -n 50 --explore 0.2 -o todo.csv
      the kept graph; ten of the rows are far from all labels: perhaps a class that nobody has named";

/// Say which rows to label next
///
/// Without labels, the rows that cover the data best; with labels, rows that cover what the labels do not tell yet and, from five labels
/// a class on, rows between classes. OUT has a line for each: its number, an empty label to fill in, the reason (cover,
/// border, far, check, random or fill), a score that says by how much it was preferred, and the class and confidence it has so far. A filled-in
/// OUT as .csv can be given as --labels.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Suggest {
    #[command(flatten)]
    data: DataOptions,

    #[command(flatten)]
    labels: LabelOptions,

    #[command(flatten)]
    sample: SampleOption,

    /// Number of rows to suggest
    #[arg(short, long = "number", value_name = "N", default_value = "20", value_parser = params::count, help_heading = "Suggestions")]
    n: usize,

    /// File of rows that may be chosen, one a line: numbers, or names (--id) [default: all without a label]
    #[arg(long, value_name = "FILE", help_heading = "Suggestions")]
    candidates: Option<PathBuf>,

    /// File of rows that may not be chosen, one a line
    #[arg(long, value_name = "FILE", help_heading = "Suggestions")]
    exclude: Option<PathBuf>,

    /// Column of DATA with the cost of labeling each row, above 0; gains are divided by it. It is no feature
    #[arg(long, value_name = "COLUMN", help_heading = "Suggestions", requires = "data")]
    cost: Option<String>,

    #[command(flatten)]
    params: ParamsOptions,

    /// Where the rows go: .csv or .parquet [default: CSV on standard output]
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    output: Option<PathBuf>,

    #[command(flatten)]
    beside: BesideOptions,

    #[command(flatten)]
    save_graph: SaveGraphOption,

    /// Print the memory and the passes over the input that it needs; nothing is computed or written
    #[arg(long, help_heading = "Output")]
    plan: bool,

    #[command(flatten)]
    run: RunOptions,
}

impl Suggest {
    pub fn run(&self, settings: &Both<GraphParams, SuggestParams>) -> Result<Outcome, Failure> {
        let Both(graph, params) = settings;
        graph.validate()?;
        params.validate()?;
        self.check()?;
        let session = Session::start(&self.run)?;
        if self.plan {
            let fit_rows = self.sample.fit_rows.unwrap_or(usize::MAX);
            let plan = |size: &ProblemSize| plan_loop(graph, &size.part(fit_rows), false);
            let planned =
                Planned { plan: Box::new(plan), reads_rows: false, reads_streams: false, needs_labels: false };
            return print_plan(&session, &self.data, &self.labels, &planned, false);
        }
        self.files().check()?;
        let mut before = Report::default();
        let data = self.data.without(self.cost.as_deref());
        let (mut input, labels) = session.read(&mut before, || self.read(&data, &session.run))?;
        input.prepared.describe(&mut before);
        let affinity = input.affinity(graph, &mut before, &session.run)?;
        before.warnings.append(&mut input.warnings);
        let n = affinity.graph.n_samples();
        let (targets, choice) = (targets(labels.as_ref())?, self.choice(&input, n, &session.run)?);
        let n_free = choice.n_free(n, targets.as_ref());
        if (1..self.n).contains(&n_free) {
            before.warnings.push(Warning::FewRowsLeft { wanted: self.n, n_free });
        }
        let mut suggester = before.time("cells", &session.run, |_| Suggester::new(&affinity.graph, &session.run))?;
        let wanted = choice.wanted(if n_free > 0 { self.n.min(n_free) } else { self.n });
        let Suggestions { rows, summary, report } = suggester.next(targets.as_ref(), &wanted, params, &session.run)?;
        drop(suggester);
        before.join(report);
        let mut written = Written::default();
        self.save_graph.stage(&affinity, input.names.as_deref(), &mut before, &session.run, &mut written)?;
        let classes = labels.map(|labels| labels.classes.names()).unwrap_or_default();
        let found = Found { rows: &rows, summary: &summary, classes: &classes, input: &input };
        self.finish(&session, before, found, written)?;
        Ok(Outcome::Done)
    }

    /// Writes the table, publishes all files and prints the summary.
    fn finish(
        &self,
        session: &Session,
        mut report: Report,
        found: Found<'_>,
        mut written: Written,
    ) -> Result<(), Failure> {
        let path = self.output.as_deref().or((!session.json).then(|| Path::new("-")));
        let table = |path: &Path| self.table(&found, path, &session.run);
        written.publish_with_table("suggestions", path, table, &mut report, &session.run)?;
        report.peak_bytes = peak_memory_bytes();
        let (body, rows) = (|| (&report, found.json()), || summary(&report, found.summary));
        session.print_end("suggest", &report.warnings, body, rows, (&written, path.is_some_and(is_stdout)))
    }

    fn table(&self, found: &Found<'_>, path: &Path, run: &Run) -> Result<ColumnTable, Failure> {
        let numbers: Vec<u32> = found.rows.iter().map(|row| row.row).collect();
        let mut table = ColumnTable::of_rows(&numbers, found.input.names.as_deref());
        table.texts("label", found.rows.iter().map(|_| None::<&str>));
        table.texts("reason", found.rows.iter().map(|row| Some(row.reason.name())));
        table.numbers("score", found.rows.iter().map(|row| row.score));
        table.texts("guess", found.rows.iter().map(|row| row.guess.map(|(class, _)| &found.classes[class as usize])));
        table.numbers("confidence", found.rows.iter().map(|row| row.guess.map_or(f64::NAN, |(_, share)| share)));
        if let Some(kept) = self.beside.kept(&self.data)? {
            table.kept(kept, &found.input.numbers(&numbers), path, run)?;
        }
        Ok(table)
    }

    fn read(&self, data: &DataOptions, run: &Run) -> Result<(Input, Option<Labels>), Failure> {
        if let Some(fit_rows) = self.sample.fit_rows {
            let (input, labels) = Input::sampled(data, &self.labels, fit_rows, false, run)?;
            return Ok((input, Some(labels)));
        }
        let mut input = Input::read(data, false, Some(&self.labels), data.table.term_weights(false), run)?;
        let labels = input.labels_if_any(&self.labels)?;
        Ok((input, labels))
    }

    /// The rows that may be chosen, and what they cost.
    fn choice(&self, input: &Input, n: usize, run: &Run) -> Result<Choice, Failure> {
        let rows =
            |path: &Option<PathBuf>| path.as_deref().map(|path| rows_of(path, n, input.names.as_deref())).transpose();
        let cost = match (&self.cost, &self.data.data) {
            (Some(column), Some(path)) => {
                Some(numbers_of(path, column, &read_options(&self.data.table, None), n, run)?)
            }
            _ => None,
        };
        Ok(Choice { candidates: rows(&self.candidates)?, exclude: rows(&self.exclude)?.unwrap_or_default(), cost })
    }

    fn check(&self) -> Result<(), Failure> {
        self.data.check()?;
        let is_chosen = self.candidates.is_some() || self.exclude.is_some() || self.cost.is_some();
        if self.sample.fit_rows.is_some() && is_chosen {
            return Err(Failure::usage(
                "--candidates, --exclude and --cost name rows among all, of which --fit-rows takes some; give one of them",
            ));
        }
        self.data.check_label_column(&self.labels)?;
        if self.n == 0 {
            return Err(Failure::usage("--number is 0; expected at least 1"));
        }
        check_stdout("rows", self.output.as_deref(), self.run.json)?;
        self.beside.check(&self.data)?;
        if self.cost.is_some() { check_rereadable("--cost", &self.data) } else { Ok(()) }
    }

    fn files(&self) -> Files<'_> {
        let files = self.params.files(self.labels.files(self.data.files(Files::default())));
        let files = files.read("--candidates", self.candidates.as_deref()).read("--exclude", self.exclude.as_deref());
        self.save_graph.files(files.write("--output", self.output.as_deref(), &COLUMN_ENDINGS))
    }
}

/// The targets; `None` if no row has a label.
fn targets(labels: Option<&Labels>) -> Result<Option<Targets>, Failure> {
    let labels = labels.filter(|labels| labels.n_labeled() > 0);
    Ok(labels.map(|labels| Targets::one_hot(labels, None)).transpose()?)
}

/// The rows that may be chosen.
struct Choice {
    candidates: Option<Vec<u32>>,
    exclude: Vec<u32>,
    cost: Option<Vec<f64>>,
}

impl Choice {
    fn wanted(&self, n: usize) -> Wanted<'_> {
        Wanted { n, candidates: self.candidates.as_deref(), exclude: &self.exclude, cost: self.cost.as_deref() }
    }

    /// Number of rows that are left to choose from.
    fn n_free(&self, n: usize, targets: Option<&Targets>) -> usize {
        let mut free = vec![self.candidates.is_none(); n];
        self.candidates.iter().flatten().for_each(|&row| free[row as usize] = true);
        let labeled = targets.map_or(&[][..], Targets::rows);
        self.exclude.iter().chain(labeled).for_each(|&row| free[row as usize] = false);
        free.iter().filter(|free| **free).count()
    }
}

/// The suggestions and the names in them.
struct Found<'a> {
    rows: &'a [Suggestion],
    summary: &'a SuggestSummary,
    classes: &'a [String],
    input: &'a Input,
}

impl Found<'_> {
    fn json(&self) -> Value {
        let name = |row: u32| match &self.input.names {
            Some(names) => json!(names.name(row as usize)),
            None => json!(row),
        };
        let one = |row: &Suggestion| {
            let guess = row.guess.map(|(class, _)| &self.classes[class as usize]);
            let score = Some(row.score).filter(|score| !score.is_nan());
            json!({
                "row": name(row.row), "reason": row.reason.name(), "score": score, "guess": guess,
                "confidence": row.guess.map(|(_, share)| share),
            })
        };
        json!({"suggestions": self.rows.iter().map(one).collect::<Vec<_>>()})
    }
}

fn summary(report: &Report, found: &SuggestSummary) -> Vec<Row> {
    let (parts, mut rows) = (Parts::of(report), vec![row("rows", count(report.n_samples))]);
    rows.extend(of_table(&parts));
    rows.extend(of_scaling(&parts));
    rows.push(row("labels given", count(found.n_labeled)));
    rows.push(row("classes", count(found.n_classes)));
    rows.extend(report.graph.iter().flat_map(of_graph));
    let why = found.reason.map(|why| format!(" ({why})")).unwrap_or_default();
    rows.push(row("rows suggested", format!("{} of {}", count(found.n_suggested), count(found.n_free))));
    rows.push(row("strategy", format!("{}{why}", found.strategy)));
    let (now, after) = (percent(found.share_unreached), percent(found.share_unreached_after));
    rows.push(row("rows no label reaches", format!("{now}, {after} once these have labels")));
    rows.extend(of_cost(&report.phases, report.peak_bytes));
    rows
}
