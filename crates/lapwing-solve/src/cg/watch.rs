//! Monitors whether the columns of an iteration make progress.

use std::collections::VecDeque;

use super::{CgParams, Stop};

/// Iterations over which the rate is measured.
const WINDOW: usize = 16;
/// A residual counts as a new smallest one if it is below this multiple of the last.
const PROGRESS: f64 = 0.9;

/// The residuals so far.
pub(super) struct Watch {
    /// The smallest residual of each column.
    best: Vec<f64>,
    since_best: usize,
    iterations: usize,
    /// The largest residual of all columns, over the last iterations.
    recent: VecDeque<f64>,
}

impl Watch {
    pub fn new(s: usize) -> Self {
        Self { best: vec![f64::INFINITY; s], since_best: 0, iterations: 0, recent: VecDeque::new() }
    }

    pub fn keep(&mut self, kept: &[usize]) {
        self.best = kept.iter().map(|&at| self.best[at]).collect();
    }

    /// Records the residuals after a step; returns a reason to stop if there is no progress, or too little. Columns that are not
    /// solved although their residuals are within the tolerance have large estimated errors, for which no rate is known.
    pub fn judge(&mut self, relative: &[f64], is_solved: bool, params: &CgParams) -> Option<Stop> {
        self.iterations += 1;
        self.since_best += 1;
        for (best, &now) in self.best.iter_mut().zip(relative) {
            if now < PROGRESS * *best {
                (*best, self.since_best) = (now, 0);
            }
        }
        if self.since_best > params.patience {
            return Some(Stop::Stagnated);
        }
        let worst = relative.iter().fold(0.0f64, |most, &r| most.max(r));
        self.recent.push_back(worst);
        if self.recent.len() > WINDOW {
            self.recent.pop_front();
        }
        let first = *self.recent.front()?;
        if self.iterations < params.budget || self.recent.len() < WINDOW {
            return None;
        }
        let is_over = self.iterations >= params.budget.saturating_mul(2);
        if worst <= params.tol {
            return (is_over && !is_solved).then_some(Stop::Slow);
        }
        let rate = (first / worst).ln() / (WINDOW - 1) as f64;
        let needed = (worst / params.tol).ln() / rate;
        // Residuals that rise and fall look fast again and again: twice the budget is the end.
        let left = 2.0 * params.budget as f64 - self.iterations as f64;
        (rate.is_nan() || rate <= 0.0 || needed > left.min(params.budget as f64)).then_some(Stop::Slow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residuals_that_rise_and_fall_are_slow_after_twice_the_budget() {
        let params = CgParams { tol: 1e-4, budget: 100, patience: usize::MAX, ..CgParams::default() };
        let mut watch = Watch::new(1);
        // Falls by a tenth at every step, and is back after thirty.
        let mut residual = |at: usize| watch.judge(&[0.9f64.powi((at % 30) as i32)], false, &params);
        let stopped = (1..10_000).find(|&at| residual(at).is_some());
        assert!(stopped.is_some_and(|at| (100..=200).contains(&at)), "{stopped:?}");
    }

    #[test]
    fn steady_progress_within_the_budget_goes_on() {
        let params = CgParams { tol: 1e-6, budget: 100, patience: usize::MAX, ..CgParams::default() };
        let mut watch = Watch::new(1);
        assert!((1..140).all(|at| watch.judge(&[0.9f64.powi(at)], false, &params).is_none()));
    }
    #[test]
    fn large_errors_behind_small_residuals_are_slow_after_twice_the_budget() {
        let params = CgParams { tol: 1e-4, budget: 100, patience: usize::MAX, ..CgParams::default() };
        for is_solved in [false, true] {
            let mut watch = Watch::new(1);
            let stopped = (1..1000).find(|_| watch.judge(&[1e-5], is_solved, &params).is_some());
            assert_eq!(stopped, (!is_solved).then_some(200));
        }
    }
}
