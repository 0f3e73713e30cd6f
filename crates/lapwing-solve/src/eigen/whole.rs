//! Small graphs, for which the basis is the whole space; and the last step of all that use L⁺.

use lapwing_core::{Matrix, Result, SolveSummary};

use super::Search;
use super::tall::{orthonormal_in_order, select};
use crate::columns::write_columns;
use crate::dense::eigen_symmetric;
use crate::dispatch::WIDEST;

impl Search<'_> {
    /// The wanted vectors (n, wanted), from the eigenvectors of the dense L⁺.
    pub(super) fn whole_space(&self, info: &mut SolveSummary) -> Result<Matrix> {
        let n = self.graph.n_samples();
        let mut inverse = Matrix::filled(n, n, 0.0);
        for first in (0..n).step_by(WIDEST) {
            self.run.check()?;
            let width = WIDEST.min(n - first);
            let mut units = Matrix::filled(n, width, 0.0);
            (0..width).for_each(|column| units.row_mut(first + column)[column] = 1.0);
            let columns = self.solve(&units)?;
            info.n_iter += 1;
            for (row, values) in columns.rows().enumerate() {
                inverse.row_mut(row)[first..first + width].copy_from_slice(values);
            }
        }
        for row in 0..n {
            for column in 0..row {
                let mean = (inverse.row(row)[column] + inverse.row(column)[row]) / 2.0;
                (inverse.row_mut(row)[column], inverse.row_mut(column)[row]) = (mean, mean);
            }
        }
        let (_, vectors) = eigen_symmetric(&inverse)?;
        drop(inverse);
        let mut found = Matrix::filled(n, self.wanted, 0.0);
        for row in 0..n {
            (0..self.wanted).for_each(|k| found.row_mut(row)[k] = vectors.row(row)[n - 1 - k]);
        }
        info.converged = true;
        self.polished(found)
    }

    /// L⁺ applied once more to vectors (n, s) by ascending eigenvalue, and made orthonormal.
    pub(super) fn polished(&self, mut found: Matrix) -> Result<Matrix> {
        self.apply_inverse(&mut found)?;
        orthonormal_in_order(found).ok_or_else(|| self.too_far_apart())
    }

    /// B ← L⁺·B, a few columns at a time.
    pub(super) fn apply_inverse(&self, b: &mut Matrix) -> Result<()> {
        let s = b.n_cols();
        let all: Vec<usize> = (0..s).collect();
        for at in all.chunks(WIDEST) {
            self.run.check()?;
            let x = self.solve(&select(b, at)?)?;
            write_columns(b.values_mut(), s, x.values(), at.len(), at);
        }
        Ok(())
    }
}
