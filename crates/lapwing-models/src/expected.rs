//! How often labels are right: an expected accuracy with its interval, and how well confidence agrees with it.

use lapwing_data::Report;
use serde::Serialize;
use serde_json::json;

use crate::class_sizes::wilson;
use crate::{HeldOut, HeldOutSource};

/// Level of the interval.
const LEVEL: f64 = 0.9;
/// Labels that count as one in the interval. Held-out labels are few, not all drawn as the other rows are, and near to each other:
/// over 19 data sets, with 5 and 30 labels a class and as many at random, the accuracy was within the interval of all labels in 78 % of
/// the cases, and within that of half of them in 90 %. Weights for the predicted sizes of the classes made both worse.
const LABELS_PER_DRAW: f64 = 2.0;

/// Estimate of the accuracy on the rows that have no label.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ExpectedAccuracy {
    /// Share of right labels, in [0, 1].
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Share of cases in which the interval holds the accuracy.
    pub level: f64,
    /// Labels that were held out.
    pub n_held_out: usize,
    /// How they were held out.
    pub source: HeldOutSource,
}

impl ExpectedAccuracy {
    /// The estimate from held-out rows; `None` if there are none.
    pub fn new(held_out: &HeldOut) -> Option<Self> {
        let right = held_out.right();
        let n_held_out = right.len();
        if n_held_out == 0 {
            return None;
        }
        let value = right.iter().filter(|right| **right).count() as f64 / n_held_out as f64;
        let (low, high) = interval(value, n_held_out);
        Some(Self { value, low, high, level: LEVEL, n_held_out, source: held_out.source })
    }
}

/// Ends of the interval around the share `right` of held-out labels.
pub(crate) fn interval(right: f64, n_held_out: usize) -> (f64, f64) {
    wilson(right, n_held_out as f64 / LABELS_PER_DRAW)
}

/// Adds expected accuracy and reliability to the report, or removes them if there are no held-out rows.
pub(crate) fn note_expected(report: &mut Report, held_out: Option<&HeldOut>) {
    for part in ["expected_accuracy", "class_accuracy", "reliability"] {
        report.parts.remove(part);
    }
    if let Some((held_out, expected)) = held_out.and_then(|held_out| Some((held_out, ExpectedAccuracy::new(held_out)?)))
    {
        report.parts.insert("expected_accuracy".into(), json!(expected));
        report.parts.insert("class_accuracy".into(), json!(class_accuracy(held_out)));
        report.parts.insert("reliability".into(), json!(reliability(held_out)));
    }
}

/// What became of the held-out labels of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ClassAccuracy {
    /// Held-out labels of the class.
    pub n_held_out: usize,
    /// Held-out labels that are predicted to be of the class.
    pub n_predicted: usize,
    /// Those that are both.
    pub n_right: usize,
}

/// What became of the held-out labels of each class (c).
pub fn class_accuracy(held_out: &HeldOut) -> Vec<ClassAccuracy> {
    let mut classes = vec![ClassAccuracy::default(); held_out.shares.n_cols()];
    for (&given, predicted) in held_out.classes.iter().zip(held_out.predicted()) {
        classes[given as usize].n_held_out += 1;
        classes[predicted as usize].n_predicted += 1;
        classes[given as usize].n_right += usize::from(given == predicted);
    }
    classes
}

/// Rows of like confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ReliabilityBin {
    /// Mean confidence.
    pub confidence: f64,
    /// Share of rows whose label is right.
    pub accuracy: f64,
    /// Rows.
    pub count: usize,
}

/// Most bins of the reliability.
const BINS: usize = 10;

/// Confidence and accuracy of held-out rows in at most ten bins of about equal count, in order of confidence. Rows of equal
/// confidence share a bin.
pub fn reliability(held_out: &HeldOut) -> Vec<ReliabilityBin> {
    let mut rows: Vec<(f64, bool)> = held_out.confidence().into_iter().zip(held_out.right()).collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n = rows.len();
    let mut bins = Vec::new();
    let mut first = 0;
    while first < n {
        let mut end = ((bins.len() + 1) * n).div_ceil(BINS).max(first + 1).min(n);
        while end < n && rows[end].0 == rows[end - 1].0 {
            end += 1;
        }
        let (part, count) = (&rows[first..end], end - first);
        bins.push(ReliabilityBin {
            confidence: part.iter().map(|(confidence, _)| confidence).sum::<f64>() / count as f64,
            accuracy: part.iter().filter(|(_, right)| *right).count() as f64 / count as f64,
            count,
        });
        first = end;
    }
    bins
}

#[cfg(test)]
mod tests {
    use lapwing_data::Matrix;

    use super::*;
    use crate::Rule;

    /// Rows of class 0 with these shares of it, and whether they are right.
    fn held_out(rows: &[(f64, bool)]) -> HeldOut {
        let shares =
            rows.iter().flat_map(|&(share, right)| if right { [share, 1.0 - share] } else { [1.0 - share, share] });
        HeldOut {
            rows: (0..rows.len() as u32).collect(),
            classes: vec![0; rows.len()],
            shares: Matrix::new(rows.len(), 2, shares.collect()).unwrap(),
            source: HeldOutSource::LeaveOneOut,
            values: vec![vec![0.45, 0.2]; rows.len()],
        }
    }

    #[test]
    fn the_interval_is_that_of_half_the_labels() {
        let rows: Vec<(f64, bool)> = (0..60).map(|i| (0.8, i % 10 != 0)).collect();
        let found = ExpectedAccuracy::new(&held_out(&rows)).unwrap();
        assert!((found.value - 0.9).abs() < 1e-12 && found.n_held_out == 60);
        // Wilson's interval of 27 in 30 at z = 1.645.
        assert!((found.low - 0.7745).abs() < 1e-3 && (found.high - 0.9593).abs() < 1e-3, "{found:?}");
        let all_right = ExpectedAccuracy::new(&held_out(&vec![(0.8, true); 20])).unwrap();
        assert!(all_right.high == 1.0 && (all_right.low - 10.0 / (10.0 + 1.645f64.powi(2))).abs() < 1e-9);
        assert!(ExpectedAccuracy::new(&held_out(&[])).is_none());
    }

    #[test]
    fn labels_of_each_class_are_counted() {
        let found = class_accuracy(&held_out(&[(0.8, true), (0.7, true), (0.6, false)]));
        let counts: Vec<_> = found.iter().map(|class| (class.n_held_out, class.n_predicted, class.n_right)).collect();
        assert_eq!(counts, [(3, 2, 2), (0, 1, 0)]);
    }

    #[test]
    fn reliability_bins_hold_every_row_in_order_of_confidence() {
        let rows: Vec<(f64, bool)> = (1..96).map(|i| (0.5 + f64::from(i) / 200.0, i % 3 != 0)).collect();
        let bins = reliability(&held_out(&rows));
        assert_eq!((bins.len(), bins.iter().map(|bin| bin.count).sum::<usize>()), (10, 95));
        assert!(bins.iter().all(|bin| (9..=10).contains(&bin.count)));
        assert!(bins.windows(2).all(|pair| pair[0].confidence < pair[1].confidence));
        let right: f64 = bins.iter().map(|bin| bin.accuracy * bin.count as f64).sum();
        assert!((right - rows.iter().filter(|(_, right)| *right).count() as f64).abs() < 1e-9);
        // Equal confidences cannot be told apart.
        assert_eq!(reliability(&held_out(&[(0.9, true), (0.9, true), (0.9, false), (0.6, true)])).len(), 2);
    }

    #[test]
    fn offsets_move_held_out_rows_as_they_move_others() {
        let rule = Rule {
            offset: vec![0.0; 2],
            scale: vec![1.0; 2],
            temperature: Some(0.2),
            flattened: false,
            venn_abers: None,
            prior: vec![0.5; 2],
        };
        let moved = Rule { offset: vec![0.3, -0.1], ..rule.clone() };
        let scores = [0.45, 0.2];
        let of = |rule: &Rule| {
            let scores = Matrix::new(1, 2, scores.to_vec()).unwrap();
            rule.decide(std::sync::Arc::new(scores)).label_distributions.row(0).to_vec()
        };
        let before = held_out(&[(0.5, true)]);
        let after = before.moved(&rule, &moved);
        assert!(after.shares.row(0).iter().zip(of(&moved)).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
