//! What a cell of text holds: numbers, dates, truth values, lists, as people write them; and the type of a column of cells.

mod affix;
mod column;
mod date;
mod duration;
mod kind;
mod marks;
mod missing;
mod number;
mod vector;

use serde::{Deserialize, Serialize};

pub(crate) use self::column::{Broken, Builder, OtherCell, Tally};
pub(crate) use self::date::DateStyle;
pub(crate) use self::kind::{CellType, Found, infer, infer_counted, reconciled};
pub(crate) use self::marks::Marks;
pub(crate) use self::missing::is_missing;
pub(crate) use self::number::{NumberStyle, is_unseen, plain};

/// What a column is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    /// Numbers, as doubles; NaN if missing.
    Number,
    /// Truth values.
    Boolean,
    /// Microseconds since 1970.
    Date,
    /// Texts.
    Text,
    /// Texts as they are: no text means that the cell is missing.
    Label,
    /// Lists of so many numbers.
    Vector(usize),
}

/// How the cells of a column are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reading {
    /// How cells of text are written; `None` for other cells, or if none is filled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<CellType>,
    /// The number that stands for no number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentinel: Option<f64>,
}

impl From<Option<CellType>> for Reading {
    fn from(cells: Option<CellType>) -> Self {
        Self { cells, sentinel: None }
    }
}

impl CellType {
    /// What a column of such cells is read as.
    pub(crate) fn column_type(self) -> ColumnType {
        match self {
            Self::Number(_) => ColumnType::Number,
            Self::Boolean(_) => ColumnType::Boolean,
            Self::Date(_) => ColumnType::Date,
            Self::Vector(length) => ColumnType::Vector(length),
            Self::Text => ColumnType::Text,
            Self::Label => ColumnType::Label,
        }
    }
}

impl ColumnType {
    /// How cells are read as values of this type, written as `written` says where that is of this type.
    pub(crate) fn cell_type(self, written: Option<CellType>, decimal: u8) -> CellType {
        match (self, written) {
            (_, Some(written)) if written.column_type() == self => written,
            (Self::Number, _) => CellType::Number(NumberStyle::Written(decimal)),
            (Self::Boolean, _) => CellType::Boolean(0),
            (Self::Date, _) => CellType::Date(DateStyle::YearFirst),
            (Self::Vector(length), _) => CellType::Vector(length),
            (Self::Text, _) => CellType::Text,
            (Self::Label, _) => CellType::Label,
        }
    }
}

/// The shortest text of a number; negative zero is written as zero.
pub(crate) fn number_text(value: f64) -> String {
    (value + 0.0).to_string()
}
