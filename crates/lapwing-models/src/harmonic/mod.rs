//! Harmonic functions on graphs: plain, hard and Stable-HFS, as classifier and regressor.
//!
//! [`harmonic()`] solves for the function itself (see there for the equations); [`Harmonic`] goes from features or a
//! graph to labels: graph, function, decision rule, extension to new rows.

mod certificate;
mod function;
mod leave_one_out;
mod params;
mod parts;
mod plan;
mod refine;
mod refit;
mod select;
mod select_regression;
mod settling;
mod sparse;

use std::sync::Arc;

use lapwing_data::{Matrix, Report, Result, Run, Targets, Warning, peak_memory_bytes};
use lapwing_graph::{AffinityGraph, GraphParams};
use serde_json::json;

pub use certificate::{Certificate, CertificateSummary, Certify};
pub use function::{HarmonicFunction, harmonic};
pub use params::{Clamp, ClassPrior, Decision, Form, HarmonicParams};
pub(crate) use parts::kept_rows;
pub(crate) use plan::{PlannedGraph, plan_graph};
pub use refine::Refinement;
pub(crate) use select::{FOLDS, folds};
pub use sparse::{SparseHarmonic, SparseHarmonicParams};

use crate::calibration::{Fallback, calibrate};
use crate::class_mass::mass_scale;
use crate::class_sizes::{self, LabelsDrawn, SizeBounds, label_counts};
use crate::fitting::Fitting;
use crate::harmonic::function::Solving;
use crate::harmonic::leave_one_out::{Level, Verdict};
use crate::harmonic::refine::Refiner;
use crate::harmonic::refit::Refit;
use crate::held_out::Standings;
use crate::labeling::present;
use crate::{
    Extension, Fitted, FittedRegression, HeldOut, Labeling, Method, NeighborExtension, Plan, Problem, ProblemSize,
    Rule, SizeOptions, SizeParams, notes,
};

/// Harmonic classifier and regressor: parameters, checked.
#[derive(Clone, Debug)]
pub struct Harmonic {
    params: HarmonicParams,
    graph: GraphParams,
}

/// The solved function and its graph: classification and regression both start from it.
struct Solved {
    function: HarmonicFunction,
    /// What leave-one-out scores decide, for [`Decision::Auto`].
    verdict: Option<Verdict>,
    /// Scores of labeled rows without the labels of their fold, if no label was left out alone.
    folded: Option<Standings>,
    /// Whether the scores have zero mean over the rows of each component.
    is_centered: bool,
    /// Whether no component has far more labels than its share of the rows.
    is_spread: bool,
    /// The graph, if it was built here.
    built: Option<AffinityGraph>,
}

impl Harmonic {
    /// Takes the parameters.
    ///
    /// # Errors
    /// [`Error::Param`](lapwing_data::Error::Param) naming a parameter outside its range.
    pub fn new(params: HarmonicParams, graph: GraphParams) -> Result<Self> {
        params.validate()?;
        graph.validate()?;
        Ok(Self { params, graph })
    }

    /// Values for every row of a regression: `problem.targets` has one column. [`Form::Auto`] chooses form and γ by
    /// cross-validation over the values.
    ///
    /// # Errors
    /// As [`Method::fit`].
    pub fn regress<'a>(&self, problem: &Problem<'_, 'a>, run: &Run) -> Result<FittedRegression<'a>> {
        let mut fitting = Fitting::regression(self.name(), problem, run)?;
        let Solved { function, is_centered, built, .. } = self.solved(&mut fitting)?;
        let score_radius = self.radii(&function, 0, &mut fitting.report)?;
        let offset = if is_centered { function.mean[0] } else { 0.0 };
        let mut values = function.scores;
        values.values_mut().iter_mut().for_each(|v| *v += offset);
        let values = Arc::new(values);
        let extension = self.extension(problem, built.as_ref(), &values);
        let regressed = fitting.regressed(values, extension, built);
        Ok(FittedRegression { reached: function.reached, score_radius, ..regressed })
    }

    fn solved(&self, fitting: &mut Fitting<'_, '_, '_>) -> Result<Solved> {
        self.check_prior(fitting.problem)?;
        let affinity = fitting.graph(&self.graph)?;
        let solved = self.solve_on(&affinity, None, fitting)?;
        Ok(Solved { built: affinity.into_built(), ..solved })
    }

    /// Checks that the class prior has one share for each class, before anything is built.
    fn check_prior(&self, problem: &Problem<'_, '_>) -> Result<()> {
        match problem.targets.n_columns() {
            1 => Ok(()),
            _ => self.params.class_prior.shares(&problem.targets.mean()).map(drop),
        }
    }

    /// The harmonic function on the graph `affinity`, with the level (mean of rows or of labels) that the decision needs.
    fn solve_on(
        &self,
        affinity: &AffinityGraph,
        refiner: Option<&Refiner<'_>>,
        fitting: &mut Fitting<'_, '_, '_>,
    ) -> Result<Solved> {
        let components = fitting.components(affinity);
        let Fitting { problem: Problem { targets, .. }, ref mut report, run } = *fitting;
        let graph = &affinity.graph;
        let params = match (self.params.form, targets.n_columns()) {
            (Form::Auto, 1) => report
                .time("select", run, |report| select_regression::select(graph, targets, &self.params, report, run))?,
            _ => self.params.clone(),
        };
        let chooses_level = self.chooses_level(targets);
        let influence = chooses_level && leave_one_out::applies(targets);
        let solving = Solving { graph, components: &components, targets, params: &params, refiner, influence };
        let mut function = report.time("solve", run, |_| function::solve(&solving, run))?;
        let verdict = chooses_level.then(|| match &function.influence {
            Some(influence) => Verdict::new(&function, influence, targets, &components),
            None => Verdict::without_labels(),
        });
        let level = match (&verdict, self.params.decision) {
            (Some(verdict), _) => verdict.level,
            (None, Decision::RowMean) => Level::RowMean,
            (None, _) => Level::LabeledMean,
        };
        let is_centered = function.form == Form::Stable || level == Level::RowMean;
        if is_centered && function.form != Form::Stable {
            leave_one_out::center_rows(&mut function, &components, targets);
        }
        let is_left_out = verdict.as_ref().is_some_and(|verdict| verdict.held_out.is_some());
        let folded = match !is_left_out && refit::applies(targets) {
            true => {
                let refit = Refit { graph, components: &components, params: &params, level };
                report.time("hold out", run, |_| refit.folded(targets, run))?
            }
            false => None,
        };
        if self.params.graph_reg.is_none() {
            report.choose("graph_reg", function.graph_reg);
        }
        if self.params.form == Form::Auto {
            report.choose("form", if function.form == Form::Stable { "stable" } else { "plain" });
        }
        fitting.note_solve(function.solve.clone(), &self.graph, self.params.tol);
        let is_spread = class_sizes::are_spread(targets, &components);
        Ok(Solved { function, verdict, folded, is_centered, is_spread, built: None })
    }

    /// Whether leave-one-out scores choose the level that scores are compared with.
    fn chooses_level(&self, targets: &Targets) -> bool {
        let HarmonicParams { form, clamp, decision, .. } = &self.params;
        let is_auto = *form == Form::Auto && self.params.resolved_form() == Form::Plain && *clamp == Clamp::Soft;
        targets.n_columns() > 1 && is_auto && matches!(decision, Decision::Auto | Decision::Sizes)
    }

    /// Labels, extension and certificates from the solved function.
    fn decided<'a>(&self, mut fitting: Fitting<'_, '_, 'a>, mut solved: Solved) -> Result<Fitted<'a>> {
        let Fitting { problem, ref mut report, run } = fitting;
        let targets = problem.targets;
        notes::classes(report, targets);
        let bounds = self.size_bounds(targets, solved.is_spread, report)?;
        let (rule, labeling, held_out) =
            report.time("decide", run, |report| self.decide(problem, &mut solved, bounds.as_ref(), report, run))?;
        notes::lost_classes(report, &labeling, targets);
        let scores = labeling.scores.clone();
        let extension = self.extension(problem, solved.built.as_ref(), &scores);
        let mut fitted = fitting.classified(rule, labeling, held_out, extension, solved.built);
        if let (Some(bounds), Decision::Sizes) = (&bounds, self.params.decision) {
            fitted = class_sizes::decide(fitted, problem, bounds, run)?;
        }
        self.certify(&solved.function, &scores, &mut fitted, run)?;
        fitted.report.peak_bytes = peak_memory_bytes();
        Ok(fitted)
    }

    /// The rule, the label of every row, and the class shares of held-out rows.
    fn decide(
        &self,
        problem: &Problem<'_, '_>,
        solved: &mut Solved,
        bounds: Option<&SizeBounds>,
        report: &mut Report,
        run: &Run,
    ) -> Result<(Rule, Labeling, Option<HeldOut>)> {
        let targets = problem.targets;
        let mut rule = run.install(|| self.rule(solved, targets.n_columns(), report))?;
        let left_out = solved.verdict.as_mut().and_then(|verdict| verdict.held_out.take());
        let mut held_out = left_out.or(solved.folded.take().map(|folded| folded.compared(&rule)));
        let scores = Arc::new(std::mem::take(&mut solved.function.scores));
        let graph = problem.graph.or(solved.built.as_ref()).map(|affinity| &affinity.graph);
        if let (Some(bounds), Decision::Auto, Some(graph)) = (bounds, self.params.decision, graph) {
            match class_sizes::hold_unless_cut(&rule, &scores, bounds, graph, run)? {
                Some((sized, held)) => {
                    report.choose("sizes", held.sizes);
                    held_out = held_out.map(|standings| standings.moved(&rule, &sized));
                    rule = sized;
                }
                None => report.choose("labels_drawn", "not-random"),
            }
        }
        let are_shares = !solved.is_centered && matches!(self.params.decision, Decision::Argmax | Decision::Mass);
        if !are_shares {
            let (held_out, fallback) = (held_out.as_ref(), Fallback::Typical);
            run.install(|| calibrate(&mut rule, &scores, held_out, fallback, targets, report));
        }
        let labeling = run.install(|| rule.decide(scores));
        let held_out = held_out.map(|standings| standings.shares(&rule));
        Ok((rule, labeling, held_out))
    }

    /// Bounds on the class sizes, if the decision uses any.
    fn size_bounds(&self, targets: &Targets, is_spread: bool, report: &mut Report) -> Result<Option<SizeBounds>> {
        let params = SizeParams { class_prior: self.params.class_prior.clone(), options: self.params.sizes.clone() };
        match self.params.decision {
            Decision::Sizes => {
                let bounds = params.bounds(targets)?;
                if bounds.is_none() {
                    report.warnings.push(Warning::UnknownSizes {});
                }
                Ok(bounds)
            }
            Decision::Auto if self.chooses_level(targets) => {
                let drawn = match params.options.labels_drawn {
                    LabelsDrawn::Auto if !is_spread => LabelsDrawn::Balanced,
                    drawn => drawn.resolved(&label_counts(targets)),
                };
                report.choose("labels_drawn", if drawn == LabelsDrawn::Random { "random" } else { "balanced" });
                // Here a prior given by the caller is only for rows that no label reaches: sizes follow from the labels.
                let options = SizeOptions { labels_drawn: drawn, ..params.options };
                let of_labels = SizeParams { class_prior: ClassPrior::Labeled, options };
                of_labels.bounds(targets)
            }
            _ => Ok(None),
        }
    }

    fn rule(&self, solved: &Solved, n_classes: usize, report: &mut Report) -> Result<Rule> {
        let function = &solved.function;
        let prior = self.params.class_prior.shares(&function.mean)?;
        let present = present(&function.mean);
        let zero = vec![0.0; n_classes];
        if let Some(verdict) = &solved.verdict {
            let level = if verdict.level == Level::RowMean { "row-mean" } else { "centered" };
            report.choose("decision", level);
            let labels = function.influence.is_some().then_some(verdict.accuracy);
            report.parts.extend(labels.map(|accuracy| ("leave_one_out".to_string(), json!({"accuracy": accuracy}))));
        }
        let (offset, scale) = match self.params.decision {
            Decision::Mass => {
                let mass = mass_scale(&function.scores, &zero, &prior);
                let scale = mass.iter().zip(&present).map(|(mass, present)| mass * present).collect();
                let degree = report.graph.as_ref().map_or(0.0, |graph| graph.mean_degree);
                let product = function.graph_reg * degree;
                report.warnings.extend((product > 1.0).then_some(Warning::DegenerateMass { product }));
                (zero, scale)
            }
            Decision::Argmax if solved.is_centered => (function.mean.iter().map(|m| -m).collect(), present),
            Decision::Argmax => (zero, present),
            _ if solved.is_centered => (zero, present),
            _ => (function.mean.clone(), present),
        };
        Ok(Rule { offset, scale, temperature: None, flattened: false, prior })
    }

    /// Marks the certified labels. The bounds are those of the solved `scores`: if class sizes changed the scores, no label is
    /// marked.
    fn certify(
        &self,
        function: &HarmonicFunction,
        scores: &Arc<Matrix>,
        fitted: &mut Fitted<'_>,
        run: &Run,
    ) -> Result<()> {
        let Some(certificate) = function.certificate.as_ref().filter(|_| Arc::ptr_eq(scores, &fitted.labeling.scores))
        else {
            return Ok(());
        };
        let Fitted { labeling, rule, report, extension, .. } = fitted;
        report.time("certify", run, |report| {
            let decision = self.params.decision;
            let certified = run.install(|| certificate.certified(&labeling.scores, &labeling.labels, rule, decision));
            labeling.certified = Some(certified);
            let n_open = labeling.n_undecided().unwrap_or_default();
            labeling.score_radius = self.radii(function, n_open, report)?;
            let n_neighbors = self.graph.n_neighbors;
            let errors = certificate.standing_errors(&labeling.scores, rule, decision, n_neighbors);
            if let (Some(extension), Some(errors)) = (extension, errors) {
                extension.set_errors(errors);
            }
            Ok(())
        })
    }

    /// Bounds on the errors of scores. Reports the certificate, of which `n_open` labels are undecided.
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
        scores: &Arc<Matrix>,
    ) -> Option<Extension<'a>> {
        // A graph that the caller built from these features holds kernel widths, so that it can be extended. A graph from
        // bare edges cannot.
        let affinity = built.or(problem.graph)?;
        NeighborExtension::from_graph(problem, affinity, &self.graph, scores).map(Extension::from)
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
        let mut fitting = Fitting::new(self.name(), problem, run)?;
        let solved = self.solved(&mut fitting)?;
        self.decided(fitting, solved)
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        plan::plan(&self.graph, size)
    }
}

#[cfg(test)]
mod tests;
