//! A table written batch by batch, as CSV, Parquet or a structured array. Cost: memory for 65,536 rows of Parquet, or for some
//! thousand lines or records for each thread.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, Schema};
use arrow_select::concat::concat_batches;
use lapwing_core::parallel::*;

use super::csv::{push_float, push_text};
use super::npy::{npy_header, record_type};
use super::table::ending;
use lapwing_core::publish::AtomicFile;
use lapwing_core::scan::pieces;
use lapwing_core::{Error, Result};

/// Rows of a batch of Parquet. The bytes of a file do not depend on the blocks in which rows come.
const BATCH_ROWS: usize = 1 << 16;

/// Cells that a thread turns to text at a time.
const CHUNK_CELLS: usize = 1 << 15;

/// How a row becomes bytes.
#[derive(Clone, Copy)]
enum Encoding {
    /// A line of CSV.
    Line,
    /// A record of a structured array, whose texts have that many characters.
    Record(usize),
}

/// How dates and the like are written.
const OPTIONS: FormatOptions<'static> = FormatOptions::new();

/// A table that is being written.
pub(super) struct Sink {
    path: PathBuf,
    schema: Arc<Schema>,
    output: Output,
}

enum Output {
    /// Rows that follow each other as bytes.
    Rows(Box<AtomicFile>, Encoding),
    /// With the rows that make no whole batch yet, and their number.
    Parquet(Box<ArrowWriter<AtomicFile>>, Vec<RecordBatch>, usize),
}

impl Sink {
    /// Begins a table, in Parquet if the name of the file says so, else in CSV.
    pub(super) fn create(path: &Path, schema: Schema) -> Result<Self> {
        if ending(path).as_deref() != Some("parquet") {
            let header = header(&schema);
            return Self::of_rows(path, schema, Encoding::Line, &header);
        }
        let (file, schema) = (AtomicFile::create(path)?, Arc::new(schema));
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties));
        let writer = Box::new(writer.map_err(|e| Error::io(path, io_error(e)))?);
        Ok(Self { path: path.to_owned(), schema, output: Output::Parquet(writer, Vec::new(), 0) })
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The columns.
    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Begins a structured array of `n_rows` records, whose texts have at most `width` characters.
    pub(super) fn create_records(path: &Path, schema: Schema, n_rows: usize, width: usize) -> Result<Self> {
        let header = npy_header(&record_type(&schema, width), &[n_rows]);
        Self::of_rows(path, schema, Encoding::Record(width), &header)
    }

    fn of_rows(path: &Path, schema: Schema, encoding: Encoding, header: &[u8]) -> Result<Self> {
        let mut file = Box::new(AtomicFile::create(path)?);
        file.write_all(header).map_err(|e| Error::io(path, e))?;
        Ok(Self { path: path.to_owned(), schema: Arc::new(schema), output: Output::Rows(file, encoding) })
    }

    /// Appends rows, one array for each column.
    pub(super) fn write(&mut self, arrays: Vec<ArrayRef>) -> Result<()> {
        let batch = RecordBatch::try_new(self.schema.clone(), arrays).map_err(broken)?;
        match &mut self.output {
            Output::Rows(file, encoding) => write_rows(file, &batch, *encoding, &self.path),
            Output::Parquet(_, pending, n_pending) => {
                *n_pending += batch.num_rows();
                pending.push(batch);
                if *n_pending >= BATCH_ROWS { self.write_pending(BATCH_ROWS) } else { Ok(()) }
            }
        }
    }

    /// Writes whole batches of the rows that came so far, of `batch_rows` rows each.
    fn write_pending(&mut self, batch_rows: usize) -> Result<()> {
        let Output::Parquet(writer, pending, n_pending) = &mut self.output else { return Ok(()) };
        let all = concat_batches(&self.schema, pending.iter()).map_err(broken)?;
        let n_written = *n_pending / batch_rows * batch_rows;
        for start in (0..n_written).step_by(batch_rows) {
            let written = writer.write(&all.slice(start, batch_rows));
            written.map_err(|e| Error::io(&self.path, io_error(e)))?;
        }
        *n_pending -= n_written;
        *pending = vec![all.slice(n_written, *n_pending)];
        Ok(())
    }

    /// Writes what is left, and returns the file.
    pub(super) fn finish(mut self) -> Result<AtomicFile> {
        if let Output::Parquet(_, _, n_pending @ 1..) = self.output {
            self.write_pending(n_pending)?;
        }
        match self.output {
            Output::Rows(file, _) => Ok(*file),
            Output::Parquet(writer, ..) => writer.into_inner().map_err(|e| Error::io(&self.path, io_error(e))),
        }
    }
}

/// The names of the columns as a line of CSV.
fn header(schema: &Schema) -> Vec<u8> {
    let mut line = Vec::new();
    for (at, field) in schema.fields().iter().enumerate() {
        if at > 0 {
            line.push(b',');
        }
        push_text(&mut line, field.name());
    }
    line.push(b'\n');
    line
}

/// Writes the rows of a batch, which all threads of the pool turn to bytes.
fn write_rows(file: &mut AtomicFile, batch: &RecordBatch, encoding: Encoding, path: &Path) -> Result<()> {
    // Outside a pool, rayon would start its global pool.
    let threads = rayon::current_thread_index().map_or(1, |_| rayon::current_num_threads());
    let chunk_rows = (CHUNK_CELLS / batch.num_columns().max(1)).max(1);
    let chunks: Vec<RecordBatch> =
        pieces(0..batch.num_rows(), chunk_rows).map(|rows| batch.slice(rows.start, rows.len())).collect();
    let encode = |batch: &RecordBatch| encoded(batch, encoding);
    for chunks in chunks.chunks(threads) {
        let parts: std::result::Result<Vec<Vec<u8>>, ArrowError> = match threads {
            1 => chunks.iter().map(encode).collect(),
            _ => chunks.par_iter().map(encode).collect(),
        };
        parts.map_err(broken)?.iter().try_for_each(|part| file.write_all(part)).map_err(|e| Error::io(path, e))?;
    }
    Ok(())
}

fn encoded(batch: &RecordBatch, encoding: Encoding) -> std::result::Result<Vec<u8>, ArrowError> {
    let columns: Vec<Cells<'_>> = batch.columns().iter().map(Cells::of).collect::<std::result::Result<_, _>>()?;
    let mut out = Vec::new();
    for row in 0..batch.num_rows() {
        match encoding {
            Encoding::Record(width) => columns.iter().for_each(|column| column.push_bytes(row, width, &mut out)),
            Encoding::Line => {
                for (at, column) in columns.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    column.push_text(row, &mut out);
                }
                out.push(b'\n');
            }
        }
    }
    Ok(out)
}

/// A column whose cells are turned to bytes.
enum Cells<'a> {
    Texts(&'a StringArray),
    Floats(&'a Float64Array),
    Integers(&'a Int64Array),
    Truths(&'a BooleanArray),
    Others(ArrayFormatter<'a>),
}

impl<'a> Cells<'a> {
    fn of(array: &'a ArrayRef) -> std::result::Result<Self, ArrowError> {
        let texts = array.as_string_opt::<i32>().map(Self::Texts);
        let floats = || array.as_primitive_opt::<Float64Type>().map(Self::Floats);
        let integers = || array.as_primitive_opt::<Int64Type>().map(Self::Integers);
        let truths = || array.as_boolean_opt().map(Self::Truths);
        match texts.or_else(floats).or_else(integers).or_else(truths) {
            Some(cells) => Ok(cells),
            None => ArrayFormatter::try_new(array.as_ref(), &OPTIONS).map(Self::Others),
        }
    }

    fn push_text(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Texts(texts) if texts.is_valid(row) => push_text(out, texts.value(row)),
            Self::Floats(floats) if floats.is_valid(row) => push_float(out, floats.value(row)),
            Self::Integers(numbers) if numbers.is_valid(row) => {
                out.extend_from_slice(itoa::Buffer::new().format(numbers.value(row)).as_bytes());
            }
            Self::Truths(truths) if truths.is_valid(row) => {
                out.extend_from_slice(if truths.value(row) { b"true" } else { b"false" });
            }
            Self::Others(cells) => push_text(out, &cells.value(row).to_string()),
            _ => {}
        }
    }

    /// Appends a cell of a record, in the type that [`record_type`] names: "", NaN or −1 if there is none.
    fn push_bytes(&self, row: usize, width: usize, out: &mut Vec<u8>) {
        match self {
            Self::Texts(texts) => {
                let end = out.len() + 4 * width;
                let text = if texts.is_valid(row) { texts.value(row) } else { "" };
                text.chars().for_each(|c| out.extend(u32::from(c).to_le_bytes()));
                out.resize(end, 0);
            }
            Self::Floats(floats) => {
                out.extend(if floats.is_valid(row) { floats.value(row) } else { f64::NAN }.to_le_bytes());
            }
            Self::Integers(numbers) => {
                out.extend(if numbers.is_valid(row) { numbers.value(row) } else { -1 }.to_le_bytes());
            }
            Self::Truths(truths) => out.push(u8::from(truths.is_valid(row) && truths.value(row))),
            Self::Others(_) => {}
        }
    }
}

/// The error of a table that cannot be made.
pub(super) fn broken(error: ArrowError) -> Error {
    Error::Internal { reason: format!("a table cannot be written: {error}") }
}

/// The error of the file behind an error of Parquet.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
