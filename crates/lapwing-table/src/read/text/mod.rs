//! Texts as tables of typed columns: CSV, and JSON lines.
//!
//! Opening a file tells its dialect and the types of its columns from the first block of text (`dialect`, `types`). A scan then
//! reads it in blocks, several at a time in parallel: a block ends with a line, and is taken to start a record. That is wrong only if a
//! quoted cell holds the end of the block before it; then that block ends in an open quote, and both are read again together. So the
//! records are always those of one reader from the start to the end.

mod blocks;
mod cells;
mod columns;
mod date;
mod dialect;
mod json;
mod number;
mod scan;
mod types;

use std::path::Path;
use std::sync::Arc;

use self::blocks::Text;
pub(crate) use self::columns::{Tally, UnfitCell};
pub use self::dialect::{Dialect, Doubt};
pub(crate) use self::dialect::{Known, delimiter_of};
pub(crate) use self::number::{NumberStyle, is_missing};
pub(crate) use self::scan::{RowMark, TextScan};
use self::types::Found;
pub(crate) use self::types::{CellType, reconciled, truth};
use lapwing_core::{Error, Result};

/// What a column is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    /// Numbers, as doubles; NaN if missing.
    Number,
    /// Truth values.
    Boolean,
    /// Microseconds since 1970.
    Date,
    /// Texts.
    Text,
    /// Texts as they are: no text means that the cell is missing.
    Label,
    /// Lists of so many numbers.
    Vector(usize),
}

/// A text whose layout and types are known.
#[derive(Clone, Debug)]
pub(crate) struct TextTable {
    text: Text,
    layout: Layout,
    pub names: Arc<[String]>,
    found: Vec<Found>,
    pub doubts: Vec<Doubt>,
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
        let text = Text::open(path)?;
        let empty = || Error::format(path, None, "the file is empty");
        let first = text.blocks(0)?.next()?.ok_or_else(empty)?;
        if first.bytes.starts_with(&[0xff, 0xfe]) || first.bytes.starts_with(&[0xfe, 0xff]) {
            let reason = "the file is UTF-16 text; expected UTF-8: iconv -f UTF-16 -t UTF-8 makes it that";
            return Err(Error::format(path, Some(1), reason));
        }
        if known.is_json {
            let (names, records) = json::sample(&first.bytes, first.is_last, dialect::MAX_RECORDS);
            if names.is_empty() {
                let reason = "no JSON object; expected one in each line, such as {\"width\": 1.5, \"label\": \"a\"}";
                return Err(Error::format(path, Some(1), reason));
            }
            let found = dialect::json_columns(&records, names.len());
            return Ok(Self { text, layout: Layout::Json, names: names.into(), found, doubts: Vec::new() });
        }
        let sniffed = dialect::sniff(&first.bytes, first.is_last, known);
        if let Some((line, text)) = dialect::unclosed_header(&first.bytes, &sniffed.dialect) {
            return Err(unclosed(path, line, &text));
        }
        if sniffed.columns.is_empty() && sniffed.header.is_empty() {
            return Err(empty());
        }
        let names = names(path, &sniffed.header, sniffed.columns.len())?;
        let mut found = sniffed.columns;
        found.resize(names.len(), Found { kind: None, is_doubtful: false });
        Ok(Self { text, layout: Layout::Cells(sniffed.dialect), names: names.into(), found, doubts: sniffed.doubts })
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

    /// The type of column `at`, as its first cells tell it; `None` if these are all missing.
    pub(crate) fn column_type(&self, at: usize) -> Option<ColumnType> {
        self.found[at].kind.map(|kind| match kind {
            CellType::Number(_) => ColumnType::Number,
            CellType::Boolean(_) => ColumnType::Boolean,
            CellType::Date(_) => ColumnType::Date,
            CellType::Text | CellType::Label => ColumnType::Text,
        })
    }

    /// How the cells of column `at` seem to be written; `None` if the first are all missing.
    pub(crate) fn written(&self, at: usize) -> Option<CellType> {
        self.found[at].kind
    }

    /// How the cells of column `at`, written as `written` says, are read as values of a type.
    fn cell_type(&self, kind: ColumnType, written: Option<CellType>) -> CellType {
        match (kind, written) {
            (ColumnType::Number, Some(found @ CellType::Number(_)))
            | (ColumnType::Boolean, Some(found @ CellType::Boolean(_)))
            | (ColumnType::Date, Some(found @ CellType::Date(_))) => found,
            (ColumnType::Number, _) => {
                CellType::Number(NumberStyle::Written(self.dialect().unwrap_or_default().decimal))
            }
            (ColumnType::Boolean, _) => CellType::Boolean(0),
            (ColumnType::Date, _) => CellType::Date(date::DateStyle::YearFirst),
            (ColumnType::Text | ColumnType::Vector(_), _) => CellType::Text,
            (ColumnType::Label, _) => CellType::Label,
        }
    }
}

/// How the texts of a stored column are read as numbers, truth values or dates, as some of them tell; `None` if they are texts.
pub(crate) fn parsed_as<'c>(cells: impl Iterator<Item = &'c [u8]>) -> Option<(CellType, ColumnType)> {
    let cells: Vec<&[u8]> = cells.collect();
    let decimal = dialect::decimal_of_column(&cells);
    let found = types::infer(cells.into_iter(), decimal);
    let kind = found.kind.filter(|_| !found.is_doubtful)?;
    let as_type = match kind {
        CellType::Number(_) => ColumnType::Number,
        CellType::Boolean(_) => ColumnType::Boolean,
        CellType::Date(_) => ColumnType::Date,
        CellType::Text | CellType::Label => return None,
    };
    Some((kind, as_type))
}

/// The date in a cell of any style.
pub(crate) fn any_date(cell: &[u8]) -> Option<i64> {
    date::DateStyle::ALL.iter().find_map(|style| style.parse(cell))
}

/// The truth of a cell in any of the known words.
pub(crate) fn any_truth(cell: &[u8]) -> Option<bool> {
    (0..types::TRUTHS.len()).find_map(|words| truth(words, cell))
}

/// The error for a quote that is not closed.
fn unclosed(path: &Path, line: u64, text: &str) -> Error {
    let advice = "is not closed; close it, or double quotes that are part of a quoted cell";
    Error::format(path, Some(line), format!("the quote that opens before '{text}' {advice}"))
}

/// The names of the columns: those of the header, or numbers. Empty and repeated names are made different.
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
                super::records::shown(cell),
                super::records::AS_UTF8
            );
            Err(Error::format(path, Some(1), reason))
        }
    };
    let mut names = header.iter().enumerate().map(name).collect::<Result<Vec<String>>>()?;
    super::columns::make_distinct(&mut names);
    Ok(names)
}
