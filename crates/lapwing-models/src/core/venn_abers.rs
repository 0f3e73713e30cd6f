//! Venn–Abers calibration of the largest share (Vovk & Petej 2014, "Venn–Abers predictors").
//!
//! Let sᵢ be the largest share of held-out row i, and rᵢ whether its class is the given one. For a row of share s, p₀ and p₁ are the values
//! at s of the isotonic regressions of the pairs (sᵢ, rᵢ) with (s, 0) or (s, 1) added. The calibrated share is p₁/(1 − p₀ + p₁).
//!
//! p₀ and p₁ depend on s only by its place among the sᵢ, so they are computed once for each sᵢ and each gap between two of them.
//! Cost: O(l²) for l held-out rows, at most [`MOST_ROWS`] of them.

use lapwing_core::Matrix;
use serde::{Deserialize, Serialize};

use crate::core::scores::largest;

/// Most held-out rows that take part, spread evenly over all.
const MOST_ROWS: usize = 1000;
/// By how much the largest share stays above the second, relative: more than single precision rounds.
const AHEAD: f64 = 1e-6;

/// Calibrated shares by the largest share before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VennAbers {
    /// Shares of the held-out rows, ascending and distinct (l).
    at: Vec<f64>,
    /// p₀ and p₁ below the first share, at it, between it and the second, and so on (2l + 1).
    ends: Vec<[f64; 2]>,
}

impl VennAbers {
    /// Fits to the shares (q, c) of held-out rows and their given classes (q); `None` if there are none.
    pub(crate) fn fitted(shares: &Matrix, classes: &[u32]) -> Option<Self> {
        let all = shares.rows().zip(classes);
        let step = classes.len().div_ceil(MOST_ROWS).max(1);
        let pair = |(shares, &class): (&[f64], &u32)| {
            let best = largest(shares);
            (shares[best], f64::from(u8::from(best == class as usize)))
        };
        let mut pairs: Vec<(f64, f64)> = all.step_by(step).map(pair).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Number and sum of the rows at each distinct share.
        let mut groups: Vec<(f64, [f64; 2])> = Vec::new();
        for (share, right) in pairs {
            match groups.last_mut() {
                Some((last, [n, sum])) if *last == share => (*n, *sum) = (*n + 1.0, *sum + right),
                _ => groups.push((share, [1.0, right])),
            }
        }
        if groups.is_empty() {
            return None;
        }
        let place = |place: usize| [0.0, 1.0].map(|right| with_row(&groups, place, right));
        let ends = (0..2 * groups.len() + 1).map(place).collect();
        Some(Self { at: groups.into_iter().map(|(share, _)| share).collect(), ends })
    }

    /// Whether the numbers are those of a calibration: shares that ascend, and a pair p₀ ≤ p₁ in [0, 1] at and between them.
    pub(crate) fn is_whole(&self) -> bool {
        let is_share = |share: &f64| (0.0..=1.0).contains(share);
        self.at.is_sorted_by(|a, b| a < b)
            && self.at.iter().all(is_share)
            && self.ends.len() == 2 * self.at.len() + 1
            && self.ends.iter().all(|[low, high]| low <= high && is_share(low) && is_share(high))
    }

    /// p₀ and p₁ of a row whose largest share is `share`.
    pub fn interval(&self, share: f64) -> [f64; 2] {
        let below = self.at.partition_point(|at| *at < share);
        let is_at = self.at.get(below) == Some(&share);
        self.ends[2 * below + usize::from(is_at)]
    }

    /// Gives the largest of these shares, that of class `best`, its calibrated value; the others share the rest as before. The class stays
    /// the likeliest one.
    pub(crate) fn apply(&self, shares: &mut [f64], best: usize) {
        let top = shares[best];
        let rest = 1.0 - top;
        if rest <= 0.0 || shares.len() < 2 {
            return;
        }
        let [low, high] = self.interval(top);
        let second = shares.iter().enumerate().filter(|(k, _)| *k != best).fold(0.0, |most: f64, (_, s)| most.max(*s));
        let ratio = second / rest;
        let least = (ratio / (1.0 + ratio) * (1.0 + AHEAD)).min(1.0);
        let wanted = (high / (1.0 - low + high)).clamp(least, 1.0);
        shares.iter_mut().for_each(|share| *share *= (1.0 - wanted) / rest);
        shares[best] = wanted;
    }
}

/// Value of the isotonic regression at a row of `right` that is added at a place: 2g + 1 at group g, 2g before it.
fn with_row(groups: &[(f64, [f64; 2])], place: usize, right: f64) -> f64 {
    let mut all: Vec<[f64; 2]> = groups.iter().map(|(_, group)| *group).collect();
    let at = place / 2;
    if place % 2 == 1 {
        all[at] = [all[at][0] + 1.0, all[at][1] + right];
    } else {
        all.insert(at, [1.0, right]);
    }
    // Pool adjacent violators: blocks of number, sum, and the last group in them.
    let mut blocks: Vec<([f64; 2], usize)> = Vec::new();
    for (group, own) in all.into_iter().enumerate() {
        blocks.push((own, group));
        while let [.., (before, _), (last, end)] = blocks[..] {
            if before[1] * last[0] <= last[1] * before[0] {
                break;
            }
            blocks.truncate(blocks.len() - 2);
            blocks.push(([before[0] + last[0], before[1] + last[1]], end));
        }
    }
    let block = blocks.partition_point(|(_, end)| *end < at);
    let [n, sum] = blocks[block].0;
    sum / n
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(pairs: &[(f64, bool)]) -> Option<VennAbers> {
        let shares = pairs.iter().flat_map(|(share, _)| [*share, 1.0 - share]).collect();
        let classes: Vec<u32> = pairs.iter().map(|(_, right)| u32::from(!right)).collect();
        VennAbers::fitted(&Matrix::new(pairs.len(), 2, shares).unwrap(), &classes)
    }

    #[test]
    fn intervals_are_those_of_two_isotonic_regressions() {
        let found = fitted(&[(0.6, false), (0.7, true), (0.8, false), (0.9, true)]).unwrap();
        // At 0.95: with 0 the blocks are [0.6], [0.7 … 0.95]; with 1 the last two stay 1.
        let [low, high] = found.interval(0.95);
        assert!((low - 0.5).abs() < 1e-12 && (high - 1.0).abs() < 1e-12, "{low} {high}");
        let [low, high] = found.interval(0.55);
        assert!(low == 0.0 && (high - 0.5).abs() < 1e-12, "{low} {high}");
        // At a share that was seen: 0.7 holds two rows.
        let [low, high] = found.interval(0.7);
        assert!((low - 1.0 / 3.0).abs() < 1e-12 && (high - 2.0 / 3.0).abs() < 1e-12, "{low} {high}");
    }

    #[test]
    fn calibrated_shares_sum_to_one_and_keep_the_class() {
        let found = fitted(&[(0.9, false), (0.9, true), (0.9, false), (0.99, false)]).unwrap();
        let mut shares = vec![0.05, 0.9, 0.05];
        found.apply(&mut shares, 1);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12 && largest(&shares) == 1, "{shares:?}");
        assert!(shares[1] < 0.6, "{shares:?}");
        // The wanted share of the class is below that of the other: it stays ahead.
        let mut shares = vec![0.48, 0.52];
        found.apply(&mut shares, 1);
        assert!(shares[1] > shares[0] && (shares[1] as f32) > shares[0] as f32, "{shares:?}");
        assert!(fitted(&[]).is_none());
    }
}
