//! Choosing among candidates by what each loses on labels that were held out.
//!
//! The first candidate is the default. It stays unless another one is better by more than some standard errors of the difference: with few
//! labels, the best of many is mostly the luckiest.

use lapwing_core::Report;
use serde_json::{Value, json};

use crate::core::scores::largest;

/// A candidate that was tried.
#[derive(Clone, Debug)]
pub(crate) struct Trial<C, F = ()> {
    /// Its parameters.
    pub candidate: C,
    /// Its loss on each label that was held out; the same labels for all candidates.
    pub losses: Vec<f64>,
    /// What it gave to these labels.
    pub found: F,
}

impl<C, F> Trial<C, F> {
    /// Mean of the losses.
    pub fn loss(&self) -> f64 {
        self.losses.iter().sum::<f64>() / self.losses.len().max(1) as f64
    }
}

/// The trial of least total loss (the first of equals) if it is better than the first, by more than `errors` standard errors; otherwise
/// the first.
pub(crate) fn choose<C, F>(trials: &[Trial<C, F>], errors: f64) -> usize {
    let total = |at: usize| trials[at].losses.iter().sum::<f64>();
    let best = (1..trials.len()).fold(0, |best, at| if total(at) < total(best) { at } else { best });
    if best > 0 && is_better(&trials[best].losses, &trials[0].losses, errors) { best } else { 0 }
}

/// The candidate with the largest share of right labels (the first of equals) if it exceeds that of the first, p, by more than the standard
/// error √(p(1 − p)/n) over the n labels; otherwise the first.
pub(crate) fn choose_by_accuracy(accuracies: &[f64], n: usize) -> usize {
    let standard = accuracies[0];
    let error = (standard * (1.0 - standard) / n.max(1) as f64).sqrt();
    let best = largest(accuracies);
    if accuracies[best] > standard + error { best } else { 0 }
}

/// Adds the candidates to the report, each as the object that `describe` makes of it.
pub(crate) fn note<'t, T: 't>(
    trials: impl IntoIterator<Item = &'t T>,
    describe: impl Fn(&T) -> Value,
    report: &mut Report,
) {
    report.choose("cross_validation", trials.into_iter().map(describe).collect::<Vec<Value>>());
}

/// Adds the candidates for one parameter to the report, by their values.
pub(crate) fn note_values<F>(name: &str, trials: &[Trial<f64, F>], report: &mut Report) {
    let mut trials: Vec<&Trial<f64, F>> = trials.iter().collect();
    trials.sort_by(|a, b| a.candidate.total_cmp(&b.candidate));
    note(trials, |trial| json!({ name: trial.candidate, "loss": trial.loss() }), report);
}

/// Whether the mean of `losses` is below that of `than` on the same rows (l), by more than `errors` standard errors of the mean
/// difference.
fn is_better(losses: &[f64], than: &[f64], errors: f64) -> bool {
    // In a unit in which the largest is about 1: squares of squared errors may leave f64.
    let most = than.iter().zip(losses).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
    let unit = power_of_two(most);
    let differences: Vec<f64> = than.iter().zip(losses).map(|(a, b)| (a - b) / unit).collect();
    let (mean, variance) = moments(&differences);
    mean > errors * (variance / differences.len() as f64).sqrt()
}

/// Mean, and variance of the sample (0 for one value).
pub(crate) fn moments(values: &[f64]) -> (f64, f64) {
    let m = values.len() as f64;
    let mean = values.iter().sum::<f64>() / m.max(1.0);
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (m - 1.0).max(1.0))
}

/// The power of two at or below a number; 1 for 0 and where there is none.
pub(crate) fn power_of_two(number: f64) -> f64 {
    let power = number.log2().floor().exp2();
    if power > 0.0 && power.is_finite() { power } else { 1.0 }
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
        // Whatever the unit: squares of large losses overflow, those of small ones vanish.
        for unit in [2f64.powi(600), 2f64.powi(-600)] {
            let [default, clear, lucky] =
                [&default, &clear, &lucky].map(|x| x.iter().map(|x| x * unit).collect::<Vec<f64>>());
            assert!(is_better(&clear, &default, 1.0) && is_better(&lucky, &default, 0.5));
            assert!(!is_better(&lucky, &default, 1.0), "{unit:e}");
        }
        let chosen = |losses: &[&Vec<f64>], errors: f64| {
            let trial = |losses: &&Vec<f64>| Trial { candidate: (), losses: losses.to_vec(), found: () };
            choose(&losses.iter().map(trial).collect::<Vec<_>>(), errors)
        };
        assert_eq!(chosen(&[&default, &lucky, &clear], 1.0), 0);
        assert_eq!(chosen(&[&default, &clear, &lucky], 0.5), 1);
        assert_eq!(chosen(&[&default, &default], 0.0), 0);
    }

    #[test]
    fn accuracies_count_beyond_their_standard_error() {
        assert_eq!(choose_by_accuracy(&[0.5, 0.6, 0.6], 25), 0);
        assert_eq!(choose_by_accuracy(&[0.5, 0.61, 0.61], 25), 1);
    }
}
