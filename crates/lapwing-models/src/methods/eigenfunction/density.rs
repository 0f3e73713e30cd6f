//! Steps 2 and 3: the smooth functions of one axis, on the histogram of the rows along it.

use lapwing_core::{Matrix, Result};
use lapwing_solve::dense::eigen_symmetric;

/// Bins b of the histogram along an axis, of sufficiently many rows.
const BINS: usize = 50;
/// Width σ of the kernel between bins, in units of their mean distance.
const RELATIVE_BANDWIDTH: f64 = 0.2;
/// Share ε that is added to every bin.
const DENSITY_FLOOR: f64 = 0.1;

/// A chosen function: its eigenvalue, its axis, and its number on that axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen {
    pub value: f64,
    pub axis: usize,
    pub number: usize,
}

/// Functions of one axis.
#[derive(Clone, Debug)]
pub(super) struct AxisFunctions {
    /// Column of the rotated rows.
    pub column: usize,
    /// Center of the first bin, width of a bin.
    pub grid: (f64, f64),
    /// Eigenvalues, ascending (b').
    pub values: Vec<f64>,
    /// Values at the centers, one function in each column (b', b').
    pub at_centers: Matrix,
}

/// Smallest and largest value of a column.
pub(super) fn extent(rows: &Matrix, column: usize) -> (f64, f64) {
    rows.rows()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), row| (low.min(row[column]), high.max(row[column])))
}

impl AxisFunctions {
    /// All functions of one column, whose values are from `low` to `high` and not all equal.
    pub fn new(rows: &Matrix, column: usize, (low, high): (f64, f64)) -> Result<Self> {
        let bins = BINS.min(rows.n_rows() / 10).max(2);
        let width = (high - low) / bins as f64;
        let mut shares = vec![0.0; bins];
        for row in rows.rows() {
            shares[(((row[column] - low) / width) as usize).min(bins - 1)] += 1.0;
        }
        shares.iter_mut().for_each(|share| *share = *share / rows.n_rows() as f64 + DENSITY_FLOOR);
        let total: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= total);
        let (values, at_centers) = smooth_functions(&shares, width)?;
        Ok(Self { column, grid: (low + width / 2.0, width), values, at_centers })
    }
}

/// Eigenvalues, ascending, and functions of (D̃ − P·W·P)·g = λ·P·D̂·g for bins of `width` with the shares `p`.
fn smooth_functions(p: &[f64], width: f64) -> Result<(Vec<f64>, Matrix)> {
    let b = p.len();
    let distance = |r: usize, s: usize| r.abs_diff(s) as f64 * width;
    let mean = (0..b * b).map(|at| distance(at / b, at % b)).sum::<f64>() / (b * b) as f64;
    let bandwidth = RELATIVE_BANDWIDTH * mean;
    let kernel = |r: usize, s: usize| (-(distance(r, s) / bandwidth).powi(2) / 2.0).exp();
    // 1ᵀPW is at least p, so that nothing below is divided by 0.
    let smoothed: Vec<f64> = (0..b).map(|s| (0..b).map(|r| p[r] * kernel(r, s)).sum()).collect();
    // P·D̂ equals D̃: the sum of a column of P·W·P is p times that of P·W.
    let scale: Vec<f64> = p.iter().zip(&smoothed).map(|(p, d)| (p * d).sqrt().recip()).collect();
    let mut symmetric = Matrix::filled(b, b, 0.0);
    for r in 0..b {
        for s in 0..b {
            let diagonal = if r == s { p[s] * smoothed[s] } else { 0.0 };
            symmetric.row_mut(r)[s] = scale[r] * (diagonal - p[r] * kernel(r, s) * p[s]) * scale[s];
        }
    }
    let (values, mut vectors) = eigen_symmetric(&symmetric)?;
    (0..b).for_each(|r| vectors.row_mut(r).iter_mut().for_each(|h| *h *= scale[r]));
    Ok((values, vectors))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For a uniform density the functions are cosines with half a period, one period, and so on.
    #[test]
    fn functions_of_a_uniform_density_are_cosines() {
        let n = 5000;
        let rows = Matrix::new(n, 1, (0..n).map(|row| (row as f64 + 0.5) / n as f64).collect()).unwrap();
        let found = AxisFunctions::new(&rows, 0, extent(&rows, 0)).unwrap();
        assert!(found.values[0].abs() < 1e-10 && found.values[1] > 1e-10 && found.values.len() == 50);
        for k in 1..4 {
            let cosine = |bin: usize| (std::f64::consts::PI * k as f64 * (bin as f64 + 0.5) / 50.0).cos();
            let pairs = (0..50).map(|bin| (found.at_centers.row(bin)[k], cosine(bin)));
            let sums = pairs.fold([0.0; 3], |[ab, aa, bb], (a, b)| [ab + a * b, aa + a * a, bb + b * b]);
            let correlation = sums[0].abs() / (sums[1] * sums[2]).sqrt();
            assert!(correlation > 0.99, "function {k}: correlation {correlation}");
        }
    }

    #[test]
    fn few_rows_have_few_bins() {
        for (n, bins) in [(3, 2), (29, 2), (30, 3), (499, 49), (2000, 50)] {
            let rows = Matrix::new(n, 1, (0..n).map(|row| row as f64).collect()).unwrap();
            let found = AxisFunctions::new(&rows, 0, extent(&rows, 0)).unwrap();
            assert_eq!(found.values.len(), bins);
        }
    }
}
