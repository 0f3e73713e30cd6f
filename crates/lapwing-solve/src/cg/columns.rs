//! Blocks of columns (n, s), row-major: selecting, joining and measuring columns.

use rayon::prelude::*;

use crate::kernels::{BLOCK_ROWS, column_dots, reduce};
use crate::pages::{Real, zeros};

pub(super) fn column_norms(a: &[f64], n: usize, s: usize) -> Vec<f64> {
    if s == 0 { Vec::new() } else { column_dots(a, a, n, s).into_iter().map(f64::sqrt).collect() }
}

/// Sum of each column.
pub(crate) fn column_sums<R: Real>(block: &[R], n: usize, s: usize) -> Vec<f64> {
    reduce(n, s, |rows, sums| {
        for row in block[rows.start * s..rows.end * s].chunks_exact(s) {
            sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += v.wide());
        }
    })
}

/// A block (n, s) reduced to its columns `keep`, ascending.
pub(super) fn keep_columns<R: Real>(block: Vec<R>, s: usize, keep: &[usize]) -> Vec<R> {
    if keep.len() == s { block } else { columns(&block, s, keep) }
}

/// A copy of the columns `keep`, ascending, of a block (n, s).
pub(crate) fn columns<R: Real>(block: &[R], s: usize, keep: &[usize]) -> Vec<R> {
    if keep.len() == s {
        return block.to_vec();
    }
    let mut out = zeros(block.len() / s.max(1) * keep.len());
    if !keep.is_empty() {
        out.par_chunks_mut(keep.len()).zip(block.par_chunks(s)).with_min_len(BLOCK_ROWS).for_each(|(out, row)| {
            out.iter_mut().zip(keep).for_each(|(out, &c)| *out = row[c]);
        });
    }
    out
}

/// Columns `at` of a block (n, s) ← the first columns of `from`, whose rows have `width` values.
pub(crate) fn write_columns<R: Real>(to: &mut [R], s: usize, from: &[R], width: usize, at: &[usize]) {
    to.par_chunks_mut(s.max(1)).zip(from.par_chunks(width.max(1))).with_min_len(BLOCK_ROWS).for_each(|(to, from)| {
        at.iter().zip(from).for_each(|(&c, value)| to[c] = *value);
    });
}

/// Blocks (n, s) and (n, m) as one (n, s + m).
pub(super) fn side_by_side<R: Real>(left: &[R], s: usize, right: &[R], m: usize) -> Vec<R> {
    let mut both = zeros(left.len() + right.len());
    both.par_chunks_mut((s + m).max(1)).with_min_len(BLOCK_ROWS).enumerate().for_each(|(row, both)| {
        both[..s].copy_from_slice(&left[row * s..(row + 1) * s]);
        both[s..].copy_from_slice(&right[row * m..(row + 1) * m]);
    });
    both
}

/// Range of the values of column `at` of x + step·p, 0 included; rows of x have `width` values, those of p `stride`.
pub(super) fn column_range<R: Real, P: Real>(
    (x, width): (&[R], usize),
    (p, stride): (&[P], usize),
    at: usize,
    step: f64,
) -> f64 {
    let rows = x.par_chunks(width).zip(p.par_chunks(stride)).with_min_len(BLOCK_ROWS);
    let (least, most) = rows
        .fold(
            || (0.0f64, 0.0f64),
            |(least, most), (x, p)| {
                let value = x[at].wide() + step * p[at].wide();
                (least.min(value), most.max(value))
            },
        )
        .reduce(|| (0.0, 0.0), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    most - least
}
