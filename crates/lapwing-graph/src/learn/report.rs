//! The report on a learned graph.

use lapwing_core::{Phase, Warning};
use serde::Serialize;

use super::dual::Problem;
use super::sparsity::Sparsity;
use super::steps::Arrived;
use super::support::SquaredDistance;
use super::{LearnModel, LearnParams, LearnSolver};

/// Report on a learned graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LearnReport {
    /// `log` or `l2`.
    pub model: LearnModel,
    /// `newton` or `primal-dual`.
    pub solver: LearnSolver,
    /// θ.
    pub sparsity: f64,
    /// How θ was chosen: its interval, the mean and the rows left out; absent where θ was given.
    pub chosen: Option<Sparsity>,
    /// Pairs that were allowed to carry weight.
    pub n_allowed: usize,
    /// Pairs that carry weight.
    pub n_edges: usize,
    /// Neighbors of a row on average, 2·`n_edges`/n.
    pub mean_neighbors: f64,
    /// Value of the objective with α = β = 1 (a = 1) on θZ, before the scale δ.
    pub objective: f64,
    /// Gap between objective and dual, relative to the size of the objective's terms: n for the log-degree model, 2‖w‖² + ‖d‖²
    /// for the l2-degree one. No solution is better by more.
    pub gap: f64,
    /// Steps of the solver, including those after repairs.
    pub n_iter: usize,
    /// Products of conjugate gradients with the curvature, in all steps.
    pub n_products: usize,
    /// Whether the gap reached the tolerance.
    pub converged: bool,
    /// Share of rows of which all allowed pairs carry weight: they may need more allowed pairs.
    pub saturated: f64,
    /// Rows that may miss a pair that is not allowed: all rows if neighbors were not searched exactly. 0 certifies that a converged
    /// solution is the optimum over all pairs, provided that neighbors, if they were given, are the nearest ones.
    pub n_uncertified: usize,
    /// Whether neighbors were searched exactly; true if they were given.
    pub exact_neighbors: bool,
    /// Whether repairs were requested.
    pub repair: bool,
    /// Pairs added by repairs.
    pub n_repaired: usize,
    /// Seconds of the parts.
    pub phases: Vec<Phase>,
}

/// Share of rows with all allowed pairs in use above which the report warns.
const SATURATED: f64 = 0.05;

impl LearnReport {
    /// Warnings about the result.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if !self.converged {
            warnings.push(Warning::LearningNotConverged { n_iter: self.n_iter, gap: self.gap });
        }
        if self.repair && !self.exact_neighbors && self.n_uncertified > 0 {
            warnings.push(Warning::InexactRepair { n_rows: self.n_uncertified });
        } else if self.repair && self.n_uncertified > 0 {
            warnings.push(Warning::UnrepairedRows { n_rows: self.n_uncertified });
        } else if self.saturated > SATURATED && self.n_uncertified > 0 {
            warnings.push(Warning::SaturatedRows { share: self.saturated });
        }
        warnings
    }
}

/// The report on what a solver did; the caller adds phases and the steps before and after.
pub(super) fn describe<R: SquaredDistance>(
    problem: &Problem<'_, R>,
    params: &LearnParams,
    arrived: &Arrived,
) -> LearnReport {
    let (state, support) = (&arrived.state, problem.support);
    let n = support.n_samples();
    let is_full = |row: &usize| state.n_active[*row] as usize == support.row(*row).0.len();
    let n_edges = state.n_active.iter().map(|&active| active as usize).sum::<usize>() / 2;
    LearnReport {
        model: problem.model,
        solver: params.solver.resolved(),
        sparsity: problem.sparsity,
        chosen: None,
        n_allowed: support.n_pairs(),
        n_edges,
        mean_neighbors: 2.0 * n_edges as f64 / n as f64,
        objective: state.objective(),
        gap: state.relative_gap(),
        n_iter: arrived.spent.n_iter,
        n_products: arrived.spent.n_products,
        converged: arrived.converged,
        saturated: (0..n).filter(is_full).count() as f64 / n as f64,
        n_uncertified: 0,
        exact_neighbors: true,
        n_repaired: 0,
        repair: false,
        phases: Vec::new(),
    }
}
