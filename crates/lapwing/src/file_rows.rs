//! Rows in files, read in blocks.

use std::path::Path;

use lapwing_core::{Error, Report, Result, RowSource, Run, SparseLabels, Standardize, Warning};
use lapwing_table::prepare::{Description, PreparedRows, PreparedTable, Recipe, prepare_rows};
use lapwing_table::read::{ReadOptions, TableFile, is_rereadable_table};
use lapwing_table::{RowFile, read_label_column};

/// The rows of a file, or of those in a folder.
pub enum FileRows {
    /// A table whose columns are made features.
    Table(Box<PreparedRows>),
    Plain(Box<RowFile>),
}

/// Rows for a fit.
pub struct RowsToFit {
    pub rows: FileRows,
    /// The labels in the column that the options name.
    pub labels: Option<SparseLabels>,
    /// What was done with the columns of a table.
    pub description: Option<Description>,
    /// What to look at.
    pub warnings: Vec<Warning>,
}

impl RowsToFit {
    /// Opens `path`. Columns of a table are made features, scaled as `prepare` says; without it they are numbers.
    ///
    /// # Errors
    /// A file that cannot be read, or that has no such label column.
    pub fn open(path: &Path, read: &ReadOptions, prepare: Option<Standardize>, run: &Run) -> Result<Self> {
        if let Some(standardize) = prepare.filter(|_| is_rereadable_table(path)) {
            let PreparedTable { rows, labels, description, warnings, .. } = prepare_rows(path, read, standardize, run)?;
            let rows = FileRows::Table(Box::new(rows));
            return Ok(Self { rows, labels, description: Some(description), warnings });
        }
        let rows = FileRows::Plain(Box::new(RowFile::open(path, read, run)?));
        let labels = read.label_column.as_ref().map(|_| read_label_column(path, read, run)).transpose()?;
        Ok(Self { rows, labels, description: None, warnings: Vec::new() })
    }

    /// What a report says of the reading.
    pub fn notes(&self) -> Report {
        let mut notes = Report::default();
        if let Some(description) = &self.description {
            description.report(&mut notes);
        }
        notes.warnings.extend(self.warnings.iter().cloned());
        notes
    }
}

impl FileRows {
    /// For a model, whose `recipe` makes features of tables, of these `columns` if they have other names than those of the fit.
    ///
    /// # Errors
    /// A file that cannot be read, or that lacks columns of the recipe.
    pub fn to_label(
        path: &Path,
        read: &ReadOptions,
        recipe: Option<&Recipe>,
        columns: Option<&[String]>,
        run: &Run,
    ) -> Result<Self> {
        let Some(recipe) = recipe else { return Ok(Self::Plain(Box::new(RowFile::open(path, read, run)?))) };
        let rows = PreparedRows::open(TableFile::open(path, read)?, recipe.clone(), columns, run)?;
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
    ///
    /// # Errors
    /// A file that cannot be read again.
    pub fn warnings(&self, run: &Run) -> Result<Vec<Warning>> {
        if let Self::Table(rows) = self { rows.warnings(run) } else { Ok(Vec::new()) }
    }
}
