//! `--prior`: shares of the classes in every row, where a harmonic fit starts.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use lapwing::data::params::{Parameters, Value};
use lapwing::data::read::{ReadOptions, Samples, read_samples};
use lapwing::data::{ClassNames, Dense, Error, Features, Matrix, Run, Targets};
use lapwing::models::baselines::linear_prior;
use lapwing::models::{Method, Problem, Settings};
use lapwing_table::read::column_names;

use super::held::Input;
use crate::failure::Failure;
use crate::files::Files;

/// Where the shares come from.
#[derive(Clone, Debug)]
pub enum Prior {
    /// A file.
    File(PathBuf),
    /// The linear model on the labeled rows.
    Linear,
}

impl FromStr for Prior {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(if text == "linear" { Self::Linear } else { Self::File(text.into()) })
    }
}

impl Prior {
    /// Adds the file that is read, if there is one.
    pub fn files<'p>(&'p self, files: Files<'p>) -> Files<'p> {
        match self {
            Self::File(path) => files.read("--prior", Some(path)),
            Self::Linear => files,
        }
    }

    /// Shares (n, c) of the classes in the rows of `input`. Labeled rows get them from a model that did not see their label.
    pub fn shares(&self, classes: &ClassNames, input: &Input, targets: &Targets, run: &Run) -> Result<Matrix, Failure> {
        match self {
            Self::File(path) => {
                let shares = read_shares(path, classes, input, run)?;
                let checked = Problem { prior: Some(&shares), ..Problem::new(targets) }.check();
                checked.map_err(|error| in_file(error, path, classes))?;
                Ok(shares)
            }
            Self::Linear => {
                let Some(features) = &input.features else {
                    return Err(Failure::usage("--prior linear needs features: give DATA beside --graph"));
                };
                Ok(linear_prior(features, targets, run)?)
            }
        }
    }
}

/// Refuses a prior for a method that takes none, and its weight without a prior.
pub fn check_prior(prior: Option<&Prior>, settings: &Settings, method: &dyn Method) -> Result<(), Failure> {
    if prior.is_some() && !method.takes_prior() {
        let reason = format!("the method {} takes no --prior; auto, harmonic and sparse-harmonic do", method.name());
        return Err(Failure::usage(reason));
    }
    if prior.is_none() {
        refuse_weight(settings, "--prior-weight changes nothing without --prior")?;
    }
    Ok(())
}

/// Refuses the weight of a prior with this reason.
pub fn refuse_weight(settings: &Settings, reason: &str) -> Result<(), Failure> {
    match settings.get("prior_weight") {
        None => Ok(()),
        Some(Value::Word(_)) => Ok(()),
        Some(_) => Err(Failure::usage(reason)),
    }
}

/// Reads the shares of a file. Columns that are named as the classes may stand in any order; others stand in that of the classes.
/// Rows are found by their names if the file has a column of these, else they stand in the order of the data.
fn read_shares(path: &Path, classes: &ClassNames, input: &Input, run: &Run) -> Result<Matrix, Failure> {
    let n = input.n_samples();
    let id = match &input.names {
        Some(names) => column_names(path)?.and_then(|columns| columns.into_iter().find(|name| name == names.column())),
        None => None,
    };
    let samples = read_samples(path, &ReadOptions { id, ..ReadOptions::default() }, run)?;
    samples.check(run)?;
    let Samples { features, feature_names, names: own, .. } = samples;
    let Features::Dense(values) = features else {
        return Err(Error::format(path, None, "expected a table or an array of shares, not sparse rows").into());
    };
    let names = classes.names();
    let first = if own.is_none() && values.n_rows() == n + 1 { header(&values, &names) } else { None };
    let skipped = usize::from(first.is_some());
    let order = first.map_or_else(|| ordered(path, feature_names.as_deref(), &names), Ok)?;
    let (rows, columns) = (values.n_rows() - skipped, values.n_cols());
    if rows != n || columns != names.len() {
        let expected = format!("{n} rows and {} columns, one per class", names.len());
        return Err(
            Error::shape(path.display().to_string(), expected, format!("{rows} rows and {columns} columns")).into()
        );
    }
    let (mut shares, mut row) = (Matrix::filled(n, columns, 0.0), vec![0.0; columns]);
    for at in 0..n {
        let place = match (&own, &input.names) {
            (Some(own), Some(names)) => own.find(names.name(at)).map(|place| place as usize).ok_or_else(|| {
                Error::format(path, None, format!("no row has the name '{}' of row {at} of the data", names.name(at)))
            })?,
            _ => at + skipped,
        };
        values.copy_row_f64(place, &mut row);
        shares.row_mut(at).iter_mut().zip(&order).for_each(|(share, &column)| *share = row[column]);
    }
    Ok(shares)
}

/// An error about shares, with the file and the class instead of the number of its column.
fn in_file(error: Error, path: &Path, classes: &ClassNames) -> Error {
    match error {
        Error::Value { row, col, value, advice, .. } => {
            let names = classes.names();
            let class =
                col.and_then(|col| names.get(col)).map_or_else(String::new, |name| format!(" for the class '{name}'"));
            Error::format(path, None, format!("row {row}, counted from 0, holds {value}{class}; {advice}"))
        }
        error => error,
    }
}

/// The column of each class, if the first row of a table holds their names: a reader takes a line of numbers for a row.
fn header(values: &Dense<'_>, names: &[String]) -> Option<Vec<usize>> {
    let mut row = vec![0.0; values.n_cols()];
    values.copy_row_f64(0, &mut row);
    let numbers: Vec<f64> = names.iter().map(|name| name.parse().ok()).collect::<Option<_>>()?;
    let place = |number: &f64| row.iter().position(|value| value == number);
    (row.len() == names.len()).then(|| numbers.iter().map(place).collect())?
}

/// The column of each class.
fn ordered(path: &Path, columns: Option<&[String]>, names: &[String]) -> Result<Vec<usize>, Error> {
    let in_order = || (0..names.len()).collect();
    let Some(columns) = columns else { return Ok(in_order()) };
    let place = |name: &String| columns.iter().position(|column| column.trim() == name);
    let found: Option<Vec<usize>> = names.iter().map(place).collect();
    // A table without a header numbers its columns.
    let is_numbered = columns.iter().enumerate().all(|(at, column)| *column == at.to_string());
    match found {
        Some(order) => Ok(order),
        None if is_numbered => Ok(in_order()),
        None => {
            let missing = names.iter().find(|name| place(name).is_none()).map_or("", |name| name);
            let reason = format!("no column is named as the class '{missing}'; name one column as each class, or none");
            Err(Error::format(path, None, reason))
        }
    }
}
