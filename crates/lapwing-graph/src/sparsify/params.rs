//! What a sparsifier is asked, and what it says afterwards.

use lapwing_data::{Error, Result, parse_choice};
use serde::{Deserialize, Serialize};

/// How the edges to be kept are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampler {
    /// By leverage, block by block: keep an edge with a probability proportional to its weight times its effective
    /// resistance. The default; safe where few edges hold parts of the graph together.
    #[default]
    Streaming,
    /// The published routine (Calandriello et al. 2015, figure 2, after Kelner & Levin 2013) with its errors mended:
    /// copies of edges, no spanning forest, no hysteresis.
    KelnerLevin,
    /// By leverage, all edges at once: they must fit in memory.
    Leverage,
    /// All edges alike: no system is solved; for dense graphs without weak cuts.
    Uniform,
    /// By weight × (1/dᵤ + 1/dᵥ), which bounds the leverage within a constant on expanders; no system is solved.
    Degree,
    /// Edge-disjoint spanning forests are kept, a quarter of the rest, and again (Koutis 2014, with forests for spanners).
    Bundle,
    /// By ridge leverage, blocks merged in pairs (Calandriello, Koutis, Lazaric & Valko 2018): for systems L + ρI.
    Ridge,
    /// By degree where a pilot finds no weak cut, else by leverage.
    Auto,
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

/// How to sparsify.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SparsifyParams {
    /// How edges are drawn; default streaming.
    pub sampler: Sampler,
    /// How many are kept; default a distortion of 0.5.
    pub budget: Budget,
    /// Edges held before they are thinned, at least twice the budget; default four times. More room means fewer rounds,
    /// less distortion and less work for each edge.
    pub capacity: Option<usize>,
    /// Random projections that resistances are estimated by, 1 to 1024; default 32. Their relative standard deviation is
    /// √(2/projections); below 24 it dominates the distortion.
    pub n_projections: usize,
    /// Probabilities are lowered only by more than this factor, at least 1; default 1.5: estimates are noisy, and a running
    /// minimum would drift down. Three quarters of capacity over budget at most count.
    pub hysteresis: f64,
    /// Relative residual of the systems solved for resistances, in (0, 1); default 1e-6. Above 1e-4 edges over weak cuts are
    /// taken for dispensable.
    pub tol: f64,
    /// ρ > 0 of the ridge sampler; default a tenth of the mean weighted degree.
    pub ridge: Option<f64>,
}

impl Default for SparsifyParams {
    fn default() -> Self {
        Self {
            sampler: Sampler::default(),
            budget: Budget::Distortion(0.5),
            capacity: None,
            n_projections: 32,
            hysteresis: 1.5,
            tol: 1e-6,
            ridge: None,
        }
    }
}

/// The result of sparsifying a stream of edges.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// What may be wrong with the result, one sentence each.
    pub warnings: Vec<String>,
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
        match self.budget {
            Budget::Distortion(d) if !(d > 0.0 && d < 10.0) => {
                return Err(Error::param("distortion", d, "above 0 and below 10"));
            }
            Budget::Edges(0) => return Err(Error::param("edge_budget", 0, "at least 1")),
            Budget::Memory(0) => return Err(Error::param("memory", 0, "at least 1 byte")),
            _ => {}
        }
        if !(1..=1024).contains(&self.n_projections) {
            return Err(Error::param("n_projections", self.n_projections, "between 1 and 1024"));
        }
        if !(self.hysteresis >= 1.0 && self.hysteresis.is_finite()) {
            return Err(Error::param("hysteresis", self.hysteresis, "at least 1"));
        }
        if !(self.tol > 0.0 && self.tol < 1.0) {
            return Err(Error::param("tol", self.tol, "above 0 and below 1"));
        }
        if let Some(ridge) = self.ridge.filter(|ridge| !(*ridge > 0.0 && ridge.is_finite())) {
            return Err(Error::param("ridge", ridge, "a positive number"));
        }
        Ok(())
    }
}

impl Sampler {
    const NAMES: [(&str, Self); 8] = [
        ("streaming", Self::Streaming),
        ("kelner-levin", Self::KelnerLevin),
        ("leverage", Self::Leverage),
        ("uniform", Self::Uniform),
        ("degree", Self::Degree),
        ("bundle", Self::Bundle),
        ("ridge", Self::Ridge),
        ("auto", Self::Auto),
    ];

    /// Names of all, as on the command line.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().map(|(name, _)| *name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, sampler)| *sampler == self).map_or("", |(name, _)| name)
    }

    /// From its name.
    ///
    /// # Errors
    /// [`Error::Param`] listing the known names.
    pub fn parse(name: &str) -> Result<Self> {
        parse_choice("sampler", name, &Self::NAMES)
    }
}
