//! Scores of new rows: the weighted mean of their neighbors' scores, or a fitted function of the features.
//!
//! The mean is f(x) = Σⱼ w(x, xⱼ) fⱼ / Σⱼ w(x, xⱼ) over the k nearest fitted rows: the harmonic condition at a node with these
//! edges (Delalleau, Bengio & Le Roux 2005, eq. 7). Cost: one neighbor query per new row. If the graph was built by partitions,
//! queries use an index, which the first query builds and a saved model holds.

use std::sync::{Arc, OnceLock};

use lapwing_core::{Error, Features, Matrix, Result, Run};
use lapwing_graph::learn::single_node_weights;
use lapwing_graph::{
    AffinityGraph, GraphParams, IndexCells, KnnMethod, KnnParams, Metric, NeighborIndex, Neighbors,
    SELF_TUNING_BANDWIDTH, Weighting, Widths, ZeroRows, query,
};
use rayon::prelude::*;

use crate::Problem;
use crate::baselines::{EigenfunctionExtension, SupervisedExtension};
use crate::{KernelExtension, LowRankExtension, UnfoldedExtension};

/// Share of the time of a query for the index, if there is none yet.
const BUILT: f64 = 0.4;

/// Gives scores to new rows.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Extension<'a> {
    /// Means over neighbors among the fitted rows.
    Neighbors(NeighborExtension<'a>),
    /// Functions of the features.
    Eigenfunctions(EigenfunctionExtension),
    /// Similarities to landmarks.
    Landmarks(LowRankExtension),
    /// A kernel machine.
    Kernel(KernelExtension<'a>),
    /// Layers of a network, and neighbors.
    Network(UnfoldedExtension<'a>),
    /// What was learned from the labeled rows alone.
    Supervised(SupervisedExtension),
}

impl Extension<'_> {
    /// Columns of the features.
    pub fn n_features(&self) -> usize {
        match self {
            Self::Neighbors(neighbors) => neighbors.features.n_cols(),
            Self::Eigenfunctions(functions) => functions.n_features(),
            Self::Landmarks(landmarks) => landmarks.n_features(),
            Self::Kernel(machine) => machine.n_features(),
            Self::Network(network) => network.n_features(),
            Self::Supervised(learned) => learned.n_features(),
        }
    }

    /// Scores (m, c) of new rows (m, d); NaN where no label reaches them.
    ///
    /// # Errors
    /// As [`NeighborExtension::extend`], [`EigenfunctionExtension::extend`], [`LowRankExtension::extend`],
    /// [`KernelExtension::extend`], [`UnfoldedExtension::extend`] or [`SupervisedExtension::extend`].
    ///
    /// # Complexity
    /// See there.
    pub fn extend(&self, new: &Features<'_>, run: &Run) -> Result<Matrix> {
        match self {
            Self::Neighbors(neighbors) => neighbors.extend(new, run),
            Self::Eigenfunctions(functions) => functions.extend(new, run),
            Self::Landmarks(landmarks) => landmarks.extend(new, run),
            Self::Kernel(machine) => machine.extend(new, run),
            Self::Network(network) => network.extend(new, run),
            Self::Supervised(learned) => learned.extend(new, run),
        }
    }

    /// Scores of new rows (m, d), with bounds on their errors if the fit has any.
    ///
    /// # Errors
    /// As [`extend`](Self::extend).
    pub fn extend_with_errors(&self, new: &Features<'_>, run: &Run) -> Result<Extended> {
        match self {
            Self::Neighbors(neighbors) => neighbors.extend_with_errors(new, run),
            other => other.extend(new, run).map(|scores| Extended { scores, errors: None }),
        }
    }

    /// Whether new rows get means of the scores of the `n` fitted rows.
    pub(crate) fn averages(&self, n: usize) -> bool {
        matches!(self, Self::Neighbors(neighbors) if neighbors.scores.n_rows() == n)
    }

    /// Sets the bounds on the errors of the fitted rows' standings (n), if new rows get means of these rows' scores.
    pub(crate) fn set_errors(&mut self, errors: Vec<f64>) {
        if let Self::Neighbors(neighbors) = self
            && neighbors.scores.n_rows() == errors.len()
        {
            neighbors.errors = Some(Arc::new(errors));
        }
    }

    /// Replaces the scores of the fitted rows, if new rows get means of these.
    pub(crate) fn replace_scores(&mut self, scores: &Arc<Matrix>) {
        if let Self::Neighbors(neighbors) = self
            && neighbors.scores.n_rows() == scores.n_rows()
        {
            neighbors.scores = scores.clone();
            neighbors.errors = None;
        }
    }

    /// Builds the index of the fitted rows now, instead of at the first prediction.
    ///
    /// # Errors
    /// As [`NeighborExtension::index`].
    pub fn prepare(&self, run: &Run) -> Result<()> {
        match self {
            Self::Neighbors(neighbors) => neighbors.index(run).map(drop),
            Self::Network(network) => network.neighbors().map_or(Ok(()), |neighbors| neighbors.index(run).map(drop)),
            Self::Eigenfunctions(_) | Self::Landmarks(_) | Self::Kernel(_) | Self::Supervised(_) => Ok(()),
        }
    }
}

impl<'a> From<NeighborExtension<'a>> for Extension<'a> {
    fn from(neighbors: NeighborExtension<'a>) -> Self {
        Self::Neighbors(neighbors)
    }
}

impl From<EigenfunctionExtension> for Extension<'_> {
    fn from(functions: EigenfunctionExtension) -> Self {
        Self::Eigenfunctions(functions)
    }
}

impl From<LowRankExtension> for Extension<'_> {
    fn from(landmarks: LowRankExtension) -> Self {
        Self::Landmarks(landmarks)
    }
}

impl<'a> From<KernelExtension<'a>> for Extension<'a> {
    fn from(machine: KernelExtension<'a>) -> Self {
        Self::Kernel(machine)
    }
}

impl<'a> From<UnfoldedExtension<'a>> for Extension<'a> {
    fn from(network: UnfoldedExtension<'a>) -> Self {
        Self::Network(network)
    }
}

impl From<SupervisedExtension> for Extension<'_> {
    fn from(learned: SupervisedExtension) -> Self {
        Self::Supervised(learned)
    }
}

/// Weighted means over the neighbors among the fitted rows.
#[derive(Clone, Debug)]
pub struct NeighborExtension<'a> {
    /// Fitted features (n, d).
    pub features: Features<'a>,
    /// How the graph was built; new rows are joined to it in the same way.
    pub graph: GraphParams,
    /// Kernel widths of the fitted rows.
    pub widths: Widths,
    /// Scores of the fitted rows (n, c), NaN where no label reaches.
    pub scores: Arc<Matrix>,
    /// Bound on the error of the difference of any two standings of each fitted row (n), if labels were certified.
    pub errors: Option<Arc<Vec<f64>>>,
    /// Index of the fitted rows, built by the first query.
    #[doc(hidden)]
    pub index: Arc<LazyIndex>,
}

/// Scores of new rows and bounds on their errors.
#[derive(Clone, Debug)]
pub struct Extended {
    /// Scores (m, c), NaN where no label reaches.
    pub scores: Matrix,
    /// Bound on the error of the difference of any two standings of each row (m), if the labels of the fit were certified.
    pub errors: Option<Vec<f64>>,
}

/// An index of the fitted rows, built by the first query.
#[derive(Debug, Default)]
pub struct LazyIndex {
    kept: Option<IndexCells>,
    ready: OnceLock<NeighborIndex>,
}

impl LazyIndex {
    /// An index that is restored from the cells in a saved model.
    pub fn kept(cells: IndexCells) -> Self {
        Self { kept: Some(cells), ready: OnceLock::new() }
    }

    /// The cells to save, if the index was built or restored.
    pub fn cells(&self) -> Option<&IndexCells> {
        self.ready.get().map(NeighborIndex::cells).or(self.kept.as_ref())
    }

    /// The index of the fitted rows `features`, built now if there is none yet; `None` if a query compares all rows anyway.
    ///
    /// # Errors
    /// As [`NeighborIndex::build`].
    ///
    /// # Complexity
    /// About one partition of the fitted rows, and brute force for 500 of them; one copy if it is restored.
    pub fn of(&self, features: &Features<'_>, params: &KnnParams, run: &Run) -> Result<Option<&NeighborIndex>> {
        match NeighborIndex::pays(features, params) {
            true => self.get(features, params, run).map(Some),
            false => Ok(None),
        }
    }

    /// The k nearest of the fitted rows `features` for every row of `new`, by the index unless all rows are compared.
    ///
    /// # Errors
    /// As [`query`].
    ///
    /// # Complexity
    /// That of [`query`] or [`NeighborIndex::query`].
    pub fn query(
        &self,
        features: &Features<'_>,
        new: &Features<'_>,
        params: &KnnParams,
        run: &Run,
    ) -> Result<Neighbors> {
        if !NeighborIndex::pays(features, params) {
            return query(features, new, params, run);
        }
        if let Some(index) = self.ready.get() {
            return index.query(features, new, params, run);
        }
        let index = self.get(features, params, &run.part(0.0..BUILT, "index"))?;
        index.query(features, new, params, &run.part(BUILT..1.0, ""))
    }

    fn get(&self, features: &Features<'_>, params: &KnnParams, run: &Run) -> Result<&NeighborIndex> {
        if let Some(index) = self.ready.get() {
            return Ok(index);
        }
        let index = match &self.kept {
            Some(cells) => NeighborIndex::from_cells(features, params, cells.clone(), run)?,
            None => NeighborIndex::build(features, params, run)?,
        };
        // Two threads may build it at once; both get the same index, and the first one stays.
        Ok(self.ready.get_or_init(|| index))
    }
}

impl<'a> NeighborExtension<'a> {
    /// The extension of `affinity`, the graph that `graph` built from the features of `problem`. `None` without features, or
    /// without the kernel widths that the weights need.
    pub(crate) fn from_graph(
        problem: &Problem<'_, 'a>,
        affinity: &AffinityGraph,
        graph: &GraphParams,
        scores: &Arc<Matrix>,
    ) -> Option<Self> {
        let needs_none = matches!(graph.weights, Weighting::Cosine | Weighting::Binary);
        if !needs_none && affinity.widths == Widths::None {
            return None;
        }
        Some(Self {
            features: problem.features?.clone(),
            graph: graph.resolved(problem.features?),
            widths: affinity.widths.clone(),
            scores: scores.clone(),
            errors: None,
            index: Arc::default(),
        })
    }

    /// Gives each new row the scores (l, c) of the nearest of the rows `features` (l, d).
    pub(crate) fn from_nearest(
        features: Features<'a>,
        metric: Metric,
        zero_rows: ZeroRows,
        scores: Arc<Matrix>,
    ) -> Self {
        let graph = GraphParams {
            n_neighbors: 1,
            metric: Some(metric),
            weights: Weighting::Binary,
            knn_method: KnnMethod::Exact,
            zero_rows,
            ..GraphParams::default()
        };
        Self { features, graph, widths: Widths::None, scores, errors: None, index: Arc::default() }
    }

    /// Scores (m, c) of new rows (m, d); NaN where no neighbor is reached by a label.
    ///
    /// # Errors
    /// `Error::Shape` unless the columns are those of the fit; what a neighbor query refuses; `Error::Interrupted`.
    ///
    /// # Complexity
    /// That of [`LazyIndex::query`], and O(m·k·c).
    pub fn extend(&self, new: &Features<'_>, run: &Run) -> Result<Matrix> {
        self.extend_with_errors(new, run).map(|extended| extended.scores)
    }

    /// Scores of new rows and bounds on their errors: the error of a mean is at most the mean of the errors.
    ///
    /// # Errors
    /// As [`extend`](Self::extend).
    ///
    /// # Complexity
    /// As [`extend`](Self::extend).
    pub fn extend_with_errors(&self, new: &Features<'_>, run: &Run) -> Result<Extended> {
        let (scores, found) = self.each(new, run, |found, out| {
            if found.total > 0.0 {
                out.iter_mut().for_each(|value| *value /= found.total);
            } else {
                // The row is so far away that every weight underflows: all neighbors get equal weight. No neighbor that a label
                // reaches: 0 / 0 = NaN.
                out.iter_mut().zip(&found.plain).for_each(|(value, plain)| *value = plain / found.reached);
            }
        })?;
        let mean = |found: &NeighborSums| if found.total > 0.0 { found.error / found.total } else { found.plain_error };
        let errors = self.errors.as_ref().map(|_| found.iter().map(mean).collect());
        Ok(Extended { scores, errors })
    }

    /// Σⱼ wⱼ·fⱼ (m, c) and Σⱼ wⱼ (m) over the neighbors of new rows (m, d).
    ///
    /// # Errors
    /// As [`extend`](Self::extend).
    pub(crate) fn sums(&self, new: &Features<'_>, run: &Run) -> Result<(Matrix, Vec<f64>)> {
        let (sums, found) = self.each(new, run, |_, _| ())?;
        Ok((sums, found.iter().map(|found| found.total).collect()))
    }

    /// The weighted sums of scores for every new row, after `finish`; and the sums of weights and errors.
    fn each(
        &self,
        new: &Features<'_>,
        run: &Run,
        finish: impl Fn(&Found, &mut [f64]) + Sync,
    ) -> Result<(Matrix, Vec<NeighborSums>)> {
        let n = self.features.n_rows();
        if self.scores.n_rows() != n {
            return Err(Error::shape(
                "scores of the model",
                format!("{n} rows"),
                format!("{} rows", self.scores.n_rows()),
            ));
        }
        if let Some(errors) = self.errors.as_ref().filter(|errors| errors.len() != n) {
            return Err(Error::shape("errors of the model", format!("{n} values"), format!("{} values", errors.len())));
        }
        if let Widths::PerRow(widths) = &self.widths
            && widths.len() != n
        {
            return Err(Error::shape("widths of the model", format!("{n} values"), format!("{} values", widths.len())));
        }
        let neighbors = self.index.query(&self.features, new, &self.knn(), run)?;
        let c = self.scores.n_cols();
        let (mut out, mut sums) = (Matrix::filled(new.n_rows(), c, 0.0), vec![NeighborSums::default(); new.n_rows()]);
        run.install(|| {
            let rows = out.values_mut().par_chunks_mut(c.max(1)).zip(&mut sums).with_min_len(256).enumerate();
            rows.for_each(|(row, (out, sums))| {
                let found = self.row(&neighbors, row, out);
                finish(&found, out);
                *sums = NeighborSums {
                    total: found.total,
                    error: found.error,
                    plain_error: found.plain_error / found.reached,
                };
            });
        });
        self.features.check_file()?;
        Ok((out, sums))
    }

    /// The index of the fitted rows, as [`LazyIndex::of`].
    ///
    /// # Errors
    /// As [`NeighborIndex::build`].
    pub fn index(&self, run: &Run) -> Result<Option<&NeighborIndex>> {
        self.index.of(&self.features, &self.knn(), run)
    }

    fn knn(&self) -> KnnParams {
        self.graph.knn_of_new(self.features.n_rows())
    }

    /// Weights of a new row's neighbors if the graph was learned: those that learning gives the row by itself, at the sparsity of
    /// the fitted graph.
    fn learned_weights(&self, neighbors: &Neighbors, row: usize) -> Option<Vec<f64>> {
        let (Some(model), Widths::One(sparsity)) = (self.graph.weights.model(), &self.widths) else { return None };
        let distances: Vec<f32> = neighbors.row(row).map(|neighbor| neighbor.1).collect();
        Some(single_node_weights(model, self.graph.metric(), &distances, *sparsity))
    }

    fn row(&self, neighbors: &Neighbors, row: usize, out: &mut [f64]) -> Found {
        // The new row's own width, by the rule of the fitted rows.
        let h = self.graph.bandwidth.unwrap_or(SELF_TUNING_BANDWIDTH) as f32;
        let own = h * neighbors.row(row).map(|(_, d)| d).fold(0f32, f32::max);
        let learned = self.learned_weights(neighbors, row);
        let (mut total, mut plain, mut reached) = (0.0, vec![0.0; out.len()], 0.0);
        let (mut error, mut plain_error) = (0.0, 0.0);
        for (at, (id, distance)) in neighbors.row(row).enumerate() {
            let scores = self.scores.row(id as usize);
            if scores.iter().any(|s| s.is_nan()) {
                continue;
            }
            let width = self.widths.of_row(id as usize);
            let own = if own > 0.0 { own } else { width };
            let weight = match &learned {
                Some(weights) => weights[at],
                None => self.widths.weight(self.graph.weights, distance, own, width),
            };
            (total, reached) = (total + weight, reached + 1.0);
            if let Some(own) = self.errors.as_ref().map(|errors| errors[id as usize]) {
                (error, plain_error) = (error + weight * own, plain_error + own);
            }
            out.iter_mut().zip(scores).for_each(|(out, score)| *out += weight * score);
            plain.iter_mut().zip(scores).for_each(|(plain, score)| *plain += score);
        }
        Found { total, plain, reached, error, plain_error }
    }
}

/// Sums over the neighbors of a new row that a label reaches.
struct Found {
    /// Sum of their weights.
    total: f64,
    /// Sum of their scores.
    plain: Vec<f64>,
    /// Their number.
    reached: f64,
    /// Weighted sum of their errors.
    error: f64,
    /// Sum of their errors.
    plain_error: f64,
}

/// Sums over the neighbors of a new row, without those of scores.
#[derive(Clone, Copy, Debug, Default)]
struct NeighborSums {
    /// Sum of the weights.
    total: f64,
    /// Sum of weight times error.
    error: f64,
    /// Mean of the errors.
    plain_error: f64,
}
