//! Folds of the labeled rows, and a temperature fitted to held-out rows.

use lapwing_data::{Run, Stream};
use rand::seq::SliceRandom;

use crate::labeling::largest;

pub(crate) const FOLDS: usize = 5;

/// Fold of each labeled row. The shuffled rows of a class are dealt out in turn, so that every fold has its share of each class.
pub(crate) fn folds(classes: &[usize], c: usize, run: &Run) -> Vec<usize> {
    let mut folds = vec![0; classes.len()];
    for class in 0..c {
        let mut members: Vec<usize> = (0..classes.len()).filter(|&at| classes[at] == class).collect();
        members.shuffle(&mut run.rng(Stream::Split, u64::MAX - class as u64));
        members.iter().enumerate().for_each(|(at, &member)| folds[member] = at % FOLDS);
    }
    folds
}

/// Whether `class` has the highest standing; false for a row that no label reached.
fn is_right(standing: &[f64], class: usize) -> bool {
    !standing.iter().any(|s| s.is_nan()) && largest(standing) == class
}

/// −log softmax(standing / T)[class] of each row that a label reached.
pub(crate) fn log_losses(held_out: &[(Vec<f64>, usize)], t: f64) -> Vec<f64> {
    let reached = held_out.iter().filter(|(standing, _)| !standing.iter().any(|s| s.is_nan()));
    reached.map(|row| terms(row, t).0).collect()
}

/// −log softmax(standing / T)[class], and the largest share of the row.
fn terms((standing, class): &(Vec<f64>, usize), t: f64) -> (f64, f64) {
    let top = standing.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = standing.iter().map(|s| ((s - top) / t).exp()).sum();
    (total.ln() - (standing[*class] - top) / t, 1.0 / total)
}

/// T minimizing the mean −log softmax(standing / T)[class]: golden-section search over log T, where the loss is unimodal.
///
/// If all held-out rows are right, the minimizer is T = 0, full confidence. So T is raised until the mean confidence is at most
/// (right + 1) / (rows + 2), Laplace's estimate of the accuracy.
pub(crate) fn fitted_temperature(held_out: &[(Vec<f64>, usize)]) -> f64 {
    let rows: Vec<&(Vec<f64>, usize)> = held_out.iter().filter(|(s, _)| !s.iter().any(|s| s.is_nan())).collect();
    let loss = |log_t: f64| rows.iter().map(|row| terms(row, log_t.exp()).0).sum::<f64>();
    let confidence = |log_t: f64| rows.iter().map(|row| terms(row, log_t.exp()).1).sum::<f64>() / rows.len() as f64;
    let scale = rows.iter().flat_map(|(s, _)| s).fold(0.0f64, |m, s| m.max(s.abs())).max(f64::MIN_POSITIVE);
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (least, most) = ((scale * 1e-6).ln(), (scale * 1e2).ln());
    let (mut low, mut high) = (least, most);
    while high - low > 1e-3 {
        let (a, b) = (high - ratio * (high - low), low + ratio * (high - low));
        if loss(a) <= loss(b) { high = b } else { low = a }
    }
    let right = rows.iter().filter(|(standing, class)| is_right(standing, *class)).count() as f64;
    let ceiling = (right + 1.0) / (rows.len() as f64 + 2.0);
    let (mut low, mut high) = ((low + high) / 2.0, most);
    if confidence(low) <= ceiling {
        return low.exp();
    }
    while high - low > 1e-3 {
        let middle = (low + high) / 2.0;
        if confidence(middle) > ceiling { low = middle } else { high = middle }
    }
    high.exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fitted_temperature_makes_confidence_true() {
        // 80 of 100 rows are right with a margin of 1: softmax(1/T) must be 0.8.
        let held_out: Vec<(Vec<f64>, usize)> = (0..100).map(|i| (vec![1.0, 0.0], usize::from(i % 5 == 0))).collect();
        let share = 1.0 / (1.0 + (-1.0 / fitted_temperature(&held_out)).exp());
        // Laplace's estimate of 80 in 100 is 81 in 102.
        assert!((share - 81.0 / 102.0).abs() < 1e-3, "{share}");
        let all_right: Vec<(Vec<f64>, usize)> = (0..8).map(|_| (vec![1.0, 0.0], 0)).collect();
        let share = 1.0 / (1.0 + (-1.0 / fitted_temperature(&all_right)).exp());
        assert!((share - 0.9).abs() < 1e-3, "{share}");
    }
}
