//! Unfolded networks: routes of training against each other, and properties of their solutions.

use crate::testkit::{blobs, dense_values};
use lapwing_core::model_file::ModelFile;
use lapwing_core::{CancelToken, ClassNames, Csr, Labels};
use lapwing_graph::Graph;
use lapwing_solve::dense;

use super::map::OnGraph;
use super::*;
use crate::core::extend::Extend;
use crate::golden::golden;
use crate::maps::Preconditioner;
use crate::maps::{Accuracy, Map};
use crate::maps::{State, Task, optimize::spectrum};
use crate::{Classifier, Extension, extension_from_bytes, extension_to_file};

mod reference;

fn distance(a: &Matrix, b: &Matrix) -> f64 {
    let norm = |m: &mut dyn Iterator<Item = f64>| m.map(|x| x * x).sum::<f64>().sqrt();
    norm(&mut a.values().iter().zip(b.values()).map(|(a, b)| a - b)) / norm(&mut b.values().iter().copied())
}

/// A task of one iteration.
fn one_step<'t>(
    map: &'t dyn Map,
    loss: &'t Loss<'t>,
    ridge: f64,
    preconditioner: &'t Preconditioner,
    run: &'t Run,
) -> Task<'t> {
    Task { map, loss, ridge, preconditioner, is_close: false, tol: 0.5, max_iter: 1, run }
}

/// A problem of `n` nodes in three groups: dense features, some labels.
struct Small {
    features: Features<'static>,
    graph: AffinityGraph,
    targets: Targets,
}

fn small(n: usize, d: usize, labeled: usize) -> Small {
    let features = blobs(n, d, 3);
    let edges: Vec<_> = (0..n as u32)
        .flat_map(|u| {
            (1..6u32).map(move |step| (u, (u * 3 + step * 37 + u / 7) % n as u32, 1.0 + f64::from(step) / 4.0))
        })
        .filter(|e| e.0 < e.1)
        .collect();
    let graph = AffinityGraph::given(Graph::from_edges(n, &edges).unwrap());
    let labels = Labels::from_integers((0..n).map(|i| (i < labeled).then_some((i % 3) as i64)));
    let trust: Vec<f64> = (0..n).map(|i| 0.5 + (i % 4) as f64 / 2.0).collect();
    Small { features, graph, targets: Targets::one_hot(&labels, Some(&trust)).unwrap() }
}

impl Small {
    fn fit(&self, params: UnfoldedParams, run: &Run) -> Result<Fitted<'static>> {
        let problem =
            Problem { features: Some(&self.features), graph: Some(&self.graph), ..Problem::new(&self.targets) };
        UnfoldedGnn::new(params, GraphParams::default())?.fit(&problem, run)
    }
}

fn value(fitted: &Fitted<'_>) -> f64 {
    fitted.report.parts["unfolded"]["loss"].as_array().unwrap().last().unwrap().as_f64().unwrap()
}

/// The network of a fit, from what a model keeps of it.
fn network(extension: &Option<Extension<'_>>) -> UnfoldedExtension<'static> {
    let extension = extension.as_deref().expect("a network is expected");
    UnfoldedExtension::stored(&extension_to_file(extension).unwrap(), extension.n_outputs()).unwrap()
}

#[test]
fn gradients_are_the_differences_of_the_loss() {
    let (small, run) = (small(60, 4, 40), Run::new(Some(1), 0).unwrap());
    for steps in [None, Some(3)] {
        for kind in [NodeLoss::Mse, NodeLoss::CrossEntropy] {
            let params = UnfoldedParams { graph_reg: Some(4.0), steps, ..UnfoldedParams::default() };
            let propagator = Propagator::new(&small.graph.graph, params.propagation(), &run).unwrap();
            let inputs = Inputs::new(&small.features, true).unwrap();
            let rows = small.targets.rows();
            let map = OnGraph { inputs: &inputs, propagator: &propagator, labeled: rows, tol: 1e-12, run: &run };
            let loss = Loss::new(kind, &small.targets);
            let preconditioner = Preconditioner::Identity;
            let task = one_step(&map, &loss, 0.3, &preconditioner, &run);
            let start = Matrix::new(5, 3, (0..15).map(|at| ((at * 7) % 11) as f64 / 10.0 - 0.5).collect()).unwrap();
            let state = State::new(Some(start.clone()), &task).unwrap();
            for at in 0..15 {
                let shifted = |by: f64| {
                    let mut w = start.clone();
                    w.values_mut()[at] += by;
                    State::new(Some(w), &task).unwrap().value
                };
                let difference = (shifted(1e-4) - shifted(-1e-4)) / 2e-4;
                let gradient = state.gradient.values()[at];
                assert!((difference - gradient).abs() < 1e-5 * gradient.abs().max(1.0), "{difference} {gradient}");
            }
            // Along a line, the slope and the curvature too.
            let direction = map.forward(&start, Accuracy::Whole).unwrap();
            let [_, slope, curvature] = loss.along(&state.scores, &direction, 0.5);
            let [above, slope_above, _] = loss.along(&state.scores, &direction, 0.5 + 1e-4);
            let [below, slope_below, _] = loss.along(&state.scores, &direction, 0.5 - 1e-4);
            assert!(((above - below) / 2e-4 - slope).abs() < 1e-5 * slope.abs().max(1.0));
            assert!(((slope_above - slope_below) / 2e-4 - curvature).abs() < 1e-5 * curvature.max(1.0));
        }
    }
}

#[test]
fn all_routes_find_the_same_optimum() {
    let run = Run::new(Some(2), 1).unwrap();
    // More labeled nodes than weights, and fewer.
    for (n, d, labeled) in [(400, 12, 300), (300, 40, 25)] {
        let small = small(n, d, labeled);
        for (loss, graph_reg) in [(NodeLoss::Mse, 1.0), (NodeLoss::Mse, 20.0), (NodeLoss::CrossEntropy, 5.0)] {
            let base = UnfoldedParams {
                loss,
                graph_reg: Some(graph_reg),
                tol: 1e-9,
                max_iter: 4000,
                ..UnfoldedParams::default()
            };
            let solve = |solver| small.fit(UnfoldedParams { solver, ..base.clone() }, &run).unwrap();
            let direct = solve(LayerSolver::Direct);
            assert!(direct.report.solve.as_ref().unwrap().converged);
            for solver in [LayerSolver::Auto, LayerSolver::RoughPcg, LayerSolver::Herta, LayerSolver::MatrixFree] {
                let other = solve(solver);
                let (a, b) = (value(&other), value(&direct));
                assert!((a / b - 1.0).abs() < 1e-7, "{solver:?} {loss:?} {labeled}: {a} {b}");
                assert!(other.report.solve.as_ref().unwrap().converged, "{solver:?} {loss:?}");
                let worst = distance(&other.labeling.scores, &direct.labeling.scores);
                assert!(worst < 1e-3, "{solver:?} {loss:?} {labeled}: {worst}");
            }
        }
    }
}

#[test]
fn the_mixed_strategy_goes_as_far_as_the_sparsifier_and_then_on() {
    let run = Run::new(Some(2), 1).unwrap();
    let small = small(400, 12, 300);
    for (loss, edges) in [(NodeLoss::Mse, 0.6), (NodeLoss::CrossEntropy, 0.6), (NodeLoss::Mse, 0.01)] {
        let base = UnfoldedParams { loss, edges: Some(edges), tol: 1e-8, ..UnfoldedParams::default() };
        let fit = |solver| small.fit(UnfoldedParams { solver, ..base.clone() }, &run).unwrap();
        let (plain, mixed) = (fit(LayerSolver::Herta), fit(LayerSolver::HertaMixed));
        let (a, b) = (value(&mixed), value(&plain));
        assert!((a / b - 1.0).abs() < 1e-7, "{loss:?} {edges}: {a} {b}");
        assert!(mixed.report.solve.as_ref().unwrap().converged);
        let rounds = |fitted: &Fitted<'_>| fitted.report.phases.iter().filter(|phase| phase.name == "refine").count();
        assert!(rounds(&mixed) >= 1 && rounds(&plain) == 0, "{loss:?} {edges}: {}", rounds(&mixed));
    }
}

#[test]
fn published_iterations_arrive_too() {
    // Labels enough for a sketch.
    let (small, run) = (small(800, 8, 600), Run::new(Some(2), 1).unwrap());
    let base = UnfoldedParams { loss: NodeLoss::Mse, tol: 1e-6, max_iter: 4000, ..UnfoldedParams::default() };
    let best = value(&small.fit(UnfoldedParams { tol: 1e-11, ..base.clone() }, &run).unwrap());
    let steps = |solver, optimizer| {
        let fitted = small.fit(UnfoldedParams { solver, optimizer, ..base.clone() }, &run).unwrap();
        let part = &fitted.report.parts["unfolded"];
        assert!(solver != LayerSolver::Herta || part["sketch_size"] == 144, "{part}");
        let curve: Vec<f64> = part["loss"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
        let at = curve.iter().position(|value| value / best - 1.0 <= 1e-6);
        (at.unwrap_or(usize::MAX), part["condition"].as_f64())
    };
    let (cg, condition) = steps(LayerSolver::Herta, LayerOptimizer::Cg);
    assert!(cg <= 8 && condition.unwrap() < 4.0, "{cg} {condition:?}");
    let (gd, condition) = steps(LayerSolver::Herta, LayerOptimizer::Gd);
    assert!(gd <= 20 && condition.unwrap() < 4.0, "{gd} {condition:?}");
    assert!(steps(LayerSolver::Herta, LayerOptimizer::Adam).0 < 4000);
    let (plain, _) = steps(LayerSolver::Gd, LayerOptimizer::Auto);
    assert!(plain > gd, "{plain}");
    assert!(steps(LayerSolver::RoughPcg, LayerOptimizer::Cg).0 <= 3);
}

#[test]
fn few_labels_without_a_ridge_have_the_solution_of_least_norm() {
    let (small, run) = (small(200, 30, 12), Run::new(Some(2), 0).unwrap());
    let params = UnfoldedParams {
        loss: NodeLoss::Mse,
        l2_reg: Some(0.0),
        solver: LayerSolver::Direct,
        tol: 1e-9,
        graph_reg: Some(1.0),
        ..UnfoldedParams::default()
    };
    let fitted = small.fit(params.clone(), &run).unwrap();
    let network = network(&fitted.extension);
    let inputs = Inputs::centered(&small.features, true, &network.layers().center).unwrap();
    let propagator = Propagator::new(&small.graph.graph, params.propagation(), &run).unwrap();
    let rows = small.targets.rows();
    let map = OnGraph { inputs: &inputs, propagator: &propagator, labeled: rows, tol: 1e-12, run: &run };
    let mut eye = Matrix::filled(31, 31, 0.0);
    (0..31).for_each(|at| eye.row_mut(at)[at] = 1.0);
    let expected =
        dense::least_squares(&map.forward(&eye, Accuracy::Whole).unwrap(), small.targets.values(), 1e-10).unwrap();
    assert!(distance(&network.layers().output, &expected) < 1e-6);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let small = small(700, 20, 500);
    for loss in [NodeLoss::Mse, NodeLoss::CrossEntropy] {
        for solver in [LayerSolver::Direct, LayerSolver::Herta, LayerSolver::MatrixFree] {
            let fit = |threads| {
                let params = UnfoldedParams { loss, solver, edges: Some(0.7), ..UnfoldedParams::default() };
                small.fit(params, &Run::new(Some(threads), 4).unwrap()).unwrap().labeling.scores
            };
            let found = [1, 2, 7].map(fit);
            assert!(found[0] == found[1] && found[1] == found[2], "{loss:?} {solver:?}");
        }
    }
}

#[test]
fn new_nodes_follow_the_graph_they_are_given_or_their_neighbors() {
    let run = Run::new(Some(2), 0).unwrap();
    let features = blobs(300, 4, 3);
    let labels = Labels::from_integers((0..300).map(|i| (i < 60).then_some(i % 3)));
    let targets = Targets::one_hot(&labels, None).unwrap();
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    for attention in [None, Some(1.0)] {
        let params = UnfoldedParams { attention, ..UnfoldedParams::default() };
        let fitted = UnfoldedGnn::new(params, GraphParams::default()).unwrap().fit(&problem, &run).unwrap();
        let network = network(&fitted.extension);
        // The same nodes and graph again.
        let again = network.extend_on(&features, &fitted.graph.as_ref().unwrap().graph, &run).unwrap();
        assert!(distance(&again, &fitted.labeling.scores) < 1e-6);
        assert!(network.extend_on(&features, &Graph::from_edges(3, &[]).unwrap(), &run).is_err());
        let model = Classifier {
            method: UNFOLDED.into(),
            classes: ClassNames::Integers(vec![0, 1, 2]),
            scaling: lapwing_core::Scaling::None,
            rule: fitted.rule.clone(),
            extension: fitted.extension.clone().unwrap(),
        };
        let new = features.select(&[5, 77, 150]).unwrap();
        let near = model.predict(&new, &run).unwrap();
        assert_eq!(near.labels, [5, 77, 150].map(|row| fitted.labeling.labels[row]));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.lapwing");
        model.to_file().unwrap().save(&path).unwrap();
        let loaded = Classifier::from_file(&ModelFile::load(&path).unwrap()).unwrap().predict(&new, &run).unwrap();
        assert_eq!(*loaded.scores, *near.scores);
        let bytes = extension_to_file(&*model.extension).unwrap().to_bytes();
        let back = extension_from_bytes(&bytes).unwrap();
        assert_eq!(back.scores_of(&new, &run).unwrap(), *near.scores);
        assert!(extension_from_bytes(&bytes[..bytes.len() / 2]).is_err());
    }
}

#[test]
fn a_new_node_solves_its_own_block_of_the_system() {
    let run = Run::new(Some(1), 0).unwrap();
    let features = Features::from_f64(4, 1, vec![0.0, 1.0, 2.0, 3.0]).unwrap();
    let targets = Targets::regression(&[0.0, f64::NAN, f64::NAN, 3.0], None).unwrap();
    let graph = GraphParams { n_neighbors: 1, weights: lapwing_graph::Weighting::Binary, ..GraphParams::default() };
    let params = UnfoldedParams { loss: NodeLoss::Mse, graph_reg: Some(2.0), ..UnfoldedParams::default() };
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let fitted = UnfoldedGnn::new(params, graph).unwrap().regress(&problem, &run).unwrap();
    let network = network(&fitted.extension);
    let new = Features::from_f64(1, 1, vec![3.2]).unwrap();
    let f = network.layers().outputs(&new, &run).unwrap().row(0)[0];
    let built = fitted.graph.as_ref().unwrap();
    // One neighbor, the last row, of weight 1: d = 2.
    let (z, d) = (fitted.values.row(3)[0] - fitted.mean, 1.0 + built.graph.degree()[3]);
    let expected = fitted.mean + (f + 2.0 * z / (2.0 * d).sqrt()) / (1.0 + 2.0 / 2.0);
    assert!((network.scores_of(&new, &run).unwrap().row(0)[0] - expected).abs() < 1e-9);
}

/// The first layer for rows that are not centered, (d or d + 1, h or c): its constants include those of the center.
fn first_layer(layers: &Layers) -> Matrix {
    let mut first = layers.hidden.as_ref().unwrap_or(&layers.output).clone();
    for (at, center) in layers.center.iter().enumerate() {
        let weights = first.row(at).to_vec();
        let constants = first.row_mut(layers.center.len()).iter_mut().zip(weights);
        constants.for_each(|(bias, weight)| *bias -= center * weight);
    }
    first
}

#[test]
fn rows_far_from_zero_are_labeled_as_near_ones() {
    let run = Run::new(Some(2), 0).unwrap();
    let labels = Labels::from_integers((0..200).map(|i| (i < 60).then_some(i % 3)));
    let targets = Targets::one_hot(&labels, None).unwrap();
    // On a grid, so that double precision holds the far rows exactly.
    let grid: Vec<f64> = dense_values(&blobs(200, 4, 3)).iter().map(|x| (x * 256.0).round() / 256.0).collect();
    for hidden in [None, Some(8)] {
        let labeled = |offset: f64| {
            let features = Features::from_f64(200, 4, grid.iter().map(|x| x + offset).collect()).unwrap();
            let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
            let params = UnfoldedParams { hidden, graph_reg: Some(2.0), ..UnfoldedParams::default() };
            let fitted = UnfoldedGnn::new(params, GraphParams::default()).unwrap().fit(&problem, &run).unwrap();
            let network = network(&fitted.extension);
            (fitted.labeling.labels, network.scores_of(&features, &run).unwrap(), first_layer(network.layers()))
        };
        let (labels, (near_labels, near_new, near_first)) = (labeled(0.0).0, labeled(100.0));
        // Means far from 0 are left to the bias; others count for its norm too.
        let n_moved = labels.iter().zip(&near_labels).filter(|(a, b)| a != b).count();
        assert!(n_moved <= 4, "{hidden:?}: {n_moved}");
        // Rounding of the center decides between minima of a hidden layer.
        if hidden.is_none() {
            let (far_labels, far_new, far_first) = labeled(1.7e12);
            assert_eq!(far_labels, near_labels);
            assert!(distance(&far_new, &near_new) < 1e-3);
            assert!(distance(&far_first, &near_first) > 1.0 && far_first.row(0).len() == near_first.row(0).len());
        }
    }
}

#[test]
fn values_far_from_zero_are_no_business_of_the_norm() {
    let (small, run) = (small(200, 5, 60), Run::new(Some(2), 0).unwrap());
    let of = |shift: f64| {
        let values: Vec<f64> = (0..200).map(|i| if i < 60 { shift + ((i * 7) % 5) as f64 } else { f64::NAN }).collect();
        let targets = Targets::regression(&values, None).unwrap();
        let problem = Problem { features: Some(&small.features), graph: Some(&small.graph), ..Problem::new(&targets) };
        let params = UnfoldedParams { loss: NodeLoss::Mse, ..UnfoldedParams::default() };
        UnfoldedGnn::new(params, GraphParams::default()).unwrap().regress(&problem, &run).unwrap().values
    };
    let (near, far) = (of(0.0), of(1e6));
    let mean = |values: &Matrix| values.values().iter().sum::<f64>() / 200.0;
    // The mean is subtracted and added back.
    assert!((mean(&far) - 1e6 - mean(&near)).abs() < 1e-3);
}

#[test]
fn a_hidden_layer_learns_what_a_linear_one_cannot() {
    let run = Run::new(Some(2), 3).unwrap();
    // Opposite corners of a square are one class.
    let n = 400;
    let points: Vec<f64> =
        (0..n).flat_map(|i| [((i * 37) % 101) as f64 / 50.0 - 1.0, ((i * 59) % 97) as f64 / 48.0 - 1.0]).collect();
    let classes: Vec<i64> = points.chunks(2).map(|p| i64::from(p[0] * p[1] > 0.0)).collect();
    let features = Features::from_f64(n, 2, points).unwrap();
    let labels = Labels::from_integers((0..n).map(|i| (i % 2 == 0).then_some(classes[i])));
    let targets = Targets::one_hot(&labels, None).unwrap();
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let right = |params: UnfoldedParams| {
        let graph = GraphParams { n_neighbors: 5, ..GraphParams::default() };
        let fitted = UnfoldedGnn::new(params, graph).unwrap().fit(&problem, &run).unwrap();
        let hits = (0..n).filter(|&i| i64::from(fitted.labeling.labels[i]) == classes[i]).count();
        (hits as f64 / n as f64, fitted)
    };
    let base = UnfoldedParams { graph_reg: Some(0.5), l2_reg: Some(1e-2), tol: 1e-5, ..UnfoldedParams::default() };
    let (linear, _) = right(base.clone());
    let (deep, fitted) = right(UnfoldedParams { hidden: Some(16), ..base.clone() });
    assert!(linear < 0.75 && deep > 0.95, "{linear} {deep}");
    let solve = fitted.report.solve.as_ref().unwrap();
    assert!(solve.converged && solve.n_iter < 300, "{} {}", solve.converged, solve.n_iter);
    let curve = fitted.report.parts["unfolded"]["loss"].as_array().unwrap().clone();
    assert!(curve.windows(2).all(|pair| pair[1].as_f64() <= pair[0].as_f64()));
    let adam = UnfoldedParams { hidden: Some(16), solver: LayerSolver::Adam, max_iter: 300, ..base };
    assert!(right(adam).0 > 0.9);
}

#[test]
fn scale_and_shift_of_features_do_not_choose_the_ridge() {
    let (small, run) = (small(300, 6, 200), Run::new(Some(2), 0).unwrap());
    let reg = |scale: f64, shift: f64| {
        let values = crate::testkit::dense_values(&small.features).iter().map(|x| scale * x + shift).collect();
        let features = Features::from_f64(300, 6, values).unwrap();
        let problem = Problem { features: Some(&features), graph: Some(&small.graph), ..Problem::new(&small.targets) };
        let method = UnfoldedGnn::new(UnfoldedParams::default(), GraphParams::default()).unwrap();
        method.fit(&problem, &run).unwrap().report.chosen["l2_reg"].as_f64().unwrap() / (scale * scale)
    };
    let base = reg(1.0, 0.0);
    for (scale, shift) in [(1e-3, 0.0), (50.0, 0.0), (1.0, 100.0)] {
        let found = reg(scale, shift);
        assert!((found / base - 1.0).abs() < 0.02, "{scale} {shift}: {found} {base}");
    }
}

#[test]
fn features_of_zeros_and_unfoldings_of_reweighted_edges_are_no_obstacle() {
    let (mut small, run) = (small(80, 4, 30), Run::new(Some(1), 0).unwrap());
    let attention = UnfoldedParams { attention: Some(1.0), steps: Some(200), ..UnfoldedParams::default() };
    let fitted = small.fit(attention, &run).unwrap();
    assert!(fitted.labeling.scores.values().iter().all(|z| z.is_finite() && z.abs() < 1e3));
    small.features = Features::from_f64(80, 40, vec![0.0; 3200]).unwrap();
    for (loss, bias) in [(NodeLoss::Mse, false), (NodeLoss::CrossEntropy, false), (NodeLoss::CrossEntropy, true)] {
        for solver in [LayerSolver::Auto, LayerSolver::Direct, LayerSolver::Herta, LayerSolver::MatrixFree] {
            let params = UnfoldedParams { loss, bias, solver, ..UnfoldedParams::default() };
            let fitted = small.fit(params, &run).unwrap();
            assert!(fitted.labeling.scores.values().iter().all(|z| z.is_finite()), "{loss:?} {solver:?}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused_and_stops_are_noticed() {
    let (small, run) = (small(60, 4, 40), Run::new(Some(1), 0).unwrap());
    let text = |params: UnfoldedParams| small.fit(params, &run).unwrap_err().to_string();
    let base = UnfoldedParams::default;
    assert!(text(UnfoldedParams { l2_reg: Some(-1.0), ..base() }).starts_with("l2_reg is -1;"));
    assert!(text(UnfoldedParams { edges: Some(0.0), ..base() }).starts_with("edges is 0;"));
    assert!(text(UnfoldedParams { hidden: Some(0), ..base() }).starts_with("hidden is 0;"));
    assert!(text(UnfoldedParams { attention: Some(2.0), ..base() }).starts_with("attention is 2;"));
    assert!(text(UnfoldedParams { optimizer: LayerOptimizer::Cg, ..base() }).starts_with("optimizer is cg;"));
    let nothing = Problem { graph: Some(&small.graph), ..Problem::new(&small.targets) };
    let method = UnfoldedGnn::new(base(), GraphParams::default()).unwrap();
    assert!(method.fit(&nothing, &run).unwrap_err().to_string().contains("needs"));
    assert!(LayerSolver::parse("sgd").unwrap_err().to_string().contains("rough-pcg"));
    let stop = CancelToken::default();
    stop.cancel();
    let stopped = Run::new(Some(1), 0).unwrap().with_cancel(stop);
    assert!(matches!(small.fit(base(), &stopped), Err(Error::Interrupted)));
}

#[test]
fn nodes_without_edges_and_columns_of_zeros_are_no_obstacle() {
    let run = Run::new(Some(1), 0).unwrap();
    let graph = AffinityGraph::given(Graph::from_edges(6, &[(0, 1, 1.0), (1, 2, 1.0)]).unwrap());
    let entries = [(0, 0, 1.0f32), (1, 0, 1.0), (3, 2, 2.0), (4, 2, 1.0)];
    let features = Features::Sparse(Arc::new(Csr::from_entries(6, 4, &entries).unwrap()));
    let labels = Labels::from_integers([Some(0), None, None, Some(1), None, None]);
    let targets = Targets::one_hot(&labels, None).unwrap();
    let problem = Problem { features: Some(&features), graph: Some(&graph), ..Problem::new(&targets) };
    for loss in [NodeLoss::Mse, NodeLoss::CrossEntropy] {
        for graph_reg in [0.0, 1.0] {
            let params = UnfoldedParams { loss, graph_reg: Some(graph_reg), ..UnfoldedParams::default() };
            let fitted = UnfoldedGnn::new(params, GraphParams::default()).unwrap().fit(&problem, &run).unwrap();
            assert_eq!((fitted.labeling.labels[0], fitted.labeling.labels[4]), (0, 1));
            assert!(fitted.labeling.scores.values().iter().all(|z| z.is_finite()));
            assert_eq!(fitted.report.parts["unfolded"]["n_zero_columns"], 2);
        }
    }
}
