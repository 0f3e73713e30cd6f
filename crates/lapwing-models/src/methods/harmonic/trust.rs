//! The level of automatic decisions: how far plain scores are trusted against what labels say about the sizes of the classes.
//!
//! Far from all labels, plain scores f are nearly constant, and the constant says nothing where classes have about as many labels, whatever
//! their sizes. So scores are compared with a level m, the mean of rows. But that takes away what labels show of the sizes, and where
//! the rest says little (a tight group of rows, columns that say nothing) the rest must not decide. With s = f − m, the decision is
//! that of the log-posterior
//!
//! ```text
//! s_c + T·ln p_c.
//! ```
//!
//! **Level.** Either the mean f̄ over all rows, or that of weights 1 − Σ f², the Gini index of the shares: rows whose class is settled, such
//! as those of a part of the graph whose labels are all of one class, say nothing about the level of the others.
//!
//! **Shares** p of the classes follow from the counts n of the labels. p̂ is their posterior mean under a Dirichlet prior of concentration
//! a each, averaged over a by how likely the counts are; ln p̂ is moved to its mean over the classes as far as the counts look like
//! chance: by min(1, [`CAUTION`]·(c − 1)/χ²), χ² = Σ (n_c − n̄)²/n̄. Equal counts give equal shares. They are multiplied by
//! (b_c / ȳ_c)^κ, where b is f̄ shrunk to the mean ȳ of the labels: a class whose labels stand for more rows than those of others is
//! likely to be larger, also if labels are so many of each class. f̄ = Σ gᵢyᵢ, gᵢ the share of label i in the mean; if gᵢ had nothing to
//! do with the class, Q = Σ_c (f̄_c − ȳ_c)² / (n_c·var g) would be c − 1 on average, so b − ȳ = max(0, 1 − (c − 1)/Q)·(f̄ − ȳ).
//!
//! **Trust.** Level, T and κ are those of the least Σ −log softmax(s/T + ln p) over left-out labels, plus (ln T/T₀)² / (2·[`SPREAD`]²),
//! T₀ the typical temperature at the level. If scores say nothing, T is large and the largest class wins; if they say much, T is small
//! and p decides ties. Without left-out labels the level is f̄, T is T₀ and κ is 0. Scores that differ by less than the errors of
//! the solve, as in a pile of equal rows, are ties, and [`LEAST_HEAT`]·ln p̂ decides them.
//!
//! Cost: O(n·c) for levels and typical temperatures; q·c for each of about 500 triples (level, T, κ), q left-out labels.

use lapwing_core::parallel::*;
use lapwing_core::{Result, Run, Targets};

use super::function::HarmonicFunction;
use super::level::{Level, open_mean, row_mean};
use crate::Rule;
use crate::core::counts::label_counts;
use crate::core::rule::typical_temperature;
use crate::core::scores::exponentials;

/// Standard deviation of ln T around the typical one, before labels are seen.
const SPREAD: f64 = 4.0;
/// Steps of ln(T/T₀) to each side, and their length.
const STEPS: (i32, f64) = (24, 0.25);
/// Exponents κ that are tried.
const POWERS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
/// Concentrations of the Dirichlet prior: least, factor, number.
const CONCENTRATIONS: (f64, f64, i32) = (0.5, 1.2, 40);
/// Least ratio of b and ȳ.
const LEAST_RATIO: f64 = 1e-3;
/// How much more than chance the counts of labels have to differ to be believed: they are believed by 1 − CAUTION·(c − 1)/χ².
const CAUTION: f64 = 2.0;
/// Least T: scores whose classes differ by much less are equal, as in a pile of equal rows, but for the errors of the solve.
const LEAST_HEAT: f64 = 1e-5;

/// How far scores are trusted against the sizes of the classes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trust {
    /// The level.
    pub level: Level,
    /// T over the typical temperature.
    ratio: f64,
    /// Share of f̄ − ȳ that is believed.
    shrink: f64,
    /// κ.
    power: f64,
}

impl Default for Trust {
    fn default() -> Self {
        Self { level: Level::RowMean, ratio: 1.0, shrink: 0.0, power: 0.0 }
    }
}

/// A level, and the typical temperature of the scores above it.
struct Origin {
    level: Level,
    mean: Vec<f64>,
    typical: f64,
}

/// What labels and their scores say about the sizes of the classes.
pub(super) struct Sizes {
    /// Labels of each class, their shares p̂, and the log-shares that are believed (c).
    counts: Vec<usize>,
    shares: Vec<f64>,
    believed: Vec<f64>,
    /// ȳ (c).
    labeled: Vec<f64>,
    /// The mean f̄ of all rows, and that of open ones.
    origins: [Origin; 2],
}

impl Sizes {
    pub fn new(function: &HarmonicFunction, targets: &Targets) -> Self {
        let (scores, labeled) = (&function.scores, function.mean.clone());
        let origins = [(Level::RowMean, row_mean(scores)), (Level::OpenMean, open_mean(scores))];
        let origins = origins.map(|(level, mean)| {
            let rule = Rule { offset: mean.clone(), ..Rule::largest(labeled.clone()) };
            Origin { level, mean, typical: typical_temperature(&rule, scores) }
        });
        let counts = label_counts(targets);
        let shares = posterior_shares(&counts);
        Self { believed: believed(&counts, &shares), shares, counts, labeled, origins }
    }

    /// The trust that fits `standings` of left-out labels, each with its class, above each of the levels; `reach` are gᵢ.
    pub fn trust(&self, standings: &[Vec<(Vec<f64>, usize)>; 2], reach: &[f64], run: &Run) -> Result<Trust> {
        let shrink = self.shrink(reach);
        let powers = if shrink > 0.0 { &POWERS[..] } else { &POWERS[..1] };
        let of_powers: Vec<(f64, Vec<f64>)> =
            powers.iter().map(|&power| (power, self.log_shares(shrink, power))).collect();
        let triples: Vec<_> = (0..self.origins.len())
            .flat_map(|at| (0..of_powers.len()).map(move |power| (at, power)))
            .flat_map(|(at, power)| (-STEPS.0..=STEPS.0).map(move |step| (at, power, f64::from(step) * STEPS.1)))
            .collect();
        let total = |scratch: &mut Vec<f64>, &(at, power, log_ratio): &(usize, usize, f64)| {
            run.check()?;
            let (cold, shares) = (heat(&self.origins[at], log_ratio.exp()).recip(), &of_powers[power].1);
            let losses = standings[at].iter().map(|(standing, class)| loss(standing, *class, cold, shares, scratch));
            Ok(losses.sum::<f64>() + (log_ratio / SPREAD).powi(2) / 2.0)
        };
        let totals: Vec<f64> = triples.par_iter().map_init(Vec::new, total).collect::<Result<_>>()?;
        let mut best = (f64::INFINITY, Trust { shrink, ..Trust::default() });
        for (total, (at, power, log_ratio)) in totals.into_iter().zip(triples) {
            if total < best.0 {
                let (level, power) = (self.origins[at].level, of_powers[power].0);
                best = (total, Trust { level, ratio: log_ratio.exp(), shrink, power });
            }
        }
        Ok(best.1)
    }

    /// What is added to scores above the level (c): T·ln p, and what decides ties.
    pub fn added(&self, trust: Trust) -> Vec<f64> {
        let heat = heat(self.origin(trust), trust.ratio);
        let shares =
            self.log_shares(trust.shrink, trust.power).into_iter().zip(below_top(self.shares.iter().map(|p| p.ln())));
        shares.map(|(share, tie)| heat * share + LEAST_HEAT * tie).collect()
    }

    /// The same for scores above the mean of all rows (c).
    pub fn shift(&self, trust: Trust) -> Vec<f64> {
        let levels = self.origins[0].mean.iter().zip(&self.origin(trust).mean);
        self.added(trust).into_iter().zip(levels).map(|(added, (rows, level))| added + (rows - level)).collect()
    }

    fn origin(&self, trust: Trust) -> &Origin {
        &self.origins[usize::from(trust.level == self.origins[1].level)]
    }

    /// Share of f̄ − ȳ that does not look like chance.
    fn shrink(&self, reach: &[f64]) -> f64 {
        let q = reach.len() as f64;
        let mean = reach.iter().sum::<f64>() / q;
        let variance = reach.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / (q - 1.0);
        let present = || (0..self.counts.len()).filter(|&class| self.counts[class] > 0);
        let statistic = present().map(|class| {
            (self.origins[0].mean[class] - self.labeled[class]).powi(2) / (self.counts[class] as f64 * variance)
        });
        let (statistic, freedom) = (statistic.sum::<f64>(), present().count() as f64 - 1.0);
        // Nothing is known if all labels reach equally far.
        if statistic > freedom && statistic.is_finite() { 1.0 - freedom / statistic } else { 0.0 }
    }

    /// ln p less that of the largest class (c), so that nothing is added to scores of equal classes; that of the smallest for classes
    /// that have parts of labels only.
    fn log_shares(&self, shrink: f64, power: f64) -> Vec<f64> {
        let classes = self.believed.iter().zip(&self.labeled).zip(&self.origins[0].mean);
        below_top(classes.map(|((believed, labeled), rows)| {
            let ratio = 1.0 + shrink * (rows / labeled - 1.0);
            believed + power * ratio.max(LEAST_RATIO).ln()
        }))
    }
}

/// T.
fn heat(origin: &Origin, ratio: f64) -> f64 {
    (origin.typical * ratio).max(LEAST_HEAT)
}

/// Values less the largest one; the smallest in the place of those that are not finite.
fn below_top(values: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let finite = || values.clone().filter(|value| value.is_finite());
    let (top, low) = (finite().fold(f64::NEG_INFINITY, f64::max), finite().fold(f64::INFINITY, f64::min));
    values.map(|value| if value.is_finite() { value } else { low } - top).collect()
}

/// ln p̂ less its mean over the classes with labels, as far as counts differ by more than chance (c); −∞ for classes without labels.
fn believed(counts: &[usize], shares: &[f64]) -> Vec<f64> {
    let present = || (0..counts.len()).filter(|&class| counts[class] > 0);
    let c = present().count() as f64;
    let mean = present().map(|class| counts[class] as f64).sum::<f64>() / c;
    let statistic: f64 = present().map(|class| (counts[class] as f64 - mean).powi(2) / mean).sum();
    let chance = CAUTION * (c - 1.0);
    let belief = if statistic > chance { 1.0 - chance / statistic } else { 0.0 };
    let typical = present().map(|class| shares[class].ln()).sum::<f64>() / c;
    let log_share = |&share: &f64| if share > 0.0 { belief * (share.ln() - typical) } else { f64::NEG_INFINITY };
    shares.iter().map(log_share).collect()
}

/// −log share of the class; −∞ standings have no share.
fn loss(standing: &[f64], class: usize, cold: f64, shares: &[f64], scratch: &mut Vec<f64>) -> f64 {
    scratch.clear();
    scratch.extend(standing.iter().zip(shares).map(|(s, share)| s * cold + share));
    let (own, top) = (scratch[class], scratch.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    scratch.iter_mut().for_each(|value| *value -= top);
    exponentials(scratch);
    scratch.iter().sum::<f64>().ln() + top - own
}

/// Shares of the classes, given how many labels each has: shrunk to equal shares the more, the more the counts look like those of
/// equal classes. 0 for classes without labels.
fn posterior_shares(counts: &[usize]) -> Vec<f64> {
    let c = counts.iter().filter(|count| **count > 0).count() as f64;
    let total = counts.iter().sum::<usize>() as f64;
    let (least, factor, number) = CONCENTRATIONS;
    let concentrations = (0..number).map(|step| least * factor.powi(step));
    let known = || counts.iter().filter(|count| **count > 0).map(|&count| count as f64);
    let likelihood = |a: f64| known().map(|count| log_rising(a, count)).sum::<f64>() - log_rising(c * a, total);
    let likelihoods: Vec<(f64, f64)> = concentrations.map(|a| (a, likelihood(a))).collect();
    let top = likelihoods.iter().fold(f64::NEG_INFINITY, |top, (_, value)| top.max(*value));
    let mut shares = vec![0.0; counts.len()];
    let mut weights = 0.0;
    for (a, value) in likelihoods {
        let weight = (value - top).exp();
        weights += weight;
        let present = shares.iter_mut().zip(counts).filter(|(_, count)| **count > 0);
        present.for_each(|(share, &count)| *share += weight * (count as f64 + a) / (total + c * a));
    }
    shares.iter_mut().for_each(|share| *share /= weights);
    shares
}

/// ln a(a + 1)…(a + n − 1), to about 1e-6.
fn log_rising(a: f64, n: f64) -> f64 {
    // Stirling's series for ln Γ at x ≥ 8, after the first factors.
    let log_gamma = |x: f64| (x - 0.5) * x.ln() - x + (12.0 * x).recip() - (360.0 * x.powi(3)).recip();
    let first = n.min(8.0);
    let product: f64 = (0..first as usize).map(|i| (a + i as f64).ln()).sum();
    if n > first { product + log_gamma(a + n) - log_gamma(a + first) } else { product }
}

#[cfg(test)]
mod tests {
    use lapwing_core::Matrix;

    use super::*;

    #[test]
    fn shares_are_shrunk_to_equal_ones_by_what_counts_say() {
        let equal = posterior_shares(&[5, 0, 5]);
        assert!((equal[0] - 0.5).abs() < 1e-12 && equal[1] == 0.0);
        // Few labels say little, many say all; counts as random draws from equal classes have them say next to nothing.
        let (few, many) = (posterior_shares(&[3, 1]), posterior_shares(&[300, 100]));
        assert!(few[0] > 0.55 && few[0] < 0.7 && many[0] > 0.74, "{few:?} {many:?}");
        let noise = posterior_shares(&[4, 6, 5, 3, 7, 5, 4, 6, 5, 5]);
        assert!(noise.iter().all(|share| (share - 0.1).abs() < 0.01), "{noise:?}");
    }

    #[test]
    fn counts_are_believed_as_far_as_they_are_no_chance() {
        let believed = |counts: &[usize]| believed(counts, &posterior_shares(counts));
        // 6 to 4, 7 to 3: so do the labels of equal classes fall.
        assert!(believed(&[6, 4]).iter().chain(&believed(&[7, 3])).all(|log| *log == 0.0));
        let far = believed(&[90, 10]);
        assert!(far[0] - far[1] > 2.0 && far[0] - far[1] < 9f64.ln(), "{far:?}");
        let absent = believed(&[90, 0, 10]);
        assert!(absent[1] == f64::NEG_INFINITY && (absent[0] - far[0]).abs() < 1e-12);
    }

    #[test]
    fn rows_whose_class_is_settled_do_not_move_the_level() {
        // Most rows lie near (.6, .4); a part whose labels are all of the second class has nothing open.
        let main =
            || (0..90).flat_map(|row| [0.6 + 0.01 * f64::from(row % 3 - 1), 0.4 - 0.01 * f64::from(row % 3 - 1)]);
        let alone = Matrix::new(90, 2, main().collect()).unwrap();
        let both = Matrix::new(100, 2, main().chain((0..10).flat_map(|_| [0.0, 1.0])).collect()).unwrap();
        assert!((row_mean(&both)[0] - 0.54).abs() < 1e-9);
        assert!((open_mean(&both)[0] - open_mean(&alone)[0]).abs() < 1e-9);
    }

    #[test]
    fn products_are_those_of_their_factors() {
        for (a, n) in [(0.5, 3), (0.5, 40), (7.3, 200), (600.0, 9)] {
            let exact: f64 = (0..n).map(|i| (a + f64::from(i)).ln()).sum();
            assert!((log_rising(a, f64::from(n)) - exact).abs() < 1e-6, "{a} {n}");
        }
    }
}
