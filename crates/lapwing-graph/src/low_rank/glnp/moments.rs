//! The moments E = XᵀF, T = FᵀF and P = EᵀE of F, from which Q and its gradient follow; also those between two iterates.
//!
//! Q(F) = ‖X‖² − 2·tr P + ⟨P, T⟩ and ∇Q(F) = X·E·(2T − 4I) + 2·F·P: nothing of size n × d is held besides X. E is linear in F, so
//! that the moments of Y = F + β(F − F′) need no pass over X:
//! E_Y = (1 + β)E − βE′, T_Y = (1 + β)²T − β(1 + β)(C + Cᵀ) + β²T′ for C = FᵀF′.
//!
//! Cost: O(d·k²) time on the calling thread; memory 8·(d·k + 2k²) bytes for each.

use lapwing_core::ordered::{Summand, add};
use lapwing_solve::products::{add_transposed_product, product};

/// E, T and P of some F (n, k).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Moments {
    pub k: usize,
    /// E = XᵀF (d, k).
    pub basis: Vec<f64>,
    /// T = FᵀF (k, k).
    pub gram: Vec<f64>,
    /// P = EᵀE (k, k).
    pub outer: Vec<f64>,
}

impl Moments {
    /// From E (d, k) and T (k, k).
    pub fn new(k: usize, basis: Vec<f64>, gram: Vec<f64>) -> Self {
        let mut outer = vec![0.0; k * k];
        add_transposed_product(&basis, &basis, basis.len() / k, &mut outer);
        Self { k, basis, gram, outer }
    }

    /// The moments of F + β(F − F′), from those of F and F′ and C = FᵀF′.
    pub fn beyond(now: &Self, before: &Self, cross: &[f64], beta: f64) -> Self {
        if beta == 0.0 {
            return now.clone();
        }
        let k = now.k;
        let (ahead, mixed, behind) = ((1.0 + beta) * (1.0 + beta), beta * (1.0 + beta), beta * beta);
        let basis = now.basis.iter().zip(&before.basis).map(|(e, e0)| e + beta * (e - e0)).collect();
        let gram = (0..k * k)
            .map(|at| {
                let crossed = cross[at] + cross[at % k * k + at / k];
                ahead * now.gram[at] - mixed * crossed + behind * before.gram[at]
            })
            .collect();
        Self::new(k, basis, gram)
    }

    /// Q for ‖X‖² = `squared_norm`.
    pub fn objective(&self, squared_norm: f64) -> f64 {
        squared_norm - 2.0 * self.trace() + dot(&self.outer, &self.gram)
    }

    /// t that minimizes Q(tF): √(tr P/⟨P, T⟩); 1 if XᵀF = 0, when Q does not depend on t.
    pub fn best_scale(&self) -> f64 {
        let scale = (self.trace() / dot(&self.outer, &self.gram)).sqrt();
        if scale.is_finite() && scale > 0.0 { scale } else { 1.0 }
    }

    /// Turns the moments of F into those of tF.
    pub fn scale(&mut self, t: f64) {
        self.basis.iter_mut().for_each(|e| *e *= t);
        self.gram.iter_mut().chain(&mut self.outer).for_each(|value| *value *= t * t);
    }

    /// E·(2T − 4I) (d, k) and 2P (k, k): the gradient of a row is x·(first) + f·(second).
    pub fn gradient_maps(&self) -> (Vec<f64>, Vec<f64>) {
        let k = self.k;
        let diagonal = |at: usize| if at / k == at % k { 4.0 } else { 0.0 };
        let inner: Vec<f64> = self.gram.iter().enumerate().map(|(at, t)| 2.0 * t - diagonal(at)).collect();
        let mut of_rows = vec![0.0; self.basis.len()];
        product(&self.basis, &inner, k, &mut of_rows);
        (of_rows, self.outer.iter().map(|p| 2.0 * p).collect())
    }

    fn trace(&self) -> f64 {
        (0..self.k).map(|at| self.outer[at * self.k + at]).sum()
    }
}

/// ⟨A, B⟩.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// E and T of some rows.
#[derive(Clone, Debug)]
pub(super) struct MomentSums {
    /// XᵀF of the rows so far (d, k).
    pub basis: Vec<f64>,
    /// FᵀF of the rows so far (k, k).
    pub gram: Vec<f64>,
}

impl MomentSums {
    pub fn zero(d: usize, k: usize) -> Self {
        Self { basis: vec![0.0; d * k], gram: vec![0.0; k * k] }
    }

    /// Adds rows of X and F.
    pub fn add_rows(&mut self, x: &[f64], f: &[f64], rows: usize) {
        add_transposed_product(x, f, rows, &mut self.basis);
        add_transposed_product(f, f, rows, &mut self.gram);
    }
}

impl Summand for MomentSums {
    fn add(&mut self, other: &Self) {
        add(&mut self.basis, &other.basis);
        add(&mut self.gram, &other.gram);
    }
}
