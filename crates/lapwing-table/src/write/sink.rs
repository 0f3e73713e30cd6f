//! A table written batch by batch, as CSV or Parquet. Cost: memory for 65,536 rows of Parquet, or for some thousand lines of CSV for each
//! thread.

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
use rayon::prelude::*;

use super::csv::{push_float, push_text};
use super::table::ending;
use lapwing_core::publish::AtomicFile;
use lapwing_core::scan::pieces;
use lapwing_core::{Error, Result};

/// Rows of a batch of Parquet. The bytes of a file do not depend on the blocks in which rows come.
const BATCH_ROWS: usize = 1 << 16;

/// Cells that a thread turns to text at a time.
const CHUNK_CELLS: usize = 1 << 15;

/// How dates and the like are written.
const OPTIONS: FormatOptions<'static> = FormatOptions::new();

/// A table that is being written.
pub(super) struct Sink {
    path: PathBuf,
    schema: Arc<Schema>,
    output: Output,
}

enum Output {
    Csv(Box<AtomicFile>),
    /// With the rows that make no whole batch yet, and their number.
    Parquet(Box<ArrowWriter<AtomicFile>>, Vec<RecordBatch>, usize),
}

impl Sink {
    /// Begins a table, in Parquet if the name of the file says so, else in CSV.
    pub(super) fn create(path: &Path, schema: Schema) -> Result<Self> {
        let (mut file, schema) = (AtomicFile::create(path)?, Arc::new(schema));
        let output = if ending(path).as_deref() == Some("parquet") {
            let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties));
            Output::Parquet(Box::new(writer.map_err(|e| Error::io(path, io_error(e)))?), Vec::new(), 0)
        } else {
            file.write_all(&header(&schema)).map_err(|e| Error::io(path, e))?;
            Output::Csv(Box::new(file))
        };
        Ok(Self { path: path.to_owned(), schema, output })
    }

    /// Appends rows, one array for each column.
    pub(super) fn write(&mut self, arrays: Vec<ArrayRef>) -> Result<()> {
        let batch = RecordBatch::try_new(self.schema.clone(), arrays).map_err(broken)?;
        match &mut self.output {
            Output::Csv(file) => write_lines(file, &batch, &self.path),
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
            Output::Csv(file) => Ok(*file),
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

/// Writes the rows of a batch as lines of CSV, made by all threads of the pool.
fn write_lines(file: &mut AtomicFile, batch: &RecordBatch, path: &Path) -> Result<()> {
    // Outside a pool, rayon would start its global pool.
    let threads = rayon::current_thread_index().map_or(1, |_| rayon::current_num_threads());
    let chunk_rows = (CHUNK_CELLS / batch.num_columns().max(1)).max(1);
    let chunks: Vec<RecordBatch> =
        pieces(0..batch.num_rows(), chunk_rows).map(|rows| batch.slice(rows.start, rows.len())).collect();
    for chunks in chunks.chunks(threads) {
        let texts: std::result::Result<Vec<Vec<u8>>, ArrowError> = match threads {
            1 => chunks.iter().map(lines).collect(),
            _ => chunks.par_iter().map(lines).collect(),
        };
        texts.map_err(broken)?.iter().try_for_each(|text| file.write_all(text)).map_err(|e| Error::io(path, e))?;
    }
    Ok(())
}

fn lines(batch: &RecordBatch) -> std::result::Result<Vec<u8>, ArrowError> {
    let columns: Vec<Cells<'_>> = batch.columns().iter().map(Cells::of).collect::<std::result::Result<_, _>>()?;
    let mut out = Vec::new();
    for row in 0..batch.num_rows() {
        for (at, column) in columns.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            column.push(row, &mut out);
        }
        out.push(b'\n');
    }
    Ok(out)
}

/// A column whose cells are turned to text.
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

    fn push(&self, row: usize, out: &mut Vec<u8>) {
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
