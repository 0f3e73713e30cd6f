//! Harmonic functions on graphs: plain, hard and Stable-HFS, as classifier and regressor.
//!
//! [`harmonic()`] solves for the function itself (see there for the equations); [`Harmonic`] goes from features or a
//! graph to labels: graph, function, decision rule, extension to new rows.

mod certificate;
mod function;
mod params;
mod plan;
mod refine;
mod select;
mod sparse;

use std::sync::Arc;

use lapwing_data::{Error, Report, Result, Run, Targets, peak_memory_bytes};
use lapwing_graph::{AffinityGraph, GraphParams, affinity_graph};

pub use certificate::{Certificate, CertificateSummary, Certify};
pub(crate) use function::restrict;
pub use function::{HarmonicFunction, harmonic};
pub use params::{Clamp, ClassPrior, Decision, Form, HarmonicParams};
pub(crate) use plan::{PlannedGraph, base_bytes, plan_graph};
pub use refine::Refinement;
pub(crate) use select::{fitted_temperature, folds};
pub use sparse::{SparseHarmonic, SparseHarmonicParams};

use crate::class_mass::mass_scale;
use crate::harmonic::refine::Refiner;
use crate::labeling::typical_temperature;
use crate::{
    Extension, Fitted, FittedRegression, Labeling, Method, NeighborExtension, Plan, Problem, ProblemSize, Rule, notes,
};

/// Share of the class given to the median row where there are too few labels to fit a temperature.
pub(crate) const TYPICAL_CONFIDENCE: f64 = 0.9;

/// Harmonic classifier and regressor: parameters, checked.
#[derive(Clone, Debug)]
pub struct Harmonic {
    params: HarmonicParams,
    graph: GraphParams,
}

/// What both faces of the method share: the function, the graph it lives on and what was noted on the way.
struct Solved {
    function: HarmonicFunction,
    temperature: Option<f64>,
    built: Option<AffinityGraph>,
    report: Report,
}

impl Harmonic {
    /// Takes the parameters.
    ///
    /// # Errors
    /// [`Error::Param`] naming a parameter outside its range.
    pub fn new(params: HarmonicParams, graph: GraphParams) -> Result<Self> {
        params.validate()?;
        graph.validate()?;
        Ok(Self { params, graph })
    }

    /// Values for every row of a regression: `problem.targets` has one column.
    ///
    /// # Errors
    /// As [`Method::fit`].
    pub fn regress<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<FittedRegression<'a>> {
        let columns = problem.targets.n_columns();
        if columns != 1 {
            return Err(Error::shape("targets of a regression", "1 column", format!("{columns} columns")));
        }
        let Solved { function, built, mut report, .. } = self.solved(problem, run)?;
        let mean = function.mean[0];
        let score_radius = self.radii(&function, 0, &mut report)?;
        let offset = if function.form == Form::Stable { mean } else { 0.0 };
        let mut values = function.scores;
        values.values_mut().iter_mut().for_each(|v| *v += offset);
        let values = Arc::new(values);
        let extension = self.extension(problem, built.as_ref(), &values);
        let reached = function.reached;
        Ok(FittedRegression { values, reached, score_radius, mean, extension, graph: built, report })
    }

    fn solved(&self, problem: &Problem<'_, '_>, run: &Run) -> Result<Solved> {
        let mut report = problem.report(self.name());
        problem.check()?;
        let built = match (problem.graph, problem.features) {
            (None, Some(features)) => Some(report.time("graph", run, |_| affinity_graph(features, &self.graph, run))?),
            _ => None,
        };
        let affinity = match (problem.graph, built.as_ref()) {
            (Some(given), _) => given,
            (None, Some(built)) => built,
            (None, None) => return Err(Error::shape("the problem", "features or a graph", "neither")),
        };
        let (function, temperature) = self.solve_on(affinity, problem.targets, None, &mut report, run)?;
        Ok(Solved { function, temperature, built, report })
    }

    /// The harmonic function on a graph that is there, and the temperature if one was fitted.
    fn solve_on(
        &self,
        affinity: &AffinityGraph,
        targets: &Targets,
        refiner: Option<&Refiner<'_>>,
        report: &mut Report,
        run: &Run,
    ) -> Result<(HarmonicFunction, Option<f64>)> {
        let graph = &affinity.graph;
        let components = report.time("components", run, |_| graph.components());
        affinity.describe(&components, report);
        let selected = match self.params.form {
            Form::Auto => {
                report.time("select", run, |report| select::select(graph, targets, &self.params, report, run))?
            }
            _ => select::Selected { params: self.params.clone(), temperature: None },
        };
        let function = report
            .time("solve", run, |_| function::solve(graph, &components, targets, &selected.params, refiner, run))?;
        self.note(report, &function, &components.holding(targets.rows()));
        Ok((function, selected.temperature))
    }

    /// Writes into the report what the solve found and chose.
    fn note(&self, report: &mut Report, function: &HarmonicFunction, labeled_components: &[bool]) {
        report.solve = Some(function.solve.clone());
        report.n_unreached = function.reached.iter().filter(|reached| !**reached).count();
        report.n_unlabeled_components = labeled_components.iter().filter(|holds| !**holds).count();
        if self.params.graph_reg.is_none() {
            report.choose("graph_reg", function.graph_reg);
        }
        if self.params.form == Form::Auto {
            report.choose("form", if function.form == Form::Stable { "stable" } else { "plain" });
        }
        let n_labeled_components = labeled_components.len() - report.n_unlabeled_components;
        if function.graph_reg.is_infinite() && n_labeled_components > 1 {
            report.warnings.push(format!(
                "graph_reg inf levels each of the {n_labeled_components} labeled components of the graph by itself: one \
                 with labels of a single class loses it; use a finite graph_reg"
            ));
        }
        notes::low_recall(report, self.graph.recall_target);
        notes::unreached(report);
        notes::stopped_short(report, self.params.tol);
    }

    /// From a function to labels.
    fn decided<'a>(&self, problem: &Problem<'_, 'a>, mut solved: Solved, run: &Run) -> Result<Fitted<'a>> {
        let mut report = std::mem::take(&mut solved.report);
        let n_classes = problem.targets.n_columns();
        report.n_classes = Some(n_classes);
        notes::one_class(&mut report, &solved.function.mean);
        let (rule, mut labeling) = report.time("decide", run, |report| -> Result<_> {
            let rule = run.install(|| self.rule(&solved, n_classes, report))?;
            let scores = Arc::new(std::mem::take(&mut solved.function.scores));
            let labeling = run.install(|| rule.apply(scores));
            Ok((rule, labeling))
        })?;
        if solved.function.certificate.is_some() {
            let certify =
                |report: &mut Report| run.install(|| self.certify(&solved.function, &mut labeling, &rule, report));
            report.time("certify", run, certify)?;
        }
        let extension = self.extension(problem, solved.built.as_ref(), &labeling.scores);
        report.peak_bytes = peak_memory_bytes();
        Ok(Fitted { labeling, rule, extension, graph: solved.built, report })
    }

    fn rule(&self, solved: &Solved, n_classes: usize, report: &mut Report) -> Result<Rule> {
        let function = &solved.function;
        let prior = self.params.class_prior.shares(&function.mean)?;
        let stable = function.form == Form::Stable;
        let present: Vec<f64> = function.mean.iter().map(|m| f64::from(u8::from(*m > 0.0))).collect();
        let zero = vec![0.0; n_classes];
        // Stable scores are centered already; plain ones are shares.
        let (offset, scale) = match self.params.decision {
            Decision::Centered if stable => (zero, present),
            Decision::Centered => (function.mean.clone(), present),
            Decision::Argmax if stable => (function.mean.iter().map(|m| -m).collect(), present),
            Decision::Argmax => (zero, present),
            Decision::Mass => {
                let offset = if stable { function.mean.iter().map(|m| -m).collect() } else { zero };
                let mass = mass_scale(&function.scores, &offset, &prior);
                let scale = mass.iter().zip(&present).map(|(mass, present)| mass * present).collect();
                let degree = report.graph.as_ref().map_or(0.0, |graph| graph.mean_degree);
                if function.graph_reg * degree > 1.0 {
                    report.warnings.push(format!(
                        "class mass normalisation degenerates at graph_reg · mean degree = {:.1}; use one below 1",
                        function.graph_reg * degree
                    ));
                }
                (offset, scale)
            }
        };
        let mut rule = Rule { offset, scale, temperature: None, prior };
        let are_shares = !stable && matches!(self.params.decision, Decision::Argmax | Decision::Mass);
        if !are_shares {
            let fitted = solved.temperature.filter(|_| self.params.decision == Decision::Centered);
            let temperature =
                fitted.unwrap_or_else(|| typical_temperature(&rule, &function.scores, TYPICAL_CONFIDENCE));
            report.choose("temperature", temperature);
            rule.temperature = Some(temperature);
        }
        Ok(rule)
    }

    /// Marks the labels that are certain.
    fn certify(
        &self,
        function: &HarmonicFunction,
        labeling: &mut Labeling,
        rule: &Rule,
        report: &mut Report,
    ) -> Result<()> {
        let Some(certificate) = &function.certificate else { return Ok(()) };
        let certified = certificate.certified(&labeling.scores, &labeling.labels, rule, self.params.decision);
        let open = certified.iter().zip(&labeling.reached).filter(|(certain, reached)| **reached && !**certain).count();
        labeling.score_radius = self.radii(function, open, report)?;
        labeling.certified = Some(certified);
        Ok(())
    }

    /// Bounds on the errors of scores; notes what the certificate says of labels, of which `n_open` are open.
    fn radii(&self, function: &HarmonicFunction, n_open: usize, report: &mut Report) -> Result<Option<Vec<f64>>> {
        let Some(certificate) = &function.certificate else { return Ok(None) };
        let mut radii = certificate.radii(function.reached.len(), function.mean.len());
        let summary = certificate.summary(n_open, &radii);
        report.add_part("certificate", &summary)?;
        notes::undecided(report, &summary);
        radii.iter_mut().zip(&function.reached).filter(|(_, reached)| !**reached).for_each(|(r, _)| *r = f64::INFINITY);
        Ok(Some(radii))
    }

    fn extension<'a>(
        &self,
        problem: &Problem<'_, 'a>,
        built: Option<&AffinityGraph>,
        scores: &Arc<lapwing_data::Matrix>,
    ) -> Option<Extension<'a>> {
        // A graph that was built elsewhere from these features has their widths; a bare one cannot be extended.
        let affinity = built.or(problem.graph)?;
        NeighborExtension::of_graph(problem, affinity, &self.graph, scores).map(Extension::from)
    }
}

impl Method for Harmonic {
    fn name(&self) -> &'static str {
        "harmonic"
    }

    fn graph_params(&self) -> Option<&GraphParams> {
        Some(&self.graph)
    }

    fn fit<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<Fitted<'a>> {
        let solved = self.solved(problem, run)?;
        self.decided(problem, solved, run)
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        plan::plan(&self.graph, size)
    }
}

#[cfg(test)]
mod tests;
