//! One round of a sparsifier: what is held is thinned to its budget.
//!
//! Every edge is given a probability p' that never exceeds the one it has, p, and each of its copies stays with probability
//! p'/p. Given all that came before, the mean of 1{kept}/p' is 1/p: weights are a martingale that starts at the weight the
//! edge came with, and the Laplacian is right in the mean after any number of rounds, whatever rule made p' from what is held.
//!
//! What a round has found bounds the probabilities of edges still to come, and these are drawn by it before they are held
//! ([`Gate`]): a round is due only when the graph has grown by as many times as the capacity exceeds the budget.
//!
//! A spanning forest of largest weight is kept, so that the components never change; Kelner & Levin's routine does without.
//! Cost: a sort and some passes over the edges besides their [`shares`](super::shares).

use std::time::Instant;

use lapwing_data::hash::mix;
use lapwing_data::{Result, Run, Stream};
use lapwing_solve::times_power;
use rand::{Rng, RngExt};
use rand_distr::{Binomial, Distribution};
use rayon::prelude::*;

use super::SparsifyParams;
use super::forest::max_spanning_forest;
use super::held::Held;
use super::params::{Sampler, Sizes};
use super::resistance::Projections;
use super::shares::{Gate, Rule, View, degrees};

/// What a round knows besides the edges.
pub(super) struct Round<'a> {
    pub params: &'a SparsifyParams,
    /// Weights are multiplied by 2^`exponent`.
    pub exponent: i32,
    pub sizes: Sizes,
    pub n: usize,
    /// Edges read so far.
    pub n_edges: u64,
    /// Number of the round, from 0.
    pub number: u64,
}

/// What a round says afterwards.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// What it knows of edges to come, if its sampler lets it say so.
    pub gate: Option<Gate>,
    /// Seconds spent on systems.
    pub solve_seconds: f64,
    /// Iterations and residual of a system that did not arrive.
    pub worst: Option<(usize, f64)>,
    /// Whether auto found a weak cut.
    pub has_weak_cut: bool,
}

/// Probability with which edges outside the bundle stay.
const BUNDLE_SHARE: f32 = 0.25;
/// Edges drawn from one random stream.
const CHUNK: usize = 4096;
/// Edges whose memory is asked for ahead.
const AHEAD: usize = 12;

impl Round<'_> {
    /// Copies every edge begins with.
    pub fn trials(params: &SparsifyParams, sizes: Sizes) -> u32 {
        if params.sampler == Sampler::KelnerLevin { sizes.edge_budget.min(u32::MAX as usize) as u32 } else { 1 }
    }

    /// Thins `held`, which is in the order of its ends and stays so.
    pub fn thin(&self, held: &mut Vec<Held>, run: &Run) -> Result<Outcome> {
        run.install(|| self.thin_in_pool(held, run))
    }

    fn thin_in_pool(&self, held: &mut Vec<Held>, run: &Run) -> Result<Outcome> {
        run.check()?;
        let literal = self.params.sampler == Sampler::KelnerLevin;
        let trials = f64::from(Self::trials(self.params, self.sizes));
        if self.params.sampler == Sampler::Bundle {
            return self.thin_by_bundles(held, run);
        }
        let forest = max_spanning_forest(self.n, held.len(), |at| (held[at].u, held[at].v, held[at].current(trials)));
        run.check()?;
        let mut inverse_degrees = degrees(self.n, held, trials);
        let mean_degree = inverse_degrees.iter().sum::<f64>() / self.n.max(1) as f64;
        inverse_degrees.iter_mut().filter(|d| **d > 0.0).for_each(|d| *d = d.recip());
        let view = View {
            n: self.n,
            edges: held,
            trials,
            forest: &forest,
            inverse_degrees: &inverse_degrees,
            mean_degree,
            key: mix(mix(run.seed) ^ self.number),
        };
        let mut outcome = Outcome::default();
        let rule = self.rule(&view, &mut outcome, run)?;
        let components = self.params.has_gate().then(|| view.components());
        let wanted = |at: usize, edge: &Held| {
            let share = if forest[at] && !literal { f64::INFINITY } else { rule.share(edge) };
            self.lowered(edge, share)
        };
        let stream = |chunk: usize| run.rng(Stream::Sampling, (self.number << 32) | chunk as u64);
        draw(held, |edge| rule.prefetch(edge), wanted, stream);
        held.retain(|edge| edge.copies > 0);
        outcome.gate = components.map(|component| Gate { rule, component });
        Ok(outcome)
    }

    /// Draws the edges from place `first` on, which came last, by what is known of them.
    pub fn admit(&self, gate: &Gate, held: &mut Vec<Held>, first: usize, run: &Run) {
        // Their places in the stream, apart from the numbers of rounds.
        let place = (1 << 63) | (self.n_edges - (held.len() - first) as u64);
        let stream = |chunk: usize| run.rng(Stream::Sampling, place + (chunk * CHUNK) as u64);
        let rule = &gate.rule;
        draw(&mut held[first..], |edge| rule.prefetch(edge), |_, edge| self.lowered(edge, gate.share(edge)), stream);
        let mut end = first;
        for at in first..held.len() {
            held[end] = held[at];
            end += usize::from(held[at].copies > 0);
        }
        held.truncate(end);
    }

    /// The probability of an edge, lowered to what its share of the budget is where that is worth it.
    fn lowered(&self, edge: &Held, share: f64) -> f32 {
        let (budget, hysteresis) = match self.params.sampler {
            Sampler::KelnerLevin => (1.0, 1.0),
            _ => (self.sizes.edge_budget as f64, self.sizes.hysteresis),
        };
        let wanted = (budget * share).min(1.0) as f32;
        if wanted < edge.probability / hysteresis as f32 { wanted } else { edge.probability }
    }

    fn rule(&self, view: &View<'_>, outcome: &mut Outcome, run: &Run) -> Result<Rule> {
        let ridge = match self.params.sampler {
            Sampler::Ridge => {
                let given = self.params.ridge.map(|ridge| times_power(ridge, self.exponent));
                given.unwrap_or(RIDGE_SHARE * view.mean_degree)
            }
            _ => 0.0,
        };
        let projections = Projections {
            n_projections: self.params.n_projections,
            columns: self.sizes.columns,
            tol: self.params.tol,
            ridge,
            key: mix(view.key),
        };
        let start = Instant::now();
        let by_degree = match self.params.sampler {
            Sampler::Uniform => Some(Rule::uniform(self.n_edges)),
            Sampler::Degree => Some(view.degree()),
            Sampler::Auto => view.degree_unless_weak(&projections, run)?,
            _ => None,
        };
        outcome.has_weak_cut = self.params.sampler == Sampler::Auto && by_degree.is_none();
        let rule = match (by_degree, self.params.sampler) {
            (Some(rule), _) => rule,
            (None, sampler) => {
                // The literal routine, and the one that sees all edges at once, spare nothing.
                let from_pilot = !matches!(sampler, Sampler::KelnerLevin | Sampler::Leverage);
                let (rule, worst) = view.leverage(&projections, from_pilot, run)?;
                outcome.worst = worst;
                rule
            }
        };
        if self.params.solves() {
            outcome.solve_seconds = start.elapsed().as_secs_f64();
        }
        Ok(rule)
    }

    /// Keeps forests, one after another of what the ones before left, and a quarter of the rest, until the budget holds.
    fn thin_by_bundles(&self, held: &mut Vec<Held>, run: &Run) -> Result<Outcome> {
        let n_forests = (self.sizes.edge_budget / (2 * self.n.max(1))).max(1);
        let mut turn = 0;
        while held.len() > self.sizes.edge_budget {
            run.check()?;
            let is_bundled = self.bundle(held, n_forests);
            let n_bundled = is_bundled.iter().filter(|is_in| **is_in).count();
            let number = (self.number << 8) | turn;
            let before = held.len();
            let wanted = |at: usize, edge: &Held| edge.probability * if is_bundled[at] { 1.0 } else { BUNDLE_SHARE };
            draw(held, |_| {}, wanted, |chunk| run.rng(Stream::Sampling, (number << 32) | chunk as u64));
            held.retain(|edge| edge.copies > 0);
            turn += 1;
            // What is left is forests.
            if before == n_bundled || turn == 64 {
                break;
            }
        }
        Ok(Outcome::default())
    }

    fn bundle(&self, held: &[Held], n_forests: usize) -> Vec<bool> {
        let mut is_bundled = vec![false; held.len()];
        let mut left: Vec<u32> = (0..held.len() as u32).collect();
        for _ in 0..n_forests {
            let edge = |at: usize| &held[left[at] as usize];
            let forest = max_spanning_forest(self.n, left.len(), |at| {
                let edge = edge(at);
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
}

/// Lowers the probability of each edge to what `wanted` says, and draws its copies, with one stream for each chunk;
/// `prefetch` is told of edges some way ahead.
fn draw<R: Rng>(
    edges: &mut [Held],
    prefetch: impl Fn(&Held) + Sync,
    wanted: impl Fn(usize, &Held) -> f32 + Sync,
    stream: impl Fn(usize) -> R + Sync,
) {
    edges.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, edges)| {
        let mut rng = stream(chunk);
        for offset in 0..edges.len() {
            if let Some(next) = edges.get(offset + AHEAD) {
                prefetch(next);
            }
            let edge = &mut edges[offset];
            let probability = wanted(chunk * CHUNK + offset, edge);
            if probability >= edge.probability {
                continue;
            }
            let stays = f64::from(probability) / f64::from(edge.probability);
            edge.copies = match edge.copies {
                1 => u32::from(rng.random::<f64>() < stays),
                copies => binomial(copies, stays, &mut rng),
            };
            edge.probability = probability;
        }
    });
}

/// ρ of the ridge sampler in units of the mean weighted degree.
const RIDGE_SHARE: f64 = 0.1;

/// How many of `copies` stay, each with probability `stays` < 1.
fn binomial(copies: u32, stays: f64, rng: &mut impl Rng) -> u32 {
    // Never refused: `stays` is a ratio of probabilities below 1.
    Binomial::new(copies.into(), stays).map_or(0, |draws| draws.sample(rng) as u32)
}
