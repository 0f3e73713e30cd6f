//! The columns of a table on their way from the file to a recipe: which are read, as what, and what their cells say.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use rayon::prelude::*;

use super::decide::{self, Choices, Surveyed};
use super::held::Held;
use super::recipe::Recipe;
use super::survey::Survey;
use crate::read::labels::LabelTexts;
use crate::read::table::{CellType, ColumnType, RowMark, Tally, no_rows};
use crate::read::{ColumnKind, ReadOptions, TableFile};
use lapwing_core::{BadCells, BadColumn, BadColumns, Error, Fault, Result, Run, SparseLabels, Spreads, Warning};

/// The columns of a table that are read.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    /// Places of the columns that may become features.
    pub features: Vec<usize>,
    pub kinds: Vec<ColumnKind>,
    pub label: Option<usize>,
}

impl Columns {
    pub(super) fn of(table: &TableFile, options: &ReadOptions) -> Result<Self> {
        let choice = crate::read::choose(table.path(), table.names(), options)?;
        let kinds = choice.features.iter().map(|&at| table.kinds()[at].clone()).collect();
        Ok(Self { features: choice.features, kinds, label: choice.label })
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

    /// Takes columns as text whose cells do not fit their type, and leaves lists of different lengths; true if there are any.
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
            } else if matches!(self.kinds[at], ColumnKind::Vector(_)) && !tally.are_few_unfit() {
                self.kinds[at] = ColumnKind::Other("lists of different lengths".into());
                is_changed = true;
            }
        }
        is_changed
    }
}

/// What a scan of a table found.
pub(super) struct Scanned {
    pub surveys: Vec<Survey>,
    /// The labels, if there is a label column.
    pub labels: Option<SparseLabels>,
    /// What to look at in the labels.
    pub spaced: Option<Warning>,
    pub n_rows: usize,
    pub tallies: Vec<Tally>,
    /// Rows of a text at which reading can start.
    pub marks: Vec<RowMark>,
    /// The cells of the feature columns, if they are held.
    pub held: Held,
}

/// How far a scan goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All rows, whose arrays are held.
    Held,
    /// All rows, and no arrays are held.
    Passed,
    /// About so many rows.
    First(usize),
}

/// Reads columns and surveys them. If the cells of a column do not fit its type, the column is text, and all is read again.
pub(super) fn scan(
    table: &TableFile,
    columns: &mut Columns,
    options: &ReadOptions,
    extent: Extent,
    run: &Run,
) -> Result<Scanned> {
    loop {
        let (places, types, readable) = columns.read();
        let mut surveys: Vec<Survey> = columns.kinds.iter().map(Survey::new).collect();
        let mut labels = columns.label.map(|at| LabelTexts::of_column(table, at, options.unlabeled.as_deref()));
        let mut rows = table.scan(&places, &types)?;
        let total = table.bytes_of(&places);
        let are_single: Vec<bool> = places[..readable.len()].iter().map(|&at| table.is_single(at)).collect();
        let is_held = extent == Extent::Held;
        let n_known = table.n_rows().filter(|_| is_held);
        let mut held = Held::new(table.path(), &types[..readable.len()], &are_single, n_known)?;
        run.progress().start("read", total);
        let take = |mut arrays: Vec<ArrayRef>, n_bytes: u64| {
            if let Some(labels) = &mut labels
                && let Some(array) = arrays.pop()
            {
                each_text(&array, |text| labels.push(text.unwrap_or_default()));
            }
            survey(&mut surveys, &readable, &arrays);
            run.progress().update(n_bytes.min(total), "");
            if is_held { held.push(table.path(), arrays) } else { Ok(()) }
        };
        rows.each(|n_rows| extent.goes_on(n_rows), take, run)?;
        run.progress().finish();
        let n_rows = rows.n_rows();
        if n_rows == 0 {
            return Err(no_rows(table.path()));
        }
        surveys.iter_mut().for_each(|survey| survey.set_rows(n_rows));
        if !columns.correct(rows.tallies(), &readable) {
            let spaced = labels.as_ref().and_then(LabelTexts::spaced);
            let labels = labels.map(LabelTexts::finish).transpose()?;
            let (tallies, marks) = (rows.tallies().to_vec(), rows.take_marks());
            return Ok(Scanned { surveys, labels, spaced, n_rows, tallies, marks, held });
        }
    }
}

impl Extent {
    /// Whether rows are read behind the first `n_rows`.
    fn goes_on(self, n_rows: usize) -> bool {
        match self {
            Self::Held | Self::Passed => true,
            Self::First(most) => n_rows < most,
        }
    }
}

pub(super) fn each_text(array: &ArrayRef, mut take: impl FnMut(Option<&str>)) {
    if let Some(texts) = array.as_string_opt::<i32>() {
        texts.iter().for_each(&mut take);
    }
}

/// Adds arrays to the surveys of the columns `readable`, in parallel on the current pool.
fn survey(surveys: &mut [Survey], readable: &[usize], arrays: &[ArrayRef]) {
    let mut places = readable.iter().zip(arrays).peekable();
    let taken = surveys
        .iter_mut()
        .enumerate()
        .filter_map(|(at, survey)| places.next_if(|(place, _)| **place == at).map(|(_, array)| (survey, array)));
    let taken: Vec<(&mut Survey, &ArrayRef)> = taken.collect();
    taken.into_par_iter().for_each(|(survey, array)| survey.add(array));
}

/// The recipe that surveys of columns suggest, which may use none.
pub(super) fn suggested(
    table: &TableFile,
    columns: &Columns,
    surveys: &[Survey],
    choices: &Choices,
    run: &Run,
) -> (Recipe, Option<Spreads>) {
    let names: Vec<String> = columns.features.iter().map(|&at| table.names()[at].clone()).collect();
    let are_single = columns.features.iter().all(|&at| table.is_single(at));
    let written: Vec<Option<CellType>> = columns.features.iter().map(|&at| table.written(at)).collect();
    decide::decided(
        &Surveyed { names: &names, kinds: &columns.kinds, surveys, written: &written, are_single },
        choices,
        run,
    )
}

/// As [`suggested`], with at least one feature.
///
/// # Errors
/// [`Error::Format`] if no column tells rows apart.
pub(super) fn decided(
    table: &TableFile,
    columns: &Columns,
    surveys: &[Survey],
    choices: &Choices,
    run: &Run,
) -> Result<(Recipe, Option<Spreads>)> {
    let (recipe, spreads) = suggested(table, columns, surveys, choices, run);
    if recipe.n_features() == 0 {
        let reason = "no column tells rows apart: each is empty or constant, or names or counts the rows; --columns takes some all the same";
        return Err(Error::format(table.path(), None, reason));
    }
    Ok((recipe, spreads))
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
        let first = tally.first_unfit.as_ref()?;
        let line = Some(first.line).filter(|line| *line > 0);
        let cells = Some(BadCells { count: tally.unfit, row: first.row, line });
        Some(BadColumn { at, name: Some(table.names()[at].clone()), cells, value: first.text.clone() })
    });
    let mut columns: Vec<BadColumn> = bad.collect();
    columns.sort_unstable_by_key(|column| column.at);
    let what = table.path().display().to_string();
    (!columns.is_empty()).then(|| Error::columns(BadColumns { what, fault, n_rows, columns }))
}
