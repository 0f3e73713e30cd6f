//! How to read a file of samples.

use std::path::{Path, PathBuf};

use crate::cell::{CellType, DateStyle, NumberStyle};
use crate::format;
use crate::text::Known;
use lapwing_core::choices;

/// How to read a file of samples.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Column of a table, or array of an `.npz`, that holds the labels.
    pub label_column: Option<String>,
    /// Feature columns, in this order; `None` means all but the label column. Names in tables, numbers in arrays.
    pub columns: Option<Vec<String>>,
    /// Columns that are no features.
    pub drop: Vec<String>,
    /// Text that marks rows without a label, instead of −1.
    pub unlabeled: Option<String>,
    /// The byte between the cells of a text; `None` if the text tells it.
    pub delimiter: Option<u8>,
    /// Whether the first line of a text names the columns; `None` if the text tells it.
    pub header: Option<bool>,
    /// The byte before the decimals of a number in a text; `None` if the text tells it.
    pub decimal: Option<u8>,
    /// Column of a table whose cells name the rows; it is no feature.
    pub id: Option<String>,
    /// The sheet of a spreadsheet; `None` for the first that holds anything.
    pub sheet: Option<String>,
    /// What feature columns are read as, by their names, where their cells tell something else.
    pub read_as: Vec<(String, ReadAs)>,
    /// Further tables with the same columns, whose rows follow.
    pub more: Vec<PathBuf>,
}

choices! {
    /// What the cells of a column are read as.
    pub enum ReadAs("what a column is read as", default Text) {
        /// Numbers.
        Number = "number",
        /// Texts: levels, if there are few.
        Text = "text",
        /// Dates with the day before the month.
        DayFirst = "day-first",
        /// Dates with the month before the day.
        MonthFirst = "month-first",
    }
}

impl ReadAs {
    /// The type of its cells; `decimal` is the mark of the numbers of the table.
    pub(crate) fn cell_type(self, decimal: u8) -> CellType {
        match self {
            Self::Number => CellType::Number(NumberStyle::Written(decimal)),
            Self::Text => CellType::Text,
            Self::DayFirst => CellType::Date(DateStyle::DayFirst),
            Self::MonthFirst => CellType::Date(DateStyle::MonthFirst),
        }
    }
}

impl ReadOptions {
    /// What is known about the dialect of a text.
    pub(crate) fn known(&self, path: &Path) -> Known {
        let asked = self.label_column.iter().chain(self.columns.iter().flatten()).chain(&self.drop).chain(&self.id);
        let asked = asked.chain(self.read_as.iter().map(|(name, _)| name));
        Known {
            // Numbers may be those of columns without names.
            names: asked.filter(|name| name.parse::<u64>().is_err()).cloned().collect(),
            is_list: false,
            delimiter: self.delimiter,
            has_header: self.header,
            decimal: self.decimal,
            is_tsv: format::is_tsv(path),
            is_json: false,
        }
    }
}
