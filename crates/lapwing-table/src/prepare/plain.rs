//! Tables whose columns must be numbers, taken as they are.

use std::path::Path;

use arrow_array::cast::AsArray;

use super::Recipe;
use super::columns::{Column, Extent, Surveyed, each_text, unfit_cells};
use super::numbers::numbers_of;
use crate::cell::{CellType, Reading, Tally};
use crate::prepare::{ColumnRecipe, Step};
use crate::read::labels::LabelTexts;
use crate::read::origin::SampleOrigin;
use crate::read::table::no_rows;
use crate::read::{ColumnKind, ReadOptions, Samples, Size, TableFile};
use crate::scan::{Ask, RowMark};
use lapwing_core::bad_columns::ValueSurvey;
use lapwing_core::{BadColumn, BadColumns, Error, Fault, Labels, Result, Run, SparseLabels};

/// The columns that `options` choose, all of which are read as numbers, and the recipe that leaves these as they are.
///
/// # Errors
/// [`Error::Columns`] naming all columns of a type that is not a number.
pub(super) fn plain(table: TableFile, options: &ReadOptions) -> Result<(Surveyed, Recipe)> {
    use ColumnKind::{Boolean, Empty, Number, Vector};
    let number = || Step::Number { fill: f64::NAN, center: 0.0, scale: 1.0, log: None, gap: None };
    let mut surveyed = Surveyed::new(table, options)?;
    let (table, mut recipes, mut others) = (&surveyed.table, Vec::new(), Vec::new());
    for Column { place, name, kind, reading, .. } in &mut surveyed.columns {
        let at = *place;
        *reading = table.written(at).into();
        let step = match kind {
            // Cells of a text are looked at one by one.
            _ if table.is_text() => number(),
            Number | Empty | Boolean if !table.is_stored_text(at) => number(),
            Vector(length) if !table.is_stored_text(at) => {
                Step::Vector { fill: vec![f64::NAN; *length], weight: None, scales: Vec::new(), gap: None }
            }
            _ => {
                others.push(BadColumn { at, name: Some(name.clone()), cells: None, value: table.stored_type(at) });
                continue;
            }
        };
        if let Step::Number { .. } = step {
            *kind = Number;
        }
        let (name, kind, reading) = (name.clone(), kind.clone(), Reading::default());
        recipes.push(ColumnRecipe { name, kind, reading, step });
    }
    if !others.is_empty() {
        others.sort_unstable_by_key(|column| column.at);
        let (what, n_rows) = (table.path().display().to_string(), table.n_rows().unwrap_or(0));
        return Err(Error::columns(BadColumns { what, fault: Fault::Type, n_rows, columns: others }));
    }
    let is_double = !surveyed.columns.iter().all(|column| table.is_single(column.place));
    Ok((surveyed, Recipe { columns: recipes, is_double, ..Recipe::default() }))
}

/// Reads all rows of some columns, and returns the error for cells that are not numbers or no usable ones.
pub(super) fn bad_cells(table: &TableFile, asks: &[Ask], run: &Run) -> Result<Option<Error>> {
    let (mut rows, mut survey, mut row) = (table.scan(asks)?, ValueSurvey::default(), 0);
    loop {
        let arrays = match rows.next(run) {
            Ok(Some(arrays)) => arrays,
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            // After a malformed line, the columns of further lines are unknown.
            Ok(None) | Err(_) => break,
        };
        for (at, array) in arrays.iter().enumerate() {
            let values = numbers_of(array.as_fixed_size_list_opt().map_or(array, |lists| lists.values()));
            let width = array.as_fixed_size_list_opt().map_or(1, |lists| lists.value_length().max(1) as usize);
            for (here, x) in values.unwrap_or_default().iter().enumerate() {
                survey.look(at, row + here / width, None, *x);
            }
        }
        row = rows.n_rows();
    }
    let cells: Vec<(usize, &Tally)> = asks.iter().map(|ask| ask.column).zip(rows.tallies()).collect();
    let names: Vec<String> = asks.iter().map(|ask| table.names()[ask.column].clone()).collect();
    Ok(match origin(table, &cells, row) {
        Ok(origin) => survey.finish("features", row).map(|bad| Error::columns(origin.named_columns(bad, Some(&names)))),
        Err(error) => Some(error),
    })
}

/// The origin of the features, with the lines of the first bad values, of columns at these places.
///
/// # Errors
/// [`Error::Columns`] naming those with cells that are not numbers.
fn origin(table: &TableFile, columns: &[(usize, &Tally)], n_rows: usize) -> Result<SampleOrigin> {
    if let Some(error) = unfit_cells(Fault::Text, table, columns.iter().copied(), n_rows, |tally| tally.unfit > 0) {
        return Err(error);
    }
    let lines = columns.iter().enumerate().filter_map(|(at, (_, tally))| Some((at, tally.first_bad_line?))).collect();
    let positions = Some(columns.iter().map(|column| column.0).collect());
    Ok(SampleOrigin { lines, positions, ..SampleOrigin::new(table.path()) })
}

/// Reads samples: in single precision if that keeps every column, else in double precision.
pub(crate) fn read_samples(path: &Path, options: &ReadOptions, run: &Run) -> Result<Samples> {
    let (surveyed, recipe) = plain(TableFile::open(path, options)?, options)?;
    let Surveyed { table, columns, labels, spaced, n_rows, held, .. } = surveyed.read(options, Extent::Plain, run)?;
    let cells: Vec<(usize, &Tally)> = columns.iter().map(|column| (column.place, &column.tally)).collect();
    let mut origin = origin(&table, &cells, n_rows)?;
    let width = |kind: &ColumnKind| if let ColumnKind::Vector(length) = kind { *length } else { 1 };
    let positions = columns.iter().flat_map(|column| std::iter::repeat_n(column.place, width(&column.kind)));
    origin.positions = Some(positions.collect());
    let (features, _) = held.encode(&recipe, &recipe.used_places(), run)?;
    let (feature_names, labels) = (Some(recipe.feature_names()), labels.map(Labels::from));
    Ok(Samples { features, feature_names, labels, names: None, warnings: spaced.into_iter().collect(), origin })
}

/// Size of the features: the rows of a text are counted.
pub(crate) fn probe(path: &Path, options: &ReadOptions) -> Result<Size> {
    let (surveyed, recipe) = plain(TableFile::open(path, options)?, options)?;
    let (n_rows, _) = counted(&surveyed.table, &Run::new(Some(1), 0)?)?;
    Ok(Size::dense(n_rows, recipe.n_features(), if recipe.is_double { 8 } else { 4 }))
}

/// The number of rows of a table, and marks in a text: what does not state the number is read to its end.
pub(super) fn counted(table: &TableFile, run: &Run) -> Result<(usize, Vec<RowMark>)> {
    if let Some(n_rows) = table.n_rows() {
        return Ok((n_rows, Vec::new()));
    }
    // Only texts have rows without cells.
    let readable = (0..table.kinds().len()).filter(|_| !table.is_text()).find_map(|at| table.ask(at));
    let mut rows = table.scan(readable.as_slice())?;
    let total = table.bytes_of(readable.as_slice());
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
    let mut rows = table.scan(&[Ask::new(at, CellType::Label)])?;
    while let Some(arrays) = rows.next(run)? {
        arrays.iter().for_each(|array| each_text(array, |text| labels.push(text)));
    }
    if rows.n_rows() == 0 { Err(no_rows(table.path())) } else { labels.finish() }
}
