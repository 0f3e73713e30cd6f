//! Where samples came from: file, columns and lines for what is said about their values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::{BadColumns, Error};

/// Where samples came from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    pub path: PathBuf,
    /// Number in the file of each feature, where these are not all columns in order.
    pub positions: Option<Vec<usize>>,
    /// Line of the first value of a feature that cannot be used, in texts.
    pub lines: BTreeMap<usize, u64>,
}

impl Origin {
    pub(super) fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), ..Self::default() }
    }

    /// An error about features, in the words of their file.
    pub(super) fn named(&self, error: Error, names: Option<&[String]>) -> Error {
        match error {
            Error::Columns(bad) => Error::columns(self.named_columns(*bad, names)),
            other => other,
        }
    }

    /// Columns that were found among features, in the words of their file.
    pub(super) fn named_columns(&self, mut bad: BadColumns, names: Option<&[String]>) -> BadColumns {
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
