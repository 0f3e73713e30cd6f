//! What a sparsifier is asked, and what it says afterwards.

use lapwing_data::params::{
    Domain, Number, Parameter, ParameterType, Parameters, Value, above, at_least, mismatch, unknown,
};
use lapwing_data::{Edge, Error, Result, choices, parameters};
use serde::{Deserialize, Serialize};

use super::held::{Held, adjacency_bytes};
use super::read::AHEAD_BYTES;

choices! {
    /// How the edges of a sparsifier are drawn.
    pub enum Sampler("sampler", default Streaming) {
        /// By leverage score, block by block: an edge is kept with a probability proportional to its weight times its
        /// effective resistance. Safe where few edges hold parts of the graph together.
        Streaming = "streaming",
        /// The published routine (Calandriello et al. 2015, figure 2, after Kelner & Levin 2013) with its errors mended:
        /// copies of edges, no spanning forest, no hysteresis.
        KelnerLevin = "kelner-levin",
        /// By leverage score, all edges at once: they must fit in memory.
        Leverage = "leverage",
        /// All edges alike: no system is solved; for dense graphs without weak cuts.
        Uniform = "uniform",
        /// By weight × (1/dᵤ + 1/dᵥ), which bounds the leverage score within a constant on expanders; no system is solved.
        Degree = "degree",
        /// Edge-disjoint spanning forests are kept, a quarter of the rest, and again (Koutis 2014, with forests for
        /// spanners).
        Bundle = "bundle",
        /// By ridge leverage score, blocks merged in pairs (Calandriello, Koutis, Lazaric & Valko 2018): for systems L + ρI.
        Ridge = "ridge",
        /// By degree where a pilot finds no weak cut, else by leverage score.
        Auto = "auto",
    }
}

/// How many edges to keep.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Budget {
    /// As many as it takes for xᵀL_Hx within (1 ± ε)·xᵀL_Gx, ε in (0, 10), as far as measurements tell.
    Distortion(f64),
    /// So many edges in the mean.
    Edges(usize),
    /// As many as can be worked with in so many bytes.
    Memory(u64),
}

parameters! {
    /// How to sparsify.
    pub struct SparsifyParams {
        /// How edges are drawn.
        sampler: Sampler = Sampler::Streaming;
        /// Edges held before they are thinned. At least twice those kept; auto is four times. More room means fewer rounds, less
        /// distortion and less work for each edge.
        capacity: Option<usize> = None, or "auto", in at_least(0.0);
        /// Random projections that estimate resistances. Their relative standard deviation is √(2/projections); below 24
        /// projections it dominates the distortion.
        n_projections: usize = 32, in at_least(1.0).at_most(1024.0);
        /// ρ, added to the diagonal of the Laplacian by the ridge sampler. Auto is a tenth of the mean weighted degree.
        ridge: Option<f64> = None, or "auto", in above(0.0), if [sampler: "ridge"];
    }
    parts {
        /// How many edges are kept; default a distortion of 0.5.
        budget: Budget,
    }
    extra {
        /// Probabilities are lowered only by more than this factor, at least 1; default 1.5: estimates are noisy, and a running
        /// minimum would drift down. At most three quarters of capacity over budget count.
        hysteresis: f64 = 1.5,
        /// Relative residual of the systems solved for resistances, in (0, 1); default 1e-6. Above 1e-4 edges over weak cuts are
        /// taken for dispensable.
        tol: f64 = 1e-6,
    }
}

/// Distortion where no budget is given.
const TYPICAL_DISTORTION: f64 = 0.5;

impl Default for Budget {
    fn default() -> Self {
        Self::Distortion(TYPICAL_DISTORTION)
    }
}

/// A budget is one of three parameters, which exclude each other.
const BUDGETS: [&str; 3] = ["distortion", "edge_budget", "memory"];

impl Parameters for Budget {
    fn list(&self) -> Vec<Parameter> {
        let of = |name, doc: &str, number, range, excludes| Parameter {
            name,
            doc: doc.into(),
            domain: Domain::of_number(number).within(range).or_words(&["none"]),
            default: Value::Word("none".into()),
            cases: Vec::new(),
            excludes,
        };
        let distortion = "Keep as many edges as it takes for xᵀLx within a factor 1 ± this of what it was, as far as \
                          measurements tell. 0.5 where no budget is given.";
        let memory = "Keep as many edges as can be worked with in so many bytes.";
        vec![
            of(BUDGETS[0], distortion, Number::Real, above(0.0).below(10.0), &["edge_budget", "memory"]),
            of(BUDGETS[1], "Keep about so many edges.", Number::Count, at_least(1.0), &["distortion", "memory"]),
            of(BUDGETS[2], memory, Number::Bytes, at_least(1.0), &["distortion", "edge_budget"]),
        ]
    }

    fn get(&self, name: &str) -> Option<Value> {
        let given = match self {
            Self::Distortion(distortion) => (BUDGETS[0], Value::Real(*distortion)),
            Self::Edges(edges) => (BUDGETS[1], Value::Count(*edges as u64)),
            Self::Memory(bytes) => (BUDGETS[2], Value::Count(*bytes)),
        };
        BUDGETS.contains(&name).then(|| if name == given.0 { given.1 } else { Value::Word("none".into()) })
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<()> {
        let none = Value::Word("none".into());
        if *value == Value::None || *value == none {
            // The budget of that name is taken back.
            if self.get(name).is_some_and(|given| given != none) {
                *self = Self::default();
            }
            return Ok(());
        }
        let given = match name {
            "distortion" => f64::from_value(value).map(Self::Distortion),
            "edge_budget" => usize::from_value(value).map(Self::Edges),
            "memory" => u64::from_value(value).map(Self::Memory),
            _ => return Err(unknown(name, BUDGETS.into_iter())),
        };
        *self = given.ok_or_else(|| mismatch(self, name, value))?;
        Ok(())
    }
}

/// What became of a stream of edges.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SparsifyReport {
    /// Sampler, as on the command line; what auto took.
    pub sampler: String,
    /// Nodes.
    pub n_nodes: usize,
    /// Edges read, loops and edges of weight 0 left out.
    pub n_edges: u64,
    /// Loops and edges of weight 0.
    pub n_dropped: u64,
    /// Edges kept, parallel ones counted once.
    pub n_kept: usize,
    /// Edges aimed at.
    pub edge_budget: usize,
    /// Edges held before they were thinned.
    pub capacity: usize,
    /// Most edges ever held.
    pub peak_edges: usize,
    /// Times the edges were thinned.
    pub rounds: u64,
    /// Seconds spent on systems for resistances.
    pub solve_seconds: f64,
    /// Seconds of the whole, reading included.
    pub seconds: f64,
    /// Least and largest xᵀL_Hx / xᵀL_Gx over the probes; none where nothing was thinned.
    pub probe_ratios: Option<[f64; 2]>,
    /// Probes.
    pub n_probes: usize,
    /// Things to look at.
    pub warnings: Vec<String>,
}

impl SparsifyReport {
    /// Edges kept over edges read.
    pub fn kept_share(&self) -> f64 {
        self.n_kept as f64 / self.n_edges.max(1) as f64
    }
}

/// Share of the distortion that one block leaves, for the rounds of a stream and estimated resistances: measured on streams of
/// 6 and 20 blocks.
const STREAMING: f64 = 1.3;
/// Random matrices have their edge at 2√(n/q) + n/q; single spectra fluctuate around it.
const FLUCTUATION: f64 = 1.2;
/// Least edges for each node; forests have one.
const LEAST_EDGES: f64 = 2.0;
/// Default capacity over budget.
const ROOM: usize = 4;
/// Bytes for each edge held while it is thinned: itself 24, matrix and its compact copy 40, marks 4.
pub(super) const EDGE_BYTES: usize = 68;
/// Bytes for each node and column of a block of systems: right-hand side, solution and the six blocks of the iteration.
pub(super) const BLOCK_BYTES: usize = 64;
/// Bytes for each node besides: four probes, degrees twice, sets, components, starts of rows twice.
const NODE_BYTES: usize = 80;
/// Cells of a coarse system at most.
const MOST_CELLS: usize = 1024;
/// Columns solved for at a time, unless memory is scarce.
pub(super) const MOST_COLUMNS: usize = 32;
const FEWEST_COLUMNS: usize = 4;

/// Memory and size of a sparsifier still to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparsifyPlan {
    /// Edges that will be kept.
    pub n_kept: usize,
    /// Peak while edges are thinned.
    pub peak_bytes: usize,
}

/// Sizes that follow from a budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sizes {
    pub edge_budget: usize,
    pub capacity: usize,
    /// Columns solved for at a time.
    pub columns: usize,
    /// Factor by which probabilities are lowered at least: rounds must make room.
    pub hysteresis: f64,
}

impl SparsifyParams {
    /// Whether rounds bound the shares of edges to come.
    pub(super) fn has_gate(&self) -> bool {
        matches!(self.sampler, Sampler::Streaming | Sampler::Uniform | Sampler::Degree | Sampler::Auto)
    }

    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first one outside.
    pub fn validate(&self) -> Result<()> {
        self.check_ranges()?;
        if !(self.hysteresis >= 1.0 && self.hysteresis.is_finite()) {
            return Err(Error::param("hysteresis", self.hysteresis, "at least 1"));
        }
        if !(self.tol > 0.0 && self.tol < 1.0) {
            return Err(Error::param("tol", self.tol, "above 0 and below 1"));
        }
        Ok(())
    }

    /// What sparsifying `n_edges` edges among `n` nodes will need; where that cannot be done, as if without a limit.
    pub fn plan(&self, n: usize, n_edges: usize) -> SparsifyPlan {
        let unlimited = Sizes {
            edge_budget: n_edges,
            capacity: n_edges,
            columns: self.n_projections.min(MOST_COLUMNS),
            hysteresis: 1.0,
        };
        let sizes = self.sizes(n).unwrap_or(unlimited);
        if n_edges <= sizes.edge_budget {
            // Never thinned: the edges that are held, and then the matrix they make.
            let making = adjacency_bytes(n, n_edges).max(AHEAD_BYTES.min(size_of::<Edge>() * n_edges));
            return SparsifyPlan { n_kept: n_edges, peak_bytes: size_of::<Held>() * n_edges + making };
        }
        let held = if self.sampler == Sampler::Leverage { n_edges } else { sizes.capacity.min(n_edges) };
        let nodes = (BLOCK_BYTES * sizes.columns + self.node_bytes()) * n + self.coarse_bytes(n);
        SparsifyPlan { n_kept: sizes.edge_budget, peak_bytes: EDGE_BYTES * held + nodes }
    }

    /// Bytes for each node besides blocks of systems: the place of a node among resistances in single precision, and more.
    fn node_bytes(&self) -> usize {
        NODE_BYTES + if self.solves() { 4 * self.n_projections } else { 0 }
    }

    /// Whether resistances may be asked for.
    pub(super) fn solves(&self) -> bool {
        !matches!(self.sampler, Sampler::Uniform | Sampler::Degree | Sampler::Bundle)
    }

    /// What a coarse system on cells of the graph takes, for samplers that solve: a dense matrix, its factor and inverse.
    fn coarse_bytes(&self, n: usize) -> usize {
        if self.solves() { 24 * n.min(MOST_CELLS).pow(2) } else { 0 }
    }

    /// Edges to keep and to hold among `n` nodes.
    ///
    /// # Errors
    /// [`Error::Param`] for a capacity below twice the budget, [`Error::TooLarge`] for a memory that cannot hold a forest.
    pub(super) fn sizes(&self, n: usize) -> Result<Sizes> {
        let least = ((LEAST_EDGES * n as f64) as usize).max(16);
        let mut columns = self.n_projections.min(MOST_COLUMNS);
        let (edge_budget, capacity) = match self.budget {
            Budget::Distortion(distortion) => {
                // ε = a·(2x + x²), x = √(n/q).
                let x = (1.0 + distortion / (STREAMING * FLUCTUATION)).sqrt() - 1.0;
                let budget = ((n as f64 / (x * x)) as usize).max(least);
                (budget, self.capacity.unwrap_or(budget.saturating_mul(ROOM)))
            }
            Budget::Edges(edges) => (edges, self.capacity.unwrap_or(edges.max(least).saturating_mul(ROOM))),
            Budget::Memory(bytes) => {
                // A quarter for blocks of vectors, the rest for edges and what is kept for each node.
                let block = (bytes / 4) as usize / (BLOCK_BYTES * n.max(1));
                columns = columns.min(block).max(FEWEST_COLUMNS.min(columns));
                let other = (BLOCK_BYTES * columns + self.node_bytes()) * n + self.coarse_bytes(n);
                let fits = (bytes as usize).saturating_sub(other) / EDGE_BYTES;
                let capacity = self.capacity.map_or(fits, |capacity| capacity.min(fits));
                if capacity < ROOM * least {
                    let bytes_needed = (other + EDGE_BYTES * ROOM * least) as u64;
                    let what = format!("sparsifying a graph of {n} nodes");
                    return Err(Error::too_large(what, bytes_needed, bytes, "allow more memory"));
                }
                (capacity / ROOM, capacity)
            }
        };
        if capacity < edge_budget.saturating_mul(2) {
            let expected = format!("at least {}, twice the edges to be kept", edge_budget.saturating_mul(2));
            return Err(Error::param("capacity", capacity, expected));
        }
        // A forest may come on top of the budget, and there must be room for new edges; places are 32 bits wide.
        let capacity = capacity.max(edge_budget.saturating_add(2 * n)).min(u32::MAX as usize);
        let hysteresis = self.hysteresis.min(0.75 * capacity as f64 / edge_budget as f64).max(1.0);
        Ok(Sizes { edge_budget, capacity, columns, hysteresis })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(budget: Budget, n: usize) -> Sizes {
        SparsifyParams { budget, ..SparsifyParams::default() }.sizes(n).unwrap()
    }

    #[test]
    fn budgets_follow_the_law() {
        let of = |distortion| sizes(Budget::Distortion(distortion), 1000).edge_budget;
        // 20 edges a node gave distortions of .56 to .72, 40 gave .31 to .46.
        assert!((18_000..25_000).contains(&of(0.72)), "{}", of(0.72));
        assert!((38_000..55_000).contains(&of(0.5)), "{}", of(0.5));
        assert_eq!(sizes(Budget::Edges(7000), 1000).capacity, 28_000);
        let within = sizes(Budget::Memory(64 << 20), 10_000);
        assert!(within.capacity * EDGE_BYTES < 64 << 20 && within.capacity >= 4 * within.edge_budget);
    }

    #[test]
    fn parameters_outside_their_range_are_named() {
        let text = |params: SparsifyParams| {
            params.validate().and_then(|()| params.sizes(100).map(drop)).unwrap_err().to_string()
        };
        let budget = |budget| SparsifyParams { budget, ..SparsifyParams::default() };
        assert!(text(budget(Budget::Distortion(0.0))).contains("distortion is 0"));
        assert!(text(budget(Budget::Edges(0))).contains("edge_budget is 0"));
        assert!(text(budget(Budget::Memory(1000))).contains("needs"));
        assert!(text(SparsifyParams { capacity: Some(10), ..budget(Budget::Edges(10)) }).contains("capacity is 10"));
        assert!(text(SparsifyParams { hysteresis: 0.5, ..SparsifyParams::default() }).contains("hysteresis"));
        assert!(text(SparsifyParams { ridge: Some(f64::NAN), ..SparsifyParams::default() }).contains("ridge"));
        assert!(Sampler::parse("greedy").unwrap_err().to_string().contains("kelner-levin"));
    }
}
