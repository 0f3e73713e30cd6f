//! Preconditioners of the conjugate-gradient solver.

mod approx_cholesky;
mod jacobi;

pub(crate) use approx_cholesky::CLUSTER;
pub use approx_cholesky::{ApproxCholesky, ApproxCholeskyParams, Cliques};
pub use jacobi::Jacobi;

/// A symmetric positive definite approximation M of the operator, applied as Z ← M⁻¹·R.
pub trait Preconditioner: Sync {
    /// Z ← M⁻¹·R for blocks (n, s), row-major.
    fn apply(&self, r: &[f64], z: &mut [f64], s: usize);

    /// Diagonal of M⁻¹ (n), where M is diagonal: iterations then need no pass of their own for it.
    fn diagonal(&self) -> Option<&[f64]> {
        None
    }
}
