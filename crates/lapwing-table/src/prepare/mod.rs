//! Tables as features: what is done with each column, decided from its cells, kept in a [`Recipe`], and repeated on new rows.
//!
//! | file | what it does |
//! |---|---|
//! | `columns` | reads the columns of a table, as what their cells tell |
//! | `survey`, `sketch` | looks at all cells, in memory that does not grow with the rows |
//! | `decide`, `scale`, `levels`, `names`, `choose` | chooses a step for each column: by its survey, its width, the order of its levels, its name, what labels say |
//! | `leak` | finds columns that alone tell the labels |
//! | `recipe` | the steps, as they are stored |
//! | `gaps` | tells missing numbers from others of their row |
//! | `encode`, `numbers`, `dates`, `terms`, `apply` | carries the steps out |
//! | `loaded`, `held`, `rows` | the rows in memory, and read in blocks |
//! | `plain` | tables of numbers that are taken as they are |
//! | `summary`, `notes` | what was found and done, in words |
//!
//! Cost: one pass over the file, about ten nanoseconds a cell for the survey, a hash for each word of a text.

mod apply;
mod choose;
mod columns;
mod dates;
mod decide;
mod encode;
mod gaps;
mod held;
mod leak;
mod levels;
mod loaded;
mod names;
mod notes;
mod numbers;
pub(crate) mod plain;
mod recipe;
mod rows;
mod scale;
mod sketch;
mod summary;
mod survey;
mod terms;

use std::path::Path;

pub use self::dates::DatePart;
pub use self::gaps::{GapColumn, GapFill};
pub use self::loaded::LoadedTable;
pub use self::notes::ColumnSummary;
pub use self::recipe::{ColumnRecipe, LeftOut, Recipe, Step};
pub use self::rows::{PreparedRows, PreparedTable, prepare_rows, probe_prepared};
pub use self::summary::Description;
use crate::read::{ReadOptions, TableFile, read_names};
use lapwing_core::{Features, Labels, Result, RowNames, Run, Standardize, Warning};

/// Most columns of the terms of a text, in memory and in rows that are read in blocks.
const MAX_TERMS: usize = 1 << 14;
const MAX_STREAMED_TERMS: usize = 1 << 9;

/// A table as features.
#[derive(Debug)]
#[non_exhaustive]
pub struct Prepared {
    /// One row for each row of the table.
    pub features: Features<'static>,
    /// What was done, for new rows.
    pub recipe: Recipe,
    /// The labels, if a label column was named.
    pub labels: Option<Labels>,
    /// Names of the rows, if the options of [`prepare`] name their column.
    pub names: Option<RowNames>,
    /// What was found and done, column by column.
    pub description: Description,
    /// What to look at.
    pub warnings: Vec<Warning>,
}

/// New rows as features.
#[derive(Debug)]
#[non_exhaustive]
pub struct Applied {
    /// One row for each row of the table.
    pub features: Features<'static>,
    /// Cells that are unlike those of the fit.
    pub warnings: Vec<Warning>,
}

/// Reads a table into features, and decides what is done with each of its columns.
///
/// | column | becomes |
/// |---|---|
/// | numbers | themselves; scaled if the table has other kinds of columns, or their units differ by orders of magnitude |
/// | truth values | one column |
/// | texts of up to 30 levels | one column for each level; one in all if the levels have a known order |
/// | lists of words | weights of their entries (TF-IDF) |
/// | texts of more levels, names, addresses, languages without blanks | weights of their runs of two to four characters (TF-IDF) |
/// | longer texts | weights of their terms (TF-IDF), sparse |
/// | dates | year, month, weekday, time of day, seconds |
/// | lists of numbers of one length | themselves, scaled to one length |
/// | missing cells | what the other numbers of the row tell, else the median (a level of their own among levels); and a mark in an extra column |
/// | constant columns, numbers and names of the rows | nothing |
///
/// # Errors
/// As [`TableFile::open`]; [`Error::Format`](lapwing_core::Error) if no column tells rows apart; [`Error::Interrupted`](lapwing_core::Error).
///
/// # Complexity
/// One pass over the file, more if cells far behind its start show that a column holds something else, and one more if the rows have names.
pub fn prepare(path: &Path, options: &ReadOptions, standardize: Standardize, run: &Run) -> Result<Prepared> {
    let names = options.id.as_ref().map(|_| read_names(path, options, run)).transpose()?;
    let prepared = LoadedTable::read(TableFile::open(path, options)?, options, run)?.prepare(standardize, None, run)?;
    Ok(Prepared { names, ..prepared })
}
