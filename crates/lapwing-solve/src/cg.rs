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
    /// Largest √(M⁻¹)ᵢᵢ; default 0. If above, a column counts as solved only when √(rᵀM⁻¹r) times it, an estimate of its largest
    /// error, is within tol·√n of the range of its values. The residual alone does not see rows whose weights are small beside those of
    /// others.
    pub largest_deviation: f64,
}

impl Default for CgParams {
    fn default() -> Self {
        Self {
            tol: 1e-6,
            max_iter: 10_000,
            patience: usize::MAX,
            budget: usize::MAX,
            single_directions: false,
            largest_deviation: 0.0,
        }
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
    /// Solve P·A·P·x = P·b with P = I − 11ᵀ/n: minimize over zero-mean vectors. A may be singular on constants.
    ZeroMean,
    /// Keep directions A-orthogonal to 1, where A·1 = c (n), c ≥ 0: every z becomes z − (cᵀz)/(Σc). Needs 1ᵀb = 0; the
    /// solution has cᵀx = 0.
    OrthogonalToOnes(&'a [f64]),
}

/// Why a solve ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
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

/// Columns that ride along with those of a solve, and a say in when it may end.
pub(crate) trait Company: Send {
    /// Number of its columns m.
    fn width(&self) -> usize;

    /// The residuals that they start from (n, m).
    fn residuals(&mut self) -> Result<Vec<f64>>;

    /// Takes note of rᵀM⁻¹r of its columns before the first step.
    fn begin(&mut self, squares: &[f64]);

    /// Takes note of a step of its columns: lengths α, ratios β, and rᵀM⁻¹r after it.
    fn record(&mut self, steps: &[f64], ratios: &[f64], squares: &[f64]);

    /// Whether a column of its own is to move on.
    fn is_moving(&self, at: usize) -> bool;

    /// Whether the solve may end.
    fn is_satisfied(&mut self, view: &View<'_>) -> bool;
}

/// Where a solve stands.
pub(crate) struct View<'a> {
    /// Solutions, a row of `width` values for each row of the system; the first are those of the columns `open`.
    pub x: &'a [f64],
    pub width: usize,
    pub open: &'a [usize],
    /// rᵀM⁻¹r of the columns `open`.
    pub squares: &'a [f64],
    /// Whether the residuals are within the tolerance.
    pub is_solved: bool,
    pub iteration: usize,
}

/// How a solve went, column by column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CgInfo {
    /// Iterations of each column (s).
    pub iterations: Vec<usize>,
    /// Relative residual of each column (s), recomputed from the solution.
    pub residuals: Vec<f64>,
    /// Columns of a small residual whose estimated error is not small: see [`CgParams::largest_deviation`].
    pub doubtful: Vec<usize>,
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
    solve_in_company(operator, preconditioner, projection, b, x, params, None, run)
}

/// The same with columns that ride along until they are satisfied.
#[allow(clippy::too_many_arguments)]
pub(crate) fn solve_in_company(
    operator: &dyn Operator,
    preconditioner: &dyn Preconditioner,
    projection: Projection<'_>,
    b: &Matrix,
    x: &mut Matrix,
    params: CgParams,
    mut company: Option<&mut dyn Company>,
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
            let mut unsolved: Vec<usize> =
                (0..open.len()).filter(|&at| relative[at].is_nan() || relative[at] > params.tol * SLACK).collect();
            if attempt == 0 && company.is_some() {
                unsolved = (0..open.len()).collect();
            }
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
            // Columns that ride along have said what they have to say after the first time.
            let company = company.take();
            if params.single_directions {
                problem.iterate::<f32>(residual, x, &open, &mut info, company)?;
            } else {
                problem.iterate::<f64>(residual, x, &open, &mut info, company)?;
            }
        }
        info.converged = info.doubtful.is_empty() && info.residuals.iter().all(|r| *r <= params.tol * SLACK);
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
    iteration.iterate::<f64>(b.into_values(), &mut x, &[0], &mut info, None)?;
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
            Projection::Components { sizes, .. } if *sizes == [n] && preconditioner.diagonal().is_some() => {
                Correction::centered(preconditioner)
            }
            Projection::None | Projection::Components { .. } => Correction::none(preconditioner),
            Projection::OrthogonalToOnes(c) => Correction::ones(preconditioner, c),
            Projection::ZeroMean => Correction::zero_mean(preconditioner, n),
        };
        Self { operator, preconditioner, projection, params, run, norms, correction }
    }

    /// Whether residuals are projected component by component. Those of products add up to 0 as they are, and a factor holds one row of
    /// each component at 0, where their roundings go: taking off a mean would spread them over rows of small weights.
    fn is_piecewise(&self) -> bool {
        let is_singular = matches!(self.projection, Projection::Components { .. });
        is_singular && self.correction.diagonal.is_some() && !self.correction.centers
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
            _ if self.correction.centers && !matches!(self.projection, Projection::OrthogonalToOnes(_)) => {
                let n = r.len() / s;
                let mean: Vec<f64> = column_sums(r, n, s).iter().map(|sum| sum / n as f64).collect();
                steps::subtract(r, &mean);
            }
            _ => {}
        }
    }

    /// Conjugate gradients from the residual `r` of the columns `open`; adds the corrections to `x`.
    fn iterate<R: Real>(
        &self,
        mut r: Vec<f64>,
        x: &mut Matrix,
        open: &[usize],
        info: &mut CgInfo,
        mut company: Option<&mut dyn Company>,
    ) -> Result<()> {
        let mut open = open.to_vec();
        let riders = company.as_ref().map_or(0, |company| company.width());
        if let Some(company) = &mut company {
            r = side_by_side(&r, open.len(), &company.residuals()?, riders);
        }
        let mut blocks = self.start::<R>(r, x, &open, riders);
        if let Some(company) = &mut company {
            company.begin(&blocks.rz[open.len()..]);
        }
        let mut watch = Watch::new(open.len());
        // Columns that have arrived rest: no step is taken along their directions.
        let mut moving = vec![true; open.len() + riders];
        let mut is_solved = false;
        info.reason = Stop::Converged;
        info.doubtful.clear();
        loop {
            if let Err(interrupted) = self.run.check() {
                write_columns(x, &blocks.x, &open);
                return Err(interrupted);
            }
            let s = open.len();
            let width = s + riders;
            if let Some(company) = &mut company {
                (0..riders).for_each(|at| moving[s + at] = company.is_moving(at));
                let iteration = info.curve.len();
                let squares = &blocks.rz[..s];
                if company.is_satisfied(&View { x: &blocks.x, width, open: &open, squares, is_solved, iteration }) {
                    write_columns(x, &blocks.x, &open);
                    return Ok(());
                }
            }
            let curvature = R::apply_dot(self.operator, &blocks.p, &mut blocks.q, width);
            // A column whose curvature is not positive has reached the end of what f64 can do for it.
            let length = |((rz, pq), moves): ((&f64, &f64), &bool)| {
                if *moves && *pq > 0.0 && (rz / pq).is_finite() { rz / pq } else { 0.0 }
            };
            let step: Vec<f64> = blocks.rz.iter().zip(&curvature).zip(&moving).map(length).collect();
            let sums = steps::descend(&mut blocks.r, &blocks.q, &step, &blocks.mean, &self.correction);
            blocks.mean = self.correction.mean(&sums, blocks.r.len() / width);
            let relative: Vec<f64> = (0..s)
                .map(|at| self.correction.square(&sums, at, blocks.r.len() / width).sqrt() / self.norms[open[at]])
                .collect();
            let worst = relative.iter().fold(0.0f64, |most, &r| most.max(r));
            info.curve.push(worst);
            self.run.progress().update(info.curve.len() as u64, &format!("residual {worst:.1e}"));
            let mut has_broken = false;
            is_solved = true;
            for (at, moves) in moving[..s].iter_mut().enumerate().filter(|(_, moves)| **moves) {
                let column = open[at];
                info.iterations[column] += 1;
                let is_stuck = step[at] == 0.0 || !relative[at].is_finite();
                // In company all go on until it is satisfied.
                *moves = company.is_some();
                if relative[at] <= self.params.tol && (is_stuck || self.is_settled(&blocks, at, width)) {
                    continue;
                }
                is_solved = false;
                *moves = false;
                match () {
                    () if is_stuck => (info.reason, has_broken) = (Stop::Stagnated, true),
                    () if info.iterations[column] >= self.params.max_iter => info.reason = Stop::MaxIter,
                    () => *moves = true,
                }
                if !*moves && relative[at] <= self.params.tol {
                    info.doubtful.push(column);
                }
            }
            if let Some(reason) = watch.judge(&relative, &self.params) {
                info.reason = reason;
                let is_doubtful = |at: &usize| {
                    moving[*at] && relative[*at] <= self.params.tol && !self.is_settled(&blocks, *at, width)
                };
                info.doubtful.extend((0..s).filter(is_doubtful).map(|at| open[at]));
                moving.fill(false);
            }
            let mut kept: Vec<usize> = (0..s).filter(|&at| moving[at]).collect();
            if riders > 0 && kept.len() < s {
                // A column that cannot go on ends the ride.
                kept.clear();
            }
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
            let ratios = self.turn(&mut blocks, &step, &sums, info.curve.len());
            if let Some(company) = &mut company {
                company.record(&step[s..], &ratios[s..], &blocks.rz[s..]);
            }
        }
    }

    /// Whether the estimated error of a column of small residual is small, too. rᵀM⁻¹r is that before the last step: M⁻¹ has not been
    /// applied to the residual yet.
    fn is_settled<R>(&self, blocks: &Blocks<R>, at: usize, width: usize) -> bool {
        if self.params.largest_deviation == 0.0 {
            return true;
        }
        let estimate = blocks.rz[at].max(0.0).sqrt() * self.params.largest_deviation;
        estimate <= self.params.tol * ((blocks.x.len() / width) as f64).sqrt() * column_range(&blocks.x, at, width)
    }

    /// The blocks before the first step: p = z = M⁻¹r.
    fn start<R: Real>(&self, r: Vec<f64>, x: &Matrix, open: &[usize], riders: usize) -> Blocks<R> {
        let (n, s) = (x.n_rows(), open.len() + riders);
        let own = columns(x.values(), x.n_cols(), open);
        let is_diagonal = self.correction.diagonal.is_some();
        let mut blocks = Blocks {
            x: if riders == 0 { own } else { side_by_side(&own, open.len(), &vec![0.0; n * riders], riders) },
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

    /// From the residual to the next direction; the step along the old one is added to x on the way. Returns β of each column.
    fn turn<R: Real>(&self, blocks: &mut Blocks<R>, step: &[f64], sums: &steps::Sums, iteration: usize) -> Vec<f64> {
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
        beta
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

/// Blocks (n, s) and (n, m) as one (n, s + m).
fn side_by_side(left: &[f64], s: usize, right: &[f64], m: usize) -> Vec<f64> {
    let mut both = zeros(left.len() + right.len());
    both.par_chunks_mut((s + m).max(1)).with_min_len(BLOCK_ROWS).enumerate().for_each(|(row, both)| {
        both[..s].copy_from_slice(&left[row * s..(row + 1) * s]);
        both[s..].copy_from_slice(&right[row * m..(row + 1) * m]);
    });
    both
}

/// Range of the values of a column of a block of `width`, and 0.
fn column_range(block: &[f64], at: usize, width: usize) -> f64 {
    let rows = block.par_chunks(width).with_min_len(BLOCK_ROWS);
    let (least, most) = rows
        .fold(|| (0.0f64, 0.0f64), |(least, most), row| (least.min(row[at]), most.max(row[at])))
        .reduce(|| (0.0, 0.0), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    most - least
}

/// x[:, open] ← the first columns of `block`.
fn write_columns(x: &mut Matrix, block: &[f64], open: &[usize]) {
    let (total, n) = (x.n_cols(), x.n_rows());
    let width = block.len().checked_div(n).unwrap_or(1);
    x.values_mut().par_chunks_mut(total).zip(block.par_chunks(width)).with_min_len(BLOCK_ROWS).for_each(
        |(x, block)| {
            open.iter().zip(block).for_each(|(&c, value)| x[c] = *value);
        },
    );
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
    use proptest::prelude::*;

    use super::*;
    use crate::precond::Jacobi;
    use crate::{Graph, SddMatrix, dense};

    /// A connected weighted graph of n nodes: a path with chords.
    fn graph(n: usize, seed: u64) -> Graph {
        let mut edges = Vec::new();
        for i in 0..n {
            for j in 0..i {
                let hash = (i as u64 * 7919 + j as u64 * 104_729 + seed * 31) % 97;
                if j + 1 == i || hash < 20 {
                    let weight = 0.1 + hash as f64 / 10.0;
                    edges.push((i as u32, j as u32, weight));
                }
            }
        }
        Graph::from_edges(n, &edges).unwrap()
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
            let w = graph(n, seed);
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
            let w = graph(n, seed);
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
            let w = graph(n, 6);
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
        let w = graph(n, 3);
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
        let edges: Vec<_> = (0..n as u32 - 1).map(|i| (i, i + 1, 1.0 + f64::from(i % 7))).collect();
        let w = Graph::from_edges(n, &edges).unwrap();
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
        let w = graph(10, 1);
        let op = SddMatrix::new(&w, vec![1.0; 10]).unwrap();
        let mut b = Matrix::filled(10, 2, 0.0);
        b.row_mut(4)[1] = 1.0;
        let mut x = Matrix::filled(10, 2, 5.0);
        let info =
            solve(&op, &Jacobi::new(&op).unwrap(), Projection::None, &b, &mut x, CgParams::default(), &run).unwrap();
        assert!(info.converged && x.rows().all(|row| row[0] == 0.0));
    }
}
