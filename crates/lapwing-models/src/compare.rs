//! Compares methods on one labeled data set: hides labels and measures the accuracy on them.

use std::time::Instant;

use lapwing_data::{Error, Features, Labels, Result, Run, Targets};
use lapwing_graph::{AffinityGraph, GraphParams, affinity_graph};
use serde::Serialize;

use crate::{Method, Problem, metrics, split};

/// Numbers of labels and draws of a comparison.
#[derive(Clone, Debug)]
pub struct CompareParams {
    /// Numbers of labeled rows to keep, drawn stratified: at least one of each class where the number allows.
    pub n_labeled: Vec<usize>,
    /// Draws of labels for each number; default 5.
    pub repeats: usize,
}

/// Accuracy and time of one method at one number of labels.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CompareRow {
    /// Method.
    pub method: String,
    /// Labeled rows.
    pub n_labeled: usize,
    /// Accuracy on the hidden labels, each draw.
    pub accuracy: Vec<f64>,
    /// Mean of them.
    pub accuracy_mean: f64,
    /// Their standard deviation (of the sample; 0 for one draw).
    pub accuracy_sd: f64,
    /// Median seconds of a fit, the shared graph not included.
    pub seconds: f64,
    /// Seconds to build its graph, once for all draws; 0 if it was given or not needed.
    pub graph_seconds: f64,
    /// Share of hidden rows that no label reached, mean over the draws; these rows count as errors.
    pub unreached: f64,
}

/// Hides all but some labels and measures each method on the hidden ones, draw by draw.
///
/// Methods with equal graph parameters share one graph. All methods get the same draws.
///
/// # Errors
/// [`Error::Param`] for a number of labels that is zero or not below the labeled rows; whatever a fit refuses.
pub fn compare(
    features: Option<&Features<'_>>,
    graph: Option<&AffinityGraph>,
    labels: &Labels,
    methods: &[Box<dyn Method>],
    params: &CompareParams,
    run: &Run,
) -> Result<Vec<CompareRow>> {
    if params.repeats == 0 {
        return Err(Error::param("repeats", 0, "at least 1"));
    }
    // Draws come first, so that an invalid number of labels is refused before a graph is built.
    let mut draws = Vec::new();
    for &n_labeled in &params.n_labeled {
        for draw in 0..params.repeats as u64 {
            draws.push((n_labeled, split::keep_labels(labels, n_labeled, draw, run)?));
        }
    }
    let mut built: Vec<(GraphParams, AffinityGraph, f64)> = Vec::new();
    let mut rows = Vec::new();
    for method in methods {
        let (graph, graph_seconds) = match (graph, method.graph_params(), features) {
            (Some(given), _, _) => (Some(given), 0.0),
            (None, Some(wanted), Some(features)) => {
                if !built.iter().any(|(params, _, _)| params == wanted) {
                    let start = Instant::now();
                    let graph = affinity_graph(features, wanted, run)?;
                    built.push((wanted.clone(), graph, start.elapsed().as_secs_f64()));
                }
                let found = built.iter().find(|(params, _, _)| params == wanted);
                found.map_or((None, 0.0), |(_, graph, seconds)| (Some(graph), *seconds))
            }
            _ => (None, 0.0),
        };
        for &n_labeled in &params.n_labeled {
            let mine = draws.iter().filter(|(n, _)| *n == n_labeled).map(|(_, kept)| kept);
            let mut row = measure(method.as_ref(), features, graph, labels, mine, run)?;
            (row.n_labeled, row.graph_seconds) = (n_labeled, graph_seconds);
            rows.push(row);
        }
    }
    Ok(rows)
}

fn measure<'a>(
    method: &dyn Method,
    features: Option<&Features<'_>>,
    graph: Option<&AffinityGraph>,
    labels: &Labels,
    draws: impl Iterator<Item = &'a Labels>,
    run: &Run,
) -> Result<CompareRow> {
    let (mut accuracy, mut seconds, mut unreached) = (Vec::new(), Vec::new(), Vec::new());
    for kept in draws {
        let targets = Targets::one_hot(kept, None)?;
        let start = Instant::now();
        let labeling = method.fit(&Problem { features, graph, ..Problem::new(&targets) }, run)?.labeling;
        seconds.push(start.elapsed().as_secs_f64());
        let is_hidden = |row: usize| kept.index[row] != labels.index[row];
        let right = metrics::accuracy(&labels.index, &labeling.labels, |row| is_hidden(row) && labeling.reached[row]);
        let hidden = (0..labels.len()).filter(|&row| is_hidden(row)).count() as f64;
        let missed = (0..labels.len()).filter(|&row| is_hidden(row) && !labeling.reached[row]).count() as f64;
        unreached.push(missed / hidden);
        accuracy.push(if missed < hidden { right * (1.0 - missed / hidden) } else { 0.0 });
    }
    let m = accuracy.len() as f64;
    let mean = accuracy.iter().sum::<f64>() / m;
    let variance = accuracy.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / (m - 1.0).max(1.0);
    seconds.sort_unstable_by(f64::total_cmp);
    Ok(CompareRow {
        method: method.name().into(),
        n_labeled: 0,
        accuracy_mean: mean,
        accuracy_sd: variance.sqrt(),
        seconds: seconds[seconds.len() / 2],
        graph_seconds: 0.0,
        unreached: unreached.iter().sum::<f64>() / m,
        accuracy,
    })
}
