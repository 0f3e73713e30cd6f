//! What is to be labeled, and its size.

use lapwing_core::{EdgeSource, Error, Features, Matrix, Report, Result, Run, Targets, check_memory};
use lapwing_graph::AffinityGraph;
use serde::Serialize;

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

    /// Its size, for a [plan](crate::Method::plan).
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

impl ProblemSize {
    /// The size of a part of `n_samples` of the rows, which is held.
    pub fn part(self, n_samples: usize) -> Self {
        let n_samples = n_samples.min(self.n_samples);
        let input_bytes = (self.input_bytes as u128 * n_samples as u128 / self.n_samples.max(1) as u128) as usize;
        Self { n_samples, input_bytes, n_labeled: self.n_labeled.min(n_samples), streamed: false, ..self }
    }
}
