//! The outputs of `lapwing label`.

use std::path::{Path, PathBuf};

use clap::Args;
use lapwing::data::read::TableFile;
use lapwing::data::write::KeptColumns;
use lapwing_table::write::{COLUMN_ENDINGS, LABEL_ENDINGS};

use crate::failure::Failure;
use crate::files::{ANY_ENDING, Files};
use crate::options::{
    BesideOptions, DataOptions, LabelOptions, ReportOption, SaveGraphOption, Unreached, read_options,
};
use crate::written::is_stdout;

/// What `label` writes.
#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct OutputOptions {
    /// Where the labels go: .csv, .parquet or .npy; - writes CSV to standard output; a folder, for a folder of .parquet
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

    #[command(flatten)]
    pub report: ReportOption,

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
    pub plan: bool,
}

impl OutputOptions {
    /// Whether standard output holds the labels.
    pub fn to_stdout(&self) -> bool {
        !self.plan && self.output.as_deref().is_some_and(is_stdout)
    }

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
    pub fn files<'p>(&'p self, files: Files<'p>, data: Option<&Path>) -> Files<'p> {
        let endings: &[&str] = if self.sets.is_some() { &COLUMN_ENDINGS } else { &LABEL_ENDINGS };
        let files = self.save_graph.files(files.write_labels("--output", self.output.as_deref(), data, endings));
        self.report.files(files.write("--model", self.model.as_deref(), ANY_ENDING))
    }
}

/// A level between 0 and 1.
fn level(text: &str) -> Result<f64, String> {
    let expected = || "expected a share between 0 and 1, such as 0.9".to_owned();
    text.parse().ok().filter(|level| *level > 0.0 && *level < 1.0).ok_or_else(expected)
}
