//! A learned factor, and scores of its rows.

use lapwing_graph::low_rank::{Coefficients, GlnpExtension};

/// A learned factor: gives new rows their rows of F, and rows of F their scale.
#[derive(Clone, Debug)]
pub(super) struct LearnedFactor {
    pub rows: GlnpExtension,
    /// Fᵀ1 (k): degrees are f·Fᵀ1.
    pub weights: Vec<f64>,
    /// Least degree; smaller ones are raised to it.
    pub floor: f64,
}

impl LearnedFactor {
    /// Root of the degree of a row of F, after raising.
    pub fn root(&self, f: &[f64]) -> f64 {
        self.degree(f).max(self.floor).sqrt()
    }

    pub fn degree(&self, f: &[f64]) -> f64 {
        f.iter().zip(&self.weights).map(|(f, weight)| f * weight).sum()
    }

    /// Scores (rows, c) of rows of F (rows, k).
    pub fn scores(&self, factor: &[f64], coefficients: &Coefficients) -> Vec<f64> {
        let (k, c) = (self.weights.len(), coefficients.n_classes());
        let mut out = vec![0.0; factor.len() / k * c];
        for (f, out) in factor.chunks_exact(k).zip(out.chunks_exact_mut(c)) {
            let root = self.root(f);
            for (f, p) in f.iter().zip(coefficients.values().chunks_exact(c)).filter(|(f, _)| **f > 0.0) {
                out.iter_mut().zip(p).for_each(|(out, p)| *out += f / root * f64::from(*p));
            }
        }
        out
    }
}

/// Sets the scores (rows, c) of rows without evidence to NaN.
pub(super) fn mark_unreached(scores: &mut [f64], n_classes: usize) {
    for row in scores.chunks_exact_mut(n_classes) {
        if row.iter().all(|score| *score == 0.0) {
            row.fill(f64::NAN);
        }
    }
}
