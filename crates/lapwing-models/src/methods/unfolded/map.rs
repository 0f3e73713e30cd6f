//! The map from weights to scores of the labeled nodes and its transpose by products with the graph: Z = E·H⁻¹X·W, ∇ = XᵀH⁻¹Eᵀ·R.

use lapwing_core::{Matrix, Result, Run};
use lapwing_solve::Propagator;

use crate::core::scores::rows_at;
use crate::maps::{Accuracy, Inputs, Map};

/// The map by products with the graph: two solves of c columns for each gradient.
pub(super) struct OnGraph<'m> {
    pub inputs: &'m Inputs<'m, 'm>,
    pub propagator: &'m Propagator,
    /// Labeled nodes, ascending (l).
    pub labeled: &'m [u32],
    /// Residual of solves for products of [`Accuracy::Whole`].
    pub tol: f64,
    pub run: &'m Run,
}

/// Least residual of the solves for steps.
const STEP_TOL: f64 = 1e-6;

impl OnGraph<'_> {
    /// E·H⁻¹·F.
    pub fn propagated(&self, f: &Matrix, tol: f64) -> Result<Matrix> {
        let all = self.propagator.solve(f, tol, self.run)?;
        Ok(rows_at(&all, self.labeled.iter().map(|&row| row as usize)))
    }

    /// H⁻¹·Eᵀ·R.
    pub fn spread_back(&self, residual: &Matrix, tol: f64) -> Result<Matrix> {
        let mut all = Matrix::filled(self.inputs.n(), residual.n_cols(), 0.0);
        let rows = self.labeled.iter().zip(residual.rows());
        rows.for_each(|(&row, residual)| all.row_mut(row as usize).copy_from_slice(residual));
        self.propagator.solve(&all, tol, self.run)
    }

    fn tol(&self, accuracy: Accuracy) -> f64 {
        match accuracy {
            // Errors are at most residuals times the condition number.
            Accuracy::Step(error) => self.tol.max(STEP_TOL).max(error / self.propagator.condition()),
            Accuracy::Whole => self.tol,
        }
    }
}

impl Map for OnGraph<'_> {
    fn width(&self) -> usize {
        self.inputs.width()
    }

    fn forward(&self, weights: &Matrix, accuracy: Accuracy) -> Result<Matrix> {
        self.propagated(&self.inputs.times(weights, self.run)?, self.tol(accuracy))
    }

    fn adjoint(&self, residual: &Matrix, accuracy: Accuracy) -> Result<Matrix> {
        let smooth = self.spread_back(residual, self.tol(accuracy))?;
        self.inputs.transposed_times(smooth.values(), residual.n_cols(), self.run)
    }
}
