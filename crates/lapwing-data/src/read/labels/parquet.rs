//! Labels as a column of a Parquet table.

use std::path::Path;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_cast::cast;
use arrow_schema::DataType;

use super::{LabelIntegers, LabelTexts};
use crate::read::columns;
use crate::read::parquet::{BATCH_ROWS, Table, arrow_error, primitives};
use crate::{Result, Run, SparseLabels};

/// Reads the labels alone.
pub(super) fn read(path: &Path, column: &str, unlabeled: Option<&str>, run: &Run) -> Result<SparseLabels> {
    let table = Table::open(path)?;
    let at = columns::find_name(path, &table.names, column)?;
    let mut labels = LabelColumn::new(&table, at, unlabeled)?;
    let mut batches = table.batches(&[at], 0, BATCH_ROWS)?;
    while let Some(arrays) = batches.next(run)? {
        arrays.iter().try_for_each(|array| labels.extend(path, array))?;
    }
    labels.finish()
}

/// Labels gathered batch by batch.
pub(in crate::read) enum LabelColumn {
    Integers(LabelIntegers),
    Numbers(LabelTexts),
    Texts(LabelTexts),
}

impl LabelColumn {
    pub(in crate::read) fn new(table: &Table, at: usize, unlabeled: Option<&str>) -> Result<Self> {
        let inner = match &table.types[at] {
            DataType::Dictionary(_, values) => values,
            other => other,
        };
        match inner {
            DataType::Boolean => Ok(Self::Integers(LabelIntegers::new(unlabeled))),
            kind if kind.is_integer() => Ok(Self::Integers(LabelIntegers::new(unlabeled))),
            kind if kind.is_floating() => Ok(Self::Numbers(LabelTexts::of_numbers(unlabeled))),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => {
                Ok(Self::Texts(LabelTexts::new(unlabeled)))
            }
            _ => Err(table.type_error(at, "labels are integers or text")),
        }
    }

    pub(in crate::read) fn extend(&mut self, path: &Path, array: &ArrayRef) -> Result<()> {
        match self {
            Self::Integers(values) => {
                let array = cast(array, &DataType::Int64).map_err(|e| arrow_error(path, e))?;
                array.as_primitive::<Int64Type>().iter().for_each(|value| values.push(value));
                Ok(())
            }
            Self::Numbers(texts) => primitives::<Float64Type>(path, array, f64::NAN, |value| texts.push_number(value)),
            Self::Texts(texts) => {
                let array = cast(array, &DataType::Utf8).map_err(|e| arrow_error(path, e))?;
                array.as_string::<i32>().iter().for_each(|text| texts.push(text.unwrap_or_default()));
                Ok(())
            }
        }
    }

    pub(in crate::read) fn finish(self) -> Result<SparseLabels> {
        match self {
            Self::Integers(values) => values.finish(),
            Self::Numbers(texts) | Self::Texts(texts) => texts.finish(),
        }
    }
}
