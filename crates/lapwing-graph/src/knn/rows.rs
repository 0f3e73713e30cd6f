//! Rows made ready for the search: f32, centered or of unit length, with half their squared norms.
//!
//! Both metrics become squared Euclidean distance: under the cosine metric rows are scaled to unit length, and
//! 1 − cos = ‖x̂ − ŷ‖² / 2. The search works with v(x, y) = ‖y‖²/2 − xᵀy, which orders the y of one x as distances do
//! and needs one matrix product for a block of pairs.

use lapwing_data::{Dense, Error, Result, Run};
use rayon::prelude::*;

use super::Metric;

/// Where the search puts the origin and its unit of length, so that f32 products neither cancel nor overflow.
pub(super) struct Frame {
    /// Column means under the Euclidean metric; empty under the cosine one.
    shift: Vec<f64>,
    /// A power of two that brings the largest deviation near 1.
    scale: f64,
    metric: Metric,
}

impl Frame {
    pub fn of(dense: &Dense<'_>, metric: Metric, run: &Run) -> Self {
        match metric {
            Metric::Cosine => Self { shift: Vec::new(), scale: 1.0, metric },
            Metric::Euclidean => {
                let shift = dense.column_means(run);
                let most = dense.largest_deviation(&shift, run);
                let scale = if most > 0.0 { (-most.log2().floor()).exp2() } else { 1.0 };
                Self { shift, scale: if scale.is_finite() { scale } else { 1.0 }, metric }
            }
        }
    }

    /// Row `row` in this frame: shifted and scaled, or of unit length.
    pub fn copy_row(&self, dense: &Dense<'_>, row: usize, out: &mut [f32]) -> Result<()> {
        match self.metric {
            Metric::Euclidean => {
                dense.copy_row_f32(row, &self.shift, self.scale, out);
                Ok(())
            }
            Metric::Cosine => unit_row(dense, row, out),
        }
    }
}

/// Dense rows for the search: (n, d) f32.
pub(super) struct Rows {
    pub n: usize,
    pub d: usize,
    pub values: Vec<f32>,
    /// ‖x‖²/2 of each row (n).
    pub half_norms: Vec<f32>,
}

impl Rows {
    /// The rows of `dense` in `frame`.
    pub fn prepare(dense: &Dense<'_>, frame: &Frame, run: &Run) -> Result<Self> {
        let (n, d) = (dense.n_rows(), dense.n_cols());
        let mut values = vec![0f32; n * d];
        let fill = |(row, out): (usize, &mut [f32])| frame.copy_row(dense, row, out);
        run.install(|| values.par_chunks_mut(d).with_min_len(256).enumerate().try_for_each(fill))?;
        Ok(Self::new(n, d, values, run))
    }

    /// Rows as they are.
    pub fn new(n: usize, d: usize, values: Vec<f32>, run: &Run) -> Self {
        let half_norms = run.install(|| {
            values
                .par_chunks(d.max(1))
                .with_min_len(256)
                .map(|row| row.iter().map(|x| x * x).sum::<f32>() / 2.0)
                .collect()
        });
        Self { n, d, values, half_norms }
    }
}

/// Row scaled to unit length.
fn unit_row(dense: &Dense<'_>, row: usize, out: &mut [f32]) -> Result<()> {
    let norm = row_norm(dense, row);
    if norm == 0.0 {
        return Err(zero_row(row));
    }
    dense.copy_row_f32(row, &[], 1.0 / norm, out);
    Ok(())
}

fn row_norm(dense: &Dense<'_>, row: usize) -> f64 {
    let mut values = vec![0.0; dense.n_cols()];
    dense.copy_row_f64(row, &mut values);
    values.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// A row of zeros has no direction.
pub(super) fn zero_row(row: usize) -> Error {
    Error::Value {
        what: "features".into(),
        row,
        col: None,
        value: "only zeros, which have no direction under the cosine metric".into(),
        advice: "remove the row or use the euclidean metric".into(),
    }
}

/// OUT (m, n) ← A (m, d) · B (n, d)ᵀ, row-major, on the calling thread.
pub(super) fn products(a: &[f32], b: &[f32], d: usize, out: &mut [f32]) {
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
