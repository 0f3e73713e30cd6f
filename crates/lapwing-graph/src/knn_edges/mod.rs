//! The edges of a nearest-neighbour graph that is never held: for k in the thousands, a batch at a time, again and again.
//!
//! The graph is that of [`affinity_graph`](crate::affinity_graph), edge for edge and bit for bit. One pass over all pairs
//! finds how far the neighbours of each row reach: O(n) is kept, from which the widths follow. Each reading then looks at
//! every pair once more and emits those of which one row names the other ([`crate::knn::exact::pairs_within`]), by groups
//! of the larger row, and within a group by blocks of the smaller.
//! Where partitions search, or the neighbours take little room, they are held instead, sorted by row, and weighed while
//! they are read: 8·n·k bytes, without the other direction and without a matrix.
//!
//! Cost: n²·d multiplications once and n²·d/2 for each reading, as products; one exact distance for each edge with a
//! weight that depends on it. Memory: the search's copy of the features, 36 bytes a row, and a batch of edges. Parallel
//! over the pieces of a batch, which are emitted in their order: threads do not show. With few neighbours
//! [`affinity_graph`](crate::affinity_graph) is cheaper, which searches once.

mod pieces;
mod reader;

use lapwing_data::{Edge, EdgeReader, EdgeSource, Features, Result, Run};
use rayon::prelude::*;

use crate::Graph;
use crate::affinity::{AffinityGraph, GraphParams, Widths};
use crate::knn::exact::pairs_within::{PairsWithin, Thresholds};
use crate::knn::exact::signed::distance_of;
use crate::knn::exact::thresholds::{AllPairs, tile_rows};
use crate::knn::{KnnBuilder, KnnReport, Neighbors, kneighbors, memory};
use crate::knn_edges::pieces::{Found, Held, Weigher};
use crate::knn_edges::reader::{BATCH_PAIRS, Reader};
use crate::relation::sort_by_row;
use crate::sparsify::adjacency;

/// Neighbours are held up to so many bytes.
const MOST_HELD_BYTES: usize = 256 << 20;

/// The nearest-neighbour graph of some rows as a stream of edges, each undirected edge once.
///
/// # Example
/// ```
/// use lapwing_data::{EdgeSource, Features, Run};
/// use lapwing_graph::{GraphParams, KnnBuilder, KnnEdges, affinity_graph};
///
/// let run = Run::new(None, 0)?;
/// let rows = Features::from_f32(6, 1, vec![0.0, 1.0, 3.0, 10.0, 11.0, 13.0])?;
/// let params = GraphParams { n_neighbors: 3, builder: KnnBuilder::Exact, ..GraphParams::default() };
/// let edges = KnnEdges::new(&rows, &params, &run)?;
/// // Degrees, a few edges at a time.
/// let (mut degree, mut block, mut reader) = ([0.0; 6], Vec::new(), edges.open(&run)?);
/// loop {
///     block.clear();
///     reader.read(5, &mut block, &run)?;
///     if block.is_empty() {
///         break;
///     }
///     for edge in &block {
///         degree[edge.u as usize] += edge.weight;
///         degree[edge.v as usize] += edge.weight;
///     }
/// }
/// let graph = affinity_graph(&rows, &params, &run)?.graph;
/// assert!(degree.iter().zip(graph.degree()).all(|(a, b)| (a - b).abs() < 1e-12));
/// # Ok::<(), lapwing_data::Error>(())
/// ```
pub struct KnnEdges<'a> {
    params: GraphParams,
    widths: Widths,
    report: KnnReport,
    n_nodes: usize,
    relation: Relation<'a>,
}

/// Who names whom.
enum Relation<'a> {
    /// Found again in each reading.
    Pairs { pairs: Box<AllPairs<'a>>, thresholds: Thresholds },
    /// Neighbours of each row, sorted by row.
    Held(Neighbors),
}

impl<'a> KnnEdges<'a> {
    /// Finds how far the neighbours of every row of `features` (n, d) reach. The neighbours themselves are held where
    /// partitions search, and, unless the search is to be exact, where up to 125 for each row take up to 256 MiB. Tells the
    /// progress of `run` how many rows are done where they are found again.
    ///
    /// # Errors
    /// Those of [`affinity_graph`](crate::affinity_graph).
    ///
    /// # Complexity
    /// n²·d multiplications and n selections among n values; memory [`KnnEdges::memory_bytes`].
    pub fn new(features: &Features<'a>, params: &GraphParams, run: &Run) -> Result<Self> {
        params.validate()?;
        if params.weights.model().is_some() {
            let expected = "one that a distance alone decides: learned weights are found for all edges together";
            return Err(lapwing_data::Error::param("weights", params.weights.name(), expected));
        }
        let is_held = is_held(features.n_rows(), features.n_cols(), matches!(features, Features::Sparse(_)), params);
        match is_held {
            true => Self::held(features, params, run),
            false => Self::found_again(features, params, run),
        }
    }

    fn found_again(features: &Features<'a>, params: &GraphParams, run: &Run) -> Result<Self> {
        let pairs = AllPairs::new(features, &params.knn(), run)?;
        let reached = pairs.reached(params.n_neighbors, run)?;
        let last: Vec<f32> = reached.iter().map(|row| distance_of(row.last)).collect();
        let n_duplicate_rows = match params.metric.is_distance() {
            true => last.iter().filter(|&&distance| distance == 0.0).count(),
            false => 0,
        };
        let widths = Widths::of(last, params);
        widths.check(reached.iter().map(|row| row.nearest))?;
        let thresholds = Thresholds::new(&pairs, reached.iter().map(|row| row.last).collect());
        let report = KnnReport { n_duplicate_rows, ..KnnReport::exact() };
        let relation = Relation::Pairs { pairs: Box::new(pairs), thresholds };
        Ok(Self { params: params.clone(), widths, report, n_nodes: features.n_rows(), relation })
    }

    fn held(features: &Features<'a>, params: &GraphParams, run: &Run) -> Result<Self> {
        let (mut neighbors, report) = kneighbors(features, &params.knn(), run)?;
        let widths = Widths::of(neighbors.last(), params);
        widths.check(neighbors.distances.iter().step_by(neighbors.n_neighbors).copied())?;
        run.install(|| sort_by_row(neighbors.n_neighbors, &mut neighbors.indices, &mut neighbors.distances));
        let relation = Relation::Held(neighbors);
        Ok(Self { params: params.clone(), widths, report, n_nodes: features.n_rows(), relation })
    }

    /// The graph in memory after all: 16 bytes an edge besides the matrix.
    ///
    /// # Errors
    /// [`Error::Interrupted`](lapwing_data::Error::Interrupted).
    pub fn into_graph(self, run: &Run) -> Result<AffinityGraph> {
        let mut edges = Vec::new();
        let mut reader = self.open(run)?;
        let mut before = usize::MAX;
        while edges.len() != before {
            before = edges.len();
            reader.read(BATCH_PAIRS, &mut edges, run)?;
        }
        drop(reader);
        let n = self.n_nodes;
        let graph = run.install(|| {
            edges.par_sort_unstable_by_key(|edge| (edge.u, edge.v));
            adjacency(n, edges.iter().map(|edge| (edge.u, edge.v, edge.weight))).and_then(Graph::from_symmetric)
        })?;
        Ok(AffinityGraph { graph, widths: self.widths, knn: Some(self.report), learned: None })
    }

    /// Kernel widths, to attach new rows with.
    pub fn widths(&self) -> &Widths {
        &self.widths
    }

    /// How the graph is built.
    pub fn params(&self) -> &GraphParams {
        &self.params
    }

    /// How the search went.
    pub fn report(&self) -> &KnnReport {
        &self.report
    }

    /// Peak of making and reading the graph of `n` rows of `d` columns, beyond the features themselves; `n_entries` are
    /// the stored entries of sparse rows.
    pub fn memory_bytes(n: usize, d: usize, n_entries: Option<usize>, params: &GraphParams, threads: usize) -> usize {
        let batch = Self::batch_bytes(n, params);
        if is_held(n, d, n_entries.is_some(), params) {
            let search = params.plan(n, d, n_entries, threads).search_bytes;
            return search.max(Self::held_bytes(n, d, n_entries, params, threads) + batch);
        }
        let (rows, own) = compared_bytes(n, d, n_entries);
        // Bounds and products, and what is selected from.
        let tile = 4 * n * (2 * tile_rows(n) + 3) + own;
        rows + (threads * tile).max(batch + threads * own)
    }

    /// Whether neighbors are held from one reading to the next, rather than found again.
    pub fn holds_neighbors(n: usize, d: usize, n_entries: Option<usize>, params: &GraphParams) -> bool {
        is_held(n, d, n_entries.is_some(), params)
    }

    /// Bytes that are held from one reading to the next: neighbours, or rows ready to be compared and their thresholds.
    pub fn held_bytes(n: usize, d: usize, n_entries: Option<usize>, params: &GraphParams, threads: usize) -> usize {
        if is_held(n, d, n_entries.is_some(), params) {
            return 8 * n * params.n_neighbors + 4 * n;
        }
        let (rows, own) = compared_bytes(n, d, n_entries);
        rows + threads * own
    }

    /// Bytes of the edges that one reader has made and not yet handed out, and of pieces that are joined.
    pub fn batch_bytes(n: usize, params: &GraphParams) -> usize {
        2 * BATCH_PAIRS.min(n * params.n_neighbors) * size_of::<Edge>()
    }
}

/// Bytes of rows that are compared anew in every reading, and of a row of each thread over all columns: as in the search, tails,
/// their index, and heads.
fn compared_bytes(n: usize, d: usize, n_entries: Option<usize>) -> (usize, usize) {
    let (rows, own) = n_entries.map_or((4 * n * d, 0), |entries| (22 * entries + 8 * n, 8 * d));
    (rows + 56 * n, own)
}

/// Whether neighbours are held.
fn is_held(n: usize, d: usize, is_sparse: bool, params: &GraphParams) -> bool {
    let k = params.n_neighbors;
    let builder = params.search(n, d, is_sparse);
    let is_small = k <= memory::MOST_NEIGHBORS && n.saturating_mul(8 * k) <= MOST_HELD_BYTES;
    builder == KnnBuilder::Partitions || (is_small && params.builder != KnnBuilder::Exact)
}

impl EdgeSource for KnnEdges<'_> {
    fn n_nodes(&self) -> usize {
        self.n_nodes
    }

    fn n_edges(&self) -> Option<u64> {
        None
    }

    fn open<'s>(&'s self, run: &Run) -> Result<Box<dyn EdgeReader + 's>> {
        let graph = Weigher { params: &self.params, widths: &self.widths };
        Ok(match &self.relation {
            Relation::Pairs { pairs, thresholds } => {
                let within = PairsWithin::new(pairs, thresholds, graph.wanted(), run);
                Box::new(Reader::new(Found { within, graph }))
            }
            Relation::Held(neighbors) => Box::new(Reader::new(Held { neighbors, graph })),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lapwing_data::{Csr, Stream};
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::affinity::{Symmetrize, Weighting};
    use crate::knn::{Metric, ZeroRows};
    use crate::testkit::{blobs, dense_values};
    use crate::{Graph, affinity_graph};

    const WEIGHTS: [Weighting; 4] = [Weighting::SelfTuning, Weighting::Gaussian, Weighting::Cosine, Weighting::Binary];
    const WAYS: [Symmetrize; 3] = [Symmetrize::Union, Symmetrize::Mean, Symmetrize::Mutual];

    fn read(source: &dyn EdgeSource, most: usize, run: &Run) -> Vec<Edge> {
        let (mut reader, mut out) = (source.open(run).unwrap(), Vec::new());
        loop {
            let before = out.len();
            reader.read(most, &mut out, run).unwrap();
            assert!(out.len() - before <= most);
            if out.len() == before {
                return out;
            }
        }
    }

    fn graph_of(n: usize, edges: &[Edge]) -> Graph {
        let mut names: Vec<_> = edges.iter().map(|edge| (edge.u, edge.v)).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "an edge came twice");
        let edges: Vec<_> = edges.iter().map(|edge| (edge.u, edge.v, edge.weight)).collect();
        Graph::from_edges(n, &edges).unwrap()
    }

    /// The stream is the graph, to the bit.
    fn assert_same(features: &Features<'_>, params: &GraphParams, threads: usize) {
        let run = Run::new(Some(threads), 0).unwrap();
        let expected = affinity_graph(features, params, &run);
        let found = KnnEdges::new(features, params, &run);
        let (expected, found) = match (expected, found) {
            (Ok(expected), Ok(found)) => (expected, found),
            (Err(expected), found) => {
                return assert_eq!(found.err().map(|e| e.to_string()), Some(expected.to_string()));
            }
            (_, Err(error)) => panic!("{error}"),
        };
        let edges = read(&found, usize::MAX >> 1, &run);
        assert!(edges.iter().all(|edge| edge.u < edge.v));
        assert_eq!(graph_of(features.n_rows(), &edges), expected.graph, "{params:?}");
        assert_eq!(found.widths(), &expected.widths);
        assert_eq!(Some(found.report()), expected.knn.as_ref());
    }

    /// All weightings and symmetrisations that go with `metric`.
    fn assert_all_same(features: &Features<'_>, k: usize, metric: Metric, zero_rows: ZeroRows) {
        for weights in WEIGHTS {
            for symmetrize in WAYS {
                let builder = KnnBuilder::Exact;
                let params = GraphParams {
                    n_neighbors: k,
                    metric,
                    weights,
                    symmetrize,
                    builder,
                    zero_rows,
                    ..GraphParams::default()
                };
                if params.validate().is_ok() {
                    assert_same(features, &params, 2);
                }
            }
        }
    }

    fn sparse_of(features: &Features<'_>) -> Features<'static> {
        let (n, d) = (features.n_rows(), features.n_cols());
        let values = dense_values(features);
        let entries: Vec<(u32, u32, f32)> =
            values.iter().enumerate().map(|(at, &v)| ((at / d) as u32, (at % d) as u32, v as f32)).collect();
        let entries: Vec<_> = entries.into_iter().filter(|entry| entry.2 != 0.0).collect();
        Features::Sparse(Arc::new(Csr::from_entries(n, d, &entries).unwrap()))
    }

    #[test]
    fn blobs_give_the_affinity_graph_for_any_number_of_neighbors() {
        for (n, d, k) in [(2, 3, 1), (90, 3, 20), (140, 17, 139), (500, 5, 90)] {
            let features = blobs(n, d, 4);
            for metric in [Metric::Euclidean, Metric::Cosine, Metric::InnerProduct] {
                assert_all_same(&features, k, metric, ZeroRows::Error);
                assert_all_same(&sparse_of(&features), k, metric, ZeroRows::Error);
            }
        }
    }

    #[test]
    fn ties_and_equal_rows_give_the_affinity_graph() {
        let (n, d) = (700, 2);
        let values = (0..n * d).map(|at| ((at * 7919) % 13 / (1 + at % 2)) as f32).collect();
        let grid = Features::from_f32(n, d, values).unwrap();
        let same = Features::from_f32(120, d, vec![0.1; 120 * d]).unwrap();
        for k in [9, 60, 119] {
            for features in [&grid, &sparse_of(&grid), &same] {
                assert_all_same(features, k, Metric::Euclidean, ZeroRows::Error);
                assert_all_same(features, k, Metric::InnerProduct, ZeroRows::Error);
            }
        }
        let bytes = Features::from_u8(400, 3, (0..1200).map(|at| (at * 37 % 11) as u8).collect()).unwrap();
        assert_all_same(&bytes, 150, Metric::Euclidean, ZeroRows::Error);
    }

    #[test]
    fn tight_clusters_far_from_the_origin_give_the_affinity_graph() {
        let (n, d) = (400, 4);
        let noise = dense_values(&blobs(n, d, 1));
        let place = |at: usize| 1e4 * ((at / d % 8) * (1 + at % d)) as f64 + 1e-5 * noise[at];
        let features = Features::from_f64(n, d, (0..n * d).map(place).collect()).unwrap();
        for k in [7, 49, 80] {
            assert_all_same(&features, k, Metric::Euclidean, ZeroRows::Error);
        }
    }

    #[test]
    fn sparse_rows_some_without_entries_give_the_affinity_graph() {
        // Column c is used by one row in 1 + c, rows 5, 105, … are empty; more rows than one block.
        let (n, d) = (4500u32, 50u32);
        let mut rng = Run::new(Some(1), 0).unwrap().rng(Stream::Synthetic, 1);
        let mut entries = Vec::new();
        for row in (0..n).filter(|row| row % 100 != 5) {
            for column in 0..d {
                if rng.random_range(0..=column) == 0 {
                    entries.push((row, column, rng.random_range(0.0f32..2.0)));
                }
            }
        }
        let features = Features::Sparse(Arc::new(Csr::from_entries(n as usize, d as usize, &entries).unwrap()));
        let params = GraphParams { n_neighbors: 50, metric: Metric::Cosine, ..GraphParams::default() };
        let params = GraphParams { zero_rows: ZeroRows::Allow, builder: KnnBuilder::Exact, ..params };
        assert_same(&features, &params, 2);
        assert_same(&features, &GraphParams { metric: Metric::Euclidean, ..params }, 2);
    }

    #[test]
    fn zero_rows_of_either_kind_give_the_affinity_graph() {
        let (n, d) = (90, 3);
        let mut values: Vec<f32> = dense_values(&blobs(n, d, 4)).iter().map(|&v| v as f32).collect();
        [4, 9, 33].iter().for_each(|&row| values[row * d..(row + 1) * d].fill(0.0));
        let dense = Features::from_f32(n, d, values).unwrap();
        for k in [3, 40, 60, 88] {
            for features in [&dense, &sparse_of(&dense)] {
                assert_all_same(features, k, Metric::Cosine, ZeroRows::Allow);
                assert_all_same(features, k, Metric::Cosine, ZeroRows::Error);
            }
        }
    }

    #[test]
    fn neighbors_that_are_held_give_the_affinity_graph() {
        let features = blobs(3000, 8, 6);
        for builder in [KnnBuilder::Auto, KnnBuilder::Partitions] {
            for symmetrize in WAYS {
                let params = GraphParams { symmetrize, builder, ..GraphParams::default() };
                assert!(is_held(3000, 8, false, &params));
                assert_same(&features, &params, 2);
            }
        }
    }

    #[test]
    fn any_number_of_threads_and_any_block_size_give_the_same_bits() {
        let features = blobs(9000, 3, 5);
        let params = GraphParams { n_neighbors: 130, ..GraphParams::default() };
        let held = GraphParams { n_neighbors: 12, ..GraphParams::default() };
        for params in [params, held] {
            let expected = {
                let run = Run::new(Some(1), 0).unwrap();
                read(&KnnEdges::new(&features, &params, &run).unwrap(), 1 << 30, &run)
            };
            for (threads, most) in [(2, 1), (7, 4097), (2, 1 << 20)] {
                let run = Run::new(Some(threads), 0).unwrap();
                let found = KnnEdges::new(&features, &params, &run).unwrap();
                assert!(read(&found, most, &run) == expected);
                let mut reader = found.open(&run).unwrap();
                reader.skip(70_000, &run).unwrap();
                let mut out = Vec::new();
                reader.read(10, &mut out, &run).unwrap();
                assert!(out == expected[expected.len().min(70_000)..expected.len().min(70_010)]);
            }
        }
    }

    #[test]
    fn widths_that_lose_a_row_are_refused() {
        let run = Run::new(Some(1), 0).unwrap();
        let features = blobs(300, 3, 2);
        let params = GraphParams { n_neighbors: 150, weights: Weighting::Gaussian, ..GraphParams::default() };
        let params = GraphParams { bandwidth: Some(1e-3), ..params };
        let expected = affinity_graph(&features, &params, &run).unwrap_err().to_string();
        assert_eq!(KnnEdges::new(&features, &params, &run).err().unwrap().to_string(), expected);
    }

    #[test]
    fn a_stop_is_heard_while_searching_and_while_reading() {
        let cancel = lapwing_data::CancelToken::default();
        let run = Run::new(Some(2), 0).unwrap().with_cancel(cancel.clone());
        let features = blobs(500, 3, 2);
        let params = GraphParams { n_neighbors: 200, ..GraphParams::default() };
        let graph = KnnEdges::new(&features, &params, &run).unwrap();
        let mut reader = graph.open(&run).unwrap();
        cancel.cancel();
        assert!(matches!(reader.read(1, &mut Vec::new(), &run), Err(lapwing_data::Error::Interrupted)));
        assert!(matches!(KnnEdges::new(&features, &params, &run), Err(lapwing_data::Error::Interrupted)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn whole_numbers_give_the_affinity_graph(
            values in prop::collection::vec(-4i8..5, 8..240),
            (d, share) in (1usize..4, 0.0..1.0f64),
            (way, weight) in (0usize..3, 0usize..4),
        ) {
            let n = values.len() / d;
            let k = 1 + (share * (n - 2) as f64) as usize;
            let features = Features::from_f32(n, d, values[..n * d].iter().map(|&v| v.into()).collect()).unwrap();
            let (symmetrize, weights, builder) = (WAYS[way], WEIGHTS[weight], KnnBuilder::Exact);
            let params = GraphParams { n_neighbors: k, symmetrize, weights, builder, ..GraphParams::default() };
            if params.validate().is_ok() {
                assert_same(&features, &params, 1);
                assert_same(&sparse_of(&features), &params, 1);
            }
        }
    }
}
