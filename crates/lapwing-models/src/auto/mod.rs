//! The automatic choice: several methods, weighted by how well they predict labels that are hidden from them.
//!
//! 1. One neighbor graph is built, unless a graph is given. All candidates work on it; with features beside a given graph, some work on
//!    the sum of that graph and the one of the neighbors by features.
//! 2. The labels are dealt into folds, each with its share of every class. Each candidate says what it expects of the labels of each
//!    fold without having seen them; rows and graph stay. Methods with a closed form need no fit for that.
//!    With many rows, a first round on a sample of them drops candidates ([`rounds`]).
//! 3. [`mixture`] weighs the candidates by these expectations. It also estimates the accuracy, on labels that took no part in the
//!    weights: the choice is paid for.
//! 4. Candidates with a weight are fitted to all labels. Every row gets the weighted mean of their distributions.
//!
//! With fewer than [`rounds::LEAST_PER_CLASS`] labels per class, there is nothing to weigh candidates by: the default candidate labels alone.
//!
//! New rows get the weighted mean of their neighbors' distributions. If one candidate has all the weight, they are labeled as by
//! that method.
//!
//! Cost: the graph, [`FOLDS`] solves for each harmonic candidate, one or two fits for the others. Memory: the graph, and n·c numbers
//! for each candidate with a weight. Candidates run one after another, each in parallel.

mod blend;
mod candidates;
mod given;
mod mixture;
mod params;
mod rounds;

use std::time::Instant;

use lapwing_data::{Matrix, Result, Run};
use lapwing_graph::GraphParams;
use serde::Serialize;
use serde_json::{Map, Value};

use blend::{Part, alone, blended};
use candidates::{Candidate, Input, candidates};
use mixture::Mixture;
pub use params::{AutoParams, Candidates};
use rounds::{Clock, Contest, Entry, FOLDS, Graphs, Hidden, Joined};

use crate::calibration::{has_enough, note};
use crate::expected::note_expected;
use crate::fitting::{Affinity, Fitting};
use crate::harmonic::plan_graph;
use crate::resident::Program;
use crate::{Fitted, HeldOut, HeldOutSource, Method, Plan, PlanStep, Problem, ProblemSize, notes};

/// Share of the time of the choice for a round on a sample.
const HALVED: f64 = 0.2;
/// Name of the method.
pub(crate) const AUTO: &str = "auto";

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
    /// Ends of the 90 % interval of the estimate.
    interval: Option<(f64, f64)>,
    /// Mean log loss on held-out labels, after its temperature; `None` if it was not tried on all rows.
    log_loss: Option<f64>,
    /// Rows on which it was tried last: all, or a sample.
    n_rows: Option<usize>,
    /// Seconds of the trials and of the fit.
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

    /// The rounds of the contest; the candidates of the last one, their mixture, and the shares it predicts for each label.
    fn chosen<'a>(
        &self,
        contest: &mut Contest<'a>,
        graphs: Graphs<'_>,
        is_given: bool,
        fitting: &mut Fitting<'_, '_, 'a>,
        clock: Clock,
    ) -> Result<(Vec<usize>, Mixture, Option<HeldOut>)> {
        let Fitting { problem, ref mut report, run } = *fitting;
        let Some(hidden) = Hidden::new(problem.targets, run) else { return Ok((vec![0], Mixture::alone(), None)) };
        report.time("choose", run, |_| -> Result<()> {
            let mut halved = 0.0;
            if let (Some(features), false) = (problem.features.filter(|_| rounds::are_many(problem)), is_given) {
                halved = HALVED;
                contest.halve(problem, features, &self.graph, clock, &run.part(0.0..halved, "sample"))?;
            }
            contest.round(problem, graphs, &hidden, clock, &run.part(halved..1.0, ""))
        })?;
        let (took_part, mixture, nested) = contest.mixture(&hidden);
        Ok((took_part, mixture, Some(held_out(problem, &hidden, nested))))
    }

    /// The fits of the candidates with a weight, to all labels.
    fn fits<'a>(
        contest: &mut Contest<'a>,
        (took_part, mixture): (&[usize], &Mixture),
        graphs: Graphs<'_>,
        fitting: &mut Fitting<'_, '_, 'a>,
    ) -> Result<Vec<Part<'a>>> {
        let Fitting { problem, ref mut report, run } = *fitting;
        let mut parts = Vec::new();
        for (place, &at) in took_part.iter().enumerate().filter(|(place, _)| mixture.weights[*place] > 0.0) {
            let entry = &mut contest.entries[at];
            let fitted = match entry.fitted.take() {
                Some(fitted) => fitted,
                None => {
                    let begun = Instant::now();
                    let candidate = &entry.candidate;
                    let own = graphs.problem(problem, candidate);
                    let fitted =
                        report.time(candidate.name, run, |_| candidate.method.fit(&own, &run.part(0.0..1.0, "")))?;
                    entry.seconds += begun.elapsed().as_secs_f64();
                    fitted
                }
            };
            parts.push((place, fitted));
        }
        Ok(parts)
    }
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

    fn takes_prior(&self) -> bool {
        true
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        let clock = Clock::start(self.params.budget);
        let mut fitting = Fitting::with_prior(AUTO, problem, run)?;
        if problem.features.is_some() {
            fitting.features()?;
        }
        let affinity = fitting.graph(&self.graph)?;
        fitting.components(&affinity);
        notes::low_recall(&mut fitting.report, self.graph.recall_target);
        let is_given = matches!(affinity, Affinity::Given(_));
        let input = Input {
            has_features: problem.features.is_some(),
            is_graph_given: is_given,
            has_prior: problem.prior.is_some(),
        };
        let candidates = candidates(&self.params, &self.graph, input)?;
        let joined = match problem.features.filter(|_| candidates.iter().any(Candidate::is_joined)) {
            Some(features) => Some(Joined::new(features, &affinity, &self.graph, &mut fitting.report, run)?),
            None => None,
        };
        let graphs = Graphs { shared: &affinity, joined: joined.as_ref() };
        let mut contest = Contest::new(candidates);
        let (took_part, mixture, held_out) = self.chosen(&mut contest, graphs, is_given, &mut fitting, clock)?;
        let mut parts = Self::fits(&mut contest, (&took_part, &mixture), graphs, &mut fitting)?;
        let place = |at: usize| took_part.iter().position(|&other| other == at);
        let rows: Vec<Row> =
            contest.entries.iter().enumerate().map(|(at, entry)| row(entry, place(at), &mixture)).collect();
        fitting.report.add_part("candidates", &rows)?;
        fitting.report.choose("method", rows[took_part[mixture.best()]].name);
        let mut fitted = match parts.len() {
            1 => alone(fitting, affinity, parts.remove(0), &mixture),
            _ => {
                let neighbors = joined.as_ref().map(|joined| &joined.neighbors);
                blended(fitting, affinity, neighbors, &self.graph, &parts, &mixture)?
            }
        };
        // With too few labels, those of the only candidate.
        let held_out = held_out.map(|held_out| held_out.made_by(&fitted.rule)).or(fitted.held_out);
        note_expected(&mut fitted.report, held_out.as_ref());
        note(&mut fitted.report, problem.targets, held_out.is_some() && has_enough(problem.targets));
        let best = parts.into_iter().find(|(place, _)| *place == mixture.best());
        Ok(Fitted { held_out, best: best.map(|(_, fitted)| Box::new(fitted)), ..fitted })
    }

    /// Each candidate in turn, beside the graph and the scores and shares of those before.
    fn plan(&self, size: &ProblemSize) -> Plan {
        let input =
            Input { has_features: size.n_features > 0, is_graph_given: size.n_edges.is_some(), has_prior: false };
        let candidates = candidates(&self.params, &self.graph, input).unwrap_or_default();
        let graph = plan_graph(&self.graph, size);
        let (n, c) = (size.n_samples, size.n_classes.max(2));
        let mut kept = 0;
        let mut steps = graph.steps.clone();
        if candidates.iter().any(Candidate::is_joined) {
            // The graph of the neighbors, and its sum with the given one.
            let near = plan_graph(&self.graph, &ProblemSize { n_edges: None, ..*size });
            let beside = |step: PlanStep| PlanStep { peak_bytes: step.peak_bytes + graph.held_bytes as u64, ..step };
            steps.extend(near.steps.into_iter().map(beside));
            kept = 2 * near.held_bytes + graph.held_bytes;
        }
        for candidate in candidates {
            let own = candidate.method.plan(size);
            let beside = if candidate.method.graph_params().is_some() { 0 } else { graph.held_bytes };
            steps.push(PlanStep { name: candidate.name.into(), peak_bytes: own.peak_bytes + (kept + beside) as u64 });
            // Scores, shares, labels and confidence.
            kept += 16 * n * c + 32 * n;
        }
        Plan::from_steps(Program::on_graph(size), n, graph.n_edges, 2 * steps.len(), steps)
    }
}

/// The shares that the mixture predicts for each label.
fn held_out(problem: &Problem<'_, '_>, hidden: &Hidden, shares: Matrix) -> HeldOut {
    HeldOut {
        rows: problem.targets.rows().to_vec(),
        classes: hidden.classes.iter().map(|&class| class as u32).collect(),
        values: shares.rows().map(<[f64]>::to_vec).collect(),
        shares,
        source: HeldOutSource::Folds(FOLDS),
    }
}

/// A candidate as a row of the report; `place` is its place in the mixture.
fn row(entry: &Entry<'_>, place: Option<usize>, mixture: &Mixture) -> Row {
    let Entry { candidate, estimate, n_rows, seconds, .. } = entry;
    Row {
        name: candidate.name,
        method: candidate.method.name(),
        parameters: candidate.parameters.iter().map(|(name, value)| (name.to_string(), value.to_json())).collect(),
        estimate: estimate.map(|(right, _)| right),
        interval: estimate.map(|(_, interval)| interval),
        log_loss: place.map(|place| mixture.losses[place]).filter(|loss| loss.is_finite()),
        n_rows: *n_rows,
        seconds: *seconds,
        weight: place.map_or(0.0, |place| mixture.weights[place]),
    }
}

#[cfg(test)]
mod tests;
