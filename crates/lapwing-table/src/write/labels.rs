//! Columns of the labeled table: what names the rows, and what was found for them.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow_schema::{DataType, Field};

use super::table::LabeledRows;
use lapwing_core::{ClassNames, RowNames};

/// The columns of the results in rows of a block.
pub(super) fn results(block: &LabeledRows<'_>, rows: Range<usize>, has_label: bool) -> Vec<ArrayRef> {
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
