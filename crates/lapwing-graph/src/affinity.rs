//! From neighbours to an affinity graph: weights, widths, symmetrisation.

use lapwing_data::{Csr, Error, Features, GraphSummary, Report, Result, Run, parse_choice};
use serde::{Deserialize, Serialize};

use crate::knn::{KnnBuilder, KnnParams, KnnReport, Metric, Neighbors, ZeroRows, memory};
use crate::learn::{LearnModel, LearnParams, LearnReport, NeighborTable, learn_from_table, learn_graph};
use crate::relation::{Incoming, assemble, merge};
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
    /// Learned from the distances by the log-degree model ([`crate::learn`]); which pairs are edges is learned as well.
    Learned,
    /// Learned by the l2-degree model.
    LearnedL2,
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
    /// How weights are learned, where they are.
    #[serde(default)]
    pub learn: LearnParams,
}

/// Default h of the self-tuning weights: exp(−4d²/(σᵢσⱼ)) gives fewer errors than Zelnik-Manor & Perona's
/// exp(−d²/(σᵢσⱼ)) on most data sets of `docs/results.md` from three labels per class on.
pub const SELF_TUNING_BANDWIDTH: f64 = 0.5;

/// Kernel width of each row, as the weights used it; needed again to weigh new points.
#[derive(Clone, Debug, PartialEq)]
pub enum Widths {
    /// h·σᵢ of each row (n).
    PerRow(Vec<f32>),
    /// One σ for all; the sparsity θ of learned weights.
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
    /// How the weights were learned, where they were.
    pub learned: Option<LearnReport>,
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
            learn: LearnParams::default(),
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
            if !matches!(self.weights, Weighting::SelfTuning | Weighting::Gaussian) {
                let expected = format!("no value: {} weights have none", self.weights.name());
                return Err(Error::param("bandwidth", sigma, expected));
            }
        }
        if self.weights.model().is_some() {
            self.learn.validate()?;
            if self.symmetrize != Symmetrize::default() {
                let expected = "mean, the default: learned weights are symmetric as they are";
                return Err(Error::param("symmetrize", self.symmetrize.name(), expected));
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
        let is_learned = self.weights.model().is_some();
        self.search(n, d, is_sparse) == KnnBuilder::Exact && self.n_neighbors > memory::MOST_NEIGHBORS && !is_learned
    }

    /// The search for the neighbours of new rows among `n` fitted ones.
    pub fn knn_of_new(&self, n: usize) -> KnnParams {
        let n_neighbors = match self.weights.model() {
            Some(_) => self.learn.n_allowed_of_new(self.n_neighbors),
            None => self.n_neighbors,
        };
        KnnParams { n_neighbors: n_neighbors.min(n), ..self.knn() }
    }

    /// The neighbour search these parameters ask for; learned graphs look further, see [`LearnParams`].
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
        Self { graph, widths: Widths::None, knn: None, learned: None }
    }

    /// Puts what there is to say into a report: the summary, and what to look at where weights were learned; `components` are
    /// the graph's own.
    pub fn describe(&self, components: &Components, report: &mut Report) {
        report.graph = Some(self.summary(components));
        report.warnings.extend(self.learned.iter().flat_map(LearnReport::warnings));
        report
            .warnings
            .extend(self.knn.as_ref().and_then(|knn| duplicates(knn.n_duplicate_rows, self.graph.n_samples())));
    }

    /// What there is to say about graph and search; `components` are the graph's own.
    pub fn summary(&self, components: &Components) -> GraphSummary {
        GraphSummary {
            recall: self.knn.as_ref().map(|knn| knn.recall),
            recall_error: self.knn.as_ref().map(|knn| knn.recall_error),
            n_duplicate_rows: self.knn.as_ref().map(|knn| knn.n_duplicate_rows),
            learned: self.learned.as_ref().and_then(|learned| serde_json::to_value(learned).ok()),
            ..self.graph.summary(components)
        }
    }
}

/// What to look at where most rows have no other neighbours than their equals.
fn duplicates(n_rows: usize, n: usize) -> Option<String> {
    (n_rows > n / 2).then(|| {
        format!(
            "{n_rows} of {n} rows equal all their neighbors, so that their distances say nothing; if the rows should \
             differ, their numbers are too large for their differences (double precision has 16 digits): subtract the \
             common part before they are written or rounded"
        )
    })
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
    if params.weights.model().is_some() {
        let learned = learn_graph(features, params, None, run)?;
        let widths = Widths::One(learned.report.sparsity);
        return Ok(AffinityGraph { graph: learned.graph, widths, knn: learned.knn, learned: Some(learned.report) });
    }
    if params.is_wide(features.n_rows(), features.n_cols(), matches!(features, Features::Sparse(_))) {
        return KnnEdges::new(features, params, run)?.into_graph(run);
    }
    let (neighbors, report) = kneighbors(features, &params.knn(), run)?;
    let (graph, widths) = weighted(neighbors, params, run)?;
    Ok(AffinityGraph { graph, widths, knn: Some(report), learned: None })
}

/// Turns neighbours into a weighted graph; also returns the kernel widths it used. Where weights are learned, the
/// neighbours are those that are allowed: more than the `n_neighbors` wanted.
///
/// # Errors
/// Those of [`learn_from_table`] where weights are learned;
/// [`Error::Param`] naming a bandwidth so small that a row loses all its weight to underflow; [`Error::Graph`] for
/// neighbours that are not a search's result (out of range, a row its own neighbour, distances that are not).
///
/// # Complexity
/// O(n·k) time; 8 bytes per neighbour for the transposed relation and 12 per stored edge for the graph.
pub fn weigh(neighbors: Neighbors, params: &GraphParams, run: &Run) -> Result<(Graph, Widths)> {
    params.validate()?;
    neighbors.check()?;
    if params.weights.model().is_some() {
        let table = NeighborTable::of_neighbors(neighbors, params.metric, run)?;
        let learned = learn_from_table(table, params, None, run)?;
        return Ok((learned.graph, Widths::One(learned.report.sparsity)));
    }
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
    Ok((Graph::from_symmetric(adjacency)?, widths))
}

/// exp(−x) is cut off here, so that no edge of the self-tuning weights vanishes and no row falls off the graph: an
/// outlier at the rim of a dense cluster keeps a thread of weight 2·10⁻²².
const MOST_DECAY: f64 = 50.0;

impl Widths {
    /// The widths of rows at distances `last` to their last neighbours (n).
    pub(crate) fn of(last: Vec<f32>, params: &GraphParams) -> Self {
        match params.weights {
            Weighting::Cosine | Weighting::Binary | Weighting::Learned | Weighting::LearnedL2 => Self::None,
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

    /// Weight at `distance` between rows of widths `a` and `b`; the widths matter to the self-tuning weights only. Weights
    /// that are learned are no function of one distance.
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
    let incoming = Incoming::of(&neighbors.indices, &neighbors.distances, neighbors.n_neighbors);
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

/// Rounded to a number that four bytes hold, where it stays a normal one: distances have no more digits, and solvers keep
/// such weights in half the space.
pub(crate) fn single(weight: f64) -> f64 {
    let rounded = weight as f32;
    if rounded.is_normal() { rounded.into() } else { weight }
}

impl Weighting {
    const NAMES: [(&str, Self); 6] = [
        ("self-tuning", Self::SelfTuning),
        ("gaussian", Self::Gaussian),
        ("cosine", Self::Cosine),
        ("binary", Self::Binary),
        ("learned", Self::Learned),
        ("learned-l2", Self::LearnedL2),
    ];

    /// From its name.
    ///
    /// # Errors
    /// [`Error::Param`] listing the known names.
    pub fn parse(name: &str) -> Result<Self> {
        parse_choice("weights", name, &Self::NAMES)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, weighting)| *weighting == self).map_or("", |(name, _)| name)
    }
}

impl Weighting {
    /// The model by which weights are learned, where they are.
    pub fn model(self) -> Option<LearnModel> {
        match self {
            Self::Learned => Some(LearnModel::Log),
            Self::LearnedL2 => Some(LearnModel::L2),
            Self::SelfTuning | Self::Gaussian | Self::Cosine | Self::Binary => None,
        }
    }
}

impl From<LearnModel> for Weighting {
    fn from(model: LearnModel) -> Self {
        match model {
            LearnModel::Log => Self::Learned,
            LearnModel::L2 => Self::LearnedL2,
        }
    }
}

impl Symmetrize {
    const NAMES: [(&str, Self); 3] = [("union", Self::Union), ("mean", Self::Mean), ("mutual", Self::Mutual)];

    /// From its name.
    ///
    /// # Errors
    /// [`Error::Param`] listing the known names.
    pub fn parse(name: &str) -> Result<Self> {
        parse_choice("symmetrize", name, &Self::NAMES)
    }

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, way)| *way == self).map_or("", |(name, _)| name)
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
        assert!(text(binary).contains("binary weights have none"));
        assert!(text(GraphParams { weights: Weighting::Cosine, ..GraphParams::default() }).contains("cosine metric"));
        assert!(text(GraphParams { recall_target: 1.5, ..GraphParams::default() }).contains("recall_target"));
        let products = GraphParams { metric: Metric::InnerProduct, ..GraphParams::default() };
        assert!(text(products.clone()).contains("binary with the inner-product metric"));
        GraphParams { weights: Weighting::Binary, ..products }.validate().unwrap();
    }
}
