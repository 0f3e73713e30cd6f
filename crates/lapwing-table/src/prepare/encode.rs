//! Cells as features, by the steps of a recipe.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::Float32Type;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, StringArray, TimestampMicrosecondArray};

use super::dates::{DatePart, parts_of};
use super::numbers::{Numbers, is_usable, logged};
use super::recipe::Step;
use super::terms::TermColumns;
use lapwing_core::scan::Value;

/// Rows whose columns are written one after the other, so that they stay in the caches.
const TILE_VALUES: usize = 1 << 14;

/// Types of features.
pub(super) trait Feature: Value + Into<f64> {
    fn of(x: f64) -> Self;

    /// Whether it is missing, or counts as such.
    fn is_missing(self) -> bool {
        !is_usable(self.into())
    }
}

impl Feature for f32 {
    #[inline(always)]
    fn of(x: f64) -> Self {
        x as f32
    }
}

impl Feature for f64 {
    #[inline(always)]
    fn of(x: f64) -> Self {
        x
    }
}

/// Cells that were unlike those of the fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unlike {
    /// Cells with a level that the fit did not have, and the first of them.
    pub n_unknown: usize,
    pub first_unknown: Option<String>,
    /// Missing cells in a column that had none.
    pub n_gaps: usize,
}

impl Unlike {
    /// Counts a level that the fit did not have.
    #[cold]
    fn note(&mut self, text: &str) {
        self.n_unknown += 1;
        self.first_unknown.get_or_insert_with(|| text.chars().take(40).collect());
    }

    /// Puts the number that marks a missing cell, or counts the cell where the fit had none.
    fn note_gap(&mut self, gap: Option<(usize, f64)>, row: usize, put: &mut impl FnMut(usize, usize, f64)) {
        match gap {
            Some((at, gap)) => put(row, at, gap),
            None => self.n_gaps += 1,
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.n_unknown += other.n_unknown;
        self.n_gaps += other.n_gaps;
        self.first_unknown = self.first_unknown.take().or(other.first_unknown);
    }
}

/// The cells of a column with its step.
pub(super) struct Encoder<'a> {
    cells: Cells<'a>,
    /// The first feature of the column.
    first: usize,
    /// The feature that marks missing cells, and its number, if there is one.
    gap: Option<(usize, f64)>,
    pub unlike: Unlike,
    weights: Vec<(u32, f64)>,
}

/// Cells, with what makes features of them.
enum Cells<'a> {
    /// Numbers, truth values, and levels by their places.
    Numbers(Numbers<'a>, Number),
    Levels(&'a StringArray, &'a [String]),
    /// Dates, the parts that are features, and the one in place of missing ones.
    Dates(&'a TimestampMicrosecondArray, &'a [(DatePart, f64, f64)], i64),
    /// Texts and the weight of their terms.
    Texts(&'a StringArray, &'a TermColumns, f64),
    /// Lists and all their numbers, those in place of missing ones, the length, and the scales.
    Lists(&'a FixedSizeListArray, &'a [f32], &'a [f64], Option<f64>, &'a [f64]),
}

impl<'a> Encoder<'a> {
    /// The cells of an array, `told` those of its gaps that other columns tell; `None` if it is not of the type that the step reads.
    pub(super) fn new(step: &'a Step, array: &'a ArrayRef, first: usize, told: Option<Vec<f64>>) -> Option<Self> {
        let mut unlike = Unlike::default();
        let cells = match step {
            Step::LeaveOut { .. } => return None,
            Step::Number { fill, center, scale, log, .. } => {
                let number = Number { told, fill: *fill, center: *center, scale: *scale, log: *log };
                Cells::Numbers(Numbers::of(array)?, number)
            }
            Step::Boolean { size, fill, .. } => {
                let number =
                    |is_true: Option<bool>| is_true.map_or(f64::NAN, |is_true| size * f64::from(u8::from(is_true)));
                let values = array.as_boolean_opt()?.iter().map(number).collect();
                let number = Number { told, fill: *fill, center: 0.0, scale: 1.0, log: None };
                Cells::Numbers(Numbers::Doubles(values), number)
            }
            Step::Ordered { levels, fill, center, scale, gap } => {
                let place = |text: Option<&str>| match levels.iter().position(|level| Some(level.as_str()) == text) {
                    Some(at) => at as f64,
                    None => text.filter(|_| gap.is_none()).map_or(f64::NAN, |text| {
                        unlike.note(text);
                        *fill
                    }),
                };
                let values = array.as_string_opt::<i32>()?.iter().map(place).collect();
                let number = Number { told, fill: *fill, center: *center, scale: *scale, log: None };
                Cells::Numbers(Numbers::Doubles(values), number)
            }
            Step::Category { levels, .. } => Cells::Levels(array.as_string_opt()?, levels),
            Step::Date { parts, fill, .. } => Cells::Dates(array.as_primitive_opt()?, parts, *fill),
            Step::Text { terms, weight } => Cells::Texts(array.as_string_opt()?, terms, *weight),
            Step::Vector { fill, weight, scales, .. } => {
                let lists =
                    array.as_fixed_size_list_opt().filter(|lists| lists.value_length() as usize == fill.len())?;
                let values = lists.values().as_primitive_opt::<Float32Type>()?.values();
                Cells::Lists(lists, values, fill, *weight, scales)
            }
        };
        let gap = step.gap().map(|gap| (first + step.width() - 1, gap));
        Some(Self { cells, first, gap, unlike, weights: Vec::new() })
    }

    /// Calls `put` with every feature of rows that is not 0: the row, the place of the feature, ascending in a row, and its value.
    #[inline(always)]
    pub(super) fn each(&mut self, rows: Range<usize>, mut put: impl FnMut(usize, usize, f64)) {
        let Self { cells, first, gap, unlike, weights } = self;
        let first = *first;
        match cells {
            Cells::Numbers(values, number) => {
                let mut put = |row: usize, x: f64, is_missing: bool| {
                    put(row, first, x);
                    if is_missing {
                        unlike.note_gap(*gap, row, &mut put);
                    }
                };
                match values {
                    Numbers::Singles(values) => number.each(values, rows, &mut put),
                    Numbers::Doubles(values) => number.each(values, rows, &mut put),
                }
            }
            Cells::Levels(texts, levels) => {
                for row in rows {
                    let text = texts.is_valid(row).then(|| texts.value(row));
                    match text.map(|text| levels.binary_search_by(|level| level.as_str().cmp(text)).map_err(|_| text)) {
                        Some(Ok(at)) => put(row, first + at, 1.0),
                        Some(Err(text)) => unlike.note(text),
                        None => unlike.note_gap(*gap, row, &mut put),
                    }
                }
            }
            Cells::Dates(dates, parts, fill) => {
                for row in rows {
                    let is_missing = dates.is_null(row);
                    let all = parts_of(if is_missing { *fill } else { dates.value(row) });
                    for (at, (part, center, scale)) in parts.iter().enumerate() {
                        put(row, first + at, (all[*part as usize] - center) / scale);
                    }
                    if is_missing {
                        unlike.note_gap(*gap, row, &mut put);
                    }
                }
            }
            Cells::Texts(texts, terms, weight) => {
                for row in rows.filter(|&row| texts.is_valid(row)) {
                    terms.weigh(texts.value(row), weights);
                    weights.iter().for_each(|(at, share)| put(row, first + *at as usize, *weight * share));
                }
            }
            Cells::Lists(lists, values, fill, weight, scales) => {
                for row in rows {
                    let is_missing = lists.is_null(row);
                    let list = (!is_missing).then(|| &values[row * fill.len()..(row + 1) * fill.len()]);
                    each_of_list(list, fill, *weight, scales, |at, x| put(row, first + at, x));
                    if is_missing {
                        unlike.note_gap(*gap, row, &mut put);
                    }
                }
            }
        }
    }
}

/// Calls `put` with every feature of a list, with `fill` in place of one that is missing, and of numbers that are where there is a weight.
#[inline(always)]
fn each_of_list(
    list: Option<&[f32]>,
    fill: &[f64],
    weight: Option<f64>,
    scales: &[f64],
    mut put: impl FnMut(usize, f64),
) {
    let number = |at: usize| match list.map(|list| f64::from(list[at])) {
        Some(x) if is_usable(x) || weight.is_none() => x,
        _ => fill[at],
    };
    if scales.is_empty() {
        let length = (0..fill.len()).map(|at| number(at) * number(at)).sum::<f64>().sqrt();
        let factor = weight.map_or(1.0, |weight| if length > 0.0 { weight / length } else { 0.0 });
        (0..fill.len()).for_each(|at| put(at, factor * number(at)));
    } else {
        (0..fill.len()).for_each(|at| put(at, (number(at) - fill[at]) / scales[at]));
    }
}

/// How numbers become features.
struct Number {
    /// The numbers that other columns tell, in the rows of gaps.
    told: Option<Vec<f64>>,
    fill: f64,
    center: f64,
    scale: f64,
    log: Option<f64>,
}

impl Number {
    /// Calls `put` with the feature of each row, and whether its number is missing.
    #[inline(always)]
    fn each<V: Copy + Into<f64>>(&self, values: &[V], rows: Range<usize>, put: &mut impl FnMut(usize, f64, bool)) {
        let is_plain = (self.center, self.scale, self.log) == (0.0, 1.0, None);
        for (row, &x) in rows.clone().zip(&values[rows]) {
            let x: f64 = x.into();
            let is_missing = !is_usable(x);
            let fill = || self.told.as_ref().map_or(self.fill, |told| told[row]);
            let x = if is_missing && !fill().is_nan() { fill() } else { x };
            put(row, if is_plain { x } else { (logged(x, self.log) - self.center) / self.scale }, is_missing);
        }
    }
}

/// Writes `n_rows` rows of dense features, `width` a row, tile by tile to row-major `out`, which holds zeros.
pub(super) fn write_dense<T: Feature>(encoders: &mut [Encoder<'_>], n_rows: usize, width: usize, out: &mut [T]) {
    let tile = (TILE_VALUES / width.max(1)).clamp(1, n_rows.max(1));
    for start in (0..n_rows).step_by(tile) {
        let rows = start..n_rows.min(start + tile);
        for encoder in &mut *encoders {
            encoder.each(rows.clone(), |row, at, x| out[row * width + at] = T::of(x));
        }
    }
}
