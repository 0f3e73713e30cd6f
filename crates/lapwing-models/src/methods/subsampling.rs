//! Subsampling: the harmonic function on a graph of some of the rows; each other row takes the scores of the nearest of them.
//!
//! s rows are chosen: all labeled ones and the rest uniformly. [`Harmonic`] labels them on a graph of these rows only. Every other
//! row, and every new row, takes the scores of its nearest chosen row (the one of lowest number among equally near ones). With
//! s = n this is the harmonic function itself. Departure from the baseline of Calandriello et al. (2015): all labeled rows are
//! chosen, not a uniform sample.
//!
//! Cost: that of [`Harmonic`] for s rows, and s·n·d multiplications; memory for a copy of the chosen rows and n × c
//! scores. Parallel and exact as [`lapwing_graph::query`]; which rows are chosen depends on the seed alone.
//!
//! Take it if the graph of all rows is too expensive and regions of a class are far larger than the distances of chosen rows.

use std::sync::Arc;

use lapwing_core::params::{Parameters, at_least};
use lapwing_core::{
    Error, Features, Matrix, Report, Result, Run, Stream, Targets, Warning, parameters, peak_memory_bytes,
};
use lapwing_graph::GraphParams;
use rand::seq::index;

use crate::core::extend::Extend;
use crate::core::parts::rows_beside;
use crate::core::plan::{Program, base_bytes};
use crate::{Fitted, Labeling, Method, NeighborExtension, Plan, PlanStep, Problem, ProblemSize};

/// Name of the method.
pub(crate) const SUBSAMPLING: &str = "subsampling";

/// Number of rows by default: so many that their graph takes moments, but at least [`ROWS_PER_LABEL`] for each label.
const TYPICAL_ROWS: usize = 2000;
const ROWS_PER_LABEL: usize = 4;

parameters! {
    /// Parameters of harmonic propagation among a sample of the rows.
    pub struct SubsamplingParams {
        /// Rows in the graph, at least the labeled ones. Auto is the larger of 2000 and four times the labeled rows. More than all
        /// rows means all.
        n_subsample: Option<usize> = None, or "auto", in at_least(1.0);
    }
}

/// Harmonic classifier on a sample of the rows: parameters, checked.
///
/// # Example
/// ```
/// use lapwing_core::{Features, Labels, Run, Targets};
/// use lapwing_models::baselines::{Subsampling, SubsamplingParams};
/// use lapwing_models::{Harmonic, HarmonicParams, Method, Problem};
///
/// // Two groups of rows; fifty of a thousand make the graph.
/// let features = Features::from_f32(1000, 1, (0..1000).map(|i| (i % 2) as f32 * 5.0 + i as f32 / 1000.0).collect())?;
/// let labels = Labels::from_integers((0..1000).map(|i| (i < 2).then_some(i % 2)));
/// let targets = Targets::one_hot(&labels, None)?;
/// let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
/// let params = SubsamplingParams { n_subsample: Some(50) };
/// let harmonic = Harmonic::new(HarmonicParams::default(), Default::default())?;
/// let method = Subsampling::new(params, Default::default(), Box::new(harmonic))?;
/// let fitted = method.fit(&problem, &Run::new(None, 0)?)?;
/// assert!((0..1000).all(|i| fitted.labeling.labels[i] == i as u32 % 2));
/// # Ok::<(), lapwing_core::Error>(())
/// ```
pub struct Subsampling {
    params: SubsamplingParams,
    graph: GraphParams,
    inner: Box<dyn Method>,
}

impl std::fmt::Debug for Subsampling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { params, graph, inner } = self;
        f.debug_struct("Subsampling")
            .field("params", params)
            .field("graph", graph)
            .field("inner", &inner.name())
            .finish()
    }
}

impl Subsampling {
    /// Takes the parameters of the sample, and the method that labels it on a graph of these parameters, such as
    /// [`Harmonic`](crate::Harmonic).
    ///
    /// # Errors
    /// [`Error::Param`] naming a parameter outside its range.
    pub fn new(params: SubsamplingParams, graph: GraphParams, inner: Box<dyn Method>) -> Result<Self> {
        params.check_ranges()?;
        Ok(Self { params, graph, inner })
    }

    /// Number of rows to choose among `n`, `l` of them labeled.
    fn size(&self, n: usize, l: usize) -> usize {
        self.params.n_subsample.unwrap_or_else(|| TYPICAL_ROWS.max(ROWS_PER_LABEL * l)).min(n)
    }

    /// The chosen rows, ascending: all labeled ones, the others uniformly.
    fn chosen(&self, targets: &Targets, run: &Run) -> Result<Vec<u32>> {
        let (n, labeled) = (targets.n_samples(), targets.rows());
        let s = self.size(n, labeled.len());
        if s < labeled.len() {
            let expected = format!("at least {}, the number of labeled rows", labeled.len());
            return Err(Error::param("n_subsample", s, expected));
        }
        if self.graph.n_neighbors >= s && s < n {
            let expected = format!("below n_subsample, which is {s}");
            return Err(Error::param("n_neighbors", self.graph.n_neighbors, expected));
        }
        let others = rows_beside(n, labeled);
        let drawn = index::sample(&mut run.rng(Stream::Nodes, 0), others.len(), s - labeled.len());
        let mut chosen: Vec<u32> = drawn.iter().map(|at| others[at]).chain(labeled.iter().copied()).collect();
        chosen.sort_unstable();
        Ok(chosen)
    }

    /// Scores (n, c) of all rows from those of the chosen ones.
    fn spread(
        &self,
        features: &Features<'_>,
        chosen: &[u32],
        extension: &NeighborExtension<'_>,
        run: &Run,
    ) -> Result<Matrix> {
        let of_chosen = extension.scores.matrix()?;
        if chosen.len() == features.n_rows() {
            return Ok(Arc::unwrap_or_clone(of_chosen));
        }
        let mut scores = extension.scores_of(features, run)?;
        // The nearest row of a chosen row may be another one: an equal row, or, for dot products, a longer one.
        for (&row, values) in chosen.iter().zip(of_chosen.rows()) {
            scores.row_mut(row as usize).copy_from_slice(values);
        }
        Ok(scores)
    }
}

impl Method for Subsampling {
    fn name(&self) -> &'static str {
        SUBSAMPLING
    }

    fn needs_features(&self) -> bool {
        true
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        problem.refuse_prior(self.name())?;
        problem.check()?;
        let (features, targets) = (problem.required_features(self.name())?, problem.targets);
        let n = features.n_rows();
        // The graph of the chosen rows is not shared with other methods. Chosen rows are checked when their graph is built, the
        // others when they are compared.
        let chosen = self.chosen(targets, run)?;
        let sample = features.select(&chosen)?;
        let place = |row: &u32| chosen.partition_point(|other| other < row) as u32;
        let rows = targets.rows().iter().map(place).collect();
        let sample_targets = targets.moved(chosen.len(), rows)?;
        let part = Problem { features: Some(&sample), ..Problem::new(&sample_targets) };
        let fitted = self.inner.fit(&part, run);
        let Fitted { labeling, rule, graph, held_out, mut report, .. } =
            fitted.map_err(|error| error.at_rows("features", |row| chosen[row] as usize))?;
        let held_out = held_out.map(|held_out| held_out.at(|row| chosen[row as usize]));
        report.method = self.name().into();
        report.n_samples = n;
        if self.params.n_subsample.is_none() {
            report.choose("n_subsample", chosen.len());
        }
        let knn = self.graph.resolved(features);
        let extension = NeighborExtension::from_nearest(sample, knn.metric(), knn.zero_rows, labeling.scores.clone());
        let scores = report.time("nearest", run, |_| self.spread(features, &chosen, &extension, run))?;
        let labeling = report.time("decide", run, |_| run.install(|| rule.decide(Arc::new(scores))));
        recount(&mut report, &labeling);
        report.peak_bytes = peak_memory_bytes();
        let graph = graph.filter(|_| chosen.len() == n);
        Ok(Fitted { labeling, rule, extension: Some(Arc::new(extension)), graph, held_out, best: None, report })
    }

    /// The method itself, if all rows are in the sample.
    fn same_as(&self, size: &ProblemSize) -> Option<&'static str> {
        (self.size(size.n_samples, 0) == size.n_samples).then(|| self.inner.name())
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        let (n, c) = (size.n_samples, size.n_classes.max(2));
        let s = self.size(n, size.n_labeled);
        let sample_bytes = size.input_bytes / n.max(1) * s;
        let of_sample = ProblemSize { n_samples: s, n_edges: None, input_bytes: sample_bytes, ..*size };
        let mut plan = self.inner.plan(&of_sample);
        plan.steps.iter_mut().for_each(|step| step.peak_bytes += size.input_bytes as u64);
        let mut steps = plan.steps;
        let base = base_bytes(Program::Graph, size) + sample_bytes + 8 * s * c;
        let step = |name: &str, bytes: usize| PlanStep { name: name.into(), peak_bytes: (base + bytes) as u64 };
        if s < n {
            let entries = size.sparse.then_some((size.input_bytes + sample_bytes) / 8);
            let knn = GraphParams { n_neighbors: 1, ..self.graph.clone() }.knn();
            let query = knn.query_bytes(s, n, size.n_features, entries, size.threads);
            steps.push(step("nearest", query + 8 * n * c));
        }
        steps.push(step("decide", 2 * 8 * n * c + 48 * n));
        // Features are read three times: to sample, to check and to compare them.
        Plan::from_steps(Program::Graph, n, plan.n_edges, 3, steps)
    }
}

/// Counts the unreached rows again, among all rows instead of the chosen ones.
fn recount(report: &mut Report, labeling: &Labeling) {
    report.n_unreached = labeling.reached.iter().filter(|reached| !**reached).count();
    for warning in &mut report.warnings {
        if let Warning::Unreached { n_components, .. } = *warning {
            *warning = Warning::UnreachedSample { n_rows: report.n_unreached, n_components };
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::{blobs, dense_values};
    use lapwing_core::Labels;

    use super::*;
    use crate::{Harmonic, HarmonicParams};

    fn run() -> Run {
        Run::new(Some(2), 3).unwrap()
    }

    fn on(params: SubsamplingParams, graph: GraphParams) -> Result<Subsampling> {
        let inner = Harmonic::new(HarmonicParams::default(), graph.clone()).unwrap();
        Subsampling::new(params, graph, Box::new(inner))
    }

    fn method(n_subsample: Option<usize>) -> Subsampling {
        on(SubsamplingParams { n_subsample }, GraphParams::default()).unwrap()
    }

    fn some_labels(n: usize) -> Targets {
        let labels = Labels::from_integers((0..n).map(|row| (row % 40 == 7 || row < 4).then_some((row % 4) as i64)));
        Targets::one_hot(&labels, None).unwrap()
    }

    #[test]
    fn all_rows_chosen_make_the_harmonic_function() {
        let (features, targets) = (blobs(300, 5, 4), some_labels(300));
        let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
        let harmonic = Harmonic::new(HarmonicParams::default(), GraphParams::default()).unwrap();
        let expected = harmonic.fit(&problem, &run()).unwrap();
        for n_subsample in [None, Some(300), Some(1000)] {
            let found = method(n_subsample).fit(&problem, &run()).unwrap();
            assert_eq!(found.labeling.scores, expected.labeling.scores);
            assert_eq!((found.rule, found.labeling.labels), (expected.rule.clone(), expected.labeling.labels.clone()));
            assert_eq!(found.report.chosen.contains_key("n_subsample"), n_subsample.is_none());
        }
    }

    #[test]
    fn other_rows_take_the_answer_of_the_nearest_chosen_one() {
        let (n, d, s) = (500, 5, 120);
        let (features, targets) = (blobs(n, d, 4), some_labels(n));
        let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
        let method = method(Some(s));
        let chosen = method.chosen(&targets, &run()).unwrap();
        assert!(chosen.len() == s && chosen.is_sorted_by(|a, b| a < b));
        assert!(targets.rows().iter().all(|row| chosen.binary_search(row).is_ok()));
        assert_ne!(chosen, method.chosen(&targets, &run().with_seed(4)).unwrap());
        let fitted = method.fit(&problem, &run()).unwrap();
        let values = dense_values(&features);
        let row = |i: usize| &values[i * d..(i + 1) * d];
        let squared = |i: usize, j: u32| row(i).iter().zip(row(j as usize)).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        for i in 0..n {
            let nearest = chosen.iter().min_by(|a, b| squared(i, **a).total_cmp(&squared(i, **b))).unwrap();
            assert_eq!(fitted.labeling.scores.row(i), fitted.labeling.scores.row(*nearest as usize));
        }
        let right = (0..n).filter(|&i| fitted.labeling.labels[i] as usize == i % 4).count();
        assert!(right as f64 > 0.98 * n as f64, "{right} of {n}");
        assert!(fitted.graph.is_none() && fitted.report.n_samples == n);
        let again = fitted.extension.unwrap().scores_of(&features, &run()).unwrap();
        assert_eq!(&again, fitted.labeling.scores.as_ref());
    }

    #[test]
    fn every_row_without_a_label_is_as_likely_to_be_chosen() {
        let targets = some_labels(100);
        let mut counts = [0usize; 100];
        for seed in 0..2000 {
            for row in method(Some(40)).chosen(&targets, &run().with_seed(seed)).unwrap() {
                counts[row as usize] += 1;
            }
        }
        let l = targets.rows().len();
        let share = (40 - l) as f64 / (100 - l) as f64;
        let deviation = (2000.0 * share * (1.0 - share)).sqrt();
        for (row, &count) in counts.iter().enumerate() {
            let expected = if targets.rows().contains(&(row as u32)) { 2000.0 } else { 2000.0 * share };
            assert!((count as f64 - expected).abs() < 5.0 * deviation, "row {row} was chosen {count} times");
        }
    }

    #[test]
    fn what_cannot_be_chosen_is_refused() {
        let (features, targets) = (blobs(200, 3, 4), some_labels(200));
        let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
        let text = |s| method(Some(s)).fit(&problem, &run()).unwrap_err().to_string();
        assert_eq!(text(5), "n_subsample is 5; expected at least 9, the number of labeled rows");
        assert_eq!(text(15), "n_neighbors is 15; expected below n_subsample, which is 15");
        let zero = SubsamplingParams { n_subsample: Some(0) };
        assert!(on(zero, GraphParams::default()).is_err());
    }

    #[test]
    fn rows_near_an_unlabeled_part_are_not_reached() {
        let values: Vec<f32> = (0..200).map(|row| (row / 100) as f32 * 1000.0 + (row % 100) as f32).collect();
        let features = Features::from_f32(200, 1, values).unwrap();
        let labels = Labels::from_integers((0..200).map(|row| (row < 2).then_some(row as i64)));
        let targets = Targets::one_hot(&labels, None).unwrap();
        let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
        let graph = GraphParams { n_neighbors: 5, ..GraphParams::default() };
        let params = SubsamplingParams { n_subsample: Some(60) };
        let fitted = on(params, graph).unwrap().fit(&problem, &run()).unwrap();
        assert_eq!(fitted.report.n_unreached, 100);
        assert!((0..200).all(|row| fitted.labeling.reached[row] == (row < 100)));
        let n_components = fitted.report.n_unlabeled_components;
        assert_eq!(fitted.report.warnings, [Warning::UnreachedSample { n_rows: 100, n_components }]);
    }
}
