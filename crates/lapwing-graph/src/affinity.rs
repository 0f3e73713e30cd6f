//! From neighbours to an affinity graph: weights, widths, symmetrisation.

use lapwing_data::{Csr, Error, Features, GraphSummary, Result, Run, parse_choice};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::knn::{KnnBuilder, KnnParams, KnnReport, Metric, Neighbors, ZeroRows, memory};
use crate::{Components, Graph, KnnEdges, kneighbors};

/// How a distance becomes an edge weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// exp(−d²/(h²·σᵢσⱼ)), σᵢ the distance of row i to its last neighbour, h the bandwidth (Zelnik-Manor & Perona 2004,
    /// who have h = 1).
    #[default]
    SelfTuning,
    /// exp(−d²/(2σ²)) with one σ.
    Gaussian,
    /// max(0, 1 − d), for the cosine metric.
    Cosine,
    /// 1 for every edge.
    Binary,
}

/// How the directed neighbour relation becomes undirected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Symmetrize {
    /// Edge if either row names the other; the larger weight.
    Union,
    /// (W + Wᵀ) / 2: an edge only one row names counts half. Default: fewer errors than the union on most data sets of
    /// `docs/results.md`.
    #[default]
    Mean,
    /// Edge only if both rows name each other; the smaller weight.
    Mutual,
}

/// How to build an affinity graph from features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphParams {
    /// Neighbours of each row; default 15.
    pub n_neighbors: usize,
    /// Distance; default Euclidean.
    pub metric: Metric,
    /// Edge weights; default self-tuning, which needs no parameter.
    pub weights: Weighting,
    /// Symmetrisation; default mean.
    pub symmetrize: Symmetrize,
    /// Width of the weights, > 0. Gaussian: σ in the unit of distances, `None` for the median distance to the last
    /// neighbour. Self-tuning: the factor h on each row's own width, `None` for [`SELF_TUNING_BANDWIDTH`].
    pub bandwidth: Option<f64>,
    /// Which neighbour search; default whichever is faster.
    pub builder: KnnBuilder,
    /// Share of true neighbours the approximate search must find, in (0, 1]; default 0.95.
    pub recall_target: f64,
    /// Rows of zeros under the cosine metric; default an error.
    #[serde(default)]
    pub zero_rows: ZeroRows,
}

/// Default h of the self-tuning weights: exp(−4d²/(σᵢσⱼ)) gives fewer errors than Zelnik-Manor & Perona's
/// exp(−d²/(σᵢσⱼ)) on most data sets of `docs/results.md` from three labels per class on.
pub const SELF_TUNING_BANDWIDTH: f64 = 0.5;

/// Kernel width of each row, as the weights used it; needed again to weigh new points.
#[derive(Clone, Debug, PartialEq)]
pub enum Widths {
    /// h·σᵢ of each row (n).
    PerRow(Vec<f32>),
    /// One σ for all.
    One(f64),
    /// The weighting has no width.
    None,
}

/// A graph built from features, with what is needed to attach new points to it.
#[derive(Clone, Debug)]
pub struct AffinityGraph {
    /// The graph.
    pub graph: Graph,
    /// Kernel widths.
    pub widths: Widths,
    /// How the neighbours were found; `None` for a graph that was given.
    pub knn: Option<KnnReport>,
}

impl Default for GraphParams {
    fn default() -> Self {
        Self {
            n_neighbors: 15,
            metric: Metric::default(),
            weights: Weighting::default(),
            symmetrize: Symmetrize::default(),
            bandwidth: None,
            builder: KnnBuilder::default(),
            recall_target: 0.95,
            zero_rows: ZeroRows::default(),
        }
    }
}

impl GraphParams {
    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first one outside.
    pub fn validate(&self) -> Result<()> {
        self.knn().validate()?;
        if let Some(sigma) = self.bandwidth {
            if !(sigma > 0.0 && sigma.is_finite()) {
                return Err(Error::param("bandwidth", sigma, "a positive number"));
            }
            if matches!(self.weights, Weighting::Cosine | Weighting::Binary) {
                return Err(Error::param("bandwidth", sigma, "no value: cosine and binary weights have none"));
            }
        }
        if self.weights == Weighting::Cosine && self.metric != Metric::Cosine {
            return Err(Error::param("weights", "cosine", "the cosine metric with cosine weights"));
        }
        if self.metric == Metric::InnerProduct && self.weights != Weighting::Binary {
            let expected = "binary with the inner-product metric, whose distances may be negative";
            return Err(Error::param("weights", self.weights.name(), expected));
        }
        Ok(())
    }

    /// The search that `n` rows of `d` columns get.
    pub(crate) fn search(&self, n: usize, d: usize, is_sparse: bool) -> KnnBuilder {
        if is_sparse { KnnBuilder::Exact } else { self.builder.choose(n, d, self.n_neighbors) }
    }

    /// Whether there are so many neighbours that the edges are found without lists of candidates.
    pub(crate) fn is_wide(&self, n: usize, d: usize, is_sparse: bool) -> bool {
        self.search(n, d, is_sparse) == KnnBuilder::Exact && self.n_neighbors > memory::MOST_NEIGHBORS
    }

    /// The neighbour search these parameters ask for.
    pub fn knn(&self) -> KnnParams {
        KnnParams {
            n_neighbors: self.n_neighbors,
            metric: self.metric,
            builder: self.builder,
            recall_target: self.recall_target,
            zero_rows: self.zero_rows,
        }
    }
}

impl AffinityGraph {
    /// A graph that was given rather than built.
    pub fn given(graph: Graph) -> Self {
        Self { graph, widths: Widths::None, knn: None }
    }

    /// What there is to say about graph and search; `components` are the graph's own.
    pub fn summary(&self, components: &Components) -> GraphSummary {
        GraphSummary {
            recall: self.knn.as_ref().map(|knn| knn.recall),
            recall_error: self.knn.as_ref().map(|knn| knn.recall_error),
            n_duplicate_rows: self.knn.as_ref().map(|knn| knn.n_duplicate_rows),
            ..self.graph.summary(components)
        }
    }
}

/// Builds the affinity graph of `features` (n, d): neighbours, weights, symmetrisation.
///
/// # Errors
/// Those of [`kneighbors`] and [`weigh`].
///
/// # Complexity
/// That of the search, and O(n·k). Beyond 125 neighbours lists of candidates do not pay: every pair of rows is looked at
/// twice, as [`KnnEdges`] does.
pub fn affinity_graph(features: &Features<'_>, params: &GraphParams, run: &Run) -> Result<AffinityGraph> {
    params.validate()?;
    if params.is_wide(features.n_rows(), features.n_cols(), matches!(features, Features::Sparse(_))) {
        return KnnEdges::new(features, params, run)?.into_graph(run);
    }
    let (neighbors, report) = kneighbors(features, &params.knn(), run)?;
    let (graph, widths) = weighted(neighbors, params, run)?;
    Ok(AffinityGraph { graph, widths, knn: Some(report) })
}

/// Turns neighbours into a weighted graph; also returns the kernel widths it used.
///
/// # Errors
/// [`Error::Param`] naming a bandwidth so small that a row loses all its weight to underflow; [`Error::Graph`] for
/// neighbours that are not a search's result (out of range, a row its own neighbour, distances that are not).
///
/// # Complexity
/// O(n·k) time; 8 bytes per neighbour for the transposed relation and 12 per stored edge for the graph.
pub fn weigh(neighbors: Neighbors, params: &GraphParams, run: &Run) -> Result<(Graph, Widths)> {
    params.validate()?;
    neighbors.check()?;
    if params.metric != Metric::InnerProduct
        && let Some(row) = neighbors.distances.chunks_exact(neighbors.n_neighbors).position(|row| row[0] < 0.0)
    {
        let distance = neighbors.distances[row * neighbors.n_neighbors];
        return Err(Error::graph(format!("row {row} has neighbor distance {distance}; expected none below 0")));
    }
    weighted(neighbors, params, run)
}

/// [`weigh`] for neighbours and parameters known to be in order.
fn weighted(neighbors: Neighbors, params: &GraphParams, run: &Run) -> Result<(Graph, Widths)> {
    let widths = Widths::of(neighbors.last(), params);
    widths.check(neighbors.distances.iter().step_by(neighbors.n_neighbors).copied())?;
    let adjacency = run.install(|| symmetrized(&neighbors, params, &widths))?;
    drop(neighbors);
    // Symmetric and positive as it was made: no need to look again.
    Ok((Graph::from_clean(adjacency), widths))
}

/// exp(−x) is cut off here, so that no edge of the self-tuning weights vanishes and no row falls off the graph: an
/// outlier at the rim of a dense cluster keeps a thread of weight 2·10⁻²².
const MOST_DECAY: f64 = 50.0;

impl Widths {
    /// The widths of rows at distances `last` to their last neighbours (n).
    pub(crate) fn of(last: Vec<f32>, params: &GraphParams) -> Self {
        match params.weights {
            Weighting::Cosine | Weighting::Binary => Self::None,
            Weighting::Gaussian => Self::One(params.bandwidth.unwrap_or_else(|| positive_median(&last).into())),
            Weighting::SelfTuning => {
                let mut widths = last;
                // A row whose neighbours are all its duplicates has no width of its own.
                let typical = positive_median(&widths);
                let h = params.bandwidth.unwrap_or(SELF_TUNING_BANDWIDTH) as f32;
                widths.iter_mut().for_each(|width| *width = h * if *width > 0.0 { *width } else { typical });
                Self::PerRow(widths)
            }
        }
    }

    /// Weight at `distance` between rows of widths `a` and `b`; the widths matter to the self-tuning weights only.
    pub fn weight(&self, weights: Weighting, distance: f32, a: f32, b: f32) -> f64 {
        let d = f64::from(distance);
        match (weights, self) {
            (Weighting::Binary, _) => 1.0,
            (Weighting::Cosine, _) => (1.0 - d).max(0.0),
            (Weighting::Gaussian, Self::One(sigma)) => (-(d / sigma).powi(2) / 2.0).exp(),
            (_, _) => (-(d * d / (f64::from(a) * f64::from(b))).min(MOST_DECAY)).exp(),
        }
    }

    /// Weight of the edge between two rows at `distance` where the first names the second; `other` is the distance by
    /// which the second names the first, if it does. 0 stands for no edge.
    pub(crate) fn edge(&self, params: &GraphParams, rows: (usize, usize), distance: f32, other: Option<f32>) -> f64 {
        let w = |d: f32| self.weight(params.weights, d, self.of_row(rows.0), self.of_row(rows.1));
        // Distances from elsewhere may differ by a rounding from one side to the other; the graph must not.
        single(match (params.symmetrize, other) {
            (Symmetrize::Mutual, None) => 0.0,
            (Symmetrize::Mean, None) => w(distance) / 2.0,
            (Symmetrize::Union, None) => w(distance),
            (Symmetrize::Mutual, Some(other)) => w(distance.max(other)),
            (Symmetrize::Mean, Some(other)) => (w(distance) + w(other)) / 2.0,
            (Symmetrize::Union, Some(other)) => w(distance.min(other)),
        })
    }

    /// Checks that no row, each at its distance to its `nearest` one, loses all its weight to underflow; a mutual graph
    /// may leave a row alone, underflow may not.
    ///
    /// # Errors
    /// [`Error::Param`] naming the width and the first such row.
    pub(crate) fn check(&self, nearest: impl IntoIterator<Item = f32>) -> Result<()> {
        let Self::One(sigma) = self else { return Ok(()) };
        let is_lost = |d: f32| self.weight(Weighting::Gaussian, d, 1.0, 1.0) < f64::MIN_POSITIVE;
        match nearest.into_iter().position(is_lost) {
            None => Ok(()),
            Some(row) => {
                let expected = format!("a larger width: every weight of row {row} underflows to 0");
                Err(Error::param("bandwidth", sigma, expected))
            }
        }
    }

    /// Width of a fitted row, where rows have their own.
    pub fn of_row(&self, row: usize) -> f32 {
        if let Self::PerRow(widths) = self { widths[row] } else { 1.0 }
    }
}

/// Median of the positive values; 1 if there is none.
fn positive_median(values: &[f32]) -> f32 {
    let mut positive: Vec<f32> = values.iter().copied().filter(|v| *v > 0.0).collect();
    if positive.is_empty() {
        return 1.0;
    }
    let middle = positive.len() / 2;
    *positive.select_nth_unstable_by(middle, f32::total_cmp).1
}

/// Merges each row's neighbours with the rows that name it.
fn symmetrized(neighbors: &Neighbors, params: &GraphParams, widths: &Widths) -> Result<Csr<f64>> {
    let n = neighbors.n_samples();
    let incoming = Incoming::of(neighbors);
    let merged = |row: usize, emit: &mut dyn FnMut(u32, f64)| {
        let mut own: Vec<(u32, f32)> = neighbors.row(row).collect();
        own.sort_unstable_by_key(|&(id, _)| id);
        merge(&own, incoming.row(row), |id, distance, other| {
            let weight = widths.edge(params, (row, id as usize), distance, other);
            if weight > 0.0 {
                emit(id, weight);
            }
        });
    };
    let counts: Vec<u64> = (0..n)
        .into_par_iter()
        .with_min_len(1024)
        .map(|row| {
            let mut count = 0;
            merged(row, &mut |_, _| count += 1);
            count
        })
        .collect();
    let mut indptr = vec![0u64; n + 1];
    (0..n).for_each(|row| indptr[row + 1] = indptr[row] + counts[row]);
    drop(counts);
    let total = indptr[n] as usize;
    let (mut indices, mut values) = (vec![0u32; total], vec![0f64; total]);
    // Rows of a block lie together in both arrays: cut them there and fill the blocks in parallel.
    const BLOCK: usize = 4096;
    let mut blocks = Vec::new();
    let (mut ids_left, mut values_left) = (indices.as_mut_slice(), values.as_mut_slice());
    for first in (0..n).step_by(BLOCK) {
        let end = (first + BLOCK).min(n);
        let entries = (indptr[end] - indptr[first]) as usize;
        let (ids, rest) = ids_left.split_at_mut(entries);
        let (weights, rest_values) = values_left.split_at_mut(entries);
        (ids_left, values_left) = (rest, rest_values);
        blocks.push((first..end, ids, weights));
    }
    blocks.into_par_iter().for_each(|(rows, ids, weights)| {
        let mut places = ids.iter_mut().zip(weights);
        for row in rows {
            merged(row, &mut |id, w| {
                if let Some((place, weight)) = places.next() {
                    (*place, *weight) = (id, w);
                }
            });
        }
    });
    Csr::new(n, n, indptr, indices, values)
}

/// Rounded to a number that four bytes hold, where it stays a normal one: distances have no more digits, and solvers keep
/// such weights in half the space.
pub(crate) fn single(weight: f64) -> f64 {
    let rounded = weight as f32;
    if rounded.is_normal() { rounded.into() } else { weight }
}

/// The neighbour relation the other way round: who names a row, at what distance, ascending.
struct Incoming {
    start: Vec<u64>,
    entries: Vec<(u32, f32)>,
}

impl Incoming {
    fn of(neighbors: &Neighbors) -> Self {
        let n = neighbors.n_samples();
        let mut start = vec![0u64; n + 1];
        neighbors.indices.iter().for_each(|&id| start[id as usize + 1] += 1);
        (0..n).for_each(|row| start[row + 1] += start[row]);
        let mut next = start.clone();
        let mut entries = vec![(0u32, 0f32); neighbors.indices.len()];
        for row in 0..n {
            for (id, distance) in neighbors.row(row) {
                entries[next[id as usize] as usize] = (row as u32, distance);
                next[id as usize] += 1;
            }
        }
        Self { start, entries }
    }

    fn row(&self, row: usize) -> &[(u32, f32)] {
        &self.entries[self.start[row] as usize..self.start[row + 1] as usize]
    }
}

/// Visits the union of two lists sorted by id: the distance of the list that has it, and of the other if both do.
fn merge(a: &[(u32, f32)], b: &[(u32, f32)], mut visit: impl FnMut(u32, f32, Option<f32>)) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let left = a.get(i).map_or(u32::MAX, |e| e.0);
        let right = b.get(j).map_or(u32::MAX, |e| e.0);
        if left <= right {
            visit(left, a[i].1, (left == right).then(|| b[j].1));
            i += 1;
            j += usize::from(left == right);
        } else {
            visit(right, b[j].1, None);
            j += 1;
        }
    }
}

impl Weighting {
    const NAMES: [(&str, Self); 4] = [
        ("self-tuning", Self::SelfTuning),
        ("gaussian", Self::Gaussian),
        ("cosine", Self::Cosine),
        ("binary", Self::Binary),
    ];

    /// From its name.
    ///
    /// # Errors
    /// [`Error::Param`] listing the known names.
    pub fn parse(name: &str) -> Result<Self> {
        parse_choice("weights", name, &Self::NAMES)
    }

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, weighting)| *weighting == self).map_or("", |(name, _)| name)
    }
}

impl Symmetrize {
    /// From its name.
    ///
    /// # Errors
    /// [`Error::Param`] listing the known names.
    pub fn parse(name: &str) -> Result<Self> {
        parse_choice("symmetrize", name, &[("union", Self::Union), ("mean", Self::Mean), ("mutual", Self::Mutual)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit;

    fn weighted(params: &GraphParams) -> (Graph, Widths, Neighbors) {
        let run = Run::new(Some(2), 0).unwrap();
        let features = testkit::blobs(60, 3, 5);
        let neighbors = kneighbors(&features, &params.knn(), &run).unwrap().0;
        let (graph, widths) = weigh(neighbors.clone(), params, &run).unwrap();
        (graph, widths, neighbors)
    }

    #[test]
    fn weights_equal_their_dense_formula() {
        for weights in [Weighting::SelfTuning, Weighting::Gaussian, Weighting::Binary] {
            for symmetrize in [Symmetrize::Union, Symmetrize::Mean, Symmetrize::Mutual] {
                let params = GraphParams { n_neighbors: 4, weights, symmetrize, ..GraphParams::default() };
                let (graph, _, neighbors) = weighted(&params);
                let n = neighbors.n_samples();
                let mut directed = vec![vec![0.0; n]; n];
                let last = neighbors.last();
                let mut sorted = last.clone();
                sorted.sort_unstable_by(f32::total_cmp);
                let sigma = f64::from(sorted[n / 2]);
                for i in 0..n {
                    for (j, d) in neighbors.row(i) {
                        let d2 = f64::from(d).powi(2);
                        directed[i][j as usize] = match weights {
                            Weighting::SelfTuning => {
                                (-4.0 * d2 / (f64::from(last[i]) * f64::from(last[j as usize]))).exp()
                            }
                            Weighting::Gaussian => (-d2 / (2.0 * sigma * sigma)).exp(),
                            _ => 1.0,
                        };
                    }
                }
                for i in 0..n {
                    let (columns, values) = graph.adjacency().row(i);
                    for j in 0..n {
                        let (a, b) = (directed[i][j], directed[j][i]);
                        let expected = match symmetrize {
                            Symmetrize::Union => a.max(b),
                            Symmetrize::Mean => (a + b) / 2.0,
                            Symmetrize::Mutual => a.min(b),
                        };
                        let found = columns.binary_search(&(j as u32)).map_or(0.0, |at| values[at]);
                        assert!(
                            (found - expected).abs() < 1e-7,
                            "{weights:?} {symmetrize:?} ({i}, {j}): {found} {expected}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn outliers_and_duplicates_keep_their_edges() {
        let run = Run::new(Some(1), 0).unwrap();
        // Ten equal rows, ten close to each other, one far away.
        let mut values = vec![0.0; 10];
        values.extend((0..10).map(|i| 1.0 + f64::from(i) * 1e-6));
        values.push(1e3);
        let features = Features::from_f64(21, 1, values).unwrap();
        let params = GraphParams { n_neighbors: 4, ..GraphParams::default() };
        let built = affinity_graph(&features, &params, &run).unwrap();
        assert_eq!(built.knn.as_ref().unwrap().n_duplicate_rows, 10);
        assert!(built.graph.degree().iter().all(|&d| d > 0.0 && d.is_finite()));
        let narrow = GraphParams { weights: Weighting::Gaussian, bandwidth: Some(1e-3), ..params };
        let text = affinity_graph(&features, &narrow, &run).unwrap_err().to_string();
        assert!(text.contains("bandwidth is 0.001") && text.contains("row 20"), "{text}");
    }

    #[test]
    fn parameters_outside_their_range_are_named() {
        let text = |params: GraphParams| params.validate().unwrap_err().to_string();
        assert!(text(GraphParams { n_neighbors: 0, ..GraphParams::default() }).contains("n_neighbors is 0"));
        assert!(text(GraphParams { bandwidth: Some(-1.0), ..GraphParams::default() }).contains("bandwidth is -1"));
        let binary = GraphParams { bandwidth: Some(1.0), weights: Weighting::Binary, ..GraphParams::default() };
        assert!(text(binary).contains("cosine and binary weights have none"));
        assert!(text(GraphParams { weights: Weighting::Cosine, ..GraphParams::default() }).contains("cosine metric"));
        assert!(text(GraphParams { recall_target: 1.5, ..GraphParams::default() }).contains("recall_target"));
        let products = GraphParams { metric: Metric::InnerProduct, ..GraphParams::default() };
        assert!(text(products.clone()).contains("binary with the inner-product metric"));
        GraphParams { weights: Weighting::Binary, ..products }.validate().unwrap();
    }
}
