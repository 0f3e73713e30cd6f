//! The estimated cost of each route to the weights, from sizes and the iterations of a pilot solve. The cheapest route is taken.
//!
//! | route | spends |
//! |---|---|
//! | direct | min(k, l) columns to 0.01·√tol, l·k² for the Gram matrix, k³/3 to factor it; then products with stored rows |
//! | rough-pcg | k columns to 10⁻² (finer for a small ρ), the same; then 2c columns in each of 5 (60) iterations |
//! | herta | 32 columns for the sparsifier, k on what it keeps, the sketch and its Gram matrix; then 2c columns in each of 8 (70) |
//! | matrix-free | 2c columns in each of 3·(t/ρ)^0.2·s^0.15 (4·(t/ρ)^0.2·s^0.3) iterations, s = (1 + λ)/2 and t the trace of QᵀMQ: as measured, 13 to 120 |
//!
//! The numbers in brackets are for cross-entropy. Constants were measured on two cores; only their ratios matter.

use lapwing_graph::Graph;
use lapwing_solve::Propagator;
use serde::Serialize;

use super::params::{LayerSolver, UnfoldedParams};
use super::smooth::{SKETCHED, kept_edges, roughness, sketched_rows};
use crate::maps::{Inputs, NodeLoss};

/// A route and its cost.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Route {
    pub solver: &'static str,
    /// Estimated seconds.
    pub seconds: f64,
    #[serde(skip)]
    pub kind: LayerSolver,
}

/// The sizes from which costs are estimated.
pub(super) struct Sizes<'s, 'a> {
    pub params: &'s UnfoldedParams,
    pub inputs: &'s Inputs<'s, 'a>,
    pub propagator: &'s Propagator,
    pub graph: &'s Graph,
    /// Labeled nodes l, and outputs c.
    pub n_labeled: usize,
    pub n_outputs: usize,
    /// Iterations of a strip of columns to a residual of 10⁻³.
    pub pilot: f64,
    /// Trace of QᵀMQ + ρI over ρ.
    pub spread: f64,
    /// Bytes of memory that a route may take.
    pub memory: u64,
}

/// Seconds for each entry and row of the graph and strip of sixteen columns: in single precision, and in double.
const SINGLE: (f64, f64) = (1.1e-9, 6e-9);
const DOUBLE: (f64, f64) = (1.8e-9, 1.4e-8);
/// Flops a second of Gram matrices, factors and products with stored rows.
const GRAM: f64 = 1.5e11;
const FACTOR: f64 = 5e10;
const PRODUCT: f64 = 3e10;
/// Bytes a second of reading stored rows or a factor.
const READ: f64 = 1e10;
/// Seconds for each value of sparse features and column of a product.
const FEATURE: f64 = 1e-9;
/// Typical residual of products in iterations on the graph.
const RELAXED: f64 = 1e-5;
/// Most labeled nodes for which one solve each is considered, because their eigenproblem follows.
pub(super) const MOST_NODES: usize = 2000;

impl Sizes<'_, '_> {
    /// All routes that fit into memory, the cheapest first.
    pub fn routes(&self) -> Vec<Route> {
        let mut routes: Vec<Route> = [self.direct(), self.rough(), self.herta(), Some(self.free())]
            .into_iter()
            .flatten()
            .map(|(kind, seconds)| Route { solver: kind.name(), seconds, kind })
            .collect();
        routes.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        routes
    }

    /// Whether the direct route solves once for each labeled node.
    pub fn is_by_nodes(&self) -> bool {
        self.n_labeled < self.inputs.width() && self.n_labeled <= MOST_NODES
    }

    fn is_squares(&self) -> bool {
        self.params.loss == NodeLoss::Mse
    }

    /// Iterations to a residual, or the steps of an unfolding.
    fn iterations(&self, tol: f64) -> f64 {
        self.params.steps.map_or(self.pilot * (-tol.log10() / 3.0).max(0.3), |steps| steps as f64)
    }

    fn strips(&self, columns: usize, (entry, row): (f64, f64), share: f64) -> f64 {
        if self.params.graph_reg() == 0.0 {
            return 0.0;
        }
        let strip = self.propagator.n_entries() as f64 * share * entry + self.propagator.n() as f64 * row;
        // A strip of few columns costs more than its share.
        let rest = match columns % 16 {
            0 => 0.0,
            rest => 0.35 + 0.65 * rest as f64 / 16.0,
        };
        ((columns / 16) as f64 + rest) * strip
    }

    /// One product of the features with this number of columns.
    fn features(&self, columns: usize) -> f64 {
        let each = match self.inputs.is_sparse() {
            true => FEATURE * columns as f64,
            false => 4.0 / READ + 2.0 / PRODUCT * columns as f64,
        };
        self.inputs.n_values() as f64 * each
    }

    /// One iteration on the graph to a residual: a product and its transpose, of c columns.
    fn gradient(&self, tol: f64) -> f64 {
        let tol = inner_tol(self.params.tol).max(1e-6).max(tol);
        2.0 * (self.iterations(tol) * self.strips(self.n_outputs, SINGLE, 1.0) + self.features(self.n_outputs))
    }

    /// One product with a factor of k weights.
    fn solve(&self, k: usize) -> f64 {
        let k = k as f64;
        (2.0 * k * k * self.n_outputs as f64 / PRODUCT).max(8.0 * k * k / READ)
    }

    fn direct(&self) -> Option<(LayerSolver, f64)> {
        let (l, k, c) = (self.n_labeled as f64, self.inputs.width(), self.n_outputs as f64);
        let width = k as f64;
        let steps = if self.is_squares() { 2.0 } else { 60.0 };
        if self.is_by_nodes() {
            let nodes = self.n_labeled.div_ceil(16) * 16;
            let solves = self.iterations(1e-10) * self.strips(nodes, DOUBLE, 1.0);
            let features = self.features(self.n_labeled) + l * l * width * 2.0 / GRAM;
            let dense = 10.0 * l * l * l / FACTOR + steps * 4.0 * l * l * c / PRODUCT;
            return Some((LayerSolver::Direct, solves + features + dense));
        }
        if (4.0 * l * width + 8.0 * width * width) as u64 > self.memory {
            return None;
        }
        let solves = self.iterations(column_tol(self.params.tol)) * self.strips(k, SINGLE, 1.0);
        let dense = l * width * width / GRAM + width.powi(3) / 3.0 / FACTOR;
        let step = (4.0 * l * width * c / PRODUCT).max(8.0 * l * width / READ) + 2.0 * self.solve(k);
        Some((LayerSolver::Direct, solves + dense + steps * step))
    }

    fn rough(&self) -> Option<(LayerSolver, f64)> {
        let (l, k) = (self.n_labeled as f64, self.inputs.width());
        let width = k as f64;
        if (4.0 * l * width + 8.0 * width * width) as u64 > self.memory {
            return None;
        }
        let steps = if self.is_squares() { 5.0 } else { 60.0 };
        let solves = self.iterations(roughness(self.spread, k)) * self.strips(k, SINGLE, 1.0);
        let dense = l * width * width / GRAM + width.powi(3) / 3.0 / FACTOR;
        Some((LayerSolver::RoughPcg, solves + dense + steps * (self.gradient(0.0) + 2.0 * self.solve(k))))
    }

    fn herta(&self) -> Option<(LayerSolver, f64)> {
        let (l, k) = (self.n_labeled, self.inputs.width());
        let width = k as f64;
        let rows = sketched_rows(l, k).unwrap_or(l) as f64;
        if (4.0 * rows * width + 8.0 * width * width) as u64 > self.memory {
            return None;
        }
        let mut seconds = 0.0;
        let mut share = 1.0;
        if let Some(kept) = kept_edges(self.params, self.graph) {
            share = kept as f64 / self.graph.n_edges().max(1) as f64;
            seconds += self.iterations(1e-3) * self.strips(32, SINGLE, 1.0);
        }
        if rows < l as f64 {
            seconds += width * l as f64 * (l as f64).log2() * 0.5e-9;
        }
        let is_exact = share == 1.0 && rows == l as f64;
        let steps = match (self.is_squares(), is_exact) {
            (true, true) => 5.0,
            (true, false) => 6.0 + 32.0 / SKETCHED as f64,
            (false, _) => 70.0,
        };
        seconds += self.iterations(roughness(self.spread, k)) * self.strips(k, SINGLE, share);
        seconds += rows * width * width / GRAM + width.powi(3) / 3.0 / FACTOR;
        Some((LayerSolver::Herta, seconds + steps * (self.gradient(0.0) + 2.0 * self.solve(k))))
    }

    fn free(&self) -> (LayerSolver, f64) {
        let (factor, power) = if self.is_squares() { (3.0, 0.15) } else { (4.0, 0.3) };
        let factor = factor * ((1.0 + self.params.graph_reg()) / 2.0).powf(power);
        let steps = (factor * self.spread.powf(0.2)).min(self.params.max_iter as f64);
        (LayerSolver::MatrixFree, steps * self.gradient(RELAXED))
    }
}

/// Residual of features that are smoothed once. The relative error of the loss is about this residual, that of the optimum its
/// square.
pub(super) fn column_tol(tol: f64) -> f64 {
    (1e-2 * tol.sqrt()).clamp(1e-6, 1e-3)
}

/// Residual of the solves in iterations on the graph. The relative error of the loss is about this residual.
pub(super) fn inner_tol(tol: f64) -> f64 {
    (0.5 * tol).clamp(1e-12, 1e-5)
}
