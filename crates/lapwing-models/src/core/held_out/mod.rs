//! Held-out rows: labeled rows whose scores did not see their own label. Candidates are chosen by their losses ([`choosing`]), confidence
//! is fitted to their class shares, and the accuracy on rows without a label is estimated from them. [`folds`] deals the labels.

pub(crate) mod choosing;
pub(crate) mod folds;

use lapwing_core::{Matrix, Result, Run, Targets};
use serde::{Deserialize, Serialize};

use self::folds::{FOLDS, Fold, in_turn, stratified};
use super::rule::Rule;
use crate::core::scores::{largest, present, rows_at, softmax, to_sum_one};

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
    /// Standings of which the shares were made (q, c); `None` if they are unknown, as where shares of several methods were mixed.
    pub(crate) values: Option<Matrix>,
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

    /// The shares after the offsets of the rule moved from those of `before` to those of `after`; `None` if there are no standings to move.
    pub(crate) fn moved(self, before: &Rule, after: &Rule) -> Option<Self> {
        let Self { rows, classes, source, values, .. } = self;
        Some(Standings { rows, classes, values: values?, source }.moved(before, after).shares(after))
    }

    /// Whether each row gets its given class (q); rows without shares do not.
    pub fn right(&self) -> Vec<bool> {
        let is_right = |(shares, class): (&[f64], &u32)| !shares[0].is_nan() && largest(shares) == *class as usize;
        self.shares.rows().zip(&self.classes).map(is_right).collect()
    }
}

/// Scores of held-out rows, as the rule of the fit compares them.
#[derive(Clone, Debug)]
pub(crate) struct Standings {
    /// Rows, ascending (q).
    pub rows: Vec<u32>,
    /// Their given classes (q).
    pub classes: Vec<u32>,
    /// Standings (q, c): −∞ for a class without any other label, NaN where no other label reaches the row.
    pub values: Matrix,
    pub source: HeldOutSource,
}

impl Standings {
    /// Standings (q, c) of the labels at some places (q) among all.
    pub fn new(targets: &Targets, places: &[usize], values: Matrix, source: HeldOutSource) -> Self {
        let rows = places.iter().map(|&at| targets.rows()[at]).collect();
        let classes = places.iter().map(|&at| largest(targets.values().row(at)) as u32).collect();
        Self { rows, classes, values, source }
    }

    /// Scores (l, c) of all labels, each left out alone.
    pub fn left_out(targets: &Targets, scores: Matrix) -> Self {
        let all: Vec<usize> = (0..targets.rows().len()).collect();
        Self::new(targets, &all, scores, HeldOutSource::LeaveOneOut)
    }

    /// Scores (l, c) of labels that were held out in folds; rows of NaN were not.
    pub fn folded(targets: &Targets, scores: &Matrix) -> Self {
        let is_held = |at: &usize| !scores.row(*at).iter().any(|score| score.is_nan());
        let held: Vec<usize> = (0..scores.n_rows()).filter(is_held).collect();
        Self::new(targets, &held, rows_at(scores, held.iter().copied()), HeldOutSource::Folds(FOLDS))
    }

    /// Logarithms of the shares (l, c) of labels that were held out in folds, as the scores of a fit are; rows of NaN were not held out.
    pub fn of_shares(targets: &Targets, shares: &Matrix) -> Self {
        let mut standings = Self::folded(targets, shares);
        // A share that is too small for a number has the logarithm of the smallest.
        standings.values.values_mut().iter_mut().for_each(|share| *share = share.max(f64::MIN_POSITIVE).ln());
        standings
    }

    /// Class shares at the temperature of `rule`; its prior where nothing reaches the row.
    pub fn shares(self, rule: &Rule) -> HeldOut {
        let Self { rows, classes, values, source } = self;
        let mut shares = values.clone();
        for at in 0..shares.n_rows() {
            let row = shares.row_mut(at);
            match rule.temperature {
                _ if row.iter().any(|s| s.is_nan()) || !row[largest(row)].is_finite() => {
                    row.copy_from_slice(&rule.prior);
                    to_sum_one(row);
                }
                Some(temperature) => {
                    let heat = rule.heat(row, temperature);
                    softmax(row, heat);
                }
                None => {
                    row.iter_mut().for_each(|s| *s = s.max(0.0));
                    to_sum_one(row);
                }
            }
            if let Some(calibration) = &rule.venn_abers {
                calibration.apply(row, largest(row));
            }
        }
        HeldOut { rows, classes, shares, source, values: Some(values) }
    }

    /// Standings and class of each row.
    pub fn pairs(&self) -> impl Iterator<Item = (&[f64], usize)> {
        self.values.rows().zip(self.classes.iter().map(|&class| class as usize))
    }

    /// Standings of scores, compared by `rule`.
    pub fn compared(mut self, rule: &Rule) -> Self {
        compare(&mut self.values, rule);
        self
    }

    /// The standings after the offsets of the rule moved from those of `before` to those of `after`.
    pub fn moved(mut self, before: &Rule, after: &Rule) -> Self {
        let shifts =
            before.offset.iter().zip(&after.offset).zip(&after.scale).map(|((old, new), scale)| (old - new) * scale);
        let shifts: Vec<f64> = shifts.collect();
        for at in 0..self.values.n_rows() {
            self.values.row_mut(at).iter_mut().zip(&shifts).for_each(|(s, shift)| *s += shift);
        }
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
        let standings = |kept: &Targets, fold: &Fold<'_>, run: &Run| {
            let mut found = scores(kept, &fold.rows(targets), run)?;
            // A class without any other label is never predicted.
            let scale = present(&kept.mean()).iter().zip(&rule.scale).map(|(present, scale)| present * scale).collect();
            compare(&mut found, &Rule { scale, ..rule.clone() });
            Ok(found)
        };
        let found = in_turn(targets, &folds, run, standings)?;
        let all: Vec<usize> = (0..folds.len()).collect();
        Ok(Some(Self::new(targets, &all, found, HeldOutSource::Folds(FOLDS))))
    }
}

/// Replaces scores by their standings. A class without any other label, of score −∞, stays excluded.
fn compare(scores: &mut Matrix, rule: &Rule) {
    for at in 0..scores.n_rows() {
        let own = scores.row(at).to_vec();
        rule.standing(&own, scores.row_mut(at));
    }
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
        assert!(found.rows.iter().zip(found.values.rows()).all(|(&row, standing)| standing[0] == f64::from(row)));
        // The only label of a class is held out: nothing can predict the class.
        assert_eq!((found.classes[20], found.values.row(20)[2]), (2, f64::NEG_INFINITY));
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
}
