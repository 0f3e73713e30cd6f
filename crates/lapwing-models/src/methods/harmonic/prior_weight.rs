//! Chooses the weight κ of a prior, and the level that scores are compared with.
//!
//! The level is nothing, because they are shares, or their mean over all rows,
//! because the shares of a classifier of few labels may be near to constant. Each label is left out ([`leave_one_out`]); the
//! pair with the least mean −log share of the labels is taken if it is better than the default by [`SIGNIFICANT`] standard errors.
//!
//! Cost: two solves for each κ that is tried, of c − 1 columns and of a column for each label that is left out; the larger κ, the
//! fewer iterations.
//!
//! [`leave_one_out`]: super::leave_one_out

use lapwing_core::{Error, Matrix, Result, Run, Targets};

use super::function::solve;
use super::leave_one_out::{self, Verdict};
use super::level::Level;
use super::params::{Certify, Decision, HarmonicParams};
use super::prior::Prior;
use super::solving::Solving;
use super::trust::Trust;
use crate::core::calibration::fitted_rule;
use crate::core::counts::has_each;
use crate::core::held_out::Standings;
use crate::core::held_out::choosing::{Trial, choose};

/// Weights κ that are tried.
const WEIGHTS: [f64; 6] = [0.01, 0.03, 0.1, 0.3, 1.0, 10.0];
/// Weight if labels are too few to try.
const TYPICAL_WEIGHT: f64 = 0.03;
/// Fewest labels of every class to try weights.
const LEAST_PER_CLASS: usize = 3;
/// Standard errors by which another choice than the default has to be better.
const SIGNIFICANT: f64 = 1.5;
/// Relative residual of solves that only choose.
const CHOICE_TOL: f64 = 1e-4;

/// κ and the level, with what leaving out the labels says about them.
pub(super) struct Choice {
    pub weight: f64,
    pub verdict: Verdict,
}

/// A problem with a prior whose κ and level are to be chosen.
pub(super) struct Choosing<'a> {
    /// As without the prior; its components are one, of all rows.
    pub solving: Solving<'a>,
    /// Shares (n, c).
    pub shares: &'a Matrix,
}

impl Choosing<'_> {
    /// Chooses κ, unless the parameters have it, and the level, unless the decision names it.
    pub fn choose(&self, run: &Run) -> Result<Choice> {
        let Solving { targets, params, .. } = self.solving;
        let (given, levels) = (params.prior_weight, levels(params.decision));
        let typical = given.unwrap_or(TYPICAL_WEIGHT);
        if !has_each(targets, LEAST_PER_CLASS) || !leave_one_out::applies(targets) {
            let shift = vec![0.0; targets.n_columns()];
            let verdict = Verdict::without_labels(levels[0], Trust::default(), shift);
            return Ok(Choice { weight: typical, verdict });
        }
        let others = WEIGHTS.into_iter().filter(|weight| given.is_none() && *weight != TYPICAL_WEIGHT);
        let weights: Vec<f64> = std::iter::once(typical).chain(others).collect();
        let mut trials = Vec::new();
        for (at, &weight) in weights.iter().enumerate() {
            let run = run.part_of(at, weights.len(), &format!("prior_weight {weight}"));
            trials.extend(self.tried(weight, levels, &run)?);
        }
        let chosen = choose(&trials, SIGNIFICANT);
        Ok(trials.swap_remove(chosen).candidate)
    }

    /// The choices with this κ, one for each of the `levels`; the losses are −log share of each label.
    fn tried(&self, weight: f64, levels: &[Level], run: &Run) -> Result<Vec<Trial<Choice>>> {
        let Solving { components, targets, params, .. } = self.solving;
        let params = HarmonicParams { certify: Certify::Off, tol: params.tol.max(CHOICE_TOL), ..params.clone() };
        let prior = Some(Prior { shares: self.shares, weight });
        let solving = Solving { prior, influence: true, params: &params, ..self.solving };
        let function = solve(&solving, run)?;
        let Some(influence) = &function.influence else {
            return Err(Error::Internal { reason: "a solve with a prior left no label out".into() });
        };
        let at_level = |&level: &Level| {
            let verdict = run.install(|| Verdict::with_prior(&function, influence, targets, components, level, run))?;
            let losses = |standings| run.install(|| log_losses(standings, targets));
            let losses = verdict.held_out.as_ref().map_or_else(Vec::new, losses);
            Ok(Trial { candidate: Choice { weight, verdict }, losses, found: () })
        };
        levels.iter().map(at_level).collect()
    }
}

/// −log share of each label, at the temperature that fits them.
fn log_losses(standings: &Standings, targets: &Targets) -> Vec<f64> {
    let held_out = standings.clone().shares(&fitted_rule(standings, targets, Some(1.0)));
    let own = held_out.shares.rows().zip(&held_out.classes).map(|(shares, &class)| shares[class as usize]);
    own.map(|share| -share.max(f64::MIN_POSITIVE).ln()).collect()
}

/// The levels that a decision may compare scores with; the first one is the default.
fn levels(decision: Decision) -> &'static [Level] {
    match decision {
        Decision::Auto | Decision::Sizes => &[Level::RowMean, Level::Zero],
        Decision::RowMean => &[Level::RowMean],
        Decision::Centered => &[Level::LabeledMean],
        Decision::Argmax | Decision::Mass => &[Level::Zero],
    }
}
