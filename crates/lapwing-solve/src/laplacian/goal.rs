//! The accuracy that a caller needs of a solution, row by row.

use lapwing_core::parallel::*;

use super::bounds::ErrorBounds;
use crate::blocks::BLOCK_ROWS;
use crate::cg::Solution;

/// Counts the rows that are not settled among k rows, given their solutions (k, s) and their √vᵢ (k).
pub type CountOpen<'a> = Box<dyn Fn(&[f64], &[f64]) -> usize + Sync + 'a>;

/// The accuracy that a caller needs of a solution.
pub trait Goal: Sync {
    /// Returns the test of rows for errors within `errors`. `x` is the solution so far (n, s) and `deviations` the √vᵢ of its
    /// rows (n), both in the solver's order of rows.
    fn count_open<'a>(&'a self, x: &dyn Solution, deviations: &[f64], errors: &'a ErrorBounds) -> CountOpen<'a>;

    /// Whether the solve may end once all rows are settled, whatever the residual.
    fn is_all(&self) -> bool {
        false
    }
}

/// What rounding adds to the bounds of every column: √(ηᵀM⁻¹η), and an error that is common to all rows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounding {
    pub energy: f64,
    pub constant: f64,
}

/// Error bounds of a solution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Certificate {
    /// √vᵢ of each row (n).
    pub deviations: Vec<f64>,
    /// Factors of the deviations.
    pub errors: ErrorBounds,
    /// Takes the place of √vᵢ in a bound on |Σᵢ wᵀeᵢ|: √(1ᵀM⁻¹1) under the constraint.
    pub total_deviation: f64,
    /// Probability that λ exceeds the least eigenvalue.
    pub failure: f64,
    /// Iterations until the residual was within the tolerance.
    pub n_iter_residual: usize,
    /// Whether more iterations would settle no more rows: all are settled, or the open ones have been open for long, as ties are.
    pub is_exhausted: bool,
}

/// No accuracy: only λ is of interest.
pub(super) struct Nothing;

impl Goal for Nothing {
    fn count_open<'a>(&'a self, _: &dyn Solution, _: &[f64], _: &'a ErrorBounds) -> CountOpen<'a> {
        Box::new(|_, _| 0)
    }
}

/// Some of the rows of a solution, evenly spaced.
pub(super) struct Sample<'a> {
    pub solution: &'a dyn Solution,
    pub every: usize,
}

impl Solution for Sample<'_> {
    fn n_rows(&self) -> usize {
        self.solution.n_rows().div_ceil(self.every)
    }

    fn n_cols(&self) -> usize {
        self.solution.n_cols()
    }

    fn read(&self, row: usize, out: &mut [f64]) {
        self.solution.read(row * self.every, out);
    }
}

/// Solutions at the caller's scale.
pub(super) struct Scaled<'a> {
    solution: &'a dyn Solution,
    scales: Vec<f64>,
}

impl<'a> Scaled<'a> {
    /// The solutions whose columns were scaled by two to the power of `exponents`.
    pub fn new(solution: &'a dyn Solution, exponents: &[f64]) -> Self {
        Self { solution, scales: exponents.iter().map(|exponent| (-exponent).exp2()).collect() }
    }
}

impl Solution for Scaled<'_> {
    fn n_rows(&self) -> usize {
        self.solution.n_rows()
    }

    fn n_cols(&self) -> usize {
        self.scales.len()
    }

    fn read(&self, row: usize, out: &mut [f64]) {
        self.solution.read(row, out);
        out.iter_mut().zip(&self.scales).for_each(|(out, scale)| *out *= scale);
    }
}

/// Number of rows that are not settled.
pub(super) fn count_open(goal: &dyn Goal, x: &dyn Solution, deviations: &[f64], errors: &ErrorBounds) -> usize {
    let count = goal.count_open(x, deviations, errors);
    let s = x.n_cols();
    let blocks = deviations.par_chunks(BLOCK_ROWS).enumerate().map_init(
        || vec![0.0; BLOCK_ROWS * s],
        |rows, (block, deviations)| {
            let rows = &mut rows[..deviations.len() * s];
            rows.chunks_exact_mut(s).enumerate().for_each(|(at, row)| x.read(block * BLOCK_ROWS + at, row));
            count(rows, deviations)
        },
    );
    blocks.sum()
}
