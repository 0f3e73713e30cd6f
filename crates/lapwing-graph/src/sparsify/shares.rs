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
//! All of them only ever fall as more edges come (Rayleigh: resistances do), but for edges between components: what a round
//! found bounds the shares of edges still to come, which need not be held if they are not drawn by it (Cohen, Musco & Pachocki
//! 2016; Kyng, Pachocki, Peng & Sachdeva 2017).
//!
//! Resistances are those of a pilot that has a random part of the edges held, reweighted: with 16 for each node the noise is
//! well below that of the projections. They are scaled so that the importances of the edges held, with their weights of the
//! moment, have the sum they must have. Cost: that of the resistances; one pass over the edges for the others.

use lapwing_data::hash::uniform;
use lapwing_data::{Csr, Result, Run};
use lapwing_solve::DisjointSets;
use rayon::prelude::*;

use super::held::{Held, adjacency};
use super::resistance::{Embedding, Projections, Stopped};
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

/// What tells the share of an edge between nodes of one component.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    pub kind: Kind,
    /// Importance of all edges together.
    pub total: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Uniform,
    /// 1/d of each node.
    Degree(Vec<f64>),
    /// Resistances, already scaled.
    Leverage(Embedding),
}

impl Rule {
    pub fn share(&self, edge: &Held) -> f64 {
        let conductance = match &self.kind {
            Kind::Uniform => 1.0,
            Kind::Degree(inverse) => edge.weight * (inverse[edge.u as usize] + inverse[edge.v as usize]),
            Kind::Leverage(embedding) => edge.weight * embedding.resistance(edge.u, edge.v),
        };
        conductance.min(1.0) / self.total
    }

    /// Asks for what [`share`](Self::share) will read.
    pub fn prefetch(&self, edge: &Held) {
        if let Kind::Leverage(embedding) = &self.kind {
            embedding.prefetch(edge.u, edge.v);
        }
    }

    /// All alike, of `n_edges` read.
    pub fn uniform(n_edges: u64) -> Self {
        Self { kind: Kind::Uniform, total: n_edges.max(1) as f64 }
    }
}

/// What a round knows of edges still to come: those it need not hold are refused at once.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gate {
    pub rule: Rule,
    /// A node of the component of each node.
    pub component: Vec<u32>,
}

impl Gate {
    pub fn new(rule: Rule, view: &View<'_>) -> Self {
        let mut sets = DisjointSets::new(view.n);
        view.edges.iter().zip(view.forest).filter(|(_, is_in)| **is_in).for_each(|(edge, _)| {
            sets.join(edge.u, edge.v);
        });
        Self { rule, component: (0..view.n as u32).map(|node| sets.root(node)).collect() }
    }

    /// Bound on the share of an edge: none for one that joins components.
    pub fn share(&self, edge: &Held) -> f64 {
        let is_within = self.component[edge.u as usize] == self.component[edge.v as usize];
        if is_within { self.rule.share(edge) } else { f64::INFINITY }
    }
}

/// Edges for each node by which resistances are estimated, and the least part of all: an edge of the pilot stands for four at
/// most, so that no cut is taken for more than four times what it is.
const PILOT_EDGES: f64 = 16.0;
const LEAST_SHARE: f64 = 0.25;
/// Edges for each node by which weak cuts are looked for.
const CUT_EDGES: f64 = 10.0;
/// Edges by which the sum of all importances is measured: to a part in a thousand.
const MEASURED_EDGES: usize = 1 << 20;
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
        let edge = &self.edges[at];
        self.inverse_degrees[edge.u as usize] + self.inverse_degrees[edge.v as usize]
    }

    /// A network of about `per_node` edges for each node in the place of the one of the moment: the forest as it is, and of the
    /// others a random part, never less than `least` of them, that weighs as much more. Edges that make up a good part of a
    /// degree are in it.
    ///
    /// Weights are rounded to single precision: they serve estimates, and take half the space.
    fn pilot(&self, per_node: f64, least: f64) -> Result<Csr<f64>> {
        let open = self.edges.len().saturating_sub(self.n).max(1);
        let share = (per_node * self.n as f64 / open as f64).max(least);
        let edges = self.edges.iter().enumerate().filter_map(|(at, edge)| {
            let weight = edge.current(self.trials);
            if share >= 1.0 || self.forest[at] {
                return Some((edge.u, edge.v, single(weight)));
            }
            let part = weight * self.inverse_sum(at);
            let share = share.max(part * SURE_PART).min(1.0);
            (uniform(self.key ^ at as u64) < share).then(|| (edge.u, edge.v, single(weight / share)))
        });
        adjacency(self.n, edges)
    }

    /// By leverage; by ridge leverage where `projections` have a ridge. From a pilot, or from all edges held. Beside it
    /// iterations and residual of a system that did not arrive.
    pub fn leverage(&self, projections: &Projections, from_pilot: bool, run: &Run) -> Result<(Rule, Option<Stopped>)> {
        let network = self.pilot(PILOT_EDGES, if from_pilot { LEAST_SHARE } else { 1.0 })?;
        let (mut embedding, worst) = projections.embedding(&network, run)?;
        drop(network);
        // The forest, where the large ones are, and a part of the others that is large enough.
        let step = (self.edges.len() / MEASURED_EDGES).max(1);
        let measured = self.total(|at| {
            let edge = &self.edges[at];
            let stands_for = if self.forest[at] { 1 } else { step * usize::from(at.is_multiple_of(step)) };
            match stands_for {
                0 => 0.0,
                edges => edges as f64 * self.weight(at) * embedding.resistance(edge.u, edge.v),
            }
        });
        let n_tree = self.forest.iter().filter(|is_in| **is_in).count() as f64;
        // n − components for resistances; what a ridge leaves of it is not known but measured.
        let total = if projections.ridge > 0.0 {
            measured
        } else {
            embedding.scale(n_tree / measured);
            n_tree
        };
        Ok((Rule { kind: Kind::Leverage(embedding), total }, worst))
    }

    /// By degree.
    pub fn degree(&self) -> Rule {
        let total = self.inverse_degrees.iter().filter(|inverse| **inverse > 0.0).count() as f64;
        Rule { kind: Kind::Degree(self.inverse_degrees.to_vec()), total }
    }

    /// Whether a small pilot finds an edge whose resistance is far above what its ends have by themselves.
    pub fn has_weak_cut(&self, projections: &Projections, run: &Run) -> Result<bool> {
        let (embedding, _) = projections.embedding(&self.pilot(CUT_EDGES, 0.0)?, run)?;
        let is_weak = |at: usize| {
            let edge = &self.edges[at];
            embedding.resistance(edge.u, edge.v) > WEAK_CUT * self.inverse_sum(at)
        };
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
