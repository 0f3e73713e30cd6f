//! Laplacian SVM and Laplacian regularized least squares: kernel machines that are smooth over a graph of all rows, labeled and
//! unlabeled, and that label new rows directly (Melacci & Belkin, Laplacian support vector machines trained in the primal, JMLR
//! 12, 2011).
//!
//! ```text
//! min over α, b of ½·[Σ over labeled i of cᵢ·loss(yᵢ, fᵢ + b) + γ_A·αᵀKα + γ_I·fᵀL^p f],   f = K·α
//! ```
//!
//! The loss is the squared hinge max(0, 1 − y·o)² or squares (o − y)², one class against the rest. There are no factors 1/l or
//! 1/n: γ_A and γ_I are those of the paper. Solvers are Newton's method on matrices of labeled rows (`newton.rs`), preconditioned
//! conjugate gradients that stop once labels are stable (`pcg.rs`), and, for the hinge itself, the dual (`dual.rs`). With γ_I = 0
//! the machine is fitted on the labeled rows alone.
//!
//! Departures from the paper: the bias has an equation of its own, exact for every Laplacian, while the paper's takes L·1 = 0;
//! Newton steps are on the labeled rows after one factorization, for all classes; γ_A and γ_I can be chosen by cross-validation
//! (`select.rs`); with landmarks, K is a factor Z·Zᵀ and no matrix of size n² is formed.
//!
//! Cost: O(n²·d) for the Gram matrix, half of it stored (n²·2 bytes in single precision, n²·4 in double); Newton ⅔·n³ once;
//! conjugate gradients n² per iteration and problem, usually √n iterations; with k landmarks O(n·k·(d + k)) in all and 4·n·k
//! bytes. Everything is parallel over blocks of fixed size, whose sums are added in order: results do not depend on threads.
//!
//! [`Harmonic`](crate::Harmonic) is cheaper, for labels on the rows of the fit alone.

mod basis;
mod dual;
mod extension;
mod gram;
mod kernel;
mod loss;
mod machine;
mod newton;
mod objective;
mod params;
mod pcg;
mod plan;
mod select;
mod smoothness;
mod stopping;
#[cfg(test)]
mod tests;
mod validation;

use std::sync::Arc;

use lapwing_core::{Error, Features, Matrix, Result, Run};
use lapwing_graph::{AffinityGraph, GraphParams};

use crate::core::extend::{Extend, Extension};
use crate::core::method::refitted;

pub(crate) use extension::{KIND, KernelExtension};
pub use kernel::Kernel;
pub use params::{KernelKind, KernelLandmarks, KernelSolver, LapSvmParams, LaplacianKind, Stopping};
pub use validation::{FitOptions, ValidationSet};

use self::loss::LossKind;
use self::machine::Machine;
use self::select::LeftOut;
use self::smoothness::Smoothness;
use crate::core::calibration::Fallback;
use crate::core::fitting::Fitting;
use crate::{Fitted, FittedRegression, HeldOutFit, Method, Plan, Problem, ProblemSize};

/// Name of the method with the squared hinge.
pub(crate) const LAPSVM: &str = "lapsvm";
/// Most labels that are held out in closed form, which takes l³ operations.
const MOST_IN_CLOSED_FORM: usize = 3000;
/// Name of the method with squares.
pub(crate) const LAPRLS: &str = "laprls";

/// Laplacian SVM or Laplacian regularized least squares with validated parameters.
///
/// # Example
/// ```
/// use lapwing_core::{Features, Labels, Run, Targets};
/// use lapwing_models::{LapSvm, LapSvmParams, Method, Problem};
///
/// // Two rows of points, one label each: the kernel alone would cut between the labels, the graph follows the rows.
/// let points: Vec<f64> = (0..40).flat_map(|i| [f64::from(i % 20), if i < 20 { 0.0 } else { 4.0 }]).collect();
/// let features = Features::from_f64(40, 2, points)?;
/// let labels = Labels::from_integers((0..40).map(|i| match i { 0 => Some(0), 39 => Some(1), _ => None }));
/// let targets = Targets::one_hot(&labels, None)?;
/// let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
/// let graph = lapwing_graph::GraphParams { n_neighbors: 4, ..Default::default() };
/// let run = Run::new(None, 0)?;
/// let fitted = LapSvm::new(LapSvmParams::default(), graph)?.fit(&problem, &run)?;
/// assert!((0..40).all(|row| fitted.labeling.labels[row] == u32::from(row >= 20)));
/// // New rows need no graph.
/// let new = Features::from_f64(2, 2, vec![10.5, 0.5, 3.0, 3.5])?;
/// let scores = fitted.extension.unwrap().scores_of(&new, &run)?;
/// assert_eq!(fitted.rule.apply(scores.into())?.labels, [0, 1]);
/// # Ok::<(), lapwing_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LapSvm {
    params: LapSvmParams,
    graph: GraphParams,
    loss: LossKind,
}

/// A fit before the decision rule.
struct Trained<'a> {
    /// Values of all problems at every row (n, k), bias included.
    scores: Matrix,
    extension: KernelExtension<'a>,
    graph: Option<AffinityGraph>,
    left_out: LeftOut,
}

/// Renames `bandwidth` to `graph_bandwidth` in an error about the graph's weights: `bandwidth` is that of the kernel.
fn of_graph(error: Error) -> Error {
    match error {
        Error::Param { name, value, expected } if name == "bandwidth" => {
            Error::param("graph_bandwidth", value, expected)
        }
        error => error,
    }
}

impl LapSvm {
    /// With the squared hinge; or the hinge, by `solver: Dual`.
    ///
    /// # Errors
    /// [`Error::Param`] naming a parameter outside its range.
    pub fn new(params: LapSvmParams, graph: GraphParams) -> Result<Self> {
        params.validate()?;
        graph.validate().map_err(of_graph)?;
        Ok(Self { params, graph, loss: LossKind::SquaredHinge })
    }

    /// With squares: Laplacian regularized least squares, for classes and values.
    ///
    /// # Errors
    /// As [`LapSvm::new`]; [`Error::Param`] for the dual solver, which needs the hinge.
    pub fn least_squares(params: LapSvmParams, graph: GraphParams) -> Result<Self> {
        if params.solver == KernelSolver::Dual {
            return Err(Error::param("solver", "dual", "auto, newton or cg: least squares need no dual"));
        }
        Ok(Self { loss: LossKind::Squares, ..Self::new(params, graph)? })
    }

    /// Labels every row; `inputs` decide when conjugate gradients stop and where they start.
    ///
    /// # Errors
    /// As [`Method::fit`]; [`Error::Shape`] for validation rows that do not fit.
    pub fn fit_with<'a>(
        &self,
        problem: &Problem<'_, 'a>,
        options: &FitOptions<'_, '_>,
        run: &Run,
    ) -> Result<Fitted<'a>> {
        self.fit_both(problem, options, None, run).map(|(fitted, _)| fitted)
    }

    /// The fit, and the scores of labeled rows (l, c) without the labels of their folds if there are `folds`.
    fn fit_both<'a>(
        &self,
        problem: &Problem<'_, 'a>,
        options: &FitOptions<'_, '_>,
        folds: Option<&[usize]>,
        run: &Run,
    ) -> Result<(Fitted<'a>, Option<Matrix>)> {
        let mut fitting = Fitting::new(self.name(), problem, run)?;
        let Trained { scores, extension, graph, left_out } = self.train(&mut fitting, options, folds, false)?;
        let (scores, extension) = (Arc::new(scores), Some(Arc::new(extension) as Extension<'a>));
        Ok((fitting.decide(scores, left_out.held_out, Fallback::Typical, extension, graph), left_out.folded))
    }

    /// Values for every row of a regression, by least squares: `problem.targets` has one column.
    ///
    /// # Errors
    /// As [`Method::fit`]; [`Error::Param`] for the hinge, which is a loss for classes only.
    pub fn regress<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<FittedRegression<'a>> {
        let mut fitting = Fitting::regression(self.name(), problem, run)?;
        if self.loss != LossKind::Squares {
            return Err(Error::param("method", LAPSVM, format!("{LAPRLS} for a regression")));
        }
        let Trained { scores, extension, graph, left_out } =
            self.train(&mut fitting, &FitOptions::default(), None, true)?;
        let uncertainty = fitting.uncertainty(problem.graph.or(graph.as_ref()), |_| Ok(left_out.errors))?;
        let regressed = fitting.regressed(Arc::new(scores), Some(Arc::new(extension)), graph);
        Ok(FittedRegression { uncertainty, ..regressed })
    }

    fn train<'a>(
        &self,
        fitting: &mut Fitting<'_, '_, 'a>,
        options: &FitOptions<'_, '_>,
        folds: Option<&[usize]>,
        is_regression: bool,
    ) -> Result<Trained<'a>> {
        let features = fitting.features()?;
        if let Some(set) = options.validation.filter(|set| set.features.n_cols() != features.n_cols()) {
            let expected = format!("{} columns, as the features", features.n_cols());
            return Err(Error::shape("validation rows", expected, format!("{} columns", set.features.n_cols())));
        }
        if self.params.graph_reg == Some(0.0) {
            return self.supervised(features, options.validation, folds, is_regression, fitting);
        }
        if fitting.problem.graph.is_none() && self.params.kernel == KernelKind::Precomputed {
            let expected = "a graph beside the Gram matrix, which none can be built from, or graph_reg 0";
            return Err(Error::param("kernel", "precomputed", expected));
        }
        let affinity = fitting.described_graph(&self.graph).map_err(of_graph)?;
        // The normalized Laplacian has no unit. The combinatorial one has the unit of the weights, so the weights stay.
        let moderate = affinity.graph.moderate();
        if moderate.is_some() && self.params.laplacian == LaplacianKind::Combinatorial {
            let reason = "weights reach beyond 2^300 or below 2^-300; scale them, or take the normalized Laplacian";
            return Err(Error::graph(reason));
        }
        let graph = moderate.as_ref().map_or(&affinity.graph, |(graph, _)| graph);
        let smoothness = Smoothness::new(graph, self.params.laplacian, self.params.laplacian_power);
        let machine =
            Machine { params: &self.params, loss: self.loss, features, smoothness: Some(&smoothness), is_regression };
        let Fitting { problem, ref mut report, run } = *fitting;
        let (scores, extension, left_out) = machine.train(problem.targets, options, folds, report, run)?;
        Ok(Trained { scores, extension, graph: affinity.into_built(), left_out })
    }

    /// The fit without a graph, on labeled rows only.
    fn supervised<'a>(
        &self,
        features: &Features<'a>,
        validation: Option<ValidationSet<'_, '_>>,
        folds: Option<&[usize]>,
        is_regression: bool,
        fitting: &mut Fitting<'_, '_, 'a>,
    ) -> Result<Trained<'a>> {
        let Fitting { problem: Problem { targets, .. }, ref mut report, run } = *fitting;
        let labeled = targets.rows();
        let is_given = self.params.kernel == KernelKind::Precomputed;
        let own = if is_given { gram_among(features, labeled)? } else { features.select(labeled)? };
        let all: Vec<u32> = (0..labeled.len() as u32).collect();
        let compact = targets.moved(labeled.len(), all)?;
        let cut;
        let validation = match validation {
            Some(set) if is_given => {
                cut = select_columns(set.features, labeled)?;
                Some(ValidationSet { features: &cut, ..set })
            }
            other => other,
        };
        let machine =
            Machine { params: &self.params, loss: self.loss, features: &own, smoothness: None, is_regression };
        let (_, extension, mut left_out) = machine
            .train(&compact, &FitOptions { validation, start: None }, folds, report, run)
            .map_err(|error| error.at_rows("features", |row| labeled[row] as usize))?;
        let extension = if is_given { extension.widened(features.n_cols(), labeled) } else { extension };
        let scores = report.time("extend", run, |_| extension.scores_of(features, run))?;
        // The machine counts labeled rows only.
        let standings = left_out.held_out.iter_mut().flat_map(|standings| &mut standings.rows);
        let errors = left_out.errors.iter_mut().flat_map(|errors| &mut errors.rows);
        standings.chain(errors).for_each(|row| *row = labeled[*row as usize]);
        Ok(Trained { scores, extension, graph: None, left_out })
    }
}

/// The rows and columns of a Gram matrix that belong to some rows.
fn gram_among(gram: &Features<'_>, rows: &[u32]) -> Result<Features<'static>> {
    if gram.n_cols() != gram.n_rows() {
        let (n, found) = (gram.n_rows(), gram.n_cols());
        return Err(Error::shape(
            "the Gram matrix",
            format!("{n} columns, as it has rows"),
            format!("{found} columns"),
        ));
    }
    select_columns(&gram.select(rows)?, rows)
}

/// Some columns of similarities.
fn select_columns(features: &Features<'_>, columns: &[u32]) -> Result<Features<'static>> {
    let Features::Dense(dense) = features else {
        return Err(Error::shape("the Gram matrix", "a dense array", "a sparse one"));
    };
    let mut row = vec![0.0; dense.n_cols()];
    let mut values = Vec::with_capacity(dense.n_rows() * columns.len());
    for at in 0..dense.n_rows() {
        dense.copy_row_f64(at, &mut row);
        values.extend(columns.iter().map(|&column| row[column as usize]));
    }
    Features::from_f64(dense.n_rows(), columns.len(), values)
}

impl Method for LapSvm {
    fn name(&self) -> &'static str {
        match self.loss {
            LossKind::SquaredHinge => LAPSVM,
            LossKind::Squares => LAPRLS,
        }
    }

    fn graph_params(&self) -> Option<&GraphParams> {
        (self.params.graph_reg != Some(0.0)).then_some(&self.graph)
    }

    fn needs_features(&self) -> bool {
        true
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        self.fit_with(problem, &FitOptions::default(), run)
    }

    /// In closed form, for the least-squares machine; the kernel is computed once for the folds and the fit.
    fn held_out<'a>(&self, problem: &Problem<'_, 'a>, folds: &[usize], run: &Run) -> Result<HeldOutFit<'a>> {
        if problem.targets.rows().len() > MOST_IN_CLOSED_FORM {
            return refitted(self, problem, folds, run);
        }
        let (fitted, scores) = self.fit_both(problem, &FitOptions::default(), Some(folds), run)?;
        let missing = || Error::Internal { reason: "a kernel machine did not hold out its folds".into() };
        let scores = Arc::new(scores.ok_or_else(missing)?);
        let shares = run.install(|| fitted.rule.decide(scores)).label_distributions;
        Ok(HeldOutFit { shares, fitted: Some(fitted) })
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        plan::plan(&self.params, &self.graph, size)
    }
}
