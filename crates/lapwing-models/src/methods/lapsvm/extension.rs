//! The extension to new rows: f(x) = Σ αⱼ·k(xⱼ, x) + b over the k rows with coefficients, k·d multiplications each, or f(x) = wᵀx
//! + b.

use std::sync::Arc;

use lapwing_core::model_file::{ModelFile, Must};
use lapwing_core::parallel::*;
use lapwing_core::{Error, Features, Matrix, Result, Run};
use lapwing_solve::products::add_product_by_rows;
use serde::{Deserialize, Serialize};

use super::kernel::{Kernel, KernelRows};
use crate::core::extend::{Extend, Extension, Shape, check_columns};
use crate::core::scores::Extended;
use crate::core::stored::{features_of, read_settings, settings, store_features};

/// Name of the kind.
pub(crate) const KIND: &str = "kernel_machine";
/// New rows that are scored together.
const ROWS: usize = 128;
/// Rows of the fit whose similarities are computed together.
const COLUMNS: usize = 2048;

/// A fitted kernel machine: the rows it keeps, their coefficients, and the bias.
#[derive(Clone, Debug)]
pub struct KernelExtension<'a> {
    expansion: Expansion<'a>,
    bias: Vec<f64>,
    n_classes: usize,
}

/// The terms of f.
#[derive(Clone, Debug)]
pub(super) enum Expansion<'a> {
    /// Similarities to rows (m, d), after subtracting `center` (d, or empty), times coefficients (m, k).
    Rows { kernel: Kernel, center: Vec<f64>, rows: Features<'a>, coefficients: Matrix },
    /// The features times weights (d, k).
    Weights(Matrix),
}

/// All fields but the arrays.
#[derive(Serialize, Deserialize)]
struct Meta {
    /// Kernel; none if features are weighted directly.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<Kernel>,
}

impl<'a> KernelExtension<'a> {
    /// `bias` (k) of k problems: one for two classes and for a regression, else one for each class.
    pub(super) fn new(expansion: Expansion<'a>, bias: Vec<f64>, n_classes: usize) -> Self {
        Self { expansion, bias, n_classes }
    }

    /// Coefficients: of the rows that are kept (m, k), or of the features (d, k).
    pub fn coefficients(&self) -> &Matrix {
        match &self.expansion {
            Expansion::Rows { coefficients, .. } => coefficients,
            Expansion::Weights(weights) => weights,
        }
    }

    /// b of each problem (k).
    pub fn bias(&self) -> &[f64] {
        &self.bias
    }

    /// The kernel; none if features are weighted directly, or similarities were given.
    pub fn kernel(&self) -> Option<Kernel> {
        if let Expansion::Rows { kernel, .. } = self.expansion { Some(kernel) } else { None }
    }

    /// The rows that are kept (m, d), for a kernel.
    pub fn rows(&self) -> Option<&Features<'a>> {
        if let Expansion::Rows { rows, .. } = &self.expansion { Some(rows) } else { None }
    }

    /// The same for features of `n` columns, of which only those in `columns` have weights.
    pub(super) fn widened(self, n: usize, columns: &[u32]) -> Self {
        let Expansion::Weights(own) = &self.expansion else { return self };
        let mut weights = Matrix::filled(n, own.n_cols(), 0.0);
        columns.iter().zip(own.rows()).for_each(|(&column, row)| weights.row_mut(column as usize).copy_from_slice(row));
        Self { expansion: Expansion::Weights(weights), ..self }
    }

    /// f of each problem (m, k), row-major.
    pub(super) fn values(&self, new: &Features<'_>, run: &Run) -> Result<Vec<f64>> {
        check_columns(new, self.n_features())?;
        new.check(run)?;
        let (m, k) = (new.n_rows(), self.bias.len());
        let fitted = match &self.expansion {
            Expansion::Rows { center, rows, .. } => Some(KernelRows::new(rows, 0..rows.n_rows(), center)?),
            Expansion::Weights(_) => None,
        };
        let mut out = vec![0.0; m * k];
        let done = run.counter(m, "rows");
        run.install(|| {
            out.par_chunks_mut(ROWS * k).enumerate().try_for_each(|(block, out)| {
                run.check()?;
                let first = block * ROWS;
                let range = first..(first + ROWS).min(m);
                out.chunks_exact_mut(k).for_each(|out| out.copy_from_slice(&self.bias));
                match (&self.expansion, &fitted) {
                    (Expansion::Rows { kernel, center, coefficients, .. }, Some(fitted)) => {
                        let here = KernelRows::new(new, range.clone(), center)?;
                        let mut similarities = vec![0.0; range.len() * COLUMNS];
                        for start in (0..fitted.len()).step_by(COLUMNS) {
                            let cols = start..(start + COLUMNS).min(fitted.len());
                            let similarities = &mut similarities[..range.len() * cols.len()];
                            kernel.block(&here, 0..range.len(), fitted, cols.clone(), similarities)?;
                            add_product_by_rows(
                                similarities,
                                &coefficients.values()[start * k..cols.end * k],
                                cols.len(),
                                out,
                            );
                        }
                    }
                    _ => weigh(new, range, self.coefficients(), out),
                }
                done.add(out.len() / k);
                Ok::<(), Error>(())
            })
        })?;
        self.rows().map_or(Ok(()), Features::check_file)?;
        Ok(out)
    }

    /// Scores of the classes from values of the problems (m, k).
    pub(super) fn scores(&self, values: &[f64], m: usize) -> Matrix {
        let (c, k) = (self.n_classes, self.bias.len());
        let mut out = Matrix::filled(m, c, 0.0);
        for (row, values) in values.chunks_exact(k).enumerate() {
            match out.row_mut(row) {
                [against, with] => (*against, *with) = (-values[0], values[0]),
                out => out.copy_from_slice(values),
            }
        }
        out
    }

    /// The extension that [`store`](Extend::store) wrote.
    pub(crate) fn stored(file: &ModelFile, n_classes: usize) -> Result<KernelExtension<'static>> {
        let meta: Meta = read_settings(file, &file.meta[KIND])?;
        let k = if n_classes == 2 { 1 } else { n_classes };
        let coefficients = file.matrix("coefficients", [None, Some(k)], Must::Finite)?;
        let bias = file.vector::<f64>("bias", &[Some(k)], Must::Finite)?;
        let expansion = match meta.kernel {
            None => Expansion::Weights(coefficients),
            Some(kernel) => {
                let rows = features_of(file)?;
                let center = file.vector::<f64>("center", &[None], Must::FitSingle)?;
                let fits =
                    rows.n_rows() == coefficients.n_rows() && (center.is_empty() || center.len() == rows.n_cols());
                let in_range = match kernel {
                    Kernel::Rbf { bandwidth } => Must::Positive.holds(&[bandwidth], 1),
                    Kernel::Poly { degree } => degree > 0 && i32::try_from(degree).is_ok(),
                    Kernel::Linear => true,
                };
                if !fits || !in_range {
                    return Err(file.error("its rows, coefficients and kernel do not fit together"));
                }
                Expansion::Rows { kernel, center, rows, coefficients }
            }
        };
        Ok(KernelExtension { expansion, bias, n_classes })
    }
}

impl Extend for KernelExtension<'_> {
    fn shape(&self) -> Shape {
        let n_features = match &self.expansion {
            Expansion::Rows { rows, .. } => rows.n_cols(),
            Expansion::Weights(weights) => weights.n_rows(),
        };
        Shape { kind: KIND, n_features, n_outputs: self.n_classes }
    }

    /// f of each class; −f and f for two.
    ///
    /// # Complexity
    /// O(m·k·(d + c)) time for k kept rows; a copy of these in double precision.
    fn extend(&self, new: &Features<'_>, run: &Run) -> Result<Extended> {
        Ok(self.scores(&self.values(new, run)?, new.n_rows()).into())
    }

    fn owned(&self) -> Result<Extension<'static>> {
        let expansion = match self.expansion.clone() {
            Expansion::Weights(weights) => Expansion::Weights(weights),
            Expansion::Rows { kernel, center, rows, coefficients } => {
                let all: Vec<u32> = (0..rows.n_rows() as u32).collect();
                Expansion::Rows { kernel, center, rows: rows.select(&all)?, coefficients }
            }
        };
        Ok(Arc::new(KernelExtension { expansion, bias: self.bias.clone(), n_classes: self.n_classes }))
    }

    fn store(&self, file: &mut ModelFile) -> Result<()> {
        let coefficients = self.coefficients();
        file.insert("coefficients", &[coefficients.n_rows(), coefficients.n_cols()], coefficients.values().to_vec())?;
        file.insert("bias", &[self.bias.len()], self.bias.clone())?;
        if let Expansion::Rows { center, rows, .. } = &self.expansion {
            file.insert("center", &[center.len()], center.clone())?;
            store_features(rows, file)?;
        }
        let meta = Meta { kernel: self.kernel() };
        file.meta[KIND] = settings(meta)?;
        Ok(())
    }
}

/// OUT (rows, k) ← OUT + X·W of some rows.
fn weigh(new: &Features<'_>, range: std::ops::Range<usize>, weights: &Matrix, out: &mut [f64]) {
    let k = weights.n_cols();
    let mut wide = vec![0.0; new.n_cols()];
    for (row, out) in range.zip(out.chunks_exact_mut(k)) {
        let mut add = |x: f64, column: usize| {
            out.iter_mut().zip(weights.row(column)).for_each(|(out, w)| *out += x * w);
        };
        match new {
            Features::Dense(dense) => {
                dense.copy_row_f64(row, &mut wide);
                wide.iter().enumerate().for_each(|(column, &x)| add(x, column));
            }
            Features::Sparse(csr) => {
                let (ids, values) = csr.row(row);
                ids.iter().zip(values).for_each(|(&id, x)| add(f64::from(*x), id as usize));
            }
        }
    }
}
