//! A table whose columns have names and kinds, and its rows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_schema::DataType;

use super::canonical::{canonical, data_type, kind_of, with_nulls};
use super::kind::ColumnKind;
use super::source::{Stored, StoredRows};
use crate::cell::{CellType, Reading, Tally, reconciled};
use crate::read::columns::find_name;
use crate::scan::{Ask, NextRows, RowMark, Rows, TableRows};
use crate::text::{Dialect, Doubt, TextTable};
use lapwing_core::{Error, Result, Run};

/// A file, or several, as a table whose columns have names and kinds.
#[derive(Debug)]
pub struct TableFile {
    pub(super) path: PathBuf,
    pub(super) names: Vec<String>,
    /// Names that several columns have in the file.
    pub(super) repeated: Vec<String>,
    /// Stored types of the columns; texts for those of a text.
    pub(super) types: Vec<DataType>,
    pub(super) kinds: Vec<ColumnKind>,
    /// How the cells of columns of text seem to be written, one for each column.
    pub(super) written: Vec<Option<CellType>>,
    pub(super) doubts: Vec<Doubt>,
    /// The number of rows, if the file states it.
    pub(super) n_rows: Option<usize>,
    /// What was passed over before the rows of a text.
    pub(super) passed: Vec<String>,
    /// Columns that the file declares to be texts, whatever these look like.
    pub(super) categories: Vec<usize>,
    pub(super) source: Source,
}

/// What the rows of a table are read from.
#[derive(Debug)]
pub(super) enum Source {
    /// Cells of text, which have no types of their own.
    Text(Arc<TextTable>),
    /// Columns of stored types.
    Stored(Stored),
    /// Tables with the same columns, one below the other.
    Parts(Arc<Vec<Part>>),
}

/// A table with the place of every column; the last columns of the table are the keys in the names of its folders.
#[derive(Debug)]
pub(super) struct Part {
    pub table: TableFile,
    pub places: Vec<usize>,
    /// The values of the keys.
    pub values: Vec<String>,
}

impl TableFile {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Names of the columns; a name that repeats an earlier one has a number behind it.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The place of the column of labels.
    ///
    /// # Errors
    /// [`Error::Format`] if no column or several have that name.
    pub(crate) fn label_place(&self, name: &str) -> Result<usize> {
        if self.repeated.iter().any(|repeated| repeated == name) {
            let reason = format!("two columns are named '{name}', and either may hold the labels; rename one");
            return Err(Error::format(&self.path, None, reason));
        }
        find_name(&self.path, &self.names, name)
    }

    /// Kinds of the columns, as far as the first rows show them.
    pub fn kinds(&self) -> &[ColumnKind] {
        &self.kinds
    }

    /// How the cells of a text are written; `None` for other formats.
    pub fn dialect(&self) -> Option<Dialect> {
        match &self.source {
            Source::Text(table) => table.dialect,
            Source::Stored(_) => None,
            Source::Parts(parts) => parts.first().and_then(|part| part.table.dialect()),
        }
    }

    /// What the text does not tell about its dialect.
    pub fn doubts(&self) -> &[Doubt] {
        &self.doubts
    }

    /// The number of rows, if the file states it.
    pub fn n_rows(&self) -> Option<usize> {
        self.n_rows
    }

    /// Whether the table is a text, whose cells have no types of their own.
    pub(crate) fn is_text(&self) -> bool {
        match &self.source {
            Source::Text(_) => true,
            Source::Stored(_) => false,
            Source::Parts(parts) => parts.iter().all(|part| part.table.is_text()),
        }
    }

    /// What was passed over before the rows of a text.
    pub(crate) fn passed(&self) -> &[String] {
        &self.passed
    }

    /// Whether the cells of column `at` are stored as text.
    pub(crate) fn is_stored_text(&self, at: usize) -> bool {
        kind_of(&self.types[at]) == ColumnKind::Text
    }

    /// Whether the file declares the cells of column `at` to be texts, whatever these look like.
    pub(crate) fn is_category(&self, at: usize) -> bool {
        self.categories.contains(&at)
    }

    /// Whether the cells of column `at` can name rows: texts or integers.
    pub(crate) fn has_names(&self, at: usize) -> bool {
        self.is_stored_text(at) || self.is_stored_integer(at)
    }

    /// Whether a column is stored as whole numbers.
    pub(in crate::read) fn is_stored_integer(&self, at: usize) -> bool {
        self.types[at].is_integer()
    }

    /// The stored type of column `at`, in words.
    pub(crate) fn stored_type(&self, at: usize) -> String {
        if self.is_text() { self.kinds[at].word().to_owned() } else { self.types[at].to_string() }
    }

    /// Whether single precision keeps the numbers of column `at`.
    pub(crate) fn is_single(&self, at: usize) -> bool {
        use DataType::{Boolean, Float16, Float32, Int8, Int16, Null, UInt8, UInt16};
        matches!(self.types[at], Boolean | Float16 | Float32 | Int8 | Int16 | Null | UInt8 | UInt16)
    }

    /// Bytes of the file, or those of some columns if they can be read alone.
    pub(crate) fn bytes_of(&self, asks: &[Ask]) -> u64 {
        match &self.source {
            Source::Text(table) => table.text.stored_bytes(),
            Source::Stored(stored) => stored.bytes_of(&asks.iter().map(|ask| ask.column).collect::<Vec<usize>>()),
            Source::Parts(parts) => parts.iter().map(|part| part.bytes_of(asks)).sum(),
        }
    }

    /// Whether reading can start at any row at little cost: at the marks of an earlier reading, if it is a text.
    pub(crate) fn is_seekable(&self) -> bool {
        match &self.source {
            Source::Text(table) => table.is_seekable(),
            Source::Stored(stored) => !matches!(stored, Stored::Ipc(_)),
            Source::Parts(parts) => parts.iter().all(|part| part.table.n_rows.is_some() && part.table.is_seekable()),
        }
    }

    /// The files.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        match &self.source {
            Source::Parts(parts) => parts.iter().flat_map(|part| part.table.files()).collect(),
            _ => vec![self.path.clone()],
        }
    }

    /// The files of a folder or a pattern, each with its number of rows if it states that; `None` for a file.
    pub fn parts(&self) -> Option<Vec<(&Path, Option<usize>)>> {
        let Source::Parts(parts) = &self.source else { return None };
        Some(parts.iter().map(|part| (part.table.path.as_path(), part.table.n_rows)).collect())
    }

    /// How the cells of column `at` seem to be written, where they are texts; `None` if the first are all missing.
    pub(crate) fn written(&self, at: usize) -> Option<CellType> {
        self.written[at]
    }

    /// Cells of a column of texts in some of the first rows.
    pub(crate) fn sample(&self, at: usize) -> Result<Vec<Vec<u8>>> {
        match &self.source {
            Source::Text(table) => {
                Ok(table.sniffed.records.iter().filter_map(|record| record.get(at).cloned()).collect())
            }
            Source::Stored(stored) => Ok(stored.first_texts(&[at])?.pop().unwrap_or_default()),
            Source::Parts(parts) => Ok(parts.iter().map(|part| part.sample(at)).collect::<Result<Vec<_>>>()?.concat()),
        }
    }

    /// The decimal mark of numbers that do not show it.
    pub(crate) fn decimal(&self) -> u8 {
        self.dialect().map_or(b'.', |dialect| dialect.decimal)
    }

    /// How column `at` is read as what it seems to hold; `None` if it cannot be read.
    pub(crate) fn ask(&self, at: usize) -> Option<Ask> {
        self.ask_as(at, &self.kinds[at], self.written[at].into())
    }

    /// How column `at` is read as values of a kind, with cells that are read as `reading` says; `None` if it cannot be read.
    pub(crate) fn ask_as(&self, at: usize, kind: &ColumnKind, reading: Reading) -> Option<Ask> {
        let cells = kind.cells(reading.cells, self.decimal())?;
        Some(Ask { column: at, cells, sentinel: reading.sentinel })
    }

    /// How the cells of column `at` are read, if those of a fit, in another table, were read as `fit` says.
    pub(crate) fn reconciled(&self, at: usize, fit: Option<CellType>) -> Result<Option<CellType>> {
        Ok(match (self.written[at], fit) {
            (own, fit) if own == fit || fit.is_none() || own.is_none() => fit.or(own),
            (own, fit) => reconciled(own, fit, self.sample(at)?.iter().map(Vec::as_slice)),
        })
    }

    /// Starts to read columns.
    pub(crate) fn scan(&self, asks: &[Ask]) -> Result<TableRows> {
        self.scan_from(0, &[], asks, false)
    }

    /// As [`scan`](Self::scan), from row `row` on if any row can be the first, in a text from the last of `marks` at or before it, else from
    /// the start. `with_lines` says whether the lines of the rows of a text are wanted, which take time to count.
    pub(crate) fn scan_from(&self, row: usize, marks: &[RowMark], asks: &[Ask], with_lines: bool) -> Result<TableRows> {
        Ok(match &self.source {
            Source::Text(table) => {
                let before =
                    marks.partition_point(|mark| mark.row <= row).checked_sub(1).filter(|_| table.is_seekable());
                let mark = before.map(|at| marks[at]).unwrap_or_default();
                TableRows::new(table.scan_from(mark, asks, with_lines)?, asks)
            }
            Source::Stored(stored) => TableRows::new(StoredRows::new(&self.path, stored, asks, row)?, asks),
            Source::Parts(parts) => {
                TableRows::new(PartRows::new(parts, asks, if self.is_seekable() { row } else { 0 })?, asks)
            }
        })
    }

    /// Starts to read columns as they are, and their types: those that are stored, or those of a text as texts if `as_text`, else as the
    /// kinds that were told.
    pub(crate) fn kept(&self, columns: &[usize], as_text: bool) -> Result<(Vec<DataType>, NextRows)> {
        if let Source::Stored(stored) = &self.source {
            let types = columns.iter().map(|&at| self.types[at].clone()).collect();
            return Ok((types, stored.rows(columns, 0)?.1));
        }
        let ask = |&at: &usize| match self.ask(at) {
            _ if as_text && self.is_text() => Ask::new(at, CellType::Label),
            // The value would not say what the cell says.
            Some(_) if self.written[at].is_some_and(CellType::is_rounded) => Ask::new(at, CellType::Text),
            ask => ask.unwrap_or(Ask::new(at, CellType::Label)),
        };
        let asks: Vec<Ask> = columns.iter().map(ask).collect();
        let (mut rows, types) = (self.scan(&asks)?, asks.iter().map(|ask| data_type(ask.cells)).collect());
        let with_nulls = move |arrays: Vec<ArrayRef>| {
            arrays.iter().zip(&asks).map(|(array, ask)| with_nulls(array, ask.cells)).collect()
        };
        Ok((types, Box::new(move |run| Ok(rows.next(run)?.map(&with_nulls)))))
    }
}

impl Part {
    /// Number of columns of the file.
    fn n_own(&self) -> usize {
        self.table.names.len() - self.values.len()
    }

    /// The value that all cells of a column have; the place of other columns.
    fn column(&self, at: usize) -> std::result::Result<&str, usize> {
        let place = self.places[at];
        place.checked_sub(self.n_own()).map_or(Err(place), |key| Ok(&self.values[key]))
    }

    /// Bytes of the file, or those of some columns if they can be read alone.
    fn bytes_of(&self, asks: &[Ask]) -> u64 {
        let own = asks.iter().filter_map(|ask| Some(Ask { column: self.column(ask.column).err()?, ..*ask }));
        self.table.bytes_of(&own.collect::<Vec<Ask>>())
    }

    /// Cells of a column in some of the first rows.
    fn sample(&self, at: usize) -> Result<Vec<Vec<u8>>> {
        self.column(at).map_or_else(|at| self.table.sample(at), |value| Ok(vec![value.into()]))
    }

    /// Starts to read the columns that are its own, from row `row` on if any row can be the first.
    fn scan_from(&self, row: usize, asks: &[Ask]) -> Result<TableRows> {
        let own = asks.iter().filter_map(|ask| Some((self.column(ask.column).err()?, ask.cells)));
        let ask = |(at, cells)| Ok(Ask::new(at, self.table.reconciled(at, Some(cells))?.unwrap_or(cells)));
        let mut own = own.map(ask).collect::<Result<Vec<Ask>>>()?;
        // Only texts have rows without cells.
        if own.is_empty() && !self.table.is_text() {
            own.extend((0..self.n_own()).find_map(|at| self.table.ask(at)));
        }
        self.table.scan_from(row, &[], &own, false)
    }

    /// The arrays of all columns from those of its own.
    fn with_values(&self, own: Vec<ArrayRef>, n_rows: usize, asks: &[Ask]) -> Result<Vec<ArrayRef>> {
        let mut own = own.into_iter();
        let mut arrays = Vec::with_capacity(asks.len());
        for ask in asks {
            arrays.extend(match self.column(ask.column) {
                Err(_) => own.next(),
                Ok(value) => {
                    let texts: ArrayRef = Arc::new(StringArray::from(vec![value; n_rows]));
                    Some(canonical(self.table.path(), &texts, ask.cells, 0, &mut Tally::default())?)
                }
            });
        }
        Ok(arrays)
    }
}

/// Rows of parts, one after the other.
struct PartRows {
    parts: Arc<Vec<Part>>,
    asks: Vec<Ask>,
    next: usize,
    current: Option<TableRows>,
    tallies: Vec<Tally>,
    n_rows: usize,
}

impl PartRows {
    /// Starts at row `row`, which is 0 unless all parts state their number of rows.
    fn new(parts: &Arc<Vec<Part>>, asks: &[Ask], row: usize) -> Result<Self> {
        let (mut next, mut left) = (0, row);
        while let Some(n) = parts.get(next).and_then(|part| part.table.n_rows).filter(|n| *n <= left && left > 0) {
            (next, left) = (next + 1, left - n);
        }
        let current = if left > 0 { parts.get(next).map(|part| part.scan_from(left, asks)).transpose()? } else { None };
        let tallies = vec![Tally::default(); asks.len()];
        let (parts, next) = (Arc::clone(parts), next + usize::from(current.is_some()));
        Ok(Self { parts, asks: asks.to_vec(), next, current, tallies, n_rows: row })
    }
}

impl Rows for PartRows {
    fn next(&mut self, run: &Run) -> Result<Option<Vec<ArrayRef>>> {
        loop {
            let Some(rows) = &mut self.current else {
                let Some(part) = self.parts.get(self.next) else { return Ok(None) };
                self.current = Some(part.scan_from(0, &self.asks)?);
                self.next += 1;
                continue;
            };
            let (part, n_before) = (&self.parts[self.next - 1], rows.n_rows());
            if let Some(arrays) = rows.next(run)? {
                let n_rows = rows.n_rows() - n_before;
                self.n_rows += n_rows;
                return part.with_values(arrays, n_rows, &self.asks).map(Some);
            }
            // The rows of a part start where those before it end.
            let before = self.n_rows - rows.n_rows();
            let own = self.asks.iter().zip(&mut self.tallies).filter(|(ask, _)| part.column(ask.column).is_err());
            own.zip(rows.tallies()).for_each(|((_, all), of_part)| all.add(of_part.clone(), before, 0));
            self.current = None;
        }
    }

    fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    fn n_rows(&self) -> usize {
        self.n_rows
    }
}
