//! `lapwing predict`: labels for new rows from a saved model.

use std::path::PathBuf;

use clap::Args;
use lapwing::data::read::{names_columns, read_samples};
use lapwing::data::write::LABEL_ENDINGS;
use lapwing::data::{Features, Report, peak_memory_bytes};
use lapwing::models::{Labeling, Model};
use serde_json::json;

use crate::Outcome;
use crate::failure::Failure;
use crate::input::{read_options, widen};
use crate::options::{RunOptions, TableOptions};
use crate::output::{self, Unreached, Written, check_output, folded, is_stdout, two_on_stdout};
use crate::session::{Session, print};
use crate::summary::{self, row};
use crate::text::count;

const EXAMPLES: &str = "\
Examples:
  lapwing label train.csv --label-column y -o train-labels.csv --model y.lapwing
  lapwing predict y.lapwing new.csv -o new-labels.csv
      label the rows of new.csv, whose columns are found by their names";

/// Label new rows with a saved model
///
/// Columns are found by their names where the model has them; otherwise they are taken in order. Each row gets the
/// weighted mean of the scores of its nearest fitted rows; with a model of eigenfunctions, their values at the row.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Predict {
    /// Model that `lapwing label --model` saved
    model: PathBuf,

    /// New rows, in any format that `lapwing label` reads; - reads CSV from standard input
    data: PathBuf,

    /// Feature columns, separated by commas [default: those of the model, else all]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', help_heading = "Input")]
    columns: Option<Vec<String>>,

    /// Columns that are no features, separated by commas
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', help_heading = "Input")]
    drop: Vec<String>,

    /// Where the labels go: .csv, .parquet or .npy; - writes CSV to standard output
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    output: PathBuf,

    /// Add a column per class with its share
    #[arg(long, help_heading = "Output")]
    probabilities: bool,

    /// What rows get whose neighbours no label reaches: no label, or the most frequent class of the prior
    #[arg(long, value_enum, default_value = "empty", value_name = "empty|prior", help_heading = "Output")]
    #[arg(hide_possible_values = true)]
    unreached: Unreached,

    /// Exit with code 1 if rows are not reached by any label
    #[arg(long, help_heading = "Output")]
    strict: bool,

    #[command(flatten)]
    run: RunOptions,
}

impl Predict {
    pub fn run(&self) -> Result<Outcome, Failure> {
        if is_stdout(&self.output) && self.run.json {
            return Err(two_on_stdout("labels"));
        }
        let session = Session::start(&self.run)?;
        check_output("output", Some(&self.output), &LABEL_ENDINGS)?;
        let mut report = Report::default();
        let (model, features) = session.read(&mut report, || self.read(&session))?;
        let labeling = report.time("predict", &session.run, |_| model.predict(&features, &session.run))?;
        describe(&mut report, &model, &features, &labeling);

        session.run.check()?;
        let labels = folded(&labeling, self.unreached);
        let mut written = Written::default();
        report.time("write", &session.run, |_| {
            output::write(&self.output, &model.classes, &labels, &labeling, self.probabilities)
        })?;
        if !is_stdout(&self.output) {
            written.add("labels", &self.output);
        }
        report.peak_bytes = peak_memory_bytes();
        self.print(&session, &report, &written)?;
        Ok(if self.strict && report.n_unreached > 0 { Outcome::Look } else { Outcome::Done })
    }

    fn read(&self, session: &Session) -> Result<(Model<'static>, Features<'static>), Failure> {
        let model = Model::load(&self.model)?;
        let mut table = TableOptions { columns: self.columns.clone(), drop: self.drop.clone(), standardize: false };
        if table.columns.is_none() && names_columns(&self.data) {
            table.columns = model.feature_names.clone();
        }
        let samples = read_samples(&self.data, &read_options(&table, None), &session.run)?;
        let features = widen(samples.features, model.extension.n_features())?;
        Ok((model, features))
    }

    fn print(&self, session: &Session, report: &Report, written: &Written) -> Result<(), Failure> {
        report.warnings.iter().for_each(|warning| session.warn(warning));
        if session.json {
            return print(&output::json_object("predict", report, json!({}), written)?);
        }
        let mut rows = vec![row("method", report.method.clone()), row("rows", count(report.n_samples))];
        rows.extend(report.n_features.map(|n| row("features", count(n))));
        rows.extend(report.n_classes.map(|n| row("classes", count(n))));
        rows.push(row("rows no label reaches", count(report.n_unreached)));
        rows.extend(summary::of_cost(&report.phases, report.peak_bytes));
        rows.extend(written.rows());
        session.print_summary(&rows, is_stdout(&self.output))
    }
}

fn describe(report: &mut Report, model: &Model<'_>, features: &Features<'_>, labeling: &Labeling) {
    report.method = model.method.clone();
    report.n_samples = features.n_rows();
    report.n_features = Some(features.n_cols());
    report.n_classes = Some(model.classes.len());
    report.n_unreached = labeling.reached.iter().filter(|&&reached| !reached).count();
    if report.n_unreached > 0 {
        let (unreached, all) = (count(report.n_unreached), count(report.n_samples));
        report.warnings.push(format!("no label reaches the neighbours of {unreached} of {all} rows"));
    }
}
