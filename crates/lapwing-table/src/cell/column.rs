//! The cells of a column as a typed array, and what was met on the way.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Float64Array, StringArray, TimestampMicrosecondArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};
use indexmap::IndexMap;

use super::kind::{CellType, are_few, truth};
use super::vector;
use crate::lines::{count_lines, shown};
use lapwing_core::bad_columns::is_bad;

/// Different cells that do not fit their column and are kept, and the bytes that are kept of each.
const MAX_OTHERS: usize = 400;
const MAX_OTHER_BYTES: usize = 256;

/// A cell that does not fit the type of its column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherCell {
    /// Its text.
    pub text: Vec<u8>,
    /// How many cells have this text.
    pub count: usize,
    /// The row of the first.
    pub row: usize,
    /// The line of the first in a text, else 0.
    pub line: u64,
}

impl OtherCell {
    /// Where the first is: its line in a text, else its row.
    pub(crate) fn place(&self) -> String {
        if self.line > 0 { format!("line {}", self.line) } else { format!("row {}", self.row) }
    }

    /// The text, as shown in messages.
    pub(crate) fn shown(&self) -> String {
        shown(&self.text)
    }
}

/// Different cells in the order of their first places, up to some hundred.
#[derive(Clone, Debug, Default)]
pub(crate) struct OtherCells(IndexMap<Vec<u8>, OtherCell>);

impl OtherCells {
    fn add(&mut self, other: OtherCell) {
        if let Some(known) = self.0.get_mut(&other.text) {
            known.count += other.count;
        } else if self.0.len() < MAX_OTHERS {
            self.0.insert(other.text.clone(), other);
        }
    }

    fn take_back(&mut self, text: &[u8]) {
        let Some(cell) = self.0.get_mut(text) else { return };
        cell.count -= 1;
        // Only the last cell is taken back, so that a text that is new is the last one.
        if cell.count == 0 {
            self.0.pop();
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &OtherCell> {
        self.0.values()
    }
}

/// Counts of the cells of a column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Cells that are not missing.
    pub filled: usize,
    /// Those of them that do not fit the type of the column, and are missing in the arrays.
    pub unfit: usize,
    /// The different ones of these.
    pub others: OtherCells,
    /// Numbers of digits that start with 0, and cells shorter than three bytes among all numbers.
    pub padded: usize,
    pub short: usize,
    /// Line of the first number that is missing, infinite or beyond single precision.
    pub first_bad_line: Option<u64>,
}

impl Tally {
    /// Whether so few cells do not fit that they may count as missing whatever they are.
    pub(crate) fn are_few_unfit(&self) -> bool {
        are_few(self.unfit, self.filled)
    }

    /// The first cell that does not fit.
    pub(crate) fn first_unfit(&self) -> Option<&OtherCell> {
        self.others.iter().next()
    }

    /// Notes a filled cell that does not fit.
    pub(crate) fn note(&mut self, row: usize, line: u64, cell: &[u8]) {
        self.filled += 1;
        self.unfit += 1;
        let text = cell[..cell.len().min(MAX_OTHER_BYTES)].to_vec();
        self.others.add(OtherCell { text, count: 1, row, line });
    }

    /// Adds the counts of the rows from `row` on, whose lines follow `lines` others.
    pub(crate) fn add(&mut self, block: Self, row: usize, lines: u64) {
        self.filled += block.filled;
        self.unfit += block.unfit;
        self.padded += block.padded;
        self.short += block.short;
        self.first_bad_line = self.first_bad_line.or(block.first_bad_line.map(|line| line + lines));
        for cell in block.others.0.into_values() {
            let line = if cell.line > 0 { cell.line + lines } else { 0 };
            self.others.add(OtherCell { row: cell.row + row, line, ..cell });
        }
    }
}

/// A column of text holds a cell that is not UTF-8, or has a NUL in it.
pub(crate) struct Broken;

/// Collects the cells of a column.
pub(crate) struct Builder {
    kind: CellType,
    values: Values,
    tally: Tally,
    /// Byte at which the record of the first bad number starts.
    bad_start: Option<usize>,
}

enum Values {
    Numbers(Vec<f64>),
    Truths(Vec<Option<bool>>),
    Dates(Vec<Option<i64>>),
    Vectors { values: Vec<f32>, filled: Vec<bool>, length: usize },
    Texts { bytes: Vec<u8>, ends: Vec<i32>, filled: Vec<bool> },
}

impl Builder {
    pub(crate) fn new(kind: CellType) -> Self {
        let values = match kind {
            CellType::Number(_) => Values::Numbers(Vec::new()),
            CellType::Boolean(_) => Values::Truths(Vec::new()),
            CellType::Date(_) => Values::Dates(Vec::new()),
            CellType::Vector(length) => Values::Vectors { values: Vec::new(), filled: Vec::new(), length },
            CellType::Text | CellType::Label => Values::Texts { bytes: Vec::new(), ends: vec![0], filled: Vec::new() },
        };
        Self { kind, values, tally: Tally::default(), bad_start: None }
    }

    /// Adds the cell of row `row`, whose record starts at byte `start`. A cell that does not fit counts as missing.
    #[inline]
    pub(crate) fn push(&mut self, cell: &[u8], row: usize, start: usize) {
        // Labels that differ in spaces are told apart to name them.
        let cell = if self.kind == CellType::Label { cell } else { cell.trim_ascii() };
        if !self.take(cell, start) && !self.kind.is_gap(cell) {
            // Becomes the line at the end.
            self.tally.note(row, start as u64, cell);
        }
    }

    /// Takes the count of the last cell, which was `cell`, back: it belongs to no row.
    pub(crate) fn take_back(&mut self, cell: &[u8]) {
        if self.kind != CellType::Label && self.kind.is_gap(cell) {
            return;
        }
        self.tally.filled = self.tally.filled.saturating_sub(1);
        if !self.kind.fits(cell) {
            self.tally.unfit = self.tally.unfit.saturating_sub(1);
            self.tally.others.take_back(cell);
        }
    }

    /// Adds a cell; false if it is no value of the type.
    #[inline]
    fn take(&mut self, cell: &[u8], start: usize) -> bool {
        let is_taken = match (self.kind, &mut self.values) {
            (CellType::Number(style), Values::Numbers(values)) => {
                let value = style.parse(cell).unwrap_or(f64::NAN);
                values.push(value);
                self.tally.padded += usize::from(matches!(cell, [b'0', b'0'..=b'9', ..]));
                self.tally.short += usize::from(cell.len() < 3 && !value.is_nan());
                if is_bad(value) {
                    self.bad_start.get_or_insert(start);
                }
                !value.is_nan()
            }
            (CellType::Boolean(words), Values::Truths(values)) => {
                values.push(truth(words, cell));
                values.last() != Some(&None)
            }
            (CellType::Date(style), Values::Dates(values)) => {
                values.push(style.parse(cell));
                values.last() != Some(&None)
            }
            (_, Values::Vectors { values, filled, length }) => {
                let end = values.len() + *length;
                let is_list = vector::parse(cell, values) == Some(*length);
                if !is_list {
                    values.truncate(end - *length);
                    values.resize(end, f32::NAN);
                }
                filled.push(is_list);
                is_list
            }
            (kind, Values::Texts { bytes, ends, filled }) => {
                let is_filled = kind == CellType::Label || !kind.is_gap(cell);
                if is_filled {
                    bytes.extend_from_slice(cell);
                }
                ends.push(bytes.len() as i32);
                filled.push(is_filled);
                is_filled
            }
            _ => true,
        };
        self.tally.filled += usize::from(is_taken);
        is_taken
    }

    /// The array of the first `n_rows` cells, and the counts, with the lines of the text that the records start in; [`Broken`] if a text
    /// is not UTF-8.
    pub(crate) fn finish(self, n_rows: usize, text: Option<&[u8]>) -> Result<(ArrayRef, Tally), Broken> {
        let array: ArrayRef = match self.values {
            Values::Numbers(values) => Arc::new(Float64Array::new(values.into(), None)),
            Values::Truths(values) => Arc::new(BooleanArray::from(values)),
            Values::Dates(values) => Arc::new(TimestampMicrosecondArray::from(values)),
            Values::Vectors { values, filled, length } => {
                let field = Arc::new(Field::new_list_field(DataType::Float32, true));
                let (width, values) = (i32::try_from(length).unwrap_or(0), Arc::new(Float32Array::from(values)));
                let lists = FixedSizeListArray::try_new(field, width, values, Some(NullBuffer::from(filled)));
                Arc::new(lists.map_err(|_| Broken)?)
            }
            Values::Texts { mut bytes, mut ends, mut filled } => {
                ends.truncate(n_rows + 1);
                filled.truncate(n_rows);
                bytes.truncate(ends.last().map_or(0, |end| *end as usize));
                if text.is_some() && memchr::memchr(0, &bytes).is_some() {
                    return Err(Broken);
                }
                let offsets = OffsetBuffer::new(ends.into());
                let array = StringArray::try_new(offsets, bytes.into(), Some(NullBuffer::from(filled)));
                Arc::new(array.map_err(|_| Broken)?)
            }
        };
        let mut tally = self.tally;
        let (mut at, mut lines) = (0, 0);
        for cell in tally.others.0.values_mut() {
            // The records of the cells follow one another.
            let start = (cell.line as usize).min(text.map_or(0, <[u8]>::len));
            lines += text.map_or(0, |text| count_lines(&text[at..start]));
            (at, cell.line) = (start, text.map_or(0, |_| lines + 1));
        }
        tally.first_bad_line = self.bad_start.zip(text).map(|(start, text)| count_lines(&text[..start]) + 1);
        Ok((array.slice(0, n_rows.min(array.len())), tally))
    }
}
