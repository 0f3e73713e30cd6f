//! Blocks of columns (n, s), row-major: selecting, joining and measuring columns.

use lapwing_core::parallel::*;

use crate::blocks::{BLOCK_ROWS, column_dots, reduce};
use crate::real::{Real, zeros};

pub(crate) fn column_norms(a: &[f64], n: usize, s: usize) -> Vec<f64> {
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
pub(crate) fn keep_columns<R: Real>(block: Vec<R>, s: usize, keep: &[usize]) -> Vec<R> {
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
pub(crate) fn write_columns<T: Real, R: Real>(to: &mut [T], s: usize, from: &[R], width: usize, at: &[usize]) {
    to.par_chunks_mut(s.max(1)).zip(from.par_chunks(width.max(1))).with_min_len(BLOCK_ROWS).for_each(|(to, from)| {
        at.iter().zip(from).for_each(|(&c, value)| to[c] = T::round(value.wide()));
    });
}

/// Column `to` of a block (n, s) += column `from` of another with `width` columns, for each of the `pairs` (from, to).
pub(crate) fn add_columns<T: Real, R: Real>(
    (x, s): (&mut [T], usize),
    (own, width): (&[R], usize),
    pairs: &[(usize, usize)],
) {
    x.par_chunks_mut(s).zip(own.par_chunks(width)).with_min_len(BLOCK_ROWS).for_each(|(x, own)| {
        pairs.iter().for_each(|&(from, to)| x[to] = x[to] + T::round(own[from].wide()));
    });
}

/// Blocks (n, s) and (n, m) as one (n, s + m).
pub(crate) fn side_by_side<R: Real>(left: &[R], s: usize, right: &[R], m: usize) -> Vec<R> {
    let mut both = zeros(left.len() + right.len());
    both.par_chunks_mut((s + m).max(1)).with_min_len(BLOCK_ROWS).enumerate().for_each(|(row, both)| {
        both[..s].copy_from_slice(&left[row * s..(row + 1) * s]);
        both[s..].copy_from_slice(&right[row * m..(row + 1) * m]);
    });
    both
}

/// Range of `value` over the rows below `n`, 0 included.
pub(crate) fn range_of(n: usize, value: impl Fn(usize) -> f64 + Sync) -> f64 {
    let rows = (0..n).into_par_iter().with_min_len(BLOCK_ROWS);
    let widen = |(least, most): (f64, f64), row: usize| {
        let value = value(row);
        (least.min(value), most.max(value))
    };
    let (least, most) = rows.fold(|| (0.0, 0.0), widen).reduce(|| (0.0, 0.0), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    most - least
}

/// Subtracts `mean` from every row.
pub(crate) fn subtract<R: Real>(block: &mut [R], mean: &[f64]) {
    let s = mean.len();
    if mean.iter().all(|&mean| mean == 0.0) {
        return;
    }
    block.par_chunks_mut(BLOCK_ROWS * s).for_each(|rows| {
        rows.chunks_exact_mut(s)
            .for_each(|row| row.iter_mut().zip(mean).for_each(|(v, mean)| *v = *v - R::round(*mean)));
    });
}
