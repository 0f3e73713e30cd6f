//! `lapwing predict`: labels for new rows from a saved model.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use lapwing::data::prepare::Recipe;
use lapwing::data::read::{NodeOptions, TableFile, read_named_graph, read_names, read_samples};
use lapwing::data::write::KeptColumns;
use lapwing::data::{Csr, Error, Features, Report, RowNames, Warning};
use lapwing::graph::Graph;
use lapwing::label_table::{LabelTable, LabeledTable, write_predictions};
use lapwing::models::Model;
use lapwing_core::peak_memory_bytes;
use lapwing_core::publish::Staged;
use lapwing_report::Parts;
use lapwing_report::summary::{self, row};
use lapwing_table::read::{column_names, is_rereadable_table, is_table, join_columns};
use lapwing_table::write::LABEL_ENDINGS;
use serde_json::json;

use crate::failure::Failure;
use crate::files::Files;
use crate::input::{RowStream, are_rows, names_of, numbered};
use crate::options::{
    BesideOptions, IdOption, IgnoreOption, Names, RunOptions, TableOptions, TextOptions, Unreached, read_options,
};
use crate::outcome::Outcome;
use crate::ranks::Ranks;
use crate::session::Session;
use crate::text::count;
use crate::written::{Written, check_stdout, is_stdout};

const EXAMPLES: &str = "\
Examples:
  lapwing label train.csv --label-column y -o train-labels.csv --model y.lapwing
  lapwing predict y.lapwing new.csv -o new-labels.csv
      label the rows of new.csv, whose columns are found by their names
  lapwing predict topics.lapwing all.npz --graph all-citations.csv -o topics.csv
      label the nodes of another graph, with a model of unfolded-gnn";

/// Label new rows with a saved model
///
/// Columns are found by their names if the model has names; otherwise they are taken in order. A row gets the weighted mean of
/// the scores of its nearest fitted rows, or for models of functions (kernel machines, eigenfunctions, low rank) the value of
/// the function. Rows are read and labeled in blocks, so that there may be any number of them; sparse rows, pipes and the nodes of a
/// graph are held.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Predict {
    /// Model that `lapwing label --model` saved
    model: PathBuf,

    /// New rows, in any format that `lapwing label` reads; - reads CSV from standard input
    data: PathBuf,

    /// A graph of the new rows, as `lapwing label --graph` reads it; for models of unfolded-gnn
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    graph: Option<PathBuf>,

    /// Feature columns, separated by commas [default: those of the model, else all]
    #[arg(long, value_name = "A,B,…", help_heading = "Input")]
    columns: Option<Vec<Names>>,

    /// Columns that are no features, separated by commas
    #[arg(long, value_name = "A,B,…", help_heading = "Input")]
    drop: Vec<Names>,

    #[command(flatten)]
    text: TextOptions,

    #[command(flatten)]
    id: IdOption,

    #[command(flatten)]
    ignore: IgnoreOption,

    /// Where the labels go: .csv, .parquet or .npy; - writes CSV to standard output; a folder, for a folder of .parquet
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    output: PathBuf,

    #[command(flatten)]
    beside: BesideOptions,

    /// Add a column per class with its share
    #[arg(long, help_heading = "Output")]
    probabilities: bool,

    /// Label of rows whose neighbors no given label reaches: none, or the most frequent class of the prior
    #[arg(long, value_enum, default_value = "empty", value_name = "empty|prior", help_heading = "Output")]
    #[arg(hide_possible_values = true)]
    unreached: Unreached,

    /// Exit with code 1 if no label reaches some rows, or labels are undecided
    #[arg(long, help_heading = "Output")]
    strict: bool,

    #[command(flatten)]
    run: RunOptions,
}

impl Predict {
    pub fn run(&self, ranks: &Ranks) -> Result<Outcome, Failure> {
        check_stdout("labels", Some(&self.output), self.run.json)?;
        self.id.check()?;
        let session = Session::across(&self.run, ranks)?;
        let files = Files::default().read("MODEL", Some(&self.model)).read("DATA", Some(&self.data));
        let files = files.read("--graph", self.graph.as_deref());
        files.write_labels("--output", Some(&self.output), Some(&self.data), &LABEL_ENDINGS).check()?;
        let mut report = Report::default();
        let load = |_: &mut Report| Model::load(&self.model);
        let model = session.unless_interrupted(|| report.time("read model", &session.run, load));
        let model = session.agree(model.map_err(Failure::from))?;
        let recipe = self.recipe(&model)?;
        // Sparse rows, such as texts as counts of many terms, are held.
        let in_blocks = recipe.map_or(are_rows(&self.data), |recipe| !recipe.is_sparse);
        if in_blocks && self.graph.is_none() {
            return self.run_rows(&model, recipe, report, &session);
        }
        ranks.refuse_many(
            "predict of rows that are held",
            "rows of .npy, .parquet and other files that are read in blocks are divided",
        )?;
        let read = session.read(&mut report, || self.read(&model, recipe, &session));
        let New { features, names, graph, warnings } = read?;
        report.warnings.extend(warnings);
        let labeling = report.time("predict", &session.run, |_| match &graph {
            Some(graph) => model.predict_on(&features, graph, &session.run),
            None => model.predict(&features, &session.run),
        })?;
        if model.classifier.extension.misses_graph() && graph.is_none() {
            report.warnings.push(Warning::NoGraph {});
        }
        let n_unreached = labeling.reached.iter().filter(|&&reached| !reached).count();
        describe(&mut report, &model, (features.n_rows(), features.n_cols()), n_unreached);
        if let Some(n_open) = labeling.n_undecided() {
            report.add_part("certificate", &json!({"n_open": n_open}))?;
        }

        session.run.check()?;
        let labels = self.unreached.labels(&labeling);
        let table = self.label_table(&model, names.as_ref())?;
        let staged = report.time("write", &session.run, |_| table.stage(&labels, &labeling, &session.run))?;
        self.finish(&session, report, staged, names.as_ref())
    }

    /// Labels rows in blocks: memory does not grow with their number.
    fn run_rows(
        &self,
        model: &Model<'_>,
        recipe: Option<&Recipe>,
        mut report: Report,
        session: &Session,
    ) -> Result<Outcome, Failure> {
        let run = &session.run;
        let open = || -> Result<_, Failure> {
            let table = self.table(model)?;
            let columns = self.columns.as_deref().map(Names::all);
            let rows = RowStream::to_label(&self.data, &table, recipe, columns.as_deref(), run)?;
            Ok((names_of(&self.data, &table, run)?, rows))
        };
        let opened = session.read(&mut report, open);
        let (names, rows) = session.agree(opened)?;
        let n = rows.source().n_rows();
        let (communicator, classifier) = (session.communicator, &model.classifier);
        let begin = || self.label_table(model, names.as_ref());
        let table = session.agree(communicator.is_root().then(begin).transpose())?;
        let wanted = (self.probabilities, self.unreached == Unreached::Prior);
        let label = |_: &mut Report| write_predictions(classifier, rows.source(), wanted, table, communicator, run);
        let labeled = report.time_steps("predict", n as u64, run, label);
        let LabeledTable { files, n_unreached, n_open } =
            labeled.map_err(|error| needed(rows.explained(error, run)))?;
        describe(&mut report, model, (n, rows.source().n_cols()), n_unreached);
        report.warnings.extend(rows.warnings(run).map_err(|error| match error {
            Failure::Library(error) => needed(error),
            other => other,
        })?);
        if let Some(n_open) = n_open {
            report.add_part("certificate", &json!({"n_open": n_open}))?;
        }
        if model.classifier.extension.misses_graph() {
            report.warnings.push(Warning::NoGraph {});
        }
        self.finish(session, report, files, names.as_ref())
    }

    /// The table of labels, with the columns of the new rows that are kept.
    fn label_table<'t>(
        &'t self,
        model: &'t Model<'_>,
        names: Option<&'t Arc<RowNames>>,
    ) -> Result<LabelTable<'t>, Failure> {
        let (path, classes, probabilities) = (self.output.as_path(), &model.classifier.classes, self.probabilities);
        let data = Some(self.data.as_path());
        if self.beside.keep.is_none() {
            return Ok(LabelTable { path, classes, probabilities, names, kept: None, data });
        }
        if !is_rereadable_table(&self.data) {
            return Err(Failure::usage("--keep needs DATA in a table that can be read twice: a file, not a pipe"));
        }
        let table = TableFile::open(&self.data, &self.text.read_options())?;
        let columns = self.beside.names_behind(names.map(|names| names.column()));
        let kept = Some(KeptColumns::open(table, columns, None, Vec::new())?);
        Ok(LabelTable { path, classes, probabilities, names, kept, data })
    }

    /// The recipe that makes features of the columns of a table, if the model has one and the new rows are a table.
    fn recipe<'m>(&self, model: &'m Model<'_>) -> Result<Option<&'m Recipe>, Failure> {
        match &model.recipe {
            Some(recipe) if is_table(&self.data) => Ok(Some(recipe)),
            Some(recipe) if !recipe.is_plain() => Err(Failure::usage(format!(
                "{}: the model was fitted on a table; give a table (.csv, .parquet, …) with the columns {}",
                self.data.display(),
                join_columns(&recipe.used())
            ))),
            _ => Ok(None),
        }
    }

    /// The columns to read: by default those that the model names.
    fn table(&self, model: &Model<'_>) -> Result<TableOptions, Failure> {
        let mut table = TableOptions {
            columns: self.columns.clone(),
            drop: self.drop.clone(),
            text: self.text.clone(),
            ..TableOptions::default()
        };
        table.id.column = self.id_column(model)?;
        if table.columns.is_none() && is_table(&self.data) {
            table.columns = model.feature_names.clone().map(|names| vec![Names(names)]);
        }
        Ok(table)
    }

    /// The column that names the rows: the given one, else that of the model if the table has it.
    fn id_column(&self, model: &Model<'_>) -> Result<Option<String>, Failure> {
        let known = model.id.as_ref().filter(|_| self.id.column.is_none());
        let Some(known) = known.filter(|id| !Names::all(self.columns.as_deref().unwrap_or_default()).contains(id))
        else {
            return Ok(self.id.column.clone());
        };
        let names = column_names(&self.data)?.unwrap_or_default();
        Ok(names.contains(known).then(|| known.clone()))
    }

    /// The rows, their names and their graph.
    fn read(&self, model: &Model<'_>, recipe: Option<&Recipe>, session: &Session) -> Result<New, Failure> {
        let (options, run) = (read_options(&self.table(model)?, None), &session.run);
        let (features, names, mut warnings) = match recipe {
            None => {
                let samples = read_samples(&self.data, &options, run).map_err(needed)?;
                samples.check(run).map_err(needed)?;
                (widen(samples.features, model.classifier.extension.n_features())?, samples.names, Vec::new())
            }
            Some(recipe) => {
                let table = TableFile::open(&self.data, &options)?;
                let columns = self.columns.as_deref().map(Names::all);
                let applied = recipe.apply(&table, columns.as_deref(), run).map_err(needed)?;
                applied.features.check(run).map_err(needed)?;
                let names = options.id.as_ref().map(|_| read_names(&self.data, &options, run)).transpose()?;
                (applied.features, names, applied.warnings)
            }
        };
        let (n_nodes, ignore_unknown) = (Some(features.n_rows()), self.ignore.unknown);
        let nodes = NodeOptions { n_nodes, names: names.as_ref(), ignore_unknown, ..NodeOptions::default() };
        let read = |path: &PathBuf| read_named_graph(path, &nodes, run);
        let graph = self.graph.as_ref().map(read).transpose()?.map(|given| {
            warnings.extend(given.warnings);
            Graph::new(given.adjacency)
        });
        Ok(New { features, graph: graph.transpose()?, names: names.map(Arc::new), warnings })
    }

    /// Publishes the labels and prints the summary.
    fn finish(
        &self,
        session: &Session,
        mut report: Report,
        staged: Vec<Staged>,
        names: Option<&Arc<RowNames>>,
    ) -> Result<Outcome, Failure> {
        let mut written = Written::default();
        written.add_labels(&self.output, staged);
        written.publish()?;
        report.warnings.extend(numbered(&self.output, names));
        report.peak_bytes = peak_memory_bytes();
        let parts = Parts::of(&report);
        let rows = || {
            let mut rows = vec![row("method", report.method.clone())];
            rows.extend(summary::of_shape(&report));
            rows.extend(report.n_classes.map(|n| row("classes", count(n))));
            rows.push(row("rows no label reaches", count(report.n_unreached)));
            rows.extend(summary::of_certificate(&report, &parts));
            rows.extend(summary::of_cost(&report.phases, report.peak_bytes));
            rows
        };
        let body = || (&report, json!({}));
        session.print_end("predict", &report.warnings, body, rows, (&written, is_stdout(&self.output)))?;
        Ok(Outcome::of(self.strict, report.n_unreached == 0 && parts.n_undecided() == 0))
    }
}

/// New rows, with their names and their graph if they have any.
struct New {
    features: Features<'static>,
    names: Option<Arc<RowNames>>,
    graph: Option<Graph>,
    warnings: Vec<Warning>,
}

/// Replaces the advice to drop bad columns: the model needs them.
fn needed(error: Error) -> Failure {
    match error {
        Error::Columns(bad) => Failure::usage(format!("{}; the model needs these columns", bad.facts())),
        error => error.into(),
    }
}

fn describe(report: &mut Report, model: &Model<'_>, (n_rows, n_cols): (usize, usize), n_unreached: usize) {
    report.method = model.classifier.method.clone();
    report.n_samples = n_rows;
    report.n_features = Some(n_cols);
    report.n_classes = Some(model.classifier.classes.len());
    report.n_unreached = n_unreached;
    if report.n_unreached > 0 {
        let prefix = if model.classifier.extension.neighbors().is_some() { "the neighbors of " } else { "" };
        report.warnings.push(Warning::UnreachedNew { prefix, n_rows: n_unreached, n_samples: n_rows });
    }
}

/// Sparse rows with the `n_cols` columns of a model: files of sparse rows do not name columns that no row uses.
fn widen(features: Features<'static>, n_cols: usize) -> Result<Features<'static>, Error> {
    match &features {
        Features::Sparse(rows) if rows.n_cols() < n_cols => {
            let (indptr, indices, values) = Csr::clone(rows).into_parts();
            Ok(Features::Sparse(Csr::new(rows.n_rows(), n_cols, indptr, indices, values)?.into()))
        }
        _ => Ok(features),
    }
}
