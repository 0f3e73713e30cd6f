//! Monitors a solve until every row is settled, by the bounds of [`super::certificate`] on the numbers of the recursion.
//!
//! After every step, or every few, √(rᵀM⁻¹r) of the recursion and λ of the probes bound the errors of the rows: one pass over the
//! solution, no products. The solve continues beyond the tolerance of the residual as long as the number of open rows falls.

use std::sync::OnceLock;

use lapwing_core::parallel::*;
use lapwing_core::{Result, Run, Stream};
use rand_distr::{Distribution, StandardNormal};

use super::bounds::ErrorBounds;
use super::goal::{Goal, Rounding, Sample, Scaled, count_open};
use crate::blocks::BLOCK_ROWS;
use crate::cg::{ExtraColumns, View};
use crate::precond::Bounded;
use crate::probes::Probes;

/// Checks without a newly settled row after which the open rows count as ties. If at most one row in `FEW` is open, this number is divided by
/// that of the open rows, down to `LEAST_PATIENCE`: many rows of which a check settles none are ties sooner than few.
const PATIENCE: usize = 10;
const LEAST_PATIENCE: usize = 2;
const FEW: usize = 100;
/// Most iterations: this multiple of those until the residual was within the tolerance, and at least this number.
const MOST: (usize, usize) = (3, 60);
/// Of at least so many rows, one in so many is checked first.
const MANY: usize = 1 << 16;
const SAMPLE: usize = 64;
/// Iterations between two checks if each iteration is cheap.
const EVERY: usize = 4;
/// λ below which a stronger preconditioner is worth its cost.
const LEAST_LAMBDA: f64 = 1e-3;
/// The residual of the recursion differs from that of the solution by at most this factor.
const DRIFT: f64 = 1.02;

/// Why a monitored solve ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Outcome {
    /// It has not ended.
    Running,
    /// Every row is settled.
    Settled,
    /// The number of open rows no longer falls.
    Stuck,
    /// The limit of iterations is reached.
    Spent,
    /// λ is small or unknown: the preconditioner approximates the system poorly.
    Loose,
}

pub(super) struct Monitor<'a> {
    pub goal: &'a dyn Goal,
    pub preconditioner: &'a dyn Bounded,
    /// √vᵢ of each row.
    pub deviations: &'a [f64],
    /// Exponents of two by which the columns of the caller are scaled.
    pub exponents: &'a [f64],
    pub probes: Probes,
    pub is_factor: bool,
    /// Whether a stronger preconditioner is left.
    pub may_fall_back: bool,
    /// Projects residuals of the probes onto the range of the system.
    pub project: &'a (dyn Fn(&mut [f64], usize) + Sync),
    /// What rounding of the solution adds to its error bounds, once it is known.
    pub rounding: Option<&'a OnceLock<Rounding>>,
    /// λ of the same preconditioner from an earlier run; 0 if there was none.
    pub known_lambda: f64,
    /// Number of this attempt within the solve, for fresh noise.
    pub attempt: usize,
    pub run: &'a Run,
    pub outcome: Outcome,
    /// Iterations until the residual was within the tolerance.
    pub n_iter_residual: Option<usize>,
    fewest: usize,
    since_fewest: usize,
    /// √vᵢ of a sample of the rows; empty if there are few rows.
    sampled: Vec<f64>,
    fewest_sampled: usize,
    /// Rows that were open at the last check, or an estimate from the sample.
    n_open: Option<usize>,
}

impl<'a> Monitor<'a> {
    pub fn new(
        goal: &'a dyn Goal,
        preconditioner: &'a dyn Bounded,
        deviations: &'a [f64],
        exponents: &'a [f64],
        project: &'a (dyn Fn(&mut [f64], usize) + Sync),
        is_single: bool,
        run: &'a Run,
    ) -> Self {
        Self {
            goal,
            preconditioner,
            deviations,
            exponents,
            project,
            run,
            probes: Probes::new(exponents.len(), is_single),
            is_factor: false,
            may_fall_back: false,
            rounding: None,
            known_lambda: 0.0,
            attempt: 0,
            outcome: Outcome::Running,
            n_iter_residual: None,
            fewest: usize::MAX,
            since_fewest: 0,
            sampled: if deviations.len() < MANY {
                Vec::new()
            } else {
                deviations.iter().copied().step_by(SAMPLE).collect()
            },
            fewest_sampled: usize::MAX,
            n_open: None,
        }
    }

    fn ends(&mut self, outcome: Outcome) -> bool {
        self.outcome = outcome;
        true
    }

    /// Bounds from rᵀM⁻¹r of the recursion, each column by itself.
    fn bounds(&self, view: &View<'_>, lambda: f64) -> ErrorBounds {
        let s = self.exponents.len();
        let known = self.rounding.and_then(|rounding| rounding.get().copied()).unwrap_or_default();
        let mut rounding = vec![known.energy; s];
        for (&column, square) in view.open.iter().zip(view.squares) {
            rounding[column] += DRIFT * square.max(0.0).sqrt() * (-self.exponents[column]).exp2();
        }
        ErrorBounds { lambda, gram: Vec::new(), rounding, constant: vec![known.constant; s] }
    }
}

impl ExtraColumns for Monitor<'_> {
    fn probes(&mut self) -> &mut Probes {
        &mut self.probes
    }

    fn residuals(&mut self) -> Result<Vec<f64>> {
        let m = self.probes.len();
        let mut noise = vec![0.0; self.deviations.len() * m];
        let stream = |block: usize| self.run.rng(Stream::Probes, ((self.attempt as u64) << 32) + block as u64);
        noise.par_chunks_mut(BLOCK_ROWS * m).enumerate().for_each(|(block, rows)| {
            let mut rng = stream(block);
            rows.iter_mut().for_each(|v| *v = StandardNormal.sample(&mut rng));
        });
        self.preconditioner.color(&mut noise, m);
        (self.project)(&mut noise, m);
        Ok(noise)
    }

    fn is_satisfied(&mut self, view: &View<'_>) -> bool {
        if !(view.is_solved || self.goal.is_all()) || view.iteration == 0 {
            return false;
        }
        let first = *self.n_iter_residual.get_or_insert(view.iteration);
        let spent = view.iteration - first;
        if !self.is_factor && !spent.is_multiple_of(EVERY) {
            return false;
        }
        let lambda = self.probes.bound().max(self.known_lambda);
        let most = (MOST.0 * first).max(MOST.1);
        if self.may_fall_back
            && !self.is_factor
            && self.known_lambda == 0.0
            && lambda < LEAST_LAMBDA
            && 2 * spent > first + PATIENCE
        {
            return self.ends(Outcome::Loose);
        }
        if view.iteration >= most && view.is_solved {
            return self.ends(if lambda == 0.0 { Outcome::Loose } else { Outcome::Spent });
        }
        if lambda == 0.0 {
            return false;
        }
        let (x, errors) = (Scaled::new(view.solution, self.exponents), self.bounds(view, lambda));
        if !self.sampled.is_empty() {
            // While rows of the sample become settled, there is no need to count all.
            let n_open = count_open(self.goal, &Sample { solution: &x, every: SAMPLE }, &self.sampled, &errors);
            let is_falling = n_open > 0 && n_open < self.fewest_sampled;
            self.fewest_sampled = self.fewest_sampled.min(n_open);
            self.n_open = Some(n_open * SAMPLE);
            if is_falling {
                return false;
            }
        }
        let n_open = count_open(self.goal, &x, self.deviations, &errors);
        self.n_open = Some(n_open);
        if n_open == 0 {
            return self.ends(Outcome::Settled);
        }
        self.since_fewest += 1;
        if n_open < self.fewest {
            (self.fewest, self.since_fewest) = (n_open, 0);
        }
        let is_few = n_open * FEW <= self.deviations.len();
        let patience = if is_few { PATIENCE.div_ceil(n_open).max(LEAST_PATIENCE) } else { PATIENCE };
        if self.since_fewest >= patience && view.is_solved {
            return self.ends(Outcome::Stuck);
        }
        false
    }

    fn open_rows(&self) -> Option<(usize, f64)> {
        let n_open = self.n_open?;
        let log = |count: usize| (count.max(1) as f64).ln();
        let all = log(self.deviations.len());
        let share = if all > 0.0 { 1.0 - log(n_open) / all } else { 1.0 };
        Some((n_open, share.max(0.0)))
    }
}
