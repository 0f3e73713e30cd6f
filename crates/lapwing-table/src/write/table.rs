//! The labeled table: row, label, confidence, whether a label reached the row, and perhaps more.

use std::path::Path;

use lapwing_core::{ClassNames, Error, Matrix, Result};

/// Endings that [`LabelWriter`](super::LabelWriter) accepts.
pub const LABEL_ENDINGS: [&str; 3] = [".parquet", ".csv", ".npy"];

/// Answers for all rows of a data set, to be written as a table.
#[derive(Clone, Copy, Debug)]
pub struct LabeledRows<'a> {
    /// Names of the classes.
    pub classes: &'a ClassNames,
    /// Class of each row (n); `None` leaves the label empty.
    pub labels: &'a [Option<usize>],
    /// Confidence in each label (n); the cell is empty for NaN and for rows without a label.
    pub confidence: &'a [f64],
    /// Whether a given label reaches the row (n).
    pub reached: &'a [bool],
    /// Whether each label is certified to be the one of the exact solution (n); the column `certified`.
    pub certified: Option<&'a [bool]>,
    /// Probability of each class (n, c), the columns `p_<class>`; NaN gives an empty cell.
    pub probabilities: Option<&'a Matrix>,
}

/// Columns that a table of labels may have besides row, label, confidence and reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelColumns {
    /// Whether the label is certified.
    pub certified: bool,
    /// The probability of each class.
    pub probabilities: bool,
}

impl LabelColumns {
    /// Names of the columns, in their order.
    pub(super) fn names(self, classes: &ClassNames) -> Vec<String> {
        let certified = self.certified.then(|| "certified".to_string());
        let classes = if self.probabilities { classes.names() } else { Vec::new() };
        certified.into_iter().chain(classes.iter().map(|name| format!("p_{name}"))).collect()
    }
}

impl std::fmt::Display for LabelColumns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match (self.certified, self.probabilities) {
            (true, true) => "certified and probabilities",
            (true, false) => "certified and no probabilities",
            (false, true) => "probabilities",
            (false, false) => "no probabilities",
        })
    }
}

impl LabeledRows<'_> {
    /// Checks that the columns have equal lengths; the first row is row `first_row` of the table.
    pub(super) fn check(&self, first_row: usize) -> Result<()> {
        let (n, n_classes) = (self.labels.len(), self.classes.len());
        let certified = self.certified.map(|certified| ("certified", certified.len()));
        let lengths = [("confidence", self.confidence.len()), ("reached", self.reached.len())];
        for (what, len) in lengths.into_iter().chain(certified) {
            if len != n {
                return Err(Error::shape(what, format!("{n} values, one per row"), format!("{len} values")));
            }
        }
        if let Some(matrix) = self.probabilities.filter(|matrix| (matrix.n_rows(), matrix.n_cols()) != (n, n_classes)) {
            let got = format!("{} × {} values", matrix.n_rows(), matrix.n_cols());
            return Err(Error::shape("probabilities", format!("{n} × {n_classes} values"), got));
        }
        match self.labels.iter().position(|label| label.is_some_and(|class| class >= n_classes)) {
            Some(at) => {
                Err(Error::labels(format!("row {} has a class beyond the {n_classes} there are", first_row + at)))
            }
            None => Ok(()),
        }
    }

    /// The optional columns that are present.
    pub(super) fn columns(&self) -> LabelColumns {
        LabelColumns { certified: self.certified.is_some(), probabilities: self.probabilities.is_some() }
    }

    /// Confidence of a row, `None` for an empty cell.
    pub(super) fn confidence_of(&self, row: usize) -> Option<f64> {
        self.labels[row].map(|_| self.confidence[row]).filter(|confidence| !confidence.is_nan())
    }
}

/// The ending of a name in small letters, by which a writer takes its format.
pub fn ending(path: &Path) -> Option<String> {
    path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase())
}
