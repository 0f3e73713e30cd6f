//! A look at how hard a system is, before anything is built.

use lapwing_data::{Matrix, Result, Run};
use rayon::prelude::*;

use crate::cg::{CgParams, trial};
use crate::hash::uniform;
use crate::order::Clusters;
use crate::precond::{Jacobi, Preconditioner};
use crate::{Operator, SddMatrix};

/// Smallest share of the diagonal that D must hold for the diagonal to be known as enough: eigenvalues of D⁻¹A within [share, 2].
const DOMINANT: f64 = 0.05;
/// Trial iterations on random values, and the residual at which some twenty iterations will do.
const EASY: (usize, f64) = (4, 0.01);
/// Trial iterations on random values of whole clusters, and the residual at which the diagonal is enough: measured are 1.5 to
/// 7 for grids, chains of random pieces and graphs close to falling apart, 0.5 to 1.25 for other neighbour graphs (130 to 220
/// iterations with the diagonal), below 0.1 for random graphs.
const MIXING: (usize, f64) = (6, 1.3);

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
    pub fn is_mixing(&self, clusters: &Clusters, run: &Run) -> Result<bool> {
        let mut home = vec![0u32; self.matrix.n()];
        for (cluster, range) in clusters.starts.windows(2).enumerate() {
            clusters.order[range[0]..range[1]].iter().for_each(|&v| home[v as usize] = cluster as u32);
        }
        self.passes(MIXING, |row| uniform(home[row].into()), run)
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
