//! Preconditioners of the conjugate-gradient solver.

mod jacobi;

pub use jacobi::Jacobi;

/// A symmetric positive definite approximation M of the operator, applied as Z ← M⁻¹·R.
pub trait Preconditioner: Sync {
    /// Z ← M⁻¹·R for blocks (n, s), row-major.
    fn apply(&self, r: &[f64], z: &mut [f64], s: usize);
}
