//! Sketches of the numbers of a column, in memory that does not grow with the rows: moments, different values, a sample.
//!
//! Moments are added up group by group with the update of Chan, Golub and LeVeque, m ← m + δ·n/(N + n), M ← M + M′ + δ²·N·n/(N + n), δ the
//! difference of the means. Of many different values those with the smallest hashes are kept, whose share tells how many there are
//! (k minimum values). All are the same for any pieces in which the values come. Cost: a few nanoseconds a value.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use lapwing_simd::dispatch;

/// Rows of a sample, at most twice.
const SAMPLE_ROWS: usize = 4096;

/// Different values that are told apart exactly.
const MAX_DISTINCT: usize = 2048;

/// The mean and the sum of squared differences to it, of values in order.
///
/// Values are added up in groups of one size, so that the result does not depend on the pieces in which they come.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Moments {
    n: usize,
    mean: f64,
    squares: f64,
    /// The values of the last group, which is not full.
    group: Vec<f64>,
}

/// Values of a group.
pub(super) const GROUP: usize = 512;

impl Moments {
    /// Adds a value; NaN is passed over.
    pub(super) fn push(&mut self, x: f64) {
        if !x.is_nan() {
            self.group.push(x);
        }
        if self.group.len() == GROUP {
            (self.n, self.mean, self.squares) = self.with(&self.group);
            self.group.clear();
        }
    }

    /// Adds values; NaN are passed over.
    pub(super) fn add(&mut self, values: &[f64]) {
        if self.group.is_empty() && values.len() == GROUP && values.iter().all(|x| !x.is_nan()) {
            (self.n, self.mean, self.squares) = self.with(values);
        } else {
            values.iter().for_each(|x| self.push(*x));
        }
    }

    /// Number, mean and squares with those of some values.
    fn with(&self, group: &[f64]) -> (usize, f64, f64) {
        let n = group.len();
        if n == 0 {
            return (self.n, self.mean, self.squares);
        }
        let mean = sum(group, |x| x) / n as f64;
        let squares = sum(group, |x| (x - mean) * (x - mean));
        let (all, apart) = ((self.n + n) as f64, mean - self.mean);
        let squares = self.squares + squares + apart * apart * self.n as f64 * n as f64 / all;
        (self.n + n, self.mean + apart * n as f64 / all, squares)
    }

    pub(super) fn mean(&self) -> f64 {
        self.with(&self.group).1
    }

    /// The population standard deviation; 0 without values.
    pub(super) fn deviation(&self) -> f64 {
        let (n, _, squares) = self.with(&self.group);
        (squares / n.max(1) as f64).sqrt()
    }
}

/// The sum of a function of values, in eight sums that the compiler keeps in vectors.
fn sum(values: &[f64], of: impl Fn(f64) -> f64) -> f64 {
    let mut sums = [0.0; 8];
    let chunks = values.chunks_exact(8);
    let rest: f64 = chunks.remainder().iter().map(|&x| of(x)).sum();
    chunks.for_each(|chunk| sums.iter_mut().zip(chunk).for_each(|(sum, &x)| *sum += of(x)));
    sums.iter().sum::<f64>() + rest
}

/// The number of different values among many, by the smallest of their hashes.
#[derive(Clone, Debug, Default)]
pub(super) struct Distinct {
    counts: HashMap<u64, u32, BuildHasherDefault<Mixer>>,
    /// How often the limit of the hashes that are kept was halved.
    n_halvings: u32,
}

impl Distinct {
    /// Hashes above are not kept.
    #[inline]
    fn limit(&self) -> u64 {
        u64::MAX >> self.n_halvings
    }

    #[inline]
    pub(super) fn add(&mut self, hash: u64) {
        if hash > self.limit() {
            return;
        }
        *self.counts.entry(hash).or_default() += 1;
        if self.counts.len() > MAX_DISTINCT {
            self.n_halvings += 1;
            let limit = self.limit();
            self.counts.retain(|&hash, _| hash <= limit);
        }
    }

    /// Adds numbers; NaN are passed over, and both zeros are one number.
    pub(super) fn add_numbers(&mut self, values: &[f64]) {
        let mut hashes = [0; GROUP];
        for group in values.chunks(GROUP) {
            let hashes = &mut hashes[..group.len()];
            hash_all(group, hashes);
            let limit = self.limit();
            for (hash, x) in hashes.iter().zip(group) {
                if *hash <= limit && !x.is_nan() {
                    self.add(*hash);
                }
            }
        }
    }

    /// Whether all different values were counted.
    pub(super) fn is_exact(&self) -> bool {
        self.n_halvings == 0
    }

    /// The number of different values: exact up to some thousand, else an estimate.
    pub(super) fn count(&self) -> usize {
        (self.counts.len() as f64 * (u64::MAX as f64 / self.limit() as f64)) as usize
    }

    /// The share of the values looked at that come only once.
    pub(super) fn unique_share(&self) -> f64 {
        let once = self.counts.values().filter(|&&count| count == 1).count();
        once as f64 / self.counts.values().map(|&count| count as usize).sum::<usize>().max(1) as f64
    }
}

/// Places numbers that are hashes already: a product of them, whose bits depend on all of theirs.
#[derive(Clone, Copy, Debug, Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxhash_rust::xxh3::xxh3_64_with_seed(bytes, self.0);
    }

    fn write_u64(&mut self, x: u64) {
        let product = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.0 = product ^ (product >> 32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Every k-th row of a column.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    pub values: Vec<f64>,
    /// How often the distance k of its rows was doubled.
    n_doublings: u32,
}

impl Sample {
    /// Adds the values of the rows from `row` on.
    pub(super) fn add(&mut self, row: usize, values: &[f64]) {
        let mut step = 1 << self.n_doublings;
        let mut at = (step - row % step) % step;
        while at < values.len() {
            self.values.push(values[at]);
            if self.values.len() >= 2 * SAMPLE_ROWS {
                self.values = self.values.iter().step_by(2).copied().collect();
                self.n_doublings += 1;
                step *= 2;
                at = (row + at) / step * step + step - row;
            } else {
                at += step;
            }
        }
    }

    /// The median of the values that are not NaN; 0 without any.
    pub(super) fn median(&self) -> f64 {
        let mut values: Vec<f64> = self.values.iter().copied().filter(|x| !x.is_nan()).collect();
        if values.is_empty() {
            return 0.0;
        }
        let middle = (values.len() - 1) / 2;
        *values.select_nth_unstable_by(middle, f64::total_cmp).1
    }
}

dispatch! {
    /// Hashes of numbers.
    fn hash_all(values: &[f64], out: &mut [u64]) = plain_hash_all
}

#[inline(always)]
fn plain_hash_all(values: &[f64], out: &mut [u64]) {
    out.iter_mut().zip(values).for_each(|(hash, x)| *hash = mixed((x + 0.0).to_bits()));
}

dispatch! {
    /// The least and the largest of values that are not NaN; both infinite without such.
    pub(super) fn limits(values: &[f64]) -> (f64, f64) = plain_limits
}

#[inline(always)]
fn plain_limits(values: &[f64]) -> (f64, f64) {
    let (mut least, mut most) = ([f64::INFINITY; 8], [f64::NEG_INFINITY; 8]);
    let mut look = |at: usize, x: f64| {
        least[at] = if x < least[at] { x } else { least[at] };
        most[at] = if x > most[at] { x } else { most[at] };
    };
    let chunks = values.chunks_exact(8);
    chunks.remainder().iter().for_each(|&x| look(0, x));
    chunks.for_each(|chunk| chunk.iter().enumerate().for_each(|(at, &x)| look(at, x)));
    (least.into_iter().fold(f64::INFINITY, f64::min), most.into_iter().fold(f64::NEG_INFINITY, f64::max))
}

/// Well-mixed bits: the upper ones depend on all.
#[inline]
fn mixed(bits: u64) -> u64 {
    (bits ^ (bits >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_values_are_counted_or_estimated() {
        let mut distinct = Distinct::default();
        (0..100_000u64).for_each(|at| distinct.add(mixed(at)));
        assert!((distinct.count() as f64 / 1e5 - 1.0).abs() < 0.1 && distinct.unique_share() == 1.0);
        (0..100_000u64).for_each(|at| distinct.add(mixed(at)));
        assert!(distinct.unique_share() < 0.01);
    }
}
