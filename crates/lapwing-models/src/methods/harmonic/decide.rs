//! From scores to labels: the level that scores are compared with, class sizes, confidence and certificates.
//!
//! The label of a row is the class of the largest (score − offset)·scale. Offset and scale follow from the decision: the means of rows or of labels,
//! class mass normalization, or none. Held-out labels then give the temperature of the confidence.
//!
//! Cost: O(n·c) for each pass over the scores; class sizes take several.

use std::sync::Arc;

use lapwing_core::{Matrix, Report, Result, Run, Targets, Warning};
use serde_json::json;

use super::class_mass::mass_scale;
use super::level::Level;
use super::{Calibration, Decision, Harmonic, HarmonicFunction, Known, Solved};
use crate::core::calibration::{Fallback, calibrate, has_enough};
use crate::core::class_prior::ClassPrior;
use crate::core::class_sizes::{self, LabelsDrawn, SizeBounds};
use crate::core::counts::label_counts;
use crate::core::extend::set_scores;
use crate::core::scores::present;
use crate::{Fitted, HeldOut, Labeling, Problem, Rule, SizeOptions, SizeParams, VennAbers};

impl Harmonic {
    /// The rule, the label of every row, and the class shares of held-out rows.
    pub(super) fn decide(
        &self,
        problem: &Problem<'_, '_>,
        solved: &mut Solved,
        bounds: Option<&SizeBounds>,
        report: &mut Report,
        run: &Run,
    ) -> Result<(Rule, Labeling, Option<HeldOut>)> {
        let targets = problem.targets;
        let mut rule = run.install(|| self.rule(solved, targets.n_columns(), report))?;
        let mut held_out = solved.held_out.take().map(|held_out| held_out.compared(&rule));
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
        let is_zero = solved.verdict.as_ref().is_some_and(|verdict| verdict.level == Level::Zero);
        let are_shares = !solved.is_centered && (is_zero || self.params.decision == Decision::Argmax);
        match self.known {
            Some(Known { temperature: Some((temperature, flattened)), .. }) => {
                (rule.temperature, rule.flattened) = (Some(temperature), flattened);
            }
            _ if self.params.decision == Decision::Mass && !solved.is_centered => {}
            // Without a prior, shares of the plain form stay as they are.
            _ if are_shares && !is_zero => {}
            _ => {
                let fallback = if are_shares { Fallback::Shares } else { Fallback::Typical };
                let used = held_out.as_ref().filter(|_| self.params.calibration != Calibration::None);
                run.install(|| calibrate(&mut rule, &scores, used, fallback, targets, report));
                if self.params.calibration == Calibration::VennAbers && has_enough(targets) {
                    let shares = used.cloned().map(|standings| standings.shares(&rule));
                    rule.venn_abers = shares.and_then(|shares| VennAbers::fitted(&shares.shares, &shares.classes));
                }
            }
        }
        let labeling = run.install(|| rule.decide(scores));
        let held_out = held_out.map(|standings| standings.shares(&rule));
        Ok((rule, labeling, held_out))
    }

    /// Bounds on the class sizes, if the decision uses any.
    pub(super) fn size_bounds(
        &self,
        targets: &Targets,
        is_spread: bool,
        report: &mut Report,
    ) -> Result<Option<SizeBounds>> {
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
            if matches!(self.params.decision, Decision::Auto | Decision::Sizes) {
                report.choose("decision", verdict.level.decision().name());
                if verdict.level == Level::OpenMean {
                    report.choose("level", "open-rows");
                }
            }
            let labels = verdict.accuracy;
            report.parts.extend(labels.map(|accuracy| ("leave_one_out".to_string(), json!({"accuracy": accuracy}))));
        }
        let level = solved.verdict.as_ref().map(|verdict| verdict.level);
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
            _ if solved.is_centered || level == Some(Level::Zero) => {
                let shift = solved.verdict.as_ref().map(|verdict| &verdict.shift);
                (shift.map_or(zero, |shift| shift.iter().map(|shift| 0.0 - shift).collect()), present)
            }
            _ => (function.mean.clone(), present),
        };
        Ok(Rule { offset, scale, temperature: None, flattened: false, venn_abers: None, prior })
    }

    /// Marks the certified labels. The bounds are those of the solved `scores`: if class sizes changed the scores, no label is
    /// marked.
    pub(super) fn certify(
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
                set_scores(extension, scores, Some(errors));
            }
            Ok(())
        })
    }

    /// Bounds on the errors of scores. Reports the certificate, of which `n_open` labels are undecided.
    pub(super) fn radii(
        &self,
        function: &HarmonicFunction,
        n_open: usize,
        report: &mut Report,
    ) -> Result<Option<Vec<f64>>> {
        let Some(certificate) = &function.certificate else { return Ok(None) };
        let mut radii = certificate.radii(function.reached.len(), function.mean.len());
        let summary = certificate.summary(n_open, &radii);
        report.add_part("certificate", &summary)?;
        report.warnings.extend(summary.warning());
        radii.iter_mut().zip(&function.reached).filter(|(_, reached)| !**reached).for_each(|(r, _)| *r = f64::INFINITY);
        Ok(Some(radii))
    }
}
