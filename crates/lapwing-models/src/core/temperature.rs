//! The temperature T of least log loss of labels: the only number that is fitted to make scores probabilities.
//!
//! It minimizes Σ −log(sᵧ·exp(zᵧ / T) / Σ sᵢ·exp(zᵢ / T)) over rows of logarithms z with the classes y, s fixed factors of each row, plus
//! (ln T)² / (2·spread²). The sum is convex in 1/T and the minimum the only one in ln T, so golden-section search finds it.

use crate::core::scores::{exponentials, largest};

/// Width of the interval of ln T at which a search ends.
pub(crate) const PRECISION: f64 = 1e-3;
/// Values whose exponentials are taken together.
const BLOCK_VALUES: usize = 4096;

/// Logarithms of rows (l, c), less the largest of each row, and the class of each row: to be read at many temperatures.
pub(crate) struct Logs<'s> {
    c: usize,
    values: Vec<f64>,
    classes: Vec<usize>,
    /// s (c) of each row; empty if all are 1.
    factors: Vec<&'s [f64]>,
    /// Σ log sᵧ.
    given: f64,
}

impl<'s> Logs<'s> {
    pub fn new(rows: impl Iterator<Item = (impl Iterator<Item = f64>, usize)>, factors: Vec<&'s [f64]>) -> Self {
        let (mut values, mut classes, mut begin) = (Vec::new(), Vec::new(), 0);
        for (row, class) in rows {
            values.extend(row);
            let own = &mut values[begin..];
            let top = own.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            own.iter_mut().for_each(|value| *value -= top);
            classes.push(class);
            begin = values.len();
        }
        let given = factors.iter().zip(&classes).map(|(factors, &class)| factors[class].ln()).sum();
        Self { c: (values.len() / classes.len().max(1)).max(1), values, classes, factors, given }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// Rows whose class has the largest value, the first of equal ones.
    pub fn n_right(&self) -> usize {
        self.values.chunks_exact(self.c).zip(&self.classes).filter(|(row, class)| largest(row) == **class).count()
    }

    /// Σ sᵢ·exp(zᵢ / T) of each row (l).
    pub fn totals(&self, temperature: f64) -> impl Iterator<Item = f64> {
        let (cold, n_rows) = (temperature.recip().min(f64::MAX), (BLOCK_VALUES / self.c).max(1));
        let mut block = Vec::new();
        let blocks = self.values.chunks(n_rows * self.c).enumerate();
        blocks.flat_map(move |(at, values)| {
            block.clear();
            block.extend(values.iter().map(|value| value * cold));
            exponentials(&mut block);
            let total = |(row, own): (usize, &[f64])| match self.factors.get(at * n_rows + row) {
                Some(factors) => in_lanes(own.iter().zip(*factors).map(|(e, s)| e * s)),
                None => in_lanes(own.iter().copied()),
            };
            block.chunks_exact(self.c).enumerate().map(total).collect::<Vec<f64>>()
        })
    }

    /// The sum of the losses at a temperature.
    pub fn loss(&self, temperature: f64) -> f64 {
        let own = self.values.chunks_exact(self.c).zip(&self.classes).map(|(row, &class)| row[class] / temperature);
        self.totals(temperature).zip(own).map(|(total, own)| total.ln() - own).sum::<f64>() - self.given
    }

    /// What is minimized, at ln T.
    pub fn total(&self, log_t: f64, spread: f64) -> f64 {
        self.loss(log_t.exp()) + (log_t / spread).powi(2) / 2.0
    }

    /// ln T of the minimum between two ends.
    pub fn minimum(&self, ends: (f64, f64), spread: f64) -> f64 {
        golden_section(ends, |log_t| self.total(log_t, spread))
    }
}

/// The sum of values, in four lanes, so that an addition need not wait for the one before.
fn in_lanes(values: impl Iterator<Item = f64>) -> f64 {
    let mut sums = [0.0; 4];
    values.enumerate().for_each(|(at, value)| sums[at % 4] += value);
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// Where a function is least that first falls, then rises, between two places; to half of [`PRECISION`].
fn golden_section((mut low, mut high): (f64, f64), function: impl Fn(f64) -> f64) -> f64 {
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (mut a, mut b) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_a, mut at_b) = (function(a), function(b));
    while high - low > PRECISION {
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
