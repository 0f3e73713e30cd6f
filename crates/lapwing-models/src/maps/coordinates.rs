//! Few rows of many columns, in coordinates of the space that they span: with K = Q·Qᵀ = U·S·Uᵀ the rows are U·S^(1/2), and the norm of
//! weights stays the same.

use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, Run};
use lapwing_solve::dense::eigen_symmetric_of;
use lapwing_solve::products::product_transposed;

use super::map::{StoredRows, StoredValues};

/// Eigenvalues of K below this share of the largest count as zero.
const CUTOFF: f64 = 1e-12;
/// Rows whose products are computed together.
const ROWS: usize = 64;

/// Rows in coordinates of the space that they span, from their products K = U·S·Uᵀ (l, l).
pub(crate) struct Coordinates {
    /// U·S^(1/2) (l, r).
    pub rows: StoredRows,
    /// U·S^(−1/2) (l, r): maps weights of the coordinates to shares of the rows in the weights of their columns.
    pub duals: Vec<f64>,
    /// S (r), the sums of the squares of the coordinates.
    pub squares: Vec<f64>,
}

/// Coordinates of rows with products `gram` (l, l).
pub(crate) fn coordinates(gram: Matrix, run: &Run) -> Result<Coordinates> {
    let l = gram.n_rows();
    let (values, vectors) = eigen_symmetric_of(gram, run)?;
    let largest = values.last().copied().unwrap_or(0.0);
    let kept: Vec<usize> = (0..l).filter(|&at| values[at] > CUTOFF * largest && values[at] > 0.0).collect();
    let scaled = |power: f64| -> Vec<f64> {
        let row = |row: usize| kept.iter().map(move |&at| (row, at));
        (0..l).flat_map(row).map(|(row, at)| vectors.row(row)[at] * values[at].powf(power)).collect()
    };
    let rows = StoredRows { width: kept.len(), values: StoredValues::Double(scaled(0.5)) };
    Ok(Coordinates { rows, duals: scaled(-0.5), squares: kept.iter().map(|&at| values[at]).collect() })
}

/// Products (l, l) of rows (l, k) with each other.
pub(crate) fn gram(rows: &[f64], k: usize, run: &Run) -> Result<Matrix> {
    let l = rows.len() / k;
    let mut gram = Matrix::filled(l, l, 0.0);
    run.install(|| {
        gram.values_mut().par_chunks_mut(ROWS * l).zip(rows.par_chunks(ROWS * k)).for_each(|(out, part)| {
            product_transposed(part, rows, k, out);
        });
    });
    run.check()?;
    Ok(gram)
}
