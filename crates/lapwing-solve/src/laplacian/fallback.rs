//! Fallback levels: a solve that stagnates continues with the next stronger preconditioner, up to the complete factor on small
//! graphs.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use lapwing_core::{Csr, Result, Run};

use super::{LaplacianSolver, PreconditionerChoice};
use crate::cg::{columns, write_columns};
use crate::dispatch::WIDEST;
use crate::kernels::gather;
use crate::precond::{
    ApproxCholesky, ApproxCholeskyParams, Bounded, Budget, Cliques, Factor, Inverse, Preconditioner, SparseCholesky,
};

/// A preconditioner of a solve, in ascending order of strength.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FallbackLevel {
    /// None.
    None,
    /// The diagonal.
    Jacobi,
    /// The diagonal and a coarse system.
    TwoLevel,
    /// The cheapest random factor.
    ApproxCholesky,
    /// A random factor with trees on two copies of each edge.
    ApproxCholesky2,
    /// A random factor with trees on four copies of each edge.
    ApproxCholesky4,
    /// The complete factor.
    Cholesky,
}

/// Values of a block (rows × columns) that a factor is applied to between two checks for an interruption, some tens of milliseconds.
const PART_VALUES: usize = 1 << 20;
/// Largest number of rows for which the complete factor is the last level: some seconds and 16 MB if every entry fills.
const MOST_EXACT_ROWS: usize = 2048;

impl FallbackLevel {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Jacobi => "jacobi",
            Self::TwoLevel => "two-level",
            Self::ApproxCholesky => "approx-cholesky",
            Self::ApproxCholesky2 => "approx-cholesky-2",
            Self::ApproxCholesky4 => "approx-cholesky-4",
            Self::Cholesky => "cholesky",
        }
    }

    /// The factor of this level for L + diag(`diagonal`); none for levels without one.
    pub(super) fn factor(
        self,
        adjacency: Cow<'_, Csr<f64>>,
        diagonal: &[f64],
        max_fill: f64,
        run: &Run,
    ) -> Result<Option<Box<dyn Factor>>> {
        let (cliques, number) = match self {
            Self::None | Self::Jacobi | Self::TwoLevel => return Ok(None),
            Self::ApproxCholesky => (Cliques::Suited, 0),
            Self::ApproxCholesky2 => (Cliques::Trees(2), 1),
            Self::ApproxCholesky4 => (Cliques::Trees(4), 2u32),
            Self::Cholesky => {
                let budget = Budget::of_fill(&adjacency, max_fill);
                return Ok(Some(Box::new(SparseCholesky::new(&adjacency, diagonal, budget, run)?)));
            }
        };
        let params = ApproxCholeskyParams { cliques, max_fill: max_fill * f64::from(1 << number) };
        let run = run.with_seed(run.seed.wrapping_add(number.into()));
        Ok(Some(Box::new(ApproxCholesky::new(adjacency, diagonal, params, &run)?)))
    }

    /// The next level for a system of n rows.
    fn next(self, n: usize) -> Option<Self> {
        match self {
            Self::None | Self::Jacobi | Self::TwoLevel => Some(Self::ApproxCholesky),
            Self::ApproxCholesky => Some(Self::ApproxCholesky2),
            Self::ApproxCholesky2 => Some(Self::ApproxCholesky4),
            Self::ApproxCholesky4 => Some(Self::Cholesky).filter(|_| n <= MOST_EXACT_ROWS),
            Self::Cholesky => None,
        }
    }
}

/// A factor in the solver's order of rows.
#[derive(Debug)]
pub(super) struct Placed {
    pub level: FallbackLevel,
    pub factor: Box<dyn Factor>,
    /// [`Factor::variances`], computed by the first solve.
    variances: OnceLock<Vec<f64>>,
    /// Row of the solver for each row of the factor, and the reverse; `None` if the orders are the same.
    rows: Option<[Vec<u32>; 2]>,
}

impl Placed {
    /// A factor in the solver's order.
    pub fn in_order(level: FallbackLevel, factor: Box<dyn Factor>) -> Self {
        Self { level, factor, variances: OnceLock::new(), rows: None }
    }

    /// A factor with an order of its own.
    fn new(level: FallbackLevel, factor: Box<dyn Factor>) -> Self {
        let order = factor.order().to_vec();
        let mut reverse = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &row)| reverse[row as usize] = at as u32);
        Self { rows: Some([order, reverse]), ..Self::in_order(level, factor) }
    }

    /// Z ← M⁻¹·R for blocks (n, s).
    pub fn product(&self, r: &[f64], z: &mut [f64], s: usize) {
        let Some([order, reverse]) = &self.rows else { return self.factor.product(r, z, s) };
        // Z first holds the residuals in the order of the factor.
        gather(r, order, z, s);
        let mut solved = vec![0.0; r.len()];
        self.factor.product(z, &mut solved, s);
        gather(&solved, reverse, z, s);
    }

    /// [`Factor::inverse_diagonal`] in the solver's order.
    pub fn inverse_diagonal(&self, run: &Run) -> Result<Option<Vec<f64>>> {
        let diagonal = self.factor.inverse_diagonal(run)?;
        Ok(diagonal.map(|diagonal| self.placed(diagonal)))
    }

    /// Values in the order of the factor, in that of the solver.
    fn placed(&self, values: Vec<f64>) -> Vec<f64> {
        let Some([_, reverse]) = &self.rows else { return values };
        reverse.iter().map(|&at| values[at as usize]).collect()
    }
}

impl Preconditioner for Placed {
    /// Many columns are taken in parts, between which the run may be canceled; each column by itself gives the same bits.
    fn apply(&self, r: &[f64], z: &mut [f64], s: usize, run: &Run) -> Result<()> {
        let n = self.factor.order().len().max(1);
        let most = (PART_VALUES / n).max(WIDEST).next_multiple_of(WIDEST);
        run.check()?;
        if s <= most {
            run.install(|| self.product(r, z, s));
            return run.check();
        }
        for first in (0..s).step_by(most) {
            let part: Vec<usize> = (first..(first + most).min(s)).collect();
            run.install(|| {
                let own = columns(r, s, &part);
                let mut solved = vec![0.0; own.len()];
                self.product(&own, &mut solved, part.len());
                write_columns(z, s, &solved, part.len(), &part);
            });
            run.check()?;
        }
        Ok(())
    }
}

impl Bounded for Placed {
    fn variances(&self) -> Vec<f64> {
        self.variances.get_or_init(|| self.placed(self.factor.variances())).clone()
    }

    fn color(&self, noise: &mut [f64], m: usize) {
        let Some([order, reverse]) = &self.rows else { return self.factor.color(noise, m) };
        let mut gathered = vec![0.0; noise.len()];
        gather(noise, order, &mut gathered, m);
        self.factor.color(&mut gathered, m);
        gather(&gathered, reverse, noise, m);
    }

    fn inverse(&self) -> Inverse<'_> {
        Inverse::Applied(self)
    }
}

impl LaplacianSolver {
    /// The level at which a solve begins: the weakest factor that was built, else the chosen preconditioner.
    pub(super) fn first_level(&self) -> FallbackLevel {
        let chosen = match self.system.chosen {
            PreconditionerChoice::None => FallbackLevel::None,
            PreconditionerChoice::TwoLevel => FallbackLevel::TwoLevel,
            // Those with a factor begin with it.
            _ => FallbackLevel::Jacobi,
        };
        self.lock().first().map_or(chosen, |placed| placed.level)
    }

    /// The level after `level`, if the parameters allow it.
    pub(super) fn next_level(&self, level: FallbackLevel) -> Option<FallbackLevel> {
        use PreconditionerChoice::{ApproxCholesky, Auto};
        level.next(self.n()).filter(|_| matches!(self.params.preconditioner, Auto | ApproxCholesky))
    }

    /// The factor of a level, built if needed; none for levels without one.
    pub(super) fn placed(&self, level: FallbackLevel, run: &Run) -> Result<Option<Arc<Placed>>> {
        if let Some(placed) = self.lock().iter().find(|placed| placed.level == level) {
            return Ok(Some(placed.clone()));
        }
        if level < FallbackLevel::ApproxCholesky {
            return Ok(None);
        }
        let (matrix, run) = (&self.system.matrix, run.with_seed(self.seed));
        let adjacency = Cow::Owned(matrix.to_adjacency(&run)?);
        // The last level is for small graphs only, and the last resort.
        let max_fill = if level == FallbackLevel::Cholesky { f64::INFINITY } else { self.params.max_fill };
        let Some(factor) = level.factor(adjacency, matrix.shift(), max_fill, &run)? else {
            return Ok(None);
        };
        let placed = Placed::new(level, factor);
        let mut factors = self.lock();
        let at = factors.partition_point(|known| known.level < level);
        // Concurrent solves may both build the same factor, bit for bit; one copy is kept. No solve waits for another: a pool
        // thread may run a second solve in the middle of the first, and would wait for itself.
        if factors.get(at).is_none_or(|known| known.level != level) {
            factors.insert(at, Arc::new(placed));
        }
        Ok(Some(factors[at].clone()))
    }
}
