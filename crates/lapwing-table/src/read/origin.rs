//! Samples, their size, and their origin: file, columns and lines, for messages about their values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::columns;
use lapwing_core::{BadColumns, Error, Features, Labels, Result, RowNames, Run, Warning};

/// The contents of a file of samples.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Samples {
    /// One row per sample. Missing values are NaN; [`Samples::check`] reports them.
    pub features: Features<'static>,
    /// Names of the feature columns, if the format has names.
    pub feature_names: Option<Vec<String>>,
    /// The labels, if they are requested or the format always has them.
    pub labels: Option<Labels>,
    /// Names of the rows, if the options name their column.
    pub names: Option<RowNames>,
    /// What to look at in the labels.
    pub warnings: Vec<Warning>,
    /// The file they were read from.
    pub(crate) origin: SampleOrigin,
}

impl Samples {
    /// Samples of a file whose columns have numbers; `keep` are those that are features, unless these are all of them in order.
    pub(super) fn of_columns(
        path: &Path,
        features: Features<'static>,
        keep: Option<Vec<usize>>,
        labels: Option<Labels>,
    ) -> Result<Self> {
        let features = columns::select(features, keep.as_deref())?;
        let origin = SampleOrigin { positions: keep, ..SampleOrigin::new(path) };
        Ok(Self { features, feature_names: None, labels, names: None, warnings: Vec::new(), origin })
    }

    /// Checks the features as [`Features::check`] does.
    ///
    /// # Errors
    /// As [`Features::check`], with the name of the file, the names of columns and the lines of a text.
    pub fn check(&self, run: &Run) -> Result<()> {
        self.features.check(run).map_err(|error| self.origin.named(error, self.feature_names.as_deref()))
    }
}

/// Size of the features of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Size {
    /// Number of samples.
    pub n_rows: usize,
    /// Number of features.
    pub n_cols: usize,
    /// Stored entries of sparse features.
    pub n_entries: Option<usize>,
    /// Bytes of the features as they will be held.
    pub bytes_in_memory: usize,
    /// Whether those bytes stay in the file and are mapped.
    pub mapped: bool,
}

impl Size {
    pub(crate) fn dense(n_rows: usize, n_cols: usize, width: usize) -> Self {
        let bytes_in_memory = n_rows.saturating_mul(n_cols).saturating_mul(width);
        Self { n_rows, n_cols, n_entries: None, bytes_in_memory, mapped: false }
    }

    pub(crate) fn sparse(n_rows: usize, n_cols: usize, n_entries: usize) -> Self {
        let bytes_in_memory = (n_rows + 1).saturating_mul(8).saturating_add(n_entries.saturating_mul(8));
        Self { n_rows, n_cols, n_entries: Some(n_entries), bytes_in_memory, mapped: false }
    }
}

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
