//! A lower bound on the eigenvalues of M⁻¹A, from the residuals of random columns.
//!
//! A probe is a column of conjugate gradients with the random start r₀ ~ N(0, K), K ⪰ M. Its part along the eigenvector q₁ of the
//! least eigenvalue λ₁ (q₁ᵀMq₁ = 1) is above δ with a probability of at least 1 − 0.8δ. Let Rₖ be the residual polynomial of its
//! first k steps: Rₖ(λ₁)²·c₁² is one term of rᵀM⁻¹r, and Rₖ falls on [0, θ], θ the least Ritz value. So λ₁ is at least the
//! solution in (0, θ) of Rₖ(λ) = √(rᵀM⁻¹r)/δ (after Kuczyński & Woźniakowski 1992; van Dorsselaer, Hochstenbach & van der Vorst
//! 2000). The event is the same for all k, so the largest solution of a probe is its bound. The bound of several probes is the
//! least of theirs: it fails only if all of them do.
//!
//! Cost: some 60·k operations for each bound after k steps.

/// Up to so many columns, one probe of small δ is used. With more columns, a second probe costs less than the additional
/// iterations that one probe needs.
const FEW_COLUMNS: usize = 4;
/// δ of a single probe, and of each of two.
const DELTAS: [f64; 2] = [1e-6, 1e-3];
/// The recursion is used while rᵀM⁻¹r is above this share of its first value; below, rounding errors dominate it.
const LEAST_SHARE: f64 = 1e-24;
/// In single precision, the recursion is used while √(rᵀM⁻¹r)/δ is above this. Rounding changes residuals and directions by 6·10⁻⁸ in
/// each step, and their share along q₁ by some 10⁻⁵ after a hundred steps: far less than this limit.
const LEAST_SINGLE: f64 = 0.02;
/// δ is divided by this to allow for rounding to single precision.
const SINGLE_SLACK: f64 = 1.5;
/// Halvings of the interval that holds a bound: they narrow it from 17 orders of magnitude to 1e-4 of the bound.
const HALVINGS: usize = 18;

/// The probes of a solve, and their steps so far.
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
    /// For a solve of `s` columns in single or in double precision.
    pub fn new(s: usize, is_single: bool) -> Self {
        // Single precision does not hold the residuals of a single probe of small δ.
        let count = if s <= FEW_COLUMNS && !is_single { 1 } else { 2 };
        Self { delta: DELTAS[count - 1], is_single, probes: vec![Probe::default(); count] }
    }

    pub fn len(&self) -> usize {
        self.probes.len()
    }

    /// Probability that [`Probes::bound`] ever exceeds the least eigenvalue.
    pub fn failure(&self) -> f64 {
        (0.8 * self.delta).powi(self.probes.len() as i32)
    }

    /// Starts over from residuals with the values `squares` of rᵀM⁻¹r.
    pub fn begin(&mut self, squares: &[f64]) {
        for (probe, &square) in self.probes.iter_mut().zip(squares) {
            *probe = Probe { first: square, last: square, ..Probe::default() };
        }
    }

    /// Whether further steps of a probe improve its bound.
    pub fn is_moving(&self, at: usize) -> bool {
        !self.probes[at].is_spent
    }

    /// Records a step: α, β and rᵀM⁻¹r after it for each probe.
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

    /// A lower bound on the least eigenvalue; 0 while none is known.
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

    /// Whether λ lies below the solution: R₁(λ) … Rₖ(λ) are all positive, so that no Ritz value is below λ, and Rₖ(λ) is above
    /// the target.
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
