//! `lapwing label`: a label, with a confidence, for every row.

mod outputs;
mod rows;

use std::path::{Path, PathBuf};

use clap::Args;
use lapwing::data::{Labels, Matrix, Report, Run, SparseLabels, Targets};
use lapwing::graph::sparsify::Checkpoint;
use lapwing::label_table::fits_a_set;
use lapwing::models::{Method, Problem, ProblemSize, Settings, plan_rows};
use lapwing_core::available_memory_bytes;
use lapwing_core::params::count;
use lapwing_table::read::is_rereadable_table;

use super::finished::Finished;
use super::plan::{Planned, print_plan, rows_that_fit};
use crate::failure::Failure;
use crate::files::{ANY_ENDING, Files, check_checkpoint, is_once};
use crate::input::{Input, Prepared, Prior, Reasons, are_rows, check_classes, check_prior, holds_suggestions};
use crate::options::{DEFAULT_METHOD, DataOptions, LabelOptions, MethodName, ParamsOptions, RunOptions};
use crate::outcome::Outcome;
use crate::ranks::Ranks;
use crate::session::Session;
use crate::text::bytes;
use crate::written::{check_stdout, publish_after};
use outputs::OutputOptions;
use rows::LabelRows;

const MORE: &str = "\
Example:
  lapwing label flowers.csv --label-column species -o labels.csv
      label the rows whose species is empty

lapwing label --help describes every option, with examples; lapwing methods lists the methods.";

const EXAMPLES: &str = "\
Examples:
  lapwing label flowers.csv --label-column species -o labeled.csv
      label the rows whose species is empty; write row, label, confidence and reached of every row
  lapwing label vectors.npy --labels known.csv -o labels.parquet --report report.html
      features in one file, row,label pairs in another; a report to look at
  lapwing label --graph citations.csv --labels known.txt -o labels.csv
      a graph instead of features
  lapwing label --graph citations.csv --labels known.txt --prior shares.csv -o labels.csv
      correct and smooth on the graph the class shares that another classifier gives each row
  lapwing label words.npz --graph citations.csv --labels known.txt --method unfolded-gnn -o labels.csv
      features and a graph of the same rows
  lapwing label big.parquet --label-column y --plan
      how much memory it would take
  lapwing label huge.npy --labels known.csv --method low-rank -o labels.npy
      any number of rows: they are read in blocks, twice, and never held
  lapwing label train.csv --label-column y -o train-labels.csv --model y.lapwing
      keep a model, for `lapwing predict` to label new rows";

/// Label every row from the rows that have a label
///
/// Several methods are tried on labels that are hidden from them, and weighed by what they get right; --method takes one. Most
/// join rows that resemble each other into a graph, over which the given labels spread. OUT has a line for each row: its
/// number, label, confidence (the share of that label, between 0 and 1), whether any label reaches it and, for harmonic
/// methods, whether the label is certified to be that of the exact solution.
#[derive(Args)]
#[command(after_help = MORE, after_long_help = EXAMPLES)]
pub struct Label {
    #[command(flatten)]
    data: DataOptions,

    #[command(flatten)]
    labels: LabelOptions,

    /// How to label; lapwing methods lists the methods, --method NAME --help the parameters of one
    #[arg(long, value_name = "NAME", default_value = DEFAULT_METHOD, help_heading = "Method")]
    #[arg(value_parser = MethodName, hide_possible_values = true)]
    method: String,

    #[command(flatten)]
    params: ParamsOptions,

    /// Start harmonic methods from the shares of the classes that another classifier gives each row
    ///
    /// FILE is .csv, .parquet or .npy with a row for each row of the data and a column for each class, named by it or in the
    /// order of the sorted classes; rows sum to 1. The shares of a labeled row must come from a classifier that did not see its
    /// label.
    #[arg(long, value_name = "FILE", help_heading = "Harmonic propagation", hide_short_help = true)]
    prior: Option<Prior>,

    /// Fit about N rows, and label all by the model [default: all rows]
    ///
    /// The labeled rows, rows near them and others drawn at random are fitted. All rows are read in blocks, so that there may be any number.
    /// Without it, all rows are fitted if memory holds them. Low-rank methods sum over these rows instead of all.
    #[arg(long, value_name = "N", value_parser = count, help_heading = "Method")]
    fit_rows: Option<usize>,

    #[command(flatten)]
    stream: StreamOptions,

    #[command(flatten)]
    outputs: OutputOptions,

    #[command(flatten)]
    run: RunOptions,
}

/// What lets rows be read in blocks.
const IN_BLOCKS: &str =
    "give .npy, .parquet or .csv, without --standardize on, --tfidf, --sets, --save-graph and --report";

/// What is planned of a method that fits so many rows.
fn planned<'m>(method: &'m dyn Method, fit_rows: Option<usize>) -> Planned<'m> {
    let (reads_rows, reads_streams) = (method.reads_rows() || fit_rows.is_some(), method.reads_streams());
    let plan = Box::new(move |size: &ProblemSize| plan_rows(method, size, fit_rows.unwrap_or(usize::MAX)));
    Planned { plan, reads_rows, reads_streams, needs_labels: true }
}

/// Options of graphs that are read as a stream.
#[derive(Args)]
#[command(next_help_heading = "Sparsifier")]
struct StreamOptions {
    /// sparse-harmonic with --graph, low-rank, and fits to a sample of rows: save the state in this file while reading, and labels in
    /// FILE.labels; resume from them if they exist; removed at the end
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    checkpoint: Option<PathBuf>,
}

impl Label {
    pub fn run(&self, settings: &Settings, ranks: &Ranks) -> Result<Outcome, Failure> {
        self.check()?;
        check_prior(self.prior.as_ref(), settings, &*settings.method()?)?;
        if self.data.table.id.column.is_some() {
            ranks.refuse_many("--id", "leave it out: rows then have numbers")?;
        }
        let mut settings = settings.clone();
        let id = self.data.table.id.column.as_deref();
        if self.labels.labels.as_deref().is_some_and(|path| holds_suggestions(path, id)) {
            settings = settings.for_suggested();
        }
        if self.outputs.sets.is_some() {
            settings = settings.for_sets();
        }
        // Before the name of the checkpoint is among them.
        let described = format!("{} {:?}", self.method, settings.params);
        settings.params.sparse.checkpoint.clone_from(&self.stream.checkpoint);
        if self.fit_rows.is_none() {
            settings.params.low_rank.checkpoint.clone_from(&self.stream.checkpoint);
        }
        let method = settings.method()?;
        let session = Session::across(&self.run, ranks)?;
        if let Some(path) = self.data.data.as_deref().filter(|_| !self.outputs.plan)
            && self.data.check_method(&*method).map(|()| true)?
            && let Some(fit_rows) = self.fitted_rows(path, &*method, &session, ranks)?
        {
            self.files().check()?;
            let (checkpoint, sizes) = (self.stream.checkpoint.as_deref(), settings.sizes());
            let (data, labels, outputs, method) = (&self.data, &self.labels, &self.outputs, &*method);
            let rows = LabelRows { method, described, path, data, labels, outputs, checkpoint, sizes, fit_rows };
            return rows.run(&session);
        }
        self.run_held(&settings, &*method, &session, ranks)
    }

    /// Rows that are fitted, if rows are read in blocks: as many as asked for; else all by a method that sums over rows, and by others as
    /// many as memory holds if it does not hold all.
    fn fitted_rows(
        &self,
        path: &Path,
        method: &dyn Method,
        session: &Session,
        ranks: &Ranks,
    ) -> Result<Option<usize>, Failure> {
        match self.fit_rows {
            None if method.reads_rows() => Ok(self.reads_rows(path, ranks)?.then_some(usize::MAX)),
            None if ranks.communicator.size() == 1
                && self.data.graph.is_none()
                && self.prior.is_none()
                && self.can_read_rows(path) =>
            {
                rows_that_fit(session, &self.data, &self.labels, method, path)
            }
            None => Ok(None),
            Some(0) => Err(Failure::usage("--fit-rows is 0; expected an integer of at least 1")),
            Some(_) if self.data.graph.is_some() => Err(Failure::usage(
                "--fit-rows samples rows of features, and a graph says how all rows are joined; leave one of them out",
            )),
            Some(rows) => match self.reads_rows(path, ranks)? {
                true => Ok(Some(rows)),
                false => Err(Failure::usage(format!("--fit-rows needs rows that are read in blocks: {IN_BLOCKS}"))),
            },
        }
    }

    /// Whether rows are read in blocks. Refuses several processes if not.
    fn reads_rows(&self, path: &Path, ranks: &Ranks) -> Result<bool, Failure> {
        let in_blocks = self.can_read_rows(path);
        if !in_blocks {
            ranks.refuse_many("this", IN_BLOCKS)?;
            if self.stream.checkpoint.is_some() {
                return Err(Failure::usage(format!("--checkpoint needs rows that are read in blocks: {IN_BLOCKS}")));
            }
        }
        Ok(in_blocks)
    }

    /// Whether neither the file nor an output needs rows that are held.
    fn can_read_rows(&self, path: &Path) -> bool {
        let is_held = self.outputs.sets.is_some() || self.outputs.save_graph.path.is_some();
        are_rows(path) && !self.data.table.must_hold() && self.outputs.report.path.is_none() && !is_held
    }

    /// Labels rows or a graph held in memory.
    fn run_held(
        &self,
        settings: &Settings,
        method: &dyn Method,
        session: &Session,
        ranks: &Ranks,
    ) -> Result<Outcome, Failure> {
        let instead = "with --fit-rows N rank 0 fits N rows, and all ranks label; low-rank methods sum over the rows of all ranks";
        ranks.refuse_many(&format!("--method {}", self.method), instead)?;
        self.data.check_method(method)?;
        if !method.reads_rows() {
            self.check_stream(method, settings)?;
        }
        if self.outputs.plan {
            let may_stream = self.outputs.report.path.is_none();
            return print_plan(session, &self.data, &self.labels, &planned(method, self.fit_rows), may_stream);
        }
        self.files().check()?;

        let mut before = Report::default();
        let streams = method.reads_streams();
        let (mut input, labels, targets, prior) = session.read(&mut before, || self.read(streams, &session.run))?;
        input.prepared.describe(&mut before);
        let prepared = std::mem::take(&mut input.prepared);
        before.warnings.append(&mut input.warnings);
        if self.outputs.sets.is_some()
            && let Some(name) = labels.classes.names().iter().find(|name| !fits_a_set(name))
        {
            return Err(Failure::usage(format!(
                "--sets: a set is written with | between its classes, and the class {name:?} has one in its name; rename it"
            )));
        }
        let problem = Problem { prior: prior.as_ref(), ..input.problem(&targets) };
        let planned = method.plan(&problem.size(&session.run)).peak_bytes;
        if let Some(free) = available_memory_bytes().filter(|free| planned > *free && input.edges.is_none()) {
            let (planned, free) = (bytes(planned), bytes(free));
            let instead = if method.reads_rows() { "" } else { "; --fit-rows N holds about N rows" };
            session.note(&format!("needs up to {planned} of memory, and {free} are free{instead} (see --plan)"));
        }
        let fitted = method.fit(&problem, &session.run)?;
        let mut result = Finished::new(session, &input, &labels, fitted, before, self.outputs.unreached);
        let reasons = self.labels.labels.as_deref().map(|path| Reasons::of(path, input.names.as_deref()));
        result.note_suggested(reasons.as_ref());
        if let Some(level) = self.outputs.sets {
            result.find_sets(level, reasons.as_ref())?;
        }
        self.write(&mut result, &labels, prepared, settings.params.harmonic.tol)?;
        result.print("label", self.outputs.to_stdout())?;
        Ok(result.outcome(self.outputs.strict))
    }

    /// Writes all files of a fit, or none.
    fn write(&self, result: &mut Finished, labels: &Labels, prepared: Prepared, tol: f64) -> Result<(), Failure> {
        let outputs = &self.outputs;
        let stage_labels = |result: &mut Finished| match &outputs.output {
            Some(path) => {
                let kept = outputs.kept(&self.data, &self.labels, || SparseLabels::from(labels).rows)?;
                result.stage_labels(path, self.data.data.as_deref(), outputs.probabilities, kept)
            }
            None => Ok(()),
        };
        // Output to standard output comes last, because it cannot be undone.
        if !outputs.to_stdout() {
            stage_labels(result)?;
        }
        if let Some(path) = &outputs.model {
            result.stage_model(path, prepared)?;
        }
        result.stage_graph(&outputs.save_graph)?;
        if let Some(path) = &outputs.report.path {
            result.stage_report(path, &self.data.title(), tol)?;
        }
        let printed = if outputs.to_stdout() { stage_labels(result) } else { Ok(()) };
        publish_after(printed, || result.publish())?;
        self.stream.checkpoint.as_deref().map_or(Ok(()), |path| Ok(Checkpoint::remove(path)?))
    }

    fn read(&self, streams: bool, run: &Run) -> Result<(Input, Labels, Targets, Option<Matrix>), Failure> {
        let tfidf = self.data.table.term_weights(self.method == "auto");
        let mut input = Input::read(&self.data, streams, Some(&self.labels), tfidf, run)?;
        let labels = input.labels(&self.labels)?;
        input.warnings.extend(check_classes(&SparseLabels::from(&labels), self.outputs.model.is_some())?);
        let targets = Targets::one_hot(&labels, None)?;
        let shares = |prior: &Prior| prior.shares(&labels.classes, &input, &targets, run);
        let prior = self.prior.as_ref().map(shares).transpose()?;
        Ok((input, labels, targets, prior))
    }

    /// Refuses options that do not go together, before anything is read.
    fn check(&self) -> Result<(), Failure> {
        self.data.check_labels(&self.labels)?;
        if self.outputs.model.is_some() && self.data.data.is_none() {
            return Err(Failure::usage("--model needs features: a graph alone cannot label new rows"));
        }
        let is_beside = self.outputs.fill || self.outputs.beside.keep.is_some();
        if is_beside && !self.data.data.as_deref().is_some_and(is_rereadable_table) {
            return Err(Failure::usage(
                "--keep and --fill need DATA in a table that can be read twice: a file, not a pipe",
            ));
        }
        let printed = self.outputs.output.as_deref().filter(|_| !self.outputs.plan);
        check_stdout("labels", printed, self.run.json)
    }

    /// Refuses options of streams for other methods and inputs, and options that a stream of edges cannot have.
    fn check_stream(&self, method: &dyn Method, settings: &Settings) -> Result<(), Failure> {
        let checkpoint = &self.stream.checkpoint;
        if checkpoint.is_some() && !method.reads_streams() {
            return Err(Failure::usage(
                "--checkpoint needs --method sparse-harmonic and --graph, low-rank, or --fit-rows",
            ));
        }
        let Some(edges) = &self.data.graph else {
            return match checkpoint {
                Some(_) => Err(Failure::usage("--checkpoint needs --graph, a low-rank method, or --fit-rows")),
                None => Ok(()),
            };
        };
        if settings.params.sparse.refinements.is_some_and(|passes| passes > 0) && is_once(edges) {
            return Err(Failure::usage(
                "--refinements needs edges that can be read again, not a pipe or standard input",
            ));
        }
        match checkpoint {
            Some(_) => check_checkpoint(edges),
            None => Ok(()),
        }
    }

    /// The files that are read and written.
    fn files(&self) -> Files<'_> {
        let files = self.params.files(self.labels.files(self.data.files(Files::default())));
        let files = match &self.prior {
            Some(prior) => prior.files(files),
            None => files,
        };
        self.outputs.files(files, self.data.data.as_deref()).write(
            "--checkpoint",
            self.stream.checkpoint.as_deref(),
            ANY_ENDING,
        )
    }
}
