//! Parquet tables.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};

use super::table::{LabelColumns, LabeledRows};
use lapwing_core::publish::AtomicFile;
use lapwing_core::{ClassNames, RowNames};

/// Rows of a batch.
const BATCH_ROWS: usize = 1 << 16;

/// Writes a table of labels in blocks of rows.
///
/// Rows are collected into batches of one size, so that the bytes do not depend on the sizes of the blocks.
pub(super) struct LabelTable {
    writer: ArrowWriter<AtomicFile>,
    schema: Arc<Schema>,
    first_row: usize,
    labels: Vec<Option<usize>>,
    confidence: Vec<Option<f64>>,
    reached: Vec<bool>,
    certified: Vec<bool>,
    /// Row by row.
    probabilities: Vec<f64>,
    columns: LabelColumns,
    n_probabilities: usize,
    /// Names of all rows, in the place of their numbers.
    names: Option<Arc<RowNames>>,
}

impl LabelTable {
    pub(super) fn new(
        file: AtomicFile,
        classes: &ClassNames,
        columns: LabelColumns,
        names: Option<Arc<RowNames>>,
    ) -> io::Result<Self> {
        let label_type = match classes {
            ClassNames::Integers(_) => DataType::Int64,
            ClassNames::Texts(_) => DataType::Utf8,
        };
        let first = match names.as_deref() {
            Some(names) => Field::new(names.column(), name_type(names), false),
            None => Field::new("row", DataType::Int64, false),
        };
        let mut fields = vec![
            first,
            Field::new("label", label_type, true),
            Field::new("confidence", DataType::Float64, true),
            Field::new("reached", DataType::Boolean, false),
        ];
        let (more, n_marks) = (columns.names(classes), usize::from(columns.certified));
        let n_probabilities = more.len() - n_marks;
        fields.extend(more.into_iter().enumerate().map(|(at, name)| match at < n_marks {
            true => Field::new(name, DataType::Boolean, false),
            false => Field::new(name, DataType::Float64, true),
        }));
        let schema = Arc::new(Schema::new(fields));
        let writer = table_writer(file, &schema)?;
        Ok(Self {
            writer,
            schema,
            first_row: 0,
            labels: Vec::new(),
            confidence: Vec::new(),
            reached: Vec::new(),
            certified: Vec::new(),
            probabilities: Vec::new(),
            columns,
            n_probabilities,
            names,
        })
    }

    /// Appends rows.
    pub(super) fn write(&mut self, rows: &LabeledRows<'_>) -> io::Result<()> {
        let mut start = 0;
        while start < rows.labels.len() {
            let end = rows.labels.len().min(start + BATCH_ROWS - self.labels.len());
            self.labels.extend_from_slice(&rows.labels[start..end]);
            self.confidence.extend((start..end).map(|row| rows.confidence_of(row)));
            self.reached.extend_from_slice(&rows.reached[start..end]);
            rows.certified.iter().for_each(|certified| self.certified.extend_from_slice(&certified[start..end]));
            if let Some(matrix) = rows.probabilities {
                (start..end).for_each(|row| self.probabilities.extend_from_slice(matrix.row(row)));
            }
            if self.labels.len() == BATCH_ROWS {
                self.write_batch(rows.classes)?;
            }
            start = end;
        }
        Ok(())
    }

    fn write_batch(&mut self, classes: &ClassNames) -> io::Result<()> {
        let n_rows = self.labels.len();
        let labels = self.labels.iter().copied();
        let labels: ArrayRef = match classes {
            ClassNames::Integers(names) => Arc::new(Int64Array::from_iter(labels.map(|c| c.map(|c| names[c])))),
            ClassNames::Texts(names) => Arc::new(StringArray::from_iter(labels.map(|c| c.map(|c| &names[c])))),
        };
        let numbers = self.first_row..self.first_row + n_rows;
        let mut columns: Vec<ArrayRef> = vec![
            match self.names.as_deref() {
                Some(names) => named(names, numbers),
                None => Arc::new(Int64Array::from_iter_values(numbers.map(|row| row as i64))),
            },
            labels,
            Arc::new(Float64Array::from_iter(self.confidence.iter().copied())),
            Arc::new(BooleanArray::from(std::mem::take(&mut self.reached))),
        ];
        if self.columns.certified {
            columns.push(Arc::new(BooleanArray::from(std::mem::take(&mut self.certified))));
        }
        columns.extend((0..self.n_probabilities).map(|col| -> ArrayRef {
            let cells = self.probabilities[col..].iter().step_by(self.n_probabilities);
            Arc::new(Float64Array::from_iter(cells.map(|&p| Some(p).filter(|p| !p.is_nan()))))
        }));
        let batch = RecordBatch::try_new(self.schema.clone(), columns).map_err(io::Error::other)?;
        self.writer.write(&batch).map_err(io_error)?;
        self.first_row += n_rows;
        self.labels.clear();
        self.confidence.clear();
        self.probabilities.clear();
        Ok(())
    }

    /// Writes the remaining rows and returns the file.
    pub(super) fn finish(mut self, classes: &ClassNames) -> io::Result<AtomicFile> {
        if !self.labels.is_empty() {
            self.write_batch(classes)?;
        }
        self.writer.into_inner().map_err(io_error)
    }
}

/// The type of a column of names.
fn name_type(names: &RowNames) -> DataType {
    if names.are_integers() { DataType::Int64 } else { DataType::Utf8 }
}

/// The names of rows.
fn named(names: &RowNames, rows: impl Iterator<Item = usize>) -> ArrayRef {
    if names.are_integers() {
        return Arc::new(Int64Array::from_iter_values(rows.map(|row| names.name(row).parse().unwrap_or_default())));
    }
    Arc::new(StringArray::from_iter_values(rows.map(|row| names.name(row))))
}

/// A writer of a table with a schema.
pub(super) fn table_writer(file: AtomicFile, schema: &Arc<Schema>) -> io::Result<ArrowWriter<AtomicFile>> {
    ArrowWriter::try_new(file, schema.clone(), Some(properties())).map_err(io_error)
}

fn properties() -> WriterProperties {
    WriterProperties::builder().set_compression(Compression::SNAPPY).build()
}

/// Writes a list of edges (u, v, weight), with the names of their nodes if they have any.
pub(super) fn write_edges(
    out: &mut (dyn Write + Send),
    edges: &[(u32, u32, f64)],
    names: Option<&RowNames>,
) -> io::Result<()> {
    let node_type = names.map_or(DataType::Int64, name_type);
    let fields = vec![
        Field::new("u", node_type.clone(), false),
        Field::new("v", node_type, false),
        Field::new("weight", DataType::Float64, false),
    ];
    let schema = Arc::new(Schema::new(fields));
    let mut writer = ArrowWriter::try_new(out, schema.clone(), Some(properties())).map_err(io_error)?;
    for edges in edges.chunks(BATCH_ROWS) {
        let nodes = |node: fn(&(u32, u32, f64)) -> u32| -> ArrayRef {
            let nodes = edges.iter().map(node);
            match names {
                Some(names) => named(names, nodes.map(|node| node as usize)),
                None => Arc::new(Int64Array::from_iter_values(nodes.map(i64::from))),
            }
        };
        let columns: Vec<ArrayRef> = vec![
            nodes(|edge| edge.0),
            nodes(|edge| edge.1),
            Arc::new(Float64Array::from_iter_values(edges.iter().map(|edge| edge.2))),
        ];
        let batch = RecordBatch::try_new(schema.clone(), columns).map_err(io::Error::other)?;
        writer.write(&batch).map_err(io_error)?;
    }
    writer.close().map(drop).map_err(io_error)
}

/// The system's error if there is one, so that callers recognize a full disk.
pub(super) fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
