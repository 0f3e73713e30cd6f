//! The loss on labeled rows, one one-against-all problem at a time, and the exact line search along it.
//!
//! With o = f + b at the labeled rows, both losses are ½·Σ cₑ·(o − yₑ)² over the *active* terms e, cₑ the trust in a label. A
//! term ½·c·max(0, 1 − y·o)² of the squared hinge is active while y·o < 1 (y = ±1, so that y² = 1), a term of least squares
//! always. For both losses r = ∂/∂o has rᵢ = aᵢ·oᵢ − tᵢ, where aᵢ and tᵢ are the sums of c and of c·y over the active terms of
//! row i. Error vectors are the rows with aᵢ > 0.

use lapwing_core::Targets;

/// The kind of loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LossKind {
    /// ½·max(0, 1 − y·o)², y = ±1.
    SquaredHinge,
    /// ½·(o − y)².
    Squares,
}

/// One term of a loss.
#[derive(Clone, Copy, Debug)]
struct Term {
    /// Labeled row, by its position among them.
    at: u32,
    target: f64,
    weight: f64,
}

/// The loss of one problem.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    kind: LossKind,
    terms: Vec<Term>,
}

/// Second-order model of the loss terms that are active at some values o.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Active {
    /// aᵢ, weight of the active terms of each labeled row (l).
    pub weights: Vec<f64>,
    /// tᵢ, sum of weight times target over the active terms (l).
    pub targets: Vec<f64>,
}

impl Active {
    /// r = a∘o − t (l).
    pub fn residual(&self, o: &[f64], out: &mut [f64]) {
        for (((out, o), a), t) in out.iter_mut().zip(o).zip(&self.weights).zip(&self.targets) {
            *out = a * o - t;
        }
    }
}

/// The positive class of each problem: each class in turn, or the second of two.
pub(super) fn positive_classes(n_classes: usize) -> std::ops::Range<usize> {
    usize::from(n_classes == 2)..n_classes
}

impl Loss {
    /// The problems of `targets`: one for each class against the rest; a single one for two classes (the second is positive), or
    /// for the values of a regression (`is_regression`).
    pub fn problems(targets: &Targets, kind: LossKind, is_regression: bool) -> Vec<Self> {
        positive_classes(targets.n_columns()).map(|class| Self::new(targets, kind, class, is_regression)).collect()
    }

    /// The problem with column `class` of the targets: shares, or values if `are_values`.
    fn new(targets: &Targets, kind: LossKind, class: usize, are_values: bool) -> Self {
        let mut terms = Vec::with_capacity(targets.rows().len());
        for (at, (row, weight)) in targets.values().rows().zip(targets.weights()).enumerate() {
            let (share, at) = (row[class], at as u32);
            let mut add = |target: f64, weight: f64| {
                if weight > 0.0 {
                    terms.push(Term { at, target, weight });
                }
            };
            match kind {
                LossKind::Squares if are_values => add(share, *weight),
                LossKind::Squares => add(2.0 * share - 1.0, *weight),
                // A row with a share of the class is a term on both sides.
                LossKind::SquaredHinge => {
                    add(1.0, weight * share);
                    add(-1.0, weight * (1.0 - share));
                }
            }
        }
        Self { kind, terms }
    }

    /// A copy with only the terms whose row satisfies `keep`.
    #[cfg(test)]
    pub fn subset(&self, keep: impl Fn(usize) -> bool) -> Self {
        Self { kind: self.kind, terms: self.terms.iter().copied().filter(|term| keep(term.at as usize)).collect() }
    }

    /// Signed terms (row, target, weight), for the dual.
    pub fn terms(&self) -> impl Iterator<Item = (usize, f64, f64)> {
        self.terms.iter().map(|term| (term.at as usize, term.target, term.weight))
    }

    fn is_active(&self, term: &Term, o: f64) -> bool {
        self.kind == LossKind::Squares || term.target * o < 1.0
    }

    /// The active terms at o (l), and twice the loss.
    pub fn at(&self, o: &[f64]) -> (Active, f64) {
        let mut active = Active { weights: vec![0.0; o.len()], targets: vec![0.0; o.len()] };
        let mut loss = 0.0;
        for term in &self.terms {
            let (at, off) = (term.at as usize, o[term.at as usize] - term.target);
            if self.is_active(term, o[at]) {
                active.weights[at] += term.weight;
                active.targets[at] += term.weight * term.target;
                loss += term.weight * off * off;
            }
        }
        (active, loss)
    }

    /// The s ≥ 0 that minimizes loss(o + s·q) + ½·(s²·curvature + 2·s·slope), exactly: φ′ is continuous, does not fall, and is
    /// linear between the points where a term becomes active or inactive (Melacci & Belkin 2011, eq. 13). 0 if q does not
    /// descend.
    pub fn step(&self, o: &[f64], q: &[f64], slope: f64, curvature: f64) -> f64 {
        let (mut left, mut right) = (slope, curvature);
        let mut breaks: Vec<(f64, u32)> = Vec::new();
        let mut active = vec![false; self.terms.len()];
        for (at, term) in self.terms.iter().enumerate() {
            let (o, q) = (o[term.at as usize], q[term.at as usize]);
            // Just above s = 0, a term at its kink is active if it moves inward.
            let is_active = self.is_active(term, o) || (o == term.target && term.target * q < 0.0);
            active[at] = is_active;
            if is_active {
                left += term.weight * q * (o - term.target);
                right += term.weight * q * q;
            }
            if self.kind == LossKind::SquaredHinge && q != 0.0 {
                let place = (term.target - o) / q;
                if place > 0.0 && place.is_finite() {
                    breaks.push((place, at as u32));
                }
            }
        }
        if left >= 0.0 || left.is_nan() {
            return 0.0;
        }
        breaks.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (place, at) in breaks {
            if left + place * right >= 0.0 {
                break;
            }
            let term = &self.terms[at as usize];
            let (o, q) = (o[term.at as usize], q[term.at as usize]);
            let sign = if active[at as usize] { -term.weight } else { term.weight };
            active[at as usize] = !active[at as usize];
            left += sign * q * (o - term.target);
            right += sign * q * q;
        }
        // Beyond the last breakpoint the slope does not rise: there is no minimum on this ray, which only rounding can cause.
        if right > 0.0 { (-left / right).max(0.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use lapwing_core::Matrix;

    use super::*;

    fn loss(kind: LossKind) -> Loss {
        let values = Matrix::new(5, 2, vec![1.0, 0.0, 0.0, 1.0, 0.3, 0.7, 0.0, 1.0, 1.0, 0.0]).unwrap();
        let targets = Targets::new(9, vec![0, 2, 3, 5, 8], values, vec![1.0, 2.0, 1.0, 0.5, 1.0]).unwrap();
        Loss::problems(&targets, kind, false).remove(0)
    }

    #[test]
    fn the_residual_is_the_derivative() {
        let o = [0.3, -0.2, 0.9, 2.0, -1.5];
        for kind in [LossKind::SquaredHinge, LossKind::Squares] {
            let loss = loss(kind);
            let mut r = [0.0; 5];
            loss.at(&o).0.residual(&o, &mut r);
            for i in 0..5 {
                let moved = |by: f64| {
                    let mut o = o;
                    o[i] += by;
                    0.5 * loss.at(&o).1
                };
                let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((slope - r[i]).abs() < 1e-8, "{kind:?} {i}: {slope} {}", r[i]);
            }
        }
    }

    #[test]
    fn the_step_minimizes_along_the_ray() {
        let o = [0.3, -0.2, 0.9, 1.0, -1.0];
        for kind in [LossKind::SquaredHinge, LossKind::Squares] {
            let loss = loss(kind);
            for number in 0..40 {
                let q: Vec<f64> = (0..5).map(|i| (((number * 7 + i * 5) % 11) as f64 - 5.0) / 3.0).collect();
                let (slope, curvature) = (((number % 3) as f64 - 1.0) * 0.3, 0.05 * (number % 4) as f64);
                let value = |s: f64| {
                    let o: Vec<f64> = o.iter().zip(&q).map(|(o, q)| o + s * q).collect();
                    0.5 * (loss.at(&o).1 + curvature * s * s) + slope * s
                };
                let step = loss.step(&o, &q, slope, curvature);
                let best = (0..4000).map(|i| value(f64::from(i) * 5e-3)).fold(f64::INFINITY, f64::min);
                // Rays without a minimum are skipped: a problem with a norm has none.
                if step > 0.0 || best > value(0.0) - 1e-9 {
                    assert!(value(step) <= best + 1e-9, "{kind:?} {number}: {step}");
                }
            }
        }
    }
}
