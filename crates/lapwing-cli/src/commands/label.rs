//! `lapwing label`: a label, with a confidence, for every row.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use lapwing::data::read::TableFile;
use lapwing::data::write::KeptColumns;
use lapwing::data::{Labels, Matrix, Report, Run, SparseLabels, Targets, UNLABELED};
use lapwing::graph::sparsify::Checkpoint;
use lapwing::models::{LowRank, Method, Problem, Settings, SizeParams, method_names};
use lapwing_core::available_memory_bytes;
use lapwing_core::params::{Parameters, Value};
use lapwing_table::read::is_rereadable_table;
use lapwing_table::write::{COLUMN_ENDINGS, LABEL_ENDINGS};

use super::finished::Finished;
use super::label_rows::LabelRows;
use super::plan::{Planned, print_plan};
use crate::Outcome;
use crate::failure::Failure;
use crate::files::{ANY_ENDING, Files, REPORT_ENDINGS};
use crate::input::{Input, check_checkpoint, check_classes, check_label_source, is_once, read_options};
use crate::options::{
    BesideOptions, DEFAULT_METHOD, DataOptions, LabelOptions, ParamsOptions, RunOptions, SaveGraphOption,
};
use crate::output::{Unreached, check_set_names, is_stdout, two_on_stdout};
use crate::prior::{Prior, check_prior};
use crate::ranks::Ranks;
use crate::row_lists::{Reasons, holds_suggestions};
use crate::rows::are_rows;
use crate::session::Session;
use crate::text::bytes;

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
    #[arg(long, default_value = DEFAULT_METHOD, value_parser = PossibleValuesParser::new(method_names()), help_heading = "Method")]
    #[arg(value_name = "NAME", hide_possible_values = true)]
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

    #[command(flatten)]
    stream: StreamOptions,

    #[command(flatten)]
    outputs: OutputOptions,

    #[command(flatten)]
    run: RunOptions,
}

/// Options of graphs that are read as a stream.
#[derive(Args)]
#[command(next_help_heading = "Sparsifier")]
struct StreamOptions {
    /// sparse-harmonic with --graph, and low-rank: save the state in this file while reading, and resume from it if it exists;
    /// removed at the end
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    checkpoint: Option<PathBuf>,
}

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct OutputOptions {
    /// Where the labels go: .csv, .parquet or .npy; - writes CSV to standard output
    #[arg(short, long, value_name = "OUT", required_unless_present = "plan")]
    pub output: Option<PathBuf>,

    /// Add a column per class with its share
    #[arg(long)]
    pub probabilities: bool,

    #[command(flatten)]
    pub beside: BesideOptions,

    /// Add a set of classes to each row; this share of them hold the right one
    ///
    /// Between 0 and 1. Classes are separated by |. A level of 0.9 needs 9 labels, 0.95 needs 19. If the labels are a filled-in output of
    /// `lapwing suggest`, only rows that were drawn at random (--check) count, if they are enough.
    #[arg(long, value_name = "LEVEL", conflicts_with = "fill", value_parser = level)]
    pub sets: Option<f64>,

    #[command(flatten)]
    pub save_graph: SaveGraphOption,

    /// Fill the gaps of the label column, beside all columns
    ///
    /// Given labels stay as they are, and there is no column of labels of its own.
    #[arg(long, requires = "label_column", hide_short_help = true)]
    pub fill: bool,

    /// Label of rows that no given label reaches: none, or the most frequent class of the prior
    #[arg(long, value_enum, default_value = "empty", hide_possible_values = true, value_name = "empty|prior")]
    #[arg(hide_short_help = true)]
    pub unreached: Unreached,

    /// Write an HTML report: one file that loads nothing else
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,

    /// Save a model that labels new rows, for `lapwing predict`
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,

    /// Exit with code 1 if the solver did not converge, no label reaches some rows, or labels are undecided
    #[arg(long, hide_short_help = true)]
    pub strict: bool,

    /// Print the memory and the passes over the input that a fit needs
    ///
    /// Also the number of rows and edges. Nothing is fitted or written.
    #[arg(long)]
    plan: bool,
}

impl Label {
    pub fn run(&self, settings: &Settings, ranks: &Ranks) -> Result<Outcome, Failure> {
        self.check()?;
        check_prior(self.prior.as_ref(), settings, &*settings.method()?)?;
        if self.data.table.id.column.is_some() {
            ranks.refuse_many("--id", "leave it out: rows then have numbers")?;
        }
        let mut settings = settings.clone();
        let drawn = settings.get("labels_drawn").filter(|drawn| *drawn == Value::Word("auto".into()));
        if let (Some(_), Some(path)) = (drawn, &self.labels.labels)
            && holds_suggestions(path, self.data.table.id.column.as_deref())
        {
            // The shares of suggested labels say nothing about the sizes of classes.
            settings.set("labels_drawn", &Value::Word("balanced".into()))?;
        }
        if self.outputs.sets.is_some() && settings.get("calibration") == Some(Value::Word("auto".into())) {
            // Sets use every label, whatever the number of rows.
            settings.set("calibration", &Value::Word("leave-one-out".into()))?;
        }
        settings.params.sparse.checkpoint.clone_from(&self.stream.checkpoint);
        settings.params.low_rank.checkpoint.clone_from(&self.stream.checkpoint);
        let low_rank = settings.low_rank()?;
        if let (Some(method), Some(path)) = (&low_rank, &self.data.data)
            && !self.outputs.plan
            && self.data.check_method(method).map(|()| true)?
            && self.reads_rows(path, ranks)?
        {
            return self.run_rows(method, path, settings.sizes(), &Session::across(&self.run, ranks)?);
        }
        self.run_held(&settings, low_rank.is_some(), ranks)
    }

    /// Whether rows are read in blocks. Refuses several processes if not.
    fn reads_rows(&self, path: &Path, ranks: &Ranks) -> Result<bool, Failure> {
        let is_held = self.outputs.sets.is_some() || self.outputs.save_graph.path.is_some();
        let in_blocks = are_rows(path) && !self.data.table.must_hold() && self.outputs.report.is_none() && !is_held;
        if !in_blocks {
            let instead =
                "give .npy, .parquet or .csv, without --standardize on, --tfidf, --sets, --save-graph and --report";
            ranks.refuse_many("this", instead)?;
            if self.stream.checkpoint.is_some() {
                return Err(Failure::usage(format!("--checkpoint needs rows that are read in blocks: {instead}")));
            }
        }
        Ok(in_blocks)
    }

    /// Labels rows that are read in blocks.
    fn run_rows(
        &self,
        method: &LowRank,
        path: &Path,
        sizes: Option<SizeParams>,
        session: &Session,
    ) -> Result<Outcome, Failure> {
        self.files().check()?;
        let checkpoint = self.stream.checkpoint.as_deref();
        let (data, labels, outputs) = (&self.data, &self.labels, &self.outputs);
        LabelRows { method, path, data, labels, outputs, checkpoint, sizes }.run(session)
    }

    /// Labels rows or a graph held in memory.
    fn run_held(&self, settings: &Settings, is_low_rank: bool, ranks: &Ranks) -> Result<Outcome, Failure> {
        ranks.refuse_many(&format!("--method {}", self.method), "low-rank methods run across ranks")?;
        let method = settings.method()?;
        self.data.check_method(&*method)?;
        if !is_low_rank {
            self.check_stream(&*method, settings)?;
        }
        let session = Session::across(&self.run, ranks)?;
        if self.outputs.plan {
            let may_stream = self.outputs.report.is_none();
            let planned = Planned {
                plan: &|size| method.plan(size),
                reads_rows: method.reads_rows(),
                reads_streams: method.reads_streams(),
                needs_labels: true,
            };
            return print_plan(&session, &self.data, &self.labels, &planned, may_stream);
        }
        self.files().check()?;

        let mut before = Report::default();
        let streams = method.reads_streams();
        let (mut input, labels, targets, prior) = session.read(&mut before, || self.read(streams, &session.run))?;
        input.prepared.describe(&mut before);
        let prepared = std::mem::take(&mut input.prepared);
        before.warnings.append(&mut input.warnings);
        if self.outputs.sets.is_some() {
            check_set_names(&labels.classes)?;
        }
        let problem = Problem { prior: prior.as_ref(), ..input.problem(&targets) };
        let planned = method.plan(&problem.size(&session.run)).peak_bytes;
        if let Some(free) = available_memory_bytes().filter(|free| planned > *free && input.edges.is_none()) {
            let (planned, free) = (bytes(planned), bytes(free));
            let instead = if is_low_rank { "" } else { "; --method low-rank reads rows in blocks and needs far less" };
            session.note(&format!("needs up to {planned} of memory, and {free} are free{instead} (see --plan)"));
        }
        let fitted = method.fit(&problem, &session.run)?;
        let mut result = Finished::new(&session, &input, &labels, fitted, before, self.outputs.unreached);
        let reasons = self.labels.labels.as_deref().map(|path| Reasons::of(path, input.names.as_deref()));
        result.note_suggested(reasons.as_ref());
        if let Some(level) = self.outputs.sets {
            result.find_sets(level, reasons.as_ref())?;
        }
        let (first, last) = self.outputs.labels_first_or_last();
        if let Some(path) = first {
            result.stage_labels(path, self.outputs.probabilities, self.kept(&labels)?)?;
        }
        if let Some(path) = &self.outputs.model {
            result.stage_model(path, prepared)?;
        }
        result.stage_graph(&self.outputs.save_graph)?;
        if let Some(path) = &self.outputs.report {
            result.stage_report(path, &self.data.title(), settings.params.harmonic.tol)?;
        }
        let probabilities = self.outputs.probabilities;
        let mut stage = |path| self.kept(&labels).and_then(|kept| result.stage_labels(path, probabilities, kept));
        let printed = last.map_or(Ok(()), &mut stage);
        publish_after(printed, || result.publish())?;
        if let Some(path) = &self.stream.checkpoint {
            Checkpoint::remove(path)?;
        }
        result.print("label", self.writes_to_stdout())?;
        Ok(result.outcome(self.outputs.strict))
    }

    /// The columns of the input that are written beside the labels.
    fn kept(&self, labels: &Labels) -> Result<Option<KeptColumns>, Failure> {
        let labeled = (0..=u32::MAX).zip(&labels.index).filter(|(_, class)| **class != UNLABELED);
        self.outputs.kept(&self.data, &self.labels, || labeled.map(|(row, _)| row).collect())
    }

    fn read(&self, streams: bool, run: &Run) -> Result<(Input, Labels, Targets, Option<Matrix>), Failure> {
        let mut input = Input::read(
            &self.data,
            streams,
            Some(&self.labels),
            self.data.table.term_weights(self.method == "auto"),
            run,
        )?;
        let labels = input.labels(&self.labels)?;
        input.warnings.extend(check_classes(&SparseLabels::from(&labels), self.outputs.model.is_some())?);
        let targets = Targets::one_hot(&labels, None)?;
        let shares = |prior: &Prior| prior.shares(&labels.classes, &input, &targets, run);
        let prior = self.prior.as_ref().map(shares).transpose()?;
        Ok((input, labels, targets, prior))
    }

    /// Refuses options that do not go together, before anything is read.
    fn check(&self) -> Result<(), Failure> {
        check_label_source(&self.data, &self.labels)?;
        if self.outputs.model.is_some() && self.data.data.is_none() {
            return Err(Failure::usage("--model needs features: a graph alone cannot label new rows"));
        }
        let is_beside = self.outputs.fill || self.outputs.beside.keep.is_some();
        if is_beside && !self.data.data.as_deref().is_some_and(is_rereadable_table) {
            return Err(Failure::usage(
                "--keep and --fill need DATA in a table that can be read twice: a file, not a pipe",
            ));
        }
        if self.writes_to_stdout() && self.run.json {
            return Err(two_on_stdout("labels"));
        }
        Ok(())
    }

    /// Refuses options of streams for other methods and inputs, and options that a stream of edges cannot have.
    fn check_stream(&self, method: &dyn Method, settings: &Settings) -> Result<(), Failure> {
        let checkpoint = &self.stream.checkpoint;
        if checkpoint.is_some() && !method.reads_streams() {
            return Err(Failure::usage("--checkpoint needs --method sparse-harmonic and --graph, or low-rank"));
        }
        let Some(edges) = &self.data.graph else {
            return match checkpoint {
                Some(_) => Err(Failure::usage("--checkpoint needs --graph, or a low-rank method")),
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
        self.outputs.files(files).write("--checkpoint", self.stream.checkpoint.as_deref(), ANY_ENDING)
    }

    fn writes_to_stdout(&self) -> bool {
        !self.outputs.plan && self.outputs.output.as_deref().is_some_and(is_stdout)
    }
}

/// A level between 0 and 1.
fn level(text: &str) -> Result<f64, String> {
    let expected = || "expected a share between 0 and 1, such as 0.9".to_owned();
    text.parse().ok().filter(|level| *level > 0.0 && *level < 1.0).ok_or_else(expected)
}

impl OutputOptions {
    /// The columns of the input that are written beside the labels; `given` are the rows that have one.
    pub fn kept(
        &self,
        data: &DataOptions,
        labels: &LabelOptions,
        given: impl FnOnce() -> Vec<u32>,
    ) -> Result<Option<KeptColumns>, Failure> {
        let Some(path) = data.data.as_deref().filter(|_| self.fill || self.beside.keep.is_some()) else {
            return Ok(None);
        };
        let table = TableFile::open(path, &read_options(&data.table, None))?;
        let fill = labels.label_column.as_deref().filter(|_| self.fill);
        let given = if self.fill { given() } else { Vec::new() };
        Ok(Some(KeptColumns::open(table, self.beside.names_behind(data.table.id.column.as_deref()), fill, given)?))
    }

    /// Adds the files that are written.
    fn files<'p>(&'p self, files: Files<'p>) -> Files<'p> {
        let endings: &[&str] = if self.sets.is_some() { &COLUMN_ENDINGS } else { &LABEL_ENDINGS };
        let files = self.save_graph.files(files.write("--output", self.output.as_deref(), endings));
        let files = files.write("--model", self.model.as_deref(), ANY_ENDING);
        files.write("--report", self.report.as_deref(), REPORT_ENDINGS)
    }

    /// The path of the labels, as the first or the last output. Output to standard output comes last, because it cannot be
    /// undone.
    fn labels_first_or_last(&self) -> (Option<&Path>, Option<&Path>) {
        match self.output.as_deref() {
            Some(path) if is_stdout(path) => (None, Some(path)),
            path => (path, None),
        }
    }
}

/// Publishes the files of a run after it printed, even if the reader of standard output has closed it.
pub fn publish_after(
    printed: Result<(), Failure>,
    publish: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    if let Ok(()) | Err(Failure::ClosedPipe) = printed {
        publish()?;
    }
    printed
}
