//! The machines compared with golden results of another program, with each other, and with properties of exact solutions.

use std::sync::Arc;

use crate::testkit::{blobs, dense_values};
use lapwing_core::Targets;
use lapwing_core::model_file::ModelFile;
use lapwing_core::{Csr, Labels};
use lapwing_graph::{Graph, affinity_graph};

use super::extension::KernelExtension;
use super::loss::Loss;
use super::stopping::{FALLING, Rule as StoppingRule};
use super::*;
use crate::Classifier;
use crate::classifier::{extension_from_bytes, extension_to_file};
use crate::golden::golden;

mod golden_machines;

/// The scores that tests compare: those of the positive class.
struct Found {
    f: Vec<f64>,
    bias: f64,
    coefficients: Vec<f64>,
    objective: f64,
    n_iter: usize,
    curve: Vec<f64>,
}

fn run(threads: usize) -> Run {
    Run::new(Some(threads), 3).unwrap()
}

fn method_of(params: LapSvmParams, is_svm: bool) -> LapSvm {
    let graph = GraphParams::default();
    if is_svm { LapSvm::new(params, graph) } else { LapSvm::least_squares(params, graph) }.unwrap()
}

fn machine(fitted: &Fitted<'_>) -> KernelExtension<'static> {
    let extension = fitted.extension.as_deref().expect("a kernel machine");
    KernelExtension::stored(&extension_to_file(extension).unwrap(), extension.n_outputs()).unwrap()
}

fn found(fitted: &Fitted<'_>) -> Found {
    let part = &fitted.report.parts["lapsvm"];
    let machine = machine(fitted);
    Found {
        f: fitted.labeling.scores.rows().map(|row| row[1]).collect(),
        bias: machine.bias()[0],
        coefficients: machine.coefficients().values().to_vec(),
        objective: part["objective"][0].as_f64().unwrap(),
        n_iter: part["n_iter"][0].as_u64().unwrap() as usize,
        curve: part["objective_curve"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect(),
    }
}

fn assert_close(found: &[f64], expected: &[f64], tol: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let worst = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst <= tol, "{what}: off by {worst:e}");
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| most.max(value.abs()))
}

/// Some blobs with labels in a few rows, and their graph.
fn blob_problem(n: usize, d: usize, classes: i64) -> (Features<'static>, AffinityGraph, Targets) {
    let features = blobs(n, d, 3);
    let labels = Labels::from_integers((0..n).map(|i| (i % 11 == 0).then_some(i as i64 % classes)));
    let graph = affinity_graph(&features, &GraphParams { n_neighbors: 6, ..GraphParams::default() }, &run(2)).unwrap();
    (features, graph, Targets::one_hot(&labels, None).unwrap())
}

fn fit<'a>(
    params: &LapSvmParams,
    is_svm: bool,
    (features, graph, targets): &'a (Features<'static>, AffinityGraph, Targets),
    run: &Run,
) -> Fitted<'a> {
    let problem = Problem { features: Some(features), graph: Some(graph), ..Problem::new(targets) };
    method_of(params.clone(), is_svm).fit(&problem, run).unwrap()
}

fn set(kernel: KernelKind, solver: KernelSolver) -> LapSvmParams {
    LapSvmParams {
        kernel,
        solver,
        stopping: Stopping::Gradient,
        ambient_reg: Some(1e-2),
        graph_reg: Some(0.1),
        bandwidth: Some(2.0),
        degree: 2,
        tol: 1e-12,
        ..LapSvmParams::default()
    }
}

fn objectives(fitted: &Fitted<'_>) -> Vec<f64> {
    fitted.report.parts["lapsvm"]["objective"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

/// Newton's method and conjugate gradients run to the end minimize the same objective, for three classes at once and with a bias.
#[test]
fn solvers_agree_in_objective() {
    let problem = blob_problem(330, 4, 3);
    for (is_svm, bias) in [(true, false), (true, true), (false, true)] {
        for kernel in [KernelKind::Rbf, KernelKind::Poly, KernelKind::Linear] {
            let of = |solver| LapSvmParams { bias, max_iter: 100_000, ..set(kernel, solver) };
            let newton = fit(&of(KernelSolver::Newton), is_svm, &problem, &run(2));
            let cg = fit(&of(KernelSolver::Cg), is_svm, &problem, &run(2));
            assert_eq!(objectives(&newton).len(), 3);
            for (a, b) in objectives(&newton).iter().zip(objectives(&cg)) {
                assert!((a - b).abs() < 1e-9 * a.max(1.0), "{kernel:?} {is_svm} {bias}: {a} {b}");
            }
            assert_close(cg.labeling.scores.values(), newton.labeling.scores.values(), 1e-3, "scores");
        }
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    let problem = blob_problem(600, 5, 3);
    let variants = [
        set(KernelKind::Rbf, KernelSolver::Newton),
        LapSvmParams { stopping: Stopping::Stability, ..set(KernelKind::Rbf, KernelSolver::Cg) },
        LapSvmParams { max_iter: 20, ..set(KernelKind::Poly, KernelSolver::Cg) },
        LapSvmParams { n_landmarks: KernelLandmarks::Count(50), ..set(KernelKind::LowRank, KernelSolver::Newton) },
        LapSvmParams {
            ambient_reg: None,
            graph_reg: None,
            bandwidth: None,
            ..set(KernelKind::Rbf, KernelSolver::Auto)
        },
        set(KernelKind::Rbf, KernelSolver::Dual),
    ];
    for params in &variants {
        let one = fit(params, true, &problem, &run(1));
        for threads in [2, 7] {
            let other = fit(params, true, &problem, &run(threads));
            assert!(one.labeling.scores == other.labeling.scores, "{params:?} {threads}");
            assert!(one.rule == other.rule);
        }
    }
}

/// A Gram matrix that is computed, or given, is the same matrix.
#[test]
fn a_given_gram_matrix_is_like_a_computed_one() {
    let (features, graph, targets) = blob_problem(400, 4, 2);
    let base = LapSvmParams { max_iter: 30, ..set(KernelKind::Rbf, KernelSolver::Cg) };
    let problem = (features, graph, targets);
    let stored = fit(&base, true, &problem, &run(2));
    let values = dense_values(&problem.0);
    let row = |i: usize| &values[4 * i..4 * i + 4];
    let squared = |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let gram: Vec<f64> = (0..400 * 400).map(|at| (-squared(at / 400, at % 400) / 8.0).exp()).collect();
    let given = (Features::from_f64(400, 400, gram).unwrap(), problem.1.clone(), problem.2.clone());
    let precomputed = LapSvmParams { kernel: KernelKind::Precomputed, ..base };
    let found = fit(&precomputed, true, &given, &run(2));
    assert_close(found.labeling.scores.values(), stored.labeling.scores.values(), 1e-9, "given");
    // New rows by similarities, and by features.
    let by_similarity = found.extension.as_ref().unwrap().scores_of(&given.0, &run(2)).unwrap();
    let by_features = stored.extension.as_ref().unwrap().scores_of(&problem.0, &run(2)).unwrap();
    assert_close(by_similarity.values(), by_features.values(), 1e-9, "new rows");
    assert_close(by_features.values(), stored.labeling.scores.values(), 1e-9, "rows of the fit");
}

#[test]
fn sparse_rows_are_the_same_rows() {
    let (dense, graph, targets) = blob_problem(300, 6, 3);
    let values: Vec<f64> =
        dense_values(&dense).iter().map(|x| if *x < 0.0 { 0.0 } else { f64::from(*x as f32) }).collect();
    let entries: Vec<(u32, u32, f32)> =
        values.iter().enumerate().map(|(at, x)| ((at / 6) as u32, (at % 6) as u32, *x as f32)).collect();
    let dense = (Features::from_f64(300, 6, values).unwrap(), graph.clone(), targets.clone());
    let sparse = (Features::Sparse(Arc::new(Csr::from_entries(300, 6, &entries).unwrap())), graph, targets);
    for kernel in [KernelKind::Rbf, KernelKind::Poly, KernelKind::Linear, KernelKind::LowRank] {
        let params = LapSvmParams { bandwidth: None, ..set(kernel, KernelSolver::Newton) };
        let (one, other) = (fit(&params, true, &dense, &run(2)), fit(&params, true, &sparse, &run(2)));
        assert_close(other.labeling.scores.values(), one.labeling.scores.values(), 1e-5, "sparse");
        let again = other.extension.as_ref().unwrap().scores_of(&sparse.0, &run(1)).unwrap();
        assert_close(again.values(), other.labeling.scores.values(), 1e-5, "sparse new rows");
    }
}

/// With every row as a landmark, the approximated kernel is exact.
#[test]
fn all_rows_as_landmarks_are_the_kernel() {
    let problem = blob_problem(260, 4, 3);
    for is_svm in [true, false] {
        let exact = fit(&set(KernelKind::Rbf, KernelSolver::Newton), is_svm, &problem, &run(2));
        for solver in [KernelSolver::Newton, KernelSolver::Cg] {
            let params = LapSvmParams {
                n_landmarks: KernelLandmarks::Count(260),
                max_iter: 50_000,
                ..set(KernelKind::LowRank, solver)
            };
            let found = fit(&params, is_svm, &problem, &run(2));
            assert_close(found.labeling.scores.values(), exact.labeling.scores.values(), 2e-3, "landmarks");
            let again = found.extension.as_ref().unwrap().scores_of(&problem.0, &run(2)).unwrap();
            assert_close(again.values(), found.labeling.scores.values(), 1e-4, "landmarks, new rows");
        }
    }
}

/// With more labels than landmarks, the problem is solved for the weights: the same machine.
#[test]
fn weights_and_labeled_rows_agree() {
    let (features, graph, _) = blob_problem(300, 4, 3);
    let labels =
        Labels::from_integers((0..300).map(|i| (i % 3 != 1).then_some(i64::from(i % 7 == 0) + i64::from(i % 2 == 0))));
    let problem = (features, graph, Targets::one_hot(&labels, None).unwrap());
    let newton = |count| LapSvmParams {
        n_landmarks: KernelLandmarks::Count(count),
        ..set(KernelKind::LowRank, KernelSolver::Newton)
    };
    for bias in [false, true] {
        let few = fit(&LapSvmParams { bias, ..newton(40) }, true, &problem, &run(2));
        let cg = LapSvmParams { bias, solver: KernelSolver::Cg, max_iter: 20_000, ..newton(40) };
        let iterated = fit(&cg, true, &problem, &run(2));
        for (a, b) in objectives(&few).iter().zip(objectives(&iterated)) {
            assert!((a - b).abs() < 1e-8 * a, "{a} {b}");
        }
    }
}

/// Without smoothness, the machine is a support vector machine of the labeled rows.
#[test]
fn supervised_machines_see_labeled_rows_alone() {
    let (features, graph, targets) = blob_problem(330, 4, 3);
    let params = LapSvmParams { graph_reg: Some(0.0), ..set(KernelKind::Rbf, KernelSolver::Auto) };
    let problem = (features, graph, targets);
    let found = fit(&params, true, &problem, &run(2));
    assert!(found.graph.is_none() && found.report.graph.is_none());
    let kept = machine(&found).rows().unwrap().n_rows();
    assert!(kept <= problem.2.rows().len(), "{kept}");
    let alone = problem.0.select(problem.2.rows()).unwrap();
    let all: Vec<u32> = (0..alone.n_rows() as u32).collect();
    let targets = Targets::new(alone.n_rows(), all, problem.2.values().clone(), problem.2.weights().to_vec()).unwrap();
    let problem = Problem { features: Some(&alone), ..Problem::new(&targets) };
    let other = method_of(params, true).fit(&problem, &run(2)).unwrap();
    assert_eq!(objectives(&found), objectives(&other));
}

#[test]
fn trust_in_labels_is_repetition() {
    let (features, graph, targets) = blob_problem(220, 4, 2);
    let twice: Vec<f64> = (0..targets.rows().len()).map(|at| if at % 2 == 0 { 2.0 } else { 1.0 }).collect();
    let weighted = Targets::new(220, targets.rows().to_vec(), targets.values().clone(), twice).unwrap();
    // Without smoothness, a row of weight two equals two rows.
    let params = LapSvmParams { graph_reg: Some(0.0), ..set(KernelKind::Rbf, KernelSolver::Newton) };
    let problem = (features.clone(), graph, weighted);
    let one = fit(&params, true, &problem, &run(1));
    let values = dense_values(&features);
    let mut rows: Vec<usize> = Vec::new();
    for (at, &row) in targets.rows().iter().enumerate() {
        rows.extend(std::iter::repeat_n(row as usize, if at % 2 == 0 { 2 } else { 1 }));
    }
    let copied: Vec<f64> = rows.iter().flat_map(|&row| values[4 * row..4 * row + 4].to_vec()).collect();
    let labels = Labels::from_integers(rows.iter().map(|&row| Some(row as i64 % 2)));
    let repeated = Features::from_f64(rows.len(), 4, copied).unwrap();
    let targets = Targets::one_hot(&labels, None).unwrap();
    let problem = Problem { features: Some(&repeated), ..Problem::new(&targets) };
    let other = method_of(params, true).fit(&problem, &run(1)).unwrap();
    assert!((objectives(&one)[0] - objectives(&other)[0]).abs() < 1e-9);
    let soft = Matrix::new(2, 2, vec![0.5, 0.5, 1.0, 0.0]).unwrap();
    let soft = Targets::soft(&soft, None).unwrap();
    assert_eq!(Loss::problems(&soft, LossKind::SquaredHinge, false)[0].terms().count(), 3);
}

#[test]
fn a_start_and_a_validation_set_are_taken() {
    let (features, graph, targets) = blob_problem(400, 4, 3);
    let problem = Problem { features: Some(&features), graph: Some(&graph), ..Problem::new(&targets) };
    let method = method_of(set(KernelKind::Rbf, KernelSolver::Cg), true);
    let first = method.fit(&problem, &run(2)).unwrap();
    let start = machine(&first);
    let start = Some((start.coefficients(), start.bias()));
    let second = method.fit_with(&problem, &FitOptions { start, ..FitOptions::default() }, &run(2)).unwrap();
    let n_iter = |fitted: &Fitted<'_>| fitted.report.solve.as_ref().unwrap().n_iter;
    assert!(n_iter(&second) * 4 < n_iter(&first), "{} {}", n_iter(&second), n_iter(&first));
    let other = blobs(90, 4, 5);
    let labels = Labels::from_integers((0..90).map(|i| Some(i % 3)));
    let held = Targets::one_hot(&labels, None).unwrap();
    let validation = Some(ValidationSet { features: &other, targets: &held });
    for stopping in [Stopping::Validation, Stopping::Mixed] {
        for kernel in [KernelKind::Rbf, KernelKind::LowRank, KernelKind::Linear] {
            let method = method_of(LapSvmParams { stopping, ..set(kernel, KernelSolver::Cg) }, true);
            let options = FitOptions { validation, ..FitOptions::default() };
            let stopped = method.fit_with(&problem, &options, &run(2)).unwrap();
            assert!(
                n_iter(&stopped) <= n_iter(&first) && n_iter(&stopped).is_multiple_of(StoppingRule::interval(400)),
                "{kernel:?}"
            );
            // Without a validation set, some labels are held out.
            assert!(method.fit(&problem, &run(2)).unwrap().report.solve.unwrap().converged);
        }
    }
}

#[test]
fn models_keep_what_they_need() {
    let (features, graph, targets) = blob_problem(300, 4, 3);
    let problem = (features, graph, targets);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("machine.lapwing");
    let base = set(KernelKind::Rbf, KernelSolver::Newton);
    let variants = [
        (base.clone(), 300),
        (
            LapSvmParams { n_landmarks: KernelLandmarks::Count(30), ..set(KernelKind::LowRank, KernelSolver::Newton) },
            30,
        ),
        (set(KernelKind::Linear, KernelSolver::Newton), 4),
        (LapSvmParams { graph_reg: Some(0.0), ..base }, problem.2.rows().len()),
    ];
    for (params, most) in variants {
        let fitted = fit(&params, true, &problem, &run(2));
        assert!(machine(&fitted).coefficients().n_rows() <= most, "{params:?}");
        let model = Classifier {
            method: LAPSVM.into(),
            classes: lapwing_core::ClassNames::Integers(vec![0, 1, 2]),
            scaling: lapwing_core::Scaling::None,
            rule: fitted.rule.clone(),
            extension: fitted.extension.clone().unwrap(),
        };
        model.to_file().unwrap().save(&path).unwrap();
        let loaded = Classifier::from_file(&ModelFile::load(&path).unwrap()).unwrap();
        let (a, b) = (model.predict(&problem.0, &run(2)).unwrap(), loaded.predict(&problem.0, &run(1)).unwrap());
        assert!(a.scores == b.scores && a.labels == b.labels);
        let bytes = extension_to_file(&*model.extension).unwrap().to_bytes();
        let again = extension_from_bytes(&bytes).unwrap();
        assert!(again.scores_of(&problem.0, &run(2)).unwrap() == *a.scores);
        assert!(extension_from_bytes(&bytes[..bytes.len() / 2]).is_err());
    }
}

#[test]
fn values_are_regressed_with_their_mean() {
    let n = 200;
    let x: Vec<f64> = (0..n).map(|i| i as f64 / 20.0).collect();
    let truth = |i: usize| 100.0 + (x[i]).sin();
    let features = Features::from_f64(n, 1, x.clone()).unwrap();
    let given: Vec<f64> = (0..n).map(|i| if i % 7 == 0 { truth(i) } else { f64::NAN }).collect();
    let targets = Targets::regression(&given, None).unwrap();
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    for solver in [KernelSolver::Newton, KernelSolver::Cg] {
        for bias in [false, true] {
            let params = LapSvmParams {
                solver,
                bias,
                ambient_reg: Some(1e-4),
                graph_reg: Some(1e-4),
                bandwidth: Some(1.0),
                ..LapSvmParams::default()
            };
            let fitted = method_of(params, false).regress(&problem, &run(2)).unwrap();
            let worst = (0..n).map(|i| (fitted.values.row(i)[0] - truth(i)).abs()).fold(0.0, f64::max);
            assert!(worst < 0.05, "{solver:?} {bias}: {worst}");
        }
    }
    assert!(method_of(LapSvmParams::default(), true).regress(&problem, &run(1)).is_err());
}

#[test]
fn what_cannot_be_fitted_is_named() {
    let (features, graph, targets) = blob_problem(60, 3, 2);
    let text = |params: LapSvmParams, is_svm: bool, features: &Features<'_>, graph: Option<&AffinityGraph>| {
        let problem = Problem { features: Some(features), graph, ..Problem::new(&targets) };
        method_of(params, is_svm).fit(&problem, &run(1)).unwrap_err().to_string()
    };
    let given = LapSvmParams { kernel: KernelKind::Precomputed, ..LapSvmParams::default() };
    assert!(text(given.clone(), true, &features, Some(&graph)).contains("the Gram matrix has 3 columns; expected 60"));
    assert!(text(given, true, &features, None).contains("a graph beside the Gram matrix"));
    let huge = Features::from_f64(60, 1, (0..60).map(|i| 1e30 * f64::from(i)).collect()).unwrap();
    let poly = LapSvmParams { kernel: KernelKind::Poly, degree: 11, ..LapSvmParams::default() };
    assert!(text(poly, true, &huge, Some(&graph)).contains("scale the features or remove the row"));
    let dual = LapSvmParams { solver: KernelSolver::Dual, ..LapSvmParams::default() };
    assert!(LapSvm::least_squares(dual, GraphParams::default()).unwrap_err().to_string().contains("solver is dual"));
}

#[test]
fn kernels_of_nothing_and_matrices_of_no_kernel_are_told() {
    let (_, graph, targets) = blob_problem(60, 3, 2);
    let fit = |features: &Features<'_>, params: LapSvmParams| {
        let problem = Problem { features: Some(features), graph: Some(&graph), ..Problem::new(&targets) };
        method_of(params, true).fit(&problem, &run(1)).map(|fitted| fitted.labeling.scores.values().to_vec())
    };
    let zeros = Features::from_f64(60, 3, vec![0.0; 180]).unwrap();
    for kernel in [KernelKind::Poly, KernelKind::Linear, KernelKind::Rbf, KernelKind::LowRank] {
        for solver in [KernelSolver::Newton, KernelSolver::Cg, KernelSolver::Dual] {
            let params = LapSvmParams { kernel, solver, ..LapSvmParams::default() };
            assert!(fit(&zeros, params).unwrap().iter().all(|score| score.is_finite()), "{kernel:?} {solver:?}");
        }
    }
    let negative: Vec<f64> = (0..3600).map(|at| if at / 60 == at % 60 { -1.0 } else { 0.0 }).collect();
    let negative = Features::from_f64(60, 60, negative).unwrap();
    let params = set(KernelKind::Precomputed, KernelSolver::Cg);
    assert!(fit(&negative, params).unwrap_err().to_string().contains("Gram matrix is not positive definite"));
    let large = Features::from_f64(60, 3, (0..180).map(|i| 1e9 * f64::from(i)).collect()).unwrap();
    let poly = LapSvmParams { degree: 100, ..set(KernelKind::Poly, KernelSolver::Cg) };
    assert!(fit(&large, poly).unwrap_err().to_string().contains("scale the features or remove the row"));
}

/// If rounding ends all problems at once, nothing is left to recompute.
#[test]
fn iterations_that_cannot_go_on_end() {
    for seed in 0..40 {
        let features = blobs(45, 2, 1 + seed % 5);
        let labels = Labels::from_integers((0..45).map(|i| (i < 6).then_some(i64::from(i / 3))));
        let targets = Targets::one_hot(&labels, None).unwrap();
        let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
        let params = LapSvmParams {
            ambient_reg: Some(0.1),
            graph_reg: Some(0.1),
            bandwidth: Some(0.5 + 0.1 * seed as f64),
            tol: 1e-300,
            max_iter: 3000,
            ..set(KernelKind::Rbf, KernelSolver::Cg)
        };
        let graph = GraphParams { n_neighbors: 5, ..GraphParams::default() };
        let fitted = LapSvm::least_squares(params, graph).unwrap().fit(&problem, &run(1)).unwrap();
        assert!(fitted.report.solve.unwrap().n_iter > 3);
    }
}

/// With weights so large that every label lies deep within the margin, both losses have slope 1. The dual's objective lacks the
/// factor ½, so its function is half of the primal's for the same weights.
#[test]
fn dual_and_primal_regularize_alike() {
    let problem = blob_problem(330, 4, 3);
    let heavy = |solver| LapSvmParams { ambient_reg: Some(3e4), graph_reg: Some(2e4), ..set(KernelKind::Rbf, solver) };
    let primal = fit(&heavy(KernelSolver::Newton), true, &problem, &run(2));
    let dual = fit(&heavy(KernelSolver::Dual), true, &problem, &run(2));
    let twice: Vec<f64> = dual.labeling.scores.values().iter().map(|f| 2.0 * f).collect();
    let size = largest(primal.labeling.scores.values());
    assert_close(&twice, primal.labeling.scores.values(), 5e-3 * size, "twice the dual");
}
