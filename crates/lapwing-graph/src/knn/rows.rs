//! Rows prepared for the search: f32, centered or of unit length, with half their squared norms.
//!
//! Every metric becomes v(x, y) = h(y) − xᵀy, which orders the y of one x as distances do and needs one matrix product
//! for a block of pairs; 2·(h(x) + v) is the distance in the search's own unit. Euclidean: h(y) = ‖y‖²/2, and the unit
//! is the squared distance. Cosine: rows have unit length, 1 − cos = ‖x̂ − ŷ‖²/2, h = 1/2. Inner product: h = 0.
//!
//! Cost: one pass over the rows, 4 bytes a value.

use lapwing_core::parallel::*;
use lapwing_core::{Dense, Run};

use crate::knn::Metric;

/// Rows on the left of a tile: few enough that a tile stays in the L2 cache, enough for a matrix product.
pub(crate) const TILE_ROWS: usize = 64;

/// h of a row of zeros under the cosine metric: larger than that of any other row, so that the search ranks it last.
pub(crate) const FAR: f32 = 1e30;

/// Origin and unit of length of the search, such that f32 products neither cancel nor overflow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    /// Column means under the Euclidean metric; empty under the others.
    pub center: Vec<f64>,
    /// A power of two that scales the largest deviation to about 1; 1 under the cosine metric.
    pub scale: f64,
    /// The largest norm of a row in this frame under the inner product; 0 under the others.
    pub longest: f32,
    pub metric: Metric,
}

impl Frame {
    pub fn new(dense: &Dense<'_>, metric: Metric, run: &Run) -> Self {
        let center = if metric == Metric::Euclidean { dense.column_means(run) } else { Vec::new() };
        let scale = match metric {
            Metric::Cosine => 1.0,
            Metric::Euclidean | Metric::InnerProduct => unit_scale(dense.largest_deviation(&center, run)),
        };
        let longest = match metric {
            Metric::InnerProduct => (longest(dense, run) * scale) as f32,
            Metric::Euclidean | Metric::Cosine => 0.0,
        };
        Self { center, scale, longest, metric }
    }

    /// Row `row` in this frame: centered and scaled, or of unit length; zeros stay zeros.
    pub fn copy_row(&self, dense: &Dense<'_>, row: usize, out: &mut [f32]) {
        let scale = match self.metric {
            Metric::Euclidean | Metric::InnerProduct => self.scale,
            Metric::Cosine => match row_norm(dense, row) {
                0.0 => 0.0,
                norm => 1.0 / norm,
            },
        };
        dense.copy_row_f32(row, &self.center, scale, out);
    }

    /// h of a row in this frame.
    pub fn half_norm(&self, row: &[f32]) -> f32 {
        match self.metric {
            Metric::InnerProduct => 0.0,
            Metric::Cosine if row.iter().all(|&x| x == 0.0) => FAR,
            Metric::Euclidean | Metric::Cosine => half_squared(row),
        }
    }

    /// Converts a plain distance to the unit of the search.
    pub fn in_search(&self, distance: f32) -> f64 {
        let d = f64::from(distance);
        match self.metric {
            Metric::Euclidean => (d * self.scale).powi(2),
            Metric::Cosine => 2.0 * d,
            Metric::InnerProduct => 2.0 * d * self.scale * self.scale,
        }
    }
}

/// The power of two that scales `most` to about 1, within the range of f64.
pub(crate) fn unit_scale(most: f64) -> f64 {
    let exponent = if most > 0.0 { -most.log2().floor() } else { 0.0 };
    exponent.clamp(-1022.0, 1023.0).exp2()
}

/// The largest Euclidean norm of a row.
fn longest(dense: &Dense<'_>, run: &Run) -> f64 {
    run.install(|| (0..dense.n_rows()).into_par_iter().map(|row| row_norm(dense, row)).reduce(|| 0.0, f64::max))
}

/// ‖x‖²/2.
pub(crate) fn half_squared(row: &[f32]) -> f32 {
    (row.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>() / 2.0) as f32
}

/// h minus a bound on the error of products of a row with any other; the row has `terms` values other than zero.
///
/// A product of rows with a and b terms has min(a, b) ≤ √(ab) terms, so that each row can bound its share by its own terms.
pub(crate) fn lowered(half_norm: f32, terms: usize, half_squared: f32) -> f32 {
    // Twenty more terms cover the rounding of the stored values, of h, and of the sums for the distance; the
    // constant covers underflow.
    half_norm - (terms as f32 + 20.0) * (f32::EPSILON / 2.0) * 1.01 * half_squared - 1e-36
}

/// Dense rows for the search: (n, d) f32.
#[derive(Clone, Debug)]
pub(crate) struct SearchRows {
    pub n: usize,
    pub d: usize,
    pub values: Vec<f32>,
    /// ‖x‖²/2 of each row (n).
    pub half_norms: Vec<f32>,
}

impl SearchRows {
    /// The rows of `dense` in `frame`.
    pub fn prepare(dense: &Dense<'_>, frame: &Frame, run: &Run) -> Self {
        let (n, d) = (dense.n_rows(), dense.n_cols());
        let mut values = vec![0f32; n * d];
        let fill = |(row, out): (usize, &mut [f32])| frame.copy_row(dense, row, out);
        run.install(|| values.par_chunks_mut(d).with_min_len(256).enumerate().for_each(fill));
        Self::new(d, values, frame, run)
    }

    /// Rows of `frame`.
    pub fn new(d: usize, values: Vec<f32>, frame: &Frame, run: &Run) -> Self {
        let half_norm = |row| frame.half_norm(row);
        let half_norms = run.install(|| values.par_chunks(d).with_min_len(256).map(half_norm).collect());
        Self { n: values.len() / d, d, values, half_norms }
    }

    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.d..(row + 1) * self.d]
    }
}

/// Euclidean norm of a row.
pub(crate) fn row_norm(dense: &Dense<'_>, row: usize) -> f64 {
    let mut values = vec![0.0; dense.n_cols()];
    dense.copy_row_f64(row, &mut values);
    values.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// OUT (m, n) ← A (m, d) · B (n, d)ᵀ, row-major, on the calling thread.
///
/// By `gemm`. With AVX-512, faer's safe product took 1.7 to 2.2 times as long for 64 rows by 4,096 of 200 columns, and it adds
/// in another order for a single row and for some hundred columns, which would change what an index visits.
pub(crate) fn products(a: &[f32], b: &[f32], d: usize, out: &mut [f32]) {
    let (m, n) = (a.len() / d, b.len() / d);
    assert!(a.len() == m * d && b.len() == n * d && out.len() == m * n);
    // SAFETY: the three slices have the sizes that the strides describe, checked above; `out` is borrowed exclusively.
    unsafe {
        gemm::gemm(
            m,
            n,
            d,
            out.as_mut_ptr(),
            1,
            n as isize,
            false,
            a.as_ptr(),
            1,
            d as isize,
            b.as_ptr(),
            d as isize,
            1,
            0f32,
            1f32,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}
