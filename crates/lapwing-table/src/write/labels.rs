//! The labeled table as batches of columns: what names the rows, and what was found for them.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow_schema::{DataType, Field, Schema};

use super::kept::{KeptCells, KeptColumns};
use super::sink::Sink;
use super::table::{LabelColumns, LabeledRows};
use lapwing_core::publish::AtomicFile;
use lapwing_core::scan::pieces;
use lapwing_core::{ClassNames, Result, RowNames};

/// Rows that are written at a time.
const PIECE_ROWS: usize = 1 << 15;

/// What stands before the results of a row.
pub(super) enum Lead {
    Numbers,
    Names(Arc<RowNames>),
    Kept(Box<KeptCells>),
}

/// A labeled table in CSV or Parquet.
pub(super) struct LabelTable {
    lead: Lead,
    sink: Sink,
}

impl LabelTable {
    /// Begins a table whose rows have numbers, or names.
    pub(super) fn new(
        path: &Path,
        classes: &ClassNames,
        columns: LabelColumns,
        names: Option<Arc<RowNames>>,
    ) -> Result<Self> {
        let first = name_field("row", names.as_deref());
        let lead = names.map_or(Lead::Numbers, Lead::Names);
        Self::begin(path, lead, vec![first], (classes, columns))
    }

    /// Begins a table beside columns of the input.
    pub(super) fn beside(
        path: &Path,
        kept: KeptColumns,
        classes: &ClassNames,
        columns: LabelColumns,
        is_parquet: bool,
    ) -> Result<Self> {
        let (cells, fields) = KeptCells::new(kept, !is_parquet)?;
        Self::begin(path, Lead::Kept(Box::new(cells)), fields, (classes, columns))
    }

    fn begin(
        path: &Path,
        lead: Lead,
        mut fields: Vec<Field>,
        (classes, columns): (&ClassNames, LabelColumns),
    ) -> Result<Self> {
        let label_type = match classes {
            ClassNames::Integers(_) => DataType::Int64,
            ClassNames::Texts(_) => DataType::Utf8,
        };
        fields.extend(lead.has_label().then(|| Field::new("label", label_type, true)));
        fields.push(Field::new("confidence", DataType::Float64, true));
        fields.push(Field::new("reached", DataType::Boolean, false));
        fields.extend(columns.names(classes).into_iter().enumerate().map(|(at, name)| {
            match columns.certified && at == 0 {
                true => Field::new(name, DataType::Boolean, false),
                false => Field::new(name, DataType::Float64, true),
            }
        }));
        let mut names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
        crate::read::make_distinct(&mut names);
        let fields: Vec<Field> = fields.into_iter().zip(names).map(|(field, name)| field.with_name(name)).collect();
        Ok(Self { lead, sink: Sink::create(path, Schema::new(fields))? })
    }

    /// Appends the rows of a block, the first of which is row `first_row` of the table.
    pub(super) fn write(&mut self, first_row: usize, block: &LabeledRows<'_>) -> Result<()> {
        pieces(0..block.labels.len(), PIECE_ROWS).try_for_each(|rows| {
            let numbers = first_row + rows.start..first_row + rows.end;
            let mut arrays = match &mut self.lead {
                Lead::Numbers => vec![named(None, numbers)],
                Lead::Names(names) => vec![named(Some(names), numbers)],
                Lead::Kept(cells) => cells.next(first_row, block, &rows)?,
            };
            arrays.extend(results(block, rows, self.lead.has_label()));
            self.sink.write(arrays)
        })
    }

    pub(super) fn finish(self) -> Result<AtomicFile> {
        self.sink.finish()
    }
}

impl Lead {
    /// Whether labels have a column of their own.
    fn has_label(&self) -> bool {
        !matches!(self, Self::Kept(cells) if cells.fill.is_some())
    }
}

/// The columns of the results in rows of a block.
fn results(block: &LabeledRows<'_>, rows: Range<usize>, has_label: bool) -> Vec<ArrayRef> {
    let labels = || -> ArrayRef {
        let classes = block.labels[rows.clone()].iter().copied();
        match block.classes {
            ClassNames::Integers(names) => Arc::new(Int64Array::from_iter(classes.map(|c| c.map(|c| names[c])))),
            ClassNames::Texts(names) => Arc::new(StringArray::from_iter(classes.map(|c| c.map(|c| &names[c])))),
        }
    };
    let mut arrays: Vec<ArrayRef> = has_label.then(labels).into_iter().collect();
    arrays.push(Arc::new(Float64Array::from_iter(rows.clone().map(|row| block.confidence_of(row)))));
    arrays.push(Arc::new(BooleanArray::from(block.reached[rows.clone()].to_vec())));
    arrays.extend(
        block.certified.map(|certified| -> ArrayRef { Arc::new(BooleanArray::from(certified[rows.clone()].to_vec())) }),
    );
    if let Some(matrix) = block.probabilities {
        arrays.extend((0..matrix.n_cols()).map(|col| -> ArrayRef {
            let cells = rows.clone().map(|row| Some(matrix.row(row)[col]).filter(|p| !p.is_nan()));
            Arc::new(Float64Array::from_iter(cells))
        }));
    }
    arrays
}

/// The column of the names of rows, or of their numbers under the name `number`.
pub(super) fn name_field(number: &str, names: Option<&RowNames>) -> Field {
    match names {
        Some(names) if !names.are_integers() => Field::new(names.column(), DataType::Utf8, false),
        names => Field::new(names.map_or(number, RowNames::column), DataType::Int64, false),
    }
}

/// The names of rows, or their numbers.
pub(super) fn named(names: Option<&RowNames>, rows: impl Iterator<Item = usize>) -> ArrayRef {
    match names {
        None => Arc::new(Int64Array::from_iter_values(rows.map(|row| row as i64))),
        Some(names) if names.are_integers() => {
            Arc::new(Int64Array::from_iter_values(rows.map(|row| names.name(row).parse().unwrap_or_default())))
        }
        Some(names) => Arc::new(StringArray::from_iter_values(rows.map(|row| names.name(row)))),
    }
}
