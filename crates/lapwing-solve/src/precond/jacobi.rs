//! Jacobi: M = diag(A). The cheapest preconditioner, for well-connected graphs with moderate weights.

use lapwing_core::Result;
use lapwing_core::parallel::*;

use crate::check::{check_values, is_weight};

/// The inverse diagonal of an operator.
#[derive(Clone, Debug)]
pub struct Jacobi {
    inverse: Vec<f64>,
}

impl Jacobi {
    /// The inverse of a `diagonal` (n); a zero on it (an empty row) stays zero.
    ///
    /// # Errors
    /// [`lapwing_core::Error::Value`] for an entry that is negative or not finite.
    pub fn new(diagonal: Vec<f64>) -> Result<Self> {
        let mut inverse = diagonal;
        check_values("the diagonal", &inverse, "a positive semidefinite matrix is needed", is_weight)?;
        inverse.iter_mut().for_each(|d| *d = if *d > 0.0 { 1.0 / *d } else { 1.0 });
        Ok(Self { inverse })
    }

    /// No preconditioning, for n rows.
    pub fn identity(n: usize) -> Self {
        Self { inverse: vec![1.0; n] }
    }

    /// The same with row i for `order[i]`.
    pub(crate) fn reordered(&self, order: &[u32]) -> Self {
        Self { inverse: order.par_iter().map(|&row| self.inverse[row as usize]).collect() }
    }

    /// Diagonal of M⁻¹ (n).
    pub fn values(&self) -> &[f64] {
        &self.inverse
    }
}
