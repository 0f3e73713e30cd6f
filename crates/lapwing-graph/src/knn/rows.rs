//! Rows made ready for the search: f32, centered or of unit length, with half their squared norms.
//!
//! Both metrics become squared Euclidean distance: under the cosine metric rows are scaled to unit length, and
//! 1 − cos = ‖x̂ − ŷ‖² / 2. The search works with v(x, y) = ‖y‖²/2 − xᵀy, which orders the y of one x as distances do
//! and needs one matrix product for a block of pairs.

use lapwing_data::{Dense, Error, Result, Run};
use rayon::prelude::*;

use super::Metric;

/// Dense rows for the search: (n, d) f32.
pub(super) struct Rows {
    pub n: usize,
    pub d: usize,
    pub values: Vec<f32>,
    /// ‖x‖²/2 of each row (n).
    pub half_norms: Vec<f32>,
}

impl Rows {
    /// Rows of `dense`, less `center` under the Euclidean metric, of unit length under the cosine one.
    pub fn prepare(dense: &Dense<'_>, metric: Metric, center: &[f64], run: &Run) -> Result<Self> {
        let (n, d) = (dense.n_rows(), dense.n_cols());
        let mut values = vec![0f32; n * d];
        let fill = |row: usize, out: &mut [f32]| -> Result<()> {
            match metric {
                Metric::Euclidean => dense.copy_row_f32(row, center, out),
                Metric::Cosine => unit_row(dense, row, out)?,
            }
            Ok(())
        };
        run.install(|| {
            values.par_chunks_mut(d).with_min_len(256).enumerate().try_for_each(|(row, out)| fill(row, out))
        })?;
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

    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.d..(row + 1) * self.d]
    }

    /// Copies the rows `ids` one below the other, with their half norms.
    pub fn gather(&self, ids: &[u32], values: &mut Vec<f32>, half_norms: &mut Vec<f32>) {
        values.clear();
        half_norms.clear();
        for &id in ids {
            values.extend_from_slice(self.row(id as usize));
            half_norms.push(self.half_norms[id as usize]);
        }
    }
}

/// Row scaled to unit length.
pub(super) fn unit_row(dense: &Dense<'_>, row: usize, out: &mut [f32]) -> Result<()> {
    dense.copy_row_f32(row, &[], out);
    let norm = out.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
    if norm == 0.0 {
        return Err(zero_row(row));
    }
    out.iter_mut().for_each(|x| *x = (f64::from(*x) / norm) as f32);
    Ok(())
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
