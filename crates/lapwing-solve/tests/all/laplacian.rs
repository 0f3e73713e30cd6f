//! The Laplacian solver on graphs where solvers go wrong first, against dense elimination without subtractions.

use crate::testkit::{cube, dense_laplacian_solve, grid, nasty_graphs, preferential_attachment};
use lapwing_core::{Matrix, Run};
use lapwing_solve::{
    Components, FallbackLevel, Graph, LaplacianParams, LaplacianSolver, NormalizedSolver, PreconditionerChoice, Stop,
};

fn run() -> Run {
    Run::new(Some(2), 1).unwrap()
}

fn params(preconditioner: PreconditionerChoice, tol: f64) -> LaplacianParams {
    LaplacianParams { preconditioner, tol, ..LaplacianParams::default() }
}

/// Right-hand sides that look random, each adding up to 0 over every component.
fn right_hand_sides(components: &Components, s: usize) -> Matrix {
    let n = components.id.len();
    let mut b = Matrix::new(n, s, (0..n * s).map(|i| ((i * 7919 + 13) % 101) as f64 / 50.0 - 1.0).collect()).unwrap();
    for c in 0..s {
        let mut sums = vec![0.0; components.sizes.len()];
        (0..n).for_each(|row| sums[components.id[row] as usize] += b.row(row)[c]);
        for row in 0..n {
            let id = components.id[row] as usize;
            b.row_mut(row)[c] -= sums[id] / components.sizes[id] as f64;
        }
    }
    b
}

fn all_graphs() -> Vec<(&'static str, Graph)> {
    let mut graphs = nasty_graphs();
    graphs.push(("grid", grid(40, 40, 0.0)));
    graphs.push(("grid over twelve orders", grid(30, 30, 12.0)));
    graphs.push(("preferential attachment", preferential_attachment(1500, 4)));
    graphs
}

#[test]
fn solutions_agree_with_dense_elimination_on_nasty_graphs() {
    use PreconditionerChoice::{ApproxCholesky, Auto, Cholesky, Jacobi, TwoLevel};
    for (name, graph) in all_graphs() {
        let components = graph.components();
        let n = graph.n_samples();
        let b = right_hand_sides(&components, 3);
        let grounded: Vec<f64> = (0..n).map(|i| if i % 7 == 0 { 0.5 + i as f64 } else { 0.0 }).collect();
        let everywhere: Vec<f64> = (0..n).map(|i| 1e-3 + (i % 5) as f64).collect();
        for diagonal in [None, Some(grounded), Some(everywhere)] {
            let expected = dense_laplacian_solve(&graph, diagonal.as_deref(), &b);
            let scale = expected.values().iter().fold(0.0f64, |most, v| most.max(v.abs()));
            for choice in [Auto, ApproxCholesky, Cholesky, Jacobi, TwoLevel] {
                if [Jacobi, TwoLevel].contains(&choice) && name.contains("orders") {
                    continue;
                }
                let params = LaplacianParams { max_fill: f64::INFINITY, ..params(choice, 1e-13) };
                let solver = LaplacianSolver::new(&graph, diagonal.as_deref(), params, &run()).unwrap();
                let (x, info) = solver.solve(&b, None, &run()).unwrap();
                let worst = x.values().iter().zip(expected.values()).map(|(x, e)| (x - e).abs()).fold(0.0, f64::max);
                assert!(worst <= 1e-10 * scale, "{name}, {choice:?}: off by {:.1e}; {info:?}", worst / scale);
                let is_rounding = info.reason == Stop::Rounding && !info.converged;
                assert!(is_rounding || info.converged, "{name}, {choice:?}: {info:?}");
                assert!(is_rounding || info.residuals.iter().all(|r| *r <= 1.01e-13), "{name}, {choice:?}: {info:?}");
            }
        }
    }
}

#[test]
fn what_no_solution_can_reach_is_reported() {
    let (_, graph) = nasty_graphs().into_iter().find(|(name, _)| *name == "two components").unwrap();
    let n = graph.n_samples();
    let solver = LaplacianSolver::new(&graph, None, LaplacianParams::default(), &run()).unwrap();
    assert_eq!(solver.n_singular_components(), 2);
    // Constant on the first component: nothing of it is in the range; on top of a column that is.
    let mut b = Matrix::filled(n, 2, 0.0);
    (0..8).for_each(|row| b.row_mut(row)[0] = 1.0);
    (b.row_mut(9)[1], b.row_mut(10)[1]) = (1.0, -1.0);
    let (x, info) = solver.solve(&b, None, &run()).unwrap();
    assert!((info.discarded[0] - 1.0).abs() < 1e-12 && info.discarded[1] < 1e-12);
    assert!(x.rows().all(|row| row[0].abs() < 1e-12));
    assert!(info.converged);
    let sum: f64 = x.rows().skip(8).map(|row| row[1]).sum();
    assert!(sum.abs() < 1e-10, "the solution of least norm has mean zero");
    // A diagonal on the first component leaves the second singular.
    let diagonal: Vec<f64> = (0..n).map(|row| if row < 8 { 1.0 } else { 0.0 }).collect();
    let solver = LaplacianSolver::new(&graph, Some(&diagonal), LaplacianParams::default(), &run()).unwrap();
    assert_eq!(solver.n_singular_components(), 1);
    let (x, info) = solver.solve(&b, None, &run()).unwrap();
    assert!(info.converged && info.discarded.iter().all(|d| *d < 1e-12));
    assert!((0..8).all(|row| (x.row(row)[0] - 1.0).abs() < 1e-7));
}

#[test]
fn normalized_systems_are_those_of_the_definition() {
    for (name, graph) in all_graphs() {
        let n = graph.n_samples();
        let b = Matrix::new(n, 2, (0..2 * n).map(|i| ((i * 31) % 17) as f64 - 8.0).collect()).unwrap();
        let degree = graph.degree();
        let choices = [PreconditionerChoice::Auto, PreconditionerChoice::TwoLevel];
        for (lambda, choice) in [0.0, 0.3, 20.0].into_iter().flat_map(|lambda| choices.map(|choice| (lambda, choice))) {
            let asked = params(choice, 1e-12);
            let solver = NormalizedSolver::new(&graph, lambda, asked, &run()).unwrap();
            let (x, info) = solver.solve(&b, None, &run()).unwrap();
            assert!(info.converged, "{name}, {lambda}: {info:?}");
            for row in 0..n {
                let (columns, weights) = graph.adjacency().row(row);
                for c in 0..2 {
                    let neighbors: f64 = columns
                        .iter()
                        .zip(weights)
                        .map(|(&j, w)| w / (degree[row] * degree[j as usize]).sqrt() * x.row(j as usize)[c])
                        .sum();
                    let own = if degree[row] > 0.0 { (1.0 + lambda) * x.row(row)[c] } else { x.row(row)[c] };
                    assert!((own - lambda * neighbors - b.row(row)[c]).abs() < 1e-8, "{name}, {lambda}");
                }
            }
        }
    }
}

#[test]
fn zero_mean_solutions_minimize_over_zero_mean_vectors() {
    for (name, graph) in [("grid", grid(60, 50, 3.0)), ("preferential attachment", preferential_attachment(2000, 5))] {
        let n = graph.n_samples();
        let diagonal: Vec<f64> = (0..n).map(|i| if i % 500 == 3 { 2.0 } else { 0.0 }).collect();
        let mut b = Matrix::filled(n, 1, 0.0);
        (b.row_mut(3)[0], b.row_mut(503)[0], b.row_mut(1003)[0]) = (1.0, 2.0, -3.0);
        for choice in
            [PreconditionerChoice::Jacobi, PreconditionerChoice::TwoLevel, PreconditionerChoice::ApproxCholesky]
        {
            let asked = LaplacianParams { zero_mean: true, ..params(choice, 1e-11) };
            let solver = LaplacianSolver::new(&graph, Some(&diagonal), asked, &run()).unwrap();
            let (x, info) = solver.solve(&b, None, &run()).unwrap();
            assert!(info.converged, "{name}, {choice:?}: {info:?}");
            assert!(x.rows().map(|row| row[0]).sum::<f64>().abs() < 1e-9);
            // (L + D)x − b is a multiple of 1.
            let residual: Vec<f64> = (0..n)
                .map(|row| {
                    let (columns, weights) = graph.adjacency().row(row);
                    let own = x.row(row)[0];
                    let flow: f64 = columns.iter().zip(weights).map(|(&j, w)| w * (own - x.row(j as usize)[0])).sum();
                    flow + diagonal[row] * own - b.row(row)[0]
                })
                .collect();
            let mean = residual.iter().sum::<f64>() / n as f64;
            assert!(residual.iter().all(|r| (r - mean).abs() < 1e-8), "{name}, {choice:?}");
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let graph = grid(150, 120, 4.0);
    let n = graph.n_samples();
    let diagonal: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i % 1000 == 0))).collect();
    let systems = [(None, 1), (Some(diagonal), 5)].into_iter();
    let choices = [PreconditionerChoice::ApproxCholesky, PreconditionerChoice::TwoLevel];
    for ((diagonal, s), choice) in systems.flat_map(|system| choices.map(|choice| (system.clone(), choice))) {
        let b = right_hand_sides(&graph.components(), s);
        let solutions: Vec<Matrix> = [1, 2, 7]
            .iter()
            .map(|&threads| {
                let run = Run::new(Some(threads), 5).unwrap();
                let solver = LaplacianSolver::new(&graph, diagonal.as_deref(), params(choice, 1e-9), &run).unwrap();
                let (x, info) = solver.solve(&b, None, &run).unwrap();
                assert!(info.converged);
                x
            })
            .collect();
        assert!(solutions[0] == solutions[1] && solutions[1] == solutions[2]);
    }
}

#[test]
fn a_start_near_the_solution_saves_iterations() {
    let graph = grid(120, 120, 2.0);
    let b = right_hand_sides(&graph.components(), 1);
    let params = params(PreconditionerChoice::ApproxCholesky, 1e-8);
    let solver = LaplacianSolver::new(&graph, None, params, &run()).unwrap();
    let (x, cold) = solver.solve(&b, None, &run()).unwrap();
    let (again, warm) = solver.solve(&b, Some(&x), &run()).unwrap();
    assert_eq!(warm.iterations, [0]);
    assert!(cold.iterations[0] > 5 && again.values().iter().zip(x.values()).all(|(a, b)| (a - b).abs() < 1e-12));
}

#[test]
fn a_start_far_from_the_solution_needs_no_factor_where_none_is_needed_from_zero() {
    let graph = preferential_attachment(5000, 6);
    let n = graph.n_samples();
    let diagonal: Vec<f64> = (0..n).map(|i| 1e-3 + (i % 5) as f64).collect();
    let b = right_hand_sides(&graph.components(), 1);
    let far = Matrix::new(n, 1, (0..n).map(|i| 1e3 * (i % 7) as f64).collect()).unwrap();
    let tight = params(PreconditionerChoice::Auto, 1e-13);
    let solver = LaplacianSolver::new(&graph, Some(&diagonal), tight, &run()).unwrap();
    for start in [None, Some(&far)] {
        let (_, info) = solver.solve(&b, start, &run()).unwrap();
        assert!(info.converged && info.iterations[0] < 100, "{info:?}");
        assert_eq!(info.preconditioners, [FallbackLevel::Jacobi]);
    }
}

#[test]
fn auto_tells_meshes_from_graphs_that_mix() {
    let choice = |graph: &Graph, diagonal: Option<&[f64]>| {
        LaplacianSolver::new(graph, diagonal, LaplacianParams::default(), &run()).unwrap().preconditioner()
    };
    let mesh = grid(200, 200, 0.0);
    assert_eq!(choice(&mesh, None), PreconditionerChoice::ApproxCholesky);
    assert_eq!(choice(&mesh, Some(&vec![1.0; 40_000])), PreconditionerChoice::Jacobi);
    assert_eq!(choice(&preferential_attachment(20_000, 8), None), PreconditionerChoice::Jacobi);
    assert_eq!(choice(&cube(20), None), PreconditionerChoice::TwoLevel);
    assert_eq!(choice(&grid(60, 60, 2.0), None), PreconditionerChoice::Cholesky);
    let hub = Graph::from_edges(1000, &(1..1000).map(|v| (0, v, v as f64)).collect::<Vec<_>>()).unwrap();
    assert_ne!(choice(&hub, None), PreconditionerChoice::Cholesky);
}

#[test]
fn cells_spare_the_diagonal_most_of_its_iterations() {
    let graph = cube(24);
    let n = graph.n_samples();
    let b = right_hand_sides(&graph.components(), 3);
    // Known values, far heavier than the edges, lie in no cell.
    let known: Vec<f64> = (0..n).map(|i| if i % 700 == 5 { 1e6 } else { 0.0 }).collect();
    for diagonal in [None, Some(known)] {
        let [jacobi, two_level] = [PreconditionerChoice::Jacobi, PreconditionerChoice::TwoLevel].map(|choice| {
            let asked = params(choice, 1e-10);
            let solver = LaplacianSolver::new(&graph, diagonal.as_deref(), asked, &run()).unwrap();
            let (x, info) = solver.solve(&b, None, &run()).unwrap();
            assert!(info.converged, "{info:?}");
            (x, *info.iterations.iter().max().unwrap())
        });
        assert!(3 * two_level.1 < 2 * jacobi.1, "{} and {}", two_level.1, jacobi.1);
        let scale = jacobi.0.values().iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let mut pairs = jacobi.0.values().iter().zip(two_level.0.values());
        assert!(pairs.all(|(a, b)| (a - b).abs() < 1e-7 * scale));
    }
}

#[test]
fn graphs_without_a_cell_are_solved_by_the_diagonal_of_two_levels() {
    for graph in [grid(20, 20, 0.0), Graph::from_edges(50, &[]).unwrap()] {
        let n = graph.n_samples();
        let heavy = vec![1e9; n];
        let two_level = params(PreconditionerChoice::TwoLevel, 1e-10);
        let solver = LaplacianSolver::new(&graph, Some(&heavy), two_level, &run()).unwrap();
        let b = Matrix::filled(n, 2, 3.0);
        let (x, info) = solver.solve(&b, None, &run()).unwrap();
        assert!(info.converged && x.values().iter().all(|x| (x * 1e9 - 3.0).abs() < 1e-8), "{info:?}");
    }
}

#[test]
fn iterations_that_run_out_are_reported_with_the_residual_reached() {
    let graph = grid(100, 100, 6.0);
    let b = right_hand_sides(&graph.components(), 1);
    let few = LaplacianParams { max_iter: 7, ..params(PreconditionerChoice::Jacobi, 1e-10) };
    let solver = LaplacianSolver::new(&graph, None, few, &run()).unwrap();
    let (x, info) = solver.solve(&b, None, &run()).unwrap();
    assert!(!info.converged && info.reason == Stop::MaxIter && info.iterations == [7]);
    let mut square = 0.0;
    for row in 0..graph.n_samples() {
        let (columns, weights) = graph.adjacency().row(row);
        let flow: f64 = columns.iter().zip(weights).map(|(&j, w)| w * (x.row(row)[0] - x.row(j as usize)[0])).sum();
        square += (b.row(row)[0] - flow).powi(2);
    }
    let norm = b.values().iter().map(|v| v * v).sum::<f64>().sqrt();
    assert!((square.sqrt() / norm - info.residuals[0]).abs() < 1e-10);
}

/// Two clusters that mix at once, joined by a long chain: the trial looks easy, the solve is not.
fn two_clusters_and_a_chain() -> Graph {
    let blob = preferential_attachment(3000, 6);
    let mut edges: Vec<(u32, u32, f64)> = Vec::new();
    for row in 0..3000u32 {
        for &column in blob.adjacency().row(row as usize).0.iter().filter(|&&column| column > row) {
            edges.extend([(row, column, 1.0), (row + 5000, column + 5000, 1.0)]);
        }
    }
    edges.extend((2999..5000).map(|v| (v, v + 1, 1.0)));
    Graph::from_edges(8000, &edges).unwrap()
}

#[test]
fn a_jacobi_iteration_that_is_too_slow_gives_way_to_a_factor() {
    let graph = two_clusters_and_a_chain();
    let solver = LaplacianSolver::new(&graph, None, LaplacianParams::default(), &run()).unwrap();
    let mut b = Matrix::filled(8000, 1, 0.0);
    (b.row_mut(0)[0], b.row_mut(7999)[0]) = (1.0, -1.0);
    let (_, info) = solver.solve(&b, None, &run()).unwrap();
    assert!(info.converged, "{info:?}");
    assert!(info.preconditioners.contains(&FallbackLevel::ApproxCholesky), "{:?}", info.preconditioners);
}

#[test]
fn solves_at_the_same_time_keep_one_factor() {
    let graph = two_clusters_and_a_chain();
    let mut b = Matrix::filled(8000, 1, 0.0);
    (b.row_mut(0)[0], b.row_mut(7999)[0]) = (1.0, -1.0);
    let solver = || LaplacianSolver::new(&graph, None, LaplacianParams::default(), &run()).unwrap();
    let (alone, shared) = (solver(), solver());
    alone.solve(&b, None, &run()).unwrap();
    let all_ready = std::sync::Barrier::new(3);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                all_ready.wait();
                let (_, info) = shared.solve(&b, None, &run()).unwrap();
                assert!(info.converged, "{info:?}");
            });
        }
    });
    assert!(alone.n_factor_entries() > 0);
    assert_eq!(shared.n_factor_entries(), alone.n_factor_entries());
}

#[test]
fn bad_systems_are_named() {
    let text = |graph: &Graph, diagonal: Option<&[f64]>, params| {
        LaplacianSolver::new(graph, diagonal, params, &run()).unwrap_err().to_string()
    };
    let path = Graph::from_edges(3, &[(0, 1, 1.0), (1, 2, 2.0)]).unwrap();
    let defaults = LaplacianParams::default;
    assert!(text(&path, Some(&[1.0, 2.0]), defaults()).contains("3 values"));
    assert!(text(&path, Some(&[1.0, -2.0, 0.0]), defaults()).contains("row 1 of diagonal holds -2"));
    assert!(text(&path, None, LaplacianParams { tol: 0.0, ..defaults() }).contains("tol is 0"));
    let solver = LaplacianSolver::new(&path, None, defaults(), &run()).unwrap();
    let wrong = Matrix::new(3, 1, vec![1.0, f64::NAN, 0.0]).unwrap();
    let refused = solver.solve(&wrong, None, &run()).unwrap_err().to_string();
    assert!(refused.starts_with("row 1 of right-hand side holds NaN"), "{refused}");
    let grid = grid(100, 100, 0.0);
    let complete = LaplacianParams { max_fill: 0.5, ..params(PreconditionerChoice::Cholesky, 1e-8) };
    let tight = LaplacianParams { max_fill: 0.5, ..params(PreconditionerChoice::ApproxCholesky, 1e-8) };
    assert!(text(&grid, None, tight).contains("approximate Cholesky factor"));
    assert!(text(&grid, None, complete).contains("complete Cholesky factor beyond max_fill"));
}

/// Weights may be finite and their sum may not; whatever order the solver works in, the row is the caller's.
#[test]
fn a_degree_beyond_f64_is_named_by_its_row() {
    // A path through the rows in steps of 7.
    let row = |v: u32| 7 * v % 1000;
    let path = |weight: f64| {
        let edge = |v| (row(v), row(v + 1), if v == 700 || v == 701 { weight } else { 1.0 });
        Graph::from_edges(1000, &(0..999).map(edge).collect::<Vec<_>>())
    };
    assert!(path(1e308).unwrap_err().to_string().contains("the weights at node 907 add up"));
    let (path, mut diagonal) = (path(4e307).unwrap(), vec![0.0; 1000]);
    diagonal[907] = 1.5e308;
    for choice in [PreconditionerChoice::Auto, PreconditionerChoice::Jacobi, PreconditionerChoice::ApproxCholesky] {
        let refused = LaplacianSolver::new(&path, Some(&diagonal), params(choice, 1e-8), &run()).unwrap_err();
        assert!(refused.to_string().starts_with("row 907 of the diagonal holds inf"), "{choice:?}: {refused}");
    }
}

#[test]
fn scales_from_one_end_of_f64_to_the_other_change_nothing() {
    let graph = preferential_attachment(1000, 5);
    let n = graph.n_samples();
    let diagonal = vec![1.0; n];
    let b = right_hand_sides(&graph.components(), 1);
    let solver = LaplacianSolver::new(&graph, Some(&diagonal), LaplacianParams::default(), &run()).unwrap();
    let (expected, _) = solver.solve(&b, None, &run()).unwrap();
    for exponent in [-1000i32, -560, -300, 140, 530, 1000] {
        let factor = 2f64.powi(exponent);
        let mut scaled = b.clone();
        scaled.values_mut().iter_mut().for_each(|v| *v *= factor);
        let (x, info) = solver.solve(&scaled, None, &run()).unwrap();
        assert!(info.converged && info.iterations[0] > 0, "2^{exponent}: {info:?}");
        assert!(x.values().iter().zip(expected.values()).all(|(x, e)| *x == e * factor), "2^{exponent}");
    }
    // Weights as light as single precision cannot hold.
    let light: Vec<(u32, u32, f64)> = (0..n as u32 - 1).map(|v| (v, v + 1, 1e-45)).collect();
    let path = Graph::from_edges(n, &light).unwrap();
    let solver = LaplacianSolver::new(&path, Some(&vec![1e-45; n]), LaplacianParams::default(), &run()).unwrap();
    let (_, info) = solver.solve(&b, None, &run()).unwrap();
    assert!(info.converged, "{info:?}");
}

#[test]
fn parts_that_hang_by_a_thread_are_never_a_silent_wrong_answer() {
    for thread in [1e-17, 1e-30, 1e-60] {
        let edges: Vec<(u32, u32, f64)> = (0..99).map(|v| (v, v + 1, if v == 49 { thread } else { 1.0 })).collect();
        let path = Graph::from_edges(100, &edges).unwrap();
        let b = right_hand_sides(&path.components(), 1);
        for choice in [PreconditionerChoice::Auto, PreconditionerChoice::Jacobi] {
            let solver = LaplacianSolver::new(&path, None, params(choice, 1e-8), &run()).unwrap();
            let (_, info) = solver.solve(&b, None, &run()).unwrap();
            assert!(!info.converged || info.residuals[0] <= 1.01e-8, "{thread}, {choice:?}: {info:?}");
        }
    }
}

#[test]
fn a_residual_above_the_tolerance_is_never_called_converged() {
    // Two triangles of weights 1 and 1e-10 on a bridge of 1e-12: potentials of 1e11 round off residuals of 1e-5.
    let triangle = |first: u32, w: f64| [(first, first + 1, w), (first, first + 2, w), (first + 1, first + 2, w)];
    let edges = [triangle(0, 1.0).as_slice(), &triangle(3, 1e-10), &[(2, 3, 1e-12)]].concat();
    let graph = Graph::from_edges(6, &edges).unwrap();
    let b = Matrix::new(6, 1, vec![0.5, 0.0, 0.0, 0.0, 0.0, -0.5]).unwrap();
    let solver = LaplacianSolver::new(&graph, None, params(PreconditionerChoice::Auto, 1e-6), &run()).unwrap();
    let (_, info) = solver.solve(&b, None, &run()).unwrap();
    assert!(info.residuals[0] > 1e-6, "the case has lost its point: {info:?}");
    assert!(!info.converged && info.reason == Stop::Rounding, "{info:?}");
}

#[test]
fn blocks_without_columns_and_systems_without_rows_are_solved() {
    let path = Graph::from_edges(700, &(0..699).map(|v| (v, v + 1, 1.0)).collect::<Vec<_>>()).unwrap();
    let solver = LaplacianSolver::new(&path, None, LaplacianParams::default(), &run()).unwrap();
    let none = Matrix::filled(700, 0, 0.0);
    assert_eq!(solver.solve(&none, None, &run()).unwrap().0, none);
    assert_eq!(solver.precondition(&none, &run()).unwrap(), none);
    let empty = Graph::from_edges(0, &[]).unwrap();
    let solver = LaplacianSolver::new(&empty, None, LaplacianParams::default(), &run()).unwrap();
    assert!(solver.solve(Matrix::filled(0, 2, 0.0), None, &run()).unwrap().1.converged);
}

#[test]
fn a_factor_nobody_asked_for_may_not_be_an_error() {
    let mesh = grid(60, 60, 0.0);
    let tight = LaplacianParams { max_fill: 0.5, ..LaplacianParams::default() };
    let solver = LaplacianSolver::new(&mesh, None, tight, &run()).unwrap();
    assert_eq!(solver.preconditioner(), PreconditionerChoice::TwoLevel);
    let b = right_hand_sides(&mesh.components(), 1);
    assert!(solver.solve(&b, None, &run()).unwrap().1.residuals[0].is_finite());
}

#[test]
fn columns_of_a_wide_block_are_solved_as_they_are_alone() {
    let graph = grid(40, 30, 1.0);
    let b = right_hand_sides(&graph.components(), 37);
    let start = Matrix::new(1200, 37, (0..1200 * 37).map(|i| ((i * 13) % 7) as f64).collect()).unwrap();
    let solver = LaplacianSolver::new(&graph, None, LaplacianParams::default(), &run()).unwrap();
    for start in [None, Some(&start)] {
        let (x, info) = solver.solve(&b, start, &run()).unwrap();
        assert!(info.converged && info.iterations.len() == 37 && info.residuals.len() == 37);
        assert_eq!((info.discarded.len(), info.curve.len()), (37, info.n_iter()));
        for column in [0, 12, 13, 36] {
            let one = |block: &Matrix| Matrix::new(1200, 1, block.rows().map(|row| row[column]).collect()).unwrap();
            let (alone, _) = solver.solve(one(&b), start.map(one).as_ref(), &run()).unwrap();
            assert_eq!(one(&x), alone, "column {column}");
        }
    }
}
