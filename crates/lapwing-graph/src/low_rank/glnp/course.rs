//! The course of an iteration: the factor with its moments, and when to stop.

use lapwing_core::Run;
use lapwing_core::parallel::*;

use super::moments::Moments;

/// Iterations over which the decrease of Q is compared with the tolerance.
const WINDOW: usize = 5;

/// F with its moments.
#[derive(Clone, Debug)]
pub(super) struct Iterate {
    /// F (n, k), row-major.
    pub factor: Vec<f64>,
    pub moments: Moments,
}

impl Iterate {
    /// tF with the t that minimizes Q.
    pub fn scale(&mut self, run: &Run) {
        let t = self.moments.best_scale();
        run.install(|| self.factor.par_iter_mut().with_min_len(1 << 16).for_each(|f| *f *= t));
        self.moments.scale(t);
    }
}

/// When an iteration ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    pub squared_norm: f64,
    pub tol: f64,
    pub max_iter: usize,
}

impl Course {
    /// The trace before the first iteration. X = 0 counts as converged.
    pub fn begin(&self, at: &Iterate) -> Trace {
        let objective = vec![at.moments.objective(self.squared_norm)];
        Trace { objective, n_iter: 0, converged: self.squared_norm == 0.0 }
    }

    /// Whether the last iterations lowered Q by too little.
    pub fn has_settled(&self, objective: &[f64]) -> bool {
        let last = objective.len() - 1;
        last >= WINDOW && objective[last - WINDOW] - objective[last] <= self.tol * self.squared_norm
    }

    /// Whether the last iteration changed Q by too little.
    pub fn stands_still(&self, objective: &[f64]) -> bool {
        let last = objective.len() - 1;
        last >= 1 && (objective[last - 1] - objective[last]).abs() <= self.tol * self.squared_norm
    }
}

/// Course of an iteration so far.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    pub objective: Vec<f64>,
    pub n_iter: usize,
    pub converged: bool,
}

impl Trace {
    pub fn goes_on(&self, course: &Course) -> bool {
        !self.converged && self.n_iter < course.max_iter
    }

    pub fn record(&mut self, objective: f64, course: &Course, run: &Run) {
        self.objective.push(objective);
        self.n_iter += 1;
        run.progress().update(self.n_iter as u64, &format!("Q/|X|² {:.4}", objective / course.squared_norm));
    }
}
