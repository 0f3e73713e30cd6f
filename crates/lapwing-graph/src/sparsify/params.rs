//! Parameters and report of a sparsifier.

use lapwing_core::params::{
    Domain, Number, Parameter, ParameterType, Parameters, Value, above, at_least, mismatch, unknown,
};
use lapwing_core::{Error, Result, Warning, choices, parameters};
use serde::{Deserialize, Serialize};

choices! {
    /// How the edges of a sparsifier are drawn.
    pub enum Sampler("sampler", default Streaming) {
        /// By leverage score, block by block: an edge is kept with a probability proportional to its weight times its
        /// effective resistance. Safe where few edges hold parts of the graph together.
        Streaming = "streaming",
        /// The published routine (Calandriello et al. 2015, figure 2, after Kelner & Levin 2013) with its errors corrected:
        /// copies of edges, no spanning forest, no hysteresis.
        KelnerLevin = "kelner-levin",
        /// By leverage score, all edges at once: they must fit in memory.
        Leverage = "leverage",
        /// Every edge with the same probability: no system is solved; for dense graphs without weak cuts.
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
#[non_exhaustive]
pub enum Budget {
    /// So many that xᵀL_Hx is within (1 ± ε)·xᵀL_Gx, ε in (0, 10), by a law from measurements.
    Distortion(f64),
    /// n·ln²n/ε² of n nodes, ε in (0, 1): the published size (Calandriello et al. 2015).
    Epsilon(f64),
    /// This number of edges in the mean.
    Edges(usize),
    /// So many that the sparsifier fits in this number of bytes.
    Memory(u64),
}

parameters! {
    /// How to sparsify.
    pub struct SparsifyParams {
        /// How edges are drawn.
        sampler: Sampler = Sampler::Streaming;
        /// Edges held before they are thinned, at least twice those kept. Auto is four times those kept. More room means fewer
        /// rounds, less distortion and less work for each edge.
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
        /// Relative residual of the systems solved for resistances, in (0, 1); default 1e-6. Above 1e-4, resistances over weak cuts
        /// come out too small, and their edges may be dropped.
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

/// A budget is one of four parameters, which exclude each other.
const BUDGETS: [&str; 4] = ["distortion", "epsilon", "edge_budget", "memory"];

impl Parameters for Budget {
    fn list(&self) -> Vec<Parameter> {
        let of = |name, doc: &str, number, range, excludes| Parameter {
            name,
            doc: doc.into(),
            domain: Domain::from_number(number).within(range).or_words(&["none"]),
            default: Value::Word("none".into()),
            cases: Vec::new(),
            excludes,
        };
        let distortion = "Keep as many edges as it takes for xᵀLx within a factor 1 ± this of what it was, as far as \
                          measurements tell. 0.5 where no budget is given.";
        let epsilon = "Keep n·ln²n/ε² edges of n nodes: the size for which a distortion of ε is proved, up to a constant. It is \
                       far more than the distortion takes (Calandriello et al. 2015), and often more than there are.";
        let edges = "Number of copies of edges to keep, about. An important edge has several copies and counts once among \
                     the edges kept, so these are fewer.";
        let memory = "Keep as many edges as can be worked with in so many bytes.";
        vec![
            of(BUDGETS[0], distortion, Number::Real, above(0.0).below(10.0), &["epsilon", "edge_budget", "memory"]),
            of(BUDGETS[1], epsilon, Number::Real, above(0.0).below(1.0), &["distortion", "edge_budget", "memory"]),
            of(BUDGETS[2], edges, Number::Count, at_least(1.0), &["distortion", "epsilon", "memory"]),
            of(BUDGETS[3], memory, Number::Bytes, at_least(1.0), &["distortion", "epsilon", "edge_budget"]),
        ]
    }

    fn get(&self, name: &str) -> Option<Value> {
        let given = match self {
            Self::Distortion(distortion) => (BUDGETS[0], Value::Real(*distortion)),
            Self::Epsilon(epsilon) => (BUDGETS[1], Value::Real(*epsilon)),
            Self::Edges(edges) => (BUDGETS[2], Value::Count(*edges as u64)),
            Self::Memory(bytes) => (BUDGETS[3], Value::Count(*bytes)),
        };
        // No budget counts as given if it is the default.
        let is_given = name == given.0 && *self != Self::default();
        BUDGETS.contains(&name).then(|| if is_given { given.1 } else { Value::Word("none".into()) })
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<()> {
        let none = Value::Word("none".into());
        if *value == Value::None || *value == none {
            // Setting a budget to none restores the default.
            if self.get(name).is_some_and(|given| given != none) {
                *self = Self::default();
            }
            return Ok(());
        }
        let given = match name {
            "distortion" => f64::from_value(value).map(Self::Distortion),
            "epsilon" => f64::from_value(value).map(Self::Epsilon),
            "edge_budget" => usize::from_value(value).map(Self::Edges),
            "memory" => u64::from_value(value).map(Self::Memory),
            _ => return Err(unknown(name, BUDGETS.into_iter())),
        };
        *self = given.ok_or_else(|| mismatch(self, name, value))?;
        Ok(())
    }
}

/// The result of sparsifying a stream of edges.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SparsifyReport {
    /// Sampler, as on the command line; for auto the one it chose.
    pub sampler: String,
    /// Nodes.
    pub n_nodes: usize,
    /// Edges read, loops and edges of weight 0 left out.
    pub n_edges: u64,
    /// Loops and edges of weight 0.
    pub n_dropped: u64,
    /// Edges kept, parallel ones counted once.
    pub n_kept: usize,
    /// The budget: edges to keep in the mean.
    pub edge_budget: usize,
    /// Edges held at which they are thinned.
    pub capacity: usize,
    /// Most edges ever held.
    pub peak_edges: usize,
    /// Rounds of thinning.
    pub rounds: u64,
    /// Seconds spent on Laplacian systems.
    pub solve_seconds: f64,
    /// Seconds in all, reading included.
    pub seconds: f64,
    /// Least and largest xᵀL_Hx / xᵀL_Gx over the probes x; none before the first round.
    pub probe_ratios: Option<[f64; 2]>,
    /// Number of probes.
    pub n_probes: usize,
    /// Warnings about the result.
    #[serde(skip_deserializing)]
    pub warnings: Vec<Warning>,
}

impl SparsifyReport {
    /// Edges kept over edges read.
    pub fn kept_share(&self) -> f64 {
        self.n_kept as f64 / self.n_edges.max(1) as f64
    }
}

impl SparsifyParams {
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
}
