//! A prior: shares of the classes in every row, from any classifier, where a harmonic fit starts.
//!
//! With p the shares (n, c), d the degrees and D = diag(d), the energy of the plain form gets γ·κ Σᵢ dᵢ|fᵢ − pᵢ|², so that
//!
//! ```text
//! (L + T + κD) f = T y + κD p,   T = C/(γ·c_tot).
//! ```
//!
//! The score of a row without a label is the mean of its neighbors' scores and its own prior, with weights 1 : κ. A row without
//! edges counts as one of mean degree, so that its score is its prior. Every row is reached, and all rows count as one component.
//!
//! Correct and Smooth (Huang, He, Singh, Lim & Benson 2020) propagates the errors of p at the labels, then the corrected shares, by
//! two sequences of fixed length. Here both are one convex problem, solved to its end: f − p spreads the errors of p, and f is smooth.

use lapwing_core::{Error, Matrix, Result, Targets};
use lapwing_graph::Graph;

use super::params::{Clamp, Form, HarmonicParams};

/// Shares that scores are pulled to.
#[derive(Clone, Copy)]
pub(super) struct Prior<'a> {
    /// Shares (n, c).
    pub shares: &'a Matrix,
    /// κ.
    pub weight: f64,
}

impl Prior<'_> {
    /// κdᵢ of the rows (n) of the graph.
    pub fn pulls(&self, graph: &Graph) -> Vec<f64> {
        let mean = graph.mean_degree();
        let typical = if mean > 0.0 { mean } else { 1.0 };
        graph.degree().iter().map(|&degree| self.weight * if degree > 0.0 { degree } else { typical }).collect()
    }

    /// Adds κD(p − ȳ) to a right-hand side (n, s), for its s columns; `mean` is ȳ.
    pub fn add_targets(&self, graph: &Graph, mean: &[f64], b: &mut Matrix) {
        for (row, pull) in self.pulls(graph).into_iter().enumerate() {
            let wanted = self.shares.row(row).iter().zip(mean);
            b.row_mut(row).iter_mut().zip(wanted).for_each(|(b, (share, mean))| *b += pull * (share - mean));
        }
    }
}

/// γ for "auto": every label then counts as much as the edges of a row of mean degree.
pub(super) fn default_graph_reg(mean_degree: f64, targets: &Targets) -> f64 {
    let degree = if mean_degree > 0.0 { mean_degree } else { 1.0 };
    1.0 / (degree * targets.rows().len() as f64)
}

/// The parameters of a fit with a prior: those of the plain form.
///
/// # Errors
/// [`Error::Param`] for the stable form, hard clamping, and γ = ∞.
pub(super) fn plain_params(params: &HarmonicParams) -> Result<HarmonicParams> {
    if params.clamp == Clamp::Hard {
        return Err(Error::param("clamp", "hard", "soft with a prior"));
    }
    if params.form == Form::Stable {
        return Err(Error::param("form", "stable", "auto or plain with a prior"));
    }
    if params.graph_reg == Some(f64::INFINITY) {
        return Err(Error::param("graph_reg", "inf", "a finite number or auto with a prior"));
    }
    Ok(HarmonicParams { form: Form::Plain, ..params.clone() })
}
