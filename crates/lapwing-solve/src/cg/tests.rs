//! Conjugate gradients against dense solutions.

use proptest::prelude::*;

use super::*;
use crate::precond::Jacobi;
use crate::{Graph, SddMatrix, dense};

/// A connected weighted graph of n nodes: a path with chords.
fn graph(n: usize, seed: u64) -> Graph {
    let mut edges = Vec::new();
    for i in 0..n {
        for j in 0..i {
            let hash = (i as u64 * 7919 + j as u64 * 104_729 + seed * 31) % 97;
            if j + 1 == i || hash < 20 {
                let weight = 0.1 + hash as f64 / 10.0;
                edges.push((i as u32, j as u32, weight));
            }
        }
    }
    Graph::from_edges(n, &edges).unwrap()
}

fn dense_of(op: &SddMatrix<'_>) -> Matrix {
    let n = op.n();
    let mut eye = Matrix::filled(n, n, 0.0);
    (0..n).for_each(|i| eye.row_mut(i)[i] = 1.0);
    let mut out = Matrix::filled(n, n, 0.0);
    op.product(eye.values(), out.values_mut(), n);
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn solutions_equal_the_dense_ones(n in 3usize..40, s in 1usize..12, seed in 0u64..1000, weight in 0.01..50.0f64) {
        let run = Run::new(Some(2), 0).unwrap();
        let w = graph(n, seed);
        let mut c = vec![0.0; n];
        c[0] = weight;
        c[n / 2] = 2.5;
        let op = SddMatrix::new(&w, c.clone()).unwrap();
        let mut b = Matrix::filled(n, s, 0.0);
        b.values_mut().iter_mut().enumerate().for_each(|(i, v)| *v = ((i * 37 + seed as usize) % 19) as f64 - 9.0);
        let params = CgParams { tol: 1e-11, max_iter: 1000, ..CgParams::default() };
        let jacobi = Jacobi::new(op.diagonal()).unwrap();
        let (x, info) = solve(&op, (&jacobi).into(), Projection::None, &b, None, params, &run).unwrap();
        prop_assert!(info.converged, "{info:?}");
        let exact = dense::solve_spd(&dense_of(&op), &b).unwrap();
        let scale = exact.values().iter().fold(0.0f64, |m, v| m.max(v.abs()));
        for (a, e) in x.values().iter().zip(exact.values()) {
            prop_assert!((a - e).abs() <= 1e-7 * scale);
        }
    }

    #[test]
    fn reported_residuals_are_true(n in 3usize..60, seed in 0u64..1000) {
        let run = Run::new(Some(1), 0).unwrap();
        let w = graph(n, seed);
        let shift = vec![0.01; n];
        let op = SddMatrix::new(&w, shift.clone()).unwrap();
        let b = Matrix::new(n, 1, (0..n).map(|i| ((i * i) % 7) as f64 - 2.0).collect()).unwrap();
        let jacobi = Jacobi::new(op.diagonal()).unwrap();
        let params = CgParams { tol: 1e-3, max_iter: 5, ..CgParams::default() };
        let (x, info) = solve(&op, (&jacobi).into(), Projection::None, &b, None, params, &run).unwrap();
        let mut product = vec![0.0; n];
        op.product(x.values(), &mut product, 1);
        let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
        let rest = norm(&mut b.values().iter().zip(&product).map(|(b, p)| b - p));
        let residual = rest / norm(&mut b.values().iter().copied());
        prop_assert!((info.residuals[0] - residual).abs() <= 1e-12);
        prop_assert_eq!(info.converged, residual <= 1e-3 * 1.01);
    }
}

/// Rounding the direction of a heavy row to f32 leaves a mean that no later direction removes.
#[test]
fn restarts_take_away_the_mean_that_rounded_directions_leave() {
    let run = Run::new(Some(2), 0).unwrap();
    for n in [20, 50] {
        let w = graph(n, 6);
        let mut c = vec![0.0; n];
        (c[0], c[n / 2]) = (1e8, 1.0);
        let op = SddMatrix::new(&w, c.clone()).unwrap();
        let mut b = Matrix::filled(n, 3, 0.0);
        (b.row_mut(0)[0], b.row_mut(n / 2)[0]) = (1.0, -1.0);
        (b.row_mut(1)[2], b.row_mut(2)[2]) = (1.0, -1.0);
        let params = CgParams { tol: 1e-9, max_iter: 1000, ..CgParams::default() };
        let (jacobi, ones) = (Jacobi::new(op.diagonal()).unwrap(), Projection::OrthogonalToOnes(&c));
        let single: (&dyn Operator<f32>, Inverse<'_, f32>) = (&op, (&jacobi).into());
        let inverse = (&jacobi).into();
        let single = Some(single);
        let system = System { operator: &op, inverse, single, refreshed: None, projection: ones, params, run: &run };
        let (x, info) = system.solve(&(&b).into(), None, None).unwrap();
        assert!(info.converged && info.iterations[0] < 60, "{n}: {info:?}");
        assert!(x.rows().all(|row| row[1] == 0.0));
    }
}

#[test]
fn zero_mean_projection_solves_the_singular_system() {
    let run = Run::new(Some(2), 0).unwrap();
    let n = 50;
    let w = graph(n, 3);
    let op = SddMatrix::new(&w, vec![0.0; n]).unwrap();
    let mut b = Matrix::filled(n, 2, 0.0);
    (b.row_mut(3)[0], b.row_mut(40)[0], b.row_mut(0)[1], b.row_mut(9)[1]) = (1.0, -1.0, 2.0, -2.0);
    let params = CgParams { tol: 1e-12, max_iter: 1000, ..CgParams::default() };
    let jacobi = Jacobi::new(op.diagonal()).unwrap();
    let (x, info) = solve(&op, (&jacobi).into(), Projection::ZeroMean, &b, None, params, &run).unwrap();
    assert!(info.converged, "{info:?}");
    for c in 0..2 {
        assert!(x.rows().map(|row| row[c]).sum::<f64>().abs() < 1e-10);
    }
    let mut product = vec![0.0; n * 2];
    op.product(x.values(), &mut product, 2);
    assert!(product.iter().zip(b.values()).all(|(p, b)| (p - b).abs() < 1e-10));
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let n = 9000;
    let edges: Vec<_> = (0..n as u32 - 1).map(|i| (i, i + 1, 1.0 + f64::from(i % 7))).collect();
    let w = Graph::from_edges(n, &edges).unwrap();
    let shift: Vec<f64> = (0..n).map(|i| if i % 100 == 0 { 1.0 } else { 0.0 }).collect();
    let op = SddMatrix::new(&w, shift.clone()).unwrap();
    let b = Matrix::new(n, 3, (0..3 * n).map(|i| ((i * 31) % 17) as f64 - 8.0).collect()).unwrap();
    let solutions: Vec<Matrix> = [1, 2, 7]
        .iter()
        .map(|&threads| {
            let run = Run::new(Some(threads), 0).unwrap();
            let jacobi = Jacobi::new(op.diagonal()).unwrap();
            solve(&op, (&jacobi).into(), Projection::None, &b, None, CgParams::default(), &run).unwrap().0
        })
        .collect();
    assert!(solutions[0] == solutions[1] && solutions[1] == solutions[2]);
}

#[test]
fn a_zero_right_hand_side_has_the_solution_zero() {
    let run = Run::new(Some(1), 0).unwrap();
    let w = graph(10, 1);
    let op = SddMatrix::new(&w, vec![1.0; 10]).unwrap();
    let mut b = Matrix::filled(10, 2, 0.0);
    b.row_mut(4)[1] = 1.0;
    let (start, jacobi) = (Matrix::filled(10, 2, 5.0), Jacobi::new(op.diagonal()).unwrap());
    let (x, info) = solve(&op, (&jacobi).into(), Projection::None, &b, Some(start), CgParams::default(), &run).unwrap();
    assert!(info.converged && x.rows().all(|row| row[0] == 0.0));
}

/// M⁻¹ = diag(A)⁻¹ with errors of up to 30 % that change with every application.
struct Varying {
    jacobi: Jacobi,
    count: std::sync::atomic::AtomicUsize,
}

impl crate::precond::Preconditioner for Varying {
    fn apply(&self, r: &[f64], z: &mut [f64], s: usize, _: &Run) -> Result<()> {
        let count = self.count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        for (row, (z, r)) in z.chunks_exact_mut(s).zip(r.chunks_exact(s)).enumerate() {
            let off = 1.0 + 0.3 * (((row * 7 + count * 13) % 11) as f64 / 5.0 - 1.0);
            z.iter_mut().zip(r).for_each(|(z, r)| *z = off * self.jacobi.values()[row] * r);
        }
        Ok(())
    }
}

#[test]
fn flexible_directions_bear_a_preconditioner_that_varies() {
    let run = Run::new(Some(2), 0).unwrap();
    let n = 60;
    let w = graph(n, 5);
    let op = SddMatrix::new(&w, vec![1e-2; n]).unwrap();
    let b = Matrix::new(n, 2, (0..2 * n).map(|i| ((i * 31) % 17) as f64 - 8.0).collect()).unwrap();
    let exact = dense::solve_spd(&dense_of(&op), &b).unwrap();
    let iterations = [false, true].map(|is_flexible| {
        let varying = Varying { jacobi: Jacobi::new(op.diagonal()).unwrap(), count: 0.into() };
        let params = CgParams { tol: 1e-10, max_iter: 2000, is_flexible, ..CgParams::default() };
        let inverse = Inverse::Applied(&varying);
        let (x, info) = solve(&op, inverse, Projection::None, &b, None, params, &run).unwrap();
        assert!(info.converged || !is_flexible, "{info:?}");
        let scale = exact.values().iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let mut pairs = x.values().iter().zip(exact.values());
        assert!(!is_flexible || pairs.all(|(a, e)| (a - e).abs() <= 1e-7 * scale));
        info.n_iter()
    });
    assert!(iterations[1] <= iterations[0], "{iterations:?}");
}

#[test]
fn single_precision_reaches_small_residuals_without_starting_again() {
    let run = Run::new(Some(2), 0).unwrap();
    let w = crate::testkit::grid(60, 60, 0.0);
    let n = w.n_samples();
    let mix = |at: u64| lapwing_core::hash::uniform(at);
    let shift: Vec<f64> = (0..n).map(|row| if row % 300 == 0 { 1.0 } else { 0.0 }).collect();
    let op = SddMatrix::new(&w, shift).unwrap();
    let jacobi = Jacobi::new(op.diagonal()).unwrap();
    let b = Matrix::new(n, 5, (0..n * 5).map(|at| mix(at as u64) - 0.5).collect()).unwrap();
    let b = RightHandSides::from(&b);
    let params = CgParams { tol: 1e-9, max_iter: 2000, ..CgParams::default() };
    let in_single: (&dyn Operator<f32>, Inverse<'_, f32>) = (&op, (&jacobi).into());
    let [(x, single), (exact, double)] = [Some(in_single), None].map(|single| {
        let (inverse, projection) = ((&jacobi).into(), Projection::None);
        System { operator: &op, inverse, single, refreshed: None, projection, params, run: &run }
            .solve(&b, None, None)
            .unwrap()
    });
    assert!(single.converged && double.converged, "{single:?}");
    assert!(double.n_iter() > 60 && 2 * single.n_iter() <= 3 * double.n_iter(), "{single:?} {double:?}");
    let scale = exact.values().iter().fold(0.0f64, |most, x| most.max(x.abs()));
    assert!(x.values().iter().zip(exact.values()).all(|(x, exact)| (x - exact).abs() <= 1e-6 * scale));
}
