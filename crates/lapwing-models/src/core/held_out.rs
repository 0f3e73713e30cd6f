//! Held-out rows: labeled rows whose scores did not see their own label. Candidates are chosen by their losses, confidence is fitted to
//! their class shares, and the accuracy on rows without a label is estimated from them.

use lapwing_core::{Matrix, Result, Run, Targets};
use serde::{Deserialize, Serialize};

use super::labeling::Rule;
use crate::core::folds::{FOLDS, folds};
use crate::core::scores::{largest, present, to_sum_one};

/// How labels were held out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum HeldOutSource {
    /// Each label alone.
    LeaveOneOut,
    /// That many parts of the labels in turn.
    Folds(usize),
}

/// Labeled rows with class shares from scores that did not see their label.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HeldOut {
    /// Rows, ascending (q).
    pub rows: Vec<u32>,
    /// Their given classes (q).
    pub classes: Vec<u32>,
    /// Class shares (q, c): rows sum to 1. The prior where no other label reaches the row.
    pub shares: Matrix,
    /// How the labels were held out.
    pub source: HeldOutSource,
    /// Standings of which the shares were made (q); empty if they are unknown.
    pub(crate) values: Vec<Vec<f64>>,
}

impl HeldOut {
    /// The same at other rows: `place` gives the new row of each.
    pub(crate) fn at(mut self, place: impl Fn(u32) -> u32) -> Self {
        self.rows.iter_mut().for_each(|row| *row = place(*row));
        self
    }

    /// The class of largest share of each row (q).
    pub fn predicted(&self) -> Vec<u32> {
        self.shares.rows().map(|shares| largest(shares) as u32).collect()
    }

    /// Share of the largest class of each row (q).
    pub fn confidence(&self) -> Vec<f64> {
        self.shares.rows().map(|shares| shares[largest(shares)]).collect()
    }

    /// The shares after the offsets of the rule moved from those of `before` to those of `after`.
    pub(crate) fn moved(self, before: &Rule, after: &Rule) -> Self {
        let Self { rows, classes, source, values, .. } = self;
        Standings { rows, classes, values, source }.moved(before, after).shares(after)
    }

    /// Whether the standings are known of which the shares were made: not where shares of several methods were mixed.
    pub(crate) fn has_standings(&self) -> bool {
        !self.values.is_empty()
    }

    /// Whether each row gets its given class (q).
    pub fn right(&self) -> Vec<bool> {
        self.predicted().iter().zip(&self.classes).map(|(found, given)| found == given).collect()
    }
}

/// Scores of held-out rows, as the rule of the fit compares them.
#[derive(Clone, Debug)]
pub(crate) struct Standings {
    /// Rows, ascending (q).
    pub rows: Vec<u32>,
    /// Their given classes (q).
    pub classes: Vec<u32>,
    /// Standings (c) of each row: −∞ for a class without any other label, NaN where no other label reaches the row.
    pub values: Vec<Vec<f64>>,
    pub source: HeldOutSource,
}

impl Standings {
    /// Scores (l, c) of all labels, each left out alone.
    pub fn left_out(targets: &Targets, scores: &Matrix) -> Self {
        let classes = targets.values().rows().map(|y| largest(y) as u32).collect();
        let (rows, values) = (targets.rows().to_vec(), scores.rows().map(<[f64]>::to_vec).collect());
        Self { rows, classes, values, source: HeldOutSource::LeaveOneOut }
    }

    /// Class shares at the temperature of `rule`; its prior where nothing reaches the row.
    pub fn shares(self, rule: &Rule) -> HeldOut {
        let Self { rows, classes, values, source } = self;
        let mut shares = Matrix::filled(values.len(), rule.scale.len(), 0.0);
        for at in 0..shares.n_rows() {
            let row = shares.row_mut(at);
            row.copy_from_slice(&values[at]);
            let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            match rule.temperature {
                _ if row.iter().any(|s| s.is_nan()) || !top.is_finite() => row.copy_from_slice(&rule.prior),
                Some(temperature) => {
                    let heat = rule.heat(row, temperature);
                    row.iter_mut().for_each(|s| *s = ((*s - top) / heat).exp());
                }
                None => row.iter_mut().for_each(|s| *s = s.max(0.0)),
            }
            to_sum_one(row);
            if let Some(calibration) = &rule.venn_abers {
                calibration.apply(row, largest(row));
            }
        }
        HeldOut { rows, classes, shares, source, values }
    }

    /// Standings and class of each row.
    pub fn pairs(&self) -> Vec<(&[f64], usize)> {
        self.values.iter().map(Vec::as_slice).zip(self.classes.iter().map(|&class| class as usize)).collect()
    }

    /// Standings of scores, compared by `rule`.
    pub fn compared(mut self, rule: &Rule) -> Self {
        for row in &mut self.values {
            let scores = std::mem::replace(row, vec![0.0; rule.scale.len()]);
            rule.standing(&scores, row);
            // A class without any other label stays excluded.
            row.iter_mut().zip(&scores).filter(|(_, s)| **s == f64::NEG_INFINITY).for_each(|(row, s)| *row = *s);
        }
        self
    }

    /// The standings after the offsets of the rule moved from those of `before` to those of `after`.
    pub fn moved(mut self, before: &Rule, after: &Rule) -> Self {
        let shifts =
            before.offset.iter().zip(&after.offset).zip(&after.scale).map(|((old, new), scale)| (old - new) * scale);
        let shifts: Vec<f64> = shifts.collect();
        self.values.iter_mut().for_each(|row| row.iter_mut().zip(&shifts).for_each(|(s, shift)| *s += shift));
        self
    }

    /// Holds out the labels of each fold in turn. `scores` gives the scores of the rows of its second argument when it is fitted to
    /// the first, with a part of the progress, and `rule` compares them. `None` if labels are too few, or shares of classes.
    pub fn by_folds(
        targets: &Targets,
        rule: &Rule,
        run: &Run,
        mut scores: impl FnMut(&Targets, &[u32], &Run) -> Result<Matrix>,
    ) -> Result<Option<Self>> {
        let Some(folds) = stratified(targets, run) else { return Ok(None) };
        let mut found: Vec<Option<Vec<f64>>> = vec![None; folds.len()];
        for fold in 0..FOLDS {
            run.check()?;
            let held: Vec<usize> = (0..folds.len()).filter(|&at| folds[at] == fold).collect();
            if held.is_empty() {
                continue;
            }
            let kept = targets.subset(|at| folds[at] != fold)?;
            let rows: Vec<u32> = held.iter().map(|&at| targets.rows()[at]).collect();
            // A class without any other label is never predicted.
            let scale = present(&kept.mean()).iter().zip(&rule.scale).map(|(present, scale)| present * scale).collect();
            let rule = Rule { scale, ..rule.clone() };
            let run = run.part_of(fold, FOLDS, &format!("fold {} of {FOLDS}", fold + 1));
            for (&at, scores) in held.iter().zip(scores(&kept, &rows, &run)?.rows()) {
                let mut standing = vec![0.0; scores.len()];
                rule.standing(scores, &mut standing);
                found[at] = Some(standing);
            }
        }
        let classes = targets.values().rows().map(|row| largest(row) as u32).collect();
        let values = found.into_iter().map(Option::unwrap_or_default).collect();
        Ok(Some(Self { rows: targets.rows().to_vec(), classes, values, source: HeldOutSource::Folds(FOLDS) }))
    }
}

/// The fold of each label (l), each with its part of every class; `None` if there are fewer than two labels a class on average, one
/// class only, or shares of classes.
pub(crate) fn stratified(targets: &Targets, run: &Run) -> Option<Vec<usize>> {
    if targets.values().rows().any(|y| y.iter().any(|share| *share != 0.0 && *share != 1.0)) {
        return None;
    }
    let classes: Vec<usize> = targets.values().rows().map(largest).collect();
    let mut counts = vec![0usize; targets.n_columns()];
    classes.iter().for_each(|&class| counts[class] += 1);
    let present: Vec<usize> = counts.into_iter().filter(|count| *count > 0).collect();
    let is_enough = present.len() > 1 && classes.len() >= 2 * present.len();
    is_enough.then(|| folds(&classes, targets.n_columns(), run))
}

/// The fold of labels that are never held out.
pub(crate) const NEVER: usize = usize::MAX;

/// Number of folds that are held out in turn.
pub(crate) fn n_folds(folds: &[usize]) -> usize {
    folds.iter().filter(|fold| **fold != NEVER).max().map_or(0, |most| most + 1)
}

/// Whether the mean of `losses` is below that of `than` on the same rows (l), by more than `errors` standard errors of the mean
/// difference.
pub(crate) fn is_better(losses: &[f64], than: &[f64], errors: f64) -> bool {
    // In a unit in which the largest is about 1: squares of squared errors may leave f64.
    let most = than.iter().zip(losses).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
    let unit = power_of_two(most);
    let differences: Vec<f64> = than.iter().zip(losses).map(|(a, b)| (a - b) / unit).collect();
    let l = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / l;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (l - 1.0).max(1.0);
    mean > errors * (variance / l).sqrt()
}

/// The power of two at or below a number; 1 for 0 and where there is none.
pub(crate) fn power_of_two(number: f64) -> f64 {
    let power = number.log2().floor().exp2();
    if power > 0.0 && power.is_finite() { power } else { 1.0 }
}

/// The candidate of least total loss (the first of equals) if it is better than candidate 0, the default, by more than `errors`
/// standard errors; otherwise 0.
pub(crate) fn choose(losses: &[Vec<f64>], errors: f64) -> usize {
    let total = |at: usize| losses[at].iter().sum::<f64>();
    let best = (1..losses.len()).fold(0, |best, at| if total(at) < total(best) { at } else { best });
    if best > 0 && is_better(&losses[best], &losses[0], errors) { best } else { 0 }
}

#[cfg(test)]
mod tests {
    use lapwing_core::{Features, Labels, Stream};
    use rand::RngExt;

    use super::*;
    use crate::method;
    use crate::{MethodParams, Problem, method_names};

    #[test]
    fn every_fold_is_fitted_without_its_labels() {
        let run = Run::new(Some(1), 0).unwrap();
        let labels =
            Labels::from_integers((0..30).map(|row| (row < 21).then_some(if row == 20 { 2 } else { row % 2 })));
        let targets = Targets::one_hot(&labels, None).unwrap();
        let rule = Rule::largest(targets.mean());
        let mut seen = 0;
        let found = Standings::by_folds(&targets, &rule, &run, |kept, rows, _| {
            assert!(rows.iter().all(|row| !kept.rows().contains(row)) && kept.rows().len() + rows.len() == 21);
            seen += rows.len();
            Matrix::new(rows.len(), 3, rows.iter().flat_map(|&row| [f64::from(row), 0.5, 0.25]).collect())
        });
        let found = found.unwrap().unwrap();
        assert_eq!((seen, found.rows.len(), found.source), (21, 21, HeldOutSource::Folds(FOLDS)));
        assert!(found.rows.iter().zip(&found.values).all(|(&row, standing)| standing[0] == f64::from(row)));
        // The only label of a class is held out: nothing can predict the class.
        assert_eq!((found.classes[20], found.values[20][2]), (2, f64::NEG_INFINITY));
        let shares = found.shares(&Rule { temperature: Some(1.0), ..rule.clone() });
        assert_eq!(shares.shares.row(20)[2], 0.0);
        assert!(shares.shares.rows().all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-12));
        let few = targets.subset(|at| at < 3).unwrap();
        let none = Standings::by_folds(&few, &rule, &run, |_, _, _| unreachable!());
        assert!(none.unwrap().is_none());
    }

    #[test]
    fn every_method_holds_out_labels() {
        let (n, run) = (120, Run::new(Some(2), 0).unwrap());
        let value = |row: usize, column: usize| {
            ((row * (7 + column)) % 40) as f64 * 0.1 + if row / 40 == column { 30.0 } else { 0.0 }
        };
        let values = (0..n).flat_map(|row| (0..3).map(move |column| value(row, column)));
        let features = Features::from_f64(n, 3, values.collect()).unwrap();
        let labels = Labels::from_integers((0..n).map(|row| (row % 5 == 0).then_some((row / 40) as i64)));
        let targets = Targets::one_hot(&labels, None).unwrap();
        let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
        for name in method_names() {
            let fitted = method(name, &MethodParams::default()).unwrap().fit(&problem, &run).unwrap();
            let held_out = fitted.held_out.unwrap_or_else(|| panic!("{name}"));
            assert_eq!(held_out.rows, targets.rows(), "{name}");
            assert!(held_out.classes.iter().zip(&held_out.rows).all(|(&class, &row)| class == row / 40), "{name}");
            let expected = &fitted.report.parts["expected_accuracy"];
            let value = expected["value"].as_f64().unwrap();
            if name == "majority" {
                assert!(value < 0.5, "{expected}");
                continue;
            }
            assert!(value > 0.9, "{name}: {expected}");
            assert_eq!(fitted.report.parts["confidence"]["is_guess"], false, "{name}");
            let mean = fitted.labeling.confidence.iter().sum::<f64>() / n as f64;
            assert!((mean - value).abs() < 0.15, "{name}: {mean} {value}");
        }
    }

    #[test]
    fn features_of_noise_are_expected_to_say_nothing() {
        let (n, l, c, draws) = (300, 30, 5u32, 12);
        for name in ["majority", "linear", "nearest-label", "laprls", "low-rank", "auto"] {
            let (mut holds, mut expected, mut found) = (0, 0.0, 0.0);
            for seed in 0..draws {
                let run = Run::new(Some(2), seed).unwrap();
                let mut rng = run.rng(Stream::Synthetic, seed);
                let values = (0..4 * n).map(|_| rng.random_range(-1.0..1.0f64)).collect();
                let classes: Vec<u32> = (0..n).map(|_| rng.random_range(0..c)).collect();
                // Two labels of each class are given in any case.
                let given =
                    |row: usize| (row < l).then(|| i64::from(if row < 10 { row as u32 % c } else { classes[row] }));
                let targets = Targets::one_hot(&Labels::from_integers((0..n).map(given)), None).unwrap();
                let features = Features::from_f64(n, 4, values).unwrap();
                let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
                let fitted = method(name, &MethodParams::default()).unwrap().fit(&problem, &run).unwrap();
                let right = (l..n).filter(|&row| fitted.labeling.labels[row] == classes[row]).count();
                let (right, own) = (right as f64 / (n - l) as f64, fitted.expected_accuracy().unwrap());
                holds += usize::from((own.low..=own.high).contains(&right));
                (expected, found) = (expected + own.value / draws as f64, found + right / draws as f64);
            }
            assert!(holds >= 9 && (expected - found).abs() < 0.08, "{name}: {holds} {expected} {found}");
        }
    }

    #[test]
    fn the_default_stays_unless_another_is_better_beyond_noise() {
        let default = vec![1.0, 1.2, 0.8, 1.0];
        // Better by 0.1 on each row: no noise at all.
        let clear: Vec<f64> = default.iter().map(|x| x - 0.1).collect();
        // Better by 0.1 on average, by one row alone: the standard error is 0.1 too.
        let lucky = vec![1.0, 1.2, 0.8, 0.6];
        assert!(is_better(&clear, &default, 1.0) && !is_better(&default, &clear, 0.0));
        assert!(is_better(&lucky, &default, 0.5) && !is_better(&lucky, &default, 1.0));
        // Whatever the unit: squares of large losses overflow, those of small ones vanish.
        for unit in [2f64.powi(600), 2f64.powi(-600)] {
            let [default, clear, lucky] =
                [&default, &clear, &lucky].map(|x| x.iter().map(|x| x * unit).collect::<Vec<f64>>());
            assert!(is_better(&clear, &default, 1.0) && is_better(&lucky, &default, 0.5));
            assert!(!is_better(&lucky, &default, 1.0), "{unit:e}");
        }
        assert_eq!(choose(&[default.clone(), lucky.clone(), clear.clone()], 1.0), 0);
        assert_eq!(choose(&[default.clone(), clear, lucky], 0.5), 1);
        assert_eq!(choose(&[default.clone(), default], 0.0), 0);
    }
}
