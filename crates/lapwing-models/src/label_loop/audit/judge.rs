//! From leave-one-out scores to shares of the classes.
//!
//! P = softmax(a·L + κ·log π), with π the class frequencies (counts + 1)/(l + c). a > 0 and κ in [0, 1] minimize the log loss over the labels,
//! plus (ln a − ln a₀)²/(2·[`SPREAD`]²), a₀ the sharpness that gives the median label a share of 0.9; that term decides only if all
//! labels agree with their scores. With fewer than [`LEAST_FOR_PRIOR`] labels a class κ is 0: there it costs accuracy.
//!
//! The frequencies matter where classes are uneven: without them, small classes are proposed for many rows of large ones.

use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Run, Targets};

use super::LEAST_TRUST;
use crate::core::counts::{label_classes, label_counts, n_present};
use crate::core::ranks::median;
use crate::core::scores::{largest, margin, softmax};
use crate::core::smoother::leave_one_out::LeftOut;

/// Mean labels a class below which class frequencies are not used.
const LEAST_FOR_PRIOR: usize = 20;
/// Standard deviation of ln a around a₀.
const SPREAD: f64 = 2.0;
/// Steps of Newton's method, and change of both parameters at which it stops.
const MOST_STEPS: usize = 60;
const LEAST_STEP: f64 = 1e-6;
/// Labels whose terms are summed at a time, in their order.
const BLOCK: usize = 4096;

/// What the leave-one-out scores say of the labels.
pub(super) struct Judge {
    pub left_out: LeftOut,
    /// Share of the given class, and the class of largest share (l).
    pub quality: Vec<f64>,
    pub proposed: Vec<u32>,
    pub flagged: Vec<bool>,
    /// Largest share of each label (l).
    top: Vec<f64>,
    pub thresholds: Vec<f64>,
    pub foretold: f64,
    pub sharpness: f64,
    pub prior_weight: f64,
    log_prior: Vec<f64>,
}

impl Judge {
    pub fn new(left_out: LeftOut, targets: &Targets, run: &Run) -> Self {
        let (given, counts) = (label_classes(targets), label_counts(targets));
        let (l, c) = (given.len(), counts.len());
        let log_prior: Vec<f64> = counts.iter().map(|count| ((count + 1) as f64 / (l + c) as f64).ln()).collect();
        let judged: Vec<usize> = (0..l).filter(|&at| left_out.judged[at]).collect();
        let fit = Fit { scores: &left_out.scores, judged: &judged, given: &given, log_prior: &log_prior };
        let uses_prior = l >= LEAST_FOR_PRIOR * n_present(&counts);
        let (sharpness, prior_weight) = run.install(|| fit.minimum(uses_prior));
        let mut judge = Self {
            quality: vec![f64::NAN; l],
            proposed: vec![0; l],
            flagged: vec![false; l],
            top: vec![f64::NAN; l],
            thresholds: vec![f64::NAN; c],
            foretold: f64::NAN,
            left_out,
            sharpness,
            prior_weight,
            log_prior,
        };
        judge.look(&judged, &given);
        judge
    }

    fn look(&mut self, judged: &[usize], given: &[usize]) {
        let c = self.thresholds.len();
        let (mut sums, mut counts, mut n_right) = (vec![0.0; c], vec![0usize; c], 0usize);
        let mut shares = vec![0.0; c];
        for &at in judged {
            let scores = self.left_out.scores.row(at);
            n_right += usize::from(largest(scores) == given[at]);
            self.shares(scores, &mut shares);
            let proposed = largest(&shares);
            (self.quality[at], self.proposed[at], self.top[at]) =
                (shares[given[at]], proposed as u32, shares[proposed]);
            sums[given[at]] += shares[given[at]];
            counts[given[at]] += 1;
        }
        for class in (0..c).filter(|&class| counts[class] > 0) {
            self.thresholds[class] = sums[class] / counts[class] as f64;
        }
        for &at in judged {
            let proposed = self.proposed[at] as usize;
            self.flagged[at] = proposed != given[at] && self.top[at] >= self.thresholds[proposed];
        }
        self.foretold = if judged.is_empty() { f64::NAN } else { n_right as f64 / judged.len() as f64 };
    }

    /// Shares of the classes (c) from scores (c).
    fn shares(&self, scores: &[f64], shares: &mut [f64]) {
        for ((share, score), prior) in shares.iter_mut().zip(scores).zip(&self.log_prior) {
            *share = self.sharpness * score + self.prior_weight * prior;
        }
        softmax(shares, 1.0);
    }

    /// The class of largest share of each row with `scores` (n, c); `None` for rows of NaN.
    pub fn predicted(&self, scores: &Matrix) -> Vec<Option<u32>> {
        let mut shares = vec![0.0; scores.n_cols()];
        let predicted = |row: &[f64]| {
            if row.iter().any(|score| score.is_nan()) {
                return None;
            }
            self.shares(row, &mut shares);
            Some(largest(&shares) as u32)
        };
        scores.rows().map(predicted).collect()
    }

    /// Trust in each label for the next round (l): its quality over the largest share.
    pub fn trust(&self) -> Vec<f64> {
        let trust =
            |(quality, top): (&f64, &f64)| if quality.is_nan() { 1.0 } else { (quality / top).clamp(LEAST_TRUST, 1.0) };
        self.quality.iter().zip(&self.top).map(trust).collect()
    }
}

/// The fit of sharpness a and prior weight κ.
struct Fit<'a> {
    scores: &'a Matrix,
    judged: &'a [usize],
    given: &'a [usize],
    log_prior: &'a [f64],
}

/// Loss with its derivatives by a and κ: value, two first, three second.
#[derive(Clone, Copy, Default)]
struct Terms([f64; 6]);

impl Fit<'_> {
    /// a and κ of least loss: Newton's method within the bounds, halving steps that do not lower the loss.
    fn minimum(&self, uses_prior: bool) -> (f64, f64) {
        let typical = self.typical();
        let (mut a, mut kappa) = (typical, 0.0);
        let mut now = self.terms(a, kappa, typical);
        for _ in 0..MOST_STEPS {
            let [_, da, dk, daa, dak, dkk] = now.0;
            let is_held = !uses_prior || (kappa <= 0.0 && dk > 0.0) || (kappa >= 1.0 && dk < 0.0);
            let det = daa * dkk - dak * dak;
            let (step_a, step_k) = if is_held || det <= 1e-12 * daa * dkk {
                (-da / daa, 0.0)
            } else {
                ((dak * dk - dkk * da) / det, (dak * da - daa * dk) / det)
            };
            let mut share = 1.0;
            let found = loop {
                let (next_a, next_k) =
                    ((a + share * step_a).clamp(a / 4.0, a * 4.0), (kappa + share * step_k).clamp(0.0, 1.0));
                let next = self.terms(next_a, next_k, typical);
                if next.0[0] <= now.0[0] {
                    break Some((next_a, next_k, next));
                }
                share /= 2.0;
                if share < 1e-6 {
                    break None;
                }
            };
            let Some((next_a, next_k, next)) = found else { break };
            let change = (next_a / a - 1.0).abs().max((next_k - kappa).abs());
            (a, kappa, now) = (next_a, next_k, next);
            if change < LEAST_STEP {
                break;
            }
        }
        (a, kappa)
    }

    /// a₀.
    fn typical(&self) -> f64 {
        let margins = self.judged.iter().map(|&at| margin(self.scores.row(at))).filter(|margin| *margin > 0.0);
        let others = (self.scores.n_cols() - 1).max(1) as f64;
        median(margins.collect()).map_or(1.0, |median| (others * 9.0).ln() / median)
    }

    fn terms(&self, a: f64, kappa: f64, typical: f64) -> Terms {
        let block = |judged: &[usize]| {
            let mut sum = Terms::default();
            judged.iter().for_each(|&at| self.add(at, a, kappa, &mut sum));
            sum
        };
        let blocks: Vec<Terms> = self.judged.par_chunks(BLOCK).map(block).collect();
        let mut all = Terms::default();
        blocks.iter().for_each(|block| all.0.iter_mut().zip(block.0).for_each(|(sum, term)| *sum += term));
        let (log, variance) = ((a / typical).ln(), SPREAD * SPREAD);
        all.0[0] += log * log / (2.0 * variance);
        all.0[1] += log / (a * variance);
        // The second derivative is negative far above a₀; a positive part keeps Newton's steps downhill.
        all.0[3] += (1.0 - log).max(0.1) / (a * a * variance);
        all
    }

    fn add(&self, at: usize, a: f64, kappa: f64, sum: &mut Terms) {
        let scores = self.scores.row(at);
        let own = self.given[at];
        let finite = || (0..scores.len()).filter(|&k| scores[k].is_finite());
        let exponent = |k: usize| a * scores[k] + kappa * self.log_prior[k];
        let top = finite().map(exponent).fold(f64::NEG_INFINITY, f64::max);
        let [mut total, mut l, mut p, mut ll, mut lp, mut pp] = [0.0; 6];
        for k in finite() {
            let (weight, score, prior) = ((exponent(k) - top).exp(), scores[k], self.log_prior[k]);
            total += weight;
            l += weight * score;
            p += weight * prior;
            ll += weight * score * score;
            lp += weight * score * prior;
            pp += weight * prior * prior;
        }
        let [l, p, ll, lp, pp] = [l, p, ll, lp, pp].map(|value| value / total);
        let terms = [
            total.ln() + top - exponent(own),
            l - scores[own],
            p - self.log_prior[own],
            ll - l * l,
            lp - l * p,
            pp - p * p,
        ];
        sum.0.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
    }
}
