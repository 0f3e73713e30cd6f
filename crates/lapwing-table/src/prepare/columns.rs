//! A table on its way from the file to a recipe: which columns are read, as what, and what their cells say.

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use lapwing_core::parallel::*;

use super::held::Held;
use super::names::names_codes;
use super::survey::{Cells, NumberSurvey, Survey};
use crate::cell::{CellType, Reading, Tally, infer_counted};
use crate::read::labels::LabelTexts;
use crate::read::table::no_rows;
use crate::read::{ColumnKind, ReadOptions, TableFile, choose, find_name};
use crate::scan::{Ask, RowMark};
use lapwing_core::{BadCells, BadColumn, BadColumns, Error, Fault, Result, Run, SparseLabels, Warning};

/// A column of a table that may become features.
#[derive(Debug)]
pub(super) struct Column {
    /// Its place in the table.
    pub place: usize,
    pub name: String,
    pub kind: ColumnKind,
    /// How its cells are read.
    pub reading: Reading,
    /// Whether the user gave its kind.
    pub is_given: bool,
    /// How often its kind was found wrong.
    n_changes: u32,
    pub survey: Survey,
    /// Counts of its cells.
    pub tally: Tally,
}

/// Changes of a column, after which it is text.
const MAX_CHANGES: u32 = 3;

impl Column {
    fn new(table: &TableFile, place: usize) -> Self {
        let (name, kind) = (table.names()[place].clone(), table.kinds()[place].clone());
        let (reading, n_changes) =
            (table.written(place).into(), if table.is_category(place) { MAX_CHANGES } else { 0 });
        let (survey, tally) = (Survey::new(&kind), Tally::default());
        Self { place, name, kind, reading, is_given: false, n_changes, survey, tally }
    }

    /// Decides again what the column holds if its cells, all of which are known now, do not fit what the first ones showed; true if it is
    /// to be read as something else.
    fn correct(&mut self, table: &TableFile) -> Result<bool> {
        let (cells, tally, written) = (&self.survey.cells, &self.tally, self.reading.cells);
        let sentinel = match cells {
            Cells::Numbers(numbers) if self.reading.sentinel.is_none() => numbers.sentinel(),
            _ => None,
        };
        self.reading.sentinel = self.reading.sentinel.or(sentinel);
        let is_changed = sentinel.is_some();
        let found = match cells {
            _ if self.is_given => return Ok(is_changed),
            _ if !table.is_stored_text(self.place) => {
                let are_uneven = matches!(self.kind, ColumnKind::Vector(_)) && !tally.are_few_unfit();
                if are_uneven {
                    self.kind = ColumnKind::Other("lists of different lengths".into());
                }
                return Ok(is_changed || are_uneven);
            }
            Cells::Texts(texts) if self.n_changes == 0 => {
                let levels = texts.by_count().into_iter().map(|(text, count)| (text.as_bytes(), count));
                infer_counted(levels, table.decimal()).kind
            }
            Cells::Texts(_) => return Ok(is_changed),
            Cells::Numbers(numbers) if are_codes(&self.name, numbers, tally) => Some(CellType::Text),
            _ if tally.unfit == 0 => return Ok(is_changed),
            _ => of_tally(&table.sample(self.place)?, written, tally, table.decimal()),
        };
        let found = found.filter(|_| self.n_changes < MAX_CHANGES).unwrap_or(CellType::Text);
        if written == Some(found) || (found == CellType::Text && self.kind == ColumnKind::Text) {
            return Ok(is_changed);
        }
        (self.kind, self.reading.cells) = (ColumnKind::of_cells(Some(found)), Some(found));
        self.n_changes += 1;
        Ok(true)
    }
}

/// Whether whole numbers have leading zeros, as codes have: three digits at least, or a name that says so.
fn are_codes(name: &str, numbers: &NumberSurvey, tally: &Tally) -> bool {
    tally.padded > 0 && numbers.are_integers() && (tally.short == 0 || names_codes(name))
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

/// A table with what reading it once has shown.
pub(super) struct Surveyed {
    pub table: TableFile,
    /// The columns that may become features.
    pub columns: Vec<Column>,
    /// Whether the user named them, so that none is taken for an identifier.
    pub are_named: bool,
    /// The place of the label column.
    pub label: Option<usize>,
    /// The labels, if there is a label column.
    pub labels: Option<SparseLabels>,
    /// What to look at in the labels.
    pub spaced: Option<Warning>,
    /// What was passed over in a text, in words.
    pub passed: Vec<String>,
    pub n_rows: usize,
    /// Rows of a text at which reading can start.
    pub marks: Vec<RowMark>,
    /// The cells of the columns that were read, if they are held.
    pub held: Held,
}

impl Surveyed {
    /// The columns that `options` choose, which have not been read.
    pub(super) fn new(table: TableFile, options: &ReadOptions) -> Result<Self> {
        let choice = choose(table.path(), table.names(), options)?;
        options.label_column.as_deref().map(|name| table.label_place(name)).transpose()?;
        let mut columns: Vec<Column> = choice.features.into_iter().map(|place| Column::new(&table, place)).collect();
        for (name, read_as) in &options.read_as {
            let place = find_name(table.path(), table.names(), name)?;
            let Some(column) = columns.iter_mut().find(|column| column.place == place) else {
                return Err(Error::param("read-as column", format!("'{name}'"), "a column that is a feature"));
            };
            let cells = read_as.cell_type(table.decimal());
            if matches!(cells, CellType::Date(_)) && !table.is_stored_text(place) {
                let stored = table.stored_type(place);
                let reason = format!("column '{name}' holds {stored}; only texts can be read as dates");
                return Err(Error::format(table.path(), None, reason));
            }
            (column.kind, column.reading) = (ColumnKind::of_cells(Some(cells)), Some(cells).into());
            column.is_given = true;
        }
        let (are_named, held) = (options.columns.is_some(), Held::new(&table, &[])?);
        let (labels, spaced, passed, n_rows, marks) = (None, None, Vec::new(), 0, Vec::new());
        Ok(Self { table, columns, are_named, label: choice.label, labels, spaced, passed, n_rows, marks, held })
    }

    /// Places of the columns that can be read, among those that may become features.
    pub(super) fn readable(&self) -> Vec<usize> {
        (0..self.columns.len()).filter(|&at| self.columns[at].kind.is_readable()).collect()
    }

    /// Reads the columns and surveys them. If all cells of a column show that it holds something else than the first ones did, all is
    /// read again.
    ///
    /// # Errors
    /// [`Error::Format`] for a table without rows, and malformed lines; [`Error::TooLarge`]; [`Error::Interrupted`].
    pub(super) fn read(mut self, options: &ReadOptions, extent: Extent, run: &Run) -> Result<Self> {
        loop {
            let Self { table, columns, label, .. } = &mut self;
            let asks = columns.iter().filter_map(|column| table.ask_as(column.place, &column.kind, column.reading));
            let asks: Vec<Ask> = asks.chain(label.map(|at| Ask::new(at, CellType::Label))).collect();
            let mut labels = label.map(|at| LabelTexts::of_column(table, at, options.unlabeled.as_deref()));
            let mut rows = table.scan(&asks)?;
            let total = table.bytes_of(&asks);
            let is_held = matches!(extent, Extent::Held | Extent::Plain);
            let n_held = if is_held { asks.len() - usize::from(label.is_some()) } else { 0 };
            let mut held = Held::new(table, &asks[..n_held])?;
            columns.iter_mut().for_each(|column| {
                (column.survey, column.tally) = (Survey::new(&column.kind), Tally::default());
            });
            let mut read: Vec<&mut Column> = columns.iter_mut().filter(|column| column.kind.is_readable()).collect();
            run.progress().start("read", total);
            let take = |mut arrays: Vec<ArrayRef>, n_bytes: u64| {
                if let Some(labels) = &mut labels
                    && let Some(array) = arrays.pop()
                {
                    each_text(&array, |text| labels.push(text));
                }
                if extent != Extent::Plain {
                    read.par_iter_mut().zip(&arrays).for_each(|(column, array)| column.survey.add(array));
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
            read.iter_mut().zip(rows.tallies()).for_each(|(column, tally)| column.tally = tally.clone());
            let mut is_changed = false;
            for column in columns.iter_mut() {
                column.survey.set_rows(n_rows);
                is_changed |= extent != Extent::Plain && column.kind.is_readable() && column.correct(table)?;
            }
            if !is_changed {
                let spaced = labels.as_ref().and_then(LabelTexts::spaced);
                let labels = labels.map(LabelTexts::finish).transpose()?;
                let passed = table.passed().iter().cloned().chain(rows.passed()).collect();
                return Ok(Self { labels, spaced, passed, n_rows, marks: rows.take_marks(), held, ..self });
            }
        }
    }
}

/// Calls `take` with every text of an array, the empty one for a missing cell.
pub(super) fn each_text(array: &ArrayRef, mut take: impl FnMut(&str)) {
    let texts = array.as_string_opt::<i32>();
    texts.into_iter().flatten().for_each(|text| take(text.unwrap_or_default()));
}

/// The error `fault` for the columns whose cells do not fit their type and for which `is_bad` holds; `None` if there are none. Each column
/// comes with its place.
pub(super) fn unfit_cells<'t>(
    fault: Fault,
    table: &TableFile,
    columns: impl Iterator<Item = (usize, &'t Tally)>,
    n_rows: usize,
    is_bad: impl Fn(&Tally) -> bool,
) -> Option<Error> {
    let bad = columns.filter(|(_, tally)| is_bad(tally)).filter_map(|(at, tally)| {
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
