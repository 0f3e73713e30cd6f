//! Similarities of rows to landmarks, and sums over rows: the inner loops of the low-rank methods.
//!
//! Rows are in strips of 64, transposed so that sixteen rows fill a vector. Products with landmarks, exponentials, sums over
//! landmarks and choices among them are then operations on full vectors, for any number of landmarks. Lanes are rows and are
//! mixed only in sums over rows, so that every level of processors gives the same bits. Squared distances are |x|² + |l|² −
//! 2·x·l in single precision, after a common center was subtracted from rows and landmarks.
//!
//! Sparse rows are not transposed (`sparse.rs`): each is multiplied with the landmarks by columns, in double precision.
//!
//! A strip of similarities is (k, 64), landmark by landmark; [`CHUNK_STRIPS`] of them are a chunk.

mod dense;
mod sparse;
mod strip;
mod sums;

use std::ops::Range;

use lapwing_core::{Csr, Error, Result, RowSource, Run};
use lapwing_simd::{Floats, Simd, dispatch};

use dense::{DenseKernel, Transposed};
use sparse::SparseKernel;
use strip::exp2;
pub(crate) use strip::{CHUNK_ROWS, STRIP};

pub(crate) use sums::{add_gram, add_weighted, combine, degrees, nearest, packed, packed_len, scale_by, soften};

/// Landmarks, laid out for products with rows of one kind.
#[derive(Clone, Debug)]
pub enum RowKernel {
    /// For dense rows, from which the center was subtracted.
    Dense(DenseKernel),
    /// For sparse rows as they are; the center is subtracted from products.
    Sparse(SparseKernel),
}

/// Up to 64 rows.
pub(crate) enum StripRows<'r> {
    /// Rows (rows, d) less the center.
    Dense(&'r [f32]),
    /// These rows of a matrix, not centered.
    Sparse(&'r Csr<f32>, Range<usize>),
}

/// Work space of one thread.
#[derive(Debug, Default)]
pub(crate) struct KernelSpace {
    transposed: Transposed,
    /// Products of a sparse row with the landmarks (k).
    products: Vec<f64>,
}

impl RowKernel {
    /// A kernel for the rows of `source` (n, d) less `center` (d, or empty for none): landmarks (k, d), from which the
    /// center was subtracted, and the width σ > 0 of w(x, l) = exp(−|x − l|²/(2σ²)). Copies the landmarks: 4·k·d bytes.
    pub fn new(source: &dyn RowSource, center: &[f64], landmarks: &[f32], width: f64) -> Self {
        match source.sparse() {
            Some(_) => Self::Sparse(SparseKernel::new(landmarks, source.n_cols(), center, width)),
            None => Self::Dense(DenseKernel::new(landmarks, source.n_cols(), width)),
        }
    }

    /// Number of landmarks k.
    pub fn n_landmarks(&self) -> usize {
        match self {
            Self::Dense(kernel) => kernel.n_landmarks,
            Self::Sparse(kernel) => kernel.n_landmarks(),
        }
    }

    /// The exponents −log₂(e)·D/(2σ²) ≤ 0 of up to 64 rows as a strip (k, 64), D squared distances; places behind the last row
    /// hold arbitrary values. Returns the first row with a value that is not finite, or too large.
    ///
    /// # Errors
    /// [`Error::Interrupted`]; [`Error::Internal`] for rows of the other kind.
    pub(crate) fn exponents(
        &self,
        rows: StripRows<'_>,
        space: &mut KernelSpace,
        out: &mut [f32],
        run: &Run,
    ) -> Result<Option<usize>> {
        match (self, rows) {
            (Self::Dense(kernel), StripRows::Dense(rows)) => Ok(kernel.exponents(rows, &mut space.transposed, out)),
            (Self::Sparse(kernel), StripRows::Sparse(matrix, rows)) => {
                kernel.exponents(matrix, rows, &mut space.products, out, run)
            }
            _ => Err(Error::Internal { reason: "rows of another kind than their kernel".into() }),
        }
    }

    /// Similarities w = 2ᵗ in place of exponents t.
    pub(crate) fn similarities(exponents: &mut [f32]) {
        powers(exponents);
    }
}

dispatch! {
    /// 2ᵗ in place of t.
    fn powers(values: &mut [f32]) = powers_with(simd)
}

#[inline(always)]
fn powers_with<S: Simd>(simd: S, values: &mut [f32]) {
    for values in values.as_chunks_mut().0 {
        exp2(simd, simd.load(values)).store(values);
    }
}

#[cfg(test)]
mod tests;
