//! Cells as features, by the steps of a recipe.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, BooleanArray, FixedSizeListArray, StringArray, TimestampMicrosecondArray};

use super::dates::parts_of;
use super::recipe::Step;

/// Rows whose columns are written one after the other, so that they stay in the caches.
const TILE_VALUES: usize = 1 << 14;

/// Larger numbers count as missing, as infinite ones do: their distances would not fit single precision.
const LARGEST: f64 = 1e30;

/// Whether a number can be used.
#[inline]
pub(super) fn is_usable(x: f64) -> bool {
    x.abs() <= LARGEST
}

/// The numbers of an array of numbers or of lists of them.
pub(super) fn numbers_of(array: &ArrayRef) -> Vec<f64> {
    let inner = array.as_fixed_size_list_opt().map_or(array, |lists| lists.values());
    match inner.as_primitive_opt::<Float64Type>() {
        Some(array) => array.values().to_vec(),
        None => {
            let singles = inner.as_primitive_opt::<Float32Type>().map_or(&[][..], |array| array.values());
            singles.iter().map(|&x| f64::from(x)).collect()
        }
    }
}

/// Types of features.
pub(super) trait Feature: Copy + Default + Send + Sync {
    fn of(x: f64) -> Self;

    /// Whether it is missing, or counts as such.
    fn is_missing(self) -> bool;
}

impl Feature for f32 {
    #[inline(always)]
    fn of(x: f64) -> Self {
        x as f32
    }

    fn is_missing(self) -> bool {
        !is_usable(f64::from(self))
    }
}

impl Feature for f64 {
    #[inline(always)]
    fn of(x: f64) -> Self {
        x
    }

    fn is_missing(self) -> bool {
        !is_usable(self)
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
    pub(super) fn add(&mut self, other: Self) {
        self.n_unknown += other.n_unknown;
        self.n_gaps += other.n_gaps;
        self.first_unknown = self.first_unknown.take().or(other.first_unknown);
    }
}

/// The cells of a column with its step.
pub(super) struct Encoder<'a> {
    step: &'a Step,
    cells: Cells<'a>,
    /// The first feature of the column.
    first: usize,
    pub unlike: Unlike,
    weights: Vec<(u32, f64)>,
    /// The numbers that other columns tell, in the rows of gaps.
    told: Option<Vec<f64>>,
}

enum Cells<'a> {
    Singles(&'a [f32]),
    Doubles(&'a [f64]),
    Truths(&'a BooleanArray),
    Dates(&'a TimestampMicrosecondArray),
    Texts(&'a StringArray),
    Lists(&'a FixedSizeListArray, &'a [f32]),
}

impl<'a> Encoder<'a> {
    /// `None` if the array is not of the type that the step reads.
    pub(super) fn new(step: &'a Step, array: &'a ArrayRef, first: usize, told: Option<Vec<f64>>) -> Option<Self> {
        let cells = match step {
            Step::LeaveOut { .. } => return None,
            Step::Number { .. } => match array.as_primitive_opt::<Float64Type>() {
                Some(array) => Cells::Doubles(array.values()),
                None => Cells::Singles(array.as_primitive_opt::<Float32Type>()?.values()),
            },
            Step::Boolean { .. } => Cells::Truths(array.as_boolean_opt()?),
            Step::Date { .. } => Cells::Dates(array.as_primitive_opt::<TimestampMicrosecondType>()?),
            Step::Category { .. } | Step::Ordered { .. } | Step::Text { .. } => {
                Cells::Texts(array.as_string_opt::<i32>()?)
            }
            Step::Vector { fill, .. } => {
                let lists = array.as_fixed_size_list_opt()?;
                let values = lists.values().as_primitive_opt::<Float32Type>()?.values();
                if lists.value_length() as usize != fill.len() {
                    return None;
                }
                Cells::Lists(lists, values)
            }
        };
        Some(Self { step, cells, first, unlike: Unlike::default(), weights: Vec::new(), told })
    }

    /// Writes the features of the rows `rows` to row-major `out`, `width` features a row, which holds zeros.
    pub(super) fn write<T: Feature>(&mut self, rows: std::ops::Range<usize>, out: &mut [T], width: usize) {
        if let (Step::Number { fill, center, scale, log, gap }, Cells::Doubles(_) | Cells::Singles(_)) =
            (self.step, &self.cells)
        {
            let out = out.get_mut(self.first..).unwrap_or_default();
            let told = self.told.as_ref().map(|told| &told[rows.clone()]);
            let number = Number { fill: *fill, center: *center, scale: *scale, log: *log, gap: *gap, told };
            self.unlike.n_gaps += match self.cells {
                Cells::Doubles(values) => number.write(values[rows].iter().copied(), out, width),
                Cells::Singles(values) => number.write(values[rows].iter().map(|&x| f64::from(x)), out, width),
                _ => 0,
            };
            return;
        }
        let start = rows.start;
        for row in rows {
            let out = &mut out[(row - start) * width..];
            self.each(row, |at, x| out[at] = T::of(x));
        }
    }

    /// Calls `put` with every feature of a row that is not 0, ascending.
    pub(super) fn each(&mut self, row: usize, mut put: impl FnMut(usize, f64)) {
        let Self { step, cells, first, unlike, weights, told } = self;
        let first = *first;
        match (step, cells) {
            (Step::Number { fill, center, scale, log, gap }, cells) => {
                let x = match cells {
                    Cells::Doubles(values) => values[row],
                    Cells::Singles(values) => f64::from(values[row]),
                    _ => f64::NAN,
                };
                let fill = told.as_ref().map_or(*fill, |told| told[row]);
                let filled = if is_usable(x) || fill.is_nan() { x } else { fill };
                put(first, (logged(filled, *log) - center) / scale);
                note_gap(!is_usable(x), gap, first + 1, unlike, &mut put);
            }
            (Step::Boolean { size, fill, gap }, Cells::Truths(truths)) => {
                let is_missing = truths.is_null(row);
                let x = if is_missing { *fill } else { *size * f64::from(u8::from(truths.value(row))) };
                put(first, x);
                note_gap(is_missing, gap, first + 1, unlike, &mut put);
            }
            (Step::Category { levels, has_gap }, Cells::Texts(texts)) => match filled(texts, row) {
                Some(text) => match levels.binary_search_by(|level| level.as_str().cmp(text)) {
                    Ok(at) => put(first + at, 1.0),
                    Err(_) => unknown(unlike, text),
                },
                None if *has_gap => put(first + levels.len(), 1.0),
                None => unlike.n_gaps += 1,
            },
            (Step::Ordered { levels, fill, center, scale, gap }, Cells::Texts(texts)) => {
                let text = filled(texts, row);
                let at = text.and_then(|text| levels.iter().position(|level| level == text));
                put(first, (at.map_or(*fill, |at| at as f64) - center) / scale);
                if at.is_none() {
                    match (gap, text) {
                        (Some(gap), _) => put(first + 1, *gap),
                        (None, Some(text)) => unknown(unlike, text),
                        (None, None) => unlike.n_gaps += 1,
                    }
                }
            }
            (Step::Date { parts, fill, gap }, Cells::Dates(dates)) => {
                let is_missing = dates.is_null(row);
                let all = parts_of(if is_missing { *fill } else { dates.value(row) });
                for (at, (part, center, scale)) in parts.iter().enumerate() {
                    put(first + at, (part.of(&all) - center) / scale);
                }
                note_gap(is_missing, gap, first + parts.len(), unlike, &mut put);
            }
            (Step::Text { terms, weight }, Cells::Texts(texts)) => {
                if let Some(text) = filled(texts, row) {
                    terms.weigh(text, weights);
                    weights.iter().for_each(|(at, share)| put(first + *at as usize, weight * share));
                }
            }
            (Step::Vector { fill, weight, gap }, Cells::Lists(lists, values)) => {
                let is_missing = lists.is_null(row);
                let list = (!is_missing).then(|| &values[row * fill.len()..(row + 1) * fill.len()]);
                let number = |at: usize| match list.map(|list| f64::from(list[at])) {
                    Some(x) if is_usable(x) || weight.is_none() => x,
                    _ => fill[at],
                };
                let length = (0..fill.len()).map(|at| number(at) * number(at)).sum::<f64>().sqrt();
                let factor = weight.map_or(1.0, |weight| if length > 0.0 { weight / length } else { 0.0 });
                (0..fill.len()).for_each(|at| put(first + at, factor * number(at)));
                note_gap(is_missing, gap, first + fill.len(), unlike, &mut put);
            }
            _ => {}
        }
    }
}

/// Writes the features of `n_rows` rows of dense features, tile by tile.
pub(super) fn write_dense<T: Feature>(encoders: &mut [Encoder<'_>], n_rows: usize, width: usize, out: &mut [T]) {
    let tile = (TILE_VALUES / width.max(1)).clamp(1, n_rows.max(1));
    for start in (0..n_rows).step_by(tile) {
        let rows = start..n_rows.min(start + tile);
        let out = &mut out[rows.start * width..rows.end * width];
        encoders.iter_mut().for_each(|encoder| encoder.write(rows.clone(), out, width));
    }
}

/// The step of a number.
struct Number<'f> {
    fill: f64,
    center: f64,
    scale: f64,
    log: Option<f64>,
    gap: Option<f64>,
    told: Option<&'f [f64]>,
}

impl Number<'_> {
    /// Writes a column of numbers, and returns how many are missing though none was in the fit.
    fn write<T: Feature>(&self, values: impl Iterator<Item = f64>, out: &mut [T], width: usize) -> usize {
        let mut n_missing = 0;
        let is_plain = (self.center, self.scale, self.log) == (0.0, 1.0, None);
        for (at, (x, row)) in values.zip(out.chunks_mut(width.max(1))).enumerate() {
            let is_missing = !is_usable(x);
            n_missing += usize::from(is_missing);
            let fill = || self.told.map_or(self.fill, |told| told[at]);
            let x = if is_missing && !self.fill.is_nan() { fill() } else { x };
            row[0] = T::of(if is_plain { x } else { (logged(x, self.log) - self.center) / self.scale });
            if let (true, Some(gap)) = (is_missing, self.gap) {
                row[1] = T::of(gap);
            }
        }
        if self.gap.is_some() { 0 } else { n_missing }
    }
}

/// The logarithm of a number if there is something to add before, else the number. Below 0 the curve is that above, turned by 180°: a fit
/// has no negative numbers there, but new rows may.
#[inline]
pub(super) fn logged(x: f64, shift: Option<f64>) -> f64 {
    let curve = |shift: f64| if x < 0.0 { 2.0 * shift.ln() - (shift - x).ln() } else { (x + shift).ln() };
    shift.map_or(x, curve)
}

fn filled(texts: &StringArray, row: usize) -> Option<&str> {
    (!texts.is_null(row)).then(|| texts.value(row))
}

fn note_gap(is_missing: bool, gap: &Option<f64>, at: usize, unlike: &mut Unlike, put: &mut impl FnMut(usize, f64)) {
    match gap {
        _ if !is_missing => {}
        Some(gap) => put(at, *gap),
        None => unlike.n_gaps += 1,
    }
}

#[cold]
fn unknown(unlike: &mut Unlike, text: &str) {
    unlike.n_unknown += 1;
    unlike.first_unknown.get_or_insert_with(|| text.chars().take(40).collect());
}
