//! Nearest label: every row takes the label of the nearest labeled row.
//!
//! It uses distances in the features only, no graph and no unlabeled rows: what other methods gain over it, they gain from the
//! unlabeled rows. Among equally near rows the first decides; a labeled row keeps its label. Scores are the given labels (one-hot,
//! or shares), so that the confidence of a one-hot label is always 1. Trust in labels is ignored, except that 0 makes a row
//! unlabeled.
//!
//! Cost: l·n·d multiplications for l labeled rows, at the speed of matrix products; a copy of the labeled rows. Parallel
//! and exact as [`lapwing_graph::query`].
//!
//! Take it if every class has labels all over its region; for fewer labels take [`Harmonic`](crate::Harmonic).

use std::sync::Arc;

use lapwing_core::{Features, Result, Run, Targets, parameters};
use lapwing_graph::{GraphParams, Metric, ZeroRows, kneighbors};

use crate::core::calibration::Fallback;
use crate::core::extend::Extend;
use crate::core::fitting::Fitting;
use crate::core::held_out::Standings;
use crate::core::held_out::folds::{can_hold_out, in_turn};
use crate::core::plan::{Program, base_bytes};
use crate::core::scores::rows_at;
use crate::{Fitted, HeldOutFit, Method, NeighborExtension, Plan, PlanStep, Problem, ProblemSize};

/// Name of the method.
pub(crate) const NEAREST_LABEL: &str = "nearest-label";

parameters! {
    /// Parameters of the nearest label.
    pub struct NearestLabelParams {
        /// Distance between rows. Auto is cosine for sparse rows, where it allows rows of zeros, and euclidean for dense ones.
        metric: Option<Metric> = None, or "auto";
        /// Rows of zeros under the cosine metric: an error, or at distance 1 from every row.
        zero_rows: ZeroRows = ZeroRows::Error, if [metric: "cosine"];
    }
}

/// Classifier by the nearest labeled row.
///
/// # Example
/// ```
/// use lapwing_core::{Features, Labels, Run, Targets};
/// use lapwing_models::baselines::NearestLabel;
/// use lapwing_models::{Method, Problem};
///
/// let features = Features::from_f32(4, 1, vec![0.0, 0.4, 0.7, 1.0])?;
/// let labels = Labels::from_integers([Some(0), None, None, Some(1)]);
/// let targets = Targets::one_hot(&labels, None)?;
/// let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
/// let fitted = NearestLabel::default().fit(&problem, &Run::new(None, 0)?)?;
/// assert_eq!(fitted.labeling.labels, [0, 0, 1, 1]);
/// # Ok::<(), lapwing_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct NearestLabel {
    params: NearestLabelParams,
}

impl NearestLabel {
    /// Takes the parameters; all combinations are valid.
    pub fn new(params: NearestLabelParams) -> Self {
        Self { params }
    }

    /// The parameters of the search.
    fn graph(&self) -> GraphParams {
        let NearestLabelParams { metric, zero_rows } = self.params;
        GraphParams { metric, zero_rows, ..GraphParams::default() }
    }

    /// Gives each row the label of the nearest row of these targets.
    fn extension(&self, features: &Features<'_>, targets: &Targets) -> Result<NeighborExtension<'static>> {
        let (labeled, graph) = (features.select(targets.rows())?, self.graph().resolved(features));
        let given = Arc::new(targets.values().clone());
        Ok(NeighborExtension::from_nearest(labeled, graph.metric(), graph.zero_rows, given))
    }

    /// Targets of the nearest other labeled row of each labeled row; `None` if labels are too few.
    fn left_out(&self, features: &Features<'_>, targets: &Targets, run: &Run) -> Result<Option<Standings>> {
        if !can_hold_out(targets) {
            return Ok(None);
        }
        let params = GraphParams { n_neighbors: 1, ..self.graph() }.resolved(features);
        let (nearest, _) = kneighbors(&features.select(targets.rows())?, &params.knn(), &run.quiet())
            .map_err(|error| error.at_rows("features", |row| targets.rows()[row] as usize))?;
        let values = rows_at(targets.values(), nearest.indices.iter().map(|&other| other as usize));
        Ok(Some(Standings::left_out(targets, values)))
    }
}

impl Method for NearestLabel {
    fn name(&self) -> &'static str {
        NEAREST_LABEL
    }

    fn needs_features(&self) -> bool {
        true
    }

    fn has_scores(&self) -> bool {
        false
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        let mut fitting = Fitting::new(self.name(), problem, run)?;
        let (features, targets) = (problem.required_features(self.name())?, problem.targets);
        self.graph().note_metric(features, &mut fitting.report);
        let extension = self.extension(features, targets)?;
        let mut scores = fitting.report.time("nearest", run, |_| extension.scores_of(features, run))?;
        for (&row, values) in targets.rows().iter().zip(targets.values().rows()) {
            scores.row_mut(row as usize).copy_from_slice(values);
        }
        let held_out = self.left_out(features, targets, run)?;
        Ok(fitting.decide(Arc::new(scores), held_out, Fallback::Shares, Some(Arc::new(extension)), None))
    }

    /// Only the held-out rows are compared with the labels of the other folds.
    fn held_out<'a>(&self, problem: &Problem<'_, 'a>, folds: &[usize], run: &Run) -> Result<HeldOutFit<'a>> {
        let (features, targets) = (problem.required_features(self.name())?, problem.targets);
        let shares = in_turn(targets, folds, run, |kept, fold, _| {
            let rows = fold.rows(targets);
            let found = self.extension(features, kept)?.scores_of(&features.select(&rows)?, run);
            found.map_err(|error| error.at_rows("features", |row| rows[row] as usize))
        })?;
        Ok(HeldOutFit { shares, fitted: None })
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        let (n, l, c) = (size.n_samples, size.n_labeled.max(1), size.n_classes.max(2));
        let labeled = size.input_bytes / n.max(1) * l + 8 * l * c;
        let entries = size.sparse.then_some(size.input_bytes / 8 + labeled / 8);
        let knn = GraphParams { n_neighbors: 1, ..GraphParams::default() }.knn();
        let query = knn.query_bytes(l, n, size.n_features, entries, size.threads);
        let base = base_bytes(Program::Search, size) + labeled;
        let step = |name: &str, bytes: usize| PlanStep { name: name.into(), peak_bytes: (base + bytes) as u64 };
        let steps = vec![step("nearest", query + 8 * n * c), step("decide", 2 * 8 * n * c + 48 * n)];
        // Features are read twice: to check and to compare them.
        Plan::from_steps(Program::Search, n, 0, 2, steps)
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::{blobs, dense_values};
    use lapwing_core::{Csr, Labels};

    use super::*;

    #[test]
    fn labels_are_those_of_brute_force_for_every_metric_and_kind_of_rows() {
        let (n, d, run) = (400, 7, Run::new(Some(2), 0).unwrap());
        let dense = blobs(n, d, 5);
        let values = dense_values(&dense);
        let entries: Vec<(u32, u32, f32)> =
            (0..n * d).map(|at| ((at / d) as u32, (at % d) as u32, values[at] as f32)).collect();
        let sparse = Features::Sparse(Arc::new(Csr::from_entries(n, d, &entries).unwrap()));
        let labels = Labels::from_integers((0..n).map(|row| (row % 13 == 5).then_some((row % 3) as i64)));
        let targets = Targets::one_hot(&labels, None).unwrap();
        let row = |i: usize| &values[i * d..(i + 1) * d];
        let dot = |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum::<f64>();
        for metric in [Metric::Euclidean, Metric::Cosine, Metric::InnerProduct] {
            let distance = |i: usize, j: usize| match metric {
                Metric::Euclidean => dot(i, i) + dot(j, j) - 2.0 * dot(i, j),
                Metric::Cosine => -dot(i, j) / (dot(i, i) * dot(j, j)).sqrt(),
                _ => -dot(i, j),
            };
            let nearest = |i: usize| {
                let known = targets.rows().iter().map(|&j| (distance(i, j as usize), j));
                let own = targets.rows().contains(&(i as u32)).then_some((0.0, i as u32));
                let found = own.or_else(|| known.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))));
                labels.index[found.unwrap().1 as usize] as u32
            };
            let expected: Vec<u32> = (0..n).map(nearest).collect();
            let method =
                NearestLabel::new(NearestLabelParams { metric: Some(metric), ..NearestLabelParams::default() });
            for features in [&dense, &sparse] {
                let problem = Problem { features: Some(features), ..Problem::new(&targets) };
                let fitted = method.fit(&problem, &run).unwrap();
                assert_eq!(fitted.labeling.labels, expected, "{metric:?}");
                // The chance that the nearest other label is right.
                assert!(fitted.labeling.confidence.iter().all(|&share| share > 1.0 / 3.0 && share < 1.0));
                let again = fitted.extension.unwrap().scores_of(features, &run).unwrap();
                if metric != Metric::InnerProduct {
                    assert_eq!(&again, fitted.labeling.scores.as_ref());
                }
            }
        }
    }

    #[test]
    fn equally_near_labels_are_decided_by_their_rows() {
        let features = Features::from_f32(5, 1, vec![0.0, 2.0, 1.0, 0.0, -1.0]).unwrap();
        let labels = Labels::from_integers([Some(1), Some(0), None, Some(2), None]);
        let targets = Targets::one_hot(&labels, None).unwrap();
        let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
        let fitted = NearestLabel::default().fit(&problem, &Run::new(Some(1), 0).unwrap()).unwrap();
        assert_eq!(fitted.labeling.labels, [1, 0, 1, 2, 1]);
    }
}
