//! A sparsifier that edges are given to, a few at a time: what is held between rounds, and the order of rounds.
//!
//! New edges are drawn portion by portion by what the last round knows of them; what passes is held until the capacity is
//! reached and a round ([`super::round`]) is due. Cost: constant for each edge beside the rounds; 24 bytes for each edge held.
//! Draws and rounds begin at the same edge however the edges are handed over.

use std::time::Instant;

use lapwing_data::hash::mix;
use lapwing_data::{Edge, Error, Matrix, Result, Run, check_memory, memory};
use lapwing_solve::{exponent_to_one, times_power};

use super::digest;
use super::held::{Held, adjacency, sort_and_merge};
use super::params::{Budget, Sampler, Sizes};
use super::probes::{MOST_PROBES, Probes};
use super::round::{Outcome, Round};
use super::shares::Gate;
use super::{SparsifyParams, SparsifyReport};
use crate::Graph;

/// A sparsifier of a stream of edges: give it edges with [`add`](Self::add), ask for the graph so far with
/// [`snapshot`](Self::snapshot), and for the last one with [`finish`](Self::finish).
///
/// When edges are drawn depends on their number alone, so that the result does not depend on how they were portioned, nor on
/// the number of threads.
///
/// # Example
/// ```
/// use lapwing_data::{Edge, Run};
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
/// # Ok::<(), lapwing_data::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sparsifier {
    pub(super) params: SparsifyParams,
    pub(super) sizes: Sizes,
    pub(super) n: usize,
    pub(super) seed: u64,
    /// Weights and forms of the probes are stored multiplied by 2^`exponent`.
    pub(super) exponent: i32,
    pub(super) held: Vec<Held>,
    /// Leading edges of `held` that have been drawn, and that the probes have seen.
    pub(super) n_old: usize,
    /// Whether a block is full and not thinned yet, because that was interrupted.
    pub(super) is_due: bool,
    /// Merge tree of the ridge sampler: at level i what 2ⁱ blocks left.
    pub(super) levels: Vec<Vec<Held>>,
    /// Levels that have gone into the block that is due.
    pub(super) n_merged: usize,
    pub(super) probes: Option<Probes>,
    pub(super) counts: Counts,
    pub(super) worst: Option<(usize, f64)>,
    pub(super) has_weak_cut: bool,
    /// What the last round knew of edges to come.
    pub(super) gate: Option<Gate>,
    start: Instant,
}

/// What has been counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Counts {
    /// Rows given, dropped ones included.
    pub rows: u64,
    /// Of these rows: see [`super::digest`].
    #[serde(default)]
    pub digest: u64,
    pub dropped: u64,
    pub rounds: u64,
    pub peak: usize,
    pub solve_seconds: f64,
    pub seconds_before: f64,
}

/// Edges between two looks whether to stop.
const UNCHECKED: usize = 1 << 20;
/// New edges that are drawn together, at most.
const MOST_PORTION: usize = 1 << 16;
/// Bytes for each node of whatever comes out: offsets of the matrix, places to fill, degrees, components.
const NODE_BYTES: u64 = 40;
const EDGES_ADVICE: &str = "give it less memory, or keep fewer edges";
const NODES_ADVICE: &str = "number the nodes from 0 without gaps, and give no more nodes than there are";
/// Tolerance above which resistances are not to be trusted.
const MOST_TOL: f64 = 1e-4;

impl Sparsifier {
    /// A sparsifier of a graph of `n_nodes` nodes, with the seed of `run`.
    ///
    /// # Errors
    /// [`Error::Param`] for a parameter outside its range; [`Error::TooLarge`] for a memory too small for the nodes, or larger than
    /// what is free.
    pub fn new(n_nodes: usize, params: SparsifyParams, run: &Run) -> Result<Self> {
        if let Budget::Memory(bytes) = params.budget {
            check_memory("a sparsifier of the given memory", bytes, EDGES_ADVICE)?;
        }
        Self::of_seed(n_nodes, params, run.seed)
    }

    pub(super) fn of_seed(n_nodes: usize, params: SparsifyParams, seed: u64) -> Result<Self> {
        params.validate()?;
        if n_nodes > u32::MAX as usize {
            return Err(Error::param("n_samples", n_nodes, format!("at most {}", u32::MAX)));
        }
        check_memory(&format!("a sparsifier of {n_nodes} nodes"), NODE_BYTES * n_nodes as u64, NODES_ADVICE)?;
        let mut sizes = params.sizes(n_nodes)?;
        if params.sampler == Sampler::Leverage {
            sizes.capacity = u32::MAX as usize;
        }
        Ok(Self {
            params,
            sizes,
            n: n_nodes,
            seed,
            exponent: 0,
            held: Vec::new(),
            n_old: 0,
            is_due: false,
            levels: Vec::new(),
            n_merged: 0,
            probes: None,
            counts: Counts::default(),
            worst: None,
            has_weak_cut: false,
            gate: None,
            start: Instant::now(),
        })
    }

    /// Takes vectors (n, 1 to 16) whose quadratic forms are to be compared, such as indicators of clusters, instead of
    /// vectors of its own. To be called before any edge is added.
    ///
    /// # Errors
    /// [`Error::Shape`] for vectors of another size, [`Error::Value`] for values that are not finite.
    pub fn with_probes(mut self, vectors: Matrix) -> Result<Self> {
        let (rows, columns) = (vectors.n_rows(), vectors.n_cols());
        if rows != self.n || !(1..=MOST_PROBES).contains(&columns) {
            let expected = format!("{} × 1 to {MOST_PROBES}", self.n);
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
        self.n
    }

    /// Rows given so far, loops and edges of weight 0 included.
    pub fn n_rows(&self) -> u64 {
        self.counts.rows
    }

    /// Edges held, parallel ones apart.
    pub fn n_held(&self) -> usize {
        self.held.len() + self.levels.iter().map(Vec::len).sum::<usize>()
    }

    /// Times edges were thinned.
    pub fn n_rounds(&self) -> u64 {
        self.counts.rounds
    }

    /// Takes more edges. Loops and edges of weight 0 are dropped and counted; an edge that comes again counts as another.
    ///
    /// After an error the sparsifier has taken the edges before the one that is named; after an interruption those that
    /// [`n_rows`](Self::n_rows) counts, and may be given the ones after them: what was interrupted is done again.
    ///
    /// # Errors
    /// [`Error::Graph`] naming the first row with an end out of range or a weight that is negative or not finite, or an
    /// edge whose weights add up to more than double precision holds; [`Error::TooLarge`]; [`Error::Interrupted`].
    ///
    /// # Complexity
    /// O(projections) an edge, and a round of O(capacity · projections) work whenever that many are held.
    pub fn add(&mut self, edges: &[Edge], run: &Run) -> Result<()> {
        if self.is_due {
            self.end_block(run)?;
        }
        let copies = Round::trials(&self.params, self.sizes);
        let mut limit = self.limit();
        for (at, edge) in edges.iter().enumerate() {
            if at > 0 && at.is_multiple_of(UNCHECKED) {
                run.check()?;
            }
            edge.check(self.n, self.counts.rows)?;
            self.counts.digest = self.counts.digest.wrapping_add(digest::of_row(self.counts.rows, edge));
            self.counts.rows += 1;
            if edge.u == edge.v || edge.weight == 0.0 {
                self.counts.dropped += 1;
                continue;
            }
            if self.held.len() == self.held.capacity() {
                let room = self.held.len().max(1 << 12).min(self.block().saturating_sub(self.held.len()).max(1));
                memory::reserve("edges held", &mut self.held, room, EDGES_ADVICE)?;
            }
            let (u, v) = (edge.u.min(edge.v), edge.u.max(edge.v));
            let mut weight = times_power(edge.weight, self.exponent);
            if self.exponent != 0 && !weight.is_normal() {
                // No unit suits this weight and the earlier ones: go back to the weights as they came.
                self.scale(-self.exponent);
                (weight, limit) = (edge.weight, self.limit());
            }
            self.held.push(Held { u, v, weight, probability: 1.0, copies });
            if self.held.len() >= limit {
                self.admit(run);
                if self.gate.is_none() || self.held.len() + self.portion() > self.block() {
                    self.end_block(run)?;
                }
                limit = self.limit();
            }
        }
        Ok(())
    }

    /// The graph that was read so far, sparsified; the stream goes on as if nothing had been asked. Before the first round
    /// it is the graph itself.
    ///
    /// # Errors
    /// [`Error::Graph`] naming an edge or a node whose weights add up to more than double precision holds.
    ///
    /// # Complexity
    /// A sort of the edges held and a copy of them.
    pub fn snapshot(&self, run: &Run) -> Result<Graph> {
        let mut all = self.levels.concat();
        all.extend_from_slice(&self.held);
        run.install(|| {
            sort_and_merge(&mut all)?;
            self.graph(&all)
        })
    }

    /// What there is to say so far.
    pub fn report(&self, run: &Run) -> SparsifyReport {
        let parts: Vec<&[Held]> = self.levels.iter().chain([&self.held]).map(Vec::as_slice).collect();
        self.report_of(&parts, &self.held[self.n_old..], run)
    }

    /// The sparsifier of all edges, thinned to the budget a last time where more are held.
    ///
    /// # Errors
    /// As [`Sparsifier::snapshot`]; [`Error::Interrupted`].
    pub fn finish(mut self, run: &Run) -> Result<(Graph, SparsifyReport)> {
        if self.is_due {
            self.end_block(run)?;
        }
        self.center();
        self.note_new(run)?;
        for mut level in std::mem::take(&mut self.levels) {
            self.held.append(&mut level);
        }
        self.counts.peak = self.counts.peak.max(self.held.len());
        self.thin(run)?;
        let held = std::mem::take(&mut self.held);
        let mut report = self.report_of(&[&held], &[], run);
        let graph = run.install(|| self.graph(&held))?;
        report.n_kept = graph.n_edges();
        Ok((graph, report))
    }

    /// Edges of a block, those kept from before included.
    fn block(&self) -> usize {
        if self.params.sampler == Sampler::Ridge { self.sizes.capacity / 2 } else { self.sizes.capacity }
    }

    /// New edges that are drawn together.
    fn portion(&self) -> usize {
        (self.block() / 16).clamp(1, MOST_PORTION)
    }

    /// Edges held at which something has to be done.
    fn limit(&self) -> usize {
        let block = self.block();
        if self.gate.is_some() { block.min(self.n_old + self.portion()) } else { block }
    }

    /// Scales all weights by a power of two that brings the largest near 1. Does nothing where the largest is moderate, or where
    /// another weight would become subnormal.
    fn center(&mut self) {
        let weights = || self.levels.iter().flatten().chain(&self.held).map(|edge| edge.weight);
        let most = weights().fold(0.0, f64::max);
        let exponent = if most > 0.0 { exponent_to_one(most) } else { 0 };
        if exponent != 0 && weights().all(|weight| times_power(weight, exponent).is_normal()) {
            self.scale(exponent);
        }
    }

    /// Multiplies all weights by 2^`exponent`. Graphs that are returned have the original unit.
    fn scale(&mut self, exponent: i32) {
        for edge in self.levels.iter_mut().flatten().chain(&mut self.held) {
            edge.weight = times_power(edge.weight, exponent);
        }
        if let Some(probes) = &mut self.probes {
            probes.forms.iter_mut().for_each(|form| *form = times_power(*form, exponent));
        }
        // It was computed in the unit before.
        self.gate = None;
        self.exponent += exponent;
    }

    /// Lets go of new edges that the last round has shown to be dispensable.
    fn admit(&mut self, run: &Run) {
        let first = self.n_old;
        let Some(gate) = self.gate.take() else { return };
        self.counts.peak = self.counts.peak.max(self.n_held());
        self.add_to_probes(run);
        let run = run.with_seed(self.seed);
        let mut held = std::mem::take(&mut self.held);
        run.install(|| self.round().admit(&gate, &mut held, first, &run));
        self.n_old = held.len();
        (self.held, self.gate) = (held, Some(gate));
    }

    fn end_block(&mut self, run: &Run) -> Result<()> {
        self.is_due = true;
        self.center();
        self.counts.peak = self.counts.peak.max(self.n_held());
        self.note_new(run)?;
        self.thin(run)?;
        if self.params.sampler == Sampler::Ridge {
            // As a binary counter: two of a level make one of the next.
            while let Some(other) = self.levels.get_mut(self.n_merged).filter(|other| !other.is_empty()) {
                self.held.append(other);
                self.n_merged += 1;
                self.thin(run)?;
            }
            if self.n_merged == self.levels.len() {
                self.levels.push(Vec::new());
            }
            self.held.shrink_to_fit();
            self.levels[self.n_merged] = std::mem::take(&mut self.held);
            self.n_merged = 0;
        }
        self.n_old = self.held.len();
        self.is_due = false;
        Ok(())
    }

    /// Lets the probes see edges they have not seen, as they came.
    fn note_new(&mut self, run: &Run) -> Result<()> {
        if self.probes.is_none() && (self.is_due || self.held.len() > self.sizes.edge_budget) {
            // The first block: all of it is new.
            run.install(|| sort_and_merge(&mut self.held))?;
            let run = run.with_seed(self.seed);
            self.probes = Some(Probes::smooth(self.n, &self.held, mix(self.seed ^ PROBES), &run)?);
        }
        self.add_to_probes(run);
        Ok(())
    }

    fn add_to_probes(&mut self, run: &Run) {
        let Self { probes, held, n_old, .. } = self;
        if let Some(probes) = probes {
            probes.add(&held[*n_old..], run);
            *n_old = held.len();
        }
    }

    fn round(&self) -> Round<'_> {
        Round {
            params: &self.params,
            exponent: self.exponent,
            sizes: self.sizes,
            n: self.n,
            n_edges: self.counts.rows - self.counts.dropped,
            number: self.counts.rounds,
        }
    }

    /// A round, unless the budget holds once parallel edges are one.
    fn thin(&mut self, run: &Run) -> Result<()> {
        let run = run.with_seed(self.seed);
        run.install(|| sort_and_merge(&mut self.held))?;
        self.n_old = self.held.len();
        if self.held.len() <= self.sizes.edge_budget {
            return Ok(());
        }
        // Its room is needed, and what it knows is outdated.
        self.gate = None;
        let mut held = std::mem::take(&mut self.held);
        let outcome = self.round().thin(&mut held, &run);
        self.held = held;
        self.n_old = self.held.len();
        let Outcome { gate, solve_seconds, worst, has_weak_cut } = outcome?;
        self.gate = gate;
        self.counts.rounds += 1;
        self.counts.solve_seconds += solve_seconds;
        self.has_weak_cut |= has_weak_cut;
        if let Some((_, residual)) = worst
            && self.worst.is_none_or(|(_, before)| residual > before)
        {
            self.worst = worst;
        }
        Ok(())
    }

    /// The graph of edges in the order of their ends.
    fn graph(&self, edges: &[Held]) -> Result<Graph> {
        let trials = f64::from(Round::trials(&self.params, self.sizes));
        let weight = |edge: &Held| times_power(edge.current(trials), -self.exponent);
        Graph::from_symmetric(adjacency(self.n, edges.iter().map(|e| (e.u, e.v, weight(e))))?)
    }

    /// Seconds since it was made, those of the processes before this one included.
    pub(super) fn seconds(&self) -> f64 {
        self.counts.seconds_before + self.start.elapsed().as_secs_f64()
    }

    fn report_of(&self, parts: &[&[Held]], new: &[Held], run: &Run) -> SparsifyReport {
        let n_held = parts.iter().map(|edges| edges.len()).sum();
        let Counts { rows, dropped, rounds, peak, solve_seconds, .. } = self.counts;
        let trials = f64::from(Round::trials(&self.params, self.sizes));
        let is_thinned = rounds > 0;
        let probes = self.probes.as_ref().filter(|_| is_thinned);
        let ratios = probes.and_then(|probes| probes.ratios(parts, new, |edge| edge.current(trials), run));
        let is_compared = probes.is_none() || ratios.is_some();
        SparsifyReport {
            sampler: match self.params.sampler {
                Sampler::Auto if self.has_weak_cut => Sampler::Streaming,
                Sampler::Auto => Sampler::Degree,
                sampler => sampler,
            }
            .name()
            .into(),
            n_nodes: self.n,
            n_edges: rows - dropped,
            n_dropped: dropped,
            n_kept: n_held,
            edge_budget: self.sizes.edge_budget,
            capacity: self.sizes.capacity,
            peak_edges: peak.max(n_held),
            rounds,
            solve_seconds,
            seconds: self.seconds(),
            probe_ratios: ratios,
            n_probes: probes.map_or(0, |probes| probes.forms.len()),
            warnings: self.warnings(is_thinned, is_compared),
        }
    }

    fn warnings(&self, is_thinned: bool, is_compared: bool) -> Vec<String> {
        let mut warnings = Vec::new();
        if is_thinned && self.params.solves() && self.params.tol > MOST_TOL {
            warnings.push(format!(
                "resistances were solved to {:.0e} only: edges over weak cuts may have been taken for dispensable; use a \
                 tol of at most {MOST_TOL:.0e}",
                self.params.tol
            ));
        }
        if let Some((iterations, residual)) = self.worst {
            warnings.push(format!(
                "a system for resistances stopped after {iterations} iterations at relative residual {residual:.1e}, above \
                 tol {:.1e}: the probabilities of edges are less exact than asked",
                self.params.tol
            ));
        }
        if !is_compared {
            let words = "the sparse graph could not be compared with the input graph: the quadratic forms of all probe \
                         vectors are 0 or overflow";
            warnings.push(words.into());
        }
        warnings
    }
}

/// Sets the signs of the probes apart from those of the rounds.
const PROBES: u64 = 0x7072_6F62_6573;
