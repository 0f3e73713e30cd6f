//! Harmonic functions on graphs: plain, hard and Stable-HFS, as classifier and regressor.
//!
//! `function.rs` solves for the function itself (see there for the equations); [`Harmonic`] goes from features or a
//! graph to labels: graph, function, decision rule, extension to new rows.

mod certificate;
mod class_mass;
mod decide;
mod function;
mod influence;
mod leave_one_out;
mod level;
mod params;
mod phases;
mod plan;
mod prior;
mod prior_weight;
mod refine;
mod regression;
mod select_regression;
mod settling;
mod solving;
mod sparse;
mod stream;
mod system;
mod trust;

use std::borrow::Cow;
use std::sync::Arc;

use lapwing_core::{Matrix, Report, Result, Run, Targets, peak_memory_bytes};
use lapwing_graph::{AffinityGraph, Components, GraphParams};

use crate::core::method::refitted;

pub use certificate::{Certificate, CertificateSummary};
pub use function::HarmonicFunction;
pub use params::{Calibration, Certify, Clamp, Decision, Form, HarmonicParams};
pub use refine::Refinement;
pub use sparse::{SparseHarmonic, SparseHarmonicParams};
pub use stream::{HarmonicStream, StreamAnswer, StreamParams};

use self::leave_one_out::Verdict;
use self::phases::{HeldScores, Phases};
use self::prior::Prior;
use self::refine::Refiner;
use self::trust::Trust;
use crate::core::calibration::has_enough;
use crate::core::fitting::Fitting;
use crate::core::uncertainty::HeldOutErrors;
use crate::core::{class_sizes, notes};
use crate::{Extension, Fitted, HeldOutFit, Method, NeighborExtension, Plan, Problem, ProblemSize};

/// Harmonic classifier and regressor: parameters, checked.
#[derive(Clone, Debug)]
pub struct Harmonic {
    params: HarmonicParams,
    graph: GraphParams,
    /// What a fit to more labels has chosen; leaving labels out is not repeated then.
    known: Option<Known>,
}

/// How far scores are trusted, and the temperature, both by leave-one-out scores.
#[derive(Clone, Copy, Debug)]
struct Known {
    trust: Trust,
    /// And whether the rule is flattened; `None` if there were too few labels to fit a temperature.
    temperature: Option<(f64, bool)>,
}

/// The solved function and its graph: classification and regression both start from it.
struct Solved {
    function: HarmonicFunction,
    /// What leave-one-out scores decide, for [`Decision::Auto`].
    verdict: Option<Verdict>,
    /// Scores of labeled rows that did not see their own label; `None` if labels are too few, or holding them out too expensive.
    held_out: Option<HeldScores>,
    /// Whether the scores have zero mean over the rows: in the stable form those of each component, else all.
    is_centered: bool,
    /// Whether no component has far more labels than its share of the rows.
    is_spread: bool,
    /// The graph, if it was built here.
    built: Option<AffinityGraph>,
    /// Errors of held-out values of a regression, if they chose the parameters.
    errors: Option<HeldOutErrors>,
}

impl Harmonic {
    /// Takes the parameters.
    ///
    /// # Errors
    /// [`Error::Param`](lapwing_core::Error::Param) naming a parameter outside its range.
    pub fn new(params: HarmonicParams, graph: GraphParams) -> Result<Self> {
        params.validate()?;
        graph.validate()?;
        Ok(Self { params, graph, known: None })
    }

    /// The method for this problem: with a prior the form is plain.
    fn for_problem(&self, problem: &Problem<'_, '_>) -> Result<Cow<'_, Self>> {
        if problem.prior.is_none() {
            return Ok(Cow::Borrowed(self));
        }
        let params = prior::plain_params(&self.params)?;
        Ok(Cow::Owned(Self { params, graph: self.graph.clone(), known: self.known }))
    }

    fn solved(&self, fitting: &mut Fitting<'_, '_, '_>) -> Result<Solved> {
        self.check_class_prior(fitting.problem)?;
        let affinity = fitting.graph(&self.graph)?;
        let solved = self.solve_on(&affinity, None, fitting)?;
        Ok(Solved { built: affinity.into_built(), ..solved })
    }

    /// Checks that the class prior has one share for each class, before anything is built.
    fn check_class_prior(&self, problem: &Problem<'_, '_>) -> Result<()> {
        match problem.targets.n_columns() {
            1 => Ok(()),
            _ => self.params.class_prior.shares(&problem.targets.mean()).map(drop),
        }
    }

    /// The harmonic function on the graph `affinity`: chosen, solved, compared with a level, with labels held out.
    fn solve_on(
        &self,
        affinity: &AffinityGraph,
        refiner: Option<&Refiner<'_>>,
        fitting: &mut Fitting<'_, '_, '_>,
    ) -> Result<Solved> {
        let components = self.components(affinity, fitting);
        let Fitting { problem, ref mut report, run } = *fitting;
        let graph = &affinity.graph;
        let phases = Phases { harmonic: self, graph, components: &components, problem, refiner, run };
        let mut chosen = phases.choose(report)?;
        let mut function = phases.solve(&chosen, report)?;
        let judged = phases.judge(&function)?;
        let mut verdict = judged.or_else(|| chosen.verdict.take());
        let level = verdict.as_ref().map_or_else(|| phases.level(), |verdict| verdict.level);
        let is_centered = function.form == Form::Stable || level.is_of_rows();
        if is_centered && function.form != Form::Stable {
            leave_one_out::center_rows(&mut function, level);
        }
        let held_out = phases.hold_out(&function, &chosen, verdict.as_mut(), level, report)?;
        self.note_choices(&function, chosen.prior.as_ref(), report);
        fitting.note_solve(function.solve.clone(), &self.graph, self.params.tol, notes::RAISE_LIMITS);
        let targets = problem.targets;
        let is_spread = class_sizes::are_spread(targets, &components) && !class_sizes::are_typical(targets, graph);
        Ok(Solved { function, verdict, held_out, is_centered, is_spread, built: None, errors: chosen.errors })
    }

    /// The components of the graph. With a prior all rows are one, because it reaches every row.
    fn components(&self, affinity: &AffinityGraph, fitting: &mut Fitting<'_, '_, '_>) -> Components {
        let components = fitting.components(affinity);
        if fitting.problem.prior.is_none() {
            return components;
        }
        (fitting.report.n_unreached, fitting.report.n_unlabeled_components) = (0, 0);
        let n = components.id.len();
        Components { id: vec![0; n], sizes: vec![n] }
    }

    /// Reports what was chosen for parameters that are auto.
    fn note_choices(&self, function: &HarmonicFunction, prior: Option<&Prior<'_>>, report: &mut Report) {
        if self.params.graph_reg.is_none() {
            report.choose("graph_reg", function.graph_reg);
        }
        if let Some(prior) = prior.filter(|_| self.params.prior_weight.is_none()) {
            report.choose("prior_weight", prior.weight);
        }
        if self.params.form == Form::Auto {
            report.choose("form", if function.form == Form::Stable { "stable" } else { "plain" });
        }
    }

    /// Whether leave-one-out scores choose how far scores are trusted.
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

    fn extension<'a>(
        &self,
        problem: &Problem<'_, 'a>,
        built: Option<&AffinityGraph>,
        scores: &Arc<Matrix>,
    ) -> Option<Extension<'a>> {
        // A graph that the caller built from these features holds kernel widths, so that it can be extended. A graph from
        // bare edges cannot.
        let affinity = built.or(problem.graph)?;
        NeighborExtension::from_graph(problem, affinity, &self.graph, scores)
            .map(|rows| Arc::new(rows) as Extension<'a>)
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
        let mut fitting = Fitting::with_prior(self.name(), problem, run)?;
        let this = self.for_problem(problem)?;
        let solved = this.solved(&mut fitting)?;
        this.decided(fitting, solved)
    }

    fn takes_prior(&self) -> bool {
        true
    }

    /// A fit to all labels chooses level and temperature; one rough solve for each fold follows.
    fn held_out<'a>(&self, problem: &Problem<'_, 'a>, folds: &[usize], run: &Run) -> Result<HeldOutFit<'a>> {
        let mut fitting = Fitting::with_prior(self.name(), problem, run)?;
        let this = self.for_problem(problem)?;
        let solved = this.solved(&mut fitting)?;
        let is_fitted = solved.held_out.is_some() && has_enough(problem.targets);
        let trust = solved.verdict.as_ref().map_or(Trust::default(), |verdict| verdict.trust);
        let fitted = this.decided(fitting, solved)?;
        let temperature = fitted.rule.temperature.filter(|_| is_fitted).map(|t| (t, fitted.rule.flattened));
        // The weight of a prior is chosen again for each fold, and the level with it.
        let known = problem.prior.is_none().then_some(Known { trust, temperature });
        let params =
            HarmonicParams { certify: Certify::Off, tol: self.params.tol.max(ROUGH_TOL), ..self.params.clone() };
        let rough = Self { params, graph: self.graph.clone(), known };
        // The graph of the fit, if it built one.
        let graph = problem.graph.or(fitted.graph.as_ref());
        let shares = refitted(&rough, &Problem { graph, ..*problem }, folds, run)?.shares;
        Ok(HeldOutFit { shares, fitted: Some(fitted) })
    }

    fn plan(&self, size: &ProblemSize) -> Plan {
        plan::plan(&self.graph, size)
    }
}

/// Relative residual of solves whose scores are only compared: it moves the largest score in fewer than one of 3,000 rows.
const ROUGH_TOL: f64 = 1e-4;

#[cfg(test)]
mod tests;
