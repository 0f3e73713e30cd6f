//! How to read a file of samples.

use std::path::Path;

use super::format;
use super::text::Known;

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
}

impl ReadOptions {
    /// What is known about the dialect of a text.
    pub(crate) fn known(&self, path: &Path) -> Known {
        let asked = self.label_column.iter().chain(self.columns.iter().flatten()).chain(&self.drop).chain(&self.id);
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
