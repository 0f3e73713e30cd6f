//! Preconditioners of the conjugate-gradient solver.
//!
//! From the cheapest to the strongest: [`Jacobi`] is the diagonal, [`TwoLevel`] adds a coarse system on cells of the graph,
//! [`ApproxCholesky`] is a random sparse factor.

mod approx_cholesky;
mod jacobi;
mod two_level;

use lapwing_data::{Result, Run};

pub(crate) use approx_cholesky::CLUSTER;
pub use approx_cholesky::{ApproxCholesky, ApproxCholeskyParams, Cliques};
pub use jacobi::Jacobi;
pub use two_level::TwoLevel;
pub(crate) use two_level::{Coarse, CoarseCells};

use crate::pages::Real;

/// A symmetric positive definite approximation M of an operator, applied as Z ← M⁻¹·R.
pub trait Preconditioner<R: Real = f64>: Sync {
    /// Z ← M⁻¹·R for blocks (n, s), row-major.
    ///
    /// # Errors
    /// [`lapwing_data::Error::Interrupted`], and those of a preconditioner that solves a system of its own.
    fn apply(&self, r: &[R], z: &mut [R], s: usize, run: &Run) -> Result<()>;
}

/// M⁻¹ as an iteration applies it.
#[derive(Clone, Copy)]
pub enum Inverse<'a, R: Real = f64> {
    /// Within the steps of the iteration, without a pass of its own.
    Fused(TwoLevel<'a>),
    /// In a pass of its own.
    Applied(&'a dyn Preconditioner<R>),
}

/// A preconditioner M that bounds errors, see [`crate::laplacian`].
pub(crate) trait Bounded: Preconditioner {
    /// vᵢ ≥ (M⁻¹)ᵢᵢ for each row (n).
    fn variances(&self) -> Vec<f64>;

    /// Turns independent normal numbers of variance 1 (n, m) into columns of N(0, K) with K ⪰ M.
    fn color(&self, noise: &mut [f64], m: usize);

    /// M⁻¹ for an iteration.
    fn inverse(&self) -> Inverse<'_>;
}

impl<R: Real> Inverse<'_, R> {
    pub(crate) fn apply(&self, r: &[R], z: &mut [R], s: usize, run: &Run) -> Result<()> {
        match self {
            Self::Fused(levels) => run.install(|| levels.product(r, z, s)),
            Self::Applied(preconditioner) => preconditioner.apply(r, z, s, run)?,
        }
        Ok(())
    }
}

impl<'a, R: Real> From<&'a Jacobi> for Inverse<'a, R> {
    fn from(jacobi: &'a Jacobi) -> Self {
        Self::Fused(TwoLevel { diagonal: jacobi.values(), coarse: None })
    }
}
