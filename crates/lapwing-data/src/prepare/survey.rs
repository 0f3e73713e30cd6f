//! What the cells of a column say about it: gaps, levels, moments, a sample.
//!
//! A survey takes the arrays of a column in order. Its memory does not grow with the rows: of many different values it keeps those with
//! the smallest hashes, of many rows every k-th.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef};
use xxhash_rust::xxh3::xxh3_64;

use super::dates::{DatePart, parts_of};
use super::terms;
use crate::read::ColumnKind;

/// Rows of a sample, at most twice.
const SAMPLE_ROWS: usize = 4096;

/// Different values that are told apart exactly.
const MAX_DISTINCT: usize = 4096;

/// Levels of a text whose names and counts are kept.
const MAX_LEVELS: usize = 10_000;

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
const GROUP: usize = 512;

impl Moments {
    /// Adds values; NaN are passed over.
    pub(super) fn add(&mut self, values: impl Iterator<Item = f64>) {
        for x in values.filter(|x| !x.is_nan()) {
            self.group.push(x);
            if self.group.len() == GROUP {
                (self.n, self.mean, self.squares) = self.with_group();
                self.group.clear();
            }
        }
    }

    /// As [`add`](Self::add), of values in memory.
    pub(super) fn add_all(&mut self, values: &[f64]) {
        if self.group.is_empty() && values.len() == GROUP && values.iter().all(|x| !x.is_nan()) {
            (self.n, self.mean, self.squares) = self.with(values);
            return;
        }
        self.add(values.iter().copied());
    }

    /// Number, mean and squares with those of the last group.
    fn with_group(&self) -> (usize, f64, f64) {
        self.with(&self.group)
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
        self.with_group().1
    }

    /// The population standard deviation; 0 without values.
    pub(super) fn deviation(&self) -> f64 {
        let (n, _, squares) = self.with_group();
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
#[derive(Clone, Debug)]
pub(super) struct Distinct {
    counts: HashMap<u64, u32>,
    /// Hashes above are not kept.
    limit: u64,
}

impl Default for Distinct {
    fn default() -> Self {
        Self { counts: HashMap::new(), limit: u64::MAX }
    }
}

impl Distinct {
    #[inline]
    fn add(&mut self, hash: u64) {
        if hash > self.limit {
            return;
        }
        *self.counts.entry(hash).or_default() += 1;
        if self.counts.len() > MAX_DISTINCT {
            self.limit /= 2;
            let limit = self.limit;
            self.counts.retain(|&hash, _| hash <= limit);
        }
    }

    /// Adds numbers; NaN are passed over, and both zeros are one number.
    fn add_numbers(&mut self, values: &[f64]) {
        for x in values {
            let hash = mixed((x + 0.0).to_bits());
            if hash <= self.limit && !x.is_nan() {
                self.add(hash);
            }
        }
    }

    /// The number of different values: exact up to some thousand, else an estimate.
    pub(super) fn count(&self) -> usize {
        match self.limit {
            u64::MAX => self.counts.len(),
            limit => (self.counts.len() as f64 * (u64::MAX as f64 / limit as f64)) as usize,
        }
    }

    /// The share of the values looked at that come only once.
    pub(super) fn unique_share(&self) -> f64 {
        let once = self.counts.values().filter(|&&count| count == 1).count();
        once as f64 / self.counts.values().map(|&count| count as usize).sum::<usize>().max(1) as f64
    }
}

/// Every k-th row of a column.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub values: Vec<f64>,
    step: usize,
}

impl Default for Sample {
    fn default() -> Self {
        Self { values: Vec::new(), step: 1 }
    }
}

impl Sample {
    /// Adds the values of the rows from `row` on.
    fn add(&mut self, row: usize, values: &[f64]) {
        let mut at = (self.step - row % self.step) % self.step;
        while at < values.len() {
            self.values.push(values[at]);
            if self.values.len() >= 2 * SAMPLE_ROWS {
                self.values = self.values.iter().step_by(2).copied().collect();
                self.step *= 2;
                at = (row + at) / self.step * self.step + self.step - row;
            } else {
                at += self.step;
            }
        }
    }

    /// The median of the values that are not NaN; 0 without any.
    pub(super) fn median(&self) -> f64 {
        let mut values: Vec<f64> = self.values.iter().copied().filter(|x| !x.is_nan()).collect();
        if values.is_empty() {
            return 0.0;
        }
        let (_, median, _) = {
            let middle = (values.len() - 1) / 2;
            values.select_nth_unstable_by(middle, f64::total_cmp)
        };
        *median
    }
}

/// Numbers.
#[derive(Clone, Debug)]
pub(super) struct NumberSurvey {
    pub moments: Moments,
    pub sample: Sample,
    pub distinct: Distinct,
    pub least: f64,
    pub most: f64,
    /// Number of infinite values, which count as missing.
    pub n_infinite: usize,
    pub are_integers: bool,
    /// Whether each number is larger than the one before it, or each is smaller.
    pub ascend: bool,
    pub descend: bool,
    /// Whether the difference to the number before is always 1.
    pub count_up: bool,
    last: f64,
}

impl Default for NumberSurvey {
    fn default() -> Self {
        Self {
            moments: Moments::default(),
            sample: Sample::default(),
            distinct: Distinct::default(),
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
            n_infinite: 0,
            are_integers: true,
            ascend: true,
            descend: true,
            count_up: true,
            last: f64::NAN,
        }
    }
}

impl NumberSurvey {
    fn add(&mut self, row: usize, values: &[f64]) {
        // Short passes, each of which the compiler vectorizes, over values that stay in the L1 cache.
        for (at, piece) in values.chunks(GROUP).enumerate() {
            let n_infinite = piece.iter().filter(|x| x.is_infinite()).count();
            if n_infinite == 0 {
                self.add_piece(row + at * GROUP, piece);
            } else {
                self.n_infinite += n_infinite;
                let usable = |x: &f64| if x.is_finite() { *x } else { f64::NAN };
                self.add_piece(row + at * GROUP, &piece.iter().map(usable).collect::<Vec<_>>());
            }
        }
    }

    /// Adds numbers that are finite or NaN.
    fn add_piece(&mut self, row: usize, values: &[f64]) {
        self.moments.add_all(values);
        self.least = values.iter().fold(self.least, |least, &x| if x < least { x } else { least });
        self.most = values.iter().fold(self.most, |most, &x| if x > most { x } else { most });
        if self.are_integers {
            self.are_integers = values.iter().all(|x| x.is_nan() || x.fract() == 0.0);
        }
        if self.ascend || self.descend {
            for x in values.iter().copied().filter(|x| !x.is_nan()) {
                self.ascend &= self.last.is_nan() || x > self.last;
                self.descend &= self.last.is_nan() || x < self.last;
                self.count_up &= self.last.is_nan() || x == self.last + 1.0;
                self.last = x;
            }
            self.count_up &= self.ascend;
        }
        self.distinct.add_numbers(values);
        self.sample.add(row, values);
    }
}

/// Well-mixed bits.
#[inline]
fn mixed(bits: u64) -> u64 {
    let x = (bits ^ (bits >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// Texts.
#[derive(Clone, Debug, Default)]
pub(super) struct TextSurvey {
    pub distinct: Distinct,
    /// Levels with their counts, at most [`MAX_LEVELS`].
    pub levels: HashMap<String, usize>,
    /// Words of all cells.
    pub n_words: usize,
    pub terms: terms::TermCounts,
}

impl TextSurvey {
    fn add(&mut self, text: &str) {
        self.distinct.add(xxh3_64(text.as_bytes()));
        self.n_words += text.split_whitespace().count();
        let is_full = self.levels.len() >= MAX_LEVELS;
        match self.levels.get_mut(text) {
            Some(count) => *count += 1,
            None if is_full => {}
            None => {
                self.levels.insert(text.to_owned(), 1);
            }
        }
        self.terms.add(text);
    }
}

/// Lists of numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct VectorSurvey {
    /// Of each of the numbers of a list.
    pub moments: Vec<Moments>,
}

/// What is known of the cells of a column, by the kind of the column.
#[derive(Clone, Debug)]
pub(super) enum Cells {
    Numbers(NumberSurvey),
    /// The numbers of cells that are true.
    Truths {
        n_true: usize,
    },
    /// The moments of each part.
    Dates {
        parts: Vec<(DatePart, Moments)>,
        sample: Sample,
    },
    Texts(Box<TextSurvey>),
    Vectors(VectorSurvey),
    /// A kind that cannot be used.
    None,
}

/// The survey of a column.
#[derive(Clone, Debug)]
pub(super) struct Survey {
    pub n_rows: usize,
    pub n_missing: usize,
    pub cells: Cells,
}

impl Survey {
    pub(super) fn new(kind: &ColumnKind) -> Self {
        let cells = match kind {
            ColumnKind::Empty | ColumnKind::Number => Cells::Numbers(NumberSurvey::default()),
            ColumnKind::Boolean => Cells::Truths { n_true: 0 },
            ColumnKind::Date => {
                let parts = DatePart::ALL.iter().map(|&part| (part, Moments::default())).collect();
                Cells::Dates { parts, sample: Sample::default() }
            }
            ColumnKind::Text => Cells::Texts(Box::default()),
            ColumnKind::Vector(_) => Cells::Vectors(VectorSurvey::default()),
            ColumnKind::Other(_) => Cells::None,
        };
        Self { n_rows: 0, n_missing: 0, cells }
    }

    /// Says how many rows there are; cells of a kind that cannot be read are all missing.
    pub(super) fn set_rows(&mut self, n_rows: usize) {
        self.n_missing += n_rows - self.n_rows;
        self.n_rows = n_rows;
    }

    /// Number of cells that are not missing.
    pub(super) fn n_filled(&self) -> usize {
        self.n_rows - self.n_missing
    }

    /// Takes the next cells.
    pub(super) fn add(&mut self, array: &ArrayRef) {
        let row = self.n_rows;
        self.n_rows += array.len();
        let mut doubles = Vec::new();
        match &mut self.cells {
            Cells::Numbers(numbers) => {
                let values = match array.as_primitive_opt::<Float64Type>() {
                    Some(array) => &array.values()[..],
                    None => {
                        let singles = array.as_primitive_opt::<Float32Type>().map_or(&[][..], |array| array.values());
                        doubles.extend(singles.iter().map(|&x| f64::from(x)));
                        &doubles
                    }
                };
                self.n_missing += values.iter().filter(|x| !x.is_finite()).count();
                numbers.add(row, values);
            }
            Cells::Truths { n_true } => {
                self.n_missing += array.null_count();
                *n_true += array.as_boolean().true_count();
            }
            Cells::Dates { parts, sample } => {
                self.n_missing += array.null_count();
                let micros: Vec<Option<i64>> = array.as_primitive::<TimestampMicrosecondType>().iter().collect();
                let found: Vec<Option<[f64; DatePart::ALL.len()]>> =
                    micros.iter().map(|micros| micros.map(parts_of)).collect();
                for (at, (_, moments)) in parts.iter_mut().enumerate() {
                    moments.add(found.iter().map(|parts| parts.map_or(f64::NAN, |parts| parts[at])));
                }
                doubles.extend(micros.iter().map(|micros| micros.map_or(f64::NAN, |micros| micros as f64)));
                sample.add(row, &doubles);
            }
            Cells::Texts(texts) => {
                self.n_missing += array.null_count();
                array.as_string::<i32>().iter().flatten().for_each(|text| texts.add(text));
            }
            Cells::Vectors(vectors) => {
                self.n_missing += array.null_count();
                let lists = array.as_fixed_size_list();
                let width = lists.value_length().max(0) as usize;
                let values = lists.values().as_primitive::<Float32Type>().values();
                vectors.moments.resize(width, Moments::default());
                for (at, moments) in vectors.moments.iter_mut().enumerate() {
                    moments.add((0..lists.len()).map(|row| match lists.is_valid(row) {
                        true => f64::from(values[row * width + at]),
                        false => f64::NAN,
                    }));
                }
            }
            Cells::None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Float64Array;

    use super::*;

    #[test]
    fn numbers_are_the_same_in_pieces_of_any_size() {
        let values: Vec<f64> =
            (0..50_000).map(|at| if at % 10 == 3 { f64::NAN } else { ((at * 7919) % 1000) as f64 + 1e6 }).collect();
        let of = |piece: usize| {
            let mut survey = Survey::new(&ColumnKind::Number);
            values
                .chunks(piece)
                .for_each(|part| survey.add(&(Arc::new(Float64Array::from(part.to_vec())) as ArrayRef)));
            let Cells::Numbers(numbers) = survey.cells else { unreachable!("numbers stay numbers") };
            (survey.n_missing, numbers)
        };
        let (n_missing, whole) = of(50_000);
        assert_eq!(of(77).1.moments, whole.moments);
        let known: Vec<f64> = values.iter().copied().filter(|x| !x.is_nan()).collect();
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let variance = known.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / known.len() as f64;
        assert!(n_missing == 5_000 && (whole.moments.mean() - mean).abs() < 1e-6);
        assert!((whole.moments.deviation() / variance.sqrt() - 1.0).abs() < 1e-12);
        for piece in [1, 77, 4096] {
            let (_, other) = of(piece);
            let bits = |sample: &Sample| sample.values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&other.sample), bits(&whole.sample), "{piece}");
            assert_eq!(other.distinct.count(), whole.distinct.count());
        }
        assert!((whole.sample.median() - mean).abs() < 30.0);
    }

    #[test]
    fn distinct_values_are_counted_or_estimated() {
        let mut distinct = Distinct::default();
        (0..100_000u64).for_each(|at| distinct.add(mixed(at)));
        assert!((distinct.count() as f64 / 1e5 - 1.0).abs() < 0.1 && distinct.unique_share() == 1.0);
        (0..100_000u64).for_each(|at| distinct.add(mixed(at)));
        assert!(distinct.unique_share() < 0.01);
    }
}
