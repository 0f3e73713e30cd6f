//! Jacobi: M = diag(A). The cheapest preconditioner; right for well-connected graphs with moderate weights.

use lapwing_data::{Error, Result};
use rayon::prelude::*;

use super::{Bounded, Preconditioner};
use crate::Operator;
use crate::kernels::BLOCK_ROWS;

/// The inverse diagonal of an operator.
#[derive(Clone, Debug)]
pub struct Jacobi {
    inverse: Vec<f64>,
}

impl Jacobi {
    /// The same with row i for `order[i]`.
    pub(crate) fn reordered(&self, order: &[u32]) -> Self {
        Self { inverse: order.par_iter().map(|&row| self.inverse[row as usize]).collect() }
    }

    /// Multiplies entry i of the inverse by `factor(i)`.
    pub(crate) fn scale(&mut self, factor: impl Fn(usize) -> f64) {
        self.inverse.iter_mut().enumerate().for_each(|(row, inverse)| *inverse *= factor(row));
    }

    /// No preconditioning, for n rows.
    pub fn identity(n: usize) -> Self {
        Self { inverse: vec![1.0; n] }
    }

    /// The inverse diagonal of `operator`; a zero on the diagonal (an empty row) is left alone.
    ///
    /// # Errors
    /// [`Error::Value`] for a diagonal entry that is negative or not finite.
    pub fn new(operator: &impl Operator) -> Result<Self> {
        let mut inverse = operator.diagonal();
        if let Some(row) = inverse.iter().position(|d| !(*d >= 0.0 && d.is_finite())) {
            return Err(Error::Value {
                what: "the diagonal".into(),
                row,
                col: None,
                value: inverse[row].to_string(),
                advice: "a positive semidefinite matrix is needed".into(),
            });
        }
        inverse.iter_mut().for_each(|d| *d = if *d > 0.0 { 1.0 / *d } else { 1.0 });
        Ok(Self { inverse })
    }
}

impl Preconditioner for Jacobi {
    fn diagonal(&self) -> Option<&[f64]> {
        Some(&self.inverse)
    }

    fn apply(&self, r: &[f64], z: &mut [f64], s: usize) {
        let rows = BLOCK_ROWS * s;
        z.par_chunks_mut(rows).zip(r.par_chunks(rows)).zip(self.inverse.par_chunks(BLOCK_ROWS)).for_each(
            |((z, r), inverse)| {
                for ((z, r), d) in z.chunks_exact_mut(s).zip(r.chunks_exact(s)).zip(inverse) {
                    z.iter_mut().zip(r).for_each(|(z, r)| *z = r * d);
                }
            },
        );
    }
}

impl Bounded for Jacobi {
    fn variances(&self) -> Vec<f64> {
        self.inverse.clone()
    }

    fn color(&self, noise: &mut [f64], m: usize) {
        noise.par_chunks_mut(m).zip(&self.inverse).with_min_len(BLOCK_ROWS).for_each(|(row, inverse)| {
            let deviation = inverse.sqrt().recip();
            row.iter_mut().for_each(|v| *v *= deviation);
        });
    }
}
