//! Passes of conjugate gradients over blocks of s columns, and the sums they compute.
//!
//! All work on a row of the block is done in one read. Parallel over blocks of rows, sums in block order. Cost: each pass reads
//! and writes its blocks once.

use std::ops::Range;

use lapwing_core::parallel::*;
use lapwing_core::{Result, Run};

use super::Projection;
use crate::blocks::{BLOCK_ROWS, reduce, sum};
use crate::dispatch::{WIDEST, dispatch, with_width};
use crate::precond::{Coarse, Inverse, TwoLevel};
use crate::real::Real;

/// The effect of a projection on preconditioned residuals: z ← z − c·v with c = wᵀz / norm.
pub(crate) struct Correction<'a> {
    /// Diagonal of M⁻¹, if M⁻¹ is that and a coarse part only.
    pub diagonal: Option<&'a [f64]>,
    /// Coarse part of M⁻¹ beside the diagonal.
    coarse: Option<&'a Coarse>,
    /// Sums of w over the cells of the coarse part.
    cell_weights: Vec<f64>,
    /// Whether the mean of residuals is subtracted.
    pub centers: bool,
    /// If directions are orthogonal to 1: w = c and v = 1. For zero means: w = 1 and v = M⁻¹1.
    projection: Projection<'a>,
    /// M⁻¹1, for zero means.
    image: Vec<f64>,
    norm: f64,
}

/// Sums over the rows after a step, for each column: r², r, and if M⁻¹ has a diagonal also rᵀM⁻¹r and wᵀM⁻¹r.
pub(crate) struct StepSums {
    values: Vec<f64>,
    /// The values that the coarse part of M⁻¹ adds to the rows of each cell (k, s).
    pub lift: Vec<f64>,
}

const SUMS: usize = 4;
/// The sums r·z, w·z and r·v.
const PRODUCTS: usize = 3;

impl StepSums {
    fn of(&self, at: usize) -> &[f64] {
        &self.values[at * SUMS..(at + 1) * SUMS]
    }

    fn len(&self) -> usize {
        self.values.len() / SUMS
    }

    /// The sums of the columns `kept`.
    pub fn keep(&self, kept: &[usize]) -> Self {
        let values = kept.iter().flat_map(|&at| self.of(at).iter().copied()).collect();
        let rows = self.lift.chunks_exact(self.len());
        let lift = rows.flat_map(|row| kept.iter().map(|&at| row[at])).collect();
        Self { values, lift }
    }
}

impl<'a> Correction<'a> {
    /// For a projection of n rows.
    pub fn new<R: Real>(inverse: &Inverse<'a, R>, projection: Projection<'a>, n: usize, run: &Run) -> Result<Self> {
        let (diagonal, coarse) = match *inverse {
            Inverse::Fused(TwoLevel { diagonal, coarse }) => (Some(diagonal), coarse),
            Inverse::Applied(_) => (None, None),
        };
        let cell_sums = |w: &[f64]| coarse.map_or(Vec::new(), |coarse| coarse.restrict(w, 1));
        let (cell_weights, image) = (Vec::new(), Vec::new());
        let plain = Self { diagonal, coarse, cell_weights, centers: false, projection, image, norm: 1.0 };
        Ok(match projection {
            Projection::None => plain,
            Projection::Components { sizes, .. } => Self { centers: *sizes == [n] && diagonal.is_some(), ..plain },
            Projection::OrthogonalToOnes(c) => {
                Self { centers: true, cell_weights: run.install(|| cell_sums(c)), norm: c.iter().sum(), ..plain }
            }
            Projection::ZeroMean => {
                let mut image = vec![R::default(); n];
                inverse.apply(&vec![R::round(1.0); n], &mut image, 1, run)?;
                let image: Vec<f64> = image.into_iter().map(R::wide).collect();
                let (norm, cell_weights) = (image.iter().sum(), run.install(|| cell_sums(&vec![1.0; n])));
                Self { centers: true, cell_weights, image, norm, ..plain }
            }
        })
    }

    /// Whether preconditioned residuals need no correction.
    fn is_plain(&self) -> bool {
        matches!(self.projection, Projection::None | Projection::Components { .. })
    }

    /// w of row `row`.
    #[inline(always)]
    fn weight(&self, row: usize) -> f64 {
        match &self.projection {
            Projection::OrthogonalToOnes(c) => c[row],
            Projection::ZeroMean => 1.0,
            _ => 0.0,
        }
    }

    /// v of row `row`.
    #[inline(always)]
    fn vector(&self, row: usize) -> f64 {
        match &self.projection {
            Projection::OrthogonalToOnes(_) => 1.0,
            Projection::ZeroMean => self.image[row],
            _ => 0.0,
        }
    }

    /// Mean of each column of the residual.
    pub fn mean(&self, sums: &StepSums, n: usize) -> Vec<f64> {
        (0..sums.len()).map(|at| if self.centers { sums.of(at)[1] / n as f64 } else { 0.0 }).collect()
    }

    /// ‖r‖² of a column, without its mean if means are subtracted.
    pub fn square(&self, sums: &StepSums, at: usize, n: usize) -> f64 {
        let [square, sum] = [sums.of(at)[0], sums.of(at)[1]];
        if self.centers { (square - sum * (sum / n as f64)).max(0.0) } else { square }
    }

    /// c and rᵀz of each column, if M⁻¹ has a diagonal.
    pub fn diagonal_products(&self, sums: &StepSums) -> (Vec<f64>, Vec<f64>) {
        let one = |at: usize| {
            let [_, sum, rz, wz] = *sums.of(at) else { return (0.0, 0.0) };
            let c = wz / self.norm;
            match &self.projection {
                Projection::OrthogonalToOnes(_) => (c, rz - c * sum),
                Projection::ZeroMean => (c, rz - c * wz),
                _ => (0.0, rz),
            }
        };
        (0..sums.len()).map(one).unzip()
    }

    /// c and rᵀz of each column, from [`products`].
    pub fn full_products(&self, products: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let one = |one: &[f64]| {
            let c = if self.is_plain() { 0.0 } else { one[1] / self.norm };
            (c, one[0] - c * one[2])
        };
        products.chunks_exact(PRODUCTS).map(one).unzip()
    }
}

/// r ← r − q·diag(step) − mean, and its sums.
pub(crate) fn descend<R: Real>(
    r: &mut [R],
    q: &[R],
    step: &[f64],
    mean: &[f64],
    correction: &Correction<'_>,
) -> StepSums {
    let s = step.len();
    let rows = BLOCK_ROWS * s;
    let partial: (Vec<_>, Vec<_>) = r
        .par_chunks_mut(rows)
        .zip(q.par_chunks(rows))
        .enumerate()
        .map(|(block, (r, q))| {
            let (first, mut sums) = (block * BLOCK_ROWS, vec![0.0; SUMS * s]);
            descend_rows(first, r, q, step, mean, correction, &mut sums);
            (sums, correction.coarse.map_or(Vec::new(), |coarse| coarse.sums(first, r, s)))
        })
        .unzip();
    let (partial, cells) = partial;
    let mut values = sum(partial, SUMS * s);
    let mut lift = Vec::new();
    if let Some(coarse) = correction.coarse {
        let cells = coarse.add_up(&cells, s);
        lift = coarse.solve(&cells, s);
        for (cell, (sums, lift)) in cells.chunks_exact(s).zip(lift.chunks_exact(s)).enumerate() {
            let weight = correction.cell_weights.get(cell).copied().unwrap_or(0.0);
            for at in 0..s {
                values[SUMS * at + 2] += sums[at] * lift[at];
                values[SUMS * at + 3] += weight * lift[at];
            }
        }
    }
    StepSums { values, lift }
}

dispatch! {
    fn descend_rows[R: Real](
        first: usize, r: &mut [R], q: &[R], step: &[f64], mean: &[f64], correction: &Correction<'_>, sums: &mut [f64]
    ) = descend_plain
}

#[inline(always)]
fn descend_plain<R: Real>(
    first: usize,
    r: &mut [R],
    q: &[R],
    step: &[f64],
    mean: &[f64],
    correction: &Correction<'_>,
    sums: &mut [f64],
) {
    let s = step.len();
    for at in (0..s).step_by(WIDEST) {
        let width = (s - at).min(WIDEST);
        let sums = &mut sums[SUMS * at..SUMS * (at + width)];
        with_width!(width, descend_width[R](first, r, q, &step[at..], &mean[at..], correction, sums, (s, at)));
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn descend_width<const S: usize, R: Real>(
    first: usize,
    r: &mut [R],
    q: &[R],
    step: &[f64],
    mean: &[f64],
    correction: &Correction<'_>,
    sums: &mut [f64],
    (s, at): (usize, usize),
) {
    let (mut square, mut plain, mut rz, mut wz) = ([0.0; S], [0.0; S], [0.0; S], [0.0; S]);
    let (step, mean) = (rounded::<S, R>(step), rounded::<S, R>(mean));
    for (offset, (r, q)) in r.chunks_exact_mut(s).zip(q.chunks_exact(s)).enumerate() {
        let (r, q) = (&mut r[at..at + S], &q[at..at + S]);
        let mut own = [0.0; S];
        for lane in 0..S {
            r[lane] = r[lane] - step[lane] * q[lane] - mean[lane];
            own[lane] = r[lane].wide();
            square[lane] += own[lane] * own[lane];
            plain[lane] += own[lane];
        }
        if let Some(diagonal) = correction.diagonal {
            let inverse = diagonal[first + offset];
            let weight = correction.weight(first + offset);
            for lane in 0..S {
                let z = own[lane] * inverse;
                rz[lane] += own[lane] * z;
                wz[lane] += weight * z;
            }
        }
    }
    for lane in 0..S {
        sums[SUMS * lane..SUMS * (lane + 1)].copy_from_slice(&[square[lane], plain[lane], rz[lane], wz[lane]]);
    }
}

/// r·z, w·z and r·v of each column.
pub(crate) fn products<R: Real>(r: &[R], z: &[R], s: usize, correction: &Correction<'_>) -> Vec<f64> {
    reduce(r.len() / s, PRODUCTS * s, |rows, sums| {
        let range = rows.start * s..rows.end * s;
        products_rows(rows.start, &r[range.clone()], &z[range], s, correction, sums);
    })
}

dispatch! {
    fn products_rows[R: Real](
        first: usize, r: &[R], z: &[R], s: usize, correction: &Correction<'_>, sums: &mut [f64]
    ) = products_plain
}

#[inline(always)]
fn products_plain<R: Real>(first: usize, r: &[R], z: &[R], s: usize, correction: &Correction<'_>, sums: &mut [f64]) {
    for at in (0..s).step_by(WIDEST) {
        let width = (s - at).min(WIDEST);
        let sums = &mut sums[PRODUCTS * at..PRODUCTS * (at + width)];
        with_width!(width, products_width[R](first, r, z, correction, sums, (s, at)));
    }
}

#[inline(always)]
fn products_width<const S: usize, R: Real>(
    first: usize,
    r: &[R],
    z: &[R],
    correction: &Correction<'_>,
    sums: &mut [f64],
    (s, at): (usize, usize),
) {
    let (mut rz, mut wz, mut rv) = ([0.0; S], [0.0; S], [0.0; S]);
    let is_plain = correction.is_plain();
    for (offset, (r, z)) in r.chunks_exact(s).zip(z.chunks_exact(s)).enumerate() {
        let (r, z) = (&r[at..at + S], &z[at..at + S]);
        for lane in 0..S {
            rz[lane] += r[lane].wide() * z[lane].wide();
        }
        if !is_plain {
            let (weight, vector) = (correction.weight(first + offset), correction.vector(first + offset));
            for lane in 0..S {
                wz[lane] += weight * z[lane].wide();
                rv[lane] += vector * r[lane].wide();
            }
        }
    }
    for lane in 0..S {
        sums[PRODUCTS * lane..PRODUCTS * (lane + 1)].copy_from_slice(&[rz[lane], wz[lane], rv[lane]]);
    }
}

/// The first values of each column, in the precision of its block.
#[inline(always)]
fn rounded<const S: usize, R: Real>(values: &[f64]) -> [R; S] {
    let mut out = [R::default(); S];
    out.iter_mut().zip(values).for_each(|(out, value)| *out = R::round(*value));
    out
}

/// Coefficients of each column (s) for the next direction.
#[derive(Clone, Copy)]
pub(crate) struct Coefficients<'a> {
    pub step: &'a [f64],
    pub beta: &'a [f64],
    /// c of the projection: the multiples of v that are subtracted.
    pub removed: &'a [f64],
    /// The values that the coarse part of M⁻¹ adds to the rows of each cell (k, s); within a cell, those of the cell (s).
    pub lift: &'a [f64],
}

/// x ← x + p·diag(step), then p ← z − v·removedᵀ + p·diag(beta). If M⁻¹ has a diagonal, z is M⁻¹r and `z` holds r. Rows of `p` are
/// `stride` values apart.
pub(crate) fn advance<R: Real>(
    x: &mut [R],
    (p, stride): (&mut [R], usize),
    z: &[R],
    coefficients: &Coefficients<'_>,
    correction: &Correction<'_>,
) {
    let s = coefficients.step.len();
    let rows = BLOCK_ROWS * s;
    let none = vec![0.0; s];
    x.par_chunks_mut(rows).zip(p.par_chunks_mut(BLOCK_ROWS * stride)).zip(z.par_chunks(rows)).enumerate().for_each(
        |(block, ((x, p), z))| {
            let block = block * BLOCK_ROWS..block * BLOCK_ROWS + z.len() / s;
            let mut advance = |rows: Range<usize>, lift: &[f64]| {
                let own = rows.start - block.start..rows.end - block.start;
                let part = own.start * s..own.end * s;
                let (x, p) = (&mut x[part.clone()], &mut p[own.start * stride..own.end * stride]);
                advance_rows(rows.start, x, (p, stride), &z[part], &Coefficients { lift, ..*coefficients }, correction);
            };
            match correction.coarse {
                None => advance(block.clone(), &none),
                Some(coarse) => coarse.parts(block.clone()).for_each(|(cell, rows)| {
                    advance(rows, cell.map_or(&none, |cell| &coefficients.lift[cell * s..(cell + 1) * s]))
                }),
            }
        },
    );
}

dispatch! {
    fn advance_rows[R: Real](
        first: usize, x: &mut [R], p: (&mut [R], usize), z: &[R], coefficients: &Coefficients<'_>,
        correction: &Correction<'_>
    ) = advance_plain
}

#[inline(always)]
fn advance_plain<R: Real>(
    first: usize,
    x: &mut [R],
    (p, stride): (&mut [R], usize),
    z: &[R],
    coefficients: &Coefficients<'_>,
    correction: &Correction<'_>,
) {
    let s = coefficients.step.len();
    for at in (0..s).step_by(WIDEST) {
        let width = (s - at).min(WIDEST);
        with_width!(width, advance_width[R](first, x, (&mut *p, stride), z, coefficients, correction, at));
    }
}

#[inline(always)]
fn advance_width<const S: usize, R: Real>(
    first: usize,
    x: &mut [R],
    (p, stride): (&mut [R], usize),
    z: &[R],
    coefficients: &Coefficients<'_>,
    correction: &Correction<'_>,
    at: usize,
) {
    let s = coefficients.step.len();
    let [step, beta, removed, lift] = [coefficients.step, coefficients.beta, coefficients.removed, coefficients.lift]
        .map(|values| rounded::<S, R>(&values[at..]));
    let rows = x.chunks_exact_mut(s).zip(p.chunks_exact_mut(stride)).zip(z.chunks_exact(s));
    for (offset, ((x, p), z)) in rows.enumerate() {
        let (x, p, z) = (&mut x[at..at + S], &mut p[at..at + S], &z[at..at + S]);
        let inverse = R::round(correction.diagonal.map_or(1.0, |diagonal| diagonal[first + offset]));
        let vector = R::round(correction.vector(first + offset));
        for lane in 0..S {
            let old = p[lane];
            x[lane] = x[lane] + step[lane] * old;
            p[lane] = z[lane] * inverse + lift[lane] - removed[lane] * vector + beta[lane] * old;
        }
    }
}

/// x ← x + p·diag(step). Rows of `p` are `stride` values apart.
pub(crate) fn add<R: Real>(x: &mut [R], (p, stride): (&[R], usize), step: &[f64]) {
    let rows = BLOCK_ROWS * step.len();
    x.par_chunks_mut(rows).zip(p.par_chunks(BLOCK_ROWS * stride)).for_each(|(x, p)| {
        for (x, p) in x.chunks_exact_mut(step.len()).zip(p.chunks_exact(stride)) {
            // A column that has broken down may hold NaN.
            let moving = x.iter_mut().zip(p).zip(step).filter(|(_, step)| **step != 0.0);
            moving.for_each(|((x, p), step)| *x = *x + R::round(*step) * *p);
        }
    });
}
