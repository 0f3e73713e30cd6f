//! How much each edge matters: its share of what all edges read so far matter together.
//!
//! Shares of the whole graph add up to one, so that q·share is the probability that keeps q edges in the mean.
//!
//! | rule | importance of an edge of weight a | of all edges together |
//! |---|---|---|
//! | leverage | ℓ = min(1, a·R), R its resistance among the edges held | n − components |
//! | ridge | min(1, a·bᵀ(L + ρI)⁻¹b) | Σ λ/(λ + ρ) |
//! | degree | min(1, a·(1/dᵤ + 1/d_v)) | nodes with edges |
//! | uniform | 1 | edges read |
//!
//! Where many edges are new, resistances are those of a pilot that has a random part of these, reweighted: with sixteen for
//! each node the noise is below that of the projections (distortions were .52 to .63 with it at 20 edges a node, .51 to .60
//! without). Resistances are scaled so that the importances of the edges held, with their weights of the moment, have the
//! sum they must have. Cost: that of the resistances; one pass over the edges for the others.

use lapwing_data::hash::uniform;
use lapwing_data::{Csr, Result, Run};
use rayon::prelude::*;

use super::held::{Held, adjacency};
use super::resistance::Projections;
use crate::affinity::single;

/// The edges held, in the order of their ends, and what is known of them.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub n: usize,
    pub edges: &'a [Held],
    /// Copies every edge began with.
    pub trials: f64,
    /// Edges of a spanning forest.
    pub forest: &'a [bool],
    /// 1/d of each node in the network of the moment, 0 for those without edges.
    pub inverse_degrees: &'a [f64],
    /// Where random numbers of this round come from.
    pub key: u64,
}

/// Shares of the edges, and what was noticed on the way.
pub(super) struct Shares {
    pub values: Vec<f64>,
    /// Iterations and residual of a system that did not arrive.
    pub worst: Option<(usize, f64)>,
}

/// New edges for each node by which resistances are estimated, and the least part of all new ones: an edge of it stands for
/// four at most, so that no cut is taken for more than four times what it is.
const NEW_EDGES: f64 = 16.0;
const LEAST_SHARE: f64 = 0.25;
/// New edges for each node by which weak cuts are looked for.
const PILOT_EDGES: f64 = 10.0;
/// Edges of more than a sixteenth of both degrees together are always in a pilot.
const SURE_PART: f64 = 16.0;
/// Resistance over 1/dᵤ + 1/d_v from which an edge counts as one of a weak cut. Measured maxima: below 4.5 on neighbour and
/// complete graphs, above 85 on cliques joined by few edges.
const WEAK_CUT: f64 = 10.0;

/// Weighted degrees (n) of the network of the moment.
pub(super) fn degrees(n: usize, edges: &[Held], trials: f64) -> Vec<f64> {
    let mut degrees = vec![0.0; n];
    for edge in edges {
        let weight = edge.current(trials);
        degrees[edge.u as usize] += weight;
        degrees[edge.v as usize] += weight;
    }
    degrees
}

impl View<'_> {
    fn weight(&self, at: usize) -> f64 {
        self.edges[at].current(self.trials)
    }

    /// 1/dᵤ + 1/d_v.
    fn inverse_sum(&self, at: usize) -> f64 {
        let (u, v) = self.ends(at);
        self.inverse_degrees[u as usize] + self.inverse_degrees[v as usize]
    }

    fn ends(&self, at: usize) -> (u32, u32) {
        (self.edges[at].u, self.edges[at].v)
    }

    /// A network of about `per_node` new edges for each node in the place of the one of the moment: what was thinned before
    /// and the forest as they are, and of the others a random part, never less than `least` of them, that weighs as much
    /// more. Edges that make up a good part of a degree are in it.
    ///
    /// Weights are rounded to single precision: they serve estimates, and take half the space.
    fn pilot(&self, per_node: f64, least: f64) -> Result<Csr<f64>> {
        let is_fixed = |at: usize| self.forest[at] || self.edges[at].probability < 1.0;
        let open = (0..self.edges.len()).into_par_iter().with_min_len(1 << 14).filter(|&at| !is_fixed(at)).count();
        let share = (per_node * self.n as f64 / open.max(1) as f64).max(least);
        let edges = self.edges.iter().enumerate().filter_map(|(at, edge)| {
            let weight = edge.current(self.trials);
            if share >= 1.0 || is_fixed(at) {
                return Some((edge.u, edge.v, single(weight)));
            }
            let part = weight * self.inverse_sum(at);
            let share = share.max(part * SURE_PART).min(1.0);
            (uniform(self.key ^ at as u64) < share).then(|| (edge.u, edge.v, single(weight / share)))
        });
        adjacency(self.n, edges)
    }

    /// By leverage; by ridge leverage where `projections` have a ridge. From a pilot, or from all edges held.
    pub fn leverage(&self, projections: &Projections, from_pilot: bool, run: &Run) -> Result<Shares> {
        let network = self.pilot(NEW_EDGES, if from_pilot { LEAST_SHARE } else { 1.0 })?;
        let (mut values, worst) = projections.resistances(&network, self.edges.len(), |at| self.ends(at), run)?;
        drop(network);
        let measured = self.total(|at| self.weight(at) * values[at]);
        let n_tree = self.forest.iter().filter(|is_in| **is_in).count() as f64;
        // n − components for resistances; what a ridge leaves of it is not known but measured.
        let (scale, total) = if projections.ridge > 0.0 { (1.0, measured) } else { (n_tree / measured, n_tree) };
        values.par_iter_mut().zip(self.edges).with_min_len(4096).for_each(|(value, edge)| {
            *value = (edge.weight * *value * scale).min(1.0) / total;
        });
        Ok(Shares { values, worst })
    }

    /// By degree.
    pub fn degree(&self) -> Shares {
        let total = self.inverse_degrees.iter().filter(|inverse| **inverse > 0.0).count() as f64;
        let share = |at: usize| (self.edges[at].weight * self.inverse_sum(at)).min(1.0) / total;
        let places = (0..self.edges.len()).into_par_iter().with_min_len(4096);
        Shares { values: places.map(share).collect(), worst: None }
    }

    /// All alike, of `n_edges` read.
    pub fn uniform(&self, n_edges: u64) -> Shares {
        Shares { values: vec![1.0 / n_edges.max(1) as f64; self.edges.len()], worst: None }
    }

    /// Whether a small pilot finds an edge whose resistance is far above what its ends have by themselves.
    pub fn has_weak_cut(&self, projections: &Projections, run: &Run) -> Result<bool> {
        let pilot = self.pilot(PILOT_EDGES, 0.0)?;
        let (resistances, _) = projections.resistances(&pilot, self.edges.len(), |at| self.ends(at), run)?;
        let is_weak = |at: usize| resistances[at] > WEAK_CUT * self.inverse_sum(at);
        Ok((0..self.edges.len()).into_par_iter().with_min_len(4096).any(is_weak))
    }

    /// Σ over the edges, in blocks of a fixed size added in order.
    fn total(&self, value: impl Fn(usize) -> f64 + Sync) -> f64 {
        const BLOCK: usize = 1 << 14;
        let m = self.edges.len();
        let blocks: Vec<f64> = (0..m.div_ceil(BLOCK))
            .into_par_iter()
            .map(|block| (block * BLOCK..((block + 1) * BLOCK).min(m)).map(&value).sum())
            .collect();
        blocks.iter().sum()
    }
}
