//! CSV, plain or compressed, from a file or standard input.

use std::collections::BTreeMap;
use std::path::Path;

use super::columns::{self, Choice};
use super::labels::LabelTexts;
use super::origin::SampleOrigin;
use super::records::Records;
use super::{ReadOptions, Samples, Size};
use crate::bad_columns::{Survey, ValueSurvey, is_bad};
use crate::{BadColumns, Error, Fault, Features, Labels, Result, Run, SparseLabels};

/// Reads samples into one buffer of doubles: single precision would lose digits of a text.
pub(super) fn read_samples(path: &Path, options: &ReadOptions, run: &Run) -> Result<Samples> {
    let mut records = Records::open(path)?;
    let Choice { features, label } = columns::by_name(path, &records.names, options)?;
    let mut values = Vec::new();
    let mut texts = LabelTexts::new(options.unlabeled.as_deref());
    let mut lines = BTreeMap::new();
    let mut n_rows = 0;
    while records.next(run)? {
        let are_numbers = each_number(&records, &features, |feature, value| {
            if is_bad(value) {
                lines.entry(feature).or_insert_with(|| records.line());
            }
            values.push(value);
        });
        if !are_numbers {
            return Err(bad_cells(&mut records, &features, n_rows, run)?);
        }
        if let Some(label) = label {
            texts.push(records.label(label)?);
        }
        n_rows += 1;
    }
    if n_rows == 0 {
        return Err(no_rows(path));
    }
    let names = features.iter().map(|&at| records.names[at].clone()).collect();
    Ok(Samples {
        features: Features::from_f64(n_rows, features.len(), values)?,
        feature_names: Some(names),
        labels: label.map(|_| texts.finish().map(Labels::from)).transpose()?,
        names: None,
        origin: SampleOrigin { lines, ..SampleOrigin::new(path) },
    })
}

/// Hands the features of the current record to `take`, each with its index; false if a cell holds no number.
#[inline]
pub(super) fn each_number(records: &Records, features: &[usize], mut take: impl FnMut(usize, f64)) -> bool {
    features.iter().enumerate().all(|(feature, &at)| records.number(at).map(|x| take(feature, x)).is_some())
}

/// The error for columns with cells that are no numbers: names all of them, from the current record on, which is row
/// `row`.
pub(super) fn bad_cells(records: &mut Records, features: &[usize], row: usize, run: &Run) -> Result<Error> {
    let mut found = Survey::default();
    let n_rows = each_cell(records, features, row, run, |records, row, at| {
        if records.number(at).is_none() {
            found.note(at, row, Some(records.line()), || records.shown(at));
        }
    })?;
    if found.is_empty() {
        let reason = format!("the file has changed (one of its {} columns held text)", records.names.len());
        return Ok(Error::format(records.path(), None, reason));
    }
    let bad = found.finish(records.path().display().to_string(), Fault::Text, n_rows);
    Ok(Error::columns(with_names(bad, records)))
}

/// All columns of a file with values that are missing, infinite or too large.
pub(super) fn bad_values(path: &Path, features: &[usize], run: &Run) -> Result<Option<BadColumns>> {
    let (mut records, mut found) = (Records::open(path)?, ValueSurvey::default());
    if !records.next(run)? {
        return Ok(None);
    }
    let n_rows = each_cell(&mut records, features, 0, run, |records, row, at| {
        found.look(at, row, Some(records.line()), records.number(at).unwrap_or(f64::NAN));
    })?;
    Ok(found.finish(&path.display().to_string(), n_rows).map(|bad| with_names(bad, &records)))
}

/// Calls `visit` with the row and the column of every feature, from the current record on, which is row `row`; returns
/// the number of rows.
fn each_cell(
    records: &mut Records,
    features: &[usize],
    mut row: usize,
    run: &Run,
    mut visit: impl FnMut(&Records, usize, usize),
) -> Result<usize> {
    loop {
        features.iter().for_each(|&at| visit(records, row, at));
        row += 1;
        match records.next(run) {
            Ok(true) => {}
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            // After a malformed line, the columns of further lines are unknown.
            Ok(false) | Err(_) => return Ok(row),
        }
    }
}

fn with_names(mut bad: BadColumns, records: &Records) -> BadColumns {
    bad.columns.iter_mut().for_each(|column| column.name = Some(records.names[column.at].clone()));
    bad
}

/// Reads the labels alone.
pub(super) fn read_labels(path: &Path, column: &str, unlabeled: Option<&str>, run: &Run) -> Result<SparseLabels> {
    let mut records = Records::open(path)?;
    let label = columns::find_name(path, &records.names, column)?;
    let mut texts = LabelTexts::new(unlabeled);
    while records.next(run)? {
        texts.push(records.label(label)?);
    }
    if texts.n_rows() == 0 { Err(no_rows(path)) } else { texts.finish() }
}

/// The error for a file that holds only a header.
pub(super) fn no_rows(path: &Path) -> Error {
    Error::format(path, None, "no rows after the header")
}

/// Counts the rows.
pub(super) fn probe(path: &Path, options: &ReadOptions) -> Result<Size> {
    let (mut records, run) = (Records::open(path)?, Run::new(Some(1), 0)?);
    let choice = columns::by_name(path, &records.names, options)?;
    let mut n_rows = 0usize;
    while records.next(&run)? {
        n_rows += 1;
    }
    Ok(Size::dense(n_rows, choice.features.len(), size_of::<f64>()))
}
