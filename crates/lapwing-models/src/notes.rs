//! Warnings that several methods write into their reports.

use lapwing_data::{Report, Targets};

use crate::Labeling;
use crate::class_sizes::label_counts;
use crate::harmonic::CertificateSummary;
use crate::labeling::largest;

/// Share of the rows above which one class looks as if it had swallowed the others, and the share of the labels it must have for that
/// to be no surprise.
const MOST_SHARE: f64 = 0.95;
const MOST_SHARE_OF_LABELS: f64 = 0.7;

/// All labels are of one class; `mean` (c) are the labeled class frequencies.
pub(crate) fn one_class(report: &mut Report, mean: &[f64]) {
    if mean.iter().filter(|m| **m > 0.0).count() < 2 {
        let class = largest(mean);
        report.warnings.push(format!("all labels are of one class (number {class}): every row will get it"));
    }
}

/// The neighbour search missed its target.
pub(crate) fn low_recall(report: &mut Report, target: f64) {
    if let Some(recall) = report.graph.as_ref().and_then(|graph| graph.recall).filter(|recall| *recall < target) {
        report.warnings.push(format!(
            "the neighbor search found {recall:.3} of the true neighbors, below its target of {target}; rows of so \
             high a dimension need an exact search"
        ));
    }
}

/// Nearly all rows have one label, though the labels are spread over several classes.
pub(crate) fn lost_classes(report: &mut Report, labeling: &Labeling, targets: &Targets) {
    let counts = label_counts(targets);
    let mut sizes = vec![0usize; counts.len()];
    let reached = labeling.labels.iter().zip(&labeling.reached).filter(|(_, reached)| **reached);
    reached.for_each(|(&label, _)| sizes[label as usize] += 1);
    let (n, l): (usize, usize) = (sizes.iter().sum(), counts.iter().sum());
    let class = (1..sizes.len()).fold(0, |most, k| if sizes[k] > sizes[most] { k } else { most });
    let [share, among_labels] = [sizes[class] as f64 / n.max(1) as f64, counts[class] as f64 / l.max(1) as f64];
    if n > l && share > MOST_SHARE && among_labels < MOST_SHARE_OF_LABELS {
        report.warnings.push(format!(
            "class number {class} was given to {:.1} % of the rows, but has {:.0} % of the labels: the others may have \
             been lost; give class_prior with decision sizes, or more labels",
            100.0 * share,
            100.0 * among_labels
        ));
    }
}

/// Rows that no label reaches.
pub(crate) fn unreached(report: &mut Report) {
    if report.n_unreached > 0 {
        let (rows, parts) = (report.n_unreached, report.n_unlabeled_components);
        let advice = "label one row in each, or raise the number of neighbors";
        let (row_s, part_s) =
            (if rows == 1 { "row" } else { "rows" }, if parts == 1 { "component" } else { "components" });
        report.warnings.push(format!("no label reaches {rows} {row_s} in {parts} {part_s} of the graph; {advice}"));
    }
}

/// The solver stopped above its tolerance.
pub(crate) fn stopped_short(report: &mut Report, tol: f64) {
    if let Some(solve) = report.solve.as_ref().filter(|solve| !solve.converged) {
        let (n_iter, residual) = (solve.n_iter, solve.residual);
        report.warnings.push(format!(
            "the solver stopped after {n_iter} iterations at relative residual {residual:.1e}, above tol {tol:.1e}; \
             raise max_iter or tol"
        ));
    }
}

/// Labels that are undecided for no better reason than that the solver stopped.
pub(crate) fn undecided(report: &mut Report, certificate: &CertificateSummary) {
    if certificate.n_open > 0 && !certificate.is_exhausted {
        let (n_open, n_iter) = (certificate.n_open, certificate.n_iter);
        report.warnings.push(format!(
            "the solver stopped after {n_iter} iterations with {n_open} labels undecided: the exact solution of this graph may give \
             them other classes; raise max_iter"
        ));
    }
}
