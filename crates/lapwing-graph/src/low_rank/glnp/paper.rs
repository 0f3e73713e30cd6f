//! The accelerated projected gradient of the paper on low-rank label propagation (Petegrosso, Zhang, Li, Saad & Kuang 2017,
//! arXiv:1702.08884), for comparison, with its errors corrected and its step rule as printed.
//!
//! The step from Y is along the projected gradient, scaled to length 1, by α = 1, 0.1, 0.01, … until
//! Q(F⁺) ≤ Q(Y) + 0.01·⟨∇Q(Y), F⁺ − Y⟩; then Y = F⁺ + (t − 1)/t⁺·(F⁺ − F).
//!
//! Corrected: the objective is that of X − F·Fᵀ·X; the gradient is normalized by √Σg², not by √Σg; the number of the iteration
//! and the momentum t, which starts at 1, are two variables; a step is accepted by comparison with Q(Y); the stop test compares
//! accepted objectives of two iterates; the gradient is projected as ∇Q where Y > 0 and min(∇Q, 0) elsewhere. If no α is
//! accepted, the momentum is reset; if then none is accepted either, the iteration ends. Q is not monotone, and the best F is
//! returned.
//!
//! max(Y − s·g, 0) is the same for a gradient and its projection wherever the entry of Y is not above 0, so that the pass of
//! [`step`](super::step) serves here too, once more with s = 0 for the norm.
//!
//! Cost: one pass for the norm and one for each α, together three or more an iteration; four arrays (n, k).

use std::mem::swap;

use lapwing_core::Result;

use super::course::{Course, Iterate, Trace};
use super::moments::Moments;
use super::rows::OffsetRows;
use super::step::{Found, Point, step};

/// The Armijo sufficient-decrease constant.
const SUFFICIENT: f64 = 0.01;
/// Factor from one α to the next.
const SHRINK: f64 = 0.1;
/// Values of α that are tried.
const TRIALS: usize = 16;

/// Steps until Q no longer changes.
pub(super) fn paper(rows: &OffsetRows<'_>, start: Iterate, course: Course) -> Result<(Iterate, Trace)> {
    let mut trace = course.begin(&start);
    let empty = || Iterate { factor: vec![0.0; start.factor.len()], moments: start.moments.clone() };
    let (mut before, mut next, mut best) = (empty(), empty(), start.clone());
    let mut least = trace.objective[0];
    let (mut now, mut cross, mut momentum, mut beta) = (start, Vec::new(), 1.0f64, 0.0);
    while trace.goes_on(&course) {
        let moments = Moments::beyond(&now.moments, &before.moments, &cross, beta);
        let point = Point { now: &now, before: &before.factor, beta, moments: &moments };
        let Some(found) = search(rows, &point, course.squared_norm, &mut next)? else {
            trace.converged = beta == 0.0;
            (momentum, beta) = (1.0, 0.0);
            continue;
        };
        let grown = (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt()) / 2.0;
        (momentum, beta) = (grown, (momentum - 1.0) / grown);
        swap(&mut before, &mut now);
        swap(&mut now, &mut next);
        cross = found.cross;
        let objective = now.moments.objective(course.squared_norm);
        if objective < least {
            least = objective;
            best.factor.copy_from_slice(&now.factor);
            best.moments.clone_from(&now.moments);
        }
        trace.record(objective, &course, rows.run);
        trace.converged = course.stands_still(&trace.objective);
    }
    Ok((best, trace))
}

/// The step with the first α that lowers Q enough; `None` if none does, or if the gradient is 0.
fn search(rows: &OffsetRows<'_>, from: &Point<'_>, squared_norm: f64, next: &mut Iterate) -> Result<Option<Found>> {
    let norm = step(rows, from, 0.0, next)?.gradient.sqrt();
    let objective = from.moments.objective(squared_norm);
    let mut alpha = 1.0;
    for _ in 0..if norm > 0.0 { TRIALS } else { 0 } {
        let found = step(rows, from, alpha / norm, next)?;
        if next.moments.objective(squared_norm) <= objective + SUFFICIENT * found.slope {
            return Ok(Some(found));
        }
        alpha *= SHRINK;
    }
    Ok(None)
}
