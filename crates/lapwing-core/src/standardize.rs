//! Scaling of columns to mean 0 and deviation 1, or to one width, also of new rows.

use crate::parallel::*;
use serde::{Deserialize, Serialize};

use crate::{Dense, Error, Features, Result, Run, spreads};

/// Column means and scales learned from features: x ↦ (x − mean) / scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standardizer {
    /// Mean of each column (d).
    pub mean: Vec<f64>,
    /// What each column (d) is divided by: its standard deviation, population form, or its width times a factor; 1 for constant columns.
    pub scale: Vec<f64>,
}

impl Standardizer {
    /// Computes means and deviations. Constant columns get scale 1, so that they become 0.
    ///
    /// # Errors
    /// [`Error::Param`] for sparse features: centering would fill every zero; [`Error::Value`] naming a column whose
    /// deviation underflows.
    pub fn fit(features: &Features<'_>, run: &Run) -> Result<Self> {
        let Features::Dense(dense) = features else {
            return Err(Error::param("standardize", "set with sparse features", "dense features, or no standardizing"));
        };
        let (mut mean, mut scale) = dense.column_moments(run);
        let mut first = vec![0.0; dense.n_cols()];
        if dense.n_rows() > 0 {
            dense.copy_row_f64(0, &mut first);
        }
        // The rounding error of the mean would be the deviation of a constant column. Squares of small deviations
        // underflow.
        for (at, is_constant) in dense.constant_columns().into_iter().enumerate() {
            if is_constant {
                (mean[at], scale[at]) = (first[at], 1.0);
            } else if scale[at] == 0.0 {
                return Err(Error::Value {
                    what: "features".into(),
                    row: 0,
                    col: Some(at),
                    value: format!("{:e} in a column whose differences are too small to square", first[at]),
                    advice: "scale the column up".into(),
                });
            }
        }
        Ok(Self { mean, scale })
    }

    /// Computes means and widths. Scales are in proportion to the widths, and the median of the scaled deviations is 1.
    ///
    /// The width of a column is that of its range, but at most three times that of the middle 98 % of a sample of up to 4096 rows.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    pub fn by_width(features: &Features<'_>, run: &Run) -> Result<Self> {
        let mut fitted = Self::fit(features, run)?;
        if let Features::Dense(dense) = features {
            fitted.scale = spreads::scales(&spreads::widths(dense, run), &fitted.scale);
        }
        Ok(fitted)
    }

    /// The scaled features, as f32.
    ///
    /// # Errors
    /// [`Error::Shape`] unless the number of columns is that of the fit; [`Error::Param`] for sparse features.
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
        // Digits behind a large offset are kept.
        let times = Features::from_f64(3, 1, vec![1.7e18, 1.7e18 + 1024.0, 1.7e18 + 2048.0]).unwrap();
        let standardizer = Standardizer::fit(&times, &run).unwrap();
        assert!((standardizer.scale[0] - 1024.0 * (2.0f64 / 3.0).sqrt()).abs() < 1e-6, "{standardizer:?}");
        let tenths = Features::from_f64(7, 1, vec![0.1; 7]).unwrap();
        assert_eq!(Standardizer::fit(&tenths, &run).unwrap(), Standardizer { mean: vec![0.1], scale: vec![1.0] });
        // By width, a flag that is rarely set is no larger than the other column.
        let flags = (0..100).flat_map(|at| [f64::from(at), f64::from(at == 3)]).collect();
        let flags = Features::from_f64(100, 2, flags).unwrap();
        let by_width = Standardizer::by_width(&flags, &run).unwrap();
        assert!((by_width.scale[0] / by_width.scale[1] - 99.0).abs() < 1e-9, "{by_width:?}");
        assert_eq!(by_width.mean, Standardizer::fit(&flags, &run).unwrap().mean);
        let tiny = Features::from_f64(2, 1, vec![1e-200, 2e-200]).unwrap();
        assert!(Standardizer::fit(&tiny, &run).unwrap_err().to_string().contains("too small to square"));
    }
}
