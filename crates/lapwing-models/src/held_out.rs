//! Held-out rows: labeled rows whose scores did not see their own label. Candidates are chosen by their losses, confidence is fitted to
//! their class shares, and the accuracy on rows without a label is estimated from them.

use lapwing_data::{Matrix, Result, Run};
use serde::Serialize;

use crate::labeling::largest;
use crate::{HeldOutFit, Method, Problem};

/// How labels were held out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum HeldOutSource {
    /// Each label alone.
    LeaveOneOut,
    /// That many parts of the labels in turn.
    Folds(usize),
}

/// Labeled rows with class shares from scores that did not see their label.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HeldOut {
    /// Rows, ascending (q).
    pub rows: Vec<u32>,
    /// Their given classes (q).
    pub classes: Vec<u32>,
    /// Class shares (q, c): rows sum to 1. The prior where no other label reaches the row.
    pub shares: Matrix,
    /// How the labels were held out.
    pub source: HeldOutSource,
}

impl HeldOut {
    /// The class of largest share of each row (q).
    pub fn predicted(&self) -> Vec<u32> {
        self.shares.rows().map(|shares| largest(shares) as u32).collect()
    }

    /// Share of the largest class of each row (q).
    pub fn confidence(&self) -> Vec<f64> {
        self.shares.rows().map(|shares| shares[largest(shares)]).collect()
    }

    /// Whether each row gets its given class (q).
    pub fn right(&self) -> Vec<bool> {
        self.predicted().iter().zip(&self.classes).map(|(found, given)| found == given).collect()
    }
}

/// Labels held out by one fit for each fold, without its labels.
///
/// # Errors
/// Whatever a fit refuses.
pub(crate) fn refitted<'a>(
    method: &(impl Method + ?Sized),
    problem: &Problem<'_, 'a>,
    folds: &[usize],
    run: &Run,
) -> Result<HeldOutFit<'a>> {
    let targets = problem.targets;
    let mut shares = Matrix::filled(targets.rows().len(), targets.n_columns(), f64::NAN);
    for fold in 0..folds.iter().max().map_or(0, |most| most + 1) {
        run.check()?;
        let kept = targets.subset(|at| folds[at] != fold)?;
        let labeling = method.fit(&Problem { targets: &kept, ..*problem }, run)?.labeling;
        for (at, &row) in targets.rows().iter().enumerate().filter(|(at, _)| folds[*at] == fold) {
            if labeling.reached[row as usize] {
                shares.row_mut(at).copy_from_slice(labeling.label_distributions.row(row as usize));
            }
        }
    }
    Ok(HeldOutFit { shares, fitted: None })
}

/// Whether the mean of `losses` is below that of `than` on the same rows (l), by more than `errors` standard errors of the mean
/// difference.
pub(crate) fn is_better(losses: &[f64], than: &[f64], errors: f64) -> bool {
    let differences: Vec<f64> = than.iter().zip(losses).map(|(a, b)| a - b).collect();
    let l = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / l;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (l - 1.0).max(1.0);
    mean > errors * (variance / l).sqrt()
}

/// The candidate of least total loss (the first of equals) if it is better than candidate 0, the default, by more than `errors`
/// standard errors; otherwise 0.
pub(crate) fn choose(losses: &[Vec<f64>], errors: f64) -> usize {
    let total = |at: usize| losses[at].iter().sum::<f64>();
    let best = (1..losses.len()).fold(0, |best, at| if total(at) < total(best) { at } else { best });
    if best > 0 && is_better(&losses[best], &losses[0], errors) { best } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_stays_unless_another_is_better_beyond_noise() {
        let default = vec![1.0, 1.2, 0.8, 1.0];
        // Better by 0.1 on each row: no noise at all.
        let clear: Vec<f64> = default.iter().map(|x| x - 0.1).collect();
        // Better by 0.1 on average, by one row alone: the standard error is 0.1 too.
        let lucky = vec![1.0, 1.2, 0.8, 0.6];
        assert!(is_better(&clear, &default, 1.0) && !is_better(&default, &clear, 0.0));
        assert!(is_better(&lucky, &default, 0.5) && !is_better(&lucky, &default, 1.0));
        assert_eq!(choose(&[default.clone(), lucky.clone(), clear.clone()], 1.0), 0);
        assert_eq!(choose(&[default.clone(), clear, lucky], 0.5), 1);
        assert_eq!(choose(&[default.clone(), default], 0.0), 0);
    }
}
