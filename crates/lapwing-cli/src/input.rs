//! Reads what a command works on: features or a graph, and labels.

use std::path::Path;

use lapwing::data::read::{
    EdgeFile, ReadOptions, Samples, holds_labels, names_labels, read_graph, read_labels, read_samples,
};
use lapwing::data::{Csr, EdgeSource, Error, Features, Labels, Run, Standardizer, Targets};
use lapwing::graph::{AffinityGraph, Graph};
use lapwing::models::Problem;

use crate::failure::Failure;
use crate::options::{DataOptions, LabelOptions, Names, TableOptions};
use crate::output::is_stdout;

/// Features or a graph, with what belongs to them.
pub struct Input {
    pub features: Option<Features<'static>>,
    pub feature_names: Option<Vec<String>>,
    pub standardizer: Option<Standardizer>,
    pub graph: Option<AffinityGraph>,
    /// The graph as a stream.
    pub edges: Option<EdgeFile>,
    labels: Option<Labels>,
}

/// That a graph is to be read as a stream, where its file can be.
#[derive(Clone, Copy)]
pub struct Streamed {
    /// Its nodes, where they are known.
    pub nodes: Option<usize>,
}

impl Input {
    /// Reads features or the graph; labels too where they stand beside the features.
    pub fn read(
        data: &DataOptions,
        streamed: Option<Streamed>,
        labels: Option<&LabelOptions>,
        run: &Run,
    ) -> Result<Self, Failure> {
        match (&data.graph, &data.data) {
            (Some(path), None) if !is_matrix(path) && streamed.is_some() => {
                let edges = EdgeFile::open(path, streamed.and_then(|streamed| streamed.nodes), run)?;
                Ok(Self { edges: Some(edges), ..Self::empty() })
            }
            (Some(path), None) => Self::read_graph(path, None, run),
            (Some(graph), Some(path)) => {
                let mut input = Self::read_features(path, &data.table, labels, run)?;
                let n_rows = input.n_samples();
                input.graph = Self::read_graph(graph, Some(n_rows), run)?.graph;
                Ok(input)
            }
            (None, Some(path)) => Self::read_features(path, &data.table, labels, run),
            (None, None) => Err(Failure::usage("give DATA, or a graph with --graph")),
        }
    }

    /// Features that are there already.
    pub fn of_features(features: Features<'static>) -> Self {
        Self { features: Some(features), ..Self::empty() }
    }

    fn empty() -> Self {
        Self { features: None, feature_names: None, standardizer: None, graph: None, edges: None, labels: None }
    }

    /// Rows.
    pub fn n_samples(&self) -> usize {
        let of_edges = || self.edges.as_ref().map_or(0, |edges| edges.n_nodes());
        let of_graph = || self.graph.as_ref().map_or_else(of_edges, |graph| graph.graph.n_samples());
        self.features.as_ref().map_or_else(of_graph, Features::n_rows)
    }

    /// The labels: of `--labels`, or those read with the features.
    pub fn labels(&mut self, options: &LabelOptions) -> Result<Labels, Failure> {
        if let Some(path) = &options.labels {
            return Ok(read_labels(path, self.n_samples(), options.unlabeled.as_deref())?);
        }
        self.labels.take().ok_or_else(|| no_labels(self.features.is_none()))
    }

    /// What a method is given.
    pub fn problem<'p>(&'p self, targets: &'p Targets) -> Problem<'p, 'static> {
        Problem {
            features: self.features.as_ref(),
            graph: self.graph.as_ref(),
            edges: self.edges.as_ref().map(|edges| edges as &dyn EdgeSource),
            ..Problem::new(targets)
        }
    }

    fn read_graph(path: &Path, n_rows: Option<usize>, run: &Run) -> Result<Self, Failure> {
        let graph = AffinityGraph::given(Graph::new(read_graph(path, n_rows, run)?)?);
        Ok(Self { graph: Some(graph), ..Self::empty() })
    }

    fn read_features(
        path: &Path,
        table: &TableOptions,
        labels: Option<&LabelOptions>,
        run: &Run,
    ) -> Result<Self, Failure> {
        let samples = read_samples(path, &read_options(table, labels), run)?;
        // Before standardizing, which would spread one NaN over its column.
        samples.check(run)?;
        let Samples { features, feature_names, labels, .. } = samples;
        let standardizer = if table.standardize { Some(Standardizer::fit(&features, run)?) } else { None };
        let features = match &standardizer {
            Some(standardizer) => standardizer.apply(&features, run)?,
            None => features,
        };
        Ok(Self { features: Some(features), feature_names, standardizer, labels, ..Self::empty() })
    }
}

/// Whether a graph is stored as a matrix, which cannot be read in blocks.
pub fn is_matrix(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("npz"))
}

/// Whether edges can be read only once.
pub fn is_once(edges: &Path) -> bool {
    is_stdout(edges) || std::fs::metadata(edges).is_ok_and(|metadata| !metadata.is_file())
}

/// Refuses a checkpoint that no run could go on from.
pub fn check_checkpoint(edges: &Path) -> Result<(), Failure> {
    let reason = if is_once(edges) {
        "--checkpoint needs a file of edges: a pipe or standard input cannot be read again"
    } else if is_matrix(edges) {
        "--checkpoint needs a file of edges that is read in blocks; an .npz is read whole"
    } else {
        return Ok(());
    };
    Err(Failure::usage(reason))
}

/// Checks that labels will be found, before anything is read.
pub fn check_label_source(data: &DataOptions, labels: &LabelOptions) -> Result<(), Failure> {
    data.check()?;
    if data.data.is_none() && labels.label_column.is_some() {
        return Err(Failure::usage("a graph has no columns: give the labels with --labels FILE"));
    }
    let may_hold_labels = data.data.as_deref().is_some_and(holds_labels);
    if labels.label_column.is_none() && labels.labels.is_none() && !may_hold_labels {
        return Err(no_labels(data.data.is_none()));
    }
    if labels.label_column.is_some() && data.data.as_deref().is_some_and(|path| !names_labels(path)) {
        let reason = "--label-column needs a table (.csv, .parquet) or an array of an .npz; give --labels FILE instead";
        return Err(Failure::usage(reason));
    }
    Ok(())
}

/// What to read of a table.
pub fn read_options(table: &TableOptions, labels: Option<&LabelOptions>) -> ReadOptions {
    ReadOptions {
        label_column: labels.and_then(|labels| labels.label_column.clone()),
        columns: table.columns.as_deref().map(Names::all),
        drop: Names::all(&table.drop),
        unlabeled: labels.and_then(|labels| labels.unlabeled.clone()),
    }
}

/// Sparse rows widened to the `n_cols` columns of a model: files of sparse rows do not tell columns that no row uses.
pub fn widen(features: Features<'static>, n_cols: usize) -> Result<Features<'static>, Error> {
    match &features {
        Features::Sparse(rows) if rows.n_cols() < n_cols => {
            let (indptr, indices, values) = Csr::clone(rows).into_parts();
            Ok(Features::Sparse(Csr::new(rows.n_rows(), n_cols, indptr, indices, values)?.into()))
        }
        _ => Ok(features),
    }
}

/// What a command says that finds no labels.
pub fn no_labels(is_graph: bool) -> Failure {
    let column = if is_graph { "" } else { "name their column with --label-column NAME, or " };
    Failure::usage(format!("no labels: {column}give a file of labels with --labels FILE"))
}
