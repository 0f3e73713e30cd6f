//! Systems of normalized Laplacians, (I + λL̂)·x = b with L̂ = D^(−1/2)·L·D^(−1/2), solved as equivalent Laplacian systems.
//!
//! I + λL̂ = D^(−1/2)·(λL + D)·D^(−1/2), so that x = D^(1/2)·y with (λL + D)·y = D^(1/2)·b. The tolerance of the inner system is smaller by
//! the ratio of the scales, √(min D / max D), so that the residual of x is within it; the residual reported is that of x.

use lapwing_core::parallel::*;
use lapwing_core::params::Parameters;
use lapwing_core::{Error, Matrix, Result, Run};

use super::{LaplacianParams, LaplacianSolver};
use crate::Graph;
use crate::blocks::{BLOCK_ROWS, column_dots};
use crate::cg::{SolveInfo, Stop};

/// Least tolerance of an inner system.
const LEAST_TOL: f64 = 1e-14;
/// Residuals up to this multiple of the tolerance count as within it.
const SLACK: f64 = 1.01;

/// A solver for one system (I + λL̂)·x = b and any number of right-hand sides, L̂ = D^(−1/2)·L·D^(−1/2) the normalized Laplacian.
#[derive(Debug)]
pub struct NormalizedSolver {
    solver: LaplacianSolver,
    /// √D (n).
    roots: Vec<f64>,
    /// Right-hand sides are divided by this, so that weights stay as they are for large λ.
    unit: f64,
    tol: f64,
}

impl NormalizedSolver {
    /// Prepares I + `graph_reg`·L̂; rows without edges are those of the identity.
    ///
    /// # Errors
    /// As [`LaplacianSolver::new`]; [`Error::Param`] unless `graph_reg` is finite and at least 0.
    pub fn new(graph: &Graph, graph_reg: f64, params: LaplacianParams, run: &Run) -> Result<Self> {
        let degree = graph.degree().iter().map(|&d| if d > 0.0 { d } else { 1.0 }).collect();
        Self::with_degrees(graph, degree, graph_reg, params, run)
    }

    /// The same with D = diag(`degree`), positive (n), instead of the degrees of the graph.
    pub(crate) fn with_degrees(
        graph: &Graph,
        degree: Vec<f64>,
        graph_reg: f64,
        params: LaplacianParams,
        run: &Run,
    ) -> Result<Self> {
        params.check_ranges()?;
        if !(graph_reg >= 0.0 && graph_reg.is_finite()) {
            return Err(Error::param("regularization", graph_reg, "finite and at least 0"));
        }
        let (least, most) =
            degree.iter().fold((f64::INFINITY, 0.0f64), |(least, most), &d| (least.min(d), most.max(d)));
        let tol = params.tol;
        let spread = if degree.is_empty() { 1.0 } else { (least / most).sqrt() };
        let params = LaplacianParams { tol: (tol * spread).clamp(LEAST_TOL.min(tol), tol), ..params };
        let unit = graph_reg.max(1.0);
        let diagonal: Vec<f64> = degree.iter().map(|d| d / unit).collect();
        let scaled = if graph_reg < 1.0 { Some(run.install(|| graph.scaled(graph_reg))?) } else { None };
        let solver = LaplacianSolver::new(scaled.as_ref().unwrap_or(graph), Some(&diagonal), params, run)?;
        Ok(Self { solver, roots: degree.into_iter().map(f64::sqrt).collect(), unit, tol })
    }

    /// The Laplacian system underneath.
    pub fn inner(&self) -> &LaplacianSolver {
        &self.solver
    }

    /// Solves for the columns of `b` (n, s), from `start` (n, s) if there is one, else from zero.
    ///
    /// # Errors
    /// As [`LaplacianSolver::solve`].
    pub fn solve(&self, b: &Matrix, start: Option<&Matrix>, run: &Run) -> Result<(Matrix, SolveInfo)> {
        let inner = self.scaled(b, |root| root / self.unit, run);
        let start = start.map(|start| self.scaled(start, f64::recip, run));
        let (y, mut info) = self.solver.solve(&inner, start.as_ref(), run)?;
        drop(start);
        if b.n_cols() > 0 && b.n_rows() > 0 {
            info.residuals = run.install(|| self.residuals(b, inner, &y));
            info.converged = info.residuals.iter().all(|r| *r <= self.tol * SLACK);
            if info.converged {
                info.reason = Stop::Converged;
            }
        }
        Ok((self.scaled(&y, |root| root, run), info))
    }

    /// Z ← M⁻¹·R with the strongest factor built so far, or the diagonal.
    ///
    /// # Errors
    /// [`Error::Shape`] unless R has n rows.
    pub fn precondition(&self, r: &Matrix, run: &Run) -> Result<Matrix> {
        let z = self.solver.precondition(&self.scaled(r, |root| root / self.unit, run), run)?;
        Ok(self.scaled(&z, |root| root, run))
    }

    /// Relative residual of each column of x = D^(1/2)·y; `inner` is the right-hand side of the inner system.
    fn residuals(&self, b: &Matrix, mut inner: Matrix, y: &Matrix) -> Vec<f64> {
        let (n, s) = (b.n_rows(), b.n_cols());
        self.solver.ladder.system.subtract_product(y, &mut inner);
        let unscale = |(row, root): (&mut [f64], &f64)| row.iter_mut().for_each(|r| *r *= self.unit / root);
        inner.values_mut().par_chunks_mut(s).zip(&self.roots).with_min_len(BLOCK_ROWS).for_each(unscale);
        let squares = column_dots(inner.values(), inner.values(), n, s);
        let norms = column_dots(b.values(), b.values(), n, s);
        squares.iter().zip(norms).map(|(r, b)| if b > 0.0 { (r / b).sqrt() } else { 0.0 }).collect()
    }

    /// A block with each row multiplied by `factor` of its √D.
    fn scaled(&self, block: &Matrix, factor: impl Fn(f64) -> f64 + Sync, run: &Run) -> Matrix {
        let (s, mut out) = (block.n_cols().max(1), block.clone());
        let scale = |(row, root): (&mut [f64], &f64)| row.iter_mut().for_each(|v| *v *= factor(*root));
        run.install(|| out.values_mut().par_chunks_mut(s).zip(&self.roots).with_min_len(BLOCK_ROWS).for_each(scale));
        out
    }
}
