//! A lower bound on the eigenvalues of M⁻¹A, from the residuals of random columns.
//!
//! A probe is a column of conjugate gradients with the random start r₀ ~ N(0, K), K ⪰ M, whose part along the eigenvector q₁ of the
//! least eigenvalue λ₁ (q₁ᵀMq₁ = 1) is above δ with a probability of at least 1 − 0.8δ. With Rₖ the residual polynomial of its own
//! steps, Rₖ(λ₁)²·c₁² is one term of rᵀM⁻¹r after k of them; Rₖ falls on [0, θ], θ the least Ritz value. So λ₁ is at least the solution
//! in (0, θ) of Rₖ(λ) = √(rᵀM⁻¹r)/δ (after Kuczyński & Woźniakowski 1992; van Dorsselaer, Hochstenbach & van der Vorst 2000). One
//! event covers all k, so the largest solution counts. Of several probes the least solution counts: it fails only if all of them do.
//!
//! Cost: some 60·k operations for each bound after k steps.

/// Columns of a solve up to which one probe of small δ is used; where there are more, a second probe costs less than the further
/// iterations that one needs.
const FEW_COLUMNS: usize = 4;
/// δ of a probe on its own, and of one of two.
const DELTAS: [f64; 2] = [1e-6, 1e-3];
/// The recursion counts while rᵀM⁻¹r is above this share of its first value: below, it is made of roundings.
const LEAST_SHARE: f64 = 1e-24;
/// With directions in single precision the recursion counts while √(rᵀM⁻¹r)/δ is above this. Directions are off by roundings of
/// 6·10⁻⁸, and their share along q₁ by some 10⁻⁵ after a hundred steps: far less than what is left of it then.
const LEAST_SINGLE: f64 = 0.02;
/// δ is divided by this for the roundings of single precision.
const SINGLE_SLACK: f64 = 1.5;
/// Halvings of the interval that holds a bound: to 1e-4 of itself from 17 orders of magnitude.
const HALVINGS: usize = 18;

/// The random columns beside those of a solve, and their steps so far.
#[derive(Debug)]
pub(crate) struct Probes {
    delta: f64,
    is_single: bool,
    probes: Vec<Probe>,
}

#[derive(Clone, Debug, Default)]
struct Probe {
    /// αⱼ and βⱼ of its steps.
    turns: Vec<[f64; 2]>,
    /// rᵀM⁻¹r at first and now.
    first: f64,
    last: f64,
    /// The largest bound so far, and the steps it comes from.
    bound: f64,
    asked: usize,
    is_spent: bool,
}

impl Probes {
    /// For a solve of `s` columns, whose directions are in single precision or in double.
    pub fn new(s: usize, is_single: bool) -> Self {
        // Single precision does not hold the residuals of one probe of small δ.
        let count = if s <= FEW_COLUMNS && !is_single { 1 } else { 2 };
        Self { delta: DELTAS[count - 1], is_single, probes: vec![Probe::default(); count] }
    }

    pub fn len(&self) -> usize {
        self.probes.len()
    }

    /// Probability that [`Probes::bound`] is ever too large.
    pub fn failure(&self) -> f64 {
        (0.8 * self.delta).powi(self.probes.len() as i32)
    }

    /// Begins anew with residuals of these rᵀM⁻¹r.
    pub fn begin(&mut self, squares: &[f64]) {
        for (probe, &square) in self.probes.iter_mut().zip(squares) {
            *probe = Probe { first: square, last: square, ..Probe::default() };
        }
    }

    /// Whether further steps of a probe improve its bound.
    pub fn is_moving(&self, at: usize) -> bool {
        !self.probes[at].is_spent
    }

    /// Takes note of a step: α, β and rᵀM⁻¹r after it for each probe.
    pub fn record(&mut self, steps: &[f64], ratios: &[f64], squares: &[f64]) {
        let least = if self.is_single { (LEAST_SINGLE * self.delta).powi(2) } else { 0.0 };
        for (at, probe) in self.probes.iter_mut().enumerate().filter(|(_, probe)| !probe.is_spent) {
            let least = (LEAST_SHARE * probe.first).max(least);
            probe.is_spent = !(steps[at] > 0.0 && ratios[at].is_finite() && squares[at] > least);
            if steps[at] > 0.0 && squares[at].is_finite() {
                probe.turns.push([steps[at], if probe.is_spent { 0.0 } else { ratios[at] }]);
                probe.last = squares[at].max(least);
            }
        }
    }

    /// A lower bound on the least eigenvalue; 0 as long as there is none.
    pub fn bound(&mut self) -> f64 {
        let delta = if self.is_single { self.delta / SINGLE_SLACK } else { self.delta };
        self.probes.iter_mut().map(|probe| probe.bound(delta)).fold(f64::INFINITY, f64::min)
    }
}

impl Probe {
    fn bound(&mut self, delta: f64) -> f64 {
        let target = self.last.sqrt() / delta;
        if self.asked == self.turns.len() || target >= 1.0 {
            return self.bound;
        }
        self.asked = self.turns.len();
        // R₁ = 1 − α₀λ is positive below 1/α₀ only.
        let highest = self.turns[0][0].recip();
        if !self.is_below(self.bound.max(f64::EPSILON * highest), target) {
            return self.bound;
        }
        let (mut low, mut high) = (self.bound.max(f64::EPSILON * highest), highest);
        for _ in 0..HALVINGS {
            let middle = (low * high).sqrt();
            if self.is_below(middle, target) { low = middle } else { high = middle }
        }
        self.bound = low;
        self.bound
    }

    /// Whether λ lies below the solution: all of R₁(λ) … Rₖ(λ) are positive, so that no Ritz value is below λ, and the last is
    /// above the target.
    fn is_below(&self, lambda: f64, target: f64) -> bool {
        let (mut residual, mut direction) = (1.0, 1.0);
        for &[step, ratio] in &self.turns {
            residual -= step * lambda * direction;
            if residual <= 0.0 {
                return false;
            }
            direction = residual + ratio * direction;
        }
        residual > target
    }
}
