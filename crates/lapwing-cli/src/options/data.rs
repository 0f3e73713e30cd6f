//! Options of the input: features, graph and labels.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use lapwing::data::read::{EdgeOptions, TableFile};
use lapwing::data::write::KeptColumns;
use lapwing::data::{Error, Named, Report, RowNames, Run};
use lapwing::graph::AffinityGraph;
use lapwing::models::Method;
use lapwing_table::read::{is_rereadable_table, is_table, split_columns};
use lapwing_table::write::{GRAPH_ENDINGS, check_named_graph, stage_named_graph};

use super::{Nodes, StandardizeOption, TableOptions, TextOptions, TfidfOption};
use crate::failure::Failure;
use crate::files::Files;
use crate::input::{is_matrix, read_options};
use crate::output::Written;

/// Features or a graph.
#[derive(Args, Clone)]
#[command(next_help_heading = "Input")]
pub struct DataOptions {
    /// Table or array of features, one row per sample; - reads a table from standard input
    ///
    /// Told by the contents and the ending: a table as text (.csv, .tsv, .txt and others), JSON lines (.jsonl), ARFF, also packed (.gz, .zst,
    /// .bz2, .xz, or a .zip of one table); .parquet or .arrow; a sheet (.xlsx, .ods, …); a folder of these, also with folders such as
    /// year=2020, or a name with * in quotes; .npy (rows × columns); .npz (arrays X and, for labels, y, or a sparse matrix saved by
    /// scipy); .svm or .libsvm.
    #[arg(value_name = "DATA", help_heading = None::<&str>, required_unless_present = "graph")]
    pub data: Option<PathBuf>,

    /// A graph instead of features, or besides them: edges u, v[, weight] or a sparse matrix
    ///
    /// With features it is the graph of their rows: in the place of the one that a method would build, or beside them for methods that
    /// need both.
    ///
    /// By the ending: .csv, .parquet or .npy with one edge a line (u, v and, if not 1, a weight; rows count from 0); .npz with a
    /// symmetric sparse matrix saved by scipy. In .csv and .parquet u and v may be names: without features those of the nodes,
    /// with features those of the rows (--id).
    #[arg(long, value_name = "FILE")]
    pub graph: Option<PathBuf>,

    /// For a graph alone: the number of nodes, or the word names if ids are names though they are numbers [default: up to the largest id]
    ///
    /// The number is needed where the edges do not explain the largest id: from 100,000 nodes on, fewer than one edge for 20 nodes.
    /// Ids that are no numbers as a program writes them (bob, 007) are names without this option.
    #[arg(long, value_name = "N|names", requires = "graph", conflicts_with = "data", hide_short_help = true)]
    pub nodes: Option<Nodes>,

    #[command(flatten)]
    pub table: TableOptions,
}

impl DataOptions {
    /// What is known of the edges of a graph alone.
    pub fn edge_options(&self) -> EdgeOptions {
        edge_options(self.nodes, &self.table.text)
    }

    /// Refuses options of feature columns without features.
    pub fn check(&self) -> Result<(), Failure> {
        let table = &self.table;
        if self.data.is_none() && (table.columns.is_some() || !table.drop.is_empty() || table.must_hold()) {
            return Err(Failure::usage("--columns, --drop, --standardize and --tfidf need features, not a graph"));
        }
        if self.data.is_none() && table.id.column.is_some() {
            return Err(Failure::usage(
                "--id names a column of DATA; the nodes of a graph alone have the names in its edges",
            ));
        }
        table.id.check()?;
        let is_prepared = table.prepares() && self.data.as_deref().is_some_and(is_table);
        if !table.read_as.is_empty() && !is_prepared {
            let reason = "--read-as needs a table whose columns are prepared: leave --prepare none and --tfidf out";
            return Err(Failure::usage(reason));
        }
        if table.standardize == StandardizeOption::On && table.tfidf == Some(TfidfOption::On) {
            return Err(Failure::usage("give --standardize or --tfidf, not both"));
        }
        Ok(())
    }

    /// Refuses a graph without features if the method needs these, and a graph besides features if the method uses none.
    pub fn check_method(&self, method: &dyn Method) -> Result<(), Failure> {
        let name = method.name();
        let reason = match (&self.data, &self.graph) {
            (None, Some(_)) if method.needs_features() => format!("the method {name} needs features, not a graph"),
            (Some(_), Some(_)) if method.graph_params().is_none() => {
                format!("the method {name} works on features alone; leave --graph out")
            }
            _ => return Ok(()),
        };
        Err(Failure::usage(reason))
    }

    /// Adds the files that are read.
    pub fn files<'p>(&'p self, files: Files<'p>) -> Files<'p> {
        let files = files.read("DATA", self.data.as_deref()).read("--graph", self.graph.as_deref());
        self.table.more.iter().fold(files, |files, path| files.read("DATA", Some(path)))
    }

    /// Refuses features and a graph together.
    pub fn check_one(&self) -> Result<(), Failure> {
        if self.data.is_some() && self.graph.is_some() {
            return Err(Failure::usage("give DATA or --graph, not both"));
        }
        Ok(())
    }

    /// The same with one more column that is no feature.
    pub fn without(&self, column: Option<&str>) -> Self {
        let mut data = self.clone();
        data.table.drop.extend(column.map(|column| Names(vec![column.to_owned()])));
        data
    }

    /// Name of the input, as the title of a report.
    pub fn title(&self) -> String {
        let path = self.data.as_ref().or(self.graph.as_ref());
        let name = path.and_then(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
        name.filter(|name| name != "-").unwrap_or_else(|| "standard input".into())
    }
}

/// What options say of edges.
pub fn edge_options(nodes: Option<Nodes>, text: &TextOptions) -> EdgeOptions {
    EdgeOptions {
        n_nodes: nodes.and_then(|nodes| if let Nodes::Count(n) = nodes { Some(n) } else { None }),
        are_names: nodes == Some(Nodes::Names),
        header: text.header(),
        delimiter: text.delimiter(),
        decimal: text.decimal(),
    }
}

/// Names of columns, separated by commas; a name with a comma is in quotes.
#[derive(Clone, Debug, PartialEq)]
pub struct Names(pub Vec<String>);

impl Names {
    /// All names of an option that may be given several times.
    pub fn all(lists: &[Self]) -> Vec<String> {
        lists.iter().flat_map(|names| names.0.iter().cloned()).collect()
    }
}

impl FromStr for Names {
    type Err = Error;

    fn from_str(list: &str) -> Result<Self, Error> {
        split_columns(list).map(Self)
    }
}

/// Which column names the rows.
#[derive(Args, Clone, Default)]
pub struct IdOption {
    /// Column of DATA that names the rows; outputs have it too
    ///
    /// It is no feature, and outputs have it instead of row numbers, except .npy. Names differ from each other, and none is empty.
    /// Files of labels and edges then name rows too.
    #[arg(long = "id", value_name = "COLUMN", help_heading = "Input")]
    pub column: Option<String>,
}

/// Columns of the outputs of `label`, `suggest` and `audit`.
const OUTPUT_COLUMNS: &str = "label confidence reached certified set reason score guess given proposed quality flagged judged \
                              duplicate_group contradicts outlier_percentile";

impl IdOption {
    /// Refuses a name that another column of an output has.
    pub fn check(&self) -> Result<(), Failure> {
        match self.column.as_deref().filter(|column| OUTPUT_COLUMNS.split(' ').any(|name| name == *column)) {
            Some(column) => {
                let reason =
                    format!("--id {column}: outputs have another column of this name; rename the column of ids");
                Err(Failure::usage(reason))
            }
            None => Ok(()),
        }
    }
}

/// What to do with names that are not those of any row.
#[derive(Args, Clone, Default)]
pub struct IgnoreOption {
    /// Leave out labels and edges whose names are not in the data, with a warning
    #[arg(long = "ignore-unknown", hide_short_help = true)]
    pub unknown: bool,
}

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
        match self.keep.is_none() || data.data.as_deref().is_some_and(is_rereadable_table) {
            true => Ok(()),
            false => Err(Failure::usage(
                "--keep needs DATA in a table with named columns that can be read twice: not an array, not a pipe",
            )),
        }
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
            let is_array = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("npy"));
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

/// The given labels.
#[derive(Args, Default)]
#[command(next_help_heading = "Labels")]
pub struct LabelOptions {
    /// Column of DATA that holds the labels (in .npz: array)
    #[arg(long, value_name = "NAME", conflicts_with = "labels")]
    pub label_column: Option<String>,

    /// File of labels: .npy, or a table of labels, or of rows and labels
    ///
    /// Rows count from 0. If rows have names (--id), or nodes of a graph, lines are name,label.
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,

    /// Text that marks rows without a label [default: empty, -1, -1.0, nan, null, none, na]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, hide_short_help = true)]
    pub unlabeled: Option<String>,

    #[command(flatten)]
    pub ignore: IgnoreOption,
}

impl LabelOptions {
    /// Adds the file of labels, if given.
    pub fn files<'p>(&'p self, files: Files<'p>) -> Files<'p> {
        files.read("--labels", self.labels.as_deref())
    }
}
