//! The dual with the hinge loss (Melacci & Belkin 2011, eq. 4–6), by sequential minimal optimization.
//!
//! max over β of 1ᵀβ − ½·βᵀQ̃β with 0 ≤ βₑ ≤ cₑ, and yᵀβ = 0 if there is a bias; Q̃ = Y·Q·Y / 2 with the Q (l, l) of
//! [`super::newton`], and α = ½·M·Yβ. The pair to move is chosen by second-order gain (Fan, Chen & Lin 2005). Without a bias, the
//! single β that violates its optimality condition most is moved. O(l) for each move.

use lapwing_core::{Matrix, Result, Run};

use super::loss::Loss;
use super::objective::Solution;

/// Most moves for each term.
const MOST_MOVES: usize = 100_000;
/// Moves between two checks for cancellation.
const CHECK_EVERY: usize = 4096;
/// Replaces a curvature that is not positive.
const LEAST: f64 = 1e-12;

/// A dual solution.
pub(super) struct Dual {
    /// ρ = ½·Yβ, summed by labeled row (l): f = Q·ρ.
    pub rho: Vec<f64>,
    pub bias: f64,
    /// Σ max(0, 1 − y·o) + ρᵀQρ, the primal objective.
    pub objective: f64,
    pub n_iter: usize,
    /// Largest violation of the optimality conditions.
    pub residual: f64,
    pub converged: bool,
}

impl Dual {
    /// The solution with these coefficients and values (n).
    pub fn solution(self, coefficients: Vec<f64>, is_of_rows: bool, values: Vec<f64>) -> Solution {
        let Self { bias, objective, n_iter, residual, converged, .. } = self;
        let curve = Vec::new();
        Solution { coefficients, is_of_rows, bias, values, objective, n_iter, residual, converged, curve }
    }
}

struct Term {
    row: usize,
    y: f64,
    most: f64,
}

/// Solves the dual of one problem to a violation of `tol`.
pub(super) fn dual(q: &Matrix, loss: &Loss, has_bias: bool, tol: f64, run: &Run) -> Result<Dual> {
    let terms: Vec<Term> = loss.terms().map(|(row, y, most)| Term { row, y, most }).collect();
    let l = terms.len();
    let mut beta = vec![0.0; l];
    // y times the gradient of the objective: yₑ − (Q·ρ) at the row.
    let mut slopes: Vec<f64> = terms.iter().map(|term| term.y).collect();
    let (mut n_iter, mut residual) = (0, f64::INFINITY);
    while n_iter < MOST_MOVES.saturating_mul(l.max(1)) {
        if n_iter.is_multiple_of(CHECK_EVERY) {
            run.check()?;
        }
        let (moved, violation) =
            if has_bias { pair(q, &terms, &beta, &slopes) } else { single(q, &terms, &beta, &slopes) };
        residual = violation;
        if violation <= tol || moved.is_empty() {
            break;
        }
        for (at, by) in moved {
            // `by` is the change of yβ.
            let term = &terms[at];
            beta[at] = (beta[at] + term.y * by).clamp(0.0, term.most);
            let column = q.row(term.row);
            slopes.iter_mut().zip(&terms).for_each(|(slope, other)| *slope -= 0.5 * by * column[other.row]);
        }
        n_iter += 1;
    }
    let mut rho = vec![0.0; q.n_rows()];
    terms.iter().zip(&beta).for_each(|(term, beta)| rho[term.row] += 0.5 * term.y * beta);
    let values: Vec<f64> = q.rows().map(|row| row.iter().zip(&rho).map(|(q, r)| q * r).sum()).collect();
    let bias = if has_bias { bias(&terms, &beta, &values) } else { 0.0 };
    let hinge: f64 = terms.iter().map(|term| term.most * (1.0 - term.y * (values[term.row] + bias)).max(0.0)).sum();
    let norm: f64 = rho.iter().zip(&values).map(|(r, f)| r * f).sum();
    Ok(Dual { rho, bias, objective: hinge + norm, n_iter, residual, converged: residual <= tol })
}

/// Whether yβ can grow, and whether it can fall, within its bounds.
fn room(term: &Term, beta: f64) -> (bool, bool) {
    let (below, above) = (beta > 0.0, beta < term.most);
    if term.y > 0.0 { (above, below) } else { (below, above) }
}

/// The two terms to move in opposite directions, the sizes of the moves, and the violation.
fn pair(q: &Matrix, terms: &[Term], beta: &[f64], slopes: &[f64]) -> (Vec<(usize, f64)>, f64) {
    let can = |at: usize| room(&terms[at], beta[at]);
    let up = (0..terms.len()).filter(|&at| can(at).0);
    let Some(i) = up.max_by(|&a, &b| slopes[a].total_cmp(&slopes[b]).then(b.cmp(&a))) else { return (Vec::new(), 0.0) };
    let lowest = (0..terms.len()).filter(|&at| can(at).1).map(|at| slopes[at]).fold(f64::INFINITY, f64::min);
    if lowest.is_infinite() {
        return (Vec::new(), 0.0);
    }
    let violation = slopes[i] - lowest;
    let own = q.row(terms[i].row);
    let curvature = |j: usize| {
        let r = terms[j].row;
        (0.5 * (own[terms[i].row] + q.row(r)[r] - 2.0 * own[r])).max(LEAST)
    };
    let gain = |j: &usize| (slopes[i] - slopes[*j]).powi(2) / curvature(*j);
    let down = (0..terms.len()).filter(|&at| can(at).1 && slopes[at] < slopes[i]);
    let Some(j) = down.max_by(|a, b| gain(a).total_cmp(&gain(b)).then(b.cmp(a))) else {
        return (Vec::new(), violation);
    };
    // The bounds of both terms limit the move.
    let most_up = if terms[i].y > 0.0 { terms[i].most - beta[i] } else { beta[i] };
    let most_down = if terms[j].y > 0.0 { beta[j] } else { terms[j].most - beta[j] };
    let by = ((slopes[i] - slopes[j]) / curvature(j)).min(most_up).min(most_down);
    (vec![(i, by), (j, -by)], violation)
}

/// The term to move if no constraint joins them, the size of the move, and the violation.
fn single(q: &Matrix, terms: &[Term], beta: &[f64], slopes: &[f64]) -> (Vec<(usize, f64)>, f64) {
    let violation = |at: usize| {
        let (up, down) = room(&terms[at], beta[at]);
        if (slopes[at] > 0.0 && up) || (slopes[at] < 0.0 && down) { slopes[at].abs() } else { 0.0 }
    };
    let worst = (0..terms.len()).max_by(|&a, &b| violation(a).total_cmp(&violation(b)).then(b.cmp(&a)));
    let Some(at) = worst else { return (Vec::new(), 0.0) };
    let term = &terms[at];
    let wanted = beta[at] + term.y * slopes[at] / (0.5 * q.row(term.row)[term.row]).max(LEAST);
    (vec![(at, term.y * (wanted.clamp(0.0, term.most) - beta[at]))], violation(at))
}

/// b from the terms strictly within their bounds, or the middle of the interval that the others allow.
fn bias(terms: &[Term], beta: &[f64], values: &[f64]) -> f64 {
    let wanted = |at: usize| terms[at].y - values[terms[at].row];
    let inside = |at: &usize| beta[*at] > 1e-9 * terms[*at].most && beta[*at] < (1.0 - 1e-9) * terms[*at].most;
    let free: Vec<f64> = (0..terms.len()).filter(inside).map(wanted).collect();
    if !free.is_empty() {
        return free.iter().sum::<f64>() / free.len() as f64;
    }
    let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
    for at in 0..terms.len() {
        let (up, down) = room(&terms[at], beta[at]);
        if up {
            least = least.max(wanted(at));
        }
        if down {
            most = most.min(wanted(at));
        }
    }
    match (least.is_finite(), most.is_finite()) {
        (true, true) => 0.5 * (least + most),
        (true, false) => least,
        (false, true) => most,
        (false, false) => 0.0,
    }
}
