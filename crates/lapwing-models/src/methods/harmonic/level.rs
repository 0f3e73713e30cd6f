//! The level with which plain scores are compared: a mean over the rows, that of the labels, or none.
//!
//! A mean may weigh rows by how open their class is. The weight of a row with the shares f is the Gini index 1 − Σ f². Cost: c operations a row, by the vector instructions of the machine.

use lapwing_core::Matrix;
use lapwing_simd::dispatch;

use super::params::Decision;

/// The value with which plain scores are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// Their mean over the rows that labels reach.
    RowMean,
    /// The same, each row weighted by how open its class is.
    OpenMean,
    /// The mean of the labels.
    LabeledMean,
    /// Nothing: they are shares.
    Zero,
}

impl Level {
    /// Whether it is a mean of scores.
    pub fn is_of_rows(self) -> bool {
        matches!(self, Self::RowMean | Self::OpenMean)
    }

    /// The decision that compares scores with it.
    pub fn decision(self) -> Decision {
        match self {
            Self::RowMean | Self::OpenMean => Decision::RowMean,
            Self::LabeledMean => Decision::Centered,
            Self::Zero => Decision::Argmax,
        }
    }
}

/// Least openness of a row.
const LEAST_OPEN: f64 = 1e-12;

/// Scores of the rows that labels reach.
pub(super) fn reached(scores: &Matrix) -> impl Iterator<Item = &[f64]> {
    scores.rows().filter(|row| !row.iter().any(|score| score.is_nan()))
}

/// Mean of the scores (c) over the rows that labels reach. One mean for all of them: where parts of the graph hang together by edges
/// that vanish, their scores tend to those of separate components, and so must the level. A mean for each component would take away
/// the very class that most of its labels have.
pub(super) fn row_mean(scores: &Matrix) -> Vec<f64> {
    let (mut mean, mut n) = (vec![0.0; scores.n_cols()], 0usize);
    for row in reached(scores) {
        mean.iter_mut().zip(row).for_each(|(mean, score)| *mean += score);
        n += 1;
    }
    mean.iter_mut().for_each(|mean| *mean /= n.max(1) as f64);
    mean
}

/// The same mean of plain scores, each row weighted by [`openness`].
pub(super) fn open_mean(scores: &Matrix) -> Vec<f64> {
    let mut mean = OpenMean::new(scores.n_cols());
    let same = vec![0.0; scores.n_cols()];
    reached(scores).for_each(|row| mean.add(row, &same, 0.0));
    mean.value()
}

dispatch! {
    /// The shares f of plain scores (c) less a part of `change`, and how open the class of their row is: the Gini index 1 − Σ f², and
    /// never quite 0.
    fn open_shares(scores: &[f64], change: &[f64], part: f64, shares: &mut [f64]) -> f64 = each_open_share
}

#[inline(always)]
fn each_open_share(scores: &[f64], change: &[f64], part: f64, shares: &mut [f64]) -> f64 {
    let pairs = scores.iter().zip(change);
    shares.iter_mut().zip(pairs).for_each(|(share, (f, change))| *share = (f - part * change).clamp(0.0, 1.0));
    let (lanes, rest) = shares.as_chunks::<8>();
    let mut sums = [0.0; 8];
    lanes.iter().for_each(|lanes| sums.iter_mut().zip(lanes).for_each(|(sum, f)| *sum += f * f));
    let squares = rest.iter().map(|f| f * f).sum::<f64>() + sums.iter().sum::<f64>();
    (1.0 - squares).max(LEAST_OPEN)
}

/// How open the class of a row with these plain scores (c) is; `shares` (c) is overwritten.
pub(super) fn openness(scores: &[f64], shares: &mut [f64]) -> f64 {
    open_shares(scores, scores, 0.0, shares)
}

/// Mean of plain scores, weighted by [`openness`].
pub(super) struct OpenMean {
    sum: Vec<f64>,
    shares: Vec<f64>,
    weight: f64,
}

impl OpenMean {
    pub(super) fn new(n_classes: usize) -> Self {
        Self { sum: vec![0.0; n_classes], shares: vec![0.0; n_classes], weight: 0.0 }
    }

    pub(super) fn add(&mut self, scores: &[f64], change: &[f64], part: f64) {
        let weight = open_shares(scores, change, part, &mut self.shares);
        self.weight += weight;
        self.sum.iter_mut().zip(&self.shares).for_each(|(sum, share)| *sum += weight * share);
    }

    pub(super) fn value(self) -> Vec<f64> {
        let weight = self.weight.max(f64::MIN_POSITIVE);
        self.sum.into_iter().map(|sum| sum / weight).collect()
    }
}
