//! The curvature of the dual as a linear operator on the active pairs, those with positive weight, and the systems of Newton steps.
//!
//! −∇²D = diag(h) + ½·(D_A + A), where A joins the active pairs, D_A is the diagonal of their numbers, and h is 1/λ² or 1. It is
//! symmetric, positive definite and diagonally dominant, with a plus where a Laplacian has a minus. Cost of a product: one
//! gather for each of the active entries, of which 4 bytes each are read in order.

use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, Run};
use lapwing_solve::precond::Jacobi;
use lapwing_solve::{CgParams, Operator, Projection, column_dots, solve};

use super::dual::{BLOCK, Problem, State};
use super::lanes::half_sums;
use super::support::SquaredDistance;

/// Solves `curvature`·X = `b` by conjugate gradients with its `diagonal` (n) as preconditioner; X, and the products of its
/// slowest column.
pub(super) fn solve_step(
    curvature: &impl Operator,
    diagonal: Vec<f64>,
    b: &Matrix,
    params: CgParams,
    run: &Run,
) -> Result<(Matrix, usize)> {
    let (jacobi, quiet) = (Jacobi::new(diagonal)?, run.quiet());
    let (x, info) = run.install(|| solve(curvature, (&jacobi).into(), Projection::None, b, None, params, &quiet))?;
    Ok((x, info.iterations.iter().max().copied().unwrap_or(0)))
}

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
    /// The curvature at `state`, where h of a row is `own(λ)`.
    pub fn at<R: SquaredDistance>(problem: &Problem<'_, R>, state: &'a State, own: impl Fn(f64) -> f64 + Sync) -> Self {
        let diagonal = |(row, &active)| own(problem.lambda(&state.multipliers, row)) + 0.5 * f64::from(active);
        let diagonal = state.n_active.par_iter().enumerate().with_min_len(BLOCK).map(diagonal).collect();
        Self { ends: state.ends(), active: &state.active, diagonal }
    }
}

impl Curvature<'_> {
    /// The diagonal (n).
    pub fn diagonal(&self) -> Vec<f64> {
        self.diagonal.clone()
    }

    /// Y ← A·X on a block (n, s).
    fn product(&self, x: &[f64], y: &mut [f64], s: usize) {
        let blocks = y.par_chunks_mut(BLOCK * s).zip(self.ends.par_chunks(BLOCK)).zip(self.active).enumerate();
        blocks.for_each(|(block, ((y, ends), active))| {
            let first = block * BLOCK;
            if s == 1 {
                return half_sums(first, &self.diagonal, ends, active, x, y);
            }
            let mut start = 0;
            for (offset, (y, &end)) in y.chunks_exact_mut(s).zip(ends).enumerate() {
                let row = first + offset;
                let own = &x[row * s..(row + 1) * s];
                y.fill(0.0);
                for &id in &active[start..end as usize] {
                    y.iter_mut().zip(&x[id as usize * s..]).for_each(|(y, x)| *y += x);
                }
                y.iter_mut().zip(own).for_each(|(y, x)| *y = self.diagonal[row] * x + 0.5 * *y);
                start = end as usize;
            }
        });
    }
}

impl Operator for Curvature<'_> {
    fn n(&self) -> usize {
        self.diagonal.len()
    }

    fn apply(&self, x: &[f64], y: &mut [f64], s: usize, run: &Run) -> Result<Vec<f64>> {
        run.install(|| {
            self.product(x, y, s);
            Ok(column_dots(x, y, self.n(), s))
        })
    }
}
