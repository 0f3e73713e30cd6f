//! Labels from the fits of the candidates with a weight.

use std::sync::Arc;

use lapwing_core::parallel::*;
use lapwing_core::{Matrix, Result, Targets};
use lapwing_graph::{AffinityGraph, Components, GraphParams};

use super::mixture::{Mixture, mixed, temper};
use crate::core::fitting::{Affinity, Fitting};
use crate::core::notes;
use crate::{Extension, Fitted, Labeling, NeighborExtension, Rule};

/// A fit, and the place of its candidate in the mixture.
pub(super) type Part<'a> = (usize, Fitted<'a>);

/// The labels by the weighted mean of several fits. New rows are joined to their `neighbors`, of which a graph that was given knows
/// nothing.
pub(super) fn blended<'a>(
    mut fitting: Fitting<'_, '_, 'a>,
    affinity: Affinity<'_>,
    neighbors: Option<&AffinityGraph>,
    graph: &GraphParams,
    parts: &[Part<'_>],
    mixture: &Mixture,
) -> Result<Fitted<'a>> {
    let Fitting { problem, ref mut report, run } = fitting;
    notes::classes(report, problem.targets);
    let scores = Arc::new(run.install(|| mean_shares(parts, mixture, problem.targets)));
    let rule = Rule::largest(problem.targets.mean());
    let labeling = report.time("decide", run, |_| run.install(|| rule.decide(scores.clone())));
    notes::lost_classes(report, &labeling, problem.targets);
    report.n_unreached = labeling.reached.iter().filter(|reached| !**reached).count();
    notes::unreached(report);
    let is_beyond =
        |row: &usize| labeling.reached[*row] && parts.iter().any(|(_, fitted)| !fitted.labeling.reached[*row]);
    notes::reached_by_features(report, (0..labeling.reached.len()).filter(is_beyond).count());
    for warning in parts.iter().flat_map(|(_, fitted)| &fitted.report.warnings) {
        // What the candidates lack alone, their mean may have.
        let is_own = matches!(warning.kind(), "unreached" | "lost-classes" | "one-class" | "not-better");
        if !is_own && !report.warnings.contains(warning) {
            report.warnings.push(warning.clone());
        }
    }
    let neighbors = neighbors.unwrap_or(&affinity);
    let extension =
        NeighborExtension::from_graph(problem, neighbors, graph, &scores).map(|rows| Arc::new(rows) as Extension<'a>);
    Ok(fitting.classified(rule, labeling, None, extension, affinity.into_built()))
}

/// The labels of one fit, which has all the weight; its scores are tempered as the mixture says.
pub(super) fn alone<'a>(
    fitting: Fitting<'_, '_, 'a>,
    affinity: Option<Affinity<'_>>,
    (place, mut fitted): Part<'a>,
    mixture: &Mixture,
) -> Fitted<'a> {
    let mut report = fitting.report;
    let own = std::mem::take(&mut fitted.report);
    report.n_unreached = fitted.labeling.reached.iter().filter(|reached| !**reached).count();
    (report.n_classes, report.solve) = (own.n_classes, own.solve);
    report.warnings.extend(own.warnings);
    if !report.warnings.iter().any(|warning| warning.kind() == "unreached") {
        notes::unreached(&mut report);
    }
    report.parts.extend(own.parts);
    for (name, value) in own.chosen {
        report.chosen.entry(name).or_insert(value);
    }
    if let Some(temperature) = &mut fitted.rule.temperature {
        *temperature *= mixture.temperatures[place] * mixture.temperature;
        let (certified, radius) = (fitted.labeling.certified.take(), fitted.labeling.score_radius.take());
        let decided = fitting.run.install(|| fitted.rule.decide(fitted.labeling.scores.clone()));
        fitted.labeling = Labeling { certified, score_radius: radius, ..decided };
    }
    Fitted { report, graph: affinity.and_then(Affinity::into_built), ..fitted }
}

/// Takes back the labels of rows that none of the labeled `rows` reaches.
pub(super) fn unreach(fitted: &mut Fitted<'_>, components: &Components, rows: &[u32]) {
    let holds = components.holding(rows);
    let labeling = &mut fitted.labeling;
    let scores = Arc::make_mut(&mut labeling.scores);
    for (row, _) in components.id.iter().enumerate().filter(|(_, id)| !holds[**id as usize]) {
        scores.row_mut(row).fill(f64::NAN);
        labeling.reached[row] = false;
    }
}

/// The weighted mean of the distributions of several fits (n, c); rows of NaN where none has a label.
fn mean_shares(parts: &[Part<'_>], mixture: &Mixture, targets: &Targets) -> Matrix {
    let (n, c) = (targets.n_samples(), targets.n_columns());
    let mut shares = Matrix::filled(n, c, f64::NAN);
    let scratch = || (Vec::new(), vec![f64::NAN; c]);
    let rows = shares.values_mut().par_chunks_mut(c.max(1)).with_min_len(256).enumerate();
    rows.for_each_init(scratch, |(scratch, none), (row, out)| {
        let none = &none[..];
        let weighted = parts.iter().map(|(place, fitted)| {
            let labeling = &fitted.labeling;
            let own = if labeling.reached[row] { labeling.label_distributions.row(row) } else { none };
            (own, mixture.weights[*place], mixture.temperatures[*place])
        });
        if mixed(weighted, &mixture.base, scratch, out) {
            temper(out, &mixture.base, mixture.temperature);
        }
    });
    shares
}
