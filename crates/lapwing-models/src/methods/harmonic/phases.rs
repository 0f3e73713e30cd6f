//! The phases of a harmonic fit before the decision: choose the parameters, solve, judge the level, hold labels out.

use lapwing_core::{Report, Result, Run, Targets};
use lapwing_graph::{Components, Graph};

use super::function::{self, HarmonicFunction};
use super::leave_one_out::{self, Verdict};
use super::level::Level;
use super::params::{Calibration, Certify, Decision, Form, HarmonicParams};
use super::prior::Prior;
use super::prior_weight::Choosing;
use super::refine::Refiner;
use super::solving::Solving;
use super::trust::{Sizes, Trust};
use super::{Harmonic, Known, select_regression};
use crate::core::calibration::has_enough;
use crate::core::held_out::Standings;
use crate::core::held_out::folds::can_hold_out;
use crate::core::problem::Problem;
use crate::core::rule::Rule;
use crate::core::scores::rows_at;
use crate::core::uncertainty::HeldOutErrors;

/// A problem on its graph, for the phases of a fit.
pub(super) struct Phases<'p> {
    pub harmonic: &'p Harmonic,
    pub graph: &'p Graph,
    pub components: &'p Components,
    pub problem: &'p Problem<'p, 'p>,
    /// If the graph is a sparsified one whose solution is refined.
    pub refiner: Option<&'p Refiner<'p>>,
    pub run: &'p Run,
}

/// What is solved: parameters that were given or chosen.
pub(super) struct Chosen<'p> {
    pub params: HarmonicParams,
    pub prior: Option<Prior<'p>>,
    /// The level of a fit with a prior.
    pub verdict: Option<Verdict>,
    /// Errors of held-out values of a regression, if they chose the parameters.
    pub errors: Option<HeldOutErrors>,
}

/// Scores of labeled rows that did not see their own label.
pub(super) struct HeldScores {
    standings: Standings,
    /// Whether they stand above the level already, as the rule of the fit compares them.
    are_compared: bool,
}

impl HeldScores {
    /// The standings, as `rule` compares them.
    pub fn compared(self, rule: &Rule) -> Standings {
        if self.are_compared { self.standings } else { self.standings.compared(rule) }
    }
}

impl<'p> Phases<'p> {
    /// Form and γ of a regression by cross-validation; the weight of a prior and its level by leaving out labels.
    pub fn choose(&self, report: &mut Report) -> Result<Chosen<'p>> {
        let Self { graph, components, run, .. } = *self;
        let (targets, given) = (self.problem.targets, &self.harmonic.params);
        let is_chosen = given.form == Form::Auto && targets.n_columns() == 1;
        let (mut params, errors) = match is_chosen {
            true => {
                report.time("select", run, |report| select_regression::select(graph, targets, given, report, run))?
            }
            false => (given.clone(), None),
        };
        let Some(shares) = self.problem.prior else { return Ok(Chosen { params, prior: None, verdict: None, errors }) };
        let choosing = Choosing { solving: Solving::new(graph, components, targets, &params), shares };
        let choice = report.time("select", run, |_| choosing.choose(run))?;
        if params.decision != Decision::Mass {
            // The certificate of the solve has to know the level.
            params.decision = choice.verdict.level.decision();
        }
        let prior = Some(Prior { shares, weight: choice.weight });
        Ok(Chosen { params, prior, verdict: Some(choice.verdict), errors })
    }

    /// The function, with the influence of labels if leaving them out chooses the level.
    pub fn solve(&self, chosen: &Chosen<'_>, report: &mut Report) -> Result<HarmonicFunction> {
        let Self { harmonic, graph, components, problem, refiner, run } = *self;
        let targets = problem.targets;
        let influence = harmonic.chooses_level(targets) && harmonic.known.is_none() && leave_one_out::applies(targets);
        let Chosen { params, prior, .. } = chosen;
        let solving =
            Solving { graph, components, targets, params, prior: *prior, refiner, influence, start: problem.start };
        report.time("solve", run, |_| function::solve(&solving, run))
    }

    /// The level and how far scores are trusted, if leave-one-out scores choose them; `None` if the parameters do.
    pub fn judge(&self, function: &HarmonicFunction) -> Result<Option<Verdict>> {
        let Self { harmonic, components, run, .. } = *self;
        let targets = self.problem.targets;
        if !harmonic.chooses_level(targets) {
            return Ok(None);
        }
        let sizes = run.install(|| Sizes::new(function, targets));
        if let Some(influence) = &function.influence {
            return run.install(|| Verdict::new(function, influence, targets, components, &sizes, run)).map(Some);
        }
        let trust = harmonic.known.map_or(Trust::default(), |Known { trust, .. }| trust);
        Ok(Some(Verdict::without_labels(trust.level, trust, sizes.shift(trust))))
    }

    /// The level that the parameters name.
    pub fn level(&self) -> Level {
        if self.harmonic.params.decision == Decision::RowMean { Level::RowMean } else { Level::LabeledMean }
    }

    /// Scores of labeled rows without their own labels: of all labels in closed form where that is wanted, those that chose the level, or
    /// those of fits without a fold of the labels.
    pub fn hold_out(
        &self,
        function: &HarmonicFunction,
        chosen: &Chosen<'_>,
        verdict: Option<&mut Verdict>,
        level: Level,
        report: &mut Report,
    ) -> Result<Option<HeldScores>> {
        let Self { harmonic, graph, run, .. } = *self;
        let targets = self.problem.targets;
        let is_restored = verdict.is_some();
        let left_out = verdict.and_then(|verdict| verdict.held_out.take());
        let n_left_out = left_out.as_ref().map_or(0, |left_out| left_out.rows.len());
        let is_known = harmonic.known.is_some();
        let wants_all = matches!(harmonic.params.calibration, Calibration::LeaveOneOut | Calibration::VennAbers);
        let has_closed_form = function.graph_reg > 0.0
            && function.graph_reg.is_finite()
            && chosen.prior.is_none()
            && self.refiner.is_none()
            && can_hold_out(targets);
        let standings = if !is_known && wants_all && has_closed_form && n_left_out < targets.rows().len() {
            let is_centered = function.form == Form::Stable || level.is_of_rows();
            Some(report.time("leave one out", run, |_| {
                leave_one_out::all_standings(graph, function, targets, is_centered, is_restored, run)
            })?)
        } else if !is_known && n_left_out == 0 && can_solve_again(targets) {
            report.time("hold out", run, |_| self.folded(chosen, level))?
        } else {
            return Ok(left_out.map(|standings| HeldScores { standings, are_compared: true }));
        };
        Ok(standings.map(|standings| HeldScores { standings, are_compared: false }))
    }

    /// Scores of each label's row without the labels of its fold, by one solve for each fold; `None` if labels are shares of classes.
    fn folded(&self, chosen: &Chosen<'_>, level: Level) -> Result<Option<Standings>> {
        let Self { graph, components, run, .. } = *self;
        let targets = self.problem.targets;
        let params = HarmonicParams { certify: Certify::Off, ..chosen.params.clone() };
        Standings::by_folds(targets, &Rule::largest(targets.mean()), run, |kept, rows, run| {
            let solving = Solving { prior: chosen.prior, ..Solving::new(graph, components, kept, &params) };
            let mut function = function::solve(&solving, run)?;
            if level.is_of_rows() && function.form != Form::Stable {
                leave_one_out::center_rows(&mut function, level);
            }
            Ok(rows_at(&function.scores, rows.iter().map(|&row| row as usize)))
        })
    }
}

/// Most scores (rows × classes) of a problem that is solved again for each fold.
const MOST_VALUES: usize = 1 << 20;

/// Whether labels are enough for a temperature and the problem is small enough to be solved again.
fn can_solve_again(targets: &Targets) -> bool {
    let c = targets.n_columns();
    c > 1 && has_enough(targets) && targets.n_samples().saturating_mul(c) <= MOST_VALUES
}
