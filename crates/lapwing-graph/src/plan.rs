//! What building a graph will need, added up from what the searches allocate.

use lapwing_data::Edge;

use crate::knn::{KnnMethod, KnnParams, memory};
use crate::learn::learn_bytes;
use crate::{GraphParams, KnnEdges};

/// Undirected edges per directed neighbour relation: 0.5 if all were mutual, 1 if none; 0.65 to 0.8 on real data.
const EDGES_PER_NEIGHBOR: f64 = 0.72;

/// Undirected edges of a learned graph per neighbour wanted: 0.5 if rows kept as many as by themselves; 0.45 to 0.65 in fact.
const LEARNED_EDGES_PER_NEIGHBOR: f64 = 0.55;

/// Memory and size of a graph still to be built; bytes are beyond the features themselves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GraphPlan {
    /// Undirected edges, estimated.
    pub n_edges: usize,
    /// Peak of the neighbour search.
    pub search_bytes: usize,
    /// Peak of weighing and symmetrising.
    pub weigh_bytes: usize,
    /// The graph itself, kernel widths included.
    pub graph_bytes: usize,
}

impl GraphParams {
    /// What a graph of `n` rows of `d` columns will need; `n_entries` are the stored entries of sparse rows.
    pub fn plan(&self, n: usize, d: usize, n_entries: Option<usize>, threads: usize) -> GraphPlan {
        let is_learned = self.weights.model().is_some();
        let k = if is_learned { self.learn.n_allowed(self.n_neighbors, n) } else { self.n_neighbors };
        let relations = n * k;
        let n_edges = match is_learned {
            true => (n as f64 * self.n_neighbors as f64 * LEARNED_EDGES_PER_NEIGHBOR) as usize,
            false => (relations as f64 * EDGES_PER_NEIGHBOR) as usize,
        };
        let width = memory::list_width(k, n);
        let result = 8 * relations;
        // Lists with locks and limits; a tile of products for each thread.
        let exact = (8 * width + 13) * n + result + threads * memory::tile_bytes(n);
        let search_bytes = match n_entries {
            // Tails, their index, and heads: 3 to 8 bytes per entry of text.
            Some(entries) => (8 + 6 + 8) * entries + 12 * n + exact,
            None if self.knn_method.choose(n, d, k) == KnnMethod::Partitions => {
                // Short rows may turn out too coarse for bytes.
                let is_rounded = memory::may_round(d) && d >= 64;
                let kept = memory::partition_width(k, memory::may_round(d), self.recall_target);
                let rows = n * if is_rounded { d + 8 } else { 4 * d + 8 };
                let places = memory::FANOUT.iter().product::<usize>();
                let memory::Degrees { forward, back } = memory::Degrees::full(k);
                // Leaves, later two snapshots of the lists; vectors grow by doubling.
                let between = (8 * places * n).max(2 * (4 * (forward + back) + 9) * n);
                let lists = (8 * kept + 1) * n;
                8 * n + lists + (rows + between).max(result) + threads * (1 << 20)
            }
            None => 4 * n * d + exact,
        };
        let matrix = graph_bytes(n, n_edges);
        if self.is_wide(n, d, n_entries.is_some()) {
            let search_bytes = KnnEdges::memory_bytes(n, d, n_entries, self, threads);
            let weigh_bytes = search_bytes + size_of::<Edge>() * n_edges + matrix;
            return GraphPlan { n_edges, search_bytes, weigh_bytes, graph_bytes: matrix + 4 * n };
        }
        if is_learned {
            let weigh_bytes = learn_bytes(n, k) + matrix;
            return GraphPlan { n_edges, search_bytes, weigh_bytes, graph_bytes: matrix };
        }
        GraphPlan { n_edges, search_bytes, weigh_bytes: 2 * result + matrix + 28 * n, graph_bytes: matrix + 4 * n }
    }
}

impl KnnParams {
    /// Peak of an exact [`query`](crate::query) of `n_new` rows among `n_train`, beyond the rows themselves; `n_entries`
    /// are the stored entries of sparse rows, old and new.
    pub fn query_bytes(
        &self,
        n_train: usize,
        n_new: usize,
        d: usize,
        n_entries: Option<usize>,
        threads: usize,
    ) -> usize {
        let lists = (8 * memory::list_width(self.n_neighbors, n_train) + 13) * n_new + 8 * self.n_neighbors * n_new;
        let rows =
            n_entries.map_or(4 * (n_train + n_new) * d, |entries| (8 + 6 + 8) * entries) + 12 * (n_train + n_new);
        rows + lists + threads * memory::tile_bytes(n_train)
    }
}

/// Bytes of a graph of `n` rows and `n_edges` undirected edges.
pub fn graph_bytes(n: usize, n_edges: usize) -> usize {
    2 * n_edges * 12 + 16 * n
}
