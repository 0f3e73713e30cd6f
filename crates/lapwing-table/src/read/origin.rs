//! The origin of samples: file, columns and lines, for messages about their values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lapwing_core::{BadColumns, Error};

/// The origin of samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct SampleOrigin {
    pub path: PathBuf,
    /// Number of each feature's column in the file; `None` if the features are all columns in order.
    pub positions: Option<Vec<usize>>,
    /// In texts, line of the first bad value of a feature.
    pub lines: BTreeMap<usize, u64>,
}

impl SampleOrigin {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), ..Self::default() }
    }

    /// An error about features, with file, column names and lines.
    pub(crate) fn named(&self, error: Error, names: Option<&[String]>) -> Error {
        match error {
            Error::Columns(bad) => Error::columns(self.named_columns(*bad, names)),
            other => other,
        }
    }

    /// Bad columns of features, with file, column names and lines.
    pub(crate) fn named_columns(&self, mut bad: BadColumns, names: Option<&[String]>) -> BadColumns {
        bad.what = self.path.display().to_string();
        for column in &mut bad.columns {
            if let Some(cells) = &mut column.cells {
                cells.line = self.lines.get(&column.at).copied();
            }
            column.name = names.and_then(|names| names.get(column.at).cloned());
            column.at = self.positions.as_ref().map_or(column.at, |positions| positions[column.at]);
        }
        bad
    }
}
