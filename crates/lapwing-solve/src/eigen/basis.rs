//! Orthonormal bases that grow by blocks of vectors.

use lapwing_data::Matrix;
use rayon::prelude::*;

use super::columns;
use crate::kernels::{BLOCK_ROWS, column_dots, reduce};

/// A direction is rounding error if its length is below this share of the vector it comes from.
const LEAST_SHARE: f64 = 1e-10;

/// Orthonormal vectors as the first columns of a row-major matrix.
pub(super) struct Basis {
    pub capacity: usize,
    pub used: usize,
    values: Vec<f64>,
}

impl Basis {
    pub fn new(n: usize, capacity: usize) -> Self {
        Self { capacity, used: 0, values: vec![0.0; n * capacity] }
    }

    fn n(&self) -> usize {
        self.values.len() / self.capacity
    }

    /// VᵀW (used, s).
    fn dots(&self, w: &Matrix) -> Matrix {
        let (m, s) = (self.used, w.n_cols());
        let sums = reduce(self.n(), m * s, |rows, sums| {
            for row in rows {
                let (basis, w) = (&self.values[row * self.capacity..][..m], w.row(row));
                for (sums, v) in sums.chunks_exact_mut(s).zip(basis) {
                    sums.iter_mut().zip(w).for_each(|(sum, w)| *sum += v * w);
                }
            }
        });
        let mut out = Matrix::filled(m, s, 0.0);
        out.values_mut().copy_from_slice(&sums);
        out
    }

    /// W ← W − V·(VᵀW), twice; returns VᵀW of the original W.
    pub fn orthogonalize(&self, w: &mut Matrix) -> Matrix {
        let (m, s) = (self.used, w.n_cols());
        let mut total = Matrix::filled(m, s, 0.0);
        if m == 0 || s == 0 {
            return total;
        }
        for _ in 0..2 {
            let coefficients = self.dots(w);
            w.values_mut().par_chunks_exact_mut(s).with_min_len(BLOCK_ROWS).enumerate().for_each(|(row, w)| {
                let basis = &self.values[row * self.capacity..][..m];
                for (coefficients, v) in coefficients.rows().zip(basis) {
                    w.iter_mut().zip(coefficients).for_each(|(w, c)| *w -= v * c);
                }
            });
            total.values_mut().iter_mut().zip(coefficients.values()).for_each(|(total, c)| *total += c);
        }
        total
    }

    /// An orthonormal Q (n, r), orthogonal to the basis, and R (r, s) with W = Q·R, for W orthogonal to the basis. `taken` (used,
    /// s) are the coefficients that were subtracted from W. Columns that are rounding error relative to them are left out.
    pub fn orthonormal(&self, w: &Matrix, taken: &Matrix) -> (Matrix, Matrix) {
        let (n, s) = (w.n_rows(), w.n_cols());
        let mut block = Basis::new(n, s.max(1));
        let mut r = Vec::new();
        for column in 0..s {
            let mut own = columns(w, column, 1);
            let rest = own.values().iter().map(|v| v * v).sum::<f64>();
            let before = (rest + taken.rows().map(|row| row[column].powi(2)).sum::<f64>()).sqrt();
            let mut coefficients = block.orthogonalize(&mut own).into_values();
            let norm = column_dots(own.values(), own.values(), n, 1)[0].sqrt();
            if norm > LEAST_SHARE * before && self.used + block.used < n {
                own.values_mut().iter_mut().for_each(|v| *v /= norm);
                // Of a column that was small relative to the basis, some part along the basis may remain.
                self.orthogonalize(&mut own);
                block.push(&own);
                coefficients.push(norm);
            }
            r.push(coefficients);
        }
        let mut coupling = Matrix::filled(block.used, s, 0.0);
        for (column, coefficients) in r.iter().enumerate() {
            coefficients.iter().enumerate().for_each(|(row, c)| coupling.row_mut(row)[column] = *c);
        }
        (block.block(), coupling)
    }

    pub fn push(&mut self, block: &Matrix) {
        let (used, s) = (self.used, block.n_cols());
        for (row, values) in self.values.chunks_exact_mut(self.capacity).zip(block.rows()) {
            row[used..used + s].copy_from_slice(values);
        }
        self.used += s;
    }

    /// V ← V·Y for the first `keep` columns of Y (used, ·).
    pub fn rotate(&mut self, y: &Matrix, keep: usize) {
        let (m, capacity) = (self.used, self.capacity);
        self.values.par_chunks_exact_mut(capacity).with_min_len(BLOCK_ROWS).for_each(|row| {
            let mut out = vec![0.0; keep];
            for (v, y) in row[..m].iter().zip(y.rows()) {
                out.iter_mut().zip(y).for_each(|(out, y)| *out += v * y);
            }
            row[..keep].copy_from_slice(&out);
        });
        self.used = keep;
    }

    /// The vectors (n, used).
    pub fn block(&self) -> Matrix {
        let mut out = Matrix::filled(self.n(), self.used, 0.0);
        if self.used > 0 {
            let rows = out.values_mut().chunks_exact_mut(self.used).zip(self.values.chunks_exact(self.capacity));
            rows.for_each(|(out, row)| out.copy_from_slice(&row[..self.used]));
        }
        out
    }
}
