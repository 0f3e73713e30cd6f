//! Stored arrays as arrays of the five types of a table.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, FixedSizeListArray, Float32Array, Float64Array, StringArray};
use arrow_buffer::NullBuffer;
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, TimeUnit};

use super::ColumnKind;
use crate::cell::{Broken, Builder, CellType, Tally};
use lapwing_core::{Error, Result};

/// The kind of a column of a stored type.
pub(crate) fn kind_of(stored: &DataType) -> ColumnKind {
    use DataType::{
        Boolean, Date32, Date64, Dictionary, Duration, FixedSizeList, LargeList, LargeUtf8, List, Null, RunEndEncoded,
        Time32, Time64, Timestamp, Utf8, Utf8View,
    };
    match stored {
        Null => ColumnKind::Empty,
        Boolean => ColumnKind::Boolean,
        Utf8 | LargeUtf8 | Utf8View => ColumnKind::Text,
        Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(..) => ColumnKind::Date,
        // Seconds.
        Duration(_) => ColumnKind::Number,
        Dictionary(_, values) => kind_of(values),
        RunEndEncoded(_, values) => kind_of(values.data_type()),
        FixedSizeList(field, length) if field.data_type().is_numeric() => {
            ColumnKind::Vector(usize::try_from(*length).unwrap_or(0))
        }
        // The length is told by the first rows.
        List(field) | LargeList(field) if field.data_type().is_numeric() => ColumnKind::Vector(0),
        numeric if numeric.is_numeric() => ColumnKind::Number,
        other => ColumnKind::Other(other.to_string()),
    }
}

/// An array as values of a type; the first row is row `row` of the table. Missing numbers are NaN, other missing cells null. Stored
/// texts are read as `cells` says.
pub(crate) fn canonical(
    path: &Path,
    array: &ArrayRef,
    cells: CellType,
    row: usize,
    tally: &mut Tally,
) -> Result<ArrayRef> {
    let failed = |error: ArrowError| Error::format(path, None, format!("the file is damaged ({error})"));
    let stored = array.data_type();
    let is_text = kind_of(stored) == ColumnKind::Text;
    if is_text && cells != CellType::Label {
        let texts = cast(array, &DataType::Utf8).map_err(failed)?;
        return of_texts(path, texts.as_string::<i32>(), cells, row, tally);
    }
    let converted = match cells {
        CellType::Number(_) if *stored == DataType::Float32 => as_numbers::<Float32Type>(array, f32::NAN),
        CellType::Number(_) => {
            let array = match stored {
                DataType::Boolean => cast(&cast(array, &DataType::Int8).map_err(failed)?, &DataType::Float64),
                DataType::Duration(_) => seconds(array),
                _ => cast(array, &DataType::Float64),
            };
            as_numbers::<Float64Type>(&array.map_err(failed)?, f64::NAN)
        }
        CellType::Boolean(_) => cast(array, &DataType::Boolean).map_err(failed)?,
        CellType::Date(_) => dates(array).map_err(failed)?,
        CellType::Label => label_texts(array).map_err(failed)?,
        CellType::Text => cast(array, &DataType::Utf8).map_err(failed)?,
        CellType::Vector(length) => vectors(array, length).map_err(failed)?,
    };
    count(array, &converted, row, tally);
    Ok(converted)
}

/// The seconds of lengths of time.
fn seconds(array: &ArrayRef) -> std::result::Result<ArrayRef, ArrowError> {
    let nanos = cast(&cast(array, &DataType::Duration(TimeUnit::Nanosecond))?, &DataType::Int64)?;
    let nanos = cast(&nanos, &DataType::Float64)?;
    Ok(Arc::new(nanos.as_primitive::<Float64Type>().unary::<_, Float64Type>(|x| x / 1e9)))
}

/// Numbers without nulls, NaN in their place.
fn as_numbers<T: arrow_array::types::ArrowPrimitiveType>(array: &ArrayRef, missing: T::Native) -> ArrayRef {
    let numbers = array.as_primitive::<T>();
    if numbers.null_count() == 0 {
        return Arc::clone(array);
    }
    let mut filled = vec![missing; numbers.len()];
    for (start, end) in numbers.nulls().into_iter().flat_map(|nulls| nulls.valid_slices()) {
        filled[start..end].copy_from_slice(&numbers.values()[start..end]);
    }
    Arc::new(arrow_array::PrimitiveArray::<T>::new(filled.into(), None))
}

/// Labels as texts: whole numbers without decimals, truth values as 0 and 1.
fn label_texts(array: &ArrayRef) -> std::result::Result<ArrayRef, ArrowError> {
    let values = match array.data_type() {
        DataType::Dictionary(_, values) => (**values).clone(),
        other => other.clone(),
    };
    match values {
        DataType::Boolean => cast(&cast(array, &DataType::Int8)?, &DataType::Utf8),
        floating if floating.is_floating() => {
            let numbers = cast(array, &DataType::Float64)?;
            let text = |x: Option<f64>| x.filter(|x| !x.is_nan()).map(crate::cell::number_text);
            Ok(Arc::new(numbers.as_primitive::<Float64Type>().iter().map(text).collect::<StringArray>()))
        }
        _ => cast(array, &DataType::Utf8),
    }
}

fn dates(array: &ArrayRef) -> std::result::Result<ArrayRef, ArrowError> {
    let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
    match array.data_type() {
        DataType::Time32(_) | DataType::Time64(_) => {
            let micros_of_day = cast(array, &DataType::Time64(TimeUnit::Microsecond))?;
            cast(&cast(&micros_of_day, &DataType::Int64)?, &micros)
        }
        _ => cast(array, &micros),
    }
}

/// Lists of `length` numbers; lists of other lengths are missing.
fn vectors(array: &ArrayRef, length: usize) -> std::result::Result<ArrayRef, ArrowError> {
    let field = Arc::new(Field::new_list_field(DataType::Float32, true));
    let wanted = data_type(CellType::Vector(length));
    let lists = match array.data_type() {
        DataType::FixedSizeList(..) if kind_of(array.data_type()) != ColumnKind::Vector(length) => {
            cast(&cast(array, &DataType::LargeList(field.clone()))?, &wanted)?
        }
        _ => cast(array, &wanted)?,
    };
    let (lists, width) = (lists.as_fixed_size_list(), i32::try_from(length).unwrap_or(0));
    // The numbers of missing lists are missing too.
    let (numbers, nulls) = (lists.values().as_primitive::<Float32Type>(), lists.nulls());
    let nulls_of_numbers = NullBuffer::union(numbers.nulls(), nulls.map(|nulls| nulls.expand(length)).as_ref());
    let numbers: ArrayRef = Arc::new(Float32Array::new(numbers.values().clone(), nulls_of_numbers));
    let values = as_numbers::<Float32Type>(&numbers, f32::NAN);
    Ok(Arc::new(FixedSizeListArray::try_new(field, width, values, nulls.cloned())?))
}

/// Counts the cells of a stored array, and those that its conversion lost.
fn count(stored: &ArrayRef, converted: &ArrayRef, row: usize, tally: &mut Tally) {
    let stored_nulls = stored.logical_nulls();
    let n_missing = stored_nulls.as_ref().map_or(0, NullBuffer::null_count);
    tally.filled += stored.len() - n_missing;
    if converted.null_count() <= n_missing {
        return;
    }
    let was_filled = |at: usize| stored_nulls.as_ref().is_none_or(|nulls| nulls.is_valid(at));
    for at in (0..stored.len()).filter(|&at| converted.is_null(at) && was_filled(at)) {
        tally.note(row + at, 0, shown(stored).as_bytes());
        tally.filled -= 1;
    }
}

/// A stored cell in messages.
fn shown(stored: &ArrayRef) -> String {
    use DataType::{FixedSizeList, LargeList, List};
    match stored.data_type() {
        List(_) | LargeList(_) | FixedSizeList(..) => "a list of another length".to_owned(),
        other => other.to_string(),
    }
}

/// Texts as cells of a type; those that do not fit it are missing, and counted.
fn of_texts(path: &Path, texts: &StringArray, cells: CellType, row: usize, tally: &mut Tally) -> Result<ArrayRef> {
    let mut builder = Builder::new(cells);
    // Unlike bytes of a file, texts may have any kind of space around them.
    texts.iter().enumerate().for_each(|(at, text)| builder.push(text.unwrap_or_default().trim().as_bytes(), at, 0));
    let broken = |_: Broken| Error::format(path, None, "the file is damaged");
    let (array, counts) = builder.finish(texts.len(), None).map_err(broken)?;
    tally.add(counts, row, 0);
    Ok(array)
}

/// The most frequent length of some lists; 0 if there are none.
pub(crate) fn usual_length(array: &ArrayRef) -> usize {
    let Ok(large) = cast(array, &DataType::LargeList(Arc::new(Field::new_list_field(DataType::Float32, true)))) else {
        return 0;
    };
    let lists = large.as_list::<i64>();
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for row in (0..lists.len()).filter(|&row| lists.is_valid(row)) {
        *counts.entry(lists.value_length(row) as usize).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map_or(0, |(length, _)| length)
}

/// The type of the arrays of values of a type, with nulls for missing numbers.
pub(super) fn data_type(cells: CellType) -> DataType {
    match cells {
        CellType::Number(_) => DataType::Float64,
        CellType::Boolean(_) => DataType::Boolean,
        CellType::Date(_) => DataType::Timestamp(TimeUnit::Microsecond, None),
        CellType::Text | CellType::Label => DataType::Utf8,
        CellType::Vector(length) => {
            let field = Arc::new(Field::new_list_field(DataType::Float32, true));
            DataType::FixedSizeList(field, i32::try_from(length).unwrap_or(0))
        }
    }
}

/// An array with nulls in the place of NaN, as doubles if it holds numbers.
pub(super) fn with_nulls(array: &ArrayRef, cells: CellType) -> ArrayRef {
    if !matches!(cells, CellType::Number(_)) {
        return Arc::clone(array);
    }
    let Ok(numbers) = cast(array, &DataType::Float64) else { return Arc::clone(array) };
    let filled = numbers.as_primitive::<Float64Type>().values().iter().map(|&x| Some(x).filter(|x| !x.is_nan()));
    Arc::new(filled.collect::<Float64Array>())
}

/// The kind of a column that has two kinds in two parts of a table.
pub(crate) fn common(a: &ColumnKind, b: &ColumnKind) -> ColumnKind {
    match (a, b) {
        (a, b) if a == b => a.clone(),
        (ColumnKind::Empty, other) | (other, ColumnKind::Empty) => other.clone(),
        (ColumnKind::Vector(0), other @ ColumnKind::Vector(_))
        | (other @ ColumnKind::Vector(_), ColumnKind::Vector(0)) => other.clone(),
        (ColumnKind::Vector(_) | ColumnKind::Other(_), _) | (_, ColumnKind::Vector(_) | ColumnKind::Other(_)) => {
            ColumnKind::Other("different types in different parts".into())
        }
        _ => ColumnKind::Text,
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::ListArray;
    use arrow_array::types::Int32Type;

    use super::*;

    #[test]
    fn numbers_that_lists_lack_are_missing() {
        let rows = [Some(vec![Some(1), None]), None, Some(vec![Some(3)]), Some(vec![Some(4), Some(5)])];
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(rows.clone()));
        let rows_of_two = rows.map(|row| row.filter(|row| row.len() == 2));
        let fixed = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(rows_of_two, 2);
        let fixed: ArrayRef = Arc::new(fixed);
        for (array, length, found) in [
            (&lists, 2, [Some(1.0), None, None, None, None, None, Some(4.0), Some(5.0)].as_slice()),
            (&fixed, 2, &[Some(1.0), None, None, None, None, None, Some(4.0), Some(5.0)]),
            (&lists, 1, &[None, None, Some(3.0), None]),
            (&fixed, 1, &[None; 4]),
            (&lists.slice(2, 2), 2, &[None, None, Some(4.0), Some(5.0)]),
        ] {
            let read = vectors(array, length).unwrap();
            let read = read.as_fixed_size_list();
            let numbers = read.values().as_primitive::<Float32Type>();
            assert!(
                numbers.null_count() == 0
                    && numbers.values().iter().map(|&x| Some(x).filter(|x| !x.is_nan())).eq(found.iter().copied()),
                "{read:?}"
            );
            let are_filled = found.chunks(length).map(|row| row.iter().any(Option::is_some));
            assert!((0..read.len()).map(|row| read.is_valid(row)).eq(are_filled), "{read:?}");
        }
    }
}
