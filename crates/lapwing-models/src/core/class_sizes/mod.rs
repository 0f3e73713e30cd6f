//! Class sizes: offsets of the scores at which every class gets a number of rows within bounds.
//!
//! The label of row i is the class of the largest s_ic + b_c, s the scores as a [`Rule`] compares them. Offsets b with
//! lower_c·n ≤ #{rows of class c} ≤ upper_c·n are the prices of an assignment problem with bounds. They are found one class
//! at a time: the class that is farthest outside its bounds gets the offset that brings it to the nearer bound, which is an
//! order statistic of max over k ≠ c of (s_ik + b_k) − s_ic. With all bounds equal to shares this is coordinate descent on
//! the dual Σᵢ max_c (s_ic + b_c) − n Σ_c share_c·b_c. Rows that no label reaches take no part.
//!
//! **Bounds** are shares that the caller gives, plus or minus a slack. Without such shares they are the 90 % Wilson interval of
//! each class's share among the labels, if the labels look drawn at random. If every class has about as many labels, they were
//! chosen that way and say nothing about sizes.
//!
//! **Refinement.** If the caller gives shares, rounds of random walks on the graph improve the labels ([`refine`]).
//! `docs/results/accuracy.md` has figures.
//!
//! Cost: O(n·c) for each offset that is changed, typically 2 to 5 for each class; [`refine`] adds O(m·c) for each step of a walk.
//! Parallel over blocks of rows; counts and order statistics do not depend on the number of threads.

mod bounds;
mod offsets;
mod refine;
mod with_sizes;

use std::sync::Arc;

use lapwing_core::params::{Parameters, at_least};
use lapwing_core::{Error, Matrix, Result, Run, Targets, Warning, choices, parameters, peak_memory_bytes};
use serde_json::Value;

use crate::core::counts::label_counts;
use crate::core::extend::{averages, set_scores};

pub(crate) use self::bounds::{SizeBounds, are_spread, are_typical};
pub(crate) use self::offsets::hold_unless_cut;
pub use self::with_sizes::WithSizes;
use self::{bounds::are_balanced, offsets::hold_sizes, refine::refine};
use crate::core::calibration;
use crate::core::class_prior::ClassPrior;
use crate::core::expected::note_expected;
use crate::{Fitted, Labeling, Problem, Rule};

choices! {
    /// How the labeled rows were chosen.
    pub enum LabelsDrawn("labels_drawn", default Auto) {
        /// Tested: balanced if the counts are more even than those of 95 % of random draws from equal classes, or if a component
        /// of the graph has far more labels than its share of the rows, or if labeled rows have larger degrees than random ones, as
        /// rows that were suggested have; else random.
        Auto = "auto",
        /// At random among all rows, so that their shares estimate the sizes of the classes.
        Random = "random",
        /// About as many of every class, whatever its size.
        Balanced = "balanced",
    }
}

parameters! {
    /// Slack of class sizes, and how labels were drawn.
    pub struct SizeOptions {
        /// How far the size of a class may be from its given share, as a share of the rows.
        size_slack: f64 = 0.0, in at_least(0.0).below(1.0), if [decision: "sizes"] [class_prior: "given"];
        /// How the labeled rows were chosen: at random, so that their shares estimate the class sizes, or balanced. Without
        /// effect if shares are given.
        labels_drawn: LabelsDrawn = LabelsDrawn::Auto;
    }
}

choices! {
    /// How a method that is not harmonic propagation decides.
    pub enum Sizing("decision", default Auto) {
        /// The decision of the method itself.
        Auto = "auto",
        /// Largest score after an offset for each class, so that class sizes are within bounds.
        Sizes = "sizes",
    }
}

parameters! {
    /// Whether the labels of a method are held to class sizes, and to which sizes.
    pub struct SizingParams {
        /// How scores become a class.
        decision: Sizing = Sizing::Auto;
        /// Shares of the classes, one for each class in the order of their names. Labeled estimates them from the given labels.
        /// Shares are positive and add up to 1.
        class_prior: ClassPrior = ClassPrior::Labeled, if [decision: "sizes"];
        /// How far the size of a class may be from its given share, as a share of the rows.
        size_slack: f64 = 0.0, in at_least(0.0).below(1.0), if [decision: "sizes"] [class_prior: "given"];
        /// How the labeled rows were chosen: at random, so that their shares estimate the class sizes, or balanced. Without
        /// effect if shares are given.
        labels_drawn: LabelsDrawn = LabelsDrawn::Auto, if [decision: "sizes"];
    }
}

impl SizingParams {
    /// The class sizes to hold; `None` unless the decision is `sizes`.
    pub fn sizes(&self) -> Option<SizeParams> {
        let Self { class_prior, size_slack, labels_drawn, .. } = self.clone();
        let options = SizeOptions { size_slack, labels_drawn };
        (self.decision == Sizing::Sizes).then_some(SizeParams { class_prior, options })
    }
}

/// Bounds on the sizes of classes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SizeParams {
    /// Shares of the classes; default from the given labels.
    pub class_prior: ClassPrior,
    /// Slack, and how labels were drawn.
    pub options: SizeOptions,
}

impl LabelsDrawn {
    /// Replaces `Auto` by what the numbers of labels of each class (c) suggest.
    pub(crate) fn resolved(self, counts: &[usize]) -> Self {
        match self {
            Self::Auto if are_balanced(counts) => Self::Balanced,
            Self::Auto => Self::Random,
            known => known,
        }
    }
}

/// Labels that are held to sizes.
#[derive(Debug)]
#[non_exhaustive]
pub struct SizedLabeling {
    /// The rule with its new offsets.
    pub rule: Rule,
    /// The labels that follow from the scores and the sizes.
    pub labeling: Labeling,
    /// Bounds and sizes, for a report.
    pub part: Value,
    /// Warnings.
    pub warnings: Vec<Warning>,
}

impl SizeParams {
    /// Checks shares and slack for `n_classes` classes.
    ///
    /// # Errors
    /// [`Error::Param`] for shares that are not positive, do not add up to 1 or are not one per class; for a slack outside [0, 1).
    pub fn validate(&self, n_classes: usize) -> Result<()> {
        self.class_prior.validate()?;
        self.class_prior.shares(&vec![0.0; n_classes])?;
        self.options.check_ranges()
    }

    /// Moves the offsets of `rule` so that every class gets its size, and labels the rows of `scores` (n, c). Rows of NaN are not
    /// counted.
    ///
    /// # Errors
    /// As [`SizeParams::validate`]; [`Error::Shape`] for scores, rule and targets of different classes; [`Error::Interrupted`].
    ///
    /// # Complexity
    /// O(n·c) for each offset that is moved, two to five for each class on most scores.
    pub fn decide(&self, scores: Arc<Matrix>, mut rule: Rule, targets: &Targets, run: &Run) -> Result<SizedLabeling> {
        self.validate(targets.n_columns())?;
        rule.check(&scores)?;
        if targets.n_columns() != scores.n_cols() {
            let expected = format!("{} classes, as the targets", targets.n_columns());
            return Err(Error::shape("scores", expected, scores.n_cols()));
        }
        if let ClassPrior::Given(_) = &self.class_prior {
            rule.prior = self.class_prior.shares(&rule.prior)?;
        }
        let (mut part, mut warnings) = (Value::Null, Vec::new());
        match self.bounds(targets)? {
            Some(bounds) => {
                let held = hold_sizes(&mut rule, &scores, &bounds, run)?;
                part = held.part(&bounds, 0);
                warnings.extend(held.warning(targets));
            }
            None => warnings.push(Warning::UnknownSizes {}),
        }
        let labeling = run.install(|| rule.decide(scores));
        Ok(SizedLabeling { rule, labeling, part, warnings })
    }

    /// The bounds of each class; `None` if the labels say nothing about sizes.
    pub(crate) fn bounds(&self, targets: &Targets) -> Result<Option<SizeBounds>> {
        let counts = label_counts(targets);
        match &self.class_prior {
            ClassPrior::Given(_) => {
                let shares = self.class_prior.shares(&targets.mean())?;
                Ok(Some(SizeBounds::around(&shares, self.options.size_slack, &counts)))
            }
            ClassPrior::Labeled => match self.options.labels_drawn.resolved(&counts) {
                LabelsDrawn::Balanced => Ok(None),
                _ => Ok(Some(SizeBounds::from_labels(&counts))),
            },
        }
    }
}

impl Fitted<'_> {
    /// The fit with labels that are held to sizes; see [`SizeParams::decide`]. Held-out rows are decided by the same rule.
    #[must_use]
    pub fn sized(mut self, sized: SizedLabeling) -> Self {
        self.held_out = self.held_out.and_then(|held_out| held_out.moved(&self.rule, &sized.rule));
        (self.labeling, self.rule) = (sized.labeling, sized.rule);
        self.report.parts.insert("sizes".into(), sized.part);
        self.report.warnings.extend(sized.warnings);
        note_expected(&mut self.report, self.held_out.as_ref());
        self
    }
}

/// Decides a complete fit again, by class sizes: replaces its rule, labeling and report. If the sizes are given, labels are
/// refined on the graph.
pub(crate) fn decide<'a>(
    mut fitted: Fitted<'a>,
    problem: &Problem<'_, 'a>,
    bounds: &SizeBounds,
    run: &Run,
) -> Result<Fitted<'a>> {
    let mut report = std::mem::take(&mut fitted.report);
    let graph = problem.graph.or(fitted.graph.as_ref()).map(|affinity| &affinity.graph);
    let outcome = report.time("sizes", run, |_| -> Result<_> {
        let mut rule = fitted.rule.clone();
        let mut held = hold_sizes(&mut rule, &fitted.labeling.scores, bounds, run)?;
        let mut labeling = run.install(|| rule.decide(fitted.labeling.scores.clone()));
        let mut rounds = 0;
        // The scores of the random walk exist for the fitted rows only: an extension must take means of these.
        let extends = fitted.extension.as_ref().is_none_or(|extension| averages(extension, labeling.labels.len()));
        if let Some(graph) = graph.filter(|_| bounds.is_given && extends) {
            let refined = refine(graph, problem.targets, &labeling.labels, &labeling.reached, bounds, &rule, run)?;
            (rule, held, rounds) = (refined.rule, refined.held, refined.rounds);
            labeling = run.install(|| rule.decide(Arc::new(refined.scores)));
        }
        Ok((rule, held, labeling, rounds))
    });
    let (rule, held, labeling, rounds) = outcome?;
    report.add_part("sizes", &held.part(bounds, rounds))?;
    report.warnings.extend(held.warning(problem.targets));
    if let Some(extension) = &mut fitted.extension {
        set_scores(extension, &labeling.scores, None);
    }
    report.peak_bytes = peak_memory_bytes();
    // Labels that are held out of the scores of the random walk are not known.
    let held_out = fitted.held_out.filter(|_| rounds == 0);
    let held_out = held_out.and_then(|held_out| held_out.moved(&fitted.rule, &rule));
    note_expected(&mut report, held_out.as_ref());
    if rounds > 0 {
        calibration::note(&mut report, problem.targets, false);
    }
    Ok(Fitted { labeling, rule, held_out, report, ..fitted })
}

#[cfg(test)]
mod tests;
