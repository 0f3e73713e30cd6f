//! Columns of a block of text, as typed arrays.

use std::collections::HashMap;

use arrow_array::ArrayRef;

use super::cells::{Cells, count_lines};
use super::dialect::Dialect;
use super::{Layout, json};
use crate::read::cell::{Broken, Builder, CellType, Tally};
use crate::read::records::shown;

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
            match builder.finish(parsed.n_rows, Some(bytes)) {
                Ok((array, tally)) => {
                    parsed.arrays.push(array);
                    parsed.tallies.push(tally);
                }
                Err(Broken) => parsed.malformed = parsed.malformed.or_else(|| self.encoding_error(bytes, place)),
            }
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
