//! Labels held out by methods that learn from the labeled rows alone, which answer for rows that a fit has not seen. A negative fold is
//! part of every fit, and its rows get NaN.

use lapwing_core::{Matrix, Result, Run, Targets};

use crate::HeldOutSource;
use crate::core::calibration::fitted_rule;
use crate::core::folds::{FOLDS, folds};
use crate::core::held_out::{NEVER, Standings, stratified};
use crate::core::scores::largest;

/// Fewest labels of each class at which labels are held out.
const FEWEST_LABELS: usize = 5;
/// Folds are held out until they have this many rows together.
const ENOUGH_HELD: usize = 250;

/// The folds of [`Method::held_out`](crate::Method::held_out); −1 for labels that are never held out.
pub(crate) fn signed(folds: &[usize]) -> Vec<i32> {
    folds.iter().map(|&fold| if fold == NEVER { -1 } else { fold as i32 }).collect()
}

/// Five folds of the labels, each with its share of every class; none if a class has fewer than five labels, or if there is one
/// class only.
pub(crate) fn label_folds(targets: &Targets, run: &Run) -> Option<Vec<i32>> {
    let classes = classes(targets);
    let mut counts = vec![0usize; targets.n_columns()];
    classes.iter().for_each(|&class| counts[class] += 1);
    counts.retain(|&count| count > 0);
    let is_enough = counts.len() > 1 && counts.iter().all(|&count| count >= FEWEST_LABELS);
    is_enough.then(|| folds(&classes, targets.n_columns(), run).into_iter().map(|fold| fold as i32).collect())
}

/// Folds of the labels (l) to hold out; none if there are too few.
pub(crate) fn folds_to_hold_out(targets: &Targets, run: &Run) -> Option<Vec<i32>> {
    stratified(targets, run).map(|folds| signed(&folds))
}

/// Class of the largest share of each labeled row (l).
fn classes(targets: &Targets) -> Vec<usize> {
    targets.values().rows().map(largest).collect()
}

/// Folds that hold enough of `l` labeled rows to choose by.
pub(crate) fn n_folds(l: usize) -> usize {
    (FOLDS * ENOUGH_HELD).div_ceil(l.max(1)).min(FOLDS)
}

/// Keeps the first folds that hold enough rows; the others are never held out.
pub(crate) fn enough(mut folds: Vec<i32>) -> Vec<i32> {
    let kept = n_folds(folds.len()) as i32;
    folds.iter_mut().filter(|fold| **fold >= kept).for_each(|fold| *fold = -1);
    folds
}

/// Logarithms of the shares (l, c) of rows that were held out, as the scores of a fit are; rows of NaN were not held out.
pub(crate) fn standings(shares: &Matrix, targets: &Targets) -> Standings {
    let held: Vec<usize> = (0..shares.n_rows()).filter(|&at| !shares.row(at).iter().any(|p| p.is_nan())).collect();
    let classes = classes(targets);
    // A share that is too small for a number has the logarithm of the smallest.
    let logs = |&at: &usize| shares.row(at).iter().map(|share| share.max(f64::MIN_POSITIVE).ln()).collect();
    Standings {
        rows: held.iter().map(|&at| targets.rows()[at]).collect(),
        classes: held.iter().map(|&at| classes[at] as u32).collect(),
        values: held.iter().map(logs).collect(),
        source: HeldOutSource::Folds(FOLDS),
    }
}

/// Shares (l, c) of rows that were held out, at the temperature by which a fit decides; rows of NaN stay.
pub(crate) fn as_decided(mut shares: Matrix, targets: &Targets) -> Result<Matrix> {
    let standings = standings(&shares, targets);
    let rule = fitted_rule(&standings, targets, Some(1.0))?;
    let decided = standings.shares(&rule).shares;
    let held = (0..shares.n_rows()).filter(|&at| !shares.row(at).iter().any(|p| p.is_nan())).collect::<Vec<_>>();
    held.into_iter().zip(decided.rows()).for_each(|(at, row)| shares.row_mut(at).copy_from_slice(row));
    Ok(shares)
}
