//! Sizes and memory of a sparsifier, from its parameters.

use lapwing_core::{Edge, Error, Result};

use super::edge::{SampledEdge, adjacency_bytes};
use super::resistance::MOST_COLUMNS;
use super::samplers::Sizes;
use super::{Budget, SparsifyParams};

/// Factor on the distortion that one block leaves, for the rounds of a stream and estimated resistances: measured on streams of 6
/// and 20 blocks.
const STREAMING: f64 = 1.3;
/// Random matrices have their edge at 2√(n/q) + n/q; single spectra fluctuate around it by this factor.
const FLUCTUATION: f64 = 1.2;
/// Least edges for each node; a forest has one.
const LEAST_EDGES: f64 = 2.0;
/// Default capacity over budget.
const ROOM: usize = 4;
/// Bytes of each edge held during a round: the edge 24, matrix and its compact copy 40, marks 4.
const EDGE_BYTES: usize = 68;
/// Bytes of each node for each column of a block of systems: right-hand side, solution and the six blocks of the iteration.
const BLOCK_BYTES: usize = 64;
/// Other bytes of each node: four probes, degrees twice, sets, components, starts of rows twice.
const NODE_BYTES: usize = 80;
/// Most cells of the coarse system of a solver.
const MOST_CELLS: usize = 1024;
const FEWEST_COLUMNS: usize = 4;

/// Edges read at a time.
pub(super) const PORTION: usize = 1 << 16;
/// Most portions that wait.
pub(super) const WAITING: usize = 4;
/// Bytes of all portions: those that wait, one that is being read and one that is being added.
const AHEAD_BYTES: usize = (WAITING + 2) * PORTION * size_of::<Edge>();

/// Memory and size of a sparsifier still to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparsifyPlan {
    /// Edges that will be kept.
    pub n_kept: usize,
    /// Peak during a round.
    pub peak_bytes: usize,
}

impl SparsifyParams {
    /// Memory and size for `n_edges` edges among `n` nodes; without limits where the memory of the parameters is too small.
    #[doc(hidden)]
    pub fn plan(&self, n: usize, n_edges: usize) -> SparsifyPlan {
        let unlimited = Sizes::new(n_edges, n_edges, self.n_projections.min(MOST_COLUMNS), 1.0);
        let sizes = self.sizes(n).unwrap_or(unlimited);
        if n_edges <= sizes.edge_budget {
            // No round: the edges held, and then the matrix they make.
            let making = adjacency_bytes(n, n_edges).max(AHEAD_BYTES.min(size_of::<Edge>() * n_edges));
            return SparsifyPlan { n_kept: n_edges, peak_bytes: size_of::<SampledEdge>() * n_edges + making };
        }
        let edges = EDGE_BYTES * sizes.capacity.min(n_edges);
        SparsifyPlan { n_kept: sizes.edge_budget, peak_bytes: edges + self.node_bytes(n, sizes.columns) }
    }

    /// Bytes for `n` nodes with blocks of `columns` systems: the blocks, and for samplers that solve coordinates in single precision
    /// and a coarse system (a dense matrix, its factor and inverse).
    fn node_bytes(&self, n: usize, columns: usize) -> usize {
        let solving = if self.solves() { 4 * self.n_projections * n + 24 * n.min(MOST_CELLS).pow(2) } else { 0 };
        (BLOCK_BYTES * columns + NODE_BYTES) * n + solving
    }

    /// Whether the sampler may solve for resistances.
    pub(super) fn solves(&self) -> bool {
        self.sampler.strategy().solves
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
            Budget::Epsilon(epsilon) => {
                let budget = ((n as f64 * ((n.max(2) as f64).ln() / epsilon).powi(2)) as usize).max(least);
                (budget, self.capacity.unwrap_or(budget.saturating_mul(ROOM)))
            }
            Budget::Edges(edges) => (edges, self.capacity.unwrap_or(edges.max(least).saturating_mul(ROOM))),
            Budget::Memory(bytes) => {
                // A quarter for blocks of vectors, the rest for edges and what is kept for each node.
                let block = (bytes / 4) as usize / (BLOCK_BYTES * n.max(1));
                columns = columns.min(block).max(FEWEST_COLUMNS.min(columns));
                let other = self.node_bytes(n, columns);
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
        // The forest may come on top of the budget, and there must be room for new edges; places are numbers of 32 bits.
        let capacity = capacity.max(edge_budget.saturating_add(2 * n)).min(u32::MAX as usize);
        let hysteresis = self.hysteresis.min(0.75 * capacity as f64 / edge_budget as f64).max(1.0);
        let mut sizes = Sizes::new(edge_budget, capacity, columns, hysteresis);
        (self.sampler.strategy().adapt)(&mut sizes);
        Ok(sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sampler;
    use super::*;

    fn sizes(budget: Budget, n: usize) -> Sizes {
        SparsifyParams { budget, ..SparsifyParams::default() }.sizes(n).unwrap()
    }

    #[test]
    fn budgets_follow_the_law() {
        // The mails of the paper at its ε: 135 edges a row.
        assert_eq!(sizes(Budget::Epsilon(0.9), 34_649).edge_budget / 34_649, 134);
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
