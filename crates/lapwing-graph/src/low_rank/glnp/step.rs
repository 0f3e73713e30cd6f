//! One pass of a projected gradient step: F⁺ = max(Y − s·∇Q(Y), 0) from Y = F + β(F − F′), with the sums from which s and the
//! next Y follow.
//!
//! A block needs its rows of X, F and F′ and the moments of Y; it computes its rows of the gradient and of F⁺ and adds to
//! XᵀF⁺, F⁺ᵀF⁺, F⁺ᵀF and four numbers. So a step costs one pass over X whether it is accepted or not, and neither Y nor the
//! gradient is ever held.
//!
//! Cost: 4·n·d·k + 6·n·k² operations. Parallel over blocks of rows, sums in the order of [`rows`](super::rows); those
//! over the entries of a block by columns, then over columns.

use lapwing_core::Result;
use lapwing_core::ordered::{Summand, add};
use lapwing_simd::dispatch;
use lapwing_solve::products::{add_product, add_transposed_product, product};

use super::course::Iterate;
use super::moments::{MomentSums, Moments};
use super::rows::OffsetRows;

/// Y = F + β(F − F′).
pub(super) struct Point<'p> {
    pub now: &'p Iterate,
    /// F′ (n, k); any finite values if β = 0.
    pub before: &'p [f64],
    pub beta: f64,
    /// The moments of Y.
    pub moments: &'p Moments,
}

/// Results of a step besides F⁺ and its moments.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Found {
    /// C = F⁺ᵀF (k, k).
    pub cross: Vec<f64>,
    /// ⟨∇Q(Y), F⁺ − Y⟩.
    pub slope: f64,
    /// ‖F⁺ − Y‖².
    pub moved: f64,
    /// ⟨Y − F⁺, F⁺ − F⟩: above 0 if the momentum leads uphill.
    pub uphill: f64,
    /// Squared norm of the projected gradient at Y: ∇Q where Y > 0, else min(∇Q, 0).
    pub gradient: f64,
}

/// Sums over rows.
#[derive(Clone)]
struct StepSums {
    moments: MomentSums,
    cross: Vec<f64>,
    /// Slope, moved, uphill and gradient by columns (4, k).
    columns: Vec<f64>,
}

impl StepSums {
    fn zero(d: usize, k: usize) -> Self {
        Self { moments: MomentSums::zero(d, k), cross: vec![0.0; k * k], columns: vec![0.0; 4 * k] }
    }
}

impl Summand for StepSums {
    fn add(&mut self, other: &Self) {
        self.moments.add(&other.moments);
        add(&mut self.cross, &other.cross);
        add(&mut self.columns, &other.columns);
    }
}

/// The step of length s from `from`, into `next`; one pass.
pub(super) fn step(rows: &OffsetRows<'_>, from: &Point<'_>, s: f64, next: &mut Iterate) -> Result<Found> {
    let (d, k) = (rows.d, from.moments.k);
    let (of_rows, of_factor) = from.moments.gradient_maps();
    let zero = || StepSums::zero(d, k);
    let total = rows.sum(k, &mut next.factor, zero, |sums, tile, next| {
        let part = tile.first * k..tile.first * k + next.len();
        let (now, before) = (&from.now.factor[part.clone()], &from.before[part]);
        tile.scratch.resize(2 * next.len(), 0.0);
        let (y, gradient) = tile.scratch.split_at_mut(next.len());
        extrapolate(now, before, from.beta, y);
        product(tile.x, &of_rows, d, gradient);
        add_product(y, &of_factor, k, gradient);
        project(y, gradient, now, s, next, &mut sums.columns);
        sums.moments.add_rows(tile.x, next, next.len() / k);
        add_transposed_product(next, now, next.len() / k, &mut sums.cross);
    })?;
    next.moments = Moments::new(k, total.moments.basis, total.moments.gram);
    let sum = |which: usize| total.columns[which * k..(which + 1) * k].iter().sum();
    Ok(Found { cross: total.cross, slope: sum(0), moved: sum(1), uphill: sum(2), gradient: sum(3) })
}

dispatch! {
    /// y ← f + β(f − f′).
    pub(crate) fn extrapolate(now: &[f64], before: &[f64], beta: f64, y: &mut [f64]) = extrapolate_plain
}

#[inline(always)]
fn extrapolate_plain(now: &[f64], before: &[f64], beta: f64, y: &mut [f64]) {
    for ((y, f), f0) in y.iter_mut().zip(now).zip(before) {
        *y = f + beta * (f - f0);
    }
}

dispatch! {
    /// Rows of F⁺ = max(y − s·g, 0); adds to the four sums of each column.
    pub(crate) fn project(y: &[f64], g: &[f64], now: &[f64], s: f64, next: &mut [f64], columns: &mut [f64]) = project_plain
}

#[inline(always)]
fn project_plain(y: &[f64], g: &[f64], now: &[f64], s: f64, next: &mut [f64], columns: &mut [f64]) {
    let k = columns.len() / 4;
    let (slope, rest) = columns.split_at_mut(k);
    let (moved, rest) = rest.split_at_mut(k);
    let (uphill, gradient) = rest.split_at_mut(k);
    let rows = y.chunks_exact(k).zip(g.chunks_exact(k)).zip(now.chunks_exact(k)).zip(next.chunks_exact_mut(k));
    for (((y, g), now), next) in rows {
        for at in 0..k {
            let to = (y[at] - s * g[at]).max(0.0);
            let by = to - y[at];
            slope[at] += g[at] * by;
            moved[at] += by * by;
            uphill[at] -= by * (to - now[at]);
            let projected = if y[at] > 0.0 { g[at] } else { g[at].min(0.0) };
            gradient[at] += projected * projected;
            next[at] = to;
        }
    }
}
