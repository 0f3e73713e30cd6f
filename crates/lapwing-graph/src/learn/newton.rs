//! Damped Newton iteration on the dual.
//!
//! Directions solve (−∇²D)p = ∇D by conjugate gradients with the diagonal as preconditioner, as exactly as the gap is small:
//! where distances are of one scale the systems are so well conditioned (h is about the square of a degree, ½(D_A + A) at most
//! the number of neighbours) that some products do. Steps are halved until D grows (Armijo); a step may take a λ of the log-degree model to a tenth of
//! itself, not further. The level of the l2-degree model is eliminated: with q = D_A·1, the direction is x + t·y for
//! x = M⁻¹∇D, y = M⁻¹q and t = (∂D/∂ν + qᵀx)/(1ᵀq − qᵀy).
//!
//! Where that takes more than some steps, as it does with outliers and heavy tails, rows are solved one after the other a few
//! times, and if that is not enough [`super::smooth`] leads to the neighbourhood of the optimum.
//!
//! Cost: 5 to 12 steps of one or two passes over the support and some ten products over the active pairs. Memory, beside the
//! support: 4 bytes for each active entry and a dozen vectors. The spec of the method is Kalofolias & Perraudin (2019, eqs. 3 and 4); their
//! own iteration is in [`super::primal_dual`].

use lapwing_data::{Matrix, Result, Run};
use lapwing_solve::precond::Jacobi;
use lapwing_solve::{CgParams, Projection, column_dots, solve};
use rayon::prelude::*;

use super::LearnModel;
use super::active::Curvature;
use super::dual::{BLOCK, Multipliers, Problem, State};
use super::smooth::{Spent, follow};
use super::support::SquaredDistance;

/// Share of the growth that the slope promises which a step has to bring.
const ARMIJO: f64 = 1e-4;
/// Least part of itself to which a step may take a λ that must stay positive.
const SHRINK: f64 = 0.1;
/// Values of the dual are known to this share of their terms.
const ROUNDING: f64 = 1e-14;
/// Halvings after which a direction is given up.
const MOST_HALVINGS: usize = 40;
/// Steps after which kinks are in the way.
const PATIENCE: usize = 8;
/// Residual of the first directions.
const LOOSEST: f64 = 0.1;

/// What helps where kinks are in the way.
#[derive(Clone, Copy)]
enum Detour {
    /// [`Problem::sweep`].
    Sweeps,
    /// [`super::smooth`].
    Path,
}

/// Where an iteration arrived.
pub(super) struct Arrived {
    pub state: State,
    pub n_iter: usize,
    /// Products with the curvature.
    pub n_products: usize,
    pub converged: bool,
}

/// Iterates from `start` until the relative gap is at most `tol`, or cannot be reduced.
///
/// # Errors
/// [`lapwing_data::Error::Interrupted`].
pub(super) fn newton<R: SquaredDistance>(
    problem: &Problem<'_, R>,
    start: Multipliers,
    tol: f64,
    max_iter: usize,
    run: &Run,
) -> Result<Arrived> {
    let state = problem.evaluate(start, run)?;
    let mut arrived = climb(problem, state, tol, max_iter.min(PATIENCE), run)?;
    // Distances of many scales: first what rows agree on among themselves, one after the other, then a path without kinks.
    for detour in [Detour::Sweeps, Detour::Path] {
        let left = max_iter.saturating_sub(arrived.n_iter);
        if arrived.converged || left == 0 || problem.model == LearnModel::L2 {
            break;
        }
        let mut multipliers = arrived.state.multipliers;
        let (spent, patience) = match detour {
            Detour::Sweeps => {
                problem.sweep(&mut multipliers, run)?;
                (Spent::default(), PATIENCE)
            }
            Detour::Path => {
                let spent;
                (multipliers, spent) = follow(problem, multipliers, 0.1 * tol, run)?;
                (spent, left)
            }
        };
        let state = problem.evaluate(multipliers, run)?;
        let next = climb(problem, state, tol, left.min(patience), run)?;
        let n_iter = arrived.n_iter + spent.n_iter + next.n_iter;
        arrived = Arrived { n_iter, n_products: arrived.n_products + spent.n_products + next.n_products, ..next };
    }
    let lonely: Vec<u32> = (0..).zip(&arrived.state.degree).filter(|row| *row.1 <= 0.0).map(|row| row.0).collect();
    if !lonely.is_empty() && problem.model == LearnModel::Log {
        // The model gives every row a degree, however far the iteration is from its end.
        let mut multipliers = arrived.state.multipliers;
        problem.settle_rows(&lonely, &mut multipliers.nodes);
        arrived.state = problem.evaluate(multipliers, run)?;
        arrived.converged = arrived.state.is_within(tol);
    }
    Ok(arrived)
}

/// Iterates from `state`.
fn climb<R: SquaredDistance>(
    problem: &Problem<'_, R>,
    mut state: State,
    tol: f64,
    max_iter: usize,
    run: &Run,
) -> Result<Arrived> {
    let (mut n_iter, mut n_products) = (0, 0);
    while !state.is_within(tol) && n_iter < max_iter {
        run.progress().update(n_iter as u64, &format!("Newton steps, gap {:.1e}", state.relative_gap()));
        let direction = direction(problem, &state, tol, &mut n_products, run)?;
        n_iter += 1;
        match step(problem, &state, &direction, run)? {
            Some(next) => state = next,
            None => break,
        }
    }
    let converged = state.is_within(tol);
    Ok(Arrived { state, n_iter, n_products, converged })
}

/// A change of the multipliers.
struct Direction {
    nodes: Vec<f64>,
    level: f64,
    /// ∂D/∂λ of each row where it starts.
    gradient: Vec<f64>,
}

fn direction<R: SquaredDistance>(
    problem: &Problem<'_, R>,
    state: &State,
    tol: f64,
    n_products: &mut usize,
    run: &Run,
) -> Result<Direction> {
    let gap = state.relative_gap();
    // The error after the step is about η times that before it and its square, the gap the square of the error.
    let needed = 0.3 * (tol / gap).sqrt();
    let tol = gap.sqrt().min(LOOSEST).max(needed).clamp(1e-13, LOOSEST);
    let n = state.degree.len();
    let gradient = run.install(|| gradient(problem, state));
    let curvature = run.install(|| match problem.model {
        LearnModel::Log => Curvature::at(problem, state, |node| 1.0 / (node * node)),
        LearnModel::L2 => Curvature::at(problem, state, |_| 1.0),
    });
    let s = if problem.model == LearnModel::L2 { 2 } else { 1 };
    let active: Vec<f64> = state.n_active.iter().map(|&count| count.into()).collect();
    let b: Vec<f64> = match problem.model {
        LearnModel::Log => gradient.clone(),
        LearnModel::L2 => gradient.iter().zip(&active).flat_map(|(&g, &q)| [g, q]).collect(),
    };
    let b = Matrix::new(n, s, b)?;
    let mut x = Matrix::filled(n, s, 0.0);
    let params = CgParams { tol, ..CgParams::default() };
    let jacobi = Jacobi::new(&curvature)?;
    let info = solve(&curvature, &jacobi, Projection::None, &b, &mut x, params, &run.quiet())?;
    *n_products += info.iterations.iter().max().copied().unwrap_or(0);
    if s == 1 {
        return Ok(Direction { nodes: x.into_values(), level: 0.0, gradient });
    }
    let (with_x, with_y) = run.install(|| {
        let both: Vec<f64> = active.iter().flat_map(|&q| [q, q]).collect();
        let dots = column_dots(&both, x.values(), n, 2);
        (dots[0], dots[1])
    });
    let pairs: f64 = active.iter().sum();
    let left = pairs - with_y;
    let slope = 2.0 * state.total - n as f64;
    // Without active pairs the dual is linear in the level; one apart is as good a step as any.
    let level = if left > 0.0 { (slope + with_x) / left } else { slope.signum() };
    let nodes = x.values().chunks_exact(2).map(|row| row[0] + level * row[1]).collect();
    Ok(Direction { nodes, level, gradient })
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

/// The first of the steps 1, ½, ¼, … along `direction` by which the dual grows as it should; none if there is no such.
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
            problem.settle(&mut nodes);
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
            // Where values are rounded alike, the gap tells whether there was progress.
            let is_progress = next.dual - state.dual > rounding || next.gap < 0.9 * state.gap;
            return Ok(is_progress.then_some(next));
        }
        length *= 0.5;
    }
    Ok(None)
}
