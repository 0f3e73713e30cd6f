//! Attempts at a block of columns, one for each preconditioner, and the error bounds they certify.
//!
//! [`Certified`] are the error bounds found so far.

use std::sync::OnceLock;

use lapwing_core::{Error, Matrix, Result, Run};

use super::PreconditionerChoice;
use super::certificate::variances;
use super::choice::is_sparse;
use super::fallback::Ladder;
use super::goal::{Certificate, Goal, Scaled, count_open};
use super::monitor::{Monitor, Outcome};
use super::task::{Columns, Engine, Task};
use crate::RightHandSides;
use crate::blocks::column_dots;
use crate::cg::{self, CgParams, Projection, SolveInfo, Stop, add_constants, shares_of_constants};
use crate::columns::column_sums;
use crate::precond::{FallbackLevel, Inverse};
use crate::real::zeros;

/// Iterations with the diagonal that cost as much as building a factor and using it, on graphs that mix fast. Measured: 270 on
/// chains of random pieces, some 400 on neighbor graphs, and about as many for ten right-hand sides.
const BUDGET: usize = 300;
/// The same for graphs of few edges, whose factors are cheap.
const SPARSE_BUDGET: usize = 100;
/// Smaller tolerances need an iteration in double precision.
const LEAST_SINGLE_TOL: f64 = 1e-9;
/// A residual counts as rounding error up to this many units of rounding of the solution.
const ROUNDING: f64 = 16.0;
/// A larger residual never counts as rounding error: the solution would be useless.
const MOST_ROUNDING: f64 = 1e-3;
/// A factor is replaced after this many iterations without progress.
const PATIENCE: usize = 40;

/// Certified bounds, in the solver's order of rows.
#[derive(Default)]
pub(super) struct Certified {
    pub certificate: Certificate,
    pub outcome: Option<Outcome>,
    /// Whether a second run for the rows that recomputed residuals left open has been made.
    pub is_second: bool,
}

impl Certified {
    /// √v for the preconditioner that is used next.
    fn begin(&mut self, engine: &Engine<'_>, n: usize, run: &Run) -> Result<Vec<f64>> {
        let (mut deviations, total) = variances(engine.preconditioner(), engine.projection, n, run)?;
        deviations.iter_mut().for_each(|v| *v = v.sqrt());
        self.certificate.total_deviation = total.sqrt();
        Ok(deviations)
    }

    /// Takes over the results of a monitored attempt.
    fn end(&mut self, monitor: &mut Monitor<'_>) {
        let certificate = &mut self.certificate;
        self.outcome = Some(monitor.outcome);
        certificate.is_exhausted = matches!(monitor.outcome, Outcome::Settled | Outcome::Stuck);
        // Two runs with the same preconditioner: the larger λ is kept, and their failure probabilities add up.
        let is_same = self.is_second;
        let lambda = monitor.probes.bound();
        certificate.errors.lambda = if is_same { lambda.max(certificate.errors.lambda) } else { lambda };
        certificate.failure = monitor.probes.failure() * if is_same { 2.0 } else { 1.0 };
        if let (false, Some(iterations)) = (is_same, monitor.n_iter_residual) {
            certificate.n_iter_residual += iterations;
        }
    }

    /// Error bounds from recomputed residuals.
    fn certify(
        &mut self,
        ladder: &Ladder,
        engine: &Engine<'_>,
        columns: &Columns,
        x: &Matrix,
        run: &Run,
    ) -> Result<()> {
        let lambda = self.certificate.errors.lambda;
        self.certificate.errors = ladder.system.error_bounds(engine, columns, x, lambda, run)?;
        Ok(())
    }

    /// Whether rows are open that the recursion counted as settled, because its residual had drifted.
    fn wants_more(&mut self, goal: &dyn Goal, x: &Matrix, columns: &Columns) -> bool {
        if self.is_second || self.outcome != Some(Outcome::Settled) {
            return false;
        }
        let solution = Scaled::new(x, &columns.scales);
        let Certificate { deviations, errors, .. } = &self.certificate;
        self.is_second = count_open(goal, &solution, deviations, errors) > 0;
        self.is_second
    }
}

impl Ladder {
    /// Solves for `columns` from `x`, or from zero, with ever stronger preconditioners from `level` on until one succeeds.
    pub(super) fn attempts(
        &self,
        columns: &Columns,
        mut x: Option<Matrix>,
        goal: Option<&dyn Goal>,
        mut level: FallbackLevel,
        run: &Run,
    ) -> Result<(Matrix, SolveInfo, Certificate)> {
        let mut info = SolveInfo { discarded: columns.discarded.clone(), ..SolveInfo::new(columns.b.n_cols()) };
        let mut certified = Certified::default();
        loop {
            let placed = match self.placed(level, run) {
                // A stronger factor would be too large: the solution so far is returned instead of an error.
                Err(Error::TooLarge { .. }) if !info.preconditioners.is_empty() => break,
                placed => placed?,
            };
            let next = self.next_level(level);
            let engine = self.system.engine(placed.as_deref());
            let (number, spent) = (info.preconditioners.len(), info.n_iter());
            let task = Task { columns, goal, may_fall_back: next.is_some(), number, spent };
            let (mut found, attempt) = self.attempt(&engine, &task, x.take(), &mut certified, run)?;
            info.preconditioners.push(level);
            info.extend(attempt);
            if info.reason == Stop::Stagnated && self.is_rounding(&columns.b, &found, &info.residuals) {
                info.reason = Stop::Rounding;
            }
            let is_done = info.converged || info.reason == Stop::Rounding;
            let mut wants_more = false;
            if let Some(goal) = goal {
                self.system.discard(&mut found);
                certified.certify(self, &engine, columns, &found, run)?;
                wants_more = is_done && certified.wants_more(goal, &found, columns);
            }
            x = Some(found);
            if wants_more {
                continue;
            }
            let is_loose = next.is_some() && certified.outcome == Some(Outcome::Loose);
            match next {
                Some(next) if info.reason != Stop::MaxIter && (!is_done || is_loose) => level = next,
                _ => break,
            }
        }
        let x = x.unwrap_or_else(|| Matrix::filled(self.n(), columns.b.n_cols(), 0.0));
        Ok((x, info, certified.certificate))
    }

    /// Whether iterations without a factor are in single precision: a trial has shown that the graph mixes fast, and right-hand sides are
    /// scaled to 1.
    pub(super) fn allows_single(&self) -> bool {
        self.params.preconditioner == PreconditionerChoice::Auto
            && self.system.fits_single
            && self.params.tol >= LEAST_SINGLE_TOL
    }

    /// One run of conjugate gradients from `x`, or from zero.
    fn attempt(
        &self,
        engine: &Engine<'_>,
        task: &Task<'_>,
        mut x: Option<Matrix>,
        certified: &mut Certified,
        run: &Run,
    ) -> Result<(Matrix, SolveInfo)> {
        if let Projection::OrthogonalToOnes(_) = engine.projection {
            self.balance(&task.columns.b, &mut x);
        }
        let mut params = self.cg_params(engine, task);
        let is_single = engine.factor.is_none() && self.allows_single();
        let Some(goal) = task.goal else {
            let variances = engine.preconditioner().variances();
            params.largest_deviation = variances.iter().fold(0.0f64, |most, &v| most.max(v)).sqrt();
            params.total_deviation = variances.iter().sum::<f64>().sqrt();
            return self.prepared(engine, params, is_single, run).solve(&task.columns.b, x, None);
        };
        let deviations = certified.begin(engine, self.n(), run)?;
        params.largest_deviation = deviations.iter().fold(0.0, |most, &d| most.max(d));
        params.total_deviation = deviations.iter().map(|d| d * d).sum::<f64>().sqrt();
        let project = |noise: &mut [f64], m: usize| self.project_noise(engine, noise, m);
        let scales = &task.columns.scales;
        // Found once: it hardly changes after the residual has fallen to a thousandth.
        let rounding = OnceLock::new();
        let refreshed = |x: &[f64]| {
            if rounding.get().is_none() {
                let found = self.system.rounding_bounds(engine, task.columns, x, run)?;
                rounding.get_or_init(|| found);
            }
            Ok(())
        };
        let mut monitor = Monitor::new(goal, engine.preconditioner(), &deviations, scales, &project, is_single, run);
        monitor.rounding = Some(&rounding);
        (monitor.is_factor, monitor.may_fall_back) = (engine.factor.is_some(), task.may_fall_back);
        if certified.is_second {
            monitor.known_lambda = certified.certificate.errors.lambda;
        }
        monitor.attempt = task.number;
        let system = cg::System { refreshed: Some(&refreshed), ..self.prepared(engine, params, is_single, run) };
        let solved = system.solve(&task.columns.b, x, Some(&mut monitor))?;
        certified.end(&mut monitor);
        certified.certificate.deviations = deviations;
        Ok(solved)
    }

    fn cg_params(&self, engine: &Engine<'_>, task: &Task<'_>) -> CgParams {
        let mut params = CgParams {
            tol: self.params.tol,
            max_iter: self.params.max_iter.saturating_sub(task.spent).max(1),
            ..CgParams::default()
        };
        if engine.factor.is_some() {
            params.patience = PATIENCE;
        } else if self.params.preconditioner == PreconditionerChoice::Auto {
            params.budget = if is_sparse(&self.system.matrix) { SPARSE_BUDGET } else { BUDGET };
        }
        params
    }

    /// The system for an iteration with the preconditioner of `engine`.
    fn prepared<'a>(
        &'a self,
        engine: &'a Engine<'_>,
        params: CgParams,
        is_single: bool,
        run: &'a Run,
    ) -> cg::System<'a> {
        let (operator, inverse, projection) =
            (&self.system.matrix, engine.preconditioner().inverse(), engine.projection);
        let in_single: &dyn crate::Operator<f32> = operator;
        let single = is_single.then_some((in_single, Inverse::Fused(engine.levels)));
        cg::System { operator, inverse, single, refreshed: None, projection, params, run }
    }

    /// Projects random residuals onto the range of the system. Those of a factor of a singular system lie in it.
    fn project_noise(&self, engine: &Engine<'_>, noise: &mut [f64], m: usize) {
        if !(engine.factor.is_some() && matches!(engine.projection, Projection::Components { .. })) {
            engine.projection.remove(noise, m);
        }
    }

    /// Adds to each column of x the constant that makes its residual sum to zero: 1ᵀA1 = Σ D.
    fn balance(&self, b: &RightHandSides<'_>, x: &mut Option<Matrix>) {
        let (n, s, matrix) = (self.n(), b.n_cols(), &self.system.matrix);
        let all: Vec<usize> = (0..s).collect();
        let sums = match x {
            Some(x) => {
                let mut residual = zeros(n * s);
                matrix.product(x.values(), &mut residual, s);
                b.less(&mut residual, &all);
                column_sums(&residual, n, s)
            }
            None => {
                let sums = b.given_sums();
                // Sums that are rounding errors need no solution of constants.
                if sums.iter().all(|[sum, size]| sum.abs() <= ROUNDING * f64::EPSILON * size) {
                    return;
                }
                sums.iter().map(|[sum, _]| *sum).collect()
            }
        };
        let x = x.get_or_insert_with(|| Matrix::filled(n, s, 0.0));
        add_constants(x.values_mut(), s, &all, &shares_of_constants(&sums, matrix.shift()));
    }

    /// Whether all columns beyond the tolerance have residuals within ROUNDING·ε·‖2·diag(A)·x‖, the rounding of x to f64.
    fn is_rounding(&self, b: &RightHandSides<'_>, x: &Matrix, residuals: &[f64]) -> bool {
        let (n, s) = (self.n(), b.n_cols());
        let mut terms = x.values().to_vec();
        for (row, diagonal) in terms.chunks_exact_mut(s).zip(self.system.matrix.diagonal()) {
            row.iter_mut().for_each(|x| *x *= 2.0 * diagonal);
        }
        let squares = column_dots(&terms, &terms, n, s);
        let norms = b.norms();
        let limit = |c: usize| (ROUNDING * f64::EPSILON * (squares[c].sqrt() / norms[c])).min(MOST_ROUNDING);
        (0..s).all(|c| residuals[c] <= self.params.tol || residuals[c] <= limit(c))
    }
}
