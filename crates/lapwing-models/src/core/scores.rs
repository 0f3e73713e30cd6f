//! Scores of rows: the largest of a row, its margin, exponentials, shares.

use std::sync::Arc;

use lapwing_core::{Matrix, Result};
use lapwing_simd::dispatch;

/// Scores of new rows and bounds on their errors.
#[derive(Clone, Debug)]
pub struct Extended {
    /// Scores (m, c), NaN where no label reaches.
    pub scores: Matrix,
    /// Bound on the error of the difference of any two standings of each row (m), if the labels of the fit were certified.
    pub errors: Option<Vec<f64>>,
}

/// Scores of the rows of a fit (n, c), NaN where no label reaches: shared with its labeling, or borrowed from who holds them.
#[derive(Clone, Debug)]
pub enum RowScores<'a> {
    /// Shared.
    Shared(Arc<Matrix>),
    /// Borrowed: the number of columns, and the values row by row.
    Borrowed(usize, &'a [f64]),
}

impl RowScores<'_> {
    /// Number of rows (n).
    pub fn n_rows(&self) -> usize {
        self.values().len() / self.n_cols().max(1)
    }

    /// Number of columns (c).
    pub fn n_cols(&self) -> usize {
        match self {
            Self::Shared(matrix) => matrix.n_cols(),
            Self::Borrowed(n_cols, _) => *n_cols,
        }
    }

    /// All values, row by row.
    pub fn values(&self) -> &[f64] {
        match self {
            Self::Shared(matrix) => matrix.values(),
            Self::Borrowed(_, values) => values,
        }
    }

    /// Row `row`.
    #[inline]
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values()[row * self.n_cols()..(row + 1) * self.n_cols()]
    }

    /// Whether these are the scores `matrix` themselves.
    pub fn are(&self, matrix: &Arc<Matrix>) -> bool {
        matches!(self, Self::Shared(own) if Arc::ptr_eq(own, matrix))
    }

    /// As a matrix, copied if they are borrowed.
    ///
    /// # Errors
    /// None in practice: a borrowed slice has whole rows.
    pub fn matrix(&self) -> Result<Arc<Matrix>> {
        match self {
            Self::Shared(matrix) => Ok(matrix.clone()),
            Self::Borrowed(n_cols, values) => Matrix::new(self.n_rows(), *n_cols, values.to_vec()).map(Arc::new),
        }
    }
}

impl From<Arc<Matrix>> for RowScores<'_> {
    fn from(matrix: Arc<Matrix>) -> Self {
        Self::Shared(matrix)
    }
}

impl From<Matrix> for Extended {
    /// Scores without bounds.
    fn from(scores: Matrix) -> Self {
        Self { scores, errors: None }
    }
}

/// Scales values to sum 1 even if their sum or its inverse overflows. If they are 0, infinite or NaN, all become equal.
pub(crate) fn to_sum_one(values: &mut [f64]) {
    let largest = top(values);
    if !(largest > 0.0 && largest.is_finite()) || values.iter().any(|value| value.is_nan()) {
        return values.fill(1.0 / values.len() as f64);
    }
    values.iter_mut().for_each(|value| *value /= largest);
    let total: f64 = values.iter().sum();
    values.iter_mut().for_each(|value| *value /= total);
}

/// Replaces values z by their shares e^(z/T)/Σ e^(z/T), T the `temperature`.
pub(crate) fn softmax(values: &mut [f64], temperature: f64) {
    let top = top(values);
    values.iter_mut().for_each(|z| *z = ((*z - top) / temperature).exp());
    let total: f64 = values.iter().sum();
    values.iter_mut().for_each(|z| *z /= total);
}

/// Some rows of a matrix.
pub(crate) fn rows_at(matrix: &Matrix, rows: impl ExactSizeIterator<Item = usize>) -> Matrix {
    let mut out = Matrix::filled(rows.len(), matrix.n_cols(), 0.0);
    rows.enumerate().for_each(|(to, from)| out.row_mut(to).copy_from_slice(matrix.row(from)));
    out
}

/// The largest value, NaN ignored.
#[inline]
pub(crate) fn top(values: &[f64]) -> f64 {
    values.iter().fold(f64::NEG_INFINITY, |top, value| if *value > top { *value } else { top })
}

/// By how much the best finite standing exceeds the mean of the other finite ones; NaN if there are none.
pub(crate) fn margin(standing: &[f64]) -> f64 {
    let (mut best, mut sum, mut count) = (f64::NEG_INFINITY, 0.0, 0usize);
    for &s in standing.iter().filter(|s| s.is_finite()) {
        (best, sum, count) = (best.max(s), sum + s, count + 1);
    }
    if count < 2 { f64::NAN } else { best - (sum - best) / (count - 1) as f64 }
}

/// Position of the largest value, the first of equal ones.
pub(crate) fn largest(values: &[f64]) -> usize {
    (1..values.len()).fold(0, |best, at| if values[at] > values[best] { at } else { best })
}

dispatch! {
    /// Replaces each value x ≤ 0 by eˣ, with a relative error below 1e-15; by 0 if x < −708.
    pub(crate) fn exponentials(values: &mut [f64]) = each_exponential
}

#[inline(always)]
fn each_exponential(values: &mut [f64]) {
    // ln 2 in two parts. The first part times a whole number below 2¹¹ is exact.
    const HIGH: f64 = f64::from_bits(0x3FE6_2E42_FEE0_0000);
    const LOW: f64 = 1.908_214_929_270_587_7e-10;
    // 1.5·2⁵². Adding it rounds a small number to a whole one, which is then in the last bits of the sum.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    // 1/13!, …, 1/2!: Taylor's series, whose remainder is below 1e-17 for |x| up to ln 2 / 2.
    const TERMS: [f64; 12] = [
        1.0 / 6_227_020_800.0,
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
    ];
    for value in values {
        let x = value.max(-708.0);
        let shifted = x * std::f64::consts::LOG2_E + ROUND;
        let whole = shifted - ROUND;
        let rest = x - whole * HIGH - whole * LOW;
        let series = TERMS[1..].iter().fold(TERMS[0], |sum, term| sum * rest + term);
        let power = 1.0 + (rest + rest * rest * series);
        // 2^whole by its exponent: from −1021 to 0.
        let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(0x3FF0_0000_0000_0000));
        *value = if *value < -708.0 { 0.0 } else { power * scale };
    }
}

/// 1 for classes that have a label, 0 for others, which are never chosen; `mean` (c) are the frequencies of the given labels.
pub(crate) fn present(mean: &[f64]) -> Vec<f64> {
    mean.iter().map(|m| f64::from(u8::from(*m > 0.0))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_those_of_the_library() {
        let mut values: Vec<f64> = (0..100_000).map(|i| -7.2e-3 * f64::from(i)).collect();
        values.extend([-1e-300, -0.0, -708.0, f64::NEG_INFINITY, -1e9, -0.346_573_590_279_972_64]);
        let expected: Vec<f64> = values.iter().map(|x| if *x < -708.0 { 0.0 } else { x.exp() }).collect();
        let plain = {
            let mut values = values.clone();
            each_exponential(&mut values);
            values
        };
        exponentials(&mut values);
        assert!(values == plain);
        let worst = values.iter().zip(&expected).map(|(a, b)| if b == a { 0.0 } else { (a / b - 1.0).abs() });
        assert!(worst.fold(0.0, f64::max) < 1e-15);
    }
}
