//! The choice of a preconditioner, and an order of the rows that suits it.
//!
//! If the diagonal does not bound the condition number, a few trial steps of conjugate gradients with the diagonal decide. Their
//! right-hand sides are random, row by row or cell by cell. Before the second of these trials, systems of few rows are ordered for the
//! complete factor, which is taken if it is cheap. Cost: up to ten products with one column, in the caller's order of rows, and the
//! order.

use std::borrow::Cow;

use lapwing_core::hash::uniform;
use lapwing_core::parallel::*;
use lapwing_core::{Error, Matrix, Result, Run};

use super::placed::{Placed, factor_of};
use super::{LaplacianParams, PreconditionerChoice};
use crate::blocks::column_dots;
use crate::cg::{CgParams, Projection, iterate};
use crate::order::clusters;
use crate::precond::{Budget, CLUSTER, Coarse, CoarseCells, Factor, FallbackLevel, Jacobi, SparseCholesky};
use crate::{Graph, SddMatrix};

/// Least share of the diagonal that D must hold for the Jacobi preconditioner: eigenvalues of D⁻¹A then lie within [share, 2].
const DOMINANT: f64 = 0.05;
/// Trial iterations on values random by row, and the residual below which some twenty iterations are enough.
const EASY: (usize, f64) = (4, 0.01);
/// Trial iterations on values random by cell, and the residual below which the diagonal and the cells are enough. Measured: 2 to
/// 10 for grids, bands, chains of random pieces and graphs close to falling apart; 0.95 to 1.1 for weights over many orders; 0.7
/// to 0.93 for other neighbor graphs and boxes of three dimensions (80 to 190 iterations); below 0.1 for random graphs.
const MIXING: (usize, f64) = (6, 0.95);
/// Most rows for which the complete factor is tried.
const MOST_ORDERED_ROWS: usize = 1 << 15;
/// Most rows for which it is taken whatever it costs, up to `max_fill`.
const TINY: usize = 300;
/// Edges for each vertex up to which a factor is cheap: trees, grids, meshes.
const SPARSE_EDGES: usize = 3;

/// A system in the caller's order of rows.
pub(super) struct Given<'a> {
    pub graph: &'a Graph,
    pub matrix: &'a SddMatrix<'a>,
    pub jacobi: &'a Jacobi,
    /// Singular component of each row; empty if no row has one.
    pub singular: &'a [u32],
    pub params: &'a LaplacianParams,
    pub run: &'a Run,
}

/// A preconditioner, and its order of rows.
pub(super) struct Built {
    pub chosen: PreconditionerChoice,
    pub order: Vec<u32>,
    pub coarse: Option<Coarse>,
    pub factor: Option<Placed>,
}

/// What suits a system.
struct Suited {
    chosen: PreconditionerChoice,
    /// The cells and the factor, if they were computed.
    cells: Option<CoarseCells>,
    factor: Option<Box<dyn Factor>>,
    /// Whether reordering the rows pays.
    is_ordered: bool,
}

impl Suited {
    fn new(chosen: PreconditionerChoice) -> Self {
        Self { chosen, cells: None, factor: None, is_ordered: true }
    }
}

impl Given<'_> {
    /// Chooses and builds.
    pub fn build(&self) -> Result<Built> {
        let is_auto = self.params.preconditioner == PreconditionerChoice::Auto;
        let n = self.graph.n_samples();
        let suited = if is_auto { self.suited()? } else { Suited::new(self.params.preconditioner) };
        let Suited { mut chosen, cells, factor, is_ordered } = suited;
        let level = match chosen {
            PreconditionerChoice::Cholesky => FallbackLevel::Cholesky,
            PreconditionerChoice::ApproxCholesky => FallbackLevel::ApproxCholesky,
            _ => FallbackLevel::None,
        };
        let factor = match factor {
            Some(factor) => Ok(Some(factor)),
            None => {
                let adjacency = Cow::Borrowed(self.graph.adjacency());
                factor_of(level, adjacency, self.matrix.shift(), self.params.max_fill, self.run)
            }
        };
        match factor {
            Ok(None) => {}
            Ok(Some(factor)) => {
                let order = factor.order().to_vec();
                return Ok(Built { chosen, order, coarse: None, factor: Some(Placed::in_order(level, factor)) });
            }
            // With `auto`, a factor that is too large is replaced by the two-level preconditioner.
            Err(Error::TooLarge { .. }) if is_auto => chosen = PreconditionerChoice::TwoLevel,
            Err(error) => return Err(error),
        }
        if chosen == PreconditionerChoice::TwoLevel {
            let cells = match cells {
                Some(cells) => cells,
                None => CoarseCells::new(self.graph, self.matrix.shift(), self.run)?,
            };
            let (coarse, order) = Coarse::new(self.graph, self.matrix.shift(), &cells, self.singular, self.run)?;
            let chosen = if coarse.is_some() { chosen } else { PreconditionerChoice::Jacobi };
            return Ok(Built { chosen, order, coarse, factor: None });
        }
        let order = if is_ordered {
            clusters(n, CLUSTER, |v| self.graph.adjacency().row(v).0, self.run)?.order
        } else {
            (0..n as u32).collect()
        };
        Ok(Built { chosen, order, coarse: None, factor: None })
    }

    /// The preconditioner that suits the system.
    fn suited(&self) -> Result<Suited> {
        let n = self.graph.n_samples();
        if n > TINY && self.is_easy()? {
            return Ok(Suited { is_ordered: false, ..Suited::new(PreconditionerChoice::Jacobi) });
        }
        if n <= MOST_ORDERED_ROWS {
            let adjacency = self.graph.adjacency();
            let max_fill = self.params.max_fill;
            let budget =
                if n <= TINY { Budget::of_fill(adjacency, max_fill) } else { Budget::small(adjacency, max_fill) };
            match SparseCholesky::new(adjacency, self.matrix.shift(), budget, self.run) {
                Ok(factor) => {
                    let factor: Option<Box<dyn Factor>> = Some(Box::new(factor));
                    return Ok(Suited { factor, ..Suited::new(PreconditionerChoice::Cholesky) });
                }
                Err(Error::TooLarge { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        if is_sparse(self.matrix) {
            return Ok(Suited::new(PreconditionerChoice::ApproxCholesky));
        }
        let cells = CoarseCells::new(self.graph, self.matrix.shift(), self.run)?;
        let is_mixing = self.passes(MIXING, |row| uniform(cells.home[row].into()))?;
        let chosen = if is_mixing { PreconditionerChoice::TwoLevel } else { PreconditionerChoice::ApproxCholesky };
        Ok(Suited { cells: Some(cells), ..Suited::new(chosen) })
    }

    /// Whether Jacobi is enough: the diagonal bounds the condition number, or a few trial iterations converge on all scales of
    /// the graph.
    fn is_easy(&self) -> Result<bool> {
        let mut pairs = self.matrix.shift().iter().zip(self.jacobi.values());
        Ok(pairs.all(|(g, inverse)| g * inverse >= DOMINANT) || self.passes(EASY, |row| uniform(row as u64))?)
    }

    /// Whether so many iterations bring the residual of a right-hand side of mean 0 below a limit.
    fn passes(&self, (max_iter, limit): (usize, f64), value: impl Fn(usize) -> f64 + Sync) -> Result<bool> {
        let mut b: Vec<f64> = (0..self.matrix.n()).into_par_iter().map(&value).collect();
        let mean = b.iter().sum::<f64>() / b.len() as f64;
        b.iter_mut().for_each(|b| *b -= mean);
        let norm = column_dots(&b, &b, b.len(), 1)[0].sqrt();
        let (params, b) = (CgParams { tol: limit, max_iter, ..CgParams::default() }, Matrix::new(b.len(), 1, b)?);
        let quiet = self.run.quiet();
        let (_, info) = iterate(self.matrix, self.jacobi.into(), Projection::None, b, &[norm], params, &quiet)?;
        Ok(info.converged)
    }
}

/// Whether a graph has so few edges that a factor is cheap.
pub(super) fn is_sparse(matrix: &SddMatrix<'_>) -> bool {
    // Entries are stored in both directions.
    matrix.n_entries() <= 2 * SPARSE_EDGES * matrix.n()
}
