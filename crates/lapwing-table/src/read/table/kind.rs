//! The kinds of columns.

use serde::{Deserialize, Serialize};

use crate::cell::{CellType, DateStyle, NumberStyle};

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
    /// How its cells are read: as `written` says if that gives values of this kind, else as people may write them; `None` if it cannot be
    /// read. `decimal` is the mark of numbers that do not show it.
    pub(crate) fn cells(&self, written: Option<CellType>, decimal: u8) -> Option<CellType> {
        let any = match self {
            Self::Empty | Self::Number => CellType::Number(NumberStyle::Written(decimal)),
            Self::Boolean => CellType::Boolean(0),
            Self::Date => CellType::Date(DateStyle::YearFirst),
            Self::Text => CellType::Text,
            Self::Vector(length) => CellType::Vector(*length),
            Self::Other(_) => return None,
        };
        Some(written.filter(|written| written.is_like(any)).unwrap_or(any))
    }

    /// Whether it can be read.
    pub(crate) fn is_readable(&self) -> bool {
        !matches!(self, Self::Other(_))
    }

    /// The kind of a column of such cells of text; empty if none is filled.
    pub(crate) fn of_cells(cells: Option<CellType>) -> Self {
        match cells {
            None => Self::Empty,
            Some(CellType::Number(_)) => Self::Number,
            Some(CellType::Boolean(_)) => Self::Boolean,
            Some(CellType::Date(_)) => Self::Date,
            Some(CellType::Vector(length)) => Self::Vector(length),
            Some(CellType::Text | CellType::Label) => Self::Text,
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
