//! Columns of a block of text, as typed arrays.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, StringArray, TimestampMicrosecondArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};

use super::cells::{Cells, count_lines};
use super::dialect::Dialect;
use super::number::is_missing;
use super::types::{CellType, are_few, truth};
use super::{Layout, json};
use crate::read::records::shown;
use lapwing_core::bad_columns::is_bad;

/// A cell that does not fit the type of its column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnfitCell {
    pub row: usize,
    pub line: u64,
    /// Its text, as shown in messages.
    pub text: String,
}

/// Counts of the cells of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Cells that are not missing.
    pub filled: usize,
    /// Those of them that do not fit the type of the column, and are missing in the arrays.
    pub unfit: usize,
    pub first_unfit: Option<UnfitCell>,
    /// Line of the first number that is missing, infinite or beyond single precision.
    pub first_bad_line: Option<u64>,
}

impl UnfitCell {
    /// Where it is: its line in a text, else its row.
    pub(crate) fn place(&self) -> String {
        if self.line > 0 { format!("line {}", self.line) } else { format!("row {}", self.row) }
    }
}

impl Tally {
    /// Whether so few cells do not fit that they may count as missing.
    pub(crate) fn are_few_unfit(&self) -> bool {
        are_few(self.unfit, self.filled)
    }

    /// Adds the counts of the rows from `row` on, whose lines follow `lines` others.
    pub(crate) fn add(&mut self, block: Self, row: usize, lines: u64) {
        self.filled += block.filled;
        self.unfit += block.unfit;
        self.first_bad_line = self.first_bad_line.or(block.first_bad_line.map(|line| line + lines));
        if self.first_unfit.is_none() {
            let placed = |cell: UnfitCell| UnfitCell { row: cell.row + row, line: cell.line + lines, ..cell };
            self.first_unfit = block.first_unfit.map(placed);
        }
    }
}

/// A record that is malformed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    /// It has `found` cells, and the others have another number.
    Width { line: u64, found: usize },
    /// A cell of column `at` is not UTF-8.
    Encoding { line: u64, at: usize, text: String },
    /// It is no JSON object.
    Json { line: u64, reason: String },
}

/// The rows of a block.
#[derive(Default)]
pub(super) struct Parsed {
    pub arrays: Vec<ArrayRef>,
    pub tallies: Vec<Tally>,
    pub n_rows: usize,
    /// Bytes of the records; fewer than the block has if a quote is not closed in it.
    pub n_bytes: usize,
    /// Lines of these bytes.
    pub n_lines: u64,
    /// Line, in the block, and text of a cell whose quote is not closed.
    pub unclosed: Option<(u64, String)>,
    /// The first malformed record; the rows end before it.
    pub malformed: Option<Malformed>,
}

/// What is read of each record.
pub(super) struct Plan {
    pub layout: Layout,
    /// Number of cells of every record.
    pub width: usize,
    /// Place of each cell in the arrays; `None` for columns that are not read.
    pub places: Vec<Option<usize>>,
    /// Place in the arrays of the value of each key of a JSON object.
    pub keys: HashMap<String, usize>,
    /// Types of the arrays.
    pub types: Vec<CellType>,
}

impl Plan {
    /// Reads the records of a block, whose first byte starts a record.
    pub(super) fn parse(&self, bytes: &[u8]) -> Parsed {
        let mut builders: Vec<Builder> = self.types.iter().map(|&kind| Builder::new(kind)).collect();
        let mut parsed = match self.layout {
            Layout::Cells(dialect) => self.parse_cells(bytes, &dialect, &mut builders),
            Layout::Json => self.parse_json(bytes, &mut builders),
        };
        for (place, builder) in builders.into_iter().enumerate() {
            let (unfit_start, bad_start) = (builder.unfit_start, builder.bad_start);
            let (array, mut tally) = match builder.finish(parsed.n_rows) {
                Ok(finished) => finished,
                Err(Broken) => {
                    parsed.malformed = parsed.malformed.or_else(|| self.encoding_error(bytes, place));
                    continue;
                }
            };
            if let (Some(cell), Some(start)) = (&mut tally.first_unfit, unfit_start) {
                cell.line = count_lines(&bytes[..start]) + 1;
            }
            tally.first_bad_line = bad_start.map(|start| count_lines(&bytes[..start]) + 1);
            parsed.arrays.push(array);
            parsed.tallies.push(tally);
        }
        parsed.n_lines = count_lines(&bytes[..parsed.n_bytes]);
        parsed
    }

    fn parse_cells(&self, bytes: &[u8], dialect: &Dialect, builders: &mut [Builder]) -> Parsed {
        let (mut cells, mut parsed) = (Cells::new(bytes, dialect), Parsed::default());
        while let Some(start) = cells.start() {
            let width = cells.record(|at, cell| {
                if let Some(Some(place)) = self.places.get(at) {
                    builders[*place].push(cell, parsed.n_rows, start);
                }
            });
            let Some(width) = width else { break };
            if width != self.width {
                parsed.malformed = Some(Malformed::Width { line: count_lines(&bytes[..start]) + 1, found: width });
                break;
            }
            parsed.n_rows += 1;
        }
        parsed.n_bytes = cells.place();
        parsed.unclosed = cells.unclosed().map(|(at, cell)| (count_lines(&bytes[..at]) + 1, shown(cell.trim_ascii())));
        parsed
    }

    fn parse_json(&self, bytes: &[u8], builders: &mut [Builder]) -> Parsed {
        let mut parsed = Parsed { n_bytes: bytes.len(), ..Parsed::default() };
        let mut row: Vec<Option<String>> = vec![None; builders.len()];
        let mut start = 0;
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            if !line.trim_ascii().is_empty() {
                let found = json::each_cell(line, |key, cell| {
                    if let Some(&place) = self.keys.get(key) {
                        row[place] = Some(cell.to_owned());
                    }
                });
                if let Err(error) = found {
                    let line = count_lines(&bytes[..start]) + 1;
                    parsed.malformed = Some(Malformed::Json { line, reason: error.to_string() });
                    break;
                }
                for (builder, cell) in builders.iter_mut().zip(&mut row) {
                    builder.push(cell.take().unwrap_or_default().as_bytes(), parsed.n_rows, start);
                }
                parsed.n_rows += 1;
            }
            start += line.len();
        }
        parsed
    }

    /// The first cell of a column of text that is not UTF-8.
    fn encoding_error(&self, bytes: &[u8], place: usize) -> Option<Malformed> {
        let at = self.places.iter().position(|other| *other == Some(place))?;
        let Layout::Cells(dialect) = self.layout else { return None };
        let mut cells = Cells::new(bytes, &dialect);
        while let Some(start) = cells.start() {
            let mut text = None;
            cells.record(|cell_at, cell| {
                if cell_at == at && std::str::from_utf8(cell).is_err() {
                    text = Some(shown(cell.trim_ascii()));
                }
            })?;
            if let Some(text) = text {
                return Some(Malformed::Encoding { line: count_lines(&bytes[..start]) + 1, at, text });
            }
        }
        None
    }
}

/// A column of text holds a cell that is not UTF-8.
struct Broken;

/// Collects the cells of a column.
struct Builder {
    kind: CellType,
    values: Values,
    tally: Tally,
    /// Start of the record of the first cell that does not fit.
    unfit_start: Option<usize>,
    /// Start of the record of the first bad number.
    bad_start: Option<usize>,
}

enum Values {
    Numbers(Vec<f64>),
    Truths(Vec<Option<bool>>),
    Dates(Vec<Option<i64>>),
    Texts { bytes: Vec<u8>, ends: Vec<i32>, filled: Vec<bool> },
}

impl Builder {
    fn new(kind: CellType) -> Self {
        let values = match kind {
            CellType::Number(_) => Values::Numbers(Vec::new()),
            CellType::Boolean(_) => Values::Truths(Vec::new()),
            CellType::Date(_) => Values::Dates(Vec::new()),
            CellType::Text | CellType::Label => Values::Texts { bytes: Vec::new(), ends: vec![0], filled: Vec::new() },
        };
        Self { kind, values, tally: Tally::default(), unfit_start: None, bad_start: None }
    }

    /// Adds the cell of row `row`, whose record starts at byte `start`. A cell that does not fit counts as missing.
    #[inline]
    fn push(&mut self, cell: &[u8], row: usize, start: usize) {
        // Labels that differ in spaces are told apart to name them.
        let cell = if self.kind == CellType::Label { cell } else { cell.trim_ascii() };
        if !self.take(cell, start) {
            self.note(row, start, cell);
        }
    }

    /// Adds a cell; false if it does not fit.
    #[inline]
    fn take(&mut self, cell: &[u8], start: usize) -> bool {
        match (self.kind, &mut self.values) {
            (CellType::Number(style), Values::Numbers(values)) => match style.parse(cell) {
                Some(value) if !value.is_nan() => {
                    self.tally.filled += 1;
                    values.push(value);
                    if is_bad(value) {
                        self.bad_start.get_or_insert(start);
                    }
                    true
                }
                _ => {
                    values.push(f64::NAN);
                    self.bad_start.get_or_insert(start);
                    is_missing(cell)
                }
            },
            (CellType::Boolean(words), Values::Truths(values)) => {
                let found = truth(words, cell);
                values.push(found);
                self.tally.filled += usize::from(found.is_some());
                found.is_some() || is_missing(cell)
            }
            (CellType::Date(style), Values::Dates(values)) => {
                let found = style.parse(cell);
                values.push(found);
                self.tally.filled += usize::from(found.is_some());
                found.is_some() || is_missing(cell)
            }
            (kind, Values::Texts { bytes, ends, filled }) => {
                let is_filled = kind == CellType::Label || !is_missing(cell);
                if is_filled {
                    bytes.extend_from_slice(cell);
                }
                ends.push(bytes.len() as i32);
                filled.push(is_filled);
                self.tally.filled += usize::from(is_filled);
                true
            }
            _ => true,
        }
    }

    /// Notes a cell that does not fit.
    #[cold]
    fn note(&mut self, row: usize, start: usize, cell: &[u8]) {
        self.tally.filled += 1;
        self.tally.unfit += 1;
        if self.tally.first_unfit.is_none() {
            self.tally.first_unfit = Some(UnfitCell { row, line: 0, text: shown(cell) });
            self.unfit_start = Some(start);
        }
    }

    /// The array of the first `n_rows` cells; [`Broken`] if a text is not UTF-8.
    fn finish(self, n_rows: usize) -> Result<(ArrayRef, Tally), Broken> {
        let array: ArrayRef = match self.values {
            Values::Numbers(mut values) => {
                values.truncate(n_rows);
                Arc::new(Float64Array::new(values.into(), None))
            }
            Values::Truths(mut values) => {
                values.truncate(n_rows);
                Arc::new(BooleanArray::from(values))
            }
            Values::Dates(mut values) => {
                values.truncate(n_rows);
                Arc::new(TimestampMicrosecondArray::from(values))
            }
            Values::Texts { bytes, mut ends, mut filled } => {
                ends.truncate(n_rows + 1);
                filled.truncate(n_rows);
                let offsets = OffsetBuffer::new(ends.into());
                let array = StringArray::try_new(offsets, bytes.into(), Some(NullBuffer::from(filled)));
                Arc::new(array.map_err(|_| Broken)?)
            }
        };
        Ok((array, self.tally))
    }
}
