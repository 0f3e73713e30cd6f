//! Inner loops over blocks of s vectors: sparse product, updates and reductions, each with a plain and an AVX version.
//!
//! Compiled twice from one source, so both give the same bits: no fused multiply-add, and the lanes of a vector are
//! the columns of the block, which never mix.

use rayon::prelude::*;

use crate::operator::{SddMatrix, Weights};

/// Rows of one unit of work; fixed, so that reductions do not depend on the number of threads.
pub(crate) const BLOCK_ROWS: usize = 2048;

/// Runs `$work::<S>` with S = `$s`, which is at most sixteen.
macro_rules! with_width {
    ($s:expr, $work:ident ( $($argument:expr),* )) => {
        match $s {
            1 => $work::<1>($($argument),*), 2 => $work::<2>($($argument),*), 3 => $work::<3>($($argument),*),
            4 => $work::<4>($($argument),*), 5 => $work::<5>($($argument),*), 6 => $work::<6>($($argument),*),
            7 => $work::<7>($($argument),*), 8 => $work::<8>($($argument),*), 9 => $work::<9>($($argument),*),
            10 => $work::<10>($($argument),*), 11 => $work::<11>($($argument),*), 12 => $work::<12>($($argument),*),
            13 => $work::<13>($($argument),*), 14 => $work::<14>($($argument),*), 15 => $work::<15>($($argument),*),
            _ => $work::<16>($($argument),*),
        }
    };
}
pub(crate) use with_width;

/// Most columns of a block that a kernel holds in registers.
pub(crate) const WIDEST: usize = 16;

/// A weight by its place among the entries.
trait Weight: Copy {
    /// The weights of entries `start..end`.
    fn row(self, start: usize, end: usize) -> Self;
    fn at(self, entry: usize) -> f64;
}

impl Weight for f64 {
    #[inline(always)]
    fn row(self, _: usize, _: usize) -> Self {
        self
    }

    #[inline(always)]
    fn at(self, _: usize) -> f64 {
        self
    }
}

impl Weight for &[f32] {
    #[inline(always)]
    fn row(self, start: usize, end: usize) -> Self {
        &self[start..end]
    }

    #[inline(always)]
    fn at(self, entry: usize) -> f64 {
        self[entry].into()
    }
}

impl Weight for &[f64] {
    #[inline(always)]
    fn row(self, start: usize, end: usize) -> Self {
        &self[start..end]
    }

    #[inline(always)]
    fn at(self, entry: usize) -> f64 {
        self[entry]
    }
}

/// Y ← (D − W)·X + diag(g)·X on blocks (n, s), as Σⱼ wᵢⱼ(xᵢ − xⱼ) + gᵢxᵢ; returns xᵀy of each column.
pub(crate) fn sdd_product(matrix: &SddMatrix<'_>, x: &[f64], y: &mut [f64], s: usize) -> Vec<f64> {
    assert!(x.len() == matrix.shift().len() * s && y.len() == x.len());
    let rows = BLOCK_ROWS * s.max(1);
    let partial: Vec<Vec<f64>> = y
        .par_chunks_mut(rows)
        .enumerate()
        .map(|(block, y)| {
            let mut dots = vec![0.0; s];
            let first = block * BLOCK_ROWS;
            match &matrix.weights {
                Weights::Equal(weight) => product_rows(matrix, *weight, x, y, s, first, &mut dots),
                Weights::Single(weights) => product_rows(matrix, weights.as_slice(), x, y, s, first, &mut dots),
                Weights::Double(weights) => product_rows(matrix, weights.as_ref(), x, y, s, first, &mut dots),
            }
            dots
        })
        .collect();
    sum(partial, s)
}

fn product_rows<W: Weight>(
    matrix: &SddMatrix<'_>,
    weights: W,
    x: &[f64],
    y: &mut [f64],
    s: usize,
    first: usize,
    dots: &mut [f64],
) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f")]
        fn avx512<W: Weight>(
            m: &SddMatrix<'_>,
            w: W,
            x: &[f64],
            y: &mut [f64],
            s: usize,
            first: usize,
            dots: &mut [f64],
        ) {
            product_plain(m, w, x, y, s, first, dots);
        }
        #[target_feature(enable = "avx2")]
        fn avx2<W: Weight>(
            m: &SddMatrix<'_>,
            w: W,
            x: &[f64],
            y: &mut [f64],
            s: usize,
            first: usize,
            dots: &mut [f64],
        ) {
            product_plain(m, w, x, y, s, first, dots);
        }
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512F.
            return unsafe { avx512(matrix, weights, x, y, s, first, dots) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { avx2(matrix, weights, x, y, s, first, dots) };
        }
    }
    product_plain(matrix, weights, x, y, s, first, dots);
}

#[inline(always)]
fn product_plain<W: Weight>(
    matrix: &SddMatrix<'_>,
    weights: W,
    x: &[f64],
    y: &mut [f64],
    s: usize,
    first: usize,
    dots: &mut [f64],
) {
    // One walk over a matrix row serves up to sixteen columns held in registers; wider blocks go in strips.
    for at in (0..s).step_by(WIDEST) {
        let width = (s - at).min(WIDEST);
        with_width!(width, product_of_width(matrix, weights, x, y, s, at, first, &mut dots[at..at + width]));
    }
}

/// Columns `at..at + S` of the rows of one block.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn product_of_width<const S: usize>(
    matrix: &SddMatrix<'_>,
    weights: impl Weight,
    x: &[f64],
    y: &mut [f64],
    s: usize,
    at: usize,
    first: usize,
    dots: &mut [f64],
) {
    let mut dot = [0.0; S];
    for (offset, y) in y.chunks_exact_mut(s).enumerate() {
        let row = first + offset;
        let (start, end) = (matrix.starts[row] as usize, matrix.starts[row + 1] as usize);
        let mut own = [0.0; S];
        own.copy_from_slice(&x[row * s + at..][..S]);
        let mut sum = [0.0; S];
        let weights = weights.row(start, end);
        for (entry, &column) in matrix.ids[start..end].iter().enumerate() {
            debug_assert!(column as usize * s + at + S <= x.len());
            // SAFETY: columns of a checked matrix are below n, `x` has n·s values and at + S ≤ s.
            let x = unsafe { x.get_unchecked(column as usize * s + at..column as usize * s + at + S) };
            let weight = weights.at(entry);
            for lane in 0..S {
                sum[lane] += weight * (own[lane] - x[lane]);
            }
        }
        let shift = matrix.shift()[row];
        for lane in 0..S {
            let value = sum[lane] + shift * own[lane];
            y[at + lane] = value;
            dot[lane] += value * own[lane];
        }
    }
    dots.copy_from_slice(&dot);
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
    sum(partial, width)
}

/// Partial sums, added in block order.
pub(crate) fn sum(partial: Vec<Vec<f64>>, width: usize) -> Vec<f64> {
    partial.into_iter().fold(vec![0.0; width], |mut total, sums| {
        total.iter_mut().zip(sums).for_each(|(t, s)| *t += s);
        total
    })
}

/// Σ aᵢ·bᵢ of each column.
pub(crate) fn column_dots(a: &[f64], b: &[f64], n: usize, s: usize) -> Vec<f64> {
    reduce(n, s, |rows, sums| {
        let range = rows.start * s..rows.end * s;
        for (a, b) in a[range.clone()].chunks_exact(s).zip(b[range].chunks_exact(s)) {
            sums.iter_mut().zip(a).zip(b).for_each(|((sum, a), b)| *sum += a * b);
        }
    })
}

#[cfg(test)]
mod tests {
    use lapwing_data::Csr;

    use super::*;
    use crate::Operator;

    #[test]
    fn every_width_equals_the_dense_product() {
        let n = 37;
        let pairs = (0..n as u32).flat_map(|i| (0..n as u32).map(move |j| (i, j)));
        let pattern: Vec<(u32, u32)> = pairs.filter(|&(i, j)| (i * 7 + j * 11) % 5 == 0 && i != j).collect();
        let shift: Vec<f64> = (0..n).map(|i| i as f64 * 0.25).collect();
        let identity: Vec<u32> = (0..n as u32).collect();
        // Weights that take eight, four and no bytes each.
        let kinds: [fn(u32, u32) -> f64; 3] =
            [|i, j| f64::from(i + j) + 0.1, |i, j| f64::from(i + j) + 0.5, |_, _| 0.7];
        for weight in kinds {
            let entries: Vec<(u32, u32, f64)> = pattern.iter().map(|&(i, j)| (i, j, weight(i, j))).collect();
            let adjacency = Csr::from_entries(n, n, &entries).unwrap();
            let matrix = SddMatrix::reordered(&adjacency, &shift, &identity, &identity);
            for s in 1..36 {
                let x: Vec<f64> = (0..n * s).map(|i| ((i * 29) % 31) as f64 - 15.0).collect();
                let mut y = vec![0.0; n * s];
                let dots = matrix.apply_dot(&x, &mut y, s);
                for i in 0..n {
                    for c in 0..s {
                        let difference = |e: &(u32, u32, f64)| e.2 * (x[i * s + c] - x[e.1 as usize * s + c]);
                        let sum: f64 = entries.iter().filter(|e| e.0 == i as u32).map(difference).sum();
                        let expected = shift[i] * x[i * s + c] + sum;
                        assert!((y[i * s + c] - expected).abs() <= 1e-12 * expected.abs().max(1.0));
                    }
                }
                for (dot, expected) in dots.iter().zip(column_dots(&x, &y, n, s)) {
                    assert!((dot - expected).abs() <= 1e-12 * expected.abs().max(1.0));
                }
                let (mut plain, mut plain_dots) = (vec![0.0; n * s], vec![0.0; s]);
                match &matrix.weights {
                    Weights::Equal(w) => product_plain(&matrix, *w, &x, &mut plain, s, 0, &mut plain_dots),
                    Weights::Single(w) => product_plain(&matrix, w.as_slice(), &x, &mut plain, s, 0, &mut plain_dots),
                    Weights::Double(w) => product_plain(&matrix, w.as_ref(), &x, &mut plain, s, 0, &mut plain_dots),
                }
                assert_eq!(y, plain, "vectorised and plain kernels must agree to the bit");
            }
        }
    }
}
