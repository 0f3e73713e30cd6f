//! Summaries of reports: lines of name and value, for the terminal and for HTML.

use lapwing::data::{GraphSummary, Phase, Report};
use lapwing::graph::sparsify::SparsifyReport;
use lapwing::models::Labeling;
use serde_json::{Value, json};

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
pub fn of_fit(report: &Report) -> Vec<Row> {
    let mut rows = vec![row("method", report.method.clone()), row("rows", count(report.n_samples))];
    rows.extend(report.n_features.map(|n| row("features", count(n))));
    rows.extend(of_table(report));
    rows.extend(of_scaling(report));
    rows.extend(report.n_classes.map(|n| row("classes", count(n))));
    rows.push(row("labels given", count(report.n_labeled)));
    if let Some(graph) = &report.graph {
        rows.extend(of_graph(graph));
    }
    rows.push(row("rows no label reaches", count(report.n_unreached)));
    if let Some(solve) = &report.solve {
        let state = if solve.converged { "" } else { " (not converged)" };
        rows.push(row("iterations", count(solve.n_iter)));
        rows.push(row("residual", format!("{:.1e}{state}", solve.residual)));
    }
    rows.extend(of_certificate(report));
    let is_sized = report.parts.contains_key("sizes");
    let unknown = || is_sized.then(|| "not stated: it cannot be estimated if class sizes are given".to_owned());
    rows.extend(of_expected(report).or_else(unknown).map(|expected| row("expected accuracy", expected)));
    rows.extend(of_guess(report));
    rows.extend(of_sparse(report));
    rows.extend(of_candidates(report));
    rows
}

/// The lines about the candidates of an automatic choice: what each gets right of the labels that were hidden from it, and its weight.
fn of_candidates(report: &Report) -> Vec<Row> {
    let candidates = report.parts.get("candidates").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_tried = candidates.iter().any(|candidate| candidate["estimate"].is_f64());
    let mut rows = Vec::new();
    for candidate in candidates {
        let weight = candidate["weight"].as_f64().unwrap_or(0.0);
        let value = match candidate["estimate"].as_f64() {
            _ if candidate["failure"].is_string() => "left out: see the warning".into(),
            Some(right) if weight > 0.0 => format!("{} right, weight {}", percent(right), percent(weight)),
            Some(right) => format!("{} right, left out", percent(right)),
            None if weight > 0.0 => {
                "used alone: too few labels, or labels of one class only, to compare candidates".into()
            }
            None if is_tried => "not tried: no time left".into(),
            None => continue,
        };
        rows.push(row(format!("  {}", candidate["name"].as_str().unwrap_or_default()), value));
    }
    if is_tried {
        rows.insert(0, row("candidates", "of held-out labels"));
    } else if !rows.is_empty() {
        rows.insert(0, row("candidates", ""));
    }
    rows
}

/// What was done with the columns of a table, unless they are numbers that were taken as they are. Many numbers are one line.
pub fn of_table(report: &Report) -> Vec<Row> {
    let Some(table) = report.parts.get("prepare") else { return Vec::new() };
    let mut rows = Vec::new();
    rows.extend(table["reading"].as_str().map(|reading| row("read", reading)));
    let columns = table["columns"].as_array().map_or(&[][..], Vec::as_slice);
    let text = |column: &Value, key: &str| column[key].as_str().unwrap_or_default().to_owned();
    let is_plain = |column: &Value| {
        text(column, "kind") == "number" && text(column, "done").starts_with("number") && column["n_missing"] == 0
    };
    if columns.iter().all(is_plain) {
        return rows;
    }
    let (plain, others): (Vec<&Value>, Vec<&Value>) = columns.iter().partition(|column| is_plain(column));
    rows.push(row("columns", "prepared; --prepare none takes numbers as they are"));
    let few = plain.len() <= MOST_LISTED && columns.len() <= MOST_LISTED;
    let listed = if few { columns.iter().collect() } else { others };
    rows.extend((!few && !plain.is_empty()).then(|| row("  numbers", format!("{} columns", count(plain.len())))));
    for column in listed.iter().take(MOST_LISTED) {
        rows.push(row(format!("  {}", shortened(&text(column, "name"))), text(column, "done")));
    }
    if listed.len() > MOST_LISTED {
        let more = count(listed.len() - MOST_LISTED);
        rows.push(row(format!("  {more} more"), "lapwing describe lists all columns"));
    }
    rows
}

/// A name on one line, of a length that a terminal shows.
pub fn shortened(name: &str) -> String {
    let mut short: String = name.chars().take(28).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if name.chars().count() > 28 {
        short.push('…');
    }
    short
}

/// How the features were scaled, and how to leave them where auto decided.
pub fn of_scaling(report: &Report) -> Option<Row> {
    let scaling = report.parts.get("scaling")?;
    let advice = if scaling["ratio"].is_number() { "; --standardize off leaves them" } else { "" };
    Some(row("scaled", format!("{}{advice}", scaling["text"].as_str()?)))
}

/// The accuracy that rows without a label are expected to have, with its interval, and where it comes from.
pub fn of_expected(report: &Report) -> Option<String> {
    let part = report.parts.get("expected_accuracy")?;
    let [value, low, high] = ["value", "low", "high"].map(|name| part[name].as_f64());
    let (value, low, high) = (100.0 * value?, 100.0 * low?, 100.0 * high?);
    let (below, above) = ((value - low).round(), (high - value).round());
    // A range is shown where "±" would be wrong by more than a point.
    let shown = match (below - above).abs() <= 1.0 {
        true => format!("{value:.0} % ± {:.0}", below.max(above)),
        false => format!("{value:.0} %, {low:.0} to {high:.0}"),
    };
    let how = match part["source"]["folds"].as_u64() {
        Some(folds) => format!(" held out in {folds} parts"),
        None => ", each held out once".into(),
    };
    let n_held_out = part["n_held_out"].as_u64()? as usize;
    Some(format!("{shown} (from {} labels{how})", count(n_held_out)))
}

/// Fewest held-out labels of a class that is named as the hardest.
const FEWEST_OF_CLASS: u64 = 5;

/// The class whose held-out labels are most often wrong, if that is clearly more often than among all; `names` are those of the classes.
pub fn of_hardest(report: &Report, names: &[String]) -> Option<Row> {
    let expected = report.parts.get("expected_accuracy")?["value"].as_f64()?;
    let counts = |class: &Value| Some((class["n_held_out"].as_u64()?, class["n_right"].as_u64()?));
    let classes = report.parts.get("class_accuracy")?.as_array()?.iter().zip(names);
    let share = |(n, right): (u64, u64)| right as f64 / n as f64;
    let (counts, name) = classes
        .filter_map(|(class, name)| Some((counts(class)?, name)))
        .filter(|((n, _), _)| *n >= FEWEST_OF_CLASS)
        .min_by(|(a, _), (b, _)| share(*a).total_cmp(&share(*b)))?;
    let (n, right) = counts;
    let text = || format!("{}: {right} of {n} held-out labels right", shortened(name));
    (share(counts) < expected - 0.1).then(|| row("hardest class", text()))
}

/// A line if confidence could not be fitted to labels.
fn of_guess(report: &Report) -> Option<Row> {
    let reason = report.parts.get("confidence")?["reason"].as_str()?.to_owned();
    Some(row("confidence", format!("a guess: {reason}")))
}

/// The number of labels that are certified to be those of the exact solution, or the largest error of values.
pub fn of_certificate(report: &Report) -> Option<Row> {
    let certificate = report.parts.get("certificate")?;
    if report.n_classes.is_none() {
        let radius = certificate["largest_radius"].as_f64();
        return Some(row("largest error bound", radius.map_or("unknown".into(), |radius| format!("{radius:.1e}"))));
    }
    let (all, open) = (report.n_samples - report.n_unreached, undecided(report));
    let rest = if open > 0 { format!(" ({} undecided)", count(open)) } else { String::new() };
    let is_thinned = report.parts.get("sparsify").is_some_and(|part| part["rounds"].as_u64() > Some(0));
    let what = if is_thinned { "labels certified on the edges kept" } else { "labels certified" };
    Some(row(what, format!("{} of {}{rest}", count(all.saturating_sub(open)), count(all))))
}

/// Notes the number of new rows that a label reaches and whose label is undecided, if it is known.
pub fn note_certified(report: &mut Report, labeling: &Labeling) {
    if let Some(n_open) = labeling.n_undecided() {
        report.parts.insert("certificate".into(), json!({"n_open": n_open}));
    }
}

/// The number of labels that the certificate leaves undecided.
pub fn undecided(report: &Report) -> usize {
    report.parts.get("certificate").and_then(|certificate| certificate["n_open"].as_u64()).unwrap_or(0) as usize
}

/// The lines about the sparsifier of a fit, and about the refinement of its solution.
fn of_sparse(report: &Report) -> Vec<Row> {
    let part = |name: &str| report.parts.get(name).cloned();
    let Some(sparsified) = part("sparsify").and_then(|part| serde_json::from_value::<SparsifyReport>(part).ok()) else {
        return Vec::new();
    };
    let mut rows = of_sparsifier(&sparsified);
    let resumed = part("resume").and_then(|part| part["rows"].as_u64());
    rows.extend(resumed.map(|rows| row("resumed after row", count(rows as usize))));
    if let Some(residuals) = part("refine").and_then(|part| part["residuals"].as_array().cloned()) {
        let last = residuals.last().and_then(Value::as_f64).unwrap_or(f64::NAN);
        rows.push(row("residual on all edges", format!("{last:.1e} after {} passes", residuals.len())));
    }
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

/// The lines about learning a graph.
fn of_learned(learned: &Value) -> Vec<Row> {
    // JSON has no infinity: an infinite gap is missing.
    let of = |name: &str| learned[name].as_f64().unwrap_or(f64::INFINITY);
    let neighbors = format!("{}; {} pairs allowed", number(of("mean_neighbors")), count(of("n_allowed") as usize));
    let steps = format!("{:.1e} after {} steps", of("gap"), count(of("n_iter") as usize));
    let mut rows = vec![
        row("neighbors per row", neighbors),
        row("sparsity", number(of("sparsity"))),
        row("relative duality gap", steps),
        row("rows with all allowed pairs", percent(of("saturated"))),
    ];
    let open = of("n_uncertified") as usize;
    if open > 0 {
        rows.push(row("rows that may need other pairs", count(open)));
    }
    rows
}

/// The line about sets of classes, if there are any.
pub fn of_sets(report: &Report) -> Option<Row> {
    let sets = report.parts.get("sets")?;
    let of = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let (low, high) = (of(&sets["expected"][0]), of(&sets["expected"][1]));
    let seen = sets["n_classes_seen"].as_u64().unwrap_or_default() as usize;
    let from = count(sets["n_held_out"].as_u64().unwrap_or_default() as usize);
    let text = format!(
        "contain the right class for {} of the rows (with these labels, {} to {}); {} of {seen} classes on average (from {from} {})",
        percent(of(&sets["level"])),
        percent(low),
        percent(high),
        number(of(&sets["mean_size"])),
        sets["calibration"].as_str().unwrap_or_default().trim_start_matches("all ")
    );
    Some(row("sets", text))
}

/// Least share of labels that are flagged where their number tells how many are wrong; and the wrong labels for each flagged one, in
/// tests with 5 to 20 % of wrong labels on digits and texts. Where hardly any label is wrong, most flags are unusual right ones.
const LEAST_FLAGGED: f64 = 0.05;
const WRONG_PER_FLAG: (f64, f64) = (1.04, 1.11);

/// About how many labels are wrong, from the number of flags; none where that tells nothing.
fn wrong_labels(found: &Value) -> Option<(usize, usize)> {
    let [n_flagged, n_judged] = ["n_flagged", "n_judged"].map(|key| found[key].as_u64().unwrap_or(0) as f64);
    let is_told = found["flags_are_doubtful"] == false && n_flagged >= LEAST_FLAGGED * n_judged && n_flagged > 0.0;
    let number = |factor: f64| (factor * n_flagged).round() as usize;
    is_told.then(|| (number(WRONG_PER_FLAG.0), number(WRONG_PER_FLAG.1)))
}

/// The lines about an audit; `names` are those of the classes.
pub fn of_audit(report: &Report, names: &[String]) -> Vec<Row> {
    let found = &report.parts["audit"];
    let number = |key: &str| found[key].as_u64().map(|n| count(n as usize));
    let name = |class: &Value| class.as_u64().and_then(|class| names.get(class as usize)).map_or("", String::as_str);
    let classes = |key: &str| {
        let list: Vec<String> =
            found[key].as_array().into_iter().flatten().map(|class| shortened(name(class))).collect();
        let more = list.len().saturating_sub(MOST_CLASSES);
        let list = list.into_iter().take(MOST_CLASSES).collect::<Vec<_>>().join(", ");
        match more {
            _ if list.is_empty() => None,
            0 => Some(list),
            more => Some(format!("{list} and {} more", count(more))),
        }
    };
    let foretold = found["foretold"].as_f64().map(|share| row("labels predicted by the others", percent(share)));
    let mut rows: Vec<Row> = foretold.into_iter().collect();
    let note = if found["flags_are_doubtful"] == true {
        "; fewer than 80 % are predicted, so some flags are wrong: check them in order"
    } else {
        ""
    };
    let wrong = wrong_labels(found)
        .map_or_else(String::new, |(few, many)| format!("; about {} to {} labels are wrong", count(few), count(many)));
    rows.extend(number("n_flagged").map(|n| row("labels flagged", format!("{n}{note}{wrong}"))));
    rows.extend(
        number("n_not_judged")
            .filter(|n| n != "0")
            .map(|n| row("labels not judged", format!("{n}, alone in their class or component"))),
    );
    rows.extend(
        number("n_duplicate_rows")
            .zip(number("n_duplicate_groups"))
            .map(|(n, groups)| row("duplicate rows", if n == "0" { n } else { format!("{n} in {groups} groups") })),
    );
    rows.extend(number("n_contradictory").filter(|n| n != "0").map(|n| row("duplicates with other labels", n)));
    for (at, pair) in found["confused"].as_array().into_iter().flatten().take(3).enumerate() {
        let (a, b) = (shortened(name(&pair["classes"][0])), shortened(name(&pair["classes"][1])));
        let one = if pair["may_be_one"] == true { "; perhaps one class" } else { "" };
        let n = pair["n_flagged"].as_u64().unwrap_or_default() as usize;
        rows.push(row(
            if at == 0 { "classes taken for each other" } else { "" },
            format!("{a} and {b}: {} {}{one}", count(n), if n == 1 { "label" } else { "labels" }),
        ));
    }
    rows.extend(classes("few_labels").map(|list| row("classes with fewer than 5 labels", list)));
    rows.extend(classes("not_predicted").map(|list| row("classes predicted for no row", list)));
    if let Some(new) = found["new_class"].as_object() {
        let n = new["n_rows"].as_u64().unwrap_or_default() as usize;
        rows.push(row(
            "rows far from all labels",
            format!("{}; perhaps a class that nobody has named (suggest --explore 0.2)", count(n)),
        ));
    }
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
    use super::*;

    #[test]
    fn the_expected_accuracy_states_its_interval_and_its_labels() {
        let of = |value: f64, low: f64, high: f64, source: Value| {
            let part = json!({"value": value, "low": low, "high": high, "n_held_out": 60, "source": source});
            let mut report = Report::default();
            report.parts.insert("expected_accuracy".into(), part);
            of_expected(&report).unwrap()
        };
        assert_eq!(of(0.91, 0.88, 0.94, json!("leave-one-out")), "91 % ± 3 (from 60 labels, each held out once)");
        assert_eq!(of(0.98, 0.9, 0.996, json!({"folds": 5})), "98 %, 90 to 100 (from 60 labels held out in 5 parts)");
        assert!(of_expected(&Report::default()).is_none());
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
