//! Parquet tables.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};

use super::table::LabeledRows;
use crate::ClassNames;

/// Rows handed over at a time.
const BATCH_ROWS: usize = 1 << 16;

/// Writes the table of labels.
pub(super) fn write_labels(out: &mut (dyn Write + Send), rows: &LabeledRows<'_>) -> io::Result<()> {
    let label_type = match rows.classes {
        ClassNames::Integers(_) => DataType::Int64,
        ClassNames::Texts(_) => DataType::Utf8,
    };
    let mut fields = vec![
        Field::new("row", DataType::Int64, false),
        Field::new("label", label_type, true),
        Field::new("confidence", DataType::Float64, true),
        Field::new("reached", DataType::Boolean, false),
    ];
    fields.extend(rows.probability_names().into_iter().map(|name| Field::new(name, DataType::Float64, true)));
    write_batches(out, Schema::new(fields), rows.labels.len(), |range| {
        let labels = rows.labels[range.clone()].iter().copied();
        let labels: ArrayRef = match rows.classes {
            ClassNames::Integers(names) => Arc::new(Int64Array::from_iter(labels.map(|c| c.map(|c| names[c])))),
            ClassNames::Texts(names) => Arc::new(StringArray::from_iter(labels.map(|c| c.map(|c| &names[c])))),
        };
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(range.clone().map(|row| row as i64))),
            labels,
            Arc::new(Float64Array::from_iter(range.clone().map(|row| rows.confidence_of(row)))),
            Arc::new(BooleanArray::from(rows.reached[range.clone()].to_vec())),
        ];
        if let Some(matrix) = rows.probabilities {
            columns.extend((0..matrix.n_cols()).map(|col| -> ArrayRef {
                let cells = range.clone().map(|row| Some(matrix.row(row)[col]).filter(|p| !p.is_nan()));
                Arc::new(Float64Array::from_iter(cells))
            }));
        }
        columns
    })
}

/// Writes a list of edges (u, v, weight).
pub(super) fn write_edges(out: &mut (dyn Write + Send), edges: &[(u32, u32, f64)]) -> io::Result<()> {
    let fields = vec![
        Field::new("u", DataType::Int64, false),
        Field::new("v", DataType::Int64, false),
        Field::new("weight", DataType::Float64, false),
    ];
    write_batches(out, Schema::new(fields), edges.len(), |range| {
        let edges = &edges[range];
        vec![
            Arc::new(Int64Array::from_iter_values(edges.iter().map(|edge| i64::from(edge.0)))),
            Arc::new(Int64Array::from_iter_values(edges.iter().map(|edge| i64::from(edge.1)))),
            Arc::new(Float64Array::from_iter_values(edges.iter().map(|edge| edge.2))),
        ]
    })
}

fn write_batches(
    out: &mut (dyn Write + Send),
    schema: Schema,
    n_rows: usize,
    columns: impl Fn(std::ops::Range<usize>) -> Vec<ArrayRef>,
) -> io::Result<()> {
    let schema = Arc::new(schema);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = ArrowWriter::try_new(out, schema.clone(), Some(properties)).map_err(io_error)?;
    for start in (0..n_rows).step_by(BATCH_ROWS) {
        let columns = columns(start..(start + BATCH_ROWS).min(n_rows));
        let batch = RecordBatch::try_new(schema.clone(), columns).map_err(io::Error::other)?;
        writer.write(&batch).map_err(io_error)?;
    }
    writer.close().map(drop).map_err(io_error)
}

/// The system's own error where there is one, so that a full disk stays recognizable.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
