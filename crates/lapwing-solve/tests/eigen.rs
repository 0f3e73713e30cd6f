//! The smallest eigenpairs of Laplacians against dense eigenvectors, on graphs where iterations go wrong first.

use lapwing_data::Run;
use lapwing_solve::Graph;
use lapwing_solve::dense::eigen_symmetric;
use lapwing_solve::eigen::{EigenParams, Eigenpairs, smallest_eigenpairs};
use lapwing_solve::testkit::{dense_laplacian, grid, nasty_graphs, neighbor_graph, preferential_attachment};

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
    let cases = [
        ("grid", grid(20, 30, 0.0), 12),
        ("grid over six orders", grid(20, 20, 6.0), 10),
        ("preferential attachment", preferential_attachment(500, 3), 9),
        ("neighbors", neighbor_graph(700, 6, 3, 15), 20),
        ("neighbors, one pair", neighbor_graph(400, 6, 3, 15), 4),
        ("star", Graph::from_edges(201, &star).unwrap(), 20),
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
fn any_number_of_threads_gives_the_same_bits() {
    let graph = grid(70, 80, 2.0);
    let found: Vec<Eigenpairs> = [1, 2, 7]
        .map(|threads| {
            let run = Run::new(Some(threads), 3).unwrap();
            smallest_eigenpairs(&graph, 6, &iterative(), &run).unwrap()
        })
        .into();
    assert_eigenpairs("grid", &graph, &found[0]);
    for other in &found[1..] {
        assert_eq!((&found[0].values, &found[0].vectors), (&other.values, &other.vectors));
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
    assert!(!pairs.info.converged && pairs.info.n_iter == 1);
}
