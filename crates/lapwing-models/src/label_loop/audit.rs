//! Which of the given labels are probably wrong, and which rows and classes to look at.
//!
//! 1. The score of every labeled row without its own label, in closed form ([`leave_one_out`](crate::core::smoother::leave_one_out)), at smoothness
//!    [`SMOOTHNESS`]: neighbors decide, not the whole component.
//! 2. Shares P from these scores, whose sharpness and weight of class frequencies are fitted to all labels ([`judge`]). The *quality* of
//!    a label is the share of its class, and the class of largest share is *proposed*.
//! 3. A label is *flagged* if another class is proposed, with at least the mean share that members of that class give it
//!    (the threshold of confident learning, Northcutt, Jiang & Chuang 2021).
//! 4. Rows that nearly equal each other, contradictory labels among them, and rows far from their neighbors ([`near`]).
//!
//! *Foretold* is the share of labels that their leave-one-out scores predict: an estimate of the accuracy on rows without a label,
//! provided the labels are a sample of the rows. Where it is below [`CLEAR`], labels are few, classes overlap or many labels are wrong;
//! then right labels are flagged too.
//!
//! Cost: c + 32 columns of a solve, up to 128 more for labels of large leverage, and O(m·d) for distances. That does not depend on the
//! number of labels.

mod classes;
mod judge;
mod near;
mod values;

use lapwing_core::params::{Parameters, at_least};
use lapwing_core::{Error, Features, Matrix, Report, Result, Run, Targets, Warning, parameters, peak_memory_bytes};
use lapwing_graph::{Components, Graph, Metric};
use serde::Serialize;

use crate::core::counts::{label_counts, n_present};
use crate::core::smoother::leave_one_out::{LeftOut, TOL, check_size};
use crate::core::smoother::{Smooth, Smoother, moderate};
pub use classes::{ClassPair, NewClass};
use judge::Judge;
use near::Near;
pub use values::{RegressionAudit, audit_regression};

/// Smoothness of the scores.
const SMOOTHNESS: f64 = 3.0;
/// Foretold accuracy below which many flags may be right labels.
const CLEAR: f64 = 0.8;
/// Least trust in a label after the first round.
const LEAST_TRUST: f64 = 0.02;

parameters! {
    /// How labels are audited.
    pub struct AuditParams {
        /// Rounds of judging. In a second one, labels count by the quality the first one found. That finds more errors if one class is
        /// systematically taken for another, and fewer if errors are scattered.
        rounds: usize = 1, in at_least(1.0).at_most(10.0);
        /// Two rows are duplicates if their distance is 0, or below this share of the median distance of one of them to its other
        /// neighbors; less in few dimensions, where rows are so near by chance. 0 finds equal rows only.
        duplicates: f64 = 0.3, in at_least(0.0).at_most(1.0);
    }
}

/// What an audit found, for every row; rows without a label have no quality.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Audit {
    /// Share of the given class by scores that did not see the label (n), in [0, 1]; NaN where nothing was judged.
    pub quality: Vec<f64>,
    /// The class of largest share (n); for rows without a label the predicted one; `None` where no label reaches.
    pub proposed: Vec<Option<u32>>,
    /// Whether the label is probably wrong (n).
    pub flagged: Vec<bool>,
    /// Whether the label could be judged (n); false without a label.
    pub judged: Vec<bool>,
    /// How much each label decides the score of its own row (n), in [0, 1); NaN without a label.
    pub leverage: Vec<f64>,
    /// Whether any label reaches the row (n).
    pub reached: Vec<bool>,
    /// Group of rows that nearly equal each other (n); `None` for all other rows and without features.
    pub duplicate_group: Vec<Option<u32>>,
    /// Whether another row of the group has another label (n).
    pub contradicts: Vec<bool>,
    /// Share of the rows, in percent, whose mean distance to their neighbors is at most that of the row (n); 100 without neighbors, NaN without
    /// features.
    pub outlier_percentile: Vec<f64>,
    /// Labels of each class (rows) by the class that is proposed where the label is flagged, else by their own (c, c).
    pub confusion: Matrix,
    /// Mean share that the members of each class give it (c); NaN for classes without a judged label.
    pub thresholds: Vec<f64>,
    /// What was found, in numbers.
    pub summary: AuditSummary,
    /// What was done, with the summary as its part `audit`.
    pub report: Report,
}

impl Audit {
    /// The judged rows, the most doubtful label first.
    pub fn ranked(&self) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..self.quality.len()).filter(|&row| self.judged[row]).collect();
        rows.sort_by(|&a, &b| self.quality[a].total_cmp(&self.quality[b]));
        rows
    }
}

/// Numbers of an audit, and what they say of classes.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct AuditSummary {
    /// Share of the judged labels that scores predict without them; NaN if none was judged.
    pub foretold: f64,
    /// Number of labels.
    pub n_labeled: usize,
    /// Labels that were judged.
    pub n_judged: usize,
    /// Labels that were not: the only ones of their class, or of their component.
    pub n_not_judged: usize,
    /// Labels that are probably wrong.
    pub n_flagged: usize,
    /// Whether less than 80 % of the labels are foretold, so that many flagged labels may be right.
    pub flags_are_doubtful: bool,
    /// Groups of duplicates; `None` without features.
    pub n_duplicate_groups: Option<usize>,
    /// Rows in these groups.
    pub n_duplicate_rows: Option<usize>,
    /// Rows whose label differs from another one of their group.
    pub n_contradictory: Option<usize>,
    /// Pairs of classes that are taken for each other, the most confused first.
    pub confused: Vec<ClassPair>,
    /// Classes with one to four labels.
    pub few_labels: Vec<usize>,
    /// Classes without a label.
    pub no_labels: Vec<usize>,
    /// Classes with labels that are predicted for no row.
    pub not_predicted: Vec<usize>,
    /// A part of the graph that may be a class nobody has named.
    pub new_class: Option<NewClass>,
    /// Fitted factor of the scores.
    pub sharpness: f64,
    /// Fitted weight of the class frequencies, in [0, 1].
    pub prior_weight: f64,
    /// Rounds of judging.
    pub rounds: usize,
}

/// Audits the labels of a classification. Without features there are no duplicates and outliers; `metric` is that of the features.
///
/// # Errors
/// [`Error::Labels`] if all labels are of one class, or each is alone in its class; [`Error::Shape`]; [`Error::Param`];
/// [`Error::Interrupted`].
pub fn audit(
    graph: &Graph,
    features: Option<(&Features<'_>, Metric)>,
    targets: &Targets,
    params: &AuditParams,
    run: &Run,
) -> Result<Audit> {
    params.check_ranges()?;
    check_size(graph, targets)?;
    check_labels(targets)?;
    let mut report =
        Report::new("audit", graph.n_samples(), features.map(|(rows, _)| rows.n_cols()), targets.rows().len());
    report.n_classes = Some(targets.n_columns());
    let (moderate, components) = (moderate(graph), report.time("components", run, |_| graph.components()));
    let work = Work { graph: &moderate, components: &components, run };
    let (judge, smooth) = work.judged(targets, params.rounds, &mut report)?;
    let near = match features {
        Some((rows, metric)) => {
            Some(report.time("duplicates", run, |_| Near::find(graph, rows, metric, params.duplicates, run))?)
        }
        None => None,
    };
    let (confusion, of_classes) = report.time("classes", run, |_| classes::find(&work, targets, &judge, &smooth))?;
    let n = graph.n_samples();
    let mut audit = Audit {
        quality: vec![f64::NAN; n],
        proposed: judge.predicted(&smooth.scores),
        flagged: vec![false; n],
        judged: vec![false; n],
        leverage: vec![f64::NAN; n],
        reached: smooth.potential.iter().map(|o| o.is_finite()).collect(),
        duplicate_group: near.as_ref().map_or_else(|| vec![None; n], |near| near.group.clone()),
        contradicts: near.as_ref().map_or_else(|| vec![false; n], |near| near.contradicts(targets)),
        outlier_percentile: near.as_ref().map_or_else(|| vec![f64::NAN; n], |near| near.percentile.clone()),
        confusion,
        thresholds: judge.thresholds.clone(),
        summary: of_classes,
        report,
    };
    for (at, &row) in targets.rows().iter().enumerate() {
        let row = row as usize;
        audit.leverage[row] = judge.left_out.leverage[at];
        audit.judged[row] = judge.left_out.judged[at];
        if audit.judged[row] {
            audit.quality[row] = judge.quality[at];
            audit.proposed[row] = Some(judge.proposed[at]);
            audit.flagged[row] = judge.flagged[at];
        }
    }
    if !audit.judged.contains(&true) {
        audit.report.warnings.push(Warning::NothingJudged {});
    }
    audit.summary = summary(&audit, targets, &judge, near.as_ref(), params.rounds);
    audit.report.add_part("audit", &audit.summary)?;
    audit.report.peak_bytes = peak_memory_bytes();
    Ok(audit)
}

fn summary(audit: &Audit, targets: &Targets, judge: &Judge, near: Option<&Near>, rounds: usize) -> AuditSummary {
    let count = |values: &[bool]| values.iter().filter(|value| **value).count();
    let (n_labeled, n_judged) = (targets.rows().len(), count(&audit.judged));
    let groups = near.map(|near| near.group.iter().flatten().max().map_or(0, |most| *most as usize + 1));
    AuditSummary {
        foretold: judge.foretold,
        n_labeled,
        n_judged,
        n_not_judged: n_labeled - n_judged,
        n_flagged: count(&audit.flagged),
        flags_are_doubtful: n_judged > 0 && judge.foretold < CLEAR,
        n_duplicate_groups: groups,
        n_duplicate_rows: near.map(|near| near.group.iter().flatten().count()),
        n_contradictory: near.map(|_| count(&audit.contradicts)),
        sharpness: judge.sharpness,
        prior_weight: judge.prior_weight,
        rounds,
        ..audit.summary.clone()
    }
}

/// A graph of moderate weights, its components, and threads.
struct Work<'a> {
    graph: &'a Graph,
    components: &'a Components,
    run: &'a Run,
}

impl Work<'_> {
    /// Judges the labels in rounds; returns also the solution of the last one.
    fn judged(&self, targets: &Targets, rounds: usize, report: &mut Report) -> Result<(Judge, Smooth)> {
        // Only ratios of weights count.
        let smoothness = SMOOTHNESS * targets.weights().iter().sum::<f64>() / targets.weights().len() as f64;
        let (mut judge, mut smooth) = self.round(targets, smoothness, report)?;
        for _ in 1..rounds {
            let trust = judge.trust();
            let weights = targets.weights().iter().zip(trust).map(|(weight, trust)| weight * trust).collect();
            let doubted =
                Targets::new(targets.n_samples(), targets.rows().to_vec(), targets.values().clone(), weights)?;
            (judge, smooth) = self.round(&doubted, smoothness, report)?;
        }
        Ok((judge, smooth))
    }

    fn round(&self, targets: &Targets, smoothness: f64, report: &mut Report) -> Result<(Judge, Smooth)> {
        let Self { graph, components, run } = *self;
        let smoother = Smoother::new(graph, components, targets, smoothness, TOL, run)?;
        let smooth = report.time("solve", run, |_| smoother.solve(None, run))?;
        crate::core::notes::solved(report, smooth.info.summary(), TOL, crate::core::notes::RAISE_LIMITS);
        let left_out = report.time("leave one out", run, |_| LeftOut::new(&smoother, &smooth, targets, run))?;
        let judge = report.time("judge", run, |_| Judge::new(left_out, targets, run));
        Ok((judge, smooth))
    }
}

/// Refuses labels that have nothing to be compared with.
fn check_labels(targets: &Targets) -> Result<()> {
    let counts = label_counts(targets);
    match n_present(&counts) {
        1 => Err(Error::labels(
            "all labels are of one class, so that there is nothing to compare them with; label rows of another class",
        )),
        _ if counts.iter().all(|count| *count < 2) => Err(Error::labels(
            "every label is the only one of its class, so that there is nothing to compare it with; label more rows",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
