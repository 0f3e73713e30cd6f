//! Tables opened: files of any format, several of them, and batches in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};

use super::canonical::{kind_of, usual_length};
use super::file::{Source, TableFile};
use super::kind::ColumnKind;
use super::parts::{joined, parts_of};
use super::source::Stored;
use crate::cell::{CellType, infer};
use crate::format::arff::ArffText;
use crate::format::open::open_decoded;
use crate::format::start::unread;
use crate::format::{Format, is_rereadable, only_once};
use crate::read::columns::make_distinct;
use crate::read::ipc::IpcTable;
use crate::read::options::ReadOptions;
use crate::read::parquet;
use crate::read::sheet::{self, Sheet};
use crate::text::{Doubt, Known, Text, TextTable};
use lapwing_core::{Error, Result};

impl TableFile {
    /// Opens a table and tells what its columns seem to hold. Reads the first block of a text, the footer of a Parquet file.
    ///
    /// # Errors
    /// [`Error::Format`] for files that hold no table, or are damaged; [`Error::Io`].
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self> {
        if !options.more.is_empty() {
            let paths = std::iter::once(path.to_owned()).chain(options.more.iter().cloned()).collect::<Vec<_>>();
            return open_parts(path, Path::new(""), &paths, &ReadOptions { more: Vec::new(), ..options.clone() });
        }
        if let Some((folder, paths)) = parts_of(path)? {
            return open_parts(path, &folder, &paths, options);
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
                let Sheet { text, others } = sheet::read(path, options.sheet.as_deref())?;
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
                let table = IpcTable::open(path)?;
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
        let (repeated, types) = (make_distinct(&mut names), types_of(schema));
        let mut kinds: Vec<ColumnKind> = types.iter().map(kind_of).collect();
        let open =
            |is: fn(&ColumnKind) -> bool| -> Vec<usize> { (0..kinds.len()).filter(|&at| is(&kinds[at])).collect() };
        let (texts, lists) = (open(|kind| *kind == ColumnKind::Text), open(|kind| *kind == ColumnKind::Vector(0)));
        let (mut written, mut doubts) = (vec![None; kinds.len()], Vec::new());
        for (&at, cells) in texts.iter().zip(source.first_texts(&texts)?) {
            let found = infer(cells.iter().map(Vec::as_slice), b'.');
            written[at] = found.kind;
            kinds[at] = ColumnKind::of_cells(found.kind.or(Some(CellType::Text)));
            doubts.extend(Doubt::of_column(found).filter(|doubt| *doubt == Doubt::Dates && !doubts.contains(doubt)));
        }
        let first = source.first(&lists)?;
        for (place, &at) in lists.iter().enumerate() {
            kinds[at] = match first.get(place).map_or(0, usual_length) {
                0 => ColumnKind::Other("empty lists".into()),
                length => ColumnKind::Vector(length),
            };
        }
        let (passed, categories, source) = (Vec::new(), Vec::new(), Source::Stored(source));
        Ok(Self { path, names, repeated, types, kinds, written, doubts, n_rows, passed, categories, source })
    }

    pub(in crate::read) fn from_text(table: Arc<TextTable>) -> Self {
        let written: Vec<Option<CellType>> = table.sniffed.columns.iter().map(|found| found.kind).collect();
        let mut names = table.names.clone();
        let repeated = make_distinct(&mut names);
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
}

/// Opens files as one table; folders of their paths below `folder` may be keys.
fn open_parts(path: &Path, folder: &Path, paths: &[PathBuf], options: &ReadOptions) -> Result<TableFile> {
    let open = |file: &PathBuf| if is_rereadable(file) { TableFile::open(file, options) } else { Err(only_once(file)) };
    joined(path, folder, paths.iter().map(open))
}

/// The types of the columns.
fn types_of(schema: &Schema) -> Vec<DataType> {
    schema.fields().iter().map(|field| field.data_type().clone()).collect()
}
