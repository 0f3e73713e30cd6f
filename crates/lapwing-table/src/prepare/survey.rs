//! What the cells of a column say about it: gaps, levels, moments, a sample.
//!
//! A survey takes the arrays of a column in order. Its memory does not grow with the rows: of many different values it keeps those with
//! the smallest hashes, of many rows every k-th.

use std::collections::{HashMap, HashSet};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef};
use xxhash_rust::xxh3::xxh3_64;

use super::dates::{DatePart, day_of, parts_of};
use super::numbers::{is_usable, logged, numbers_of};
use super::sketch::{Distinct, GROUP, Moments, Sample, limits};
use super::terms;
use crate::read::ColumnKind;
use lapwing_core::spreads::width;

/// Levels of a text whose names and counts are kept.
const MAX_LEVELS: usize = 10_000;

/// Cells of a sample that hold a number that stands for none, at least.
const MIN_SENTINELS: usize = 3;

/// Whether people write such a number where there is none: all digits are nines, eights or sevens, or it is a negative number of hundreds.
fn is_code(x: f64) -> bool {
    let digits = format!("{:.0}", x.abs());
    let are_all = |digit: char| digits.len() >= 2 && digits.chars().all(|c| c == digit);
    let is_round = x < 0.0 && x % 100.0 == 0.0 && digits.trim_end_matches('0').len() == 1;
    x.fract() == 0.0 && x.abs() < 1e12 && (['9', '8', '7'].into_iter().any(are_all) || is_round)
}

/// How much farther the high half of numbers reaches than the low half, if they are taken by their logarithm.
const SKEWED: f64 = 5.0;

/// Numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct NumberSurvey {
    pub moments: Moments,
    pub sample: Sample,
    pub distinct: Distinct,
    /// The least and the largest.
    limits: Option<(f64, f64)>,
    /// Number of values that are infinite or too large, which count as missing; the row of the first, and the value.
    pub n_infinite: usize,
    pub first_infinite: Option<(usize, f64)>,
    has_fractions: bool,
    /// Whether the difference to the number before was once not 1, and not −1.
    breaks_up: bool,
    breaks_down: bool,
    last: Option<f64>,
}

impl NumberSurvey {
    /// The least and the largest number; infinite without any.
    pub(super) fn limits(&self) -> (f64, f64) {
        self.limits.unwrap_or((f64::INFINITY, f64::NEG_INFINITY))
    }

    pub(super) fn are_integers(&self) -> bool {
        !self.has_fractions
    }

    /// Whether each number is one more than that before, or each one less.
    pub(super) fn counts(&self) -> bool {
        !self.breaks_up || !self.breaks_down
    }

    /// The number of different values: exact up to some thousand, else an estimate; `None` for as many decimals.
    pub(super) fn n_distinct(&self) -> Option<usize> {
        (self.are_integers() || self.distinct.is_exact()).then(|| self.distinct.count())
    }

    /// What is added before the logarithm is taken, if the numbers are spread over orders of magnitude: none is negative, and from the
    /// median to the highest hundredth it is [`SKEWED`] times as far as from the least to the median.
    pub(super) fn log_shift(&self) -> Option<f64> {
        let known = self.known();
        let median = *known.get(known.len().checked_sub(1)? / 2)?;
        let high = known[(0.99 * (known.len() - 1) as f64) as usize];
        let least = self.limits().0;
        let is_skewed = least >= 0.0 && median > least && high - median > SKEWED * (median - least);
        is_skewed.then_some(if least > 0.0 { least } else { median })
    }

    /// The number that stands for no number, if there clearly is one: the least or the largest, which comes again, is a code such as −200
    /// or 9999, and is farther from all others than these are from each other, or alone below 0.
    pub(super) fn sentinel(&self) -> Option<f64> {
        let known = self.known();
        let (&least, &most) = (known.first()?, known.last()?);
        let of = |x: f64| {
            let n_equal = known.iter().filter(|other| **other == x).count();
            let mut others = known.iter().copied().filter(|other| *other != x);
            let first = others.next()?;
            let last = others.next_back().unwrap_or(first);
            let gap = if x < first { first - x } else { x - last };
            // Where nothing else is below 0, a code there is no number.
            let is_apart = last > first && (gap > last - first || (x < 0.0 && first >= 0.0));
            let is_rare = (MIN_SENTINELS..=known.len() * 3 / 4).contains(&n_equal);
            (is_apart && is_rare && is_code(x)).then_some(x)
        };
        of(least).or_else(|| of(most))
    }

    /// The mean and the deviation; of logarithms, by the sample of rows.
    pub(super) fn mean_and_deviation(&self, log: Option<f64>) -> (f64, f64) {
        if log.is_none() {
            return (self.moments.mean(), self.moments.deviation());
        }
        let mut moments = Moments::default();
        self.sample.values.iter().for_each(|&x| moments.push(logged(x, log)));
        (moments.mean(), moments.deviation())
    }

    /// The width that scaling makes the same for all columns.
    pub(super) fn width(&self, log: Option<f64>) -> f64 {
        let (least, most) = self.limits();
        let range = (logged(most, log) - logged(least, log)).max(0.0);
        width(range, self.known().iter().map(|&x| logged(x, log)).collect())
    }

    /// The numbers of the sample that are not missing, ascending.
    fn known(&self) -> Vec<f64> {
        let mut known: Vec<f64> = self.sample.values.iter().copied().filter(|x| !x.is_nan()).collect();
        known.sort_unstable_by(f64::total_cmp);
        known
    }

    fn add(&mut self, row: usize, values: &[f64]) {
        // Short passes, each of which the compiler vectorizes, over values that stay in the L1 cache.
        for (at, piece) in values.chunks(GROUP).enumerate() {
            let (row, is_infinite) = (row + at * GROUP, |x: &f64| !x.is_nan() && !is_usable(*x));
            let n_infinite = piece.iter().filter(|x| is_infinite(x)).count();
            if n_infinite == 0 {
                self.add_piece(row, piece);
            } else {
                self.n_infinite += n_infinite;
                let first = piece.iter().position(is_infinite).map(|at| (row + at, piece[at]));
                self.first_infinite = self.first_infinite.or(first);
                let usable = |x: &f64| if is_usable(*x) { *x } else { f64::NAN };
                self.add_piece(row, &piece.iter().map(usable).collect::<Vec<_>>());
            }
        }
    }

    /// Adds numbers that are finite or NaN.
    fn add_piece(&mut self, row: usize, values: &[f64]) {
        self.moments.add(values);
        let ((least, most), before) = (limits(values), self.limits());
        self.limits = Some((before.0.min(least), before.1.max(most)));
        self.has_fractions = self.has_fractions || values.iter().any(|x| x.fract().abs() > 0.0);
        if self.counts() {
            for x in values.iter().copied().filter(|x| !x.is_nan()) {
                let last = self.last.replace(x);
                self.breaks_up |= last.is_some_and(|last| x != last + 1.0);
                self.breaks_down |= last.is_some_and(|last| x != last - 1.0);
            }
        }
        // Many decimals are not counted: only whole numbers may name the rows.
        if self.are_integers() || self.distinct.is_exact() {
            self.distinct.add_numbers(values);
        }
        self.sample.add(row, values);
    }
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

/// Marks between the pieces of a list.
const LIST_MARKS: [char; 4] = ['|', ';', ',', '/'];

/// The share of cells that hold a mark, and how often a piece comes on average, in a column of lists.
const LISTED: f64 = 0.3;
const PIECE_RECURS: f64 = 3.0;

/// Words of the longest piece that is no sentence, and the share of the pieces that are none.
const PIECE_WORDS: usize = 3;
const SHORT_PIECES: f64 = 0.9;

/// Letters of a part of a name, and the share of the cells that have a part of others, in a column whose parts recur.
const PART_CHARS: usize = 3;
const PARTS_RECUR: f64 = 0.5;

/// The share of the letters that belong to scripts without blanks, in a text of such a script.
const UNSPACED: f64 = 0.3;

impl TextSurvey {
    /// The levels, ascending.
    pub(super) fn sorted_levels(&self) -> Vec<String> {
        let mut levels: Vec<String> = self.levels.keys().cloned().collect();
        levels.sort_unstable();
        levels
    }

    /// The levels with their counts, the most frequent first.
    pub(super) fn by_count(&self) -> Vec<(&str, usize)> {
        let mut levels: Vec<(&str, usize)> = self.levels.iter().map(|(text, &count)| (text.as_str(), count)).collect();
        levels.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        levels
    }

    /// The terms of the levels that are known.
    pub(super) fn terms_of(&self, tokens: terms::Tokens) -> terms::TermCounts {
        terms::TermCounts::of(tokens, self.levels.iter().map(|(text, &count)| (text.as_str(), count)))
    }

    /// Whether all cells are JSON objects.
    pub(super) fn are_objects(&self) -> bool {
        self.levels.keys().all(|text| text.starts_with('{') && text.ends_with('}') && text.contains(':'))
    }

    /// The characters of a level, on average.
    pub(super) fn mean_chars(&self) -> f64 {
        let n: usize = self.levels.keys().map(|text| text.chars().count()).sum();
        n as f64 / self.levels.len().max(1) as f64
    }

    /// The mark between the pieces of cells that are lists, if pieces come again and again.
    pub(super) fn list_mark(&self) -> Option<char> {
        LIST_MARKS.into_iter().find(|&mark| {
            let (mut pieces, mut n_pieces, mut n_short, mut n_lists) = (HashSet::new(), 0usize, 0usize, 0usize);
            for text in self.levels.keys() {
                let cut = || text.split(mark).map(str::trim).filter(|piece| !piece.is_empty());
                // Pieces of many words are sentences.
                let short = || cut().filter(|piece| piece.split_whitespace().count() <= PIECE_WORDS);
                n_lists += usize::from(cut().nth(1).is_some());
                n_pieces += cut().count();
                n_short += short().count();
                pieces.extend(short());
            }
            n_lists as f64 >= LISTED * self.levels.len() as f64
                && n_short as f64 >= SHORT_PIECES * n_pieces as f64
                && n_short as f64 >= PIECE_RECURS * pieces.len().max(1) as f64
        })
    }

    /// Whether all cells have the same number of letters and digits, at most `most`, and nothing else.
    pub(super) fn have_one_length(&self, most: usize) -> bool {
        let length = self.levels.keys().next().map_or(0, |text| text.len());
        let is_code = |text: &String| text.len() == length && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        length <= most && self.levels.keys().all(is_code)
    }

    /// Whether most letters belong to scripts without blanks.
    pub(super) fn is_unspaced(&self) -> bool {
        let (mut n, mut n_unspaced) = (0usize, 0usize);
        for c in self.levels.keys().flat_map(|text| text.chars()).filter(|c| c.is_alphabetic()) {
            n += 1;
            n_unspaced += usize::from(terms::is_unspaced(c));
        }
        n_unspaced as f64 > UNSPACED * n.max(1) as f64
    }

    /// Whether parts of the cells, runs of letters, come in several cells and not in nearly all.
    pub(super) fn parts_recur(&self) -> bool {
        let levels: Vec<&String> = self.levels.keys().collect();
        let is_code =
            |text: &str| text.len() >= 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if levels.iter().all(|text| is_code(text)) {
            return false;
        }
        let parts = |text: &str| -> HashSet<String> {
            let runs = text.split(|c: char| !c.is_alphabetic());
            runs.filter(|run| run.chars().count() >= PART_CHARS).map(str::to_lowercase).collect()
        };
        let mut counts: HashMap<String, usize> = HashMap::new();
        levels.iter().for_each(|text| parts(text).into_iter().for_each(|part| *counts.entry(part).or_default() += 1));
        let is_shared = |part: &String| (2..=levels.len() * 9 / 10).contains(&counts[part]);
        let n_shared = levels.iter().filter(|text| parts(text).iter().any(is_shared)).count();
        n_shared as f64 >= PARTS_RECUR * levels.len() as f64
    }

    fn add(&mut self, text: &str) {
        self.distinct.add(xxh3_64(text.as_bytes()));
        self.n_words += text.split_whitespace().count();
        if let Some(count) = self.levels.get_mut(text) {
            *count += 1;
        } else if self.levels.len() < MAX_LEVELS {
            self.levels.insert(text.to_owned(), 1);
        }
        self.terms.add(text, 1);
    }
}

/// What is known of the cells of a column, by the kind of the column.
#[derive(Clone, Debug)]
pub(super) enum Cells {
    Numbers(NumberSurvey),
    /// The numbers of cells that are true.
    Truths {
        n_true: usize,
    },
    /// The moments of each part, as in [`DatePart::ALL`].
    Dates {
        parts: [Moments; DatePart::ALL.len()],
        sample: Sample,
        /// The first and the last, in microseconds since 1970.
        limits: Option<(i64, i64)>,
        /// Whether a day of a month is beyond 12, so that it is no month.
        has_late_day: bool,
    },
    Texts(Box<TextSurvey>),
    /// The moments of each of the numbers of a list.
    Vectors(Vec<Moments>),
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
                Cells::Dates { parts: Default::default(), sample: Sample::default(), limits: None, has_late_day: false }
            }
            ColumnKind::Text => Cells::Texts(Box::default()),
            ColumnKind::Vector(_) => Cells::Vectors(Vec::new()),
            ColumnKind::Other(_) => Cells::None,
        };
        Self { n_rows: 0, n_missing: 0, cells }
    }

    /// Says how many rows there are; cells that were not read are missing, unless their kind cannot be read.
    pub(super) fn set_rows(&mut self, n_rows: usize) {
        self.n_missing += if matches!(self.cells, Cells::None) { 0 } else { n_rows - self.n_rows };
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
        match &mut self.cells {
            Cells::Numbers(numbers) => {
                let values = numbers_of(array).unwrap_or_default();
                self.n_missing += values.iter().filter(|x| !is_usable(**x)).count();
                numbers.add(row, &values);
            }
            Cells::Truths { n_true } => {
                self.n_missing += array.null_count();
                *n_true += array.as_boolean().true_count();
            }
            Cells::Dates { parts, sample, limits, has_late_day } => {
                self.n_missing += array.null_count();
                let micros: Vec<Option<i64>> = array.as_primitive::<TimestampMicrosecondType>().iter().collect();
                *has_late_day = *has_late_day || micros.iter().flatten().any(|&micros| day_of(micros) > 12);
                for micros in micros.iter().flatten().copied() {
                    let (first, last) = limits.get_or_insert((micros, micros));
                    (*first, *last) = (micros.min(*first), micros.max(*last));
                    let found = parts_of(micros);
                    parts.iter_mut().zip(found).for_each(|(moments, x)| moments.push(x));
                }
                let doubles = micros.iter().map(|micros| micros.map_or(f64::NAN, |micros| micros as f64));
                sample.add(row, &doubles.collect::<Vec<_>>());
            }
            Cells::Texts(texts) => {
                self.n_missing += array.null_count();
                array.as_string::<i32>().iter().flatten().for_each(|text| texts.add(text));
            }
            Cells::Vectors(all) => {
                self.n_missing += array.null_count();
                let lists = array.as_fixed_size_list();
                let width = lists.value_length().max(0) as usize;
                let values = lists.values().as_primitive::<Float32Type>().values();
                all.resize(width, Moments::default());
                for row in (0..lists.len()).filter(|&row| lists.is_valid(row)) {
                    for (moments, x) in all.iter_mut().zip(values[row * width..][..width].iter().map(|&x| f64::from(x)))
                    {
                        moments.push(if is_usable(x) { x } else { f64::NAN });
                    }
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
}
