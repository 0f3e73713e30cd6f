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
use std::sync::Arc;

pub(super) use self::blocks::Text;
pub(super) use self::cells::record;
pub(crate) use self::dialect::Known;
pub use self::dialect::{Dialect, Doubt, Separator};
use self::rewrite::Rewrite;
pub(crate) use self::scan::{RowMark, TextScan};
use super::cell::{CellType, Found};
use super::lines::{AS_UTF8, count_lines, each_line, shown};
use lapwing_core::{Error, Result};

/// A text whose layout and types are known.
#[derive(Clone, Debug)]
pub(crate) struct TextTable {
    text: Text,
    /// What is written anew in it.
    rewrites: Arc<[Rewrite]>,
    layout: Layout,
    pub names: Arc<[String]>,
    found: Vec<Found>,
    pub doubts: Vec<Doubt>,
    /// The first records, whose cells say how columns are written.
    sample: Arc<[Vec<Vec<u8>>]>,
    /// Bytes and lines before the rows.
    body: (usize, u64),
    /// Whether it is a small table of a fixed form.
    is_list: bool,
    /// What was passed over there.
    pub passed: Vec<String>,
    /// The line of the header, which may come again.
    header_line: Vec<u8>,
    /// In aligned columns, where lines that lack the cells behind the first, the second, and so on end at most.
    room: Arc<[usize]>,
}

/// How a text holds its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Cells between delimiters.
    Cells(Dialect),
    /// A JSON object in each line.
    Json,
}

impl TextTable {
    /// Opens a file and reads its first block.
    ///
    /// # Errors
    /// [`Error::Format`] for an empty file, and for names that are not UTF-8; [`Error::Io`].
    pub(crate) fn open(path: &Path, known: Known) -> Result<Self> {
        Self::of(Text::open(path)?, known)
    }

    /// A text in memory, named `path` in messages.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn held(path: &Path, bytes: Vec<u8>, known: Known) -> Result<Self> {
        Self::of(Text::Held(path.to_owned(), bytes.into()), known)
    }

    fn of(text: Text, known: Known) -> Result<Self> {
        let path = text.path().to_owned();
        let path = path.as_path();
        let empty = || Error::format(path, None, "the file is empty");
        let first = text.first()?.ok_or_else(empty)?;
        if known.is_json || json::is_object(&first.bytes) {
            let (names, records) = json::sample(&first.bytes, first.is_last, dialect::MAX_RECORDS);
            if names.is_empty() {
                let reason = "no JSON object; expected one in each line, such as {\"width\": 1.5, \"label\": \"a\"}";
                return Err(Error::format(path, Some(1), reason));
            }
            let found = sniff::json_columns(&records, names.len());
            let (names, sample) = (names.into(), records.into());
            return Ok(Self {
                text,
                rewrites: Arc::default(),
                layout: Layout::Json,
                names,
                found,
                doubts: Vec::new(),
                sample,
                body: (0, 0),
                is_list: known.is_list,
                passed: Vec::new(),
                header_line: Vec::new(),
                room: Arc::default(),
            });
        }
        let (rewrites, start) = Rewrite::all(first.bytes, first.is_last, &known);
        let long = rewrites.iter().find_map(Rewrite::delimiter);
        let known = Known { delimiter: known.delimiter.or(long), ..known };
        let sniffed = sniff::sniff(&start, first.is_last, &known);
        if let Some((line, text)) = sniff::unclosed_header(&start, &sniffed.dialect) {
            return Err(unclosed(path, line, &text));
        }
        if sniffed.columns.is_empty() && sniffed.header.is_empty() {
            return Err(empty());
        }
        let names = names(path, &sniffed.header, sniffed.columns.len())?;
        let mut found = sniffed.columns;
        found.resize(names.len(), Found { kind: None, is_doubtful: false });
        let separator = if long.is_some() { Separator::Long } else { sniffed.dialect.separator };
        let dialect = Dialect { encoding: text.encoding().unwrap_or("UTF-8"), separator, ..sniffed.dialect };
        let (layout, names, sample) = (Layout::Cells(dialect), names.into(), sniffed.records.into());
        let sniff::Sniffed { doubts, body, mut passed, header_line, .. } = sniffed;
        let guessed = text.encoding().filter(|encoding| !encoding.starts_with("UTF-16"));
        passed.extend(rewrites.iter().filter_map(Rewrite::words));
        passed.extend(guessed.map(|name| {
            format!("the text is not in UTF-8; its letters are taken for those of {name}, which is a guess")
        }));
        let (body, is_list) = ((body, count_lines(&start[..body.min(start.len())])), known.is_list);
        let room = if dialect.separator == Separator::Run { room_of(&start, &header_line) } else { Vec::new() };
        let room = room.into();
        let rewrites = rewrites.into();
        Ok(Self { text, rewrites, layout, names, found, doubts, sample, body, is_list, passed, header_line, room })
    }

    /// A small table, such as a list of edges, and its first records with the header; `is_header` tells from these, and from the number of
    /// lines before them, whether the first is one.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(super) fn list(
        text: &Text,
        known: &Known,
        is_header: impl FnOnce(&[Vec<String>], u64) -> bool,
    ) -> Result<(Self, Vec<Vec<String>>)> {
        let of = |has_header: bool| {
            Self::of(text.clone(), Known { is_list: true, has_header: Some(has_header), ..known.clone() })
        };
        let table = of(false)?;
        let texts =
            |record: &Vec<Vec<u8>>| record.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
        let records: Vec<Vec<String>> = table.sample.iter().map(texts).collect();
        let is_named = table.dialect().is_some() && is_header(&records, table.body.1);
        Ok((if is_named { of(true)? } else { table }, records))
    }

    /// Hands the cells of every line to `take`, also of empty lines, with its number from 1.
    ///
    /// # Errors
    /// [`Error::Format`] for text that is not UTF-8 and for a quote that stays open; those of `take`.
    pub(super) fn each_line(&self, mut take: impl FnMut(&[&str], u64) -> Result<()>) -> Result<()> {
        let (dialect, path) = (self.dialect().unwrap_or_default(), self.path());
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

    /// Whether it can be read only once.
    pub(super) fn is_once(&self) -> bool {
        self.text.is_once()
    }

    /// How cells are written; `None` for JSON.
    pub(crate) fn dialect(&self) -> Option<Dialect> {
        match self.layout {
            Layout::Cells(dialect) => Some(dialect),
            Layout::Json => None,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.text.path()
    }

    /// Bytes of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.text.stored_bytes()
    }

    /// Whether reading can start at any row whose place is known.
    pub(crate) fn is_seekable(&self) -> bool {
        self.text.is_seekable() && self.rewrites.is_empty()
    }

    /// How the cells of column `at` seem to be written; `None` if the first are all missing.
    pub(crate) fn written(&self, at: usize) -> Option<CellType> {
        self.found[at].kind
    }

    /// The cells of column `at` in the first records.
    pub(crate) fn sample(&self, at: usize) -> impl Iterator<Item = &[u8]> {
        self.sample.iter().filter_map(move |record| record.get(at).map(Vec::as_slice))
    }
}

/// The error for a quote that is not closed.
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
