//! All columns of features that cannot be used, with their numbers of bad cells, for one error.

use std::collections::BTreeMap;
use std::fmt;

/// Number of columns that a message describes; [`BadColumns::columns`] has all.
const MAX_DESCRIBED: usize = 12;

/// What is wrong with the columns of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Cells of a text that are not numbers.
    Text,
    /// A type that is no number.
    Type,
    /// Cells of another kind than the fit had, in a column that its model needs.
    Changed,
    /// Values that are missing (NaN) or infinite.
    NotFinite,
    /// Finite values that single precision cannot hold.
    TooLarge,
}

/// The cells of a column that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadCells {
    /// How many there are.
    pub count: usize,
    /// Row of the first, counted from 0.
    pub row: usize,
    /// Its line in a text, counted from 1.
    pub line: Option<u64>,
}

/// A column that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadColumn {
    /// Its number, counted from 0.
    pub at: usize,
    /// Its name, if columns have names.
    pub name: Option<String>,
    /// Its bad cells; `None` if the type of the column is wrong.
    pub cells: Option<BadCells>,
    /// The first bad value, or the type.
    pub value: String,
}

/// All columns of features that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadColumns {
    /// The file, or `features`.
    pub what: String,
    /// What is wrong with them.
    pub fault: Fault,
    /// Number of rows.
    pub n_rows: usize,
    /// The columns, ascending.
    pub columns: Vec<BadColumn>,
}

impl BadColumn {
    /// The name, or the number if there is none.
    pub fn key(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.at.to_string())
    }
}

impl fmt::Display for BadColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "'{name}'"),
            None => write!(f, "column {}", self.at),
        }
    }
}

impl fmt::Display for BadColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let them = if self.columns.len() == 1 { "it" } else { "them" };
        let advice = match self.fault {
            Fault::Text | Fault::Type => format!("prepare {them}, or "),
            Fault::NotFinite => "impute these, or ".into(),
            Fault::TooLarge => "rescale these, or ".into(),
            Fault::Changed => return write!(f, "{}; write them as the fit had them", self.facts()),
        };
        write!(f, "{}; {advice}leave {them} out", self.facts())
    }
}

impl BadColumns {
    /// The message without the advice.
    pub fn facts(&self) -> String {
        let n = self.columns.len();
        let fault = match self.fault {
            Fault::Text => "with cells that are not numbers",
            Fault::Type => "of a type that is not a number",
            Fault::Changed => "with cells of another kind than in the fit",
            Fault::NotFinite => "with missing or infinite values",
            Fault::TooLarge => "with values beyond single precision",
        };
        let described = |column| format!("{column} ({})", self.described(column));
        let all: Vec<String> = self.columns.iter().take(MAX_DESCRIBED).map(described).collect();
        let more = if n > MAX_DESCRIBED { format!(" and {} more", n - MAX_DESCRIBED) } else { String::new() };
        let noun = if n == 1 { "column" } else { "columns" };
        format!("{}: {n} {noun} {fault}: {}{more}", self.what, all.join(", "))
    }

    fn described(&self, column: &BadColumn) -> String {
        let Some(cells) = column.cells else { return column.value.clone() };
        let value = match self.fault {
            Fault::Text | Fault::Changed => format!("'{}'", column.value),
            _ => column.value.clone(),
        };
        let place = cells.line.map_or_else(|| format!("row {}", cells.row), |line| format!("line {line}"));
        format!("{} of {} rows, first {value} in {place}", cells.count, self.n_rows)
    }
}

/// Collects bad cells row by row; needs memory only for columns that have any.
#[derive(Debug, Default)]
pub struct Survey {
    columns: BTreeMap<usize, BadColumn>,
}

impl Survey {
    /// Notes a cell of column `at`; calls `value` only for the first bad cell of a column.
    pub fn note(&mut self, at: usize, row: usize, line: Option<u64>, value: impl FnOnce() -> String) {
        let column = self.columns.entry(at).or_insert_with(|| {
            let cells = Some(BadCells { count: 0, row, line });
            BadColumn { at, name: None, cells, value: value() }
        });
        if let Some(cells) = &mut column.cells {
            cells.count += 1;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// All columns with bad cells, of a file or array `what` with `n_rows` rows.
    pub fn finish(self, what: impl Into<String>, fault: Fault, n_rows: usize) -> BadColumns {
        BadColumns { what: what.into(), fault, n_rows, columns: self.columns.into_values().collect() }
    }
}

/// Collects bad values: missing and infinite ones, and those beyond single precision.
#[derive(Debug, Default)]
pub struct ValueSurvey {
    not_finite: Survey,
    too_large: Survey,
}

/// Whether `x` is missing, infinite or beyond single precision.
#[inline]
pub fn is_bad(x: f64) -> bool {
    x.is_nan() || x.abs() > f64::from(f32::MAX)
}

impl ValueSurvey {
    /// Notes a value if it is bad.
    #[inline]
    pub fn look(&mut self, at: usize, row: usize, line: Option<u64>, x: f64) {
        if is_bad(x) {
            let survey = if x.is_finite() { &mut self.too_large } else { &mut self.not_finite };
            survey.note(at, row, line, || if x.is_finite() { format!("{x:e}") } else { x.to_string() });
        }
    }

    /// The columns with missing or infinite values; without such, those with too large values; `None` if there are
    /// none.
    pub fn finish(self, what: &str, n_rows: usize) -> Option<BadColumns> {
        let (survey, fault) = match self.not_finite.is_empty() {
            false => (self.not_finite, Fault::NotFinite),
            true => (self.too_large, Fault::TooLarge),
        };
        (!survey.is_empty()).then(|| survey.finish(what, fault, n_rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_named_with_its_first_cell() {
        let mut survey = Survey::default();
        survey.note(4, 0, Some(2), || "2024-01-01".into());
        survey.note(0, 1, Some(3), || "r1".into());
        survey.note(4, 2, Some(4), || unreachable!("asked for once"));
        let mut bad = survey.finish("in.csv", Fault::Text, 3);
        bad.columns[0].name = Some("id".into());
        assert_eq!(
            bad.to_string(),
            "in.csv: 2 columns with cells that are not numbers: 'id' (1 of 3 rows, first 'r1' in line 3), \
             column 4 (2 of 3 rows, first '2024-01-01' in line 2); prepare them, or leave them out"
        );
        assert_eq!(bad.columns.iter().map(BadColumn::key).collect::<Vec<_>>(), ["id", "4"]);
    }

    #[test]
    fn many_columns_are_counted() {
        let mut survey = ValueSurvey::default();
        (0..40).for_each(|at| survey.look(at, 7, None, f64::NAN));
        survey.look(3, 8, None, 1e300);
        let text = survey.finish("features", 9).unwrap().to_string();
        assert!(
            text.contains("40 columns") && text.ends_with("and 28 more; impute these, or leave them out"),
            "{text}"
        );
        assert!(ValueSurvey::default().finish("features", 1).is_none());
    }
}
