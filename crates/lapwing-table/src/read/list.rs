//! Small tables of a fixed form, read in order: edges, labels, lists of rows.
//!
//! Any table can be one. Its rows come from the scan of all tables, as texts or numbers, each with the line or row it stands in. Unlike other
//! tables, a text has no titles before its first line and no short rows, and its reader tells whether the first line is a header. Cost: one pass,
//! and the first records twice.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, StringArray};
use arrow_cast::cast;
use arrow_schema::DataType;

use super::options::ReadOptions;
use super::sheet;
use super::table::{ColumnKind, TableFile};
use crate::cell::{CellType, NumberStyle};
use crate::format::Format;
use crate::format::start::text_bytes;
use crate::scan::{Ask, TableRows};
use crate::text::{Known, Text, TextTable};
use lapwing_core::{Error, Result, Run};

/// A small table.
#[derive(Clone, Debug)]
pub(super) struct List {
    pub table: Arc<TableFile>,
    /// Names of the columns; none unless the first line is a header.
    pub names: Vec<String>,
    /// The first records of a text, also the header; none of tables whose columns have types, and without a header of JSON lines.
    pub records: Vec<Vec<String>>,
    /// Number of the line of the first of these.
    pub first_line: u64,
    /// The text, if it is one, and what is known of it.
    text: Option<Arc<TextTable>>,
    known: Known,
}

/// Where a row stands.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Line(u64),
    /// In a table without lines, counted from 0.
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

impl Place {
    /// An error about the row.
    pub(super) fn error(self, path: &Path, reason: impl fmt::Display) -> Error {
        match self {
            Self::Line(line) => Error::format(path, Some(line), reason.to_string()),
            Self::Row(_) => Error::format(path, None, format!("{self}: {reason}")),
        }
    }
}

impl List {
    /// Opens a list; the first record of a text is taken for a row. What is `known` may depend on the first line.
    pub(super) fn open(path: &Path, known: impl FnOnce(&[u8]) -> Known) -> Result<Self> {
        let format = Format::from_path(path);
        let text = match format {
            Format::Csv | Format::JsonLines => Text::open_once(path)?,
            Format::Other if !super::is_table(path) => Text::open_once(path)?,
            Format::Sheet => Text::Held(path.to_owned(), sheet::read(path, None)?.text.into()),
            _ => {
                let table = Arc::new(TableFile::open(path, &ReadOptions::default())?);
                let (names, records) = (table.names().to_vec(), Vec::new());
                return Ok(Self { table, names, records, first_line: 0, text: None, known: Known::default() });
            }
        };
        let first = text.first()?;
        let start = first.as_ref().and_then(|block| crate::lines::each_line(&block.bytes).next());
        let is_json = format == Format::JsonLines;
        let known = Known { is_json, is_list: true, has_header: Some(false), ..known(start.unwrap_or_default()) };
        let text = Arc::new(TextTable::new(text, known.clone())?);
        let cells =
            |record: &Vec<Vec<u8>>| record.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
        let records = text.sniffed.records.iter().map(cells).collect();
        let table = Arc::new(TableFile::from_text(Arc::clone(&text)));
        let (names, first_line) = match text.dialect {
            None => (table.names().to_vec(), 0),
            Some(_) => (Vec::new(), text.lines_before + 1),
        };
        Ok(Self { table, names, records, first_line, text: Some(text), known })
    }

    /// Takes the first record of a text for the names of its columns.
    pub(super) fn take_header(&mut self) -> Result<()> {
        let Some(text) = &self.text else { return Ok(()) };
        let known = Known { has_header: Some(true), ..self.known.clone() };
        let text = Arc::new(TextTable::new(text.text.clone(), known)?);
        self.table = Arc::new(TableFile::from_text(Arc::clone(&text)));
        self.text = Some(text);
        self.names = self.records.first().cloned().unwrap_or_default();
        Ok(())
    }

    /// The lines of a text of cells.
    pub(super) fn lines(&self) -> Option<&TextTable> {
        self.text().filter(|text| text.dialect.is_some())
    }

    /// The text, if it is one.
    pub(super) fn text(&self) -> Option<&TextTable> {
        self.text.as_deref()
    }

    /// Whether it can be read only once.
    pub(super) fn is_once(&self) -> bool {
        self.text().is_some_and(|table| table.text.is_once())
    }

    /// Reads columns in order, the first `n_texts` as text, and the others as numbers where the table has types: from row `first` on, or from
    /// an earlier one. `with_lines` says whether the lines of rows are wanted, which take time to count.
    pub(super) fn rows(&self, columns: &[usize], n_texts: usize, first: usize, with_lines: bool) -> Result<ListRows> {
        let is_number = |at: usize| self.text.is_none() && self.table.kinds()[at] == ColumnKind::Number;
        let number = CellType::Number(NumberStyle::Written(self.table.decimal()));
        let ask = |(place, &at): (usize, &usize)| {
            Ask::new(at, if place >= n_texts && is_number(at) { number } else { CellType::Label })
        };
        let asks: Vec<Ask> = columns.iter().enumerate().map(ask).collect();
        let rows = self.table.scan_from(first, &[], &asks, with_lines)?;
        let n_bytes = self.text().and_then(|text| text_bytes(text.text.path()));
        Ok(ListRows { n_bytes, rows, arrays: Vec::new(), left: 0..0 })
    }
}

/// The rows of a list in order.
pub(super) struct ListRows {
    /// Bytes of a text, if they are known.
    n_bytes: Option<u64>,
    rows: TableRows,
    arrays: Vec<ArrayRef>,
    /// The rows of the arrays that have not been taken.
    left: Range<usize>,
}

impl ListRows {
    /// At most `most` of the next rows, as places in the arrays; `None` at the end.
    pub(super) fn next(&mut self, most: usize, run: &Run) -> Result<Option<Range<usize>>> {
        while self.left.is_empty() {
            self.left = 0..0;
            let Some(arrays) = self.rows.next(run)? else { return Ok(None) };
            self.left = 0..arrays.first().map_or(0, |array| array.len());
            let double = |array: ArrayRef| match array.data_type() {
                DataType::Float32 => cast(&array, &DataType::Float64).unwrap_or(array),
                _ => array,
            };
            self.arrays = arrays.into_iter().map(double).collect();
        }
        let end = self.left.start.saturating_add(most).min(self.left.end);
        let taken = self.left.start..end;
        self.left.start = end;
        Ok(Some(taken))
    }

    /// The cells of a column of the current arrays.
    pub(super) fn cells(&self, column: usize) -> ListCells<'_> {
        let array = self.arrays.get(column);
        ListCells {
            texts: array.and_then(|array| array.as_string_opt()),
            numbers: array.and_then(|array| array.as_primitive_opt::<Float64Type>()),
        }
    }

    /// The row of the list that is the next.
    pub(super) fn next_row(&self) -> usize {
        self.rows.n_rows() - self.left.len()
    }

    /// Where a row stands.
    pub(super) fn place(&self, at: usize) -> Place {
        match self.rows.lines().get(at) {
            Some(&line) => Place::Line(line),
            None => Place::Row((self.rows.n_rows() - self.left.end + at) as u64),
        }
    }

    /// Share of the list that has been read, if it is known.
    pub(super) fn share(&self) -> Option<f64> {
        self.n_bytes.map(|n_bytes| self.rows.n_bytes() as f64 / n_bytes.max(1) as f64)
    }
}

/// The cells of a column.
#[derive(Clone, Copy)]
pub(super) struct ListCells<'a> {
    texts: Option<&'a StringArray>,
    numbers: Option<&'a Float64Array>,
}

impl<'a> ListCells<'a> {
    /// A cell of text as written; empty if it is missing.
    #[inline]
    pub(super) fn text(self, at: usize) -> &'a str {
        self.texts.filter(|cells| cells.is_valid(at)).map_or("", |cells| cells.value(at))
    }

    /// A cell of a column of numbers, NaN if it is missing; `None` for other columns.
    #[inline]
    pub(super) fn number(self, at: usize) -> Option<f64> {
        self.numbers.map(|numbers| numbers.value(at))
    }
}
