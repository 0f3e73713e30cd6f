//! Parameters of a solver.

use lapwing_data::{Error, Result, parse_choice};

/// Which preconditioner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Whether solutions add up to zero, P·A·P·x = P·b with P = I − 11ᵀ/n; default false.
    pub zero_mean: bool,
}

impl Default for LaplacianParams {
    fn default() -> Self {
        Self {
            preconditioner: PreconditionerChoice::Auto,
            tol: 1e-8,
            max_iter: 10_000,
            max_fill: 32.0,
            zero_mean: false,
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
