//! The ladder of factors. It starts with the cheapest random factor and ends, for small graphs, with the complete one. A solve
//! that stagnates continues with the next factor.

use std::borrow::Cow;
use std::sync::Arc;

use lapwing_data::{Result, Run};

use super::LaplacianSolver;
use crate::precond::{ApproxCholesky, ApproxCholeskyParams, Cliques};

/// A factor and the order of its rows.
#[derive(Debug)]
pub(super) struct Placed {
    pub name: &'static str,
    pub factor: ApproxCholesky,
    /// Row of the solver for each row of the factor; `None` if they are the same.
    pub rows: Option<Vec<u32>>,
}

/// Random factors, the cheapest first. The last one is complete and used for small graphs only.
pub(super) const LADDER: [(&str, Cliques); 4] = [
    ("approx-cholesky", Cliques::Suited),
    ("approx-cholesky-2", Cliques::Trees(2)),
    ("approx-cholesky-4", Cliques::Trees(4)),
    ("cholesky", Cliques::Exact),
];
/// Largest number of rows for which the complete factor is the last attempt.
pub(super) const MOST_EXACT_ROWS: usize = TINY;
/// Largest number of rows for which `Auto` starts with the complete factor.
pub(super) const TINY: usize = 300;

impl LaplacianSolver {
    /// The factor of a rung of the ladder, built if it is not there.
    pub(super) fn factor(&self, rung: usize, run: &Run) -> Result<Arc<Placed>> {
        let (name, cliques) = LADDER[rung];
        if let Some(placed) = self.lock().iter().find(|placed| placed.name == name) {
            return Ok(placed.clone());
        }
        let adjacency = Cow::Owned(self.matrix.to_adjacency(run)?);
        let params = ApproxCholeskyParams { cliques, max_fill: self.params.max_fill * f64::from(1 << rung) };
        let seed = self.seed.wrapping_add(rung as u64);
        let run = run.with_seed(seed);
        let factor = ApproxCholesky::from_adjacency(adjacency, self.matrix.shift(), params, &run)?;
        let rows = Some(factor.order().to_vec());
        let mut factors = self.lock();
        let at = factors.partition_point(|known| rung_of(known.name) < rung);
        // Solves at the same time may build the same factor, bit for bit, and keep one. None waits for another's: a thread of
        // a pool may take up a second solve in the middle of the first, and would wait for itself.
        if factors.get(at).is_none_or(|known| known.name != name) {
            factors.insert(at, Arc::new(Placed { name, factor, rows }));
        }
        Ok(factors[at].clone())
    }
}

pub(super) fn rung_of(name: &str) -> usize {
    LADDER.iter().position(|(rung, _)| *rung == name).unwrap_or(0)
}
