//! Rows in files, read in blocks.

use std::path::Path;

use lapwing::data::prepare::{PreparedRows, Recipe, prepare_rows};
use lapwing::data::read::{ReadOptions, RowFile, TableFile, read_label_column};
use lapwing::data::{Error, Report, Result, RowSource, Run, SparseLabels, Standardize, Warning};
use lapwing_table::read::is_rereadable_table;

/// The rows of a file, or of those in a folder.
pub enum FileRows {
    /// A table whose columns are made features.
    Table(Box<PreparedRows>),
    Plain(Box<RowFile>),
}

impl FileRows {
    /// For a fit, with the labels in the column that `read` names, and what was done with the columns of a table.
    pub fn to_fit(
        path: &Path,
        read: &ReadOptions,
        standardize: Standardize,
        run: &Run,
    ) -> Result<(Self, Option<SparseLabels>, Report)> {
        let mut notes = Report::default();
        if is_rereadable_table(path) {
            let found = prepare_rows(path, read, standardize, run)?;
            found.description.report(&mut notes);
            notes.warnings.extend(found.warnings);
            return Ok((Self::Table(Box::new(found.rows)), found.labels, notes));
        }
        let labels = read.label_column.as_ref().map(|_| read_label_column(path, read, run)).transpose()?;
        Ok((Self::Plain(Box::new(RowFile::open(path, read, run)?)), labels, notes))
    }

    /// For a model, whose `recipe` makes features of tables.
    pub fn to_label(path: &Path, read: &ReadOptions, recipe: Option<&Recipe>, run: &Run) -> Result<Self> {
        let Some(recipe) = recipe else { return Ok(Self::Plain(Box::new(RowFile::open(path, read, run)?))) };
        let rows = PreparedRows::open(TableFile::open(path, read)?, recipe.clone(), None, run)?;
        Ok(Self::Table(Box::new(rows)))
    }

    pub fn source(&self) -> &dyn RowSource {
        match self {
            Self::Table(rows) => &**rows,
            Self::Plain(rows) => &**rows,
        }
    }

    /// What makes features of the columns of a table.
    pub fn recipe(&self) -> Option<&Recipe> {
        if let Self::Table(rows) = self { Some(rows.recipe()) } else { None }
    }

    /// Names of the columns that are used, if any.
    pub fn names(&self) -> Option<Vec<String>> {
        match self {
            Self::Table(rows) => Some(rows.recipe().used()),
            Self::Plain(rows) => rows.feature_names().map(<[String]>::to_vec),
        }
    }

    /// An error about these rows, with lines and columns of their file.
    pub fn explained(&self, error: Error, run: &Run) -> Error {
        if let Self::Plain(rows) = self { rows.explained(error, run) } else { error }
    }

    /// Cells that are unlike those of the fit, in the rows read so far.
    pub fn warnings(&self, run: &Run) -> Result<Vec<Warning>> {
        if let Self::Table(rows) = self { rows.warnings(run) } else { Ok(Vec::new()) }
    }
}
