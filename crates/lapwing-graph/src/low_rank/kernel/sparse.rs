//! Products of sparse rows with landmarks, which are held by columns: one stored value of a row updates the products with all
//! landmarks, which lie side by side.
//!
//! Rows are not centered: |x − c − l|² = (|x|² − 2·x·c + |c|²) + (|l|² + 2·c·l) − 2·x·l. These parts may be far larger than
//! their sum, so that products are in double precision, where that of two values in single precision is exact. Multiplications
//! and additions are not fused, so that every level of processors gives the same bits.

use std::ops::Range;

use lapwing_core::{Csr, Result, Run};
use lapwing_simd::dispatch;

use super::strip::STRIP;

/// Products between two checks for an interruption.
const CHECK_PRODUCTS: usize = 1 << 24;
/// Columns that are transposed at a time.
const BLOCK_COLUMNS: usize = 64;

/// Landmarks by columns, for products with sparse rows.
#[derive(Clone, Debug)]
pub struct SparseKernel {
    /// Landmarks (d, k), column by column.
    by_column: Vec<f32>,
    /// Subtracted from rows and landmarks (d); empty for none.
    center: Vec<f64>,
    /// |c|².
    center_norm: f64,
    /// |l|² + 2·c·l (k).
    constants: Vec<f64>,
    /// log₂(e)/(2σ²), cut at the largest f32.
    rate: f64,
}

impl SparseKernel {
    /// Landmarks (k, d) less the center (d, or empty for none), and the width σ.
    pub(super) fn new(landmarks: &[f32], n_features: usize, center: &[f64], width: f64) -> Self {
        let d = n_features.max(1);
        let k = landmarks.len() / d;
        let mut by_column = vec![0.0; landmarks.len()];
        for start in (0..d).step_by(BLOCK_COLUMNS) {
            let columns = start..d.min(start + BLOCK_COLUMNS);
            for (l, landmark) in landmarks.chunks_exact(d).enumerate() {
                let out = by_column[start * k + l..].iter_mut().step_by(k);
                out.zip(&landmark[columns.clone()]).for_each(|(out, x)| *out = *x);
            }
        }
        let constant = |l: &[f32]| {
            let product = |center: &[f64]| center.iter().zip(l).map(|(c, l)| c * f64::from(*l)).sum::<f64>();
            l.iter().map(|l| f64::from(*l) * f64::from(*l)).sum::<f64>() + 2.0 * product(center)
        };
        let constants = landmarks.chunks_exact(d).map(constant).collect();
        let rate = std::f64::consts::LOG2_E / (2.0 * width * width);
        let center_norm = center.iter().map(|c| c * c).sum();
        Self { by_column, center: center.to_vec(), center_norm, constants, rate: rate.min(f64::from(f32::MAX)) }
    }

    /// Number of landmarks k.
    pub(super) fn n_landmarks(&self) -> usize {
        self.constants.len()
    }

    /// As [`RowKernel::exponents`](super::RowKernel::exponents), of up to 64 rows of a matrix.
    pub(super) fn exponents(
        &self,
        matrix: &Csr<f32>,
        rows: Range<usize>,
        products: &mut Vec<f64>,
        out: &mut [f32],
        run: &Run,
    ) -> Result<Option<usize>> {
        let (k, mut unchecked, mut bad) = (self.n_landmarks(), 0, None);
        assert!(rows.len() <= STRIP && out.len() == k * STRIP);
        products.resize(k, 0.0);
        for (at, row) in rows.enumerate() {
            let (columns, values) = matrix.row(row);
            unchecked += columns.len() * k;
            if unchecked > CHECK_PRODUCTS {
                run.check()?;
                unchecked = 0;
            }
            let mut norm = self.center_norm;
            for (column, x) in columns.iter().zip(values) {
                let center = self.center.get(*column as usize).copied().unwrap_or(0.0);
                norm += f64::from(*x) * (f64::from(*x) - 2.0 * center);
            }
            if !(norm as f32).is_finite() {
                bad = bad.or(Some(at));
            }
            multiply(columns, values, &self.by_column, products);
            exponents_of(products, norm, &self.constants, self.rate, &mut out[at..]);
        }
        Ok(bad)
    }
}

dispatch! {
    /// Products of a row with the landmarks (d, k): `products` (k).
    fn multiply(columns: &[u32], values: &[f32], by_column: &[f32], products: &mut [f64]) = multiply_plain
}

#[inline(always)]
fn multiply_plain(columns: &[u32], values: &[f32], by_column: &[f32], products: &mut [f64]) {
    let k = products.len();
    products.fill(0.0);
    let of = |column: u32| &by_column[column as usize * k..][..k];
    let (columns, last_columns) = columns.as_chunks::<4>();
    let (values, last_values) = values.as_chunks::<4>();
    for (columns, values) in columns.iter().zip(values) {
        let ([a, b, c, d], x) = (columns.map(of), values.map(f64::from));
        for (l, product) in products.iter_mut().enumerate() {
            let sum = *product + x[0] * f64::from(a[l]) + x[1] * f64::from(b[l]);
            *product = sum + x[2] * f64::from(c[l]) + x[3] * f64::from(d[l]);
        }
    }
    for (column, x) in last_columns.iter().zip(last_values) {
        let x = f64::from(*x);
        products.iter_mut().zip(of(*column)).for_each(|(product, l)| *product += x * f64::from(*l));
    }
}

/// Exponents of one row to every 64th place of `out`.
fn exponents_of(products: &[f64], norm: f64, constants: &[f64], rate: f64, out: &mut [f32]) {
    for ((product, constant), out) in products.iter().zip(constants).zip(out.iter_mut().step_by(STRIP)) {
        let squared = (norm + constant - 2.0 * product).max(0.0);
        *out = -(squared * rate).min(f64::from(f32::MAX)) as f32;
    }
}
