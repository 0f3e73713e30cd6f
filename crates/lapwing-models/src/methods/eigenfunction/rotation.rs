//! Step 1: center and rotate to the principal axes.
//!
//! For up to [`MOST_COVARIANCE`] dense columns, the axes are eigenvectors of the covariance. For more columns and for sparse rows
//! they come from subspace iteration by products with the features (Halko, Martinsson & Tropp 2011, algorithm 4.4), which keeps
//! sparse rows sparse.

use std::ops::Range;

use lapwing_core::parallel::*;
use lapwing_core::{Csr, Dense, Features, Matrix, Result, Run, Stream};
use lapwing_solve::dense::{eigen_symmetric, gram, orthonormal_columns};
use lapwing_solve::products::add_sparse_product;
use rand::RngExt;

/// Most columns for which a covariance is computed.
const MOST_COVARIANCE: usize = 1024;
/// Rows that a thread works on at a time.
const BLOCK_ROWS: usize = 1024;
/// Blocks whose covariances are held at a time, for any number of threads.
const WAVE: usize = 16;
/// Columns that a thread works on at a time in products with the transposed features.
const STRIPE: usize = 64;
/// Steps of the subspace iteration.
const ITERATIONS: usize = 8;
/// Additional axes that are iterated, so that the wanted ones converge faster.
const SPARE: usize = 8;

/// Means of the columns, and orthonormal axes of descending variance.
#[derive(Clone, Debug)]
pub(super) struct Rotation {
    /// Means (d).
    pub mean: Vec<f64>,
    /// Axes as columns (d, r).
    pub axes: Matrix,
}

impl Rotation {
    /// The `r` leading principal axes of `features` (n, d), r ≤ d.
    pub fn new(features: &Features<'_>, r: usize, run: &Run) -> Result<Self> {
        let mean = match features {
            Features::Dense(dense) => dense.column_means(run),
            Features::Sparse(sparse) => sparse_means(sparse),
        };
        let axes = match features {
            Features::Dense(dense) if dense.n_cols() <= MOST_COVARIANCE => {
                let covariance = covariance(dense, &mean, run)?;
                leading(&covariance, r)?
            }
            _ => iterated(features, &mean, r, run)?,
        };
        Ok(Self { mean, axes })
    }

    /// The rows in the new axes (n, r).
    pub fn project(&self, features: &Features<'_>, run: &Run) -> Result<Matrix> {
        centered_product(features, &self.mean, &self.axes, run)
    }

    /// The rotation to the axes `columns` only.
    pub fn select(&self, columns: &[usize]) -> Self {
        let mut axes = Matrix::filled(self.axes.n_rows(), columns.len(), 0.0);
        for (at, row) in self.axes.rows().enumerate() {
            axes.row_mut(at).iter_mut().zip(columns).for_each(|(out, &column)| *out = row[column]);
        }
        Self { mean: self.mean.clone(), axes }
    }
}

/// Peak memory of the rotation beyond the features.
pub(super) fn plan_bytes(n: usize, d: usize, r: usize, n_entries: Option<usize>, threads: usize) -> usize {
    let width = (r + SPARE).min(d);
    match n_entries {
        None if d <= MOST_COVARIANCE => {
            let n_blocks = n.div_ceil(BLOCK_ROWS);
            8 * (2 * WAVE.min(n_blocks) + 3) * d * d + 24 * threads.min(n_blocks) * BLOCK_ROWS.min(n) * d
        }
        None => 8 * (n + 4 * d) * width,
        // The transposed features, and the blocks.
        Some(entries) => 8 * entries + 8 * d + 8 * (n + 4 * d) * width,
    }
}

/// Memory of a projection beyond its result: rows of a block, centered and packed, for each thread; twice, because the allocator
/// does not return freed memory.
pub(super) fn project_bytes(n: usize, d: usize, threads: usize) -> usize {
    32 * threads.min(n.div_ceil(BLOCK_ROWS)) * BLOCK_ROWS.min(n) * d
}

/// The last `r` eigenvectors, the largest first (d, r).
fn leading(symmetric: &Matrix, r: usize) -> Result<Matrix> {
    let (d, vectors) = (symmetric.n_rows(), eigen_symmetric(symmetric)?.1);
    let mut axes = Matrix::filled(d, r, 0.0);
    for row in 0..d {
        (0..r).for_each(|k| axes.row_mut(row)[k] = vectors.row(row)[d - 1 - k]);
    }
    Ok(axes)
}

/// Σ (x − m)(x − m)ᵀ (d, d); blocks of rows in parallel, added in order.
fn covariance(dense: &Dense<'_>, mean: &[f64], run: &Run) -> Result<Matrix> {
    let (n, d) = (dense.n_rows(), dense.n_cols());
    let n_blocks = n.div_ceil(BLOCK_ROWS);
    let of_block = |block: usize| {
        let rows = block * BLOCK_ROWS..((block + 1) * BLOCK_ROWS).min(n);
        let mut centered = Matrix::filled(rows.len(), d, 0.0);
        for (at, row) in rows.enumerate() {
            let out = centered.row_mut(at);
            dense.copy_row_f64(row, out);
            out.iter_mut().zip(mean).for_each(|(x, m)| *x -= m);
        }
        gram(&centered)
    };
    let mut total = Matrix::filled(d, d, 0.0);
    for first in (0..n_blocks).step_by(WAVE) {
        run.check()?;
        let wave: Vec<Matrix> =
            run.install(|| (first..(first + WAVE).min(n_blocks)).into_par_iter().map(of_block).collect());
        for part in wave {
            total.values_mut().iter_mut().zip(part.values()).for_each(|(total, part)| *total += part);
        }
    }
    Ok(total)
}

/// Axes by subspace iteration from a random start.
fn iterated(features: &Features<'_>, mean: &[f64], r: usize, run: &Run) -> Result<Matrix> {
    let d = features.n_cols();
    let width = (r + SPARE).min(d);
    let transposed = match features {
        Features::Sparse(sparse) => Some(sparse.transpose()?),
        Features::Dense(_) => None,
    };
    let mut rng = run.rng(Stream::Start, 0);
    let start = (0..d * width).map(|_| rng.random_range(-1.0..1.0f64)).collect();
    let mut basis = orthonormal_columns(&Matrix::new(d, width, start)?);
    for step in 0..ITERATIONS {
        run.share(step as f64 / ITERATIONS as f64, &format!("iteration {} of {ITERATIONS}", step + 1));
        let product = centered_product(features, mean, &basis, run)?;
        basis = orthonormal_columns(&transposed_product(features, transposed.as_ref(), mean, &product, run)?);
    }
    let product = centered_product(features, mean, &basis, run)?;
    let rotation = leading(&blockwise_gram(&product, run), r)?;
    let mut axes = Matrix::filled(d, r, 0.0);
    for (row, of_basis) in basis.rows().enumerate() {
        let out = axes.row_mut(row);
        for (b, rotation) in of_basis.iter().zip(rotation.rows()) {
            out.iter_mut().zip(rotation).for_each(|(out, r)| *out += b * r);
        }
    }
    Ok(axes)
}

/// (X − 1mᵀ)·B (n, w) for B (d, w).
fn centered_product(features: &Features<'_>, mean: &[f64], b: &Matrix, run: &Run) -> Result<Matrix> {
    let (n, w) = (features.n_rows(), b.n_cols());
    let mut out = Matrix::filled(n, w, 0.0);
    let mut of_mean = vec![0.0; w];
    for (m, b) in mean.iter().zip(b.rows()) {
        of_mean.iter_mut().zip(b).for_each(|(sum, b)| *sum += m * b);
    }
    run.install(|| {
        let blocks = out.values_mut().par_chunks_mut(BLOCK_ROWS * w.max(1)).enumerate();
        blocks.for_each(|(block, out)| {
            if run.is_canceled() {
                return;
            }
            let rows = block * BLOCK_ROWS..block * BLOCK_ROWS + out.len() / w.max(1);
            match features {
                Features::Dense(dense) => {
                    let mut x = vec![0.0; features.n_cols()];
                    for (row, out) in rows.zip(out.chunks_exact_mut(w.max(1))) {
                        dense.copy_row_f64(row, &mut x);
                        x.iter_mut().zip(mean).for_each(|(x, m)| *x -= m);
                        for (x, b) in x.iter().zip(b.rows()) {
                            out.iter_mut().zip(b).for_each(|(out, b)| *out += x * b);
                        }
                    }
                }
                Features::Sparse(sparse) => {
                    add_sparse_product(sparse, rows, b.values(), w, out);
                    for out in out.chunks_exact_mut(w.max(1)) {
                        out.iter_mut().zip(&of_mean).for_each(|(out, m)| *out -= m);
                    }
                }
            }
        });
    });
    run.check()?;
    Ok(out)
}

/// (X − 1mᵀ)ᵀ·T (d, w) for T (n, w), by stripes of columns of X; `transposed` is Xᵀ for sparse X.
fn transposed_product(
    features: &Features<'_>,
    transposed: Option<&Csr<f32>>,
    mean: &[f64],
    t: &Matrix,
    run: &Run,
) -> Result<Matrix> {
    let (d, w) = (features.n_cols(), t.n_cols());
    let mut out = Matrix::filled(d, w, 0.0);
    let mut sum = vec![0.0; w];
    t.rows().for_each(|t| sum.iter_mut().zip(t).for_each(|(sum, t)| *sum += t));
    run.install(|| {
        let stripes = out.values_mut().par_chunks_mut(STRIPE * w.max(1)).enumerate();
        stripes.for_each(|(stripe, out)| {
            let columns = stripe * STRIPE..((stripe + 1) * STRIPE).min(d);
            if run.is_canceled() {
                return;
            }
            match (features, transposed) {
                (Features::Dense(dense), _) => dense_stripe(dense, columns.clone(), t, out),
                (_, Some(transposed)) => {
                    add_sparse_product(transposed, columns.clone(), t.values(), w, out);
                }
                (_, None) => {}
            }
            for (column, out) in columns.zip(out.chunks_exact_mut(w)) {
                out.iter_mut().zip(&sum).for_each(|(out, sum)| *out -= mean[column] * sum);
            }
        });
    });
    run.check()?;
    Ok(out)
}

fn dense_stripe(dense: &Dense<'_>, columns: Range<usize>, t: &Matrix, out: &mut [f64]) {
    let mut x = vec![0.0; columns.len()];
    for (row, t) in t.rows().enumerate() {
        dense.copy_part_f64(row, columns.clone(), &mut x);
        for (x, out) in x.iter().zip(out.chunks_exact_mut(t.len())) {
            out.iter_mut().zip(t).for_each(|(out, t)| *out += x * t);
        }
    }
}

/// TᵀT of tall T, blocks in parallel and added in order.
fn blockwise_gram(t: &Matrix, run: &Run) -> Matrix {
    let w = t.n_cols();
    let parts: Vec<Matrix> = run.install(|| {
        let blocks = t.values().par_chunks(64 * BLOCK_ROWS * w.max(1));
        blocks
            .map(|values| {
                let mut part = Matrix::filled(w, w, 0.0);
                for row in values.chunks_exact(w.max(1)) {
                    for (at, x) in row.iter().enumerate() {
                        part.row_mut(at).iter_mut().zip(row).for_each(|(out, y)| *out += x * y);
                    }
                }
                part
            })
            .collect()
    });
    parts.into_iter().fold(Matrix::filled(w, w, 0.0), |mut total, part| {
        total.values_mut().iter_mut().zip(part.values()).for_each(|(total, part)| *total += part);
        total
    })
}

fn sparse_means(sparse: &Csr<f32>) -> Vec<f64> {
    let mut mean = vec![0.0; sparse.n_cols()];
    sparse.indices().iter().zip(sparse.values()).for_each(|(&column, &x)| mean[column as usize] += f64::from(x));
    mean.iter_mut().for_each(|m| *m /= sparse.n_rows().max(1) as f64);
    mean
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Random rows whose variance falls along axes that mix the columns.
    fn rows(n: usize, d: usize) -> Vec<f32> {
        let run = Run::new(Some(1), 5).unwrap();
        let mut rng = run.rng(Stream::Synthetic, 0);
        let mut values = vec![0.0f32; n * d];
        for row in values.chunks_exact_mut(d) {
            let z: Vec<f64> = (0..4).map(|k| rng.random_range(-1.0..1.0f64) * 10.0 / (1 << k) as f64).collect();
            for (column, x) in row.iter_mut().enumerate() {
                let mixed: f64 = z.iter().enumerate().map(|(k, z)| z * ((column * (k + 1)) as f64 * 0.7).sin()).sum();
                *x = (mixed + 3.0 + 0.01 * rng.random_range(-1.0..1.0f64)) as f32;
            }
        }
        values
    }

    fn assert_same_axes(a: &Matrix, b: &Matrix, tol: f64) {
        for k in 0..4 {
            let dot: f64 = a.rows().zip(b.rows()).map(|(a, b)| a[k] * b[k]).sum();
            assert!((dot.abs() - 1.0).abs() < tol, "axis {k}: {dot}");
        }
    }

    #[test]
    fn all_ways_to_the_axes_agree() {
        let (n, d, run) = (1500, 40, Run::new(Some(2), 0).unwrap());
        let values = rows(n, d);
        let entries: Vec<(u32, u32, f32)> =
            values.iter().enumerate().map(|(at, &x)| ((at / d) as u32, (at % d) as u32, x)).collect();
        let sparse = Features::Sparse(Arc::new(Csr::from_entries(n, d, &entries).unwrap()));
        let dense = Features::from_f32(n, d, values).unwrap();
        let exact = Rotation::new(&dense, 6, &run).unwrap();
        assert_same_axes(&exact.axes, &iterated(&dense, &exact.mean, 6, &run).unwrap(), 1e-6);
        let from_sparse = Rotation::new(&sparse, 6, &run).unwrap();
        assert_same_axes(&exact.axes, &from_sparse.axes, 1e-6);
        let (a, b) = (exact.project(&dense, &run).unwrap(), exact.project(&sparse, &run).unwrap());
        assert!(a.values().iter().zip(b.values()).all(|(a, b)| (a - b).abs() < 1e-4));
        // Columns of the rotated rows have mean 0, no covariance, and descending variance.
        let products = blockwise_gram(&a, &run);
        for j in 0..6 {
            assert!((0..j).all(|k| products.row(j)[k].abs() < 1e-6 * products.row(0)[0]));
            assert!(j == 0 || products.row(j)[j] <= products.row(j - 1)[j - 1]);
        }
    }
}
