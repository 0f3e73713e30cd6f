//! Golden optima and steps of other programs.

use super::*;

#[test]
fn golden_optima_on_full_support_are_met() {
    for (file, n, ks) in [("graphlearn_dense_50.npz", 50, [5, 10, 20]), ("graphlearn_dense_200.npz", 200, [5, 10, 20])]
    {
        let x = golden(file, "X");
        let (edges, squared) = all_pairs(&x, n);
        let neighbors = table(&x, n, n - 1);
        for k in ks {
            let of = |name: &str| golden(file, &format!("k{k}_{name}"));
            for (mean, name) in
                [(SparsityMean::Arithmetic, "theta_min_max"), (SparsityMean::Geometric, "theta_geom_min_max")]
            {
                let found = sparsity_for(LearnModel::Log, &neighbors, k, mean, &run()).unwrap();
                let (values, expected) = ([found.value, found.bounds.0, found.bounds.1], of(name));
                assert!(values.iter().zip(&expected).all(|(a, b)| close(*a, *b, 1e-10)), "{values:?} {expected:?}");
            }
            let theta = of("theta_min_max")[0];
            let node = single_node(LearnModel::Log, neighbors.distances(0).iter().copied(), theta);
            let expected = of("onenode_node0_lambda_k");
            assert!(close(node.level, expected[0], 1e-12) && node.n_active == expected[1] as usize);
            let expected = pairs_of(file, &format!("k{k}_exact_edges"));
            let report = check_optimum((&edges, &squared), n, &exact(theta), (&expected, &of("exact_w")));
            assert!((report.objective - of("exact_obj")[0]).abs() < 1e-12 * n as f64);
            assert_eq!(report.n_edges, of("exact_nnz")[0] as usize);
        }
        for name in ["ab1", "ab2"] {
            let regularizers = golden(file, &format!("{name}_alpha_beta"));
            let params = LearnParams::from_regularizers(LearnModel::Log, regularizers[0], regularizers[1]).unwrap();
            let params = LearnParams { tol: 1e-22, ..params };
            let expected = pairs_of(file, &format!("{name}_exact_edges"));
            let weights = golden(file, &format!("{name}_exact_w"));
            let report = check_optimum((&edges, &squared), n, &params, (&expected, &weights));
            let objective = params.objective(LearnModel::Log, report.objective, n);
            assert!(close(objective, golden(file, &format!("{name}_exact_obj"))[0], 1e-12));
        }
    }
}

#[test]
fn golden_optima_on_restricted_support_are_met() {
    for (file, n, rows) in [("graphlearn_knn_200.npz", 200, 15), ("graphlearn_knn_1000.npz", 1000, 30)] {
        let of = |name: &str| golden(file, name);
        let indices: Vec<u32> = of("knn_idx").into_iter().map(|id| id as u32).collect();
        let neighbors = NeighborTable { n_neighbors: indices.len() / n, indices, squared: of("knn_sqdist") };
        assert_eq!(neighbors.n_neighbors, rows);
        let k = of("k")[0] as usize;
        let found = sparsity_for(LearnModel::Log, &neighbors, k, SparsityMean::Arithmetic, &run()).unwrap();
        let expected = of("theta_min_max");
        let values = [found.value, found.bounds.0, found.bounds.1];
        assert!(values.iter().zip(&expected).all(|(a, b)| close(*a, *b, 1e-10)), "{values:?} {expected:?}");
        let support = Support::from_table(neighbors.clone(), &run()).unwrap();
        let edges = pairs_of(file, "support_edges");
        let pairs = (0..n as u32).flat_map(|row| support.row(row as usize).0.iter().map(move |&id| (row, id)));
        assert_eq!(pairs.filter(|pair| pair.0 < pair.1).collect::<Vec<_>>(), edges);
        let place = |(i, j): (u32, u32)| support.row(i as usize).0.binary_search(&j).unwrap();
        let squared: Vec<f64> = edges.iter().map(|&e| support.row(e.0 as usize).1[place(e)]).collect();
        let report = check_optimum((&edges, &squared), n, &exact(found.value), (&edges, &of("exact_w")));
        assert!((report.objective - of("exact_obj")[0]).abs() < 1e-12 * n as f64);
        assert_eq!(report.n_edges, of("exact_nnz")[0] as usize);
        assert!(close(report.saturated, of("share_nodes_all_edges_active")[0], 1e-12));
        // The same from the table, whose graph has the degrees.
        let params = GraphParams { n_neighbors: k, weights: Weighting::Learned, ..GraphParams::default() };
        let params = GraphParams { learn: LearnParams { tol: 1e-20, ..params.learn }, ..params };
        let learned = learn_from_table(neighbors, &params, None, &run()).unwrap();
        assert!(distance(learned.graph.degree(), &of("exact_degrees")) < 1e-9);
        // Steps of the reference's iteration.
        let problem = Problem::new(LearnModel::Log, &support, found.value, &run());
        let norm = of("normS_power")[0];
        assert!(norm <= norm_bound(&support) && norm_bound(&support) <= 2.0 * norm);
        check_iterates(file, "", &[1, 2, 5, 10, 50], Iterate::new(&problem, 1.0, 1.0, 0.5 / (2.0 + norm)), &edges);
    }
}

/// Compares an iteration with the figures of its first steps.
fn check_iterates(file: &str, prefix: &str, steps: &[usize], mut iterate: Iterate<'_, f64>, edges: &[(u32, u32)]) {
    let (problem, mut done) = (iterate.problem(), 0);
    for &step in steps {
        (done..step).for_each(|_| run().install(|| iterate.step()));
        done = step;
        let at = |(i, j): (u32, u32)| {
            let row = problem.support.starts[i as usize] as usize;
            iterate.weights[row + problem.support.row(i as usize).0.binary_search(&j).unwrap()]
        };
        let weights: Vec<f64> = edges.iter().map(|&edge| at(edge)).collect();
        let figures = golden(file, &format!("{prefix}iter{step}_sum_norm"));
        let norm = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
        assert!(close(weights.iter().sum(), figures[0], 1e-10) && close(norm, figures[1], 1e-10), "{prefix}{step}");
        if problem.model == LearnModel::Log && prefix.is_empty() {
            let first = golden(file, &format!("iter{step}_w_first2000"));
            assert!(distance(&weights[..first.len()], &first) < 1e-10);
        } else if problem.model == LearnModel::Log {
            assert!(distance(&iterate.dual, &golden(file, &format!("{prefix}iter{step}_dual"))) < 1e-10);
        }
    }
}

#[test]
fn golden_steps_on_full_support_are_met() {
    let (file, n) = ("graphlearn_dense_50.npz", 50);
    let (edges, squared) = all_pairs(&golden(file, "X"), n);
    let support = Support::from_edges(n, &edges, &squared, &run()).unwrap();
    let norm = (2.0 * (n as f64 - 1.0)).sqrt();
    assert!(close(norm_bound(&support), norm, 1e-15));
    for k in [5, 10, 20] {
        let sparsity = golden(file, &format!("k{k}_theta_min_max"))[0];
        let problem = Problem::new(LearnModel::Log, &support, sparsity, &run());
        let iterate = Iterate::new(&problem, 1.0, 1.0, 0.5 / (2.0 + norm));
        check_iterates(file, &format!("k{k}_"), &[1, 2, 5, 10, 50], iterate, &edges);
    }
    for name in ["l2_1_", "l2_2_", "l2_3_"] {
        let ridge = golden(file, &format!("{name}a"))[0];
        let problem = Problem::new(LearnModel::L2, &support, 1.0, &run());
        let step = 0.5 / (2.0 * ridge * n as f64 + 2.0 * (edges.len() as f64).sqrt());
        check_iterates(file, name, &[1, 2, 5, 10], Iterate::new(&problem, ridge, 1.0, step), &edges);
    }
}

#[test]
fn golden_optima_of_the_l2_model_are_met() {
    let cases = [
        ("graphlearn_dense_50.npz", 50, 1),
        ("graphlearn_dense_50.npz", 50, 2),
        ("graphlearn_dense_50.npz", 50, 3),
        ("graphlearn_dense_200.npz", 200, 2),
    ];
    for (file, n, case) in cases {
        let of = |name: &str| golden(file, &format!("l2_{case}_{name}"));
        let (edges, squared) = all_pairs(&golden(file, "X"), n);
        let support = Support::from_edges(n, &edges, &squared, &run()).unwrap();
        let params = LearnParams::from_regularizers(LearnModel::L2, of("a")[0], 1.0).unwrap();
        let params = LearnParams { tol: 1e-20, ..params };
        let (found, report) = learn_weights(&support, LearnModel::L2, &params, None, &run()).unwrap();
        let weights: Vec<f64> = edges.iter().zip(&squared).map(|(&edge, &z)| found.weight(edge, z)).collect();
        let expected_edges = pairs_of(file, &format!("l2_{case}_exact_edges"));
        let at: std::collections::HashMap<_, _> = expected_edges.into_iter().zip(of("exact_w")).collect();
        let wanted: Vec<f64> = edges.iter().map(|edge| at.get(edge).copied().unwrap_or(0.0)).collect();
        assert!(distance(&weights, &wanted) < 1e-9, "{case}: {:e}", distance(&weights, &wanted));
        assert!(close(params.objective(LearnModel::L2, report.objective, n), of("exact_obj")[0], 1e-12));
        assert!(report.gap < 1e-13 && close(2.0 * weights.iter().sum::<f64>(), n as f64, 1e-12), "{:e}", report.gap);
    }
}
