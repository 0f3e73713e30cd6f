//! Learned weights as a function of pairs.

use lapwing_core::parallel::*;
use lapwing_core::{Csr, Error, Result, Run};

use super::dual::{Problem, State};
use super::offsets::Offsets;
use super::support::{SquaredDistance, Support};
use crate::Graph;
use crate::relation::fill;

/// Learned weights as a function of a pair: max(0, μᵢ + μⱼ − θzᵢⱼ)·δ.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnedWeights {
    offsets: Offsets,
    /// λ of each row, and ν at the end (n + 1).
    start: Vec<f64>,
    sparsity: f64,
    scale: f64,
}

impl LearnedWeights {
    pub(super) fn new<R: SquaredDistance>(problem: &Problem<'_, R>, state: &State, scale: f64, run: &Run) -> Self {
        let mut start = problem.lambdas(&state.multipliers);
        start.push(state.multipliers.level);
        let offsets = run.install(|| problem.offsets(&state.multipliers));
        Self { offsets, start, sparsity: problem.sparsity, scale: scale * state.factor }
    }

    /// Weight of an allowed pair at squared distance `z`; 0 for rows out of range.
    pub fn weight(&self, rows: (u32, u32), z: f64) -> f64 {
        if rows.0.max(rows.1) as usize + 1 >= self.start.len() {
            return 0.0;
        }
        self.scale * self.offsets.weight(rows.0 as usize, rows.1 as usize, self.sparsity * z)
    }

    /// Weights of allowed pairs at their squared distances.
    #[doc(hidden)]
    pub fn weights<R: SquaredDistance>(&self, edges: &[(u32, u32)], squared: &[R], run: &Run) -> Vec<f64> {
        let pairs = edges.par_iter().zip(squared).with_min_len(1 << 12);
        run.install(|| pairs.map(|(&edge, &z)| self.weight(edge, z.into())).collect())
    }

    /// Multipliers from which another fit can start: λ of each row, and ν at the end (n + 1).
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// The graph of the pairs of `support` that are active in `state`.
    pub(super) fn graph<R: SquaredDistance>(&self, support: &Support<R>, state: &State, run: &Run) -> Result<Graph> {
        let n = support.n_samples();
        let counts = [0].into_iter().chain(state.n_active.iter().map(|&count| count.into())).collect();
        let ends = state.ends();
        let (indptr, indices, values) = run.install(|| {
            fill(counts, |(): &mut (), row, emit| {
                let (ids, squared) = support.row(row);
                let mut pairs = ids.iter().zip(squared);
                for &id in state.active_of(&ends, row) {
                    if let Some((_, &z)) = pairs.find(|pair| *pair.0 == id) {
                        emit(id, self.weight((row as u32, id), z.into()));
                    }
                }
            })
        });
        Graph::from_symmetric(Csr::new(n, n, indptr, indices, values)?)
            .map_err(|_| Error::param("scale", self.scale, "a smaller number: degrees leave f64"))
    }
}
