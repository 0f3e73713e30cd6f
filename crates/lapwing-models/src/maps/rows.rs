//! The features as a linear map: products with weights (d, c), transposed products, and columns to be smoothed. If there is a
//! bias, a constant column comes last. A center is subtracted from dense rows in double precision, before anything is rounded.
//!
//! Cost: one pass over the values for a product. Sparse features are also stored by columns. Parallel over blocks of rows or
//! columns of fixed size, whose sums are added in order.

use std::ops::Range;

use lapwing_core::parallel::*;
use lapwing_core::{Csr, Dense, Features, Matrix, Result, Run};
use lapwing_solve::products::{add_product_by_rows, add_sparse_product, add_transposed_product};

/// Features, prepared as a linear map.
pub(crate) struct Inputs<'p, 'a> {
    features: &'p Features<'a>,
    /// Sparse features by columns (d, n).
    by_columns: Option<Csr<f32>>,
    bias: bool,
    /// Subtracted from dense rows (d); empty for none.
    pub center: &'p [f64],
}

/// Rows of a block of a product.
const ROWS: usize = 512;
/// Sparse columns of a block.
const COLUMNS: usize = 64;
/// Rows of a block whose products with features are summed.
const SUMMED_ROWS: usize = 4096;

impl<'p, 'a> Inputs<'p, 'a> {
    /// # Errors
    /// [`Error::TooLarge`](lapwing_core::Error) if sparse features by columns exceed the memory.
    pub fn new(features: &'p Features<'a>, bias: bool) -> Result<Self> {
        Self::centered(features, bias, &[])
    }

    /// The same for dense rows less `center` (d, or empty for none).
    pub fn centered(features: &'p Features<'a>, bias: bool, center: &'p [f64]) -> Result<Self> {
        let by_columns = match features {
            Features::Sparse(csr) => Some(csr.transpose()?),
            Features::Dense(_) => None,
        };
        Ok(Self { features, by_columns, bias, center })
    }

    /// The columns `own` of a dense row, less the center.
    fn copy(&self, dense: &Dense<'_>, row: usize, own: Range<usize>, out: &mut [f64]) {
        dense.copy_part_f64(row, own.clone(), out);
        let center = self.center.get(own).unwrap_or_default();
        out.iter_mut().zip(center).for_each(|(x, center)| *x -= center);
    }

    /// Nodes n.
    pub fn n(&self) -> usize {
        self.features.n_rows()
    }

    /// Columns d.
    pub fn n_features(&self) -> usize {
        self.features.n_cols()
    }

    /// Weights of each output: columns, and the bias.
    pub fn width(&self) -> usize {
        self.features.n_cols() + usize::from(self.bias)
    }

    /// Values that a product reads.
    pub fn n_values(&self) -> usize {
        match self.features {
            Features::Dense(dense) => dense.n_rows() * dense.n_cols(),
            Features::Sparse(csr) => csr.nnz(),
        }
    }

    /// Whether most values are zeros that are not stored.
    pub fn is_sparse(&self) -> bool {
        matches!(self.features, Features::Sparse(_))
    }

    /// The mean of ‖x‖² over the rows for each feature, and 1 for the constant column (width): the weights of the rows of a layer
    /// in a penalty that does not depend on the unit of the features.
    pub fn mean_squares(&self) -> Vec<f64> {
        let mut squares = self.column_squares();
        let of_features = &mut squares[..self.n_features()];
        let mean = of_features.iter().sum::<f64>() / self.n() as f64;
        of_features.fill(mean.max(f64::MIN_POSITIVE));
        squares[self.n_features()..].fill(1.0);
        squares
    }

    /// ‖xⱼ‖² of each column (width).
    pub fn column_squares(&self) -> Vec<f64> {
        let d = self.features.n_cols();
        let mut sums = vec![0.0; self.width()];
        match self.features {
            Features::Dense(dense) => {
                let mut wide = vec![0.0; d];
                for row in 0..dense.n_rows() {
                    self.copy(dense, row, 0..d, &mut wide);
                    sums.iter_mut().zip(&wide).for_each(|(sum, x)| *sum += x * x);
                }
            }
            Features::Sparse(csr) => {
                let entries = csr.indices().iter().zip(csr.values());
                entries.for_each(|(&id, x)| sums[id as usize] += f64::from(*x).powi(2));
            }
        }
        if self.bias {
            sums[d] = self.n() as f64;
        }
        sums
    }

    /// Writes columns of the map (n, w), row-major, to `part`, which holds zeros.
    pub fn fill(&self, columns: Range<usize>, part: &mut [f32]) {
        let (d, w) = (self.features.n_cols(), columns.len());
        let own = columns.start..columns.end.min(d);
        match (self.features, &self.by_columns) {
            (Features::Dense(dense), _) => {
                part.par_chunks_mut(w).enumerate().with_min_len(ROWS).for_each(|(row, out)| {
                    let mut wide = [0.0; 64];
                    let wide = &mut wide[..own.len()];
                    self.copy(dense, row, own.clone(), wide);
                    out.iter_mut().zip(wide).for_each(|(out, x)| *out = *x as f32);
                });
            }
            (Features::Sparse(_), Some(by_columns)) => {
                for (at, column) in own.enumerate() {
                    let (rows, values) = by_columns.row(column);
                    rows.iter().zip(values).for_each(|(&row, x)| part[row as usize * w + at] = *x);
                }
            }
            (Features::Sparse(_), None) => {}
        }
        if columns.end > d {
            part.iter_mut().skip(w - 1).step_by(w).for_each(|out| *out = 1.0);
        }
    }

    /// X·W (n, c) of weights (width, c).
    pub fn times(&self, weights: &Matrix, run: &Run) -> Result<Matrix> {
        let (n, c, d) = (self.n(), weights.n_cols(), self.features.n_cols());
        let mut out = Matrix::filled(n, c, 0.0);
        let constant = if self.bias { weights.row(d) } else { &[] };
        run.install(|| {
            out.values_mut().par_chunks_mut((ROWS * c).max(1)).enumerate().try_for_each(|(block, out)| {
                run.check()?;
                let rows = block * ROWS..block * ROWS + out.len() / c;
                if self.bias {
                    out.chunks_exact_mut(c).for_each(|out| out.copy_from_slice(constant));
                }
                match self.features {
                    Features::Dense(dense) => {
                        let mut wide = vec![0.0; rows.len() * d];
                        rows.zip(wide.chunks_exact_mut(d)).for_each(|(row, wide)| self.copy(dense, row, 0..d, wide));
                        add_product_by_rows(&wide, &weights.values()[..d * c], d, out);
                    }
                    Features::Sparse(csr) => {
                        add_sparse_product(csr, rows, &weights.values()[..d * c], c, out);
                    }
                }
                Ok(())
            })
        })?;
        Ok(out)
    }

    /// Xᵀ·U (width, c) of a block (n, c), row-major.
    pub fn transposed_times(&self, u: &[f64], c: usize, run: &Run) -> Result<Matrix> {
        let d = self.features.n_cols();
        let mut out = Matrix::filled(self.width(), c, 0.0);
        run.install(|| {
            match (self.features, &self.by_columns) {
                (Features::Dense(dense), _) => {
                    let parts: Vec<Vec<f64>> = u
                        .par_chunks(SUMMED_ROWS * c)
                        .enumerate()
                        .map(|(part, u)| {
                            let mut sums = vec![0.0; d * c];
                            let mut wide = vec![0.0; ROWS * d];
                            for (block, u) in u.chunks(ROWS * c).enumerate() {
                                run.check()?;
                                let first = part * SUMMED_ROWS + block * ROWS;
                                let wide = &mut wide[..u.len() / c * d];
                                let rows = wide.chunks_exact_mut(d).enumerate();
                                rows.for_each(|(row, wide)| self.copy(dense, first + row, 0..d, wide));
                                add_transposed_product(wide, u, u.len() / c, &mut sums);
                            }
                            Ok(sums)
                        })
                        .collect::<Result<_>>()?;
                    for part in parts {
                        out.values_mut().iter_mut().zip(part).for_each(|(out, x)| *out += x);
                    }
                }
                (Features::Sparse(_), Some(by_columns)) => {
                    run.check()?;
                    let blocks = out.values_mut()[..d * c].par_chunks_mut(COLUMNS * c).enumerate();
                    blocks.for_each(|(block, out)| {
                        let first = block * COLUMNS;
                        add_sparse_product(by_columns, first..first + out.len() / c, u, c, out);
                    });
                }
                (Features::Sparse(_), None) => {}
            }
            if self.bias {
                let sums = lapwing_solve::column_dots(u, &vec![1.0; u.len()], u.len() / c, c);
                out.row_mut(d).copy_from_slice(&sums);
            }
            Ok(out)
        })
    }
}
