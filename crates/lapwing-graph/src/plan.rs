//! Memory and size of a graph still to be built, added up from the allocations of the searches.

use lapwing_core::Edge;

use crate::knn::exact::thresholds::tile_rows;
use crate::knn::{KnnMethod, KnnParams, memory};
use crate::knn_edges::{BATCH_PAIRS, is_held};
use crate::learn::learn_bytes;
use crate::{GraphParams, KnnEdges};

/// Undirected edges per neighbor: 0.5 if all are mutual, 1 if none is; 0.65 to 0.8 on real data.
const EDGES_PER_NEIGHBOR: f64 = 0.72;

/// Undirected edges of a learned graph per requested neighbor: 0.5 if rows keep as many as when solved by themselves; 0.45 to 0.65
/// on real data.
const LEARNED_EDGES_PER_NEIGHBOR: f64 = 0.55;

/// Memory and size of a graph still to be built; bytes are beyond the features themselves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GraphPlan {
    /// Undirected edges, estimated.
    pub n_edges: usize,
    /// Peak of the neighbor search.
    pub search_bytes: usize,
    /// Peak of weighing and symmetrizing.
    pub weigh_bytes: usize,
    /// The graph itself, kernel widths included.
    pub graph_bytes: usize,
}

impl GraphParams {
    /// Memory and size of the graph of `n` rows of `d` columns; `n_entries` are the stored entries of sparse rows.
    #[doc(hidden)]
    pub fn plan(&self, n: usize, d: usize, n_entries: Option<usize>, threads: usize) -> GraphPlan {
        let is_learned = self.weights.model().is_some();
        let k = if is_learned { self.learn.n_allowed(self.n_neighbors, n) } else { self.n_neighbors };
        // Indices and distances.
        let result = 8 * n * k;
        let n_edges = match is_learned {
            true => (n as f64 * self.n_neighbors as f64 * LEARNED_EDGES_PER_NEIGHBOR) as usize,
            false => ((n * k) as f64 * EDGES_PER_NEIGHBOR) as usize,
        };
        let graph_bytes = graph_bytes(n, n_edges);
        if self.is_wide(n, d, n_entries.is_some()) {
            let search_bytes = KnnEdges::memory_bytes(n, d, n_entries, self, threads);
            let weigh_bytes = search_bytes + size_of::<Edge>() * n_edges + graph_bytes;
            return GraphPlan { n_edges, search_bytes, weigh_bytes, graph_bytes: graph_bytes + 4 * n };
        }
        let method = self.search_method(n, d);
        let search_bytes = match n_entries {
            // Values of the rows, twice while the tree is built, and its lists; nodes and boxes are a quarter of that.
            None if method.takes_tree(n, d, k, self.metric()) => (20 * d + 24) * n + 8 * n * k + result,
            None if method.choose(n, d, k) == KnnMethod::Partitions => {
                self.partition_bytes(n, d, k, result) + threads * (1 << 20)
            }
            _ => {
                let (rows, own) = rows_bytes(n, d, n_entries);
                exact_bytes(n, n, k) + rows + threads * (own + memory::tile_bytes(n))
            }
        };
        let (weigh_bytes, widths) = if is_learned { (learn_bytes(n, k), 0) } else { (2 * result + 28 * n, 4 * n) };
        GraphPlan { n_edges, search_bytes, weigh_bytes: weigh_bytes + graph_bytes, graph_bytes: graph_bytes + widths }
    }

    /// Peak of the search by partitions, apart from its threads; `result` are the bytes of the neighbors.
    fn partition_bytes(&self, n: usize, d: usize, k: usize, result: usize) -> usize {
        // Whether shorter rows are rounded to bytes is decided by their values, so the plan assumes that they are not.
        let is_rounded = memory::may_round(d) && d >= 64;
        let kept = memory::partition_width(k, memory::may_round(d), self.recall_target);
        let rows = n * if is_rounded { d + 8 } else { 4 * d + 8 };
        let places = memory::FANOUT.iter().product::<usize>();
        let memory::Degrees { forward, back } = memory::Degrees::full(k);
        // Leaves, later two snapshots of the lists; vectors grow by doubling.
        let between = (8 * places * n).max(2 * (4 * (forward + back) + 9) * n);
        let lists = (8 * kept + 1) * n;
        8 * n + lists + (rows + between).max(result)
    }
}

/// Bytes for each stored entry of sparse rows: the entry, and that of an index if its column is rare.
const SPARSE_ENTRY: usize = 8 + 6;
/// Bytes for each sparse row: h, and where its entries begin in either part.
const SPARSE_ROW: usize = 4 + 2 * 8;

/// Bytes of `n` rows that are ready for an exact search, and of those that each thread holds besides; `n_entries` are the stored entries of
/// sparse rows.
fn rows_bytes(n: usize, d: usize, n_entries: Option<usize>) -> (usize, usize) {
    n_entries.map_or((4 * n * d, 0), |entries| {
        (SPARSE_ENTRY * entries + SPARSE_ROW * n, memory::panel_bytes(d) + memory::FromRow::bytes(d))
    })
}

/// Bytes of the lists, locks and limits of `n` rows that search among `n_train`, and of the resulting neighbors.
fn exact_bytes(n_train: usize, n: usize, k: usize) -> usize {
    (8 * memory::list_width(k, n_train) + 13) * n + 8 * k * n
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
        let (n, lists) = (n_train + n_new, exact_bytes(n_train, n_new, self.n_neighbors));
        let (rows, own) = rows_bytes(n, d, n_entries);
        rows + 12 * n + lists + threads * (own + memory::tile_bytes(n_train))
    }
}

impl KnnEdges<'_> {
    /// Peak of making and reading the graph of `n` rows of `d` columns, beyond the features themselves; `n_entries` are
    /// the stored entries of sparse rows.
    pub fn memory_bytes(n: usize, d: usize, n_entries: Option<usize>, params: &GraphParams, threads: usize) -> usize {
        let batch = Self::batch_bytes(n, params);
        if is_held(n, d, n_entries.is_some(), params) {
            let search = params.plan(n, d, n_entries, threads).search_bytes;
            return search.max(Self::held_bytes(n, d, n_entries, params, threads) + batch);
        }
        let (rows, own) = compared_bytes(n, d, n_entries);
        // Bounds, products, and buffers of the selection.
        let tile = 4 * n * (2 * tile_rows(n) + 3) + own;
        rows + (threads * tile).max(batch + threads * own)
    }

    /// Bytes that are held from one reading to the next: neighbors, or rows ready to be compared and their thresholds.
    pub fn held_bytes(n: usize, d: usize, n_entries: Option<usize>, params: &GraphParams, threads: usize) -> usize {
        if is_held(n, d, n_entries.is_some(), params) {
            return 8 * n * params.n_neighbors + 4 * n;
        }
        let (rows, own) = compared_bytes(n, d, n_entries);
        rows + threads * own
    }

    /// Bytes of the edges that a reader holds: a batch, and pieces that are being joined.
    pub fn batch_bytes(n: usize, params: &GraphParams) -> usize {
        2 * BATCH_PAIRS.min(n * params.n_neighbors) * size_of::<Edge>()
    }
}

/// Bytes of rows that are compared anew in every reading, and of those that each thread holds.
fn compared_bytes(n: usize, d: usize, n_entries: Option<usize>) -> (usize, usize) {
    let (rows, own) = rows_bytes(n, d, n_entries);
    (rows + 56 * n, own)
}

/// Bytes of a graph of `n` rows and `n_edges` undirected edges.
pub fn graph_bytes(n: usize, n_edges: usize) -> usize {
    2 * n_edges * 12 + 16 * n
}
