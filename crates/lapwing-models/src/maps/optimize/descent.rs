//! Gradient descent and Adam, preconditioned as published: on W′ with W = P^(−1/2)·W′. Gradient descent does not depend on the
//! choice of the root; Adam does, and takes the symmetric one.

use lapwing_core::Result;

use super::{RENEW, State, Task, Trace, dot};
use crate::maps::map::Accuracy;

/// The rule of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// A step of this length along −P⁻¹·∇.
    Gradient(f64),
    /// Adam with this rate, β₁ = 0.9, β₂ = 0.999 and ε = 10⁻⁸ (Kingma & Ba 2015).
    Adam(f64),
}

/// Minimizes from the weights of `state`; `least` is the least eigenvalue of the preconditioned problem, if known.
pub(crate) fn descend(
    rule: Rule,
    least: Option<f64>,
    state: &mut State,
    task: &Task<'_>,
    trace: &mut Trace,
) -> Result<()> {
    let n = state.gradient.values().len();
    let (mut mean, mut square) = (vec![0.0; n], vec![0.0; n]);
    if trace.values.is_empty() {
        trace.note(state.value, task.run);
    }
    loop {
        task.run.check()?;
        let towards = task.preconditioner.apply(&state.gradient);
        let bound = task.bound(&state.gradient);
        let gap = least.map_or(bound, |least| (0.5 * dot(&state.gradient, &towards) / least).min(bound));
        if trace.reaches(gap, task) || state.gradient.values().iter().all(|g| *g == 0.0) {
            trace.converged = true;
            break;
        }
        // Ends a descent with too large a rate before values become NaN.
        let is_lost = state.value.is_nan() || state.value > 1e3 * trace.values[0].max(f64::MIN_POSITIVE);
        if trace.n_iter >= task.max_iter || is_lost {
            break;
        }
        let direction = match rule {
            Rule::Gradient(step) => {
                let mut towards = towards;
                towards.values_mut().iter_mut().for_each(|d| *d *= -step);
                towards
            }
            Rule::Adam(rate) => {
                let mut step = task.preconditioner.half(&state.gradient);
                adam(step.values_mut(), rate, trace.n_iter, (&mut mean, &mut square));
                task.preconditioner.half(&step)
            }
        };
        let scores = task.map.forward(&direction, Accuracy::Step(0.0))?;
        state.advance(&direction, &scores, 1.0, Accuracy::Step(0.0), task)?;
        trace.n_iter += 1;
        trace.note(state.value, task.run);
        if trace.n_iter.is_multiple_of(RENEW) {
            state.refresh(task, trace)?;
        }
    }
    Ok(())
}

/// Turns a gradient into Adam's step after `n_iter` earlier ones, and updates the running means of the gradient and its square.
fn adam(gradient: &mut [f64], rate: f64, n_iter: usize, (mean, square): (&mut [f64], &mut [f64])) {
    let at = (n_iter + 1) as i32;
    let (first, second) = (1.0 - 0.9f64.powi(at), 1.0 - 0.999f64.powi(at));
    for ((g, mean), square) in gradient.iter_mut().zip(mean).zip(square) {
        *mean = 0.9 * *mean + 0.1 * *g;
        *square = 0.999 * *square + 0.001 * *g * *g;
        *g = -rate * (*mean / first) / ((*square / second).sqrt() + 1e-8);
    }
}
