//! Losses over the labeled nodes: values, residuals R = ∂ℓ/∂Z, and slopes and curvatures for a line search.
//!
//! ```text
//! mse            ½·Σ mᵤ‖zᵤ − yᵤ‖²                 R = M(Z − Y)
//! cross-entropy  Σ mᵤ(logsumexp zᵤ − yᵤᵀzᵤ)       R = M(softmax Z − Y)
//! ```
//!
//! Cost: one pass over (l, c) values. Sums over blocks of 1,024 nodes, added in order.

use lapwing_core::parallel::*;
use lapwing_core::{Error, Matrix, Result, Targets, choices};

use crate::core::scores::exponentials;

choices! {
    /// Loss over the labeled nodes.
    pub enum NodeLoss("loss", default CrossEntropy) {
        /// Σ mᵤ·(logsumexp zᵤ − yᵤᵀzᵤ).
        CrossEntropy = "cross-entropy",
        /// ½·Σ mᵤ·‖zᵤ − yᵤ‖².
        Mse = "mse",
    }
}

/// A loss and its targets.
pub(crate) struct Loss<'t> {
    pub kind: NodeLoss,
    /// Y (l, c).
    pub targets: &'t Matrix,
    /// m (l), the trust in each node's label.
    pub trust: &'t [f64],
}

/// Nodes of a block.
const NODES: usize = 1024;

impl<'t> Loss<'t> {
    pub fn new(kind: NodeLoss, targets: &'t Targets) -> Self {
        Self { kind, targets: targets.values(), trust: targets.weights() }
    }

    /// Refuses targets of cross-entropy that are not shares.
    pub fn check(kind: NodeLoss, targets: &Targets) -> Result<()> {
        if kind == NodeLoss::Mse {
            return Ok(());
        }
        for (row, values) in targets.rows().iter().zip(targets.values().rows()) {
            let sum: f64 = values.iter().sum();
            if (sum - 1.0).abs() > 1e-6 || values.iter().any(|y| *y < 0.0) {
                return Err(Error::labels(format!(
                    "the targets of row {row} sum to {sum}; cross-entropy needs shares that sum to 1"
                )));
            }
        }
        Ok(())
    }

    /// Outputs c.
    pub fn n_outputs(&self) -> usize {
        self.targets.n_cols()
    }

    /// ℓ(Z), and R (l, c).
    pub fn residual(&self, z: &Matrix) -> (f64, Matrix) {
        let c = self.n_outputs();
        let mut residual = z.clone();
        let blocks = residual.values_mut().par_chunks_mut(NODES * c).zip(self.targets.values().par_chunks(NODES * c));
        let sums: Vec<f64> = blocks
            .zip(self.trust.par_chunks(NODES))
            .map(|((z, y), trust)| {
                let losses = self.nodes(z, y);
                z.chunks_exact_mut(c).zip(trust).for_each(|(z, m)| z.iter_mut().for_each(|r| *r *= m));
                losses.iter().zip(trust).map(|(loss, m)| m * loss).sum()
            })
            .collect();
        (sums.iter().sum(), residual)
    }

    /// mᵤ·loss of each node (l).
    pub fn of_nodes(&self, z: &Matrix) -> Vec<f64> {
        let losses = self.nodes(&mut z.values().to_vec(), self.targets.values());
        losses.iter().zip(self.trust).map(|(loss, m)| m * loss).collect()
    }

    /// The loss of each node; replaces their scores by their residuals.
    fn nodes(&self, z: &mut [f64], y: &[f64]) -> Vec<f64> {
        let c = self.n_outputs();
        let pairs = z.chunks_exact_mut(c).zip(y.chunks_exact(c));
        if self.kind == NodeLoss::Mse {
            let loss = |(z, y): (&mut [f64], &[f64])| {
                z.iter_mut().zip(y).for_each(|(z, y)| *z -= y);
                0.5 * z.iter().map(|r| r * r).sum::<f64>()
            };
            return pairs.map(loss).collect();
        }
        let fit = |(z, y): (&mut [f64], &[f64])| {
            let top = z.iter().fold(f64::NEG_INFINITY, |top, z| top.max(*z));
            z.iter_mut().for_each(|z| *z -= top);
            z.iter().zip(y).map(|(z, y)| y * z).sum::<f64>()
        };
        let fits: Vec<f64> = pairs.map(fit).collect();
        exponentials(z);
        let loss = |((z, y), fit): ((&mut [f64], &[f64]), f64)| {
            let total: f64 = z.iter().sum();
            z.iter_mut().zip(y).for_each(|(z, y)| *z = *z / total - y);
            total.ln() - fit
        };
        z.chunks_exact_mut(c).zip(y.chunks_exact(c)).zip(fits).map(loss).collect()
    }

    /// ℓ, its slope and its curvature along `direction` (l, c) at Z + t·direction.
    pub fn along(&self, z: &Matrix, direction: &Matrix, t: f64) -> [f64; 3] {
        let c = self.n_outputs();
        let blocks = z.values().par_chunks(NODES * c).zip(direction.values().par_chunks(NODES * c));
        let sums: Vec<[f64; 3]> = blocks
            .zip(self.targets.values().par_chunks(NODES * c))
            .zip(self.trust.par_chunks(NODES))
            .map(|(((z, direction), y), trust)| {
                let mut own: Vec<f64> = z.iter().zip(direction).map(|(z, d)| z + t * d).collect();
                let values = self.nodes(&mut own, y);
                let mut sums = [0.0; 3];
                let nodes = own.chunks_exact(c).zip(direction.chunks_exact(c)).zip(y.chunks_exact(c));
                for (((own, direction), y), (value, m)) in nodes.zip(values.into_iter().zip(trust)) {
                    let slope: f64 = own.iter().zip(direction).map(|(r, d)| r * d).sum();
                    let curvature: f64 = match self.kind {
                        NodeLoss::Mse => direction.iter().map(|d| d * d).sum(),
                        NodeLoss::CrossEntropy => {
                            let shares = || own.iter().zip(y).map(|(r, y)| r + y);
                            let mean: f64 = shares().zip(direction).map(|(s, d)| s * d).sum();
                            shares().zip(direction).map(|(s, d)| s * (d - mean) * (d - mean)).sum()
                        }
                    };
                    sums.iter_mut().zip([value, slope, curvature]).for_each(|(sum, x)| *sum += m * x);
                }
                sums
            })
            .collect();
        sums.iter().fold([0.0; 3], |total, sums| [0, 1, 2].map(|at| total[at] + sums[at]))
    }

    /// M·Z of a block (l, s) of any number of columns.
    pub fn trusted(&self, z: &Matrix) -> Matrix {
        let mut out = z.clone();
        let rows = out.values_mut().chunks_exact_mut(z.n_cols().max(1)).zip(self.trust);
        rows.for_each(|(row, m)| row.iter_mut().for_each(|z| *z *= m));
        out
    }
}
