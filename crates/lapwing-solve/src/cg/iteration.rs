//! The iteration itself: steps, directions, and which columns continue.

use lapwing_data::{Result, Run};
use rayon::prelude::*;

use super::columns::{column_range, columns, keep_columns, side_by_side, write_columns};
use super::watch::Watch;
use super::{CgParams, Measure, Projection, SolveInfo, Stop};
use crate::Operator;
use crate::kernels::BLOCK_ROWS;
use crate::pages::{Lines, Real, zeros};
use crate::precond::Inverse;
use crate::probes::Probes;
use crate::steps::{self, Coefficients, Correction, StepSums};

/// Iterations between two projections of the residual onto the range of A; without them rounding would accumulate.
const PROJECT_EVERY: usize = 8;

/// Additional columns that iterate together with those of a solve, and decide when it may end.
pub(crate) trait ExtraColumns<R>: Send {
    /// The probes, one for each of the m additional columns; they record the steps.
    fn probes(&mut self) -> &mut Probes;

    /// The initial residuals of the additional columns (n, m).
    fn residuals(&mut self) -> Result<Vec<R>>;

    /// Whether the solve may end.
    fn is_satisfied(&mut self, view: &View<'_, R>) -> bool;
}

/// The state of a solve between two steps.
pub(crate) struct View<'a, R> {
    /// Solutions, a row of `width` values for each row of the system; the first values are those of the columns `open`.
    pub x: &'a [R],
    pub width: usize,
    pub open: &'a [usize],
    /// rᵀM⁻¹r of the columns `open`.
    pub squares: &'a [f64],
    /// Whether the residuals are within the tolerance.
    pub is_solved: bool,
    pub iteration: usize,
}

/// Conjugate gradients for blocks in precision R with directions in precision P.
pub(crate) struct Krylov<'a, P: Real, R: Real> {
    operator: &'a dyn Operator<P, R>,
    inverse: Inverse<'a, R>,
    projection: Projection<'a>,
    params: CgParams,
    run: &'a Run,
    /// Correction of preconditioned residuals for the projection.
    correction: Correction<'a>,
}

/// The active columns.
struct State<'c, P: Real, R> {
    /// Their numbers among all columns; additional columns follow them.
    open: Vec<usize>,
    extra: Option<&'c mut dyn ExtraColumns<R>>,
    n_extra: usize,
    /// Whether each column still moves. One that has converged rests: its step is 0.
    moving: Vec<bool>,
    is_solved: bool,
    /// Columns with a small residual but a large estimated error.
    doubtful: Vec<usize>,
    watch: Watch,
    /// Norms to which residuals are relative.
    norms: Vec<f64>,
    /// Solutions, residuals, directions and their products.
    x: Vec<R>,
    r: Vec<R>,
    p: Lines<P>,
    /// Values from a row of `p` to the next.
    stride: usize,
    q: Vec<R>,
    /// Preconditioned residuals; empty where M⁻¹ is applied within the steps.
    z: Vec<R>,
    /// Residuals before the last step, for flexible iterations.
    before: Vec<R>,
    /// Mean of each column of r that has still to be subtracted.
    mean: Vec<f64>,
    /// rᵀz of each column.
    rz: Vec<f64>,
}

impl<'a, P: Real, R: Real> Krylov<'a, P, R> {
    /// Prepares an iteration that starts from any residual.
    pub fn new(
        operator: &'a dyn Operator<P, R>,
        inverse: Inverse<'a, R>,
        projection: Projection<'a>,
        params: CgParams,
        run: &'a Run,
    ) -> Result<Self> {
        let correction = Correction::new(&inverse, projection, operator.n(), run)?;
        Ok(Self { operator, inverse, projection, params, run, correction })
    }

    /// Whether residuals are projected component by component. Residuals of products sum to 0 without projection, and a factor
    /// holds one row of each component at 0, which absorbs their rounding. Subtracting a mean would spread it over rows of small
    /// weights.
    fn is_piecewise(&self) -> bool {
        let is_singular = matches!(self.projection, Projection::Components { .. });
        is_singular && self.correction.diagonal.is_some() && !self.correction.centers
    }

    /// Projects a residual (n, s) onto the range of A.
    pub fn project_range(&self, r: &mut [R], s: usize) {
        let is_whole = self.correction.centers && !matches!(self.projection, Projection::OrthogonalToOnes(_));
        if is_whole {
            Projection::ZeroMean.remove(r, s);
        } else if self.is_piecewise() {
            self.projection.remove(r, s);
        }
    }

    /// Iterates from the residual `r` of the columns `open` of `x` (n, total), to which it adds the corrections; an empty `x`
    /// stands for zeros. Residuals are relative to `norms` of the columns `open`. Returns the columns with a small residual but a
    /// large estimated error.
    pub fn iterate(
        &self,
        r: Vec<R>,
        norms: &[f64],
        (x, total): (&mut Vec<R>, usize),
        open: &[usize],
        info: &mut SolveInfo,
        extra: Option<&mut dyn ExtraColumns<R>>,
    ) -> Result<Vec<usize>> {
        let mut state = self.start(r, norms, (x, total), open, extra)?;
        info.reason = Stop::Converged;
        loop {
            self.run.check()?;
            if state.may_end(info.curve.len()) {
                state.write(x, total, true);
                return Ok(state.doubtful);
            }
            let (step, sums) = self.descend(&mut state)?;
            let relative = self.relative(&state, &sums);
            let worst = relative.iter().fold(0.0f64, |most, &r| most.max(r));
            info.curve.push(worst);
            self.run.progress().update(info.curve.len() as u64, &format!("residual {worst:.1e}"));
            let has_broken = self.judge(&mut state, &step, &relative, info);
            let kept = state.kept(has_broken);
            let (step, sums) = if kept.len() == state.open.len() {
                (step, sums)
            } else {
                self.run.install(|| {
                    steps::add(&mut state.x, (&state.p, state.stride), &step);
                    state.write(x, total, kept.is_empty());
                });
                if kept.is_empty() {
                    return Ok(state.doubtful);
                }
                let stride = self.operator.stride(kept.len());
                self.run.install(|| state.keep(&kept, stride));
                (vec![0.0; kept.len()], sums.keep(&kept))
            };
            let ratios = self.next_direction(&mut state, &step, &sums, info.curve.len())?;
            state.record(&step, &ratios);
        }
    }

    /// The state before the first step: p = z = M⁻¹r.
    fn start<'c>(
        &self,
        mut r: Vec<R>,
        norms: &[f64],
        (x, total): (&[R], usize),
        open: &[usize],
        mut extra: Option<&'c mut dyn ExtraColumns<R>>,
    ) -> Result<State<'c, P, R>> {
        let (n, n_extra) = (self.operator.n(), extra.as_mut().map_or(0, |extra| extra.probes().len()));
        let s = open.len() + n_extra;
        let mut own = if x.is_empty() { zeros(n * open.len()) } else { columns(x, total, open) };
        if let Some(extra) = &mut extra {
            r = side_by_side(&r, open.len(), &extra.residuals()?, n_extra);
            own = side_by_side(&own, open.len(), &vec![R::default(); n * n_extra], n_extra);
        }
        let is_fused = self.correction.diagonal.is_some();
        let stride = self.operator.stride(s);
        let mut state = State {
            open: open.to_vec(),
            extra,
            n_extra,
            moving: vec![true; s],
            is_solved: false,
            doubtful: Vec::new(),
            watch: Watch::new(open.len()),
            norms: norms.to_vec(),
            x: own,
            r,
            p: Lines::zeros(n * stride),
            stride,
            q: zeros(n * s),
            z: zeros(if is_fused { 0 } else { n * s }),
            before: zeros(if self.params.is_flexible { n * s } else { 0 }),
            mean: vec![0.0; s],
            rz: vec![1.0; s],
        };
        let rest = vec![0.0; s];
        let sums = self.run.install(|| steps::descend(&mut state.r, &state.q, &rest, &state.mean, &self.correction));
        self.next_direction(&mut state, &rest, &sums, 1)?;
        if self.params.measure == Measure::Energy {
            state.norms = state.rz[..open.len()].iter().map(|rz| rz.sqrt()).collect();
        }
        let State { extra, rz, .. } = &mut state;
        if let Some(extra) = extra {
            extra.probes().begin(&rz[open.len()..]);
        }
        Ok(state)
    }

    /// Multiplies the directions by A and steps along them; returns the step lengths, and sums over the new residuals.
    fn descend(&self, state: &mut State<'_, P, R>) -> Result<(Vec<f64>, StepSums)> {
        let width = state.width();
        let curvature = self.operator.apply(&state.p, &mut state.q, width, self.run)?;
        // A column whose curvature is not positive has reached the limit of its precision.
        let length = |((rz, pq), moves): ((&f64, &f64), &bool)| {
            if *moves && *pq > 0.0 && (rz / pq).is_finite() { rz / pq } else { 0.0 }
        };
        let step: Vec<f64> = state.rz.iter().zip(&curvature).zip(&state.moving).map(length).collect();
        if self.params.is_flexible {
            state.before.copy_from_slice(&state.r);
        }
        let sums = self.run.install(|| steps::descend(&mut state.r, &state.q, &step, &state.mean, &self.correction));
        state.mean = self.correction.mean(&sums, self.operator.n());
        Ok((step, sums))
    }

    /// Relative residual of each column of the solve.
    fn relative(&self, state: &State<'_, P, R>, sums: &StepSums) -> Vec<f64> {
        let n = self.operator.n();
        let energy = match self.params.measure {
            Measure::Residual => Vec::new(),
            Measure::Energy => self.correction.diagonal_products(sums).1,
        };
        let size = |at: usize| match self.params.measure {
            Measure::Residual => self.correction.square(sums, at, n).sqrt(),
            Measure::Energy => energy[at].sqrt(),
        };
        let relative = |(at, norm): (usize, &f64)| if *norm == 0.0 { 0.0 } else { size(at) / norm };
        state.norms.iter().enumerate().map(relative).collect()
    }

    /// Decides which columns continue after a step that left the residuals `relative`; returns whether one has broken down.
    fn judge(&self, state: &mut State<'_, P, R>, step: &[f64], relative: &[f64], info: &mut SolveInfo) -> bool {
        let (s, mut has_broken) = (state.open.len(), false);
        state.is_solved = true;
        for at in 0..s {
            if !state.moving[at] {
                continue;
            }
            let column = state.open[at];
            info.iterations[column] += 1;
            let is_small = relative[at] <= self.params.tol;
            let is_stuck = step[at] == 0.0 || !relative[at].is_finite();
            // With additional columns, all continue until those are satisfied.
            state.moving[at] = state.extra.is_some();
            if is_small && (is_stuck || self.is_settled(state, at, step[at], relative[at])) {
                continue;
            }
            (state.is_solved, state.moving[at]) = (false, false);
            if is_stuck {
                (info.reason, has_broken) = (Stop::Stagnated, true);
            } else if info.iterations[column] >= self.params.max_iter {
                info.reason = Stop::MaxIter;
            } else {
                state.moving[at] = true;
            }
            if !state.moving[at] && is_small {
                state.doubtful.push(column);
            }
        }
        if let Some(reason) = state.watch.judge(relative, state.is_solved, &self.params) {
            info.reason = reason;
            let is_doubtful = |&at: &usize| {
                let is_small = relative[at] <= self.params.tol;
                state.moving[at] && is_small && !self.is_settled(state, at, step[at], relative[at])
            };
            let doubtful: Vec<usize> = (0..s).filter(is_doubtful).map(|at| state.open[at]).collect();
            state.doubtful.extend(doubtful);
            state.moving.fill(false);
        }
        has_broken
    }

    /// Whether the estimated error of a column with a small residual is small, too. M⁻¹ has not been applied to the new residual yet:
    /// rᵀM⁻¹r is that from before the last step, or the bound ‖r‖²·trace(M⁻¹), if that is smaller.
    fn is_settled(&self, state: &State<'_, P, R>, at: usize, step: f64, relative: f64) -> bool {
        let params = &self.params;
        if params.largest_deviation == 0.0 {
            return true;
        }
        let bound = relative * state.norms[at] * params.total_deviation;
        let estimate = state.rz[at].max(0.0).sqrt().min(bound) * params.largest_deviation;
        let (x, p) = ((&state.x[..], state.width()), (&state.p[..], state.stride));
        let range = self.run.install(|| column_range(x, p, at, step));
        estimate <= params.tol * (self.operator.n() as f64).sqrt() * range
    }

    /// Computes the next direction from the residual, and adds the step along the old one to x in the same pass. Returns β of
    /// each column.
    fn next_direction(
        &self,
        state: &mut State<'_, P, R>,
        step: &[f64],
        sums: &StepSums,
        iteration: usize,
    ) -> Result<Vec<f64>> {
        let (s, correction) = (step.len(), &self.correction);
        let mut kept = vec![0.0; s];
        let (removed, rz) = if correction.diagonal.is_some() {
            if self.is_piecewise() && iteration.is_multiple_of(PROJECT_EVERY) {
                self.run.install(|| self.project_range(&mut state.r, s));
            }
            correction.diagonal_products(sums)
        } else {
            if correction.centers {
                self.run.install(|| steps::subtract(&mut state.r, &state.mean));
                state.mean.fill(0.0);
            }
            self.inverse.apply(&state.r, &mut state.z, s, self.run)?;
            let products = |r: &[R]| {
                let products = self.run.install(|| steps::products(r, &state.z, s, correction));
                correction.full_products(&products)
            };
            if self.params.is_flexible {
                kept = products(&state.before).1;
            }
            products(&state.r)
        };
        let ratio = |((new, kept), old): ((&f64, &f64), &f64)| if *old != 0.0 { (new - kept) / old } else { 0.0 };
        let beta: Vec<f64> = rz.iter().zip(&kept).zip(&state.rz).map(ratio).collect();
        let z = if correction.diagonal.is_some() { &state.r } else { &state.z };
        let coefficients = Coefficients { step, beta: &beta, removed: &removed, lift: &sums.lift };
        let (x, p) = (&mut state.x, (&mut state.p[..], state.stride));
        self.run.install(|| steps::advance(x, p, z, &coefficients, correction));
        state.rz = rz;
        Ok(beta)
    }
}

impl<P: Real, R: Real> State<'_, P, R> {
    /// Columns of the blocks.
    fn width(&self) -> usize {
        self.open.len() + self.n_extra
    }

    /// Whether the additional columns allow the solve to end.
    fn may_end(&mut self, iteration: usize) -> bool {
        let (s, width) = (self.open.len(), self.width());
        let Some(extra) = &mut self.extra else { return false };
        (0..self.n_extra).for_each(|at| self.moving[s + at] = extra.probes().is_moving(at));
        let (squares, is_solved) = (&self.rz[..s], self.is_solved);
        extra.is_satisfied(&View { x: &self.x, width, open: &self.open, squares, is_solved, iteration })
    }

    /// Passes a step to the additional columns.
    fn record(&mut self, step: &[f64], ratios: &[f64]) {
        let s = self.open.len();
        if let Some(extra) = &mut self.extra {
            extra.probes().record(&step[s..], &ratios[s..], &self.rz[s..]);
        }
    }

    /// The columns that stay in the block: all of them while the resting ones cost less than rebuilding the block would.
    fn kept(&self, has_broken: bool) -> Vec<usize> {
        let s = self.open.len();
        let kept: Vec<usize> = (0..s).filter(|&at| self.moving[at]).collect();
        if kept.len() < s && self.n_extra > 0 {
            // A column that has broken down ends the iteration of all.
            return Vec::new();
        }
        if kept.len() > s / 2 && !has_broken { (0..s).collect() } else { kept }
    }

    /// Keeps the columns `kept`; rows of directions become `stride` values apart.
    fn keep(&mut self, kept: &[usize], stride: usize) {
        let s = self.width();
        let n = self.r.len() / s;
        for block in [&mut self.x, &mut self.r, &mut self.before] {
            *block = keep_columns(std::mem::take(block), s, kept);
        }
        let mut directions = Lines::zeros(n * stride);
        let rows = directions.par_chunks_mut(stride).zip(self.p.par_chunks(self.stride)).with_min_len(BLOCK_ROWS);
        rows.for_each(|(to, from)| to.iter_mut().zip(kept).for_each(|(to, &at)| *to = from[at]));
        (self.p, self.stride) = (directions, stride);
        self.q.truncate(n * kept.len());
        self.z.truncate(n * kept.len());
        for values in [&mut self.mean, &mut self.rz, &mut self.norms] {
            *values = kept.iter().map(|&at| values[at]).collect();
        }
        self.watch.keep(kept);
        self.open = kept.iter().map(|&at| self.open[at]).collect();
        self.moving = vec![true; kept.len()];
    }

    /// Writes the solutions to their columns of `x` (n, total).
    fn write(&mut self, x: &mut Vec<R>, total: usize, is_last: bool) {
        let (s, width) = (self.open.len(), self.width());
        if x.is_empty() && is_last && width == total {
            *x = std::mem::take(&mut self.x);
            return;
        }
        if x.is_empty() {
            *x = zeros(self.x.len() / width.max(1) * total);
        }
        write_columns(x, total, &self.x, width, &self.open[..s]);
    }
}
