//! Labels beside columns of the table that was labeled.
//!
//! The columns are read from the input again, in step with the rows that are written, so that none is held. In `.parquet` they keep
//! their types; in `.csv` the cells of a text are written as they are, other values as text.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringArray, UInt64Array};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field};
use arrow_select::concat::concat;
use arrow_select::take::take;

use super::sink::broken;
use super::table::LabeledRows;
use crate::read::{ReadOptions, TableFile};
use crate::scan::{NextRows, take_rows};
use lapwing_core::{Error, Result, Run};

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
        let (_, mut kept) = self.table.kept(&self.columns, true)?;
        let mut cells = Vec::with_capacity(n_rows.unwrap_or_default());
        while let Some(arrays) = kept(run)? {
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
        let ((_, mut kept), mut chosen) = (table.kept(&columns, is_text)?, Chosen::new(rows));
        while !chosen.is_done() {
            chosen.take(&kept(run)?.ok_or_else(|| changed(table.path()))?)?;
        }
        Ok(names.into_iter().zip(chosen.finish()?).collect())
    }
}

/// The kept columns in step with the rows that are written.
pub(super) struct KeptCells {
    path: PathBuf,
    rows: NextRows,
    /// Place of the column whose gaps the labels fill.
    pub fill: Option<usize>,
    given: Vec<u32>,
    n_columns: usize,
    /// The rows of the last batch that are left.
    batch: Vec<ArrayRef>,
    run: Run,
}

impl KeptCells {
    /// Starts to read the columns, as text if possible or in their types; returns also their fields.
    pub(super) fn new(kept: KeptColumns, is_text: bool) -> Result<(Self, Vec<Field>)> {
        let KeptColumns { table, columns, fill, given } = kept;
        let (mut types, rows) = table.kept(&columns, is_text)?;
        if let Some(at) = fill {
            types[at] = filled_type(&types[at]);
        }
        let field = |(&at, kind): (&usize, DataType)| Field::new(&table.names()[at], kind, true);
        let fields = columns.iter().zip(types).map(field).collect();
        let (path, n_columns, run) = (table.path().to_owned(), columns.len(), Run::new(Some(1), 0)?);
        Ok((Self { path, rows, fill, given, n_columns, batch: Vec::new(), run }, fields))
    }

    /// The cells of the next rows, which are those of a block.
    pub(super) fn next(
        &mut self,
        first_row: usize,
        block: &LabeledRows<'_>,
        rows: &Range<usize>,
    ) -> Result<Vec<ArrayRef>> {
        let mut arrays = self.take(rows.len())?;
        if let Some(at) = self.fill {
            arrays[at] = self.filled(&arrays[at], first_row, block, rows).map_err(broken)?;
        }
        Ok(arrays)
    }

    /// The next `n_rows` rows of the kept columns.
    fn take(&mut self, n_rows: usize) -> Result<Vec<ArrayRef>> {
        let (mut taken, mut n_left): (Vec<Vec<ArrayRef>>, usize) = (Vec::new(), n_rows);
        while n_left > 0 {
            let n = n_left.min(self.batch.first().map_or(0, |array| array.len()));
            if n == 0 {
                self.batch = (self.rows)(&self.run)?.ok_or_else(|| changed(&self.path))?;
            } else {
                taken.push(take_rows(&mut self.batch, n));
                n_left -= n;
            }
        }
        let column = |at: usize| {
            let pieces: Vec<&dyn Array> = taken.iter().map(|rows| rows[at].as_ref()).collect();
            concat(&pieces).map_err(broken)
        };
        (0..self.n_columns).map(column).collect()
    }

    /// The label column with labels in its gaps.
    fn filled(
        &self,
        column: &ArrayRef,
        first_row: usize,
        block: &LabeledRows<'_>,
        rows: &Range<usize>,
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
}

/// The error for a file that got fewer rows while it was read.
fn changed(path: &Path) -> Error {
    Error::format(path, None, "the file has changed while it was read (it has fewer rows)")
}

/// The type of a label column after its gaps are filled: texts of all kinds become plain ones.
fn filled_type(stored: &DataType) -> DataType {
    match stored {
        kind if kind.is_numeric() || *kind == DataType::Boolean => kind.clone(),
        _ => DataType::Utf8,
    }
}

/// Rows of blocks of arrays that arrive in order.
struct Chosen {
    /// The wanted rows, ascending, with their places.
    wanted: Vec<(u32, usize)>,
    next: usize,
    first_row: usize,
    found: Vec<Vec<ArrayRef>>,
}

impl Chosen {
    fn new(rows: &[u32]) -> Self {
        let mut wanted: Vec<(u32, usize)> = rows.iter().copied().zip(0..).collect();
        wanted.sort_unstable();
        Self { wanted, next: 0, first_row: 0, found: Vec::new() }
    }

    /// Takes the wanted rows of the next block.
    fn take(&mut self, arrays: &[ArrayRef]) -> Result<()> {
        let length = arrays.first().map_or(0, |array| array.len());
        let end =
            self.next + self.wanted[self.next..].partition_point(|(row, _)| (*row as usize) < self.first_row + length);
        let inside = self.wanted[self.next..end].iter().map(|(row, _)| (*row as usize - self.first_row) as u64);
        let places = UInt64Array::from_iter_values(inside);
        let taken = arrays.iter().map(|array| take(array, &places, None)).collect::<std::result::Result<_, _>>();
        self.found.push(taken.map_err(broken)?);
        (self.next, self.first_row) = (end, self.first_row + length);
        Ok(())
    }

    /// Whether all rows have been found.
    fn is_done(&self) -> bool {
        self.next == self.wanted.len()
    }

    /// The columns, in the order in which the rows were asked for.
    fn finish(self) -> Result<Vec<ArrayRef>> {
        let mut order = vec![0u64; self.wanted.len()];
        self.wanted.iter().enumerate().for_each(|(at, (_, place))| order[*place] = at as u64);
        let order = UInt64Array::from(order);
        let n_columns = self.found.first().map_or(0, Vec::len);
        let column = |at: usize| {
            let pieces: Vec<&dyn Array> = self.found.iter().map(|block| block[at].as_ref()).collect();
            take(&concat(&pieces)?, &order, None)
        };
        (0..n_columns).map(column).collect::<std::result::Result<_, _>>().map_err(broken)
    }
}
