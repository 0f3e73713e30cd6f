//! Leave-one-out scores against solves without the label.

use lapwing_core::Labels;
use lapwing_core::Matrix;
use lapwing_graph::Graph;

use super::*;
use crate::methods::harmonic::function::solve;
use crate::methods::harmonic::level::open_mean;
use crate::methods::harmonic::prior::Prior;
use crate::methods::harmonic::solving::Solving;
use crate::{Form, HarmonicParams};

/// Two rings with chords, of 40 rows and of 10, with varying weights.
fn graph() -> Graph {
    let mut edges = Vec::new();
    for (first, size) in [(0u32, 40u32), (40, 10)] {
        for i in 0..size {
            for step in [1, 3] {
                edges.push((first + i, first + (i + step) % size, 0.2 + f64::from((i * 7 + step) % 5)));
            }
        }
    }
    Graph::from_edges(50, &edges).unwrap()
}

fn targets(labeled: impl Fn(usize) -> Option<i64>, n_classes: usize) -> Targets {
    let labels = Labels::from_integers((0..50).map(labeled));
    let weights: Vec<f64> = (0..50).map(|row| 1.0 + (row % 3) as f64).collect();
    let targets = Targets::one_hot(&labels, Some(&weights)).unwrap();
    assert_eq!(targets.n_columns(), n_classes);
    targets
}

fn solved(graph: &Graph, targets: &Targets, graph_reg: f64, influence: bool) -> HarmonicFunction {
    let params =
        HarmonicParams { form: Form::Plain, graph_reg: Some(graph_reg), tol: 1e-12, ..HarmonicParams::default() };
    let components = graph.components();
    let solving = Solving {
        graph,
        components: &components,
        targets,
        params: &params,
        prior: None,
        refiner: None,
        influence,
        start: None,
    };
    solve(&solving, &Run::new(Some(2), 0).unwrap()).unwrap()
}

/// All rows of the graph as one component.
fn one_component() -> Components {
    Components { id: vec![0; 50], sizes: vec![50] }
}

/// A solve with a prior, whose rows count as one component.
fn solved_from<'a>(
    graph: &'a Graph,
    targets: &'a Targets,
    graph_reg: f64,
    prior: Prior<'a>,
    influence: bool,
) -> HarmonicFunction {
    let params =
        HarmonicParams { form: Form::Plain, graph_reg: Some(graph_reg), tol: 1e-12, ..HarmonicParams::default() };
    let (components, prior) = (one_component(), Some(prior));
    let solving = Solving {
        graph,
        components: &components,
        targets,
        params: &params,
        prior,
        refiner: None,
        influence,
        start: None,
    };
    solve(&solving, &Run::new(Some(2), 0).unwrap()).unwrap()
}

#[test]
fn leaving_out_equals_solving_without_also_from_a_prior() {
    let graph = graph();
    let targets = targets(|row| [3, 11, 20, 33, 42, 45, 47, 48].contains(&row).then_some((row % 2) as i64), 2);
    let values: Vec<f64> = (0..50).map(|row| (row * 13 % 10) as f64 / 10.0).flat_map(|p| [p, 1.0 - p]).collect();
    let shares = Matrix::new(50, 2, values).unwrap();
    let components = one_component();
    for (graph_reg, weight) in [(1e-3, 0.01), (0.05, 0.3), (2.0, 5.0)] {
        let prior = Prior { shares: &shares, weight };
        let function = solved_from(&graph, &targets, graph_reg, prior, true);
        let left_out = LeftOut::new(&function, function.influence.as_ref().unwrap(), &targets, &components);
        for at in 0..left_out.classes.len() {
            let kept = targets.subset(|other| other != at).unwrap();
            let (all, left) = (targets.weights().iter().sum::<f64>(), kept.weights().iter().sum::<f64>());
            let without = solved_from(&graph, &kept, graph_reg * all / left, prior, false);
            let scores = without.scores.row(targets.rows()[at] as usize);
            let mean = row_mean(&without.scores);
            for (level, of_level) in [(Level::Zero, &[0.0; 2][..]), (Level::RowMean, &mean[..])] {
                let found = left_out.standings(&[at], level).remove(0).unwrap();
                for ((f, score), level) in found.iter().zip(scores).zip(of_level) {
                    // The columns are solved to a residual of `TOL` only.
                    let expected = score - level;
                    assert!((f - expected).abs() < 2e-3, "γ {graph_reg}, κ {weight}, label {at}: {f} {expected}");
                }
            }
        }
    }
}

/// The scores that a solve without label `at` finds in its row, less the level.
fn by_brute_force(graph: &Graph, targets: &Targets, graph_reg: f64, at: usize, level: Level) -> Vec<f64> {
    let kept = targets.subset(|other| other != at).unwrap();
    // The weight of smoothness is relative to the sum of the label weights.
    let (all, left) = (targets.weights().iter().sum::<f64>(), kept.weights().iter().sum::<f64>());
    let function = solved(graph, &kept, graph_reg * all / left, false);
    let row = targets.rows()[at] as usize;
    let level = match level {
        Level::RowMean => row_mean(&function.scores),
        Level::OpenMean => open_mean(&function.scores),
        Level::LabeledMean => function.mean.clone(),
        Level::Zero => vec![0.0; function.mean.len()],
    };
    function.scores.row(row).iter().zip(level).map(|(f, level)| f - level).collect()
}

#[test]
fn leaving_out_equals_solving_without() {
    let graph = graph();
    let targets = targets(|row| [3, 11, 20, 33, 42, 45, 47].contains(&row).then_some((row % 2) as i64), 2);
    for graph_reg in [1e-3, 0.05, 2.0] {
        let function = solved(&graph, &targets, graph_reg, true);
        let components = graph.components();
        let classes: Vec<usize> = targets.values().rows().map(largest).collect();
        let left_out = LeftOut::new(&function, function.influence.as_ref().unwrap(), &targets, &components);
        for at in 0..classes.len() {
            for level in [Level::RowMean, Level::OpenMean, Level::LabeledMean] {
                let found = left_out.standings(&[at], level).remove(0).unwrap();
                let expected = by_brute_force(&graph, &targets, graph_reg, at, level);
                for (f, e) in found.iter().zip(&expected) {
                    // The columns are solved to a residual of `TOL` only.
                    assert!((f - e).abs() < 0.02, "γ {graph_reg}, label {at}, {level:?}: {found:?} {expected:?}");
                }
            }
        }
    }
}

#[test]
fn a_label_alone_in_its_component_says_nothing() {
    let graph = graph();
    let targets = targets(|row| [3, 11, 20, 33, 42].contains(&row).then_some((row % 2) as i64), 2);
    let function = solved(&graph, &targets, 0.05, true);
    let influence = function.influence.as_ref().unwrap();
    assert!(influence.slack[4] < 0.01, "{:?}", influence.slack);
    let sizes = Sizes::new(&function, &targets);
    let verdict =
        Verdict::new(&function, influence, &targets, &graph.components(), &sizes, &Run::new(Some(1), 0).unwrap())
            .unwrap();
    assert!(verdict.accuracy.is_some_and(|accuracy| accuracy <= 0.8));
}

#[test]
fn centered_rows_have_zero_mean_and_parts_of_one_class_keep_it() {
    let graph = graph();
    let targets = targets(|row| [3, 10, 20, 42, 44].contains(&row).then_some((row % 2) as i64), 2);
    let mut function = solved(&graph, &targets, 0.05, false);
    center_rows(&mut function, Level::RowMean);
    assert!(row_mean(&function.scores).iter().all(|mean| mean.abs() < 1e-12));
    assert!((40..50).all(|row| largest(function.scores.row(row)) == 0));
}

/// With labels that hold firmly, 1 − H has no digits left: the columns give the slack, in proportion to γ.
#[test]
fn slacks_of_firm_labels_keep_their_digits() {
    let graph = graph();
    let targets = targets(|row| [3, 11, 20, 33, 42, 45, 47, 48].contains(&row).then_some((row % 2) as i64), 2);
    let slack = |graph_reg| solved(&graph, &targets, graph_reg, true).influence.unwrap().slack;
    let (known, solved, again) = (slack(1e-5), slack(1e-9), slack(1e-11));
    for ((known, solved), again) in known.into_iter().zip(solved).zip(again) {
        assert!((known / solved / 1e4 - 1.0).abs() < 1e-2, "{known} {solved}");
        assert!((solved / again / 1e2 - 1.0).abs() < 1e-3, "{solved} {again}");
    }
}
