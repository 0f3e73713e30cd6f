//! Scores of new rows as weighted means of the scores of their neighbors among the fitted rows.
//!
//! The mean is f(x) = Σⱼ w(x, xⱼ) fⱼ / Σⱼ w(x, xⱼ) over the k nearest fitted rows: the harmonic condition at a node with these
//! edges (Delalleau, Bengio & Le Roux 2005, eq. 7). Cost: one neighbor query per new row. If the graph was built by partitions,
//! queries use an index, which the first query builds and a saved model holds.

use std::sync::Arc;

use lapwing_core::model_file::{ModelFile, Must};
use lapwing_core::parallel::*;
use lapwing_core::{Error, Features, Matrix, Result, Run};
use lapwing_graph::learn::single_node_weights;
use lapwing_graph::{
    AffinityGraph, GraphParams, IndexCells, IndexStart, KnnMethod, KnnParams, Metric, NeighborIndex, Neighbors,
    SELF_TUNING_BANDWIDTH, Weighting, Widths, ZeroRows,
};
use lapwing_simd::{prefetch, prefetch_lines};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extend::{Extend, Extension, Shape};
use super::lazy_index::LazyIndex;
use super::problem::Problem;
use super::scores::{Extended, RowScores};
use super::stored::{features_of, read_settings, settings, store_features};

/// Name of the kind.
pub(crate) const NEIGHBORS: &str = "neighbors";

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
    pub scores: RowScores<'a>,
    /// Bound on the error of the difference of any two standings of each fitted row (n), if labels were certified.
    pub errors: Option<Arc<Vec<f64>>>,
    /// Index of the fitted rows, built by the first query.
    #[doc(hidden)]
    pub index: Arc<LazyIndex>,
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
            scores: scores.clone().into(),
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
        Self { features, graph, widths: Widths::None, scores: scores.into(), errors: None, index: Arc::default() }
    }

    /// Σⱼ wⱼ·fⱼ (m, c) and Σⱼ wⱼ (m) over the neighbors of new rows (m, d).
    pub(crate) fn sums(&self, new: &Features<'_>, run: &Run) -> Result<(Matrix, Vec<f64>)> {
        let (sums, found) = self.each(new, run, false)?;
        Ok((sums, found.iter().map(|found| found.total).collect()))
    }

    /// The weighted sums of scores for every new row, or their means; and the sums of weights and errors.
    fn each(&self, new: &Features<'_>, run: &Run, is_mean: bool) -> Result<(Matrix, Vec<NeighborSums>)> {
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
                self.prefetch(&neighbors, row + 1);
                let found = self.row(&neighbors, row, out);
                if is_mean && found.total > 0.0 {
                    out.iter_mut().for_each(|value| *value /= found.total);
                } else if is_mean {
                    // The row is so far away that every weight underflows: all neighbors get equal weight.
                    self.plain_mean(&neighbors, row, found.reached, out);
                }
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

    /// A copy that borrows nothing.
    pub(crate) fn with_own_rows(&self) -> Result<NeighborExtension<'static>> {
        let Self { features, graph, widths, scores, errors, index } = self.clone();
        let all: Vec<u32> = (0..features.n_rows() as u32).collect();
        let (features, scores) = (features.select(&all)?, scores.matrix()?.into());
        Ok(NeighborExtension { features, graph, widths, scores, errors, index })
    }

    /// The extension that [`store`](Extend::store) wrote, with scores of `n_outputs` columns.
    ///
    /// # Errors
    /// [`Error::Format`] for settings or arrays that are out of range or do not fit together.
    pub(crate) fn stored(file: &ModelFile, n_outputs: usize) -> Result<NeighborExtension<'static>> {
        let meta: NeighborMeta = read_settings(file, &file.meta)?;
        let scores = file.matrix("scores", [None, None], Must::Scores)?;
        let features = features_of(file)?;
        let (n, c) = (scores.n_rows(), scores.n_cols());
        let widths_fit = match meta.graph.weights {
            Weighting::Gaussian | Weighting::Learned | Weighting::LearnedL2 => {
                meta.width.is_some_and(|width| Must::Positive.holds(&[width], 1))
            }
            // A single width would be used instead of each row's own.
            Weighting::SelfTuning => meta.width.is_none() && file.contains("widths"),
            Weighting::Cosine | Weighting::Binary => true,
            _ => false,
        };
        if !widths_fit {
            return Err(file.error("its kernel widths are missing or out of range"));
        }
        if features.n_rows() != n || c != n_outputs {
            return Err(file.error(format!(
                "features of {} rows, scores of {n} × {c} and {n_outputs} classes do not fit together",
                features.n_rows(),
            )));
        }
        let widths = match meta.width {
            Some(width) => Widths::One(width),
            None if file.contains("widths") => {
                Widths::PerRow(file.vector::<f32>("widths", &[Some(n)], Must::NonNegative)?)
            }
            None => Widths::None,
        };
        meta.graph.validate().map_err(|e| file.error(e.to_string()))?;
        let is_learned = meta.graph.weights.model().is_some();
        if !is_learned && meta.graph.n_neighbors > features.n_rows().max(2) - 1 {
            return Err(file.error(format!("{} neighbors among {} rows", meta.graph.n_neighbors, features.n_rows())));
        }
        let index = match meta.index {
            Some(index) => LazyIndex::kept(cells(file, index, (n, features.n_cols()))?),
            None => LazyIndex::default(),
        };
        let errors = match file.contains("errors") {
            true => Some(Arc::new(file.vector::<f64>("errors", &[Some(n)], Must::Bound)?)),
            false => None,
        };
        let (scores, index) = (Arc::new(scores).into(), Arc::new(index));
        Ok(NeighborExtension { features, graph: meta.graph, widths, scores, errors, index })
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

    /// Prefetches what is read of the neighbors of a row.
    fn prefetch(&self, neighbors: &Neighbors, row: usize) {
        if row == neighbors.n_samples() {
            return;
        }
        for (id, _) in neighbors.row(row) {
            prefetch_lines(self.scores.row(id as usize));
            if let Widths::PerRow(widths) = &self.widths {
                prefetch(widths, id as usize);
            }
            if let Some(errors) = &self.errors {
                prefetch(errors, id as usize);
            }
        }
    }

    fn row(&self, neighbors: &Neighbors, row: usize, out: &mut [f64]) -> Found {
        // The new row's own width, by the rule of the fitted rows.
        let h = self.graph.bandwidth.unwrap_or(SELF_TUNING_BANDWIDTH) as f32;
        let own = h * neighbors.row(row).map(|(_, d)| d).fold(0f32, f32::max);
        let learned = self.learned_weights(neighbors, row);
        let (mut total, mut reached) = (0.0, 0.0);
        let (mut error, mut plain_error) = (0.0, 0.0);
        for (at, (id, distance)) in neighbors.row(row).enumerate() {
            let scores = self.scores.row(id as usize);
            if is_unreached(scores) {
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
        }
        Found { total, reached, error, plain_error }
    }

    /// The mean of the scores of a new row's neighbors that a label reaches; NaN without any.
    fn plain_mean(&self, neighbors: &Neighbors, row: usize, reached: f64, out: &mut [f64]) {
        out.fill(0.0);
        let scores = neighbors.row(row).map(|(id, _)| self.scores.row(id as usize));
        for scores in scores.filter(|scores| !is_unreached(scores)) {
            out.iter_mut().zip(scores).for_each(|(out, score)| *out += score);
        }
        out.iter_mut().for_each(|out| *out /= reached);
    }
}

impl Extend for NeighborExtension<'_> {
    fn shape(&self) -> Shape {
        Shape { kind: NEIGHBORS, n_features: self.features.n_cols(), n_outputs: self.scores.n_cols() }
    }

    /// NaN where no neighbor is reached by a label. The error of a mean is at most the mean of the errors.
    ///
    /// # Complexity
    /// That of [`LazyIndex::query`], and O(m·k·c).
    fn extend(&self, new: &Features<'_>, run: &Run) -> Result<Extended> {
        let (scores, found) = self.each(new, run, true)?;
        let mean = |found: &NeighborSums| if found.total > 0.0 { found.error / found.total } else { found.plain_error };
        let errors = self.errors.as_ref().map(|_| found.iter().map(mean).collect());
        Ok(Extended { scores, errors })
    }

    fn certifies(&self) -> bool {
        self.errors.is_some()
    }

    fn neighbors(&self) -> Option<&NeighborExtension<'_>> {
        Some(self)
    }

    fn set_scores(&mut self, scores: &Arc<Matrix>, errors: Option<Vec<f64>>) {
        if self.scores.n_rows() == scores.n_rows() {
            self.scores = scores.clone().into();
            self.errors = errors.map(Arc::new);
        }
    }

    /// Builds the index of the fitted rows.
    fn prepare(&self, run: &Run) -> Result<()> {
        self.index(run).map(drop)
    }

    fn owned(&self) -> Result<Extension<'static>> {
        Ok(Arc::new(self.with_own_rows()?))
    }

    fn store(&self, file: &mut ModelFile) -> Result<()> {
        let NeighborExtension { features, graph, widths, scores, errors, index } = self;
        let meta = NeighborMeta {
            graph: graph.resolved(features),
            width: if let Widths::One(width) = widths { Some(*width) } else { None },
            index: index.cells().map(|cells| {
                let &IndexCells { n_probes, recall, recall_error, byte_scale, ref start, .. } = cells;
                let start = start.as_ref().map(|start| (start.scale, start.longest));
                IndexMeta { n_probes, recall, recall_error, byte_scale, start }
            }),
        };
        if let (Value::Object(all), Value::Object(own)) = (&mut file.meta, settings(meta)?) {
            all.extend(own);
        }
        store_features(features, file)?;
        if let Widths::PerRow(widths) = widths {
            file.insert("widths", &[widths.len()], widths.clone())?;
        }
        if let Some(cells) = index.cells() {
            file.insert("index.ids", &[cells.ids.len()], cells.ids.clone())?;
            file.insert("index.starts", &[cells.starts.len()], cells.starts.clone())?;
            if let Some(IndexStart { center, means, .. }) = &cells.start {
                file.insert("index.center", &[center.len()], center.clone())?;
                file.insert("index.means", &[cells.len(), features.n_cols() + 1], means.clone())?;
            }
        }
        if let Some(errors) = errors {
            file.insert("errors", &[errors.len()], errors.to_vec())?;
        }
        file.insert("scores", &[scores.n_rows(), scores.n_cols()], scores.values().to_vec())
    }
}

/// Settings of an extension by neighbors, in the same JSON object as [`Meta`].
#[derive(Serialize, Deserialize)]
struct NeighborMeta {
    graph: GraphParams,
    /// σ, if it is the same for all rows.
    width: Option<f64>,
    /// Numbers of the index of the fitted rows, if there is one; its cells are arrays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index: Option<IndexMeta>,
}

#[derive(Serialize, Deserialize)]
struct IndexMeta {
    n_probes: usize,
    recall: f64,
    recall_error: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    byte_scale: Option<f32>,
    /// Factor of the rows, and their largest norm; files of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<(f64, f32)>,
}

/// The cells of the index of `n` rows of `d` columns.
fn cells(file: &ModelFile, meta: IndexMeta, (n, d): (usize, usize)) -> Result<IndexCells> {
    let start = |(scale, longest): (f64, f32)| {
        Ok(IndexStart {
            center: file.vector::<f64>("index.center", &[None], Must::FitSingle)?,
            scale: file.setting("scale", scale, Must::Positive)?,
            longest: file.setting("longest", longest.into(), Must::NonNegative)? as f32,
            means: file.vector::<f32>("index.means", &[None, Some(d + 1)], Must::Finite)?,
        })
    };
    let cells = IndexCells {
        ids: file.array::<u32>("index.ids", &[Some(n)])?.1.as_slice().to_vec(),
        starts: file.array::<u64>("index.starts", &[None])?.1.as_slice().to_vec(),
        n_probes: meta.n_probes,
        recall: file.setting("recall", meta.recall, Must::NonNegative)?,
        recall_error: file.setting("recall_error", meta.recall_error, Must::NonNegative)?,
        byte_scale: match meta.byte_scale {
            Some(scale) => Some(file.setting("byte_scale", scale.into(), Must::Positive)? as f32),
            None => None,
        },
        start: meta.start.map(start).transpose()?,
    };
    cells.check(n, d).map_err(|e| file.error(e.to_string()))?;
    Ok(cells)
}

/// Whether no label reaches the row of these scores.
fn is_unreached(scores: &[f64]) -> bool {
    scores.iter().fold(false, |is, score| is | score.is_nan())
}

/// Sums over the neighbors of a new row that a label reaches.
struct Found {
    /// Sum of their weights.
    total: f64,
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
