//! Labels beside columns of the table that was labeled.
//!
//! The columns are read from the input again, in step with the rows that are written, so that none is held. In `.parquet` they keep
//! their types; in `.csv` the cells of a text are written as they are, other values as text.

use std::collections::VecDeque;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_select::concat::concat;

use super::columns::Chosen;
use super::csv::{push_float, push_text};
use super::table::{LabelColumns, LabeledRows};
use crate::read::table::{KeptRows, no_rows};
use crate::read::{ReadOptions, TableFile};
use lapwing_core::publish::AtomicFile;
use lapwing_core::scan::pieces;
use lapwing_core::{ClassNames, Error, Result, Run};

/// Rows that are written at a time.
const PIECE_ROWS: usize = 1 << 15;

/// Columns of a table that are written beside labels.
#[derive(Debug)]
pub struct KeptColumns {
    table: TableFile,
    /// Places of the columns.
    columns: Vec<usize>,
    /// Place among these of the column whose gaps the labels fill.
    fill: Option<usize>,
    /// Rows whose label is given, ascending: they keep it.
    given: Vec<u32>,
}

impl KeptColumns {
    /// The columns `names` of a table, all if `None`. With `fill`, labels are put into the gaps of that column, and have no column of their
    /// own; `given` are the rows, ascending, that have a label there.
    ///
    /// # Errors
    /// [`Error::Format`] naming unknown columns; as [`TableFile::open`].
    pub fn open(table: TableFile, names: Option<Vec<String>>, fill: Option<&str>, given: Vec<u32>) -> Result<Self> {
        let mut columns = match names {
            None => (0..table.names().len()).collect(),
            Some(names) => {
                let options = ReadOptions { columns: Some(names), ..ReadOptions::default() };
                crate::read::choose(table.path(), table.names(), &options)?.features
            }
        };
        let fill = fill.map(|name| crate::read::find_name(table.path(), table.names(), name)).transpose()?;
        if let Some(at) = fill.filter(|at| !columns.contains(at)) {
            columns.push(at);
        }
        let fill = fill.and_then(|at| columns.iter().position(|&column| column == at));
        Ok(Self { table, columns, fill, given })
    }

    /// The cells of the first column as texts; `n_rows` is the number of rows that the table must have, if that is known.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of rows; those of reading the table.
    #[doc(hidden)]
    pub fn texts(self, n_rows: Option<usize>, run: &Run) -> Result<Vec<Option<String>>> {
        let mut kept = self.table.kept(&self.columns, true)?;
        let mut cells = Vec::with_capacity(n_rows.unwrap_or_default());
        while let Some(arrays) = kept.next(run)? {
            let texts = cast(&arrays[0], &DataType::Utf8).map_err(broken)?;
            cells.extend(texts.as_string::<i32>().iter().map(|cell| cell.map(str::to_owned)));
        }
        match n_rows.filter(|&n_rows| n_rows != cells.len()) {
            None => Ok(cells),
            Some(n) => Err(Error::shape(self.table.path().display().to_string(), format!("{n} rows"), cells.len())),
        }
    }

    /// Names and values of the columns at `rows`, in their order; cells of a text as they are if `is_text`.
    pub(super) fn at(self, rows: &[u32], is_text: bool, run: &Run) -> Result<Vec<(String, ArrayRef)>> {
        let Self { table, columns, .. } = self;
        let names: Vec<String> = columns.iter().map(|&at| table.names()[at].clone()).collect();
        let (mut kept, mut chosen) = (table.kept(&columns, is_text)?, Chosen::new(rows));
        while !chosen.is_done() {
            let Some(arrays) = kept.next(run)? else {
                let reason = "the file has changed while it was read (it has fewer rows)";
                return Err(Error::format(kept.path(), None, reason));
            };
            chosen.take(&arrays)?;
        }
        Ok(names.into_iter().zip(chosen.finish()?).collect())
    }
}

/// Writes rows of kept columns and labels.
pub(super) struct KeptTable {
    rows: KeptRows,
    fill: Option<usize>,
    given: Vec<u32>,
    n_kept: usize,
    schema: Arc<Schema>,
    output: Output,
    /// Arrays that were read and not yet written.
    pending: VecDeque<Vec<ArrayRef>>,
    n_pending: usize,
    run: Run,
    /// The file that is written.
    path: PathBuf,
}

enum Output {
    Csv(Box<AtomicFile>),
    Parquet(Box<::parquet::arrow::ArrowWriter<AtomicFile>>),
}

impl KeptTable {
    pub(super) fn new(
        path: &Path,
        kept: KeptColumns,
        classes: &ClassNames,
        columns: LabelColumns,
        is_parquet: bool,
    ) -> Result<Self> {
        let KeptColumns { table, columns: places, fill, given } = kept;
        let rows = table.kept(&places, !is_parquet)?;
        let label_type = match classes {
            ClassNames::Integers(_) => DataType::Int64,
            ClassNames::Texts(_) => DataType::Utf8,
        };
        let mut names: Vec<String> = places.iter().map(|&at| table.names()[at].clone()).collect();
        let mut types: Vec<DataType> = rows.types();
        if let Some(at) = fill {
            types[at] = filled_type(&types[at]);
        }
        let mut push = |name: &str, kind: DataType| {
            names.push(name.to_owned());
            types.push(kind);
        };
        if fill.is_none() {
            push("label", label_type);
        }
        push("confidence", DataType::Float64);
        push("reached", DataType::Boolean);
        for (at, name) in columns.names(classes).into_iter().enumerate() {
            let is_mark = columns.certified && at == 0;
            push(&name, if is_mark { DataType::Boolean } else { DataType::Float64 });
        }
        crate::read::make_distinct(&mut names);
        let fields: Vec<Field> =
            names.into_iter().zip(types).map(|(name, kind)| Field::new(name, kind, true)).collect();
        let schema = Arc::new(Schema::new(fields));
        let mut file = AtomicFile::create(path)?;
        let output = match is_parquet {
            true => {
                Output::Parquet(Box::new(super::parquet::table_writer(file, &schema).map_err(|e| Error::io(path, e))?))
            }
            _ => {
                file.write_all(&header(&schema)).map_err(|e| Error::io(path, e))?;
                Output::Csv(Box::new(file))
            }
        };
        let run = Run::new(Some(1), 0)?;
        Ok(Self {
            rows,
            fill,
            given,
            n_kept: places.len(),
            schema,
            output,
            pending: VecDeque::new(),
            n_pending: 0,
            run,
            path: path.to_owned(),
        })
    }

    /// Writes the rows from `first_row` on, which follow those before.
    pub(super) fn write(&mut self, first_row: usize, block: &LabeledRows<'_>) -> Result<()> {
        pieces(0..block.labels.len(), PIECE_ROWS).try_for_each(|rows| self.write_piece(first_row, block, rows))
    }

    fn write_piece(&mut self, first_row: usize, block: &LabeledRows<'_>, rows: Range<usize>) -> Result<()> {
        let mut arrays = self.take(rows.len())?;
        if let Some(at) = self.fill {
            arrays[at] = self.filled(&arrays[at], first_row, block, rows.clone()).map_err(broken)?;
        }
        arrays.extend(results(block, rows, self.fill.is_none()));
        let batch = RecordBatch::try_new(self.schema.clone(), arrays).map_err(broken)?;
        let path = &self.path;
        match &mut self.output {
            Output::Csv(file) => file.write_all(&lines(&batch).map_err(broken)?).map_err(|e| Error::io(path, e)),
            Output::Parquet(writer) => {
                writer.write(&batch).map_err(|error| Error::io(path, super::parquet::io_error(error)))
            }
        }
    }

    /// The next `n_rows` rows of the kept columns.
    fn take(&mut self, n_rows: usize) -> Result<Vec<ArrayRef>> {
        while self.n_pending < n_rows {
            let Some(arrays) = self.rows.next(&self.run)? else {
                let reason = "the file has changed while it was read (it has fewer rows)";
                return Err(Error::format(self.rows.path(), None, reason));
            };
            self.n_pending += arrays.first().map_or(0, |array| array.len());
            self.pending.push_back(arrays);
        }
        let mut taken: Vec<Vec<ArrayRef>> = vec![Vec::new(); self.n_kept];
        let mut n_left = n_rows;
        while n_left > 0 {
            let Some(first) = self.pending.front_mut() else { return Err(no_rows(self.rows.path())) };
            let length = first.first().map_or(0, |array| array.len());
            let step = length.min(n_left);
            taken.iter_mut().zip(&*first).for_each(|(taken, array)| taken.push(array.slice(0, step)));
            match step == length {
                true => drop(self.pending.pop_front()),
                false => first.iter_mut().for_each(|array| *array = array.slice(step, length - step)),
            }
            n_left -= step;
        }
        self.n_pending -= n_rows;
        let join = |pieces: Vec<ArrayRef>| match pieces.as_slice() {
            [] => Ok(Arc::new(StringArray::from(Vec::<&str>::new())) as ArrayRef),
            [one] => Ok(one.clone()),
            _ => concat(&pieces.iter().map(|array| array.as_ref()).collect::<Vec<_>>()).map_err(broken),
        };
        taken.into_iter().map(join).collect()
    }

    /// The label column with labels in its gaps.
    fn filled(
        &self,
        column: &ArrayRef,
        first_row: usize,
        block: &LabeledRows<'_>,
        rows: Range<usize>,
    ) -> std::result::Result<ArrayRef, ArrowError> {
        let texts = cast(column, &DataType::Utf8)?;
        let texts = texts.as_string::<i32>();
        let is_given = |row: usize| u32::try_from(row).is_ok_and(|row| self.given.binary_search(&row).is_ok());
        let names: Vec<String> = block.classes.names();
        let cell = |at: usize| match is_given(first_row + rows.start + at) {
            true => texts.is_valid(at).then(|| texts.value(at)),
            false => block.labels[rows.start + at].map(|class| names[class].as_str()),
        };
        let filled: ArrayRef = Arc::new((0..texts.len()).map(cell).collect::<StringArray>());
        cast(&filled, &filled_type(column.data_type()))
    }

    pub(super) fn finish(self) -> Result<AtomicFile> {
        match self.output {
            Output::Csv(file) => Ok(*file),
            Output::Parquet(writer) => {
                writer.into_inner().map_err(|error| Error::io(&self.path, super::parquet::io_error(error)))
            }
        }
    }
}

/// The type of a label column after its gaps are filled: texts of all kinds become plain ones.
fn filled_type(stored: &DataType) -> DataType {
    match stored {
        kind if kind.is_numeric() || *kind == DataType::Boolean => kind.clone(),
        _ => DataType::Utf8,
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

pub(super) fn header(schema: &Schema) -> Vec<u8> {
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

/// The rows of a batch as CSV.
pub(super) fn lines(batch: &RecordBatch) -> std::result::Result<Vec<u8>, ArrowError> {
    let options = FormatOptions::default();
    let columns: Vec<Cells<'_>> =
        batch.columns().iter().map(|array| Cells::of(array, &options)).collect::<std::result::Result<_, _>>()?;
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

/// The cells of a column as text.
enum Cells<'a> {
    Texts(&'a StringArray),
    Floats(&'a Float64Array),
    Others(ArrayFormatter<'a>),
}

impl<'a> Cells<'a> {
    fn of(array: &'a ArrayRef, options: &FormatOptions<'a>) -> std::result::Result<Self, ArrowError> {
        if let Some(texts) = array.as_string_opt::<i32>() {
            return Ok(Self::Texts(texts));
        }
        match array.as_primitive_opt::<arrow_array::types::Float64Type>() {
            Some(floats) => Ok(Self::Floats(floats)),
            None => ArrayFormatter::try_new(array.as_ref(), options).map(Self::Others),
        }
    }

    fn push(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Texts(texts) if texts.is_valid(row) => push_text(out, texts.value(row)),
            Self::Floats(floats) if floats.is_valid(row) => push_float(out, floats.value(row)),
            Self::Others(cells) => push_text(out, &cells.value(row).to_string()),
            _ => {}
        }
    }
}

fn broken(error: ArrowError) -> Error {
    Error::Internal { reason: format!("the kept columns cannot be written: {error}") }
}
