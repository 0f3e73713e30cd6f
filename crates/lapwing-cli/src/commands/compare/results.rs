//! The results of a comparison in words.

use lapwing::data::Report;
use lapwing::models::{CompareRow, Comparison};
use lapwing_report::Parts;
use lapwing_report::summary::{Row, of_cost, of_scaling, of_shape, row};

use crate::text::{count, number, percent, seconds};

/// Headings of the table of results.
pub const HEADINGS: &[&str] =
    &["method", "labels", "per class", "draws", "accuracy", "unreached", "seconds", "graph seconds"];

/// A line of the table of results.
pub fn cells(result: &CompareRow) -> Vec<String> {
    let accuracy = match result.draws {
        1 => format!("{:.3}", result.accuracy_mean),
        _ => format!("{:.3} ± {:.3}", result.accuracy_mean, result.accuracy_sd),
    };
    let time = |seconds: f64| if result.baseline { "–".into() } else { format!("{seconds:.2}") };
    vec![
        result.method.clone(),
        count(result.n_labeled),
        number((result.labels_per_class * 10.0).round() / 10.0),
        count(result.draws),
        accuracy,
        percent(result.unreached),
        time(result.seconds),
        time(result.graph_seconds),
    ]
}

/// What the table shows, and what is not in it.
pub fn notes(found: &Comparison, same: &[(&str, &str)]) -> Vec<String> {
    let mut notes = vec![match found.rows.iter().find_map(|row| row.n_folds) {
        Some(k) => format!(
            "cross-validation of the known labels: each of {k} folds is hidden in turn; accuracy on it, mean ± standard \
             deviation"
        ),
        None => "accuracy on the hidden labels, mean ± standard deviation over draws of labels".into(),
    }];
    if found.n_single > 0 {
        notes.push(format!("never hidden: labels that are the only ones of their class ({})", count(found.n_single)));
    }
    if let Some((_, of)) = same.first() {
        let names: Vec<&str> = same.iter().filter(|(_, other)| other == of).map(|(method, _)| *method).collect();
        notes.push(format!("left out: {}, with the same labels as {of} on data of this size", names.join(", ")));
    }
    for missing in found.unfinished.chunk_by(|a, b| a.n_labeled == b.n_labeled) {
        let n_labeled = missing[0].n_labeled;
        let names: Vec<&str> = missing.iter().map(|row| row.method.as_str()).collect();
        let is_any = found.rows.iter().any(|row| row.n_labeled == n_labeled);
        let names = if is_any { names.join(", ") } else { "all methods".into() };
        notes.push(format!("not finished within the budget, with {} labels: {names}", count(n_labeled)));
    }
    for failed in found.failed.chunk_by(|a, b| a.method == b.method && a.reason == b.reason) {
        let labels: Vec<String> = failed.iter().map(|failed| count(failed.n_labeled)).collect();
        let (method, reason) = (&failed[0].method, &failed[0].reason);
        notes.push(format!("failed, with {} labels: {method}: {reason}", labels.join(", ")));
    }
    notes
}

/// The main figures of the report.
pub fn tiles(report: &Report, found: &Comparison) -> Vec<Row> {
    let mut tiles = vec![row("rows", count(report.n_samples)), row("classes", count(report.n_classes.unwrap_or(0)))];
    let most = found.winners.iter().max_by_key(|winner| winner.n_labeled);
    tiles.extend(most.map(|winner| {
        row(format!("best, {} with {} labels", winner.best, count(winner.n_labeled)), percent(winner.accuracy_mean))
    }));
    tiles.push(row("time", seconds(report.seconds())));
    tiles
}

/// The summary of the report.
pub fn rows(report: &Report) -> Vec<Row> {
    let mut rows = of_shape(report);
    rows.extend(of_scaling(&Parts::of(report)));
    rows.extend(report.n_classes.map(|n| row("classes", count(n))));
    rows.push(row("labels known", count(report.n_labeled)));
    rows.extend(of_cost(&report.phases, report.peak_bytes));
    rows
}
