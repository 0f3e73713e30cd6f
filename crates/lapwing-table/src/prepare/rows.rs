//! The rows of a table as features, read in blocks: memory does not grow with the rows.

use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::{Array, ArrayRef};
use xxhash_rust::xxh3::xxh3_64;

use super::columns::{Column, Extent, Surveyed};
use super::encode::{Feature, Unlike, write_dense};
use super::plain::{bad_cells, counted, plain};
use super::scale::Choices;
use super::summary::Description;
use super::{MAX_STREAMED_TERMS, MAX_TERMS, Recipe};
use crate::read::columns::chosen;
use crate::read::table::no_rows;
use crate::read::{ReadOptions, Size, TableFile, fingerprint};
use crate::scan::{Ask, RowMark, TableRows, take_rows};
use lapwing_core::scan::{Centered, Place, RowScan, RowSink};
use lapwing_core::{Error, Result, RowReader, RowSource, Run, SparseLabels, Standardize, Warning};

/// The rows of a table, made features by a recipe whenever they are read.
#[derive(Debug)]
pub struct PreparedRows {
    table: TableFile,
    recipe: Recipe,
    /// How the columns are read.
    asks: Vec<Ask>,
    n_rows: usize,
    /// Rows at which reading can start.
    marks: Vec<RowMark>,
    /// Whether columns are taken as they are, so that cells that are not numbers are refused.
    is_plain: bool,
    /// Cells read so far that are unlike those of the fit.
    unlike: Mutex<Vec<Unlike>>,
    /// Whether some cells read so far do not fit the type of their column.
    has_unfit: AtomicBool,
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
    let found = Surveyed::new(table, options)?.read(options, Extent::Passed, run)?;
    let (mut recipe, spreads) =
        found.decided(&Choices { standardize, is_told: false, max_terms: MAX_STREAMED_TERMS }, run)?;
    // Rows that are read in blocks are dense.
    recipe.is_sparse = false;
    let description = Description::new(&found, &recipe, standardize, spreads, None);
    let Surveyed { table, labels, spaced, n_rows, marks, .. } = found;
    let mut warnings = description.warnings(table.path());
    warnings.extend(spaced);
    let asks = recipe.asks(&table, None)?;
    let rows = PreparedRows::new(table, recipe, asks, (n_rows, marks))?;
    Ok(PreparedTable { rows, labels, description, warnings })
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
    let mut found = Surveyed::new(table, options)?;
    found.label = None;
    let (n_rows, _) = counted(&found.table, run)?;
    if n_rows == 0 {
        return Err(no_rows(found.table.path()));
    }
    let found = found.read(options, Extent::First(PLANNED_ROWS), run)?;
    let max_terms = if in_blocks { MAX_STREAMED_TERMS } else { MAX_TERMS };
    let (recipe, _) = found.decided(&Choices { standardize, is_told: false, max_terms }, run)?;
    let n_features = recipe.n_features();
    if recipe.is_sparse && !in_blocks {
        let entries = super::decide::entries_of_row(&recipe, &found.columns) * n_rows as f64;
        return Ok(Size::sparse(n_rows, n_features, entries as usize));
    }
    Ok(Size::dense(n_rows, n_features, if recipe.is_double { 8 } else { 4 }))
}

impl PreparedRows {
    fn new(table: TableFile, recipe: Recipe, asks: Vec<Ask>, (n_rows, marks): (usize, Vec<RowMark>)) -> Result<Self> {
        if n_rows == 0 {
            return Err(no_rows(table.path()));
        }
        Ok(Self {
            table,
            recipe,
            asks,
            n_rows,
            marks,
            is_plain: false,
            unlike: Mutex::default(),
            has_unfit: AtomicBool::new(false),
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
        let asks = recipe.asks(&table, columns)?;
        let counted = counted(&table, run)?;
        Self::new(table, recipe, asks, counted)
    }

    /// The rows of a table of numbers, as they are; missing ones are NaN.
    ///
    /// # Errors
    /// [`Error::Columns`] naming all columns of a type that is not a number; cells of a text that are not numbers are errors when they are
    /// read.
    pub(crate) fn plain(table: TableFile, options: &ReadOptions, run: &Run) -> Result<Self> {
        let (Surveyed { table, columns, .. }, recipe) = plain(table, options)?;
        let counted = counted(&table, run)?;
        let ask = |column: &Column| table.ask_as(column.place, &column.kind, column.reading);
        let asks = columns.iter().filter_map(ask).collect();
        Ok(Self { is_plain: true, ..Self::new(table, recipe, asks, counted)? })
    }

    /// The columns of the table, unless these are all of them in order.
    pub(crate) fn chosen(&self) -> Option<Vec<usize>> {
        chosen(self.asks.iter().map(|ask| ask.column).collect(), self.table.names().len())
    }

    /// The error for cells that are not numbers or no usable ones, of rows that are taken as they are.
    pub(crate) fn bad_cells(&self, run: &Run) -> Result<Option<Error>> {
        if self.is_plain { bad_cells(&self.table, &self.asks, run) } else { Ok(None) }
    }

    /// Counts cells that are unlike those of the fit.
    fn note(&self, found: impl Iterator<Item = Unlike>) {
        // A thread that panicked while it held the lock has left whole counts.
        let mut all = self.unlike.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        all.resize(self.asks.len(), Unlike::default());
        all.iter_mut().zip(found).for_each(|(all, found)| all.add(found));
    }

    /// Cells that are unlike those of the fit, in all rows read so far.
    ///
    /// # Errors
    /// As [`Recipe::apply`], for columns that do not hold what they held in the fit.
    ///
    /// # Complexity
    /// A pass over the table if cells do not fit the type of their column, to find them.
    pub fn warnings(&self, run: &Run) -> Result<Vec<Warning>> {
        let mut rows = self.table.scan(&self.asks)?;
        if self.has_unfit.load(Ordering::Relaxed) {
            rows.each(|_| true, |_, _| Ok(()), run)?;
            self.recipe.check_cells(&self.table, &self.asks, &rows)?;
        }
        let unlike = self.unlike.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        Ok(self.recipe.warnings(&self.recipe.used_places(), &unlike, rows.tallies()))
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
        self.table.bytes_of(&self.asks)
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
        let place = Place::new(self, first, center)?;
        let rows = self.table.scan_from(first, &self.marks, &self.asks, false)?;
        Ok(match self.recipe.is_double {
            true => Centered::boxed(RecipeScan::<f64>::from(self, rows, first, run)?, place, center),
            false => Centered::boxed(RecipeScan::<f32>::from(self, rows, first, run)?, place, center),
        })
    }
}

/// Rows of a table from some row on, as features in the type that keeps their values.
struct RecipeScan<'s, T> {
    source: &'s PreparedRows,
    rows: TableRows,
    /// The rows of the last batch that are left.
    batch: Vec<ArrayRef>,
    value: PhantomData<T>,
}

impl<'s, T> RecipeScan<'s, T> {
    /// The rows from `row` on, which lies behind those read.
    fn from(source: &'s PreparedRows, rows: TableRows, row: usize, run: &Run) -> Result<Self> {
        let mut n_left = row - rows.n_rows();
        let mut scan = Self { source, rows, batch: Vec::new(), value: PhantomData };
        while n_left > 0 {
            n_left -= scan.take(n_left, run)?[0].len();
        }
        Ok(scan)
    }

    /// Number of rows of the batch that are left; reads the next batch if none are. 0 at the end.
    fn left(&mut self, run: &Run) -> Result<usize> {
        while self.batch.first().is_none_or(|array| array.is_empty()) {
            let Some(batch) = self.rows.next(run)? else { return Ok(0) };
            self.batch = batch;
        }
        Ok(self.batch[0].len())
    }

    /// Takes the next rows, at least one and at most `most`.
    fn take(&mut self, most: usize, run: &Run) -> Result<Vec<ArrayRef>> {
        let n_left = self.left(run)?;
        if n_left == 0 {
            return Err(self.changed());
        }
        Ok(take_rows(&mut self.batch, n_left.min(most)))
    }

    fn changed(&self) -> Error {
        let reason = format!("the file has changed (it had {} rows)", self.source.n_rows);
        Error::format(self.source.path(), None, reason)
    }
}

impl<T: Feature> RowScan for RecipeScan<'_, T> {
    type Value = T;

    fn read(&mut self, rows: Range<usize>, sink: &mut impl RowSink<T>, run: &Run) -> Result<()> {
        let width = self.source.n_cols();
        let mut n_left = rows.len();
        while n_left > 0 {
            let arrays = self.take(n_left, run)?;
            let step = arrays[0].len();
            let PreparedRows { recipe, is_plain, .. } = self.source;
            let mut encoders = recipe.encoders(self.source.path(), &arrays, &recipe.used_places())?;
            let has_unfit = self.rows.tallies().iter().any(|tally| tally.unfit > 0);
            self.source.has_unfit.fetch_or(has_unfit, Ordering::Relaxed);
            let has_text = *is_plain && has_unfit;
            sink.fill(step, |room| {
                room.fill(T::default());
                write_dense(&mut encoders, step, width, room);
                // A missing number is handed on; a cell that is no number is an error.
                match has_text && room.iter().any(|x| x.is_missing()) {
                    true => Err(self.source.bad_cells(run)?.unwrap_or_else(|| self.changed())),
                    false => Ok(()),
                }
            })?;
            self.source.note(encoders.into_iter().map(|encoder| encoder.unlike));
            n_left -= step;
        }
        Ok(())
    }

    /// Passes over the rows of the current batch, but no more.
    fn skip(&mut self, rows: Range<usize>, run: &Run) -> Result<bool> {
        let is_near = rows.is_empty() || rows.len() <= self.left(run)?;
        if is_near && !rows.is_empty() {
            self.take(rows.len(), run)?;
        }
        Ok(is_near)
    }
}
