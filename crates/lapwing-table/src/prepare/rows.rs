//! The rows of a table as features, read in blocks: memory does not grow with the rows.

use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

use arrow_array::{Array, ArrayRef};
use xxhash_rust::xxh3::xxh3_64;

use super::columns::{Columns, Extent, decided, scan};
use super::decide::Choices;
use super::encode::{Feature, Unlike, write_dense};
use super::plain::{Plain, counted};
use super::summary::Description;
use super::{MAX_STREAMED_TERMS, MAX_TERMS, Recipe};
use crate::read::table::{ColumnType, Reading, RowMark, TableRows, no_rows};
use crate::read::{ReadOptions, Size, TableFile, fingerprint};
use lapwing_core::scan::{Centered, Place, RowScan, RowSink, Value};
use lapwing_core::{Error, Result, RowReader, RowSource, Run, SparseLabels, Standardize, Warning};

/// The rows of a table, made features by a recipe whenever they are read.
#[derive(Debug)]
pub struct PreparedRows {
    table: TableFile,
    recipe: Recipe,
    columns: Vec<usize>,
    types: Vec<ColumnType>,
    /// How cells are read.
    readings: Vec<Reading>,
    /// Places of the columns among those of the recipe.
    used: Vec<usize>,
    n_rows: usize,
    bytes: u64,
    /// Rows at which reading can start.
    marks: Vec<RowMark>,
    /// Refuses cells that are not numbers, if columns are taken as they are.
    plain: Option<Plain>,
    /// Cells read so far that are unlike those of the fit.
    unlike: Mutex<Vec<Unlike>>,
}

/// A table whose rows are read in blocks, with what its first reading found.
#[derive(Debug)]
#[non_exhaustive]
pub struct PreparedTable {
    /// The rows.
    pub rows: PreparedRows,
    /// The labels, if a label column was named.
    pub labels: Option<SparseLabels>,
    /// What was found and done, column by column.
    pub description: Description,
    /// What to look at.
    pub warnings: Vec<Warning>,
}

/// As [`prepare`](super::prepare), of a table that need not fit in memory. Texts have at most 512 terms.
///
/// # Errors
/// As [`prepare`](super::prepare).
///
/// # Complexity
/// One pass over the file that finds the recipe, two if cells far behind its start do not fit the type of their column.
pub fn prepare_rows(path: &Path, options: &ReadOptions, standardize: Standardize, run: &Run) -> Result<PreparedTable> {
    let table = TableFile::open(path, options)?;
    let mut columns = Columns::of(&table, options)?;
    let found = scan(&table, &mut columns, options, Extent::Passed, run)?;
    let choices =
        Choices { standardize, is_told: false, are_named: options.columns.is_some(), max_terms: MAX_STREAMED_TERMS };
    let (mut recipe, spreads) = decided(&table, &columns, &found.surveys, &choices, run)?;
    // Rows that are read in blocks are dense.
    recipe.is_sparse = false;
    let spreads = (standardize, spreads);
    let description =
        Description::new(&table, &columns, &recipe, &found.surveys, &found.tallies, &found.passed, spreads);
    let mut warnings = description.warnings(table.path());
    warnings.extend(found.spaced);
    let places = recipe.places(&table, None)?;
    let rows = PreparedRows::new(table, recipe, places, found.n_rows, found.marks)?;
    Ok(PreparedTable { rows, labels: found.labels, description, warnings })
}

/// Rows that are looked at for a plan.
const PLANNED_ROWS: usize = 1 << 16;

/// Size of the features that a table will have, by the recipe that its first rows suggest, for planning.
///
/// # Errors
/// As [`prepare`](super::prepare), for the rows that are read.
///
/// # Complexity
/// Reads some ten thousand rows, and counts those of a text in one pass.
pub fn probe_prepared(
    path: &Path,
    options: &ReadOptions,
    standardize: Standardize,
    in_blocks: bool,
    run: &Run,
) -> Result<Size> {
    let table = TableFile::open(path, options)?;
    let mut columns = Columns::of(&table, options)?;
    columns.label = None;
    let n_rows = super::plain::count(&table, run)?;
    if n_rows == 0 {
        return Err(no_rows(table.path()));
    }
    let found = scan(&table, &mut columns, options, Extent::First(PLANNED_ROWS), run)?;
    let max_terms = if in_blocks { MAX_STREAMED_TERMS } else { MAX_TERMS };
    let choices = Choices { standardize, is_told: false, are_named: options.columns.is_some(), max_terms };
    let (recipe, _) = decided(&table, &columns, &found.surveys, &choices, run)?;
    let n_features = recipe.n_features();
    if recipe.is_sparse && !in_blocks {
        let entries = super::decide::entries_of_row(&recipe, &found.surveys) * n_rows as f64;
        return Ok(Size::sparse(n_rows, n_features, entries as usize));
    }
    Ok(Size::dense(n_rows, n_features, if recipe.is_double { 8 } else { 4 }))
}

impl PreparedRows {
    fn new(
        table: TableFile,
        recipe: Recipe,
        (columns, types): (Vec<usize>, Vec<ColumnType>),
        n_rows: usize,
        marks: Vec<RowMark>,
    ) -> Result<Self> {
        let (bytes, used) = (table.bytes_of(&columns), recipe.used_places());
        let readings = table.reconciled(&columns, &recipe.readings())?;
        Ok(Self {
            table,
            recipe,
            columns,
            types,
            readings,
            used,
            n_rows,
            bytes,
            marks,
            plain: None,
            unlike: Mutex::default(),
        })
    }

    /// The rows of a table by the recipe of an earlier fit; `columns` are as in [`Recipe::apply`].
    ///
    /// # Errors
    /// As [`Recipe::apply`].
    ///
    /// # Complexity
    /// One pass over a text, to count its rows.
    pub fn open(table: TableFile, recipe: Recipe, columns: Option<&[String]>, run: &Run) -> Result<Self> {
        let places = recipe.places(&table, columns)?;
        let (n_rows, marks) = counted_rows(&table, run)?;
        Self::new(table, recipe, places, n_rows, marks)
    }

    /// The rows of a table of numbers, as they are; missing ones are NaN.
    ///
    /// # Errors
    /// [`Error::Columns`] naming all columns of a type that is not a number; cells of a text that are not numbers are errors when they are
    /// read.
    pub(crate) fn plain(table: TableFile, options: &ReadOptions, run: &Run) -> Result<Self> {
        let plain = Plain::of(&table, options)?;
        let (n_rows, marks) = counted_rows(&table, run)?;
        let (mut columns, mut types) = plain.read();
        let recipe = plain.recipe.clone();
        columns.truncate(recipe.columns.len());
        types.truncate(recipe.columns.len());
        Ok(Self { plain: Some(plain), ..Self::new(table, recipe, (columns, types), n_rows, marks)? })
    }

    /// The error for cells that are not numbers or no usable ones, of rows that are taken as they are.
    pub(crate) fn plain_error(&self, run: &Run) -> Result<Option<Error>> {
        self.plain.as_ref().map_or(Ok(None), |plain| plain.bad_cells(&self.table, run))
    }

    /// Counts cells that are unlike those of the fit.
    fn note(&self, found: impl Iterator<Item = Unlike>) {
        // A thread that panicked while it held the lock has left whole counts.
        let mut all = self.unlike.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        all.resize(self.used.len(), Unlike::default());
        all.iter_mut().zip(found).for_each(|(all, found)| all.add(found));
    }

    /// Cells that are unlike those of the fit, in all rows read so far.
    pub fn warnings(&self) -> Vec<Warning> {
        let unlike = self.unlike.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.recipe.warnings(&self.used, &unlike, &[])
    }

    /// A reader of the rows from `place` on.
    pub(crate) fn reader_at<'s>(
        &'s self,
        place: Place,
        center: &'s [f64],
        run: &Run,
    ) -> Result<Box<dyn RowReader + 's>> {
        let rows = self.table.scan_from(place.row, &self.marks, (&self.columns, &self.types, &self.readings), false)?;
        Ok(match self.recipe.is_double {
            true => Centered::boxed(RecipeScan::<f64>::from(self, rows, place.row, run)?, place, center),
            false => Centered::boxed(RecipeScan::<f32>::from(self, rows, place.row, run)?, place, center),
        })
    }

    /// The recipe.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.table.path()
    }
}

impl RowSource for PreparedRows {
    fn n_rows(&self) -> usize {
        self.n_rows
    }

    fn n_cols(&self) -> usize {
        self.recipe.n_features()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn is_seekable(&self) -> bool {
        self.table.is_seekable()
    }

    /// The fingerprint of the file, and a hash of the recipe.
    fn identity(&self, run: &Run) -> Result<Option<String>> {
        let recipe = serde_json::to_vec(&self.recipe).unwrap_or_default();
        let files = self.table.files();
        let hashes = files.iter().map(|path| fingerprint(path, run)).collect::<Result<Vec<u64>>>()?;
        Ok(Some(format!("{hashes:016x?}, recipe {:016x}", xxh3_64(&recipe))))
    }

    fn open<'s>(&'s self, first: usize, center: &'s [f64], run: &Run) -> Result<Box<dyn RowReader + 's>> {
        self.reader_at(Place::new(self, first, center)?, center, run)
    }
}

/// The number of rows of a table, and marks in a text.
fn counted_rows(table: &TableFile, run: &Run) -> Result<(usize, Vec<RowMark>)> {
    let (n_rows, marks) = match table.n_rows() {
        Some(n_rows) => (n_rows, Vec::new()),
        None => {
            let mut rows = counted(table, run)?;
            (rows.n_rows(), rows.take_marks())
        }
    };
    if n_rows == 0 { Err(no_rows(table.path())) } else { Ok((n_rows, marks)) }
}

/// Rows of a table from some row on, as features in the type that keeps their values.
struct RecipeScan<'s, T> {
    source: &'s PreparedRows,
    rows: TableRows,
    batch: Option<Vec<ArrayRef>>,
    /// The next row of the batch.
    at: usize,
    value: PhantomData<T>,
}

impl<'s, T> RecipeScan<'s, T> {
    fn from(source: &'s PreparedRows, rows: TableRows, row: usize, run: &Run) -> Result<Self> {
        let mut scan = Self { source, rows, batch: None, at: 0, value: PhantomData };
        scan.pass(row, run)?;
        Ok(scan)
    }

    /// Number of rows of the batch that are left; reads the next batch if none are. 0 at the end.
    fn left(&mut self, run: &Run) -> Result<usize> {
        loop {
            let length = self.batch.as_ref().and_then(|batch| batch.first()).map_or(0, |array| array.len());
            if self.at < length {
                return Ok(length - self.at);
            }
            (self.batch, self.at) = (self.rows.next(run)?, 0);
            if self.batch.is_none() {
                return Ok(0);
            }
        }
    }

    /// Goes to row `row`, which lies behind those read.
    fn pass(&mut self, row: usize, run: &Run) -> Result<()> {
        let mut n_left = row - self.rows.n_rows();
        while n_left > 0 {
            let step = self.left(run)?.min(n_left);
            if step == 0 {
                return Err(self.changed());
            }
            (self.at, n_left) = (self.at + step, n_left - step);
        }
        Ok(())
    }

    fn changed(&self) -> Error {
        let reason = format!("the file has changed (it had {} rows)", self.source.n_rows);
        Error::format(self.source.path(), None, reason)
    }
}

impl<T: Feature + Value> RowScan for RecipeScan<'_, T> {
    type Value = T;

    fn read(&mut self, rows: Range<usize>, sink: &mut impl RowSink<T>, run: &Run) -> Result<()> {
        let width = self.source.n_cols();
        let mut n_left = rows.len();
        while n_left > 0 {
            let step = self.left(run)?.min(n_left);
            let Some(batch) = self.batch.as_ref().filter(|_| step > 0) else { return Err(self.changed()) };
            let slices: Vec<ArrayRef> = batch.iter().map(|array| array.slice(self.at, step)).collect();
            let recipe = &self.source.recipe;
            let mut encoders =
                recipe.encoders(&slices, &self.source.used).ok_or_else(|| super::held::foreign(self.source.path()))?;
            let has_text = self.source.plain.is_some() && self.rows.tallies().iter().any(|tally| tally.unfit > 0);
            sink.fill(step, |room| {
                room.fill(T::default());
                write_dense(&mut encoders, step, width, room);
                // A missing number is handed on; a cell that is no number is an error.
                match has_text && room.iter().any(|x| x.is_missing()) {
                    true => Err(self.source.plain_error(run)?.unwrap_or_else(|| self.changed())),
                    false => Ok(()),
                }
            })?;
            self.source.note(encoders.into_iter().map(|encoder| encoder.unlike));
            (self.at, n_left) = (self.at + step, n_left - step);
        }
        Ok(())
    }

    /// Passes over the rows of the current batch, but no more.
    fn skip(&mut self, rows: Range<usize>, run: &Run) -> Result<bool> {
        let is_near = rows.is_empty() || rows.len() <= self.left(run)?;
        self.at += if is_near { rows.len() } else { 0 };
        Ok(is_near)
    }
}
