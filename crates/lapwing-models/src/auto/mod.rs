//! The automatic choice: several methods, weighted by what they foretell of labels that are hidden from them.
//!
//! 1. One neighbor graph is built, unless a graph is given. All candidates work on it; with features beside a given graph, some work on
//!    the sum of that graph and the one of the neighbors by features.
//! 2. The labels are dealt into folds, each with its share of every class. Each candidate says what it expects of the labels of each
//!    fold without having seen them; rows and graph stay. Methods with a closed form need no fit for that.
//! 3. [`mixture`] weighs the candidates by these expectations. It also estimates the accuracy, on labels that took no part in the
//!    weights: the choice is paid for.
//! 4. Candidates with a weight are fitted to all labels. Every row gets the weighted mean of their distributions.
//!
//! With fewer than [`LEAST_PER_CLASS`] labels per class, there is nothing to weigh candidates by: the default candidate labels alone.
//!
//! New rows get the weighted mean of their neighbors' distributions. If one candidate has all the weight, they are labeled as by
//! that method.
//!
//! Cost: the graph, [`FOLDS`] solves for each harmonic candidate, one or two fits for the others. Memory: the graph, and n·c numbers
//! for each candidate with a weight. Candidates run one after another, each in parallel.

mod candidates;
mod mixture;
mod params;

use std::sync::Arc;
use std::time::Instant;

use lapwing_data::{Features, Matrix, Report, Result, Run, Targets};
use lapwing_graph::{AffinityGraph, GraphParams, affinity_graph};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value};

use candidates::{Candidate, Trial, candidates};
use mixture::{Judged, Mixture, mixed, temper};
pub use params::{AutoParams, Candidates};

use crate::class_sizes::label_counts;
use crate::fitting::{Affinity, Fitting};
use crate::labeling::largest;
use crate::{
    Extension, Fitted, HeldOut, HeldOutSource, Labeling, Method, NeighborExtension, Plan, Problem, ProblemSize, Rule,
    notes,
};

/// Name of the method.
pub(crate) const AUTO: &str = "auto";
/// Folds of the labels.
const FOLDS: usize = 5;
/// Fewest labels per class, on average, to weigh candidates by.
const LEAST_PER_CLASS: usize = 3;

/// The automatic choice, with checked parameters.
#[derive(Clone, Debug)]
pub struct Auto {
    params: AutoParams,
    graph: GraphParams,
}

/// A candidate in the report.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    /// The method; several candidates may be of one method.
    method: &'static str,
    /// Parameters that differ from the method's defaults.
    parameters: Map<String, Value>,
    /// Share of held-out labels that it gets right; `None` if it was not tried.
    estimate: Option<f64>,
    /// Mean log loss on held-out labels, after its temperature.
    log_loss: Option<f64>,
    /// Seconds of the trial and of the fit.
    seconds: f64,
    /// Weight in the labels.
    weight: f64,
}

impl Auto {
    /// Takes the parameters.
    ///
    /// # Errors
    /// [`Error::Param`](lapwing_data::Error::Param) naming a parameter outside its range.
    pub fn new(params: AutoParams, graph: GraphParams) -> Result<Self> {
        params.validate()?;
        graph.validate()?;
        Ok(Self { params, graph })
    }

    /// The trials of the candidates, `None` for those that the budget has no time for; nothing if labels are too few.
    fn trials<'a>(
        &self,
        candidates: &[Candidate],
        problem: &Problem<'_, 'a>,
        graphs: Graphs<'_>,
        folds: &[usize],
        start: Instant,
        run: &Run,
    ) -> Result<Vec<Option<Trial<'a>>>> {
        let is_over = || self.params.budget.is_some_and(|budget| start.elapsed().as_secs_f64() > budget.0);
        let mut trials = Vec::with_capacity(candidates.len());
        for (at, candidate) in candidates.iter().enumerate() {
            run.check()?;
            run.progress()
                .update(at as u64, &format!("candidate {} of {}: {}", at + 1, candidates.len(), candidate.name));
            let is_due = at == 0 || !is_over();
            trials.push(is_due.then(|| candidate.trial(&graphs.problem(problem, candidate), folds, run)).transpose()?);
        }
        Ok(trials)
    }
}

/// The graphs of the candidates.
#[derive(Clone, Copy)]
struct Graphs<'g> {
    shared: &'g AffinityGraph,
    joined: Option<&'g Joined>,
}

impl Graphs<'_> {
    /// The problem of a candidate, on its graph.
    fn problem<'p, 'a>(&'p self, problem: &Problem<'p, 'a>, candidate: &Candidate) -> Problem<'p, 'a> {
        let joined = self.joined.filter(|_| candidate.is_joined()).map(|joined| &joined.sum);
        Problem { graph: Some(joined.unwrap_or(self.shared)), ..*problem }
    }
}

/// A given graph, joined with that of the neighbors by features.
struct Joined {
    sum: AffinityGraph,
    neighbors: AffinityGraph,
}

/// Mean degree of the neighbors in the sum, as a share of that of the given graph. On citations, a fourth was worth three points of
/// accuracy; an equal share was worth nothing.
const SHARE_OF_NEIGHBORS: f64 = 0.25;

impl Joined {
    fn new(
        features: &Features<'_>,
        given: &AffinityGraph,
        params: &GraphParams,
        report: &mut Report,
        run: &Run,
    ) -> Result<Self> {
        let neighbors = report.time("neighbors", run, |_| affinity_graph(features, params, run))?;
        let (wanted, found) = (SHARE_OF_NEIGHBORS * given.graph.mean_degree(), neighbors.graph.mean_degree());
        let sum = given.graph.plus(&neighbors.graph, if found > 0.0 && wanted > 0.0 { wanted / found } else { 1.0 })?;
        Ok(Self { sum: AffinityGraph::given(sum), neighbors })
    }
}

/// Fold of each label; `None` if there are too few.
fn folds(targets: &Targets, run: &Run) -> Option<Vec<usize>> {
    let counts = label_counts(targets);
    let n_classes = counts.iter().filter(|count| **count > 0).count();
    let l = targets.rows().len();
    let is_enough = n_classes > 1 && l >= LEAST_PER_CLASS * n_classes && l > FOLDS;
    let classes: Vec<usize> = targets.values().rows().map(largest).collect();
    is_enough.then(|| crate::split::dealt(&classes, targets.n_columns(), FOLDS, run))
}

impl Method for Auto {
    fn name(&self) -> &'static str {
        AUTO
    }

    fn graph_params(&self) -> Option<&GraphParams> {
        Some(&self.graph)
    }

    fn uses_both(&self) -> bool {
        true
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        let start = Instant::now();
        let mut fitting = Fitting::new(AUTO, problem, run)?;
        if problem.features.is_some() {
            fitting.features()?;
        }
        let affinity = fitting.graph(&self.graph)?;
        fitting.components(&affinity);
        notes::low_recall(&mut fitting.report, self.graph.recall_target);
        let is_given = matches!(affinity, Affinity::Given(_));
        let candidates = candidates(&self.params, &self.graph, problem.features.is_some(), is_given)?;
        let joined = match problem.features.filter(|_| candidates.iter().any(Candidate::is_joined)) {
            Some(features) => Some(Joined::new(features, &affinity, &self.graph, &mut fitting.report, run)?),
            None => None,
        };
        let graphs = Graphs { shared: &affinity, joined: joined.as_ref() };
        let targets = problem.targets;
        let classes: Vec<usize> = targets.values().rows().map(largest).collect();
        let folds = folds(targets, run);
        let total = candidates.len() as u64;
        let mut trials = match &folds {
            Some(folds) => fitting
                .report
                .time_steps("choose", total, run, |_| self.trials(&candidates, problem, graphs, folds, start, run))?,
            None => candidates.iter().map(|_| None).collect(),
        };
        let mut held_out = None;
        let tried: Vec<usize> = (0..candidates.len()).filter(|&at| trials[at].is_some()).collect();
        let (tried, mixture) = match &folds {
            Some(folds) => {
                let shares = trials.iter().flatten().map(|trial| &trial.found.shares).collect();
                let (mixture, nested) = Mixture::new(&Judged { shares, classes: &classes, folds });
                held_out = Some(HeldOut {
                    rows: targets.rows().to_vec(),
                    classes: classes.iter().map(|&class| class as u32).collect(),
                    shares: nested,
                    source: HeldOutSource::Folds(FOLDS),
                });
                (tried, mixture)
            }
            None => (vec![0], Mixture::equal(1)),
        };
        let mut seconds: Vec<f64> = trials.iter().map(|trial| trial.as_ref().map_or(0.0, |t| t.seconds)).collect();
        let mut parts: Vec<(usize, Fitted<'a>)> = Vec::new();
        for (place, &at) in tried.iter().enumerate().filter(|(place, _)| mixture.weights[*place] > 0.0) {
            let begun = Instant::now();
            let candidate = &candidates[at];
            let fitted = match trials[at].as_mut().and_then(|trial| trial.found.fitted.take()) {
                Some(fitted) => fitted,
                None => {
                    let own = graphs.problem(problem, candidate);
                    fitting.report.time(candidate.name, run, |_| candidate.method.fit(&own, &run.quiet()))?
                }
            };
            seconds[at] += begun.elapsed().as_secs_f64();
            parts.push((place, fitted));
        }
        let rows = rows(&candidates, &trials, &tried, &mixture, &classes, &seconds);
        fitting.report.add_part("candidates", &rows)?;
        fitting.report.choose("method", candidates[tried[mixture.best()]].name);
        let fitted = match parts.len() {
            1 => alone(fitting, affinity, parts.remove(0), &mixture),
            _ => self.blended(fitting, affinity, joined, &parts, &mixture),
        }?;
        let best = parts.into_iter().find(|(place, _)| *place == mixture.best());
        Ok(Fitted { held_out, best: best.map(|(_, fitted)| Box::new(fitted)), ..fitted })
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        // The harmonic candidate holds most: the graph and the solver's blocks.
        crate::Settings::new("harmonic")
            .and_then(|settings| settings.method())
            .map_or_else(|_| Plan::from_steps(size.n_samples, 0, 1, Vec::new()), |method| method.plan(size))
    }
}

impl Auto {
    /// The labels by the weighted mean of several fits.
    fn blended<'a>(
        &self,
        mut fitting: Fitting<'_, '_, 'a>,
        affinity: Affinity<'_>,
        joined: Option<Joined>,
        parts: &[(usize, Fitted<'_>)],
        mixture: &Mixture,
    ) -> Result<Fitted<'a>> {
        let Fitting { problem, ref mut report, run } = fitting;
        notes::classes(report, problem.targets);
        let scores = Arc::new(run.install(|| mean_shares(parts, mixture, problem.targets)));
        let rule = Rule::largest(problem.targets.mean());
        let labeling = report.time("decide", run, |_| run.install(|| rule.decide(scores.clone())));
        notes::lost_classes(report, &labeling, problem.targets);
        report.n_unreached = labeling.reached.iter().filter(|reached| !**reached).count();
        notes::unreached(report);
        for warning in parts.iter().flat_map(|(_, fitted)| &fitted.report.warnings) {
            let is_own = matches!(warning.kind(), "unreached" | "lost-classes" | "one-class");
            if !is_own && !report.warnings.contains(warning) {
                report.warnings.push(warning.clone());
            }
        }
        // New rows are joined to their neighbors by features, of which a given graph knows nothing.
        let neighbors = joined.as_ref().map_or(&*affinity, |joined| &joined.neighbors);
        let extension = NeighborExtension::from_graph(problem, neighbors, &self.graph, &scores).map(Extension::from);
        Ok(fitting.classified(rule, labeling, extension, affinity.into_built()))
    }
}

/// The labels of one fit, which has all the weight; its scores are tempered as the mixture says.
fn alone<'a>(
    fitting: Fitting<'_, '_, 'a>,
    affinity: Affinity<'_>,
    (place, mut fitted): (usize, Fitted<'a>),
    mixture: &Mixture,
) -> Result<Fitted<'a>> {
    let mut report = fitting.report;
    let own = std::mem::take(&mut fitted.report);
    report.n_unreached = own.n_unreached;
    (report.n_classes, report.solve) = (own.n_classes, own.solve);
    report.warnings.extend(own.warnings);
    report.parts.extend(own.parts);
    for (name, value) in own.chosen {
        report.chosen.entry(name).or_insert(value);
    }
    if let Some(temperature) = &mut fitted.rule.temperature {
        *temperature *= mixture.temperatures[place] * mixture.temperature;
        let (certified, radius) = (fitted.labeling.certified.take(), fitted.labeling.score_radius.take());
        let decided = fitting.run.install(|| fitted.rule.decide(fitted.labeling.scores.clone()));
        fitted.labeling = Labeling { certified, score_radius: radius, ..decided };
    }
    Ok(Fitted { report, graph: affinity.into_built(), ..fitted })
}

/// The weighted mean of the distributions of several fits (n, c); rows of NaN where none has a label.
fn mean_shares(parts: &[(usize, Fitted<'_>)], mixture: &Mixture, targets: &Targets) -> Matrix {
    let (n, c) = (targets.n_samples(), targets.n_columns());
    let mut shares = Matrix::filled(n, c, f64::NAN);
    let scratch = || (Vec::new(), vec![f64::NAN; c]);
    shares.values_mut().par_chunks_mut(c.max(1)).with_min_len(256).enumerate().for_each_init(
        scratch,
        |(scratch, none), (row, out)| {
            let none = &none[..];
            let weighted = parts.iter().map(|(place, fitted)| {
                let labeling = &fitted.labeling;
                let own = if labeling.reached[row] { labeling.label_distributions.row(row) } else { none };
                (own, mixture.weights[*place], mixture.temperatures[*place])
            });
            if mixed(weighted, scratch, out) {
                temper(out, mixture.temperature);
            }
        },
    );
    shares
}

/// The candidates as rows of the report, with a baseline: the most frequent class.
fn rows(
    candidates: &[Candidate],
    trials: &[Option<Trial<'_>>],
    tried: &[usize],
    mixture: &Mixture,
    classes: &[usize],
    seconds: &[f64],
) -> Vec<Row> {
    let row = |(at, candidate): (usize, &Candidate)| {
        let place = tried.iter().position(|tried| *tried == at);
        let shares = trials[at].as_ref().map(|trial| &trial.found.shares);
        let temperature = place.map_or(1.0, |place| mixture.temperatures[place]);
        Row {
            name: candidate.name,
            method: candidate.method.name(),
            parameters: candidate.parameters.iter().map(|(name, value)| (name.to_string(), value.to_json())).collect(),
            estimate: shares.map(|shares| accuracy(shares, classes)),
            log_loss: shares.map(|shares| mixture::mean_loss(shares, classes, temperature)),
            seconds: seconds[at],
            weight: place.map_or(0.0, |place| mixture.weights[place]),
        }
    };
    candidates.iter().enumerate().map(row).collect()
}

/// Share of the rows whose largest share is that of their class; rows of NaN are wrong.
fn accuracy(shares: &Matrix, classes: &[usize]) -> f64 {
    let is_right = |(row, class): (&[f64], &usize)| !row.iter().any(|p| p.is_nan()) && largest(row) == *class;
    shares.rows().zip(classes).filter(|(row, class)| is_right((row, class))).count() as f64
        / classes.len().max(1) as f64
}

#[cfg(test)]
mod tests;
