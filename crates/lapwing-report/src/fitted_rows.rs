//! What a fit says of its rows.

use lapwing::data::{Labels, Matrix, RowNames};

use crate::text::count;

/// The rows of a fit: the labels that were given, those at the end, and how sure they are.
#[derive(Clone, Copy)]
pub struct FittedRows<'a> {
    /// The given labels: names of the classes, and the class of each row, negative for none.
    pub given: &'a Labels,
    /// Class of each row at the end.
    pub labels: &'a [Option<usize>],
    /// Shares of the classes in each row (n, c).
    pub shares: &'a Matrix,
    /// Confidence of each row.
    pub confidence: &'a [f64],
    /// Whether a label reaches the row.
    pub reached: &'a [bool],
    /// True class of each row, negative where it is unknown; none if no class is known.
    pub truth: Option<&'a [i32]>,
    /// Names of the rows, if they have any.
    pub names: Option<&'a RowNames>,
}

impl FittedRows<'_> {
    /// Whether the label of a row was given.
    pub(crate) fn is_given(&self, row: usize) -> bool {
        self.given.index.get(row).is_some_and(|&class| class >= 0)
    }

    /// The name of a row, or its number.
    pub(crate) fn name(&self, row: usize) -> String {
        name(self.names, row)
    }

    /// Rows without a given label that a label reaches.
    pub(crate) fn inferred(&self) -> impl Iterator<Item = usize> {
        (0..self.confidence.len()).filter(|&row| self.reached[row] && !self.is_given(row))
    }

    /// True class and label of the rows without a given label, where both are known.
    pub(crate) fn checked(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let truth = self.truth.unwrap_or_default();
        let rows = truth.iter().zip(self.labels).enumerate().filter(|(row, _)| !self.is_given(*row));
        rows.filter_map(|(row, (&truth, &label))| Some((row, usize::try_from(truth).ok()?, label?)))
    }
}

/// The name of a row, or its number.
pub(crate) fn name(names: Option<&RowNames>, row: usize) -> String {
    names.map_or_else(|| count(row), |names| names.name(row).to_owned())
}
