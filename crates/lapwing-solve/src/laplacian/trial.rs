//! A look at how hard a system is, before anything is built.
//!
//! Conjugate gradients with the diagonal for a few steps, on right-hand sides whose slow parts are known. Cost: up to ten
//! products with one column, in the caller's order of rows.

use lapwing_data::{Matrix, Result, Run};
use rayon::prelude::*;

use crate::cg::{CgParams, trial};
use crate::precond::{Cells, Jacobi, Preconditioner};
use crate::{Operator, SddMatrix};
use lapwing_data::hash::uniform;

/// Smallest share of the diagonal that D must hold for the diagonal to be known as enough: eigenvalues of D⁻¹A within [share, 2].
const DOMINANT: f64 = 0.05;
/// Trial iterations on random values, and the residual at which some twenty iterations will do.
const EASY: (usize, f64) = (4, 0.01);
/// Trial iterations on random values of whole cells, and the residual at which the diagonal and the cells are enough: measured
/// are 2 to 10 for grids, bands, chains of random pieces and graphs close to falling apart, 0.95 to 1.1 for weights over many orders,
/// 0.7 to 0.93 for other neighbor graphs and boxes of three dimensions (80 to 190 iterations), below 0.1 for random graphs.
const MIXING: (usize, f64) = (6, 0.95);

/// What trial iterations with the diagonal say of a system.
pub(super) struct Trial<'a> {
    pub matrix: &'a SddMatrix<'a>,
    pub jacobi: &'a Jacobi,
}

impl Trial<'_> {
    /// Whether the diagonal bounds the condition number, or a few iterations are enough for all scales of the graph.
    pub fn is_easy(&self, run: &Run) -> Result<bool> {
        let inverse = self.jacobi.diagonal().unwrap_or_default();
        if self.matrix.shift().iter().zip(inverse).all(|(g, inverse)| g * inverse >= DOMINANT) {
            return Ok(true);
        }
        self.passes(EASY, |row| uniform(row as u64), run)
    }

    /// Whether the diagonal will do: values random but alike within clusters have to be carried from cluster to cluster.
    pub fn is_mixing(&self, cells: &Cells, run: &Run) -> Result<bool> {
        self.passes(MIXING, |row| uniform(cells.home[row].into()), run)
    }

    /// Whether some iterations bring the residual of a right-hand side of mean 0 below a limit.
    fn passes(&self, (max_iter, limit): (usize, f64), value: impl Fn(usize) -> f64 + Sync, run: &Run) -> Result<bool> {
        let n = self.matrix.n();
        let mut b = Matrix::filled(n, 1, 0.0);
        b.values_mut().par_iter_mut().enumerate().for_each(|(row, b)| *b = value(row));
        let mean = b.values().iter().sum::<f64>() / n as f64;
        b.values_mut().iter_mut().for_each(|b| *b -= mean);
        let params = CgParams { tol: limit, max_iter, ..CgParams::default() };

        Ok(trial(self.matrix, self.jacobi, b, params, &run.quiet())? <= limit)
    }
}
