//! Harmonic functions on graphs: plain, hard and Stable-HFS, as classifier and regressor.
//!
//! [`harmonic()`] solves for the function itself (see there for the equations); [`Harmonic`] goes from features or a
//! graph to labels: graph, function, decision rule, extension to new rows.

mod certificate;
mod decide;
mod function;
mod leave_one_out;
mod level;
mod params;
mod parts;
mod plan;
mod prior;
mod refine;
mod refit;
mod regression;
mod select;
mod select_regression;
mod settling;
mod sparse;
mod system;

use std::borrow::Cow;
use std::sync::Arc;

use lapwing_core::{Matrix, Report, Result, Run, Targets, peak_memory_bytes};
use lapwing_graph::{AffinityGraph, Components, GraphParams};

pub use certificate::{Certificate, CertificateSummary, Certify};
pub use function::{HarmonicFunction, harmonic};
pub use params::{Calibration, Clamp, ClassPrior, Decision, Form, HarmonicParams};
pub(crate) use parts::{Labeled, Part, kept_rows};
pub(crate) use plan::{PlannedGraph, plan_graph};
pub use refine::Refinement;
pub(crate) use select::{FOLDS, folds};
pub use sparse::{SparseHarmonic, SparseHarmonicParams};

use crate::calibration::has_enough;
use crate::class_sizes;
use crate::fitting::Fitting;
use crate::harmonic::function::Solving;
use crate::harmonic::leave_one_out::{Level, Verdict};
use crate::harmonic::level::{Sizes, Trust};
use crate::harmonic::prior::{Choosing, Prior};
use crate::harmonic::refine::Refiner;
use crate::harmonic::refit::Refit;
use crate::harmonic::select_regression::Selection;
use crate::held_out::Standings;
use crate::uncertainty::HeldOutErrors;
use crate::{Extension, Fitted, HeldOutFit, Method, NeighborExtension, Plan, Problem, ProblemSize, held_out, notes};

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
    /// Scores of labeled rows without the labels of their fold, if no label was left out alone.
    folded: Option<Standings>,
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

    /// The harmonic function on the graph `affinity`, with the level (mean of rows or of labels) that the decision needs.
    fn solve_on(
        &self,
        affinity: &AffinityGraph,
        refiner: Option<&Refiner<'_>>,
        fitting: &mut Fitting<'_, '_, '_>,
    ) -> Result<Solved> {
        let components = self.components(affinity, fitting);
        let Fitting { problem: Problem { targets, prior: shares, .. }, ref mut report, run } = *fitting;
        let graph = &affinity.graph;
        let Selection { mut params, errors } = match (self.params.form, targets.n_columns()) {
            (Form::Auto, 1) => report
                .time("select", run, |report| select_regression::select(graph, targets, &self.params, report, run))?,
            _ => Selection { params: self.params.clone(), errors: None },
        };
        let (mut prior, mut verdict) = (None, None);
        if let Some(shares) = shares {
            let choosing = Choosing { graph, components: &components, targets, params: &params, shares };
            let choice = report.time("select", run, |_| choosing.choose(run))?;
            if params.decision != Decision::Mass {
                // The certificate of the solve has to know the level.
                params.decision = choice.verdict.level.decision();
            }
            (prior, verdict) = (Some(Prior { shares, weight: choice.weight }), Some(choice.verdict));
        }
        let chooses_level = self.chooses_level(targets);
        let influence = chooses_level && self.known.is_none() && leave_one_out::applies(targets);
        let start = fitting.problem.start;
        let solving =
            Solving { graph, components: &components, targets, params: &params, prior, refiner, influence, start };
        let mut function = report.time("solve", run, |_| function::solve(&solving, run))?;
        if chooses_level {
            let sizes = run.install(|| Sizes::new(&function, targets));
            verdict = Some(match &function.influence {
                Some(influence) => {
                    run.install(|| Verdict::new(&function, influence, targets, &components, &sizes, run))?
                }
                None => {
                    let trust = self.known.map_or(Trust::default(), |known| known.trust);
                    Verdict::without_labels(trust.level, trust, sizes.shift(trust))
                }
            });
        }
        let level = match (&verdict, self.params.decision) {
            (Some(verdict), _) => verdict.level,
            (None, Decision::RowMean) => Level::RowMean,
            (None, _) => Level::LabeledMean,
        };
        let is_centered = function.form == Form::Stable || level.is_of_rows();
        if is_centered && function.form != Form::Stable {
            leave_one_out::center_rows(&mut function, level);
        }
        let n_left_out =
            verdict.as_ref().and_then(|verdict| verdict.held_out.as_ref()).map_or(0, |held| held.rows.len());
        let wants_all = matches!(self.params.calibration, Calibration::LeaveOneOut | Calibration::VennAbers);
        let has_closed_form = function.graph_reg > 0.0
            && function.graph_reg.is_finite()
            && prior.is_none()
            && refiner.is_none()
            && leave_one_out::are_enough(targets);
        let folded = if self.known.is_some() {
            None
        } else if wants_all && has_closed_form && n_left_out < targets.rows().len() {
            // All labels in the place of those that chose the level.
            let is_restored = verdict.as_mut().map(|verdict| verdict.held_out = None).is_some();
            let standings =
                |_: &mut Report| leave_one_out::all_standings(graph, &function, targets, is_centered, is_restored, run);
            Some(report.time("leave one out", run, standings)?)
        } else if n_left_out == 0 && refit::applies(targets) {
            let refit = Refit { graph, components: &components, params: &params, prior, level };
            report.time("hold out", run, |_| refit.folded(targets, run))?
        } else {
            None
        };
        self.note_choices(&function, prior.as_ref(), report);
        fitting.note_solve(function.solve.clone(), &self.graph, self.params.tol);
        let is_spread = class_sizes::are_spread(targets, &components) && !class_sizes::are_typical(targets, graph);
        Ok(Solved { function, verdict, folded, is_centered, is_spread, built: None, errors })
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
        let is_left_out = solved.verdict.as_ref().is_some_and(|verdict| verdict.held_out.is_some());
        let is_fitted = (is_left_out || solved.folded.is_some()) && has_enough(problem.targets);
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
        let shares = held_out::refitted(&rough, &Problem { graph, ..*problem }, folds, run)?.shares;
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
