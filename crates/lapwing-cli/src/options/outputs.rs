//! Options of outputs that several commands have.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use lapwing::data::read::TableFile;
use lapwing::data::write::KeptColumns;
use lapwing::data::{Named, Report, RowNames, Run};
use lapwing::graph::AffinityGraph;
use lapwing::label_table::chosen;
use lapwing::models::Labeling;
use lapwing_table::read::is_rereadable_table;
use lapwing_table::write::{GRAPH_ENDINGS, check_named_graph, ending, stage_named_graph};

use super::{DataOptions, Names, read_options};
use crate::failure::Failure;
use crate::files::{Files, REPORT_ENDINGS, is_matrix};
use crate::written::Written;

/// Columns of the input that are written beside the labels.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Output")]
pub struct BesideOptions {
    /// Write columns of the input too
    ///
    /// Before the labels of `label` and `predict`, behind the column of --id or in the place of the row number; behind the columns of `suggest` and `audit`. A column whose
    /// name is taken has a number behind it: label.1.
    #[arg(long, value_name = "all|A,B,…")]
    pub keep: Option<Vec<Names>>,
}

impl BesideOptions {
    /// Refuses columns of an input that cannot be read twice.
    pub fn check(&self, data: &DataOptions) -> Result<(), Failure> {
        if self.keep.is_some() { check_rereadable("--keep", data) } else { Ok(()) }
    }

    /// The columns of DATA, if any are wanted.
    pub fn kept(&self, data: &DataOptions) -> Result<Option<KeptColumns>, Failure> {
        let Some(path) = data.data.as_deref().filter(|_| self.keep.is_some()) else { return Ok(None) };
        let table = TableFile::open(path, &read_options(&data.table, None))?;
        // The first column names the rows already.
        let all = || table.names().iter().filter(|name| data.table.id.column.as_ref() != Some(name)).cloned().collect();
        let names = self.names().unwrap_or_else(all);
        Ok(Some(KeptColumns::open(table, Some(names), None, Vec::new())?))
    }

    /// The columns; `None` for all.
    pub fn names(&self) -> Option<Vec<String>> {
        let names = Names::all(self.keep.as_deref().unwrap_or_default());
        (!names.is_empty() && names != ["all"]).then_some(names)
    }

    /// The columns, the one that names the rows first; `None` for all.
    pub fn names_behind(&self, id: Option<&str>) -> Option<Vec<String>> {
        let mut names = self.names()?;
        if let Some(id) = id.filter(|id| !names.iter().any(|name| name == id)) {
            names.insert(0, id.to_owned());
        }
        Some(names)
    }
}

/// Where the graph goes.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Output")]
pub struct SaveGraphOption {
    /// Keep the graph: .npz for scipy, or edges as .parquet, .csv or .npy; --graph takes it again, alone or beside DATA
    #[arg(long = "save-graph", value_name = "FILE", hide_short_help = true)]
    pub path: Option<PathBuf>,
}

impl SaveGraphOption {
    /// Adds the file that is written.
    pub fn files<'p>(&'p self, files: Files<'p>) -> Files<'p> {
        files.write("--save-graph", self.path.as_deref(), &GRAPH_ENDINGS)
    }

    /// Writes the graph, if it is to be kept.
    pub fn stage(
        &self,
        affinity: &AffinityGraph,
        names: Option<&RowNames>,
        report: &mut Report,
        run: &Run,
        written: &mut Written,
    ) -> Result<(), Failure> {
        let Some(path) = &self.path else { return Ok(()) };
        if let Some(names) = names {
            let is_array = ending(path).as_deref() == Some("npy");
            match names.named() {
                // A matrix has the order of the rows, which DATA knows.
                Named::Rows if !is_array => {}
                _ => check_named_graph(path)?,
            }
        }
        // Edges of named rows have the names; a matrix has the order of the rows.
        let names = names.filter(|_| !is_matrix(path));
        let stage = |_: &mut Report| stage_named_graph(path, affinity.graph.adjacency(), names, run);
        written.add("graph", report.time("write graph", run, stage)?);
        Ok(())
    }
}

/// The report as a page.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Output")]
pub struct ReportOption {
    /// Write an HTML report: one file that loads nothing else
    #[arg(id = "report", long, value_name = "FILE.html")]
    pub path: Option<PathBuf>,
}

impl ReportOption {
    /// Adds the file that is written.
    pub fn files<'p>(&'p self, files: Files<'p>) -> Files<'p> {
        files.write("--report", self.path.as_deref(), REPORT_ENDINGS)
    }
}

/// The label of rows that no label reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Unreached {
    /// No label
    Empty,
    /// The most frequent class of the prior
    Prior,
}

impl Unreached {
    /// Class of each row; `None` for rows that stay empty.
    pub fn labels(self, labeling: &Labeling) -> Vec<Option<usize>> {
        chosen(labeling, self == Self::Prior)
    }
}

/// Refuses an `option` that takes columns of an input that cannot be read twice.
pub fn check_rereadable(option: &str, data: &DataOptions) -> Result<(), Failure> {
    if data.data.as_deref().is_some_and(is_rereadable_table) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{option} needs DATA in a table with named columns that can be read twice: not an array, not a pipe"
    )))
}
