//! Losses over the labeled nodes: values, residuals R = ∂ℓ/∂Z, and slopes and curvatures for a line search.
//!
//! ```text
//! mse            ½·Σ mᵤ‖zᵤ − yᵤ‖²                 R = M(Z − Y)
//! cross-entropy  Σ mᵤ(logsumexp zᵤ − yᵤᵀzᵤ)       R = M(softmax Z − Y)
//! ```
//!
//! Cost: one pass over (l, c) values. Sums over blocks of 1,024 nodes, added in order.

use lapwing_core::{Matrix, Targets};
use rayon::prelude::*;

use super::params::NodeLoss;

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
                let mut sum = 0.0;
                for ((z, y), m) in z.chunks_exact_mut(c).zip(y.chunks_exact(c)).zip(trust) {
                    sum += m * self.node(z, y);
                    z.iter_mut().for_each(|r| *r *= m);
                }
                sum
            })
            .collect();
        (sums.iter().sum(), residual)
    }

    /// mᵤ·loss of each node (l).
    pub fn of_nodes(&self, z: &Matrix) -> Vec<f64> {
        let mut own = vec![0.0; self.n_outputs()];
        let nodes = z.rows().zip(self.targets.rows()).zip(self.trust);
        nodes
            .map(|((z, y), m)| {
                own.copy_from_slice(z);
                m * self.node(&mut own, y)
            })
            .collect()
    }

    /// The loss of a node; replaces its scores by its residual.
    fn node(&self, z: &mut [f64], y: &[f64]) -> f64 {
        match self.kind {
            NodeLoss::Mse => {
                z.iter_mut().zip(y).for_each(|(z, y)| *z -= y);
                0.5 * z.iter().map(|r| r * r).sum::<f64>()
            }
            NodeLoss::CrossEntropy => {
                let top = z.iter().fold(f64::NEG_INFINITY, |top, z| top.max(*z));
                let fit: f64 = z.iter().zip(y).map(|(z, y)| y * (z - top)).sum();
                z.iter_mut().for_each(|z| *z = (*z - top).exp());
                let total: f64 = z.iter().sum();
                z.iter_mut().zip(y).for_each(|(z, y)| *z = *z / total - y);
                total.ln() - fit
            }
        }
    }

    /// ℓ, its slope and its curvature along `direction` (l, c) at Z + t·direction.
    pub fn along(&self, z: &Matrix, direction: &Matrix, t: f64) -> [f64; 3] {
        let c = self.n_outputs();
        let blocks = z.values().par_chunks(NODES * c).zip(direction.values().par_chunks(NODES * c));
        let sums: Vec<[f64; 3]> = blocks
            .zip(self.targets.values().par_chunks(NODES * c))
            .zip(self.trust.par_chunks(NODES))
            .map(|(((z, direction), y), trust)| {
                let (mut sums, mut own) = ([0.0; 3], vec![0.0; c]);
                let nodes = z.chunks_exact(c).zip(direction.chunks_exact(c)).zip(y.chunks_exact(c)).zip(trust);
                for (((z, direction), y), m) in nodes {
                    own.iter_mut().zip(z).zip(direction).for_each(|((own, z), d)| *own = z + t * d);
                    let value = self.node(&mut own, y);
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
