//! Options of the input: features, graph and labels.

use std::path::PathBuf;

use clap::Args;
use lapwing::data::read::{EdgeOptions, ReadOptions};
use lapwing::data::{Standardize, TermWeights};
use lapwing::models::Method;
use lapwing_table::read::{holds_labels, is_table, names_labels};

use super::{Names, Nodes, TableOptions, TextOptions};
use crate::failure::Failure;
use crate::files::Files;

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
        if table.standardize == Standardize::On && table.tfidf == Some(TermWeights::On) {
            return Err(Failure::usage("give --standardize or --tfidf, not both"));
        }
        Ok(())
    }

    /// [`check`](Self::check), and, before reading, that the options name a source of labels.
    pub fn check_labels(&self, labels: &LabelOptions) -> Result<(), Failure> {
        self.check()?;
        self.check_label_column(labels)?;
        if labels.is_given() || self.data.as_deref().is_some_and(holds_labels) {
            return Ok(());
        }
        Err(no_labels(self.data.is_none()))
    }

    /// Checks, before reading, that DATA can have a column of labels, if one is named.
    pub fn check_label_column(&self, labels: &LabelOptions) -> Result<(), Failure> {
        let reason = match (&labels.label_column, &self.data) {
            (Some(_), None) => "a graph has no columns: give the labels with --labels FILE",
            (Some(_), Some(path)) if !names_labels(path) => {
                "--label-column needs a table (.csv, .parquet) or an array of an .npz; give --labels FILE instead"
            }
            _ => return Ok(()),
        };
        Err(Failure::usage(reason))
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
        delimiter: text.delimiter,
        decimal: text.decimal,
    }
}

/// What to do with names that are not those of any row.
#[derive(Args, Clone, Default)]
pub struct IgnoreOption {
    /// Leave out labels and edges whose names are not in the data, with a warning
    #[arg(long = "ignore-unknown", hide_short_help = true)]
    pub unknown: bool,
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

    /// Whether an option names a source of labels.
    pub fn is_given(&self) -> bool {
        self.labels.is_some() || self.label_column.is_some()
    }
}

/// The options of a reader of tables.
pub fn read_options(table: &TableOptions, labels: Option<&LabelOptions>) -> ReadOptions {
    ReadOptions {
        label_column: labels.and_then(|labels| labels.label_column.clone()),
        columns: table.columns.as_deref().map(Names::all),
        drop: Names::all(&table.drop),
        unlabeled: labels.and_then(|labels| labels.unlabeled.clone()),
        id: table.id.column.clone(),
        read_as: table.read_as.iter().flat_map(|columns| columns.0.iter().cloned()).collect(),
        more: table.more.clone(),
        ..table.text.read_options()
    }
}

/// The error for missing labels.
pub fn no_labels(is_graph: bool) -> Failure {
    let column = if is_graph { "" } else { "name their column with --label-column NAME, or " };
    Failure::usage(format!("no labels: {column}give a file of labels with --labels FILE"))
}
