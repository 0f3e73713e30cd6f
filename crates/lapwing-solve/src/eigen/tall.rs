//! Products of tall blocks: many rows, row-major, of few columns each. faer multiplies blocks of a fixed number of rows, in
//! parallel on the current pool; sums are taken block by block in row order, so that results do not depend on threads.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use lapwing_core::ordered::sum_over_rows;
use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result};

use crate::columns::columns;

/// Rows of one unit of work.
const ROWS: usize = 4096;
/// Vectors are dependent if less than this share of the square of one is left.
const LEAST_SQUARE: f64 = 1e-12;

/// The first `width` columns of a block with `stride` values a row.
#[derive(Clone, Copy)]
pub(super) struct Tall<'a> {
    pub values: &'a [f64],
    pub stride: usize,
    pub width: usize,
}

impl<'a> From<&'a Matrix> for Tall<'a> {
    fn from(block: &'a Matrix) -> Self {
        Self { values: block.values(), stride: block.n_cols(), width: block.n_cols() }
    }
}

impl<'a> Tall<'a> {
    fn n(&self) -> usize {
        self.values.len().checked_div(self.stride).unwrap_or(0)
    }

    fn rows(&self, first: usize, count: usize) -> MatRef<'a, f64> {
        let values = &self.values[first * self.stride..(first + count) * self.stride];
        MatRef::from_row_major_slice_with_stride(values, count, self.width, self.stride)
    }

    /// AᵀB (width of A, width of B).
    pub fn dots(self, b: Self) -> Matrix {
        let (m, s) = (self.width, b.width);
        let mut out = Matrix::filled(m, s, 0.0);
        if m * s > 0 {
            let sums = sum_over_rows(self.n(), ROWS, m * s, |rows, sums| {
                let (a, b) = (self.rows(rows.start, rows.len()), b.rows(rows.start, rows.len()));
                matmul(MatMut::from_row_major_slice_mut(sums, m, s), Accum::Add, a.transpose(), b, 1.0, Par::Seq);
            });
            out.values_mut().copy_from_slice(&sums);
        }
        out
    }

    /// A·C (n, s) of C (width, s).
    pub fn times(self, c: &Matrix) -> Matrix {
        let mut out = Matrix::filled(self.n(), c.n_cols(), 0.0);
        self.add_product(c, &mut out);
        out
    }

    /// OUT (n, s) ← OUT + A·C of C (width, s).
    pub fn add_product(self, c: &Matrix, out: &mut Matrix) {
        let (m, s) = (c.n_rows(), c.n_cols());
        if m * s == 0 {
            return;
        }
        let c = MatRef::from_row_major_slice(c.values(), m, s);
        out.values_mut().par_chunks_mut(ROWS * s).enumerate().for_each(|(block, out)| {
            let count = out.len() / s;
            let out = MatMut::from_row_major_slice_mut(out, count, s);
            matmul(out, Accum::Add, self.rows(block * ROWS, count), c, 1.0, Par::Seq);
        });
    }
}

/// The first columns of a block of `stride` columns ← its first m columns times C (m, s), s ≤ stride.
pub(super) fn rotate(values: &mut [f64], stride: usize, c: &Matrix) {
    let (m, s) = (c.n_rows(), c.n_cols());
    if m * s == 0 {
        return;
    }
    let c = MatRef::from_row_major_slice(c.values(), m, s);
    values.par_chunks_mut(ROWS * stride).for_each(|rows| {
        let count = rows.len() / stride;
        let mut out = vec![0.0; count * s];
        let from = MatRef::from_row_major_slice_with_stride(rows, count, m, stride);
        matmul(MatMut::from_row_major_slice_mut(&mut out, count, s), Accum::Replace, from, c, 1.0, Par::Seq);
        rows.chunks_exact_mut(stride).zip(out.chunks_exact(s)).for_each(|(row, out)| row[..s].copy_from_slice(out));
    });
}

/// Columns `at..at + s` of a block of `stride` columns ← B (n, s).
pub(super) fn write(values: &mut [f64], stride: usize, at: usize, b: &Matrix) {
    let s = b.n_cols();
    if s > 0 {
        let rows = values.par_chunks_mut(stride).zip(b.values().par_chunks(s)).with_min_len(ROWS);
        rows.for_each(|(row, b)| row[at..at + s].copy_from_slice(b));
    }
}

/// The columns `at`, ascending.
pub(super) fn select(block: &Matrix, at: &[usize]) -> Result<Matrix> {
    Matrix::new(block.n_rows(), at.len(), columns(block.values(), block.n_cols(), at))
}

/// Orthonormal columns, each a combination of its own and earlier ones, for vectors that are nearly orthogonal: Cholesky QR, twice.
/// None if the vectors are dependent. Vectors with small eigenvalues come first, so that they take no part of those with large ones.
pub(super) fn orthonormal_in_order(mut w: Matrix) -> Option<Matrix> {
    for _ in 0..2 {
        let gram = Tall::from(&w).dots(Tall::from(&w));
        w = Tall::from(&w).times(&inverse_factor(&gram)?);
    }
    Some(w)
}

/// Upper triangular T with Tᵀ·G·T = I (s, s); none if a column depends on earlier ones.
fn inverse_factor(gram: &Matrix) -> Option<Matrix> {
    let s = gram.n_rows();
    let mut columns: Vec<Vec<f64>> = Vec::with_capacity(s);
    for k in 0..s {
        let mut own = vec![0.0; k + 1];
        own[k] = 1.0;
        let mut square = gram.row(k)[k];
        for column in &columns {
            let share: f64 = column.iter().zip(gram.row(k)).map(|(t, g)| t * g).sum();
            own.iter_mut().zip(column).for_each(|(own, t)| *own -= share * t);
            square -= share * share;
        }
        if square.is_nan() || square <= LEAST_SQUARE * gram.row(k)[k] {
            return None;
        }
        let scale = square.sqrt().recip();
        own.iter_mut().for_each(|t| *t *= scale);
        columns.push(own);
    }
    let mut out = Matrix::filled(s, s, 0.0);
    for (k, column) in columns.iter().enumerate() {
        column.iter().enumerate().for_each(|(row, t)| out.row_mut(row)[k] = *t);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(n: usize, s: usize, step: usize) -> Matrix {
        Matrix::new(n, s, (0..n * s).map(|at| ((at * step) % 11) as f64 - 5.0).collect()).unwrap()
    }

    #[test]
    fn products_are_sums_of_products() {
        let n = 2 * ROWS + 3;
        let (a, b, c) = (block(n, 5, 7), block(n, 3, 3), block(4, 2, 5));
        let four = Tall { width: 4, ..Tall::from(&a) };
        let dots = four.dots(Tall::from(&b));
        for (i, j) in [(0, 0), (3, 2), (1, 2)] {
            // Small integers: every order of summation is exact.
            assert_eq!(dots.row(i)[j], a.rows().zip(b.rows()).map(|(a, b)| a[i] * b[j]).sum::<f64>());
        }
        let product = |row: usize, j: usize| (0..4).map(|k| a.row(row)[k] * c.row(k)[j]).sum::<f64>();
        let mut rotated = a.clone();
        rotate(rotated.values_mut(), 5, &c);
        let found = four.times(&c);
        for row in 0..n {
            assert_eq!(*found.row(row), [product(row, 0), product(row, 1)]);
            assert_eq!(rotated.row(row)[..2], *found.row(row));
            assert_eq!(rotated.row(row)[2..], a.row(row)[2..]);
        }
        write(rotated.values_mut(), 5, 2, &b);
        assert!(rotated.rows().zip(b.rows()).all(|(row, b)| row[2..] == *b));
        assert_eq!(select(&a, &[1, 4]).unwrap().row(9), [a.row(9)[1], a.row(9)[4]]);
        let nothing = Tall { width: 0, ..four };
        assert_eq!(
            (nothing.dots(Tall::from(&b)).n_rows(), nothing.times(&block(0, 2, 1))),
            (0, Matrix::filled(n, 2, 0.0))
        );
    }
    #[test]
    fn vectors_are_made_orthonormal_in_their_order() {
        let w = block(ROWS + 7, 3, 7);
        let q = orthonormal_in_order(w.clone()).unwrap();
        let dots = Tall::from(&q).dots(Tall::from(&q));
        for i in 0..3 {
            (0..3).for_each(|j| assert!((dots.row(i)[j] - f64::from(u8::from(i == j))).abs() < 1e-12));
        }
        let ratio = q.row(1)[0] / w.row(1)[0];
        assert!(q.rows().zip(w.rows()).all(|(q, w)| (q[0] - ratio * w[0]).abs() < 1e-15));
        let twins = Matrix::new(4, 2, vec![1.0, 1.0, 2.0, 2.0, 0.0, 0.0, -1.0, -1.0]).unwrap();
        assert!(orthonormal_in_order(twins).is_none());
    }
}
