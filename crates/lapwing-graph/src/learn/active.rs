//! The curvature of the dual: the pairs with positive weight as a linear operator.
//!
//! −∇²D = diag(h) + ½·(D_A + A), where A joins the active pairs, D_A holds their numbers, and h is 1/λ² or 1: symmetric,
//! positive definite and diagonally dominant, with a plus where a Laplacian has a minus. Cost of a product: one gather for
//! each of the active entries, 4 bytes of them read in order.

use lapwing_data::vectored::prefetch;
use lapwing_solve::Operator;
use rayon::prelude::*;

use super::dual::{AHEAD, BLOCK, Problem, State};
use super::support::SquaredDistance;

/// diag(h) + ½·(D_A + A).
pub(super) struct Curvature<'a> {
    /// Where the active entries of each row end within their block (n).
    ends: Vec<u32>,
    /// The entries, block by block.
    active: &'a [Vec<u32>],
    /// h + ½·D_A.
    diagonal: Vec<f64>,
}

impl<'a> Curvature<'a> {
    /// That at a state, with h of each row `own(λ)`.
    pub fn at<R: SquaredDistance>(problem: &Problem<'_, R>, state: &'a State, own: impl Fn(f64) -> f64 + Sync) -> Self {
        let diagonal = |(row, &active)| own(problem.lambda(&state.multipliers, row)) + 0.5 * f64::from(active);
        let diagonal = state.n_active.par_iter().enumerate().with_min_len(BLOCK).map(diagonal).collect();
        Self { ends: state.ends(), active: &state.active, diagonal }
    }
}

impl Operator for Curvature<'_> {
    fn n(&self) -> usize {
        self.diagonal.len()
    }

    fn apply(&self, x: &[f64], y: &mut [f64], s: usize) {
        let blocks = y.par_chunks_mut(BLOCK * s).zip(self.ends.par_chunks(BLOCK)).zip(self.active).enumerate();
        blocks.for_each(|(block, ((y, ends), active))| {
            let mut start = 0;
            for (offset, (y, &end)) in y.chunks_exact_mut(s).zip(ends).enumerate() {
                let (row, ids) = (block * BLOCK + offset, &active[start..end as usize]);
                let ahead = active.get(start + AHEAD..).unwrap_or(&[]);
                y.iter_mut().enumerate().for_each(|(column, y)| {
                    *y = self.diagonal[row] * x[row * s + column] + 0.5 * sum((ids, ahead), x, s, column);
                });
                start = end as usize;
            }
        });
    }

    fn diagonal(&self) -> Vec<f64> {
        self.diagonal.clone()
    }
}

/// Σ of a column of `x` over the rows `ids`, in four interleaved sums.
#[inline(always)]
fn sum((ids, ahead): (&[u32], &[u32]), x: &[f64], s: usize, column: usize) -> f64 {
    let mut sums = [0.0; 4];
    let (fours, rest) = ids.as_chunks::<4>();
    for (at, ids) in fours.iter().enumerate() {
        if let Some(next) = ahead.get(4 * at..4 * at + 4) {
            next.iter().for_each(|&id| prefetch(&x[id as usize * s]));
        }
        (0..4).for_each(|lane| sums[lane] += x[ids[lane] as usize * s + column]);
    }
    rest.iter().enumerate().for_each(|(lane, &id)| sums[lane] += x[id as usize * s + column]);
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}
