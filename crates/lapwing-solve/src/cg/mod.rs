//! Block preconditioned conjugate gradients: A·X = B for s right-hand sides at once (Hestenes & Stiefel 1952).
//!
//! The columns are independent iterations with their own step lengths; they share each pass over A. A column that has converged
//! leaves the block, so that columns that need more iterations run alone. A [`Projection`] removes known vectors from the
//! iteration: the null space of a singular Laplacian, the zero-mean constraint of stable harmonic functions, or the constant
//! vector that ruins the conditioning of plain ones. If the preconditioner varies from step to step, β is that of Polak and
//! Ribière (Golub & Ye 1999).
//!
//! Cost: one product with A, one with M⁻¹ and two passes over the block per iteration; a row of the block stays in cache for all
//! work on it ([`crate::steps`]). Memory, beside B and X: 4 blocks (n, s) of f64, 5 unless M is diagonal, half a block less with
//! directions in single precision; up to one more for a short time when columns leave. Parallel over blocks of rows; sums are
//! taken block by block in row order, so that results do not depend on threads.
//!
//! Stops at ‖rᵢ‖₂ ≤ tol·‖bᵢ‖₂ for every column. The residual reported is recomputed from B − A·X at the end. If the residual of
//! the recursion had drifted from it, the column is iterated again.

mod columns;
mod info;
mod iteration;
mod projection;
#[cfg(test)]
mod tests;
mod watch;

use std::time::Instant;

use lapwing_data::{Error, Matrix, Result, Run};
use rayon::prelude::*;

pub(crate) use columns::{column_sums, columns, write_columns};
pub use info::{SolveInfo, Stop};
pub(crate) use iteration::{ExtraColumns, Krylov, View};
pub use projection::Projection;
pub(crate) use projection::subtract_component_means;

use crate::Operator;
use crate::kernels::BLOCK_ROWS;
use crate::pages::Real;
use crate::precond::Inverse;
use columns::{column_norms, keep_columns};

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CgParams {
    /// Relative residual ‖b − Ax‖ / ‖b‖ at which a column counts as solved, in (0, 1); default 1e-6.
    pub tol: f64,
    /// Most iterations; default 10,000.
    pub max_iter: usize,
    /// Iterations without a new smallest residual of any column after which the solve stops as [`Stop::Stagnated`]; default none.
    pub patience: usize,
    /// Iterations after which the solve stops as [`Stop::Slow`] if, at the rate so far, as many again would not be enough;
    /// default none. After twice as many it stops also if residuals are small but estimated errors are not.
    pub budget: usize,
    /// Largest √(M⁻¹)ᵢᵢ; default 0. If above 0, √(rᵀM⁻¹r) times it estimates the largest error of a column, and a column counts
    /// as solved only when that is within tol·√n of the range of its values. The residual alone misses errors at rows of small
    /// weights.
    pub largest_deviation: f64,
    /// √trace(M⁻¹), which bounds √(rᵀM⁻¹r) by ‖r‖ times it; default ∞. For `largest_deviation` only.
    pub total_deviation: f64,
    /// Norm of the residuals; default `Residual`.
    pub measure: Measure,
    /// Whether M⁻¹ may vary from step to step; default false. Needs one more block.
    pub is_flexible: bool,
}

/// A norm of residuals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// ‖r‖₂.
    #[default]
    Residual,
    /// √(rᵀM⁻¹r), if M⁻¹ is applied within the steps.
    Energy,
}

impl Default for CgParams {
    fn default() -> Self {
        Self {
            tol: 1e-6,
            max_iter: 10_000,
            patience: usize::MAX,
            budget: usize::MAX,
            largest_deviation: 0.0,
            total_deviation: f64::INFINITY,
            measure: Measure::Residual,
            is_flexible: false,
        }
    }
}

/// The residual of the recursion may drift; a column is restarted from its recomputed residual this many times.
const RESTARTS: usize = 3;
/// The recursion stopped at tol; rounding may leave the recomputed residual slightly above.
const SLACK: f64 = 1.01;

/// Share of the tolerance at which an iteration in single precision stops: the rest is for rounding errors.
const ROUGH_SHARE: f64 = 0.9;

/// Solves A·X = B (n, s) from `start`, or from zero; returns X. Under a projection the start must satisfy it (zero does).
///
/// # Errors
/// [`Error::Shape`] for sizes that disagree; [`Error::Interrupted`]; those of the operator. Not converging is no error: see
/// [`SolveInfo`].
pub fn solve(
    operator: &dyn Operator,
    inverse: Inverse<'_>,
    projection: Projection<'_>,
    b: &Matrix,
    start: Option<Matrix>,
    params: CgParams,
    run: &Run,
) -> Result<(Matrix, SolveInfo)> {
    System { operator, directions: operator, inverse, rough: None, projection, params, run }.solve(b, start, None)
}

/// A system that is solved with directions in precision P.
pub(crate) struct System<'a, P: Real> {
    pub operator: &'a dyn Operator,
    /// The same operator, for directions. Solutions and residuals stay in double precision and agree with each other. With
    /// directions in single precision, the number of iterations hardly changes while the condition number is far below 10⁷, and
    /// half as many bytes are gathered.
    pub directions: &'a dyn Operator<P>,
    pub inverse: Inverse<'a>,
    /// The operator and M⁻¹ in single precision, for a loose tolerance. A first run with them takes half the time and is enough for nearly
    /// all columns; residuals are recomputed in double precision, and columns above the tolerance are iterated again.
    pub rough: Option<(&'a dyn Operator<f32, f32>, Inverse<'a, f32>)>,
    pub projection: Projection<'a>,
    pub params: CgParams,
    pub run: &'a Run,
}

impl<P: Real> System<'_, P> {
    /// Solves with additional columns, which iterate until they are satisfied.
    pub fn solve(
        &self,
        b: &Matrix,
        start: Option<Matrix>,
        mut extra: Option<&mut dyn ExtraColumns<f64>>,
    ) -> Result<(Matrix, SolveInfo)> {
        let (n, s) = (self.operator.n(), b.n_cols());
        let start = start.unwrap_or_else(|| Matrix::filled(n, s, 0.0));
        check_shape("right-hand side", b, n, s)?;
        check_shape("start", &start, n, s)?;
        let mut info = SolveInfo::new(s);
        if n == 0 || s == 0 {
            return Ok((start, info));
        }
        let begun = Instant::now();
        let Self { inverse, projection, params, run, .. } = *self;
        let krylov = Krylov::new(self.directions, inverse, projection, params, run)?;
        let norms = run.install(|| column_norms(b.values(), n, s));
        let mut open: Vec<usize> = (0..s).filter(|&c| norms[c] > 0.0).collect();
        let mut x = start.into_values();
        zero_columns(&mut x, &norms);
        if let (Some(rough), None, false) = (self.rough, &extra, open.is_empty()) {
            let residual = self.residual(&krylov, b, &x, &open)?;
            self.solve_roughly(rough, residual, &norms, (&mut x, s), &open, &mut info)?;
        }
        let mut doubtful = Vec::new();
        for attempt in 0..=RESTARTS {
            let residual = self.residual(&krylov, b, &x, &open)?;
            let relative = run.install(|| column_norms(&residual, n, open.len()));
            open.iter().zip(relative).for_each(|(&c, r)| info.residuals[c] = r / norms[c]);
            let is_open = |c: usize| attempt == 0 && extra.is_some() || !self.is_within(info.residuals[c]);
            let unsolved: Vec<usize> = (0..open.len()).filter(|&at| is_open(open[at])).collect();
            let has_stopped = attempt > 0 && matches!(info.reason, Stop::Slow | Stop::Stagnated);
            let is_spent = unsolved.iter().all(|&at| info.iterations[open[at]] >= params.max_iter);
            if attempt == RESTARTS || has_stopped || is_spent {
                break;
            }
            // The block of all columns is freed before the iteration allocates its own.
            let mut residual = run.install(|| keep_columns(residual, open.len(), &unsolved));
            open = unsolved.iter().map(|&at| open[at]).collect();
            if let (Projection::OrthogonalToOnes(c), true) = (projection, attempt > 0) {
                // Rounded directions have left a mean, which directions orthogonal to constants cannot remove.
                run.install(|| balance(&residual, c, &mut x, s, &open));
                residual = self.residual(&krylov, b, &x, &open)?;
            }
            let norms: Vec<f64> = open.iter().map(|&c| norms[c]).collect();
            // Additional columns take part in the first attempt only.
            doubtful = krylov.iterate(residual, &norms, (&mut x, s), &open, &mut info, extra.take())?;
        }
        info.converged = doubtful.is_empty() && info.residuals.iter().all(|&r| self.is_within(r));
        info.reason = match info.reason {
            _ if info.converged => Stop::Converged,
            Stop::Converged => Stop::Stagnated,
            reason => reason,
        };
        info.seconds = begun.elapsed().as_secs_f64();
        Ok((Matrix::new(n, s, x)?, info))
    }

    /// Adds to the columns `open` of x (n, s) what an iteration in single precision finds for their `residual` (n, open).
    fn solve_roughly(
        &self,
        (operator, inverse): (&dyn Operator<f32, f32>, Inverse<'_, f32>),
        residual: Vec<f64>,
        norms: &[f64],
        (x, s): (&mut [f64], usize),
        open: &[usize],
        info: &mut SolveInfo,
    ) -> Result<()> {
        let params = CgParams { tol: self.params.tol * ROUGH_SHARE, ..self.params };
        let krylov = Krylov::<f32, f32>::new(operator, inverse, self.projection, params, self.run)?;
        let rounded = self.run.install(|| residual.par_iter().with_min_len(BLOCK_ROWS).map(|&r| r as f32).collect());
        drop(residual);
        let norms: Vec<f64> = open.iter().map(|&c| norms[c]).collect();
        let mut found = Vec::new();
        krylov.iterate(rounded, &norms, (&mut found, s), open, info, None)?;
        self.run.install(|| {
            // A column that broke down holds values that are not finite; it stays as it was.
            let is_sound: Vec<bool> =
                column_sums(&found, self.operator.n(), s).into_iter().map(f64::is_finite).collect();
            x.par_chunks_mut(s).zip(found.par_chunks(s)).with_min_len(BLOCK_ROWS).for_each(|(x, found)| {
                let sound = x.iter_mut().zip(found).zip(&is_sound).filter(|(_, is_sound)| **is_sound);
                sound.for_each(|((x, found), _)| *x += f64::from(*found));
            });
        });
        Ok(())
    }

    /// Whether a recomputed residual counts as solved.
    fn is_within(&self, residual: f64) -> bool {
        residual <= self.params.tol * SLACK
    }

    /// B − A·X for the columns `open`, projected.
    fn residual(&self, krylov: &Krylov<'_, P, f64>, b: &Matrix, x: &[f64], open: &[usize]) -> Result<Vec<f64>> {
        let (n, s, width) = (b.n_rows(), b.n_cols(), open.len());
        let mut product = vec![0.0; n * width];
        if width == 0 {
            return Ok(product);
        }
        if x.iter().all(|x| *x == 0.0) {
            // At zero the residual is the right-hand side.
        } else if width == s {
            self.operator.apply(x, &mut product, width, self.run)?;
        } else {
            self.operator.apply(&columns(x, s, open), &mut product, width, self.run)?;
        }
        self.run.install(|| {
            product.par_chunks_mut(width).zip(b.values().par_chunks(s)).with_min_len(BLOCK_ROWS).for_each(|(p, b)| {
                p.iter_mut().zip(open).for_each(|(p, &c)| *p = b[c] - *p);
            });
            krylov.project_range(&mut product, width);
        });
        Ok(product)
    }
}

/// Solves A·X = R (n, s) from zero, with residuals relative to `norms` (s). Residuals are those of the recursion, not recomputed:
/// for operators whose products are expensive.
///
/// # Errors
/// As [`solve`].
pub fn iterate(
    operator: &dyn Operator,
    inverse: Inverse<'_>,
    projection: Projection<'_>,
    r: Matrix,
    norms: &[f64],
    params: CgParams,
    run: &Run,
) -> Result<(Matrix, SolveInfo)> {
    let (n, s) = (r.n_rows(), r.n_cols());
    let (mut x, mut info) = (Vec::new(), SolveInfo::new(s));
    if n == 0 || s == 0 {
        return Ok((r, info));
    }
    let (krylov, all) = (Krylov::new(operator, inverse, projection, params, run)?, (0..s).collect::<Vec<_>>());
    krylov.iterate(r.into_values(), norms, (&mut x, s), &all, &mut info, None)?;
    info.converged = info.reason == Stop::Converged;
    Ok((Matrix::new(n, s, x)?, info))
}

/// Adds to the columns `open` of x (n, s) the constant that makes their `residual` (n, open) sum to zero, where A·1 = `c`.
pub(crate) fn balance(residual: &[f64], c: &[f64], x: &mut [f64], s: usize, open: &[usize]) {
    let total: f64 = c.iter().sum();
    let mut constants = vec![0.0; s];
    for (&column, sum) in open.iter().zip(column_sums(residual, c.len(), open.len())) {
        // A total of 0 means a singular A: constants change nothing.
        constants[column] = if total > 0.0 { sum / total } else { 0.0 };
    }
    x.par_chunks_mut(s).with_min_len(BLOCK_ROWS).for_each(|row| {
        row.iter_mut().zip(&constants).for_each(|(x, constant)| *x += constant);
    });
}

fn check_shape(what: &str, block: &Matrix, n: usize, s: usize) -> Result<()> {
    if (block.n_rows(), block.n_cols()) == (n, s) {
        return Ok(());
    }
    Err(Error::shape(what, format!("{n} × {s} values"), format!("{} × {}", block.n_rows(), block.n_cols())))
}

/// A zero right-hand side has the solution zero, whatever the start.
fn zero_columns(x: &mut [f64], norms: &[f64]) {
    if norms.contains(&0.0) {
        x.chunks_exact_mut(norms.len()).for_each(|row| {
            row.iter_mut().zip(norms).filter(|(_, norm)| **norm == 0.0).for_each(|(v, _)| *v = 0.0);
        });
    }
}
