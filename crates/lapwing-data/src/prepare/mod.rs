//! Tables as features: what is done with each column, decided from its cells, kept in a [`Recipe`], and repeated on new rows.
//!
//! `survey` looks at the cells of every column, `decide` chooses a step for each, `encode` carries it out. A fit holds the typed columns
//! of the table until they are encoded, batch by batch, so that memory is needed for one copy of the larger of the two.

mod choose;
mod dates;
mod decide;
mod encode;
mod levels;
pub(crate) mod plain;
mod recipe;
mod rows;
mod summary;
mod survey;
mod terms;

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use rayon::prelude::*;

use self::choose::Verdict;
pub use self::dates::DatePart;
use self::decide::{Choices, Surveyed};
use self::encode::{Encoder, Feature, Unlike, write_dense};
pub use self::recipe::{ColumnRecipe, LeftOut, Recipe, Step};
pub use self::rows::{PreparedRows, PreparedTable, prepare_rows, probe_prepared};
pub use self::summary::{ColumnSummary, Description};
use self::survey::Survey;
use crate::read::labels::LabelTexts;
use crate::read::table::{ColumnType, Tally, no_rows};
use crate::read::{ColumnKind, ReadOptions, TableFile};
use crate::{
    BadCells, BadColumn, BadColumns, Csr, Error, Fault, Features, Labels, Result, Run, SparseLabels, Spreads,
    Standardize, Warning, choices, memory,
};

choices! {
    /// Whether the columns of a table are turned into features that can be compared.
    pub enum Prepare("prepare", default Auto) {
        /// They are: categories, dates, texts and gaps too, all in one scale.
        Auto = "auto",
        /// They must be numbers without gaps, and are taken as they are.
        Off = "none",
    }
}

/// Most columns of the terms of a text, in memory and in rows that are read in blocks.
const MAX_TERMS: usize = 1 << 14;
const MAX_STREAMED_TERMS: usize = 1 << 9;

/// A table as features.
#[derive(Debug)]
#[non_exhaustive]
pub struct Prepared {
    /// One row for each row of the table.
    pub features: Features<'static>,
    /// What was done, for new rows.
    pub recipe: Recipe,
    /// The labels, if a label column was named.
    pub labels: Option<Labels>,
    /// What was found and done, column by column.
    pub description: Description,
    /// What to look at.
    pub warnings: Vec<Warning>,
}

/// New rows as features.
#[derive(Debug)]
#[non_exhaustive]
pub struct Applied {
    /// One row for each row of the table.
    pub features: Features<'static>,
    /// Cells that are unlike those of the fit.
    pub warnings: Vec<Warning>,
}

/// Columns of a table in memory.
#[derive(Debug)]
struct Held {
    /// Batches of arrays; emptied while they are encoded.
    batches: Vec<Vec<ArrayRef>>,
    n_rows: usize,
    tallies: Vec<Tally>,
}

/// The columns of a table that are read.
#[derive(Clone, Debug)]
struct Columns {
    /// Places of the columns that may become features.
    features: Vec<usize>,
    kinds: Vec<ColumnKind>,
    label: Option<usize>,
}

impl Columns {
    fn of(table: &TableFile, options: &ReadOptions) -> Result<Self> {
        let choice = crate::read::choose(table.path(), table.names(), options)?;
        let kinds = choice.features.iter().map(|&at| table.kinds()[at].clone()).collect();
        Ok(Self { features: choice.features, kinds, label: choice.label })
    }

    /// Places and types of all columns that are read: features, then the label.
    fn read(&self) -> (Vec<usize>, Vec<ColumnType>, Vec<usize>) {
        let typed = self.kinds.iter().map(ColumnKind::column_type).enumerate();
        let readable: Vec<(usize, ColumnType)> = typed.filter_map(|(at, kind)| kind.map(|kind| (at, kind))).collect();
        let mut places: Vec<usize> = readable.iter().map(|(at, _)| self.features[*at]).collect();
        let mut types: Vec<ColumnType> = readable.iter().map(|(_, kind)| *kind).collect();
        if let Some(label) = self.label {
            places.push(label);
            types.push(ColumnType::Label);
        }
        (places, types, readable.into_iter().map(|(at, _)| at).collect())
    }

    /// Takes columns as text whose cells do not fit their type; true if there are any.
    fn correct(&mut self, tallies: &[Tally], readable: &[usize]) -> bool {
        let mut is_changed = false;
        for (&at, tally) in readable.iter().zip(tallies) {
            let has_other = match self.kinds[at] {
                ColumnKind::Boolean => tally.unfit > 0,
                ColumnKind::Empty | ColumnKind::Number | ColumnKind::Date => !tally.are_few_unfit(),
                _ => false,
            };
            if has_other {
                self.kinds[at] = ColumnKind::Text;
                is_changed = true;
            }
        }
        is_changed
    }
}

/// Reads a table into features, and decides what is done with each of its columns.
///
/// | column | becomes |
/// |---|---|
/// | numbers | themselves; scaled if the table has other kinds of columns, or their units differ by orders of magnitude |
/// | truth values | one column |
/// | texts of up to 30 levels | one column for each level; one in all if the levels have a known order |
/// | texts of more levels | 64 columns, two of which a hash of the text chooses |
/// | longer texts | weights of their terms (TF-IDF), sparse |
/// | dates | year, month, weekday, time of day, seconds |
/// | lists of numbers | themselves, divided by one number |
/// | missing cells | the median (a level of their own among levels), and a mark in an extra column |
/// | constant columns, row numbers, names of the rows | nothing |
///
/// # Errors
/// As [`TableFile::open`]; [`Error::Shape`] if no column tells rows apart; [`Error::Interrupted`].
///
/// # Complexity
/// One pass over the file, two if cells far behind its start do not fit the type of their column.
pub fn prepare(path: &Path, options: &ReadOptions, standardize: Standardize, run: &Run) -> Result<Prepared> {
    LoadedTable::read(TableFile::open(path, options)?, options, run)?.prepare(standardize, None, run)
}

/// A table in memory whose columns have been looked at.
#[derive(Debug)]
pub struct LoadedTable {
    table: TableFile,
    columns: Columns,
    /// Whether the user named the columns.
    are_named: bool,
    held: Held,
    surveys: Vec<Survey>,
    labels: Option<Labels>,
}

impl LoadedTable {
    /// Reads the columns that `options` choose, and the label column if one is named.
    ///
    /// # Errors
    /// As [`prepare`].
    pub fn read(table: TableFile, options: &ReadOptions, run: &Run) -> Result<Self> {
        let mut columns = Columns::of(&table, options)?;
        let (held, surveys, labels) = read(&table, &mut columns, options, run)?;
        Ok(Self { table, columns, are_named: options.columns.is_some(), held, surveys, labels })
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.held.n_rows
    }

    /// The labels, if a label column was named.
    pub fn labels(&self) -> Option<&Labels> {
        self.labels.as_ref()
    }

    /// What the table holds and what [`prepare`](Self::prepare) would do, also if no column tells rows apart.
    pub fn describe(&self, standardize: Standardize, run: &Run) -> Description {
        let choices = self.choices(standardize);
        let (recipe, spreads) = decide::decided(&self.surveyed().as_surveyed(), &choices, run);
        self.description(&recipe, (standardize, spreads))
    }

    /// Makes features of the columns. `labels` are those of the rows if they are not in the table: they are asked whether numbers are
    /// scaled, where the numbers alone do not tell.
    ///
    /// # Errors
    /// [`Error::Format`] if no column tells rows apart; [`Error::Interrupted`].
    pub fn prepare(self, standardize: Standardize, labels: Option<&Labels>, run: &Run) -> Result<Prepared> {
        let choices = self.choices(standardize);
        let (mut recipe, spreads) = self.decided(&choices, run)?;
        let known = labels.or(self.labels.as_ref()).map(SparseLabels::from);
        let mut description = self.description(&recipe, (standardize, spreads));
        if let Some(known) = known.filter(|_| is_open(&choices, &recipe, spreads)) {
            let (scaled, _) = self.decided(&Choices { standardize: Standardize::On, ..choices }, run)?;
            if let Some(verdict) = self.verdict(&recipe, &scaled, &known) {
                recipe = if verdict.scale { scaled } else { recipe };
                description = self.description(&recipe, (standardize, spreads));
                description.note(verdict);
            }
        }
        let warnings = description.warnings(self.table.path());
        let Self { table, columns, held, labels, .. } = self;
        let (n_rows, (_, _, readable)) = (held.n_rows, columns.read());
        let (features, _) = recipe.encode(table.path(), held, n_rows, &readable, run)?;
        Ok(Prepared { features, recipe, labels, description, warnings })
    }

    fn choices(&self, standardize: Standardize) -> Choices {
        Choices { standardize, are_named: self.are_named, max_terms: MAX_TERMS }
    }

    fn surveyed(&self) -> Named<'_> {
        surveyed(&self.table, &self.columns, &self.surveys)
    }

    fn decided(&self, choices: &Choices, run: &Run) -> Result<(Recipe, Option<Spreads>)> {
        decided(&self.table, &self.columns, &self.surveys, choices, run)
    }

    fn description(&self, recipe: &Recipe, spreads: (Standardize, Option<Spreads>)) -> Description {
        Description::new(&self.table, &self.columns, recipe, &self.surveys, &self.held.tallies, spreads)
    }

    /// What the labels say about two recipes.
    fn verdict(&self, raw: &Recipe, scaled: &Recipe, labels: &SparseLabels) -> Option<Verdict> {
        let chosen = choose::chosen_rows(&labels.rows, &labels.index, raw.n_features());
        let rows: Vec<usize> = chosen.iter().map(|&at| labels.rows[at] as usize).collect();
        let classes: Vec<u32> = chosen.iter().map(|&at| labels.index[at]).collect();
        choose::compare(&self.some_rows(raw, &rows)?, &self.some_rows(scaled, &rows)?, &classes)
    }

    /// The features of the rows `rows`, ascending.
    fn some_rows(&self, recipe: &Recipe, rows: &[usize]) -> Option<Vec<f64>> {
        let width = recipe.n_features();
        let (_, _, readable) = self.columns.read();
        let mut out = vec![0.0; rows.len() * width];
        let (mut left, mut first) = (rows.iter().zip(out.chunks_exact_mut(width.max(1))).peekable(), 0);
        for batch in &self.held.batches {
            let end = first + batch.first().map_or(0, |array| array.len());
            let mut encoders = None;
            while let Some((row, out)) = left.next_if(|(row, _)| **row < end) {
                let encoders = match &mut encoders {
                    Some(encoders) => encoders,
                    none => none.insert(recipe.encoders(batch, &readable)?),
                };
                encoders.iter_mut().for_each(|encoder| encoder.each(row - first, |at, x| out[at] = x));
            }
            first = end;
        }
        Some(out)
    }
}

/// Whether the numbers alone do not tell if they are to be scaled.
fn is_open(choices: &Choices, recipe: &Recipe, spreads: Option<Spreads>) -> bool {
    choices.standardize == Standardize::Auto && !recipe.is_scaled && spreads.is_some_and(|spreads| spreads.differ)
}

/// Names and kinds of the columns that may become features.
struct Named<'s> {
    names: Vec<String>,
    kinds: &'s [ColumnKind],
    surveys: &'s [Survey],
    are_single: bool,
}

impl Named<'_> {
    fn as_surveyed(&self) -> Surveyed<'_> {
        Surveyed { names: &self.names, kinds: self.kinds, surveys: self.surveys, are_single: self.are_single }
    }
}

fn surveyed<'s>(table: &TableFile, columns: &'s Columns, surveys: &'s [Survey]) -> Named<'s> {
    Named {
        names: columns.features.iter().map(|&at| table.names()[at].clone()).collect(),
        kinds: &columns.kinds,
        surveys,
        are_single: columns.features.iter().all(|&at| table.is_single(at)),
    }
}

fn decided(
    table: &TableFile,
    columns: &Columns,
    surveys: &[Survey],
    choices: &Choices,
    run: &Run,
) -> Result<(Recipe, Option<Spreads>)> {
    let (recipe, spreads) = decide::decided(&surveyed(table, columns, surveys).as_surveyed(), choices, run);
    if recipe.n_features() == 0 {
        let reason = "no column tells rows apart: every one is empty, constant, or names the rows; --columns takes some all the same";
        return Err(Error::format(table.path(), None, reason));
    }
    Ok((recipe, spreads))
}

/// Reads the columns into memory and surveys them.
fn read(
    table: &TableFile,
    columns: &mut Columns,
    options: &ReadOptions,
    run: &Run,
) -> Result<(Held, Vec<Survey>, Option<Labels>)> {
    loop {
        let (places, types, readable) = columns.read();
        let mut surveys: Vec<Survey> = columns.kinds.iter().map(Survey::new).collect();
        let mut labels = columns.label.map(|at| LabelTexts::of_column(table, at, options.unlabeled.as_deref()));
        let mut rows = table.scan(&places, &types)?;
        let (mut batches, total) = (Vec::new(), table.bytes_of(&places));
        run.progress().start("read", total);
        while let Some(mut arrays) = rows.next(run)? {
            if let Some(labels) = &mut labels
                && let Some(array) = arrays.pop()
            {
                each_text(&array, |text| labels.push(text.unwrap_or_default()));
            }
            survey(&mut surveys, &readable, &arrays, run);
            batches.push(arrays);
            run.progress().update(rows.n_bytes().min(total), "");
        }
        let n_rows = rows.n_rows();
        if n_rows == 0 {
            return Err(no_rows(table.path()));
        }
        surveys.iter_mut().for_each(|survey| survey.set_rows(n_rows));
        if !columns.correct(rows.tallies(), &readable) {
            let labels = labels.map(|labels| labels.finish().map(Labels::from)).transpose()?;
            return Ok((Held { batches, n_rows, tallies: rows.tallies().to_vec() }, surveys, labels));
        }
    }
}

fn each_text(array: &ArrayRef, mut take: impl FnMut(Option<&str>)) {
    if let Some(texts) = array.as_string_opt::<i32>() {
        texts.iter().for_each(&mut take);
    }
}

/// Adds arrays to the surveys of the columns `readable`, in parallel.
fn survey(surveys: &mut [Survey], readable: &[usize], arrays: &[ArrayRef], run: &Run) {
    let mut places = readable.iter().zip(arrays).peekable();
    let taken = surveys
        .iter_mut()
        .enumerate()
        .filter_map(|(at, survey)| places.next_if(|(place, _)| **place == at).map(|(_, array)| (survey, array)));
    let taken: Vec<(&mut Survey, &ArrayRef)> = taken.collect();
    run.install(|| taken.into_par_iter().for_each(|(survey, array)| survey.add(array)));
}

impl Recipe {
    /// The features of new rows. Columns are found by their names, or by `columns`, the names that the used columns have in this table;
    /// other columns of the table are not read.
    ///
    /// # Errors
    /// [`Error::Format`] naming columns that are missing; [`Error::Shape`] for another number of `columns`; as [`TableFile::open`];
    /// [`Error::Interrupted`].
    pub fn apply(&self, table: &TableFile, columns: Option<&[String]>, run: &Run) -> Result<Applied> {
        let (places, types) = self.places(table, columns)?;
        let mut rows = table.scan(&places, &types)?;
        let mut batches = Vec::new();
        while let Some(arrays) = rows.next(run)? {
            batches.push(arrays);
        }
        if rows.n_rows() == 0 {
            return Err(no_rows(table.path()));
        }
        self.check_types(table, &places, rows.tallies(), rows.n_rows())?;
        let held = Held { batches, n_rows: rows.n_rows(), tallies: rows.tallies().to_vec() };
        let used: Vec<usize> = self.used_places();
        let unfit = held.tallies.clone();
        let (features, unlike) = self.encode(table.path(), held, rows.n_rows(), &used, run)?;
        Ok(Applied { features, warnings: self.warnings(&used, &unlike, &unfit) })
    }

    /// Refuses columns that hold something else than in the fit: all but a few of their cells must be of its kind.
    fn check_types(&self, table: &TableFile, places: &[usize], tallies: &[Tally], n_rows: usize) -> Result<()> {
        let bad = places.iter().zip(tallies).filter(|(_, tally)| !tally.are_few_unfit()).filter_map(|(&at, tally)| {
            let first = tally.first_unfit.as_ref()?;
            let line = Some(first.line).filter(|line| *line > 0);
            let cells = Some(BadCells { count: tally.unfit, row: first.row, line });
            Some(BadColumn { at, name: Some(table.names()[at].clone()), cells, value: first.text.clone() })
        });
        let columns: Vec<BadColumn> = bad.collect();
        let what = table.path().display().to_string();
        match columns.is_empty() {
            true => Ok(()),
            false => Err(Error::columns(BadColumns { what, fault: Fault::Text, n_rows, columns })),
        }
    }

    /// Places of the used columns among those of the recipe.
    fn used_places(&self) -> Vec<usize> {
        (0..self.columns.len()).filter(|&at| self.columns[at].step.width() > 0).collect()
    }

    /// Places in a table, and types, of the used columns.
    fn places(&self, table: &TableFile, columns: Option<&[String]>) -> Result<(Vec<usize>, Vec<ColumnType>)> {
        let used: Vec<&ColumnRecipe> = self.used_places().into_iter().map(|at| &self.columns[at]).collect();
        let names = match columns {
            None => used.iter().map(|column| column.name.clone()).collect(),
            Some(columns) if columns.len() == used.len() => columns.to_vec(),
            Some(columns) => {
                let expected = format!("{} columns, those of the fit", used.len());
                return Err(Error::shape("the list of columns", expected, format!("{} columns", columns.len())));
            }
        };
        let options = ReadOptions { columns: Some(names), ..ReadOptions::default() };
        let places = crate::read::choose(table.path(), table.names(), &options)?.features;
        let types = used.iter().map(|column| column.kind.column_type().unwrap_or(ColumnType::Text)).collect();
        Ok((places, types))
    }

    /// Encodes columns in memory; `columns` are the places of the arrays among the columns of the recipe.
    fn encode(
        &self,
        path: &Path,
        held: Held,
        n_rows: usize,
        columns: &[usize],
        run: &Run,
    ) -> Result<(Features<'static>, Vec<Unlike>)> {
        let batches: Vec<Vec<ArrayRef>> = held.batches;
        match (self.is_sparse, self.is_double) {
            (true, _) => self.encode_sparse(path, batches, n_rows, columns, run),
            (false, true) => {
                let (values, unlike) = self.encode_dense::<f64>(path, batches, n_rows, columns, run)?;
                Ok((Features::from_f64(n_rows, self.n_features(), values)?, unlike))
            }
            (false, false) => {
                let (values, unlike) = self.encode_dense::<f32>(path, batches, n_rows, columns, run)?;
                Ok((Features::from_f32(n_rows, self.n_features(), values)?, unlike))
            }
        }
    }

    fn encoders<'a>(&'a self, arrays: &'a [ArrayRef], columns: &[usize]) -> Option<Vec<Encoder<'a>>> {
        let widths: Vec<usize> = self.columns.iter().map(|column| column.step.width()).collect();
        let first = |at: usize| widths[..at].iter().sum();
        let used = columns.iter().zip(arrays).filter(|(at, _)| widths[**at] > 0);
        used.map(|(&at, array)| Encoder::new(&self.columns[at].step, array, first(at))).collect()
    }

    fn encode_dense<T: Feature>(
        &self,
        path: &Path,
        batches: Vec<Vec<ArrayRef>>,
        n_rows: usize,
        columns: &[usize],
        run: &Run,
    ) -> Result<(Vec<T>, Vec<Unlike>)> {
        let width = self.n_features();
        let what = path.display().to_string();
        let mut out: Vec<T> = memory::zeros(&what, n_rows.saturating_mul(width), "give fewer rows or columns")?;
        let mut rest = &mut out[..];
        let mut parts = Vec::with_capacity(batches.len());
        for batch in batches {
            let rows = batch.first().map_or(0, |array| array.len());
            parts.push((batch, rows, rest.split_off_mut(..rows * width).unwrap_or_default()));
        }
        let encode = |(batch, rows, out): (Vec<ArrayRef>, usize, &mut [T])| {
            run.check()?;
            let mut encoders = self.encoders(&batch, columns).ok_or_else(|| foreign(path))?;
            write_dense(&mut encoders, rows, width, out);
            Ok(encoders.into_iter().map(|encoder| encoder.unlike).collect())
        };
        let found: Vec<Result<Vec<Unlike>>> = run.install(|| parts.into_par_iter().map(encode).collect());
        Ok((out, sum(found)?))
    }

    fn encode_sparse(
        &self,
        path: &Path,
        batches: Vec<Vec<ArrayRef>>,
        n_rows: usize,
        columns: &[usize],
        run: &Run,
    ) -> Result<(Features<'static>, Vec<Unlike>)> {
        type Rows = (Vec<u64>, Vec<u32>, Vec<f32>);
        let encode = |batch: Vec<ArrayRef>| -> Result<(Rows, Vec<Unlike>)> {
            run.check()?;
            let mut encoders = self.encoders(&batch, columns).ok_or_else(|| foreign(path))?;
            let rows = batch.first().map_or(0, |array| array.len());
            let (mut ends, mut indices, mut values) = (Vec::with_capacity(rows), Vec::new(), Vec::new());
            for row in 0..rows {
                for encoder in &mut encoders {
                    encoder.each(row, |at, x| {
                        if x != 0.0 {
                            indices.push(at as u32);
                            values.push(x as f32);
                        }
                    });
                }
                ends.push(indices.len() as u64);
            }
            Ok(((ends, indices, values), encoders.into_iter().map(|encoder| encoder.unlike).collect()))
        };
        let encoded: Vec<Result<(Rows, Vec<Unlike>)>> = run.install(|| batches.into_par_iter().map(encode).collect());
        let (mut indptr, mut indices, mut values, mut unlike) = (vec![0u64], Vec::new(), Vec::new(), Vec::new());
        for part in encoded {
            let ((ends, part_indices, part_values), part_unlike) = part?;
            let before = indices.len() as u64;
            indptr.extend(ends.into_iter().map(|end| before + end));
            indices.extend(part_indices);
            values.extend(part_values);
            unlike.push(Ok(part_unlike));
        }
        let rows = Csr::new(n_rows, self.n_features(), indptr, indices, values)?;
        Ok((Features::Sparse(rows.into()), sum(unlike)?))
    }

    /// What is unlike the fit in new rows; `columns` are the places of the columns that were read.
    fn warnings(&self, columns: &[usize], unlike: &[Unlike], tallies: &[Tally]) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (place, (&at, unlike)) in columns.iter().zip(unlike).enumerate() {
            let column = || self.columns[at].name.clone();
            if let Some(first) = &unlike.first_unknown {
                warnings.push(Warning::UnknownLevels {
                    column: column(),
                    n_cells: unlike.n_unknown,
                    first: first.clone(),
                });
            }
            if unlike.n_gaps > 0 {
                warnings.push(Warning::NewGaps { column: column(), n_cells: unlike.n_gaps });
            }
            if let Some((tally, first)) =
                tallies.get(place).and_then(|tally| Some((tally, tally.first_unfit.as_ref()?)))
            {
                let kind = summary::plural(&self.columns[at].kind);
                let (n_cells, first, place) = (tally.unfit, first.text.clone(), first.place());
                warnings.push(Warning::UnfitCells { column: column(), n_cells, kind, first, place });
            }
        }
        warnings
    }
}

/// The sums of counts of all batches.
fn sum(batches: Vec<Result<Vec<Unlike>>>) -> Result<Vec<Unlike>> {
    let mut all: Vec<Unlike> = Vec::new();
    for batch in batches {
        let batch = batch?;
        all.resize(batch.len().max(all.len()), Unlike::default());
        all.iter_mut().zip(batch).for_each(|(all, batch)| all.add(batch));
    }
    Ok(all)
}

/// The error for arrays that are not of the types of a recipe.
fn foreign(path: &Path) -> Error {
    Error::format(path, None, "the columns are not of the types that the recipe reads")
}
