//! Preconditioners of the conjugate-gradient solver.
//!
//! From the cheapest to the strongest: [`Jacobi`] is the diagonal, [`TwoLevel`] adds a coarse system on cells of the graph; within the
//! [`LaplacianSolver`](crate::LaplacianSolver), `ApproxCholesky` is a random sparse factor and `SparseCholesky` the complete one.

mod approx_cholesky;
mod cholesky;
mod jacobi;
mod level;
mod queue;
mod two_level;

use lapwing_core::{Result, Run};

pub(crate) use approx_cholesky::{ApproxCholesky, ApproxCholeskyParams, CLUSTER, Cliques};
pub(crate) use cholesky::{Budget, SparseCholesky};
pub use jacobi::Jacobi;
pub use level::FallbackLevel;
pub use two_level::TwoLevel;
pub(crate) use two_level::{Coarse, CoarseCells};

use crate::real::Real;

/// A symmetric positive definite approximation M of an operator, applied as Z ← M⁻¹·R.
pub trait Preconditioner<R: Real = f64>: Sync {
    /// Z ← M⁻¹·R for blocks (n, s), row-major.
    ///
    /// # Errors
    /// [`lapwing_core::Error::Interrupted`], and those of a preconditioner that solves a system of its own.
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

/// A triangular factor M = L·D·Lᵀ of a Laplacian plus a diagonal, which works in its own order of elimination: row i of a block belongs
/// to vertex `order()[i]`.
pub(crate) trait Factor: std::fmt::Debug + Send + Sync {
    /// The vertices in the order of elimination (n).
    fn order(&self) -> &[u32];

    /// Entries below the diagonal.
    fn n_entries(&self) -> usize;

    /// Bytes held.
    fn bytes(&self) -> usize;

    /// Z ← M⁺·R for blocks (n, s). In a component without ground, the vertex eliminated last is held at 0; callers project out the
    /// constants of such components.
    fn product(&self, r: &[f64], z: &mut [f64], s: usize);

    /// vᵢ ≥ (M⁻¹)ᵢᵢ for each row (n).
    fn variances(&self) -> Vec<f64>;

    /// diag(M⁻¹) (n), if it costs no more than the factor; 0 for the vertex of a component that is held at 0.
    fn inverse_diagonal(&self, _run: &Run) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }

    /// Turns independent normal numbers of variance 1 (n, m) into columns of N(0, M).
    fn color(&self, noise: &mut [f64], m: usize);
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
