//! Preconditioned block conjugate gradients on (AᵀMA + ρI)·W = AᵀMY (O'Leary 1980), with directions orthonormalized in every step
//! (Dubrulle 2001). All outputs share one search space.
//!
//! New directions are made conjugate to all earlier ones, so that neither inexact products nor rounding cost iterations
//! (otherwise a third to a half of them). With P from features smoothed to 10⁻² the method converges in three to eight
//! iterations; without P it takes a dozen to some thirty, while single columns take up to a hundred. Besides products with A, it
//! costs 4·k·c² flops for each earlier step.

use std::collections::VecDeque;

use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, Run};
use lapwing_solve::dense::{eigen_symmetric, solve_spd};
use lapwing_solve::products::{add_product, transposed_times};

use super::{KEPT_BYTES, State, Task, Trace, add, dot};
use crate::maps::map::Accuracy;

/// Steps from which the rate of convergence is measured.
const WINDOW: usize = 4;
/// Rows of a block.
const ROWS: usize = 512;
/// Least share of the predicted gain that must remain after the earlier directions are removed.
const KEPT: f64 = 0.5;
/// A direction is dropped if less than this share of it is independent of the others.
const INDEPENDENT: f64 = 1e-8;

/// Minimizes from the weights of `state`.
pub(crate) fn cg(state: &mut State, task: &Task<'_>, trace: &mut Trace) -> Result<()> {
    let mut search = Search { gains: Vec::new(), before: VecDeque::new(), is_fresh: true };
    if trace.values.is_empty() {
        trace.note(state.value, task.run);
    }
    loop {
        task.run.check()?;
        let towards = task.preconditioner.apply(&state.gradient);
        let decrement = 0.5 * dot(&state.gradient, &towards);
        let gap = task.gap(&state.gradient, estimate(decrement, &search.gains, task));
        if trace.reaches(gap, task) {
            if search.is_fresh || search.is_at_rounding(decrement, state, task, trace)? {
                trace.converged = true;
                break;
            }
            continue;
        }
        if trace.n_iter >= task.max_iter {
            break;
        }
        let direction = conjugate(&towards, &search.before, task.run);
        if !search.before.is_empty() && dot(&direction, &state.gradient) < KEPT * 2.0 * decrement {
            // Most of the gradient lies in directions that were searched before.
            search.renew(state, task, trace)?;
            continue;
        }
        let next = Step::next(&direction, task.accuracy(trace), task)?;
        let next = next.and_then(|(step, scores)| {
            let inner = transposed_times(&step.directions, &state.gradient);
            solve_spd(&step.curvature, &inner).ok().map(|lengths| (step, scores, inner, lengths))
        });
        let Some((step, scores, inner, lengths)) = next else {
            // The new directions are rounding error only, or not finite.
            let is_last = search.gains.last().is_some_and(|gain| *gain <= task.tol * state.value);
            trace.converged = is_last || state.gradient.values().iter().all(|g| *g == 0.0);
            break;
        };
        search.gains.push(0.5 * dot(&inner, &lengths));
        task.run.install(|| {
            subtract_product(&mut state.weights, &step.directions, &lengths);
            subtract_product(&mut state.scores, &scores, &lengths);
            subtract_product(&mut state.gradient, &step.products, &lengths);
        });
        state.evaluate(task);
        search.keep(step, state.weights.values().len());
        trace.n_iter += 1;
        trace.note(state.value, task.run);
    }
    Ok(())
}

/// What earlier steps leave to the next ones.
struct Search {
    /// Decrease of the objective by each step.
    gains: Vec<f64>,
    /// The last steps, in as many bytes as are kept.
    before: VecDeque<Step>,
    /// Whether the gradient was computed anew and no step has followed.
    is_fresh: bool,
}

impl Search {
    /// Computes the gradient anew: rounding and the errors of inexact solves accumulate in it.
    fn renew(&mut self, state: &mut State, task: &Task<'_>, trace: &mut Trace) -> Result<()> {
        state.renew(task, trace)?;
        self.before.clear();
        self.is_fresh = true;
        Ok(())
    }

    /// Computes the gradient anew; returns whether it is as small as its `decrement` was, where the gap is estimated by the gains of
    /// earlier steps, which do not apply to the new one.
    fn is_at_rounding(
        &mut self,
        decrement: f64,
        state: &mut State,
        task: &Task<'_>,
        trace: &mut Trace,
    ) -> Result<bool> {
        self.renew(state, task, trace)?;
        if task.is_close || task.ridge != 0.0 {
            return Ok(false);
        }
        let towards = task.preconditioner.apply(&state.gradient);
        let is_small = 0.5 * dot(&state.gradient, &towards) <= 2.0 * decrement;
        if !is_small {
            self.gains.clear();
        }
        Ok(is_small)
    }

    /// Keeps a step for weights of `n_weights` numbers.
    fn keep(&mut self, step: Step, n_weights: usize) {
        self.before.push_back(step);
        if 16 * self.before.len() * n_weights > KEPT_BYTES {
            self.before.pop_front();
        }
        self.is_fresh = false;
    }
}

/// P⁻¹g, made conjugate to the earlier directions.
fn conjugate(towards: &Matrix, before: &VecDeque<Step>, run: &Run) -> Matrix {
    let mut directions = towards.clone();
    let c = towards.n_cols();
    let shares = |step: &Step| {
        let mut shares = solve_spd(&step.curvature, &transposed_times(&step.products, towards)).ok()?;
        shares.values_mut().iter_mut().for_each(|share| *share = -*share);
        Some(shares)
    };
    run.install(|| {
        let shares: Vec<Option<Matrix>> = before.into_par_iter().map(shares).collect();
        directions.values_mut().par_chunks_mut(ROWS * c).enumerate().for_each(|(block, out)| {
            for (step, shares) in before.iter().zip(&shares) {
                let Some(shares) = shares else { continue };
                let s = step.directions.n_cols();
                let own = &step.directions.values()[block * ROWS * s..][..out.len() / c * s];
                add_product(own, shares.values(), s, out);
            }
        });
    });
    directions
}

/// A ← A − B·C.
fn subtract_product(a: &mut Matrix, b: &Matrix, c: &Matrix) {
    let (inner, width) = (c.n_rows(), c.n_cols());
    let negative: Vec<f64> = c.values().iter().map(|x| -x).collect();
    a.values_mut().par_chunks_mut(ROWS * width).zip(b.values().par_chunks(ROWS * inner)).for_each(|(a, b)| {
        add_product(b, &negative, inner, a);
    });
}

/// Estimates ℓ − ℓ* from ½·gᵀP⁻¹g, if P is close, and from how fast the gains of the last steps fell.
fn estimate(decrement: f64, gains: &[f64], task: &Task<'_>) -> f64 {
    let last = gains.len().saturating_sub(1);
    let window = last.min(WINDOW);
    let ahead = match window {
        _ if gains.last() == Some(&0.0) => 0.0,
        0 => f64::INFINITY,
        window => {
            let rate = (gains[last] / gains[last - window]).powf(1.0 / window as f64).min(0.99);
            gains[last] * rate / (1.0 - rate)
        }
    };
    match (task.is_close, window) {
        // With a sketch, the least eigenvalue after preconditioning is about a half. With an exact P, one step is enough.
        (true, 0) if gains.is_empty() => f64::INFINITY,
        (true, 0) => 2.0 * decrement,
        (true, _) => ahead.max(2.0 * decrement),
        (false, _) => 2.0 * ahead,
    }
}

/// The directions of a step and their products.
struct Step {
    /// D (k, s), orthonormal.
    directions: Matrix,
    /// (AᵀMA + ρI)·D (k, s).
    products: Matrix,
    /// DᵀAᵀMAD + ρ (s, s).
    curvature: Matrix,
}

impl Step {
    /// A step along given columns, and its scores A·D (l, s); none if no independent direction is left.
    fn next(columns: &Matrix, accuracy: Accuracy, task: &Task<'_>) -> Result<Option<(Self, Matrix)>> {
        let Some(directions) = orthonormal(columns)? else { return Ok(None) };
        let scores = task.map.forward(&directions, accuracy)?;
        let mut products = task.map.adjoint(&task.loss.trusted(&scores), accuracy)?;
        add(&mut products, &directions, task.ridge);
        let mut curvature = transposed_times(&directions, &products);
        for i in 0..curvature.n_rows() {
            for j in 0..i {
                let mean = 0.5 * (curvature.row(i)[j] + curvature.row(j)[i]);
                (curvature.row_mut(i)[j], curvature.row_mut(j)[i]) = (mean, mean);
            }
        }
        Ok(Some((Self { directions, products, curvature }, scores)))
    }
}

/// An orthonormal basis of the columns by Gram–Schmidt, run twice; dependent columns are left out.
fn orthonormal(columns: &Matrix) -> Result<Option<Matrix>> {
    let (k, c) = (columns.n_rows(), columns.n_cols());
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(c);
    for column in 0..c {
        let mut own: Vec<f64> = columns.rows().map(|row| row[column]).collect();
        let norm = own.iter().map(|x| x * x).sum::<f64>().sqrt();
        if !(norm > 0.0 && norm.is_finite()) {
            continue;
        }
        own.iter_mut().for_each(|x| *x /= norm);
        for _ in 0..2 {
            for other in &basis {
                let share: f64 = own.iter().zip(other).map(|(a, b)| a * b).sum();
                own.iter_mut().zip(other).for_each(|(a, b)| *a -= share * b);
            }
        }
        let left = own.iter().map(|x| x * x).sum::<f64>().sqrt();
        if left > INDEPENDENT {
            own.iter_mut().for_each(|x| *x /= left);
            basis.push(own);
        }
    }
    if basis.is_empty() {
        return Ok(None);
    }
    Matrix::new(k, basis.len(), (0..k).flat_map(|row| basis.iter().map(move |own| own[row])).collect()).map(Some)
}

/// Extreme eigenvalues of P⁻¹(AᵀMA + ρI), estimated by `steps` iterations on a random column.
pub(crate) fn spectrum(task: &Task<'_>, steps: usize) -> Result<(f64, f64)> {
    let k = task.map.width();
    let bits = |at: usize| lapwing_core::hash::mix(at as u64 ^ 0x7370_6563) & 1;
    let random = Matrix::new(k, 1, (0..k).map(|at| if bits(at) == 0 { 1.0 } else { -1.0 }).collect())?;
    // A right-hand side in the range of a matrix that may be singular.
    let scores = task.map.forward(&random, Accuracy::Step(0.0))?;
    let mut residual = task.map.adjoint(&task.loss.trusted(&scores), Accuracy::Step(0.0))?;
    add(&mut residual, &random, task.ridge);
    let (mut direction, mut old) = (Matrix::filled(k, 1, 0.0), 0.0);
    let mut steps_taken = Vec::new();
    let mut first = 0.0;
    for _ in 0..steps.min(k) {
        let z = task.preconditioner.apply(&residual);
        let new = dot(&residual, &z);
        first = f64::max(first, new);
        if new.is_nan() || new <= 1e-20 * first {
            break;
        }
        let beta = if old > 0.0 { new / old } else { 0.0 };
        direction.values_mut().iter_mut().zip(z.values()).for_each(|(d, z)| *d = beta * *d + z);
        let scores = task.map.forward(&direction, Accuracy::Step(0.0))?;
        let mut product = task.map.adjoint(&task.loss.trusted(&scores), Accuracy::Step(0.0))?;
        add(&mut product, &direction, task.ridge);
        let curvature = dot(&direction, &product);
        if curvature.is_nan() || curvature <= 0.0 {
            break;
        }
        add(&mut residual, &product, -new / curvature);
        steps_taken.push((new / curvature, beta));
        old = new;
    }
    Ok(extremes(&steps_taken)?.unwrap_or((1.0, 1.0)))
}

/// Least and largest eigenvalue of the tridiagonal matrix from step lengths and shares of the old direction.
fn extremes(steps: &[(f64, f64)]) -> Result<Option<(f64, f64)>> {
    let mut matrix = Matrix::filled(steps.len(), steps.len(), 0.0);
    for (at, &(step, beta)) in steps.iter().enumerate() {
        matrix.row_mut(at)[at] = step.recip();
        if at > 0 {
            let before = steps[at - 1].0;
            matrix.row_mut(at)[at] += beta / before;
            matrix.row_mut(at)[at - 1] = beta.sqrt() / before;
            matrix.row_mut(at - 1)[at] = beta.sqrt() / before;
        }
    }
    if steps.is_empty() {
        return Ok(None);
    }
    let (values, _) = eigen_symmetric(&matrix)?;
    let least = values.iter().copied().find(|value| *value > 0.0);
    Ok(least.zip(values.last().copied()))
}
