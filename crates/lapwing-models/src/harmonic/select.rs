//! Choosing form and γ by cross-validation over the labeled rows, and fitting a temperature on what was held out.

use lapwing_data::{Report, Result, Run, Stream, Targets};
use lapwing_graph::Graph;
use rand::seq::SliceRandom;
use serde_json::json;

use super::function::{default_graph_reg, solve};
use super::{Clamp, Form, HarmonicParams, select_regression};
use crate::labeling::largest;

/// Labels each class needs before there is anything to choose by.
const LABELS_PER_CLASS: usize = 5;
/// Folds.
const FOLDS: usize = 5;
/// Relative residual of the trial solves: labels settle long before values do.
pub(super) const TRIAL_TOL: f64 = 1e-4;

pub(super) struct Selected {
    pub params: HarmonicParams,
    /// Temperature fitted on held-out rows.
    pub temperature: Option<f64>,
}

/// One candidate and what its held-out rows said.
struct Trial {
    params: HarmonicParams,
    /// Standing (score less offset) of the held-out rows, and their class.
    held_out: Vec<(Vec<f64>, usize)>,
}

/// The parameters to solve with, chosen by cross-validation if there are labels enough for it, else as given.
pub(super) fn select(
    graph: &Graph,
    targets: &Targets,
    params: &HarmonicParams,
    report: &mut Report,
    run: &Run,
) -> Result<Selected> {
    let given = || Selected { params: params.clone(), temperature: None };
    if params.clamp == Clamp::Hard || params.graph_reg.is_some_and(f64::is_infinite) {
        return Ok(given());
    }
    if targets.n_columns() == 1 {
        let params = select_regression::select(graph, targets, params, report, run)?;
        return Ok(Selected { params, temperature: None });
    }
    let classes: Vec<usize> = targets.values().rows().map(largest).collect();
    let c = targets.n_columns();
    let fewest = (0..c).map(|class| classes.iter().filter(|&&k| k == class).count()).min().unwrap_or(0);
    if c < 2 || fewest < LABELS_PER_CLASS {
        return Ok(given());
    }
    let folds = folds(&classes, c, run);
    let mut trials: Vec<Trial> = candidates(params, graph.mean_degree(), targets)
        .into_iter()
        .map(|params| Trial { params, held_out: Vec::new() })
        .collect();
    let components = graph.components();
    for fold in 0..FOLDS {
        let kept = targets.subset(|at| folds[at] != fold)?;
        for trial in &mut trials {
            let coarse = HarmonicParams { tol: params.tol.max(TRIAL_TOL), ..trial.params.clone() };
            let function = solve(graph, &components, &kept, &coarse, None, &run.quiet())?;
            let offset = if function.form == Form::Stable { vec![0.0; c] } else { function.mean };
            for at in (0..classes.len()).filter(|&at| folds[at] == fold) {
                let scores = function.scores.row(targets.rows()[at] as usize);
                let standing = scores.iter().zip(&offset).map(|(s, o)| s - o).collect();
                trial.held_out.push((standing, classes[at]));
            }
        }
    }
    let accuracy = |trial: &Trial| {
        let right = trial.held_out.iter().filter(|(standing, class)| is_right(standing, *class)).count();
        right as f64 / trial.held_out.len() as f64
    };
    let table: Vec<_> = trials
        .iter()
        .map(|trial| json!({"form": trial.params.form, "graph_reg": trial.params.graph_reg, "accuracy": accuracy(trial)}))
        .collect();
    report.choose("cross_validation", table);
    // The first of equals: stable, the safer one, stands first.
    let best =
        (1..trials.len()).fold(0, |best, at| if accuracy(&trials[at]) > accuracy(&trials[best]) { at } else { best });
    let trial = trials.swap_remove(best);
    let temperature = fitted_temperature(&trial.held_out);
    Ok(Selected { params: HarmonicParams { tol: params.tol, ..trial.params }, temperature: Some(temperature) })
}

fn candidates(params: &HarmonicParams, mean_degree: f64, targets: &Targets) -> Vec<HarmonicParams> {
    let degree = if mean_degree > 0.0 { mean_degree } else { 1.0 };
    let with = |form, graph_reg| HarmonicParams { form, graph_reg: Some(graph_reg), ..params.clone() };
    match params.graph_reg {
        Some(graph_reg) => vec![with(Form::Stable, graph_reg), with(Form::Plain, graph_reg)],
        None => vec![
            with(Form::Stable, default_graph_reg(Form::Stable, mean_degree, targets)),
            with(Form::Stable, 0.001 / degree),
            with(Form::Plain, default_graph_reg(Form::Plain, mean_degree, targets)),
            with(Form::Plain, 1.0 / degree),
        ],
    }
}

/// Fold of each labeled row: those of a class, shuffled, go round, so that every fold has its share of each.
pub(crate) fn folds(classes: &[usize], c: usize, run: &Run) -> Vec<usize> {
    let mut folds = vec![0; classes.len()];
    for class in 0..c {
        let mut members: Vec<usize> = (0..classes.len()).filter(|&at| classes[at] == class).collect();
        members.shuffle(&mut run.rng(Stream::Split, u64::MAX - class as u64));
        members.iter().enumerate().for_each(|(at, &member)| folds[member] = at % FOLDS);
    }
    folds
}

/// Whether the class stands highest; never in a row that no label reached.
fn is_right(standing: &[f64], class: usize) -> bool {
    !standing.iter().any(|s| s.is_nan()) && largest(standing) == class
}

/// T minimising the mean −log softmax(standing / T)[class]: golden-section search over log T, where the loss is unimodal.
///
/// Held-out rows that are all right say nothing of how wrong others may be: T is raised until the mean confidence is at
/// most (right + 1) / (rows + 2), Laplace's estimate.
pub(crate) fn fitted_temperature(held_out: &[(Vec<f64>, usize)]) -> f64 {
    let rows: Vec<&(Vec<f64>, usize)> = held_out.iter().filter(|(s, _)| !s.iter().any(|s| s.is_nan())).collect();
    // −log share of the class, and the share of the highest.
    let terms = |row: &(Vec<f64>, usize), t: f64| {
        let (standing, class) = row;
        let top = standing.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = standing.iter().map(|s| ((s - top) / t).exp()).sum();
        (total.ln() - (standing[*class] - top) / t, 1.0 / total)
    };
    let loss = |log_t: f64| rows.iter().map(|row| terms(row, log_t.exp()).0).sum::<f64>();
    let confidence = |log_t: f64| rows.iter().map(|row| terms(row, log_t.exp()).1).sum::<f64>() / rows.len() as f64;
    let scale = rows.iter().flat_map(|(s, _)| s).fold(0.0f64, |m, s| m.max(s.abs())).max(f64::MIN_POSITIVE);
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (least, most) = ((scale * 1e-6).ln(), (scale * 1e2).ln());
    let (mut low, mut high) = (least, most);
    while high - low > 1e-3 {
        let (a, b) = (high - ratio * (high - low), low + ratio * (high - low));
        if loss(a) <= loss(b) { high = b } else { low = a }
    }
    let right = rows.iter().filter(|(standing, class)| is_right(standing, *class)).count() as f64;
    let ceiling = (right + 1.0) / (rows.len() as f64 + 2.0);
    let (mut low, mut high) = ((low + high) / 2.0, most);
    if confidence(low) <= ceiling {
        return low.exp();
    }
    while high - low > 1e-3 {
        let middle = (low + high) / 2.0;
        if confidence(middle) > ceiling { low = middle } else { high = middle }
    }
    high.exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fitted_temperature_makes_confidence_true() {
        // 80 of 100 rows are right with a margin of 1: softmax(1/T) must be 0.8.
        let held_out: Vec<(Vec<f64>, usize)> = (0..100).map(|i| (vec![1.0, 0.0], usize::from(i % 5 == 0))).collect();
        let share = 1.0 / (1.0 + (-1.0 / fitted_temperature(&held_out)).exp());
        // Laplace's estimate of 80 in 100 is 81 in 102.
        assert!((share - 81.0 / 102.0).abs() < 1e-3, "{share}");
        let all_right: Vec<(Vec<f64>, usize)> = (0..8).map(|_| (vec![1.0, 0.0], 0)).collect();
        let share = 1.0 / (1.0 + (-1.0 / fitted_temperature(&all_right)).exp());
        assert!((share - 0.9).abs() < 1e-3, "{share}");
    }
}
