//! The labeled rows as a linear map from coefficients to scores: centered, in units of their spread, with a constant column.
//!
//! With x̄ the mean of the l labeled rows and s² their mean squared distance from it, a row is ((x − x̄)/s, 1). Sparse rows stay
//! sparse: x̄ is subtracted from products.
//!
//! Few rows of many columns, l ≤ d and l ≤ 1,024, are taken in coordinates of the space that they span, from eigenvectors of their
//! products (l, l). Scores and the norm of the coefficients stay the same ([`coordinates`]).

use lapwing_core::parallel::*;
use lapwing_core::{Csr, Dense, Features, Matrix, Result, Run};
use lapwing_solve::products::{add_transposed_product, times};

use super::fit::{Centered, Rows};
use crate::maps::{Accuracy, Coordinates, Inputs, Layers, Map, StoredRows, StoredValues, coordinates, gram};

/// Most rows for whose products eigenvectors are computed.
pub(super) const MOST_ROWS: usize = 1024;

/// All labeled rows.
pub(super) struct Design {
    labeled: Features<'static>,
    /// x̄ (d) and s.
    center: Vec<f64>,
    scale: f64,
    /// Maps weights of coordinates to shares of the rows (l, r), if the rows are taken in coordinates.
    duals: Option<Matrix>,
    /// The rows in the form that is fitted.
    pub rows: Rows,
}

impl Design {
    /// The rows `ids` of `features`.
    ///
    /// # Errors
    /// [`Error::Interrupted`](lapwing_core::Error::Interrupted); an eigenproblem that fails.
    pub fn new(features: &Features<'_>, ids: &[u32], run: &Run) -> Result<Self> {
        let labeled = features.select(ids)?;
        let (l, d) = (labeled.n_rows(), labeled.n_cols());
        let (center, scale) = spread(&labeled, run);
        if l > d.min(MOST_ROWS) {
            let rows = match &labeled {
                Features::Dense(dense) => Rows::Dense(stored(dense, &center, scale)),
                Features::Sparse(_) => Rows::Sparse { rows: labeled.clone(), center: center.clone(), scale },
            };
            return Ok(Self { labeled, center, scale, duals: None, rows });
        }
        let mut products = match &labeled {
            Features::Dense(dense) => gram(&scaled(dense, &center, scale), d, run)?,
            Features::Sparse(sparse) => sparse_gram(sparse, &center, scale, run)?,
        };
        products.values_mut().iter_mut().for_each(|product| *product += 1.0);
        let Coordinates { rows, duals, squares } = coordinates(products, run)?;
        let duals = Some(Matrix::new(l, rows.width, duals)?);
        Ok(Self { labeled, center, scale, duals, rows: Rows::Coordinates { rows, squares } })
    }

    /// The function of the features that has these weights, in the units of the features.
    pub fn layers(&self, weights: &Matrix, run: &Run) -> Result<Layers> {
        let (d, c) = (self.labeled.n_cols(), weights.n_cols());
        let mut output = match &self.duals {
            Some(duals) => self.adjoint(&times(duals, weights), run)?,
            None => weights.clone(),
        };
        let (coefficients, bias) = output.values_mut().split_at_mut(d * c);
        for (row, center) in coefficients.chunks_exact_mut(c).zip(&self.center) {
            for (value, bias) in row.iter_mut().zip(bias.iter_mut()) {
                *value /= self.scale;
                *bias -= center * *value;
            }
        }
        Ok(Layers { hidden: None, output, bias: true, center: Vec::new() })
    }

    /// The transposed map (d + 1, c) of values of the labeled rows (l, c).
    fn adjoint(&self, values: &Matrix, run: &Run) -> Result<Matrix> {
        let dense = match &self.labeled {
            Features::Dense(dense) => dense,
            Features::Sparse(_) => {
                let map = Centered::new(Inputs::new(&self.labeled, true)?, &self.center, self.scale, run);
                return map.adjoint(values, Accuracy::Whole);
            }
        };
        let (l, d, c) = (dense.n_rows(), dense.n_cols(), values.n_cols());
        let mut out = Matrix::filled(d + 1, c, 0.0);
        let (coefficients, bias) = out.values_mut().split_at_mut(d * c);
        add_transposed_product(&scaled(dense, &self.center, self.scale), values.values(), l, coefficients);
        values.rows().for_each(|row| bias.iter_mut().zip(row).for_each(|(sum, x)| *sum += x));
        Ok(out)
    }
}

/// x̄ and s. Rows that are all equal have s = 1.
fn spread(labeled: &Features<'_>, run: &Run) -> (Vec<f64>, f64) {
    let l = labeled.n_rows().max(1) as f64;
    let (center, squares) = match labeled {
        Features::Dense(dense) => {
            let center = dense.column_means(run);
            let mut values = vec![0.0; dense.n_cols()];
            let square = |row: usize| {
                dense.copy_row_f64(row, &mut values);
                values.iter().zip(&center).map(|(x, center)| (x - center).powi(2)).sum::<f64>()
            };
            let squares = (0..dense.n_rows()).map(square).sum::<f64>();
            (center, squares)
        }
        Features::Sparse(sparse) => {
            let mut center = vec![0.0; sparse.n_cols()];
            let entries = sparse.indices().iter().zip(sparse.values());
            entries.for_each(|(&column, &x)| center[column as usize] += f64::from(x));
            center.iter_mut().for_each(|sum| *sum /= l);
            let squares: f64 = sparse.values().iter().map(|&x| f64::from(x).powi(2)).sum();
            let of_center: f64 = center.iter().map(|x| x * x).sum();
            // A difference that is a rounding error counts as none.
            let left = squares - l * of_center;
            (center, if left > 1e-12 * squares { left } else { 0.0 })
        }
    };
    (center, if squares > 0.0 { (squares / l).sqrt() } else { 1.0 })
}

/// (x − x̄)/s of dense rows (l, d).
fn scaled(dense: &Dense<'_>, center: &[f64], scale: f64) -> Vec<f64> {
    let mut out = vec![0.0; dense.n_rows() * dense.n_cols()];
    for (row, out) in out.chunks_exact_mut(dense.n_cols()).enumerate() {
        dense.copy_row_f64(row, out);
        out.iter_mut().zip(center).for_each(|(x, center)| *x = (*x - center) / scale);
    }
    out
}

/// ((x − x̄)/s, 1) of dense rows (l, d + 1).
fn stored(dense: &Dense<'_>, center: &[f64], scale: f64) -> StoredRows {
    let width = dense.n_cols() + 1;
    let mut values = vec![1f32; dense.n_rows() * width];
    for (row, out) in values.chunks_exact_mut(width).enumerate() {
        dense.copy_row_f32(row, center, scale.recip(), &mut out[..width - 1]);
    }
    StoredRows { width, values: StoredValues::Single(values) }
}

/// Products (l, l) of the rows (x − x̄)/s of sparse x: (x·y − x·x̄ − x̄·y + ‖x̄‖²)/s².
fn sparse_gram(sparse: &Csr<f32>, center: &[f64], scale: f64, run: &Run) -> Result<Matrix> {
    let l = sparse.n_rows();
    let dot = |row: usize, dense: &[f64]| -> f64 {
        let (columns, values) = sparse.row(row);
        columns.iter().zip(values).map(|(&column, &x)| f64::from(x) * dense[column as usize]).sum()
    };
    let with_center: Vec<f64> = (0..l).map(|row| dot(row, center)).collect();
    let of_center: f64 = center.iter().map(|x| x * x).sum();
    let mut products = Matrix::filled(l, l, 0.0);
    run.install(|| {
        products.values_mut().par_chunks_mut(l.max(1)).enumerate().for_each_init(
            || vec![0.0; sparse.n_cols()],
            |wide, (row, out)| {
                let (columns, values) = sparse.row(row);
                columns.iter().zip(values).for_each(|(&column, &x)| wide[column as usize] = x.into());
                for (other, out) in out.iter_mut().enumerate() {
                    *out = (dot(other, wide) - with_center[row] - with_center[other] + of_center) / (scale * scale);
                }
                columns.iter().for_each(|&column| wide[column as usize] = 0.0);
            },
        );
    });
    run.check()?;
    Ok(products)
}
