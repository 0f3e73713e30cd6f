//! Chooses ρ by cross-validation on the labeled rows.
//!
//! Five folds, each with its share of every class, are held out in turn, and the log-losses of their rows are compared. From the
//! default, ρ is multiplied by ten as long as the mean loss falls, then divided. The default stays unless another value is better
//! by more than a standard error of the difference.
//!
//! All values and folds share one [`Design`](super::rows::Design); each fit starts from the weights of the value before.

use lapwing_core::{Matrix, Result, Run, Targets};
use rayon::prelude::*;

use super::fit::{Limits, Rows};
use crate::core::held_out::choose;
use crate::core::supervised::n_folds;
use crate::maps::{Loss, NodeLoss};

/// Values of ρ, and the default among them.
pub(super) const CANDIDATES: [f64; 5] = [1e-4, 1e-3, 1e-2, 1e-1, 1.0];
pub(super) const DEFAULT: usize = 2;
/// When the fits of a comparison stop: what comes later changes few scores.
const TRIAL: Limits = Limits { tol: 5e-2, max_iter: 30 };
/// Standard errors by which a ρ must be better than the default.
const ERRORS: f64 = 1.0;

/// Rows that are held out in turn.
pub(super) struct Folds<'f> {
    rows: &'f Rows,
    targets: &'f Targets,
    /// Fold of each labeled row (l); negative for rows that are never held out.
    folds: &'f [i32],
    /// The folds that are held out.
    held: Vec<i32>,
}

/// The fits of all folds with one ρ.
pub(super) struct Trial {
    pub ridge: f64,
    /// Scores (l, c) of each row while it is held out, NaN for others.
    pub scores: Matrix,
    /// Loss of each row that is held out.
    losses: Vec<f64>,
    /// Weights of each fold.
    weights: Vec<Matrix>,
}

impl Trial {
    pub fn loss(&self) -> f64 {
        self.losses.iter().sum::<f64>() / self.losses.len().max(1) as f64
    }
}

impl<'f> Folds<'f> {
    /// All folds; or as many as hold enough rows to choose by, if `few`.
    pub fn new(rows: &'f Rows, targets: &'f Targets, folds: &'f [i32], few: bool) -> Self {
        let mut held: Vec<i32> = folds.iter().copied().filter(|fold| *fold >= 0).collect();
        held.sort_unstable();
        held.dedup();
        if few {
            held.truncate(n_folds(folds.len()));
        }
        Self { rows, targets, folds, held }
    }

    /// Number of folds that are held out.
    pub fn count(&self) -> usize {
        self.held.len()
    }

    /// Compares values of ρ; returns all trials, the chosen one first.
    ///
    /// # Errors
    /// Those of the fits.
    pub fn compare(&self, run: &Run) -> Result<Vec<Trial>> {
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
        let losses: Vec<Vec<f64>> = trials.iter().map(|trial| trial.losses.clone()).collect();
        trials.swap(0, choose(&losses, ERRORS));
        Ok(trials)
    }

    /// The fits of all folds, each from the weights of `start`.
    ///
    /// # Errors
    /// Those of the fits.
    pub fn trial(&self, ridge: f64, start: Option<&Trial>, run: &Run) -> Result<Trial> {
        let quiet = run.quiet();
        let fitted: Vec<(Matrix, Matrix)> = run.install(|| {
            let folds = self.held.par_iter().enumerate();
            folds
                .map(|(at, &fold)| {
                    let kept = self.targets.subset(|row| self.folds[row] != fold)?;
                    let rows = self.rows.subset(|row| self.folds[row] != fold)?;
                    let start = start.map(|trial| trial.weights[at].clone());
                    let (weights, _) = rows.fit(&kept, ridge, TRIAL, start, &quiet)?;
                    let scores = self.rows.subset(|row| self.folds[row] == fold)?.scores(&weights, &quiet)?;
                    Ok((weights, scores))
                })
                .collect::<Result<_>>()
        })?;
        let c = self.targets.n_columns();
        let mut all = Matrix::filled(self.rows.len(), c, f64::NAN);
        let (mut losses, mut weights) = (Vec::new(), Vec::new());
        for (&fold, (own, scores)) in self.held.iter().zip(fitted) {
            let held = self.targets.subset(|row| self.folds[row] == fold)?;
            losses.extend(Loss::new(NodeLoss::CrossEntropy, &held).of_nodes(&scores));
            let rows = (0..self.folds.len()).filter(|&row| self.folds[row] == fold);
            rows.zip(scores.rows()).for_each(|(row, scores)| all.row_mut(row).copy_from_slice(scores));
            weights.push(own);
        }
        Ok(Trial { ridge, scores: all, losses, weights })
    }
}
