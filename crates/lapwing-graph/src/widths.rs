//! Kernel widths: the weight of an edge as a function of its distance.

use lapwing_core::{Error, Result};

use crate::params::{GraphParams, SELF_TUNING_BANDWIDTH, Symmetrize, Weighting};
use crate::relation::single;

/// Kernel widths of the weights; edges of new rows use the same widths.
#[derive(Clone, Debug, PartialEq)]
pub enum Widths {
    /// h·σᵢ of each row (n).
    PerRow(Vec<f32>),
    /// One σ for all; the sparsity θ of learned weights.
    One(f64),
    /// The weighting has no width.
    None,
}

/// Largest x of the self-tuning weights exp(−x), so that no edge vanishes and no row loses all edges: an outlier beside a dense
/// cluster keeps an edge of weight 2·10⁻²².
const MOST_DECAY: f64 = 50.0;

impl Widths {
    /// The widths of rows at distances `last` to their last neighbors (n).
    pub(crate) fn from_last(last: Vec<f32>, params: &GraphParams) -> Self {
        match params.weights {
            Weighting::Cosine | Weighting::Binary | Weighting::Learned | Weighting::LearnedL2 => Self::None,
            Weighting::Gaussian => Self::One(params.bandwidth.unwrap_or_else(|| positive_median(&last).into())),
            Weighting::SelfTuning => {
                let mut widths = last;
                // A row that equals all its neighbors has no width of its own.
                let typical = positive_median(&widths);
                let h = params.bandwidth.unwrap_or(SELF_TUNING_BANDWIDTH) as f32;
                widths.iter_mut().for_each(|width| *width = h * if *width > 0.0 { *width } else { typical });
                Self::PerRow(widths)
            }
        }
    }

    /// Weight at `distance` between rows of widths `a` and `b`, which only self-tuning weights use. Learned weights are not a
    /// function of one distance.
    pub fn weight(&self, weights: Weighting, distance: f32, a: f32, b: f32) -> f64 {
        let d = f64::from(distance);
        match (weights, self) {
            (Weighting::Binary, _) => 1.0,
            (Weighting::Cosine, _) => (1.0 - d).max(0.0),
            (Weighting::Gaussian, Self::One(sigma)) => (-(d / sigma).powi(2) / 2.0).exp(),
            (_, _) => (-(d * d / (f64::from(a) * f64::from(b))).min(MOST_DECAY)).exp(),
        }
    }

    /// Weight of the edge between two rows, 0 for no edge. The second row is a neighbor of the first at `distance`; `other` is the
    /// distance at which the first is a neighbor of the second, if it is.
    pub(crate) fn edge(&self, params: &GraphParams, rows: (usize, usize), distance: f32, other: Option<f32>) -> f64 {
        let w = |d: f32| self.weight(params.weights, d, self.of_row(rows.0), self.of_row(rows.1));
        // Given distances may differ by rounding between the two directions; the weights must not.
        single(match (params.symmetrize, other) {
            (Symmetrize::Mutual, None) => 0.0,
            (Symmetrize::Mean, None) => w(distance) / 2.0,
            (Symmetrize::Union, None) => w(distance),
            (Symmetrize::Mutual, Some(other)) => w(distance.max(other)),
            (Symmetrize::Mean, Some(other)) => (w(distance) + w(other)) / 2.0,
            (Symmetrize::Union, Some(other)) => w(distance.min(other)),
        })
    }

    /// Checks, from the distance of every row to its nearest neighbor, that no row loses all its weight to underflow. A mutual
    /// graph may have rows without edges, but not because of underflow.
    ///
    /// # Errors
    /// [`Error::Param`] naming the width and the first such row.
    pub(crate) fn check(&self, nearest: impl IntoIterator<Item = f32>) -> Result<()> {
        let Self::One(sigma) = self else { return Ok(()) };
        let is_lost = |d: f32| self.weight(Weighting::Gaussian, d, 1.0, 1.0) < f64::MIN_POSITIVE;
        match nearest.into_iter().position(is_lost) {
            None => Ok(()),
            Some(row) => {
                let expected = format!("a larger width: every weight of row {row} underflows to 0");
                Err(Error::param("bandwidth", sigma, expected))
            }
        }
    }

    /// Width of a fitted row; 1 where rows have no widths of their own.
    pub fn of_row(&self, row: usize) -> f32 {
        if let Self::PerRow(widths) = self { widths[row] } else { 1.0 }
    }
}

/// Median of the positive values; 1 if there is none.
fn positive_median(values: &[f32]) -> f32 {
    let mut positive: Vec<f32> = values.iter().copied().filter(|v| *v > 0.0).collect();
    if positive.is_empty() {
        return 1.0;
    }
    let middle = positive.len() / 2;
    *positive.select_nth_unstable_by(middle, f32::total_cmp).1
}
