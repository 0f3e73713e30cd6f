//! Passes over blocks of s columns that conjugate gradients take in each iteration, and the sums taken on the way.
//!
//! A row of the block is read once for all that is done to it. Blocks of rows in parallel, sums in block order. Cost: each pass reads
//! and writes its blocks once.

use std::ops::Range;

use rayon::prelude::*;

use crate::dispatch::{WIDEST, dispatch, with_width};
use crate::kernels::{BLOCK_ROWS, reduce, sum};
use crate::pages::Real;
use crate::precond::{Coarse, Preconditioner};

/// What a projection does to preconditioned residuals: z ← z − c·v with c = wᵀz / norm.
pub(crate) struct Correction<'a> {
    /// Diagonal of M⁻¹, where that and a coarse part are all of it.
    pub diagonal: Option<&'a [f64]>,
    /// Coarse part of M⁻¹ beside the diagonal.
    coarse: Option<&'a Coarse>,
    /// Sums of w over the cells of the coarse part.
    cell_weights: Vec<f64>,
    /// Whether residuals have their mean taken off.
    pub centers: bool,
    kind: Kind<'a>,
}

enum Kind<'a> {
    None,
    /// v = 1, w = c, norm = Σc.
    Ones {
        c: &'a [f64],
        norm: f64,
    },
    /// v = M⁻¹1, w = 1, norm = 1ᵀM⁻¹1.
    ZeroMean {
        image: Vec<f64>,
        norm: f64,
    },
}

/// Sums over the rows after a step, for each column: r², r, and where M⁻¹ has a diagonal also rᵀM⁻¹r and wᵀM⁻¹r.
pub(crate) struct Sums {
    values: Vec<f64>,
    /// What the coarse part of M⁻¹ adds to the rows of each cell (k, s).
    pub lift: Vec<f64>,
}

const SUMS: usize = 4;
/// Of r·z, w·z, r·v.
const PRODUCTS: usize = 3;

impl Sums {
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
    pub fn none(preconditioner: &'a dyn Preconditioner) -> Self {
        let (diagonal, coarse) = (preconditioner.diagonal(), preconditioner.coarse());
        Self { diagonal, coarse, cell_weights: Vec::new(), centers: false, kind: Kind::None }
    }

    /// Residuals have mean zero, z stays as it is.
    pub fn centered(preconditioner: &'a dyn Preconditioner) -> Self {
        Self { centers: true, ..Self::none(preconditioner) }
    }

    pub fn ones(preconditioner: &'a dyn Preconditioner, c: &'a [f64]) -> Self {
        let plain = Self::centered(preconditioner);
        let cell_weights = plain.coarse.map_or(Vec::new(), |coarse| coarse.restrict(c, 1));
        Self { cell_weights, kind: Kind::Ones { c, norm: c.iter().sum() }, ..plain }
    }

    /// For n rows.
    pub fn zero_mean(preconditioner: &'a dyn Preconditioner, n: usize) -> Self {
        let plain = Self::centered(preconditioner);
        let (ones, mut image) = (vec![1.0; n], vec![0.0; n]);
        preconditioner.apply(&ones, &mut image, 1);
        let norm = image.iter().sum();
        let cell_weights = plain.coarse.map_or(Vec::new(), |coarse| coarse.restrict(&ones, 1));
        Self { cell_weights, kind: Kind::ZeroMean { image, norm }, ..plain }
    }

    /// w of row `row`.
    #[inline(always)]
    fn weight(&self, row: usize) -> f64 {
        match &self.kind {
            Kind::None => 0.0,
            Kind::Ones { c, .. } => c[row],
            Kind::ZeroMean { .. } => 1.0,
        }
    }

    /// v of row `row`.
    #[inline(always)]
    fn vector(&self, row: usize) -> f64 {
        match &self.kind {
            Kind::None => 0.0,
            Kind::Ones { .. } => 1.0,
            Kind::ZeroMean { image, .. } => image[row],
        }
    }

    fn norm(&self) -> f64 {
        match &self.kind {
            Kind::None => 1.0,
            Kind::Ones { norm, .. } | Kind::ZeroMean { norm, .. } => *norm,
        }
    }

    /// Mean of each column of the residual.
    pub fn mean(&self, sums: &Sums, n: usize) -> Vec<f64> {
        (0..sums.len()).map(|at| if self.centers { sums.of(at)[1] / n as f64 } else { 0.0 }).collect()
    }

    /// ‖r‖² of a column, its mean taken off where that is to be.
    pub fn square(&self, sums: &Sums, at: usize, n: usize) -> f64 {
        let [square, sum] = [sums.of(at)[0], sums.of(at)[1]];
        if self.centers { (square - sum * (sum / n as f64)).max(0.0) } else { square }
    }

    /// c and rᵀz of each column, where M⁻¹ has a diagonal.
    pub fn diagonal_products(&self, sums: &Sums) -> (Vec<f64>, Vec<f64>) {
        let one = |at: usize| {
            let [_, sum, rz, wz] = *sums.of(at) else { return (0.0, 0.0) };
            let shift = wz / self.norm();
            match &self.kind {
                Kind::None => (0.0, rz),
                Kind::Ones { .. } => (shift, rz - shift * sum),
                Kind::ZeroMean { .. } => (shift, rz - shift * wz),
            }
        };
        (0..sums.len()).map(one).unzip()
    }

    /// c and rᵀz of each column, from [`products`].
    pub fn full_products(&self, products: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let one = |one: &[f64]| {
            let shift = if matches!(self.kind, Kind::None) { 0.0 } else { one[1] / self.norm() };
            (shift, one[0] - shift * one[2])
        };
        products.chunks_exact(PRODUCTS).map(one).unzip()
    }
}

/// r ← r − q·diag(step) − mean, and its sums.
pub(crate) fn descend(r: &mut [f64], q: &[f64], step: &[f64], mean: &[f64], correction: &Correction<'_>) -> Sums {
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
    Sums { values, lift }
}

dispatch! {
    fn descend_rows(
        first: usize, r: &mut [f64], q: &[f64], step: &[f64], mean: &[f64], correction: &Correction<'_>, sums: &mut [f64]
    ) = descend_plain
}

#[inline(always)]
fn descend_plain(
    first: usize,
    r: &mut [f64],
    q: &[f64],
    step: &[f64],
    mean: &[f64],
    correction: &Correction<'_>,
    sums: &mut [f64],
) {
    let s = step.len();
    for at in (0..s).step_by(WIDEST) {
        let width = (s - at).min(WIDEST);
        let sums = &mut sums[SUMS * at..SUMS * (at + width)];
        with_width!(width, descend_width(first, r, q, &step[at..], &mean[at..], correction, sums, (s, at)));
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn descend_width<const S: usize>(
    first: usize,
    r: &mut [f64],
    q: &[f64],
    step: &[f64],
    mean: &[f64],
    correction: &Correction<'_>,
    sums: &mut [f64],
    (s, at): (usize, usize),
) {
    let (mut square, mut plain, mut rz, mut wz) = ([0.0; S], [0.0; S], [0.0; S], [0.0; S]);
    let (step, mean) = (&step[..S], &mean[..S]);
    for (offset, (r, q)) in r.chunks_exact_mut(s).zip(q.chunks_exact(s)).enumerate() {
        let (r, q) = (&mut r[at..at + S], &q[at..at + S]);
        let mut own = [0.0; S];
        for lane in 0..S {
            own[lane] = r[lane] - step[lane] * q[lane] - mean[lane];
            r[lane] = own[lane];
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
pub(crate) fn products(r: &[f64], z: &[f64], s: usize, correction: &Correction<'_>) -> Vec<f64> {
    reduce(r.len() / s, PRODUCTS * s, |rows, sums| {
        let range = rows.start * s..rows.end * s;
        products_rows(rows.start, &r[range.clone()], &z[range], s, correction, sums);
    })
}

dispatch! {
    fn products_rows(
        first: usize, r: &[f64], z: &[f64], s: usize, correction: &Correction<'_>, sums: &mut [f64]
    ) = products_plain
}

#[inline(always)]
fn products_plain(first: usize, r: &[f64], z: &[f64], s: usize, correction: &Correction<'_>, sums: &mut [f64]) {
    for at in (0..s).step_by(WIDEST) {
        let width = (s - at).min(WIDEST);
        let sums = &mut sums[PRODUCTS * at..PRODUCTS * (at + width)];
        with_width!(width, products_width(first, r, z, correction, sums, (s, at)));
    }
}

#[inline(always)]
fn products_width<const S: usize>(
    first: usize,
    r: &[f64],
    z: &[f64],
    correction: &Correction<'_>,
    sums: &mut [f64],
    (s, at): (usize, usize),
) {
    let (mut rz, mut wz, mut rv) = ([0.0; S], [0.0; S], [0.0; S]);
    let is_plain = matches!(correction.kind, Kind::None);
    for (offset, (r, z)) in r.chunks_exact(s).zip(z.chunks_exact(s)).enumerate() {
        let (r, z) = (&r[at..at + S], &z[at..at + S]);
        for lane in 0..S {
            rz[lane] += r[lane] * z[lane];
        }
        if !is_plain {
            let (weight, vector) = (correction.weight(first + offset), correction.vector(first + offset));
            for lane in 0..S {
                wz[lane] += weight * z[lane];
                rv[lane] += vector * r[lane];
            }
        }
    }
    for lane in 0..S {
        sums[PRODUCTS * lane..PRODUCTS * (lane + 1)].copy_from_slice(&[rz[lane], wz[lane], rv[lane]]);
    }
}

/// From one direction to the next: numbers of each column (s).
#[derive(Clone, Copy)]
pub(crate) struct Turn<'a> {
    pub step: &'a [f64],
    pub beta: &'a [f64],
    pub shift: &'a [f64],
    /// What the coarse part of M⁻¹ adds to the rows of each cell (k, s); of one cell (s) within it.
    pub lift: &'a [f64],
}

/// x ← x + p·diag(step), then p ← z − v·shiftᵀ + p·diag(beta); where M⁻¹ has a diagonal, z is M⁻¹r and `z` holds r.
pub(crate) fn advance<R: Real>(x: &mut [f64], p: &mut [R], z: &[f64], turn: &Turn<'_>, correction: &Correction<'_>) {
    let s = turn.step.len();
    let rows = BLOCK_ROWS * s;
    let none = vec![0.0; s];
    x.par_chunks_mut(rows).zip(p.par_chunks_mut(rows)).zip(z.par_chunks(rows)).enumerate().for_each(
        |(block, ((x, p), z))| {
            let block = block * BLOCK_ROWS..block * BLOCK_ROWS + z.len() / s;
            let mut advance = |rows: Range<usize>, lift: &[f64]| {
                let part = (rows.start - block.start) * s..(rows.end - block.start) * s;
                let (x, p) = (&mut x[part.clone()], &mut p[part.clone()]);
                advance_rows(rows.start, x, p, &z[part], &Turn { lift, ..*turn }, correction);
            };
            match correction.coarse {
                None => advance(block.clone(), &none),
                Some(coarse) => coarse.parts(block.clone()).for_each(|(cell, rows)| {
                    advance(rows, cell.map_or(&none, |cell| &turn.lift[cell * s..(cell + 1) * s]))
                }),
            }
        },
    );
}

dispatch! {
    fn advance_rows[R: Real](
        first: usize, x: &mut [f64], p: &mut [R], z: &[f64], turn: &Turn<'_>, correction: &Correction<'_>
    ) = advance_plain
}

#[inline(always)]
fn advance_plain<R: Real>(
    first: usize,
    x: &mut [f64],
    p: &mut [R],
    z: &[f64],
    turn: &Turn<'_>,
    correction: &Correction<'_>,
) {
    let s = turn.step.len();
    for at in (0..s).step_by(WIDEST) {
        let width = (s - at).min(WIDEST);
        with_width!(width, advance_width[R](first, x, p, z, turn, correction, at));
    }
}

#[inline(always)]
fn advance_width<const S: usize, R: Real>(
    first: usize,
    x: &mut [f64],
    p: &mut [R],
    z: &[f64],
    turn: &Turn<'_>,
    correction: &Correction<'_>,
    at: usize,
) {
    let s = turn.step.len();
    let [step, beta, shift, lift] = [turn.step, turn.beta, turn.shift, turn.lift].map(|values| &values[at..at + S]);
    let rows = x.chunks_exact_mut(s).zip(p.chunks_exact_mut(s)).zip(z.chunks_exact(s));
    for (offset, ((x, p), z)) in rows.enumerate() {
        let (x, p, z) = (&mut x[at..at + S], &mut p[at..at + S], &z[at..at + S]);
        let inverse = correction.diagonal.map_or(1.0, |diagonal| diagonal[first + offset]);
        let vector = correction.vector(first + offset);
        for lane in 0..S {
            let old = p[lane].wide();
            x[lane] += step[lane] * old;
            p[lane] = R::round(z[lane] * inverse + lift[lane] - shift[lane] * vector + beta[lane] * old);
        }
    }
}

/// x ← x + p·diag(step).
pub(crate) fn add<R: Real>(x: &mut [f64], p: &[R], step: &[f64]) {
    let rows = BLOCK_ROWS * step.len();
    x.par_chunks_mut(rows).zip(p.par_chunks(rows)).for_each(|(x, p)| {
        for (x, p) in x.chunks_exact_mut(step.len()).zip(p.chunks_exact(step.len())) {
            // A column that has broken down may hold no numbers any more.
            let moving = x.iter_mut().zip(p).zip(step).filter(|(_, step)| **step != 0.0);
            moving.for_each(|((x, p), step)| *x += step * p.wide());
        }
    });
}

/// Takes `shift` off every row.
pub(crate) fn subtract(block: &mut [f64], shift: &[f64]) {
    let s = shift.len();
    if shift.iter().all(|&shift| shift == 0.0) {
        return;
    }
    block.par_chunks_mut(BLOCK_ROWS * s).for_each(|rows| {
        rows.chunks_exact_mut(s).for_each(|row| row.iter_mut().zip(shift).for_each(|(v, shift)| *v -= shift));
    });
}
