//! What all methods share: the problem they are given, the plan they make, and the result they return.

use std::sync::Arc;

use lapwing_data::{EdgeSource, Error, Features, Matrix, Report, Result, Run, Targets, check_memory};
use lapwing_graph::{AffinityGraph, GraphParams};
use serde::Serialize;

use crate::resident::{Program, base_bytes};
use crate::{Extension, Labeling, Rule};

/// What is to be labeled: features, a graph, or both (the graph then is the features' own, built before).
#[derive(Clone, Copy)]
pub struct Problem<'p, 'a> {
    /// Features (n, d).
    pub features: Option<&'p Features<'a>>,
    /// Affinity graph among the n rows.
    pub graph: Option<&'p AffinityGraph>,
    /// The graph as a stream of edges, in the place of one in memory; for methods that read streams.
    pub edges: Option<&'p dyn EdgeSource>,
    /// Given labels.
    pub targets: &'p Targets,
}

impl std::fmt::Debug for Problem<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Problem")
            .field("features", &self.features)
            .field("graph", &self.graph)
            .field("edges", &self.edges.map(|edges| edges.n_nodes()))
            .field("targets", &self.targets)
            .finish()
    }
}

impl<'p, 'a> Problem<'p, 'a> {
    /// Labels alone; to be completed by features, a graph or both: `Problem { features: Some(&features),
    /// ..Problem::new(&targets) }`.
    pub fn new(targets: &'p Targets) -> Self {
        Self { features: None, graph: None, edges: None, targets }
    }

    /// The first lines of a report on this problem.
    pub(crate) fn report(&self, method: &str) -> Report {
        let n_features = self.features.map(|features| features.n_cols());
        Report::new(method, self.targets.n_samples(), n_features, self.targets.rows().len())
    }

    /// The features of a checked problem, for a method that does not work on a graph alone.
    pub(crate) fn required_features(&self, method: &str) -> Result<&'p Features<'a>> {
        let missing = || Error::shape("the problem", format!("features, which {method} needs"), "a graph only");
        self.features.ok_or_else(missing)
    }

    /// Checks that features, graph and targets are of one number of rows.
    ///
    /// # Errors
    /// [`Error::Shape`].
    pub fn check(&self) -> Result<()> {
        let n = self.targets.n_samples();
        let sizes = [
            ("features", self.features.map(|f| f.n_rows())),
            ("the graph", self.graph.map(|g| g.graph.n_samples())),
            ("the graph", self.edges.map(|edges| edges.n_nodes())),
        ];
        for (what, rows) in sizes {
            if let Some(rows) = rows.filter(|&rows| rows != n) {
                return Err(Error::shape(what, format!("{n} rows, as there are labels"), format!("{rows} rows")));
            }
        }
        // Scores and probabilities, labels and confidence: what every method leaves.
        let c = self.targets.n_columns();
        let bytes = (n as u64).saturating_mul(16 * c as u64 + 16);
        check_memory(&format!("a table of scores of {n} rows and {c} columns"), bytes, "give fewer rows or classes")
    }
}

/// Size of a problem, known before its data are read.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ProblemSize {
    /// Rows.
    pub n_samples: usize,
    /// Columns of the features; 0 for a graph.
    pub n_features: usize,
    /// Undirected edges of a given graph.
    pub n_edges: Option<usize>,
    /// Bytes that features or graph occupy once read (mapped pages count: they are touched).
    pub input_bytes: usize,
    /// Whether the features are sparse.
    pub sparse: bool,
    /// Whether rows are read and labeled in blocks, and none are held.
    pub streamed: bool,
    /// Classes.
    pub n_classes: usize,
    /// Rows with a label.
    pub n_labeled: usize,
    /// Worker threads.
    pub threads: usize,
}

/// One part of a plan.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PlanStep {
    /// Part, named as the report's phases are.
    pub name: String,
    /// Largest memory during it, input included.
    pub peak_bytes: u64,
}

/// What a fit will need.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Plan {
    /// Rows.
    pub n_samples: usize,
    /// Undirected edges, estimated where the graph is still to be built.
    pub n_edges: usize,
    /// Largest resident memory of the process.
    pub peak_bytes: u64,
    /// Passes over the input.
    pub passes: usize,
    /// Parts in order.
    pub steps: Vec<PlanStep>,
}

impl Plan {
    /// The plan of these parts, whose peak is the largest of theirs.
    pub(crate) fn of_steps(n_samples: usize, n_edges: usize, passes: usize, steps: Vec<PlanStep>) -> Self {
        let peak_bytes = steps.iter().map(|step| step.peak_bytes).max().unwrap_or(0);
        Self { n_samples, n_edges, peak_bytes, passes, steps }
    }

    /// This plan of features that are standardized first: those that were read, `read_bytes`, are there beside those of `size`
    /// while these are made, and are read twice for it.
    pub fn standardized(mut self, size: &ProblemSize, read_bytes: usize) -> Self {
        let base = base_bytes(Program::Search, size);
        let step = PlanStep { name: "standardize".into(), peak_bytes: (base + read_bytes) as u64 };
        self.peak_bytes = self.peak_bytes.max(step.peak_bytes);
        self.passes += 2;
        self.steps.insert(0, step);
        self
    }
}

/// What a fit returns.
#[derive(Debug)]
#[non_exhaustive]
pub struct Fitted<'a> {
    /// A label for every row.
    pub labeling: Labeling,
    /// How scores became labels.
    pub rule: Rule,
    /// What labels new rows; absent when only a graph was given.
    pub extension: Option<Extension<'a>>,
    /// The graph, if this fit built it.
    pub graph: Option<AffinityGraph>,
    /// What was built, chosen and spent.
    pub report: Report,
}

/// What a fit of a regression returns.
#[derive(Debug)]
#[non_exhaustive]
pub struct FittedRegression<'a> {
    /// Values (n, 1), NaN in rows no label reaches.
    pub values: Arc<Matrix>,
    /// Whether a label reaches the row (n).
    pub reached: Vec<bool>,
    /// Bound on the solver's error in each value (n), infinite where none is known; absent where it was not asked for.
    pub score_radius: Option<Vec<f64>>,
    /// Weighted mean of the given values: what rows no label reaches may be given.
    pub mean: f64,
    /// What gives values to new rows (its scores are the values); absent when only a graph was given.
    pub extension: Option<Extension<'a>>,
    /// The graph, if this fit built it.
    pub graph: Option<AffinityGraph>,
    /// What was built, chosen and spent.
    pub report: Report,
}

/// A method of semi-supervised classification.
pub trait Method: Send + Sync {
    /// Name, as on the command line.
    fn name(&self) -> &'static str;

    /// Parameters of the graph this method works on, so that several methods can share one; `None` if it needs none.
    fn graph_params(&self) -> Option<&GraphParams> {
        None
    }

    /// Whether a graph alone is not enough.
    fn needs_features(&self) -> bool {
        false
    }

    /// Labels every row.
    ///
    /// # Errors
    /// [`Error`] for unusable input; [`Error::Interrupted`].
    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>>;

    /// Whether it reads a graph as a stream of edges ([`Problem::edges`]) instead of holding it.
    fn reads_streams(&self) -> bool {
        false
    }

    /// Whether it can read rows in blocks ([`LowRank::fit_rows`](crate::LowRank::fit_rows)) instead of holding them.
    fn reads_rows(&self) -> bool {
        false
    }

    /// What a fit of that size will need.
    fn plan(&self, size: &ProblemSize) -> Plan;
}
