//! Records of a CSV file, by the rules of RFC 4180 as the crate `csv` reads them.
//!
//! A quote is special at the start of a cell; within quotes, two quotes stand for one. Lines end with `\n`, `\r\n` or
//! `\r`, and empty lines are skipped. Every record has the number of its line. A quote that is not closed is an error
//! that names the line of the quote: at the end of the file, the parser is given one more line end, which ends any
//! record without an open quote.

use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use csv_core::{ReadRecordResult, Reader};

use super::Dialect;
use super::cell::is_missing;
use super::fields::n_fields;
use super::format::{open_text, text_bytes};
use super::lines::{shown, text_error};
use super::text::{Known, delimiter_of};
use lapwing_core::memory::ask;
use lapwing_core::{Error, Result, Run};

/// Bytes of the longest cell; a longer one follows a quote that is not closed.
const MAX_CELL_BYTES: usize = 1 << 24;

/// The byte order mark that some programs write before UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Records read between two checks of the run's cancellation.
const CHECK_RECORDS: u32 = 1 << 10;

/// Bytes and records at the start of a text that tell what it holds.
const START_BYTES: u64 = 1 << 16;
const START_RECORDS: usize = 1000;

/// The start of a record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    pub byte: u64,
    /// Lines before it.
    pub lines: u64,
}

/// Records of a CSV file, all of one length.
pub(super) struct Records {
    path: PathBuf,
    text: Box<dyn BufRead + Send>,
    parser: Reader,
    /// The byte before the decimals of a number.
    decimal: u8,
    /// Number of cells of every record; `None` before the first one.
    expected: Option<usize>,
    /// Start of the current record.
    start: Mark,
    /// End of the text read so far.
    here: Mark,
    /// Bytes of the whole text, if they are known.
    n_bytes: Option<u64>,
    /// Whether the last byte read is a `\r`: a `\n` behind it ends no other line.
    after_return: bool,
    /// Cells of the current record without their quotes, and room for more.
    cells: Vec<u8>,
    /// End of each cell in `cells`, and room for more.
    ends: Vec<usize>,
    /// Number of cells of the current record.
    width: usize,
    /// Records until the next check of the run's cancellation.
    unchecked: u32,
}

impl Records {
    /// Opens a text, and shows the records at its start, none of which has been read: a pipe too can be looked at before it is read.
    pub(super) fn open(path: &Path, known: Known) -> Result<(Self, Vec<Vec<String>>)> {
        let failed = |e| text_error(path, None, e);
        let (mut text, skipped) = without_mark(open_text(path)?).map_err(failed)?;
        let mut bytes = Vec::new();
        text.by_ref().take(START_BYTES).read_to_end(&mut bytes).map_err(failed)?;
        let is_whole = (bytes.len() as u64) < START_BYTES;
        let dialect = delimiter_of(&bytes, is_whole, known);
        let mark = Mark { byte: skipped, lines: 0 };
        let read = |text: Box<dyn BufRead + Send>| Self::from_text(path, text, mark).written_as(&dialect);
        let mut start = read(Box::new(std::io::Cursor::new(bytes.clone())));
        let mut records: Vec<Vec<String>> = Vec::new();
        // What is wrong with the text is told when it is read.
        let mut found = start.advance();
        while records.len() < START_RECORDS && matches!(found, Ok(true)) {
            let cells = (0..start.width).map(|at| String::from_utf8_lossy(start.cell(at)).trim().to_owned());
            records.push(cells.collect());
            found = start.advance();
        }
        if records.is_empty() && is_whole && matches!(found, Ok(false)) {
            return Err(Error::format(path, None, "the file is empty"));
        }
        // The last record of a part may be cut.
        if !is_whole && records.len() > 1 && records.len() < START_RECORDS {
            records.pop();
        }
        Ok((read(Box::new(std::io::Cursor::new(bytes).chain(text))), records))
    }

    /// Reads cells as a dialect writes them.
    fn written_as(mut self, dialect: &Dialect) -> Self {
        self.parser =
            csv_core::ReaderBuilder::new().delimiter(dialect.delimiter).quote(dialect.quote.unwrap_or(0)).build();
        self.parser.read_record(b"\n", &mut [0], &mut [0]);
        self.decimal = dialect.decimal;
        self
    }

    fn from_text(path: &Path, text: Box<dyn BufRead + Send>, here: Mark) -> Self {
        let mut parser = Reader::new();
        // The parser would remove a byte order mark from the first bytes it gets, also in the middle of a file. An
        // empty line before them prevents that.
        parser.read_record(b"\n", &mut [0], &mut [0]);
        Self {
            path: path.to_owned(),
            text,
            parser,
            decimal: b'.',
            expected: None,
            start: here,
            here,
            n_bytes: text_bytes(path),
            after_return: false,
            cells: vec![0; 1 << 10],
            ends: vec![0; 1 << 6],
            width: 0,
            unchecked: 0,
        }
    }

    /// Share of the text that has been read, if its length is known.
    pub(super) fn share(&self) -> Option<f64> {
        self.n_bytes.map(|n_bytes| self.here.byte as f64 / n_bytes.max(1) as f64)
    }

    /// Start of the current record.
    #[cfg(test)]
    pub(super) fn mark(&self) -> Mark {
        self.start
    }

    /// Goes to the next record; false at the end. Checks from time to time whether the run is canceled.
    #[inline]
    pub(super) fn next(&mut self, run: &Run) -> Result<bool> {
        if self.unchecked == 0 {
            run.check()?;
            self.unchecked = CHECK_RECORDS;
        }
        self.unchecked -= 1;
        self.advance()
    }

    /// Goes to the next record; false at the end.
    pub(super) fn advance(&mut self) -> Result<bool> {
        if !self.skip_line_ends()? {
            return Ok(false);
        }
        self.start = self.here;
        self.read_record()?;
        match self.expected.replace(self.width) {
            Some(expected) if expected != self.width => {
                self.expected = Some(expected);
                Err(self.error(format!("{}; the lines before have {expected}", n_fields(self.width))))
            }
            _ => Ok(true),
        }
    }

    /// Skips line ends, so that the next byte starts a record; false at the end of the text.
    fn skip_line_ends(&mut self) -> Result<bool> {
        loop {
            let bytes = match self.text.fill_buf() {
                Ok(bytes) => bytes,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(text_error(&self.path, Some(self.here.lines + 1), e)),
            };
            match bytes.first() {
                None => return Ok(false),
                Some(b'\n') => self.here.lines += u64::from(!std::mem::take(&mut self.after_return)),
                Some(b'\r') => {
                    self.here.lines += 1;
                    self.after_return = true;
                }
                Some(_) => {
                    self.after_return = false;
                    return Ok(true);
                }
            }
            self.text.consume(1);
            self.here.byte += 1;
        }
    }

    /// Reads the record that starts at the next byte.
    fn read_record(&mut self) -> Result<()> {
        let (mut n_bytes, mut n_ends, mut is_at_end) = (0, 0, false);
        loop {
            let bytes = match self.text.fill_buf() {
                // One more line end ends any record without an open quote.
                Ok([]) if !is_at_end => {
                    is_at_end = true;
                    b"\n"
                }
                Ok([]) => return Err(self.unclosed("is not closed", n_bytes, n_ends)),
                Ok(bytes) => bytes,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(text_error(&self.path, Some(self.start.lines + 1), e)),
            };
            let lines_before = self.parser.line();
            let (result, read, written, ended) =
                self.parser.read_record(bytes, &mut self.cells[n_bytes..], &mut self.ends[n_ends..]);
            let last = read.checked_sub(1).map(|at| bytes[at]);
            (n_bytes, n_ends) = (n_bytes + written, n_ends + ended);
            if !is_at_end {
                self.text.consume(read);
                self.here.byte += read as u64;
                self.here.lines += self.parser.line() - lines_before;
            }
            match result {
                ReadRecordResult::Record => {
                    self.after_return = last == Some(b'\r');
                    self.here.lines += u64::from(self.after_return);
                    self.width = n_ends;
                    return Ok(());
                }
                ReadRecordResult::OutputFull => self.grow(n_bytes, n_ends)?,
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::InputEmpty | ReadRecordResult::End => {}
            }
        }
    }

    /// Makes room for more of the current record, of which `n_bytes` bytes and `n_ends` cells have been read.
    fn grow(&mut self, n_bytes: usize, n_ends: usize) -> Result<()> {
        if n_bytes - self.last_end(n_ends) > MAX_CELL_BYTES {
            return Err(self.unclosed("is not closed within 16 MiB", n_bytes, n_ends));
        }
        let more = self.cells.len();
        ask(|| self.cells.try_reserve(more)).map_err(|_| {
            let what = format!("{}, line {}: one record", self.path.display(), self.start.lines + 1);
            Error::too_large(what, 2 * more as u64, isize::MAX as u64, "look whether a quote is not closed")
        })?;
        self.cells.resize(2 * more, 0);
        Ok(())
    }

    /// End of the last of `n_ends` cells.
    fn last_end(&self, n_ends: usize) -> usize {
        n_ends.checked_sub(1).map_or(0, |last| self.ends[last])
    }

    /// The error for a cell, behind `n_ends` others, whose quote is not closed.
    fn unclosed(&self, what: &str, n_bytes: usize, n_ends: usize) -> Error {
        let end = self.last_end(n_ends);
        let breaks = self.cells[..end].iter().filter(|&&byte| byte == b'\n').count() as u64;
        let shown = shown(self.cells[end..n_bytes].trim_ascii());
        let reason = format!(
            "the quote that opens before '{shown}' {what}; close it, or double quotes that are part of a quoted cell"
        );
        Error::format(&self.path, Some(self.start.lines + breaks + 1), reason)
    }

    /// Number of cells of the current record.
    #[cfg(test)]
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The text of column `at` without spaces around it; empty if there is no such column.
    #[inline]
    pub(super) fn cell(&self, at: usize) -> &[u8] {
        if at >= self.width {
            return &[];
        }
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.cells[start..self.ends[at]].trim_ascii()
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Line of the current record, counted from 1.
    pub(super) fn line(&self) -> u64 {
        self.start.lines + 1
    }

    /// An error about the current record.
    pub(super) fn error(&self, reason: impl Into<String>) -> Error {
        Error::format(&self.path, Some(self.line()), reason)
    }

    /// The number in column `at`, NaN if it is missing; `None` if the cell holds anything else.
    #[inline]
    pub(super) fn number(&self, at: usize) -> Option<f64> {
        let text = text_of(self.cell(at))?;
        let with_comma = || (self.decimal == b',').then(|| parse_number(&text.replacen(',', ".", 1))).flatten();
        parse_number(text).or_else(with_comma)
    }

    /// The text of column `at` as shown in a message.
    pub(super) fn shown(&self, at: usize) -> String {
        shown(self.cell(at))
    }
}

/// Text without a byte order mark at its start, and the number of bytes removed.
fn without_mark(mut text: Box<dyn BufRead + Send>) -> std::io::Result<(Box<dyn BufRead + Send>, u64)> {
    const LENGTH: usize = BYTE_ORDER_MARK.len();
    let is_marked = match text.fill_buf() {
        Ok(bytes) if bytes.len() >= LENGTH => bytes.starts_with(BYTE_ORDER_MARK),
        Err(e) if e.kind() != std::io::ErrorKind::Interrupted => return Err(e),
        // A pipe may return single bytes.
        _ => {
            let mut start = Vec::new();
            text.by_ref().take(LENGTH as u64).read_to_end(&mut start)?;
            return Ok(match start == BYTE_ORDER_MARK {
                true => (text, LENGTH as u64),
                false => (Box::new(std::io::Cursor::new(start).chain(text)), 0),
            });
        }
    };
    let skipped = if is_marked { LENGTH } else { 0 };
    text.consume(skipped);
    Ok((text, skipped as u64))
}

fn text_of(cell: &[u8]) -> Option<&str> {
    std::str::from_utf8(cell).ok()
}

/// A number, or NaN for a text that means a missing one.
#[inline]
fn parse_number(text: &str) -> Option<f64> {
    text.parse().ok().or_else(|| is_missing(text.as_bytes()).then_some(f64::NAN))
}

#[cfg(test)]
mod tests;
