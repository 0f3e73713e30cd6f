//! Labels as a column of a Parquet table.

use std::path::Path;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_cast::cast;
use arrow_schema::DataType;

use super::{LabelIntegers, LabelTexts};
use crate::read::columns;
use crate::read::parquet::{Table, TableScan, arrow_error};
use crate::{Result, Run, SparseLabels};

/// Reads the labels alone.
pub(super) fn read(path: &Path, column: &str, unlabeled: Option<&str>, run: &Run) -> Result<SparseLabels> {
    let table = Table::open(path)?;
    let at = columns::find_name(path, &table.names, column)?;
    table_labels(&table, at, unlabeled, run)
}

/// The labels in column `at` of a table.
pub(in crate::read) fn table_labels(
    table: &Table,
    at: usize,
    unlabeled: Option<&str>,
    run: &Run,
) -> Result<SparseLabels> {
    let mut scan: TableScan<_, Vec<ArrayRef>> = TableScan::new(table, vec![at], 0);
    let mut each_array = |kind: DataType, take: &mut dyn FnMut(&ArrayRef)| {
        while let Some((arrays, _)) = scan.next(usize::MAX, run)? {
            for array in arrays {
                take(&cast(array, &kind).map_err(|e| arrow_error(&table.path, e))?);
            }
        }
        Ok(())
    };
    let kind = match &table.types[at] {
        DataType::Dictionary(_, values) => values,
        other => other,
    };
    match kind {
        kind if *kind == DataType::Boolean || kind.is_integer() => {
            let mut labels = LabelIntegers::new(unlabeled);
            each_array(DataType::Int64, &mut |array| {
                array.as_primitive::<Int64Type>().iter().for_each(|value| labels.push(value));
            })?;
            labels.finish()
        }
        kind if kind.is_floating() => {
            let mut labels = LabelTexts::from_numbers(unlabeled);
            each_array(DataType::Float64, &mut |array| {
                let numbers = array.as_primitive::<Float64Type>();
                numbers.iter().for_each(|value| labels.push_number(value.unwrap_or(f64::NAN)));
            })?;
            labels.finish()
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => {
            let mut labels = LabelTexts::new(unlabeled);
            each_array(DataType::Utf8, &mut |array| {
                array.as_string::<i32>().iter().for_each(|text| labels.push(text.unwrap_or_default()));
            })?;
            labels.finish()
        }
        _ => Err(table.type_error(at, "labels are integers or text")),
    }
}
