//! The kinds of columns.

use serde::{Deserialize, Serialize};

use super::ColumnType;

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
