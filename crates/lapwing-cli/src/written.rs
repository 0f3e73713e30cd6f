//! The output of a command: files that get their names together, and the JSON object on standard output.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lapwing::data::{Error, Report, Run};
use lapwing_core::mapped::check_files;
pub use lapwing_core::publish::is_stdout;
use lapwing_core::publish::{Staged, publish_all};
use lapwing_table::write::ColumnTable;
use serde::Serialize;
use serde_json::{Value, json};

use crate::failure::Failure;

/// Schema number of the JSON object; it grows only when a key changes its meaning or is removed.
pub const SCHEMA: u32 = 2;

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

    /// Adds the complete files of the table `path` of labels, listed under this name before the others.
    pub fn add_labels(&mut self, path: &Path, files: Vec<Staged>) {
        if !is_stdout(path) {
            self.paths.insert(0, ("labels", path.into()));
        }
        self.staged.extend(files);
    }

    /// Gives all files their names, or none.
    pub fn publish(&mut self) -> Result<(), Failure> {
        check_files()?;
        Ok(publish_all(std::mem::take(&mut self.staged))?)
    }

    /// Publishes all files with a table of `what`, if it has a path, at the end, because standard output cannot be undone; it is listed
    /// first.
    pub fn publish_with_table(
        &mut self,
        what: &'static str,
        path: Option<&Path>,
        table: impl FnOnce(&Path) -> Result<ColumnTable, Failure>,
        report: &mut Report,
        run: &Run,
    ) -> Result<(), Failure> {
        run.check()?;
        let mut printed = Ok(());
        if let Some(path) = path {
            let table = table(path)?;
            match report.time("write", run, |_| table.stage(path)) {
                Ok(staged) => self.add_first(what, staged),
                Err(error) => printed = Err(error.into()),
            }
        }
        publish_after(printed, || self.publish())
    }

    /// Lines of a summary.
    pub fn rows(&self) -> Vec<(String, String)> {
        self.paths.iter().map(|(what, path)| (format!("{what} written to"), path.display().to_string())).collect()
    }

    /// The JSON object of a command: `schema`, `command`, the keys of `body`, `certificate` and `scaling` if any, and `outputs`, from
    /// contents to paths.
    pub fn object(&self, command: &str, body: &impl Serialize, more: Value) -> Result<String, Failure> {
        let mut object = json!({"schema": SCHEMA, "command": command});
        let body = serde_json::to_value(body)
            .map_err(|e| Failure::Library(Error::Internal { reason: format!("cannot write JSON: {e}") }))?;
        let shown = |name: &str| body["parts"].get(name).map(|part| json!({name: part})).unwrap_or_default();
        let (certificate, scaling) = (shown("certificate"), shown("scaling"));
        let paths: BTreeMap<_, _> = self.paths.iter().map(|(what, path)| (*what, path.display().to_string())).collect();
        for part in [body, more, certificate, scaling, json!({"outputs": paths})] {
            if let (Value::Object(object), Value::Object(part)) = (&mut object, part) {
                object.extend(part);
            }
        }
        Ok(format!("{object}\n"))
    }
}

/// Publishes the files of a run after it printed, even if the reader of standard output has closed it.
pub fn publish_after(
    printed: Result<(), Failure>,
    publish: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    if let Ok(()) | Err(Failure::ClosedPipe) = printed {
        publish()?;
    }
    printed
}

/// Refuses two results on one standard output: the `what` that goes to `output`, and the object of `--json`.
pub fn check_stdout(what: &str, output: Option<&Path>, json: bool) -> Result<(), Failure> {
    if json && output.is_some_and(is_stdout) {
        let reason = format!("--json and -o - both want standard output: write the {what} to a file");
        return Err(Failure::usage(reason));
    }
    Ok(())
}
