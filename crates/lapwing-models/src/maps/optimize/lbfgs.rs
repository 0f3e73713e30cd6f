//! L-BFGS with P⁻¹ as initial matrix (Nocedal & Wright 2006, algorithm 7.4), and a line search that reduces the slope to a tenth.
//! The scores along a direction are known, so that a trial step needs no product with the graph.

use std::collections::VecDeque;

use lapwing_core::{Matrix, Result};

use super::{KEPT_BYTES, RENEW, State, Task, Trace, add, dot};

/// Most stored pairs: ten of them need up to twice the iterations.
const MEMORY: usize = 100;
/// Share of the slope at which a line search ends.
const SLOPE: f64 = 0.1;
/// Factor on the remaining decrease that the L-BFGS matrix predicts. Measured decreases were two to four times the prediction.
const CAUTION: f64 = 4.0;
/// Consecutive iterations whose estimates must be small enough.
const PATIENCE: usize = 2;

/// A step and the change of the gradient along it.
struct Pair {
    step: Matrix,
    change: Matrix,
    product: f64,
}

/// Minimizes from the weights of `state`.
pub(crate) fn lbfgs(state: &mut State, task: &Task<'_>, trace: &mut Trace) -> Result<()> {
    let mut pairs: VecDeque<Pair> = VecDeque::new();
    let (mut calm, mut is_fresh) = (0, false);
    if trace.values.is_empty() {
        trace.note(state.value, task.run);
    }
    loop {
        task.run.check()?;
        let mut direction = towards(&state.gradient, &pairs, task);
        direction.values_mut().iter_mut().for_each(|d| *d = -*d);
        let slope = dot(&direction, &state.gradient);
        let gap = task.gap(&state.gradient, -0.5 * CAUTION * slope);
        calm = if trace.reaches(gap, task) { calm + 1 } else { 0 };
        if slope == 0.0 || (calm > 0 && is_fresh) {
            trace.converged = calm > 0 || state.gradient.values().iter().all(|g| *g == 0.0);
            break;
        }
        if calm >= PATIENCE {
            // The gradient is recomputed, because the errors of inexact products accumulate in it.
            state.renew(task, trace)?;
            is_fresh = true;
            continue;
        }
        if trace.n_iter >= task.max_iter || slope.is_nan() || slope > 0.0 {
            break;
        }
        let accuracy = task.accuracy(trace);
        let scores = task.map.forward(&direction, accuracy)?;
        let step = search(state, &direction, (&scores, slope), task);
        if step == 0.0 && !is_fresh {
            pairs.clear();
            state.renew(task, trace)?;
            is_fresh = true;
            continue;
        }
        if step == 0.0 {
            // No step descends in double precision.
            trace.converged = calm > 0;
            break;
        }
        let change = state.advance(&direction, &scores, step, accuracy, task)?;
        is_fresh = false;
        trace.n_iter += 1;
        trace.note(state.value, task.run);
        keep(&mut pairs, direction, step, change);
        if trace.n_iter.is_multiple_of(RENEW) {
            state.refresh(task, trace)?;
        }
    }
    if is_fresh { Ok(()) } else { state.renew(task, trace) }
}

/// Stores the pair of a step along `direction` if its curvature is positive; the oldest pair is dropped when memory is full.
fn keep(pairs: &mut VecDeque<Pair>, direction: Matrix, step: f64, change: Matrix) {
    let mut pair = Pair { product: step * dot(&direction, &change), step: direction, change };
    pair.step.values_mut().iter_mut().for_each(|d| *d *= step);
    if pair.product > 0.0 {
        let bytes = 16 * pair.step.values().len();
        pairs.push_back(pair);
        if pairs.len() > MEMORY || pairs.len() * bytes > KEPT_BYTES {
            pairs.pop_front();
        }
    }
}

/// B⁻¹·g by two loops over the pairs.
fn towards(gradient: &Matrix, pairs: &VecDeque<Pair>, task: &Task<'_>) -> Matrix {
    let mut q = gradient.clone();
    let mut shares = Vec::with_capacity(pairs.len());
    for pair in pairs.iter().rev() {
        let share = dot(&pair.step, &q) / pair.product;
        add(&mut q, &pair.change, -share);
        shares.push(share);
    }
    let mut direction = task.preconditioner.apply(&q);
    if let Some(last) = pairs.back() {
        let own = task.preconditioner.apply(&last.change);
        let scale = last.product / dot(&last.change, &own);
        direction.values_mut().iter_mut().for_each(|d| *d *= scale);
    }
    for (pair, share) in pairs.iter().zip(shares.into_iter().rev()) {
        let back = dot(&pair.change, &direction) / pair.product;
        add(&mut direction, &pair.step, share - back);
    }
    direction
}

/// The step that reduces the slope to a tenth at most: Newton's method in one variable, safeguarded by a bracket. 0 if no step
/// descends.
///
/// The slope at the start is taken from the gradient. Inexact scores of the direction give another slope, because their errors
/// along the residual, which is not small at the optimum, add up. The difference corrects slopes and values.
fn search(state: &State, direction: &Matrix, (scores, slope): (&Matrix, f64), task: &Task<'_>) -> f64 {
    let (square, cross) = (dot(direction, direction), dot(direction, &state.weights));
    let at = |t: f64| {
        let [value, slope, curvature] = task.run.install(|| task.loss.along(&state.scores, scores, t));
        let penalty = task.ridge * (t * cross + 0.5 * t * t * square);
        (value + penalty, slope + task.ridge * (cross + t * square), curvature + task.ridge * square)
    };
    let (start, told, curvature) = at(0.0);
    let first = slope;
    let at = |t: f64| {
        let (value, slope, curvature) = at(t);
        (value + t * (first - told), slope + (first - told), curvature)
    };
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut t = if curvature > 0.0 { (-first / curvature).min(1e6) } else { 1.0 };
    let mut best = 0.0;
    for _ in 0..30 {
        let (value, slope, curvature) = at(t);
        if value.is_finite() && value <= start {
            best = t;
            if slope.abs() <= SLOPE * first.abs() {
                break;
            }
        }
        if slope < 0.0 && value.is_finite() {
            low = t;
        } else {
            high = t;
        }
        let newton = if curvature > 0.0 { t - slope / curvature } else { f64::NAN };
        t = match newton {
            newton if newton > low && newton < high => newton,
            _ if high.is_finite() => 0.5 * (low + high),
            _ => 2.0 * t,
        };
    }
    best
}
