//! Fallback levels: a solve that stagnates continues with the next stronger preconditioner, up to the complete factor on small
//! graphs.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use lapwing_core::{Result, Run, lock};

use super::placed::{Placed, factor_of};
use super::system::System;
use super::{LaplacianParams, PreconditionerChoice};
use crate::Graph;
use crate::precond::FallbackLevel;

/// A prepared system, and its preconditioners from the weakest to the strongest.
#[derive(Debug)]
pub(super) struct Ladder {
    pub params: LaplacianParams,
    seed: u64,
    pub system: System,
    /// At most one factor of each level.
    pub factors: Mutex<Vec<Arc<Placed>>>,
}

impl Ladder {
    /// Prepares the system of `graph` with `diagonal` (n).
    pub fn new(graph: &Graph, diagonal: &[f64], params: LaplacianParams, run: &Run) -> Result<Self> {
        let (system, factor) = run.install(|| System::new(graph, diagonal, &params, run))?;
        let factors = Mutex::new(factor.into_iter().map(Arc::new).collect());
        Ok(Self { params, seed: run.seed, system, factors })
    }

    /// Number of rows n.
    pub fn n(&self) -> usize {
        self.system.n()
    }

    /// The level at which a solve begins: the weakest factor that was built, else the chosen preconditioner.
    pub fn first_level(&self) -> FallbackLevel {
        let chosen = match self.system.chosen {
            PreconditionerChoice::None => FallbackLevel::None,
            PreconditionerChoice::TwoLevel => FallbackLevel::TwoLevel,
            // Those with a factor begin with it.
            _ => FallbackLevel::Jacobi,
        };
        lock(&self.factors).first().map_or(chosen, |placed| placed.level)
    }

    /// The level after `level`, if the parameters allow it.
    pub fn next_level(&self, level: FallbackLevel) -> Option<FallbackLevel> {
        use PreconditionerChoice::{ApproxCholesky, Auto};
        level.next(self.n()).filter(|_| matches!(self.params.preconditioner, Auto | ApproxCholesky))
    }

    /// The factor of a level, built if needed; none for levels without one.
    pub fn placed(&self, level: FallbackLevel, run: &Run) -> Result<Option<Arc<Placed>>> {
        if let Some(placed) = lock(&self.factors).iter().find(|placed| placed.level == level) {
            return Ok(Some(placed.clone()));
        }
        if level < FallbackLevel::ApproxCholesky {
            return Ok(None);
        }
        let (matrix, run) = (&self.system.matrix, run.with_seed(self.seed));
        let adjacency = Cow::Owned(matrix.to_adjacency(&run)?);
        // The last level is for small graphs only, and the last resort.
        let max_fill = if level == FallbackLevel::Cholesky { f64::INFINITY } else { self.params.max_fill };
        let Some(factor) = factor_of(level, adjacency, matrix.shift(), max_fill, &run)? else {
            return Ok(None);
        };
        let placed = Placed::new(level, factor);
        let mut factors = lock(&self.factors);
        let at = factors.partition_point(|known| known.level < level);
        // Concurrent solves may both build the same factor, bit for bit; one copy is kept. No solve waits for another: a pool
        // thread may run a second solve in the middle of the first, and would wait for itself.
        if factors.get(at).is_none_or(|known| known.level != level) {
            factors.insert(at, Arc::new(placed));
        }
        Ok(Some(factors[at].clone()))
    }
}
