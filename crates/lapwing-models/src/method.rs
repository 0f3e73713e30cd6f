//! Types that all methods share: problem, plan, result, and the trait [`Method`].

use std::sync::Arc;

use lapwing_core::{EdgeSource, Error, Features, Matrix, Report, Result, Run, Targets, check_memory};
use lapwing_graph::{AffinityGraph, GraphParams};
use serde::Serialize;

use crate::resident::{Program, base_bytes};
use crate::{ExpectedAccuracy, Extension, HeldOut, Labeling, Rule, held_out};

/// How far the shares of a row of a prior may be from a sum of 1: single precision is enough.
const SHARES_TOL: f64 = 1e-4;

/// The rows to be labeled: features, a graph, or both (then the graph was built from these features).
#[derive(Clone, Copy)]
pub struct Problem<'p, 'a> {
    /// Features (n, d).
    pub features: Option<&'p Features<'a>>,
    /// Affinity graph among the n rows.
    pub graph: Option<&'p AffinityGraph>,
    /// The graph as a stream of edges instead of one in memory; for methods that read streams.
    pub edges: Option<&'p dyn EdgeSource>,
    /// Given labels.
    pub targets: &'p Targets,
    /// Shares of the classes in every row (n, c), from any classifier, where the fit starts; for harmonic methods. Those of a
    /// labeled row must come from a classifier that did not see its label.
    pub prior: Option<&'p Matrix>,
    /// Scores (n, c) of a fit to fewer labels on the same graph, from which the solver starts; for harmonic methods. It saves iterations,
    /// and moves scores within the tolerance only. Scores of another number of rows or classes are not used.
    pub start: Option<&'p Matrix>,
}

impl std::fmt::Debug for Problem<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Problem")
            .field("features", &self.features)
            .field("graph", &self.graph)
            .field("edges", &self.edges.map(|edges| edges.n_nodes()))
            .field("targets", &self.targets)
            .field("prior", &self.prior.map(|prior| (prior.n_rows(), prior.n_cols())))
            .finish()
    }
}

impl<'p, 'a> Problem<'p, 'a> {
    /// A problem of labels only. Add features, a graph or both: `Problem { features: Some(&features), ..Problem::new(&targets)
    /// }`.
    pub fn new(targets: &'p Targets) -> Self {
        Self { features: None, graph: None, edges: None, targets, prior: None, start: None }
    }

    /// Its size, for a [plan](Method::plan).
    pub fn size(&self, run: &Run) -> ProblemSize {
        let features = self.features;
        ProblemSize {
            n_samples: self.targets.n_samples(),
            n_features: features.map_or(0, Features::n_cols),
            n_edges: self.graph.map(|affinity| affinity.graph.n_edges()),
            input_bytes: features.map_or(0, Features::bytes),
            sparse: matches!(features, Some(Features::Sparse(_))),
            streamed: false,
            n_classes: self.targets.n_columns(),
            n_labeled: self.targets.rows().len(),
            threads: run.threads(),
        }
    }

    /// A report with method and sizes filled in.
    pub(crate) fn report(&self, method: &str) -> Report {
        let n_features = self.features.map(|features| features.n_cols());
        Report::new(method, self.targets.n_samples(), n_features, self.targets.rows().len())
    }

    /// The features of a checked problem, for a method that does not work on a graph alone.
    pub(crate) fn required_features(&self, method: &str) -> Result<&'p Features<'a>> {
        let missing = || Error::shape("the problem", format!("features, which {method} needs"), "a graph only");
        self.features.ok_or_else(missing)
    }

    /// Refuses a prior, for a method that has no use for one.
    pub(crate) fn refuse_prior(&self, method: &str) -> Result<()> {
        match self.prior {
            Some(_) => Err(Error::param("prior", "given", format!("none for {method}; harmonic methods take one"))),
            None => Ok(()),
        }
    }

    /// Checks that features, graph, targets and prior are of one number of rows, and that every row of the prior holds shares.
    ///
    /// # Errors
    /// [`Error::Shape`]; [`Error::Value`] for a share that is negative or not finite, or shares that do not sum to 1.
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
        if let Some(prior) = self.prior {
            check_prior(prior, self.targets)?;
        }
        // Every method returns at least scores, distributions, labels and confidence.
        let c = self.targets.n_columns();
        let bytes = (n as u64).saturating_mul(16 * c as u64 + 16);
        check_memory(&format!("a table of scores of {n} rows and {c} columns"), bytes, "give fewer rows or classes")
    }
}

/// Checks the shares of a prior (n, c).
fn check_prior(prior: &Matrix, targets: &Targets) -> Result<()> {
    const WHAT: &str = "the prior";
    let (n, c) = (targets.n_samples(), targets.n_columns());
    if (prior.n_rows(), prior.n_cols()) != (n, c) {
        let expected = format!("{n} rows and {c} columns, one per class");
        return Err(Error::shape(WHAT, expected, format!("{} rows and {} columns", prior.n_rows(), prior.n_cols())));
    }
    for (row, shares) in prior.rows().enumerate() {
        if let Some(col) = shares.iter().position(|share| !(share.is_finite() && *share >= 0.0)) {
            let (value, advice) = (shares[col].to_string(), "give shares of at least 0".into());
            return Err(Error::Value { what: WHAT.into(), row, col: Some(col), value, advice });
        }
        let sum: f64 = shares.iter().sum();
        if (sum - 1.0).abs() > SHARES_TOL {
            let (value, advice) = (format!("shares that sum to {sum}"), "divide the row by its sum".into());
            return Err(Error::Value { what: WHAT.into(), row, col: None, value, advice });
        }
    }
    Ok(())
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
    /// Bytes of features or graph once read. Mapped pages count, because they are read too.
    pub input_bytes: usize,
    /// Whether the features are sparse.
    pub sparse: bool,
    /// Whether rows are read and labeled in blocks instead of being held.
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

/// Peak memory and passes of a fit, known before it starts.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Plan {
    /// Rows.
    pub n_samples: usize,
    /// Undirected edges; an estimate if the graph is built.
    pub n_edges: usize,
    /// Largest resident memory of the process.
    pub peak_bytes: u64,
    /// The part of it that no allocation shows: pages of the program and its libraries.
    pub program_bytes: u64,
    /// Passes over the input.
    pub passes: usize,
    /// Parts in order.
    pub steps: Vec<PlanStep>,
}

impl Plan {
    /// The plan with these parts.
    pub(crate) fn from_steps(
        program: Program,
        n_samples: usize,
        n_edges: usize,
        passes: usize,
        steps: Vec<PlanStep>,
    ) -> Self {
        let peak_bytes = steps.iter().map(|step| step.peak_bytes).max().unwrap_or(0);
        Self { n_samples, n_edges, peak_bytes, program_bytes: program.bytes() as u64, passes, steps }
    }

    /// Adds the step that scales the features first. It reads the original features (`read_bytes`) twice and holds them
    /// beside the scaled ones of `size`.
    pub fn scaled(mut self, size: &ProblemSize, read_bytes: usize) -> Self {
        let base = base_bytes(Program::Search, size);
        let step = PlanStep { name: "scale".into(), peak_bytes: (base + read_bytes) as u64 };
        self.peak_bytes = self.peak_bytes.max(step.peak_bytes);
        self.passes += 2;
        self.steps.insert(0, step);
        self
    }
}

/// Result of a classification.
#[derive(Debug)]
#[non_exhaustive]
pub struct Fitted<'a> {
    /// A label for every row.
    pub labeling: Labeling,
    /// How scores became labels.
    pub rule: Rule,
    /// Gives scores to new rows; `None` if only a graph was given.
    pub extension: Option<Extension<'a>>,
    /// The graph, if this fit built it.
    pub graph: Option<AffinityGraph>,
    /// Class shares of labeled rows from scores that did not see their label; `None` if labels are too few, or holding them out too
    /// expensive.
    pub held_out: Option<HeldOut>,
    /// The fit of the candidate with the largest weight, if the labels are a mean of several.
    pub best: Option<Box<Fitted<'a>>>,
    /// Graph, choices, solves, times and memory of the fit.
    pub report: Report,
}

impl Fitted<'_> {
    /// Share of right labels that rows without a given one are expected to have, with its interval; `None` if no label was held out.
    pub fn expected_accuracy(&self) -> Option<ExpectedAccuracy> {
        let n_unlabeled = self.report.n_samples.saturating_sub(self.report.n_labeled);
        self.held_out.as_ref().and_then(|held_out| ExpectedAccuracy::new(held_out, n_unlabeled))
    }
}

/// What a method predicts for labels that are hidden from it.
#[derive(Debug)]
#[non_exhaustive]
pub struct HeldOutFit<'a> {
    /// Shares of the classes in each labeled row (l, c), by scores that did not see the labels of its fold; rows of NaN where no other
    /// label reaches.
    pub shares: Matrix,
    /// The fit to all labels, if the method needed it.
    pub fitted: Option<Fitted<'a>>,
}

/// Result of a regression.
#[derive(Debug)]
#[non_exhaustive]
pub struct FittedRegression<'a> {
    /// Values (n, 1), NaN in rows no label reaches.
    pub values: Arc<Matrix>,
    /// Whether a label reaches the row (n).
    pub reached: Vec<bool>,
    /// Bound on the solver's error in each value (n), infinite without a bound; `None` if nothing was certified.
    pub score_radius: Option<Vec<f64>>,
    /// Half-width (n) of the interval around each value in which the true one lies in about 90 % of the rows whose value was hidden;
    /// in the unit of the values. From the errors of values that were held out, near the row in the graph, or of all of them if there
    /// is no graph ([`Report::parts`], `uncertainty`, says how many and how). NaN in rows no label reaches, 0 only if at least 90 % of
    /// the held-out values were exact; `None` if fewer than 10 values were held out.
    ///
    /// Errors that chose the parameters are used again, which costs a solve of ten columns on the graph. If all parameters were given,
    /// values are held out for this alone: in five fits on the same graph, or by one eigenproblem for a kernel machine. A network with
    /// a hidden layer or reweighted edges is always trained five more times.
    pub uncertainty: Option<Vec<f64>>,
    /// Weighted mean of the given values; a caller may give it to rows that no label reaches.
    pub mean: f64,
    /// Gives values to new rows (as scores); `None` if only a graph was given.
    pub extension: Option<Extension<'a>>,
    /// The graph, if this fit built it.
    pub graph: Option<AffinityGraph>,
    /// Graph, choices, solves, times and memory of the fit.
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

    /// Whether the method needs features, even if a graph is given.
    fn needs_features(&self) -> bool {
        false
    }

    /// Whether the method uses features beside a given graph.
    fn uses_both(&self) -> bool {
        self.needs_features() && self.graph_params().is_some()
    }

    /// Labels every row.
    ///
    /// # Errors
    /// [`Error`] for unusable input; [`Error::Interrupted`].
    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>>;

    /// Labels held out in turn: `folds` (l) holds the fold of each label, counted from 0, and `usize::MAX` for labels that are never
    /// held out, whose shares say nothing. Rows and graph stay.
    ///
    /// The default fits once for each fold. Methods with a closed form fit once for all.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    fn held_out<'a>(&self, problem: &Problem<'_, 'a>, folds: &[usize], run: &Run) -> Result<HeldOutFit<'a>> {
        held_out::refitted(self, problem, folds, run)
    }

    /// Whether the fit can start from shares of the classes ([`Problem::prior`]).
    fn takes_prior(&self) -> bool {
        false
    }

    /// Whether the method can read a graph as a stream of edges ([`Problem::edges`]) instead of holding it.
    fn reads_streams(&self) -> bool {
        false
    }

    /// Whether the method can read rows in blocks ([`LowRank::fit_rows`](crate::LowRank::fit_rows)) instead of holding them.
    fn reads_rows(&self) -> bool {
        false
    }

    /// The method whose fit of every problem of that size is the same, with the same parameters; `None` if there is none.
    fn same_as(&self, size: &ProblemSize) -> Option<&'static str> {
        let _ = size;
        None
    }

    /// The plan of a fit of a problem of that size.
    fn plan(&self, size: &ProblemSize) -> Plan;
}
