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
//! A candidate that cannot run is left out, with a warning that says why; so is one that would take far longer than all others because
//! classes are many. If the graph itself cannot be built, the best of those candidates
//! labels that need none.
//!
//! With fewer than [`rounds::LEAST_PER_CLASS`] labels per class, there is nothing to weigh candidates by: the default candidate labels alone.
//!
//! New rows get the weighted mean of their neighbors' distributions. If one candidate has all the weight, they are labeled as by
//! that method.
//!
//! Cost: the graph, five solves for each harmonic candidate, one or two fits for the others. Memory: the graph, and n·c numbers
//! for each candidate with a weight. Candidates run one after another, each in parallel.

mod blend;
mod candidates;
mod given;
mod mixture;
mod params;
mod rounds;

use lapwing_core::{Error, Matrix, Report, Result, Run, Targets};
use lapwing_graph::{AffinityGraph, Components, GraphParams};

use blend::{Part, alone, blended, unreach};
use candidates::{Candidate, Input, are_many_classes, candidates};
use mixture::Mixture;
pub use params::{AutoParams, Candidates};
use rounds::{Contest, Graphs, Hidden, Joined, Row};

use crate::choose::clock::Clock;
use crate::core::calibration::{has_enough, note};
use crate::core::expected::note_expected;
use crate::core::fitting::{Affinity, Fitting};
use crate::core::notes;
use crate::core::plan::{Program, plan_graph};
use crate::methods::majority::MAJORITY;
use crate::{Fitted, Method, Plan, PlanStep, Problem, ProblemSize};

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

impl Auto {
    /// Takes the parameters.
    ///
    /// # Errors
    /// [`Error::Param`](lapwing_core::Error::Param) naming a parameter outside its range.
    pub fn new(params: AutoParams, graph: GraphParams) -> Result<Self> {
        params.validate()?;
        graph.validate()?;
        Ok(Self { params, graph })
    }

    /// The rounds of the contest.
    fn compete<'a>(
        &self,
        contest: &mut Contest<'a>,
        graphs: Graphs<'_>,
        hidden: &Hidden,
        fitting: &mut Fitting<'_, '_, 'a>,
        clock: Clock,
    ) -> Result<()> {
        let Fitting { problem, ref mut report, run } = *fitting;
        let is_built = problem.graph.is_none() && graphs.shared.is_some();
        report.time("choose", run, |_| {
            let mut halved = 0.0;
            if let Some(features) = problem.features.filter(|_| is_built && rounds::are_many(problem)) {
                halved = HALVED;
                contest.halve(problem, features, &self.graph, clock, &run.part(0.0..halved, "sample"))?;
            }
            contest.round((problem, None), graphs, hidden, clock, &run.part(halved..1.0, ""))
        })
    }

    /// The graph of the candidates; without it, those that need none compete.
    fn graph<'p>(&self, contest: &mut Contest<'_>, fitting: &mut Fitting<'_, 'p, '_>) -> Result<Option<Affinity<'p>>> {
        match fitting.graph(&self.graph) {
            // A parameter of the graph, or a graph that is given, is the caller's to change.
            Err(error @ (Error::Value { .. } | Error::TooLarge { .. } | Error::NotPositiveDefinite { .. })) => {
                let is_on_graph: Vec<bool> =
                    (contest.entries.iter()).map(|entry| entry.candidate.method.graph_params().is_some()).collect();
                contest.fail(error, |at| is_on_graph[at])?;
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// The graph of the candidates that join the given one with the neighbors by features.
    fn joined(
        &self,
        contest: &mut Contest<'_>,
        given: &AffinityGraph,
        fitting: &mut Fitting<'_, '_, '_>,
    ) -> Result<Option<Joined>> {
        let is_joined: Vec<bool> = contest.entries.iter().map(|entry| entry.candidate.is_joined()).collect();
        let Some(features) = fitting.problem.features.filter(|_| is_joined.contains(&true)) else { return Ok(None) };
        match Joined::new(features, given, &self.graph, &mut fitting.report, fitting.run) {
            Ok(joined) => Ok(Some(joined)),
            Err(error) => contest.fail(error, |at| is_joined[at]).map(|()| None),
        }
    }
}

/// The candidates that may have a weight, their mixture, the shares that it predicts for each label, and the fits of those with a weight.
struct Chosen<'a> {
    took_part: Vec<usize>,
    mixture: Mixture,
    nested: Option<Matrix>,
    parts: Vec<Part<'a>>,
}

impl<'a> Chosen<'a> {
    /// Weighs the candidates and fits them to all labels. If one cannot be fitted, the others are weighed again.
    fn new(
        contest: &mut Contest<'a>,
        hidden: Option<&Hidden>,
        graphs: Graphs<'_>,
        fitting: &mut Fitting<'_, '_, 'a>,
    ) -> Result<Self> {
        let Fitting { problem, ref mut report, run } = *fitting;
        loop {
            let (took_part, mixture, nested) = contest.mixture(hidden, graphs.shared.is_none(), run)?;
            let weighted: Vec<usize> = mixture.weighted().into_iter().map(|place| took_part[place]).collect();
            if contest.fit(&weighted, problem, graphs, report, run)? {
                let fits = mixture.weighted().into_iter().zip(&weighted);
                let parts = fits.filter_map(|(place, &at)| Some((place, contest.entries[at].fitted.take()?))).collect();
                return Ok(Self { took_part, mixture, nested, parts });
            }
        }
    }

    /// The most frequent class says nothing of rows that no label reaches through the graph.
    fn forget_unreached(&mut self, contest: &Contest<'_>, components: &Components, targets: &Targets) {
        let is_blind = |place: usize| contest.entries[self.took_part[place]].candidate.name == MAJORITY;
        for (_, fitted) in self.parts.iter_mut().filter(|(place, _)| is_blind(*place)) {
            unreach(fitted, components, targets.rows());
        }
    }

    /// Adds the candidates to the report, with what kept some from running.
    fn note(&self, contest: &mut Contest<'_>, report: &mut Report) -> Result<()> {
        for (place, &at) in self.took_part.iter().enumerate() {
            let row = &mut contest.entries[at].row;
            row.weight = self.mixture.weights[place];
            row.log_loss = Some(self.mixture.losses[place]).filter(|loss| loss.is_finite());
        }
        let rows: Vec<&Row> = contest.entries.iter().map(|entry| &entry.row).collect();
        report.add_part("candidates", &rows)?;
        report.choose("method", rows[self.took_part[self.mixture.best()]].name);
        contest.note_failures(report);
        Ok(())
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
        let clock = Clock::new(self.params.budget.map(|budget| budget.0));
        let mut fitting = Fitting::with_prior(AUTO, problem, run)?;
        if problem.features.is_some() {
            fitting.features()?;
        }
        let input = Input {
            has_features: problem.features.is_some(),
            is_graph_given: problem.graph.is_some(),
            has_prior: problem.prior.is_some(),
        };
        let mut contest = Contest::new(candidates(&self.params, &self.graph, input)?);
        let affinity = self.graph(&mut contest, &mut fitting)?;
        let components = affinity.as_ref().map(|affinity| fitting.components(affinity));
        notes::low_recall(&mut fitting.report, self.graph.recall_target);
        let joined = match &affinity {
            Some(affinity) => self.joined(&mut contest, affinity, &mut fitting)?,
            None => None,
        };
        let graphs = Graphs { shared: affinity.as_deref(), joined: joined.as_ref() };
        let hidden = Hidden::new(problem.targets, run);
        if let Some(hidden) = &hidden {
            // Who names candidates waits for them.
            if self.params.candidates == Candidates::Auto {
                contest.leave_out_slow(problem);
            }
            self.compete(&mut contest, graphs, hidden, &mut fitting, clock)?;
        }
        let mut chosen = Chosen::new(&mut contest, hidden.as_ref(), graphs, &mut fitting)?;
        if let Some(components) = &components {
            chosen.forget_unreached(&contest, components, problem.targets);
        }
        chosen.note(&mut contest, &mut fitting.report)?;
        let Chosen { mixture, nested, mut parts, .. } = chosen;
        let mut fitted = match (affinity, parts.len()) {
            (Some(affinity), 2..) => {
                let neighbors = joined.as_ref().map(|joined| &joined.neighbors);
                blended(fitting, affinity, neighbors, &self.graph, &parts, &mixture)?
            }
            (affinity, _) => alone(fitting, affinity, parts.remove(0), &mixture),
        };
        // With too few labels, those of the only candidate.
        let held_out = hidden.zip(nested).map(|(hidden, nested)| hidden.held_out(nested));
        let held_out = held_out.or(fitted.held_out);
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
        let leaves_out = self.params.candidates == Candidates::Auto && are_many_classes(c, size.n_labeled);
        let is_tried = |candidate: &Candidate| !(leaves_out && candidate.is_slow(input.is_graph_given));
        for candidate in candidates.into_iter().filter(is_tried) {
            let own = candidate.method.plan(size);
            let beside = if candidate.method.graph_params().is_some() { 0 } else { graph.held_bytes };
            steps.push(PlanStep { name: candidate.name.into(), peak_bytes: own.peak_bytes + (kept + beside) as u64 });
            // Scores, shares, labels and confidence.
            kept += 16 * n * c + 32 * n;
        }
        Plan::from_steps(Program::on_graph(size), n, graph.n_edges, 2 * steps.len(), steps)
    }
}

#[cfg(test)]
mod tests;
