//! Labels, label distributions and confidence from scores, by a decision rule.

use std::sync::Arc;

use lapwing_core::model_file::Must;
use lapwing_core::parallel::*;
use lapwing_core::{Error, Matrix, Result};
use serde::{Deserialize, Serialize};

use super::ranks::median;
use super::scores::{Extended, exponentials, largest, margin, present, to_sum_one, top};
use super::venn_abers::VennAbers;

/// How scores (n, c) become labels and label distributions. Models hold the rule, so that it decides new rows too.
///
/// The standing of a class is s = (score − offset) · scale, and the largest one decides. The label distribution is softmax(s / T).
/// Without a temperature T it is max(s, 0), divided by its sum. A flattened rule divides by T·√m, m the margin of the row: its largest s
/// less the mean of the others. Rows of large margin are then less sure, which fits scores whose margins differ by far more than the
/// chances to be wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Subtracted from each score (c), such as the mean label ȳ for a centered decision on plain scores.
    pub offset: Vec<f64>,
    /// Factor of each score after that (c): of class mass normalization, else 1. 0 excludes a class without a label.
    pub scale: Vec<f64>,
    /// Temperature T > 0 of the softmax; `None` if scores are shares already.
    pub temperature: Option<f64>,
    /// Whether the temperature of a row is T times the root of its margin.
    #[serde(default)]
    pub flattened: bool,
    /// Calibration of the largest share, if it is wanted.
    #[serde(default)]
    pub venn_abers: Option<VennAbers>,
    /// Class prior (c): the label distribution of rows that no label reaches.
    pub prior: Vec<f64>,
}

/// A label for every row.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Labeling {
    /// Raw scores (n, c), NaN in rows no label reaches.
    pub scores: Arc<Matrix>,
    /// Label distributions (n, c): rows finite, sum to 1; the class prior in rows no label reaches.
    pub label_distributions: Matrix,
    /// Class of each row (n); the prior's class in rows no label reaches.
    pub labels: Vec<u32>,
    /// Confidence of that class (n): its share in the label distribution.
    pub confidence: Vec<f64>,
    /// Whether a label reaches the row (n).
    pub reached: Vec<bool>,
    /// Whether the label is certified to be that of the exact solution (n); false in rows no label reaches. `None` if nothing was
    /// certified.
    pub certified: Option<Vec<bool>>,
    /// Bound on the error of each row's scores (n), infinite without a bound; `None` if nothing was certified.
    pub score_radius: Option<Vec<f64>>,
}

impl Labeling {
    /// Number of reached rows whose label is not certified; `None` if nothing was certified.
    pub fn n_undecided(&self) -> Option<usize> {
        let certified = self.certified.as_ref()?;
        Some(certified.iter().zip(&self.reached).filter(|(certain, reached)| **reached && !**certain).count())
    }

    /// Takes the label of row `from` of `other` for row `at`.
    pub(crate) fn put(&mut self, at: usize, other: &Self, from: usize) {
        Arc::make_mut(&mut self.scores).row_mut(at).copy_from_slice(other.scores.row(from));
        self.label_distributions.row_mut(at).copy_from_slice(other.label_distributions.row(from));
        self.labels[at] = other.labels[from];
        self.confidence[at] = other.confidence[from];
        self.reached[at] = other.reached[from];
        if let (Some(own), Some(other)) = (&mut self.certified, &other.certified) {
            own[at] = other[from];
        }
    }

    /// Takes the label of row `at` back, as if no label reached it.
    pub(crate) fn forget(&mut self, at: usize, rule: &Rule) {
        Arc::make_mut(&mut self.scores).row_mut(at).fill(f64::NAN);
        self.label_distributions.row_mut(at).copy_from_slice(&rule.prior);
        let class = largest(&rule.prior);
        (self.labels[at], self.confidence[at], self.reached[at]) = (class as u32, rule.prior[class], false);
        if let Some(certified) = &mut self.certified {
            certified[at] = false;
        }
    }

    /// Class of each row (n), `None` where no label reaches.
    pub fn chosen(&self) -> Vec<Option<usize>> {
        let rows = self.labels.iter().zip(&self.reached);
        rows.map(|(&class, &reached)| reached.then_some(class as usize)).collect()
    }
}

impl Rule {
    /// The largest score decides, among the classes that have a label; `mean` (c) are their frequencies. No temperature yet.
    pub(crate) fn largest(mean: Vec<f64>) -> Self {
        Self {
            offset: vec![0.0; mean.len()],
            scale: present(&mean),
            temperature: None,
            flattened: false,
            venn_abers: None,
            prior: mean,
        }
    }

    /// Labels, distributions and confidence of rows with `scores` (n, c); rows of NaN are unreached.
    ///
    /// # Errors
    /// [`Error::Shape`] unless scores and rule have the same classes; [`Error::Value`] for an infinite score, from which no share
    /// follows.
    ///
    /// # Complexity
    /// O(n·c), in parallel on the current pool.
    pub fn apply(&self, scores: Arc<Matrix>) -> Result<Labeling> {
        self.check(&scores)?;
        match scores.values().par_iter().position_first(|score| score.is_infinite()) {
            None => Ok(self.decide(scores)),
            Some(at) => Err(Error::Value {
                what: "the scores".into(),
                row: at / scores.n_cols(),
                col: Some(at % scores.n_cols()),
                value: scores.values()[at].to_string(),
                advice: "the features of that row, or the numbers of the model, are too large; rescale them".into(),
            }),
        }
    }

    /// Whether the numbers of a stored rule are in range, and of one number of classes.
    pub(crate) fn is_sound(&self) -> bool {
        let Self { offset, scale, temperature, flattened: _, venn_abers, prior } = self;
        let c = prior.len();
        [offset.len(), scale.len()] == [c, c]
            && Must::Finite.holds(offset, c)
            && Must::NonNegative.holds(scale, c)
            && Must::Shares.holds(prior, c)
            && temperature.is_none_or(|temperature| Must::Positive.holds(&[temperature], 1))
            && venn_abers.as_ref().is_none_or(VennAbers::is_whole)
    }

    /// Checks that the rule has an entry for each column of `scores`.
    pub(crate) fn check(&self, scores: &Matrix) -> Result<()> {
        let c = scores.n_cols();
        match [&self.offset, &self.scale, &self.prior].into_iter().find(|part| part.len() != c) {
            None => Ok(()),
            Some(part) => Err(Error::shape("the rule", format!("{c} classes, as the scores"), part.len())),
        }
    }

    /// [`apply`](Self::apply) for scores of the classes of this rule.
    pub(crate) fn decide(&self, scores: Arc<Matrix>) -> Labeling {
        let (n, c) = (scores.n_rows(), scores.n_cols());
        let mut distributions = Matrix::filled(n, c, 0.0);
        let mut decided = vec![(0u32, 0f64, false); n];
        distributions
            .values_mut()
            .par_chunks_mut((BLOCK_ROWS * c).max(1))
            .zip(decided.par_chunks_mut(BLOCK_ROWS))
            .zip(scores.values().par_chunks((BLOCK_ROWS * c).max(1)))
            .with_min_len(1024 / BLOCK_ROWS)
            .for_each(|((out, decided), scores)| self.block(scores, out, decided));
        Labeling {
            scores,
            label_distributions: distributions,
            labels: decided.iter().map(|d| d.0).collect(),
            confidence: decided.iter().map(|d| d.1).collect(),
            reached: decided.iter().map(|d| d.2).collect(),
            certified: None,
            score_radius: None,
        }
    }

    /// Labels of new rows. If there are bounds on errors, a label is certified if its standing exceeds all others by more than
    /// the bound.
    ///
    /// # Errors
    /// As [`apply`](Self::apply); [`Error::Shape`] unless there is an error bound for each row.
    pub fn apply_with_errors(&self, extended: Extended) -> Result<Labeling> {
        let n = extended.scores.n_rows();
        if let Some(errors) = extended.errors.as_ref().filter(|errors| errors.len() != n) {
            return Err(Error::shape("bounds on errors", format!("{n}, one per row"), errors.len()));
        }
        let mut labeling = self.apply(Arc::new(extended.scores))?;
        labeling.certified = extended.errors.map(|errors| {
            let is_settled = |standing: &mut Vec<f64>, row: usize| {
                self.standing(labeling.scores.row(row), standing);
                let best = labeling.labels[row] as usize;
                let others = standing.iter().enumerate().filter(|(class, _)| *class != best);
                let next = others.fold(f64::NEG_INFINITY, |next, (_, standing)| next.max(*standing));
                labeling.reached[row] && standing[best] - next > errors[row]
            };
            let rows = (0..errors.len()).into_par_iter().with_min_len(1024);
            rows.map_init(|| vec![0.0; self.scale.len()], is_settled).collect()
        });
        Ok(labeling)
    }

    /// Decides some rows with `scores`: class, confidence and whether it is reached go to `decided`, distributions to `out`.
    fn block(&self, scores: &[f64], out: &mut [f64], decided: &mut [(u32, f64, bool)]) {
        let c = self.scale.len().max(1);
        for (scores, out) in scores.chunks_exact(c).zip(out.chunks_exact_mut(c)) {
            self.standing(scores, out);
            match self.temperature {
                Some(temperature) => {
                    let (top, cold) = (top(out), self.heat(out, temperature).recip());
                    // The inverse of a very low temperature overflows. With the largest number instead, the largest standing
                    // still gets all of the share.
                    let cold = cold.min(f64::MAX);
                    out.iter_mut().for_each(|s| *s = if *s < top { (*s - top) * cold } else { 0.0 });
                }
                None => out.iter_mut().for_each(|s| *s = s.max(0.0)),
            }
        }
        if self.temperature.is_some() {
            exponentials(out);
        }
        for ((scores, out), decided) in scores.chunks_exact(c).zip(out.chunks_exact_mut(c)).zip(decided) {
            let reached = !scores.iter().fold(false, |any, s| any | s.is_nan());
            if reached {
                let inverse = out.iter().sum::<f64>().recip();
                if inverse.is_normal() {
                    out.iter_mut().for_each(|s| *s *= inverse);
                } else {
                    to_sum_one(out);
                }
            } else {
                out.copy_from_slice(&self.prior);
            }
            let confidence = top(out);
            // The first of the largest. Going backward avoids a branch that would be mispredicted in every other row.
            let classes = out.iter().enumerate().rev();
            let class = classes.fold(0, |first, (class, share)| if *share == confidence { class } else { first });
            let confidence = match &self.venn_abers {
                Some(calibration) if reached => {
                    calibration.apply(out, class);
                    out[class]
                }
                _ => confidence,
            };
            *decided = (class as u32, confidence, reached);
        }
    }

    /// The temperature of a row of these standings.
    pub(crate) fn heat(&self, standing: &[f64], temperature: f64) -> f64 {
        let margin = if self.flattened { margin(standing) } else { f64::NAN };
        if margin > 0.0 { temperature * margin.sqrt() } else { temperature }
    }

    /// (score − offset) · scale; −∞ for an excluded class.
    pub(crate) fn standing(&self, scores: &[f64], out: &mut [f64]) {
        for (((out, score), offset), scale) in out.iter_mut().zip(scores).zip(&self.offset).zip(&self.scale) {
            *out = if *scale > 0.0 { (score - offset) * scale } else { f64::NEG_INFINITY };
        }
    }
}

/// Rows that are decided at a time, so that their distributions stay in the L1 cache.
const BLOCK_ROWS: usize = 128;

/// Confidence of the median row if there are too few labels to fit a temperature.
const TYPICAL_CONFIDENCE: f64 = 0.9;

/// The temperature at which the median row has confidence [`TYPICAL_CONFIDENCE`]. It is needed because scores of harmonic
/// functions and of least squares have no scale of their own.
pub(crate) fn typical_temperature(rule: &Rule, scores: &Matrix) -> f64 {
    let c = scores.n_cols();
    // If the best class leads all others by the margin m, its share is 1 / (1 + (c − 1)·exp(−m/T)). The margin here is that over
    // the mean of the others.
    let margins: Vec<f64> = (0..scores.n_rows())
        .into_par_iter()
        .with_min_len(1024)
        .map_init(
            || vec![0.0; c],
            |standing, row| {
                rule.standing(scores.row(row), standing);
                margin(standing)
            },
        )
        .filter(|margin| *margin > 0.0)
        .collect();
    median(margins).map_or(1.0, |median| (median / typical_logit(rule)).max(f64::MIN_POSITIVE))
}

/// Margin over temperature of a row of confidence [`TYPICAL_CONFIDENCE`].
pub(crate) fn typical_logit(rule: &Rule) -> f64 {
    let others = rule.scale.iter().filter(|s| **s > 0.0).count().saturating_sub(1).max(1) as f64;
    (others * TYPICAL_CONFIDENCE / (1.0 - TYPICAL_CONFIDENCE)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::scores::largest;

    fn rule(temperature: Option<f64>) -> Rule {
        Rule {
            offset: vec![0.5, 0.3, 0.2],
            scale: vec![1.0; 3],
            temperature,
            flattened: false,
            venn_abers: None,
            prior: vec![0.2, 0.5, 0.3],
        }
    }

    #[test]
    fn distributions_agree_with_the_decision_and_sum_to_one() {
        let scores = Matrix::new(3, 3, vec![0.5, 0.35, 0.15, f64::NAN, f64::NAN, f64::NAN, 0.4, 0.2, 0.4]).unwrap();
        let labeling = rule(Some(0.1)).decide(Arc::new(scores));
        assert_eq!(labeling.labels, [1, 1, 2]);
        assert_eq!(labeling.reached, [true, false, true]);
        assert_eq!(labeling.label_distributions.row(1), [0.2, 0.5, 0.3]);
        for (row, &class) in labeling.label_distributions.rows().zip(&labeling.labels) {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert_eq!(largest(row), class as usize);
        }
    }

    #[test]
    fn shares_whose_sum_is_beyond_numbers_become_distributions() {
        let plain = Rule::largest(vec![0.5; 2]);
        // Sums whose inverse is infinite, that are infinite, that are 0.
        let scores = vec![1e-310, 3e-310, 1.5e308, 1.5e308, 0.0, -1.0];
        let labeling = plain.decide(Arc::new(Matrix::new(3, 2, scores).unwrap()));
        let expected = [0.25, 0.75, 0.5, 0.5, 0.5, 0.5];
        let shares = labeling.label_distributions.values();
        assert!(shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 1e-9), "{shares:?}");
    }

    #[test]
    fn a_class_without_labels_is_never_chosen() {
        let rule = Rule { scale: vec![1.0, 0.0, 1.0], offset: vec![0.0; 3], ..rule(Some(1.0)) };
        let labeling = rule.decide(Arc::new(Matrix::new(1, 3, vec![-1.0, 0.0, -2.0]).unwrap()));
        assert_eq!((labeling.labels[0], labeling.label_distributions.row(0)[1]), (0, 0.0));
    }

    #[test]
    fn the_typical_temperature_gives_the_median_row_its_share() {
        let rule = Rule::largest(vec![0.5; 2]);
        let scores = Matrix::new(3, 2, vec![1e-6, 0.0, 0.0, 2e-6, 3e-6, 0.0]).unwrap();
        let temperature = typical_temperature(&rule, &scores);
        let labeling = Rule { temperature: Some(temperature), ..rule }.decide(Arc::new(scores));
        assert!((labeling.confidence[1] - 0.9).abs() < 1e-9);
    }

    #[test]
    fn a_flattened_rule_divides_by_the_root_of_the_margin() {
        let scores = Matrix::new(3, 3, vec![0.9, 0.4, 0.3, 0.51, 0.29, 0.19, 0.5, 0.3, 0.2]).unwrap();
        let flat = Rule { flattened: true, ..rule(Some(0.1)) };
        let found = flat.decide(Arc::new(scores.clone()));
        for row in 0..2 {
            let mut standing = vec![0.0; 3];
            flat.standing(scores.row(row), &mut standing);
            let heat = 0.1 * margin(&standing).sqrt();
            let total: f64 = standing.iter().map(|s| (s / heat).exp()).sum();
            let expected = (standing[0] / heat).exp() / total;
            assert!((found.confidence[row] - expected).abs() < 1e-9, "{row}");
        }
        // Without a margin all classes are equal.
        assert!((found.confidence[2] - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(found.labels, rule(Some(0.1)).decide(Arc::new(scores)).labels);
    }
}
