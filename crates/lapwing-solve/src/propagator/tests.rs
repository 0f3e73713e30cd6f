//! Smoothing against dense solutions.

use super::*;
use crate::dense;

type Edges = Vec<(u32, u32, f64)>;

/// Star, path, joined hubs, and a graph of two components and an isolated node.
fn graphs() -> Vec<(&'static str, usize, Edges)> {
    let star = (1..40).map(|i| (0, i, 1.0)).collect();
    let path = (1..60).map(|i| (i - 1, i, 0.3 + f64::from(i % 5))).collect();
    let hubs = (0..50).flat_map(|i| [(50, i, 1.0), (51, (i * 7) % 50, 2.5)]).collect();
    let pieces = (1..20).map(|i| (i - 1, i, 1.0)).chain((22..45).map(|i| (21, i, 1e-3 * f64::from(i)))).collect();
    vec![("star", 40, star), ("path", 60, path), ("hubs", 52, hubs), ("pieces", 46, pieces)]
}

fn graph(n: usize, edges: &[(u32, u32, f64)]) -> Graph {
    Graph::from_edges(n, edges).unwrap()
}

/// H, dense.
fn dense_system(graph: &Graph, params: &PropagatorParams) -> Matrix {
    let (n, adjacency, plain) = (graph.n_samples(), graph.adjacency(), graph.degree());
    let d = |row: usize| params.self_loop + plain[row];
    let mut h = Matrix::filled(n, n, 0.0);
    for row in 0..n {
        h.row_mut(row)[row] = 1.0 + params.graph_reg * plain[row] / d(row);
        for (&column, w) in adjacency.row(row).0.iter().zip(adjacency.row(row).1) {
            h.row_mut(row)[column as usize] -= params.graph_reg * w / (d(row) * d(column as usize)).sqrt();
        }
    }
    h
}

fn columns(n: usize, s: usize) -> Matrix {
    Matrix::new(n, s, (0..n * s).map(|at| ((at * 37 + 11) % 23) as f64 - 11.0).collect()).unwrap()
}

fn apart(a: &Matrix, b: &Matrix) -> f64 {
    let scale = b.values().iter().fold(0.0f64, |most, x| most.max(x.abs()));
    a.values().iter().zip(b.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / scale
}

#[test]
fn solutions_equal_the_dense_ones() {
    let run = Run::new(Some(2), 0).unwrap();
    for (name, n, edges) in graphs() {
        let graph = graph(n, &edges);
        for (graph_reg, self_loop) in [(0.0, 1.0), (1.0, 1.0), (20.0, 1.0), (20.0, 0.1), (1000.0, 1.0), (1e5, 1.0)] {
            let params = PropagatorParams { graph_reg, self_loop, ..PropagatorParams::default() };
            let propagator = Propagator::new(&graph, params, &run).unwrap();
            for s in [1, 7, 16, 35] {
                let f = columns(n, s);
                let exact = dense::solve_spd(&dense_system(&graph, &params), &f).unwrap();
                let found = propagator.solve(&f, 1e-10, &run).unwrap();
                assert!(apart(&found, &exact) < 1e-8, "{name} {graph_reg} {s}: {}", apart(&found, &exact));
                for (tol, most) in [(1e-2, 0.1), (1e-6, 2e-5), (1e-9, 1e-6)] {
                    let mut wide = Matrix::filled(n, s, 0.0);
                    let fill = |columns: Range<usize>, part: &mut [f32]| {
                        for (part, row) in part.chunks_exact_mut(columns.len()).zip(f.rows()) {
                            part.iter_mut().zip(&row[columns.clone()]).for_each(|(part, x)| *part = *x as f32);
                        }
                    };
                    propagator
                        .solve_wide(s, tol, &run, &fill, &mut |columns, part| {
                            for (row, part) in part.chunks_exact(columns.len()).enumerate() {
                                let out = &mut wide.row_mut(row)[columns.clone()];
                                out.iter_mut().zip(part).for_each(|(out, x)| *out = (*x).into());
                            }
                            Ok(())
                        })
                        .unwrap();
                    assert!(apart(&wide, &exact) < most, "{name} {graph_reg} {tol}: {}", apart(&wide, &exact));
                }
            }
        }
    }
}

#[test]
fn unfolding_is_its_recursion_and_ends_at_the_solution() {
    let run = Run::new(Some(2), 0).unwrap();
    for (name, n, edges) in graphs() {
        let graph = graph(n, &edges);
        for graph_reg in [0.5, 1.0, 20.0] {
            let params = PropagatorParams { graph_reg, steps: Some(5), ..PropagatorParams::default() };
            let h = dense_system(&graph, &params);
            let f = columns(n, 3);
            let mut z = f.clone();
            for _ in 0..5 {
                let mut product = vec![0.0; n * 3];
                crate::products::product(h.values(), z.values(), n, &mut product);
                let alpha = 1.0 / (1.0 + graph_reg);
                let terms = z.values_mut().iter_mut().zip(&product).zip(f.values());
                terms.for_each(|((z, hz), f)| *z -= alpha * (hz - f));
            }
            let found = Propagator::new(&graph, params, &run).unwrap().solve(&f, 1e-10, &run).unwrap();
            assert!(apart(&found, &z) < 1e-12, "{name}");
            let many = PropagatorParams { steps: Some((60.0 * (1.0 + graph_reg)) as usize), ..params };
            let found = Propagator::new(&graph, many, &run).unwrap().solve(&f, 1e-10, &run).unwrap();
            assert!(apart(&found, &dense::solve_spd(&h, &f).unwrap()) < 1e-6, "{name}");
        }
    }
}

#[test]
fn iterations_grow_like_the_root_of_the_weight() {
    let run = Run::new(Some(1), 0).unwrap();
    let edges: Vec<_> = (1..3000).map(|i| (i - 1, i, 1.0)).collect();
    let (path, f) = (graph(3000, &edges), columns(3000, 1));
    let passes = |graph_reg| {
        let params = PropagatorParams { graph_reg, ..PropagatorParams::default() };
        let propagator = Propagator::new(&path, params, &run).unwrap();
        propagator.solve(&f, 1e-8, &run).unwrap();
        propagator.n_passes()
    };
    let found: Vec<u64> = [1.0, 10.0, 100.0, 1000.0].map(passes).to_vec();
    assert!(found.windows(2).all(|pair| pair[1] as f64 <= 3.8 * pair[0] as f64) && found[3] < 400, "{found:?}");
}

#[test]
fn columns_of_any_scale_are_as_exact_as_their_neighbors() {
    let run = Run::new(Some(2), 0).unwrap();
    let (_, n, edges) = graphs().swap_remove(2);
    let graph = graph(n, &edges);
    // The largest λ for which single precision is used.
    let params = PropagatorParams { graph_reg: MOST_SINGLE, self_loop: 0.1, ..PropagatorParams::default() };
    let propagator = Propagator::new(&graph, params, &run).unwrap();
    let one = columns(n, 1);
    let exact = dense::solve_spd(&dense_system(&graph, &params), &one).unwrap();
    let scales = [1e-15, 1.0, 0.0, 1e12];
    let all: Vec<f64> = (0..n * 4).map(|at| one.values()[at / 4] * scales[at % 4]).collect();
    for tol in [1e-7, 1e-9, LEAST_REFINED] {
        let found = propagator.solve(&Matrix::new(n, 4, all.clone()).unwrap(), tol, &run).unwrap();
        for (column, scale) in scales.into_iter().enumerate().filter(|(_, scale)| *scale > 0.0) {
            let found = Matrix::new(n, 1, found.rows().map(|row| row[column] / scale).collect()).unwrap();
            assert!(apart(&found, &exact) < 1000.0 * tol, "{scale} {tol}: {}", apart(&found, &exact));
        }
        assert!(found.rows().all(|row| row[2] == 0.0));
    }
}

#[test]
fn columns_whose_squares_are_no_numbers_are_solved_for_as_well() {
    let run = Run::new(Some(2), 0).unwrap();
    for (name, n, edges) in graphs() {
        let graph = graph(n, &edges);
        let params = PropagatorParams { graph_reg: 10.0, ..PropagatorParams::default() };
        let propagator = Propagator::new(&graph, params, &run).unwrap();
        let one = columns(n, 1);
        let scales = [2f64.powi(-1000), 1.0, 2f64.powi(-300), 2f64.powi(900), 2f64.powi(-100)];
        let all: Vec<f64> = (0..n * 5).map(|at| one.values()[at / 5] * scales[at % 5]).collect();
        for tol in [1e-2, 1e-6, 1e-10] {
            let exact = propagator.solve(&one, tol, &run).unwrap();
            let found = propagator.solve(&Matrix::new(n, 5, all.clone()).unwrap(), tol, &run).unwrap();
            for (column, scale) in scales.into_iter().enumerate() {
                let found = Matrix::new(n, 1, found.rows().map(|row| row[column] / scale).collect()).unwrap();
                assert!(apart(&found, &exact) <= 10.0 * tol, "{name} {scale} {tol}: {}", apart(&found, &exact));
            }
        }
        let fill = |_: Range<usize>, part: &mut [f32]| {
            part.iter_mut().zip(one.values()).for_each(|(part, x)| *part = (x * 2f64.powi(-110)) as f32);
        };
        let exact = propagator.solve(&one, 1e-2, &run).unwrap();
        propagator
            .solve_wide(1, 1e-2, &run, &fill, &mut |_, part| {
                let found = part.iter().map(|x| f64::from(*x) * 2f64.powi(110)).collect();
                assert!(apart(&Matrix::new(n, 1, found).unwrap(), &exact) <= 0.1, "{name}");
                Ok(())
            })
            .unwrap();
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    // Enough rows to be reordered, with short and long edges.
    let n = 40_000u32;
    let edges: Vec<_> = (1..n).flat_map(|i| [(i - 1, i, 1.0), (i / 7, i, 0.5)]).filter(|e| e.0 + 1 < e.1).collect();
    let graph = graph(n as usize, &edges);
    let f = columns(n as usize, 19);
    let found: Vec<Matrix> = [1, 2, 7]
        .map(|threads| {
            let run = Run::new(Some(threads), 0).unwrap();
            Propagator::new(&graph, PropagatorParams::default(), &run).unwrap().solve(&f, 1e-7, &run).unwrap()
        })
        .into();
    assert!(found[0] == found[1] && found[1] == found[2]);
}

#[test]
fn what_cannot_be_is_refused() {
    let run = Run::new(Some(1), 0).unwrap();
    let pair = graph(2, &[(0, 1, 1.0)]);
    let text = |params| Propagator::new(&pair, params, &run).unwrap_err().to_string();
    let base = PropagatorParams::default();
    assert!(text(PropagatorParams { graph_reg: -1.0, ..base }).starts_with("graph_reg is -1;"));
    assert!(text(PropagatorParams { self_loop: 0.0, ..base }).starts_with("self_loop is 0;"));
    assert!(text(PropagatorParams { steps: Some(0), ..base }).starts_with("steps is 0;"));
    assert!(Propagator::with_degrees(&pair, &[1.0, f64::NAN], base, &run).is_err());
    let propagator = Propagator::new(&pair, base, &run).unwrap();
    assert!(propagator.solve(&columns(3, 1), 1e-6, &run).unwrap_err().to_string().contains("2 rows"));
}

#[test]
fn a_column_that_breaks_down_is_told_and_leaves_the_others_alone() {
    let run = Run::new(Some(2), 0).unwrap();
    let (_, n, edges) = graphs().swap_remove(2);
    let graph = graph(n, &edges);
    let params = PropagatorParams { graph_reg: 10.0, ..PropagatorParams::default() };
    let one = columns(n, 1);
    let broken: Vec<f64> = (0..2 * n).map(|at| if at % 2 == 0 { one.values()[at / 2] } else { f64::NAN }).collect();
    for tol in [1e-2, 1e-9, 1e-13] {
        let propagator = Propagator::new(&graph, params, &run).unwrap();
        let alone = propagator.solve(&one, tol, &run).unwrap();
        assert_eq!(propagator.shortfall(), None);
        let both = propagator.solve(&Matrix::new(n, 2, broken.clone()).unwrap(), tol, &run).unwrap();
        let shortfall = propagator.shortfall().unwrap();
        assert!(shortfall.residual.is_nan() && shortfall.tol == tol, "{shortfall:?}");
        let found = Matrix::new(n, 1, both.rows().map(|row| row[0]).collect()).unwrap();
        assert!(apart(&found, &alone) < 10.0 * tol, "{tol}: {}", apart(&found, &alone));
    }
}
