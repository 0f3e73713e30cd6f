//! Confidence that is a probability: the temperature of a rule, fitted to held-out rows.
//!
//! The temperature minimizes
//!
//! ```text
//! Σ over held-out rows of −log share(own class) + (ln T − ln T₀)² / (2·SPREAD²)
//! ```
//!
//! where T₀, the typical temperature, gives the median row a confidence of 0.9. The second term decides only if all held-out rows are
//! right, or nearly none: then the sum alone asks for full confidence, or for none. After that T is raised until the mean confidence
//! of the held-out rows is at most a quarter of a standard error above (right + 1) / (rows + 2), Laplace's estimate of the accuracy.
//!
//! A flattened rule, whose temperature grows with the root of a row's margin, is fitted too; the one of smaller minimum is taken.
//!
//! With few labels the result is noise, so the typical temperature stays and the report says that confidence is a guess.

use lapwing_core::hash::uniform;
use lapwing_core::{Matrix, Report, Result, Targets};
use serde_json::json;

use crate::Rule;
use crate::core::counts::label_counts;
use crate::core::held_out::Standings;
use crate::core::labeling::{typical_logit, typical_temperature};
use crate::core::scores::{exponentials, largest, margin};

/// Fewest labels per class, on average, to fit a temperature.
pub(crate) const LEAST_TO_FIT: usize = 5;
/// Standard deviation of ln T around the typical one, before labels are seen.
const SPREAD: f64 = 2.0;
/// Largest |ln(T / T₀)|.
const WIDEST: f64 = 12.0;
/// Standard errors by which the mean confidence of held-out rows may exceed their accuracy.
const ERRORS: f64 = 0.25;
/// Values (rows × classes) to which a temperature is fitted, at most: the fit reads them some sixty times.
const MOST_VALUES: usize = 1 << 20;
/// Values whose exponentials are taken together.
const BLOCK_VALUES: usize = 4096;
/// Name of the part of the report that says whether confidence is a guess.
const PART: &str = "confidence";

/// The temperature if none can be fitted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fallback {
    /// None: the scores are shares.
    Shares,
    /// 1: the scores are log-probabilities.
    One,
    /// The typical temperature of the scores.
    Typical,
}

/// Gives `rule` the temperature for `scores` (n, c): fitted to held-out rows if there are any and labels are enough. The report states
/// it, and whether it is a guess.
pub(crate) fn calibrate(
    rule: &mut Rule,
    scores: &Matrix,
    held_out: Option<&Standings>,
    fallback: Fallback,
    targets: &Targets,
    report: &mut Report,
) {
    let enough = held_out.filter(|_| has_enough(targets));
    rule.temperature = match (enough, fallback) {
        (None, Fallback::Shares) => None,
        (None, Fallback::One) => Some(1.0),
        _ => Some(typical_temperature(rule, scores)),
    };
    if let (Some(held_out), Some(typical)) = (enough, rule.temperature) {
        Sharpness::fitted(&held_out.pairs(), typical, typical_logit(rule)).apply(rule, typical);
    }
    if let Some(temperature) = rule.temperature {
        report.choose("temperature", temperature);
    }
    note(report, targets, enough.is_some());
}

/// The rule by the largest score, at the temperature that fits held-out standings where labels are enough, and at `otherwise` where
/// they are not.
pub(crate) fn fitted_rule(held_out: &Standings, targets: &Targets, otherwise: Option<f64>) -> Result<Rule> {
    let mut rule = Rule { temperature: otherwise, ..Rule::largest(targets.mean()) };
    if has_enough(targets) {
        let values = held_out.values.iter().flatten().copied().collect();
        let typical = typical_temperature(&rule, &Matrix::new(held_out.rows.len(), rule.scale.len(), values)?);
        Sharpness::fitted(&held_out.pairs(), typical, typical_logit(&rule)).apply(&mut rule, typical);
    }
    Ok(rule)
}

/// Whether labels are enough to fit a temperature.
pub(crate) fn has_enough(targets: &Targets) -> bool {
    let counts = label_counts(targets);
    let n_classes = counts.iter().filter(|count| **count > 0).count();
    n_classes > 1 && counts.iter().sum::<usize>() >= LEAST_TO_FIT * n_classes
}

/// Adds to the report whether confidence was fitted to held-out labels, and if not, why.
pub(crate) fn note(report: &mut Report, targets: &Targets, is_fitted: bool) {
    let has_one_class = label_counts(targets).iter().filter(|count| **count > 0).count() == 1;
    let reason = match (is_fitted, has_enough(targets)) {
        (true, _) => None,
        (false, _) if has_one_class => Some("all labels are of one class".to_string()),
        (false, false) => Some(format!("fewer than {LEAST_TO_FIT} labels per class")),
        (false, true) => Some("this fit held out no labels to compare it with".to_string()),
    };
    report.parts.insert(PART.into(), json!({ "is_guess": !is_fitted, "reason": reason }));
}

/// A fitted temperature in units that do not depend on the size of scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sharpness {
    /// The temperature over the typical one.
    pub ratio: f64,
    /// Whether the temperature of a row grows with the root of its margin; at the typical margin it is that of a rule that is not
    /// flattened.
    pub flattened: bool,
}

impl Sharpness {
    /// The sharpness for held-out standings and classes. `typical` is the typical temperature of the scores of all rows, `logit` the
    /// typical margin over it. Rows of NaN, which no label reaches, and rows whose class has no other label take no part.
    pub fn fitted(held_out: &[(&[f64], usize)], typical: f64, logit: f64) -> Self {
        let is_known = |(standing, class): &&(&[f64], usize)| {
            !standing.iter().any(|s| s.is_nan()) && standing[*class].is_finite() && margin(standing) > 0.0
        };
        let mut rows: Vec<&(&[f64], usize)> = held_out.iter().filter(is_known).collect();
        let values: usize = rows.iter().map(|(standing, _)| standing.len()).sum();
        if values > MOST_VALUES {
            // One number is fitted: a part of the rows tells it well enough.
            let (mut at, share) = (0u64, MOST_VALUES as f64 / values as f64);
            rows.retain(|_| {
                at += 1;
                uniform(at) < share
            });
        }
        if rows.is_empty() {
            return Self { ratio: 1.0, flattened: false };
        }
        let flat = |standing: &[f64]| (margin(standing) / (typical * logit)).sqrt();
        let fit = |flattened: bool| {
            let unit = |standing: &[f64]| typical * if flattened { flat(standing) } else { 1.0 };
            let scaled = rows.iter().map(|(standing, class)| {
                let unit = unit(standing);
                (standing.iter().map(move |s| s / unit), *class)
            });
            Fit::new(scaled)
        };
        let (plain, flattened) = (fit(false), fit(true));
        let best = if flattened.loss < plain.loss { &flattened } else { &plain };
        Self { ratio: best.log_ratio.exp(), flattened: flattened.loss < plain.loss }
    }

    /// Gives `rule` this temperature for scores whose typical temperature is `typical`.
    pub fn apply(self, rule: &mut Rule, typical: f64) {
        rule.flattened = self.flattened;
        let unit = if self.flattened { (typical * typical_logit(rule)).sqrt() } else { 1.0 };
        rule.temperature = Some((typical * self.ratio / unit).max(f64::MIN_POSITIVE));
    }
}

/// A temperature fitted to standings in units of the typical temperature.
struct Fit {
    log_ratio: f64,
    /// The minimum, before the temperature is raised.
    loss: f64,
}

impl Fit {
    fn new(rows: impl Iterator<Item = (impl Iterator<Item = f64>, usize)>) -> Self {
        let rows = Logs::new(rows);
        let penalty = |log_t: f64| (log_t / SPREAD).powi(2) / 2.0;
        let loss = |log_t: f64| rows.losses(log_t.exp(), |_| None).sum::<f64>() + penalty(log_t);
        let n = rows.classes.len() as f64;
        let confidence = |log_t: f64| rows.totals(log_t.exp(), |_| None).map(f64::recip).sum::<f64>() / n;
        let best = golden_section((-WIDEST, WIDEST), loss);
        let found = loss(best);
        let right = rows.n_right() as f64;
        let accuracy = (right + 1.0) / (n + 2.0);
        let ceiling = accuracy + ERRORS * (accuracy * (1.0 - accuracy) / (n + 2.0)).sqrt();
        if confidence(best) <= ceiling {
            return Self { log_ratio: best, loss: found };
        }
        let (mut low, mut high) = (best, WIDEST);
        while high - low > 1e-3 {
            let middle = (low + high) / 2.0;
            if confidence(middle) > ceiling { low = middle } else { high = middle }
        }
        Self { log_ratio: high, loss: found }
    }
}

/// Logarithms of rows (l, c), less the largest of each row, and the class of each row: to be read at many temperatures.
pub(crate) struct Logs {
    c: usize,
    values: Vec<f64>,
    classes: Vec<usize>,
}

impl Logs {
    pub fn new(rows: impl Iterator<Item = (impl Iterator<Item = f64>, usize)>) -> Self {
        let (mut values, mut classes, mut begin) = (Vec::new(), Vec::new(), 0);
        for (row, class) in rows {
            values.extend(row);
            let own = &mut values[begin..];
            let top = own.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            own.iter_mut().for_each(|value| *value -= top);
            classes.push(class);
            begin = values.len();
        }
        Self { c: (values.len() / classes.len().max(1)).max(1), values, classes }
    }

    /// Rows whose class has the largest value, the first of equal ones.
    fn n_right(&self) -> usize {
        self.values.chunks_exact(self.c).zip(&self.classes).filter(|(row, class)| largest(row) == **class).count()
    }

    /// Σ sᵢ·exp(valueᵢ / T) of each row (l), with the factors s (c) of the row, or with 1.
    pub fn totals<'s>(
        &self,
        temperature: f64,
        factors: impl Fn(usize) -> Option<&'s [f64]>,
    ) -> impl Iterator<Item = f64> {
        let (cold, n_rows) = (temperature.recip().min(f64::MAX), (BLOCK_VALUES / self.c).max(1));
        let mut block = Vec::new();
        let blocks = self.values.chunks(n_rows * self.c).enumerate();
        blocks.flat_map(move |(at, values)| {
            block.clear();
            block.extend(values.iter().map(|value| value * cold));
            exponentials(&mut block);
            let total = |(row, own): (usize, &[f64])| match factors(at * n_rows + row) {
                Some(factors) => in_lanes(own.iter().zip(factors).map(|(e, s)| e * s)),
                None => in_lanes(own.iter().copied()),
            };
            block.chunks_exact(self.c).enumerate().map(total).collect::<Vec<f64>>()
        })
    }

    /// −log of the share sᵧ·exp(valueᵧ / T) / Σ sᵢ·exp(valueᵢ / T) of the class y of each row (l), but for log sᵧ.
    pub fn losses<'s>(
        &self,
        temperature: f64,
        factors: impl Fn(usize) -> Option<&'s [f64]>,
    ) -> impl Iterator<Item = f64> {
        let own =
            self.values.chunks_exact(self.c).zip(&self.classes).map(move |(row, &class)| row[class] / temperature);
        self.totals(temperature, factors).zip(own).map(|(total, own)| total.ln() - own)
    }
}

/// The sum of values, in four lanes, so that an addition need not wait for the one before.
fn in_lanes(values: impl Iterator<Item = f64>) -> f64 {
    let mut sums = [0.0; 4];
    values.enumerate().for_each(|(at, value)| sums[at % 4] += value);
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// Where a function is least that first falls, then rises, between two places; to half of 1e-3.
pub(crate) fn golden_section((mut low, mut high): (f64, f64), function: impl Fn(f64) -> f64) -> f64 {
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (mut a, mut b) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_a, mut at_b) = (function(a), function(b));
    while high - low > 1e-3 {
        if at_a <= at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - ratio * (high - low);
            at_a = function(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + ratio * (high - low);
            at_b = function(b);
        }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGIT: f64 = 2.197_224_577_336_22; // ln 9

    fn rule() -> Rule {
        Rule {
            offset: vec![0.0; 2],
            scale: vec![1.0; 2],
            temperature: None,
            flattened: false,
            venn_abers: None,
            prior: vec![0.5; 2],
        }
    }

    /// Confidence of a row of these standings after a fit to `held_out`.
    fn confidence(held_out: &[(&[f64], usize)], typical: f64, standing: &[f64]) -> f64 {
        let mut rule = rule();
        Sharpness::fitted(held_out, typical, LOGIT).apply(&mut rule, typical);
        rule.decide(std::sync::Arc::new(Matrix::new(1, 2, standing.to_vec()).unwrap())).confidence[0]
    }

    #[test]
    fn the_fitted_temperature_makes_confidence_true() {
        let standing = [1.0, 0.0];
        let held_out: Vec<(&[f64], usize)> = (0..100).map(|i| (&standing[..], usize::from(i % 5 == 0))).collect();
        let found = confidence(&held_out, 0.5, &standing);
        assert!((found - 0.8).abs() < 0.005, "{found}");
        // Nine in ten is Laplace's estimate if eight of eight are right.
        let all_right: Vec<(&[f64], usize)> = (0..8).map(|_| (&standing[..], 0)).collect();
        let found = confidence(&all_right, 0.1, &standing);
        assert!(found > 0.9 && found < 0.93, "{found}");
    }

    #[test]
    fn rows_that_say_nothing_take_no_part() {
        let (unreached, alone) = ([f64::NAN, f64::NAN], [0.3, f64::NEG_INFINITY]);
        let none = Sharpness::fitted(&[(&unreached, 0), (&alone, 1)], 0.25, LOGIT);
        assert_eq!(none, Sharpness { ratio: 1.0, flattened: false });
        let known = [1.0, 0.0];
        let few: Vec<(&[f64], usize)> = vec![(&known, 0), (&known, 0), (&known, 1)];
        let more: Vec<(&[f64], usize)> = few.iter().copied().chain([(&unreached[..], 0), (&alone[..], 1)]).collect();
        assert_eq!(Sharpness::fitted(&few, 0.5, LOGIT), Sharpness::fitted(&more, 0.5, LOGIT));
    }

    #[test]
    fn margins_that_say_little_are_flattened() {
        // Margins from 0.01 to 10, and every fifth row is wrong, whatever its margin.
        let rows: Vec<[f64; 2]> = (0..200).map(|i| [10f64.powf(f64::from(i % 31) / 10.0 - 2.0), 0.0]).collect();
        let pairs: Vec<(&[f64], usize)> =
            rows.iter().enumerate().map(|(i, row)| (&row[..], usize::from(i % 5 == 0))).collect();
        assert!(Sharpness::fitted(&pairs, 0.2, LOGIT).flattened);
        // Errors as a plain temperature has them: share of right ones 1 / (1 + exp(−margin)).
        let is_wrong = |i: usize, margin: f64| (i / 31) as f64 + 0.5 > 20.0 / (1.0 + (-margin).exp());
        let rows: Vec<[f64; 2]> = (0..620).map(|i| [(i % 31) as f64 / 5.0, 0.0]).collect();
        let pairs: Vec<(&[f64], usize)> =
            rows.iter().enumerate().map(|(i, row)| (&row[..], usize::from(is_wrong(i, row[0])))).collect();
        assert!(!Sharpness::fitted(&pairs, 1.4, LOGIT).flattened);
    }

    #[test]
    fn scores_of_any_size_give_the_same_confidence() {
        let rows: Vec<[f64; 2]> = (0..40).map(|i| [f64::from(i % 7) / 7.0, 0.3]).collect();
        let of = |scale: f64| {
            let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().map(|s| s * scale).collect()).collect();
            let pairs: Vec<(&[f64], usize)> = rows.iter().enumerate().map(|(i, row)| (&row[..], i % 3 / 2)).collect();
            confidence(&pairs, 0.2 * scale, &[0.6 * scale, 0.3 * scale])
        };
        assert!((of(1e-9) - of(1.0)).abs() < 1e-6 && (of(1e9) - of(1.0)).abs() < 1e-6);
    }
}
