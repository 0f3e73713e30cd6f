//! Scores of edges: estimates of their leverage scores, to which sampling probabilities are proportional.
//!
//! An edge is kept with probability min(1, q·score/total), where total is the sum of the scores of all edges read so far: then
//! about q edges are kept.
//!
//! | scores by | score of an edge of weight a | total |
//! |---|---|---|
//! | leverage | min(1, a·R), R its resistance among the edges held, at least 1/dᵤ and 1/d_v | n − components |
//! | ridge leverage | min(1, a·bᵀ(L + ρI)⁻¹b) | Σ λ/(λ + ρ) |
//! | degree | min(1, a·(1/dᵤ + 1/d_v)) | nodes with edges |
//! | nothing | 1 | edges read |
//!
//! Edges added to a graph only lower the resistances within its components (Rayleigh). The scores of a round are therefore upper
//! bounds of those of later edges within a component: such an edge need not be held if it is not drawn by this bound (Cohen,
//! Musco & Pachocki 2016; Kyng, Pachocki, Peng & Sachdeva 2017).
//!
//! Resistances are computed on a pilot, a reweighted random part of the edges: with 16 edges for each node its noise is well
//! below that of the projections. They are scaled so that the scores of the edges held, at their weights in the sparsifier, add
//! up to the total. Cost: that of the resistances; one pass over the edges for the other scores.

use lapwing_core::hash::uniform;
use lapwing_core::ordered::sum_in_order;
use lapwing_core::parallel::*;
use lapwing_core::{Result, Run};
use lapwing_solve::DisjointSets;
use serde::{Deserialize, Serialize};

use super::edge::SampledEdge;
use super::forest::max_spanning_forest;
use super::resistance::{Embedding, Projections, Unconverged};
use crate::Graph;
use crate::relation::{adjacency, single};

/// The edges held at the start of a round as a network that conducts as their weights in the sparsifier.
pub(super) struct Network<'a> {
    n: usize,
    /// Sorted by their ends.
    edges: &'a [SampledEdge],
    /// Copies every edge starts with.
    n_copies: f64,
    /// Marks the edges of a spanning forest of largest weight.
    pub forest: Vec<bool>,
    /// 1/d of each node, 0 for nodes without edges.
    inverse_degrees: Vec<f64>,
    /// Mean weighted degree.
    pub mean_degree: f64,
    /// Key of the random numbers of this round.
    pub key: u64,
}

/// What a round found out for the report.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    /// Seconds spent on systems.
    pub solve_seconds: f64,
    /// The worst system that did not converge.
    pub unconverged: Option<Unconverged>,
    /// Whether the auto sampler found a weak cut.
    pub has_weak_cut: bool,
}

/// The score of every edge between two nodes of one component.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scores {
    pub kind: ScoreKind,
    /// Sum of the scores of all edges.
    pub total: f64,
    /// 1/d of each node (n); empty for uniform scores.
    pub inverse_degrees: Vec<f64>,
    /// Resistances, where the scores use them.
    pub embedding: Option<Embedding>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ScoreKind {
    Uniform,
    /// With an embedding: by leverage for edges over weak cuts.
    Degree,
    Leverage,
}

/// Bounds on the scores of edges still to come, from the last round. New edges are sampled by them before they are held.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RejectionBound {
    pub scores: Scores,
    /// A node of the component of each node.
    pub component: Vec<u32>,
}

/// Edges of a pilot for each node.
const PILOT_EDGES: f64 = 16.0;
/// Least part of the edges in a pilot: an edge of the pilot stands for at most four edges, so that no cut is taken for more than
/// four times its weight.
pub(super) const PILOT_PART: f64 = 0.25;
/// No pilot: resistances are computed on all edges.
pub(super) const ALL_EDGES: f64 = 1.0;
/// Edges for each node of the pilot that is searched for weak cuts.
const CUT_EDGES: f64 = 10.0;
/// Edges over which the sum of all scores is estimated, to a part in a thousand.
const MEASURED_EDGES: usize = 1 << 20;
/// Cap of estimated scores in that sum; true ones are at most 1.
const MOST_LEVERAGE: f64 = 4.0;
/// Edges of more than a sixteenth of the degrees of their ends are always in a pilot.
const SURE_PART: f64 = 16.0;
/// Resistance over 1/dᵤ + 1/d_v from which an edge counts as one over a weak cut. Measured maxima: below 4.5 on neighbor and
/// complete graphs, above 85 on cliques joined by few edges.
const WEAK_CUT: f64 = 10.0;

impl Scores {
    /// Score of an edge over the total.
    pub fn relative(&self, edge: &SampledEdge) -> f64 {
        self.uncapped(edge, edge.weight).min(1.0) / self.total
    }

    /// a·R for an edge of weight a, or what stands for it.
    fn uncapped(&self, edge: &SampledEdge, weight: f64) -> f64 {
        let inverse = |node: u32| self.inverse_degrees[node as usize];
        let resistance = self.embedding.as_ref().map(|embedding| embedding.resistance(edge.u, edge.v));
        weight
            * match (self.kind, resistance) {
                (ScoreKind::Uniform, _) => return 1.0,
                // The resistance between two nodes is at least that between one of them and all others joined into one. The
                // single precision of the embedding may lose this for nodes far from its origin.
                (ScoreKind::Leverage, Some(resistance)) => resistance.max(inverse(edge.u)).max(inverse(edge.v)),
                (_, Some(resistance)) if is_over_weak_cut(resistance, &self.inverse_degrees, edge) => resistance,
                _ => inverse_sum(&self.inverse_degrees, edge),
            }
    }

    /// Prefetches what [`relative`](Self::relative) reads.
    pub fn prefetch(&self, edge: &SampledEdge) {
        if let Some(embedding) = &self.embedding {
            embedding.prefetch(edge.u, edge.v);
        }
    }

    /// 1 for each of `n_edges` read.
    pub fn uniform(n_edges: u64) -> Self {
        Self { kind: ScoreKind::Uniform, total: n_edges.max(1) as f64, inverse_degrees: Vec::new(), embedding: None }
    }
}

impl RejectionBound {
    /// Upper bound of the relative score of an edge; infinite for an edge that joins two components.
    pub fn relative(&self, edge: &SampledEdge) -> f64 {
        let is_within = self.component[edge.u as usize] == self.component[edge.v as usize];
        if is_within { self.scores.relative(edge) } else { f64::INFINITY }
    }
}

/// 1/dᵤ + 1/d_v.
fn inverse_sum(inverse_degrees: &[f64], edge: &SampledEdge) -> f64 {
    inverse_degrees[edge.u as usize] + inverse_degrees[edge.v as usize]
}

fn is_over_weak_cut(resistance: f64, inverse_degrees: &[f64], edge: &SampledEdge) -> bool {
    resistance > WEAK_CUT * inverse_sum(inverse_degrees, edge)
}

impl<'a> Network<'a> {
    /// The network of `edges`, sorted by their ends, among `n` nodes.
    pub fn new(n: usize, edges: &'a [SampledEdge], n_copies: f64, key: u64, run: &Run) -> Result<Self> {
        run.check()?;
        let forest = max_spanning_forest(n, edges.len(), |at| (edges[at].u, edges[at].v, edges[at].current(n_copies)));
        run.check()?;
        let mut degrees = vec![0.0; n];
        for edge in edges {
            let weight = edge.current(n_copies);
            degrees[edge.u as usize] += weight;
            degrees[edge.v as usize] += weight;
        }
        let mean_degree = degrees.iter().sum::<f64>() / n.max(1) as f64;
        degrees.iter_mut().filter(|d| **d > 0.0).for_each(|d| *d = d.recip());
        Ok(Self { n, edges, n_copies, forest, inverse_degrees: degrees, mean_degree, key })
    }

    /// A node of the component of each node.
    pub fn components(&self) -> Vec<u32> {
        let mut sets = DisjointSets::new(self.n);
        self.edges.iter().zip(&self.forest).filter(|(_, is_in)| **is_in).for_each(|(edge, _)| {
            sets.join(edge.u, edge.v);
        });
        (0..self.n as u32).map(|node| sets.root(node)).collect()
    }

    /// A smaller network in the place of this one: the forest as it is, and a random part of the other edges, weighted up
    /// accordingly. It has about `per_node` edges for each node, and at least the part `least` of the other edges. Edges that make
    /// up a good part of a degree are always in it.
    ///
    /// Weights are rounded to single precision: that is enough for estimates, and solvers keep them in half the space.
    fn pilot(&self, per_node: f64, least: f64) -> Result<Graph> {
        let open = self.edges.len().saturating_sub(self.n).max(1);
        let part = (per_node * self.n as f64 / open as f64).max(least);
        let edges = self.edges.iter().enumerate().filter_map(|(at, edge)| {
            let weight = edge.current(self.n_copies);
            if part >= 1.0 || self.forest[at] {
                return Some((edge.u, edge.v, single(weight)));
            }
            let of_degrees = weight * inverse_sum(&self.inverse_degrees, edge);
            let probability = part.max(of_degrees * SURE_PART).min(1.0);
            let is_drawn = uniform(self.key ^ at as u64) < probability;
            is_drawn.then(|| (edge.u, edge.v, single(weight / probability)))
        });
        Graph::new(adjacency(self.n, edges)?)
    }

    /// Scores by leverage, or by ridge leverage where `projections` have a ridge, with resistances on a pilot that has at least
    /// `least_part` of the edges.
    pub fn leverage(
        &self,
        projections: &Projections,
        least_part: f64,
        findings: &mut Findings,
        run: &Run,
    ) -> Result<Scores> {
        let network = self.pilot(PILOT_EDGES, least_part)?;
        let (embedding, unconverged) = projections.embedding(&network, self.mean_degree, run)?;
        drop(network);
        findings.unconverged = unconverged;
        let mut scores = self.scores(ScoreKind::Leverage, Some(embedding));
        if projections.ridge > 0.0 {
            // Ridge leverage may be below what degrees say; its total is not known but estimated.
            scores.inverse_degrees.fill(0.0);
            scores.total = self.sum(&scores);
        } else {
            scores.total = self.forest.iter().filter(|is_in| **is_in).count() as f64;
            let factor = scores.total / self.sum(&scores);
            scores.embedding.iter_mut().for_each(|embedding| embedding.scale(factor));
        }
        Ok(scores)
    }

    /// Scores by degree.
    pub fn degree(&self) -> Scores {
        self.scores(ScoreKind::Degree, None)
    }

    /// Scores by degree, and by leverage over weak cuts that appear later; `None` where a small pilot finds a weak cut now.
    pub fn degree_unless_weak(&self, projections: &Projections, run: &Run) -> Result<Option<Scores>> {
        let (embedding, _) = projections.embedding(&self.pilot(CUT_EDGES, 0.0)?, self.mean_degree, run)?;
        let is_weak =
            |edge: &SampledEdge| is_over_weak_cut(embedding.resistance(edge.u, edge.v), &self.inverse_degrees, edge);
        let has_weak_cut = self.edges.par_iter().with_min_len(4096).any(is_weak);
        Ok((!has_weak_cut).then(|| self.scores(ScoreKind::Degree, Some(embedding))))
    }

    fn scores(&self, kind: ScoreKind, embedding: Option<Embedding>) -> Scores {
        let total = self.inverse_degrees.iter().filter(|inverse| **inverse > 0.0).count() as f64;
        Scores { kind, total, inverse_degrees: self.inverse_degrees.clone(), embedding }
    }

    /// Σ of the scores at the weights in the sparsifier: over the forest, whose edges have the large scores, and over a regular
    /// sample of the other edges. Blocks of a fixed size are added in order.
    fn sum(&self, scores: &Scores) -> f64 {
        const BLOCK: usize = 1 << 14;
        let m = self.edges.len();
        let step = (m / MEASURED_EDGES).max(1);
        let term = |at: usize| {
            let edge = &self.edges[at];
            let stands_for = if self.forest[at] { 1 } else { step * usize::from(at.is_multiple_of(step)) };
            match stands_for {
                0 => 0.0,
                edges => edges as f64 * scores.uncapped(edge, edge.current(self.n_copies)).min(MOST_LEVERAGE),
            }
        };
        let block_sum = |block: usize| (block * BLOCK..((block + 1) * BLOCK).min(m)).map(term).sum::<f64>();
        sum_in_order(0.0, (0..m.div_ceil(BLOCK)).into_par_iter().map(block_sum))
    }
}
