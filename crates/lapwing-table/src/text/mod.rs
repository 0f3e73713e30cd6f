//! Texts as tables of typed columns: CSV, and JSON lines.
//!
//! Opening a file tells its dialect, and what its columns seem to hold, from the first block of text (`dialect`). A scan then
//! reads it in blocks, several at a time in parallel: a block ends with a line, and is taken to start a record. That is wrong only if a
//! quoted cell holds the end of the block before it; then that block ends in an open quote, and both are read again together. So the
//! records are always those of one reader from the start to the end.

mod blocks;
mod cells;
mod columns;
mod dialect;
mod header;
mod json;
mod rewrite;
mod scan;
mod shape;
mod sniff;

use std::path::Path;

pub(crate) use self::blocks::Text;
pub(crate) use self::cells::record;
pub(crate) use self::dialect::Known;
pub use self::dialect::{Dialect, Doubt, Separator};
use self::rewrite::Rewrite;
pub(crate) use self::sniff::Sniffed;
use crate::cell::Found;
use crate::lines::{AS_UTF8, count_lines, each_line, shown};
use lapwing_core::{Error, Result};

/// A text whose layout and types are known.
#[derive(Debug)]
pub(crate) struct TextTable {
    pub(crate) text: Text,
    /// What is written anew in it.
    rewrites: Vec<Rewrite>,
    /// How cells are written; `None` for JSON, an object in each line.
    pub dialect: Option<Dialect>,
    pub names: Vec<String>,
    /// What the first block tells.
    pub sniffed: Sniffed,
    /// Lines before the rows.
    pub(crate) lines_before: u64,
    /// Whether it is a small table of a fixed form.
    is_list: bool,
    /// In aligned columns, where lines that lack the cells behind the first, the second, and so on end at most.
    room: Vec<usize>,
}

impl TextTable {
    /// A text, of which the first block is read.
    ///
    /// # Errors
    /// [`Error::Format`] for an empty file, and for names that are not UTF-8; [`Error::Io`].
    pub(crate) fn new(text: Text, known: Known) -> Result<Self> {
        let path = text.path().to_owned();
        let path = path.as_path();
        let empty = || Error::format(path, None, "the file is empty");
        let (first, is_list) = (text.first()?.ok_or_else(empty)?, known.is_list);
        if known.is_json || json::is_object(&first.bytes) {
            let (names, records) = json::sample(&first.bytes, first.is_last, dialect::MAX_RECORDS);
            if names.is_empty() {
                let reason = "no JSON object; expected one in each line, such as {\"width\": 1.5, \"label\": \"a\"}";
                return Err(Error::format(path, Some(1), reason));
            }
            let mut columns = dialect::types(&records, b'.');
            columns.resize(names.len(), Found::default());
            let sniffed = Sniffed { columns, records, ..Sniffed::default() };
            let (rewrites, room) = (Vec::new(), Vec::new());
            return Ok(Self { text, rewrites, dialect: None, names, sniffed, lines_before: 0, is_list, room });
        }
        let (rewrites, start) = Rewrite::all(first.bytes, first.is_last, &known);
        let long = rewrites.iter().find_map(Rewrite::delimiter);
        let known = Known { delimiter: known.delimiter.or(long), ..known };
        let mut sniffed = sniff::sniff(&start, first.is_last, &known);
        if let Some((line, text)) = sniff::unclosed_header(&start, &sniffed.dialect) {
            return Err(unclosed(path, line, &text));
        }
        if sniffed.columns.is_empty() {
            return Err(empty());
        }
        let names = names(path, &sniffed.header, sniffed.columns.len())?;
        let separator = if long.is_some() { Separator::Long } else { sniffed.dialect.separator };
        let dialect = Dialect { encoding: text.encoding().unwrap_or("UTF-8"), separator, ..sniffed.dialect };
        let guessed = text.encoding().filter(|encoding| !encoding.starts_with("UTF-16"));
        sniffed.passed.extend(rewrites.iter().filter_map(Rewrite::words));
        sniffed.passed.extend(guessed.map(|name| {
            format!("the text is not in UTF-8; its letters are taken for those of {name}, which is a guess")
        }));
        let lines_before = count_lines(&start[..sniffed.body.min(start.len())]);
        let is_aligned = dialect.separator == Separator::Run;
        let room = if is_aligned { room_of(&start, &sniffed.header_line) } else { Vec::new() };
        Ok(Self { text, rewrites, dialect: Some(dialect), names, sniffed, lines_before, is_list, room })
    }

    /// Hands the cells of every line to `take`, also of empty lines, with its number from 1.
    ///
    /// # Errors
    /// [`Error::Format`] for text that is not UTF-8 and for a quote that stays open; those of `take`.
    pub(crate) fn each_line(&self, mut take: impl FnMut(&[&str], u64) -> Result<()>) -> Result<()> {
        let (dialect, path) = (self.dialect.unwrap_or_default(), self.text.path());
        let (mut blocks, mut number) = (self.text.blocks(0)?, 0);
        while let Some(block) = blocks.next()? {
            for line in each_line(&block.bytes) {
                number += 1;
                let mut found = Vec::new();
                if !record(line, &dialect, &mut found) {
                    let opened = line.rsplit(|&byte| Some(byte) == dialect.quote).next().unwrap_or(line);
                    return Err(unclosed(path, number, &shown(opened)));
                }
                let texts: std::result::Result<Vec<&str>, _> =
                    found.iter().map(|cell| std::str::from_utf8(cell)).collect();
                let texts = texts.map_err(|_| {
                    Error::format(path, Some(number), format!("'{}' is not UTF-8 text; {AS_UTF8}", shown(line)))
                })?;
                take(&texts, number)?;
            }
        }
        Ok(())
    }

    /// Whether reading can start at any row whose place is known.
    pub(crate) fn is_seekable(&self) -> bool {
        self.text.is_seekable() && self.rewrites.is_empty()
    }
}

/// Where lines end at most that have the first cell alone, the first two, and so on, if columns are aligned as the header is.
fn room_of(text: &[u8], header: &[u8]) -> Vec<usize> {
    let Some(at) = memchr::memmem::find(text, header).filter(|_| !header.is_empty()) else { return Vec::new() };
    let begin = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
    let line = &text[begin..at + header.len()];
    let is_start = |&at: &usize| line[at] != b' ' && (at == 0 || line[at - 1] == b' ');
    let is_end = |&at: &usize| line[at] != b' ' && line.get(at + 1).is_none_or(|byte| *byte == b' ');
    let ends = (0..line.len()).filter(is_end).map(|at| at + 1);
    // Cells stand below the first letters of names, or below the last.
    (0..line.len()).filter(is_start).skip(1).zip(ends).map(|(next, end)| (next - 1).max(end)).collect()
}

/// The error for a quote that is not closed.
fn unclosed(path: &Path, line: u64, text: &str) -> Error {
    let advice = "is not closed; close it, or double quotes that are part of a quoted cell";
    Error::format(path, Some(line), format!("the quote that opens before '{text}' {advice}"))
}

/// The names of the columns: those of the header, or numbers.
fn names(path: &Path, header: &[Vec<u8>], n_columns: usize) -> Result<Vec<String>> {
    if header.is_empty() {
        return Ok((0..n_columns).map(|at| at.to_string()).collect());
    }
    let name = |(at, cell): (usize, &Vec<u8>)| match std::str::from_utf8(cell) {
        Ok("") => Ok(format!("unnamed_{at}")),
        Ok(text) => Ok(text.to_owned()),
        Err(_) => {
            let reason = format!("the name '{}' of column {at} is not UTF-8 text; {}", shown(cell), AS_UTF8);
            Err(Error::format(path, Some(1), reason))
        }
    };
    header.iter().enumerate().map(name).collect()
}
