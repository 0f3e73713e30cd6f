//! Inner loops over blocks of s vectors: sparse product and reductions, each with a plain and an AVX version.
//!
//! Compiled twice from one source, so both give the same bits: no fused multiply-add, and the lanes of a vector are
//! the columns of the block, which never mix.

use lapwing_data::Csr;
use rayon::prelude::*;

/// Rows of one unit of work; fixed, so that reductions do not depend on the number of threads.
pub(crate) const BLOCK_ROWS: usize = 2048;

/// Y ← κ·(D − W)·X + diag(g)·X on blocks (n, s), as κ·Σⱼ wᵢⱼ(xᵢ − xⱼ) + gᵢxᵢ.
pub(crate) fn sdd_product(w: &Csr<f64>, kappa: f64, shift: &[f64], x: &[f64], y: &mut [f64], s: usize) {
    debug_assert!(x.len() == shift.len() * s && y.len() == x.len());
    y.par_chunks_mut(BLOCK_ROWS * s.max(1)).enumerate().for_each(|(block, y)| {
        let first = block * BLOCK_ROWS;
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512F.
            return unsafe { rows_avx512(w, kappa, shift, x, y, s, first) };
        }
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { rows_avx2(w, kappa, shift, x, y, s, first) };
        }
        rows_plain(w, kappa, shift, x, y, s, first);
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn rows_avx512(w: &Csr<f64>, kappa: f64, shift: &[f64], x: &[f64], y: &mut [f64], s: usize, first: usize) {
    rows_plain(w, kappa, shift, x, y, s, first);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn rows_avx2(w: &Csr<f64>, kappa: f64, shift: &[f64], x: &[f64], y: &mut [f64], s: usize, first: usize) {
    rows_plain(w, kappa, shift, x, y, s, first);
}

#[inline(always)]
fn rows_plain(w: &Csr<f64>, kappa: f64, shift: &[f64], x: &[f64], y: &mut [f64], s: usize, first: usize) {
    // One walk over a matrix row serves up to sixteen columns held in registers; wider blocks go in strips.
    let mut at = 0;
    while at < s {
        macro_rules! strip {
            ($($width:literal)*) => {
                match (s - at).min(16) {
                    $($width => rows_of_width::<$width>(w, kappa, shift, x, y, s, at, first),)*
                    _ => {}
                }
            };
        }
        strip!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16);
        at += (s - at).min(16);
    }
}

/// Columns `at..at + S` of the rows of one block.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn rows_of_width<const S: usize>(
    w: &Csr<f64>,
    kappa: f64,
    shift: &[f64],
    x: &[f64],
    y: &mut [f64],
    s: usize,
    at: usize,
    first: usize,
) {
    for (offset, y) in y.chunks_exact_mut(s).enumerate() {
        let row = first + offset;
        let (columns, weights) = w.row(row);
        let mut own = [0.0; S];
        own.copy_from_slice(&x[row * s + at..][..S]);
        let mut sum = [0.0; S];
        for (&column, &weight) in columns.iter().zip(weights) {
            let x = &x[column as usize * s + at..][..S];
            for lane in 0..S {
                sum[lane] += weight * (own[lane] - x[lane]);
            }
        }
        for lane in 0..S {
            y[at + lane] = kappa * sum[lane] + shift[row] * own[lane];
        }
    }
}

/// Sums over all rows of `terms(row values…)` for each of s columns: blocks in parallel, added in block order.
///
/// `add(rows, sums)` adds the terms of those rows into `sums` (of length `width`).
pub(crate) fn reduce(n: usize, width: usize, add: impl Fn(std::ops::Range<usize>, &mut [f64]) + Sync) -> Vec<f64> {
    let partial: Vec<Vec<f64>> = (0..n.div_ceil(BLOCK_ROWS))
        .into_par_iter()
        .map(|block| {
            let mut sums = vec![0.0; width];
            add(block * BLOCK_ROWS..((block + 1) * BLOCK_ROWS).min(n), &mut sums);
            sums
        })
        .collect();
    partial.into_iter().fold(vec![0.0; width], |mut total, sums| {
        total.iter_mut().zip(sums).for_each(|(t, s)| *t += s);
        total
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_equals_the_dense_product() {
        let n = 37;
        let entries: Vec<(u32, u32, f64)> = (0..n as u32)
            .flat_map(|i| {
                (0..n as u32)
                    .filter(move |j| (i * 7 + j * 11) % 5 == 0 && i != *j)
                    .map(move |j| (i, j, f64::from(i + j) + 0.5))
            })
            .collect();
        let w = Csr::from_entries(n, n, &entries).unwrap();
        let shift: Vec<f64> = (0..n).map(|i| i as f64 * 0.25).collect();
        for s in 1..36 {
            let x: Vec<f64> = (0..n * s).map(|i| ((i * 29) % 31) as f64 - 15.0).collect();
            let mut y = vec![0.0; n * s];
            sdd_product(&w, 0.5, &shift, &x, &mut y, s);
            for i in 0..n {
                for c in 0..s {
                    let difference = |e: &(u32, u32, f64)| e.2 * (x[i * s + c] - x[e.1 as usize * s + c]);
                    let sum: f64 = entries.iter().filter(|e| e.0 == i as u32).map(difference).sum();
                    let expected = shift[i] * x[i * s + c] + 0.5 * sum;
                    assert!((y[i * s + c] - expected).abs() <= 1e-12 * expected.abs().max(1.0));
                }
            }
            let mut plain = vec![0.0; n * s];
            rows_plain(&w, 0.5, &shift, &x, &mut plain, s, 0);
            assert_eq!(y, plain, "vectorised and plain kernels must agree to the bit");
        }
    }
}
