//! The columns of an iteration, and which of them continue.

use lapwing_core::parallel::*;

use super::solution::{Sum, Total};
use super::watch::Watch;
use super::{ExtraColumns, View};
use crate::blocks::BLOCK_ROWS;
use crate::columns::{add_columns, column_sums, keep_columns};
use crate::real::{Lines, Real, zeros};

/// Residuals are recomputed when they have fallen to this share of their largest value since the last time. Rounding to single precision,
/// 6·10⁻⁸ of that value in each step, then remains below a hundredth of them.
const REFRESH: f64 = 1e-3;

/// The active columns.
pub(super) struct State<'c, R: Real> {
    /// Their numbers among all columns; additional columns follow them.
    pub open: Vec<usize>,
    pub extra: Option<&'c mut dyn ExtraColumns>,
    pub n_extra: usize,
    /// Whether the estimated error of each column of the solve has become small. It falls with every step.
    pub is_settled: Vec<bool>,
    /// Whether each column still moves. One that has converged rests: its step is 0.
    pub moving: Vec<bool>,
    pub is_solved: bool,
    /// Columns with a small residual but a large estimated error.
    pub doubtful: Vec<usize>,
    pub watch: Watch,
    /// Norms to which residuals are relative.
    pub norms: Vec<f64>,
    /// The largest relative residual of each column since residuals were computed from the solution.
    pub largest: Vec<f64>,
    /// Corrections of the solutions, residuals, directions and their products.
    pub x: Vec<R>,
    pub r: Vec<R>,
    pub p: Lines<R>,
    /// Values from a row of `p` to the next.
    pub stride: usize,
    pub q: Vec<R>,
    /// Preconditioned residuals; empty where M⁻¹ is applied within the steps.
    pub z: Vec<R>,
    /// Residuals before the last step, for flexible iterations.
    pub before: Vec<R>,
    /// Mean of each column of r that has still to be subtracted.
    pub mean: Vec<f64>,
    /// rᵀz of each column.
    pub rz: Vec<f64>,
}

impl<R: Real> State<'_, R> {
    /// Columns of the blocks.
    pub fn width(&self) -> usize {
        self.open.len() + self.n_extra
    }

    /// Whether the additional columns allow the solve to end.
    pub fn may_end<T: Real>(&mut self, total: &Total<'_, T>, iteration: usize) -> bool {
        let (s, width) = (self.open.len(), self.width());
        let Some(extra) = &mut self.extra else { return false };
        (0..self.n_extra).for_each(|at| self.moving[s + at] = extra.probes().is_moving(at));
        let (squares, is_solved) = (&self.rz[..s], self.is_solved);
        let solution = Sum { total, own: &self.x, width, open: &self.open };
        extra.is_satisfied(&View { solution: &solution, open: &self.open, squares, is_solved, iteration })
    }

    /// Whether the residual of a column has fallen so far, since it was computed from the solution, that rounding may show.
    pub fn has_fallen(&mut self, relative: &[f64]) -> bool {
        self.largest.iter_mut().zip(relative).for_each(|(largest, now)| *largest = largest.max(*now));
        let columns = self.largest.iter().zip(relative).zip(&self.moving);
        columns.into_iter().any(|((largest, now), moves)| *moves && *now <= REFRESH * largest)
    }

    /// Passes a step to the additional columns.
    pub fn record(&mut self, step: &[f64], ratios: &[f64]) {
        let s = self.open.len();
        if let Some(extra) = &mut self.extra {
            extra.probes().record(&step[s..], &ratios[s..], &self.rz[s..]);
        }
    }

    /// The columns that stay in the block: all of them while the resting ones cost less than rebuilding the block would.
    pub fn kept(&self, has_broken: bool) -> Vec<usize> {
        let s = self.open.len();
        let kept: Vec<usize> = (0..s).filter(|&at| self.moving[at]).collect();
        if kept.len() < s && self.n_extra > 0 {
            // A column that has broken down ends the iteration of all.
            return Vec::new();
        }
        if kept.len() > s / 2 && !has_broken { (0..s).collect() } else { kept }
    }

    /// Keeps the columns `kept`; rows of directions become `stride` values apart.
    pub fn keep(&mut self, kept: &[usize], stride: usize) {
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
        for values in [&mut self.mean, &mut self.rz, &mut self.norms, &mut self.largest] {
            *values = kept.iter().map(|&at| values[at]).collect();
        }
        self.watch.keep(kept);
        self.open = kept.iter().map(|&at| self.open[at]).collect();
        self.is_settled = kept.iter().map(|&at| self.is_settled[at]).collect();
        self.moving = vec![true; kept.len()];
    }

    /// Adds the corrections of the columns at the places `at` of the block to the total, except those of columns that broke down, which
    /// hold values that are not finite.
    pub fn write<T: Real>(&mut self, total: &mut Total<'_, T>, at: &[usize]) {
        let width = self.width();
        let n = self.r.len() / width;
        let sums = column_sums(&self.x, n, width);
        let is_sound = |at: &usize| sums[*at].is_finite();
        if total.x.is_empty() && at.len() == width && width == total.width && at.iter().all(is_sound) {
            *total.x = R::cast(std::mem::take(&mut self.x));
            return;
        }
        if total.x.is_empty() {
            *total.x = zeros(n * total.width);
        }
        let pairs: Vec<(usize, usize)> = at.iter().copied().filter(is_sound).map(|at| (at, self.open[at])).collect();
        add_columns((total.x, total.width), (&self.x, width), &pairs);
    }
}
