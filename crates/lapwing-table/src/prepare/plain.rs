//! Tables whose columns must be numbers, taken as they are.

use std::collections::BTreeMap;
use std::path::Path;

use arrow_array::ArrayRef;

use super::Recipe;
use super::columns::{Columns, each_text, unfit_cells};
use super::held::{Encoding, Held};
use crate::prepare::{ColumnRecipe, Step};
use crate::read::labels::LabelTexts;
use crate::read::origin::SampleOrigin;
use crate::read::table::{ColumnType, Reading, TableRows, Tally, no_rows};
use crate::read::{ColumnKind, ReadOptions, Samples, Size, TableFile};
use lapwing_core::bad_columns::ValueSurvey;
use lapwing_core::{BadColumn, BadColumns, Error, Fault, Labels, Result, Run, SparseLabels};

/// Columns that must be numbers.
#[derive(Debug)]
pub(super) struct Plain {
    columns: Columns,
    pub(super) recipe: Recipe,
}

impl Plain {
    /// The columns that `options` choose.
    ///
    /// # Errors
    /// [`Error::Columns`] naming all columns of a type that is not a number.
    pub(super) fn of(table: &TableFile, options: &ReadOptions) -> Result<Self> {
        let mut columns = Columns::of(table, options)?;
        for (kind, &at) in columns.kinds.iter_mut().zip(&columns.features) {
            if !table.is_text() && table.is_stored_text(at) {
                *kind = ColumnKind::Text;
            }
            // Cells of a text are looked at one by one.
            let is_number = table.is_text() || matches!(kind, ColumnKind::Empty | ColumnKind::Boolean);
            if is_number {
                *kind = ColumnKind::Number;
            }
        }
        let is_number = |kind: &ColumnKind| matches!(kind, ColumnKind::Number | ColumnKind::Vector(_));
        let mut others: Vec<usize> = (0..columns.kinds.len()).filter(|&at| !is_number(&columns.kinds[at])).collect();
        if !others.is_empty() {
            others.sort_unstable_by_key(|&at| columns.features[at]);
            let column = |&at: &usize| {
                let place = columns.features[at];
                let (name, value) = (Some(table.names()[place].clone()), table.stored_type(place));
                BadColumn { at: place, name, cells: None, value }
            };
            let columns = others.iter().map(column).collect();
            let (what, n_rows) = (table.path().display().to_string(), table.n_rows().unwrap_or(0));
            return Err(Error::columns(BadColumns { what, fault: Fault::Type, n_rows, columns }));
        }
        let recipe = plain_recipe(table, &columns);
        Ok(Self { columns, recipe })
    }

    /// The error for cells that are not numbers, if there are any.
    pub(super) fn text_cells(&self, table: &TableFile, tallies: &[Tally], n_rows: usize) -> Option<Error> {
        unfit_cells(Fault::Text, table, &self.columns.features, (tallies, n_rows), |tally| tally.unfit > 0)
    }

    /// Reads all rows again, and returns the error for cells that are not numbers or no usable ones.
    pub(super) fn bad_cells(&self, table: &TableFile, run: &Run) -> Result<Option<Error>> {
        let (places, types, _) = self.columns.read();
        let n = self.columns.features.len();
        let mut rows = table.scan(&places[..n], &types[..n])?;
        let (mut survey, mut row) = (ValueSurvey::default(), 0);
        loop {
            let arrays = match rows.next(run) {
                Ok(Some(arrays)) => arrays,
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                // After a malformed line, the columns of further lines are unknown.
                Ok(None) | Err(_) => break,
            };
            for (at, array) in arrays.iter().enumerate() {
                let values = super::encode::numbers_of(array);
                values.iter().enumerate().for_each(|(here, &x)| survey.look(at, row + here, None, x));
            }
            row = rows.n_rows();
        }
        if let Some(error) = self.text_cells(table, rows.tallies(), row) {
            return Ok(Some(error));
        }
        let names: Vec<String> = self.columns.features.iter().map(|&at| table.names()[at].clone()).collect();
        let origin = self.origin(table, rows.tallies());
        Ok(survey.finish("features", row).map(|bad| Error::columns(origin.named_columns(bad, Some(&names)))))
    }

    /// The origin of the features, with the lines of the first bad values.
    fn origin(&self, table: &TableFile, tallies: &[Tally]) -> SampleOrigin {
        let lines: BTreeMap<usize, u64> =
            tallies.iter().enumerate().filter_map(|(at, tally)| Some((at, tally.first_bad_line?))).collect();
        SampleOrigin { lines, positions: Some(self.columns.features.clone()), ..SampleOrigin::new(table.path()) }
    }

    pub(super) fn read(&self) -> (Vec<usize>, Vec<ColumnType>) {
        let (places, types, _) = self.columns.read();
        (places, types)
    }
}

/// The recipe that leaves numbers as they are.
fn plain_recipe(table: &TableFile, columns: &Columns) -> Recipe {
    let step = |kind: &ColumnKind| match kind {
        ColumnKind::Vector(length) => Step::Vector { fill: vec![f64::NAN; *length], weight: None, gap: None },
        _ => Step::Number { fill: f64::NAN, center: 0.0, scale: 1.0, log: None, gap: None },
    };
    let column = |(&at, kind): (&usize, &ColumnKind)| {
        let (name, step) = (table.names()[at].clone(), step(kind));
        ColumnRecipe { name, kind: kind.clone(), reading: Reading::default(), step }
    };
    let is_double = !columns.features.iter().all(|&at| table.is_single(at));
    let columns = columns.features.iter().zip(&columns.kinds).map(column).collect();
    Recipe { columns, is_sparse: false, is_double, is_scaled: false, gaps: None }
}

/// Reads samples: in single precision if that keeps every column, else in double precision.
pub(crate) fn read_samples(path: &Path, options: &ReadOptions, run: &Run) -> Result<Samples> {
    let table = TableFile::open(path, options)?;
    let plain = Plain::of(&table, options)?;
    let (places, types) = plain.read();
    let mut rows = table.scan(&places, &types)?;
    let label = |at: usize| LabelTexts::of_column(&table, at, options.unlabeled.as_deref());
    let mut labels = plain.columns.label.map(label);
    let n_features = plain.columns.features.len();
    let are_single: Vec<bool> = places[..n_features].iter().map(|&at| table.is_single(at)).collect();
    let mut held = Held::new(table.path(), &types[..n_features], &are_single, table.n_rows())?;
    let take = |mut arrays: Vec<ArrayRef>, _: u64| {
        if let (Some(labels), Some(array)) = (&mut labels, plain.columns.label.and_then(|_| arrays.pop())) {
            each_text(&array, |text| labels.push(text.unwrap_or_default()));
        }
        held.push(table.path(), arrays)
    };
    rows.each(|_| true, take, run)?;
    let n_rows = rows.n_rows();
    if n_rows == 0 {
        return Err(no_rows(table.path()));
    }
    if let Some(error) = plain.text_cells(&table, rows.tallies(), n_rows) {
        return Err(error);
    }
    let origin = plain.origin(&table, rows.tallies());
    let all: Vec<usize> = (0..n_features).collect();
    let encoding = Encoding { recipe: &plain.recipe, path: table.path(), columns: &all };
    let (features, _) = held.encode(encoding, run)?;
    let warnings = labels.as_ref().and_then(LabelTexts::spaced).into_iter().collect();
    let labels = labels.map(|labels| labels.finish().map(Labels::from)).transpose()?;
    Ok(Samples { features, feature_names: Some(plain.recipe.feature_names()), labels, names: None, warnings, origin })
}

/// Size of the features: the rows of a text are counted.
pub(crate) fn probe(path: &Path, options: &ReadOptions) -> Result<Size> {
    let table = TableFile::open(path, options)?;
    let plain = Plain::of(&table, options)?;
    let n_rows = count(&table, &Run::new(Some(1), 0)?)?;
    Ok(Size::dense(n_rows, plain.recipe.n_features(), if plain.recipe.is_double { 8 } else { 4 }))
}

/// The number of rows of a table.
pub(super) fn count(table: &TableFile, run: &Run) -> Result<usize> {
    match table.n_rows() {
        Some(n_rows) => Ok(n_rows),
        None => counted(table, run).map(|rows| rows.n_rows()),
    }
}

/// Reads a table to its end, which counts its rows and marks some of them.
pub(super) fn counted(table: &TableFile, run: &Run) -> Result<TableRows> {
    // Only texts have rows without cells.
    let readable = (0..table.kinds().len()).find_map(|at| Some((at, table.kinds()[at].column_type()?)));
    let (columns, types): (Vec<usize>, Vec<ColumnType>) = readable.filter(|_| !table.is_text()).into_iter().unzip();
    let mut rows = table.scan(&columns, &types)?;
    let total = table.bytes_of(&columns);
    run.progress().start("scan", total);
    while rows.next(run)?.is_some() {
        run.progress().update(rows.n_bytes().min(total), "");
    }
    run.progress().finish();
    Ok(rows)
}

/// Reads the label column alone.
pub(crate) fn read_labels(path: &Path, options: &ReadOptions, column: &str, run: &Run) -> Result<SparseLabels> {
    let table = TableFile::open(path, options)?;
    let at = table.label_place(column)?;
    let mut labels = LabelTexts::of_column(&table, at, options.unlabeled.as_deref());
    let mut rows = table.scan(&[at], &[ColumnType::Label])?;
    while let Some(arrays) = rows.next(run)? {
        arrays.iter().for_each(|array| each_text(array, |text| labels.push(text.unwrap_or_default())));
    }
    if rows.n_rows() == 0 { Err(no_rows(table.path())) } else { labels.finish() }
}
