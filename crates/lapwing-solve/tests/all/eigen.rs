//! The smallest eigenpairs of Laplacians against dense eigenvectors, on graphs where iterations go wrong first.

use std::sync::Arc;

use crate::testkit::{dense_laplacian, grid, nasty_graphs, neighbor_graph, preferential_attachment};
use lapwing_core::{CancelToken, Error, Progress, Run};
use lapwing_solve::Graph;
use lapwing_solve::dense::eigen_symmetric;
use lapwing_solve::eigen::{EigenParams, Eigenpairs, smallest_eigenpairs};

fn run() -> Run {
    Run::new(Some(2), 1).unwrap()
}

fn iterative() -> EigenParams {
    EigenParams { max_dense: 0, ..EigenParams::default() }
}

/// Residuals as they are told, orthonormal vectors, ascending values, null vectors for the components.
fn assert_eigenpairs(name: &str, graph: &Graph, pairs: &Eigenpairs) {
    let (n, q) = (graph.n_samples(), pairs.values.len());
    assert!(pairs.info.converged && pairs.values.is_sorted(), "{name}: {:?}", pairs.info);
    let n_null = graph.components().sizes.len().min(q);
    assert!(pairs.values.iter().take(n_null).all(|&value| value == 0.0));
    assert!(pairs.values.iter().skip(n_null).all(|&value| value > 0.0));
    for a in 0..q {
        for b in 0..=a {
            let dot: f64 = pairs.vectors.rows().map(|row| row[a] * row[b]).sum();
            let expected = f64::from(u8::from(a == b));
            assert!((dot - expected).abs() < 1e-9, "{name}: vectors {a} and {b} have product {dot}");
        }
        let square: f64 = (0..n)
            .map(|row| {
                let (columns, weights) = graph.adjacency().row(row);
                let own = pairs.vectors.row(row)[a];
                let difference = |(&c, w): (&u32, &f64)| w * (own - pairs.vectors.row(c as usize)[a]);
                let product: f64 = columns.iter().zip(weights).map(difference).sum();
                (product - pairs.values[a] * own).powi(2)
            })
            .sum();
        // What the last bits of the vector make where weights are far apart.
        let rounding = 1e-14 * graph.degree().iter().fold(0.0f64, |most, &degree| most.max(degree));
        let residual = square.sqrt();
        assert!(residual <= 2e-8 * pairs.values[a] + rounding, "{name}: residual {residual:e} of pair {a}");
    }
}

#[test]
fn eigenpairs_of_nasty_graphs_are_those_of_the_dense_matrix() {
    for (name, graph) in nasty_graphs() {
        let (expected, _) = eigen_symmetric(&dense_laplacian(&graph)).unwrap();
        let largest = expected.last().unwrap();
        // Of a spectrum over twenty orders, f64 holds the smooth end.
        let most = if name == "weights over twelve orders" { 6 } else { graph.n_samples() };
        for q in [1, 2, 5, most] {
            let pairs = smallest_eigenpairs(&graph, q, &EigenParams::default(), &run()).unwrap();
            assert_eigenpairs(name, &graph, &pairs);
            for (found, expected) in pairs.values.iter().zip(&expected) {
                assert!((found - expected).abs() <= 1e-9 * largest, "{name}: {found} against {expected}");
            }
        }
    }
}

#[test]
fn iterations_find_what_the_dense_matrix_has() {
    // Copies of an eigenvalue beyond a block: a hub with two hundred leaves on a path, whose eigenvalue 1 is met early.
    let star: Vec<(u32, u32, f64)> = (1..200).map(|leaf| (0, leaf, 1.0)).chain([(0, 200, 0.5)]).collect();
    // Two parts that hang by a thread: one eigenvalue is far below the others.
    let halves = grid(20, 40, 0.0);
    let mut thread = Vec::new();
    for row in 0..800u32 {
        let (columns, weights) = halves.adjacency().row(row as usize);
        let cut = |column: u32| (row % 40 < 20) != (column % 40 < 20);
        let weight = |column: u32, w: f64| if !cut(column) { w } else { if row == 19 { 1e-8 } else { 0.0 } };
        let later = columns.iter().zip(weights).filter(|(column, _)| **column > row);
        thread.extend(later.map(|(&column, &w)| (row, column, weight(column, w))).filter(|edge| edge.2 > 0.0));
    }
    let cases = [
        ("two parts on a thread", Graph::from_edges(800, &thread).unwrap(), 9),
        ("grid", grid(20, 30, 0.0), 12),
        ("grid over six orders", grid(20, 20, 6.0), 10),
        ("preferential attachment", preferential_attachment(500, 3), 9),
        ("neighbors", neighbor_graph(700, 6, 3, 15), 20),
        ("neighbors, one pair", neighbor_graph(400, 6, 3, 15), 4),
        ("star", Graph::from_edges(201, &star).unwrap(), 20),
        // Beyond 32 pairs, sixteen are improved at a time.
        ("grid, many pairs", grid(30, 31, 1.0), 45),
    ];
    for (name, graph, q) in cases {
        let (expected, _) = eigen_symmetric(&dense_laplacian(&graph)).unwrap();
        let pairs = smallest_eigenpairs(&graph, q, &iterative(), &run()).unwrap();
        assert_eigenpairs(name, &graph, &pairs);
        for (found, expected) in pairs.values.iter().zip(&expected) {
            let tolerance = 1e-9 * expected + 1e-12 * graph.mean_degree();
            assert!((found - expected).abs() <= tolerance, "{name}: {found} against {expected}");
        }
    }
}

#[test]
fn parts_of_a_graph_have_their_own_null_vectors() {
    let part = grid(15, 15, 0.0);
    let mut edges = Vec::new();
    for copy in 0..3u32 {
        for row in 0..225u32 {
            let (columns, weights) = part.adjacency().row(row as usize);
            let both = columns.iter().zip(weights).filter(|(column, _)| **column > row);
            edges.extend(both.map(|(&column, &w)| (copy * 225 + row, copy * 225 + column, w)));
        }
    }
    // Three equal parts and a row by itself: every eigenvalue three times.
    let graph = Graph::from_edges(676, &edges).unwrap();
    let pairs = smallest_eigenpairs(&graph, 13, &iterative(), &run()).unwrap();
    assert_eigenpairs("three parts", &graph, &pairs);
    let (of_part, _) = eigen_symmetric(&dense_laplacian(&part)).unwrap();
    for (at, found) in pairs.values.iter().enumerate().skip(4) {
        assert!((found - of_part[1 + (at - 4) / 3]).abs() < 1e-9, "pair {at}: {found}");
    }
    assert_eq!(pairs.vectors.row(675)[..4], [0.0, 0.0, 0.0, 1.0]);
    assert!((pairs.vectors.row(0)[0] - 1.0 / 15.0).abs() < 1e-15);
    let null = smallest_eigenpairs(&graph, 3, &iterative(), &run()).unwrap();
    assert_eq!((null.values, null.info.n_iter), (vec![0.0; 3], 0));
}

#[test]
fn both_copies_of_double_eigenvalues_of_a_ring_are_found() {
    let n = 3000u32;
    let ring = Graph::from_edges(n as usize, &(0..n).map(|v| (v, (v + 1) % n, 1.0)).collect::<Vec<_>>()).unwrap();
    let pairs = smallest_eigenpairs(&ring, 12, &iterative(), &run()).unwrap();
    assert_eigenpairs("ring", &ring, &pairs);
    for (at, found) in pairs.values.iter().enumerate() {
        // 2 − 2·cos x without cancellation.
        let half = std::f64::consts::PI * at.div_ceil(2) as f64 / f64::from(n);
        let expected = 4.0 * half.sin().powi(2);
        assert!((found - expected).abs() <= 1e-9 * expected, "pair {at}: {found} against {expected}");
    }
}

#[test]
fn weights_over_sixteen_orders_keep_their_digits() {
    let graph = grid(25, 40, 16.0);
    let dense = EigenParams { max_dense: 1000, ..EigenParams::default() };
    let expected = smallest_eigenpairs(&graph, 10, &dense, &run()).unwrap();
    let pairs = smallest_eigenpairs(&graph, 10, &iterative(), &run()).unwrap();
    assert_eigenpairs("sixteen orders", &graph, &pairs);
    for (found, expected) in pairs.values.iter().zip(&expected.values) {
        assert!((found - expected).abs() <= 1e-9 * expected, "{found} against {expected}");
    }
    // An eigenvalue below the last digit of the weights cannot be told; the search ends all the same, and says so.
    let mut edges: Vec<_> = (0..500u32).map(|v| (v, (v + 7) % 500, 1.0)).collect();
    edges.extend((500..1000).map(|v| (v, 500 + (v + 7) % 500, 1.0)).chain([(0, 500, 1e-16)]));
    let thread = Graph::from_edges(1000, &edges).unwrap();
    let pairs = smallest_eigenpairs(&thread, 6, &iterative(), &run()).unwrap();
    assert!(!pairs.info.converged && pairs.info.n_iter < 200, "{:?}", pairs.info);
    assert!(pairs.residuals[2..].iter().all(|&residual| residual <= 1e-5), "{:?}", pairs.residuals);
    // Weights whose squares leave f64: an answer or a message.
    let edges: Vec<_> = (0..400u32).map(|v| (v, v + 1, if v % 7 == 3 { 1e-110 } else { 1e110 })).collect();
    let extreme = Graph::from_edges(401, &edges).unwrap();
    match smallest_eigenpairs(&extreme, 4, &iterative(), &run()) {
        Ok(pairs) => assert!(pairs.vectors.values().iter().all(|v| v.is_finite())),
        Err(error) => assert!(error.to_string().contains("weights go from"), "{error}"),
    }
}

/// Cancels at an update of progress.
struct CancelsAt(u64, CancelToken);

impl Progress for CancelsAt {
    fn start(&self, _: &str, _: u64) {}

    fn update(&self, done: u64, _: &str) {
        if done >= self.0 {
            self.1.cancel();
        }
    }

    fn finish(&self) {}
}

#[test]
fn a_stop_is_noticed_in_every_step() {
    for step in [0, 1, 5] {
        let stop = CancelToken::default();
        let run = run().with_progress(Arc::new(CancelsAt(step, stop.clone()))).with_cancel(stop);
        let stopped = smallest_eigenpairs(&grid(40, 40, 0.0), 10, &iterative(), &run);
        assert!(matches!(stopped, Err(Error::Interrupted)), "step {step}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    // The second needs accurate solves.
    for (graph, q) in [(grid(70, 80, 2.0), 6), (grid(40, 50, 14.0), 40)] {
        let found: Vec<Eigenpairs> = [1, 2, 7]
            .map(|threads| {
                let run = Run::new(Some(threads), 3).unwrap();
                smallest_eigenpairs(&graph, q, &iterative(), &run).unwrap()
            })
            .into();
        assert_eigenpairs("grid", &graph, &found[0]);
        for other in &found[1..] {
            assert_eq!((&found[0].values, &found[0].vectors), (&other.values, &other.vectors));
        }
    }
}

#[test]
fn what_cannot_be_is_refused_and_what_stops_short_is_told() {
    let path = Graph::from_edges(3, &[(0, 1, 1.0), (1, 2, 1.0)]).unwrap();
    let text = |q, params: &EigenParams| smallest_eigenpairs(&path, q, params, &run()).unwrap_err().to_string();
    assert_eq!(
        text(4, &EigenParams::default()),
        "number of eigenpairs is 4; expected between 1 and 3, the number of rows"
    );
    assert!(text(0, &EigenParams::default()).contains("is 0"));
    assert!(text(1, &EigenParams { tol: 1.0, ..EigenParams::default() }).starts_with("tol is 1"));
    assert!(text(1, &EigenParams { max_iter: 0, ..EigenParams::default() }).starts_with("max_iter is 0"));
    let short = EigenParams { max_iter: 1, ..iterative() };
    let pairs = smallest_eigenpairs(&grid(30, 30, 0.0), 10, &short, &run()).unwrap();
    assert!(!pairs.info.converged && pairs.info.n_iter == 1 && pairs.info.residual > 1e-8);
}
