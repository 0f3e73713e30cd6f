//! Columns brought near 1 by powers of two, which round nothing.

use lapwing_core::Matrix;
use lapwing_core::parallel::*;

use crate::blocks::BLOCK_ROWS;

/// For each column the exponent that brings its largest value to [1, 2).
pub(super) fn column_scales(block: &Matrix) -> Vec<f64> {
    let mut largest = vec![0f64; block.n_cols()];
    for row in block.rows() {
        largest.iter_mut().zip(row).for_each(|(most, v)| *most = most.max(v.abs()));
    }
    largest.iter().map(|&most| if most > 0.0 { -most.log2().floor() } else { 0.0 }).collect()
}

/// Multiplies each column by 2 to the power of its exponent, or divides by it. Done in two steps, because the whole factor may
/// exceed f64.
pub(super) fn scale_columns(block: &mut Matrix, exponents: &[f64], sign: f64) {
    if exponents.iter().all(|e| *e == 0.0) {
        return;
    }
    let halves: Vec<(f64, f64)> = exponents
        .iter()
        .map(|e| {
            let first = (sign * e / 2.0).trunc();
            (first.exp2(), (sign * e - first).exp2())
        })
        .collect();
    let s = exponents.len();
    block.values_mut().par_chunks_mut(s).with_min_len(BLOCK_ROWS).for_each(|row| {
        row.iter_mut().zip(&halves).for_each(|(v, (first, second))| *v = *v * first * second);
    });
}
