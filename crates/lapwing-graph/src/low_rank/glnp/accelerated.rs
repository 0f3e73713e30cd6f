//! Accelerated projected gradient for Q (Nesterov's momentum; step by an upper bound of the curvature, doubled until it
//! holds; restarted where the momentum leads uphill, after O'Donoghue & Candès 2015, section 3.2).
//!
//! ```text
//! L = 4·λmax(P at F₀); Y = F = F₀; t = 1
//! repeat  F⁺ = max(Y − ∇Q(Y)/L, 0)
//!         if Q(F⁺) > Q(Y) + ⟨∇Q(Y), F⁺ − Y⟩ + L/2·‖F⁺ − Y‖² + 1e-12·‖X‖²:  L = 2L and again
//!         if Q(F⁺) > Q(F):  Y = F, t = 1 and again
//!         t⁺ = (1 + √(1 + 4t²))/2
//!         if ⟨Y − F⁺, F⁺ − F⟩ > 0:  t = 1, Y = F⁺;  else  Y = F⁺ + (t − 1)/t⁺·(F⁺ − F), t = t⁺
//!         F = F⁺; L = 0.9·L
//! ```
//! Q is not convex, but it falls in every iteration: a step from F itself lowers it by the bound, and other steps that do not
//! lower it are discarded. The iteration ends if five iterations lowered Q by no more than tol·‖X‖² together, if L·‖F⁺ − Y‖ (the
//! norm of the projected gradient, if no entry is cut off at 0) is below 1e-8 of the first one, or if no step lowers Q by more
//! than rounding.
//!
//! Cost: one pass for each step tried, about 1.1 of them an iteration; three arrays (n, k). What is parallel, and sums, as
//! in [`step`](super::step).

use std::mem::swap;

use lapwing_core::{Matrix, Result};
use lapwing_solve::dense::eigen_symmetric;

use super::course::{Course, Iterate, Trace};
use super::moments::Moments;
use super::rows::OffsetRows;
use super::step::{Found, Point, step};

/// Rounding that is allowed in the upper bound, as a share of ‖X‖².
const SLACK: f64 = 1e-12;
/// Share of the first gradient at which the norm of the gradient counts as 0.
const GRADIENT_TOL: f64 = 1e-8;
/// Factor of L after an accepted step: it may have been too large.
const RELAX: f64 = 0.9;
/// Doublings of L for one step, after which no step lowers Q.
const DOUBLINGS: usize = 60;

/// Iterates from `start` until one of the conditions above holds.
pub(super) fn accelerated(rows: &OffsetRows<'_>, start: Iterate, course: Course) -> Result<(Iterate, Trace)> {
    let mut trace = course.begin(&start);
    let mut descent = Descent::new(start)?;
    // XᵀF = 0: every gradient is 0.
    trace.converged |= descent.bound == 0.0;
    let mut first_gradient = None;
    while trace.goes_on(&course) {
        let Some(taken) = descent.advance(rows, course.squared_norm)? else {
            trace.converged = true;
            break;
        };
        trace.record(taken.objective, &course, rows.run);
        let flat = taken.gradient <= GRADIENT_TOL * *first_gradient.get_or_insert(taken.gradient);
        trace.converged = flat || course.has_settled(&trace.objective);
    }
    Ok((descent.now, trace))
}

/// The state of the iteration.
struct Descent {
    /// F.
    now: Iterate,
    /// F′, the one before.
    before: Iterate,
    /// F⁺, or room for it.
    next: Iterate,
    /// FᵀF′.
    cross: Vec<f64>,
    /// t.
    momentum: f64,
    /// (t − 1)/t⁺, with which Y leaves F.
    beta: f64,
    /// L.
    bound: f64,
}

/// An accepted step.
struct Taken {
    objective: f64,
    /// L·‖F⁺ − Y‖.
    gradient: f64,
}

impl Descent {
    fn new(start: Iterate) -> Result<Self> {
        let Moments { k, outer, .. } = &start.moments;
        let (eigenvalues, _) = eigen_symmetric(&Matrix::new(*k, *k, outer.clone())?)?;
        let bound = 4.0 * eigenvalues.last().copied().unwrap_or(0.0).max(0.0);
        let empty = || Iterate { factor: vec![0.0; start.factor.len()], moments: start.moments.clone() };
        let (before, next, cross) = (empty(), empty(), vec![0.0; k * k]);
        Ok(Self { before, next, cross, momentum: 1.0, beta: 0.0, bound, now: start })
    }

    /// One iteration; `None` if no step lowers Q.
    fn advance(&mut self, rows: &OffsetRows<'_>, squared_norm: f64) -> Result<Option<Taken>> {
        let now = self.now.moments.objective(squared_norm);
        loop {
            let Some(found) = self.bounded_step(rows, squared_norm)? else { return Ok(None) };
            let objective = self.next.moments.objective(squared_norm);
            if objective <= now {
                let gradient = self.bound * found.moved.sqrt();
                self.accept(found);
                return Ok(Some(Taken { objective, gradient }));
            }
            if self.beta == 0.0 {
                return Ok(None);
            }
            (self.momentum, self.beta) = (1.0, 0.0);
        }
    }

    /// F⁺ with an L that bounds the curvature between it and Y.
    fn bounded_step(&mut self, rows: &OffsetRows<'_>, squared_norm: f64) -> Result<Option<Found>> {
        let moments = Moments::beyond(&self.now.moments, &self.before.moments, &self.cross, self.beta);
        let from = moments.objective(squared_norm);
        let point = Point { now: &self.now, before: &self.before.factor, beta: self.beta, moments: &moments };
        for _ in 0..DOUBLINGS {
            let found = step(rows, &point, self.bound.recip(), &mut self.next)?;
            let upper = from + found.slope + self.bound / 2.0 * found.moved + SLACK * squared_norm;
            if self.next.moments.objective(squared_norm) <= upper {
                return Ok(Some(found));
            }
            self.bound *= 2.0;
        }
        Ok(None)
    }

    /// F⁺ becomes F, and the momentum grows or ends.
    fn accept(&mut self, found: Found) {
        let next = (1.0 + (1.0 + 4.0 * self.momentum * self.momentum).sqrt()) / 2.0;
        (self.momentum, self.beta) = if found.uphill > 0.0 { (1.0, 0.0) } else { (next, (self.momentum - 1.0) / next) };
        swap(&mut self.before, &mut self.now);
        swap(&mut self.now, &mut self.next);
        self.cross = found.cross;
        self.bound *= RELAX;
    }
}
