//! When conjugate gradients stop (Melacci & Belkin 2011, section 4.1): labels become stable long before the gradient vanishes
//! (algorithms 2 and 3). A check costs one pass over f, and v·n multiplications for rows beyond the fit.
//!
//! [`Stopping::Sides`] is algorithm 2 as published. [`Stopping::Stability`] departs from it: labels count as stable only if the
//! objective has stopped falling too, and the classes decided by all problems together hardly change. With one of many classes
//! against the rest, nearly all rows are on one side from the first iteration on and never change it.

use lapwing_core::Run;
use lapwing_core::parallel::*;

use super::params::Stopping;

/// Share by which the objective may still fall between two checks of stable labels. On newsgroups with 5 labels of each of 20
/// classes, it fell by 40 % or more while no row changed sides any longer, and by 2 % once the accuracy was final. On digits 3
/// and 8 it fell by 0.02 % at the first check that can stop.
pub(super) const FALLING: f64 = 0.02;

/// Largest share η of unlabeled rows that may change sides or class between two checks of stable labels, the paper's.
const STABLE: f64 = 0.015;

/// Labels that only the stopping rule uses.
pub(super) struct Validation {
    pub rows: ValidationRows,
    /// Whether each row (v) is of the positive class of each problem.
    pub signs: Vec<Vec<bool>>,
}

/// Where the validation rows come from.
pub(super) enum ValidationRows {
    /// Rows of the fit whose labels were held out.
    Within(Vec<u32>),
    /// Other rows, by their similarities to the rows of the fit (v, n).
    Beyond(Vec<f64>),
}

/// A stopping rule and its inputs.
pub(super) struct Rule<'r> {
    pub kind: Stopping,
    /// Iterations between two checks.
    pub every: usize,
    /// Relative gradient at which every iteration ends.
    pub tol: f64,
    /// Rows without a label.
    pub unlabeled: &'r [u32],
    pub validation: Option<&'r Validation>,
}

/// The state of a problem between two checks.
#[derive(Default)]
pub(super) struct Memory {
    sides: Vec<bool>,
    objective: Option<f64>,
    error: Option<f64>,
}

/// The state of a problem at a check.
pub(super) struct Standing<'s> {
    /// α (n) and f (n).
    pub alpha: &'s [f64],
    pub f: &'s [f64],
    pub bias: f64,
    /// J.
    pub objective: f64,
    /// Whether the classes decided by all problems together have hardly changed since the last check.
    pub has_settled: bool,
}

impl Rule<'_> {
    /// The number θ of iterations between checks, the paper's: √n / 2.
    pub fn interval(n: usize) -> usize {
        (((n as f64).sqrt() / 2.0).round() as usize).max(1)
    }

    pub fn is_due(&self, iteration: usize) -> bool {
        self.kind != Stopping::Gradient && iteration.is_multiple_of(self.every)
    }

    /// Whether few enough unlabeled rows changed for labels to count as stable.
    pub fn is_few(&self, changed: usize) -> bool {
        (changed as f64) < STABLE * self.unlabeled.len().max(1) as f64
    }

    /// Whether problem `number` stops here.
    pub fn stops(&self, number: usize, at: &Standing<'_>, memory: &mut Memory, run: &Run) -> bool {
        match self.kind {
            Stopping::Sides => self.keeps_sides(at, memory, run),
            Stopping::Stability => self.is_stable(at, memory, run),
            Stopping::Validation => self.is_no_better(number, at, memory, run),
            // Both remember this check, whatever the other says.
            Stopping::Mixed => self.is_stable(at, memory, run) & self.is_no_better(number, at, memory, run),
            Stopping::Gradient => false,
        }
    }

    /// Whether, since the last check, almost no unlabeled row changed sides or class, and the objective hardly fell; false at the
    /// first check.
    fn is_stable(&self, at: &Standing<'_>, memory: &mut Memory, run: &Run) -> bool {
        let keeps_sides = self.keeps_sides(at, memory, run);
        let before = memory.objective.replace(at.objective).unwrap_or(f64::INFINITY);
        let falls = before - at.objective > FALLING * at.objective;
        !falls && at.has_settled && keeps_sides
    }

    /// Whether almost no unlabeled row changed sides since the last check; false at the first check.
    fn keeps_sides(&self, at: &Standing<'_>, memory: &mut Memory, run: &Run) -> bool {
        let Standing { f, bias, .. } = *at;
        let sides: Vec<bool> = run.install(|| {
            self.unlabeled.par_iter().with_min_len(4096).map(|&row| f[row as usize] + bias > 0.0).collect()
        });
        let is_first = memory.sides.is_empty() && !sides.is_empty();
        let changed = sides.iter().zip(&memory.sides).filter(|(a, b)| a != b).count();
        memory.sides = sides;
        !is_first && self.is_few(changed)
    }

    /// Whether the number of correct validation rows has not risen since the last check.
    fn is_no_better(&self, number: usize, at: &Standing<'_>, memory: &mut Memory, run: &Run) -> bool {
        let Standing { alpha, f, bias, .. } = *at;
        let Some(validation) = self.validation else { return true };
        let signs = &validation.signs[number];
        let v = signs.len().max(1) as f64;
        let wrong = match &validation.rows {
            ValidationRows::Within(rows) => {
                rows.iter().zip(signs).filter(|&(&row, sign)| (f[row as usize] + bias > 0.0) != *sign).count()
            }
            ValidationRows::Beyond(cross) => run.install(|| {
                let rows = cross.par_chunks_exact(alpha.len()).zip(signs);
                rows.filter(|(row, sign)| {
                    let value: f64 = row.iter().zip(alpha).map(|(k, a)| k * a).sum();
                    (value + bias > 0.0) != **sign
                })
                .count()
            }),
        };
        let error = wrong as f64 / v;
        // Half a row, to allow for rounding of shares.
        let stops = error > memory.error.unwrap_or(1.0) - 0.5 / v;
        memory.error = Some(error);
        stops
    }
}
