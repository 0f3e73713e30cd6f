//! The objective that is minimized over α and b, for f = K·α (Melacci & Belkin 2011, eq. 7):
//!
//! J = ½·[Σ over labeled i of cᵢ·loss(yᵢ, fᵢ + b) + γ_A·αᵀKα + γ_I·fᵀL^p f].

use lapwing_core::parallel::*;

use super::gram::Gram;
use super::smoothness::Smoothness;

/// Numbers that are added up as one block, whatever the number of threads.
const BLOCK: usize = 8192;

/// All of the problem except its losses.
pub(super) struct Objective<'o> {
    pub gram: &'o Gram<'o>,
    /// L^p; none if γ_I = 0.
    pub smoothness: Option<&'o Smoothness<'o>>,
    /// Labeled rows (l).
    pub labeled: &'o [u32],
    pub ambient_reg: f64,
    pub graph_reg: f64,
    pub has_bias: bool,
}

/// One problem, solved.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    /// α (n), or the weights w (r) of a factor.
    pub coefficients: Vec<f64>,
    /// Whether the coefficients belong to rows.
    pub is_of_rows: bool,
    /// b, 0 without bias.
    pub bias: f64,
    /// f = K·α (n), without the bias.
    pub values: Vec<f64>,
    /// J at the end.
    pub objective: f64,
    /// Iterations.
    pub n_iter: usize,
    /// Norm of the gradient relative to the start.
    pub residual: f64,
    /// Whether the problem met its stopping rule.
    pub converged: bool,
    /// J of the start and after each iteration.
    pub curve: Vec<f64>,
}

impl Objective<'_> {
    /// Values at the labeled rows, plus b (l).
    pub fn at_labeled(&self, values: &[f64], bias: f64) -> Vec<f64> {
        self.labeled.iter().map(|&row| values[row as usize] + bias).collect()
    }
}

/// aᵀb, in blocks.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let of_block = |(a, b): (&[f64], &[f64])| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    if a.len() <= BLOCK {
        return of_block((a, b));
    }
    let parts: Vec<f64> = a.par_chunks(BLOCK).zip(b.par_chunks(BLOCK)).map(of_block).collect();
    parts.iter().sum()
}
