//! Simple-HFS: least squares on the smoothest eigenvectors of the graph (Ji, Yang, Lin, Jin & Han 2012).
//!
//! With U (n, q) the eigenvectors of the q smallest eigenvalues of L = D − W, the constant ones included, and U_S its
//! labeled rows:
//!
//! ```text
//! f = U·α,   α of least norm among those that minimize Σ over S of cᵢ (Uᵢ·α − yᵢ)²,
//! ```
//!
//! one column for each class, y one-hot or shares, cᵢ the trust in label i. f depends only on the span of U, not on the choice of
//! eigenvectors for a multiple eigenvalue. Singular values of U_S up to 1e-6 of the largest count as zero, because eigenvectors
//! are not more accurate.
//!
//! Components of the graph without a label are left out, and their rows are not reached: eigenvectors on them would get no
//! coefficient. Every other component has its own constant vector, so that q is at least their number. The largest f decides.
//! The paper states O(q⁴) for the least squares; they take O(l·q²).
//!
//! Cost: the q eigenpairs, see [`lapwing_solve::eigen`]; for the rest O(n·q·c). Memory beside graph and solver: that of the search,
//! 8·n·(2q + 144) bytes for up to 32 eigenvectors.
//!
//! For few labels [`Harmonic`](crate::Harmonic) is more accurate and cheaper, and has no q to choose.

use std::sync::Arc;

use lapwing_core::parallel::*;
use lapwing_core::params::{Parameters, at_least};
use lapwing_core::{Error, Matrix, Report, Result, Run, Targets, Warning, parameters};
use lapwing_graph::{AffinityGraph, GraphParams};
use lapwing_solve::dense::least_squares;
use lapwing_solve::eigen::{EigenParams, Eigenpairs, eigen_bytes, smallest_eigenpairs};

use crate::core::calibration::Fallback;
use crate::core::fitting::Fitting;
use crate::core::held_out::Standings;
use crate::core::parts::kept_rows;
use crate::core::plan::{PlannedGraph, Program, base_bytes, plan_graph};
use crate::{Extension, Fitted, Method, NeighborExtension, Plan, PlanStep, Problem, ProblemSize};

/// Name of the method.
pub(crate) const SIMPLE_HARMONIC: &str = "simple-harmonic";

/// Most eigenvectors by default.
const MOST_TYPICAL: usize = 100;
/// Singular values of U_S below this share of the largest are rounding errors of the eigenvectors.
const CUTOFF: f64 = 1e-6;

parameters! {
    /// Parameters of Simple-HFS.
    pub struct SimpleHarmonicParams {
        /// Number of eigenvectors q of the graph, at most that of rows. Auto is the least of l/2, 3·√l and 100 for l labeled rows,
        /// but at least one for each class.
        n_eigenvectors: Option<usize> = None, or "auto", in at_least(1.0);
    }
}

/// Classifier by least squares on smooth eigenvectors: parameters, checked.
///
/// # Example
/// ```
/// use lapwing_core::{Labels, Run, Targets};
/// use lapwing_graph::{AffinityGraph, Graph};
/// use lapwing_models::baselines::{SimpleHarmonic, SimpleHarmonicParams};
/// use lapwing_models::{Method, Problem};
///
/// // Two triangles joined by an edge: the second eigenvector separates them.
/// let edges = [(0, 1, 1.0), (0, 2, 1.0), (1, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0), (3, 5, 1.0), (4, 5, 1.0)];
/// let graph = AffinityGraph::given(Graph::from_edges(6, &edges)?);
/// let labels = Labels::from_integers([Some(0), None, None, None, None, Some(1)]);
/// let targets = Targets::one_hot(&labels, None)?;
/// let problem = Problem { graph: Some(&graph), ..Problem::new(&targets) };
/// let method = SimpleHarmonic::new(SimpleHarmonicParams::default(), Default::default())?;
/// assert_eq!(method.fit(&problem, &Run::new(None, 0)?)?.labeling.labels, [0, 0, 0, 1, 1, 1]);
/// # Ok::<(), lapwing_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SimpleHarmonic {
    params: SimpleHarmonicParams,
    graph: GraphParams,
}

impl SimpleHarmonic {
    /// Takes the parameters.
    ///
    /// # Errors
    /// [`Error::Param`] naming a parameter outside its range.
    pub fn new(params: SimpleHarmonicParams, graph: GraphParams) -> Result<Self> {
        params.check_ranges()?;
        graph.validate()?;
        Ok(Self { params, graph })
    }

    /// Number of eigenvectors for `l` labels of `c` classes, if the graph has one component.
    fn size(&self, l: usize, c: usize) -> usize {
        let most = (3.0 * (l as f64).sqrt()) as usize;
        self.params.n_eigenvectors.unwrap_or_else(|| (l / 2).min(most).min(MOST_TYPICAL).max(c))
    }

    /// f (n, c), NaN where no label reaches; and that of labeled rows without their labels, on the same eigenvectors.
    fn scores(
        &self,
        affinity: &AffinityGraph,
        fitting: &mut Fitting<'_, '_, '_>,
    ) -> Result<(Matrix, Option<Standings>)> {
        let components = fitting.components(affinity);
        let Fitting { problem: Problem { targets, .. }, run, .. } = *fitting;
        let holds = components.holding(targets.rows());
        let n_parts = holds.iter().filter(|holds| **holds).count();
        let reached: Vec<bool> = components.id.iter().map(|&id| holds[id as usize]).collect();
        let pairs = fitting.report.time("eigenvectors", run, |report| -> Result<Eigenpairs> {
            let part = (report.n_unreached > 0).then(|| affinity.graph.part(&kept_rows(&reached), &mut Vec::new()));
            let part = part.transpose()?;
            let graph = part.as_ref().unwrap_or(&affinity.graph);
            let q = self.n_eigenvectors(targets, n_parts, graph.n_samples(), report)?;
            smallest_eigenpairs(graph, q, &EigenParams::default(), run)
        })?;
        let rule = fitting.rule();
        let found = fitting.report.time("solve", run, |_| -> Result<_> {
            let basis = Basis::new(&pairs.vectors, &reached);
            let held_out = Standings::by_folds(targets, &rule, run, |kept, rows, _| {
                let alpha = basis.coefficients(kept)?;
                Matrix::new(
                    rows.len(),
                    kept.n_columns(),
                    rows.iter().flat_map(|&row| basis.score(row, &alpha)).collect(),
                )
            })?;
            Ok((basis.scores(&basis.coefficients(targets)?, run), held_out))
        })?;
        let advice = "take fewer eigenvectors (n_eigenvectors)";
        fitting.note_solve(pairs.info, &self.graph, EigenParams::default().tol, advice);
        Ok(found)
    }

    /// q for a graph of `n` rows in `n_parts` labeled components.
    fn n_eigenvectors(&self, targets: &Targets, n_parts: usize, n: usize, report: &mut Report) -> Result<usize> {
        let q = self.size(targets.rows().len(), targets.n_columns());
        if self.params.n_eigenvectors.is_none() {
            let q = q.max(n_parts).min(n);
            report.choose("n_eigenvectors", q);
            return Ok(q);
        }
        if q > n {
            let expected = format!("at most {n}, the number of rows that a label reaches");
            return Err(Error::param("n_eigenvectors", q, expected));
        }
        if q < n_parts {
            report.warnings.push(Warning::FewEigenvectors { given: q, n_components: n_parts });
        }
        Ok(q.max(n_parts))
    }
}

/// Eigenvectors of the reached rows, and the place of each row among these.
struct Basis<'u> {
    u: &'u Matrix,
    place: Vec<Option<usize>>,
}

impl<'u> Basis<'u> {
    fn new(u: &'u Matrix, reached: &[bool]) -> Self {
        let mut n_reached = 0;
        let place = reached.iter().map(|&is_reached| {
            let place = is_reached.then_some(n_reached);
            n_reached += usize::from(is_reached);
            place
        });
        Self { u, place: place.collect() }
    }

    /// α (q, c).
    fn coefficients(&self, targets: &Targets) -> Result<Matrix> {
        let mut labeled = Matrix::filled(targets.rows().len(), self.u.n_cols(), 0.0);
        let mut y = targets.values().clone();
        for (at, (&row, weight)) in targets.rows().iter().zip(targets.weights()).enumerate() {
            let scale = weight.sqrt();
            // Labeled rows are always reached.
            let own = self.u.row(self.place[row as usize].unwrap_or_default());
            labeled.row_mut(at).iter_mut().zip(own).for_each(|(out, u)| *out = scale * u);
            y.row_mut(at).iter_mut().for_each(|y| *y *= scale);
        }
        least_squares(&labeled, &y, CUTOFF)
    }

    /// U·α of a row (c); NaN where no label reaches.
    fn score(&self, row: u32, alpha: &Matrix) -> Vec<f64> {
        let Some(place) = self.place[row as usize] else { return vec![f64::NAN; alpha.n_cols()] };
        let mut out = vec![0.0; alpha.n_cols()];
        for (u, alpha) in self.u.row(place).iter().zip(alpha.rows()) {
            out.iter_mut().zip(alpha).for_each(|(out, alpha)| *out += u * alpha);
        }
        out
    }

    /// f (n, c).
    fn scores(&self, alpha: &Matrix, run: &Run) -> Matrix {
        let mut scores = Matrix::filled(self.place.len(), alpha.n_cols(), 0.0);
        run.install(|| {
            let rows = scores.values_mut().par_chunks_mut(alpha.n_cols()).enumerate().with_min_len(1024);
            rows.for_each(|(row, out)| out.copy_from_slice(&self.score(row as u32, alpha)));
        });
        scores
    }
}

impl Method for SimpleHarmonic {
    fn name(&self) -> &'static str {
        SIMPLE_HARMONIC
    }

    fn graph_params(&self) -> Option<&GraphParams> {
        Some(&self.graph)
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        let mut fitting = Fitting::new(self.name(), problem, run)?;
        let affinity = fitting.graph(&self.graph)?;
        let (scores, held_out) = self.scores(&affinity, &mut fitting)?;
        let scores = Arc::new(scores);
        let extension = NeighborExtension::from_graph(problem, &affinity, &self.graph, &scores);
        let extension = extension.map(|rows| Arc::new(rows) as Extension<'a>);
        Ok(fitting.decide(scores, held_out, Fallback::Typical, extension, affinity.into_built()))
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        let (n, c) = (size.n_samples, size.n_classes.max(2));
        let (q, base) = (self.size(size.n_labeled, c).min(n), base_bytes(Program::Graph, size));
        let PlannedGraph { mut steps, n_edges, held_bytes: held } = plan_graph(&self.graph, size);
        let mut step =
            |name: &str, bytes: usize| steps.push(PlanStep { name: name.into(), peak_bytes: (base + bytes) as u64 });
        // The solver's copy of the graph, and the search with the blocks of a solve.
        step("eigenvectors", held + 16 * n_edges + eigen_bytes(n, q) as usize + 60 * n);
        step("solve", held + 8 * n * (q + c) + 16 * n);
        step("decide", held + 2 * 8 * n * c + 48 * n);
        let passes = if size.n_edges.is_some() { 1 } else { 3 };
        Plan::from_steps(Program::Graph, n, n_edges, passes, steps)
    }
}
