//! How the columns of a table become features.

use serde::{Deserialize, Serialize};

use super::dates::DatePart;
use super::gaps::GapFill;
use super::terms::TermColumns;
use crate::cell::Reading;
use crate::read::ColumnKind;

/// How a table becomes a matrix of features: a step for each of its columns, learned from the rows of a fit.
///
/// The same recipe turns new rows into features in the same way. Every column weighs about the same in a squared distance: a number has
/// a variance of about 1, so that two rows differ by 2 on average; two levels of a category differ by 2, unrelated texts too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Recipe {
    /// The columns, in the order of the table.
    pub columns: Vec<ColumnRecipe>,
    /// Whether features are sparse rows.
    pub is_sparse: bool,
    /// Whether dense features are in double precision, as the numbers of the table are.
    pub is_double: bool,
    /// Whether numbers are scaled.
    pub is_scaled: bool,
    /// How missing numbers are told from others of their row, if any are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaps: Option<GapFill>,
}

/// A column of a table and its step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ColumnRecipe {
    /// Name of the column.
    pub name: String,
    /// What it held in the fit.
    pub kind: ColumnKind,
    /// How its cells were read in the fit, where new ones alone may not tell: the order of day and month, the words for yes and no, a
    /// unit, a number that stands for none.
    #[serde(default)]
    pub(crate) reading: Reading,
    /// What is done with it.
    pub step: Step,
}

/// Why a column is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LeftOut {
    /// All cells are missing.
    Empty,
    /// All cells are equal.
    Constant,
    /// It names the rows: all cells differ.
    Identifier,
    /// It counts the rows.
    Counter,
    /// Its type cannot be used.
    Type,
}

/// What is done with a column.
///
/// `gap` is the number in an extra column where the cell is missing; `None` if no cell of the fit was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Step {
    /// It is left out.
    LeaveOut {
        /// Why.
        reason: LeftOut,
    },
    /// A number x becomes (x − center) / scale, or (ln(x + log) − center) / scale.
    Number {
        /// The number in place of missing ones that other columns do not tell: the median.
        fill: f64,
        /// The mean; 0 without scaling.
        center: f64,
        /// In proportion to the width of the column, or the standard deviation; 1 without scaling.
        scale: f64,
        /// What is added before the logarithm is taken; `None` to take the number itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        log: Option<f64>,
        /// The number in the extra column of a missing cell.
        gap: Option<f64>,
    },
    /// True becomes `size`, false 0.
    Boolean {
        /// The number of true.
        size: f64,
        /// The number in place of missing cells: the mean.
        fill: f64,
        /// The number in the extra column of a missing cell.
        gap: Option<f64>,
    },
    /// One column for each level, which is 1 in the rows of the level.
    Category {
        /// The levels, ascending.
        levels: Vec<String>,
        /// Whether missing cells are a level of their own, the last one.
        has_gap: bool,
    },
    /// Levels with an order become their number in it, scaled as numbers are.
    Ordered {
        /// The levels in their order.
        levels: Vec<String>,
        /// As for numbers.
        fill: f64,
        /// As for numbers.
        center: f64,
        /// As for numbers.
        scale: f64,
        /// As for numbers.
        gap: Option<f64>,
    },
    /// Parts of a date, scaled as numbers are, all together with the weight of one column.
    Date {
        /// The parts with their means and the scales by which they are divided.
        parts: Vec<(DatePart, f64, f64)>,
        /// Microseconds since 1970 in place of missing dates: the median.
        fill: i64,
        /// The number in the extra column of a missing cell.
        gap: Option<f64>,
    },
    /// Weights of terms (TF-IDF), of length `weight` in every row.
    Text {
        /// The terms.
        terms: TermColumns,
        /// The length of a row.
        weight: f64,
    },
    /// A list of numbers: each less its mean and divided by its scale; without scales, all scaled to the length `weight`, or as they are
    /// if that is `None`.
    Vector {
        /// Numbers in place of a missing list: the means.
        fill: Vec<f64>,
        /// The length of a list.
        weight: Option<f64>,
        /// What the numbers of a short list are divided by.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        scales: Vec<f64>,
        /// The number in the extra column of a missing cell.
        gap: Option<f64>,
    },
}

impl Step {
    /// The number in the extra column of a missing cell, if there is such a column.
    pub(super) fn gap(&self) -> Option<f64> {
        match self {
            Self::Number { gap, .. }
            | Self::Boolean { gap, .. }
            | Self::Ordered { gap, .. }
            | Self::Date { gap, .. }
            | Self::Vector { gap, .. } => *gap,
            Self::Category { has_gap, .. } => has_gap.then_some(1.0),
            Self::LeaveOut { .. } | Self::Text { .. } => None,
        }
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        let own = match self {
            Self::LeaveOut { .. } => 0,
            Self::Number { .. } | Self::Boolean { .. } | Self::Ordered { .. } => 1,
            Self::Category { levels, .. } => levels.len(),
            Self::Date { parts, .. } => parts.len(),
            Self::Text { terms, .. } => terms.len(),
            Self::Vector { fill, .. } => fill.len(),
        };
        own + usize::from(self.gap().is_some())
    }

    /// Names of the features of a column named `name`.
    fn feature_names(&self, name: &str) -> Vec<String> {
        let gap = self.gap().map(|_| format!("{name}_missing"));
        let mut names: Vec<String> = match self {
            Self::Number { .. } | Self::Boolean { .. } | Self::Ordered { .. } => vec![name.to_owned()],
            Self::Category { levels, .. } => levels.iter().map(|level| format!("{name}_{level}")).collect(),
            Self::Date { parts, .. } => parts.iter().map(|(part, ..)| format!("{name}_{}", part.word())).collect(),
            _ => (0..self.width() - usize::from(gap.is_some())).map(|at| format!("{name}_{at}")).collect(),
        };
        names.extend(gap);
        names
    }

    /// Whether the numbers of a stored step are in range.
    fn is_valid(&self) -> bool {
        let are_finite = |numbers: &[f64]| numbers.iter().all(|x| x.is_finite());
        let are_valid = match self {
            Self::LeaveOut { .. } => true,
            Self::Number { fill, center, scale, log, .. } => {
                let is_log = log.is_none_or(|shift| shift > 0.0 && shift.is_finite());
                are_finite(&[*fill, *center]) && *scale > 0.0 && is_log
            }
            Self::Boolean { size, fill, .. } => are_finite(&[*size, *fill]),
            Self::Category { levels, .. } => levels.is_sorted_by(|a, b| a < b),
            Self::Ordered { levels, fill, center, scale, .. } => {
                !levels.is_empty() && are_finite(&[*fill, *center]) && *scale > 0.0
            }
            Self::Date { parts, .. } => parts.iter().all(|(_, center, scale)| center.is_finite() && *scale > 0.0),
            Self::Text { terms, weight } => terms.is_valid() && weight.is_finite(),
            Self::Vector { fill, weight, scales, .. } => {
                let are_scales = scales.is_empty() || scales.len() == fill.len();
                let are_positive = scales.iter().all(|scale| *scale > 0.0);
                are_finite(fill)
                    && are_finite(scales)
                    && are_scales
                    && are_positive
                    && weight.is_none_or(f64::is_finite)
            }
        };
        are_valid && self.gap().is_none_or(f64::is_finite)
    }
}

impl Recipe {
    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.columns.iter().map(|column| column.step.width()).sum()
    }

    /// Names of the features: those of the columns, with the level, the part or a number behind them where a column becomes several.
    pub fn feature_names(&self) -> Vec<String> {
        self.columns.iter().flat_map(|column| column.step.feature_names(&column.name)).collect()
    }

    /// Names of the columns that are used, in the order of the table.
    pub fn used(&self) -> Vec<String> {
        let used = self.columns.iter().filter(|column| !matches!(column.step, Step::LeaveOut { .. }));
        used.map(|column| column.name.clone()).collect()
    }

    /// Whether features are the numbers of the table, as they are.
    pub fn is_plain(&self) -> bool {
        let is_plain = |step: &Step| {
            matches!(step, Step::Number { center, scale, log: None, gap: None, .. } if (*center, *scale) == (0.0, 1.0))
                || matches!(step, Step::LeaveOut { .. })
        };
        self.columns.iter().all(|column| is_plain(&column.step))
    }

    /// Whether missing numbers stay missing, as in a table that is taken as it is.
    pub(super) fn keeps_gaps(&self) -> bool {
        let keeps = |step: &Step| match step {
            Step::Number { fill, .. } => fill.is_nan(),
            Step::Vector { weight, .. } => weight.is_none(),
            _ => false,
        };
        self.columns.iter().all(|column| keeps(&column.step))
    }

    /// Whether the numbers of a stored recipe are in range.
    pub fn is_valid(&self) -> bool {
        let are_gaps = self.gaps.as_ref().is_none_or(|gaps| gaps.is_valid(self.columns.len()));
        self.columns.iter().all(|column| column.step.is_valid()) && are_gaps && self.n_features() > 0
    }
}
