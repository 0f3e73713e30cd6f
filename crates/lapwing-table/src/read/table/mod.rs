//! Tables of typed columns, from any file that holds one.
//!
//! A [`TableFile`] knows the names and kinds of its columns. Its scans yield the rows in order, some thousand at a time, as arrays of
//! five types: numbers, truth values, dates, texts, and vectors. What a file stores otherwise (decimals, dictionaries, times) is
//! converted; cells that do not fit the type asked for are missing, and counted.

mod canonical;
mod kind;
mod parts;
mod rows;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};

pub(crate) use self::canonical::kind_of;
use self::canonical::usual_length;
pub use self::kind::ColumnKind;
pub(crate) use self::parts::parts_of;
use self::rows::{Kept, Scan, Stored};
pub(crate) use self::rows::{KeptRows, TableRows};
use super::ReadOptions;
use super::format::{Format, unknown_ending};
use super::parquet;
pub(crate) use super::text::{CellType, ColumnType, RowMark, Tally};
use super::text::{Dialect, Doubt, Known, TextTable, reconciled};
use lapwing_core::{Error, Result, Run};

/// Parts of the columns of a Parquet file that are decoded at the same time.
const MAX_PARTS: usize = 16;

/// A file, or several, as a table whose columns have names and kinds.
#[derive(Debug)]
pub struct TableFile {
    path: PathBuf,
    names: Vec<String>,
    kinds: Vec<ColumnKind>,
    /// How stored texts are read as numbers, truth values or dates; empty, or one for each column.
    parsed: Vec<Option<CellType>>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Text(Arc<TextTable>),
    Parquet(Arc<parquet::Table>),
    Ipc(Box<super::ipc::IpcTable>),
    /// Arrays in memory, batch by batch.
    Held(Vec<RecordBatch>),
    /// Tables with the same columns, one below the other; for each, the place of every column.
    Parts(Arc<Vec<(TableFile, Vec<usize>)>>),
}

impl TableFile {
    /// Opens a table and tells the kinds of its columns. Reads the first block of a text, the footer of a Parquet file.
    ///
    /// # Errors
    /// [`Error::Format`] for files that hold no table, or are damaged; [`Error::Io`].
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self> {
        if let Some(paths) = parts_of(path)? {
            return parts::open(path, &paths, options);
        }
        let mut table = Self::open_one(path, options)?;
        table.look_inside()?;
        Ok(table)
    }

    fn open_one(path: &Path, options: &ReadOptions) -> Result<Self> {
        match Format::from_path(path) {
            format @ (Format::Csv | Format::JsonLines) => {
                let known = Known { is_json: format == Format::JsonLines, ..options.known(path) };
                TextTable::open(path, known).map(Self::from_text)
            }
            Format::Parquet => parquet::Table::open(path).map(Self::from_parquet),
            Format::Ipc => super::ipc::IpcTable::open(path).map(|table| Self {
                path: path.to_owned(),
                names: table.names(),
                kinds: table.kinds(),
                parsed: Vec::new(),
                source: Source::Ipc(Box::new(table)),
            }),
            _ => Err(unknown_ending(path, "a table: .csv, .tsv, .txt, .jsonl, .parquet, .arrow or .feather")),
        }
    }

    /// A table in memory, named `name` in messages; all batches have the columns of `schema`.
    ///
    /// # Errors
    /// [`Error::Shape`] for batches with other columns.
    pub fn from_batches(name: impl Into<PathBuf>, schema: &Schema, batches: Vec<RecordBatch>) -> Result<Self> {
        let types = |schema: &Schema| schema.fields().iter().map(|field| field.data_type().clone()).collect::<Vec<_>>();
        let expected = types(schema);
        if let Some(other) = batches.iter().find(|batch| types(&batch.schema()) != expected) {
            let got = format!("other columns ({})", other.num_columns());
            return Err(Error::shape(
                "a batch of the table",
                format!("the {} columns of its schema", expected.len()),
                got,
            ));
        }
        let mut names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        super::columns::make_distinct(&mut names);
        let kinds = expected.iter().map(kind_of).collect();
        let mut table = Self { path: name.into(), names, kinds, parsed: Vec::new(), source: Source::Held(batches) };
        table.look_inside()?;
        Ok(table)
    }

    /// Tells what the types of a file do not state from its first rows: the lengths of lists; numbers, truth values and dates that are
    /// stored as text.
    fn look_inside(&mut self) -> Result<()> {
        let is_open = |kind: &ColumnKind| matches!(kind, ColumnKind::Vector(0) | ColumnKind::Text);
        let open: Vec<usize> = (0..self.kinds.len()).filter(|&at| is_open(&self.kinds[at])).collect();
        if open.is_empty() || matches!(self.source, Source::Text(_) | Source::Parts(_)) {
            return Ok(());
        }
        let run = Run::new(Some(1), 0)?;
        self.parsed = vec![None; self.kinds.len()];
        let first = self.stored(&open)?.next(&run)?.unwrap_or_default();
        for (place, at) in open.into_iter().enumerate() {
            let array = first.get(place);
            if self.kinds[at] == ColumnKind::Text {
                let (parsed, kind) = array.and_then(canonical::parsed_texts).unzip();
                self.parsed[at] = parsed;
                self.kinds[at] = kind.unwrap_or(ColumnKind::Text);
                continue;
            }
            self.kinds[at] = match array.map_or(0, usual_length) {
                0 => ColumnKind::Other("empty lists".into()),
                length => ColumnKind::Vector(length),
            };
        }
        Ok(())
    }

    /// Whether the cells of column `at` are stored as text.
    pub(crate) fn is_stored_text(&self, at: usize) -> bool {
        match &self.source {
            Source::Text(_) => true,
            Source::Parts(parts) => parts.iter().any(|(table, places)| table.is_stored_text(places[at])),
            _ => self.kinds[at] == ColumnKind::Text || self.parsed.get(at).is_some_and(Option::is_some),
        }
    }

    fn from_text(table: TextTable) -> Self {
        let kind = |at| match table.column_type(at) {
            None => ColumnKind::Empty,
            Some(ColumnType::Number) => ColumnKind::Number,
            Some(ColumnType::Boolean) => ColumnKind::Boolean,
            Some(ColumnType::Date) => ColumnKind::Date,
            Some(_) => ColumnKind::Text,
        };
        let kinds = (0..table.names.len()).map(kind).collect();
        Self {
            path: table.path().to_owned(),
            names: table.names.to_vec(),
            kinds,
            parsed: Vec::new(),
            source: Source::Text(Arc::new(table)),
        }
    }

    fn from_parquet(table: parquet::Table) -> Self {
        let mut names = table.names.clone();
        super::columns::make_distinct(&mut names);
        let kinds = table.types.iter().map(canonical::kind_of).collect();
        Self { path: table.path.clone(), names, kinds, parsed: Vec::new(), source: Source::Parquet(Arc::new(table)) }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Names of the columns; a name that repeats an earlier one has a number behind it.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether the table is a text, whose cells have no types of their own.
    pub(crate) fn is_text(&self) -> bool {
        match &self.source {
            Source::Text(_) => true,
            Source::Parts(parts) => parts.iter().all(|(table, _)| table.is_text()),
            _ => false,
        }
    }

    /// Whether the cells of column `at` can name rows: texts or integers.
    pub(crate) fn has_names(&self, at: usize) -> bool {
        match &self.source {
            Source::Parquet(table) => table.is_integer(at) || self.is_stored_text(at),
            _ => self.is_stored_text(at) || self.kinds[at] == ColumnKind::Number,
        }
    }

    /// The stored type of column `at`, in words.
    pub(crate) fn stored_type(&self, at: usize) -> String {
        match &self.source {
            Source::Parquet(table) => table.types[at].to_string(),
            Source::Ipc(table) => table.stored_type(at),
            Source::Held(batches) => {
                batches.first().map_or_else(|| "nothing".into(), |batch| batch.column(at).data_type().to_string())
            }
            Source::Text(_) => self.kinds[at].word().to_owned(),
            Source::Parts(parts) => {
                parts.first().map_or_else(|| "nothing".into(), |(table, places)| table.stored_type(places[at]))
            }
        }
    }

    /// Kinds of the columns.
    pub fn kinds(&self) -> &[ColumnKind] {
        &self.kinds
    }

    /// How the cells of a text are written; `None` for other formats.
    pub fn dialect(&self) -> Option<Dialect> {
        match &self.source {
            Source::Text(table) => table.dialect(),
            Source::Parts(parts) => parts.first().and_then(|(table, _)| table.dialect()),
            _ => None,
        }
    }

    /// What the text does not tell about its dialect.
    pub fn doubts(&self) -> &[Doubt] {
        match &self.source {
            Source::Text(table) => &table.doubts,
            Source::Parts(parts) => parts.first().map_or(&[], |(table, _)| table.doubts()),
            _ => &[],
        }
    }

    /// The number of rows, if the file states it.
    pub fn n_rows(&self) -> Option<usize> {
        match &self.source {
            Source::Text(_) => None,
            Source::Parquet(table) => Some(table.n_rows),
            Source::Ipc(_) => None,
            Source::Held(batches) => Some(batches.iter().map(RecordBatch::num_rows).sum()),
            Source::Parts(parts) => parts.iter().map(|(table, _)| table.n_rows()).sum(),
        }
    }

    /// Bytes of the file, or those of the columns `columns` if they can be read alone.
    pub(crate) fn bytes_of(&self, columns: &[usize]) -> u64 {
        match &self.source {
            Source::Text(table) => table.bytes(),
            Source::Parquet(table) => table.bytes_of(columns),
            Source::Ipc(table) => table.bytes(),
            Source::Held(batches) => {
                let column = |batch: &RecordBatch, at: &usize| batch.column(*at).get_array_memory_size() as u64;
                batches.iter().flat_map(|batch| columns.iter().map(move |at| column(batch, at))).sum()
            }
            Source::Parts(parts) => parts.iter().map(|(table, _)| table.bytes_of(columns)).sum(),
        }
    }

    /// Whether single precision keeps the numbers of column `at`.
    pub(crate) fn is_single(&self, at: usize) -> bool {
        match &self.source {
            Source::Text(_) => false,
            Source::Parquet(table) => table.are_single(&[at]),
            Source::Ipc(table) => table.is_single(at),
            Source::Held(batches) => batches.iter().all(|batch| *batch.column(at).data_type() == DataType::Float32),
            Source::Parts(parts) => parts.iter().all(|(table, places)| table.is_single(places[at])),
        }
    }

    /// Starts to read the columns `columns` as values of `types`.
    pub(crate) fn scan(&self, columns: &[usize], types: &[ColumnType]) -> Result<TableRows> {
        self.scan_as(columns, types, &vec![None; columns.len()])
    }

    /// As [`scan`](Self::scan), with cells that were written in another table, the one of a fit, as `fit` says.
    pub(crate) fn scan_as(
        &self,
        columns: &[usize],
        types: &[ColumnType],
        fit: &[Option<CellType>],
    ) -> Result<TableRows> {
        let written = self.reconciled(columns, fit);
        let scan = match &self.source {
            Source::Text(table) => {
                Scan::Text(Box::new(table.scan_from(RowMark::default(), columns, types, &written)?))
            }
            Source::Parts(parts) => {
                let (columns, fit) = (columns.to_vec(), fit.to_vec());
                Scan::Parts { parts: parts.clone(), next: 0, rows: None, columns, fit }
            }
            _ => Scan::Stored(self.stored(columns)?),
        };
        Ok(self.rows(scan, columns, types, written, 0))
    }

    /// How the cells of column `at` are written, where they are texts.
    pub(crate) fn written(&self, at: usize) -> Option<CellType> {
        match &self.source {
            Source::Text(table) => table.written(at),
            Source::Parts(parts) => parts.iter().find_map(|(table, places)| table.written(places[at])),
            _ => self.parsed.get(at).copied().flatten(),
        }
    }

    /// How the cells of columns are read, if those of a fit were written as `fit` says.
    fn reconciled(&self, columns: &[usize], fit: &[Option<CellType>]) -> Vec<Option<CellType>> {
        let is_file_of_text = matches!(self.source, Source::Text(_) | Source::Parts(_));
        columns.iter().zip(fit).map(|(&at, &fit)| reconciled(self.written(at), fit, is_file_of_text)).collect()
    }

    /// Starts to read columns as they are: in their stored types, or those of a text as texts if `as_text`, else as the kinds that were
    /// told.
    pub(crate) fn kept(&self, columns: &[usize], as_text: bool) -> Result<KeptRows> {
        if let Source::Text(_) | Source::Parts(_) = &self.source {
            let kind = |at: &usize| match self.kinds[*at].column_type() {
                Some(kind) if !(as_text && self.is_text()) => kind,
                _ => ColumnType::Label,
            };
            let types: Vec<ColumnType> = columns.iter().map(kind).collect();
            return Ok(KeptRows(Kept::Typed(self.scan(columns, &types)?, types)));
        }
        let stored = columns.iter().map(|&at| self.data_type(at)).collect();
        Ok(KeptRows(Kept::Stored(self.path.clone(), self.stored(columns)?, stored)))
    }

    /// The stored type of column `at`.
    fn data_type(&self, at: usize) -> DataType {
        match &self.source {
            Source::Parquet(table) => table.types[at].clone(),
            Source::Ipc(table) => table.data_type(at),
            Source::Held(batches) => {
                batches.first().map_or(DataType::Null, |batch| batch.column(at).data_type().clone())
            }
            Source::Text(_) | Source::Parts(_) => DataType::Utf8,
        }
    }

    /// Whether reading can start at any row at little cost.
    pub(crate) fn is_seekable(&self) -> bool {
        match &self.source {
            Source::Text(table) => table.is_seekable(),
            Source::Parquet(_) => true,
            Source::Held(_) => true,
            Source::Ipc(_) => false,
            Source::Parts(_) => false,
        }
    }

    /// The files.
    pub(crate) fn files(&self) -> Vec<&Path> {
        match &self.source {
            Source::Parts(parts) => parts.iter().flat_map(|(table, _)| table.files()).collect(),
            _ => vec![&self.path],
        }
    }

    /// As [`scan_as`](Self::scan_as), from the last of `marks` at or before row `row` on, if the format needs such; see
    /// [`TableRows::first_row`].
    pub(crate) fn scan_from(
        &self,
        row: usize,
        marks: &[RowMark],
        columns: &[usize],
        types: &[ColumnType],
        fit: &[Option<CellType>],
    ) -> Result<TableRows> {
        let written = self.reconciled(columns, fit);
        let (scan, first_row) = match &self.source {
            Source::Text(table) if table.is_seekable() => {
                let before = marks.partition_point(|mark| mark.row <= row).checked_sub(1);
                let mark = before.map(|at| marks[at]).unwrap_or_default();
                (Scan::Text(Box::new(table.scan_from(mark, columns, types, &written)?)), mark.row)
            }
            Source::Parquet(table) => {
                let scan = parquet::TableScan::in_parallel(table.clone(), columns.to_vec(), row, MAX_PARTS);
                (Scan::Stored(Stored::Parquet(Box::new(scan))), row)
            }
            _ => return self.scan_as(columns, types, fit),
        };
        Ok(self.rows(scan, columns, types, written, first_row))
    }

    fn rows(
        &self,
        scan: Scan,
        columns: &[usize],
        types: &[ColumnType],
        parsed: Vec<Option<CellType>>,
        first_row: usize,
    ) -> TableRows {
        let (types, tallies) = (types.to_vec(), vec![Tally::default(); columns.len()]);
        TableRows { path: self.path.clone(), scan, types, parsed, tallies, first_row, n_rows: first_row }
    }

    /// Starts to read columns in the types of the file. Texts and parts have no such types, and nothing to read here.
    fn stored(&self, columns: &[usize]) -> Result<Stored> {
        Ok(match &self.source {
            Source::Parquet(table) => Stored::Parquet(Box::new(parquet::TableScan::in_parallel(
                table.clone(),
                columns.to_vec(),
                0,
                MAX_PARTS,
            ))),
            Source::Ipc(table) => Stored::Ipc(Box::new(table.scan(columns)?)),
            Source::Held(batches) => Stored::Held { batches: batches.clone().into(), columns: columns.to_vec() },
            Source::Text(_) | Source::Parts(_) => Stored::Held { batches: VecDeque::new(), columns: Vec::new() },
        })
    }
}

/// The error for a table without rows.
pub(crate) fn no_rows(path: &Path) -> Error {
    Error::format(path, None, "no rows after the header")
}
