//! How much each edge matters: its share of what all edges read so far matter together.
//!
//! Shares of the whole graph add up to one, so that q·share is the probability that keeps q edges in the mean.
//!
//! | rule | importance of an edge of weight a | of all edges together |
//! |---|---|---|
//! | leverage | ℓ = min(1, a·R), R its resistance among the edges held, at least 1/dᵤ and 1/d_v | n − components |
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
use lapwing_data::{Result, Run};
use lapwing_solve::DisjointSets;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::held::{Held, adjacency};
use super::resistance::{Embedding, Projections, Stopped};
use crate::Graph;
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
    /// Mean weighted degree of the network of the moment.
    pub mean_degree: f64,
    /// Where random numbers of this round come from.
    pub key: u64,
}

/// What tells the share of an edge between nodes of one component.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    pub kind: Kind,
    /// Importance of all edges together.
    pub total: f64,
    /// 1/d of each node (n); empty for a uniform rule.
    pub inverse_degrees: Vec<f64>,
    /// Resistances, for rules that look at them.
    pub embedding: Option<Embedding>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Uniform,
    /// With an embedding: but by leverage over weak cuts.
    Degree,
    Leverage,
}

impl Rule {
    pub fn share(&self, edge: &Held) -> f64 {
        self.importance(edge, edge.weight).min(1.0) / self.total
    }

    /// a·R of an edge that weighs a, or what stands for it.
    fn importance(&self, edge: &Held, weight: f64) -> f64 {
        let inverse = |node: u32| self.inverse_degrees[node as usize];
        let resistance = self.embedding.as_ref().map(|embedding| embedding.resistance(edge.u, edge.v));
        weight
            * match (self.kind, resistance) {
                (Kind::Uniform, _) => return 1.0,
                // A node is no nearer to another one than to all others joined. Single precision tells nodes far from the
                // middle no further apart than that.
                (Kind::Leverage, Some(resistance)) => resistance.max(inverse(edge.u)).max(inverse(edge.v)),
                (_, Some(resistance)) if resistance > WEAK_CUT * inverse_sum(&self.inverse_degrees, edge) => resistance,
                _ => inverse_sum(&self.inverse_degrees, edge),
            }
    }

    /// Asks for what [`share`](Self::share) will read.
    pub fn prefetch(&self, edge: &Held) {
        if let Some(embedding) = &self.embedding {
            embedding.prefetch(edge.u, edge.v);
        }
    }

    /// All alike, of `n_edges` read.
    pub fn uniform(n_edges: u64) -> Self {
        Self { kind: Kind::Uniform, total: n_edges.max(1) as f64, inverse_degrees: Vec::new(), embedding: None }
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
/// Estimates of leverages, which are 1 at most, count no more than this.
const MOST_LEVERAGE: f64 = 4.0;
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

/// 1/dᵤ + 1/d_v.
fn inverse_sum(inverse_degrees: &[f64], edge: &Held) -> f64 {
    inverse_degrees[edge.u as usize] + inverse_degrees[edge.v as usize]
}

impl View<'_> {
    /// A node of the component of each node.
    pub fn components(&self) -> Vec<u32> {
        let mut sets = DisjointSets::new(self.n);
        self.edges.iter().zip(self.forest).filter(|(_, is_in)| **is_in).for_each(|(edge, _)| {
            sets.join(edge.u, edge.v);
        });
        (0..self.n as u32).map(|node| sets.root(node)).collect()
    }

    fn weight(&self, at: usize) -> f64 {
        self.edges[at].current(self.trials)
    }

    /// A network of about `per_node` edges for each node in the place of the one of the moment: the forest as it is, and of the
    /// others a random part, never less than `least` of them, that weighs as much more. Edges that make up a good part of a
    /// degree are in it.
    ///
    /// Weights are rounded to single precision: they serve estimates, and take half the space.
    fn pilot(&self, per_node: f64, least: f64) -> Result<Graph> {
        let open = self.edges.len().saturating_sub(self.n).max(1);
        let share = (per_node * self.n as f64 / open as f64).max(least);
        let edges = self.edges.iter().enumerate().filter_map(|(at, edge)| {
            let weight = edge.current(self.trials);
            if share >= 1.0 || self.forest[at] {
                return Some((edge.u, edge.v, single(weight)));
            }
            let part = weight * inverse_sum(self.inverse_degrees, edge);
            let share = share.max(part * SURE_PART).min(1.0);
            (uniform(self.key ^ at as u64) < share).then(|| (edge.u, edge.v, single(weight / share)))
        });
        Graph::new(adjacency(self.n, edges)?)
    }

    /// By leverage; by ridge leverage where `projections` have a ridge. From a pilot, or from all edges held. Beside it
    /// iterations and residual of a system that did not arrive.
    pub fn leverage(&self, projections: &Projections, from_pilot: bool, run: &Run) -> Result<(Rule, Option<Stopped>)> {
        let network = self.pilot(PILOT_EDGES, if from_pilot { LEAST_SHARE } else { 1.0 })?;
        let (embedding, worst) = projections.embedding(&network, self.mean_degree, run)?;
        drop(network);
        let mut rule = self.rule(Kind::Leverage, Some(embedding));
        if projections.ridge > 0.0 {
            // Less than the degrees say.
            rule.inverse_degrees.fill(0.0);
        }
        // The forest, where the large ones are, and a part of the others that is large enough.
        let step = (self.edges.len() / MEASURED_EDGES).max(1);
        let measured = self.total(|at| {
            let edge = &self.edges[at];
            let stands_for = if self.forest[at] { 1 } else { step * usize::from(at.is_multiple_of(step)) };
            match stands_for {
                0 => 0.0,
                edges => edges as f64 * rule.importance(edge, self.weight(at)).min(MOST_LEVERAGE),
            }
        });
        if projections.ridge > 0.0 {
            // What a ridge leaves of n − components is not known but measured.
            rule.total = measured;
        } else {
            rule.total = self.forest.iter().filter(|is_in| **is_in).count() as f64;
            rule.embedding.iter_mut().for_each(|embedding| embedding.scale(rule.total / measured));
        }
        Ok((rule, worst))
    }

    /// By degree.
    pub fn degree(&self) -> Rule {
        self.rule(Kind::Degree, None)
    }

    /// By degree, with an eye on weak cuts, where a small pilot finds none among the edges held.
    pub fn degree_unless_weak(&self, projections: &Projections, run: &Run) -> Result<Option<Rule>> {
        let (embedding, _) = projections.embedding(&self.pilot(CUT_EDGES, 0.0)?, self.mean_degree, run)?;
        let is_weak =
            |edge: &Held| embedding.resistance(edge.u, edge.v) > WEAK_CUT * inverse_sum(self.inverse_degrees, edge);
        let has_weak_cut = self.edges.par_iter().with_min_len(4096).any(is_weak);
        Ok((!has_weak_cut).then(|| self.rule(Kind::Degree, Some(embedding))))
    }

    fn rule(&self, kind: Kind, embedding: Option<Embedding>) -> Rule {
        let total = self.inverse_degrees.iter().filter(|inverse| **inverse > 0.0).count() as f64;
        Rule { kind, total, inverse_degrees: self.inverse_degrees.to_vec(), embedding }
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
