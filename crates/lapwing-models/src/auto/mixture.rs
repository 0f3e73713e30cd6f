//! A mixture of candidates, weighted by how well they predict labels they have not seen.
//!
//! Let pⱼ(i) be the distribution that candidate j gives to labeled row i without having seen its label, and s the shares of the classes
//! among the labels. A candidate is believed in a part of the rows; of the others it says nothing:
//!
//! ```text
//! qⱼ = (1 − εⱼ)·pⱼ^(1/Tⱼ)/Σ pⱼ^(1/Tⱼ) + εⱼ·s   with the Tⱼ and εⱼ of least log loss
//! wⱼ ∝ exp(−Lⱼ),                                Lⱼ = −Σᵢ log qⱼ(i)[yᵢ]
//! ```
//!
//! A candidate that says nothing (ε → 1) is thus as good as the shares of the labels, whatever the sizes of the classes. These are drawn
//! toward equal shares by as much as their differences may be chance ([`shrunken_shares`]): labels that were chosen evenly say nothing of
//! sizes. The labels of rare classes, which hardly any candidate foresees, raise ε. With T alone they would flatten the shares of all rows
//! until the largest class wins everywhere.
//!
//! The weights are those of Bayesian model averaging with held-out likelihoods (pseudo-BMA; Yao, Vehtari, Simpson & Gelman 2018). A row gets the mean of the
//! candidates' distributions with these weights. With few labels several candidates keep some weight, which loses far less than to
//! choose one by chance: over 19 data sets with 5 labels of each class, the distance to the best was .05 on average instead of .07
//! for the candidate of least log loss. With many labels one candidate gets nearly all the weight.
//!
//! The mixture is judged on labels that took no part in its weights and temperatures: those of the other folds determine them.

use lapwing_data::Matrix;
use lapwing_data::hash::uniform;

use crate::class_sizes::shrunken_shares;
use crate::labeling::largest;

/// Values of ε that are tried; the least is that of a candidate alone.
const RESTS: [f64; 9] = [SMOOTHED, 0.03, 0.06, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9];
const SMOOTHED: f64 = 0.01;
/// Least share of a class among the labels, over 1/c.
const LEAST_SHARE: f64 = 1e-3;
/// Standard deviation of log T around 0, before any label is seen.
const SPREAD: f64 = 1.0;
/// Limits of T, and the points between them from the best of which the search goes on.
const TEMPERATURES: (f64, f64) = (0.1, 20.0);
const POINTS: usize = 13;
/// Values (labels × classes) to which a temperature is fitted, at most, and the labels that are taken in any case: candidates and folds fit
/// some fifty temperatures, each by some thirty passes.
const MOST_VALUES: usize = 1 << 18;
const FEWEST_ROWS: usize = 100;
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
    /// Values of ε that may be taken.
    rests: &'static [f64],
    /// Whether one candidate is to get all the weight.
    is_single: bool,
}

/// How shares are tempered: T, and ε, the share of the shares of the labels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tempering {
    pub temperature: f64,
    pub rest: f64,
}

/// As they are.
const AS_GIVEN: Tempering = Tempering { temperature: 1.0, rest: 0.0 };

/// Weights and temperatures.
#[derive(Clone, Debug)]
pub(super) struct Mixture {
    /// Weight of each candidate; they sum to 1.
    pub weights: Vec<f64>,
    /// How the shares of each candidate are tempered.
    pub temperings: Vec<Tempering>,
    /// The same of the mixture.
    pub tempering: Tempering,
    /// Shares of the classes among the labels (c).
    pub base: Vec<f64>,
    /// Mean log loss of each candidate on the held-out labels; NaN without any.
    pub losses: Vec<f64>,
}

/// Shares of the classes (c) among some labels; equal ones if `is_even`.
fn label_shares(classes: impl Iterator<Item = usize>, is_even: bool, c: usize) -> Vec<f64> {
    let mut counts = vec![0; c];
    classes.filter(|_| !is_even).for_each(|class| counts[class] += 1);
    let shares = shrunken_shares(&counts);
    // A class may have no label in the other folds.
    let floor = LEAST_SHARE / c as f64;
    shares.into_iter().map(|share| floor + (1.0 - LEAST_SHARE) * share).collect()
}

/// Tempers shares in place; leaves NaN. `base` are those of the labels.
pub(super) fn temper(shares: &mut [f64], base: &[f64], tempering: Tempering) {
    let Tempering { temperature, rest } = tempering;
    let (top, cold) = (shares.iter().copied().fold(0.0, f64::max), temperature.recip());
    shares.iter_mut().for_each(|p| *p = (*p / top).powf(cold));
    let total: f64 = shares.iter().sum();
    shares.iter_mut().zip(base).for_each(|(p, s)| *p = (1.0 - rest) * *p / total + rest * s);
}

/// The mean of the candidates' tempered shares of one row; `false` if no candidate gives any, and then `out` is NaN.
pub(super) fn mixed<'s>(
    weighted: impl Iterator<Item = (&'s [f64], f64, Tempering)>,
    base: &[f64],
    scratch: &mut Vec<f64>,
    out: &mut [f64],
) -> bool {
    out.fill(0.0);
    let mut total = 0.0;
    for (shares, weight, tempering) in weighted.filter(|(shares, ..)| !shares.iter().any(|p| p.is_nan())) {
        scratch.clear();
        scratch.extend_from_slice(shares);
        temper(scratch, base, tempering);
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
        let n_folds = folds.iter().max().map_or(0, |most| most + 1);
        let others =
            |fold: usize| classes.iter().zip(folds).filter(move |(_, own)| **own != fold).map(|(&class, _)| class);
        let bases = (0..n_folds).map(|fold| label_shares(others(fold), is_even, c)).collect();
        let base = label_shares(classes.iter().copied(), is_even, c);
        let rests = if is_even { &RESTS[..1] } else { &RESTS[..] };
        Self { shares, classes, folds, bases, base, rests, is_single }
    }

    /// The same for a candidate alone: with equal shares of the classes.
    fn evenly(&self) -> Self {
        let even = || vec![(self.base.len() as f64).recip(); self.base.len()];
        let bases = self.bases.iter().map(|_| even()).collect();
        Self { bases, base: even(), shares: self.shares.clone(), rests: &RESTS[..1], ..*self }
    }

    /// The share of its class in the row of a label, by T alone, and that among the labels; both the latter if the candidate gives none.
    fn own(&self, shares: &Matrix, row: usize, temperature: f64) -> (f64, f64) {
        let (values, class) = (shares.row(row), self.classes[row]);
        let (top, cold) = (values.iter().copied().fold(0.0, f64::max), temperature.recip());
        let total: f64 = values.iter().map(|p| (p / top).powf(cold)).sum();
        let base = self.bases[self.folds[row]][class];
        if total.is_nan() { (base, base) } else { ((values[class] / top).powf(cold) / total, base) }
    }

    /// −log of the share of the class of a label after tempering.
    fn loss(&self, shares: &Matrix, row: usize, tempering: Tempering) -> f64 {
        let (own, base) = self.own(shares, row, tempering.temperature);
        -((1.0 - tempering.rest) * own + tempering.rest * base).ln()
    }

    /// T and ε of least log loss over some labels, with a normal prior on log T: the best of a few T, then golden-section search
    /// beside it, each with its best ε.
    fn fitted(&self, shares: &Matrix, rows: &[usize]) -> Tempering {
        // Two numbers are fitted: of many values a part tells them well enough.
        let most = (MOST_VALUES / shares.n_cols().max(1)).max(FEWEST_ROWS);
        let is_kept = |row: &usize| rows.len() <= most || uniform(*row as u64) < most as f64 / rows.len() as f64;
        let kept: Vec<usize> = rows.iter().copied().filter(is_kept).collect();
        let best_at = |log_t: f64| {
            let own: Vec<(f64, f64)> = kept.iter().map(|&row| self.own(shares, row, log_t.exp())).collect();
            let total = |rest: f64| own.iter().map(|(own, base)| -((1.0 - rest) * own + rest * base).ln()).sum::<f64>();
            let losses = self.rests.iter().map(|&rest| (total(rest) + 0.5 * (log_t / SPREAD).powi(2), rest));
            losses.min_by(|a, b| a.0.total_cmp(&b.0)).expect("at least one value is tried")
        };
        let (from, to) = (TEMPERATURES.0.ln(), TEMPERATURES.1.ln());
        let step = (to - from) / (POINTS - 1) as f64;
        let points = (0..POINTS).map(|at| from + step * at as f64);
        let start = points.min_by(|a, b| best_at(*a).0.total_cmp(&best_at(*b).0)).unwrap_or(0.0);
        let ratio = (5f64.sqrt() - 1.0) / 2.0;
        let (mut low, mut high) = ((start - step).max(from), (start + step).min(to));
        while high - low > 1e-2 {
            let (a, b) = (high - ratio * (high - low), low + ratio * (high - low));
            if best_at(a).0 <= best_at(b).0 { high = b } else { low = a }
        }
        let log_t = (low + high) / 2.0;
        Tempering { temperature: log_t.exp(), rest: best_at(log_t).1 }
    }
}

impl Mixture {
    /// The mixture by some of the labels.
    fn of_rows(judged: &Judged<'_>, rows: &[usize]) -> Self {
        let temperings: Vec<Tempering> = judged.shares.iter().map(|shares| judged.fitted(shares, rows)).collect();
        let losses: Vec<f64> = (judged.shares.iter().zip(&temperings))
            .map(|(shares, &tempering)| rows.iter().map(|&row| judged.loss(shares, row, tempering)).sum())
            .collect();
        let losses_of_row = losses.iter().map(|loss| loss / rows.len() as f64).collect();
        let mut weights = weights(&losses);
        if judged.is_single {
            let best = largest(&weights);
            weights.iter_mut().enumerate().for_each(|(at, weight)| *weight = f64::from(u8::from(at == best)));
        }
        Self { weights, temperings, tempering: AS_GIVEN, base: judged.base.clone(), losses: losses_of_row }
    }

    /// The mixture by all labels, with the shares (l, c) that mixtures of the other folds give to each label.
    pub fn new(judged: &Judged<'_>) -> (Self, Matrix) {
        let (l, c) = (judged.classes.len(), judged.base.len());
        let mut nested = Matrix::filled(l, c, f64::NAN);
        for fold in 0..judged.bases.len() {
            let (own, others): (Vec<usize>, Vec<usize>) = (0..l).partition(|&at| judged.folds[at] == fold);
            let mixture = Self::of_rows(judged, &others);
            own.iter().for_each(|&row| mixture.row(judged, row, nested.row_mut(row)));
        }
        let all: Vec<usize> = (0..l).collect();
        let tempering = judged.fitted(&nested, &all);
        for row in 0..l {
            temper(nested.row_mut(row), &judged.bases[judged.folds[row]], tempering);
        }
        let mut mixture = Self { tempering, ..Self::of_rows(judged, &all) };
        if let [only] = mixture.weighted()[..] {
            // It labels alone, by its own rule.
            mixture.temperings[only] = judged.evenly().fitted(judged.shares[only], &all);
        }
        (mixture, nested)
    }

    /// The positions of the candidates with a weight.
    pub fn weighted(&self) -> Vec<usize> {
        (0..self.weights.len()).filter(|&at| self.weights[at] > 0.0).collect()
    }

    /// One candidate, where there are too few labels to weigh several.
    pub fn alone() -> Self {
        Self {
            weights: vec![1.0],
            temperings: vec![AS_GIVEN],
            tempering: AS_GIVEN,
            base: Vec::new(),
            losses: vec![f64::NAN],
        }
    }

    /// The position of the largest weight.
    pub fn best(&self) -> usize {
        largest(&self.weights)
    }

    fn row(&self, judged: &Judged<'_>, row: usize, out: &mut [f64]) {
        let parts = judged.shares.iter().zip(&self.weights).zip(&self.temperings);
        let base = &judged.bases[judged.folds[row]];
        mixed(parts.map(|((shares, &w), &t)| (shares.row(row), w, t)), base, &mut Vec::new(), out);
    }
}

/// exp(−loss) as shares, those below [`LEAST_WEIGHT`] set to 0.
fn weights(losses: &[f64]) -> Vec<f64> {
    let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
    let mut weights: Vec<f64> = losses.iter().map(|loss| (least - loss).exp()).collect();
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

    fn judged<'m>(shares: Vec<&'m Matrix>, classes: &'m [usize], folds: &'m [usize]) -> Judged<'m> {
        Judged::new(shares, classes, folds, false)
    }

    #[test]
    fn weights_follow_the_held_out_likelihood() {
        let classes: Vec<usize> = (0..10).map(|row| row % 2).collect();
        let folds: Vec<usize> = (0..10).map(|row| row / 2).collect();
        let (good, bad) = (shares(10), shares(5));
        let (mixture, nested) = Mixture::new(&judged(vec![&bad, &good], &classes, &folds));
        assert!(mixture.best() == 1 && mixture.weights[1] > 0.95, "{mixture:?}");
        assert!((mixture.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(nested.rows().zip(&classes).all(|(row, &class)| largest(row) == class));
        // Equal candidates share the weight.
        let (mixture, _) = Mixture::new(&judged(vec![&good, &good], &classes, &folds));
        assert!(mixture.weights.iter().all(|w| (w - 0.5).abs() < 1e-12));
    }

    #[test]
    fn temperatures_make_overconfident_shares_honest() {
        // Shares of .9 that are right in 7 of 10 rows.
        let classes: Vec<usize> = (0..10).map(|row| row % 2).collect();
        let rows: Vec<usize> = (0..10).collect();
        let (over, folds) = (shares(7), vec![0; 10]);
        let judged = judged(vec![&over], &classes, &folds);
        let tempering = judged.fitted(&over, &rows);
        let mut row = vec![0.9, 0.1];
        temper(&mut row, &judged.base, tempering);
        assert!(tempering.temperature > 1.5 && (0.65..0.8).contains(&row[0]), "{tempering:?} {row:?}");
    }

    #[test]
    fn rows_that_one_candidate_does_not_reach_take_the_others() {
        let (nan, some) = ([f64::NAN, f64::NAN], [0.8, 0.2]);
        let mut out = [0.0; 2];
        let (even, tempering) = ([0.5; 2], Tempering { temperature: 1.0, rest: 0.01 });
        let both = [(&nan[..], 0.9, tempering), (&some[..], 0.1, tempering)];
        assert!(mixed(both.into_iter(), &even, &mut Vec::new(), &mut out));
        assert!((out[0] - (0.99 * 0.8 + 0.005)).abs() < 1e-12);
        assert!(!mixed([both[0]].into_iter(), &even, &mut Vec::new(), &mut out) && out[0].is_nan());
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
        let (mixture, nested) = Mixture::new(&judged(vec![&told, &most], &classes, &folds));
        assert!(mixture.weights[0] > 0.9, "{mixture:?}");
        let right = nested.rows().zip(&classes).filter(|(row, class)| largest(row) == **class).count();
        assert!(right as f64 > 0.62 * l as f64, "{right}");
        // What says nothing is as good as the most frequent class.
        let nothing = Matrix::filled(l, c, 0.2);
        let (mixture, _) = Mixture::new(&judged(vec![&nothing, &most], &classes, &folds));
        assert!(mixture.weights.iter().all(|weight| *weight > 0.05), "{mixture:?}");
    }
}
