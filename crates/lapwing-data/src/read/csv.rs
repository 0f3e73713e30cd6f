//! CSV, plain or compressed, from a file or standard input.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::columns::{self, Choice};
use super::labels::LabelTexts;
use super::origin::Origin;
use super::records::Records;
use super::{ReadOptions, Samples, Size};
use crate::bad_columns::{Survey, ValueSurvey, is_bad};
use crate::{BadColumns, Error, Fault, Features, Labels, Result, Run, SparseLabels};

/// Rows read between two looks at the run's cancellation.
const CHECK_ROWS: usize = 1024;

/// Reads samples into one buffer of doubles: text has digits that single precision would lose.
pub(super) fn read_samples(path: &Path, options: &ReadOptions, run: &Run) -> Result<Samples> {
    let mut records = Records::open(path)?;
    let Choice { features, label } = columns::by_name(path, &records.names, options)?;
    let mut values = Vec::new();
    let mut texts = LabelTexts::new(options.unlabeled.as_deref());
    let mut lines = BTreeMap::new();
    let mut n_rows = 0usize;
    while records.next()? {
        if n_rows.is_multiple_of(CHECK_ROWS) {
            run.check()?;
        }
        for (feature, &at) in features.iter().enumerate() {
            let Some(value) = records.number(at) else {
                return Err(Error::columns(survey(records, &features, n_rows, run)?));
            };
            if is_bad(value) {
                lines.entry(feature).or_insert_with(|| records.line());
            }
            values.push(value);
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
        origin: Origin { lines, ..Origin::of(path) },
    })
}

/// All columns with cells that are no numbers; the current record, which has such a cell, is row `row`, and the rows
/// before it have none.
fn survey(mut records: Records, features: &[usize], mut row: usize, run: &Run) -> Result<BadColumns> {
    let mut found = Survey::default();
    loop {
        if row.is_multiple_of(CHECK_ROWS) {
            run.check()?;
        }
        for &at in features {
            if records.number(at).is_none() {
                found.note(at, row, Some(records.line()), || records.shown(at));
            }
        }
        row += 1;
        // A line that cannot be read ends what can be said about the columns.
        if !records.next().unwrap_or(false) {
            break;
        }
    }
    let mut bad = found.finish(records.path().display().to_string(), Fault::Text, row);
    bad.columns.iter_mut().for_each(|column| column.name = Some(records.names[column.at].clone()));
    Ok(bad)
}

/// All columns of a file with cells that are no numbers, where there is one.
pub(super) fn bad_cells(path: &Path, names: &Arc<[String]>, features: &[usize], run: &Run) -> Result<Error> {
    let mut records = Records::open(path)?;
    let mut row = 0usize;
    while records.next()? {
        if row.is_multiple_of(CHECK_ROWS) {
            run.check()?;
        }
        if features.iter().any(|&at| records.number(at).is_none()) {
            return survey(records, features, row, run).map(Error::columns);
        }
        row += 1;
    }
    let reason = format!("the file has changed (one of its {} columns held text)", names.len());
    Ok(Error::format(path, None, reason))
}

/// All columns of a file with values that are missing, infinite or too large.
pub(super) fn bad_values(path: &Path, features: &[usize], run: &Run) -> Result<Option<BadColumns>> {
    let (mut records, mut row, mut found) = (Records::open(path)?, 0usize, ValueSurvey::default());
    while records.next()? {
        if row.is_multiple_of(CHECK_ROWS) {
            run.check()?;
        }
        for &at in features {
            found.look(at, row, Some(records.line()), records.number(at).unwrap_or(f64::NAN));
        }
        row += 1;
    }
    let mut bad = found.finish(&path.display().to_string(), row);
    let columns = bad.iter_mut().flat_map(|bad| &mut bad.columns);
    columns.for_each(|column| column.name = Some(records.names[column.at].clone()));
    Ok(bad)
}

/// Reads the labels alone.
pub(super) fn read_labels(path: &Path, column: &str, unlabeled: Option<&str>, run: &Run) -> Result<SparseLabels> {
    let mut records = Records::open(path)?;
    let label = columns::find_name(path, &records.names, column)?;
    let mut texts = LabelTexts::new(unlabeled);
    let mut n_rows = 0usize;
    while records.next()? {
        if n_rows.is_multiple_of(CHECK_ROWS) {
            run.check()?;
        }
        texts.push(records.label(label)?);
        n_rows += 1;
    }
    if n_rows == 0 { Err(no_rows(path)) } else { texts.finish() }
}

/// The error for a file that is nothing but a header.
pub(super) fn no_rows(path: &Path) -> Error {
    Error::format(path, None, "no rows after the header")
}

/// Counts the rows.
pub(super) fn probe(path: &Path, options: &ReadOptions) -> Result<Size> {
    let mut records = Records::open(path)?;
    let choice = columns::by_name(path, &records.names, options)?;
    let mut n_rows = 0usize;
    while records.next()? {
        n_rows += 1;
    }
    Ok(Size::dense(n_rows, choice.features.len(), size_of::<f64>()))
}
