//! Methods that learn from the labeled rows alone: the most frequent class, a linear model, a forest. They are baselines, and
//! answer for labeled rows that a fit has not seen. There a negative fold is part of every fit, and its rows get NaN.

mod extension;
mod forest;
mod linear;
mod majority;

use lapwing_data::{Matrix, Run, Targets};

pub use extension::SupervisedExtension;
pub(crate) use forest::FOREST;
pub use forest::{Forest, ForestParams, Trees};
pub(crate) use linear::LINEAR;
pub use linear::{Linear, LinearParams, linear_prior};
pub(crate) use majority::MAJORITY;
pub use majority::Majority;

use crate::harmonic::{FOLDS, fitted_temperature, folds};
use crate::labeling::largest;

/// Fewest labels of each class at which labels are held out.
const FEWEST_LABELS: usize = 5;
/// Folds are held out until they have this many rows together.
const ENOUGH_HELD: usize = 250;

/// The folds of [`Method::held_out`](crate::Method::held_out), none of which is negative.
fn signed(folds: &[usize]) -> Vec<i32> {
    folds.iter().map(|&fold| fold as i32).collect()
}

/// Five folds of the labels, each with its share of every class; none if a class has fewer than five labels, or if there is one
/// class only.
fn label_folds(targets: &Targets, run: &Run) -> Option<Vec<i32>> {
    let classes = classes(targets);
    let mut counts = vec![0usize; targets.n_columns()];
    classes.iter().for_each(|&class| counts[class] += 1);
    counts.retain(|&count| count > 0);
    let is_enough = counts.len() > 1 && counts.iter().all(|&count| count >= FEWEST_LABELS);
    is_enough.then(|| folds(&classes, targets.n_columns(), run).into_iter().map(|fold| fold as i32).collect())
}

/// Class of the largest share of each labeled row (l).
fn classes(targets: &Targets) -> Vec<usize> {
    targets.values().rows().map(largest).collect()
}

/// Folds that hold enough of `l` labeled rows to choose by.
fn n_folds(l: usize) -> usize {
    (FOLDS * ENOUGH_HELD).div_ceil(l.max(1)).min(FOLDS)
}

/// Keeps the first folds that hold enough rows; the others are never held out.
fn enough(mut folds: Vec<i32>) -> Vec<i32> {
    let kept = n_folds(folds.len()) as i32;
    folds.iter_mut().filter(|fold| **fold >= kept).for_each(|fold| *fold = -1);
    folds
}

/// The temperature at which logarithms of `shares` (l, c), of rows that were held out, become probabilities. Rows of NaN are left
/// out.
fn temperature(shares: &Matrix, targets: &Targets) -> f64 {
    let rows = shares.rows().zip(classes(targets)).filter(|(row, _)| !row.iter().any(|share| share.is_nan()));
    // A share that is too small for a number has the logarithm of the smallest.
    let standing = |row: &[f64]| row.iter().map(|share| share.max(f64::MIN_POSITIVE).ln()).collect();
    fitted_temperature(&rows.map(|(row, class)| (standing(row), class)).collect::<Vec<_>>())
}

/// Shares (l, c) of rows that were held out, at the temperature by which a fit decides.
fn as_decided(mut shares: Matrix, targets: &Targets, run: &Run) -> Matrix {
    if label_folds(targets, run).is_none() {
        return shares;
    }
    let cold = temperature(&shares, targets).recip();
    for row in shares.values_mut().chunks_exact_mut(targets.n_columns().max(1)) {
        let top = row.iter().copied().fold(0.0, f64::max);
        row.iter_mut().for_each(|share| *share = (*share / top).powf(cold));
        let total: f64 = row.iter().sum();
        row.iter_mut().for_each(|share| *share /= total);
    }
    shares
}
