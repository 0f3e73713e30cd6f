//! Tables of typed columns, from any file that holds one.
//!
//! A [`TableFile`] knows the names and kinds of its columns. Its scans yield the rows in order, some thousand at a time, as arrays of
//! five types: numbers, truth values, dates, texts, and vectors. What a source stores otherwise (decimals, dictionaries, times) is
//! converted; cells that do not fit the type asked for are missing, and counted. Formats differ in [`Source`] alone.

mod canonical;
mod kind;
mod parts;
mod rows;
mod source;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, Schema};

pub(crate) use self::canonical::kind_of;
use self::canonical::usual_length;
pub use self::kind::ColumnKind;
use self::parts::PartRows;
pub(crate) use self::parts::parts_of;
use self::rows::{Ask, Rows};
pub(crate) use self::rows::{KeptRows, TableRows};
use self::source::{Source, Stored};
use super::arff::ArffText;
pub(crate) use super::cell::{CellType, ColumnType, Reading, Tally};
use super::cell::{infer, reconciled};
use super::format::Format;
use super::open::open_decoded;
use super::parquet;
use super::sheet::Sheet;
use super::start::unread;
pub(crate) use super::text::RowMark;
use super::text::{Dialect, Doubt, Known, Text, TextTable};
use crate::read::options::ReadOptions;
use lapwing_core::{Error, Result, Run};

/// Rows of a table of stored types that are looked at for what texts hold.
const SAMPLE_ROWS: usize = 1000;

/// A file, or several, as a table whose columns have names and kinds.
#[derive(Debug)]
pub struct TableFile {
    path: PathBuf,
    names: Vec<String>,
    /// Names that several columns have in the file.
    repeated: Vec<String>,
    /// Stored types of the columns; texts for those of a text.
    types: Vec<DataType>,
    kinds: Vec<ColumnKind>,
    /// How the cells of columns of text seem to be written, one for each column.
    written: Vec<Option<CellType>>,
    doubts: Vec<Doubt>,
    /// The number of rows, if the file states it.
    n_rows: Option<usize>,
    /// What was passed over before the rows of a text.
    passed: Vec<String>,
    /// Columns that the file declares to be texts, whatever these look like.
    categories: Vec<usize>,
    source: Source,
}

impl TableFile {
    /// Opens a table and tells what its columns seem to hold. Reads the first block of a text, the footer of a Parquet file.
    ///
    /// # Errors
    /// [`Error::Format`] for files that hold no table, or are damaged; [`Error::Io`].
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self> {
        if !options.more.is_empty() {
            let paths = std::iter::once(path.to_owned()).chain(options.more.iter().cloned()).collect::<Vec<_>>();
            return parts::open(path, Path::new(""), &paths, &ReadOptions { more: Vec::new(), ..options.clone() });
        }
        if let Some((folder, paths)) = parts_of(path)? {
            return parts::open(path, &folder, &paths, options);
        }
        match Format::from_path(path) {
            format @ (Format::Csv | Format::JsonLines) => {
                let known = Known { is_json: format == Format::JsonLines, ..options.known(path) };
                Ok(Self::from_text(Arc::new(TextTable::new(Text::open(path)?, known)?)))
            }
            Format::Arff => {
                let known =
                    Known { delimiter: Some(b','), has_header: Some(true), decimal: Some(b'.'), ..options.known(path) };
                let mut table = Self::from_text(Arc::new(TextTable::new(Text::open(path)?, known)?));
                for (at, attribute) in
                    ArffText::open(path, open_decoded(path)?)?.attributes.iter().enumerate().take(table.names.len())
                {
                    table.written[at] = attribute.declared.or(table.written[at]);
                    table.kinds[at] = ColumnKind::of_cells(table.written[at]);
                    table.categories.extend((attribute.declared == Some(CellType::Text)).then_some(at));
                }
                Ok(table)
            }
            Format::Sheet => {
                let Sheet { text, others } = super::sheet::read(path, options.sheet.as_deref())?;
                let known = Known { delimiter: Some(b','), decimal: Some(b'.'), ..options.known(path) };
                let mut table =
                    Self::from_text(Arc::new(TextTable::new(Text::Held(path.to_owned(), text.into()), known)?));
                let others = others.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
                table.passed.extend((!others.is_empty()).then(|| format!("other sheets are passed over: {others}")));
                Ok(table)
            }
            Format::Parquet => {
                let table = parquet::Table::open(path)?;
                let (schema, n_rows) = (table.schema().clone(), table.n_rows);
                Self::from_stored(path.to_owned(), &schema, Some(n_rows), Stored::Parquet(Arc::new(table)))
            }
            Format::Ipc => {
                let table = super::ipc::IpcTable::open(path)?;
                Self::from_stored(path.to_owned(), &table.schema.clone(), None, Stored::Ipc(table))
            }
            _ => Err(unread(
                path,
                "a table: .csv, .tsv, .txt, .jsonl, .arff, .parquet, .arrow, .feather, .xlsx, .xls or .ods",
            )),
        }
    }

    /// A table in memory, named `name` in messages; all batches have the columns of `schema`.
    ///
    /// # Errors
    /// [`Error::Shape`] for batches with other columns.
    pub fn from_batches(name: impl Into<PathBuf>, schema: &Schema, batches: Vec<RecordBatch>) -> Result<Self> {
        let expected = types_of(schema);
        if let Some(other) = batches.iter().find(|batch| types_of(&batch.schema()) != expected) {
            let got = format!("other columns ({})", other.num_columns());
            return Err(Error::shape(
                "a batch of the table",
                format!("the {} columns of its schema", expected.len()),
                got,
            ));
        }
        let n_rows = batches.iter().map(RecordBatch::num_rows).sum();
        Self::from_stored(name.into(), schema, Some(n_rows), Stored::Held(batches))
    }

    /// A table of stored types. What these do not state is told by the first rows: the lengths of lists, and what is stored as text.
    fn from_stored(path: PathBuf, schema: &Schema, n_rows: Option<usize>, source: Stored) -> Result<Self> {
        let mut names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let (repeated, types) = (super::columns::make_distinct(&mut names), types_of(schema));
        let mut kinds: Vec<ColumnKind> = types.iter().map(kind_of).collect();
        let open =
            |is: fn(&ColumnKind) -> bool| -> Vec<usize> { (0..kinds.len()).filter(|&at| is(&kinds[at])).collect() };
        let (texts, lists) = (open(|kind| *kind == ColumnKind::Text), open(|kind| *kind == ColumnKind::Vector(0)));
        let (mut written, mut doubts) = (vec![None; kinds.len()], Vec::new());
        for (&at, cells) in texts.iter().zip(first_texts(&source, &texts)?) {
            let found = infer(cells.iter().map(Vec::as_slice), b'.');
            written[at] = found.kind;
            kinds[at] = ColumnKind::of_cells(found.kind.or(Some(CellType::Text)));
            doubts.extend(Doubt::of_column(found).filter(|doubt| *doubt == Doubt::Dates && !doubts.contains(doubt)));
        }
        let first = first_rows(&source, &lists)?;
        for (place, &at) in lists.iter().enumerate() {
            kinds[at] = match first.get(place).map_or(0, usual_length) {
                0 => ColumnKind::Other("empty lists".into()),
                length => ColumnKind::Vector(length),
            };
        }
        let (passed, categories, source) = (Vec::new(), Vec::new(), Source::Stored(source));
        Ok(Self { path, names, repeated, types, kinds, written, doubts, n_rows, passed, categories, source })
    }

    pub(super) fn from_text(table: Arc<TextTable>) -> Self {
        let written: Vec<Option<CellType>> = table.sniffed.columns.iter().map(|found| found.kind).collect();
        let mut names = table.names.clone();
        let repeated = super::columns::make_distinct(&mut names);
        Self {
            path: table.text.path().to_owned(),
            names,
            repeated,
            types: vec![DataType::Utf8; written.len()],
            kinds: written.iter().map(|&written| ColumnKind::of_cells(written)).collect(),
            written,
            doubts: table.sniffed.doubts.clone(),
            n_rows: None,
            passed: table.sniffed.passed.clone(),
            categories: Vec::new(),
            source: Source::Text(table),
        }
    }

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
        super::columns::find_name(&self.path, &self.names, name)
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
    pub(super) fn is_stored_integer(&self, at: usize) -> bool {
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

    /// Bytes of the file, or those of the columns `columns` if they can be read alone.
    pub(crate) fn bytes_of(&self, columns: &[usize]) -> u64 {
        match &self.source {
            Source::Text(table) => table.text.stored_bytes(),
            Source::Stored(stored) => stored.bytes_of(columns),
            Source::Parts(parts) => parts.iter().map(|part| part.bytes_of(columns)).sum(),
        }
    }

    /// Whether reading can start at any row at little cost: at the marks of an earlier reading, if it is a text.
    pub(crate) fn is_seekable(&self) -> bool {
        match &self.source {
            Source::Text(table) => table.is_seekable(),
            Source::Stored(stored) => !matches!(stored, Stored::Ipc(_)),
            Source::Parts(_) => false,
        }
    }

    /// The files.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        match &self.source {
            Source::Parts(parts) => parts.iter().flat_map(|part| part.table.files()).collect(),
            _ => vec![self.path.clone()],
        }
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
            Source::Stored(stored) => Ok(first_texts(stored, &[at])?.pop().unwrap_or_default()),
            Source::Parts(parts) => Ok(parts.iter().map(|part| part.sample(at)).collect::<Result<Vec<_>>>()?.concat()),
        }
    }

    /// The decimal mark of numbers that do not show it.
    pub(crate) fn decimal(&self) -> u8 {
        self.dialect().map_or(b'.', |dialect| dialect.decimal)
    }

    /// Starts to read the columns `columns` as values of `types`.
    pub(crate) fn scan(&self, columns: &[usize], types: &[ColumnType]) -> Result<TableRows> {
        let readings: Vec<Reading> = columns.iter().map(|&at| self.written[at].into()).collect();
        self.scan_read(columns, types, &readings)
    }

    /// As [`scan`](Self::scan), with cells that are read as `readings` say.
    pub(crate) fn scan_read(&self, columns: &[usize], types: &[ColumnType], readings: &[Reading]) -> Result<TableRows> {
        self.scan_from(0, &[], (columns, types, readings), false)
    }

    /// As [`scan`](Self::scan), with cells that were read in another table, the one of a fit, as `fit` says.
    pub(crate) fn scan_as(&self, columns: &[usize], types: &[ColumnType], fit: &[Reading]) -> Result<TableRows> {
        self.scan_read(columns, types, &self.reconciled(columns, fit)?)
    }

    /// As [`scan_read`](Self::scan_read), from the last of `marks` at or before row `row` on, if the format needs such; see
    /// [`TableRows::n_rows`]. `with_lines` says whether the lines of the rows of a text are wanted, which take time to count.
    pub(crate) fn scan_from(
        &self,
        row: usize,
        marks: &[RowMark],
        (columns, types, readings): (&[usize], &[ColumnType], &[Reading]),
        with_lines: bool,
    ) -> Result<TableRows> {
        let cells = |(kind, reading): (&ColumnType, &Reading)| kind.cell_type(reading.cells, self.decimal());
        let cells: Vec<CellType> = types.iter().zip(readings).map(cells).collect();
        let (n_rows, rows) = match &self.source {
            Source::Text(table) => {
                let before =
                    marks.partition_point(|mark| mark.row <= row).checked_sub(1).filter(|_| table.is_seekable());
                let mark = before.map(|at| marks[at]).unwrap_or_default();
                let scan = table.scan_from(mark, columns, cells.clone(), with_lines)?;
                (mark.row, Rows::Text(Box::new(scan)))
            }
            Source::Stored(stored) => stored.rows(columns, row).map(|(first, next)| (first, Rows::Stored(next)))?,
            Source::Parts(parts) => (0, Rows::Parts(Box::new(PartRows::new(parts)))),
        };
        Ok(TableRows {
            path: self.path.clone(),
            rows,
            ask: Ask { columns: columns.to_vec(), types: types.to_vec(), cells },
            sentinels: readings.iter().map(|reading| reading.sentinel).collect(),
            tallies: vec![Tally::default(); columns.len()],
            n_rows,
        })
    }

    /// How the cells of columns are read, if those of a fit were read as `fit` says.
    pub(crate) fn reconciled(&self, columns: &[usize], fit: &[Reading]) -> Result<Vec<Reading>> {
        let of = |(&at, fit): (&usize, &Reading)| {
            let cells = match (self.written[at], fit.cells) {
                (own, fit) if own == fit || fit.is_none() || own.is_none() => fit.or(own),
                (own, fit) => reconciled(own, fit, self.sample(at)?.iter().map(Vec::as_slice)),
            };
            Ok(Reading { cells, ..*fit })
        };
        columns.iter().zip(fit).map(of).collect()
    }

    /// Starts to read columns in the spelling of the file, perhaps with the lines that rows stand in: from row `first` on if any row can be
    /// the first, else from the start.
    pub(super) fn scan_list(
        &self,
        columns: &[usize],
        types: &[ColumnType],
        first: usize,
        with_lines: bool,
    ) -> Result<TableRows> {
        self.scan_from(first, &[], (columns, types, &vec![Reading::default(); columns.len()]), with_lines)
    }

    /// Starts to read columns as they are: in their stored types, or those of a text as texts if `as_text`, else as the kinds that were
    /// told.
    pub(crate) fn kept(&self, columns: &[usize], as_text: bool) -> Result<KeptRows> {
        let path = self.path.clone();
        if let Source::Stored(stored) = &self.source {
            let types = columns.iter().map(|&at| self.types[at].clone()).collect();
            return Ok(KeptRows { path, types, rows: stored.rows(columns, 0)?.1 });
        }
        let kind = |at: &usize| match self.kinds[*at].column_type() {
            _ if as_text && self.is_text() => ColumnType::Label,
            // The value would not say what the cell says.
            Some(_) if self.written[*at].is_some_and(CellType::is_rounded) => ColumnType::Text,
            kind => kind.unwrap_or(ColumnType::Label),
        };
        let kinds: Vec<ColumnType> = columns.iter().map(kind).collect();
        let (mut rows, types) = (self.scan(columns, &kinds)?, kinds.iter().map(canonical::data_type).collect());
        let with_nulls = move |arrays: Vec<ArrayRef>| {
            arrays.iter().zip(&kinds).map(|(array, kind)| canonical::with_nulls(array, kind)).collect()
        };
        Ok(KeptRows { path, types, rows: Box::new(move |run| Ok(rows.next(run)?.map(&with_nulls))) })
    }
}

/// The types of the columns.
fn types_of(schema: &Schema) -> Vec<DataType> {
    schema.fields().iter().map(|field| field.data_type().clone()).collect()
}

/// The first rows of some columns of stored types; none of a table without rows.
fn first_rows(source: &Stored, columns: &[usize]) -> Result<Vec<ArrayRef>> {
    if columns.is_empty() {
        return Ok(Vec::new());
    }
    Ok(source.rows(columns, 0)?.1(&Run::new(Some(1), 0)?)?.unwrap_or_default())
}

/// Cells of some columns of texts, in some of the first rows.
fn first_texts(source: &Stored, columns: &[usize]) -> Result<Vec<Vec<Vec<u8>>>> {
    let first = first_rows(source, columns)?;
    let cells = |array: &ArrayRef| {
        let texts = cast(array, &DataType::Utf8).ok()?;
        let texts = texts.as_string_opt::<i32>()?.iter().take(SAMPLE_ROWS).flatten();
        Some(texts.map(|text| text.trim().as_bytes().to_vec()).collect())
    };
    Ok((0..columns.len()).map(|at| first.get(at).and_then(cells).unwrap_or_default()).collect())
}

/// The error for a table without rows.
pub(crate) fn no_rows(path: &Path) -> Error {
    Error::format(path, None, "no rows after the header")
}
