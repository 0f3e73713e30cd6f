//! Cholesky factor of a large dense matrix: A = L·Lᵀ, in panels of columns ([`crate::panels`]).
//!
//! faer factors each panel and multiplies. Cost: ⅓·n³ flops, in place; parallel over pieces of 256 columns.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltError, cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Accum, MatMut, MatRef, Par};
use lapwing_core::{Error, Result, Run};

use crate::panels::{self, Factorization, Panel};

/// A factored matrix.
#[derive(Clone, Debug)]
pub struct Cholesky {
    n: usize,
    /// L, column after column; the input above the diagonal.
    values: Vec<f64>,
}

struct Definite;

impl Factorization for Definite {
    fn factor(&mut self, Panel { n, first, width }: Panel, values: &mut [f64]) -> Result<()> {
        let matrix = MatMut::from_column_major_slice_mut(values, n, width).subrows_mut(first, n - first);
        let (mut top, bottom) = matrix.split_at_row_mut(width);
        let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(width, Par::Seq, Default::default()));
        let stack = MemStack::new(&mut memory);
        cholesky_in_place(top.as_mut(), Default::default(), Par::Seq, stack, Default::default())
            .map_err(|LltError::NonPositivePivot { index }| indefinite(first + index))?;
        // A₂₁ ← A₂₁·L₁₁^(−T), the transpose of L₁₁⁻¹·A₂₁ᵀ.
        solve_lower_triangular_in_place(top.as_ref(), bottom.transpose_mut(), Par::Seq);
        Ok(())
    }

    fn update_after(&self, Panel { n, first, width }: Panel, values: &[f64], columns: &mut [f64], at: usize) {
        let below = n - first - width;
        let lower = MatRef::from_column_major_slice(values, n, width).submatrix(first + width, 0, below, width);
        let n_columns = columns.len() / n;
        let out = MatMut::from_column_major_slice_mut(columns, n, n_columns);
        let out = out.subrows_mut(first + width + at, below - at);
        let (left, right) = (lower.subrows(at, below - at), lower.subrows(at, n_columns));
        matmul(out, Accum::Add, left, right.transpose(), -1.0, Par::Seq);
    }
}

impl Cholesky {
    /// Factors a symmetric A (n, n) from its lower triangle, column after column.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`]; [`Error::Interrupted`].
    pub fn factor(n: usize, mut values: Vec<f64>, run: &Run) -> Result<Self> {
        panels::factor(&mut Definite, n, &mut values, run, |_| ())?;
        // Rounding may turn the zero pivots of a singular matrix positive.
        match (0..n).find(|&at| !(values[at * n + at] > 0.0 && values[at * n + at].is_finite())) {
            None => Ok(Self { n, values }),
            Some(column) => Err(indefinite(column)),
        }
    }

    /// X ← A⁻¹·B for vectors one after the other (s, n); O(n²·s).
    pub fn solve(&self, b: &mut [f64]) {
        let columns = b.len() / self.n.max(1);
        let factor = MatRef::from_column_major_slice(&self.values, self.n, self.n);
        let mut x = MatMut::from_column_major_slice_mut(b, self.n, columns);
        solve_lower_triangular_in_place(factor, x.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(factor.transpose(), x, Par::Seq);
    }
}

/// The error for a matrix whose factorization ends at `column`.
pub(crate) fn indefinite(column: usize) -> Error {
    Error::not_positive_definite("the matrix", Some(column), "add to its diagonal, as by a larger ridge")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panels::PANEL;

    #[test]
    fn solutions_solve_the_system_for_any_number_of_threads() {
        for n in [1, 7, 256, 300, 613] {
            let entry = |i: usize, j: usize| {
                let (i, j) = (i.min(j), i.max(j));
                ((i * 31 + j * 17 + i * j) % 101) as f64 / 50.0 - 1.0 + if i == j { 2.0 * n as f64 } else { 0.0 }
            };
            let values: Vec<f64> = (0..n * n).map(|at| entry(at % n, at / n)).collect();
            let x: Vec<f64> = (0..3 * n).map(|i| ((i * 7) % 13) as f64 - 6.0).collect();
            let b: Vec<f64> = (0..3 * n).map(|at| (0..n).map(|j| entry(at % n, j) * x[at / n * n + j]).sum()).collect();
            let mut first: Option<Vec<f64>> = None;
            for threads in [1, 2, 7] {
                let run = Run::new(Some(threads), 0).unwrap();
                let factor = Cholesky::factor(n, values.clone(), &run).unwrap();
                let mut found = b.clone();
                factor.solve(&mut found);
                let worst = found.iter().zip(&x).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(worst < 1e-9, "{n}: {worst}");
                assert!(first.get_or_insert_with(|| found.clone()) == &found);
            }
        }
    }

    #[test]
    fn matrices_without_a_factor_and_stops_are_errors() {
        let run = Run::new(Some(1), 0).unwrap();
        let error = Cholesky::factor(2, vec![1.0, 1.0, 1.0, 1.0], &run).unwrap_err();
        assert!(matches!(error, Error::NotPositiveDefinite { pivot: Some(1), .. }), "{error}");
        // Columns count from the first of the matrix, not of the panel.
        let n = PANEL + 40;
        let mut values = vec![0.0; n * n];
        (0..n).for_each(|at| values[at * n + at] = if at == PANEL + 3 { -1.0 } else { 1.0 });
        let error = Cholesky::factor(n, values, &run).unwrap_err();
        assert!(matches!(error, Error::NotPositiveDefinite { pivot, .. } if pivot == Some(PANEL + 3)), "{error}");
        assert!(Cholesky::factor(2, vec![1.0; 3], &run).is_err());
        let stop = lapwing_core::CancelToken::default();
        stop.cancel();
        assert!(matches!(Cholesky::factor(1, vec![1.0], &run.with_cancel(stop)), Err(Error::Interrupted)));
    }
}
