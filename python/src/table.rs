//! Tables of columns of any kind, and the recipes that make features of them.
//!
//! A table is an object with Arrow's PyCapsule interface, such as a data frame, or a list of named columns. Arrow's buffers are used in
//! place: they belong to their producer, which frees them when the last array over them is dropped.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::ffi::{FFI_ArrowArray, from_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float32Array, Float64Array, RecordBatch, RecordBatchOptions, RecordBatchReader,
    StructArray, TimestampMicrosecondArray,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use lapwing::data::prepare::{LoadedTable, Recipe};
use lapwing::data::read::{ReadAs, ReadOptions, TableFile};
use lapwing::data::{ClassNames, Error, Labels, Result, Run, Standardize, Warning};
use lapwing_core::labels::TextClasses;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::arrays::{features_object, json, vector};
use crate::control::Control;
use crate::error::to_py;

/// Rows of a batch, so that many threads have work; a table has at most [`MOST_BATCHES`] large ones.
const BATCH_ROWS: usize = 1 << 13;
const MOST_BATCHES: usize = 64;

/// A table as Python passes it.
#[derive(FromPyObject)]
pub enum TableInput<'py> {
    /// Columns with their names.
    Columns(Vec<(String, ColumnInput<'py>)>),
    /// An object with `__arrow_c_stream__` or `__arrow_c_array__`.
    Arrow(Bound<'py, PyAny>),
}

/// A column as Python passes it.
#[derive(FromPyObject)]
pub enum ColumnInput<'py> {
    Doubles(PyReadonlyArray1<'py, f64>),
    Singles(PyReadonlyArray1<'py, f32>),
    Truths(PyReadonlyArray1<'py, bool>),
    /// Microseconds since 1970, the least number where the date is missing.
    Dates(PyReadonlyArray1<'py, i64>),
    Texts(Vec<Option<String>>),
}

/// How a table is called in messages, and names of its columns if not those that it states.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Titles {
    name: String,
    names: Option<Vec<String>>,
}

/// The columns of a fit, what they are read as, and whether they are scaled.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct FitOptions {
    columns: Option<Vec<String>>,
    read_as: BTreeMap<String, String>,
    standardize: String,
}

/// `(features, recipe, description, warnings)` of a table: features as arrays, all else as JSON. `labels` are the classes of the rows,
/// −1 where a row has none; they help to choose whether numbers are scaled.
#[pyfunction]
pub fn fit_table<'py>(
    py: Python<'py>,
    table: TableInput<'py>,
    titles: Titles,
    options: FitOptions,
    labels: Option<PyReadonlyArray1<'py, i32>>,
    control: Control,
) -> PyResult<Bound<'py, PyTuple>> {
    let rows = Rows::of(&table, &titles.name)?;
    let standardize = Standardize::parse(&options.standardize).map_err(to_py)?;
    let labels = labels.as_ref().map(vector).transpose()?.map(classes);
    let read_as = options.read_as.into_iter().map(|(name, word)| Ok((name, ReadAs::parse(&word)?)));
    let read_as = read_as.collect::<Result<_>>().map_err(to_py)?;
    let read = ReadOptions { columns: options.columns, read_as, ..ReadOptions::default() };
    let prepared = control.run(py, move |run| {
        let loaded = LoadedTable::read(rows.table(titles, run)?, &read, run)?;
        if let Some(labels) = labels.as_ref().filter(|labels| labels.index.len() != loaded.n_rows()) {
            let expected = format!("one for each row of the table, {}", loaded.n_rows());
            return Err(Error::shape("y", expected, format!("{} rows", labels.index.len())));
        }
        let prepared = loaded.prepare(standardize, labels.as_ref(), run)?;
        prepared.features.check(run)?;
        Ok(prepared)
    })?;
    let [recipe, description] = [json(&prepared.recipe), json(&prepared.description)];
    let warnings = json(&prepared.warnings)?;
    (features_object(py, prepared.features)?, recipe?, description?, warnings).into_pyobject(py)
}

/// `(features, warnings)` of new rows, the warnings as JSON. `columns` are the names that the used columns have in this table, if not
/// those of the fit.
#[pyfunction]
pub fn apply_recipe<'py>(
    py: Python<'py>,
    table: TableInput<'py>,
    titles: Titles,
    recipe: &str,
    columns: Option<Vec<String>>,
    control: Control,
) -> PyResult<Bound<'py, PyTuple>> {
    let rows = Rows::of(&table, &titles.name)?;
    let recipe = parsed(recipe).map_err(to_py)?;
    let applied = control.run(py, move |run| {
        let applied = recipe.apply(&rows.table(titles, run)?, columns.as_deref(), run)?;
        applied.features.check(run)?;
        Ok(applied)
    })?;
    let warnings = json(&applied.warnings)?;
    (features_object(py, applied.features)?, warnings).into_pyobject(py)
}

/// `(usual, warnings)` of different labels that are texts, each of which comes so many times: the place of the most frequent way to write each,
/// as labels in files are told, and as JSON what to say of it.
#[pyfunction]
pub fn usual_labels(texts: Vec<String>, counts: Vec<usize>) -> PyResult<(Vec<u32>, String)> {
    let mut classes = TextClasses::new(None);
    let counts: HashMap<u32, usize> =
        texts.iter().zip(counts).map(|(text, count)| (classes.class(text), count)).collect();
    let warnings: Vec<Warning> = classes.spaced(|| counts.clone()).into_iter().collect();
    Ok((classes.usual(&counts), json(&warnings)?))
}

/// `(names of the features, names of the columns that are used, whether features are the numbers of these as they are)` of a recipe.
#[pyfunction]
pub fn recipe_names(recipe: &str) -> PyResult<(Vec<String>, Vec<String>, bool)> {
    let recipe = parsed(recipe).map_err(to_py)?;
    Ok((recipe.feature_names(), recipe.used(), recipe.is_plain()))
}

/// A recipe from its JSON.
pub fn parsed(recipe: &str) -> Result<Recipe> {
    let expected = "the recipe_ of a TableEncoder";
    let recipe: Recipe =
        serde_json::from_str(recipe).map_err(|error| Error::param("recipe", format!("damaged: {error}"), expected))?;
    if recipe.is_valid() { Ok(recipe) } else { Err(Error::param("recipe", "out of range", expected)) }
}

/// Labels whose classes have numbers for names.
fn classes(index: Vec<i32>) -> Labels {
    let n_classes = index.iter().max().map_or(0, |&most| i64::from(most) + 1);
    Labels { classes: ClassNames::Integers((0..n_classes).collect()), index }
}

/// The rows of a table, before they are read.
enum Rows {
    Stream(RecordBatchStreamReader),
    Batch(RecordBatch),
}

impl Rows {
    fn of(table: &TableInput<'_>, name: &str) -> PyResult<Self> {
        match table {
            TableInput::Columns(columns) => batch_of_columns(columns).map(Self::Batch),
            TableInput::Arrow(table) if table.hasattr("__arrow_c_stream__")? => {
                stream(table)?.map(Self::Stream).map_err(|error| to_py(unusable(name, &error)))
            }
            TableInput::Arrow(table) if table.hasattr("__arrow_c_array__")? => {
                batch(table)?.map(Self::Batch).map_err(|error| to_py(unusable(name, &error)))
            }
            TableInput::Arrow(table) => {
                let kind = table.get_type().qualname()?;
                Err(PyTypeError::new_err(format!("{name} is a {kind}; expected a data frame or an Arrow table")))
            }
        }
    }

    /// Reads all rows, into batches of sizes that suit the threads.
    fn table(self, titles: Titles, run: &Run) -> Result<TableFile> {
        let failed = |error: ArrowError| unusable(&titles.name, &error);
        let (schema, batches) = match self {
            Self::Batch(batch) => (batch.schema(), vec![batch]),
            Self::Stream(stream) => {
                let (schema, mut batches) = (stream.schema(), Vec::new());
                for batch in stream {
                    run.check()?;
                    batches.push(batch.map_err(failed)?);
                }
                (schema, batches)
            }
        };
        if schema.fields().is_empty() || batches.iter().all(|batch| batch.num_rows() == 0) {
            let got = if schema.fields().is_empty() { "no columns" } else { "no rows" };
            return Err(Error::shape(&titles.name, "a table with at least one of each", got));
        }
        let batches = in_batches(&schema, batches).map_err(failed)?;
        let schema = titles.names.map_or(Ok(schema.clone()), |names| renamed(&titles.name, &schema, &names))?;
        TableFile::from_batches(titles.name, &schema, batches)
    }
}

fn unusable(name: &str, error: &ArrowError) -> Error {
    Error::format(name, None, format!("it is no Arrow table that can be read ({error})"))
}

/// A schema with other names.
fn renamed(name: &str, schema: &SchemaRef, names: &[String]) -> Result<SchemaRef> {
    let fields = schema.fields();
    if fields.len() != names.len() {
        return Err(Error::shape(name, format!("{} columns", names.len()), format!("{} columns", fields.len())));
    }
    let named = fields.iter().zip(names).map(|(field, name)| field.as_ref().clone().with_name(name));
    Ok(Arc::new(Schema::new(named.collect::<Vec<Field>>())))
}

/// The same rows in batches of about [`BATCH_ROWS`]: large ones are cut, small ones joined.
fn in_batches(schema: &SchemaRef, batches: Vec<RecordBatch>) -> std::result::Result<Vec<RecordBatch>, ArrowError> {
    let n_rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let size = BATCH_ROWS.max(n_rows.div_ceil(MOST_BATCHES));
    let (mut out, mut small, mut n_small) = (Vec::new(), Vec::new(), 0);
    for batch in batches {
        let rows = batch.num_rows();
        if n_small > 0 && n_small + rows > size {
            out.push(joined(schema, &mut small)?);
            n_small = 0;
        }
        if rows > size {
            out.extend((0..rows).step_by(size).map(|first| batch.slice(first, size.min(rows - first))));
        } else if rows > 0 {
            small.push(batch);
            n_small += rows;
        }
    }
    if n_small > 0 {
        out.push(joined(schema, &mut small)?);
    }
    Ok(out)
}

fn joined(schema: &SchemaRef, batches: &mut Vec<RecordBatch>) -> std::result::Result<RecordBatch, ArrowError> {
    let last = batches.pop();
    let Some(last) = last else { return Ok(RecordBatch::new_empty(schema.clone())) };
    if batches.is_empty() {
        return Ok(last);
    }
    batches.push(last);
    let joined = concat_batches(schema, batches.iter());
    batches.clear();
    joined
}

/// The stream of an object.
fn stream(table: &Bound<'_, PyAny>) -> PyResult<std::result::Result<RecordBatchStreamReader, ArrowError>> {
    let capsule = table.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: by Arrow's PyCapsule interface a capsule of this name points to a valid stream, which it owns; the interpreter lock keeps
    // others away. The stream is moved out: what stays behind is marked as released, so that the capsule frees it as an empty one.
    Ok(unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) })
}

/// The only batch of an object.
fn batch(table: &Bound<'_, PyAny>) -> PyResult<std::result::Result<RecordBatch, ArrowError>> {
    let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = table.call_method0("__arrow_c_array__")?.extract()?;
    let (schema, array) = (schema.cast_into::<PyCapsule>()?, array.cast_into::<PyCapsule>()?);
    let of_schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    let of_array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
    // SAFETY: by Arrow's PyCapsule interface capsules of these names point to a valid schema and a valid array of it. `schema` lives
    // while the reference is used; the array is moved out, and what stays behind is marked as released.
    let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(of_array.as_ptr()), of_schema.as_ref()) };
    Ok(data.and_then(|data| {
        if !matches!(data.data_type(), DataType::Struct(_)) {
            return Err(ArrowError::SchemaError(format!("its type is {}, not a struct of columns", data.data_type())));
        }
        let rows = RecordBatchOptions::new().with_row_count(Some(data.len()));
        let (fields, columns, _) = StructArray::from(data).into_parts();
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &rows)
    }))
}

fn batch_of_columns(columns: &[(String, ColumnInput<'_>)]) -> PyResult<RecordBatch> {
    let (mut fields, mut arrays) = (Vec::with_capacity(columns.len()), Vec::with_capacity(columns.len()));
    for (name, column) in columns {
        let array = column.array()?;
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|error| PyTypeError::new_err(format!("the columns make no table ({error})")))
}

impl ColumnInput<'_> {
    /// A copy of the column.
    fn array(&self) -> PyResult<ArrayRef> {
        Ok(match self {
            Self::Doubles(values) => Arc::new(Float64Array::from(vector(values)?)),
            Self::Singles(values) => Arc::new(Float32Array::from(vector(values)?)),
            Self::Truths(values) => Arc::new(BooleanArray::from(vector(values)?)),
            Self::Dates(values) => {
                let dates = vector(values)?.into_iter().map(|date| Some(date).filter(|date| *date != i64::MIN));
                Arc::new(dates.collect::<TimestampMicrosecondArray>())
            }
            Self::Texts(texts) => {
                let mut builder = StringBuilder::with_capacity(texts.len(), 0);
                texts.iter().for_each(|text| builder.append_option(text.as_deref()));
                Arc::new(builder.finish())
            }
        })
    }
}
