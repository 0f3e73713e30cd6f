//! The curvature of the dual: the pairs with positive weight as a linear operator.
//!
//! −∇²D = diag(h) + ½·(D_A + A), where A joins the active pairs, D_A holds their numbers, and h is 1/λ² or 1: symmetric,
//! positive definite and diagonally dominant, with a plus where a Laplacian has a minus. Cost of a product: one gather for
//! each of the active entries, 4 bytes of them read in order.

use lapwing_solve::Operator;
use rayon::prelude::*;

use super::dual::{BLOCK, Problem, State};
use super::support::SquaredDistance;

/// diag(h) + ½·(D_A + A).
pub(super) struct Curvature {
    /// Where the active entries of each row start (n + 1).
    starts: Vec<u64>,
    ids: Vec<u32>,
    /// h + ½·D_A.
    diagonal: Vec<f64>,
}

impl Curvature {
    /// That at a state, with h of each row `own(λ)`.
    pub fn at<R: SquaredDistance>(problem: &Problem<'_, R>, state: &State, own: impl Fn(f64) -> f64) -> Self {
        let n = state.degree.len();
        let mut starts = vec![0u64; n + 1];
        (0..n).for_each(|row| starts[row + 1] = starts[row] + u64::from(state.n_active[row]));
        let mut ids = vec![0u32; starts[n] as usize];
        let offsets = problem.offsets(&state.multipliers);
        let mut rest = ids.as_mut_slice();
        let mut blocks = Vec::with_capacity(n.div_ceil(BLOCK));
        for first in (0..n).step_by(BLOCK) {
            let last = (first + BLOCK).min(n);
            let (own, after) = rest.split_at_mut((starts[last] - starts[first]) as usize);
            rest = after;
            blocks.push((first..last, own));
        }
        blocks.into_par_iter().for_each(|(rows, ids)| {
            let mut places = ids.iter_mut();
            for row in rows {
                let (others, squared) = problem.support.row(row);
                let is_active =
                    |(id, z): (&u32, &R)| offsets.weight(row, *id as usize, problem.sparsity * (*z).into()) > 0.0;
                let active = others.iter().zip(squared).filter(|&pair| is_active(pair));
                // As many places as the state counted.
                active.for_each(|(&id, _)| {
                    if let Some(place) = places.next() {
                        *place = id;
                    }
                });
            }
        });
        let diagonal = |(row, &active)| own(problem.lambda(&state.multipliers, row)) + 0.5 * f64::from(active);
        let diagonal = state.n_active.iter().enumerate().map(diagonal).collect();
        Self { starts, ids, diagonal }
    }

    fn row(&self, row: usize) -> &[u32] {
        &self.ids[self.starts[row] as usize..self.starts[row + 1] as usize]
    }
}

impl Operator for Curvature {
    fn n(&self) -> usize {
        self.diagonal.len()
    }

    fn apply(&self, x: &[f64], y: &mut [f64], s: usize) {
        y.par_chunks_mut(BLOCK * s).enumerate().for_each(|(block, y)| {
            for (offset, y) in y.chunks_exact_mut(s).enumerate() {
                let row = block * BLOCK + offset;
                y.iter_mut().enumerate().for_each(|(column, y)| {
                    *y = self.diagonal[row] * x[row * s + column] + 0.5 * sum(self.row(row), x, s, column);
                });
            }
        });
    }

    fn diagonal(&self) -> Vec<f64> {
        self.diagonal.clone()
    }
}

/// Σ of a column of `x` over the rows `ids`, in four interleaved sums.
#[inline(always)]
fn sum(ids: &[u32], x: &[f64], s: usize, column: usize) -> f64 {
    let mut sums = [0.0; 4];
    let (fours, rest) = ids.as_chunks::<4>();
    for ids in fours {
        (0..4).for_each(|lane| sums[lane] += x[ids[lane] as usize * s + column]);
    }
    rest.iter().enumerate().for_each(|(lane, &id)| sums[lane] += x[id as usize * s + column]);
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}
