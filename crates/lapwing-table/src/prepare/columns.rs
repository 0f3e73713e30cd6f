//! A table on its way from the file to a recipe: which columns are read, as what, and what their cells say.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use rayon::prelude::*;

use super::decide::{self, Choices, names_codes};
use super::held::Held;
use super::recipe::Recipe;
use super::survey::{Cells, NumberSurvey, Survey, TextSurvey};
use crate::read::cell::infer_counted;
use crate::read::labels::LabelTexts;
use crate::read::table::{CellType, ColumnType, Reading, RowMark, Tally, no_rows};
use crate::read::{ColumnKind, ReadAs, ReadOptions, TableFile, find_name};
use lapwing_core::{
    BadCells, BadColumn, BadColumns, Error, Fault, Result, Run, SparseLabels, Spreads, Standardize, Warning,
};

/// The columns of a table that are read.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    /// Places of the columns that may become features.
    pub features: Vec<usize>,
    pub kinds: Vec<ColumnKind>,
    /// How the cells of the features are read.
    pub readings: Vec<Reading>,
    pub label: Option<usize>,
    /// Which kinds the user gave.
    pub are_given: Vec<bool>,
    /// Whether the user named the columns.
    are_named: bool,
    /// How often the kind of each column was found wrong.
    n_changes: Vec<u32>,
}

/// Changes of a column, after which it is text.
const MAX_CHANGES: u32 = 3;

impl Columns {
    pub(super) fn of(table: &TableFile, options: &ReadOptions) -> Result<Self> {
        let choice = crate::read::choose(table.path(), table.names(), options)?;
        options.label_column.as_deref().map(|name| table.label_place(name)).transpose()?;
        let kinds: Vec<ColumnKind> = choice.features.iter().map(|&at| table.kinds()[at].clone()).collect();
        let readings = choice.features.iter().map(|&at| table.written(at).into()).collect();
        let n_changes = |at: &usize| if table.is_category(*at) { MAX_CHANGES } else { 0 };
        let n_changes = choice.features.iter().map(n_changes).collect();
        let (are_given, are_named) = (vec![false; kinds.len()], options.columns.is_some());
        let (features, label) = (choice.features, choice.label);
        let mut columns = Self { features, kinds, readings, label, are_given, are_named, n_changes };
        options.read_as.iter().try_for_each(|(name, read_as)| columns.give(table, name, *read_as))?;
        Ok(columns)
    }

    /// Has the column `name` read as the user says.
    fn give(&mut self, table: &TableFile, name: &str, read_as: ReadAs) -> Result<()> {
        let place = find_name(table.path(), table.names(), name)?;
        let Some(at) = self.features.iter().position(|&feature| feature == place) else {
            return Err(Error::param("read-as column", format!("'{name}'"), "a column that is a feature"));
        };
        let cells = read_as.cell_type(table.decimal());
        if matches!(cells, CellType::Date(_)) && !table.is_stored_text(place) {
            let reason = format!("column '{name}' holds {}; only texts can be read as dates", table.stored_type(place));
            return Err(Error::format(table.path(), None, reason));
        }
        self.kinds[at] = ColumnKind::of_cells(Some(cells));
        self.readings[at] = Some(cells).into();
        self.are_given[at] = true;
        Ok(())
    }

    /// Places and types of all columns that are read: features, then the label.
    pub(super) fn read(&self) -> (Vec<usize>, Vec<ColumnType>, Vec<usize>) {
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

    /// Decides again what columns hold whose cells, all of which are known now, do not fit what the first ones showed; true if a column
    /// is to be read as something else.
    fn correct(
        &mut self,
        table: &TableFile,
        tallies: &[Tally],
        surveys: &[Survey],
        readable: &[usize],
    ) -> Result<bool> {
        let mut is_changed = false;
        for (&at, tally) in readable.iter().zip(tallies) {
            let place = self.features[at];
            if let (Cells::Numbers(numbers), None) = (&surveys[at].cells, self.readings[at].sentinel)
                && let Some(sentinel) = numbers.sentinel()
            {
                self.readings[at].sentinel = Some(sentinel);
                is_changed = true;
            }
            let written = self.readings[at].cells;
            let found = match (&surveys[at].cells, written) {
                _ if self.are_given[at] => continue,
                _ if !table.is_stored_text(place) => {
                    if matches!(self.kinds[at], ColumnKind::Vector(_)) && !tally.are_few_unfit() {
                        self.kinds[at] = ColumnKind::Other("lists of different lengths".into());
                        is_changed = true;
                    }
                    continue;
                }
                (Cells::Texts(texts), _) if self.n_changes[at] == 0 => of_levels(texts, table.decimal()),
                (Cells::Texts(_), _) => continue,
                (Cells::Numbers(numbers), _) if are_codes(&table.names()[place], numbers, tally) => {
                    Some(CellType::Text)
                }
                _ if tally.unfit == 0 => continue,
                (_, written) => of_tally(&table.sample(place)?, written, tally, table.decimal()),
            };
            let found = found.filter(|_| self.n_changes[at] < MAX_CHANGES).unwrap_or(CellType::Text);
            let is_same = written == Some(found) || (found == CellType::Text && self.kinds[at] == ColumnKind::Text);
            if !is_same {
                self.kinds[at] = ColumnKind::of_cells(Some(found));
                self.readings[at].cells = Some(found);
                self.n_changes[at] += 1;
                is_changed = true;
            }
        }
        Ok(is_changed)
    }
}

/// Whether whole numbers have leading zeros, as codes have: three digits at least, or a name that says so.
fn are_codes(name: &str, numbers: &NumberSurvey, tally: &Tally) -> bool {
    tally.padded > 0 && numbers.are_integers() && (tally.short == 0 || names_codes(name))
}

/// What the levels of a column of texts are written as.
fn of_levels(texts: &TextSurvey, decimal: u8) -> Option<CellType> {
    let mut levels: Vec<(&[u8], usize)> = texts.levels.iter().map(|(text, &count)| (text.as_bytes(), count)).collect();
    levels.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    infer_counted(levels.into_iter(), decimal).kind
}

/// What the cells of a column are written as: the first ones, of which those that fit `written` stand for all that do, and the others.
fn of_tally(sample: &[Vec<u8>], written: Option<CellType>, tally: &Tally, decimal: u8) -> Option<CellType> {
    let fit = || sample.iter().map(Vec::as_slice).filter(|cell| written.is_some_and(|written| written.fits(cell)));
    let (n_sample, n_others) =
        (fit().count().max(1), tally.others.iter().map(|other| other.count).sum::<usize>().max(1));
    let weight = ((tally.filled - tally.unfit) / n_sample).max(1);
    let others =
        tally.others.iter().map(|other| (other.text.as_slice(), (other.count * tally.unfit / n_others).max(1)));
    infer_counted(fit().map(|cell| (cell, weight)).chain(others), decimal).kind
}

/// How far a table is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All rows, which are held.
    Held,
    /// All rows, which are held and not looked at.
    Plain,
    /// All rows, and none are held.
    Passed,
    /// About so many rows, and none are held.
    First(usize),
}

/// A table that has been read once.
pub(super) struct Surveyed {
    pub table: TableFile,
    pub columns: Columns,
    /// Places of the columns that were read, among those that may become features.
    pub readable: Vec<usize>,
    pub surveys: Vec<Survey>,
    /// The labels, if there is a label column.
    pub labels: Option<SparseLabels>,
    /// What to look at in the labels.
    pub spaced: Option<Warning>,
    /// What was passed over in a text, in words.
    pub passed: Vec<String>,
    pub n_rows: usize,
    /// Counts of the cells of the columns that were read.
    pub tallies: Vec<Tally>,
    /// Rows of a text at which reading can start.
    pub marks: Vec<RowMark>,
    /// The cells of the columns that were read, if they are held.
    pub held: Held,
}

impl Surveyed {
    /// Reads columns and surveys them. If all cells of a column show that it holds something else than the first ones did, all is read
    /// again.
    ///
    /// # Errors
    /// [`Error::Format`] for a table without rows, and malformed lines; [`Error::TooLarge`]; [`Error::Interrupted`].
    pub(super) fn read(
        table: TableFile,
        mut columns: Columns,
        options: &ReadOptions,
        extent: Extent,
        run: &Run,
    ) -> Result<Self> {
        loop {
            let (places, types, readable) = columns.read();
            let mut surveys: Vec<Survey> = columns.kinds.iter().map(Survey::new).collect();
            let mut labels = columns.label.map(|at| LabelTexts::of_column(&table, at, options.unlabeled.as_deref()));
            let readings =
                readable.iter().map(|&at| columns.readings[at]).chain(labels.iter().map(|_| Reading::default()));
            let mut rows = table.scan_read(&places, &types, &readings.collect::<Vec<_>>())?;
            let total = table.bytes_of(&places);
            let n_held = if matches!(extent, Extent::Held | Extent::Plain) { readable.len() } else { 0 };
            let mut held = Held::new(&table, &places[..n_held], &types)?;
            run.progress().start("read", total);
            let take = |mut arrays: Vec<ArrayRef>, n_bytes: u64| {
                if let Some(labels) = &mut labels
                    && let Some(array) = arrays.pop()
                {
                    each_text(&array, |text| labels.push(text));
                }
                let survey = |(at, survey): (usize, &mut Survey)| {
                    if let Ok(place) = readable.binary_search(&at) {
                        survey.add(&arrays[place]);
                    }
                };
                if extent != Extent::Plain {
                    surveys.par_iter_mut().enumerate().for_each(survey);
                }
                run.progress().update(n_bytes.min(total), "");
                held.push(arrays)
            };
            rows.each(|n_rows| !matches!(extent, Extent::First(most) if n_rows >= most), take, run)?;
            run.progress().finish();
            let n_rows = rows.n_rows();
            if n_rows == 0 {
                return Err(no_rows(table.path()));
            }
            surveys.iter_mut().for_each(|survey| survey.set_rows(n_rows));
            if extent == Extent::Plain || !columns.correct(&table, rows.tallies(), &surveys, &readable)? {
                let spaced = labels.as_ref().and_then(LabelTexts::spaced);
                let labels = labels.map(LabelTexts::finish).transpose()?;
                let (tallies, marks) = (rows.tallies().to_vec(), rows.take_marks());
                let passed = table.passed().iter().cloned().chain(rows.passed()).collect();
                return Ok(Self {
                    table,
                    columns,
                    readable,
                    surveys,
                    labels,
                    spaced,
                    passed,
                    n_rows,
                    tallies,
                    marks,
                    held,
                });
            }
        }
    }

    /// Choices of a fit without labels; texts have at most `max_terms` terms.
    pub(super) fn choices(&self, standardize: Standardize, max_terms: usize) -> Choices {
        Choices { standardize, is_told: false, are_named: self.columns.are_named, max_terms }
    }

    /// The recipe that the surveys suggest, with at least one feature.
    ///
    /// # Errors
    /// [`Error::Format`] if no column tells rows apart.
    pub(super) fn decided(&self, choices: &Choices, run: &Run) -> Result<(Recipe, Option<Spreads>)> {
        let (recipe, spreads) = decide::suggested(self, choices, run);
        if recipe.n_features() == 0 {
            let reason = "no column tells rows apart: each is empty or constant, or names or counts the rows; --columns takes some all the same";
            return Err(Error::format(self.table.path(), None, reason));
        }
        Ok((recipe, spreads))
    }
}

/// Calls `take` with every text of an array, the empty one for a missing cell.
pub(super) fn each_text(array: &ArrayRef, mut take: impl FnMut(&str)) {
    let texts = array.as_string_opt::<i32>();
    texts.into_iter().flatten().for_each(|text| take(text.unwrap_or_default()));
}

/// The error, of this fault, for columns with cells that do not fit their type, among those for which `is_bad` holds; `None` without
/// such.
pub(super) fn unfit_cells(
    fault: Fault,
    table: &TableFile,
    places: &[usize],
    (tallies, n_rows): (&[Tally], usize),
    is_bad: impl Fn(&Tally) -> bool,
) -> Option<Error> {
    let bad = places.iter().zip(tallies).filter(|(_, tally)| is_bad(tally)).filter_map(|(&at, tally)| {
        let first = tally.first_unfit()?;
        let line = Some(first.line).filter(|line| *line > 0);
        let cells = Some(BadCells { count: tally.unfit, row: first.row, line });
        Some(BadColumn { at, name: Some(table.names()[at].clone()), cells, value: first.shown() })
    });
    let mut columns: Vec<BadColumn> = bad.collect();
    columns.sort_unstable_by_key(|column| column.at);
    let what = table.path().display().to_string();
    (!columns.is_empty()).then(|| Error::columns(BadColumns { what, fault, n_rows, columns }))
}
