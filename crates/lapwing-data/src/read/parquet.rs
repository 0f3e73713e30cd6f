//! Parquet tables.

use std::path::Path;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use ::parquet::errors::ParquetError;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};

use super::columns::{self, Choice};
use super::format::open_filled;
use super::labels::{self, LabelTexts};
use super::{ReadOptions, Samples, Size};
use crate::{Error, Features, Labels, Result, Run};

/// Rows decoded at a time.
const BATCH_ROWS: usize = 8192;

/// An open file whose schema and number of rows are known.
pub(super) struct Table<'a> {
    path: &'a Path,
    builder: ParquetRecordBatchReaderBuilder<std::fs::File>,
    pub names: Vec<String>,
    types: Vec<DataType>,
    pub n_rows: usize,
}

impl<'a> Table<'a> {
    pub(super) fn open(path: &'a Path) -> Result<Self> {
        let (file, _) = open_filled(path)?;
        let builder =
            guarded(path, || ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| parquet_error(path, e)))?;
        let fields = builder.schema().fields();
        let names = fields.iter().map(|field| field.name().clone()).collect();
        let types = fields.iter().map(|field| field.data_type().clone()).collect();
        let n_rows = usize::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
        Ok(Self { path, builder, names, types, n_rows })
    }

    /// Starts to read the chosen columns behind the first `skip` rows; row groups before these are not touched.
    pub(super) fn batches(self, columns: &[usize], skip: u64) -> Result<Batches<'a>> {
        let path = self.path;
        let mask = ProjectionMask::roots(self.builder.parquet_schema(), columns.iter().copied());
        // The reader returns the columns in the order of the file.
        let mut in_file: Vec<usize> = columns.to_vec();
        in_file.sort_unstable();
        let places = columns.iter().map(|at| in_file.partition_point(|other| other < at)).collect();
        let groups = self.builder.metadata().row_groups();
        let (first, left) = first_group(groups.iter().map(|group| group.num_rows()), skip);
        let mut builder = self.builder.with_projection(mask).with_batch_size(BATCH_ROWS);
        if skip > 0 {
            let groups = (first..builder.metadata().num_row_groups()).collect();
            builder = builder.with_row_groups(groups).with_offset(usize::try_from(left).unwrap_or(usize::MAX));
        }
        let reader = guarded(path, || builder.build().map_err(|e| parquet_error(path, e)))?;
        Ok(Batches { path, reader, places })
    }

    /// The error for a column whose type is of no use.
    pub(super) fn type_error(&self, at: usize, expected: &str) -> Error {
        let reason = format!("column '{}' holds {}; {expected}", self.names[at], self.types[at]);
        Error::format(self.path, None, reason)
    }

    pub(super) fn is_number(&self, at: usize) -> bool {
        let inner = match &self.types[at] {
            DataType::Dictionary(_, values) => values,
            other => other,
        };
        inner.is_numeric() || matches!(inner, DataType::Boolean | DataType::Null)
    }

    pub(super) fn is_integer(&self, at: usize) -> bool {
        self.types[at].is_integer()
    }

    /// Whether single precision keeps the values of a column.
    fn is_single(&self, at: usize) -> bool {
        use DataType::{Boolean, Float16, Float32, Int8, Int16, Null, UInt8, UInt16};
        matches!(self.types[at], Boolean | Float16 | Float32 | Int8 | Int16 | Null | UInt8 | UInt16)
    }

    fn choose(&self, options: &ReadOptions) -> Result<Choice> {
        let choice = columns::by_name(self.path, &self.names, options)?;
        match choice.features.iter().find(|&&at| !self.is_number(at)) {
            Some(&at) => Err(self.type_error(at, "features are numbers: leave it out (drop it)")),
            None => Ok(choice),
        }
    }
}

/// The row group that holds row `skip`, and which of its rows that is.
fn first_group(sizes: impl Iterator<Item = i64>, skip: u64) -> (usize, u64) {
    let (mut first, mut left) = (0, skip);
    for size in sizes {
        let size = u64::try_from(size).unwrap_or(0);
        if left < size {
            break;
        }
        (first, left) = (first + 1, left - size);
    }
    (first, left)
}

/// Chosen columns of a table, some thousand rows at a time.
pub(super) struct Batches<'a> {
    path: &'a Path,
    reader: ParquetRecordBatchReader,
    /// Where each chosen column stands in a batch.
    places: Vec<usize>,
}

impl Batches<'_> {
    /// The next rows, in the order in which the columns were chosen; `None` at the end.
    pub(super) fn next(&mut self, run: &Run) -> Result<Option<Vec<ArrayRef>>> {
        run.check()?;
        let (path, reader) = (self.path, &mut self.reader);
        let batch = guarded(path, || reader.next().transpose().map_err(|e| arrow_error(path, e)))?;
        let Some(batch) = batch else { return Ok(None) };
        let arrays: Vec<ArrayRef> = self.places.iter().filter_map(|&at| batch.columns().get(at).cloned()).collect();
        if arrays.len() != self.places.len() {
            return Err(Error::format(path, None, "the file is damaged (columns are missing)"));
        }
        Ok(Some(arrays))
    }
}

/// Runs a step of the decoder; the crate panics on some damaged files where it should return an error.
fn guarded<T>(path: &Path, step: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(step))
        .unwrap_or_else(|_| Err(Error::format(path, None, "the file is damaged (its pages contradict its header)")))
}

pub(super) fn parquet_error(path: &Path, error: ParquetError) -> Error {
    let reason = match error {
        ParquetError::EOF(_) => "the file is truncated".to_owned(),
        ParquetError::General(text) | ParquetError::ArrowError(text) => {
            format!("not a Parquet file, or damaged ({text})")
        }
        other => format!("not a Parquet file, or damaged ({other})"),
    };
    Error::format(path, None, reason)
}

fn arrow_error(path: &Path, error: ArrowError) -> Error {
    Error::format(path, None, format!("the file is damaged ({error})"))
}

/// The values of a column as primitives of type `T`, nulls as `missing`.
pub(super) fn primitives<T: ArrowPrimitiveType>(
    path: &Path,
    array: &ArrayRef,
    missing: T::Native,
    mut take: impl FnMut(T::Native),
) -> Result<()> {
    let array = cast(array, &T::DATA_TYPE).map_err(|e| arrow_error(path, e))?;
    let values = array.as_primitive::<T>();
    match values.null_count() {
        0 => values.values().iter().for_each(|&value| take(value)),
        _ => values.iter().for_each(|value| take(value.unwrap_or(missing))),
    }
    Ok(())
}

/// Reads samples: single precision if that keeps every column, else double.
pub(super) fn read_samples(path: &Path, options: &ReadOptions, run: &Run) -> Result<Samples> {
    let table = Table::open(path)?;
    let Choice { features, label } = table.choose(options)?;
    let names = features.iter().map(|&at| table.names[at].clone()).collect();
    let n_cols = features.len();
    let is_single = features.iter().all(|&at| table.is_single(at));
    let (features, labels) = if is_single {
        let (values, labels) = read_values::<Float32Type>(table, &features, label, options, run, f32::NAN)?;
        (Features::from_f32(values.len() / n_cols, n_cols, values)?, labels)
    } else {
        let (values, labels) = read_values::<Float64Type>(table, &features, label, options, run, f64::NAN)?;
        (Features::from_f64(values.len() / n_cols, n_cols, values)?, labels)
    };
    Ok(Samples { features, feature_names: Some(names), labels })
}

fn read_values<T: ArrowPrimitiveType>(
    table: Table<'_>,
    features: &[usize],
    label: Option<usize>,
    options: &ReadOptions,
    run: &Run,
    missing: T::Native,
) -> Result<(Vec<T::Native>, Option<Labels>)> {
    let (path, n_cols) = (table.path, features.len());
    let mut labels = label.map(|at| LabelColumn::new(&table, at)).transpose()?;
    let mut values: Vec<T::Native> = Vec::new();
    // A damaged file may state any number of rows; one too large to reserve is not believed, the buffer then grows.
    let _ = values.try_reserve_exact(table.n_rows.saturating_mul(n_cols));
    let wanted: Vec<usize> = features.iter().copied().chain(label).collect();
    let mut batches = table.batches(&wanted, 0)?;
    while let Some(arrays) = batches.next(run)? {
        let start = values.len();
        let n_rows = arrays.first().map_or(0, Array::len);
        values.resize(start + n_rows * n_cols, missing);
        for (col, array) in arrays[..n_cols].iter().enumerate() {
            let mut cells = values[start + col..].iter_mut().step_by(n_cols);
            primitives::<T>(path, array, missing, |value| {
                if let Some(cell) = cells.next() {
                    *cell = value;
                }
            })?;
        }
        if let (Some(labels), Some(array)) = (&mut labels, arrays.get(n_cols)) {
            labels.extend(path, array)?;
        }
    }
    Ok((values, labels.map(|labels| labels.finish(options.unlabeled.as_deref()))))
}

/// Labels gathered batch by batch.
enum LabelColumn {
    Integers(Vec<Option<i64>>),
    Numbers(LabelTexts),
    Texts(LabelTexts),
}

impl LabelColumn {
    fn new(table: &Table<'_>, at: usize) -> Result<Self> {
        let inner = match &table.types[at] {
            DataType::Dictionary(_, values) => values,
            other => other,
        };
        match inner {
            DataType::Boolean => Ok(Self::Integers(Vec::new())),
            kind if kind.is_integer() => Ok(Self::Integers(Vec::new())),
            kind if kind.is_floating() => Ok(Self::Numbers(LabelTexts::default())),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => {
                Ok(Self::Texts(LabelTexts::default()))
            }
            _ => Err(table.type_error(at, "labels are integers or text")),
        }
    }

    fn extend(&mut self, path: &Path, array: &ArrayRef) -> Result<()> {
        match self {
            Self::Integers(values) => {
                let array = cast(array, &DataType::Int64).map_err(|e| arrow_error(path, e))?;
                values.extend(array.as_primitive::<Int64Type>());
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

    fn finish(self, unlabeled: Option<&str>) -> Labels {
        match self {
            Self::Integers(values) => labels::from_integers(values, unlabeled),
            Self::Numbers(texts) | Self::Texts(texts) => texts.finish(unlabeled),
        }
    }
}

/// Size of the features, from the file's footer.
pub(super) fn probe(path: &Path, options: &ReadOptions) -> Result<Size> {
    let table = Table::open(path)?;
    let choice = table.choose(options)?;
    let width = if choice.features.iter().all(|&at| table.is_single(at)) { 4 } else { 8 };
    Ok(Size::dense(table.n_rows, choice.features.len(), width))
}
