//! Labels of few among many rows.

use std::collections::HashMap;

use super::{ClassNames, Labels, UNLABELED};
use crate::{Error, Result};

/// The rows that have a label, and their classes; needs memory only for these rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparseLabels {
    /// Number of rows n, with a label or without.
    pub n_samples: usize,
    /// Names of the classes, ascending.
    pub classes: ClassNames,
    /// Rows that have a label (l), ascending.
    pub rows: Vec<u32>,
    /// Class index of each of them (l).
    pub index: Vec<u32>,
}

impl SparseLabels {
    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.classes.len()
    }

    /// Number of rows that have a label.
    pub fn n_labeled(&self) -> usize {
        self.rows.len()
    }

    /// Number of labels of each class.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.n_classes()];
        self.index.iter().for_each(|&class| counts[class as usize] += 1);
        counts
    }
}

impl From<&Labels> for SparseLabels {
    /// Leaves out rows from 2³² on, which 32-bit numbers cannot count; [`Targets`](crate::Targets) refuses so many
    /// rows.
    fn from(labels: &Labels) -> Self {
        let labeled = (0..=u32::MAX).zip(&labels.index).filter(|&(_, &class)| class != UNLABELED);
        let (rows, index) = labeled.map(|(row, &class)| (row, class as u32)).unzip();
        Self { n_samples: labels.len(), classes: labels.classes.clone(), rows, index }
    }
}

impl From<SparseLabels> for Labels {
    fn from(labels: SparseLabels) -> Self {
        let mut index = vec![UNLABELED; labels.n_samples];
        for (&row, &class) in labels.rows.iter().zip(&labels.index) {
            if let Some(place) = index.get_mut(row as usize) {
                *place = class as i32;
            }
        }
        Self { classes: labels.classes, index }
    }
}

/// Collects labels, as numbers that stand for classes, into [`SparseLabels`].
#[derive(Default)]
pub struct LabelRows {
    n_samples: usize,
    rows: Vec<u32>,
    ids: Vec<u32>,
}

impl LabelRows {
    /// No labels yet, among `n_samples` rows.
    ///
    /// # Errors
    /// As [`check_rows`].
    pub fn among(n_samples: usize) -> Result<Self> {
        check_rows(n_samples)?;
        Ok(Self { n_samples, ..Self::default() })
    }

    /// Number of rows.
    pub fn n_samples(&self) -> usize {
        self.n_samples
    }

    /// How many labels have each number.
    pub fn counts(&self) -> HashMap<u32, usize> {
        let mut counts = HashMap::new();
        self.ids.iter().for_each(|id| *counts.entry(*id).or_default() += 1);
        counts
    }

    /// Adds the next row, with its label if it has one.
    pub fn push(&mut self, id: Option<u32>) {
        // Rows from 2³² on are only counted; `finish` returns an error.
        if let (Some(id), Ok(row)) = (id, u32::try_from(self.n_samples)) {
            self.put(row, id);
        }
        self.n_samples += 1;
    }

    /// Adds the label of a row that has none yet.
    pub fn put(&mut self, row: u32, id: u32) {
        self.rows.push(row);
        self.ids.push(id);
    }

    /// The labels, given the names of the classes and the class of each number.
    ///
    /// # Errors
    /// As [`check_rows`].
    pub fn finish(mut self, (classes, class_of): (ClassNames, Vec<u32>)) -> Result<SparseLabels> {
        check_rows(self.n_samples)?;
        if !self.rows.is_sorted() {
            let mut pairs: Vec<(u32, u32)> = self.rows.into_iter().zip(self.ids).collect();
            pairs.sort_unstable();
            (self.rows, self.ids) = pairs.into_iter().unzip();
        }
        self.ids.iter_mut().for_each(|id| *id = class_of[*id as usize]);
        Ok(SparseLabels { n_samples: self.n_samples, classes, rows: self.rows, index: self.ids })
    }
}

/// Refuses more rows than 32-bit numbers can count.
fn check_rows(n_samples: usize) -> Result<()> {
    match n_samples > u32::MAX as usize {
        true => Err(Error::shape("samples", format!("at most {} rows", u32::MAX), n_samples)),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_the_same_either_way() {
        let labels = Labels::from_texts(["b", "", "a", "nan", "b"], None);
        let sparse = SparseLabels::from(&labels);
        assert_eq!((&sparse.rows[..], &sparse.index[..]), (&[0, 2, 4][..], &[1, 0, 1][..]));
        assert_eq!((sparse.n_samples, sparse.n_classes(), sparse.n_labeled()), (5, 2, 3));
        assert_eq!(Labels::from(sparse), labels);
    }

    #[test]
    fn rows_come_in_any_order_and_are_not_too_many() {
        let mut rows = LabelRows::among(9).unwrap();
        [(7, 0), (2, 1), (4, 0)].into_iter().for_each(|(row, id)| rows.put(row, id));
        let labels = rows.finish((ClassNames::Integers(vec![3, 5]), vec![1, 0])).unwrap();
        assert_eq!((labels.rows, labels.index), (vec![2, 4, 7], vec![0, 1, 1]));
        assert!(LabelRows::among(1 << 32).err().unwrap().to_string().contains("at most 4294967295 rows"));
    }
}
