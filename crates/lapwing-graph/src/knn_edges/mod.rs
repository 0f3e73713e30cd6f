//! The edges of a nearest-neighbor graph as a stream that can be read any number of times: the graph, with k in the thousands, is
//! never held.
//!
//! The graph is that of [`affinity_graph`](crate::affinity_graph), edge for edge and bit for bit. One pass over all pairs
//! finds the distance of each row to its last neighbor: O(n) numbers are kept, from which the widths follow. Each reading then
//! compares every pair once more and emits those of which one row is a k-neighbor of the other
//! ([`crate::knn::exact::pairs_within`]), by groups of the larger row, and within a group by blocks of the smaller.
//! Where partitions search, or the neighbors take little room, they are held instead, sorted by row, and weighed while
//! they are read: 8·n·k bytes, without the other direction and without a matrix.
//!
//! Cost: n²·d multiplications once and n²·d/2 for each reading, as products; one exact distance for each edge with a
//! weight that depends on it. Memory: the search's copy of the features, 36 bytes a row, and a batch of edges. Parallel
//! over the pieces of a batch, which are emitted in their order, so that the stream does not depend on threads. With few
//! neighbors [`affinity_graph`](crate::affinity_graph) is cheaper: it searches once.

mod pieces;
mod reader;

use lapwing_core::{EdgeReader, EdgeSource, Features, Result, Run};

pub(crate) use reader::BATCH_PAIRS;

use crate::knn::exact::pairs_within::{PairsWithin, Thresholds};
use crate::knn::exact::signed::distance_of;
use crate::knn::exact::thresholds::AllPairs;
use crate::knn::{KnnMethod, KnnReport, Neighbors, kneighbors, memory};
use crate::knn_edges::pieces::{Found, HeldNeighbors, Weigher};
use crate::knn_edges::reader::Reader;
use crate::relation::sort_by_row;
use crate::{GraphParams, Widths};

/// Most bytes of neighbors that are held.
const MOST_HELD_BYTES: usize = 256 << 20;

/// The nearest-neighbor graph of some rows as a stream of edges, each undirected edge once.
///
/// # Example
/// ```
/// use lapwing_core::{EdgeSource, Features, Run};
/// use lapwing_graph::{GraphParams, KnnMethod, KnnEdges, affinity_graph};
///
/// let run = Run::new(None, 0)?;
/// let rows = Features::from_f32(6, 1, vec![0.0, 1.0, 3.0, 10.0, 11.0, 13.0])?;
/// let params = GraphParams { n_neighbors: 3, knn_method: KnnMethod::Exact, ..GraphParams::default() };
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
/// # Ok::<(), lapwing_core::Error>(())
/// ```
pub struct KnnEdges<'a> {
    params: GraphParams,
    widths: Widths,
    report: KnnReport,
    n_nodes: usize,
    relation: Relation<'a>,
}

/// The neighbor relation.
enum Relation<'a> {
    /// Found again in each reading.
    Pairs { pairs: Box<AllPairs<'a>>, thresholds: Thresholds },
    /// Neighbors of each row, sorted by row.
    HeldNeighbors(Neighbors),
}

impl<'a> KnnEdges<'a> {
    /// Finds the last neighbor of every row of `features` (n, d). The neighbors themselves are held if partitions search, or if the
    /// search need not be exact and up to 125 neighbors of each row take up to 256 MiB. Otherwise they are found again in each
    /// reading, and the progress of `run` counts rows.
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
            return Err(lapwing_core::Error::param("weights", params.weights.name(), expected));
        }
        let params = &params.resolved(features);
        let is_held = is_held(features.n_rows(), features.n_cols(), matches!(features, Features::Sparse(_)), params);
        if is_held { Self::held(features, params, run) } else { Self::found_again(features, params, run) }
    }

    fn found_again(features: &Features<'a>, params: &GraphParams, run: &Run) -> Result<Self> {
        let pairs = AllPairs::new(features, &params.knn(), run)?;
        let reached = pairs.reached(params.n_neighbors, run)?;
        let last: Vec<f32> = reached.iter().map(|row| distance_of(row.last)).collect();
        let is_duplicate = |distance: &&f32| params.metric().is_distance() && **distance == 0.0;
        let n_duplicate_rows = last.iter().filter(is_duplicate).count();
        let widths = Widths::from_last(last, params);
        widths.check(reached.iter().map(|row| row.nearest))?;
        let thresholds = Thresholds::new(&pairs, reached.iter().map(|row| row.last).collect());
        let report = KnnReport { n_duplicate_rows, ..KnnReport::exact() };
        let relation = Relation::Pairs { pairs: Box::new(pairs), thresholds };
        Ok(Self { params: params.clone(), widths, report, n_nodes: features.n_rows(), relation })
    }

    fn held(features: &Features<'a>, params: &GraphParams, run: &Run) -> Result<Self> {
        let (mut neighbors, report) = kneighbors(features, &params.knn(), run)?;
        let widths = Widths::from_last(neighbors.last(), params);
        widths.check(neighbors.distances.iter().step_by(neighbors.n_neighbors).copied())?;
        run.install(|| sort_by_row(neighbors.n_neighbors, &mut neighbors.indices, &mut neighbors.distances));
        let relation = Relation::HeldNeighbors(neighbors);
        Ok(Self { params: params.clone(), widths, report, n_nodes: features.n_rows(), relation })
    }

    /// Kernel widths, to attach new rows with.
    pub fn widths(&self) -> &Widths {
        &self.widths
    }

    /// How the graph is built.
    pub fn params(&self) -> &GraphParams {
        &self.params
    }

    /// Report of the search.
    pub fn report(&self) -> &KnnReport {
        &self.report
    }

    /// Whether neighbors are held from one reading to the next, rather than found again.
    pub fn holds_neighbors(n: usize, d: usize, n_entries: Option<usize>, params: &GraphParams) -> bool {
        is_held(n, d, n_entries.is_some(), params)
    }
}

impl GraphParams {
    /// The search method for `n` rows of `d` columns.
    pub(crate) fn search(&self, n: usize, d: usize, is_sparse: bool) -> KnnMethod {
        match self.knn_method {
            _ if is_sparse => KnnMethod::Exact,
            method if method.takes_tree(n, d, self.n_neighbors, self.metric()) => KnnMethod::Exact,
            method => method.choose(n, d, self.n_neighbors),
        }
    }

    /// Whether there are so many neighbors that the edges are found without lists of candidates.
    pub(crate) fn is_wide(&self, n: usize, d: usize, is_sparse: bool) -> bool {
        let is_learned = self.weights.model().is_some();
        self.search(n, d, is_sparse) == KnnMethod::Exact && self.n_neighbors > memory::MOST_NEIGHBORS && !is_learned
    }
}

/// Whether neighbors are held.
pub(crate) fn is_held(n: usize, d: usize, is_sparse: bool, params: &GraphParams) -> bool {
    let k = params.n_neighbors;
    let method = params.search(n, d, is_sparse);
    let is_small = k <= memory::MOST_NEIGHBORS && n.saturating_mul(8 * k) <= MOST_HELD_BYTES;
    method == KnnMethod::Partitions || (is_small && params.knn_method != KnnMethod::Exact)
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
            Relation::HeldNeighbors(neighbors) => Box::new(Reader::new(HeldNeighbors { neighbors, graph })),
        })
    }
}

#[cfg(test)]
mod tests;
