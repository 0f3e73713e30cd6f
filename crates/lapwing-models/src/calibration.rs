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
//! of the held-out rows is at most (right + 1) / (rows + 2), Laplace's estimate of the accuracy.
//!
//! With few labels the result is noise, so the typical temperature stays and the report says that confidence is a guess.

use lapwing_data::{Matrix, Report, Targets};
use serde_json::json;

use crate::Rule;
use crate::class_sizes::label_counts;
use crate::held_out::Standings;
use crate::labeling::{largest, margin, typical_temperature};

/// Fewest labels per class, on average, to fit a temperature.
pub(crate) const LEAST_TO_FIT: usize = 5;
/// Standard deviation of ln T around the typical one, before labels are seen.
const SPREAD: f64 = 2.0;
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
        (Some(held_out), _) => Some(fitted_temperature(&held_out.pairs(), typical_temperature(rule, scores))),
        (None, Fallback::Shares) => None,
        (None, Fallback::One) => Some(1.0),
        (None, Fallback::Typical) => Some(typical_temperature(rule, scores)),
    };
    if let Some(temperature) = rule.temperature {
        report.choose("temperature", temperature);
    }
    note(report, targets, enough.is_some());
}

/// Whether labels are enough to fit a temperature.
pub(crate) fn has_enough(targets: &Targets) -> bool {
    let counts = label_counts(targets);
    let n_classes = counts.iter().filter(|count| **count > 0).count();
    n_classes > 1 && counts.iter().sum::<usize>() >= LEAST_TO_FIT * n_classes
}

/// Adds to the report whether confidence was fitted to held-out labels, and if not, why.
pub(crate) fn note(report: &mut Report, targets: &Targets, is_fitted: bool) {
    let reason = match (is_fitted, has_enough(targets)) {
        (true, _) => None,
        (false, false) => Some(format!("fewer than {LEAST_TO_FIT} labels a class")),
        (false, true) => Some("no label was held out".to_string()),
    };
    report.parts.insert(PART.into(), json!({ "is_guess": !is_fitted, "reason": reason }));
}

/// The temperature for held-out standings and classes; `typical` is that of the scores of all rows. Rows of NaN, which no label
/// reaches, and rows whose class has no other label take no part.
pub(crate) fn fitted_temperature(held_out: &[(&[f64], usize)], typical: f64) -> f64 {
    let is_known = |(standing, class): &&(&[f64], usize)| {
        !standing.iter().any(|s| s.is_nan()) && standing[*class].is_finite() && margin(standing) > 0.0
    };
    let rows: Vec<&(&[f64], usize)> = held_out.iter().filter(is_known).collect();
    if rows.is_empty() {
        return typical;
    }
    // −log share of the class, and the largest share.
    let terms = |row: &(&[f64], usize), t: f64| {
        let (standing, class) = row;
        let top = standing.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = standing.iter().map(|s| ((s - top) / t).exp()).sum();
        (total.ln() - (standing[*class] - top) / t, 1.0 / total)
    };
    let penalty = |log_t: f64| ((log_t - typical.ln()) / SPREAD).powi(2) / 2.0;
    let loss = |log_t: f64| rows.iter().map(|row| terms(row, log_t.exp()).0).sum::<f64>() + penalty(log_t);
    let confidence = |log_t: f64| rows.iter().map(|row| terms(row, log_t.exp()).1).sum::<f64>() / rows.len() as f64;
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (least, most) = (typical.ln() - 12.0, typical.ln() + 12.0);
    let (mut low, mut high) = (least, most);
    while high - low > 1e-3 {
        let (a, b) = (high - ratio * (high - low), low + ratio * (high - low));
        if loss(a) <= loss(b) { high = b } else { low = a }
    }
    let right = rows.iter().filter(|(standing, class)| largest(standing) == *class).count() as f64;
    let ceiling = (right + 1.0) / (rows.len() as f64 + 2.0);
    let (mut low, mut high) = ((low + high) / 2.0, most);
    if confidence(low) <= ceiling {
        return low.exp();
    }
    while high - low > 1e-3 {
        let middle = (low + high) / 2.0;
        if confidence(middle) > ceiling { low = middle } else { high = middle }
    }
    high.exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(margin: f64, temperature: f64) -> f64 {
        1.0 / (1.0 + (-margin / temperature).exp())
    }

    #[test]
    fn the_fitted_temperature_makes_confidence_true() {
        // 80 of 100 rows are right with a margin of 1: the share must be 0.8.
        let standing = [1.0, 0.0];
        let held_out: Vec<(&[f64], usize)> = (0..100).map(|i| (&standing[..], usize::from(i % 5 == 0))).collect();
        let found = share(1.0, fitted_temperature(&held_out, 0.5));
        // Laplace's estimate of 80 in 100 is 81 in 102.
        assert!((found - 81.0 / 102.0).abs() < 2e-3, "{found}");
        let all_right: Vec<(&[f64], usize)> = (0..8).map(|_| (&standing[..], 0)).collect();
        let found = share(1.0, fitted_temperature(&all_right, 0.5));
        assert!((found - 0.9).abs() < 2e-3, "{found}");
    }

    #[test]
    fn rows_that_say_nothing_take_no_part() {
        let (unreached, alone) = ([f64::NAN, f64::NAN], [0.3, f64::NEG_INFINITY]);
        assert_eq!(fitted_temperature(&[(&unreached, 0), (&alone, 1)], 0.25), 0.25);
        let known = [1.0, 0.0];
        let few: Vec<(&[f64], usize)> = vec![(&known, 0), (&known, 0), (&known, 1)];
        let more: Vec<(&[f64], usize)> = few.iter().copied().chain([(&unreached[..], 0), (&alone[..], 1)]).collect();
        assert_eq!(fitted_temperature(&few, 0.5), fitted_temperature(&more, 0.5));
    }

    #[test]
    fn scores_of_any_size_give_the_same_confidence() {
        let rows: Vec<[f64; 2]> = (0..40).map(|i| [f64::from(i % 7) / 7.0, 0.3]).collect();
        let of = |scale: f64| {
            let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().map(|s| s * scale).collect()).collect();
            let pairs: Vec<(&[f64], usize)> = rows.iter().enumerate().map(|(i, row)| (&row[..], i % 3 / 2)).collect();
            fitted_temperature(&pairs, 0.2 * scale) / scale
        };
        assert!((of(1e-9) / of(1.0) - 1.0).abs() < 1e-6 && (of(1e9) / of(1.0) - 1.0).abs() < 1e-6);
    }
}
