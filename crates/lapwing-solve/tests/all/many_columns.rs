//! Systems of few rows for many right-hand sides, whose blocks of columns are solved side by side.

use crate::testkit::{grid, nasty_graphs, preferential_attachment};
use lapwing_core::{Matrix, Run};
use lapwing_solve::{LaplacianParams, LaplacianSolver, Stop};

#[test]
fn a_loose_tolerance_is_reached_with_the_same_bits_for_any_number_of_threads() {
    let mut graphs = nasty_graphs();
    graphs.push(("grid", grid(40, 40, 0.0)));
    graphs.push(("preferential attachment", preferential_attachment(1500, 4)));
    for (name, graph) in graphs {
        let (n, s) = (graph.n_samples(), 37);
        // One column is zero.
        let value = |at: usize| if at % s == 20 { 0.0 } else { ((at * 7919 + 13) % 101) as f64 / 50.0 - 1.0 };
        let b = Matrix::new(n, s, (0..n * s).map(value).collect()).unwrap();
        let diagonal: Vec<f64> = (0..n).map(|row| if row % 7 == 0 { 0.5 } else { 0.0 }).collect();
        let solved = |threads: usize| {
            let run = Run::new(Some(threads), 1).unwrap();
            let params = LaplacianParams { tol: 1e-4, ..LaplacianParams::default() };
            let solver = LaplacianSolver::new(&graph, Some(&diagonal), params, &run).unwrap();
            solver.solve(&b, None, &run).unwrap()
        };
        let (x, info) = solved(1);
        assert!(info.converged || info.reason == Stop::Rounding, "{name}: {info:?}");
        assert_eq!((info.iterations.len(), info.residuals.len(), info.iterations[20]), (s, s, 0), "{name}");
        assert!(x.rows().all(|row| row[20] == 0.0), "{name}");
        for threads in [2, 7] {
            let (again, other) = solved(threads);
            assert_eq!(x.values(), again.values(), "{name}");
            assert_eq!((&info.iterations, &info.residuals), (&other.iterations, &other.residuals), "{name}");
        }
    }
}
