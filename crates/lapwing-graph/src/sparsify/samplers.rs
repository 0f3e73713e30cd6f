//! The samplers: what each needs, the probability with which it keeps an edge in a round, and what it does between rounds.

use lapwing_core::hash::mix;
use lapwing_core::{Result, Run};
use lapwing_solve::times_power;

use super::resistance::Projections;
use super::scores::{ALL_EDGES, Findings, Network, PILOT_PART, Scores};
use super::{Sampler, SparsifyParams};

/// Sizes that follow from the parameters and the number of nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sizes {
    pub edge_budget: usize,
    pub capacity: usize,
    /// Edges of a block: a round is due when so many are held, those kept from earlier rounds included.
    pub block: usize,
    /// Columns solved for at a time.
    pub columns: usize,
    /// Copies every edge starts with.
    pub n_copies: u32,
    /// Copies kept of all edges together, in the mean, over the copies one edge starts with.
    pub kept_copies: f64,
    /// Least factor by which probabilities are lowered; small enough that a round makes room.
    pub hysteresis: f64,
}

impl Sizes {
    /// Sizes of a budget and a capacity before the sampler changes them.
    pub fn new(edge_budget: usize, capacity: usize, columns: usize, hysteresis: f64) -> Self {
        let kept_copies = edge_budget as f64;
        Self { edge_budget, capacity, block: capacity, columns, n_copies: 1, kept_copies, hysteresis }
    }
}

/// Inputs of a round besides the edges.
pub(super) struct Round<'a> {
    pub params: &'a SparsifyParams,
    pub strategy: &'static Strategy,
    /// Weights are stored multiplied by 2^`exponent`.
    pub exponent: i32,
    pub sizes: Sizes,
    pub n: usize,
    /// Edges read so far.
    pub n_edges: u64,
    /// Number of the round, from 0.
    pub number: u64,
}

impl Round<'_> {
    /// Projections of the resistances of this round, without a ridge.
    pub fn projections(&self, network: &Network<'_>) -> Projections {
        Projections {
            n_projections: self.params.n_projections,
            columns: self.sizes.columns,
            tol: self.params.tol,
            ridge: 0.0,
            key: mix(network.key),
        }
    }
}

/// What distinguishes a sampler from the others.
pub(super) struct Strategy {
    /// Whether it may solve for resistances, which takes time and memory.
    pub solves: bool,
    /// Whether the scores of a round bound those of later edges, which are then sampled before they are held.
    pub bounds_later_edges: bool,
    /// Whether a spanning forest of largest weight is always kept.
    pub keeps_forest: bool,
    /// Whether a thinned block waits for a second one, the two are thinned to one of the next level, and so on.
    pub merges_blocks: bool,
    /// Changes the sizes that follow from the budget.
    pub adapt: fn(&mut Sizes),
    pub rule: Rule,
}

/// Probability with which an edge is kept in a round.
pub(super) enum Rule {
    /// Proportional to its score ([`super::scores`]).
    Scores(fn(&Round<'_>, &Network<'_>, &mut Findings, &Run) -> Result<Scores>),
    /// 1 for edges of a bundle of spanning forests, a quarter for the others; in several turns, until the budget holds.
    Bundles,
}

const STREAMING: Strategy = Strategy {
    solves: true,
    bounds_later_edges: true,
    keeps_forest: true,
    merges_blocks: false,
    adapt: |_| {},
    rule: Rule::Scores(|round, network, findings, run| {
        network.leverage(&round.projections(network), PILOT_PART, findings, run)
    }),
};

/// All edges are held.
const LEVERAGE: Strategy = Strategy {
    bounds_later_edges: false,
    adapt: |sizes| (sizes.capacity, sizes.block) = (u32::MAX as usize, u32::MAX as usize),
    rule: Rule::Scores(|round, network, findings, run| {
        network.leverage(&round.projections(network), ALL_EDGES, findings, run)
    }),
    ..STREAMING
};

/// Every edge starts with as many copies as edges are to be kept, and each copy is kept with probability score/total.
const KELNER_LEVIN: Strategy = Strategy {
    keeps_forest: false,
    adapt: |sizes| {
        sizes.n_copies = sizes.edge_budget.min(u32::MAX as usize) as u32;
        (sizes.kept_copies, sizes.hysteresis) = (1.0, 1.0);
    },
    ..LEVERAGE
};

const RIDGE: Strategy = Strategy {
    bounds_later_edges: false,
    merges_blocks: true,
    adapt: |sizes| sizes.block = sizes.capacity / 2,
    rule: Rule::Scores(|round, network, findings, run| {
        let given = round.params.ridge.map(|ridge| times_power(ridge, round.exponent));
        let ridge = given.unwrap_or(RIDGE_PART * network.mean_degree);
        network.leverage(&Projections { ridge, ..round.projections(network) }, PILOT_PART, findings, run)
    }),
    ..STREAMING
};

const UNIFORM: Strategy =
    Strategy { solves: false, rule: Rule::Scores(|round, _, _, _| Ok(Scores::uniform(round.n_edges))), ..STREAMING };

const DEGREE: Strategy =
    Strategy { solves: false, rule: Rule::Scores(|_, network, _, _| Ok(network.degree())), ..STREAMING };

const AUTO: Strategy = Strategy {
    rule: Rule::Scores(|round, network, findings, run| {
        let projections = round.projections(network);
        let by_degree = network.degree_unless_weak(&projections, run)?;
        findings.has_weak_cut = by_degree.is_none();
        by_degree.map_or_else(|| network.leverage(&projections, PILOT_PART, findings, run), Ok)
    }),
    ..STREAMING
};

const BUNDLE: Strategy = Strategy { solves: false, bounds_later_edges: false, rule: Rule::Bundles, ..STREAMING };

/// Default ridge in units of the mean weighted degree.
const RIDGE_PART: f64 = 0.1;
impl Sampler {
    pub(super) fn strategy(self) -> &'static Strategy {
        match self {
            Self::Streaming => &STREAMING,
            Self::KelnerLevin => &KELNER_LEVIN,
            Self::Leverage => &LEVERAGE,
            Self::Uniform => &UNIFORM,
            Self::Degree => &DEGREE,
            Self::Bundle => &BUNDLE,
            Self::Ridge => &RIDGE,
            Self::Auto => &AUTO,
        }
    }
}
