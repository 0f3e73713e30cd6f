//! Targets: the values that solvers fit.

use std::sync::Arc;

use super::{ClassNames, Labels, SparseLabels, UNLABELED};
use crate::{Error, Matrix, Result};

/// Bounds of values and weights: solvers form their squares, which must neither overflow nor vanish.
const SMALLEST: f64 = 1e-100;
const LARGEST: f64 = 1e100;

/// Shares that were rounded to two digits sum to 1 within this for a few classes.
const ROUNDING: f64 = 0.02;

/// Target values at the labeled rows, with a weight for each row.
#[derive(Clone, Debug, PartialEq)]
pub struct Targets {
    n_samples: usize,
    rows: Vec<u32>,
    values: Matrix,
    weights: Vec<f64>,
    /// Names of the columns, for messages; `None` if columns have only numbers.
    names: Option<Arc<ClassNames>>,
}

impl Targets {
    /// Targets `values` (l, c) at the rows `rows` (l, ascending) with weights `weights` (l).
    ///
    /// # Errors
    /// [`Error::Labels`] for no row, rows out of order or out of range, values beyond 1e100, weights outside of 1e-100
    /// to 1e100, or lengths that disagree.
    pub fn new(n_samples: usize, rows: Vec<u32>, values: Matrix, weights: Vec<f64>) -> Result<Self> {
        if rows.is_empty() {
            return Err(Error::labels("no row has a label; at least one is needed"));
        }
        if values.n_rows() != rows.len() || weights.len() != rows.len() {
            let got = format!("{} target rows and {} weights", values.n_rows(), weights.len());
            return Err(Error::shape("targets", format!("{} of each", rows.len()), got));
        }
        if n_samples > u32::MAX as usize {
            return Err(Error::shape("samples", format!("at most {} rows", u32::MAX), n_samples));
        }
        if !rows.is_sorted_by(|a, b| a < b) || rows.last().is_some_and(|&row| row as usize >= n_samples) {
            return Err(Error::labels(format!("labeled rows must be ascending, distinct and below {n_samples}")));
        }
        if let Some(at) = values.rows().position(|row| row.iter().any(|y| y.is_nan() || y.abs() > LARGEST)) {
            return Err(Error::labels(format!("the target of row {} is not finite or beyond {LARGEST:e}", rows[at])));
        }
        if let Some(at) = weights.iter().position(|&w| !(SMALLEST..=LARGEST).contains(&w)) {
            let (row, w) = (rows[at], weights[at]);
            return Err(Error::labels(format!(
                "the weight of row {row} is {w:e}; label weights must be between {SMALLEST:e} and {LARGEST:e}: divide all by the \
                 largest, or give 0 for no label"
            )));
        }
        Ok(Self { n_samples, rows, values, weights, names: None })
    }

    /// One-hot targets of class labels; `label_weights` (n) are the weights of the labels, 1 if `None`.
    ///
    /// A labeled row of weight 0 counts as unlabeled.
    ///
    /// # Errors
    /// [`Error::Labels`] when no row has a label or a weight is negative or not finite; [`Error::Shape`] when the
    /// weights are not one per row.
    pub fn one_hot(labels: &Labels, label_weights: Option<&[f64]>) -> Result<Self> {
        let n_classes = labels.n_classes();
        labels.check()?;
        let is_labeled = |row: usize| labels.index[row] != UNLABELED;
        let write = |row: usize, target: &mut [f64]| target[labels.index[row] as usize] = 1.0;
        Ok(Self::labeled(labels.len(), n_classes, label_weights, is_labeled, write)?.named(&labels.classes))
    }

    /// One-hot targets of labels with weight 1: equal to [`Targets::one_hot`] of the same labels.
    ///
    /// # Errors
    /// [`Error::Labels`] when no row has a label, or rows or classes are out of order or range; [`Error::Shape`] when
    /// there is not one class per row.
    pub fn from_sparse(labels: &SparseLabels) -> Result<Self> {
        let SparseLabels { n_samples, classes, rows, index } = labels;
        if rows.len() != index.len() {
            return Err(Error::shape("labels", format!("{} classes, one per row", rows.len()), index.len()));
        }
        if let Some((row, class)) = rows.iter().zip(index).find(|&(_, &class)| class as usize >= classes.len()) {
            let n_classes = classes.len();
            return Err(Error::labels(format!("row {row} has class index {class}; there are {n_classes} classes")));
        }
        let mut values = Matrix::filled(rows.len(), classes.len(), 0.0);
        index.iter().enumerate().for_each(|(at, &class)| values.row_mut(at)[class as usize] = 1.0);
        Ok(Self::new(*n_samples, rows.clone(), values, vec![1.0; rows.len()])?.named(classes))
    }

    /// Soft targets (n, c): rows of non-negative shares that sum to 1, all-zero rows unlabeled. Rows whose sum misses 1 by more than
    /// 1e-6, as sums of rounded shares do, but by at most 0.02, are divided by it.
    ///
    /// # Errors
    /// As [`Targets::one_hot`]; [`Error::Value`] naming a row that is neither a distribution nor zero.
    pub fn soft(shares: &Matrix, label_weights: Option<&[f64]>) -> Result<Self> {
        for (row, values) in shares.rows().enumerate() {
            let sum: f64 = values.iter().sum();
            let bad = values.iter().position(|&y| !(y >= 0.0 && y.is_finite()));
            if bad.is_some() || (sum != 0.0 && (sum - 1.0).abs() > ROUNDING) {
                return Err(Error::Value {
                    what: "soft labels".into(),
                    row,
                    col: bad,
                    value: bad.map_or(format!("shares that sum to {sum}"), |col| values[col].to_string()),
                    advice: "shares must be at least 0 and sum to 1, or all be 0 for an unlabeled row; divide each row by its sum"
                        .into(),
                });
            }
        }
        let is_labeled = |row: usize| shares.row(row).iter().any(|&y| y > 0.0);
        let write = |row: usize, target: &mut [f64]| {
            target.copy_from_slice(shares.row(row));
            let sum: f64 = target.iter().sum();
            if (sum - 1.0).abs() > 1e-6 {
                target.iter_mut().for_each(|share| *share /= sum);
            }
        };
        Self::labeled(shares.n_rows(), shares.n_cols(), label_weights, is_labeled, write)
    }

    /// Targets of a regression, one output: `values` (n) with NaN for unlabeled rows.
    ///
    /// # Errors
    /// As [`Targets::one_hot`].
    pub fn regression(values: &[f64], label_weights: Option<&[f64]>) -> Result<Self> {
        let largest = values.iter().filter(|value| !value.is_nan()).fold(0.0, |most: f64, value| most.max(value.abs()));
        if largest > 0.0 && largest < SMALLEST {
            return Err(Error::labels(format!(
                "the largest value is {largest:e}, below {SMALLEST:e}, so that squares would vanish; give the values in another unit"
            )));
        }
        let write = |row: usize, target: &mut [f64]| target[0] = values[row];
        Self::labeled(values.len(), 1, label_weights, |row| !values[row].is_nan(), write)
    }

    /// Targets of `n_columns` columns that `write` writes for each labeled row of weight above 0.
    fn labeled(
        n_samples: usize,
        n_columns: usize,
        label_weights: Option<&[f64]>,
        is_labeled: impl Fn(usize) -> bool,
        write: impl Fn(usize, &mut [f64]),
    ) -> Result<Self> {
        let rows = labeled_rows(n_samples, label_weights, is_labeled)?;
        let mut values = Matrix::filled(rows.len(), n_columns, 0.0);
        rows.iter().enumerate().for_each(|(at, &row)| write(row as usize, values.row_mut(at)));
        let weights = rows.iter().map(|&row| label_weights.map_or(1.0, |w| w[row as usize])).collect();
        Self::new(n_samples, rows, values, weights)
    }

    /// Number of samples, labeled or not.
    pub fn n_samples(&self) -> usize {
        self.n_samples
    }

    /// Number of target columns (classes, or 1 in regression).
    pub fn n_columns(&self) -> usize {
        self.values.n_cols()
    }

    /// Labeled rows, ascending (l).
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Target values of the labeled rows (l, c).
    pub fn values(&self) -> &Matrix {
        &self.values
    }

    /// Weight of each label (l), positive.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The name of a class for messages: the name in the labels, or else the number of its column.
    pub fn class_name(&self, class: usize) -> String {
        self.names.as_ref().map_or_else(|| class.to_string(), |names| names.quoted(class))
    }

    /// Weighted mean target ȳ = Σ cᵢ yᵢ / Σ cᵢ (c): in classification, the labeled class frequencies.
    pub fn mean(&self) -> Vec<f64> {
        let total: f64 = self.weights.iter().sum();
        let mut mean = vec![0.0; self.n_columns()];
        for (values, weight) in self.values.rows().zip(&self.weights) {
            mean.iter_mut().zip(values).for_each(|(m, y)| *m += weight * y);
        }
        mean.iter_mut().for_each(|m| *m /= total);
        mean
    }

    /// The targets minus `by`.
    ///
    /// # Errors
    /// As [`Targets::new`].
    pub fn shifted(&self, by: f64) -> Result<Self> {
        let values = self.values.values().iter().map(|y| y - by).collect();
        let values = Matrix::new(self.rows.len(), self.n_columns(), values)?;
        let shifted = Self::new(self.n_samples, self.rows.clone(), values, self.weights.clone())?;
        Ok(Self { names: self.names.clone(), ..shifted })
    }

    /// The same targets at other rows: `rows` (l, ascending) of `n_samples` instead of [`rows`](Self::rows).
    ///
    /// # Errors
    /// As [`Targets::new`].
    pub fn moved(&self, n_samples: usize, rows: Vec<u32>) -> Result<Self> {
        let moved = Self::new(n_samples, rows, self.values.clone(), self.weights.clone())?;
        Ok(Self { names: self.names.clone(), ..moved })
    }

    /// The targets at some of the labeled rows; `keep` gets positions in [`rows`](Self::rows).
    ///
    /// # Errors
    /// [`Error::Labels`] if none is kept.
    pub fn subset(&self, keep: impl Fn(usize) -> bool) -> Result<Self> {
        self.at((0..self.rows.len()).filter(|&at| keep(at)).collect())
    }

    /// The targets at the positions `kept` in the labeled rows.
    fn at(&self, kept: Vec<usize>) -> Result<Self> {
        let values = kept.iter().flat_map(|&at| self.values.row(at)).copied().collect();
        let subset = Self::new(
            self.n_samples,
            kept.iter().map(|&at| self.rows[at]).collect(),
            Matrix::new(kept.len(), self.n_columns(), values)?,
            kept.iter().map(|&at| self.weights[at]).collect(),
        )?;
        Ok(Self { names: self.names.clone(), ..subset })
    }

    fn named(self, classes: &ClassNames) -> Self {
        Self { names: Some(Arc::new(classes.clone())), ..self }
    }
}

fn labeled_rows(n: usize, weights: Option<&[f64]>, is_labeled: impl Fn(usize) -> bool) -> Result<Vec<u32>> {
    if let Some(weights) = weights {
        if weights.len() != n {
            return Err(Error::shape(
                "label weights",
                format!("{n} values, one per row"),
                format!("{} values", weights.len()),
            ));
        }
        if let Some(row) = (0..n).find(|&row| is_labeled(row) && !(weights[row] >= 0.0 && weights[row].is_finite())) {
            let weight = weights[row];
            return Err(Error::labels(format!(
                "the weight of row {row} is {weight}; label weights must be finite and at least 0"
            )));
        }
    }
    let n32 = u32::try_from(n).map_err(|_| Error::shape("samples", format!("at most {} rows", u32::MAX), n))?;
    Ok((0..n32).filter(|&row| is_labeled(row as usize) && weights.is_none_or(|w| w[row as usize] > 0.0)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClassNames;

    #[test]
    fn targets_know_their_mean_and_refuse_nonsense() {
        let labels = Labels::from_integers([Some(0), None, Some(1), Some(1)]);
        let targets = Targets::one_hot(&labels, Some(&[1.0, 0.0, 2.0, 1.0])).unwrap();
        assert_eq!(targets.rows(), [0, 2, 3]);
        assert_eq!(targets.mean(), [0.25, 0.75]);
        assert!(Targets::one_hot(&labels, Some(&[1.0; 3])).unwrap_err().to_string().contains("4 values"));
        assert!(Targets::one_hot(&labels, Some(&[-1.0; 4])).unwrap_err().to_string().contains("row 0"));
        let none = Labels::from_integers([None, None]);
        assert!(Targets::one_hot(&none, None).unwrap_err().to_string().contains("no row has a label"));
        let soft = Matrix::new(2, 2, vec![0.5, 0.5, 0.7, 0.7]).unwrap();
        assert!(Targets::soft(&soft, None).unwrap_err().to_string().contains("row 1"));
        let rounded = Matrix::new(3, 2, vec![0.333, 0.666, 0.0, 0.0, 0.5, 0.5]).unwrap();
        let rounded = Targets::soft(&rounded, None).unwrap();
        assert_eq!((rounded.rows(), rounded.values().row(1)), (&[0, 2][..], &[0.5, 0.5][..]));
        assert!((rounded.values().row(0)[0] - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(Targets::regression(&[f64::NAN, 2.0], None).unwrap().rows(), [1]);
        assert!(Targets::regression(&[f64::NAN, f64::INFINITY], None).is_err());
        let vanishing = Targets::regression(&[1e-170, f64::NAN, -2e-170], None).unwrap_err().to_string();
        assert!(vanishing.contains("2e-170") && vanishing.contains("another unit"), "{vanishing}");
        assert!(Targets::regression(&[0.0, 1e-170, 1.0], None).is_ok() && Targets::regression(&[0.0; 2], None).is_ok());
        let light = Targets::one_hot(&labels, Some(&[1e-300; 4])).unwrap_err().to_string();
        assert!(light.contains("the weight of row 0 is") && light.contains("1e-100"), "{light}");
    }

    #[test]
    fn sparse_labels_are_the_same_targets() {
        let labels = Labels::from_integers([Some(4), None, Some(2), Some(4), None]);
        let sparse = SparseLabels::from(&labels);
        assert_eq!(Targets::from_sparse(&sparse).unwrap(), Targets::one_hot(&labels, None).unwrap());
        let text = |sparse| Targets::from_sparse(&sparse).unwrap_err().to_string();
        assert!(text(SparseLabels { index: vec![0, 0, 2], ..sparse.clone() }).contains("row 3 has class index 2"));
        assert!(text(SparseLabels { index: vec![0], ..sparse.clone() }).contains("one per row"));
        assert!(text(SparseLabels { rows: vec![0, 0, 1], ..sparse.clone() }).contains("ascending"));
        assert!(text(SparseLabels { n_samples: 3, ..sparse }).contains("below 3"));
        let none = SparseLabels { n_samples: 2, classes: ClassNames::Integers(vec![]), rows: vec![], index: vec![] };
        assert!(text(none).contains("no row has a label"));
    }
}
