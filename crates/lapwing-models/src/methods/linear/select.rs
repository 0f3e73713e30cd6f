//! Chooses ρ by cross-validation on the labeled rows.
//!
//! Five folds, each with its share of every class, are held out in turn, and the log-losses of their rows are compared. From the
//! default, ρ is multiplied by ten as long as the mean loss falls, then divided. The default stays unless another value is better
//! by more than a standard error of the difference.
//!
//! All values and folds share one [`Design`](super::rows::Design); each fit starts from the weights of the value before.

use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, Run, Targets};

use super::fit::{Limits, Rows};
use crate::core::held_out::choosing::{Trial, choose};
use crate::core::held_out::folds::Fold;
use crate::maps::{Loss, NodeLoss};

/// Values of ρ, and the default among them.
pub(super) const CANDIDATES: [f64; 5] = [1e-4, 1e-3, 1e-2, 1e-1, 1.0];
pub(super) const DEFAULT: usize = 2;
/// When the fits of a comparison stop: what comes later changes few scores.
const TRIAL: Limits = Limits { tol: 5e-2, max_iter: 30 };
/// Standard errors by which a ρ must be better than the default.
const ERRORS: f64 = 1.0;

/// Rows that are held out in turn, by their folds (l).
pub(super) struct Folds<'f> {
    pub rows: &'f Rows,
    pub targets: &'f Targets,
    pub folds: &'f [usize],
}

/// The fits of all folds with one ρ.
pub(super) type Ridge = Trial<f64, Fits>;

pub(super) struct Fits {
    /// Scores (l, c) of each row while it is held out, NaN for others.
    pub scores: Matrix,
    /// Weights of each fold.
    weights: Vec<Matrix>,
}

impl Folds<'_> {
    /// Compares values of ρ; returns all trials, the chosen one first.
    pub fn compare(&self, run: &Run) -> Result<Vec<Ridge>> {
        let mut trials = vec![self.trial(CANDIDATES[DEFAULT], None, run)?];
        for upward in [true, false] {
            let next = |at: usize| if upward { Some(at + 1) } else { at.checked_sub(1) };
            let (mut at, mut last) = (DEFAULT, 0);
            while let Some(&ridge) = next(at).and_then(|at| CANDIDATES.get(at)) {
                run.share(trials.len() as f64 / CANDIDATES.len() as f64, &format!("l2_reg {ridge}"));
                trials.push(self.trial(ridge, Some(&trials[last]), run)?);
                let is_better = trials[trials.len() - 1].loss() < trials[last].loss();
                (at, last) = (next(at).unwrap_or(at), trials.len() - 1);
                if !is_better {
                    break;
                }
            }
        }
        let chosen = choose(&trials, ERRORS);
        trials.swap(0, chosen);
        Ok(trials)
    }

    /// The fits of all folds, each from the weights of `start`.
    pub fn trial(&self, ridge: f64, start: Option<&Ridge>, run: &Run) -> Result<Ridge> {
        let quiet = run.quiet();
        let folds: Vec<Fold<'_>> = Fold::all(self.folds).collect();
        let fit = |(at, fold): (usize, &Fold<'_>)| {
            let rows = self.rows.subset(|row| fold.is_kept(row))?;
            let start = start.map(|trial| trial.found.weights[at].clone());
            let (weights, _) = rows.fit(&fold.kept(self.targets)?, ridge, TRIAL, start, &quiet)?;
            let scores = self.rows.subset(|row| !fold.is_kept(row))?.scores(&weights, &quiet)?;
            Ok((weights, scores))
        };
        let fitted: Vec<(Matrix, Matrix)> =
            run.install(|| folds.par_iter().enumerate().map(fit).collect::<Result<_>>())?;
        let mut scores = Matrix::filled(self.rows.len(), self.targets.n_columns(), f64::NAN);
        let (mut losses, mut weights) = (Vec::new(), Vec::new());
        for (fold, (own, found)) in folds.iter().zip(fitted) {
            losses.extend(Loss::new(NodeLoss::CrossEntropy, &fold.own(self.targets)?).of_nodes(&found));
            fold.put(&found, &mut scores);
            weights.push(own);
        }
        Ok(Trial { candidate: ridge, losses, found: Fits { scores, weights } })
    }
}
