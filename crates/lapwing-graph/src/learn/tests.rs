//! Learned graphs against figures of other programs, closed forms, and optimality conditions.

use lapwing_core::{Features, Run, Warning};
use proptest::prelude::*;

use super::primal_dual::{Iterate, norm_bound};
use super::sparsity::sparsity_for;
use super::*;
use crate::golden::golden;
use crate::testkit::{blobs, dense_values};
use crate::{KnnMethod, Metric, Weighting, affinity_graph};

mod golden_optima;

fn run() -> Run {
    Run::new(Some(2), 0).unwrap()
}

/// Squared Euclidean distances of all pairs, row by row of the upper triangle, in f64.
fn all_pairs(x: &[f64], n: usize) -> (Vec<(u32, u32)>, Vec<f64>) {
    let d = x.len() / n;
    let row = |i: u32| &x[i as usize * d..(i as usize + 1) * d];
    let edges: Vec<(u32, u32)> = (0..n as u32).flat_map(|i| (i + 1..n as u32).map(move |j| (i, j))).collect();
    let squared = edges.iter().map(|&(i, j)| row(i).iter().zip(row(j)).map(|(a, b)| (a - b).powi(2)).sum()).collect();
    (edges, squared)
}

/// The `k` nearest others of each row.
fn table(x: &[f64], n: usize, k: usize) -> NeighborTable<f64> {
    let (edges, squared) = all_pairs(x, n);
    let mut rows = vec![Vec::new(); n];
    for (&(i, j), &z) in edges.iter().zip(&squared) {
        rows[i as usize].push((z, j));
        rows[j as usize].push((z, i));
    }
    rows.iter_mut().for_each(|row| row.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))));
    let nearest = || rows.iter().flat_map(|row| &row[..k]);
    let (indices, squared) = (nearest().map(|e| e.1).collect(), nearest().map(|e| e.0).collect());
    NeighborTable { n_neighbors: k, indices, squared }
}

fn pairs_of(file: &str, name: &str) -> Vec<(u32, u32)> {
    golden(file, name).chunks_exact(2).map(|edge| (edge[0] as u32, edge[1] as u32)).collect()
}

fn exact(sparsity: f64) -> LearnParams {
    LearnParams { sparsity: Some(sparsity), tol: 1e-22, ..LearnParams::default() }
}

fn close(found: f64, expected: f64, tol: f64) -> bool {
    (found - expected).abs() <= tol * expected.abs().max(1e-300)
}

/// ‖found − expected‖ / ‖expected‖.
fn distance(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|v| v * v).sum::<f64>().sqrt();
    norm(&mut found.iter().zip(expected).map(|(a, b)| a - b)) / norm(&mut expected.iter().copied())
}

/// Largest violation of w = max(0, (1/dᵢ + 1/dⱼ)/2 − θz), relative to the largest weight, and of its sum.
fn kkt(edges: &[(u32, u32)], squared: &[f64], weights: &[f64], n: usize, sparsity: f64) -> f64 {
    let mut degree = vec![0.0; n];
    for (&(i, j), w) in edges.iter().zip(weights) {
        degree[i as usize] += w;
        degree[j as usize] += w;
    }
    let wanted = |(&(i, j), z): (&(u32, u32), &f64)| {
        (0.5 * (1.0 / degree[i as usize] + 1.0 / degree[j as usize]) - sparsity * z).max(0.0)
    };
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let worst = edges.iter().zip(squared).map(wanted).zip(weights).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let terms: f64 = squared.iter().zip(weights).map(|(z, w)| 2.0 * sparsity * z * w + 2.0 * w * w).sum();
    (worst / largest).max((terms / n as f64 - 1.0).abs())
}

/// Weights, objective and degrees of the log-degree model against `expected` pairs, by both solvers.
fn check_optimum(
    (edges, squared): (&[(u32, u32)], &[f64]),
    n: usize,
    params: &LearnParams,
    (expected_edges, expected): (&[(u32, u32)], &[f64]),
) -> LearnReport {
    let support = Support::from_edges(n, edges, squared, &run()).unwrap();
    let (found, report) = learn_weights(&support, LearnModel::Log, params, None, &run()).unwrap();
    let weights: Vec<f64> = edges.iter().zip(squared).map(|(&edge, &z)| found.weight(edge, z)).collect();
    let at: std::collections::HashMap<_, _> = expected_edges.iter().copied().zip(expected.iter().copied()).collect();
    let wanted: Vec<f64> = edges.iter().map(|edge| at.get(edge).copied().unwrap_or(0.0)).collect();
    assert!(distance(&weights, &wanted) < 1e-9, "{}", distance(&weights, &wanted));
    assert!(report.gap < 1e-14, "gap {:e}", report.gap);
    if params.scale == 1.0 {
        let residual = kkt(edges, squared, &weights, n, report.sparsity);
        assert!(residual < 1e-8, "KKT {residual:e}");
    }
    report
}

#[test]
fn two_rows_and_rows_at_equal_distances_have_closed_forms() {
    for (z, alpha, beta) in [(3.0, 1.0, 1.0), (0.0, 2.0, 0.5), (40.0, 0.3, 7.0)] {
        let params = LearnParams::from_regularizers(LearnModel::Log, alpha, beta).unwrap();
        let params = LearnParams { tol: 1e-20, ..params };
        let two = Support::from_edges(2, &[(0, 1)], &[z], &run()).unwrap();
        let weight = learn_weights(&two, LearnModel::Log, &params, None, &run()).unwrap().0.weight((0, 1), z);
        // βw² + zw − α = 0.
        assert!(close(weight, 2.0 * alpha / (z + (z * z + 4.0 * alpha * beta).sqrt()), 1e-9), "{weight}");
        let n = 7u32;
        let edges: Vec<_> = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).collect();
        let equal = Support::from_edges(n as usize, &edges, &vec![z; edges.len()], &run()).unwrap();
        let (found, report) = learn_weights(&equal, LearnModel::Log, &params, None, &run()).unwrap();
        let w = found.weight((2, 5), z);
        assert!(close(beta * w + z, alpha / (f64::from(n - 1) * w), 1e-9) && report.n_edges == edges.len());
    }
}

#[test]
fn both_solvers_find_the_same_graph() {
    let features = blobs(300, 4, 3);
    for weights in [Weighting::Learned, Weighting::LearnedL2] {
        let params = GraphParams { n_neighbors: 5, weights, ..GraphParams::default() };
        let tight = LearnParams { tol: 1e-11, ..LearnParams::default() };
        let params = GraphParams { learn: tight.clone(), ..params };
        let newton = learn_graph(&features, &params, None, &run()).unwrap();
        let slow = LearnParams { solver: LearnSolver::PrimalDual, max_iter: Some(30_000), ..tight };
        let params = GraphParams { learn: slow, ..params };
        let twin = learn_graph(&features, &params, None, &run()).unwrap();
        assert!(newton.report.converged && twin.report.converged && twin.report.n_iter > 10 * newton.report.n_iter);
        assert!(close(newton.report.objective, twin.report.objective, 1e-9));
        assert!(distance(newton.graph.degree(), twin.graph.degree()) < 1e-4);
        assert!((newton.report.mean_neighbors / 5.0 - 1.0).abs() < 0.35, "{}", newton.report.mean_neighbors);
    }
}

#[test]
fn a_start_from_a_similar_fit_saves_steps() {
    let features = blobs(500, 4, 3);
    let params = GraphParams { n_neighbors: 6, weights: Weighting::Learned, ..GraphParams::default() };
    let first = learn_graph(&features, &params, None, &run()).unwrap();
    let start = first.weights.start().to_vec();
    let again = learn_graph(&features, &params, Some(&start), &run()).unwrap();
    assert_eq!(again.report.n_iter, 0);
    let sparser = LearnParams { sparsity: Some(1.01 * first.report.sparsity), ..LearnParams::default() };
    let params = GraphParams { learn: sparser, ..params };
    let warm = learn_graph(&features, &params, Some(&start), &run()).unwrap();
    let cold = learn_graph(&features, &params, None, &run()).unwrap();
    assert!(warm.report.n_iter < cold.report.n_iter && distance(warm.graph.degree(), cold.graph.degree()) < 1e-4);
    assert!(warm.report.n_edges <= first.report.n_edges);
    let text = learn_graph(&features, &params, Some(&start[1..]), &run()).unwrap_err().to_string();
    assert!(text.contains("start has 500; expected 501 values"), "{text}");
}

#[test]
fn repairs_lead_to_the_optimum_over_all_pairs() {
    let features = blobs(400, 3, 4);
    for weights in [Weighting::Learned, Weighting::LearnedL2] {
        let narrow = LearnParams { support_factor: Some(1.0), tol: 1e-13, ..LearnParams::default() };
        let params = GraphParams { n_neighbors: 8, weights, ..GraphParams::default() };
        let params = GraphParams { learn: narrow, ..params };
        let restricted = learn_graph(&features, &params, None, &run()).unwrap();
        assert!(restricted.report.n_uncertified > 0 && restricted.report.saturated > 0.0);
        let sparsity = Some(restricted.report.sparsity);
        let all = LearnParams { support_factor: None, sparsity, ..params.learn.clone() };
        let full = learn_graph(&features, &GraphParams { learn: all, ..params.clone() }, None, &run()).unwrap();
        assert_eq!((full.report.n_uncertified, full.report.n_allowed), (0, 400 * 399 / 2));
        let repair = LearnParams { repair: true, ..params.learn.clone() };
        let repaired = learn_graph(&features, &GraphParams { learn: repair, ..params }, None, &run()).unwrap();
        assert_eq!((repaired.report.n_uncertified, repaired.report.n_edges), (0, full.report.n_edges));
        assert!(repaired.report.n_repaired > 0 && repaired.report.n_allowed < full.report.n_allowed / 4);
        assert!(distance(repaired.graph.degree(), full.graph.degree()) < 1e-6);
        assert!(distance(restricted.graph.degree(), full.graph.degree()) > 1e-3);
    }
}

#[test]
fn only_exact_neighbors_certify_a_repaired_graph() {
    let features = blobs(1500, 12, 5);
    let learned = |knn_method, learn: LearnParams| {
        let weights = Weighting::Learned;
        let params =
            GraphParams { n_neighbors: 8, recall_target: 0.5, weights, knn_method, learn, ..GraphParams::default() };
        learn_graph(&features, &params, None, &run()).unwrap()
    };
    let repair = LearnParams { repair: true, tol: 1e-12, ..LearnParams::default() };
    let found = learned(KnnMethod::Partitions, repair.clone()).report;
    assert_eq!((found.n_uncertified, found.exact_neighbors), (1500, false));
    assert_eq!(found.warnings(), [Warning::InexactRepair { n_rows: 1500 }]);
    let exact = learned(KnnMethod::Auto, repair.clone());
    assert!(exact.report.n_uncertified == 0 && exact.report.warnings().is_empty());
    let all = LearnParams { support_factor: None, sparsity: Some(exact.report.sparsity), ..repair };
    let whole = learned(KnnMethod::Auto, LearnParams { repair: false, ..all });
    assert_eq!(whole.report.n_edges, exact.report.n_edges);
    assert!(distance(whole.graph.degree(), exact.graph.degree()) < 1e-5);
    // As many rows as partitions search by default: a repair searches them exactly, unless that takes far too long.
    let method = |n, d, repair, knn_method| {
        let learn = LearnParams { repair, ..LearnParams::default() };
        let params = GraphParams { weights: Weighting::Learned, knn_method, learn, ..GraphParams::default() };
        params.search_method(n, d)
    };
    assert_eq!(method(60_000, 784, true, KnnMethod::Auto), KnnMethod::Exact);
    assert_eq!(method(60_000, 784, true, KnnMethod::Partitions), KnnMethod::Partitions);
    assert_eq!(method(60_000, 784, false, KnnMethod::Auto), KnnMethod::Auto);
    assert_eq!(method(1_000_000, 300, true, KnnMethod::Auto), KnnMethod::Auto);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let features = blobs(5000, 6, 5);
    for weights in [Weighting::Learned, Weighting::LearnedL2] {
        for solver in [LearnSolver::Newton, LearnSolver::PrimalDual] {
            let learn = LearnParams { solver, max_iter: Some(60), repair: true, ..LearnParams::default() };
            let params = GraphParams { n_neighbors: 7, weights, learn, ..GraphParams::default() };
            let graphs = [1, 2, 7].map(|threads| {
                let run = Run::new(Some(threads), 0).unwrap();
                learn_graph(&features, &params, None, &run).unwrap().graph
            });
            assert!(graphs[0] == graphs[1] && graphs[0] == graphs[2], "{weights:?} {solver:?}");
        }
    }
}

#[test]
fn duplicates_outliers_and_few_rows_are_rows_like_others() {
    // Twenty rows at one place, twenty near each other, one far away.
    let mut x = vec![0.0; 20];
    x.extend((0..20).map(|i| 5.0 + f64::from(i).powi(2) * 0.01));
    x.push(1e3);
    let features = Features::from_f64(41, 1, x).unwrap();
    for (weights, isolated) in [(Weighting::Learned, false), (Weighting::LearnedL2, true)] {
        let params = GraphParams { n_neighbors: 3, weights, ..GraphParams::default() };
        let built = affinity_graph(&features, &params, &run()).unwrap();
        let report = built.learned.clone().unwrap();
        assert!(report.converged && report.chosen.unwrap().n_tied_rows == 20, "{report:?}");
        assert!(built.graph.degree().iter().all(|d| d.is_finite()));
        assert_eq!(built.graph.degree()[40] == 0.0, isolated);
        assert!(built.graph.degree()[0] > 0.0);
        let summary = built.summary(&built.graph.components());
        assert_eq!(summary.learned.unwrap()["n_edges"], report.n_edges);
    }
    let params = GraphParams { n_neighbors: 2, weights: Weighting::Learned, ..GraphParams::default() };
    let few = |n: usize| Features::from_f64(n, 1, (0..n).map(|i| (i * i) as f64).collect()).unwrap();
    assert_eq!(learn_graph(&few(4), &params, None, &run()).unwrap().graph.n_samples(), 4);
    let text = learn_graph(&few(3), &params, None, &run()).unwrap_err().to_string();
    assert!(text.contains("n_neighbors is 2; expected at most 1, the number of rows less 2"), "{text}");
    let same = Features::from_f64(9, 1, vec![3.0; 9]).unwrap();
    let text = learn_graph(&same, &params, None, &run()).unwrap_err().to_string();
    assert!(text.contains("remove duplicate rows"), "{text}");
    let lonely = Support::from_edges(3, &[(0, 1)], &[1.0], &run()).unwrap();
    let text = learn_weights(&lonely, LearnModel::Log, &exact(1.0), None, &run()).unwrap_err().to_string();
    assert!(text.contains("row 2 has no allowed pair"), "{text}");
    let learned = learn_weights(&lonely, LearnModel::L2, &exact(1.0), None, &run()).unwrap();
    assert!(close(learned.0.weight((0, 1), 1.0), 1.5, 1e-9));
}

#[test]
fn parameters_outside_their_range_are_named() {
    let text = |learn: LearnParams| {
        let params = GraphParams { weights: Weighting::Learned, learn, ..GraphParams::default() };
        params.validate().unwrap_err().to_string()
    };
    let default = LearnParams::default;
    assert!(text(LearnParams { support_factor: Some(0.5), ..default() }).contains("support_factor is 0.5"));
    assert!(text(LearnParams { sparsity: Some(0.0), ..default() }).contains("sparsity is 0"));
    assert!(text(LearnParams { tol: 1.0, ..default() }).contains("tol is 1"));
    assert!(text(LearnParams { max_iter: Some(0), ..default() }).contains("max_iter is 0"));
    let width = GraphParams { weights: Weighting::LearnedL2, bandwidth: Some(1.0), ..GraphParams::default() };
    assert!(width.validate().unwrap_err().to_string().contains("learned-l2 weights have none"));
    let products =
        GraphParams { weights: Weighting::Learned, metric: Some(Metric::InnerProduct), ..GraphParams::default() };
    assert!(products.validate().is_err());
    let plain = GraphParams::default();
    let text = learn_graph(&blobs(40, 2, 2), &plain, None, &run()).unwrap_err().to_string();
    assert!(text.contains("weights is self-tuning; expected learned or learned-l2"), "{text}");
    assert!(LearnParams::from_regularizers(LearnModel::L2, 1.0, 2.0).unwrap_err().to_string().contains("beta is 2"));
}

#[test]
fn cosine_distances_are_those_of_unit_rows() {
    let features = blobs(200, 5, 3);
    let mut values = dense_values(&features);
    values.chunks_exact_mut(5).for_each(|row| {
        let norm = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        row.iter_mut().for_each(|v| *v /= norm);
    });
    let unit = Features::from_f64(200, 5, values).unwrap();
    let params = GraphParams {
        n_neighbors: 4,
        weights: Weighting::Learned,
        knn_method: KnnMethod::Exact,
        ..GraphParams::default()
    };
    let euclidean = learn_graph(&unit, &params, None, &run()).unwrap();
    let params = GraphParams { metric: Some(Metric::Cosine), ..params };
    let cosine = learn_graph(&features, &params, None, &run()).unwrap();
    assert!(distance(cosine.graph.degree(), euclidean.graph.degree()) < 1e-4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn scale_order_and_sparsity_are_as_they_should(seed in 0usize..1000, k in 1usize..8, factor in 1e-6..1e6f64) {
        let n = 60;
        let x = dense_values(&blobs(n + seed % 7, 3, 3));
        let n = n + seed % 7;
        let params = GraphParams { n_neighbors: k, weights: Weighting::Learned, ..GraphParams::default() };
        let params = GraphParams { learn: LearnParams { tol: 1e-14, ..LearnParams::default() }, ..params };
        let near = table(&x, n, 3 * k + 1);
        let found = learn_from_table(near.clone(), &params, None, &run()).unwrap();
        prop_assert!(found.report.converged && found.graph.degree().iter().all(|d| *d > 0.0));
        // Distances in another unit: another sparsity, the same graph.
        let scaled = NeighborTable { squared: near.squared.iter().map(|z| z * factor).collect(), ..near.clone() };
        let same = learn_from_table(scaled, &params, None, &run()).unwrap();
        prop_assert!(close(same.report.sparsity * factor, found.report.sparsity, 1e-9));
        prop_assert!(distance(same.graph.degree(), found.graph.degree()) < 1e-6);
        // Rows in reverse order.
        let reversed = NeighborTable {
            n_neighbors: near.n_neighbors,
            indices: near.indices.chunks_exact(near.n_neighbors).rev().flatten().map(|id| n as u32 - 1 - id).collect(),
            squared: near.squared.chunks_exact(near.n_neighbors).rev().flatten().copied().collect(),
        };
        let turned = learn_from_table(reversed, &params, None, &run()).unwrap();
        let degree: Vec<f64> = turned.graph.degree().iter().rev().copied().collect();
        prop_assert!(distance(&degree, found.graph.degree()) < 1e-6);
        let sparser = LearnParams { sparsity: Some(2.0 * found.report.sparsity), ..params.learn.clone() };
        let sparse = learn_from_table(near, &GraphParams { learn: sparser, ..params }, None, &run()).unwrap();
        prop_assert!(sparse.report.n_edges <= found.report.n_edges);
    }
}

#[test]
fn outliers_and_rows_of_two_scales_converge() {
    let n = 600;
    let plain = dense_values(&blobs(n, 4, 1));
    let with = |far: &dyn Fn(usize) -> f64| {
        let values = plain.iter().enumerate().map(|(at, x)| x * far(at / 4)).collect();
        Features::from_f64(n, 4, values).unwrap()
    };
    let outliers = with(&|row| if row < 6 { 30.0 } else { 1.0 });
    let scales = with(&|row| if row < n / 2 { 0.05 } else { 1.0 });
    for (features, name) in [(outliers, "outliers"), (scales, "two scales")] {
        for weights in [Weighting::Learned, Weighting::LearnedL2] {
            let params = GraphParams { n_neighbors: 6, weights, ..GraphParams::default() };
            let learned = learn_graph(&features, &params, None, &run()).unwrap();
            assert!(learned.report.converged && learned.report.gap >= 0.0, "{name} {weights:?}: {:?}", learned.report);
            let is_lonely = learned.graph.degree().iter().any(|d| *d <= 0.0);
            assert!(weights == Weighting::LearnedL2 || !is_lonely, "{name}");
        }
    }
    // However early it stops, every row has a degree and the gap is a number.
    let params = GraphParams { n_neighbors: 6, weights: Weighting::Learned, ..GraphParams::default() };
    let params = GraphParams { learn: LearnParams { max_iter: Some(1), ..LearnParams::default() }, ..params };
    let early = learn_graph(&with(&|row| 1.0 + row as f64), &params, None, &run()).unwrap();
    assert!(early.report.gap.is_finite() && !early.report.converged);
    assert!(early.graph.degree().iter().all(|d| *d > 0.0));
}

#[test]
fn a_far_row_leaves_the_l2_model_as_it_was() {
    let mut x = dense_values(&blobs(40, 3, 1));
    let params = GraphParams { n_neighbors: 5, weights: Weighting::LearnedL2, ..GraphParams::default() };
    let without = learn_graph(&Features::from_f64(40, 3, x.clone()).unwrap(), &params, None, &run()).unwrap();
    x.extend([1e10, 0.0, 0.0]);
    let sparsity = Some(without.report.sparsity);
    let params = GraphParams { learn: LearnParams { sparsity, ..LearnParams::default() }, ..params };
    let with = learn_graph(&Features::from_f64(41, 3, x).unwrap(), &params, None, &run()).unwrap();
    assert!(with.report.converged && with.graph.degree()[40] == 0.0);
    // The weight of 41 rows on 40.
    assert!((with.graph.degree().iter().sum::<f64>() - 41.0).abs() < 1e-6);
    // A constant added to all distances changes nothing.
    let edges = [(0, 1), (1, 2), (2, 3), (0, 3)];
    let weights = |shift: f64| {
        let z = [1.0, 2.0, 0.5, 3.0].map(|z| z + shift);
        let support = Support::from_edges(4, &edges, &z, &run()).unwrap();
        let (found, report) = learn_weights(&support, LearnModel::L2, &exact(1.0), None, &run()).unwrap();
        assert!(report.gap >= 0.0);
        found.weights(&edges, &z, &run())
    };
    assert!(distance(&weights(1e6), &weights(0.0)) < 1e-6);
}

#[test]
fn sorting_all_distances_finds_the_neighbors_of_a_search() {
    for metric in [Metric::Euclidean, Metric::Cosine] {
        let features = blobs(90, 4, 3);
        let params = crate::KnnParams { n_neighbors: 40, metric: Some(metric), ..Default::default() };
        let (found, _) = crate::knn::sorted_neighbors(&features, &params, &run()).unwrap();
        assert_eq!(found, kneighbors(&features, &params, &run()).unwrap().0);
    }
}
