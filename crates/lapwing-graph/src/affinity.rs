//! Affinity graph of neighbors: kernel widths, edge weights, symmetrization.

use lapwing_core::{Csr, EdgeSource, Error, Features, GraphSummary, Report, Result, Run, Warning};
use rayon::slice::ParallelSliceMut;

use crate::knn::distance::norm;
use crate::knn::{KnnReport, Neighbors, kneighbors};
use crate::knn_edges::BATCH_PAIRS;
use crate::learn::{LearnReport, NeighborTable, learn_from_table, learn_graph};
use crate::relation::{Incoming, adjacency, assemble, merge};
use crate::{Components, Graph, GraphParams, KnnEdges, Metric, Widths};

/// A graph, with the kernel widths for edges of new rows and reports on how it was built.
#[derive(Clone, Debug)]
pub struct AffinityGraph {
    /// The graph.
    pub graph: Graph,
    /// Kernel widths.
    pub widths: Widths,
    /// Report of the neighbor search; `None` for a graph that was given.
    pub knn: Option<KnnReport>,
    /// Report of the learning, for learned weights.
    pub learned: Option<LearnReport>,
}

impl AffinityGraph {
    /// A graph that was given rather than built.
    pub fn given(graph: Graph) -> Self {
        Self { graph, widths: Widths::None, knn: None, learned: None }
    }

    /// Adds the summary and the warnings to a report; `components` are those of the graph.
    #[doc(hidden)]
    pub fn describe(&self, components: &Components, report: &mut Report) {
        report.graph = Some(self.summary(components));
        report.warnings.extend(self.learned.iter().flat_map(LearnReport::warnings));
        report.warnings.extend(self.knn.as_ref().and_then(|knn| duplicates(knn, self.graph.n_samples())));
    }

    /// Summary of the graph, the search and the learning; `components` are those of the graph.
    #[doc(hidden)]
    pub fn summary(&self, components: &Components) -> GraphSummary {
        let knn = self.knn.as_ref();
        GraphSummary {
            recall: knn.map(|knn| knn.recall),
            recall_error: knn.map(|knn| knn.recall_error),
            n_duplicate_rows: knn.map(|knn| knn.n_duplicate_rows),
            learned: self.learned.as_ref().and_then(|learned| serde_json::to_value(learned).ok()),
            ..self.graph.summary(components)
        }
    }
}

/// A warning where most rows equal all their neighbors.
fn duplicates(knn: &KnnReport, n_samples: usize) -> Option<Warning> {
    let n_rows = knn.n_duplicate_rows;
    (n_rows > n_samples / 2).then_some(Warning::EqualRows { n_rows, n_samples })
}

/// Builds the affinity graph of `features` (n, d): neighbors, weights, symmetrization.
///
/// # Errors
/// Those of [`kneighbors`] and [`weigh`].
///
/// # Complexity
/// That of the search, and O(n·k). Beyond 125 neighbors the distance of every pair of rows is computed twice, as [`KnnEdges`]
/// does, instead of keeping lists of candidates.
pub fn affinity_graph(features: &Features<'_>, params: &GraphParams, run: &Run) -> Result<AffinityGraph> {
    params.validate()?;
    let params = &params.resolved(features);
    if params.weights.model().is_some() {
        let learned = learn_graph(features, params, None, run)?;
        let widths = Widths::One(learned.report.sparsity);
        return Ok(AffinityGraph { graph: learned.graph, widths, knn: learned.knn, learned: Some(learned.report) });
    }
    if params.is_wide(features.n_rows(), features.n_cols(), matches!(features, Features::Sparse(_))) {
        return held(&KnnEdges::new(features, params, run)?, run);
    }
    let (neighbors, report) = kneighbors(features, &params.knn(), run)?;
    let (graph, widths) = weighted(neighbors, params, run)?;
    Ok(AffinityGraph { graph, widths, knn: Some(report), learned: None })
}

/// The graph of `edges` in memory: 16 bytes an edge besides the matrix.
fn held(source: &KnnEdges<'_>, run: &Run) -> Result<AffinityGraph> {
    let mut edges = Vec::new();
    let mut reader = source.open(run)?;
    let mut before = usize::MAX;
    while edges.len() != before {
        before = edges.len();
        reader.read(BATCH_PAIRS, &mut edges, run)?;
    }
    let n = source.n_nodes();
    let graph = run.install(|| {
        edges.par_sort_unstable_by_key(|edge| (edge.u, edge.v));
        adjacency(n, edges.iter().map(|edge| (edge.u, edge.v, edge.weight))).and_then(Graph::from_symmetric)
    })?;
    Ok(AffinityGraph { graph, widths: source.widths().clone(), knn: Some(source.report().clone()), learned: None })
}

/// The weighted graph of `neighbors`, and its kernel widths. Learned weights take the neighbors as the allowed pairs: more than
/// the requested `n_neighbors`. The metric is that of the search; auto stands for euclidean.
///
/// # Errors
/// Those of [`learn_from_table`] for learned weights; [`Error::Param`] naming a bandwidth so small that all weights of a row
/// underflow; [`Error::Graph`] for invalid neighbors (out of range, a row its own neighbor, invalid distances).
///
/// # Complexity
/// O(n·k) time; 8 bytes per neighbor for the transposed relation and 12 per stored edge for the graph.
pub fn weigh(neighbors: Neighbors, params: &GraphParams, run: &Run) -> Result<(Graph, Widths)> {
    params.validate()?;
    neighbors.check()?;
    if params.weights.model().is_some() {
        if !neighbors.are_full() {
            let expected = "weights by distance: to learn weights, every row needs as many neighbors as the others";
            return Err(Error::param("weights", params.weights.name(), expected));
        }
        let table = NeighborTable::from_neighbors(neighbors, params.metric(), run)?;
        let learned = learn_from_table(table, params, None, run)?;
        return Ok((learned.graph, Widths::One(learned.report.sparsity)));
    }
    if params.metric() != Metric::InnerProduct
        && let Some(row) = neighbors.distances.chunks_exact(neighbors.n_neighbors).position(|row| row[0] < 0.0)
    {
        let distance = neighbors.distances[row * neighbors.n_neighbors];
        return Err(Error::graph(format!("row {row} has neighbor distance {distance}; expected none below 0")));
    }
    weighted(neighbors, params, run)
}

/// [`weigh`] without checks of neighbors and parameters.
fn weighted(neighbors: Neighbors, params: &GraphParams, run: &Run) -> Result<(Graph, Widths)> {
    let widths = Widths::from_last(neighbors.last(), params);
    widths.check(neighbors.distances.iter().step_by(neighbors.n_neighbors).copied())?;
    let adjacency = run.install(|| symmetrized(&neighbors, params, &widths))?;
    drop(neighbors);
    Ok((Graph::from_symmetric(adjacency)?, widths))
}

/// Merges the neighbors of each row with the rows that have it as a neighbor.
fn symmetrized(neighbors: &Neighbors, params: &GraphParams, widths: &Widths) -> Result<Csr<f64>> {
    let n = neighbors.n_samples();
    let incoming = Incoming::new(&neighbors.indices, &neighbors.distances, neighbors.n_neighbors);
    let (indptr, indices, values) = assemble(n, |own: &mut Vec<(u32, f32)>, row, emit| {
        own.clear();
        own.extend(neighbors.row(row));
        own.sort_unstable_by_key(|&(id, _)| id);
        merge(own, incoming.row(row), |id, distance, other| {
            let weight = widths.edge(params, (row, id as usize), distance, other);
            if weight > 0.0 {
                emit(id, weight);
            }
        });
    });
    Csr::new(n, n, indptr, indices, values)
}

impl GraphParams {
    /// Adds a warning to `report` if the rows of `features` have fewer neighbors than asked for, and notes the metric
    /// ([`note_metric`](Self::note_metric)).
    #[doc(hidden)]
    pub fn note(&self, features: &Features<'_>, report: &mut Report) {
        let (given, used, n_samples) = (self.n_neighbors, self.resolved(features).n_neighbors, features.n_rows());
        report.warnings.extend((used < given && n_samples > 1).then_some(Warning::ManyNeighbors {
            given,
            used,
            n_samples,
        }));
        self.note_metric(features, report);
    }

    /// Notes in `report` that auto takes the cosine for `features`, and a warning if there are rows of zeros.
    #[doc(hidden)]
    pub fn note_metric(&self, features: &Features<'_>, report: &mut Report) {
        if self.metric.is_none() && self.resolved(features).metric() == Metric::Cosine {
            report.choose("metric", Metric::Cosine.name());
            let n_samples = features.n_rows();
            let n_rows = (0..n_samples).filter(|&row| norm(features, row) == 0.0).count();
            report.warnings.extend((n_rows > 0).then_some(Warning::ZeroRows { n_rows, n_samples }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knn::NO_NEIGHBOR;
    use crate::{Symmetrize, Weighting, testkit};

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
    fn lists_may_end_before_the_last_neighbor() {
        let run = Run::new(Some(2), 0).unwrap();
        for weights in [Weighting::SelfTuning, Weighting::Gaussian, Weighting::Binary] {
            let params = GraphParams { n_neighbors: 4, weights, ..GraphParams::default() };
            let (graph, _, neighbors) = weighted(&params);
            let pad = |at: usize| if at % 5 == 4 { None } else { Some(at / 5 * 4 + at % 5) };
            let n = neighbors.n_samples();
            let mut padded = Neighbors {
                n_neighbors: 5,
                indices: (0..5 * n).map(|at| pad(at).map_or(NO_NEIGHBOR, |at| neighbors.indices[at])).collect(),
                distances: (0..5 * n).map(|at| pad(at).map_or(0.0, |at| neighbors.distances[at])).collect(),
            };
            assert_eq!(weigh(padded.clone(), &params, &run).unwrap().0.adjacency(), graph.adjacency(), "{weights:?}");
            // A row without any neighbor keeps the edges of those that name it.
            padded.indices[..5].fill(NO_NEIGHBOR);
            let lonely = weigh(padded.clone(), &params, &run).unwrap().0;
            let named = (1..n).filter(|&row| padded.row(row).any(|(id, _)| id == 0)).count();
            assert_eq!(lonely.adjacency().row(0).0.len(), named);
            padded.indices[4] = 7;
            let text = weigh(padded.clone(), &params, &run).unwrap_err().to_string();
            assert!(text.contains("row 0 names neighbors behind the end"), "{text}");
            padded.indices[4] = NO_NEIGHBOR;
            let learned = GraphParams { weights: Weighting::Learned, ..params };
            let text = weigh(padded, &learned, &run).unwrap_err().to_string();
            assert!(text.contains("every row needs as many neighbors"), "{text}");
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
        assert!(text(binary).contains("binary weights have none"));
        let metric = Some(Metric::Euclidean);
        assert!(
            text(GraphParams { weights: Weighting::Cosine, metric, ..GraphParams::default() })
                .contains("cosine metric")
        );
        assert!(text(GraphParams { recall_target: 1.5, ..GraphParams::default() }).contains("recall_target"));
        let products = GraphParams { metric: Some(Metric::InnerProduct), ..GraphParams::default() };
        assert!(text(products.clone()).contains("binary with the inner-product metric"));
        GraphParams { weights: Weighting::Binary, ..products }.validate().unwrap();
    }
}
