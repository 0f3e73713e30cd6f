//! The iteration itself: steps, directions, and which columns continue.

use lapwing_core::{Result, Run, fallen};

use super::solution::Total;
use super::state::State;
use super::steps::{self, Coefficients, Correction, StepSums};
use super::watch::Watch;
use super::{CgParams, ExtraColumns, Measure, Projection, SolveInfo, Stop};
use crate::Operator;
use crate::columns::{range_of, side_by_side, subtract, write_columns};
use crate::precond::Inverse;
use crate::real::{Lines, Real, zeros};

/// Iterations between two projections of the residual onto the range of A; without them rounding would accumulate.
const PROJECT_EVERY: usize = 8;

/// What acts on an iteration from outside; nothing by default.
pub(crate) struct Guides<'e, 'r, T> {
    pub extra: Option<&'e mut dyn ExtraColumns>,
    /// Computes the residuals (n, open) of the columns `open` of solutions (n, total), which it may shift: for iterations in single
    /// precision. Directions are kept, so that convergence goes on as if nothing had been rounded: residual replacement (van der Vorst &
    /// Ye 2000), or reliable updates (Clark et al. 2010).
    pub residuals: Option<&'r Residuals<'r, T>>,
}

type Residuals<'a, T> = dyn Fn(&mut [T], &[usize]) -> Result<Vec<f64>> + 'a;

impl<T> Default for Guides<'_, '_, T> {
    fn default() -> Self {
        Self { extra: None, residuals: None }
    }
}

/// Conjugate gradients for blocks in precision R.
pub(crate) struct Krylov<'a, R: Real> {
    operator: &'a dyn Operator<R>,
    inverse: Inverse<'a, R>,
    projection: Projection<'a>,
    params: CgParams,
    run: &'a Run,
    /// Correction of preconditioned residuals for the projection.
    correction: Correction<'a>,
}

impl<'a, R: Real> Krylov<'a, R> {
    /// Prepares an iteration that starts from any residual.
    pub fn new(
        operator: &'a dyn Operator<R>,
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
    pub fn project_range<B: Real>(&self, r: &mut [B], s: usize) {
        let is_whole = self.correction.centers && !matches!(self.projection, Projection::OrthogonalToOnes(_));
        if is_whole {
            Projection::ZeroMean.remove(r, s);
        } else if self.is_piecewise() {
            self.projection.remove(r, s);
        }
    }

    /// Iterates from the residual `r` of the columns `open` of `total`, to which it adds the corrections. Residuals are relative to
    /// `norms` of the columns `open`. Returns the columns with a small residual but a large estimated error.
    pub fn iterate<T: Real>(
        &self,
        r: Vec<R>,
        norms: &[f64],
        mut total: Total<'_, T>,
        open: &[usize],
        info: &mut SolveInfo,
        guides: Guides<'_, '_, T>,
    ) -> Result<Vec<usize>> {
        let mut state = self.start(r, norms, open, guides.extra)?;
        info.reason = Stop::Converged;
        loop {
            self.run.check()?;
            if state.may_end(&total, info.curve.len()) {
                let all: Vec<usize> = (0..state.open.len()).collect();
                self.run.install(|| state.write(&mut total, &all));
                return Ok(state.doubtful);
            }
            let (step, sums) = self.descend(&mut state)?;
            let relative = self.relative(&state, &sums);
            let worst = relative.iter().fold(0.0f64, |most, &r| most.max(r));
            info.curve.push(worst);
            self.report(&state, worst);
            let has_broken = self.judge(&mut state, &total, &step, &relative, info);
            let kept = state.kept(has_broken);
            // The steps that have not been added to the solutions yet.
            let (pending, sums) = if kept.len() < state.open.len() {
                let leaving: Vec<usize> = (0..state.open.len()).filter(|at| !kept.contains(at)).collect();
                self.run.install(|| {
                    steps::add(&mut state.x, (&state.p, state.stride), &step);
                    state.write(&mut total, &leaving);
                });
                if kept.is_empty() {
                    return Ok(state.doubtful);
                }
                let stride = self.operator.stride(kept.len());
                self.run.install(|| state.keep(&kept, stride));
                (vec![0.0; kept.len()], sums.keep(&kept))
            } else if let Some(residuals) = guides.residuals.filter(|_| state.has_fallen(&relative)) {
                (vec![0.0; step.len()], self.refresh(&mut state, &step, &mut total, residuals)?)
            } else {
                (step.clone(), sums)
            };
            let ratios = self.next_direction(&mut state, &pending, &sums, info.curve.len())?;
            state.record(&step, &ratios);
        }
    }

    /// Reports how far the residual has fallen to the tolerance, in logarithms. If a solve continues beyond the tolerance as long as rows become
    /// settled, that is half of it; the other half is how far the number of open rows has fallen.
    fn report(&self, state: &State<'_, R>, worst: f64) {
        let residual = fallen(1.0, self.params.tol, worst);
        let Some(extra) = &state.extra else { return self.run.share(residual, &format!("residual {worst:.1e}")) };
        match extra.open_rows() {
            Some((n_open, share)) => {
                let note = format!("residual {worst:.1e}, {n_open} rows open");
                self.run.share(0.5 * (residual + share), &note);
            }
            None => self.run.share(0.5 * residual, &format!("residual {worst:.1e}")),
        }
    }

    /// The state before the first step: p = z = M⁻¹r.
    fn start<'c>(
        &self,
        mut r: Vec<R>,
        norms: &[f64],
        open: &[usize],
        mut extra: Option<&'c mut dyn ExtraColumns>,
    ) -> Result<State<'c, R>> {
        let (n, n_extra) = (self.operator.n(), extra.as_mut().map_or(0, |extra| extra.probes().len()));
        let s = open.len() + n_extra;
        if let Some(extra) = &mut extra {
            let more = extra.residuals()?;
            r = self.run.install(|| side_by_side(&r, open.len(), &R::of_double(more), n_extra));
        }
        let is_fused = self.correction.diagonal.is_some();
        let stride = self.operator.stride(s);
        let mut state = State {
            open: open.to_vec(),
            extra,
            n_extra,
            is_settled: vec![false; open.len()],
            moving: vec![true; s],
            is_solved: false,
            doubtful: Vec::new(),
            watch: Watch::new(open.len()),
            norms: norms.to_vec(),
            largest: Vec::new(),
            x: zeros(n * s),
            r,
            p: Lines::zeros(n * stride),
            stride,
            q: zeros(n * s),
            z: zeros(if is_fused { 0 } else { n * s }),
            before: zeros(if self.params.is_flexible { n * s } else { 0 }),
            mean: vec![0.0; s],
            rz: vec![1.0; s],
        };
        let sums = self.measure(&mut state);
        self.next_direction(&mut state, &vec![0.0; s], &sums, 1)?;
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
    fn descend(&self, state: &mut State<'_, R>) -> Result<(Vec<f64>, StepSums)> {
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
    fn relative(&self, state: &State<'_, R>, sums: &StepSums) -> Vec<f64> {
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

    /// Adds the corrections so far, with the last step, to the total, and replaces the residuals by those of the total. Returns their
    /// sums.
    fn refresh<T: Real>(
        &self,
        state: &mut State<'_, R>,
        step: &[f64],
        total: &mut Total<'_, T>,
        residuals: &Residuals<'_, T>,
    ) -> Result<StepSums> {
        let (s, width, len) = (state.open.len(), state.width(), state.x.len());
        let all: Vec<usize> = (0..s).collect();
        self.run.install(|| {
            steps::add(&mut state.x, (&state.p, state.stride), step);
            state.write(total, &all);
        });
        // The blocks that begin at zero again are freed before those of the residuals are allocated.
        (state.x, state.q) = (Vec::new(), Vec::new());
        let fresh = residuals(total.x, &state.open)?;
        self.run.install(|| write_columns(&mut state.r, width, &fresh, s, &all));
        drop(fresh);
        (state.x, state.q) = (zeros(len), zeros(len));
        state.mean[..s].fill(0.0);
        let sums = self.measure(state);
        state.mean = self.correction.mean(&sums, self.operator.n());
        Ok(sums)
    }

    /// Sums over residuals that were computed from the solution, by a step of length 0.
    fn measure(&self, state: &mut State<'_, R>) -> StepSums {
        let rest = vec![0.0; state.width()];
        let sums = self.run.install(|| steps::descend(&mut state.r, &state.q, &rest, &state.mean, &self.correction));
        state.largest = self.relative(state, &sums);
        sums
    }

    /// Decides which columns continue after a step that left the residuals `relative`; returns whether one has broken down.
    fn judge<T: Real>(
        &self,
        state: &mut State<'_, R>,
        total: &Total<'_, T>,
        step: &[f64],
        relative: &[f64],
        info: &mut SolveInfo,
    ) -> bool {
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
            if is_small && !is_stuck && !state.is_settled[at] {
                state.is_settled[at] = self.is_settled(state, total, at, step[at], relative[at]);
            }
            if is_small && (is_stuck || state.is_settled[at]) {
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
                state.moving[at] && is_small && !state.is_settled[at]
            };
            let doubtful: Vec<usize> = (0..s).filter(is_doubtful).map(|at| state.open[at]).collect();
            state.doubtful.extend(doubtful);
            state.moving.fill(false);
        }
        has_broken
    }

    /// Whether the estimated error of a column with a small residual is small, too. M⁻¹ has not been applied to the new residual yet:
    /// rᵀM⁻¹r is that from before the last step, or the bound ‖r‖²·trace(M⁻¹), if that is smaller.
    fn is_settled<T: Real>(
        &self,
        state: &State<'_, R>,
        total: &Total<'_, T>,
        at: usize,
        step: f64,
        relative: f64,
    ) -> bool {
        let params = &self.params;
        if params.largest_deviation == 0.0 {
            return true;
        }
        let bound = relative * state.norms[at] * params.total_deviation;
        let estimate = state.rz[at].max(0.0).sqrt().min(bound) * params.largest_deviation;
        let (n, width, stride, column) = (self.operator.n(), state.width(), state.stride, state.open[at]);
        let (x, p) = (&state.x[..], &state.p[..]);
        let own = |row: usize| x[row * width + at].wide() + step * p[row * stride + at].wide();
        let range = self.run.install(|| range_of(n, |row| total.value(row, column) + own(row)));
        estimate <= params.tol * (n as f64).sqrt() * range
    }

    /// Computes the next direction from the residual, and adds the step along the old one to x in the same pass. Returns β of
    /// each column.
    fn next_direction(
        &self,
        state: &mut State<'_, R>,
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
                self.run.install(|| subtract(&mut state.r, &state.mean));
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
