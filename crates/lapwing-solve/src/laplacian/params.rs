//! Parameters of a solver.

use lapwing_core::params::{above, at_least};
use lapwing_core::{choices, parameters};

choices! {
    /// Which preconditioner.
    pub enum PreconditionerChoice("preconditioner", default Auto) {
        /// Whichever suits the system, by a few trial iterations; a solve that goes slowly changes it.
        Auto = "auto",
        /// The diagonal: enough on graphs that mix quickly.
        Jacobi = "jacobi",
        /// The diagonal and a coarse system on cells of the graph: for neighbor graphs.
        TwoLevel = "two-level",
        /// A random approximate Cholesky factor: for meshes, chains and weights over many orders of magnitude.
        ApproxCholesky = "approx-cholesky",
        /// The complete Cholesky factor: for small graphs, chains, trees and meshes. One step is then enough.
        Cholesky = "cholesky",
        /// No preconditioner.
        None = "none",
    }
}

parameters! {
    /// How to solve.
    pub struct LaplacianParams {
        /// Preconditioner of the conjugate gradients.
        preconditioner: PreconditionerChoice = PreconditionerChoice::Auto;
        /// Relative residual ‖b − Ax‖ / ‖b‖ to reach for each column.
        tol: f64 = 1e-8, in above(0.0).below(1.0);
        /// Most iterations.
        max_iter: usize = 10_000, in at_least(1.0);
        /// Most entries of a Cholesky factor for each edge and row.
        max_fill: f64 = 32.0, in above(0.0).or_infinite();
    }
    extra {
        /// Whether solutions add up to zero, P·A·P·x = P·b with P = I − 11ᵀ/n; default false.
        zero_mean: bool = false,
    }
}
