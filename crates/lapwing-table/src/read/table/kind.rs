//! The kinds of columns.

use serde::{Deserialize, Serialize};

use super::{CellType, ColumnType};

/// What a column of a table holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ColumnKind {
    /// Nothing, in the rows that were looked at.
    Empty,
    /// Numbers.
    Number,
    /// Truth values.
    Boolean,
    /// Dates or times.
    Date,
    /// Texts.
    Text,
    /// A list of so many numbers in each row.
    Vector(usize),
    /// A type that cannot be used, by its name.
    Other(String),
}

impl ColumnKind {
    /// The type that the column is read as; `None` if it cannot be read.
    pub(crate) fn column_type(&self) -> Option<ColumnType> {
        match self {
            Self::Empty | Self::Number => Some(ColumnType::Number),
            Self::Boolean => Some(ColumnType::Boolean),
            Self::Date => Some(ColumnType::Date),
            Self::Text => Some(ColumnType::Text),
            Self::Vector(length) => Some(ColumnType::Vector(*length)),
            Self::Other(_) => None,
        }
    }

    /// The kind of a column of such cells of text; empty if none is filled.
    pub(crate) fn of_cells(cells: Option<CellType>) -> Self {
        match cells.map(CellType::column_type) {
            None => Self::Empty,
            Some(ColumnType::Number) => Self::Number,
            Some(ColumnType::Boolean) => Self::Boolean,
            Some(ColumnType::Date) => Self::Date,
            Some(ColumnType::Vector(length)) => Self::Vector(length),
            Some(ColumnType::Text | ColumnType::Label) => Self::Text,
        }
    }

    /// The word for the kind.
    pub fn word(&self) -> &str {
        match self {
            Self::Empty => "empty",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Date => "date",
            Self::Text => "text",
            Self::Vector(_) => "vector",
            Self::Other(name) => name,
        }
    }
}
