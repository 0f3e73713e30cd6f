//! The sparse product with a block of s vectors, with the same bits at every SIMD level ([`crate::dispatch`]), for both number types.
//!
//! Gathering a row of the block for each entry takes most of the time of a product. Rows of blocks larger than the caches are
//! prefetched. Rows are read as vectors of a power of two of lanes, whatever the number of columns: the parts of a vector that would be left
//! over take more instructions than whole ones. Cost: one pass over the entries for up to sixteen columns.

use lapwing_core::Run;
use lapwing_core::ordered::sum_in_order;
use lapwing_core::parallel::*;

use crate::blocks::BLOCK_ROWS;
use crate::dispatch::{WIDEST, dispatch};
use crate::real::{Real, prefetch};
use crate::sdd_matrix::{SddMatrix, Weights};
use lapwing_simd::LINE;

/// Rows of the block are prefetched so many entries ahead.
const AHEAD: usize = 64;

/// Blocks of at most so many bytes are not prefetched: it would cost more than it saves.
const NEAR_BYTES: usize = 4 << 20;

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

/// Y ← (D − W)·X + diag(g)·X for Y (n, s) and the first s columns of X, as Σⱼ wᵢⱼ(xᵢ − xⱼ) + gᵢxᵢ, summed in their precision;
/// returns xᵀy of each column. Rows are left as they are once the `run` is canceled.
pub(crate) fn sdd_product<R: Real>(
    matrix: &SddMatrix<'_>,
    x: &[R],
    y: &mut [R],
    s: usize,
    run: Option<&Run>,
) -> Vec<f64> {
    let n = matrix.shift().len();
    let stride = x.len().checked_div(n).unwrap_or(s);
    assert!(x.len() == n * stride && stride >= s && y.len() == n * s);
    let rows = BLOCK_ROWS * s.max(1);
    let dots = y.par_chunks_mut(rows).enumerate().map(|(block, y)| {
        let mut dots = vec![0.0; s];
        if run.is_some_and(Run::is_canceled) {
            return dots;
        }
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
    fn product_rows[W: Weight, R: Real](
        matrix: &SddMatrix<'_>, weights: W, x: (&[R], usize), y: &mut [R], s: usize, first: usize, dots: &mut [f64]
    ) = product_plain
}

#[inline(always)]
fn product_plain<W: Weight, R: Real>(
    matrix: &SddMatrix<'_>,
    weights: W,
    x: (&[R], usize),
    y: &mut [R],
    s: usize,
    first: usize,
    dots: &mut [f64],
) {
    // One pass over a matrix row serves up to sixteen columns held in registers; wider blocks go in strips.
    for at in (0..s).step_by(WIDEST) {
        let part = Strip::new(x, at, (s - at).min(WIDEST));
        let dots = &mut dots[at..at + part.width];
        match (part.width.next_power_of_two(), part.is_padded) {
            (1, true) => product_of_strip::<1, true, R, W>(matrix, weights, &part, y, s, first, dots),
            (2, true) => product_of_strip::<2, true, R, W>(matrix, weights, &part, y, s, first, dots),
            (4, true) => product_of_strip::<4, true, R, W>(matrix, weights, &part, y, s, first, dots),
            (8, true) => product_of_strip::<8, true, R, W>(matrix, weights, &part, y, s, first, dots),
            (_, true) => product_of_strip::<16, true, R, W>(matrix, weights, &part, y, s, first, dots),
            (1, false) => product_of_strip::<1, false, R, W>(matrix, weights, &part, y, s, first, dots),
            (2, false) => product_of_strip::<2, false, R, W>(matrix, weights, &part, y, s, first, dots),
            (4, false) => product_of_strip::<4, false, R, W>(matrix, weights, &part, y, s, first, dots),
            (8, false) => product_of_strip::<8, false, R, W>(matrix, weights, &part, y, s, first, dots),
            (_, false) => product_of_strip::<16, false, R, W>(matrix, weights, &part, y, s, first, dots),
        }
    }
}

/// Columns `at..at + width` of a block of vectors, read as rows of a power of two of lanes. Lanes beyond the width hold whatever follows in
/// memory, and are ignored.
struct Strip<'x, R> {
    x: &'x [R],
    stride: usize,
    at: usize,
    width: usize,
    /// Whether the rows have as many values as lanes.
    is_padded: bool,
    /// Rows from this one on would be read beyond the end of the block. They are read from a copy.
    safe: usize,
    last: Vec<R>,
    /// Whether each row lies in one cache line.
    is_aligned: bool,
}

impl<'x, R: Real> Strip<'x, R> {
    fn new((x, stride): (&'x [R], usize), at: usize, width: usize) -> Self {
        let lanes = width.next_power_of_two();
        let safe = if x.len() < at + lanes { 0 } else { (x.len() - at - lanes) / stride + 1 }.min(x.len() / stride);
        let mut last = x[safe * stride..].to_vec();
        last.resize(last.len() + lanes, R::default());
        let row = stride * size_of::<R>();
        let is_aligned = row <= LINE && LINE.is_multiple_of(row) && (x.as_ptr() as usize).is_multiple_of(LINE);
        Self { x, stride, at, width, is_padded: stride == lanes, safe, last, is_aligned }
    }

    /// S values of row `row`; S is the power of two of the lanes, and the stride if the rows are `PADDED`.
    ///
    /// # Safety
    /// `row` is below the number of rows.
    #[inline(always)]
    unsafe fn row<const S: usize, const PADDED: bool>(&self, row: usize) -> &[R; S] {
        debug_assert!(S == self.width.next_power_of_two() && row < self.x.len() / self.stride);
        debug_assert!(PADDED == (S == self.stride));
        if PADDED {
            // SAFETY: the block has S values for each row.
            return unsafe { &*self.x.as_ptr().cast::<[R; S]>().add(row) };
        }
        // A choice between two addresses: a branch to a function would keep the sums in memory.
        let (base, row) = if row < self.safe { (self.x.as_ptr(), row) } else { (self.last.as_ptr(), row - self.safe) };
        // SAFETY: the rows below `safe` have S values after `at` in the block, the others in the copy.
        unsafe { &*base.add(row * self.stride + self.at).cast() }
    }

    /// Prefetches row `row`.
    #[inline(always)]
    fn prefetch<const S: usize, const PADDED: bool>(&self, row: usize) {
        let from = if PADDED { row * S } else { row * self.stride + self.at };
        prefetch(self.x, from);
        if !self.is_aligned {
            prefetch(self.x, from + self.width - 1);
        }
    }
}

/// Adds an entry of a row to its sum: w·(own − x), with x the row `id` of the block.
///
/// # Safety
/// `id` is below the number of rows, and `entry` below the number of weights.
#[inline(always)]
unsafe fn add_entry<const S: usize, const PADDED: bool, R: Real, W: Weight>(
    sum: &mut [R; S],
    own: &[R; S],
    x: &Strip<'_, R>,
    id: u32,
    weights: W,
    entry: usize,
) {
    // SAFETY: as the caller promises.
    let (x, weight) = unsafe { (x.row::<S, PADDED>(id as usize), weights.at(entry)) };
    let weight = R::round(weight);
    for lane in 0..S {
        sum[lane] = sum[lane] + weight * (own[lane] - x[lane]);
    }
}

/// The columns of `x` of the rows of one block.
#[inline(always)]
fn product_of_strip<const S: usize, const PADDED: bool, R: Real, W: Weight>(
    matrix: &SddMatrix<'_>,
    weights: W,
    x: &Strip<'_, R>,
    y: &mut [R],
    s: usize,
    first: usize,
    dots: &mut [f64],
) {
    let mut dot = [0.0; S];
    let is_far = x.width > 2 && size_of_val(x.x) > NEAR_BYTES;
    for offset in 0..y.len() / s {
        let row = first + offset;
        let (start, end) = (matrix.starts[row] as usize, matrix.starts[row + 1] as usize);
        // SAFETY: the block has a row for each row of the matrix.
        let own: [R; S] = unsafe { *x.row::<S, PADDED>(row) };
        // Four independent sums, so that additions overlap.
        let mut sums = [[R::default(); S]; 4];
        let weights = weights.row(start, end);
        let ids = &matrix.ids[start..end];
        let ahead = matrix.ids.get(start + AHEAD..end + AHEAD).unwrap_or(ids);
        let (fours, rest) = ids.as_chunks::<4>();
        for (four, (ids, ahead)) in fours.iter().zip(ahead.as_chunks::<4>().0).enumerate() {
            if is_far {
                for id in ahead {
                    x.prefetch::<S, PADDED>(*id as usize);
                }
            }
            for offset in 0..4 {
                // SAFETY: columns of a checked matrix are below n, and a row has as many weights as columns.
                unsafe {
                    add_entry::<S, PADDED, R, W>(&mut sums[offset], &own, x, ids[offset], weights, 4 * four + offset);
                }
            }
        }
        for (offset, &id) in rest.iter().enumerate() {
            // SAFETY: as above.
            unsafe { add_entry::<S, PADDED, R, W>(&mut sums[offset], &own, x, id, weights, 4 * fours.len() + offset) };
        }
        let mut sum = [R::default(); S];
        for lane in 0..S {
            sum[lane] = (sums[0][lane] + sums[1][lane]) + (sums[2][lane] + sums[3][lane]);
        }
        let shift = R::round(matrix.shift()[row]);
        for lane in 0..S {
            sum[lane] = sum[lane] + shift * own[lane];
            dot[lane] += sum[lane].wide() * own[lane].wide();
        }
        // Lanes beyond the width go to the next row, which is written later. Whole vectors are faster than copies of any length.
        match y.get_mut(offset * s..offset * s + S) {
            Some(y) if s == x.width => y.copy_from_slice(&sum),
            _ => y[offset * s + x.at..][..x.width].copy_from_slice(&sum[..x.width]),
        }
    }
    dots.copy_from_slice(&dot[..x.width]);
}

/// Each value changed, in parallel on the current pool.
fn converted<A: Copy + Sync, B: Send>(values: &[A], value: impl Fn(A) -> B + Sync + Send) -> Vec<B> {
    values.par_iter().with_min_len(BLOCK_ROWS).map(|&v| value(v)).collect()
}

impl Real for f64 {
    const LARGEST_EXPONENT: i32 = 1022;

    #[inline(never)]
    fn product(matrix: &SddMatrix<'_>, x: &[Self], y: &mut [Self], s: usize, run: Option<&Run>) -> Vec<f64> {
        sdd_product(matrix, x, y, s, run)
    }

    fn cast<T: Real>(values: Vec<Self>) -> Vec<T> {
        T::of_double(values)
    }

    fn of_single(values: Vec<f32>) -> Vec<Self> {
        converted(&values, f64::from)
    }

    fn of_double(values: Vec<f64>) -> Vec<Self> {
        values
    }

    #[inline(always)]
    fn round(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
}

impl Real for f32 {
    const LARGEST_EXPONENT: i32 = 126;

    #[inline(never)]
    fn product(matrix: &SddMatrix<'_>, x: &[Self], y: &mut [Self], s: usize, run: Option<&Run>) -> Vec<f64> {
        sdd_product(matrix, x, y, s, run)
    }

    fn cast<T: Real>(values: Vec<Self>) -> Vec<T> {
        T::of_single(values)
    }

    fn of_single(values: Vec<f32>) -> Vec<Self> {
        values
    }

    fn of_double(values: Vec<f64>) -> Vec<Self> {
        converted(&values, |v| v as f32)
    }

    #[inline(always)]
    fn round(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use lapwing_core::{Csr, Run};

    use super::*;
    use crate::blocks::column_dots;

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
