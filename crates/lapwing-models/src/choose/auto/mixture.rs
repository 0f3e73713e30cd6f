//! A mixture of candidates, weighted by how well they predict labels they have not seen.
//!
//! Let pⱼ(i) be the distribution that candidate j gives to labeled row i without having seen its label, and s the shares of the classes
//! among the labels. What the row says for a class is the ratio of both, smoothed: rⱼ = (1 − ε)·pⱼ/s + ε. It is tempered, s stays:
//!
//! ```text
//! qⱼ ∝ s·rⱼ^(1/Tⱼ)   with the Tⱼ of least log loss, which is convex in 1/T
//! wⱼ ∝ exp(−η·Lⱼ),   Lⱼ = −Σᵢ log qⱼ(i)[yᵢ],   η = ¼
//! ```
//!
//! A candidate that says nothing (T → ∞) is thus as good as the shares of the labels, whatever the sizes of the classes. These are drawn
//! toward equal shares by as much as their differences may be chance ([`shrunken_shares`]): labels that were chosen evenly say nothing of
//! sizes.
//!
//! The weights are those of Bayesian model averaging with held-out likelihoods (pseudo-BMA; Yao, Vehtari, Simpson & Gelman 2018), to the
//! power η. A row gets the mean of the candidates' distributions with these weights. With few labels several candidates keep some weight,
//! which loses far less than to choose one by chance: over 19 data sets with 5 labels of each class, the distance to the best was .05 on
//! average instead of .07 for the candidate of least log loss. With many labels one candidate gets nearly all the weight. A few labels
//! in unlucky places cost a candidate several units of loss, so the likelihood is tempered, as in generalized Bayesian inference (Grünwald
//! & van Ommen 2017): over 14 tables of mixed columns with 5 to 20 labels of each class this gained .004 ± .003, over 12 sets of numbers
//! it changed nothing.
//!
//! The mixture is judged on labels that took no part in its weights and temperatures: those of the other folds determine them.

use lapwing_core::hash::uniform;
use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, Run};

use crate::core::counts::{counted, shrunken_shares};
use crate::core::held_out::folds::n_folds;
use crate::core::scores::largest;
use crate::core::temperature::Logs;

/// ε: share of the shares of the labels in those of a candidate.
const SMOOTHED: f64 = 0.01;
/// Least share of a class among the labels, over 1/c.
const LEAST_SHARE: f64 = 1e-3;
/// Standard deviation of log T around 0, before any label is seen.
const SPREAD: f64 = 1.0;
/// Limits of T.
const TEMPERATURES: (f64, f64) = (0.1, 20.0);
/// Values (labels × classes) to which a temperature is fitted, at most, and the labels that are taken in any case: candidates and folds fit
/// some fifty temperatures, each by some twenty passes.
const MOST_VALUES: usize = 1 << 18;
const FEWEST_ROWS: usize = 100;
/// η: how far held-out likelihoods are trusted.
const TRUST: f64 = 0.25;
/// Candidates of less weight are left out.
pub(super) const LEAST_WEIGHT: f64 = 0.02;

/// Held-out shares of labeled rows, and their classes.
pub(super) struct Judged<'m> {
    /// Shares (l, c) by each candidate; rows of NaN where it gives none.
    shares: Vec<&'m Matrix>,
    /// Class of each label (l).
    classes: &'m [usize],
    /// Fold of each label (l).
    folds: &'m [usize],
    /// Shares of the classes (c) among the labels of the other folds, for each fold.
    bases: Vec<Vec<f64>>,
    /// The same among all labels.
    base: Vec<f64>,
    /// Whether one candidate is to get all the weight.
    is_single: bool,
}

/// Weights and temperatures.
#[derive(Clone, Debug)]
pub(super) struct Mixture {
    /// Weight of each candidate; they sum to 1.
    pub weights: Vec<f64>,
    /// Temperature of each candidate.
    pub temperatures: Vec<f64>,
    /// Temperature of the mixture.
    pub temperature: f64,
    /// Shares of the classes among the labels (c), toward which all temperatures lead.
    pub base: Vec<f64>,
    /// Mean log loss of each candidate on the held-out labels; NaN without any.
    pub losses: Vec<f64>,
}

/// Shares of the classes (c) among some labels; equal ones if `is_even`.
fn label_shares(classes: impl Iterator<Item = usize>, is_even: bool, c: usize) -> Vec<f64> {
    let shares = shrunken_shares(&counted(classes.filter(|_| !is_even), c));
    // A class may have no label in the other folds.
    let floor = LEAST_SHARE / c as f64;
    shares.into_iter().map(|share| floor + (1.0 - LEAST_SHARE) * share).collect()
}

/// Smooths and tempers shares in place, toward `base`; leaves NaN.
pub(super) fn temper(shares: &mut [f64], base: &[f64], temperature: f64) {
    let cold = temperature.recip();
    for (p, s) in shares.iter_mut().zip(base) {
        *p = s * ((1.0 - SMOOTHED) * *p / s + SMOOTHED).powf(cold);
    }
    let total: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|p| *p /= total);
}

/// The mean of the candidates' tempered shares of one row; `false` if no candidate gives any, and then `out` is NaN.
pub(super) fn mixed<'s>(
    weighted: impl Iterator<Item = (&'s [f64], f64, f64)>,
    base: &[f64],
    scratch: &mut Vec<f64>,
    out: &mut [f64],
) -> bool {
    out.fill(0.0);
    let mut total = 0.0;
    for (shares, weight, temperature) in weighted.filter(|(shares, ..)| !shares.iter().any(|p| p.is_nan())) {
        scratch.clear();
        scratch.extend_from_slice(shares);
        temper(scratch, base, temperature);
        out.iter_mut().zip(&*scratch).for_each(|(out, p)| *out += weight * p);
        total += weight;
    }
    out.iter_mut().for_each(|p| *p /= total);
    total > 0.0
}

impl<'m> Judged<'m> {
    /// Shares (l, c) of the labels by each candidate, in the given folds.
    pub fn new(shares: Vec<&'m Matrix>, classes: &'m [usize], folds: &'m [usize], is_single: bool) -> Self {
        let c = shares.first().map_or(0, |shares| shares.n_cols());
        // Nothing is tempered toward the shares of labels if one candidate decides alone: its labels are its own.
        let is_even = shares.len() == 1;
        let others =
            |fold: usize| classes.iter().zip(folds).filter(move |(_, own)| **own != fold).map(|(&class, _)| class);
        let bases = (0..n_folds(folds)).map(|fold| label_shares(others(fold), is_even, c)).collect();
        let base = label_shares(classes.iter().copied(), is_even, c);
        Self { shares, classes, folds, bases, base, is_single }
    }

    /// The same with equal shares of the classes.
    fn evenly(&self) -> Self {
        let even = || vec![(self.base.len() as f64).recip(); self.base.len()];
        let bases = self.bases.iter().map(|_| even()).collect();
        Self { bases, base: even(), shares: self.shares.clone(), ..*self }
    }

    /// What the shares say of the classes of some labels beside the shares of the labels, to be read at many temperatures.
    fn logs(&self, evidence: &Matrix, rows: &[usize]) -> Logs<'_> {
        let values = rows.iter().map(|&row| (evidence.row(row).iter().copied(), self.classes[row]));
        Logs::new(values, rows.iter().map(|&row| &self.bases[self.folds[row]][..]).collect())
    }

    /// T of least log loss over some labels, with a normal prior on log T.
    fn fitted(&self, evidence: &Matrix, rows: &[usize]) -> f64 {
        // One number is fitted: of many values a part tells it well enough.
        let most = (MOST_VALUES / evidence.n_cols().max(1)).max(FEWEST_ROWS);
        let is_kept = |row: &usize| rows.len() <= most || uniform(*row as u64) < most as f64 / rows.len() as f64;
        let kept: Vec<usize> = rows.iter().copied().filter(is_kept).collect();
        self.logs(evidence, &kept).minimum((TEMPERATURES.0.ln(), TEMPERATURES.1.ln()), SPREAD).exp()
    }

    /// log r of smoothed shares (l, c); 0 in rows of NaN, which say nothing.
    fn evidence(&self, shares: &Matrix) -> Matrix {
        let mut out = shares.clone();
        for (row, &fold) in self.folds.iter().enumerate() {
            let ratio = |(p, s): (&mut f64, &f64)| *p = ((1.0 - SMOOTHED) * *p / s + SMOOTHED).ln();
            let row = out.row_mut(row);
            row.iter_mut().zip(&self.bases[fold]).for_each(ratio);
            if row.iter().any(|log| log.is_nan()) {
                row.fill(0.0);
            }
        }
        out
    }
}

impl Mixture {
    /// The mixture by some of the labels.
    fn of_rows(judged: &Judged<'_>, evidence: &[Matrix], rows: &[usize], run: &Run) -> Result<Self> {
        let fitted = |evidence: &Matrix| {
            run.check()?;
            let temperature = judged.fitted(evidence, rows);
            Ok((temperature, judged.logs(evidence, rows).loss(temperature)))
        };
        let fitted: Vec<(f64, f64)> = evidence.par_iter().map(fitted).collect::<Result<_>>()?;
        let (temperatures, losses): (Vec<f64>, Vec<f64>) = fitted.into_iter().unzip();
        let losses_of_row = losses.iter().map(|loss| loss / rows.len() as f64).collect();
        let mut weights = weights(&losses);
        if judged.is_single {
            let best = largest(&weights);
            weights.iter_mut().enumerate().for_each(|(at, weight)| *weight = f64::from(u8::from(at == best)));
        }
        Ok(Self { weights, temperatures, temperature: 1.0, base: judged.base.clone(), losses: losses_of_row })
    }

    /// The mixture by all labels, with the shares (l, c) that mixtures of the other folds give to each label.
    pub fn new(judged: &Judged<'_>, run: &Run) -> Result<(Self, Matrix)> {
        let (l, c) = (judged.classes.len(), judged.base.len());
        let evidence: Vec<Matrix> = judged.shares.par_iter().map(|shares| judged.evidence(shares)).collect();
        let all: Vec<usize> = (0..l).collect();
        let of_others = |fold: usize| {
            let others: Vec<usize> = all.iter().copied().filter(|&at| judged.folds[at] != fold).collect();
            Self::of_rows(judged, &evidence, &others, run)
        };
        let mixtures: Vec<Self> = (0..judged.bases.len()).into_par_iter().map(of_others).collect::<Result<_>>()?;
        let mut nested = Matrix::filled(l, c, f64::NAN);
        all.iter().for_each(|&row| mixtures[judged.folds[row]].row(judged, row, nested.row_mut(row)));
        let temperature = judged.fitted(&judged.evidence(&nested), &all);
        for row in 0..l {
            temper(nested.row_mut(row), &judged.bases[judged.folds[row]], temperature);
        }
        let mut mixture = Self { temperature, ..Self::of_rows(judged, &evidence, &all, run)? };
        if let [only] = mixture.weighted()[..] {
            // It labels alone, by its own rule, whose temperature leads to equal shares.
            let even = judged.evenly();
            mixture.temperatures[only] = even.fitted(&even.evidence(judged.shares[only]), &all);
        }
        Ok((mixture, nested))
    }

    /// The positions of the candidates with a weight.
    pub fn weighted(&self) -> Vec<usize> {
        (0..self.weights.len()).filter(|&at| self.weights[at] > 0.0).collect()
    }

    /// One candidate, where there are too few labels to weigh several.
    pub fn alone() -> Self {
        Self { weights: vec![1.0], temperatures: vec![1.0], temperature: 1.0, base: Vec::new(), losses: vec![f64::NAN] }
    }

    /// The position of the largest weight.
    pub fn best(&self) -> usize {
        largest(&self.weights)
    }

    fn row(&self, judged: &Judged<'_>, row: usize, out: &mut [f64]) {
        let parts = judged.shares.iter().zip(&self.weights).zip(&self.temperatures);
        let base = &judged.bases[judged.folds[row]];
        mixed(parts.map(|((shares, &w), &t)| (shares.row(row), w, t)), base, &mut Vec::new(), out);
    }
}

/// exp(−η·loss) as shares, those below [`LEAST_WEIGHT`] set to 0.
fn weights(losses: &[f64]) -> Vec<f64> {
    let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
    let mut weights: Vec<f64> = losses.iter().map(|loss| (TRUST * (least - loss)).exp()).collect();
    for _ in 0..2 {
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w = if *w < LEAST_WEIGHT * total { 0.0 } else { *w / total });
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares of two classes: `right` of ten rows get .9 for their class, the others .9 for the other one.
    fn shares(right: usize) -> Matrix {
        let rows = (0..10).flat_map(|row| {
            let own = if row < right { 0.9 } else { 0.1 };
            if row % 2 == 0 { [own, 1.0 - own] } else { [1.0 - own, own] }
        });
        Matrix::new(10, 2, rows.collect()).unwrap()
    }

    fn of_all(judged: &Judged<'_>) -> (Mixture, Matrix) {
        Mixture::new(judged, &Run::new(Some(1), 0).unwrap()).unwrap()
    }

    fn judged<'m>(shares: Vec<&'m Matrix>, classes: &'m [usize], folds: &'m [usize]) -> Judged<'m> {
        Judged::new(shares, classes, folds, false)
    }

    #[test]
    fn weights_follow_the_held_out_likelihood() {
        let classes: Vec<usize> = (0..10).map(|row| row % 2).collect();
        let folds: Vec<usize> = (0..10).map(|row| row / 2).collect();
        let (good, bad) = (shares(10), shares(5));
        let (mixture, nested) = of_all(&judged(vec![&bad, &good], &classes, &folds));
        let ratio = (mixture.weights[1] / mixture.weights[0]).ln();
        assert!((ratio - (mixture.losses[0] - mixture.losses[1]) * 10.0 * TRUST).abs() < 1e-12, "{mixture:?}");
        assert!(mixture.best() == 1 && mixture.weights[1] > 0.7, "{mixture:?}");
        assert!((mixture.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(nested.rows().zip(&classes).all(|(row, &class)| largest(row) == class));
        // Equal candidates share the weight.
        let (mixture, _) = of_all(&judged(vec![&good, &good], &classes, &folds));
        assert!(mixture.weights.iter().all(|w| (w - 0.5).abs() < 1e-12));
    }

    #[test]
    fn temperatures_make_overconfident_shares_honest() {
        // Shares of .9 that are right in 7 of 10 rows.
        let classes: Vec<usize> = (0..10).map(|row| row % 2).collect();
        let rows: Vec<usize> = (0..10).collect();
        let (over, folds) = (shares(7), vec![0; 10]);
        let judged = judged(vec![&over], &classes, &folds);
        let t = judged.fitted(&judged.evidence(&over), &rows);
        let mut row = vec![0.9, 0.1];
        temper(&mut row, &judged.base, t);
        assert!(t > 1.5 && (0.65..0.8).contains(&row[0]), "{t} {row:?}");
    }

    #[test]
    fn rows_that_one_candidate_does_not_reach_take_the_others() {
        let (nan, some) = ([f64::NAN, f64::NAN], [0.8, 0.2]);
        let mut out = [0.0; 2];
        let even = [0.5; 2];
        assert!(mixed([(&nan[..], 0.9, 1.0), (&some[..], 0.1, 1.0)].into_iter(), &even, &mut Vec::new(), &mut out));
        assert!((out[0] - (0.99 * 0.8 + 0.005)).abs() < 1e-12);
        assert!(!mixed([(&nan[..], 1.0, 1.0)].into_iter(), &even, &mut Vec::new(), &mut out) && out[0].is_nan());
    }

    #[test]
    fn candidates_are_tempered_toward_the_shares_of_the_labels() {
        // Classes of 36, 12, 6, 3 and 3 labels. A candidate is sure of one class, and right in two of three labels of the first and
        // in half of the others; the most frequent class alone would be right as often.
        let classes: Vec<usize> = [36, 12, 6, 3, 3].iter().enumerate().flat_map(|(k, &n)| vec![k; n]).collect();
        let (l, c) = (classes.len(), 5);
        let folds: Vec<usize> = (0..l).map(|at| at % 5).collect();
        let (mut told, mut most) = (Matrix::filled(l, c, 0.02), Matrix::filled(l, c, 0.0));
        for (at, &class) in classes.iter().enumerate() {
            let is_right = if class == 0 { at % 3 > 0 } else { at % 2 == 0 };
            told.row_mut(at)[if is_right { class } else { (class + 1 + at % 4) % c }] = 0.92;
            let others = (0..l).filter(|&other| folds[other] != folds[at]);
            others.for_each(|other| most.row_mut(at)[classes[other]] += 1.0 / (l - l / 5) as f64);
        }
        let (mixture, nested) = of_all(&judged(vec![&told, &most], &classes, &folds));
        assert!(mixture.weights[0] > 0.9, "{mixture:?}");
        let right = nested.rows().zip(&classes).filter(|(row, class)| largest(row) == **class).count();
        assert!(right as f64 > 0.62 * l as f64, "{right}");
        // What says nothing is as good as the most frequent class.
        let nothing = Matrix::filled(l, c, 0.2);
        let (mixture, _) = of_all(&judged(vec![&nothing, &most], &classes, &folds));
        assert!(mixture.weights.iter().all(|weight| *weight > 0.05), "{mixture:?}");
    }
}
