//! What the iterations on the dual share: the condition on a step, and what they report.

use std::ops::Add;

use super::dual::State;

/// Armijo sufficient-decrease constant.
pub(super) const ARMIJO: f64 = 1e-4;
/// Halvings after which a direction is given up.
pub(super) const MOST_HALVINGS: usize = 40;
/// Numbers of steps and of products of conjugate gradients.
#[derive(Clone, Copy, Default)]
pub(super) struct Spent {
    pub n_iter: usize,
    pub n_products: usize,
}

impl Add for Spent {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { n_iter: self.n_iter + other.n_iter, n_products: self.n_products + other.n_products }
    }
}

/// The end of an iteration.
pub(super) struct Arrived {
    pub state: State,
    pub spent: Spent,
    pub converged: bool,
}
