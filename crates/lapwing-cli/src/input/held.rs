//! Reads the input of a command: features or a graph, and labels.

use std::path::Path;
use std::sync::Arc;

use lapwing::data::prepare::{Description, LoadedTable, Recipe};
use lapwing::data::read::{
    EdgeFile, EdgeOptions, NodeOptions, ReadOptions, Samples, TableFile, read_named_graph, read_names, read_samples,
};
use lapwing::data::{
    EdgeSource, Features, FittedScaling, Labels, Named, Report, RowNames, Run, Scaling, Standardize, Targets,
    TermWeights, UNLABELED, Warning,
};
use lapwing::graph::{AffinityGraph, Graph, GraphParams, affinity_graph};
use lapwing::models::Problem;
use lapwing_models::draw_sample;
use lapwing_table::read::is_table;

use super::named::labels_of;
use super::rows::{RowInput, are_rows, generated};
use crate::failure::Failure;
use crate::files::is_matrix;
use crate::options::{DataOptions, LabelOptions, TableOptions, no_labels, read_options};
use crate::text::count;

/// The input of a command: features or a graph, with labels and names.
#[derive(Default)]
pub struct Input {
    pub features: Option<Features<'static>>,
    pub prepared: Prepared,
    pub graph: Option<AffinityGraph>,
    /// The edges of a graph that is read in blocks.
    pub edges: Option<EdgeFile>,
    /// Names of the rows or nodes, if they have any.
    pub names: Option<Arc<RowNames>>,
    /// What to look at in what was read.
    pub warnings: Vec<Warning>,
    labels: Option<Labels>,
    /// The rows of DATA, ascending, if these are some of them.
    sampled: Option<Vec<u32>>,
    /// Whether the user says that the first line of a text is a header.
    header: Option<bool>,
}

/// How the features were made of what a file holds, for new rows.
#[derive(Default)]
pub struct Prepared {
    /// Names of the columns, if the format has any.
    pub feature_names: Option<Vec<String>>,
    pub scaling: FittedScaling,
    /// What was done with the columns of a table.
    pub recipe: Option<Recipe>,
    description: Option<Description>,
    warnings: Vec<Warning>,
}

impl Prepared {
    /// Adds what was done, and what to look at, to a report.
    pub fn describe(&self, report: &mut Report) {
        if let Some(description) = &self.description {
            description.report(report);
        }
        self.scaling.describe(report);
        report.warnings.extend(self.warnings.iter().cloned());
    }
}

impl Input {
    /// Reads features or the graph, in blocks if `streams` and its file allow it, and labels in the file of the features. `tfidf` says
    /// whether counts of terms are weighed.
    pub fn read(
        data: &DataOptions,
        streams: bool,
        labels: Option<&LabelOptions>,
        tfidf: TermWeights,
        run: &Run,
    ) -> Result<Self, Failure> {
        let input = match (&data.graph, &data.data) {
            (Some(path), None) if !is_matrix(path) && streams => {
                let edges = EdgeFile::open_with(path, &data.edge_options(), run)?;
                let (names, warnings) = (edges.names().cloned(), edges.warnings());
                Ok(Self { edges: Some(edges), names, warnings, ..Self::default() })
            }
            (Some(path), None) => {
                let mut input = Self::default();
                input.add_graph(path, None, false, data.edge_options(), run)?;
                Ok(input)
            }
            (Some(graph), Some(path)) => {
                // Beside a graph, weights of terms make labels better if rows count them, and worse if rows tell which they hold.
                let tfidf = if tfidf == TermWeights::Auto { TermWeights::Counts } else { tfidf };
                let mut input = Self::read_features(path, &data.table, labels, tfidf, run)?;
                let ignore_unknown = labels.is_some_and(|labels| labels.ignore.unknown);
                input.add_graph(graph, Some(input.n_samples()), ignore_unknown, EdgeOptions::default(), run)?;
                Ok(input)
            }
            (None, Some(path)) => Self::read_features(path, &data.table, labels, tfidf, run),
            (None, None) => Err(Failure::usage("give DATA, or a graph with --graph")),
        };
        input.map(|input| Self { header: data.table.text.header(), ..input })
    }

    /// All rows as a whole with their labels, or about `fit_rows` of them.
    pub fn labeled_or_sampled(
        data: &DataOptions,
        labels: &LabelOptions,
        fit_rows: Option<usize>,
        run: &Run,
    ) -> Result<(Self, Labels), Failure> {
        match fit_rows {
            Some(fit_rows) => Self::sampled(data, labels, fit_rows, true, run),
            None => Self::labeled(data, labels, run),
        }
    }

    /// Reads features or the graph as a whole, with their labels.
    pub fn labeled(data: &DataOptions, labels: &LabelOptions, run: &Run) -> Result<(Self, Labels), Failure> {
        let mut input = Self::read(data, false, Some(labels), data.table.term_weights(false), run)?;
        let labels = input.labels(labels)?;
        Ok((input, labels))
    }

    /// About `fit_rows` of the rows of DATA, among them all with a label. Their names, or their numbers among all rows, are their names.
    pub fn sampled(
        data: &DataOptions,
        labels: &LabelOptions,
        fit_rows: usize,
        needs_labels: bool,
        run: &Run,
    ) -> Result<(Self, Labels), Failure> {
        let alone = data.data.as_deref().filter(|path| data.graph.is_none() && are_rows(path));
        let alone = alone.filter(|_| !data.table.must_hold());
        let Some(path) = alone else {
            let reason =
                "--fit-rows needs DATA that is read in blocks, such as .npy, .parquet or .csv, without a graph";
            return Err(Failure::usage(reason));
        };
        let read = RowInput::read(path, &data.table, labels, needs_labels, run)?;
        let RowInput { rows, labels, names, description, mut warnings } = read;
        let standardize = if rows.recipe().is_some() { Standardize::Off } else { data.table.standardize };
        let sample = draw_sample(rows.source(), &labels.rows, fit_rows, standardize, run);
        let sample = sample.map_err(|error| rows.explained(error, run))?;
        let (n, n_rows) = (count(sample.rows.len()), count(rows.source().n_rows()));
        let what =
            format!("{n} of {n_rows} rows are used: those with a label, rows near them, and others drawn at random");
        warnings.push(Warning::ReadAs { path: path.display().to_string(), what });
        let class = |row: &u32| labels.rows.binary_search(row).map_or(UNLABELED, |at| labels.index[at] as i32);
        let index = sample.rows.iter().map(class).collect();
        let name = |&row: &u32| names.as_ref().map_or_else(|| row.to_string(), |names| names.name(row as usize).into());
        let column = names.as_ref().map_or("row", |names| names.column());
        let own = RowNames::of_rows(column, sample.rows.iter().map(name))?;
        let prepared = Prepared {
            feature_names: rows.feature_names(),
            scaling: sample.scaling,
            recipe: rows.recipe().cloned(),
            description,
            warnings: Vec::new(),
        };
        let (features, names, sampled) = (Some(sample.features), Some(Arc::new(own)), Some(sample.rows));
        let input = Self { features, prepared, names, warnings, sampled, ..Self::default() };
        Ok((input, Labels { classes: labels.classes, index }))
    }

    /// The numbers among all rows of DATA of some rows of a sample.
    pub fn numbers(&self, rows: &[u32]) -> Vec<u32> {
        let number = |&row: &u32| self.sampled.as_ref().map_or(row, |sampled| sampled[row as usize]);
        rows.iter().map(number).collect()
    }

    /// Input from features in memory.
    pub fn from_features(features: Features<'static>) -> Self {
        Self { features: Some(features), ..Self::default() }
    }

    /// The number of rows.
    pub fn n_samples(&self) -> usize {
        let of_edges = || self.edges.as_ref().map_or(0, |edges| edges.n_nodes());
        let of_graph = || self.graph.as_ref().map_or_else(of_edges, |graph| graph.graph.n_samples());
        self.features.as_ref().map_or_else(of_graph, Features::n_rows)
    }

    /// The labels of `--labels`, or those in the file of the features.
    pub fn labels(&mut self, options: &LabelOptions) -> Result<Labels, Failure> {
        let unlabeled = options.unlabeled.as_deref();
        // The labels of a table have been read with it.
        let own = self.labels.take();
        if let (Some(_), Some(path)) = (&own, &options.labels) {
            let (path, what) =
                (path.display().to_string(), "its labels are used, and those in the file of the data are not");
            self.warnings.push(Warning::ReadAs { path, what: what.into() });
        }
        let labels = match (own.filter(|_| options.labels.is_none()), &options.labels, self.names.as_deref()) {
            (Some(labels), _, _) => labels,
            (None, Some(path), names) => {
                let found = labels_of(path, self.n_samples(), names, options, self.header)?;
                self.warnings.extend(found.warnings);
                found.labels.into()
            }
            (None, None, _) => return Err(no_labels(self.features.is_none())),
        };
        self.warnings.extend(labels.classes.doubtful_marker(unlabeled));
        Ok(labels)
    }

    /// The labels, if the options name a source of labels or the file of the features holds some.
    pub fn labels_if_any(&mut self, options: &LabelOptions) -> Result<Option<Labels>, Failure> {
        (self.labels.is_some() || options.is_given()).then(|| self.labels(options)).transpose()
    }

    /// The graph: the given one, or one that is built from the features. Adds to the report what it is.
    pub fn affinity(&mut self, params: &GraphParams, report: &mut Report, run: &Run) -> Result<AffinityGraph, Failure> {
        report.n_samples = self.n_samples();
        report.n_features = self.features.as_ref().map(Features::n_cols);
        let affinity = match (self.graph.take(), &self.features) {
            (Some(given), _) => given,
            (None, Some(features)) => {
                params.note(features, report);
                report.time("graph", run, |_| affinity_graph(features, params, run))?
            }
            (None, None) => return Err(Failure::usage("give DATA, or a graph with --graph")),
        };
        affinity.describe(&affinity.graph.components(), report);
        Ok(affinity)
    }

    /// Column of the table that names the rows, if one does.
    pub fn id(&self) -> Option<String> {
        let names = self.names.as_ref().filter(|names| names.named() == Named::Rows);
        names.map(|names| names.column().to_owned())
    }

    /// The problem for a method.
    pub fn problem<'p>(&'p self, targets: &'p Targets) -> Problem<'p, 'static> {
        Problem {
            features: self.features.as_ref(),
            graph: self.graph.as_ref(),
            edges: self.edges.as_ref().map(|edges| edges as &dyn EdgeSource),
            ..Problem::new(targets)
        }
    }

    /// Reads the graph of the rows or, if there are none, of nodes that may have names.
    fn add_graph(
        &mut self,
        path: &Path,
        n_rows: Option<usize>,
        ignore_unknown: bool,
        edges: EdgeOptions,
        run: &Run,
    ) -> Result<(), Failure> {
        let nodes = NodeOptions { n_nodes: n_rows, names: self.names.as_deref(), ignore_unknown, edges };
        let given = read_named_graph(path, &nodes, run)?;
        self.graph = Some(AffinityGraph::given(Graph::new(given.adjacency)?));
        self.names = self.names.take().or(given.names.map(Arc::new));
        self.warnings.extend(given.warnings);
        Ok(())
    }

    fn read_features(
        path: &Path,
        table: &TableOptions,
        labels: Option<&LabelOptions>,
        tfidf: TermWeights,
        run: &Run,
    ) -> Result<Self, Failure> {
        if generated(path).is_some() {
            let reason =
                "generated rows are for `label` and a method that reads rows in blocks, such as --method low-rank";
            return Err(Failure::usage(reason));
        }
        let options = read_options(table, labels);
        if table.prepares() && is_table(path) {
            return Self::read_table(path, &options, table, labels, run);
        }
        let samples = read_samples(path, &options, run)?;
        // The check comes before scaling, which would spread a NaN over its column.
        samples.check(run)?;
        let Samples { features, feature_names, labels, names, warnings, .. } = samples;
        let scaling = Scaling::fit(&features, table.standardize, tfidf, run)?;
        let scaled = scaling.scaling.apply(&features, run)?;
        let features = Some(scaled.unwrap_or(features));
        let prepared = Prepared { feature_names, scaling, ..Prepared::default() };
        let names = names.map(Arc::new);
        Ok(Self { features, prepared, labels, names, warnings, ..Self::default() })
    }

    /// Reads a table, and makes numbers of its columns.
    fn read_table(
        path: &Path,
        options: &ReadOptions,
        table: &TableOptions,
        labels: Option<&LabelOptions>,
        run: &Run,
    ) -> Result<Self, Failure> {
        let names = options.id.as_ref().map(|_| read_names(path, options, run)).transpose()?.map(Arc::new);
        let loaded = LoadedTable::read(TableFile::open(path, options)?, options, run)?;
        // Labels in a file of their own may tell how to scale too.
        let (mut given, mut warnings) = (None, Vec::new());
        if let Some(options) = labels
            && let Some(file) = &options.labels
        {
            let found = labels_of(file, loaded.n_rows(), names.as_deref(), options, table.text.header())?;
            (given, warnings) = (Some(Labels::from(found.labels)), found.warnings);
        }
        let found = loaded.prepare(table.standardize, given.as_ref(), run)?;
        found.features.check(run)?;
        let prepared = Prepared {
            feature_names: Some(found.recipe.used()),
            recipe: Some(found.recipe),
            description: Some(found.description),
            warnings: found.warnings,
            ..Prepared::default()
        };
        let labels = given.or(found.labels);
        Ok(Self { features: Some(found.features), prepared, labels, names, warnings, ..Self::default() })
    }
}
