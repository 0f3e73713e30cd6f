//! The output of a command: labels, model, report, and the JSON object on standard output.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use lapwing::data::write::{KeptColumns, LabelColumns, LabelWriter, LabeledRows};
use lapwing::data::{ClassNames, Error, Matrix, RowNames, Run};
use lapwing::models::{Labeling, PredictionSets};
use lapwing_core::mapped::check_files;
use lapwing_core::publish::{Staged, publish_all};
use lapwing_table::write::ColumnTable;
use serde::Serialize;
use serde_json::{Value, json};

use crate::failure::Failure;

/// Schema number of the JSON object; it grows only when a key changes its meaning or is removed.
pub const SCHEMA: u32 = 2;

/// What is between the classes of a set.
pub const BETWEEN_CLASSES: &str = "|";

/// Refuses names of classes that a set cannot hold.
pub fn check_set_names(classes: &ClassNames) -> Result<(), Failure> {
    match classes.names().iter().find(|name| name.contains(BETWEEN_CLASSES)) {
        Some(name) => Err(Failure::usage(format!(
            "--sets: a set is written with {BETWEEN_CLASSES} between its classes, and the class {name:?} has one in its name; rename it"
        ))),
        None => Ok(()),
    }
}

/// Rows that are written at a time.
const WRITTEN_ROWS: usize = 1 << 18;

/// The label of rows that no label reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Unreached {
    /// No label
    Empty,
    /// The most frequent class of the prior
    Prior,
}

/// The staged files of a run, which are renamed together, with their paths and contents in the order of writing.
#[derive(Default)]
pub struct Written {
    staged: Vec<Staged>,
    paths: Vec<(&'static str, PathBuf)>,
}

impl Written {
    /// Adds a complete file.
    pub fn add(&mut self, what: &'static str, file: Staged) {
        if !is_stdout(file.path()) {
            self.paths.push((what, file.path().into()));
        }
        self.staged.push(file);
    }

    /// Adds a complete file, listed before the others.
    pub fn add_first(&mut self, what: &'static str, file: Staged) {
        let others = std::mem::take(&mut self.paths);
        self.add(what, file);
        self.paths.extend(others);
    }

    /// Gives all files their names, or none.
    pub fn publish(&mut self) -> Result<(), Failure> {
        check_files()?;
        Ok(publish_all(std::mem::take(&mut self.staged))?)
    }

    /// Lines of a summary.
    pub fn rows(&self) -> Vec<(String, String)> {
        self.paths.iter().map(|(what, path)| (format!("{what} written to"), path.display().to_string())).collect()
    }

    /// A JSON object from contents to paths.
    pub fn json(&self) -> Value {
        let paths: BTreeMap<_, _> = self.paths.iter().map(|(what, path)| (*what, path.display().to_string())).collect();
        json!(paths)
    }
}

pub use lapwing_core::publish::is_stdout;

/// The error for two results on one standard output.
pub fn two_on_stdout(what: &str) -> Failure {
    Failure::usage(format!("--json and -o - both want standard output: write the {what} to a file"))
}

/// Class of each row; `None` for rows that stay empty.
pub fn folded(labeling: &Labeling, unreached: Unreached) -> Vec<Option<usize>> {
    match unreached {
        Unreached::Prior => labeling.labels.iter().map(|&class| Some(class as usize)).collect(),
        Unreached::Empty => labeling.chosen(),
    }
}

/// Writes the table of labels, confidences and reached rows, with a column for certificates if there are any, and with
/// `probabilities` a column for each class. `names`, or kept columns of the input, stand in the place of row numbers.
#[allow(clippy::too_many_arguments)]
pub fn stage(
    path: &Path,
    classes: &ClassNames,
    labels: &[Option<usize>],
    labeling: &Labeling,
    probabilities: bool,
    names: Option<&Arc<RowNames>>,
    kept: Option<KeptColumns>,
    run: &Run,
) -> Result<Staged, Failure> {
    let n = labels.len();
    let columns = LabelColumns { certified: labeling.certified.is_some(), probabilities };
    let mut writer = match (kept, names) {
        (Some(kept), _) => LabelWriter::create_beside(path, classes, n, columns, kept)?,
        (None, Some(names)) => LabelWriter::create_named(path, classes, names.clone(), columns)?,
        (None, None) => LabelWriter::create(path, classes, n, columns)?,
    };
    run.progress().expect(n as u64);
    for first in (0..n).step_by(WRITTEN_ROWS) {
        run.check()?;
        let rows = first..(first + WRITTEN_ROWS).min(n);
        let shares = &labeling.label_distributions;
        let probabilities = probabilities
            .then(|| {
                Matrix::new(
                    rows.len(),
                    shares.n_cols(),
                    rows.clone().flat_map(|row| shares.row(row)).copied().collect(),
                )
            })
            .transpose()?;
        let block = LabeledRows {
            classes,
            labels: &labels[rows.clone()],
            confidence: &labeling.confidence[rows.clone()],
            reached: &labeling.reached[rows.clone()],
            certified: labeling.certified.as_ref().map(|certified| &certified[rows.clone()]),
            probabilities: probabilities.as_ref(),
        };
        writer.write(first, &block)?;
        run.progress().update(rows.end as u64, "rows");
    }
    Ok(writer.stage()?)
}

/// Writes the table of labels with a column `set`: the classes of the set of each row, with | between them.
#[allow(clippy::too_many_arguments)]
pub fn stage_with_sets(
    path: &Path,
    classes: &ClassNames,
    labels: &[Option<usize>],
    labeling: &Labeling,
    probabilities: bool,
    names: Option<&Arc<RowNames>>,
    kept: Option<KeptColumns>,
    sets: &PredictionSets,
    run: &Run,
) -> Result<Staged, Failure> {
    let rows: Vec<u32> = (0..labels.len() as u32).collect();
    let mut table = match kept {
        Some(_) => ColumnTable::default(),
        None => ColumnTable::of_rows(&rows, names.map(|names| &**names)),
    };
    if let Some(kept) = kept {
        let is_text = !path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("parquet"));
        table.kept(kept, &rows, is_text, run)?;
    }
    match classes {
        ClassNames::Integers(names) => {
            table.integers("label", labels.iter().map(|class| class.map(|class| names[class])))
        }
        ClassNames::Texts(names) => table.texts("label", labels.iter().map(|class| class.map(|class| &names[class]))),
    }
    table.numbers(
        "confidence",
        labels.iter().zip(&labeling.confidence).map(|(class, share)| class.map_or(f64::NAN, |_| *share)),
    );
    table.flags("reached", labeling.reached.iter().copied());
    if let Some(certified) = &labeling.certified {
        table.flags("certified", certified.iter().copied());
    }
    let names = classes.names();
    let set = |holds: &[bool]| {
        let held = names.iter().zip(holds).filter(|(_, holds)| **holds).map(|(name, _)| name.as_str());
        Some(held.collect::<Vec<_>>().join(BETWEEN_CLASSES))
    };
    table.texts("set", sets.holds.chunks_exact(sets.n_classes.max(1)).map(set));
    if probabilities {
        for (class, name) in names.iter().enumerate() {
            table.numbers(&format!("p_{name}"), labeling.label_distributions.rows().map(|row| row[class]));
        }
    }
    Ok(table.stage(path)?)
}

/// A writer of the labels of `n_rows` rows, with their names or kept columns of the input in the place of their numbers.
pub fn label_writer(
    path: &Path,
    classes: &ClassNames,
    n_rows: usize,
    columns: LabelColumns,
    names: Option<&Arc<RowNames>>,
    kept: Option<KeptColumns>,
) -> Result<LabelWriter, Error> {
    match (kept, names) {
        (Some(kept), _) => LabelWriter::create_beside(path, classes, n_rows, columns, kept),
        (None, Some(names)) => LabelWriter::create_named(path, classes, names.clone(), columns),
        (None, None) => LabelWriter::create(path, classes, n_rows, columns),
    }
}

/// The JSON object of a command: `schema`, `command`, the keys of `body`, `certificate` and `scaling` if any, and `outputs`.
pub fn json_object(command: &str, body: &impl Serialize, more: Value, written: &Written) -> Result<String, Failure> {
    let mut object = json!({"schema": SCHEMA, "command": command});
    let body = serde_json::to_value(body)
        .map_err(|e| Failure::Library(Error::Internal { reason: format!("cannot write JSON: {e}") }))?;
    let shown = |name: &str| body["parts"].get(name).map(|part| json!({name: part})).unwrap_or_default();
    let (certificate, scaling) = (shown("certificate"), shown("scaling"));
    for part in [body, more, certificate, scaling, json!({"outputs": written.json()})] {
        if let (Value::Object(object), Value::Object(part)) = (&mut object, part) {
            object.extend(part);
        }
    }
    Ok(format!("{object}\n"))
}
