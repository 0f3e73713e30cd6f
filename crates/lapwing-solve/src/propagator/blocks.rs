//! Scaling blocks (n, s) of columns.

use lapwing_core::parallel::*;

use crate::blocks::BLOCK_ROWS;
use crate::real::Real;

/// The largest absolute value of each of `s` columns.
pub(super) fn largest_of_columns<R: Real>(block: &[R], s: usize) -> Vec<f64> {
    let of_rows = |rows: &[R]| {
        let mut most = vec![0.0f64; s];
        rows.chunks(s).for_each(|row| most.iter_mut().zip(row).for_each(|(most, x)| *most = most.max(x.wide().abs())));
        most
    };
    block.par_chunks(BLOCK_ROWS * s).map(of_rows).reduce(
        || vec![0.0; s],
        |mut most, other| {
            most.iter_mut().zip(other).for_each(|(most, x)| *most = most.max(x));
            most
        },
    )
}

/// Whether a column of this largest value can be solved without scaling, in single precision as well.
pub(super) fn is_usual(largest: f64) -> bool {
    largest == 0.0 || (1e-20..1e20).contains(&largest)
}

/// Columns of a block, each times its factor.
pub(super) fn scale_columns<R: Real>(block: &mut [R], factors: &[R]) {
    block.par_chunks_mut(factors.len()).with_min_len(BLOCK_ROWS).for_each(|row| {
        row.iter_mut().zip(factors).for_each(|(value, factor)| *value = *value * *factor);
    });
}

/// Rows of a block (n, s), each times its factor.
pub(super) fn scale_rows<R: Real>(block: &mut [R], s: usize, factor: impl Fn(usize) -> R + Sync) {
    block.par_chunks_mut(s).enumerate().with_min_len(BLOCK_ROWS).for_each(|(row, values)| {
        let factor = factor(row);
        values.iter_mut().for_each(|value| *value = *value * factor);
    });
}

/// Row i ← row `rows[i]` of another block (n, s), times `factor(i, rows[i])`.
pub(super) fn scaled_rows<R: Real>(
    from: &[R],
    s: usize,
    rows: &[u32],
    to: &mut [R],
    factor: impl Fn(usize, usize) -> R + Sync,
) {
    to.par_chunks_mut(s).enumerate().zip(rows).with_min_len(BLOCK_ROWS).for_each(|((at, to), &row)| {
        let factor = factor(at, row as usize);
        to.iter_mut().zip(&from[row as usize * s..][..s]).for_each(|(to, x)| *to = *x * factor);
    });
}
