//! Damped Newton iteration on the dual.
//!
//! Directions solve (−∇²D)p = ∇D by conjugate gradients with the diagonal as preconditioner, the more exactly the smaller the
//! gap is. Where distances have one scale the systems are well conditioned (h is about the square of a degree, ½(D_A + A) at
//! most the number of neighbors), so that a few products suffice. Steps are halved until D grows by the Armijo condition; one
//! step takes a λ of the log-degree model at most to a tenth of itself. The level of the l2-degree model is eliminated: with
//! q = D_A·1, the direction is x + t·y for x = M⁻¹∇D, y = M⁻¹q and t = (∂D/∂ν + qᵀx)/(1ᵀq − qᵀy).
//!
//! With outliers and heavy tails that takes many steps. Then the rows are solved one after the other a few times, and if that
//! is not enough, [`super::smooth`] leads to the neighborhood of the optimum.
//!
//! Cost: 5 to 12 steps of one or two passes over the support and about ten products over the active pairs. Memory besides the
//! support: 4 bytes for each active entry and a dozen vectors. The problem is that of Kalofolias & Perraudin (2019, eqs. 3 and
//! 4); their own iteration is in [`super::primal_dual`].

use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, Run, fallen};
use lapwing_solve::{CgParams, column_dots};

use super::LearnModel;
use super::active::{Curvature, solve_step};
use super::dual::{BLOCK, Multipliers, Problem, State};
use super::smooth::follow;
use super::steps::{ARMIJO, Arrived, MOST_HALVINGS, Spent};
use super::support::SquaredDistance;

/// A step takes a λ that must stay positive at most to this part of itself.
const SHRINK: f64 = 0.1;
/// Rounding of the dual's value, relative to its terms.
const ROUNDING: f64 = 1e-14;
/// Newton steps before another method is tried.
const PATIENCE: usize = 8;
/// Residual of the first directions.
const LOOSEST: f64 = 0.1;

/// Iterates from `start` until the relative gap is at most `tol`, or cannot be reduced.
pub(super) fn newton<R: SquaredDistance>(
    problem: &Problem<'_, R>,
    start: Multipliers,
    tol: f64,
    max_iter: usize,
    run: &Run,
) -> Result<Arrived> {
    let state = problem.evaluate(start, run)?;
    let mut arrived = climb(problem, state, tol, max_iter.min(PATIENCE), run)?;
    // If distances have many scales: first sweeps over single rows, then the path of smoothed duals.
    for smooths in [false, true] {
        let left = max_iter.saturating_sub(arrived.spent.n_iter);
        if arrived.converged || left == 0 || problem.model == LearnModel::L2 {
            break;
        }
        let mut multipliers = arrived.state.multipliers;
        let (mut spent, mut most) = (arrived.spent, left.min(PATIENCE));
        if smooths {
            let on_path;
            (multipliers, on_path) = follow(problem, multipliers, 0.1 * tol, run)?;
            (spent, most) = (spent + on_path, left);
        } else {
            problem.sweep(&mut multipliers, run)?;
        }
        let next = climb(problem, problem.evaluate(multipliers, run)?, tol, most, run)?;
        arrived = Arrived { spent: spent + next.spent, ..next };
    }
    let lonely: Vec<u32> = (0..).zip(&arrived.state.degree).filter(|row| *row.1 <= 0.0).map(|row| row.0).collect();
    if !lonely.is_empty() && problem.model == LearnModel::Log {
        // Every row has a degree in this model, even if the iteration ends early.
        let mut multipliers = arrived.state.multipliers;
        problem.solve_rows(&lonely, &mut multipliers.nodes);
        arrived.state = problem.evaluate(multipliers, run)?;
        arrived.converged = arrived.state.is_within(tol);
    }
    Ok(arrived)
}

/// Newton steps from `state`.
fn climb<R: SquaredDistance>(
    problem: &Problem<'_, R>,
    mut state: State,
    tol: f64,
    max_iter: usize,
    run: &Run,
) -> Result<Arrived> {
    let mut spent = Spent::default();
    while !state.is_within(tol) && spent.n_iter < max_iter {
        let gap = state.relative_gap();
        run.share(fallen(1.0, tol, gap), &format!("Newton step {}, gap {gap:.1e}", spent.n_iter + 1));
        let (direction, n_products) = direction(problem, &state, tol, run)?;
        spent = spent + Spent { n_iter: 1, n_products };
        match step(problem, &state, &direction, run)? {
            Some(next) => state = next,
            None => break,
        }
    }
    let converged = state.is_within(tol);
    Ok(Arrived { state, spent, converged })
}

/// A change of the multipliers.
struct Direction {
    nodes: Vec<f64>,
    level: f64,
    /// ∂D/∂λ of each row at its start.
    gradient: Vec<f64>,
}

/// The direction at `state`, and the products it took.
fn direction<R: SquaredDistance>(
    problem: &Problem<'_, R>,
    state: &State,
    tol: f64,
    run: &Run,
) -> Result<(Direction, usize)> {
    let gap = state.relative_gap();
    // The error after the step is about η times that before it and its square, the gap the square of the error.
    let needed = 0.3 * (tol / gap).sqrt();
    let tol = gap.sqrt().min(LOOSEST).max(needed).clamp(1e-13, LOOSEST);
    let params = CgParams { tol, ..CgParams::default() };
    let n = state.degree.len();
    let gradient = run.install(|| gradient(problem, state));
    if problem.model == LearnModel::Log {
        let curvature = run.install(|| Curvature::at(problem, state, |node| 1.0 / (node * node)));
        let b = Matrix::new(n, 1, gradient.clone())?;
        let (x, n_products) = solve_step(&curvature, curvature.diagonal(), &b, params, run)?;
        return Ok((Direction { nodes: x.into_values(), level: 0.0, gradient }, n_products));
    }
    let curvature = run.install(|| Curvature::at(problem, state, |_| 1.0));
    let active: Vec<f64> = state.n_active.iter().map(|&count| count.into()).collect();
    let b = Matrix::new(n, 2, gradient.iter().zip(&active).flat_map(|(&g, &q)| [g, q]).collect())?;
    let (x, n_products) = solve_step(&curvature, curvature.diagonal(), &b, params, run)?;
    let dots = run.install(|| {
        let both: Vec<f64> = active.iter().flat_map(|&q| [q, q]).collect();
        column_dots(&both, x.values(), n, 2)
    });
    let left = active.iter().sum::<f64>() - dots[1];
    let slope = 2.0 * state.total - n as f64;
    // Without active pairs the dual is linear in the level, and a step of 1 is as good as any.
    let level = if left > 0.0 { (slope + dots[0]) / left } else { slope.signum() };
    let nodes = x.values().chunks_exact(2).map(|row| row[0] + level * row[1]).collect();
    Ok((Direction { nodes, level, gradient }, n_products))
}

/// ∂D/∂λ of each row.
fn gradient<R: SquaredDistance>(problem: &Problem<'_, R>, state: &State) -> Vec<f64> {
    let rows = state.degree.par_iter().enumerate().with_min_len(BLOCK);
    let lambda = |row: usize| problem.lambda(&state.multipliers, row);
    match problem.model {
        LearnModel::Log => rows.map(|(row, degree)| 1.0 / lambda(row) - degree).collect(),
        LearnModel::L2 => rows.map(|(row, degree)| -lambda(row) - degree).collect(),
    }
}

/// The first of the steps 1, ½, ¼, … along `direction` that meets the Armijo condition; none if no step does.
fn step<R: SquaredDistance>(
    problem: &Problem<'_, R>,
    state: &State,
    direction: &Direction,
    run: &Run,
) -> Result<Option<State>> {
    let n = direction.gradient.len();
    let mut length = 1.0;
    for _ in 0..MOST_HALVINGS {
        let moved = |(row, &change): (usize, &f64)| {
            let least = match problem.model {
                LearnModel::Log => (SHRINK - 1.0) * problem.lambda(&state.multipliers, row),
                LearnModel::L2 => f64::NEG_INFINITY,
            };
            state.multipliers.nodes[row] + (length * change).max(least)
        };
        let (nodes, slope) = run.install(|| {
            let rows = direction.nodes.par_iter().enumerate().with_min_len(BLOCK);
            let mut nodes: Vec<f64> = rows.map(moved).collect();
            problem.solve_far_rows(&mut nodes);
            let pairs = nodes.par_iter().zip(&state.multipliers.nodes).with_min_len(BLOCK);
            let changes: Vec<f64> = pairs.map(|(new, old)| new - old).collect();
            let slope = column_dots(&direction.gradient, &changes, n, 1)[0];
            (nodes, slope)
        });
        let slope = slope + length * direction.level * (2.0 * state.total - n as f64);
        let level = state.multipliers.level + length * direction.level;
        let next = problem.evaluate(Multipliers { nodes, level }, run)?;
        let rounding = ROUNDING * (state.dual.abs() + state.scale.abs() + n as f64);
        if next.dual - state.dual >= ARMIJO * slope.max(0.0) - rounding {
            // Where the two values differ by rounding only, the gap tells whether there was progress.
            let is_progress = next.dual - state.dual > rounding || next.gap < 0.9 * state.gap;
            return Ok(is_progress.then_some(next));
        }
        length *= 0.5;
    }
    Ok(None)
}
