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
mod scan;
mod shape;
mod sniff;

use std::path::Path;
use std::sync::Arc;

use self::blocks::Text;
pub(crate) use self::dialect::Known;
pub use self::dialect::{Dialect, Doubt, Separator};
pub(crate) use self::scan::{RowMark, TextScan};
pub(crate) use self::sniff::delimiter_of;
use super::cell::{CellType, Found};
use lapwing_core::{Error, Result};

/// A text whose layout and types are known.
#[derive(Clone, Debug)]
pub(crate) struct TextTable {
    text: Text,
    layout: Layout,
    pub names: Arc<[String]>,
    found: Vec<Found>,
    pub doubts: Vec<Doubt>,
    /// The first records, whose cells say how columns are written.
    sample: Arc<[Vec<Vec<u8>>]>,
    /// Bytes before the rows.
    body: usize,
    /// What was passed over there.
    pub passed: Vec<String>,
    /// The line of the header, which may come again.
    header_line: Vec<u8>,
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
        let first = text.blocks(0)?.next()?.ok_or_else(empty)?;
        if known.is_json || json::is_object(&first.bytes) {
            let (names, records) = json::sample(&first.bytes, first.is_last, dialect::MAX_RECORDS);
            if names.is_empty() {
                let reason = "no JSON object; expected one in each line, such as {\"width\": 1.5, \"label\": \"a\"}";
                return Err(Error::format(path, Some(1), reason));
            }
            let found = sniff::json_columns(&records, names.len());
            let (names, sample) = (names.into(), records.into());
            let (doubts, passed, header_line) = (Vec::new(), Vec::new(), Vec::new());
            return Ok(Self { text, layout: Layout::Json, names, found, doubts, sample, body: 0, passed, header_line });
        }
        let sniffed = sniff::sniff(&first.bytes, first.is_last, &known);
        if let Some((line, text)) = sniff::unclosed_header(&first.bytes, &sniffed.dialect) {
            return Err(unclosed(path, line, &text));
        }
        if sniffed.columns.is_empty() && sniffed.header.is_empty() {
            return Err(empty());
        }
        let names = names(path, &sniffed.header, sniffed.columns.len())?;
        let mut found = sniffed.columns;
        found.resize(names.len(), Found { kind: None, is_doubtful: false });
        let dialect = Dialect { encoding: text.encoding().unwrap_or("UTF-8"), ..sniffed.dialect };
        let (layout, names, sample) = (Layout::Cells(dialect), names.into(), sniffed.records.into());
        let sniff::Sniffed { doubts, body, passed, header_line, .. } = sniffed;
        Ok(Self { text, layout, names, found, doubts, sample, body, passed, header_line })
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
        self.text.is_seekable()
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
            let reason = format!(
                "the name '{}' of column {at} is not UTF-8 text; {}",
                super::lines::shown(cell),
                super::lines::AS_UTF8
            );
            Err(Error::format(path, Some(1), reason))
        }
    };
    header.iter().enumerate().map(name).collect()
}
