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

/// The shortest text of a number; negative zero is written as zero.
pub(crate) fn number_text(value: f64) -> String {
    (value + 0.0).to_string()
}
