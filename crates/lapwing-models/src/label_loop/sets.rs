//! Sets of classes that hold the right one with a wanted probability.
//!
//! With Pᵢ the class shares of held-out row i, which did not see its label yᵢ, and sᵢ = 1 − P_{i,yᵢ}, the threshold q is the
//! ⌈(l + 1)·level⌉-th smallest sᵢ, and the set of a row is {c : 1 − P_c ≤ q} (cross-conformal prediction with the leave-one-out scores in
//! place of folds; Vovk 2015). An empty set is replaced by the likeliest class. A row that no label reaches gets all classes.
//!
//! **What holds.** A level needs l ≥ ⌈1/(1 − level)⌉ − 1 held-out labels that are drawn like the rows. Given the labels, the true coverage is about
//! Beta(k, l + 1 − k), k = ⌈(l + 1)·level⌉; its 5 to 95 % range is reported. For leave-one-out scores there is no worst-case
//! guarantee, but measured coverage is at the level: `docs/results/label-loop.md`. Classes without a label are in no set, so that rows of
//! such classes are never covered.
//!
//! Sets that smooth the scores of neighbors (DAPS; Zargarbashi, Antonelli & Bojchevski 2023) undercover here: the neighbors have seen the
//! label that is left out. Cost: O(n·c).

use lapwing_core::params::{Parameters, above};
use lapwing_core::{Error, Matrix, Result, parameters};
use serde::Serialize;

use crate::core::counts::counted;
use crate::core::ranks::{conformal_rank, of_rank};
use crate::core::scores::largest;

parameters! {
    /// Which sets of classes are predicted.
    pub struct SetsParams {
        /// Share of the rows whose set should contain the right class.
        level: f64 = 0.9, in above(0.0).below(1.0);
        /// Whether the level holds in each class.
        by_class: bool = false;
    }
}

/// A set of classes for every row.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PredictionSets {
    /// Whether the class is in the set of the row (n, c), row after row.
    pub holds: Vec<bool>,
    /// Number of classes c.
    pub n_classes: usize,
    /// What is known of them.
    pub summary: SetsSummary,
}

/// Facts on prediction sets, for the report.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SetsSummary {
    /// The wanted level.
    pub level: f64,
    /// 5 and 95 % points of the coverage, given the labels.
    pub expected: [f64; 2],
    /// Held-out labels by which the threshold was chosen.
    pub n_held_out: usize,
    /// Classes that have a label, and can be in a set.
    pub n_classes_seen: usize,
    /// Mean number of classes in the sets of reached rows.
    pub mean_size: f64,
    /// Rows that no label reaches, whose set is all classes.
    pub n_unreached: usize,
    /// Whether the level holds in each class.
    pub by_class: bool,
}

/// Sets for rows with class `shares` (n, c), from the given `classes` (l) of held-out rows and their shares (l, c).
///
/// # Errors
/// [`Error::Shape`] unless all have as many classes, and `reached` a value for each row;
/// [`Error::Param`] for a level outside (0, 1), or one that needs more held-out labels than there are: the message states how many.
pub fn prediction_sets(
    classes: &[u32],
    held_out: &Matrix,
    shares: &Matrix,
    reached: &[bool],
    params: &SetsParams,
) -> Result<PredictionSets> {
    params.check_ranges()?;
    let (n, c) = (shares.n_rows(), shares.n_cols());
    if (held_out.n_rows(), held_out.n_cols()) != (classes.len(), c) || classes.iter().any(|&class| class as usize >= c)
    {
        let got = format!("{} × {}", held_out.n_rows(), held_out.n_cols());
        return Err(Error::shape("shares of held-out rows", format!("{} × {c}", classes.len()), got));
    }
    if reached.len() != n {
        return Err(Error::shape("reached rows", format!("{n}"), format!("{}", reached.len())));
    }
    let given: Vec<usize> = classes.iter().map(|&class| class as usize).collect();
    let misfit: Vec<f64> = held_out.rows().zip(&given).map(|(row, &class)| 1.0 - row[class]).collect();
    let counts = counted(given.iter().copied(), c);
    // A class that no label has is given no share in any row.
    let mut is_seen: Vec<bool> = counts.iter().map(|count| *count > 0).collect();
    shares.rows().for_each(|row| is_seen.iter_mut().zip(row).for_each(|(seen, share)| *seen |= *share > 0.0));
    let limits = limits(&misfit, &given, &counts, &is_seen, params)?;
    let mut holds = vec![false; n * c];
    let (mut total, mut n_unreached) = (0usize, 0usize);
    for ((row, out), reached) in shares.rows().zip(holds.chunks_exact_mut(c.max(1))).zip(reached) {
        if !reached {
            out.fill(true);
            n_unreached += 1;
            continue;
        }
        out.iter_mut().zip(row).zip(&limits).for_each(|((out, share), limit)| *out = 1.0 - share <= *limit);
        if !out.contains(&true) {
            out[largest(row)] = true;
        }
        total += out.iter().filter(|holds| **holds).count();
    }
    let expected = match params.by_class {
        true => counts.iter().filter(|count| **count > 0).min().map(|least| expected(*least, params.level)),
        false => Some(expected(misfit.len(), params.level)),
    };
    let summary = SetsSummary {
        level: params.level,
        expected: expected.unwrap_or([f64::NAN; 2]),
        n_held_out: misfit.len(),
        n_classes_seen: is_seen.iter().filter(|seen| **seen).count(),
        mean_size: total as f64 / (n - n_unreached).max(1) as f64,
        n_unreached,
        by_class: params.by_class,
    };
    Ok(PredictionSets { holds, n_classes: c, summary })
}

/// Fewest held-out labels for a level.
pub fn least_labels(level: f64) -> usize {
    // A level such as 0.9 is not exact in binary; without the slack 1/(1 − 0.9) would round up to 11.
    ((1.0 / (1.0 - level)) * (1.0 - 1e-9)).ceil() as usize - 1
}

/// Largest 1 − share with which each class is in a set (c); −1 for a class that no label has.
fn limits(
    misfit: &[f64],
    given: &[usize],
    counts: &[usize],
    is_seen: &[bool],
    params: &SetsParams,
) -> Result<Vec<f64>> {
    let least = least_labels(params.level).max(1);
    let enough = |count: usize, of: &str| match count >= least {
        true => Ok(()),
        false => {
            let value = format!("{} with {count} held-out labels{of}", params.level);
            let highest = (100.0 * count as f64 / (count + 1) as f64).floor() / 100.0;
            let advice = format!("at least {least} labels{of}, or a level of at most {highest:.2}");
            Err(Error::param("level", value, advice))
        }
    };
    if !params.by_class {
        enough(misfit.len(), "")?;
        let limit = of_rank(misfit.to_vec(), conformal_rank(misfit.len(), params.level));
        return Ok(is_seen.iter().map(|seen| if *seen { limit } else { -1.0 }).collect());
    }
    let of_class = |class: usize| {
        if !is_seen[class] {
            return Ok(-1.0);
        }
        enough(counts[class], &format!(" of class number {class}"))?;
        let own = misfit.iter().zip(given).filter(|(_, given)| **given == class).map(|(misfit, _)| *misfit);
        Ok(of_rank(own.collect(), conformal_rank(counts[class], params.level)))
    };
    (0..counts.len()).map(of_class).collect()
}

/// Labels beyond which the normal distribution stands for that of Beta.
const MOST_EXACT: usize = 2000;

/// 5 and 95 % points of Beta(k, l + 1 − k), k the rank: by the binomial distribution, P(Beta ≤ x) = P(Bin(l, x) ≥ k).
fn expected(l: usize, level: f64) -> [f64; 2] {
    let k = conformal_rank(l, level);
    if l > MOST_EXACT {
        let (mean, n) = (k as f64 / (l + 1) as f64, (l + 2) as f64);
        let spread = (mean * (1.0 - mean) / n).sqrt();
        return [-1.0, 1.0].map(|side| (mean + side * 1.6449 * spread).clamp(0.0, 1.0));
    }
    let at_least_k = |x: f64| {
        // Terms of the binomial distribution from their logarithms.
        let mut log = 0.0;
        let mut sum = 0.0;
        for i in 0..=l {
            if i > 0 {
                log += (((l - i + 1) as f64) / i as f64).ln();
            }
            if i >= k {
                sum += (log + i as f64 * x.ln() + (l - i) as f64 * (1.0 - x).ln()).exp();
            }
        }
        sum
    };
    [0.05, 0.95].map(|wanted| {
        let (mut low, mut high) = (1e-12, 1.0 - 1e-12);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if at_least_k(middle) < wanted { low = middle } else { high = middle }
        }
        (low + high) / 2.0
    })
}

#[cfg(test)]
mod tests;
