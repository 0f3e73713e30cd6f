//! From scores to labels: the decision rule, label distributions and confidence.

use std::sync::Arc;

use lapwing_data::Matrix;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// How scores (n, c) become labels and label distributions; kept in models, so that new rows are treated alike.
///
/// With s = (score − offset) · scale, the largest s decides, and the label distribution is softmax(s / T), or s itself
/// (cut at 0, brought to sum 1) where there is no temperature T.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Subtracted from each score (c): the labeled mean ȳ for a centered decision on plain scores.
    pub offset: Vec<f64>,
    /// Factor on each score after that (c): class mass normalisation, else 1; 0 bars a class without a label.
    pub scale: Vec<f64>,
    /// Temperature T > 0 of the softmax; `None` where scores are shares already.
    pub temperature: Option<f64>,
    /// Class prior (c), the distribution of rows no label reaches.
    pub prior: Vec<f64>,
}

/// A label for every row.
#[derive(Clone, Debug)]
pub struct Labeling {
    /// Raw scores (n, c), NaN in rows no label reaches.
    pub scores: Arc<Matrix>,
    /// Label distributions (n, c): rows finite, sum to 1; the class prior in rows no label reaches.
    pub label_distributions: Matrix,
    /// Class of each row (n); the prior's class in rows no label reaches.
    pub labels: Vec<u32>,
    /// Confidence of that class (n): its share in the label distribution.
    pub confidence: Vec<f64>,
    /// Whether a label reaches the row (n).
    pub reached: Vec<bool>,
}

impl Rule {
    /// Labels, distributions and confidence of rows with `scores` (n, c); rows of NaN are unreached.
    ///
    /// # Complexity
    /// O(n·c), in parallel on the current pool.
    pub fn apply(&self, scores: Arc<Matrix>) -> Labeling {
        let (n, c) = (scores.n_rows(), scores.n_cols());
        let mut distributions = Matrix::filled(n, c, 0.0);
        let mut decided = vec![(0u32, 0f64, false); n];
        distributions
            .values_mut()
            .par_chunks_mut(c.max(1))
            .zip(decided.par_iter_mut())
            .with_min_len(1024)
            .enumerate()
            .for_each(|(row, (out, decided))| *decided = self.row(scores.row(row), out));
        Labeling {
            scores,
            label_distributions: distributions,
            labels: decided.iter().map(|d| d.0).collect(),
            confidence: decided.iter().map(|d| d.1).collect(),
            reached: decided.iter().map(|d| d.2).collect(),
        }
    }

    /// Class, confidence and reached of one row; its distribution goes to `out`.
    fn row(&self, scores: &[f64], out: &mut [f64]) -> (u32, f64, bool) {
        let reached = !scores.iter().any(|s| s.is_nan());
        if reached {
            self.standing(scores, out);
            match self.temperature {
                Some(temperature) => softmax(out, temperature),
                None => {
                    out.iter_mut().for_each(|s| *s = s.max(0.0));
                    let total: f64 = out.iter().sum();
                    let even = 1.0 / out.len() as f64;
                    out.iter_mut().for_each(|s| *s = if total > 0.0 { *s / total } else { even });
                }
            }
        } else {
            out.copy_from_slice(&self.prior);
        }
        let class = largest(out);
        (class as u32, out.get(class).copied().unwrap_or(0.0), reached)
    }

    /// (score − offset) · scale, −∞ for a barred class.
    pub(crate) fn standing(&self, scores: &[f64], out: &mut [f64]) {
        for (((out, score), offset), scale) in out.iter_mut().zip(scores).zip(&self.offset).zip(&self.scale) {
            *out = if *scale > 0.0 { (score - offset) * scale } else { f64::NEG_INFINITY };
        }
    }
}

/// Position of the largest value, the first of equal ones.
pub(crate) fn largest(values: &[f64]) -> usize {
    (1..values.len()).fold(0, |best, at| if values[at] > values[best] { at } else { best })
}

fn softmax(values: &mut [f64], temperature: f64) {
    let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    values.iter_mut().for_each(|v| *v = ((*v - top) / temperature).exp());
    let total: f64 = values.iter().sum();
    values.iter_mut().for_each(|v| *v /= total);
}

/// The temperature at which the median row is given `share` by the softmax of its standing.
///
/// Harmonic scores have no scale of their own; this gives them one where there are too few labels to fit it.
pub(crate) fn typical_temperature(rule: &Rule, scores: &Matrix, share: f64) -> f64 {
    let c = scores.n_cols();
    // The margin of the best over the others decides: with all others equally far behind by m, the best has
    // share 1 / (1 + (c − 1)·exp(−m/T)).
    let mut margins: Vec<f64> = (0..scores.n_rows())
        .into_par_iter()
        .with_min_len(1024)
        .map_init(
            || vec![0.0; c],
            |standing, row| {
                rule.standing(scores.row(row), standing);
                standing.retain(|s| s.is_finite());
                let margin = match standing.len() {
                    0 | 1 => f64::NAN,
                    m => {
                        let best = standing[largest(standing)];
                        best - (standing.iter().sum::<f64>() - best) / (m - 1) as f64
                    }
                };
                standing.resize(c, 0.0);
                margin
            },
        )
        .filter(|margin| *margin > 0.0)
        .collect();
    if margins.is_empty() {
        return 1.0;
    }
    let middle = margins.len() / 2;
    let median = *margins.select_nth_unstable_by(middle, f64::total_cmp).1;
    let others = rule.scale.iter().filter(|s| **s > 0.0).count().saturating_sub(1).max(1) as f64;
    (median / (others * share / (1.0 - share)).ln()).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(temperature: Option<f64>) -> Rule {
        Rule { offset: vec![0.5, 0.3, 0.2], scale: vec![1.0; 3], temperature, prior: vec![0.2, 0.5, 0.3] }
    }

    #[test]
    fn distributions_agree_with_the_decision_and_sum_to_one() {
        let scores = Matrix::new(3, 3, vec![0.5, 0.35, 0.15, f64::NAN, f64::NAN, f64::NAN, 0.4, 0.2, 0.4]).unwrap();
        let labeling = rule(Some(0.1)).apply(Arc::new(scores));
        assert_eq!(labeling.labels, [1, 1, 2]);
        assert_eq!(labeling.reached, [true, false, true]);
        assert_eq!(labeling.label_distributions.row(1), [0.2, 0.5, 0.3]);
        for (row, &class) in labeling.label_distributions.rows().zip(&labeling.labels) {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert_eq!(largest(row), class as usize);
        }
    }

    #[test]
    fn a_class_without_labels_is_never_chosen() {
        let rule = Rule { scale: vec![1.0, 0.0, 1.0], offset: vec![0.0; 3], ..rule(Some(1.0)) };
        let labeling = rule.apply(Arc::new(Matrix::new(1, 3, vec![-1.0, 0.0, -2.0]).unwrap()));
        assert_eq!((labeling.labels[0], labeling.label_distributions.row(0)[1]), (0, 0.0));
    }

    #[test]
    fn the_typical_temperature_gives_the_median_row_its_share() {
        let rule = Rule { offset: vec![0.0; 2], scale: vec![1.0; 2], temperature: None, prior: vec![0.5; 2] };
        let scores = Matrix::new(3, 2, vec![1e-6, 0.0, 0.0, 2e-6, 3e-6, 0.0]).unwrap();
        let temperature = typical_temperature(&rule, &scores, 0.9);
        let labeling = Rule { temperature: Some(temperature), ..rule }.apply(Arc::new(scores));
        assert!((labeling.confidence[1] - 0.9).abs() < 1e-9);
    }
}
