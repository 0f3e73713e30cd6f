//! Bounds on the error of every row of a solution.
//!
//! Let M be the preconditioner, r = b − A·x and λ at most the least eigenvalue of M⁻¹A. Then every functional c of the error e =
//! A⁻¹r has |cᵀe| ≤ √(cᵀM⁻¹c · rᵀM⁻¹r)/λ: A ⪰ λM gives A⁻¹ ⪯ M⁻¹/λ, and Cauchy–Schwarz in A⁻¹ does the rest. So |eᵢ| ≤
//! √vᵢ·√(rᵀM⁻¹r)/λ with vᵢ ≥ (M⁻¹)ᵢᵢ. √vᵢ is large where the weights of row i are small, which no norm of r shows.
//!
//! - v comes from one sweep over the factor, or is exact ([`Bounded::variances`]); λ comes from additional columns of the solve
//!   ([`crate::probes`]).
//! - Solutions are constrained: mean zero, mean zero on each singular component, or cᵀx = 0 with c = A·1. M⁻¹ and v are corrected
//!   for the constraint. For mean zero, M⁻¹ becomes M⁻¹ − hhᵀ/(1ᵀh) with h = M⁻¹1. Otherwise M⁻¹ stays, residuals sum to 0, and
//!   errors are taken relative to their means.
//! - r is known up to η, (entries + 4) roundings of Σ w|xᵢ − xⱼ| + gᵢ|xᵢ| + |bᵢ|. M⁻¹ has no negative entry, so √(ηᵀM⁻¹η) bounds
//!   the effect.
//!
//! Cost: a product, a sweep for v, and an application of M⁻¹ to s + 3 columns; O(n·s²) for the products of residuals of up to
//! [`ErrorBounds::MOST_JOINT`] columns.

use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, Run};

use super::bounds::{BOUND_SLACK, ErrorBounds, SUM_SLACK};
use super::goal::Rounding;
use super::system::System;
use super::task::{Columns, Engine};
use crate::blocks::{BLOCK_ROWS, column_dots, reduce};
use crate::cg::Projection;
use crate::columns::column_sums;
use crate::precond::Bounded;

/// Unit roundoff of f64.
const UNIT: f64 = f64::EPSILON / 2.0;

/// v and 1ᵀM⁻¹1 under the constraint.
pub(super) fn variances(
    preconditioner: &dyn Bounded,
    projection: Projection<'_>,
    n: usize,
    run: &Run,
) -> Result<(Vec<f64>, f64)> {
    let mut v = preconditioner.variances();
    let applied = |vector: Vec<f64>| -> Result<Vec<f64>> {
        let mut image = vec![0.0; n];
        preconditioner.apply(&vector, &mut image, 1, run)?;
        Ok(image)
    };
    let dot = |a: &[f64], b: &[f64]| column_dots(a, b, n, 1)[0];
    let lower = |v: &mut [f64], by: &(dyn Fn(usize) -> f64 + Sync)| {
        v.par_iter_mut().enumerate().for_each(|(row, v)| *v = (*v - by(row)).max(0.0) + 4.0 * SUM_SLACK * *v);
    };
    let total = match projection {
        Projection::None => dot(&applied(vec![1.0; n])?, &vec![1.0; n]),
        Projection::ZeroMean => {
            let h = applied(vec![1.0; n])?;
            let sum = h.iter().sum::<f64>();
            lower(&mut v, &|row| h[row] * h[row] / sum);
            0.0
        }
        Projection::Components { ids, sizes } => {
            let share = |id: &u32| sizes.get(*id as usize).map_or(0.0, |&size| (size as f64).recip());
            lower_by_components(&mut v, &applied(ids.iter().map(share).collect())?, ids, sizes);
            0.0
        }
        Projection::OrthogonalToOnes(c) => {
            let sum: f64 = c.iter().sum();
            let h = applied(c.iter().map(|c| c / sum).collect())?;
            let mean = dot(&h, c) / sum;
            v.par_iter_mut().zip(&h).for_each(|(v, h)| {
                let size = *v + mean;
                *v = (*v - 2.0 * h + mean).max(0.0) + 4.0 * SUM_SLACK * size;
            });
            let ones: Vec<f64> = c.iter().map(|c| 1.0 - c * (n as f64 / sum)).collect();
            dot(&applied(ones.clone())?, &ones)
        }
    };
    Ok((v, total.max(0.0)))
}

/// Corrects v for means over components, from h = M⁻¹·u with u the shares 1/size of their rows.
fn lower_by_components(v: &mut [f64], h: &[f64], ids: &[u32], sizes: &[usize]) {
    let mut means = vec![0.0; sizes.len()];
    ids.iter().zip(h).filter(|(id, _)| **id != u32::MAX).for_each(|(&id, h)| means[id as usize] += h);
    means.iter_mut().zip(sizes).for_each(|(mean, &size)| *mean /= size as f64);
    v.par_iter_mut().enumerate().for_each(|(row, v)| {
        // If v is only an upper bound, the mean over a component is not 0.
        let mean = means.get(ids[row] as usize).copied();
        let size = *v + mean.unwrap_or(0.0);
        *v = (*v - mean.map_or(0.0, |mean| 2.0 * h[row] - mean)).max(0.0) + 4.0 * SUM_SLACK * size;
    });
}

impl System {
    /// Bounds on the errors of the solution `x` (n, s) of `columns`, in the solver's order of rows.
    pub(super) fn error_bounds(
        &self,
        engine: &Engine<'_>,
        columns: &Columns,
        x: &Matrix,
        lambda: f64,
        run: &Run,
    ) -> Result<ErrorBounds> {
        let (n, s) = (x.n_rows(), x.n_cols());
        let (residual, rounding, constant) = self.residual_in_range(engine.projection, columns, x);
        let width = s + 1;
        let mut block = vec![0.0; n * width];
        block.par_chunks_mut(width).with_min_len(BLOCK_ROWS).enumerate().for_each(|(row, block)| {
            block[..s].copy_from_slice(&residual[row * s..(row + 1) * s]);
            block[s] = rounding[row];
        });
        drop(residual);
        let preconditioner = engine.preconditioner();
        let mut image = vec![0.0; n * width];
        preconditioner.apply(&block, &mut image, width, run)?;
        // What is not a number stays so, and bounds nothing.
        let lost = |square: f64| if square <= 0.0 { 0.0 } else { square.sqrt() * BOUND_SLACK };
        let scale = |at: usize| (-columns.scales[at]).exp2();
        // What the constraint takes off rᵀM⁻¹r', for each pair of columns.
        let removed = match engine.projection {
            Projection::ZeroMean => {
                let mut ones = vec![0.0; n];
                preconditioner.apply(&vec![1.0; n], &mut ones, 1, run)?;
                Some((column_sums(&image, n, width), ones.iter().sum::<f64>()))
            }
            _ => None,
        };
        let removed = |a: usize, b: usize| removed.as_ref().map_or(0.0, |(sums, total)| sums[a] * sums[b] / total);
        if s > ErrorBounds::MOST_JOINT {
            let squares = column_dots(&block, &image, n, width);
            let of_rounding = lost(squares[s]);
            let own = |at: usize| lost(squares[at] - removed(at, at)) * scale(at) + of_rounding;
            return Ok(ErrorBounds { lambda, gram: Vec::new(), rounding: (0..s).map(own).collect(), constant });
        }
        let products = gram(&block, &image, width, run);
        run.check()?;
        let product = |a: usize, b: usize| products[a * width + b] - removed(a, b);
        let gram = (0..s * s)
            .map(|at| (at / s, at % s))
            .map(|(a, b)| 0.5 * (product(a, b) + product(b, a)) * scale(a) * scale(b))
            .collect();
        Ok(ErrorBounds { lambda, gram, rounding: vec![lost(products[width * width - 1]); s], constant })
    }

    /// The projected residuals R (n, s), the largest error of the values of each row (n), and the errors common to all rows (s).
    fn residual_in_range(
        &self,
        projection: Projection<'_>,
        columns: &Columns,
        x: &Matrix,
    ) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let (n, s, exponents) = (x.n_rows(), x.n_cols(), &columns.scales);
        let (mut residual, mut rounding) = self.residual_and_rounding(columns, x);
        let mut constant = vec![0.0; s];
        let sums = column_sums(&residual, n, s);
        match projection {
            Projection::None | Projection::Components { .. } => {}
            Projection::ZeroMean => {
                // The constrained M⁻¹ maps constants to 0.
                let means: Vec<f64> = sums.iter().map(|sum| sum / n as f64).collect();
                take_off(&mut residual, &mut rounding, &means, exponents, |_| 1.0);
            }
            Projection::OrthogonalToOnes(c) => {
                let sum: f64 = c.iter().sum();
                let shares: Vec<f64> = sums.iter().map(|r| r / sum).collect();
                let lost: f64 = rounding.iter().sum();
                constant = (0..s).map(|at| (shares[at].abs() * (-exponents[at]).exp2()) + lost / sum).collect();
                take_off(&mut residual, &mut rounding, &shares, exponents, |row| c[row]);
            }
        }
        (residual, rounding, constant)
    }

    /// R = B − A·X (n, s), not scaled, and the largest error of the values of each row (n).
    fn residual_and_rounding(&self, columns: &Columns, x: &Matrix) -> (Vec<f64>, Vec<f64>) {
        let (n, s) = (x.n_rows(), x.n_cols());
        let mut residual = vec![0.0; n * s];
        let mut rounding = vec![0.0; n];
        residual.par_chunks_mut(BLOCK_ROWS * s).zip(rounding.par_chunks_mut(BLOCK_ROWS)).enumerate().for_each(
            |(block, (residual, rounding))| {
                let rows = residual.chunks_exact_mut(s).zip(rounding);
                self.each_residual(columns, x.values(), block, rows.map(|(residual, lost)| (Some(residual), lost)));
            },
        );
        (residual, rounding)
    }

    /// What the rounding of a solution `x` (n, s) adds to its error bounds.
    pub(super) fn rounding_bounds(
        &self,
        engine: &Engine<'_>,
        columns: &Columns,
        x: &[f64],
        run: &Run,
    ) -> Result<Rounding> {
        let n = self.n();
        let mut rounding = vec![0.0; n];
        run.install(|| {
            rounding.par_chunks_mut(BLOCK_ROWS).enumerate().for_each(|(block, rounding)| {
                self.each_residual(columns, x, block, rounding.iter_mut().map(|lost| (None, lost)));
            });
        });
        let mut image = vec![0.0; n];
        engine.preconditioner().apply(&rounding, &mut image, 1, run)?;
        let energy = run.install(|| column_dots(&rounding, &image, n, 1))[0].max(0.0).sqrt();
        let constant = match engine.projection {
            Projection::OrthogonalToOnes(c) => rounding.iter().sum::<f64>() / c.iter().sum::<f64>(),
            _ => 0.0,
        };
        Ok(Rounding { energy, constant })
    }

    /// Computes the residuals of the rows of a block, where they are wanted, and the largest error of their values.
    fn each_residual<'r>(
        &self,
        columns: &Columns,
        x: &[f64],
        block: usize,
        rows: impl ExactSizeIterator<Item = (Option<&'r mut [f64]>, &'r mut f64)>,
    ) {
        let (s, exponents) = (columns.scales.len(), &columns.scales);
        let (mut sizes, mut own, zeros) = (vec![0.0; s], vec![0.0; s], vec![0.0; s]);
        let range = block * BLOCK_ROWS..block * BLOCK_ROWS + rows.len();
        for ((row, b), (residual, lost)) in range.clone().zip(columns.b.rows_in(range)).zip(rows) {
            let r = residual.unwrap_or(&mut own);
            let entries = self.matrix.row_product(row, x, s, r, &mut sizes);
            let mut most = 0.0f64;
            for (at, ((r, size), b)) in r.iter_mut().zip(&sizes).zip(b.unwrap_or(&zeros)).enumerate() {
                *r = b - *r;
                most = most.max((size + b.abs() + r.abs()) * (-exponents[at]).exp2());
            }
            *lost = (entries + 6) as f64 * UNIT * most;
        }
    }
}

/// Subtracts `shares` of `weight` from the residuals; adds the rounding of that to `rounding`.
fn take_off(
    residual: &mut [f64],
    rounding: &mut [f64],
    shares: &[f64],
    exponents: &[f64],
    weight: impl Fn(usize) -> f64 + Sync,
) {
    let s = shares.len();
    let rows = residual.par_chunks_mut(s).zip(rounding).with_min_len(BLOCK_ROWS).enumerate();
    rows.for_each(|(row, (residual, lost))| {
        let weight = weight(row);
        for ((r, share), exponent) in residual.iter_mut().zip(shares).zip(exponents) {
            *lost += 4.0 * UNIT * (share * weight).abs() * (-exponent).exp2();
            *r -= share * weight;
        }
    });
}

/// XᵀY of blocks (n, s); of no use once the run is canceled.
fn gram(x: &[f64], y: &[f64], s: usize, run: &Run) -> Vec<f64> {
    reduce(x.len() / s, s * s, |rows, sums| {
        if run.is_canceled() {
            return;
        }
        let range = rows.start * s..rows.end * s;
        for (x, y) in x[range.clone()].chunks_exact(s).zip(y[range].chunks_exact(s)) {
            for (sums, x) in sums.chunks_exact_mut(s).zip(x) {
                sums.iter_mut().zip(y).for_each(|(sum, y)| *sum += x * y);
            }
        }
    })
}
