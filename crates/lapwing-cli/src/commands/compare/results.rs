//! The results of a comparison in words.

use lapwing::data::Report;
use lapwing::models::{CompareRow, Comparison};

use crate::summary::{Row, of_cost, of_scaling, row};
use crate::text::{count, number, percent, seconds};

/// Headings of the table of results.
pub const HEADINGS: &[&str] =
    &["method", "labels", "a class", "draws", "accuracy", "unreached", "seconds", "graph seconds"];

/// A line of the table of results.
pub fn cells(result: &CompareRow) -> Vec<String> {
    let time = |seconds: f64| if result.baseline { "–".into() } else { format!("{seconds:.2}") };
    vec![
        result.method.clone(),
        count(result.n_labeled),
        number((result.labels_per_class * 10.0).round() / 10.0),
        count(result.draws),
        format!("{:.3} ± {:.3}", result.accuracy_mean, result.accuracy_sd),
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
    notes.extend(same.iter().map(|(method, of)| {
        format!("left out: {method}, which keeps all edges of this graph and so gives the labels of {of}")
    }));
    let mut unfinished: Vec<&str> = Vec::new();
    for row in &found.unfinished {
        if !unfinished.contains(&row.method.as_str()) {
            unfinished.push(&row.method);
            let of_method = found.unfinished.iter().filter(|other| other.method == row.method);
            let labels: Vec<String> = of_method.map(|other| count(other.n_labeled)).collect();
            notes.push(format!("not finished within the budget: {} with {} labels", row.method, labels.join(", ")));
        }
    }
    notes
}

/// The main figures of the report.
pub fn tiles(report: &Report, found: &Comparison) -> Vec<Row> {
    let mut tiles = vec![row("rows", count(report.n_samples)), row("classes", count(report.n_classes.unwrap_or(0)))];
    let methods = found.rows.iter().filter(|row| !row.baseline);
    let best = methods.max_by(|a, b| a.accuracy_mean.total_cmp(&b.accuracy_mean));
    tiles.extend(best.map(|best| {
        row(format!("best, {} with {} labels", best.method, count(best.n_labeled)), percent(best.accuracy_mean))
    }));
    tiles.push(row("time", seconds(report.seconds())));
    tiles
}

/// The summary of the report.
pub fn rows(report: &Report) -> Vec<Row> {
    let mut rows = vec![row("rows", count(report.n_samples))];
    rows.extend(report.n_features.map(|n| row("features", count(n))));
    rows.extend(of_scaling(report));
    rows.extend(report.n_classes.map(|n| row("classes", count(n))));
    rows.push(row("labels known", count(report.n_labeled)));
    rows.extend(of_cost(&report.phases, report.peak_bytes));
    rows
}
