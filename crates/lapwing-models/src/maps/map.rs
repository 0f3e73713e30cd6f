//! The map from weights to scores of the labeled nodes and its transpose: Z = E·H⁻¹X·W, ∇ = XᵀH⁻¹Eᵀ·R. Computed from stored
//! smoothed features, or by products with the graph.

use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, Run};
use lapwing_solve::products::{add_product, add_transposed_product};

/// Accuracy of a product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Accuracy {
    /// For a step or a change, with at most this relative error; single precision is enough.
    Step(f64),
    /// For the weights or the residual themselves.
    Whole,
}

/// A linear map from weights (k, c) to scores of the labeled nodes (l, c), for any c.
pub(crate) trait Map: Sync {
    /// Weights of each output k.
    fn width(&self) -> usize;

    /// Scores (l, c) of weights (k, c).
    fn forward(&self, weights: &Matrix, accuracy: Accuracy) -> Result<Matrix>;

    /// The transpose: (k, c) from (l, c).
    fn adjoint(&self, residual: &Matrix, accuracy: Accuracy) -> Result<Matrix>;
}

/// Smoothed features of the labeled nodes (l, k), row-major.
pub(crate) struct Stored<'m> {
    pub rows: &'m StoredRows,
    pub run: &'m Run,
}

/// The stored values.
pub(crate) struct StoredRows {
    pub width: usize,
    pub values: StoredValues,
}

pub(crate) enum StoredValues {
    Single(Vec<f32>),
    Double(Vec<f64>),
}

/// Rows of a block, and of a block whose products are summed.
const ROWS: usize = 512;
const SUMMED_ROWS: usize = 4096;

impl StoredRows {
    pub fn n_rows(&self) -> usize {
        match &self.values {
            StoredValues::Single(values) => values.len() / self.width,
            StoredValues::Double(values) => values.len() / self.width,
        }
    }

    /// Calls `work` with some of the rows in double precision.
    fn with_rows<T>(&self, first: usize, n: usize, work: impl FnOnce(&[f64]) -> T) -> T {
        let range = first * self.width..(first + n) * self.width;
        match &self.values {
            StoredValues::Single(values) => {
                let wide: Vec<f64> = values[range].iter().map(|&x| x.into()).collect();
                work(&wide)
            }
            StoredValues::Double(values) => work(&values[range]),
        }
    }

    /// The `wanted` rows, in order.
    pub fn subset(&self, wanted: impl Fn(usize) -> bool) -> Self {
        fn picked<T: Copy>(values: &[T], width: usize, wanted: impl Fn(usize) -> bool) -> Vec<T> {
            let rows = values.chunks_exact(width).enumerate().filter(|(at, _)| wanted(*at));
            rows.flat_map(|(_, row)| row).copied().collect()
        }
        let values = match &self.values {
            StoredValues::Single(values) => StoredValues::Single(picked(values, self.width, wanted)),
            StoredValues::Double(values) => StoredValues::Double(picked(values, self.width, wanted)),
        };
        Self { width: self.width, values }
    }

    /// Σ over the rows of their squares, times `trust` (l).
    pub fn trace(&self, trust: &[f64]) -> f64 {
        let squares = |first: usize| {
            let n = SUMMED_ROWS.min(self.n_rows() - first);
            self.with_rows(first, n, |rows| {
                let rows = rows.chunks_exact(self.width).zip(&trust[first..]);
                rows.map(|(row, m)| m * row.iter().map(|x| x * x).sum::<f64>()).sum::<f64>()
            })
        };
        let starts: Vec<usize> = (0..self.n_rows()).step_by(SUMMED_ROWS).collect();
        starts.into_par_iter().map(squares).collect::<Vec<f64>>().iter().sum()
    }
}

impl Map for Stored<'_> {
    fn width(&self) -> usize {
        self.rows.width
    }

    fn forward(&self, weights: &Matrix, _: Accuracy) -> Result<Matrix> {
        let c = weights.n_cols();
        let mut out = Matrix::filled(self.rows.n_rows(), c, 0.0);
        self.run.install(|| {
            out.values_mut().par_chunks_mut((ROWS * c).max(1)).enumerate().try_for_each(|(block, out)| {
                self.run.check()?;
                self.rows.with_rows(block * ROWS, out.len() / c, |rows| {
                    add_product(rows, weights.values(), self.rows.width, out);
                });
                Ok::<(), lapwing_core::Error>(())
            })
        })?;
        Ok(out)
    }

    fn adjoint(&self, residual: &Matrix, _: Accuracy) -> Result<Matrix> {
        let c = residual.n_cols();
        let mut out = Matrix::filled(self.rows.width, c, 0.0);
        let parts: Vec<Vec<f64>> = self.run.install(|| {
            let parts = residual.values().par_chunks((SUMMED_ROWS * c).max(1)).enumerate();
            parts
                .map(|(part, residual)| {
                    let mut sums = vec![0.0; self.rows.width * c];
                    for (block, residual) in residual.chunks(ROWS * c).enumerate() {
                        self.run.check()?;
                        let (first, n) = (part * SUMMED_ROWS + block * ROWS, residual.len() / c);
                        self.rows.with_rows(first, n, |rows| add_transposed_product(rows, residual, n, &mut sums));
                    }
                    Ok(sums)
                })
                .collect::<Result<_>>()
        })?;
        for part in parts {
            out.values_mut().iter_mut().zip(part).for_each(|(out, x)| *out += x);
        }
        Ok(out)
    }
}
