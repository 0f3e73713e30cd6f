//! What a solver is asked and what it says afterwards.

use lapwing_data::params::{Parameters, above, at_least};
use lapwing_data::{Result, SolveSummary, choices, parameters};

use crate::Stop;

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
        /// Most entries of an approximate Cholesky factor for each edge and row.
        max_fill: f64 = 32.0, in above(0.0).or_infinite();
    }
    extra {
        /// Whether solutions are to be certified; default false. `Auto` then takes a factor wherever that stays small: its bounds are
        /// tighter.
        certify: bool = false,
    }
}

/// What solutions have to satisfy besides the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Constraint {
    /// Nothing.
    #[default]
    None,
    /// Each column adds up to zero: P·A·P·x = P·b with P = I − 11ᵀ/n.
    ZeroMean,
}

/// How a solve went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaplacianInfo {
    /// Iterations of each column (s), of all attempts together.
    pub iterations: Vec<usize>,
    /// Relative residual of each column (s), recomputed from the solution and the right-hand side as far as it is in the range.
    pub residuals: Vec<f64>,
    /// Whether every column reached the tolerance, by its residual and by the estimate of its largest error.
    pub converged: bool,
    /// Why the last attempt ended.
    pub reason: Stop,
    /// Largest relative residual among the columns still iterating, after each iteration.
    pub curve: Vec<f64>,
    /// Share ‖b − Pb‖ / ‖b‖ of each column (s) that no solution can reach: constants on singular components.
    pub discarded: Vec<f64>,
    /// Preconditioners in the order they were used: `jacobi`, `two-level`, `approx-cholesky`, `approx-cholesky-2`, `-4`, `cholesky`, `none`.
    pub preconditioners: Vec<&'static str>,
    /// Wall seconds of this solve, factors that had to be built included.
    pub seconds: f64,
}

impl LaplacianInfo {
    /// The part of it that goes into a report.
    pub fn summary(&self) -> SolveSummary {
        let residual = self.residuals.iter().fold(0.0, |most, &r| if r.is_nan() || r > most { r } else { most });
        SolveSummary {
            n_iter: self.iterations.iter().copied().max().unwrap_or(0),
            residual,
            converged: self.converged,
            residual_curve: self.curve.clone(),
            preconditioner: self.preconditioners.last().copied().unwrap_or_default().into(),
        }
    }
}

impl LaplacianParams {
    pub(super) fn validate(&self) -> Result<()> {
        self.check_ranges()
    }
}
