//! What an iteration does to the rows of its blocks (n, s) of at most sixteen columns, in the precision of the blocks; sums in
//! double precision.

use rayon::prelude::*;

use crate::dispatch::{dispatch, with_width};
use crate::kernels::{BLOCK_ROWS, sum};
use crate::pages::Real;

/// x ← x + p·diag(step), r ← r − q·diag(step); returns Σ r²/diagonal of each column.
pub(super) fn descend<R: Real>(x: &mut [R], r: &mut [R], p: &[R], q: &[R], inverse: &[f64], step: &[f64]) -> Vec<f64> {
    let s = step.len();
    let rows = BLOCK_ROWS * s;
    let blocks = x.par_chunks_mut(rows).zip(r.par_chunks_mut(rows)).zip(p.par_chunks(rows).zip(q.par_chunks(rows)));
    let partial: Vec<Vec<f64>> = blocks
        .zip(inverse.par_chunks(BLOCK_ROWS))
        .map(|(((x, r), (p, q)), inverse)| {
            let mut sums = vec![0.0; s];
            descend_rows(x, r, p, q, inverse, step, &mut sums);
            sums
        })
        .collect();
    sum(partial, s)
}

dispatch! {
    fn descend_rows[R: Real](
        x: &mut [R], r: &mut [R], p: &[R], q: &[R], inverse: &[f64], step: &[f64], sums: &mut [f64]
    ) = descend_plain
}

#[inline(always)]
fn descend_plain<R: Real>(x: &mut [R], r: &mut [R], p: &[R], q: &[R], inverse: &[f64], step: &[f64], sums: &mut [f64]) {
    with_width!(step.len(), descend_width[R](x, r, p, q, inverse, step, sums));
}

#[inline(always)]
fn descend_width<const S: usize, R: Real>(
    x: &mut [R],
    r: &mut [R],
    p: &[R],
    q: &[R],
    inverse: &[f64],
    step: &[f64],
    sums: &mut [f64],
) {
    let (mut sum, mut length) = ([0.0; S], [R::default(); S]);
    length.iter_mut().zip(step).for_each(|(length, step)| *length = R::round(*step));
    let (x, r) = (x.as_chunks_mut::<S>().0, r.as_chunks_mut::<S>().0);
    let (p, q) = (p.as_chunks::<S>().0, q.as_chunks::<S>().0);
    for ((x, r), ((p, q), inverse)) in x.iter_mut().zip(r).zip(p.iter().zip(q).zip(inverse)) {
        for lane in 0..S {
            x[lane] = x[lane] + length[lane] * p[lane];
            r[lane] = r[lane] - length[lane] * q[lane];
            let own = r[lane].wide();
            sum[lane] += own * own * inverse;
        }
    }
    sums.copy_from_slice(&sum);
}

/// p ← r/diagonal + p·diag(beta).
pub(super) fn turn<R: Real>(p: &mut [R], r: &[R], inverse: &[f64], beta: &[f64]) {
    let rows = BLOCK_ROWS * beta.len();
    p.par_chunks_mut(rows).zip(r.par_chunks(rows)).zip(inverse.par_chunks(BLOCK_ROWS)).for_each(|((p, r), inverse)| {
        turn_rows(p, r, inverse, beta);
    });
}

dispatch! {
    fn turn_rows[R: Real](p: &mut [R], r: &[R], inverse: &[f64], beta: &[f64]) = turn_plain
}

#[inline(always)]
fn turn_plain<R: Real>(p: &mut [R], r: &[R], inverse: &[f64], beta: &[f64]) {
    with_width!(beta.len(), turn_width[R](p, r, inverse, beta));
}

#[inline(always)]
fn turn_width<const S: usize, R: Real>(p: &mut [R], r: &[R], inverse: &[f64], beta: &[f64]) {
    let mut share = [R::default(); S];
    share.iter_mut().zip(beta).for_each(|(share, beta)| *share = R::round(*beta));
    for ((p, r), inverse) in p.as_chunks_mut::<S>().0.iter_mut().zip(r.as_chunks::<S>().0).zip(inverse) {
        let inverse = R::round(*inverse);
        for lane in 0..S {
            p[lane] = r[lane] * inverse + share[lane] * p[lane];
        }
    }
}
