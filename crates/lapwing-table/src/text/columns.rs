//! Columns of a block of text, as typed arrays.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ArrayRef;

use super::cells::Cells;
use super::dialect::{Dialect, Filler, Lines, Separator, filler};
use super::{TextTable, json};
use crate::cell::{Broken, Builder, CellType, Tally};
use crate::lines::{AS_UTF8, count_lines, n_fields, shown};

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
    /// Line, in the block, of the first malformed record and what is wrong with it; the rows end before it.
    pub malformed: Option<(u64, String)>,
    /// The lines that are no rows.
    pub passed: Passed,
    /// The line of the first record of one cell at the end of the block; more rows behind it would make it malformed.
    pub narrow: Option<u64>,
    /// The line of every row, if these are wanted.
    pub lines: Vec<u64>,
}

/// Lines that were passed over, and rows that were mended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Lines of comment.
    pub comments: Lines,
    /// Lines of delimiters, or of dashes.
    pub fillers: Lines,
    /// Headers that come again.
    pub headers: Lines,
    /// Lines behind the table.
    pub behind: Lines,
    /// Rows that lack their last cells.
    pub short: Lines,
    /// Rows with empty cells behind the last.
    pub long: Lines,
    /// The line and the first cell of the last row, if that may be no row.
    pub tail: Option<(u64, String)>,
}

/// Words with which lines of sums begin.
const SUMS: [&str; 10] =
    ["total", "totals", "sum", "subtotal", "grand total", "average", "mean", "summe", "gesamt", "итого"];

impl Passed {
    /// Adds those of a block, which follows `lines` others.
    pub(super) fn add(&mut self, block: Self, lines: u64) {
        self.comments.add(block.comments, lines);
        self.headers.add(block.headers, lines);
        self.behind.add(block.behind, lines);
        self.short.add(block.short, lines);
        self.long.add(block.long, lines);
        self.fillers.add(block.fillers, lines);
    }

    /// What was done, in words.
    pub(crate) fn words(&self) -> Vec<String> {
        let (lacks, lack) =
            ("row lacks its last cells, which count as missing", "rows lack their last cells, which count as missing");
        let (has, have) = ("row has empty cells behind its last", "rows have empty cells behind their last");
        let tail = self.tail.as_ref().map(|(line, text)| {
            format!("the last row, line {line}, starts with '{text}' and may be no row; if so, remove the line")
        });
        let lines = [
            self.comments.passed_over("of comment among the rows"),
            self.fillers.passed_over("of delimiters or dashes"),
            self.headers.passed_over("equal to the header"),
            self.behind.passed_over("of one cell behind the table"),
            self.short.words(lacks, lack),
            self.long.words(has, have),
            tail,
        ];
        lines.into_iter().flatten().collect()
    }
}

/// What is read of each record.
pub(super) struct Plan {
    pub table: Arc<TextTable>,
    /// Place of each cell in the arrays; `None` for columns that are not read.
    pub places: Vec<Option<usize>>,
    /// Place in the arrays of the value of each key of a JSON object.
    pub keys: HashMap<String, usize>,
    /// Types of the arrays.
    pub types: Vec<CellType>,
    /// Whether the lines of rows are wanted.
    pub with_lines: bool,
}

impl Plan {
    /// Reads the records of a block, whose first byte starts a record.
    pub(super) fn parse(&self, bytes: &[u8]) -> Parsed {
        let mut builders: Vec<Builder> = self.types.iter().map(|&kind| Builder::new(kind)).collect();
        let mut parsed = match &self.table.dialect {
            Some(dialect) => self.parse_cells(bytes, dialect, &mut builders),
            None => self.parse_json(bytes, &mut builders),
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
        let (mut counted, mut line, mut last, usual) = (0, 1, 0, self.places.len());
        while let Some(start) = cells.start() {
            if dialect.comment == Some(bytes[start]) {
                // A line with the mark that is as wide as rows are is a row.
                let is_row = cells.record(|_, _| ()).is_none_or(|width| width == usual);
                if !is_row {
                    parsed.passed.comments.note(bytes, start);
                    continue;
                }
                cells.back_to(start);
            }
            if let Some(filler) = filler(&bytes[start..], dialect.delimiter).filter(|_| usual > 1) {
                if filler != Filler::Blanks {
                    parsed.passed.fillers.note(bytes, start);
                }
                cells.skip_line();
                continue;
            }
            if self.is_header(&bytes[start..]) {
                cells.skip_line();
                parsed.passed.headers.note(bytes, start);
                continue;
            }
            let mut has_more = false;
            let width = cells.record(|at, cell| match self.places.get(at) {
                Some(Some(place)) => builders[*place].push(cell, parsed.n_rows, start),
                Some(None) => {}
                None => has_more |= !cell.trim_ascii().is_empty(),
            });
            let Some(width) = width else { break };
            if width != usual && !self.mend(&bytes[..cells.at], width, has_more, (start, builders), &mut parsed) {
                parsed.malformed = Some((count_lines(&bytes[..start]) + 1, self.width_error(width)));
                break;
            }
            if width == 1 && usual > 2 {
                parsed.narrow.get_or_insert_with(|| count_lines(&bytes[..start]) + 1);
                parsed.passed.behind.note(bytes, start);
                continue;
            }
            if let Some(line) = parsed.narrow {
                parsed.malformed = Some((line, self.width_error(1)));
                break;
            }
            parsed.n_rows += 1;
            last = start;
            if self.with_lines {
                line += count_lines(&bytes[counted..start]);
                counted = start;
                parsed.lines.push(line);
            }
        }
        parsed.n_bytes = cells.at;
        let tail = tail(&bytes[last..], dialect).filter(|_| parsed.n_rows > 0 && usual > 2);
        parsed.passed.tail = tail.map(|text| (count_lines(&bytes[..last]) + 1, text));
        parsed.unclosed = cells.unclosed().map(|(at, cell)| (count_lines(&bytes[..at]) + 1, shown(cell.trim_ascii())));
        parsed
    }

    /// Whether a line of aligned columns, of which `before` ends in front of its first cell, ends before the columns it has no cells for.
    fn lacks_the_last(&self, before: &[u8], record: &[u8], width: usize) -> bool {
        let indent = before.iter().rev().take_while(|&&byte| byte == b' ').count();
        let length = record.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(record.len());
        let end = indent + record[..length].trim_ascii_end().len();
        width.checked_sub(1).and_then(|last| self.table.room.get(last)).is_some_and(|&room| end <= room)
    }

    /// Whether a record is the header again.
    #[inline]
    fn is_header(&self, record: &[u8]) -> bool {
        let header = &self.table.sniffed.header_line;
        !header.is_empty()
            && record.starts_with(header)
            && record.get(header.len()).is_none_or(|byte| matches!(byte, b'\n' | b'\r'))
    }

    /// Makes the last record of `bytes`, of another width, one of the table: fills missing last cells, and takes the cells of a line behind the table back.
    /// False for a record that is malformed.
    #[cold]
    fn mend(
        &self,
        bytes: &[u8],
        width: usize,
        has_more: bool,
        (start, builders): (usize, &mut [Builder]),
        parsed: &mut Parsed,
    ) -> bool {
        if width > self.places.len() {
            parsed.passed.long.note(bytes, start);
            return !has_more;
        }
        // Runs of blanks do not tell which cells are missing.
        let is_run = self.table.dialect.is_some_and(|dialect| dialect.separator == Separator::Run);
        let is_open = is_run && !self.lacks_the_last(&bytes[..start], &bytes[start..], width);
        if (self.table.is_list || is_open) && self.places[width..].iter().any(Option::is_some) {
            return false;
        }
        if width == 1 && self.places.len() > 2 {
            if let Some(Some(place)) = self.places.first() {
                builders[*place].take_back(bytes[start..].trim_ascii());
            }
            return true;
        }
        for place in self.places[width..].iter().flatten() {
            builders[*place].push(b"", parsed.n_rows, start);
        }
        parsed.passed.short.note(bytes, start);
        true
    }

    fn parse_json(&self, bytes: &[u8], builders: &mut [Builder]) -> Parsed {
        let mut parsed = Parsed { n_bytes: bytes.len(), ..Parsed::default() };
        let mut row: Vec<Option<String>> = vec![None; builders.len()];
        let mut start = 0;
        for (line, number) in bytes.split_inclusive(|&byte| byte == b'\n').zip(1..) {
            if !line.trim_ascii().is_empty() {
                let found = json::each_cell(line, |key, cell| {
                    if let Some(&place) = self.keys.get(key) {
                        row[place] = Some(cell.to_owned());
                    }
                });
                if let Err(error) = found {
                    parsed.malformed = Some((number, format!("not a JSON object ({error})")));
                    break;
                }
                for (builder, cell) in builders.iter_mut().zip(&mut row) {
                    builder.push(cell.take().unwrap_or_default().as_bytes(), parsed.n_rows, start);
                }
                parsed.n_rows += 1;
                parsed.lines.extend(self.with_lines.then_some(number));
            }
            start += line.len();
        }
        parsed
    }

    /// What is wrong with a record of `found` cells.
    pub(super) fn width_error(&self, found: usize) -> String {
        format!("{}; the lines before have {}", n_fields(found), self.places.len())
    }

    /// Line of the first cell of a column of text that is not UTF-8, or has a NUL in it, and what is wrong with it.
    fn encoding_error(&self, bytes: &[u8], place: usize) -> Option<(u64, String)> {
        let at = self.places.iter().position(|other| *other == Some(place))?;
        let Some(dialect) = &self.table.dialect else {
            let line = count_lines(&bytes[..memchr::memmem::find(bytes, b"\\u0000")?]) + 1;
            return Some((line, "not a JSON object (a text with \\u0000 in it)".into()));
        };
        let (mut cells, name) = (Cells::new(bytes, dialect), &self.table.names[at]);
        while let Some(start) = cells.start() {
            let mut reason = None;
            cells.record(|cell_at, cell| {
                if cell_at == at && cell.contains(&0) {
                    let (text, path) = (shown(cell.trim_ascii()), self.table.text.path().display());
                    let advice = format!("remove them all: tr -d '\\0' < {path} > new.csv");
                    reason =
                        Some(format!("'{text}' in column '{name}' holds a NUL, a byte that no text has; {advice}"));
                } else if cell_at == at && std::str::from_utf8(cell).is_err() {
                    let text = shown(cell.trim_ascii());
                    reason = Some(format!("'{text}' in column '{name}' is not UTF-8 text; {AS_UTF8}"));
                }
            })?;
            if let Some(reason) = reason {
                return Some((count_lines(&bytes[..start]) + 1, reason));
            }
        }
        None
    }
}

/// The first cell of a record that may be a note or a sum below the rows: a text that stands alone, or a word for sums.
fn tail(record: &[u8], dialect: &Dialect) -> Option<String> {
    let (mut first, mut n_filled) = (None, 0);
    Cells::new(record, dialect).record(|at, cell| {
        let cell = cell.trim_ascii();
        n_filled += usize::from(!cell.is_empty());
        first = first.take().or((at == 0).then(|| String::from_utf8_lossy(cell).into_owned()));
    })?;
    let first = first.filter(|text| !text.is_empty())?;
    let is_sum = SUMS.contains(&first.to_lowercase().trim_end_matches([':', ' ']));
    (is_sum || (n_filled == 1 && first.contains(' '))).then(|| shown(first.as_bytes()))
}
