//! Block preconditioned conjugate gradients: A·X = B for s right-hand sides at once (Hestenes & Stiefel 1952).
//!
//! The columns are independent iterations with their own step lengths; what they share is each pass over A. A column
//! that has converged leaves the block, so the last ones do not pay for the first. A [`Projection`] takes known vectors
//! out of the iteration: the null space of a singular Laplacian, the zero-mean constraint of stable harmonic functions,
//! or the constant vector that ruins the conditioning of plain ones.
//!
//! Cost: one product with A, one with M⁻¹ and two passes over the block per iteration; what is done to a row of the
//! block is done while it is in cache ([`crate::steps`]). Memory, beside B and X: 4 blocks (n, s) of f64, 5 unless M is
//! diagonal, half a block less with directions in single precision; for a moment up to one more when columns leave.
//! Parallel over blocks of rows; sums are taken block by block in row order, so results do not depend on threads.
//!
//! Stops at ‖rᵢ‖₂ ≤ tol·‖bᵢ‖₂ for every column. The residual reported is recomputed from B − A·X at the end; a column
//! whose recursive residual had drifted from it is iterated again.

use std::time::Instant;

use lapwing_data::{Error, Matrix, Result, Run};
use rayon::prelude::*;
use serde::Serialize;

use crate::Operator;
use crate::kernels::{BLOCK_ROWS, column_dots, reduce};
use crate::pages::{Real, zeros};
use crate::precond::Preconditioner;
use crate::steps::{self, Correction, Turn};

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CgParams {
    /// Relative residual ‖b − Ax‖ / ‖b‖ at which a column counts as solved, in (0, 1); default 1e-6.
    pub tol: f64,
    /// Most iterations; default 10,000.
    pub max_iter: usize,
    /// Iterations without a new smallest residual of any column after which it stops as [`Stop::Stagnated`]; default none.
    pub patience: usize,
    /// Iterations after which it stops as [`Stop::Slow`] if, at the rate so far, as many again would not do; default
    /// none.
    pub budget: usize,
    /// Whether directions are stored in single precision; default false. Solutions and residuals stay in double precision and
    /// agree with each other; iterations hardly change while the condition number is far below 10⁷, and half as many bytes
    /// are gathered.
    pub single_directions: bool,
}

impl Default for CgParams {
    fn default() -> Self {
        Self { tol: 1e-6, max_iter: 10_000, patience: usize::MAX, budget: usize::MAX, single_directions: false }
    }
}

/// Known vectors to be kept out of the iteration.
#[derive(Clone, Copy, Debug)]
pub enum Projection<'a> {
    /// Nothing: A is positive definite and well enough conditioned.
    None,
    /// A is singular on the indicators of some components: what the right-hand side and the solution have of them is
    /// dropped.
    Components {
        /// Component of each row (n), `u32::MAX` where A is regular.
        ids: &'a [u32],
        /// Rows of each component.
        sizes: &'a [usize],
    },
    /// Solve P·A·P·x = P·b with P = I − 11ᵀ/n: minimise over zero-mean vectors. A may be singular on constants.
    ZeroMean,
    /// Keep directions A-orthogonal to 1, where A·1 = c (n), c ≥ 0: every z becomes z − (cᵀz)/(Σc). Needs 1ᵀb = 0; the
    /// solution has cᵀx = 0.
    OrthogonalToOnes(&'a [f64]),
}

/// Why a solve ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// Every column reached the tolerance.
    #[default]
    Converged,
    /// The iterations ran out.
    MaxIter,
    /// No progress any more.
    Stagnated,
    /// Progress, but too slow for its budget.
    Slow,
    /// The residual is what rounding the solution to f64 leaves; no solver gets below.
    Rounding,
}

impl Stop {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::MaxIter => "max-iter",
            Self::Stagnated => "stagnated",
            Self::Slow => "slow",
            Self::Rounding => "rounding",
        }
    }
}

/// How a solve went, column by column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CgInfo {
    /// Iterations of each column (s).
    pub iterations: Vec<usize>,
    /// Relative residual of each column (s), recomputed from the solution.
    pub residuals: Vec<f64>,
    /// Whether every column reached the tolerance.
    pub converged: bool,
    /// Why it ended.
    pub reason: Stop,
    /// Largest relative residual among the columns still iterating, after each iteration.
    pub curve: Vec<f64>,
    /// Wall seconds.
    pub seconds: f64,
}

/// Recursive residuals may drift; this many times a column is restarted from its recomputed one.
const RESTARTS: usize = 3;
/// The recursion stopped at tol; the recomputed residual may be a rounding above.
const SLACK: f64 = 1.01;
/// Iterations between two projections of the residual onto the range of A, whose rounding would grow.
const PROJECT_EVERY: usize = 8;
/// Iterations over which the rate is looked at.
const WINDOW: usize = 16;

/// Solves A·X = B (n, s) from the start `x`, which becomes the solution. Under a projection the start must satisfy it
/// (zero does).
///
/// # Errors
/// [`Error::Shape`] for sizes that disagree; [`Error::Interrupted`]. Not converging is no error: see [`CgInfo`].
pub fn solve(
    operator: &dyn Operator,
    preconditioner: &dyn Preconditioner,
    projection: Projection<'_>,
    b: &Matrix,
    x: &mut Matrix,
    params: CgParams,
    run: &Run,
) -> Result<CgInfo> {
    let (n, s) = (operator.n(), b.n_cols());
    for (what, block) in [("right-hand side", b), ("start", &*x)] {
        if (block.n_rows(), block.n_cols()) != (n, s) {
            let got = format!("{} × {}", block.n_rows(), block.n_cols());
            return Err(Error::shape(what, format!("{n} × {s} values"), got));
        }
    }
    let start = Instant::now();
    let mut info = CgInfo { iterations: vec![0; s], residuals: vec![0.0; s], converged: true, ..CgInfo::default() };
    if n == 0 || s == 0 {
        return Ok(info);
    }
    run.install(|| {
        let norms = column_norms(b.values(), n, s);
        let mut open: Vec<usize> = (0..s).filter(|&c| norms[c] > 0.0).collect();
        zero_columns(x, &norms);
        let problem = Iteration::new(operator, preconditioner, projection, params, run, &norms);
        for attempt in 0..=RESTARTS {
            let mut residual = problem.residual(b, x, &open);
            let relative: Vec<f64> =
                column_norms(&residual, n, open.len()).iter().zip(&open).map(|(r, &c)| r / norms[c]).collect();
            open.iter().zip(&relative).for_each(|(&c, &r)| info.residuals[c] = r);
            let unsolved: Vec<usize> =
                (0..open.len()).filter(|&at| relative[at].is_nan() || relative[at] > params.tol * SLACK).collect();
            let budget = |c: &usize| info.iterations[*c] < params.max_iter;
            let has_stopped = attempt > 0 && matches!(info.reason, Stop::Slow | Stop::Stagnated);
            if unsolved.is_empty()
                || attempt == RESTARTS
                || has_stopped
                || !unsolved.iter().any(|&at| budget(&open[at]))
            {
                break;
            }
            // The block of all columns goes before the iteration allocates its own.
            let mut residual = keep_columns(std::mem::take(&mut residual), open.len(), &unsolved);
            open = unsolved.iter().map(|&at| open[at]).collect();
            if let (Projection::OrthogonalToOnes(c), true) = (projection, attempt > 0) {
                // Directions that were rounded have left a mean, which no direction orthogonal to constants takes away.
                balance(&residual, c, x, &open);
                residual = problem.residual(b, x, &open);
            }
            if params.single_directions {
                problem.iterate::<f32>(residual, x, &open, &mut info)?;
            } else {
                problem.iterate::<f64>(residual, x, &open, &mut info)?;
            }
        }
        info.converged = info.residuals.iter().all(|r| *r <= params.tol * SLACK);
        info.reason = match info.reason {
            _ if info.converged => Stop::Converged,
            Stop::Converged => Stop::Stagnated,
            reason => reason,
        };
        info.seconds = start.elapsed().as_secs_f64();
        Ok(info)
    })
}

/// Relative residual, not recomputed, after `params.max_iter` iterations from zero for one right-hand side.
pub(crate) fn trial(
    operator: &dyn Operator,
    preconditioner: &dyn Preconditioner,
    b: Matrix,
    params: CgParams,
    run: &Run,
) -> Result<f64> {
    let mut info = CgInfo { iterations: vec![0], ..CgInfo::default() };
    let norms = column_norms(b.values(), b.n_rows(), 1);
    let iteration = Iteration::new(operator, preconditioner, Projection::None, params, run, &norms);
    let mut x = Matrix::filled(b.n_rows(), 1, 0.0);
    iteration.iterate::<f64>(b.into_values(), &mut x, &[0], &mut info)?;
    Ok(info.curve.last().copied().unwrap_or(f64::INFINITY))
}

struct Iteration<'a> {
    operator: &'a dyn Operator,
    preconditioner: &'a dyn Preconditioner,
    projection: Projection<'a>,
    params: CgParams,
    run: &'a Run,
    norms: &'a [f64],
    /// How preconditioned residuals are corrected under the projection.
    correction: Correction<'a>,
}

/// The columns still open: solutions, residuals, directions, their products, preconditioned residuals.
struct Blocks<R> {
    x: Vec<f64>,
    r: Vec<f64>,
    p: Vec<R>,
    q: Vec<f64>,
    /// Empty where M is diagonal.
    z: Vec<f64>,
    /// Mean of each column of r that has not been taken off yet.
    mean: Vec<f64>,
    /// rᵀz of each column.
    rz: Vec<f64>,
}

impl<'a> Iteration<'a> {
    fn new(
        operator: &'a dyn Operator,
        preconditioner: &'a dyn Preconditioner,
        projection: Projection<'a>,
        params: CgParams,
        run: &'a Run,
        norms: &'a [f64],
    ) -> Self {
        let n = operator.n();
        let correction = match projection {
            Projection::Components { sizes, .. } if *sizes == [n] => Correction::centered(preconditioner),
            Projection::None | Projection::Components { .. } => Correction::none(preconditioner),
            Projection::OrthogonalToOnes(c) => Correction::ones(preconditioner, c),
            Projection::ZeroMean => Correction::zero_mean(preconditioner, n),
        };
        Self { operator, preconditioner, projection, params, run, norms, correction }
    }

    /// Whether residuals are projected component by component.
    fn is_piecewise(&self) -> bool {
        matches!(self.projection, Projection::Components { .. }) && !self.correction.centers
    }

    /// B − A·X for the columns `open`, projected.
    fn residual(&self, b: &Matrix, x: &Matrix, open: &[usize]) -> Vec<f64> {
        let (n, s, width) = (b.n_rows(), b.n_cols(), open.len());
        let mut product = vec![0.0; n * width];
        if width > 0 {
            if x.values().iter().all(|x| *x == 0.0) {
                // From zero: nothing to multiply.
            } else if width == s {
                self.operator.apply(x.values(), &mut product, width);
            } else {
                self.operator.apply(&columns(x.values(), s, open), &mut product, width);
            }
            product.par_chunks_mut(width).zip(b.values().par_chunks(s)).with_min_len(BLOCK_ROWS).for_each(|(p, b)| {
                p.iter_mut().zip(open).for_each(|(p, &c)| *p = b[c] - *p);
            });
            self.project_range(&mut product, width);
        }
        product
    }

    /// Projects a residual onto the range of A.
    fn project_range(&self, r: &mut [f64], s: usize) {
        match self.projection {
            Projection::Components { ids, sizes } if self.is_piecewise() => {
                subtract_component_means(r, s, ids, sizes);
            }
            Projection::Components { .. } | Projection::ZeroMean => {
                let n = r.len() / s;
                let mean: Vec<f64> = column_sums(r, n, s).iter().map(|sum| sum / n as f64).collect();
                steps::subtract(r, &mean);
            }
            Projection::None | Projection::OrthogonalToOnes(_) => {}
        }
    }

    /// Conjugate gradients from the residual `r` of the columns `open`; adds the corrections to `x`.
    fn iterate<R: Real>(&self, r: Vec<f64>, x: &mut Matrix, open: &[usize], info: &mut CgInfo) -> Result<()> {
        let mut open = open.to_vec();
        let mut blocks = self.start::<R>(r, x, &open);
        let mut watch = Watch::new(open.len());
        // Columns that have arrived rest: no step is taken along their directions.
        let mut moving = vec![true; open.len()];
        info.reason = Stop::Converged;
        loop {
            if let Err(interrupted) = self.run.check() {
                write_columns(x, &blocks.x, &open);
                return Err(interrupted);
            }
            let s = open.len();
            let curvature = R::apply_dot(self.operator, &blocks.p, &mut blocks.q, s);
            // A column whose curvature is not positive has reached the end of what f64 can do for it.
            let length = |((rz, pq), moves): ((&f64, &f64), &bool)| {
                if *moves && *pq > 0.0 && (rz / pq).is_finite() { rz / pq } else { 0.0 }
            };
            let step: Vec<f64> = blocks.rz.iter().zip(&curvature).zip(&moving).map(length).collect();
            let sums = steps::descend(&mut blocks.r, &blocks.q, &step, &blocks.mean, &self.correction);
            blocks.mean = self.correction.mean(&sums, blocks.r.len() / s);
            let relative: Vec<f64> = (0..s)
                .map(|at| self.correction.square(&sums, at, blocks.r.len() / s).sqrt() / self.norms[open[at]])
                .collect();
            let worst = relative.iter().fold(0.0f64, |most, &r| most.max(r));
            info.curve.push(worst);
            self.run.progress().update(info.curve.len() as u64, &format!("residual {worst:.1e}"));
            let mut has_broken = false;
            for (at, moves) in moving.iter_mut().enumerate().filter(|(_, moves)| **moves) {
                let column = open[at];
                info.iterations[column] += 1;
                let is_stuck = step[at] == 0.0 || !relative[at].is_finite();
                *moves = false;
                match () {
                    () if relative[at] <= self.params.tol => {}
                    () if is_stuck => (info.reason, has_broken) = (Stop::Stagnated, true),
                    () if info.iterations[column] >= self.params.max_iter => info.reason = Stop::MaxIter,
                    () => *moves = true,
                }
            }
            if let Some(reason) = watch.judge(&relative, &self.params) {
                info.reason = reason;
                moving.fill(false);
            }
            let mut kept: Vec<usize> = (0..s).filter(|&at| moving[at]).collect();
            if kept.len() > s / 2 && !has_broken {
                // The columns that rest cost less than taking the block apart.
                kept = (0..s).collect();
            }
            if kept.len() < s {
                steps::add(&mut blocks.x, &blocks.p, &step);
                write_columns(x, &blocks.x, &open);
                if kept.is_empty() {
                    return Ok(());
                }
                blocks.keep(s, &kept);
                watch.keep(&kept);
                open = kept.iter().map(|&at| open[at]).collect();
                moving = vec![true; open.len()];
            }
            let (step, sums) = if kept.len() == s { (step, sums) } else { (vec![0.0; kept.len()], sums.keep(&kept)) };
            self.turn(&mut blocks, &step, &sums, info.curve.len());
        }
    }

    /// The blocks before the first step: p = z = M⁻¹r.
    fn start<R: Real>(&self, r: Vec<f64>, x: &Matrix, open: &[usize]) -> Blocks<R> {
        let (n, s) = (x.n_rows(), open.len());
        let is_diagonal = self.correction.diagonal.is_some();
        let mut blocks = Blocks {
            x: columns(x.values(), x.n_cols(), open),
            p: zeros(n * s),
            q: zeros(n * s),
            z: zeros(if is_diagonal { 0 } else { n * s }),
            mean: vec![0.0; s],
            rz: vec![1.0; s],
            r,
        };
        let zeros = vec![0.0; s];
        let sums = steps::descend(&mut blocks.r, &blocks.q, &zeros, &blocks.mean, &self.correction);
        self.turn(&mut blocks, &zeros, &sums, 1);
        blocks
    }

    /// From the residual to the next direction; the step along the old one is added to x on the way.
    fn turn<R: Real>(&self, blocks: &mut Blocks<R>, step: &[f64], sums: &steps::Sums, iteration: usize) {
        let s = step.len();
        let (shift, rz) = if self.correction.diagonal.is_some() {
            if self.is_piecewise() && iteration.is_multiple_of(PROJECT_EVERY) {
                self.project_range(&mut blocks.r, s);
            }
            self.correction.diagonal_products(sums)
        } else {
            if self.correction.centers {
                steps::subtract(&mut blocks.r, &blocks.mean);
                blocks.mean.fill(0.0);
            } else if self.is_piecewise() && iteration.is_multiple_of(PROJECT_EVERY) {
                self.project_range(&mut blocks.r, s);
            }
            self.preconditioner.apply(&blocks.r, &mut blocks.z, s);
            let products = steps::products(&blocks.r, &blocks.z, s, &self.correction);
            self.correction.full_products(&products)
        };
        let ratio = |(new, old): (&f64, &f64)| if *old != 0.0 { new / old } else { 0.0 };
        let beta: Vec<f64> = rz.iter().zip(&blocks.rz).map(ratio).collect();
        let z = if self.correction.diagonal.is_some() { &blocks.r } else { &blocks.z };
        let turn = Turn { step, beta: &beta, shift: &shift, lift: &sums.lift };
        steps::advance(&mut blocks.x, &mut blocks.p, z, &turn, &self.correction);
        blocks.rz = rz;
    }
}

impl<R: Real> Blocks<R> {
    fn keep(&mut self, s: usize, kept: &[usize]) {
        let n = self.r.len() / s;
        for block in [&mut self.x, &mut self.r] {
            *block = keep_columns(std::mem::take(block), s, kept);
        }
        self.p = keep_columns(std::mem::take(&mut self.p), s, kept);
        self.q.truncate(n * kept.len());
        if !self.z.is_empty() {
            self.z.truncate(n * kept.len());
        }
        for values in [&mut self.mean, &mut self.rz] {
            *values = kept.iter().map(|&at| values[at]).collect();
        }
    }
}

/// Looks whether the columns make progress.
struct Watch {
    best: Vec<f64>,
    since_best: usize,
    iterations: usize,
    /// Largest residual over the last iterations.
    recent: std::collections::VecDeque<f64>,
}

impl Watch {
    fn new(s: usize) -> Self {
        Self { best: vec![f64::INFINITY; s], since_best: 0, iterations: 0, recent: std::collections::VecDeque::new() }
    }

    fn keep(&mut self, kept: &[usize]) {
        self.best = kept.iter().map(|&at| self.best[at]).collect();
    }

    fn judge(&mut self, relative: &[f64], params: &CgParams) -> Option<Stop> {
        self.iterations += 1;
        self.since_best += 1;
        for (best, &now) in self.best.iter_mut().zip(relative) {
            if now < 0.9 * *best {
                (*best, self.since_best) = (now, 0);
            }
        }
        if self.since_best > params.patience {
            return Some(Stop::Stagnated);
        }
        let worst = relative.iter().fold(0.0f64, |most, &r| most.max(r));
        self.recent.push_back(worst);
        if self.recent.len() > WINDOW {
            self.recent.pop_front();
        }
        let first = *self.recent.front()?;
        if self.iterations < params.budget || self.recent.len() < WINDOW || worst <= params.tol {
            return None;
        }
        let rate = (first / worst).ln() / (WINDOW - 1) as f64;
        let needed = (worst / params.tol).ln() / rate;
        (rate.is_nan() || rate <= 0.0 || needed > params.budget as f64).then_some(Stop::Slow)
    }
}

fn column_norms(a: &[f64], n: usize, s: usize) -> Vec<f64> {
    if s == 0 { Vec::new() } else { column_dots(a, a, n, s).into_iter().map(f64::sqrt).collect() }
}

fn column_sums(block: &[f64], n: usize, s: usize) -> Vec<f64> {
    reduce(n, s, |rows, sums| {
        for row in block[rows.start * s..rows.end * s].chunks_exact(s) {
            sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += v);
        }
    })
}

/// Subtracts from each column its mean over each component; rows of component `u32::MAX` stay.
pub(crate) fn subtract_component_means(block: &mut [f64], s: usize, ids: &[u32], sizes: &[usize]) {
    let mut means = vec![0.0; sizes.len() * s];
    for (row, &id) in block.chunks_exact(s).zip(ids).filter(|(_, id)| **id != u32::MAX) {
        let mean = &mut means[id as usize * s..(id as usize + 1) * s];
        mean.iter_mut().zip(row).for_each(|(mean, v)| *mean += v);
    }
    for (mean, size) in means.chunks_exact_mut(s).zip(sizes) {
        mean.iter_mut().for_each(|mean| *mean /= *size as f64);
    }
    block.par_chunks_mut(s).zip(ids).with_min_len(BLOCK_ROWS).filter(|(_, id)| **id != u32::MAX).for_each(
        |(row, &id)| {
            row.iter_mut().zip(&means[id as usize * s..]).for_each(|(v, mean)| *v -= mean);
        },
    );
}

/// A block (n, s) less all columns but `keep`, ascending.
fn keep_columns<R: Real>(block: Vec<R>, s: usize, keep: &[usize]) -> Vec<R> {
    if keep.len() == s { block } else { columns(&block, s, keep) }
}

/// A copy of the columns `keep`, ascending, of a block (n, s).
fn columns<R: Real>(block: &[R], s: usize, keep: &[usize]) -> Vec<R> {
    if keep.len() == s {
        return block.to_vec();
    }
    let mut out = zeros(block.len() / s * keep.len());
    if !keep.is_empty() {
        out.par_chunks_mut(keep.len()).zip(block.par_chunks(s)).with_min_len(BLOCK_ROWS).for_each(|(out, row)| {
            out.iter_mut().zip(keep).for_each(|(out, &c)| *out = row[c]);
        });
    }
    out
}

/// x[:, open] ← the columns of `block`.
fn write_columns(x: &mut Matrix, block: &[f64], open: &[usize]) {
    let (total, s) = (x.n_cols(), open.len());
    x.values_mut().par_chunks_mut(total).zip(block.par_chunks(s)).with_min_len(BLOCK_ROWS).for_each(|(x, block)| {
        open.iter().zip(block).for_each(|(&c, value)| x[c] = *value);
    });
}

/// Adds to the columns `open` of x the constant that makes their `residual` (n, open) add up to zero, where A·1 = `c`.
pub(crate) fn balance(residual: &[f64], c: &[f64], x: &mut Matrix, open: &[usize]) {
    let total: f64 = c.iter().sum();
    let mut shift = vec![0.0; x.n_cols()];
    for (&column, sum) in open.iter().zip(column_sums(residual, c.len(), open.len())) {
        // A total of 0 means a singular A: constants change nothing.
        shift[column] = if total > 0.0 { sum / total } else { 0.0 };
    }
    x.values_mut().par_chunks_mut(shift.len()).with_min_len(BLOCK_ROWS).for_each(|row| {
        row.iter_mut().zip(&shift).for_each(|(x, shift)| *x += shift);
    });
}

/// A zero right-hand side has the solution zero, whatever the start.
fn zero_columns(x: &mut Matrix, norms: &[f64]) {
    let s = x.n_cols();
    if norms.contains(&0.0) {
        x.values_mut().chunks_exact_mut(s).for_each(|row| {
            row.iter_mut().zip(norms).filter(|(_, norm)| **norm == 0.0).for_each(|(v, _)| *v = 0.0);
        });
    }
}

#[cfg(test)]
mod tests {
    use lapwing_data::Csr;
    use proptest::prelude::*;

    use super::*;
    use crate::precond::Jacobi;
    use crate::{SddMatrix, dense};

    /// A connected weighted graph of n nodes: a path with chords.
    fn adjacency(n: usize, seed: u64) -> Csr<f64> {
        let mut entries = Vec::new();
        for i in 0..n {
            for j in 0..i {
                let hash = (i as u64 * 7919 + j as u64 * 104_729 + seed * 31) % 97;
                if j + 1 == i || hash < 20 {
                    let weight = 0.1 + hash as f64 / 10.0;
                    entries.extend([(i as u32, j as u32, weight), (j as u32, i as u32, weight)]);
                }
            }
        }
        Csr::from_entries(n, n, &entries).unwrap()
    }

    fn dense_of(op: &SddMatrix<'_>) -> Matrix {
        let n = op.n();
        let mut eye = Matrix::filled(n, n, 0.0);
        (0..n).for_each(|i| eye.row_mut(i)[i] = 1.0);
        let mut out = Matrix::filled(n, n, 0.0);
        op.apply(eye.values(), out.values_mut(), n);
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn solutions_equal_the_dense_ones(n in 3usize..40, s in 1usize..12, seed in 0u64..1000, weight in 0.01..50.0f64) {
            let run = Run::new(Some(2), 0).unwrap();
            let w = adjacency(n, seed);
            let mut c = vec![0.0; n];
            c[0] = weight;
            c[n / 2] = 2.5;
            let op = SddMatrix::new(&w, c.clone()).unwrap();
            let mut b = Matrix::filled(n, s, 0.0);
            b.values_mut().iter_mut().enumerate().for_each(|(i, v)| *v = ((i * 37 + seed as usize) % 19) as f64 - 9.0);
            let mut x = Matrix::filled(n, s, 0.0);
            let params = CgParams { tol: 1e-11, max_iter: 1000, ..CgParams::default() };
            let jacobi = Jacobi::new(&op).unwrap();
            let info = solve(&op, &jacobi, Projection::None, &b, &mut x, params, &run).unwrap();
            prop_assert!(info.converged, "{info:?}");
            let exact = dense::solve_spd(&dense_of(&op), &b).unwrap();
            let scale = exact.values().iter().fold(0.0f64, |m, v| m.max(v.abs()));
            for (a, e) in x.values().iter().zip(exact.values()) {
                prop_assert!((a - e).abs() <= 1e-7 * scale);
            }
        }

        #[test]
        fn reported_residuals_are_true(n in 3usize..60, seed in 0u64..1000) {
            let run = Run::new(Some(1), 0).unwrap();
            let w = adjacency(n, seed);
            let shift = vec![0.01; n];
            let op = SddMatrix::new(&w, shift.clone()).unwrap();
            let b = Matrix::new(n, 1, (0..n).map(|i| ((i * i) % 7) as f64 - 2.0).collect()).unwrap();
            let mut x = Matrix::filled(n, 1, 0.0);
            let jacobi = Jacobi::new(&op).unwrap();
            let params = CgParams { tol: 1e-3, max_iter: 5, ..CgParams::default() };
            let info = solve(&op, &jacobi, Projection::None, &b, &mut x, params, &run).unwrap();
            let mut product = vec![0.0; n];
            op.apply(x.values(), &mut product, 1);
            let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
            let rest = norm(&mut b.values().iter().zip(&product).map(|(b, p)| b - p));
            let residual = rest / norm(&mut b.values().iter().copied());
            prop_assert!((info.residuals[0] - residual).abs() <= 1e-12);
            prop_assert_eq!(info.converged, residual <= 1e-3 * 1.01);
        }
    }

    /// A heavy row's direction, rounded to f32, leaves a mean that no later direction reaches.
    #[test]
    fn restarts_take_away_the_mean_that_rounded_directions_leave() {
        let run = Run::new(Some(2), 0).unwrap();
        for n in [20, 50] {
            let w = adjacency(n, 6);
            let mut c = vec![0.0; n];
            (c[0], c[n / 2]) = (1e8, 1.0);
            let op = SddMatrix::new(&w, c.clone()).unwrap();
            let mut b = Matrix::filled(n, 3, 0.0);
            (b.row_mut(0)[0], b.row_mut(n / 2)[0]) = (1.0, -1.0);
            (b.row_mut(1)[2], b.row_mut(2)[2]) = (1.0, -1.0);
            let mut x = Matrix::filled(n, 3, 0.0);
            let params = CgParams { tol: 1e-9, max_iter: 1000, single_directions: true, ..CgParams::default() };
            let (jacobi, ones) = (Jacobi::new(&op).unwrap(), Projection::OrthogonalToOnes(&c));
            let info = solve(&op, &jacobi, ones, &b, &mut x, params, &run).unwrap();
            assert!(info.converged && info.iterations[0] < 60, "{n}: {info:?}");
            assert!(x.rows().all(|row| row[1] == 0.0));
        }
    }

    #[test]
    fn zero_mean_projection_solves_the_singular_system() {
        let run = Run::new(Some(2), 0).unwrap();
        let n = 50;
        let w = adjacency(n, 3);
        let op = SddMatrix::new(&w, vec![0.0; n]).unwrap();
        let mut b = Matrix::filled(n, 2, 0.0);
        (b.row_mut(3)[0], b.row_mut(40)[0], b.row_mut(0)[1], b.row_mut(9)[1]) = (1.0, -1.0, 2.0, -2.0);
        let mut x = Matrix::filled(n, 2, 0.0);
        let params = CgParams { tol: 1e-12, max_iter: 1000, ..CgParams::default() };
        let info = solve(&op, &Jacobi::new(&op).unwrap(), Projection::ZeroMean, &b, &mut x, params, &run).unwrap();
        assert!(info.converged, "{info:?}");
        for c in 0..2 {
            assert!(x.rows().map(|row| row[c]).sum::<f64>().abs() < 1e-10);
        }
        let mut product = vec![0.0; n * 2];
        op.apply(x.values(), &mut product, 2);
        assert!(product.iter().zip(b.values()).all(|(p, b)| (p - b).abs() < 1e-10));
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let n = 9000;
        let entries: Vec<_> = (0..n as u32 - 1)
            .flat_map(|i| [(i, i + 1, 1.0 + f64::from(i % 7)), (i + 1, i, 1.0 + f64::from(i % 7))])
            .collect();
        let w = Csr::from_entries(n, n, &entries).unwrap();
        let shift: Vec<f64> = (0..n).map(|i| if i % 100 == 0 { 1.0 } else { 0.0 }).collect();
        let op = SddMatrix::new(&w, shift.clone()).unwrap();
        let b = Matrix::new(n, 3, (0..3 * n).map(|i| ((i * 31) % 17) as f64 - 8.0).collect()).unwrap();
        let solutions: Vec<Matrix> = [1, 2, 7]
            .iter()
            .map(|&threads| {
                let mut x = Matrix::filled(n, 3, 0.0);
                let run = Run::new(Some(threads), 0).unwrap();
                solve(&op, &Jacobi::new(&op).unwrap(), Projection::None, &b, &mut x, CgParams::default(), &run)
                    .unwrap();
                x
            })
            .collect();
        assert!(solutions[0] == solutions[1] && solutions[1] == solutions[2]);
    }

    #[test]
    fn a_zero_right_hand_side_has_the_solution_zero() {
        let run = Run::new(Some(1), 0).unwrap();
        let w = adjacency(10, 1);
        let op = SddMatrix::new(&w, vec![1.0; 10]).unwrap();
        let mut b = Matrix::filled(10, 2, 0.0);
        b.row_mut(4)[1] = 1.0;
        let mut x = Matrix::filled(10, 2, 5.0);
        let info =
            solve(&op, &Jacobi::new(&op).unwrap(), Projection::None, &b, &mut x, CgParams::default(), &run).unwrap();
        assert!(info.converged && x.rows().all(|row| row[0] == 0.0));
    }
}
