//! Summaries of reports: lines of name and value, for the terminal and for HTML.

use lapwing::data::read::ColumnKind;
use lapwing::data::{GraphSummary, Phase, Report};
use lapwing::graph::sparsify::SparsifyReport;
use lapwing::models::{AuditSummary, ClassAccuracy, ExpectedAccuracy, HeldOutSource, SetsSummary};
use lapwing_core::text::{option, start_of};
use serde::Deserialize;
use serde_json::Value;

use crate::parts::{Candidate, Certificate, Column, Parts, Sampled, Scaled, Table};
use crate::text::{bytes, count, number, percent, seconds};

/// Columns of a table that are listed.
const MOST_LISTED: usize = 40;

/// Classes that are listed by name.
const MOST_CLASSES: usize = 10;

/// A name and a value.
pub type Row = (String, String);

/// A line of the summary.
pub fn row(what: impl Into<String>, value: impl Into<String>) -> Row {
    (what.into(), value.into())
}

/// The texts of the warnings of a report.
pub fn texts(report: &Report) -> Vec<String> {
    report.warnings.iter().map(ToString::to_string).collect()
}

/// The summary of a fit.
pub fn of_fit(report: &Report, parts: &Parts) -> Vec<Row> {
    let mut rows = vec![row("method", report.method.clone())];
    rows.extend(of_shape(report));
    rows.extend(parts.sample.as_ref().map(of_sample));
    rows.extend(of_table(parts));
    rows.extend(of_scaling(parts));
    rows.extend(report.n_classes.map(|n| row("classes", count(n))));
    rows.push(row("labels given", count(report.n_labeled)));
    rows.extend(report.graph.iter().flat_map(of_graph));
    rows.push(row("rows no label reaches", count(report.n_unreached)));
    if let Some(solve) = &report.solve {
        let state = if solve.converged { "" } else { " (not converged)" };
        rows.push(row("iterations", count(solve.n_iter)));
        rows.push(row("residual", format!("{:.1e}{state}", solve.residual)));
    }
    rows.extend(of_certificate(report, parts));
    let unknown = || "not stated: it cannot be estimated if class sizes are given".to_owned();
    let expected = of_expected(parts).or_else(|| parts.holds_sizes.then(unknown));
    rows.extend(expected.map(|expected| row("expected accuracy", expected)));
    let guess = parts.confidence.as_ref().and_then(|confidence| confidence.reason.as_ref());
    rows.extend(guess.map(|reason| row("confidence", format!("a guess: {reason}"))));
    rows.extend(of_sparse(parts));
    rows.extend(of_candidates(&parts.candidates));
    rows
}

/// What was fitted of more rows.
fn of_sample(sample: &Sampled) -> Row {
    let Sampled { n_rows, n_near, n_far, n_far_taken } = *sample;
    let near = if n_near > 0 { format!(", {} of them near labels", count(n_near)) } else { String::new() };
    let far = match n_far {
        0 => String::new(),
        _ => format!("; {} of {} that no drawn row is near", count(n_far_taken), count(n_far)),
    };
    row("rows fitted", format!("{}{near}{far}", count(n_rows)))
}

/// The numbers of rows and features.
pub fn of_shape(report: &Report) -> Vec<Row> {
    let features = report.n_features.map(|n| row("features", count(n)));
    [row("rows", count(report.n_samples))].into_iter().chain(features).collect()
}

/// The lines about the candidates of an automatic choice: what each gets right of the labels that were hidden from it, and its weight.
fn of_candidates(candidates: &[Candidate]) -> Vec<Row> {
    let is_tried = candidates.iter().any(|candidate| candidate.estimate.is_some());
    let mut rows = Vec::new();
    for Candidate { name, estimate, weight, failure } in candidates {
        let weight = weight.unwrap_or(0.0);
        let value = match estimate {
            _ if failure.is_some() => "left out: see the warning".into(),
            Some(right) if weight > 0.0 => format!("{} right, weight {}", percent(*right), percent(weight)),
            Some(right) => format!("{} right, left out", percent(*right)),
            None if weight > 0.0 => {
                "used alone: too few labels, or labels of one class only, to compare candidates".into()
            }
            None if is_tried => "not tried: no time left".into(),
            None => continue,
        };
        rows.push(row(format!("  {name}"), value));
    }
    if !rows.is_empty() {
        rows.insert(0, row("candidates", if is_tried { "of held-out labels" } else { "" }));
    }
    rows
}

/// What was done with the columns of a table, unless they are numbers that were taken as they are. Many numbers are one line.
pub fn of_table(parts: &Parts) -> Vec<Row> {
    let Some(Table { reading, columns }) = &parts.prepare else { return Vec::new() };
    let mut rows: Vec<Row> = reading.iter().map(|reading| row("read", reading)).collect();
    let is_plain = |column: &Column| {
        column.kind == ColumnKind::Number && column.done.starts_with("number") && column.n_missing == 0
    };
    let (plain, others): (Vec<&Column>, Vec<&Column>) = columns.iter().partition(|column| is_plain(column));
    if others.is_empty() {
        return rows;
    }
    rows.push(row("columns", format!("prepared; {} takes numbers as they are", option("prepare", "none"))));
    let few = columns.len() <= MOST_LISTED;
    let listed = if few { columns.iter().collect() } else { others };
    rows.extend((!few && !plain.is_empty()).then(|| row("  numbers", format!("{} columns", count(plain.len())))));
    let line = |column: &&Column| row(format!("  {}", shortened(&column.name)), &column.done);
    rows.extend(listed.iter().take(MOST_LISTED).map(line));
    if listed.len() > MOST_LISTED {
        let more = count(listed.len() - MOST_LISTED);
        rows.push(row(format!("  {more} more"), "lapwing describe lists all columns"));
    }
    rows
}

/// A name on one line, of a length that a terminal shows.
pub fn shortened(name: &str) -> String {
    start_of(name, 28)
}

/// How the features were scaled, and how to leave them where auto decided.
pub fn of_scaling(parts: &Parts) -> Option<Row> {
    let Scaled { ratio, text } = parts.scaling.as_ref()?;
    let advice = ratio.map(|_| format!("; {} leaves them", option("standardize", "off"))).unwrap_or_default();
    Some(row("scaled", format!("{text}{advice}")))
}

/// The accuracy that rows without a label are expected to have, with its interval, and where it comes from.
pub fn of_expected(parts: &Parts) -> Option<String> {
    let ExpectedAccuracy { value, low, high, n_held_out, source, .. } = parts.expected_accuracy?;
    let (value, low, high) = (100.0 * value, 100.0 * low, 100.0 * high);
    let (below, above) = ((value - low).round(), (high - value).round());
    // A range is shown where "±" would be wrong by more than a point.
    let shown = match (below - above).abs() <= 1.0 {
        true => format!("{value:.0} % ± {:.0}", below.max(above)),
        false => format!("{value:.0} %, {low:.0} to {high:.0}"),
    };
    let how = match source {
        HeldOutSource::Folds(folds) => format!(" held out in {folds} parts"),
        _ => ", each held out once".into(),
    };
    Some(format!("{shown} (from {} labels{how})", count(n_held_out)))
}

/// Fewest held-out labels of a class that is named as the hardest.
const FEWEST_OF_CLASS: usize = 5;

/// The class whose held-out labels are most often wrong, if that is clearly more often than among all; `names` are those of the classes.
pub fn of_hardest(parts: &Parts, names: &[String]) -> Option<Row> {
    let expected = parts.expected_accuracy?.value;
    let share = |class: &ClassAccuracy| class.n_right as f64 / class.n_held_out as f64;
    let enough = parts.class_accuracy.iter().zip(names).filter(|(class, _)| class.n_held_out >= FEWEST_OF_CLASS);
    let (class, name) = enough.min_by(|(a, _), (b, _)| share(a).total_cmp(&share(b)))?;
    let text = || format!("{}: {} of {} held-out labels right", shortened(name), class.n_right, class.n_held_out);
    (share(class) < expected - 0.1).then(|| row("hardest class", text()))
}

/// The number of labels that are certified to be those of the exact solution, or the largest error of values.
pub fn of_certificate(report: &Report, parts: &Parts) -> Option<Row> {
    let Certificate { largest_radius, n_open } = parts.certificate.as_ref()?;
    if report.n_classes.is_none() {
        let radius = largest_radius.map_or("unknown".into(), |radius| format!("{radius:.1e}"));
        return Some(row("largest error bound", radius));
    }
    let all = report.n_samples - report.n_unreached;
    let rest = if *n_open > 0 { format!(" ({} undecided)", count(*n_open)) } else { String::new() };
    let is_thinned = parts.sparsify.as_ref().is_some_and(|sparsified| sparsified.rounds > 0);
    let what = if is_thinned { "labels certified on the edges kept" } else { "labels certified" };
    Some(row(what, format!("{} of {}{rest}", count(all.saturating_sub(*n_open)), count(all))))
}

/// The lines about the sparsifier of a fit, and about the refinement of its solution.
fn of_sparse(parts: &Parts) -> Vec<Row> {
    let Some(sparsified) = &parts.sparsify else { return Vec::new() };
    let mut rows = of_sparsifier(sparsified);
    rows.extend(parts.resumed_after.map(|after| row("resumed after row", count(after))));
    rows.extend(parts.refined.iter().map(|residuals| {
        let last = residuals.last().copied().flatten().unwrap_or(f64::NAN);
        row("residual on all edges", format!("{last:.1e} after {} passes", residuals.len()))
    }));
    rows
}

/// The lines about a sparsifier.
pub fn of_sparsifier(report: &SparsifyReport) -> Vec<Row> {
    let kept = format!("{} ({})", count(report.n_kept), percent(report.kept_share()));
    let mut rows = vec![row("edges read", count(report.n_edges as usize))];
    if report.n_dropped > 0 {
        rows.push(row("loops and zeros left out", count(report.n_dropped as usize)));
    }
    rows.extend([
        row("edges kept", kept),
        row("sampler", report.sampler.clone()),
        row("edges aimed at", count(report.edge_budget)),
        row("most edges held", count(report.peak_edges)),
        row("rounds", count(report.rounds as usize)),
    ]);
    if report.solve_seconds > 0.0 {
        rows.push(row("time in systems", seconds(report.solve_seconds)));
    }
    if let Some([low, high]) = report.probe_ratios {
        let probes = format!("{} to {} of their weight kept ({} tested)", number(low), number(high), report.n_probes);
        rows.push(row("weakest cuts", probes));
    }
    rows
}

/// The settings that "auto" has chosen, with `mark` behind their names.
pub fn of_choices(report: &Report, mark: &str) -> Vec<Row> {
    let text = |name: &str, value: &Value| match (name, value.as_str()) {
        ("labels_drawn", Some("balanced")) => "balanced: the numbers of labels do not show the class sizes".to_owned(),
        _ => text_of(value),
    };
    report.chosen.iter().map(|(name, value)| row(format!("{name}{mark}"), text(name, value))).collect()
}

/// The lines about a graph.
pub fn of_graph(graph: &GraphSummary) -> Vec<Row> {
    let mut rows = vec![row("edges", count(graph.n_edges)), row("components", components(graph))];
    if graph.n_isolated > 0 {
        rows.push(row("rows without an edge", count(graph.n_isolated)));
    }
    let [least, median, most] = graph.degree.map(number);
    rows.push(row("degree", format!("{least} to {most}, median {median}")));
    if let Some(recall) = graph.recall {
        let error = graph.recall_error.filter(|&e| e > 0.0).map(|e| format!(" ± {}", percent(e)));
        rows.push(row("neighbors found", percent(recall) + &error.unwrap_or_default()));
    }
    rows.extend(graph.learned.iter().flat_map(of_learned));
    rows
}

/// What is said of learning a graph. JSON has no infinity: an infinite gap is missing.
#[derive(Deserialize)]
struct Learned {
    mean_neighbors: f64,
    n_allowed: usize,
    sparsity: f64,
    gap: Option<f64>,
    n_iter: usize,
    saturated: f64,
    n_uncertified: usize,
}

/// The lines about learning a graph.
fn of_learned(learned: &Value) -> Vec<Row> {
    let Ok(learned) = Learned::deserialize(learned) else { return Vec::new() };
    let gap = learned.gap.unwrap_or(f64::INFINITY);
    let mut rows = vec![
        row(
            "neighbors per row",
            format!("{}; {} pairs allowed", number(learned.mean_neighbors), count(learned.n_allowed)),
        ),
        row("sparsity", number(learned.sparsity)),
        row("relative duality gap", format!("{gap:.1e} after {} steps", count(learned.n_iter))),
        row("rows with all allowed pairs", percent(learned.saturated)),
    ];
    if learned.n_uncertified > 0 {
        rows.push(row("rows that may need other pairs", count(learned.n_uncertified)));
    }
    rows
}

/// The line about sets of classes; `source` says which labels they come from.
pub fn of_sets(sets: &SetsSummary, source: &str) -> Row {
    let [low, high] = sets.expected;
    let text = format!(
        "contain the right class for {} of the rows (with these labels, {} to {}); {} of {} classes on average (from {} {})",
        percent(sets.level),
        percent(low),
        percent(high),
        number(sets.mean_size),
        sets.n_classes_seen,
        count(sets.n_held_out),
        source.trim_start_matches("all ")
    );
    row("sets", text)
}

/// Least share of labels that are flagged where their number tells how many are wrong; and the wrong labels for each flagged one, in
/// tests with 5 to 20 % of wrong labels on digits and texts. Where hardly any label is wrong, most flags are unusual right ones.
const LEAST_FLAGGED: f64 = 0.05;
const WRONG_PER_FLAG: (f64, f64) = (1.04, 1.11);

/// About how many labels are wrong, from the number of flags; none where that tells nothing.
fn wrong_labels(found: &AuditSummary) -> Option<(usize, usize)> {
    let (n_flagged, n_judged) = (found.n_flagged as f64, found.n_judged as f64);
    let is_told = !found.flags_are_doubtful && n_flagged >= LEAST_FLAGGED * n_judged && n_flagged > 0.0;
    let number = |factor: f64| (factor * n_flagged).round() as usize;
    is_told.then(|| (number(WRONG_PER_FLAG.0), number(WRONG_PER_FLAG.1)))
}

/// The share of labels that scores predict without them, if any was judged.
pub(crate) fn of_foretold(found: &AuditSummary) -> Option<Row> {
    found.foretold.is_finite().then(|| row("labels predicted by the others", percent(found.foretold)))
}

/// The lines about an audit; `names` are those of the classes.
pub fn of_audit(found: &AuditSummary, names: &[String]) -> Vec<Row> {
    let name = |class: usize| shortened(names.get(class).map_or("", String::as_str));
    let mut rows: Vec<Row> = of_foretold(found).into_iter().collect();
    let note = if found.flags_are_doubtful {
        "; fewer than 80 % are predicted, so some flags are wrong: check them in order"
    } else {
        ""
    };
    let wrong = wrong_labels(found)
        .map_or_else(String::new, |(few, many)| format!("; about {} to {} labels are wrong", count(few), count(many)));
    rows.push(row("labels flagged", format!("{}{note}{wrong}", count(found.n_flagged))));
    if found.n_not_judged > 0 {
        let n = count(found.n_not_judged);
        rows.push(row("labels not judged", format!("{n}, alone in their class or component")));
    }
    rows.extend(found.n_duplicate_rows.zip(found.n_duplicate_groups).map(|(n, groups)| {
        let groups = if n == 0 { String::new() } else { format!(" in {} groups", count(groups)) };
        row("duplicate rows", format!("{}{groups}", count(n)))
    }));
    let contradictory = found.n_contradictory.filter(|n| *n > 0);
    rows.extend(contradictory.map(|n| row("duplicates with other labels", count(n))));
    for (at, pair) in found.confused.iter().take(3).enumerate() {
        let [a, b] = pair.classes.map(name);
        let one = if pair.may_be_one { "; perhaps one class" } else { "" };
        let labels = if pair.n_flagged == 1 { "label" } else { "labels" };
        let what = if at == 0 { "classes taken for each other" } else { "" };
        rows.push(row(what, format!("{a} and {b}: {} {labels}{one}", count(pair.n_flagged))));
    }
    let classes = |list: &[usize]| {
        let shown = list.iter().take(MOST_CLASSES).map(|class| name(*class)).collect::<Vec<_>>().join(", ");
        let more = list.len().saturating_sub(MOST_CLASSES);
        let more = if more > 0 { format!(" and {} more", count(more)) } else { String::new() };
        (!shown.is_empty()).then(|| shown + &more)
    };
    rows.extend(classes(&found.few_labels).map(|list| row("classes with fewer than 5 labels", list)));
    rows.extend(classes(&found.not_predicted).map(|list| row("classes predicted for no row", list)));
    rows.extend(found.new_class.as_ref().map(|new| {
        let suggest = option("explore", "0.2");
        let text = format!("{}; perhaps a class that nobody has named (suggest {suggest})", count(new.n_rows));
        row("rows far from all labels", text)
    }));
    rows
}

/// The lines about time and memory.
pub fn of_cost(phases: &[Phase], peak_bytes: Option<u64>) -> Vec<Row> {
    let total = phases.iter().map(|phase| phase.seconds).sum();
    let mut rows = vec![row("time", seconds(total))];
    rows.extend(phases.iter().map(|phase| row(format!("  {}", phase.name), seconds(phase.seconds))));
    rows.extend(peak_bytes.map(|n| row("peak memory", bytes(n))));
    rows
}

/// The number of components, with the sizes of the largest if there are several.
fn components(graph: &GraphSummary) -> String {
    let shown = graph.largest_components.iter().take(5).map(|&n| count(n)).collect::<Vec<_>>().join(" + ");
    match graph.n_components {
        0 | 1 => count(graph.n_components),
        n => format!("{} ({shown}{})", count(n), if n > 5 { " + …" } else { "" }),
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(n) => n.as_f64().map_or_else(|| n.to_string(), number),
        Value::Array(table) => format!("{} candidates (see --json)", count(table.len())),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_expected_accuracy_states_its_interval_and_its_labels() {
        let of = |value: f64, low: f64, high: f64, source: Value| {
            let part =
                json!({"value": value, "low": low, "high": high, "level": 0.9, "n_held_out": 60, "source": source});
            let mut report = Report::default();
            report.parts.insert("expected_accuracy".into(), part);
            of_expected(&Parts::of(&report)).unwrap()
        };
        assert_eq!(of(0.91, 0.88, 0.94, json!("leave-one-out")), "91 % ± 3 (from 60 labels, each held out once)");
        assert_eq!(of(0.98, 0.9, 0.996, json!({"folds": 5})), "98 %, 90 to 100 (from 60 labels held out in 5 parts)");
        assert!(of_expected(&Parts::of(&Report::default())).is_none());
    }

    #[test]
    fn components_show_the_largest() {
        let graph = |sizes: Vec<usize>| GraphSummary {
            n_components: sizes.len(),
            largest_components: sizes,
            ..GraphSummary::default()
        };
        assert_eq!(components(&graph(vec![1797])), "1");
        assert_eq!(components(&graph(vec![1000, 7])), "2 (1,000 + 7)");
        assert_eq!(components(&graph(vec![9, 8, 7, 6, 5, 4])), "6 (9 + 8 + 7 + 6 + 5 + …)");
    }
}
