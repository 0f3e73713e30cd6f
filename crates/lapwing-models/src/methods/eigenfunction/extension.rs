//! Steps 5 and 6 for any row: clip, interpolate, scale, combine. Also stores the parts of a model.

use std::sync::Arc;

use lapwing_core::model_file::{ModelFile, Must};
use lapwing_core::parallel::*;
use lapwing_core::{Features, Matrix, Result, Run};

use super::density::{AxisFunctions, Chosen};
use super::rotation::Rotation;
use crate::core::extend::{Extend, Extension, Shape, check_columns};
use crate::core::scores::Extended;

/// Name of the kind.
pub(crate) const KIND: &str = "eigenfunctions";

/// Rows of a block in sums of squares.
const BLOCK_ROWS: usize = 4096;

/// Functions of single axes, given by their values at the centers of bins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Functions {
    /// Column of each function's axis (q).
    columns: Vec<u32>,
    /// For each used axis, in the order of columns (r, 4): lower clip, upper clip, first center, width of a bin.
    axes: Matrix,
    /// Values at the centers (q, b').
    values: Matrix,
}

/// Scores new rows by fitted eigenfunctions.
#[derive(Clone, Debug)]
pub struct EigenfunctionExtension {
    rotation: Rotation,
    functions: Functions,
    /// Coefficients of the functions (q, c).
    coefficients: Matrix,
    /// Added to each score (c).
    intercept: Vec<f64>,
}

impl Functions {
    /// The chosen functions of the columns of `rotated` (n, r), clipped `clip` percent from either end.
    pub fn new(rotated: &Matrix, all: &[AxisFunctions], chosen: &[Chosen], clip: f64) -> Self {
        let bins = all.first().map_or(2, |axis| axis.values.len());
        let mut values = Matrix::filled(chosen.len(), bins, 0.0);
        for (at, function) in chosen.iter().enumerate() {
            let at_centers = all[function.axis].at_centers.rows();
            values.row_mut(at).iter_mut().zip(at_centers).for_each(|(out, row)| *out = row[function.number]);
        }
        // All axes have a row here; `compact` removes the unused ones.
        let mut axes = Matrix::filled(rotated.n_cols(), 4, 0.0);
        let used: Vec<&AxisFunctions> = all
            .iter()
            .enumerate()
            .filter(|(at, _)| chosen.iter().any(|c| c.axis == *at))
            .map(|(_, axis)| axis)
            .collect();
        let clips: Vec<[f64; 4]> = used
            .par_iter()
            .map(|axis| {
                let mut column: Vec<f64> = rotated.rows().map(|row| row[axis.column]).collect();
                let (low, high) = (percentile(&mut column, clip), percentile(&mut column, 100.0 - clip));
                [low, high, axis.grid.0, axis.grid.1]
            })
            .collect();
        used.iter().zip(clips).for_each(|(axis, clip)| axes.row_mut(axis.column).copy_from_slice(&clip));
        Self { columns: chosen.iter().map(|c| all[c.axis].column as u32).collect(), axes, values }
    }

    /// Values of all functions (q) at one rotated row.
    pub fn evaluate(&self, row: &[f64], out: &mut [f64]) {
        for ((out, &column), values) in out.iter_mut().zip(&self.columns).zip(self.values.rows()) {
            let &[low, high, first, width] = self.axes.row(column as usize) else { continue };
            let at = (row[column as usize].clamp(low, high) - first) / width;
            // Below the first and above the last center the function continues with the slope there.
            let bin = (at.max(0.0) as usize).min(values.len() - 2);
            *out = values[bin] + (at - bin as f64) * (values[bin + 1] - values[bin]);
        }
    }

    /// Scales every function to norm 1 over the rotated rows.
    pub fn normalize(&mut self, rotated: &Matrix, run: &Run) {
        let q = self.columns.len();
        let parts: Vec<Vec<f64>> = run.install(|| {
            let blocks = rotated.values().par_chunks(BLOCK_ROWS * rotated.n_cols().max(1));
            blocks
                .map(|rows| {
                    let (mut squares, mut values) = (vec![0.0; q], vec![0.0; q]);
                    for row in rows.chunks_exact(rotated.n_cols().max(1)) {
                        self.evaluate(row, &mut values);
                        squares.iter_mut().zip(&values).for_each(|(square, u)| *square += u * u);
                    }
                    squares
                })
                .collect()
        });
        for k in 0..q {
            let norm = parts.iter().map(|squares| squares[k]).sum::<f64>().sqrt();
            // If the function is 0 at all rows, it is left at 0.
            let scale = if norm > 0.0 { norm.recip() } else { 0.0 };
            self.values.row_mut(k).iter_mut().for_each(|value| *value *= scale);
        }
    }

    /// Removes axes without a function; returns the columns that stay.
    fn compact(&mut self) -> Vec<usize> {
        let mut used: Vec<usize> = self.columns.iter().map(|&column| column as usize).collect();
        used.sort_unstable();
        used.dedup();
        let mut axes = Matrix::filled(used.len(), 4, 0.0);
        used.iter().enumerate().for_each(|(at, &column)| axes.row_mut(at).copy_from_slice(self.axes.row(column)));
        let place = |column: &u32| used.partition_point(|&other| other < *column as usize) as u32;
        self.columns = self.columns.iter().map(place).collect();
        self.axes = axes;
        used
    }
}

/// The `percent` percentile, linear between neighbors in rank; reorders the values.
fn percentile(values: &mut [f64], percent: f64) -> f64 {
    let rank = (values.len() - 1) as f64 * percent / 100.0;
    let below = (rank as usize).min(values.len() - 1);
    let (_, &mut low, above) = values.select_nth_unstable_by(below, f64::total_cmp);
    let high = above.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
    low + (rank - below as f64) * (high - low)
}

impl EigenfunctionExtension {
    /// `alpha` (q or q + 1, c) are the coefficients of the functions and, if there is one more, of a column with the value
    /// `constant`.
    pub(super) fn new(rotation: Rotation, mut functions: Functions, alpha: &Matrix, constant: f64) -> Self {
        let (q, c) = (functions.columns.len(), alpha.n_cols());
        let rotation = rotation.select(&functions.compact());
        let mut coefficients = Matrix::filled(q, c, 0.0);
        coefficients.values_mut().copy_from_slice(&alpha.values()[..q * c]);
        let intercept = match alpha.n_rows() > q {
            true => alpha.row(q).iter().map(|a| constant * a).collect(),
            false => vec![0.0; c],
        };
        Self { rotation, functions, coefficients, intercept }
    }

    /// Functions (q).
    pub(super) fn n_eigenfunctions(&self) -> usize {
        self.functions.columns.len()
    }

    /// Values of the functions (m, q) at the rows `features` (m, d). Over the fitted rows each column has norm 1.
    ///
    /// # Errors
    /// As [`Extend::extend`].
    #[cfg(test)]
    pub fn evaluate(&self, features: &Features<'_>, run: &Run) -> Result<Matrix> {
        self.each(features, self.n_eigenfunctions(), |values, out| out.copy_from_slice(values), run)
    }

    /// Rows (m, `width`) that `write` computes from the values of the functions at each row.
    fn each(
        &self,
        features: &Features<'_>,
        width: usize,
        write: impl Fn(&[f64], &mut [f64]) + Sync,
        run: &Run,
    ) -> Result<Matrix> {
        features.check(run)?;
        check_columns(features, self.n_features())?;
        let rotated = self.rotation.project(features, run)?;
        let (r, q) = (rotated.n_cols(), self.n_eigenfunctions());
        let mut out = Matrix::filled(features.n_rows(), width, 0.0);
        run.install(|| {
            let rows = out.values_mut().par_chunks_mut(width.max(1)).enumerate().with_min_len(256);
            rows.for_each_init(
                || vec![0.0; q],
                |values, (row, out)| {
                    self.functions.evaluate(&rotated.values()[row * r..(row + 1) * r], values);
                    write(values, out);
                },
            );
        });
        Ok(out)
    }

    /// Reads the extension from the file of a model of `n_classes` classes.
    ///
    /// # Errors
    /// [`Error::Format`](lapwing_core::Error::Format) for arrays that are missing or do not fit together.
    pub(crate) fn stored(file: &ModelFile, n_classes: usize) -> Result<Self> {
        let mean = file.vector::<f64>("mean", &[None], Must::Finite)?;
        let intercept = file.vector::<f64>("intercept", &[Some(n_classes)], Must::Finite)?;
        let axes = file.matrix("axes", [Some(mean.len()), None], Must::Finite)?;
        let grids = file.matrix("grids", [Some(axes.n_cols()), Some(4)], Must::Finite)?;
        let columns = file.array::<u32>("columns", &[None])?.1.as_slice().to_vec();
        let values = file.matrix("values", [Some(columns.len()), None], Must::Finite)?;
        let coefficients = file.matrix("coefficients", [Some(columns.len()), Some(n_classes)], Must::Finite)?;
        let is_grid = |grid: &[f64]| grid[0] <= grid[1] && grid[3] > 0.0;
        if values.n_cols() < 2
            || columns.iter().any(|&column| column as usize >= axes.n_cols())
            || !grids.rows().all(is_grid)
        {
            return Err(file.error("its functions and their grids are out of range, or do not fit together"));
        }
        let functions = Functions { columns, axes: grids, values };
        Ok(Self { rotation: Rotation { mean, axes }, functions, coefficients, intercept })
    }
}

impl Extend for EigenfunctionExtension {
    fn shape(&self) -> Shape {
        Shape { kind: KIND, n_features: self.rotation.mean.len(), n_outputs: self.intercept.len() }
    }

    /// # Complexity
    /// O(m·(d·r + q·c)) for r axes and q functions, with the entries of a row instead of d for sparse rows. Memory 8·r bytes a row.
    fn extend(&self, new: &Features<'_>, run: &Run) -> Result<Extended> {
        let combined = |values: &[f64], out: &mut [f64]| {
            out.copy_from_slice(&self.intercept);
            for (u, alpha) in values.iter().zip(self.coefficients.rows()) {
                out.iter_mut().zip(alpha).for_each(|(out, alpha)| *out += u * alpha);
            }
        };
        self.each(new, self.intercept.len(), combined, run).map(Extended::from)
    }

    fn owned(&self) -> Result<Extension<'static>> {
        Ok(Arc::new(self.clone()))
    }

    fn store(&self, file: &mut ModelFile) -> Result<()> {
        let Self { rotation, functions, coefficients, intercept } = self;
        file.insert("mean", &[rotation.mean.len()], rotation.mean.clone())?;
        file.insert("intercept", &[intercept.len()], intercept.clone())?;
        file.insert("columns", &[functions.columns.len()], functions.columns.clone())?;
        let matrices = [
            ("axes", &rotation.axes),
            ("grids", &functions.axes),
            ("values", &functions.values),
            ("coefficients", coefficients),
        ];
        matrices.into_iter().try_for_each(|(name, m)| file.insert(name, &[m.n_rows(), m.n_cols()], m.values().to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_linear_between_ranks() {
        let values = || vec![4.0, 1.0, 3.0, 2.0];
        for (percent, expected) in [(0.0, 1.0), (100.0, 4.0), (50.0, 2.5), (2.5, 1.075), (97.5, 3.925)] {
            assert!((percentile(&mut values(), percent) - expected).abs() < 1e-12, "{percent}");
        }
        assert_eq!(percentile(&mut [7.0], 97.5), 7.0);
    }

    #[test]
    fn functions_are_linear_between_centers_and_beyond() {
        let functions = Functions {
            columns: vec![0],
            axes: Matrix::new(1, 4, vec![-0.5, 2.5, 0.0, 1.0]).unwrap(),
            values: Matrix::new(1, 3, vec![1.0, 3.0, 2.0]).unwrap(),
        };
        for (x, expected) in [(0.0, 1.0), (0.5, 2.0), (1.5, 2.5), (-0.25, 0.5), (-9.0, 0.0), (2.25, 1.75), (9.0, 1.5)] {
            let mut out = [0.0];
            functions.evaluate(&[x], &mut out);
            assert!((out[0] - expected).abs() < 1e-12, "at {x}: {}", out[0]);
        }
    }
}
