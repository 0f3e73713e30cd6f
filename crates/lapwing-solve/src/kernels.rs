//! Inner loops over blocks of s vectors: the sparse product, with the same bits at every SIMD level ([`crate::dispatch`]), and
//! reductions.
//!
//! Gathering a row of the block for each entry takes most of the time of a product. Rows of blocks larger than the caches are
//! prefetched. Cost: one pass over the entries for up to sixteen columns.

use lapwing_data::ordered::{sum_in_order, sum_of_parts, sum_over_rows};
use rayon::prelude::*;

use crate::dispatch::{WIDEST, dispatch, with_width};
use crate::operator::{SddMatrix, Weights};
use crate::pages::{Real, prefetch};

/// Rows of one unit of work; fixed, so that reductions do not depend on the number of threads.
pub(crate) const BLOCK_ROWS: usize = 2048;

/// Rows of the block are prefetched so many entries ahead.
const AHEAD: usize = 64;

/// Blocks of at most so many bytes are not prefetched: it would cost more than it saves.
const NEAR_BYTES: usize = 4 << 20;

/// The values of rows `0..n`; parallel within a pool of threads. Never uses the global pool: a process must be free to fork.
pub(crate) fn of_rows<T: Send>(n: usize, value: impl Fn(usize) -> T + Send + Sync) -> Vec<T> {
    match rayon::current_thread_index() {
        Some(_) => (0..n).into_par_iter().with_min_len(BLOCK_ROWS).map(value).collect(),
        None => (0..n).map(value).collect(),
    }
}

/// Weights of the entries of a matrix, or of one of its rows.
trait Weight: Copy {
    /// The weights of entries `start..end`.
    fn row(self, start: usize, end: usize) -> Self;

    /// The weight of one entry.
    ///
    /// # Safety
    /// `entry` is below the number of weights.
    unsafe fn at(self, entry: usize) -> f64;
}

impl Weight for f64 {
    #[inline(always)]
    fn row(self, _: usize, _: usize) -> Self {
        self
    }

    #[inline(always)]
    unsafe fn at(self, _: usize) -> f64 {
        self
    }
}

impl<R: Real> Weight for &[R] {
    #[inline(always)]
    fn row(self, start: usize, end: usize) -> Self {
        &self[start..end]
    }

    #[inline(always)]
    unsafe fn at(self, entry: usize) -> f64 {
        debug_assert!(entry < self.len());
        // SAFETY: the caller keeps `entry` below the length.
        unsafe { self.get_unchecked(entry) }.wide()
    }
}

/// Y ← (D − W)·X + diag(g)·X for Y (n, s) and the first s columns of X, as Σⱼ wᵢⱼ(xᵢ − xⱼ) + gᵢxᵢ, summed in the precision of Y;
/// returns xᵀy of each column.
pub(crate) fn sdd_product<R: Real, Y: Real>(matrix: &SddMatrix<'_>, x: &[R], y: &mut [Y], s: usize) -> Vec<f64> {
    let n = matrix.shift().len();
    let stride = x.len().checked_div(n).unwrap_or(s);
    assert!(x.len() == n * stride && stride >= s && y.len() == n * s);
    let rows = BLOCK_ROWS * s.max(1);
    let dots = y.par_chunks_mut(rows).enumerate().map(|(block, y)| {
        let mut dots = vec![0.0; s];
        let first = block * BLOCK_ROWS;
        match &matrix.weights {
            Weights::Equal(weight) => product_rows(matrix, *weight, (x, stride), y, s, first, &mut dots),
            Weights::Single(weights) => product_rows(matrix, weights.as_slice(), (x, stride), y, s, first, &mut dots),
            Weights::Double(weights) => product_rows(matrix, weights.as_ref(), (x, stride), y, s, first, &mut dots),
        }
        dots
    });
    sum_in_order(vec![0.0; s], dots)
}

dispatch! {
    fn product_rows[W: Weight, R: Real, Y: Real](
        matrix: &SddMatrix<'_>, weights: W, x: (&[R], usize), y: &mut [Y], s: usize, first: usize, dots: &mut [f64]
    ) = product_plain
}

#[inline(always)]
fn product_plain<W: Weight, R: Real, Y: Real>(
    matrix: &SddMatrix<'_>,
    weights: W,
    x: (&[R], usize),
    y: &mut [Y],
    s: usize,
    first: usize,
    dots: &mut [f64],
) {
    // One pass over a matrix row serves up to sixteen columns held in registers; wider blocks go in strips.
    for at in (0..s).step_by(WIDEST) {
        let width = (s - at).min(WIDEST);
        with_width!(width, product_of_width[R, Y, W](matrix, weights, x, y, s, at, first, &mut dots[at..at + width]));
    }
}

/// Columns `at..at + S` of the rows of one block.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn product_of_width<const S: usize, R: Real, Y: Real, W: Weight>(
    matrix: &SddMatrix<'_>,
    weights: W,
    (x, stride): (&[R], usize),
    y: &mut [Y],
    s: usize,
    at: usize,
    first: usize,
    dots: &mut [f64],
) {
    let mut dot = [0.0; S];
    let is_far = S > 2 && size_of_val(x) > NEAR_BYTES;
    let last = matrix.ids.len().saturating_sub(1);
    for (offset, y) in y.chunks_exact_mut(s).enumerate() {
        let row = first + offset;
        let (start, end) = (matrix.starts[row] as usize, matrix.starts[row + 1] as usize);
        let mut own = [Y::default(); S];
        own.iter_mut().zip(&x[row * stride + at..][..S]).for_each(|(own, x)| *own = Y::round(x.wide()));
        // Four independent sums, so that additions overlap.
        let mut sums = [[Y::default(); S]; 4];
        let weights = weights.row(start, end);
        let ids = &matrix.ids[start..end];
        let add = |sum: &mut [Y; S], entry: usize, id: u32| {
            let from = id as usize * stride + at;
            debug_assert!(from + S <= x.len());
            // SAFETY: columns of a checked matrix are below n, `x` has n·stride values and at + S ≤ s ≤ stride.
            let x = unsafe { x.get_unchecked(from..from + S) };
            // SAFETY: a row has as many weights as columns.
            let weight = Y::round(unsafe { weights.at(entry) });
            for lane in 0..S {
                sum[lane] = sum[lane] + weight * (own[lane] - Y::round(x[lane].wide()));
            }
        };
        let (fours, rest) = ids.as_chunks::<4>();
        for (four, ids) in fours.iter().enumerate() {
            for offset in 0..4 {
                if is_far {
                    let ahead = matrix.ids[(start + 4 * four + offset + AHEAD).min(last)] as usize * stride + at;
                    prefetch(x, ahead);
                    prefetch(x, ahead + S - 1);
                }
                add(&mut sums[offset], 4 * four + offset, ids[offset]);
            }
        }
        for (offset, &id) in rest.iter().enumerate() {
            add(&mut sums[offset], 4 * fours.len() + offset, id);
        }
        let mut sum = [Y::default(); S];
        for lane in 0..S {
            sum[lane] = (sums[0][lane] + sums[1][lane]) + (sums[2][lane] + sums[3][lane]);
        }
        let shift = Y::round(matrix.shift()[row]);
        for lane in 0..S {
            let value = sum[lane] + shift * own[lane];
            y[at + lane] = value;
            dot[lane] += value.wide() * own[lane].wide();
        }
    }
    dots.copy_from_slice(&dot);
}

/// [`sum_over_rows`] with the blocks of this crate.
pub(crate) fn reduce(
    n: usize,
    width: usize,
    add: impl Fn(std::ops::Range<usize>, &mut [f64]) + Sync + Send,
) -> Vec<f64> {
    sum_over_rows(n, BLOCK_ROWS, width, add)
}

/// Partial sums, added in block order.
pub(crate) fn sum(partial: Vec<Vec<f64>>, width: usize) -> Vec<f64> {
    sum_of_parts(vec![0.0; width], &partial)
}

/// Row i of a block of `s` columns ← row `rows[i]` of another.
pub(crate) fn gather(from: &[f64], rows: &[u32], to: &mut [f64], s: usize) {
    to.par_chunks_mut(s).zip(rows).with_min_len(BLOCK_ROWS).for_each(|(to, &row)| {
        to.copy_from_slice(&from[row as usize * s..][..s]);
    });
}

/// Row `rows[i]` of a block of `s` columns ← row i of another. Serial, because rows may repeat.
pub(crate) fn scatter(from: &[f64], rows: &[u32], to: &mut [f64], s: usize) {
    for (from, &row) in from.chunks_exact(s).zip(rows) {
        to[row as usize * s..][..s].copy_from_slice(from);
    }
}

/// aᵀb of each column of blocks (n, s), row-major: blocks of rows in parallel on the current pool, added in order.
pub fn column_dots(a: &[f64], b: &[f64], n: usize, s: usize) -> Vec<f64> {
    reduce(n, s, |rows, sums| {
        let range = rows.start * s..rows.end * s;
        for (a, b) in a[range.clone()].chunks_exact(s).zip(b[range].chunks_exact(s)) {
            sums.iter_mut().zip(a).zip(b).for_each(|((sum, a), b)| *sum += a * b);
        }
    })
}

#[cfg(test)]
mod tests {
    use lapwing_data::{Csr, Run};

    use super::*;

    #[test]
    fn rows_that_were_gathered_are_scattered_back() {
        let (n, s) = (3 * BLOCK_ROWS + 5, 3);
        // 7 has no factor in common with n, so that this is a permutation.
        let rows: Vec<u32> = (0..n).map(|i| ((7 * i + 2) % n) as u32).collect();
        let block: Vec<f64> = (0..n * s).map(|i| i as f64).collect();
        let (mut gathered, mut back) = (vec![0.0; n * s], vec![0.0; n * s]);
        gather(&block, &rows, &mut gathered, s);
        assert!((0..n * s).all(|i| gathered[i] == (rows[i / s] as usize * s + i % s) as f64));
        scatter(&gathered, &rows, &mut back, s);
        assert_eq!(back, block);
    }

    #[test]
    fn every_width_equals_the_dense_product() {
        let run = Run::new(Some(2), 0).unwrap();
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
            let matrix = SddMatrix::borrowed(&adjacency, &shift).reordered(&identity, &run).unwrap();
            for s in 1..36 {
                let x: Vec<f64> = (0..n * s).map(|i| ((i * 29) % 31) as f64 - 15.0).collect();
                let mut y = vec![0.0; n * s];
                let dots = matrix.product(&x, &mut y, s);
                let stride = s.next_multiple_of(4);
                let mut apart = vec![f64::NAN; n * stride];
                apart.chunks_exact_mut(stride).zip(x.chunks_exact(s)).for_each(|(to, x)| to[..s].copy_from_slice(x));
                let mut again = vec![0.0; n * s];
                assert_eq!((matrix.product(&apart, &mut again, s), &again), (dots.clone(), &y));
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
                    Weights::Equal(w) => product_plain(&matrix, *w, (&x, s), &mut plain, s, 0, &mut plain_dots),
                    Weights::Single(w) => {
                        product_plain(&matrix, w.as_slice(), (&x, s), &mut plain, s, 0, &mut plain_dots)
                    }
                    Weights::Double(w) => {
                        product_plain(&matrix, w.as_ref(), (&x, s), &mut plain, s, 0, &mut plain_dots)
                    }
                }
                assert_eq!(y, plain, "vectorized and plain kernels must agree to the bit");
            }
        }
    }
}
