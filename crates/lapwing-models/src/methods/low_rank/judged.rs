//! What held-out labels say about the confidence of a low-rank fit: its decision rule.

use lapwing_core::{Matrix, Report, Result, Run, Targets};

use super::params::LowRankParams;
use crate::core::calibration::{Sharpness, note};
use crate::core::expected::note_expected;
use crate::core::held_out::{HeldOut, Standings};
use crate::core::labeling::{Rule, typical_logit, typical_temperature};

/// Scores of held-out rows, and the temperature that fits them.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub standings: Standings,
    /// Typical temperature of these scores. That of the fit is another, because the size of scores depends on the rows that were
    /// summed over.
    pub typical: f64,
    /// The sharpness that fits them; `None` if labels are too few.
    pub sharpness: Option<Sharpness>,
}

impl Judged {
    pub fn new(standings: Standings, c: usize, is_enough: bool, run: &Run) -> Result<Self> {
        let scores = Matrix::new(standings.values.len(), c, standings.values.concat())?;
        let rule = Rule::largest(vec![1.0; c]);
        let typical = run.install(|| typical_temperature(&rule, &scores));
        let sharpness = is_enough.then(|| Sharpness::fitted(&standings.pairs(), typical, typical_logit(&rule)));
        Ok(Self { standings, typical, sharpness })
    }

    /// Class shares by the `rule` of the fit, whose scores have the typical temperature `typical`.
    pub fn shares(mut self, rule: &Rule, typical: f64) -> HeldOut {
        let scale = typical / self.typical;
        self.standings.values.iter_mut().flatten().for_each(|score| *score *= scale);
        self.standings.shares(rule)
    }
}

/// The decision rule, with the typical temperature of `scores`, times the sharpness if it was fitted; and the class shares of
/// held-out rows.
pub(super) fn rule(
    params: &LowRankParams,
    targets: &Targets,
    scores: &Matrix,
    held_out: Option<Judged>,
    report: &mut Report,
    run: &Run,
) -> Result<(Rule, Option<HeldOut>)> {
    let mean = targets.mean();
    let prior = params.class_prior.shares(&mean)?;
    let mut rule = Rule { prior, ..Rule::largest(mean) };
    let typical = run.install(|| typical_temperature(&rule, scores));
    let sharpness = held_out.as_ref().and_then(|judged| judged.sharpness);
    rule.temperature = Some(typical);
    if let Some(sharpness) = sharpness {
        sharpness.apply(&mut rule, typical);
    }
    report.choose("temperature", rule.temperature);
    note(report, targets, sharpness.is_some());
    let held_out = held_out.map(|judged| judged.shares(&rule, typical));
    note_expected(report, held_out.as_ref());
    Ok((rule, held_out))
}
