//! Given labels, and names of classes.

use lapwing::data::{ClassNames, Labels, SparseLabels, Targets};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::arrays::{matrix, vector};
use crate::error::to_py;

/// Given labels of a classification.
#[derive(FromPyObject)]
pub enum LabelsInput<'py> {
    /// `(class of each row or −1, names of the classes)`.
    Classes((PyReadonlyArray1<'py, i32>, NamesInput)),
    /// `(number of rows, rows that have a label, class of each of these, names of the classes)`.
    Sparse((usize, PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, u32>, NamesInput)),
    /// Shares of the classes in each row, zero rows unlabeled.
    Shares(PyReadonlyArray2<'py, f64>),
}

/// Names of classes.
#[derive(FromPyObject)]
pub enum NamesInput {
    /// Integers.
    Integers(Vec<i64>),
    /// Everything else, as text.
    Texts(Vec<String>),
}

impl From<&NamesInput> for ClassNames {
    fn from(names: &NamesInput) -> Self {
        match names {
            NamesInput::Integers(names) => Self::Integers(names.clone()),
            NamesInput::Texts(names) => Self::Texts(names.clone()),
        }
    }
}

impl LabelsInput<'_> {
    /// One-hot or soft targets.
    pub fn targets(&self, weights: Option<&PyReadonlyArray1<'_, f64>>) -> PyResult<Targets> {
        let weights = weights.map(vector).transpose()?;
        match self {
            Self::Classes((classes, names)) => {
                let labels = Labels { classes: names.into(), index: vector(classes)? };
                Targets::one_hot(&labels, weights.as_deref())
            }
            Self::Sparse((n_samples, rows, index, classes)) => {
                let classes = classes.into();
                let labels =
                    SparseLabels { n_samples: *n_samples, classes, rows: vector(rows)?, index: vector(index)? };
                Targets::from_sparse(&labels)
            }
            Self::Shares(shares) => Targets::soft(&matrix(shares)?, weights.as_deref()),
        }
        .map_err(to_py)
    }
}
