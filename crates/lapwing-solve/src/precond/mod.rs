//! Preconditioners of the conjugate-gradient solver.
//!
//! [`Jacobi`] is the diagonal, [`Coarse`] what cells of the graph add to it, [`ApproxCholesky`] a random sparse factor: from
//! the cheapest to the strongest.

mod approx_cholesky;
mod jacobi;
mod two_level;

pub(crate) use approx_cholesky::CLUSTER;
pub use approx_cholesky::{ApproxCholesky, ApproxCholeskyParams, Cliques};
pub use jacobi::Jacobi;
pub use two_level::Coarse;
pub(crate) use two_level::{Cells, TwoLevel};

/// A symmetric positive definite approximation M of the operator, applied as Z ← M⁻¹·R.
pub trait Preconditioner: Sync {
    /// Z ← M⁻¹·R for blocks (n, s), row-major.
    fn apply(&self, r: &[f64], z: &mut [f64], s: usize);

    /// Diagonal of M⁻¹ (n), where that and [`Preconditioner::coarse`] are all of it: iterations then need no pass of their own
    /// for it.
    fn diagonal(&self) -> Option<&[f64]> {
        None
    }

    /// What M⁻¹ has besides a diagonal.
    fn coarse(&self) -> Option<&Coarse> {
        None
    }
}

/// A preconditioner M that is known well enough to bound errors by it, see [`crate::laplacian`].
pub(crate) trait Bounded: Preconditioner {
    /// vᵢ ≥ (M⁻¹)ᵢᵢ for each row (n).
    fn variances(&self) -> Vec<f64>;

    /// Turns independent normal numbers of variance 1 (n, m) into columns of N(0, K) with K ⪰ M.
    fn color(&self, noise: &mut [f64], m: usize);
}

impl<P: Preconditioner + ?Sized> Preconditioner for &P {
    fn apply(&self, r: &[f64], z: &mut [f64], s: usize) {
        (**self).apply(r, z, s);
    }

    fn diagonal(&self) -> Option<&[f64]> {
        (**self).diagonal()
    }

    fn coarse(&self) -> Option<&Coarse> {
        (**self).coarse()
    }
}

impl<P: Bounded + ?Sized> Bounded for &P {
    fn variances(&self) -> Vec<f64> {
        (**self).variances()
    }

    fn color(&self, noise: &mut [f64], m: usize) {
        (**self).color(noise, m);
    }
}
