//! One run of conjugate gradients with one preconditioner, and what it certifies.
//!
//! [`Engine`] is what the run iterates with, [`Task`] what it solves, [`Certified`] the error bounds found so far.

use lapwing_data::{Matrix, Result, Run};
use rayon::prelude::*;

use super::applied::{Applied, Scaled};
use super::certificate::{Certificate, Goal, Space, variances};
use super::ladder::Placed;
use super::monitor::{Monitor, Outcome, count_open};
use super::scales::scale_columns;
use super::{Constraint, LaplacianInfo, LaplacianSolver, PreconditionerChoice};
use crate::Operator;
use crate::cg::{CgInfo, CgParams, Company, Projection, balance, solve_in_company, subtract_component_means};
use crate::kernels::{BLOCK_ROWS, column_dots};
use crate::precond::{Bounded, Coarse, TwoLevel};

/// Iterations with the diagonal that cost as much as building a factor and using it, on graphs that mix: measured are 270 on
/// chains of random pieces, some 400 on neighbor graphs, and about as many for ten right-hand sides.
const BUDGET: usize = 300;
/// The same for graphs of few edges, whose factors are cheap.
const SPARSE_BUDGET: usize = 100;
/// Edges for each vertex up to which a graph is one of these: trees, grids, meshes.
const SPARSE_EDGES: usize = 3;
/// Smaller tolerances need search directions in double precision.
const LEAST_SINGLE_TOL: f64 = 1e-9;
/// A residual counts as rounding error up to this many units of rounding of the solution.
const ROUNDING: f64 = 16.0;
/// A larger residual never counts as rounding error: the solution would be useless.
const MOST_ROUNDING: f64 = 1e-3;
/// A factor is replaced after this many iterations without progress.
const PATIENCE: usize = 40;

/// What conjugate gradients iterate with.
pub(super) struct Engine<'a> {
    pub preconditioner: Box<dyn Bounded + 'a>,
    pub projection: Projection<'a>,
    pub space: Space<'a>,
    pub is_factor: bool,
}

/// What is to be solved for.
pub(super) struct Task<'a> {
    pub b: &'a Matrix,
    /// Exponents by which its columns are scaled.
    pub scales: &'a [f64],
    pub goal: Option<&'a dyn Goal>,
    /// Whether there is a better preconditioner.
    pub may_climb: bool,
}

/// What is certified so far, in the solver's order of rows.
#[derive(Default)]
pub(super) struct Certified {
    pub certificate: Certificate,
    pub outcome: Option<Outcome>,
    /// Whether rows that bounds on recomputed residuals left open have been given a second chance.
    pub is_second: bool,
}

impl Certified {
    /// √v for the preconditioner about to be used.
    fn begin(&mut self, engine: &Engine<'_>, n: usize) -> Vec<f64> {
        let (mut deviations, total) = variances(&*engine.preconditioner, &engine.space, n);
        deviations.iter_mut().for_each(|v| *v = v.sqrt());
        self.certificate.total_deviation = total.sqrt();
        deviations
    }

    /// Takes over what a watched run has found out.
    fn end(&mut self, monitor: &mut Monitor<'_>) {
        let certificate = &mut self.certificate;
        self.outcome = Some(monitor.outcome);
        certificate.is_exhausted = matches!(monitor.outcome, Outcome::Settled | Outcome::Stuck);
        // With the same preconditioner the larger bound counts, at the price of both risks.
        let is_same = self.is_second;
        let lambda = monitor.probes.bound();
        certificate.errors.lambda = if is_same { lambda.max(certificate.errors.lambda) } else { lambda };
        certificate.failure = monitor.probes.failure() * if is_same { 2.0 } else { 1.0 };
        if let (false, Some(iterations)) = (is_same, monitor.n_iter_residual) {
            certificate.n_iter_residual += iterations;
        }
    }

    /// Bounds from residuals that are computed anew.
    pub fn certify(&mut self, solver: &LaplacianSolver, engine: &Engine<'_>, task: &Task<'_>, x: &Matrix) {
        let lambda = self.certificate.errors.lambda;
        let exact = solver.error_bounds(&*engine.preconditioner, &engine.space, (task.b, x), task.scales, lambda);
        self.certificate.errors = exact;
    }

    /// Whether rows are open that the recursion took for settled: its residual had drifted.
    pub fn wants_more(&mut self, goal: &dyn Goal, x: &Matrix, scales: &[f64]) -> bool {
        match self.outcome {
            Some(Outcome::Settled) if !self.is_second => {}
            Some(Outcome::Drifted) if !self.is_second => {
                self.is_second = true;
                return true;
            }
            _ => return false,
        }
        let mut solution = x.clone();
        scale_columns(&mut solution, scales, -1.0);
        let settled = goal.settled(&solution, &self.certificate.deviations, &self.certificate.errors);
        self.is_second = count_open(&solution, &self.certificate.deviations, &settled) > 0;
        self.is_second
    }
}

impl LaplacianSolver {
    pub(super) fn two_level<'a>(&'a self, coarse: &'a Coarse) -> TwoLevel<'a> {
        TwoLevel { jacobi: &self.jacobi, coarse, scaling: self.scaling.as_deref() }
    }

    /// The preconditioner to iterate with, a factor if there is one, and the space of the solutions.
    pub(super) fn engine<'a>(&'a self, placed: Option<&'a Placed>, constraint: Constraint) -> Engine<'a> {
        let is_one_component = self.singular.sizes == [self.n()];
        let (mut projection, mut space) = match constraint {
            Constraint::ZeroMean if !is_one_component => (Projection::ZeroMean, Space::ZeroMean),
            Constraint::None if self.singular.sizes.is_empty() => (Projection::None, Space::Free),
            _ => {
                let (ids, sizes) = (self.singular.ids.as_slice(), self.singular.sizes.as_slice());
                (Projection::Components { ids, sizes }, Space::Components { ids, sizes })
            }
        };
        if let Some(placed) = placed {
            let preconditioner = Box::new(Applied { solver: self, placed });
            return Engine { preconditioner, projection, space, is_factor: true };
        }
        if let Some(coarse) = &self.coarse {
            let preconditioner = Box::new(self.two_level(coarse));
            return Engine { preconditioner, projection, space, is_factor: false };
        }
        let is_free = matches!(projection, Projection::None) && self.scaling.is_none();
        if is_free && self.chosen != PreconditionerChoice::None {
            projection = Projection::OrthogonalToOnes(self.matrix.shift());
            space = Space::Orthogonal { c: self.matrix.shift() };
        }
        Engine { preconditioner: Box::new(&self.jacobi), projection, space, is_factor: false }
    }

    /// One run of conjugate gradients, from and into `x`.
    pub(super) fn attempt(
        &self,
        engine: &Engine<'_>,
        task: &Task<'_>,
        x: &mut Matrix,
        certified: &mut Certified,
        before: &LaplacianInfo,
        run: &Run,
    ) -> Result<CgInfo> {
        let spent = before.iterations.iter().copied().max().unwrap_or(0);
        let mut params = CgParams {
            tol: self.params.tol,
            max_iter: self.params.max_iter.saturating_sub(spent).max(1),
            ..CgParams::default()
        };
        let operator: &dyn Operator = match &self.scaling {
            Some(_) => &Scaled(self),
            None => &self.matrix,
        };
        if engine.is_factor {
            params.patience = PATIENCE;
        } else if self.params.preconditioner == PreconditionerChoice::Auto {
            params.budget = if is_sparse(self.matrix.n_entries(), self.n()) { SPARSE_BUDGET } else { BUDGET };
            // The trial has shown that the graph mixes; right-hand sides are scaled to 1.
            params.single_directions = self.fits_single && self.params.tol >= LEAST_SINGLE_TOL;
        }
        if let Projection::OrthogonalToOnes(_) = engine.projection {
            self.balance(task.b, x);
        }
        let preconditioner = &*engine.preconditioner;
        let (projection, b) = (engine.projection, task.b);
        let largest = |variances: &[f64]| variances.iter().fold(0.0f64, |most, &v| most.max(v)).sqrt();
        let Some(goal) = task.goal else {
            params.largest_deviation = largest(&preconditioner.variances());
            return solve_in_company(operator, preconditioner, projection, b, x, params, None, run);
        };
        let deviations = certified.begin(engine, self.n());
        params.largest_deviation = deviations.iter().fold(0.0, |most, &d| most.max(d));
        let project = |noise: &mut [f64], m: usize| self.project_noise(engine, noise, m);
        let mut monitor =
            Monitor::new(goal, preconditioner, &deviations, task.scales, &project, params.single_directions, run);
        (monitor.is_factor, monitor.may_climb) = (engine.is_factor, task.may_climb);
        if certified.is_second {
            monitor.known_lambda = certified.certificate.errors.lambda;
        }
        monitor.attempt = before.preconditioners.len();
        let company: &mut dyn Company = &mut monitor;
        let info = solve_in_company(operator, preconditioner, projection, b, x, params, Some(company), run)?;
        certified.end(&mut monitor);
        certified.certificate.deviations = deviations;
        Ok(info)
    }

    /// Brings random residuals into the range of the system. Those of a factor of a singular system are there.
    pub(super) fn project_noise(&self, engine: &Engine<'_>, noise: &mut [f64], m: usize) {
        match engine.space {
            Space::Free => {}
            Space::Components { .. } if engine.is_factor => {}
            Space::Components { ids, sizes } => subtract_component_means(noise, m, ids, sizes),
            Space::ZeroMean | Space::Orthogonal { .. } => {
                subtract_component_means(noise, m, &vec![0; self.n()], &[self.n()]);
            }
        }
    }

    /// Adds to each column of x the constant that makes its residual add up to zero: 1ᵀA1 = Σ D.
    pub(super) fn balance(&self, b: &Matrix, x: &mut Matrix) {
        let s = b.n_cols();
        let mut residual = vec![0.0; b.values().len()];
        self.matrix.apply(x.values(), &mut residual, s);
        residual.par_iter_mut().zip(b.values()).with_min_len(BLOCK_ROWS).for_each(|(r, b)| *r = b - *r);
        balance(&residual, self.matrix.shift(), x, &(0..s).collect::<Vec<_>>());
    }

    /// Whether all columns beyond the tolerance have residuals within ROUNDING·ε·‖2·diag(A)·x‖, what the last bits of x make.
    pub(super) fn is_rounding(&self, b: &Matrix, x: &Matrix, residuals: &[f64]) -> bool {
        let (n, s) = (self.n(), b.n_cols());
        let mut terms = x.values().to_vec();
        let diagonal = match self.scaling {
            Some(_) => Scaled(self).diagonal(),
            None => self.matrix.diagonal(),
        };
        for (row, diagonal) in terms.chunks_exact_mut(s).zip(diagonal) {
            row.iter_mut().for_each(|x| *x *= 2.0 * diagonal);
        }
        let squares = column_dots(&terms, &terms, n, s);
        let norms = column_dots(b.values(), b.values(), n, s);
        let limit = |c: usize| (ROUNDING * f64::EPSILON * (squares[c] / norms[c]).sqrt()).min(MOST_ROUNDING);
        (0..s).all(|c| residuals[c] <= self.params.tol || residuals[c] <= limit(c))
    }
}

/// Whether a graph of n vertices has so few edges, stored in both directions, that a factor is cheap.
pub(super) fn is_sparse(n_entries: usize, n: usize) -> bool {
    n_entries <= 2 * SPARSE_EDGES * n
}
