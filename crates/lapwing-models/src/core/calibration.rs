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
use lapwing_core::{Matrix, Report, Targets};
use serde_json::json;

use crate::Rule;
use crate::core::counts::{has_mean, label_counts, n_present};
use crate::core::held_out::Standings;
use crate::core::rule::{typical_logit, typical_temperature};
use crate::core::scores::margin;
use crate::core::temperature::{Logs, PRECISION};

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
        Sharpness::fitted(held_out, typical, rule).apply(rule, typical);
    }
    if let Some(temperature) = rule.temperature {
        report.choose("temperature", temperature);
    }
    note(report, targets, enough.is_some());
}

/// The rule by the largest score, at the temperature that fits held-out standings where labels are enough, and at `otherwise` where
/// they are not.
pub(crate) fn fitted_rule(held_out: &Standings, targets: &Targets, otherwise: Option<f64>) -> Rule {
    let mut rule = Rule { temperature: otherwise, ..Rule::largest(targets.mean()) };
    if has_enough(targets) {
        let typical = typical_temperature(&rule, &held_out.values);
        Sharpness::fitted(held_out, typical, &rule).apply(&mut rule, typical);
    }
    rule
}

/// Shares (l, c) of labels that were held out, at the temperature that fits them, as a fit decides; rows of NaN stay.
pub(crate) fn as_decided(shares: &Matrix, targets: &Targets) -> Matrix {
    let standings = Standings::of_shares(targets, shares);
    let rule = fitted_rule(&standings, targets, Some(1.0));
    let held_out = standings.shares(&rule);
    let mut all = Matrix::filled(shares.n_rows(), shares.n_cols(), f64::NAN);
    for (row, shares) in held_out.rows.iter().zip(held_out.shares.rows()) {
        all.row_mut(targets.rows().partition_point(|other| other < row)).copy_from_slice(shares);
    }
    all
}

/// Whether labels are enough to fit a temperature.
pub(crate) fn has_enough(targets: &Targets) -> bool {
    has_mean(targets, LEAST_TO_FIT)
}

/// Adds to the report whether confidence was fitted to held-out labels, and if not, why.
pub(crate) fn note(report: &mut Report, targets: &Targets, is_fitted: bool) {
    let has_one_class = n_present(&label_counts(targets)) == 1;
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
    /// The sharpness for held-out standings, compared by `rule`. `typical` is the typical temperature of the scores of all rows. Rows of
    /// NaN, which no label reaches, and rows whose class has no other label take no part.
    pub fn fitted(held_out: &Standings, typical: f64, rule: &Rule) -> Self {
        let is_known = |(standing, class): &(&[f64], usize)| {
            !standing.iter().any(|s| s.is_nan()) && standing[*class].is_finite() && margin(standing) > 0.0
        };
        let mut rows: Vec<(&[f64], usize)> = held_out.pairs().filter(is_known).collect();
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
        let logit = typical_logit(rule);
        let flat = |standing: &[f64]| (margin(standing) / (typical * logit)).sqrt();
        let fit = |flattened: bool| {
            let scaled = rows.iter().map(|(standing, class)| {
                let unit = typical * if flattened { flat(standing) } else { 1.0 };
                (standing.iter().map(move |s| s / unit), *class)
            });
            let rows = Logs::new(scaled, Vec::new());
            let best = rows.minimum((-WIDEST, WIDEST), SPREAD);
            (raised(&rows, best), rows.total(best, SPREAD))
        };
        let (plain, flattened) = (fit(false), fit(true));
        let is_flattened = flattened.1 < plain.1;
        Self { ratio: if is_flattened { flattened.0 } else { plain.0 }.exp(), flattened: is_flattened }
    }

    /// Gives `rule` this temperature for scores whose typical temperature is `typical`.
    pub fn apply(self, rule: &mut Rule, typical: f64) {
        rule.flattened = self.flattened;
        let unit = if self.flattened { (typical * typical_logit(rule)).sqrt() } else { 1.0 };
        rule.temperature = Some((typical * self.ratio / unit).max(f64::MIN_POSITIVE));
    }
}

/// The logarithm of a temperature, raised from `best` until the mean confidence is about the accuracy.
fn raised(rows: &Logs<'_>, best: f64) -> f64 {
    let n = rows.len() as f64;
    let accuracy = (rows.n_right() as f64 + 1.0) / (n + 2.0);
    let ceiling = accuracy + ERRORS * (accuracy * (1.0 - accuracy) / (n + 2.0)).sqrt();
    let is_above = |log_t: f64| rows.totals(log_t.exp()).map(f64::recip).sum::<f64>() / n > ceiling;
    if !is_above(best) {
        return best;
    }
    let (mut low, mut high) = (best, WIDEST);
    while high - low > PRECISION {
        let middle = (low + high) / 2.0;
        if is_above(middle) { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HeldOutSource;

    fn rule() -> Rule {
        Rule::largest(vec![0.5; 2])
    }

    /// The sharpness that fits rows and their classes.
    fn fitted(rows: &[(&[f64], usize)], typical: f64) -> Sharpness {
        let values = rows.iter().flat_map(|(row, _)| row.to_vec()).collect();
        let held_out = Standings {
            rows: (0..rows.len() as u32).collect(),
            classes: rows.iter().map(|(_, class)| *class as u32).collect(),
            values: Matrix::new(rows.len(), 2, values).unwrap(),
            source: HeldOutSource::LeaveOneOut,
        };
        Sharpness::fitted(&held_out, typical, &rule())
    }

    /// Confidence of a row of these standings after a fit to `held_out`.
    fn confidence(held_out: &[(&[f64], usize)], typical: f64, standing: &[f64]) -> f64 {
        let mut rule = rule();
        fitted(held_out, typical).apply(&mut rule, typical);
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
        let none = fitted(&[(&unreached, 0), (&alone, 1)], 0.25);
        assert_eq!(none, Sharpness { ratio: 1.0, flattened: false });
        let known = [1.0, 0.0];
        let few: Vec<(&[f64], usize)> = vec![(&known, 0), (&known, 0), (&known, 1)];
        let more: Vec<(&[f64], usize)> = few.iter().copied().chain([(&unreached[..], 0), (&alone[..], 1)]).collect();
        assert_eq!(fitted(&few, 0.5), fitted(&more, 0.5));
    }

    #[test]
    fn margins_that_say_little_are_flattened() {
        // Margins from 0.01 to 10, and every fifth row is wrong, whatever its margin.
        let rows: Vec<[f64; 2]> = (0..200).map(|i| [10f64.powf(f64::from(i % 31) / 10.0 - 2.0), 0.0]).collect();
        let pairs: Vec<(&[f64], usize)> =
            rows.iter().enumerate().map(|(i, row)| (&row[..], usize::from(i % 5 == 0))).collect();
        assert!(fitted(&pairs, 0.2).flattened);
        // Errors as a plain temperature has them: share of right ones 1 / (1 + exp(−margin)).
        let is_wrong = |i: usize, margin: f64| (i / 31) as f64 + 0.5 > 20.0 / (1.0 + (-margin).exp());
        let rows: Vec<[f64; 2]> = (0..620).map(|i| [(i % 31) as f64 / 5.0, 0.0]).collect();
        let pairs: Vec<(&[f64], usize)> =
            rows.iter().enumerate().map(|(i, row)| (&row[..], usize::from(is_wrong(i, row[0])))).collect();
        assert!(!fitted(&pairs, 1.4).flattened);
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
