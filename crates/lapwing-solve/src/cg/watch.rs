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

    /// Records the residuals after a step; returns a reason to stop if there is no progress, or too little.
    pub fn judge(&mut self, relative: &[f64], params: &CgParams) -> Option<Stop> {
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
        if self.iterations < params.budget || self.recent.len() < WINDOW || worst <= params.tol {
            return None;
        }
        let rate = (first / worst).ln() / (WINDOW - 1) as f64;
        let needed = (worst / params.tol).ln() / rate;
        (rate.is_nan() || rate <= 0.0 || needed > params.budget as f64).then_some(Stop::Slow)
    }
}
