//! Steps that every fit takes before and after the method's own computation.
//!
//! [`Fitting::new`] checks the problem and begins the report; [`Fitting::regression`] also checks the targets of a regression.
//! A method then takes its graph from [`Fitting::graph`] and the components of this graph from [`Fitting::components`],
//! computes scores, and hands them to [`Fitting::decide`] or [`Fitting::regressed`].

use std::ops::Deref;
use std::sync::Arc;

use lapwing_core::{Error, Features, Matrix, Report, Result, Run, SolveSummary, peak_memory_bytes};
use lapwing_graph::{AffinityGraph, Components, GraphParams, affinity_graph};

use crate::core::calibration::{Fallback, calibrate};
use crate::core::expected::note_expected;
use crate::core::held_out::Standings;
use crate::core::notes;
use crate::core::uncertainty::{self, HeldOutErrors};
use crate::{Extension, Fitted, FittedRegression, HeldOut, Labeling, Problem, Rule};

/// Share of the time of "uncertainty" for values that are held out.
const HELD_OUT: f64 = 0.8;

/// A fit under way: its problem and its report.
pub(crate) struct Fitting<'f, 'p, 'a> {
    pub problem: &'f Problem<'p, 'a>,
    pub report: Report,
    pub run: &'f Run,
}

/// The graph of a fit.
pub(crate) enum Affinity<'p> {
    Given(&'p AffinityGraph),
    Built(Box<AffinityGraph>),
}

impl Deref for Affinity<'_> {
    type Target = AffinityGraph;

    fn deref(&self) -> &AffinityGraph {
        match self {
            Self::Given(affinity) => affinity,
            Self::Built(affinity) => affinity,
        }
    }
}

impl Affinity<'_> {
    /// The graph, if this fit built it.
    pub fn into_built(self) -> Option<AffinityGraph> {
        match self {
            Self::Given(_) => None,
            Self::Built(affinity) => Some(*affinity),
        }
    }
}

impl<'f, 'p, 'a> Fitting<'f, 'p, 'a> {
    /// Checks the problem and begins the report. A prior is refused.
    pub fn new(method: &str, problem: &'f Problem<'p, 'a>, run: &'f Run) -> Result<Self> {
        problem.refuse_prior(method)?;
        Self::with_prior(method, problem, run)
    }

    /// The same for a method that takes a prior.
    pub fn with_prior(method: &str, problem: &'f Problem<'p, 'a>, run: &'f Run) -> Result<Self> {
        problem.check()?;
        Ok(Self { problem, report: problem.report(method), run })
    }

    /// The same for a regression, whose targets have one column.
    pub fn regression(method: &str, problem: &'f Problem<'p, 'a>, run: &'f Run) -> Result<Self> {
        match problem.targets.n_columns() {
            1 => Self::new(method, problem, run),
            columns => Err(Error::shape("targets of a regression", "1 column", format!("{columns} columns"))),
        }
    }

    /// The features, checked to be finite; for a method that needs features.
    pub fn features(&self) -> Result<&'p Features<'a>> {
        let features = self.problem.required_features(&self.report.method)?;
        features.check(self.run)?;
        Ok(features)
    }

    /// The graph: the given one, or one that is built from the features in the phase "graph".
    pub fn graph(&mut self, params: &GraphParams) -> Result<Affinity<'p>> {
        match (self.problem.graph, self.problem.features) {
            (Some(given), _) => Ok(Affinity::Given(given)),
            (None, Some(features)) => {
                let run = self.run;
                params.note(features, &mut self.report);
                self.report
                    .time("graph", run, |_| affinity_graph(features, params, run))
                    .map(|built| Affinity::Built(Box::new(built)))
            }
            (None, None) => Err(Error::shape("the problem", "features or a graph", "neither")),
        }
    }

    /// The graph, described in the report.
    pub fn described_graph(&mut self, params: &GraphParams) -> Result<Affinity<'p>> {
        let affinity = self.graph(params)?;
        affinity.describe(&affinity.graph.components(), &mut self.report);
        notes::low_recall(&mut self.report, params.recall_target);
        Ok(affinity)
    }

    /// The components of the graph, found in the phase "components". Adds to the report a description of the graph and the
    /// number of rows that no label reaches.
    pub fn components(&mut self, affinity: &AffinityGraph) -> Components {
        let components = self.report.time("components", self.run, |_| affinity.graph.components());
        affinity.describe(&components, &mut self.report);
        let holds = components.holding(self.problem.targets.rows());
        let unlabeled = || components.sizes.iter().zip(&holds).filter(|(_, holds)| !**holds);
        self.report.n_unreached = unlabeled().map(|(size, _)| size).sum();
        self.report.n_unlabeled_components = unlabeled().count();
        components
    }

    /// Adds a solve on the graph to the report, with its warnings.
    pub fn note_solve(&mut self, solve: SolveSummary, graph: &GraphParams, tol: f64, advice: &'static str) {
        notes::low_recall(&mut self.report, graph.recall_target);
        notes::unreached(&mut self.report);
        notes::solved(&mut self.report, solve, tol, advice);
    }

    /// The rule by the largest score, without a temperature.
    pub fn rule(&self) -> Rule {
        Rule::largest(self.problem.targets.mean())
    }

    /// Labels every row by the largest of its `scores` (n, c), with the temperature that fits `held_out`.
    pub fn decide(
        mut self,
        scores: Arc<Matrix>,
        held_out: Option<Standings>,
        fallback: Fallback,
        extension: Option<Extension<'a>>,
        graph: Option<AffinityGraph>,
    ) -> Fitted<'a> {
        let (targets, run) = (self.problem.targets, self.run);
        notes::classes(&mut self.report, targets);
        let mut rule = self.rule();
        let labeling = self.report.time("decide", run, |report| {
            run.install(|| {
                calibrate(&mut rule, &scores, held_out.as_ref(), fallback, targets, report);
                rule.decide(scores)
            })
        });
        let held_out = held_out.map(|standings| standings.shares(&rule));
        self.classified(rule, labeling, held_out, extension, graph)
    }

    /// The result of a classification.
    pub fn classified(
        mut self,
        rule: Rule,
        labeling: Labeling,
        held_out: Option<HeldOut>,
        extension: Option<Extension<'a>>,
        graph: Option<AffinityGraph>,
    ) -> Fitted<'a> {
        self.report.peak_bytes = peak_memory_bytes();
        note_expected(&mut self.report, held_out.as_ref());
        Fitted { labeling, rule, extension, graph, held_out, best: None, report: self.report }
    }

    /// Half-widths of the intervals around the values, in the phase "uncertainty"; `held_out` gives the errors, none if it could not
    /// find them. Nothing is held out of too few values.
    pub fn uncertainty(
        &mut self,
        graph: Option<&AffinityGraph>,
        held_out: impl FnOnce(&Run) -> Result<Option<HeldOutErrors>>,
    ) -> Result<Option<Vec<f64>>> {
        let Fitting { problem: Problem { targets, .. }, ref mut report, run } = *self;
        if targets.rows().len() < uncertainty::FEWEST {
            return Ok(None);
        }
        report.time("uncertainty", run, |report| {
            let Some(held) = held_out(&run.part(0.0..HELD_OUT, ""))? else { return Ok(None) };
            let run = run.part(HELD_OUT..1.0, "");
            let widths = held.half_widths(graph.map(|affinity| &affinity.graph), targets.n_samples(), &run)?;
            if widths.is_some() {
                report.add_part("uncertainty", &held.summary())?;
            }
            Ok(widths)
        })
    }

    /// The result of a regression that gives a value to every row.
    pub fn regressed(
        mut self,
        values: Arc<Matrix>,
        extension: Option<Extension<'a>>,
        graph: Option<AffinityGraph>,
    ) -> FittedRegression<'a> {
        self.report.peak_bytes = peak_memory_bytes();
        FittedRegression {
            reached: vec![true; values.n_rows()],
            score_radius: None,
            uncertainty: None,
            values,
            mean: self.problem.targets.mean()[0],
            extension,
            graph,
            report: self.report,
        }
    }
}
