//! The stream of a sparsifier: edges are added, held in a block, and thinned when the block is full.
//!
//! After a round ([`super::round`]), portions of new edges are sampled by the bound of that round before they are held. Cost:
//! constant for each edge besides the rounds; 24 bytes for each edge held. Portions and rounds begin at the same edges however
//! the edges are passed to [`Sparsifier::add`].

use std::time::Instant;

use lapwing_core::hash::mix;
use lapwing_core::{Edge, Error, Matrix, Result, Run, check_memory, memory};
use lapwing_solve::{exponent_to_one, times_power};
use serde::{Deserialize, Serialize};

use super::edge::{SampledEdge, sort_and_merge};
use super::probes::{MOST_PROBES, Probes};
use super::resistance::Unconverged;
use super::samplers::{Round, Sizes};
use super::scores::RejectionBound;
use super::{Budget, SparsifyParams, SparsifyReport, digest};
use crate::Graph;
use crate::relation::adjacency;

/// A sparsifier of a stream of edges. [`add`](Self::add) takes edges, [`snapshot`](Self::snapshot) returns the graph so far, and
/// [`finish`](Self::finish) the final one.
///
/// The number of edges determines when rounds begin: the result depends neither on the portions nor on the number of threads.
///
/// # Example
/// ```
/// use lapwing_core::{Edge, Run};
/// use lapwing_graph::sparsify::{Budget, Sparsifier, SparsifyParams};
///
/// let run = Run::new(None, 0)?;
/// let params = SparsifyParams { budget: Budget::Edges(600), capacity: Some(1500), ..Default::default() };
/// let mut sparsifier = Sparsifier::new(60, params, &run)?;
/// for u in 0..60 {
///     let edges: Vec<Edge> = (0..u).map(|v| Edge { u, v, weight: 1.0 }).collect();
///     sparsifier.add(&edges, &run)?;
/// }
/// let (graph, report) = sparsifier.finish(&run)?;
/// assert!(report.n_edges == 1770 && graph.n_edges() < 900);
/// assert_eq!(graph.components().sizes.len(), 1);
/// # Ok::<(), lapwing_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sparsifier {
    pub(super) state: State,
    pub(super) sizes: Sizes,
    /// The edges of the current block.
    pub(super) block: Vec<SampledEdge>,
    /// Thinned blocks of a sampler that merges them: at level i what 2ⁱ blocks left.
    pub(super) levels: Vec<Vec<SampledEdge>>,
    pub(super) phase: Phase,
    pub(super) probes: Option<Probes>,
    pub(super) start: Instant,
}

/// What checkpoints keep besides arrays and the phase, by the names of their format.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct State {
    pub params: SparsifyParams,
    pub n_nodes: usize,
    pub seed: u64,
    pub counts: Counts,
    /// Leading edges of the block that have been sampled and that the probes include.
    #[serde(rename = "n_old")]
    pub n_sampled: usize,
    /// Weights and the forms of the probes are stored multiplied by 2^`exponent`.
    #[serde(default)]
    pub exponent: i32,
    /// The worst system that did not converge.
    #[serde(rename = "worst")]
    pub unconverged: Option<Unconverged>,
    pub has_weak_cut: bool,
}

/// What happens to new edges.
#[derive(Clone, Debug)]
pub(super) enum Phase {
    /// All of them are held until the block is full: before the first round, and with samplers that bound no scores.
    Collecting,
    /// They are sampled portion by portion by the bound of the last round.
    Rejecting(RejectionBound),
    /// None is taken: the block is full, and its round was interrupted when `n_merged` levels had been merged into it. The bound is
    /// that of the last round.
    Due { n_merged: usize, bound: Option<RejectionBound> },
}

impl Phase {
    /// The bound of the last round.
    pub fn bound(&self) -> Option<&RejectionBound> {
        match self {
            Self::Collecting => None,
            Self::Rejecting(bound) => Some(bound),
            Self::Due { bound, .. } => bound.as_ref(),
        }
    }
}

/// Counts over the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Counts {
    /// Rows added, dropped ones included.
    pub rows: u64,
    /// Hash of these rows, see [`super::digest`].
    #[serde(default)]
    pub digest: u64,
    pub dropped: u64,
    pub rounds: u64,
    pub peak: usize,
    pub solve_seconds: f64,
    pub seconds_before: f64,
}

/// Edges between two checks for an interruption.
const UNCHECKED: usize = 1 << 20;
/// Most new edges of a portion, which are sampled together.
const MOST_PORTION: usize = 1 << 16;
/// Bytes for each node of any result: offsets of the matrix, places to fill, degrees, components.
const NODE_BYTES: u64 = 40;
const EDGES_ADVICE: &str = "give it less memory, or keep fewer edges";
const NODES_ADVICE: &str = "number the nodes from 0 without gaps, and give no more nodes than there are";
/// Sets the signs of the probes apart from those of the rounds.
const PROBES: u64 = 0x7072_6F62_6573;

impl Sparsifier {
    /// A sparsifier of a graph of `n_nodes` nodes, with the seed of `run`.
    ///
    /// # Errors
    /// [`Error::Param`] for a parameter outside its range; [`Error::TooLarge`] for a memory limit that is too small for the nodes,
    /// or larger than the free memory.
    pub fn new(n_nodes: usize, params: SparsifyParams, run: &Run) -> Result<Self> {
        if let Budget::Memory(bytes) = params.budget {
            check_memory("a sparsifier of the given memory", bytes, EDGES_ADVICE)?;
        }
        Self::with_seed(n_nodes, params, run.seed)
    }

    /// As [`new`](Self::new), without a check that the memory limit is free.
    pub(super) fn with_seed(n_nodes: usize, params: SparsifyParams, seed: u64) -> Result<Self> {
        params.validate()?;
        if n_nodes > u32::MAX as usize {
            return Err(Error::param("n_samples", n_nodes, format!("at most {}", u32::MAX)));
        }
        check_memory(&format!("a sparsifier of {n_nodes} nodes"), NODE_BYTES * n_nodes as u64, NODES_ADVICE)?;
        let sizes = params.sizes(n_nodes)?;
        let state = State { params, n_nodes, seed, ..State::default() };
        let (block, levels, phase, start) = (Vec::new(), Vec::new(), Phase::Collecting, Instant::now());
        Ok(Self { state, sizes, block, levels, phase, probes: None, start })
    }

    /// Sets the vectors (n, 1 to 16) whose quadratic forms are compared, such as indicators of clusters. To be called before
    /// any edge is added.
    ///
    /// # Errors
    /// [`Error::Shape`] for vectors of another size, [`Error::Value`] for values that are not finite.
    pub fn with_probes(mut self, vectors: Matrix) -> Result<Self> {
        let (rows, columns) = (vectors.n_rows(), vectors.n_cols());
        if rows != self.state.n_nodes || !(1..=MOST_PROBES).contains(&columns) {
            let expected = format!("{} × 1 to {MOST_PROBES}", self.state.n_nodes);
            return Err(Error::shape("probes", expected, format!("{rows} × {columns} values")));
        }
        if let Some(at) = vectors.values().iter().position(|v| !v.is_finite()) {
            return Err(Error::Value {
                what: "probes".into(),
                row: at / columns,
                col: Some(at % columns),
                value: vectors.values()[at].to_string(),
                advice: "finite values are needed".into(),
            });
        }
        self.probes = Some(Probes::new(vectors));
        Ok(self)
    }

    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.state.n_nodes
    }

    /// Rows added so far, loops and edges of weight 0 included.
    pub fn n_rows(&self) -> u64 {
        self.state.counts.rows
    }

    /// Edges held; parallel edges count separately.
    pub fn n_held(&self) -> usize {
        self.block.len() + self.levels.iter().map(Vec::len).sum::<usize>()
    }

    /// Rounds so far.
    pub fn n_rounds(&self) -> u64 {
        self.state.counts.rounds
    }

    /// Adds edges. Loops and edges of weight 0 are dropped and counted; a repeated edge counts as another one.
    ///
    /// After an error, the edges before the one named have been added. After an interruption, those that
    /// [`n_rows`](Self::n_rows) counts have been added: continue with the next one, and the interrupted round is done again.
    ///
    /// # Errors
    /// [`Error::Graph`] naming the first row with an end out of range or a weight that is negative or not finite, or an
    /// edge whose weights add up to more than double precision holds; [`Error::TooLarge`]; [`Error::Interrupted`].
    ///
    /// # Complexity
    /// O(projections) for an edge, and a round of O(capacity · projections) work whenever the block is full.
    pub fn add(&mut self, edges: &[Edge], run: &Run) -> Result<()> {
        if matches!(self.phase, Phase::Due { .. }) {
            self.end_block(run)?;
        }
        let mut limit = self.limit();
        for (at, edge) in edges.iter().enumerate() {
            if at > 0 && at.is_multiple_of(UNCHECKED) {
                run.check()?;
            }
            let counts = &mut self.state.counts;
            edge.check(self.state.n_nodes, counts.rows)?;
            counts.digest = counts.digest.wrapping_add(digest::of_row(counts.rows, edge));
            counts.rows += 1;
            if edge.u == edge.v || edge.weight == 0.0 {
                counts.dropped += 1;
                continue;
            }
            if self.block.len() == self.block.capacity() {
                self.reserve()?;
            }
            let (u, v) = (edge.u.min(edge.v), edge.u.max(edge.v));
            let mut weight = times_power(edge.weight, self.state.exponent);
            if self.state.exponent != 0 && !weight.is_normal() {
                // No unit suits this weight and the earlier ones: go back to the weights of the stream.
                self.scale(-self.state.exponent);
                self.phase = Phase::Collecting;
                (weight, limit) = (edge.weight, self.limit());
            }
            self.block.push(SampledEdge { u, v, weight, probability: 1.0, copies: self.sizes.n_copies });
            if self.block.len() >= limit {
                self.end_portion(run)?;
                limit = self.limit();
            }
        }
        Ok(())
    }

    /// The sparsifier of the edges added so far; the stream is not disturbed. Before the first round it is the graph itself.
    ///
    /// # Errors
    /// [`Error::Graph`] naming an edge or a node whose weights add up to more than double precision holds.
    ///
    /// # Complexity
    /// A sort of the edges held and a copy of them.
    pub fn snapshot(&self, run: &Run) -> Result<Graph> {
        let mut all = self.levels.concat();
        all.extend_from_slice(&self.block);
        run.install(|| {
            sort_and_merge(&mut all)?;
            self.graph(&all)
        })
    }

    /// The sparsifier of all edges, thinned a last time where more than the budget are held.
    ///
    /// # Errors
    /// As [`Sparsifier::snapshot`]; [`Error::Interrupted`].
    pub fn finish(mut self, run: &Run) -> Result<(Graph, SparsifyReport)> {
        if matches!(self.phase, Phase::Due { .. }) {
            self.end_block(run)?;
        }
        self.center();
        if self.block.len() > self.sizes.edge_budget {
            self.make_probes(run)?;
        }
        self.add_to_probes(run);
        for mut level in std::mem::take(&mut self.levels) {
            self.block.append(&mut level);
        }
        self.state.counts.peak = self.state.counts.peak.max(self.block.len());
        self.thin(&mut None, run)?;
        let edges = std::mem::take(&mut self.block);
        let mut report = self.report_on(&[&edges], &[], run);
        let graph = run.install(|| self.graph(&edges))?;
        report.n_kept = graph.n_edges();
        Ok((graph, report))
    }

    /// New edges of a portion.
    fn portion(&self) -> usize {
        (self.sizes.block / 16).clamp(1, MOST_PORTION)
    }

    /// Edges held at which a portion or the block ends.
    fn limit(&self) -> usize {
        match self.phase {
            Phase::Rejecting(_) => self.sizes.block.min(self.state.n_sampled + self.portion()),
            _ => self.sizes.block,
        }
    }

    /// Makes room for more edges.
    fn reserve(&mut self) -> Result<()> {
        let held = self.block.len();
        let room = held.max(1 << 12).min(self.sizes.block.saturating_sub(held).max(1));
        memory::reserve("edges held", &mut self.block, room, EDGES_ADVICE)
    }

    /// Scales all weights by a power of two that brings the largest near 1. Does nothing, and returns false, where the largest is
    /// moderate, or where another weight would become subnormal.
    fn center(&mut self) -> bool {
        let weights = || self.levels.iter().flatten().chain(&self.block).map(|edge| edge.weight);
        let most = weights().fold(0.0, f64::max);
        let exponent = if most > 0.0 { exponent_to_one(most) } else { 0 };
        let scales = exponent != 0 && weights().all(|weight| times_power(weight, exponent).is_normal());
        if scales {
            self.scale(exponent);
        }
        scales
    }

    /// Multiplies all weights by 2^`exponent`. A rejection bound is then in the wrong unit. Graphs that are returned have the unit
    /// of the stream.
    fn scale(&mut self, exponent: i32) {
        for edge in self.levels.iter_mut().flatten().chain(&mut self.block) {
            edge.weight = times_power(edge.weight, exponent);
        }
        if let Some(probes) = &mut self.probes {
            probes.forms.iter_mut().for_each(|form| *form = times_power(*form, exponent));
        }
        self.state.exponent += exponent;
    }

    /// Samples the new edges by the bound of the last round. Without a bound, or where no other portion fits, the block ends.
    fn end_portion(&mut self, run: &Run) -> Result<()> {
        let Phase::Rejecting(bound) = std::mem::replace(&mut self.phase, Phase::Collecting) else {
            return self.end_block(run);
        };
        let first = self.state.n_sampled;
        self.state.counts.peak = self.state.counts.peak.max(self.n_held());
        self.add_to_probes(run);
        let seeded = run.with_seed(self.state.seed);
        let mut edges = std::mem::take(&mut self.block);
        seeded.install(|| self.round().reject(&bound, &mut edges, first, &seeded));
        self.state.n_sampled = edges.len();
        (self.block, self.phase) = (edges, Phase::Rejecting(bound));
        if self.block.len() + self.portion() > self.sizes.block { self.end_block(run) } else { Ok(()) }
    }

    /// Thins the full block. After an error the phase is [`Phase::Due`], from which the next call continues.
    fn end_block(&mut self, run: &Run) -> Result<()> {
        let (mut n_merged, mut bound) = match std::mem::replace(&mut self.phase, Phase::Collecting) {
            Phase::Collecting => (0, None),
            Phase::Rejecting(bound) => (0, Some(bound)),
            Phase::Due { n_merged, bound } => (n_merged, bound),
        };
        let done = self.thin_block(&mut n_merged, &mut bound, run);
        self.phase = match (&done, bound) {
            (Err(_), bound) => Phase::Due { n_merged, bound },
            (Ok(()), Some(bound)) => Phase::Rejecting(bound),
            (Ok(()), None) => Phase::Collecting,
        };
        done
    }

    fn thin_block(&mut self, n_merged: &mut usize, bound: &mut Option<RejectionBound>, run: &Run) -> Result<()> {
        if self.center() {
            *bound = None;
        }
        self.state.counts.peak = self.state.counts.peak.max(self.n_held());
        self.make_probes(run)?;
        self.add_to_probes(run);
        self.thin(bound, run)?;
        if self.state.params.sampler.strategy().merges_blocks {
            // As in a binary counter: two blocks of a level make one of the next.
            while let Some(other) = self.levels.get_mut(*n_merged).filter(|other| !other.is_empty()) {
                self.block.append(other);
                *n_merged += 1;
                self.thin(bound, run)?;
            }
            if *n_merged == self.levels.len() {
                self.levels.push(Vec::new());
            }
            self.block.shrink_to_fit();
            self.levels[*n_merged] = std::mem::take(&mut self.block);
        }
        self.state.n_sampled = self.block.len();
        Ok(())
    }

    /// Makes probes of the first block, whose edges are all new, unless there are probes.
    fn make_probes(&mut self, run: &Run) -> Result<()> {
        if self.probes.is_none() {
            run.install(|| sort_and_merge(&mut self.block))?;
            let seeded = run.with_seed(self.state.seed);
            self.probes =
                Some(Probes::smooth(self.state.n_nodes, &self.block, mix(self.state.seed ^ PROBES), &seeded)?);
        }
        Ok(())
    }

    /// Adds the new edges, at their weights in the stream, to the forms of the probes.
    fn add_to_probes(&mut self, run: &Run) {
        if let Some(probes) = &mut self.probes {
            probes.add(&self.block[self.state.n_sampled..], run);
            self.state.n_sampled = self.block.len();
        }
    }

    fn round(&self) -> Round<'_> {
        Round {
            params: &self.state.params,
            strategy: self.state.params.sampler.strategy(),
            exponent: self.state.exponent,
            sizes: self.sizes,
            n: self.state.n_nodes,
            n_edges: self.state.counts.rows - self.state.counts.dropped,
            number: self.state.counts.rounds,
        }
    }

    /// Does a round, unless the budget holds after parallel edges were merged; replaces the `bound` of the last round.
    fn thin(&mut self, bound: &mut Option<RejectionBound>, run: &Run) -> Result<()> {
        let run = run.with_seed(self.state.seed);
        let merged = run.install(|| sort_and_merge(&mut self.block));
        // Also after an error, which leaves fewer edges.
        self.state.n_sampled = self.block.len();
        merged?;
        if self.block.len() <= self.sizes.edge_budget {
            return Ok(());
        }
        // The bound is outdated, and the round needs its memory.
        *bound = None;
        let mut edges = std::mem::take(&mut self.block);
        let outcome = self.round().thin(&mut edges, &run);
        self.block = edges;
        self.state.n_sampled = self.block.len();
        let (new, findings) = outcome?;
        *bound = new;
        self.state.counts.rounds += 1;
        self.state.counts.solve_seconds += findings.solve_seconds;
        self.state.has_weak_cut |= findings.has_weak_cut;
        self.state.unconverged = Unconverged::worst(self.state.unconverged, findings.unconverged);
        Ok(())
    }

    /// The graph of edges that are sorted by their ends.
    fn graph(&self, edges: &[SampledEdge]) -> Result<Graph> {
        let n_copies = f64::from(self.sizes.n_copies);
        let weight = |edge: &SampledEdge| times_power(edge.current(n_copies), -self.state.exponent);
        Graph::from_symmetric(adjacency(self.state.n_nodes, edges.iter().map(|e| (e.u, e.v, weight(e))))?)
    }
}
