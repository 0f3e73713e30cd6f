//! The files of a command: inputs and outputs are checked together before the command reads anything.

use std::path::Path;

use lapwing::data::Error;
use lapwing::label_table::is_folder_of_labels;
use lapwing_core::publish::{check_distinct, check_writable, is_stdout};
use lapwing_table::write::ending;

use crate::failure::Failure;

/// Endings of reports.
pub const REPORT_ENDINGS: &[&str] = &[".html"];
/// Any ending.
pub const ANY_ENDING: &[&str] = &[""];

/// The files of a command, each by the name of its option or argument.
#[derive(Default)]
pub struct Files<'p> {
    inputs: Vec<(&'static str, &'p Path)>,
    outputs: Vec<(&'static str, &'p Path)>,
    /// The possible endings of each output.
    endings: Vec<&'p [&'p str]>,
}

impl<'p> Files<'p> {
    /// Adds an input, if given.
    pub fn read(mut self, name: &'static str, path: Option<&'p Path>) -> Self {
        self.inputs.extend(path.map(|path| (name, path)));
        self
    }

    /// Adds an output, if given, with its possible endings.
    pub fn write(mut self, option: &'static str, path: Option<&'p Path>, endings: &'p [&'p str]) -> Self {
        if let Some(path) = path {
            self.outputs.push((option, path));
            self.endings.push(endings);
        }
        self
    }

    /// Adds the table of labels of `data`, if given. A folder of labels is checked when it is made.
    pub fn write_labels(
        self,
        option: &'static str,
        path: Option<&'p Path>,
        data: Option<&Path>,
        endings: &'p [&'p str],
    ) -> Self {
        self.write(option, path.filter(|path| !is_folder_of_labels(path, data)), endings)
    }

    /// Refuses outputs that cannot be written, or that would replace an input or another output.
    pub fn check(&self) -> Result<(), Failure> {
        check_distinct(&self.inputs, &self.outputs)?;
        for ((option, path), endings) in self.outputs.iter().zip(&self.endings) {
            if is_stdout(path) && !endings.contains(&".csv") {
                return Err(Failure::usage(format!("{option} needs the name of a file, not {}", path.display())));
            }
            check_writable(path, endings).map_err(|error| match error {
                Error::Param { value, expected, .. } => Error::Param { name: (*option).into(), value, expected },
                error => error,
            })?;
        }
        Ok(())
    }
}

/// Whether a graph is stored as a matrix, which is read as a whole.
pub fn is_matrix(path: &Path) -> bool {
    ending(path).as_deref() == Some("npz")
}

/// Whether edges can be read only once: from a pipe or standard input.
pub fn is_once(edges: &Path) -> bool {
    is_stdout(edges) || std::fs::metadata(edges).is_ok_and(|metadata| !metadata.is_file())
}

/// Refuses a checkpoint from which no run could resume.
pub fn check_checkpoint(edges: &Path) -> Result<(), Failure> {
    let reason = if is_once(edges) {
        "--checkpoint needs a file of edges: a pipe or standard input cannot be read again"
    } else if is_matrix(edges) {
        "--checkpoint needs a file of edges that is read in blocks; an .npz is read whole"
    } else {
        return Ok(());
    };
    Err(Failure::usage(reason))
}
