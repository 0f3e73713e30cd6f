//! Minimizing ℓ(A·W) + (ρ/2)·‖W‖² over W (k, c), A a [`Map`], by conjugate gradients, L-BFGS, gradient descent or Adam, each with
//! or without a preconditioner P ≈ AᵀMA + ρI.
//!
//! Only the loss is nonlinear. An iteration needs one product with A, of a direction, and one with Aᵀ, of a change of the
//! residual. Errors of inexact solves are therefore relative to the steps, and products may be less accurate as the steps shrink.
//! Scores and gradient are recomputed before a result counts as converged.
//!
//! **When it ends.** If P is close, ℓ − ℓ* is estimated by gᵀP⁻¹g and from how fast the gains of steps fall, or by twice gᵀB⁻¹g
//! with B the L-BFGS matrix. Otherwise the bound ℓ − ℓ* ≤ ‖g‖²/(2ρ) decides; estimates are used without a ridge only. The bound
//! or estimate is compared with tol·ℓ*.

mod cg;
mod descent;
mod lbfgs;

use std::time::Instant;

use lapwing_core::{Matrix, Report, Result, Run, SolveSummary, Warning, fallen};

pub(crate) use cg::{cg, spectrum};
pub(crate) use descent::{Rule, descend};
pub(crate) use lbfgs::lbfgs;

use super::loss::Loss;
use super::map::{Accuracy, Map};
use super::precondition::Preconditioner;

/// Iterations after which scores and gradient are recomputed.
const RENEW: usize = 50;
/// Initial error of products relative to the gradient at the end; divided by ten whenever a recomputed gradient is larger than
/// expected.
const RELAXED: f64 = 0.1;
/// Bytes of stored directions and their products, or of stored changes.
const KEPT_BYTES: usize = 1 << 28;
/// Largest error of any product.
const LOOSEST: f64 = 0.1;

/// The objective and the rule that ends its minimization.
#[derive(Clone, Copy)]
pub(crate) struct Task<'t> {
    pub map: &'t dyn Map,
    pub loss: &'t Loss<'t>,
    /// ρ.
    pub ridge: f64,
    pub preconditioner: &'t Preconditioner,
    /// Whether P is AᵀMA + ρI up to a small factor.
    pub is_close: bool,
    /// (ℓ − ℓ*)/ℓ*.
    pub tol: f64,
    pub max_iter: usize,
    pub run: &'t Run,
}

/// How the minimization went.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    start: Instant,
    /// ℓ + penalty at the start and after each iteration.
    pub values: Vec<f64>,
    /// Seconds since the fit began at each of `values`.
    pub seconds: Vec<f64>,
    /// Estimate of ℓ − ℓ* at the end.
    pub gap: f64,
    /// tol·ℓ over `gap`.
    share: f64,
    /// The gap over the largest that is allowed: its largest so far, and the last.
    excess: Option<[f64; 2]>,
    /// Most iterations; 0 while unknown.
    max_iter: usize,
    /// Error of products relative to the gradient at the end.
    relaxed: f64,
    pub n_iter: usize,
    pub converged: bool,
    /// Estimated condition number after preconditioning.
    pub condition: Option<f64>,
}

impl Trace {
    pub fn new(start: Instant) -> Self {
        Self {
            start,
            values: Vec::new(),
            seconds: Vec::new(),
            gap: f64::INFINITY,
            share: 0.0,
            excess: None,
            max_iter: 0,
            relaxed: RELAXED,
            n_iter: 0,
            converged: false,
            condition: None,
        }
    }

    /// Records a value, and reports progress.
    pub fn note(&mut self, value: f64, run: &Run) {
        self.values.push(value);
        self.seconds.push(self.start.elapsed().as_secs_f64());
        let n_iter = self.values.len() - 1;
        let reduced = self.excess.map_or(0.0, |[largest, last]| fallen(largest, 1.0, last));
        let spent = if self.max_iter > 0 { n_iter as f64 / self.max_iter as f64 } else { 0.0 };
        run.share(reduced.max(spent), &format!("iteration {n_iter}, loss {value:.6e}"));
    }

    /// Begins to count iterations, of which there are at most `max_iter`.
    pub fn begin(&mut self, max_iter: usize) {
        (self.max_iter, self.excess) = (max_iter, None);
    }

    /// Takes the gap over the largest that is allowed, for the progress.
    pub fn look(&mut self, excess: f64) {
        if excess.is_finite() {
            let [largest, _] = self.excess.unwrap_or([excess; 2]);
            self.excess = Some([largest.max(excess), excess]);
        }
    }

    /// Takes an estimate of ℓ − ℓ*; returns whether it is small enough.
    fn reaches(&mut self, gap: f64, task: &Task<'_>) -> bool {
        let (first, value) = (self.values.first().copied().unwrap_or(0.0), self.values.last().copied().unwrap_or(0.0));
        self.gap = gap;
        self.share = task.tol * value / gap.max(f64::MIN_POSITIVE);
        self.look(self.share.recip());
        // A loss that vanishes is compared with the initial loss.
        gap <= task.tol * (value - gap).max(task.tol * first)
    }

    /// Replaces the last value by a recomputed one.
    pub fn correct(&mut self, value: f64) {
        if let Some(last) = self.values.last_mut() {
            *last = value;
        }
    }

    /// Continues with another problem, whose value is `value`.
    pub fn turn(&mut self, value: f64) {
        self.correct(value);
        (self.converged, self.relaxed) = (false, RELAXED);
    }

    /// Estimate of (ℓ − ℓ*)/ℓ* at the end.
    pub fn relative_gap(&self) -> f64 {
        let value = self.values.last().copied().unwrap_or(0.0);
        match self.gap <= f64::MIN_POSITIVE || (self.converged && value - self.gap <= 0.0) {
            true => 0.0,
            false => self.gap / (value - self.gap).max(0.0),
        }
    }

    /// The common summary of a solve.
    pub fn summary(&self, optimizer: &'static str) -> SolveSummary {
        let end = self.values.last().copied().unwrap_or(0.0) - self.gap.min(0.0);
        let first = self.values.first().copied().unwrap_or(1.0).max(f64::MIN_POSITIVE);
        SolveSummary {
            n_iter: self.n_iter,
            residual: self.relative_gap(),
            converged: self.converged,
            residual_curve: self.values.iter().map(|value| ((value - end) / first).max(0.0)).collect(),
            preconditioner: optimizer.into(),
        }
    }

    /// Warns if the training did not converge.
    pub fn note_unconverged(&self, tol: f64, advice: &'static str, report: &mut Report) {
        if !self.converged {
            let (n_iter, gap) = (self.n_iter, self.relative_gap());
            report.warnings.push(Warning::TrainingNotConverged { n_iter, gap, tol, advice });
        }
    }
}

/// Weights and the quantities that depend on them.
#[derive(Clone)]
pub(crate) struct State {
    /// W (k, c).
    pub weights: Matrix,
    /// Z (l, c).
    pub scores: Matrix,
    /// R (l, c).
    pub residual: Matrix,
    /// ∇ (k, c).
    pub gradient: Matrix,
    /// ℓ + penalty.
    pub value: f64,
}

impl State {
    /// At zero, or at given weights.
    pub fn new(weights: Option<Matrix>, task: &Task<'_>) -> Result<Self> {
        let (k, l, c) = (task.map.width(), task.loss.trust.len(), task.loss.n_outputs());
        let scores = match &weights {
            Some(weights) => task.map.forward(weights, Accuracy::Whole)?,
            None => Matrix::filled(l, c, 0.0),
        };
        let weights = weights.unwrap_or_else(|| Matrix::filled(k, c, 0.0));
        let mut state = Self {
            weights,
            scores,
            residual: Matrix::filled(0, c, 0.0),
            gradient: Matrix::filled(k, c, 0.0),
            value: 0.0,
        };
        state.evaluate(task);
        state.gradient = task.map.adjoint(&state.residual, Accuracy::Whole)?;
        add(&mut state.gradient, &state.weights, task.ridge);
        Ok(state)
    }

    /// Recomputes all quantities from the weights, which removes accumulated errors of inexact products.
    fn refresh(&mut self, task: &Task<'_>, trace: &mut Trace) -> Result<()> {
        *self = Self::new(Some(self.weights.clone()), task)?;
        trace.correct(self.value);
        Ok(())
    }

    /// As `refresh`; later products are more accurate.
    fn renew(&mut self, task: &Task<'_>, trace: &mut Trace) -> Result<()> {
        trace.relaxed *= 0.1;
        self.refresh(task, trace)
    }

    /// Value and residual of the scores.
    fn evaluate(&mut self, task: &Task<'_>) {
        let (value, residual) = task.run.install(|| task.loss.residual(&self.scores));
        self.value = value + 0.5 * task.ridge * dot(&self.weights, &self.weights);
        self.residual = residual;
    }

    /// Steps along a direction (k, c) whose scores are known, and updates the gradient; returns the change of the gradient.
    pub fn advance(
        &mut self,
        direction: &Matrix,
        scores: &Matrix,
        step: f64,
        accuracy: Accuracy,
        task: &Task<'_>,
    ) -> Result<Matrix> {
        add(&mut self.weights, direction, step);
        add(&mut self.scores, scores, step);
        let old = self.residual.clone();
        self.evaluate(task);
        let mut change = self.residual.clone();
        add(&mut change, &old, -1.0);
        let mut change = task.map.adjoint(&change, accuracy)?;
        add(&mut change, direction, step * task.ridge);
        add(&mut self.gradient, &change, 1.0);
        Ok(change)
    }
}

impl Task<'_> {
    /// Accuracy of the products of the next iteration. The errors of all products stay in the gradient, which ends at √share of
    /// its current size (inexact Krylov methods: van den Eshof & Sleijpen 2004, Simoncini & Szyld 2003).
    fn accuracy(&self, trace: &Trace) -> Accuracy {
        Accuracy::Step((trace.relaxed * trace.share.sqrt()).min(LOOSEST))
    }

    /// ‖g‖²/(2ρ), an upper bound on ℓ − ℓ*; infinite without a ridge.
    pub fn bound(&self, gradient: &Matrix) -> f64 {
        if self.ridge > 0.0 { dot(gradient, gradient) / (2.0 * self.ridge) } else { f64::INFINITY }
    }

    /// ℓ − ℓ*: its bound, or an estimate if P is close or there is no ridge.
    fn gap(&self, gradient: &Matrix, estimate: f64) -> f64 {
        let bound = self.bound(gradient);
        if self.is_close || bound.is_infinite() { estimate.min(bound) } else { bound }
    }
}

/// Σ aᵢ·bᵢ.
pub(crate) fn dot(a: &Matrix, b: &Matrix) -> f64 {
    a.values().iter().zip(b.values()).map(|(a, b)| a * b).sum()
}

/// A ← A + factor·B.
pub(crate) fn add(a: &mut Matrix, b: &Matrix, factor: f64) {
    a.values_mut().iter_mut().zip(b.values()).for_each(|(a, b)| *a += factor * b);
}
