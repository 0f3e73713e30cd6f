//! The samplers: what each needs, the probability with which it keeps an edge in a round, and what it does between rounds.

use lapwing_core::{Result, Run};
use lapwing_solve::times_power;

use super::Sampler;
use super::edge::SampledEdge;
use super::forest::max_spanning_forest;
use super::resistance::Projections;
use super::round::{Findings, Round};
use super::scores::{ALL_EDGES, Network, PILOT_PART, Scores};
use super::sizes::Sizes;

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
/// Probability with which edges outside the bundle are kept.
const OUTSIDE: f32 = 0.25;
/// Most turns of a round with bundles.
const MOST_TURNS: u64 = 64;

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

impl Round<'_> {
    /// Thins `edges` by bundles, which are edge-disjoint spanning forests.
    pub(super) fn sample_by_bundles(&self, edges: &mut Vec<SampledEdge>, run: &Run) -> Result<()> {
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
