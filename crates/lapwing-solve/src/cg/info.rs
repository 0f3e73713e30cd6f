//! How a solve went.

use serde::Serialize;

use crate::precond::FallbackLevel;
use lapwing_core::SolveSummary;

/// Why a solve ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Stop {
    /// Every column reached the tolerance.
    #[default]
    Converged,
    /// The iterations ran out.
    MaxIter,
    /// No more progress.
    Stagnated,
    /// Progress, but too slow for its budget.
    Slow,
    /// The residual is what rounding the solution to f64 leaves; no solver gets below.
    Rounding,
}

impl Stop {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::MaxIter => "max-iter",
            Self::Stagnated => "stagnated",
            Self::Slow => "slow",
            Self::Rounding => "rounding",
        }
    }
}

/// How a solve went, column by column.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SolveInfo {
    /// Iterations of each column (s), of all attempts together.
    pub iterations: Vec<usize>,
    /// Relative residual of each column (s), recomputed from the solution and the projected right-hand side.
    pub residuals: Vec<f64>,
    /// Whether every column reached the tolerance, by its residual and by the estimate of its largest error.
    pub converged: bool,
    /// Why it ended.
    pub reason: Stop,
    /// Largest relative residual among the columns still iterating, after each iteration.
    pub curve: Vec<f64>,
    /// Share ‖b − Pb‖ / ‖b‖ of each column (s) that lies outside the range of the system: constants on singular components. Empty
    /// for systems other than Laplacians.
    pub discarded: Vec<f64>,
    /// Preconditioners of a Laplacian system, in the order they were used.
    pub preconditioners: Vec<FallbackLevel>,
    /// Wall seconds of this solve, including factors built during it.
    pub seconds: f64,
}

impl SolveInfo {
    /// Before the first step of `s` columns.
    pub(crate) fn new(s: usize) -> Self {
        Self { iterations: vec![0; s], residuals: vec![0.0; s], converged: true, ..Self::default() }
    }

    /// Iterations of the slowest column.
    pub fn n_iter(&self) -> usize {
        self.iterations.iter().copied().max().unwrap_or(0)
    }

    /// The summary for a report.
    pub fn summary(&self) -> SolveSummary {
        let residual = self.residuals.iter().fold(0.0, |most, &r| if r.is_nan() || r > most { r } else { most });
        SolveSummary {
            n_iter: self.n_iter(),
            residual,
            converged: self.converged,
            residual_curve: self.curve.clone(),
            preconditioner: self.preconditioners.last().map_or("", |level| level.name()).into(),
        }
    }

    /// Appends a later attempt at the same columns, and takes over why that one ended.
    pub(crate) fn extend(&mut self, attempt: Self) {
        self.iterations.iter_mut().zip(&attempt.iterations).for_each(|(all, one)| *all += one);
        self.curve.extend(attempt.curve);
        (self.residuals, self.converged, self.reason) = (attempt.residuals, attempt.converged, attempt.reason);
    }

    /// Appends further columns of the same system.
    pub(crate) fn join(&mut self, columns: Self) {
        self.iterations.extend(columns.iterations);
        self.residuals.extend(columns.residuals);
        self.discarded.extend(columns.discarded);
        if self.converged {
            self.reason = columns.reason;
        }
        self.converged &= columns.converged;
        let shared = self.curve.len().min(columns.curve.len());
        self.curve.iter_mut().zip(&columns.curve).for_each(|(all, one)| *all = all.max(*one));
        self.curve.extend(&columns.curve[shared..]);
        if columns.preconditioners.len() > self.preconditioners.len() {
            self.preconditioners = columns.preconditioners;
        }
        self.seconds += columns.seconds;
    }
}
