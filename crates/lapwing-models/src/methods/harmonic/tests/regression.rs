//! Regression by held-out values.

use super::*;
use crate::FittedRegression;

/// A path whose node i has the value `value(i)`; every sixth value is given.
fn path_of_values(n: usize, value: impl Fn(usize) -> f64) -> (AffinityGraph, Targets) {
    let edges: Vec<(u32, u32, f64)> = (1..n as u32).map(|i| (i - 1, i, 1.0)).collect();
    let known: Vec<f64> = (0..n).map(|i| if i % 6 == 0 { value(i) } else { f64::NAN }).collect();
    (AffinityGraph::given(Graph::from_edges(n, &edges).unwrap()), Targets::regression(&known, None).unwrap())
}

fn regressed(params: HarmonicParams, graph: &AffinityGraph, targets: &Targets, run: &Run) -> FittedRegression<'static> {
    let problem = Problem { graph: Some(graph), ..Problem::new(targets) };
    Harmonic::new(params, GraphParams::default()).unwrap().regress(&problem, run).unwrap()
}

#[test]
fn regression_is_chosen_by_squared_errors_of_held_out_values() {
    let (graph, targets) = path_of_values(60, |i| i as f64);
    let fitted = regressed(HarmonicParams::default(), &graph, &targets, &run());
    let chosen = &fitted.report.chosen;
    let table = chosen["cross_validation"].as_array().unwrap();
    assert_eq!(table.len(), 6);
    for row in table {
        let form = serde_json::from_value::<Form>(row["form"].clone()).unwrap();
        let params = exact(form, row["graph_reg"].as_f64().unwrap());
        let error = |out: usize| {
            let kept = targets.subset(|at| at != out).unwrap();
            let offset = if form == Form::Stable { kept.mean()[0] } else { 0.0 };
            let found = dense_twin(&graph.graph, &kept, &params).row(targets.rows()[out] as usize)[0] + offset;
            (found - targets.values().row(out)[0]).powi(2)
        };
        let expected = (0..10).map(error).sum::<f64>() / 10.0;
        let loss = row["loss"].as_f64().unwrap();
        assert!((loss - expected).abs() < 1e-3 * expected, "{row}: {expected}");
    }
    assert_eq!(chosen["form"], "plain");
    let error =
        |fitted: &FittedRegression<'_>| (0..60).map(|i| (fitted.values.row(i)[0] - i as f64).powi(2)).sum::<f64>();
    let stable =
        regressed(HarmonicParams { form: Form::Stable, ..HarmonicParams::default() }, &graph, &targets, &run());
    assert!(error(&fitted) < 0.2 * error(&stable), "{} {}", error(&fitted), error(&stable));
    for threads in [1, 7] {
        let other = regressed(HarmonicParams::default(), &graph, &targets, &Run::new(Some(threads), 0).unwrap());
        assert!(other.values == fitted.values && other.report.chosen == *chosen);
    }
}

#[test]
fn regression_does_not_follow_noise() {
    let noise = |i: usize| (lapwing_core::hash::mix(i as u64) % 1000) as f64;
    let spread =
        |fitted: &FittedRegression<'_>| fitted.values.rows().map(|row| (row[0] - fitted.mean).powi(2)).sum::<f64>();
    let fits = |n: usize| {
        let (graph, targets) = path_of_values(n, noise);
        let of = |params: HarmonicParams| regressed(params, &graph, &targets, &run());
        (of(HarmonicParams::default()), of(HarmonicParams::default()))
    };
    let (auto, stable) = fits(240);
    assert!(spread(&auto) <= spread(&stable), "{:?}", auto.report.chosen);
    // Four values are too few to choose by.
    let (auto, stable) = fits(24);
    assert!(auto.values == stable.values && !auto.report.chosen.contains_key("cross_validation"));
}
