//! Tables whose columns must be numbers, taken as they are.

use std::path::Path;

use arrow_array::cast::AsArray;

use super::Recipe;
use super::columns::{Columns, Extent, Surveyed, each_text, unfit_cells};
use super::encode::numbers_of;
use crate::prepare::{ColumnRecipe, Step};
use crate::read::labels::LabelTexts;
use crate::read::origin::SampleOrigin;
use crate::read::table::{ColumnType, Reading, RowMark, TableRows, Tally, no_rows};
use crate::read::{ColumnKind, ReadOptions, Samples, Size, TableFile};
use lapwing_core::bad_columns::ValueSurvey;
use lapwing_core::{BadColumn, BadColumns, Error, Fault, Labels, Result, Run, SparseLabels};

/// The columns that `options` choose, all of which are read as numbers, and the recipe that leaves these as they are.
///
/// # Errors
/// [`Error::Columns`] naming all columns of a type that is not a number.
pub(super) fn plain(table: &TableFile, options: &ReadOptions) -> Result<(Columns, Recipe)> {
    let mut columns = Columns::of(table, options)?;
    columns.readings = columns.features.iter().map(|&at| table.written(at).into()).collect();
    let (mut recipes, mut others) = (Vec::new(), Vec::new());
    for (kind, &at) in columns.kinds.iter_mut().zip(&columns.features) {
        let name = table.names()[at].clone();
        let step = match kind {
            // Cells of a text are looked at one by one.
            _ if !table.is_text() && table.is_stored_text(at) => None,
            ColumnKind::Vector(length) if !table.is_text() => {
                Some(Step::Vector { fill: vec![f64::NAN; *length], weight: None, gap: None })
            }
            ColumnKind::Number | ColumnKind::Empty | ColumnKind::Boolean => Some(number()),
            _ => Some(number()).filter(|_| table.is_text()),
        };
        match step {
            Some(step) => {
                *kind = if matches!(step, Step::Number { .. }) { ColumnKind::Number } else { kind.clone() };
                recipes.push(ColumnRecipe { name, kind: kind.clone(), reading: Reading::default(), step });
            }
            None => others.push(BadColumn { at, name: Some(name), cells: None, value: table.stored_type(at) }),
        }
    }
    if !others.is_empty() {
        others.sort_unstable_by_key(|column| column.at);
        let (what, n_rows) = (table.path().display().to_string(), table.n_rows().unwrap_or(0));
        return Err(Error::columns(BadColumns { what, fault: Fault::Type, n_rows, columns: others }));
    }
    let is_double = !columns.features.iter().all(|&at| table.is_single(at));
    Ok((columns, Recipe { columns: recipes, is_double, ..Recipe::default() }))
}

/// The step that leaves a number as it is.
fn number() -> Step {
    Step::Number { fill: f64::NAN, center: 0.0, scale: 1.0, log: None, gap: None }
}

/// The error for cells of the columns `places` that are not numbers, if there are any.
fn text_cells(table: &TableFile, places: &[usize], tallies: &[Tally], n_rows: usize) -> Option<Error> {
    unfit_cells(Fault::Text, table, places, (tallies, n_rows), |tally| tally.unfit > 0)
}

/// Reads all rows of the columns `places`, and returns the error for cells that are not numbers or no usable ones.
pub(super) fn bad_cells(table: &TableFile, places: &[usize], mut rows: TableRows, run: &Run) -> Result<Option<Error>> {
    let (mut survey, mut row) = (ValueSurvey::default(), 0);
    loop {
        let arrays = match rows.next(run) {
            Ok(Some(arrays)) => arrays,
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            // After a malformed line, the columns of further lines are unknown.
            Ok(None) | Err(_) => break,
        };
        for (at, array) in arrays.iter().enumerate() {
            let values = numbers_of(array.as_fixed_size_list_opt().map_or(array, |lists| lists.values()));
            values
                .iter()
                .flat_map(|values| values.iter())
                .enumerate()
                .for_each(|(here, &x)| survey.look(at, row + here, None, x));
        }
        row = rows.n_rows();
    }
    if let Some(error) = text_cells(table, places, rows.tallies(), row) {
        return Ok(Some(error));
    }
    let names: Vec<String> = places.iter().map(|&at| table.names()[at].clone()).collect();
    let origin = origin(table, places, rows.tallies());
    Ok(survey.finish("features", row).map(|bad| Error::columns(origin.named_columns(bad, Some(&names)))))
}

/// The origin of the features, with the lines of the first bad values.
fn origin(table: &TableFile, places: &[usize], tallies: &[Tally]) -> SampleOrigin {
    let lines = tallies.iter().enumerate().filter_map(|(at, tally)| Some((at, tally.first_bad_line?))).collect();
    SampleOrigin { lines, positions: Some(places.to_vec()), ..SampleOrigin::new(table.path()) }
}

/// Reads samples: in single precision if that keeps every column, else in double precision.
pub(crate) fn read_samples(path: &Path, options: &ReadOptions, run: &Run) -> Result<Samples> {
    let table = TableFile::open(path, options)?;
    let (columns, recipe) = plain(&table, options)?;
    let Surveyed { table, columns, readable, labels, spaced, n_rows, tallies, held, .. } =
        Surveyed::read(table, columns, options, Extent::Plain, run)?;
    if let Some(error) = text_cells(&table, &columns.features, &tallies, n_rows) {
        return Err(error);
    }
    let origin = origin(&table, &columns.features, &tallies);
    let (features, _) = held.encode(&recipe, &readable, run)?;
    let (feature_names, labels) = (Some(recipe.feature_names()), labels.map(Labels::from));
    Ok(Samples { features, feature_names, labels, names: None, warnings: spaced.into_iter().collect(), origin })
}

/// Size of the features: the rows of a text are counted.
pub(crate) fn probe(path: &Path, options: &ReadOptions) -> Result<Size> {
    let table = TableFile::open(path, options)?;
    let (_, recipe) = plain(&table, options)?;
    let (n_rows, _) = counted(&table, &Run::new(Some(1), 0)?)?;
    Ok(Size::dense(n_rows, recipe.n_features(), if recipe.is_double { 8 } else { 4 }))
}

/// The number of rows of a table, and marks in a text: what does not state the number is read to its end.
pub(super) fn counted(table: &TableFile, run: &Run) -> Result<(usize, Vec<RowMark>)> {
    if let Some(n_rows) = table.n_rows() {
        return Ok((n_rows, Vec::new()));
    }
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
    Ok((rows.n_rows(), rows.take_marks()))
}

/// Reads the label column alone.
pub(crate) fn read_labels(path: &Path, options: &ReadOptions, column: &str, run: &Run) -> Result<SparseLabels> {
    let table = TableFile::open(path, options)?;
    let at = table.label_place(column)?;
    let mut labels = LabelTexts::of_column(&table, at, options.unlabeled.as_deref());
    let mut rows = table.scan(&[at], &[ColumnType::Label])?;
    while let Some(arrays) = rows.next(run)? {
        arrays.iter().for_each(|array| each_text(array, |text| labels.push(text)));
    }
    if rows.n_rows() == 0 { Err(no_rows(table.path())) } else { labels.finish() }
}
