//! What a solver is asked and what it says afterwards.

use lapwing_data::{Error, Result, SolveSummary, parse_choice};

use crate::Stop;

/// Which preconditioner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PreconditionerChoice {
    /// Whichever suits the system.
    #[default]
    Auto,
    /// The diagonal.
    Jacobi,
    /// The diagonal and a coarse system on cells of the graph.
    TwoLevel,
    /// A random approximate Cholesky factor.
    ApproxCholesky,
    /// None.
    None,
}

/// How to solve.
#[derive(Clone, Debug, PartialEq)]
pub struct LaplacianParams {
    /// Preconditioner; default `Auto`.
    pub preconditioner: PreconditionerChoice,
    /// Relative residual ‖b − Ax‖ / ‖b‖ of each column, in (0, 1); default 1e-8.
    pub tol: f64,
    /// Most iterations; default 10,000.
    pub max_iter: usize,
    /// Most entries of an approximate Cholesky factor for each edge and row, above 0; default 32.
    pub max_fill: f64,
    /// Whether solutions are to be certified; default false. `Auto` then takes a factor wherever that stays small: its bounds are tighter.
    pub certify: bool,
}

impl Default for LaplacianParams {
    fn default() -> Self {
        Self { preconditioner: PreconditionerChoice::Auto, tol: 1e-8, max_iter: 10_000, max_fill: 32.0, certify: false }
    }
}

/// What solutions have to satisfy besides the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Constraint {
    /// Nothing.
    #[default]
    None,
    /// Each column adds up to zero: P·A·P·x = P·b with P = I − 11ᵀ/n.
    ZeroMean,
}

/// How a solve went.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
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
        if !(self.tol > 0.0 && self.tol < 1.0) {
            return Err(Error::param("tol", self.tol, "above 0 and below 1"));
        }
        if self.max_iter == 0 {
            return Err(Error::param("max_iter", 0, "at least 1"));
        }
        if self.max_fill.is_nan() || self.max_fill <= 0.0 {
            return Err(Error::param("max_fill", self.max_fill, "above 0"));
        }
        Ok(())
    }
}

impl PreconditionerChoice {
    const NAMES: [(&str, Self); 5] = [
        ("auto", Self::Auto),
        ("jacobi", Self::Jacobi),
        ("two-level", Self::TwoLevel),
        ("approx-cholesky", Self::ApproxCholesky),
        ("none", Self::None),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, choice)| *choice == self).map_or("auto", |(name, _)| name)
    }

    /// From its name.
    ///
    /// # Errors
    /// [`Error::Param`] listing the known names.
    pub fn parse(name: &str) -> Result<Self> {
        parse_choice("preconditioner", name, &Self::NAMES)
    }
}
