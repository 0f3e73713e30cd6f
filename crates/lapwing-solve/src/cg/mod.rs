//! Block preconditioned conjugate gradients: A·X = B for s right-hand sides at once (Hestenes & Stiefel 1952).
//!
//! The columns are independent iterations with their own step lengths; they share each pass over A. A column that has converged
//! leaves the block, so that columns that need more iterations run alone. A [`Projection`] removes known vectors from the
//! iteration: the null space of a singular Laplacian, the zero-mean constraint of stable harmonic functions, or the constant
//! vector that ruins the conditioning of plain ones. If the preconditioner varies from step to step, β is that of Polak and
//! Ribière (Golub & Ye 1999).
//!
//! Cost: one product with A, one with M⁻¹ and two passes over the block per iteration; a row of the block stays in cache for all
//! work on it ([`steps`]). Memory, beside B and X: 4 blocks (n, s), 5 unless M is diagonal, of f64, or of f32 for an iteration in
//! single precision; up to one more for a short time when columns leave. Parallel over blocks of rows; sums are
//! taken block by block in row order, so that results do not depend on threads.
//!
//! Stops at ‖rᵢ‖₂ ≤ tol·‖bᵢ‖₂ for every column. The residual reported is recomputed from B − A·X at the end. If the residual of
//! the recursion had drifted from it, the column is iterated again.

mod extra;
mod info;
mod iteration;
mod params;
mod projection;
mod solution;
mod state;
pub(crate) mod steps;
#[cfg(test)]
mod tests;
mod watch;

use std::time::Instant;

use lapwing_core::parallel::*;
use lapwing_core::{Error, Matrix, Result, Run};

pub(crate) use extra::{ExtraColumns, View};
pub use info::{SolveInfo, Stop};
pub(crate) use iteration::{Guides, Krylov};
pub use params::{CgParams, Measure};
pub use projection::Projection;
pub(crate) use projection::subtract_component_means;
pub use solution::Solution;
pub(crate) use solution::Total;

use crate::blocks::BLOCK_ROWS;
use crate::columns::{column_norms, column_sums, columns, keep_columns};
use crate::precond::Inverse;
use crate::real::{Real, zeros};
use crate::{Operator, RightHandSides};

/// The residual of the recursion may drift; a column is restarted from its recomputed residual this many times.
const RESTARTS: usize = 3;
/// The recursion stopped at tol; rounding may leave the recomputed residual slightly above.
const SLACK: f64 = 1.01;

/// Share of the tolerance at which an iteration in single precision stops: the rest is for rounding errors.
const SINGLE_SHARE: f64 = 0.9;

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
    let system = System { operator, inverse, single: None, refreshed: None, projection, params, run };
    system.solve(&b.into(), start, None)
}

/// A system, and the precision in which it is solved.
pub(crate) struct System<'a> {
    pub operator: &'a dyn Operator,
    pub inverse: Inverse<'a>,
    /// The operator and M⁻¹ in single precision. If they are given, the iteration takes about half the memory and time. Residuals are recomputed in
    /// double precision now and then, so that solutions are as exact as those of an iteration in double precision; columns that stay above the
    /// tolerance nevertheless are iterated again in double precision. The number of iterations hardly changes while the condition number
    /// is far below 10⁷.
    pub single: Option<(&'a dyn Operator<f32>, Inverse<'a, f32>)>,
    /// Is told the solutions (n, s) whenever residuals are recomputed within an iteration.
    pub refreshed: Option<&'a Refreshed<'a>>,
    pub projection: Projection<'a>,
    pub params: CgParams,
    pub run: &'a Run,
}

pub(crate) type Refreshed<'a> = dyn Fn(&[f64]) -> Result<()> + Sync + 'a;

impl System<'_> {
    /// Solves with additional columns, which iterate until they are satisfied.
    pub fn solve(
        &self,
        b: &RightHandSides<'_>,
        start: Option<Matrix>,
        extra: Option<&mut dyn ExtraColumns>,
    ) -> Result<(Matrix, SolveInfo)> {
        let (n, s) = (self.operator.n(), b.n_cols());
        check_shape("right-hand side", (b.n_rows(), s), (n, s))?;
        start.as_ref().map_or(Ok(()), |start| check_shape("start", (start.n_rows(), start.n_cols()), (n, s)))?;
        let mut info = SolveInfo::new(s);
        if n == 0 || s == 0 {
            return Ok((start.unwrap_or_else(|| Matrix::filled(n, s, 0.0)), info));
        }
        let begun = Instant::now();
        // Empty for zeros.
        let mut x = start.map_or(Vec::new(), Matrix::into_values);
        let is_sure = self.attempts(b, &mut x, extra, &mut info)?;
        info.converged = is_sure && info.residuals.iter().all(|&r| self.is_within(r));
        info.reason = match info.reason {
            _ if info.converged => Stop::Converged,
            Stop::Converged => Stop::Stagnated,
            reason => reason,
        };
        info.seconds = begun.elapsed().as_secs_f64();
        let x = if x.is_empty() { zeros(n * s) } else { x };
        Ok((Matrix::new(n, s, x)?, info))
    }

    /// Iterates from `x` until recomputed residuals are within the tolerance, or no attempt is left, and returns whether the last one
    /// left no column in doubt.
    fn attempts(
        &self,
        b: &RightHandSides<'_>,
        x: &mut Vec<f64>,
        mut extra: Option<&mut dyn ExtraColumns>,
        info: &mut SolveInfo,
    ) -> Result<bool> {
        let (n, s) = (b.n_rows(), b.n_cols());
        let Self { projection, params, run, .. } = *self;
        let norms = run.install(|| b.norms());
        let mut open: Vec<usize> = (0..s).filter(|&c| norms[c] > 0.0).collect();
        zero_columns(x, &norms);
        let mut doubtful = Vec::new();
        let in_single = |(operator, inverse)| {
            let params = CgParams { tol: params.tol * SINGLE_SHARE, ..params };
            Krylov::<f32>::new(operator, inverse, projection, params, run)
        };
        let single = self.single.map(in_single).transpose()?;
        let krylov = Krylov::new(self.operator, self.inverse, projection, params, run)?;
        let last = RESTARTS + usize::from(single.is_some());
        for attempt in 0..=last {
            let residual = self.residual(&krylov, b, x, &open)?;
            let relative = run.install(|| column_norms(&residual, n, open.len()));
            open.iter().zip(relative).for_each(|(&c, r)| info.residuals[c] = r / norms[c]);
            let is_open = |c: usize| attempt == 0 && extra.is_some() || !self.is_within(info.residuals[c]);
            let unsolved: Vec<usize> = (0..open.len()).filter(|&at| is_open(open[at])).collect();
            let has_stopped = attempt > 0 && matches!(info.reason, Stop::Slow | Stop::Stagnated);
            let is_spent = unsolved.iter().all(|&at| info.iterations[open[at]] >= params.max_iter);
            if attempt == last || has_stopped || is_spent {
                break;
            }
            // The block of all columns is freed before the iteration allocates its own.
            let mut residual = run.install(|| keep_columns(residual, open.len(), &unsolved));
            open = unsolved.iter().map(|&at| open[at]).collect();
            if attempt > 0 && !x.is_empty() {
                self.balance(&mut residual, x, s, &open);
            }
            let norms: Vec<f64> = open.iter().map(|&c| norms[c]).collect();
            // Additional columns take part in the first attempt only.
            let (total, extra) = (Total { x, width: s }, extra.take());
            doubtful = match single.as_ref().filter(|_| attempt == 0) {
                Some(single) => {
                    let residual = run.install(|| f64::cast(residual));
                    let recomputed = |x: &mut [f64], open: &[usize]| self.recomputed(single, b, x, open);
                    let guides = Guides { extra, residuals: Some(&recomputed) };
                    single.iterate(residual, &norms, total, &open, info, guides)?
                }
                None => {
                    let guides = Guides { extra, residuals: None };
                    krylov.iterate(residual, &norms, total, &open, info, guides)?
                }
            };
        }
        Ok(doubtful.is_empty())
    }

    /// Whether a recomputed residual counts as solved.
    fn is_within(&self, residual: f64) -> bool {
        residual <= self.params.tol * SLACK
    }

    /// B − A·X (n, open) for the columns `open`, projected; an empty `x` stands for zeros.
    fn residual<R: Real>(
        &self,
        krylov: &Krylov<'_, R>,
        b: &RightHandSides<'_>,
        x: &[f64],
        open: &[usize],
    ) -> Result<Vec<f64>> {
        let (n, s, width, run) = (b.n_rows(), b.n_cols(), open.len(), self.run);
        if width == 0 {
            return Ok(Vec::new());
        }
        let mut residual = if x.is_empty() {
            run.install(|| b.block(open))
        } else {
            let mut product = zeros(n * width);
            if width == s {
                self.operator.apply(x, &mut product, width, run)?;
            } else {
                let x = run.install(|| columns(x, s, open));
                self.operator.apply(&x, &mut product, width, run)?;
            }
            run.install(|| b.less(&mut product, open));
            product
        };
        run.install(|| krylov.project_range(&mut residual, width));
        Ok(residual)
    }

    /// The residual of the columns `open` during an iteration; first takes off the mean of x.
    fn recomputed<R: Real>(
        &self,
        krylov: &Krylov<'_, R>,
        b: &RightHandSides<'_>,
        x: &mut [f64],
        open: &[usize],
    ) -> Result<Vec<f64>> {
        let mut residual = self.residual(krylov, b, x, open)?;
        self.balance(&mut residual, x, b.n_cols(), open);
        self.refreshed.map_or(Ok(()), |refreshed| refreshed(x))?;
        Ok(residual)
    }

    /// Takes the mean off the `residual` of the columns `open` of x, where directions are orthogonal to constants and cannot remove it:
    /// rounded directions leave one.
    fn balance(&self, residual: &mut [f64], x: &mut [f64], s: usize, open: &[usize]) {
        let Projection::OrthogonalToOnes(c) = self.projection else { return };
        let width = open.len();
        self.run.install(|| {
            let shares = shares_of_constants(&column_sums(residual, c.len(), width), c);
            add_constants(x, s, open, &shares);
            residual.par_chunks_mut(width.max(1)).zip(c).with_min_len(BLOCK_ROWS).for_each(|(r, c)| {
                r.iter_mut().zip(&shares).for_each(|(r, share)| *r -= c * share);
            });
        });
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
    krylov.iterate(r.into_values(), norms, Total { x: &mut x, width: s }, &all, &mut info, Guides::default())?;
    info.converged = info.reason == Stop::Converged;
    Ok((Matrix::new(n, s, x)?, info))
}

/// The constants whose images under A have the given `sums`, where A·1 = `c`. A singular A has none: constants change nothing.
pub(crate) fn shares_of_constants(sums: &[f64], c: &[f64]) -> Vec<f64> {
    let total: f64 = c.iter().sum();
    sums.iter().map(|sum| if total > 0.0 { sum / total } else { 0.0 }).collect()
}

/// Adds a constant to each of the columns `open` of x (n, s).
pub(crate) fn add_constants(x: &mut [f64], s: usize, open: &[usize], constants: &[f64]) {
    x.par_chunks_mut(s).with_min_len(BLOCK_ROWS).for_each(|row| {
        open.iter().zip(constants).for_each(|(&column, constant)| row[column] += constant);
    });
}

fn check_shape(what: &str, got: (usize, usize), (n, s): (usize, usize)) -> Result<()> {
    if got == (n, s) {
        return Ok(());
    }
    Err(Error::shape(what, format!("{n} × {s} values"), format!("{} × {}", got.0, got.1)))
}

/// A zero right-hand side has the solution zero, whatever the start.
fn zero_columns(x: &mut [f64], norms: &[f64]) {
    if norms.contains(&0.0) {
        x.chunks_exact_mut(norms.len()).for_each(|row| {
            row.iter_mut().zip(norms).filter(|(_, norm)| **norm == 0.0).for_each(|(v, _)| *v = 0.0);
        });
    }
}
