//! How often labels are right: an expected accuracy with its interval, and how well confidence agrees with it.

use serde::Serialize;

use crate::{HeldOut, HeldOutSource};

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
