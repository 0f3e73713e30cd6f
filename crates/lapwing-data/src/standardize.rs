//! Columns brought to mean 0 and deviation 1, with the numbers kept for new rows.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{Dense, Error, Features, Result, Run};

/// Column means and scales learned from features: x ↦ (x − mean) / scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standardizer {
    /// Mean of each column (d).
    pub mean: Vec<f64>,
    /// Standard deviation of each column (d), population form; 1 for constant columns.
    pub scale: Vec<f64>,
}

impl Standardizer {
    /// Learns means and deviations. Constant columns get scale 1, so that they become 0.
    ///
    /// # Errors
    /// [`Error::Param`] for sparse features: centering would fill every zero.
    pub fn fit(features: &Features<'_>, run: &Run) -> Result<Self> {
        let Features::Dense(dense) = features else {
            return Err(Error::param("standardize", "set with sparse features", "dense features, or no standardizing"));
        };
        let (mean, deviation) = dense.column_moments(run);
        // A constant column shows a deviation of rounding errors only.
        let is_constant = |(d, m): (&f64, &f64)| *d <= 1e-12 * m.abs().max(f64::MIN_POSITIVE);
        let scale = deviation.iter().zip(&mean).map(|(d, m)| if is_constant((d, m)) { 1.0 } else { *d }).collect();
        Ok(Self { mean, scale })
    }

    /// The standardized features, as f32.
    ///
    /// # Errors
    /// [`Error::Shape`] unless the columns are as many as were learned; [`Error::Param`] for sparse features.
    pub fn apply(&self, features: &Features<'_>, run: &Run) -> Result<Features<'static>> {
        let Features::Dense(dense) = features else {
            return Err(Error::param("standardize", "set with sparse features", "dense features, or no standardizing"));
        };
        let d = self.mean.len();
        if dense.n_cols() != d {
            return Err(Error::shape("features", format!("{d} columns"), format!("{} columns", dense.n_cols())));
        }
        let mut out = vec![0f32; dense.n_rows() * d];
        run.install(|| {
            out.par_chunks_mut(d.max(1)).with_min_len(256).enumerate().for_each(|(row, out)| self.row(dense, row, out));
        });
        Features::from_f32(dense.n_rows(), d, out)
    }

    fn row(&self, dense: &Dense<'_>, row: usize, out: &mut [f32]) {
        let mut values = vec![0.0; out.len()];
        dense.copy_row_f64(row, &mut values);
        for (((o, x), m), s) in out.iter_mut().zip(&values).zip(&self.mean).zip(&self.scale) {
            *o = ((x - m) / s) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_get_mean_zero_and_deviation_one() {
        let run = Run::new(Some(2), 0).unwrap();
        let features = Features::from_f64(4, 2, vec![1.0, 5.0, 2.0, 5.0, 3.0, 5.0, 4.0, 5.0]).unwrap();
        let standardizer = Standardizer::fit(&features, &run).unwrap();
        let Features::Dense(out) = standardizer.apply(&features, &run).unwrap() else { unreachable!() };
        let (mean, deviation) = out.column_moments(&run);
        assert!(mean.iter().all(|m| m.abs() < 1e-7));
        assert!((deviation[0] - 1.0).abs() < 1e-6 && deviation[1] == 0.0);
        let wrong = Features::from_f64(1, 3, vec![0.0; 3]).unwrap();
        assert!(standardizer.apply(&wrong, &run).unwrap_err().to_string().contains("2 columns"));
    }
}
