//! One round of a sparsifier: the edges held are thinned to the budget.
//!
//! Every edge gets a probability p' of at most the one it has, p, and each of its copies is kept with probability p'/p. Given
//! all earlier draws, the mean of 1{kept}/p' is 1/p: the weight of an edge is a martingale that starts at its weight in the
//! stream. The Laplacian is therefore right in the mean after any number of rounds, however p' was chosen.
//!
//! The scores of a round bound those of edges still to come, which are sampled by this bound before they are held
//! ([`RejectionBound`]): the next round is due only when the graph has grown by the factor capacity/budget.
//!
//! A spanning forest of largest weight is kept, so that the components never change; Kelner & Levin's routine has no forest.
//! Cost: a sort and some passes over the edges besides their [`scores`](super::scores).

use std::time::Instant;

use lapwing_core::hash::mix;
use lapwing_core::parallel::*;
use lapwing_core::{Result, Run, Stream};
use rand::{Rng, RngExt};
use rand_distr::{Binomial, Distribution};

use super::edge::SampledEdge;
use super::forest::max_spanning_forest;
use super::samplers::{Round, Rule};
use super::scores::{Findings, Network, RejectionBound, Scores};

/// The bound for edges to come, where the sampler has one, and the findings of a round.
pub(super) type Outcome = (Option<RejectionBound>, Findings);

/// Probability with which edges outside the bundle are kept.
const OUTSIDE: f32 = 0.25;
/// Most turns of a round with bundles.
const MOST_TURNS: u64 = 64;
/// Edges drawn from one random stream.
const CHUNK: usize = 4096;
/// Edges are prefetched this many places ahead.
const AHEAD: usize = 12;

impl Round<'_> {
    /// Thins `edges`, which are sorted by their ends and stay so.
    ///
    /// # Errors
    /// [`lapwing_core::Error::Interrupted`].
    pub fn thin(&self, edges: &mut Vec<SampledEdge>, run: &Run) -> Result<Outcome> {
        run.install(|| match self.strategy.rule {
            Rule::Scores(rule) => {
                self.sample_by_scores(edges, |network, findings| rule(self, network, findings, run), run)
            }
            Rule::Bundles => self.sample_by_bundles(edges, run).map(|()| (None, Findings::default())),
        })
    }

    fn sample_by_scores(
        &self,
        edges: &mut Vec<SampledEdge>,
        score: impl FnOnce(&Network<'_>, &mut Findings) -> Result<Scores>,
        run: &Run,
    ) -> Result<Outcome> {
        let key = mix(mix(run.seed) ^ self.number);
        let network = Network::new(self.n, edges, self.sizes.n_copies.into(), key, run)?;
        let (start, mut findings) = (Instant::now(), Findings::default());
        let scores = score(&network, &mut findings)?;
        findings.solve_seconds = if self.strategy.solves { start.elapsed().as_secs_f64() } else { 0.0 };
        let component = self.strategy.bounds_later_edges.then(|| network.components());
        let forest = network.forest;
        let probability = |at: usize, edge: &SampledEdge| {
            let is_kept = forest[at] && self.strategy.keeps_forest;
            self.lowered(edge, if is_kept { f64::INFINITY } else { scores.relative(edge) })
        };
        self.draw(edges, self.number, |edge| scores.prefetch(edge), probability, run);
        Ok((component.map(|component| RejectionBound { scores, component }), findings))
    }

    /// Draws every edge, lowering its probability to `probability`, and drops those without copies. `number` selects the random
    /// streams.
    pub fn draw(
        &self,
        edges: &mut Vec<SampledEdge>,
        number: u64,
        prefetch: impl Fn(&SampledEdge) + Sync,
        probability: impl Fn(usize, &SampledEdge) -> f32 + Sync,
        run: &Run,
    ) {
        let stream = |chunk: usize| run.rng(Stream::Sampling, (number << 32) | chunk as u64);
        draw(edges, prefetch, probability, stream);
        edges.retain(|edge| edge.copies > 0);
    }

    /// Draws the edges from place `first` on, the newest ones, by `bound`, and drops those that are not drawn.
    pub fn reject(&self, bound: &RejectionBound, edges: &mut Vec<SampledEdge>, first: usize, run: &Run) {
        // Random streams belong to places in the stream of edges; the top bit sets them apart from those of rounds.
        let place = (1 << 63) | (self.n_edges - (edges.len() - first) as u64);
        let stream = |chunk: usize| run.rng(Stream::Sampling, place + (chunk * CHUNK) as u64);
        let probability = |_, edge: &SampledEdge| self.lowered(edge, bound.relative(edge));
        draw(&mut edges[first..], |edge| bound.scores.prefetch(edge), probability, stream);
        let mut end = first;
        for at in first..edges.len() {
            edges[end] = edges[at];
            end += usize::from(edges[at].copies > 0);
        }
        edges.truncate(end);
    }

    /// The probability of an edge of relative score `score`: that of the budget, where it is lower by more than the hysteresis;
    /// else the one the edge has.
    fn lowered(&self, edge: &SampledEdge, score: f64) -> f32 {
        let wanted = (self.sizes.kept_copies * score).min(1.0) as f32;
        if wanted < edge.probability / self.sizes.hysteresis as f32 { wanted } else { edge.probability }
    }
}

impl Round<'_> {
    /// Thins `edges` by bundles, which are edge-disjoint spanning forests.
    fn sample_by_bundles(&self, edges: &mut Vec<SampledEdge>, run: &Run) -> Result<()> {
        let budget = self.sizes.edge_budget;
        let n_forests = (budget / (2 * self.n.max(1))).max(1);
        for turn in 0..MOST_TURNS {
            if edges.len() <= budget {
                break;
            }
            run.check()?;
            let is_bundled = bundle(self.n, edges, n_forests);
            let probability =
                |at: usize, edge: &SampledEdge| edge.probability * if is_bundled[at] { 1.0 } else { OUTSIDE };
            self.draw(edges, (self.number << 8) | turn, |_| {}, probability, run);
            if is_bundled.iter().all(|is_in| *is_in) {
                break;
            }
        }
        Ok(())
    }
}

/// Marks the edges of `n_forests` spanning forests, each one of the edges that the earlier ones left.
fn bundle(n: usize, edges: &[SampledEdge], n_forests: usize) -> Vec<bool> {
    let mut is_bundled = vec![false; edges.len()];
    let mut left: Vec<u32> = (0..edges.len() as u32).collect();
    for _ in 0..n_forests {
        let forest = max_spanning_forest(n, left.len(), |at| {
            let edge = &edges[left[at] as usize];
            (edge.u, edge.v, edge.current(1.0))
        });
        left.iter().zip(&forest).filter(|(_, is_in)| **is_in).for_each(|(&at, _)| is_bundled[at as usize] = true);
        left.retain(|&at| !is_bundled[at as usize]);
        if left.is_empty() {
            break;
        }
    }
    is_bundled
}

/// Lowers the probability of each edge to `probability`, and draws its copies, with one random stream for each chunk. `prefetch`
/// gets edges some way ahead.
fn draw<R: Rng>(
    edges: &mut [SampledEdge],
    prefetch: impl Fn(&SampledEdge) + Sync,
    probability: impl Fn(usize, &SampledEdge) -> f32 + Sync,
    stream: impl Fn(usize) -> R + Sync,
) {
    edges.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, edges)| {
        let mut rng = stream(chunk);
        for offset in 0..edges.len() {
            if let Some(next) = edges.get(offset + AHEAD) {
                prefetch(next);
            }
            let edge = &mut edges[offset];
            let probability = probability(chunk * CHUNK + offset, edge);
            if probability >= edge.probability {
                continue;
            }
            let stays = f64::from(probability) / f64::from(edge.probability);
            edge.copies = match edge.copies {
                1 => u32::from(rng.random::<f64>() < stays),
                // Never an error: `stays` is a ratio of probabilities below 1.
                copies => Binomial::new(copies.into(), stays).map_or(0, |draws| draws.sample(&mut rng) as u32),
            };
            edge.probability = probability;
        }
    });
}
