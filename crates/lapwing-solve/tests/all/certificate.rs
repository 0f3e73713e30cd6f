//! Error bounds against elimination without subtraction in twice the digits, on random systems of weights over many orders.

use super::elimination::{Reference, Wide};
use lapwing_core::{Matrix, Run, Stream};
use lapwing_solve::{
    Certificate, CountOpen, ErrorBounds, FallbackLevel, Goal, Graph, LaplacianParams, LaplacianSolver,
    PreconditionerChoice, RightHandSides, Solution, SolveInfo,
};
use rand::{Rng, RngExt};

/// Random systems of the suite; `LAPWING_RANDOM_SYSTEMS` asks for more.
const SYSTEMS: u64 = 120;

/// Every value of the solution known to `radius`.
struct Within(f64);

impl Goal for Within {
    fn count_open<'a>(&'a self, x: &dyn Solution, _: &[f64], errors: &'a ErrorBounds) -> CountOpen<'a> {
        let s = x.n_cols();
        let unit = |c: usize| (0..s).map(|at| f64::from(u8::from(at == c))).collect::<Vec<f64>>();
        let bounds: Vec<_> = (0..s).map(|c| errors.of(&unit(c))).collect();
        let is_open = move |deviation: &&f64| bounds.iter().any(|bound| bound.at(**deviation) > self.0);
        Box::new(move |_, deviations| deviations.iter().filter(&is_open).count())
    }
}

/// A system and its exact solution.
struct System {
    graph: Graph,
    diagonal: Option<Vec<f64>>,
    zero_mean: bool,
    b: Matrix,
    exact: Vec<Vec<Wide>>,
}

/// A connected graph of n rows with weights over `decades` orders: regions of their own scale, some edges of any.
fn edges(n: usize, decades: f64, rng: &mut impl Rng) -> Vec<(u32, u32, f64)> {
    let regions = rng.random_range(1..4u32);
    let scale: Vec<f64> = (0..regions).map(|_| 10f64.powf(decades * (rng.random::<f64>() - 0.5))).collect();
    let mut edges = Vec::new();
    for v in 1..n as u32 {
        for k in 0..rng.random_range(1..5) {
            let u = if k == 0 { v - 1 } else { rng.random_range(0..v) };
            let mut weight =
                scale[(v % regions) as usize].min(scale[(u % regions) as usize]) * (0.1 + rng.random::<f64>());
            if rng.random::<f64>() < 0.1 {
                weight = 10f64.powf(decades * (rng.random::<f64>() - 0.5));
            }
            edges.push((u, v, weight));
        }
    }
    edges.sort_by_key(|edge| (edge.0, edge.1));
    edges.dedup_by_key(|edge| (edge.0, edge.1));
    edges
}

fn system(form: usize, more: usize, rng: &mut impl Rng) -> System {
    let n = rng.random_range(2..90usize);
    let decades = rng.random_range(0..13) as f64;
    let edges = edges(n, decades, rng);
    let graph = Graph::from_edges(n, &edges).unwrap();
    let s = more + rng.random_range(1..7);
    let mut b = Matrix::filled(n, s, 0.0);
    let mut diagonal = vec![0.0; n];
    for _ in 0..rng.random_range(2..6) {
        let row = rng.random_range(0..n);
        diagonal[row] = 10f64.powf(decades * (rng.random::<f64>() - 0.5));
        let class = rng.random_range(0..s);
        (0..s).for_each(|c| b.row_mut(row)[c] += diagonal[row] * (f64::from(u8::from(c == class)) - 0.5));
    }
    let (diagonal, zero_mean) = match form {
        0 => (Some(diagonal), false),
        1 => (Some(diagonal), true),
        _ => (None, false),
    };
    if diagonal.is_none() {
        // In the range to the last bit, for what is not is dropped in f64.
        b.values_mut().fill(0.0);
        for c in 0..s {
            let (from, to) = (rng.random_range(0..n), rng.random_range(0..n));
            b.row_mut(from)[c] += 1.0;
            b.row_mut(to)[c] -= 1.0;
        }
    }
    let reference = Reference::new(n, &edges, diagonal.as_deref());
    let exact = (0..s)
        .map(|c| {
            let b: Vec<f64> = b.rows().map(|row| row[c]).collect();
            reference.solve(&b, zero_mean || diagonal.is_none())
        })
        .collect();
    System { graph, diagonal, zero_mean, b, exact }
}

fn solved(system: &System, params: LaplacianParams, run: &Run) -> (Matrix, SolveInfo, Certificate) {
    let params = LaplacianParams { zero_mean: system.zero_mean, ..params };
    let solver = LaplacianSolver::new(&system.graph, system.diagonal.as_deref(), params, run).unwrap();
    solver.solve_certified(&system.b, None, &Within(1e-9), run).unwrap()
}

/// Bounds of all rows and columns, and of differences of columns, and how many of them the true errors exceed.
fn violations(system: &System, x: &Matrix, certificate: &Certificate) -> (usize, usize) {
    let s = x.n_cols();
    let (mut checked, mut violated) = (0, 0);
    // The mean of a solution is zero to its last bit only.
    let is_centered = system.zero_mean || system.diagonal.is_none();
    let rounding = if is_centered { 4.0 * f64::EPSILON * x_size(system) } else { 0.0 };
    for a in 0..s {
        for b in 0..s {
            let mut weights = vec![0.0; s];
            weights[a] += 1.0;
            if a != b {
                weights[b] -= 1.0;
            }
            let bound = certificate.errors.of(&weights);
            for (row, (x, &deviation)) in x.rows().zip(&certificate.deviations).enumerate() {
                let wanted = |c: usize| system.exact[c][row];
                let (mut error, mut size) = (Wide::of(x[a]) - wanted(a), x[a].abs());
                if a != b {
                    error = error - (Wide::of(x[b]) - wanted(b));
                    size = size.max(x[b].abs());
                }
                checked += 1;
                violated += usize::from(error.to_f64().abs() > bound.at(deviation) + rounding + 1e-30 * size);
            }
        }
    }
    (checked, violated)
}

fn x_size(system: &System) -> f64 {
    system.exact.iter().flatten().fold(0.0, |most, x| most.max(x.to_f64().abs()))
}

#[test]
fn no_error_of_random_systems_exceeds_its_bound() {
    let run = Run::new(Some(1), 0).unwrap();
    let (mut checked, mut violated, mut known, mut closed, mut all) = (0, 0, 0, 0, 0);
    let choices = [
        PreconditionerChoice::ApproxCholesky,
        PreconditionerChoice::Jacobi,
        PreconditionerChoice::TwoLevel,
        PreconditionerChoice::Auto,
        PreconditionerChoice::Cholesky,
    ];
    let systems = std::env::var("LAPWING_RANDOM_SYSTEMS").ok().and_then(|n| n.parse().ok()).unwrap_or(SYSTEMS);
    for seed in 0..systems {
        let mut rng = run.rng(Stream::Synthetic, seed);
        // Some have so many columns that each is bounded by itself.
        let more = if seed % 60 < 3 { ErrorBounds::MOST_JOINT } else { 0 };
        let system = system(seed as usize % 3, more, &mut rng);
        for preconditioner in choices {
            for max_iter in [3, 6, 12, 30, 1000] {
                use PreconditionerChoice::{ApproxCholesky, Cholesky};
                let suits = match more {
                    0 => preconditioner != Cholesky,
                    _ => max_iter == 12 && matches!(preconditioner, ApproxCholesky | Cholesky),
                };
                if !suits {
                    continue;
                }
                let params = LaplacianParams { preconditioner, max_iter, tol: 1e-6, ..Default::default() };
                let (x, _, certificate) = solved(&system, params, &run.with_seed(seed));
                let one = violations(&system, &x, &certificate);
                if one.1 > 0 {
                    println!(
                        "seed {seed} form {} {preconditioner:?} {max_iter}: {one:?} λ {}",
                        seed % 3,
                        certificate.errors.lambda
                    );
                }
                checked += one.0;
                violated += one.1;
                all += 1;
                known += usize::from(certificate.errors.lambda > 0.0);
                let largest = certificate.deviations.iter().fold(0.0f64, |m, &d| m.max(d));
                let s = x.n_cols();
                closed += usize::from((0..s).all(|c| {
                    let w: Vec<f64> = (0..s).map(|at| f64::from(u8::from(at == c))).collect();
                    certificate.errors.of(&w).at(largest) < 1e-6 * x_size(&system)
                }));
            }
        }
    }
    println!("{checked} bounds, {violated} violated; λ known {known} of {all}, tight {closed}");
    assert_eq!(violated, 0);
    assert!(known > all / 3);
}

/// Graphs that `Auto` takes the diagonal or cells for, and solves in single precision, against a factor in double precision.
#[test]
fn single_precision_keeps_the_bounds() {
    let run = Run::new(Some(2), 0).unwrap();
    let (n, s) = (1200u32, 6);
    let (mut without_factor, mut known, mut all) = (0, 0, 0);
    for seed in 0..24 {
        let mut rng = run.rng(Stream::Synthetic, 1000 + seed);
        // Regions that mix by themselves, with few edges between them: one small eigenvalue for each.
        let regions = rng.random_range(1..5);
        let bridge = 10f64.powf(-4.0 * rng.random::<f64>());
        let mut edges = Vec::new();
        for v in regions..n {
            for _ in 0..8 {
                let u = rng.random_range(0..v / regions) * regions + v % regions;
                edges.push((u.min(v), u.max(v), 0.1 + rng.random::<f64>()));
            }
            if v % 50 == 0 {
                edges.push((v - 1, v, bridge));
            }
        }
        edges.extend((1..regions).map(|v| (v - 1, v, bridge)));
        edges.sort_by_key(|edge| (edge.0, edge.1));
        edges.dedup_by_key(|edge| (edge.0, edge.1));
        let graph = Graph::from_edges(n as usize, &edges).unwrap();
        let mut diagonal = vec![0.0; n as usize];
        let mut b = Matrix::filled(n as usize, s, 0.0);
        for label in 0..30 {
            let row = rng.random_range(0..n as usize);
            diagonal[row] = 0.1 + rng.random::<f64>();
            (0..s).for_each(|c| b.row_mut(row)[c] = diagonal[row] * (f64::from(u8::from(label % s == c)) - 1.0 / 6.0));
        }
        let solver = |params| {
            let params = LaplacianParams { zero_mean: seed % 2 == 1, ..params };
            LaplacianSolver::new(&graph, Some(&diagonal), params, &run).unwrap()
        };
        let (exact, info) = solver(LaplacianParams {
            preconditioner: PreconditionerChoice::ApproxCholesky,
            tol: 1e-13,
            ..Default::default()
        })
        .solve(&b, None, &run)
        .unwrap();
        assert!(info.converged || info.reason == lapwing_solve::Stop::Rounding);
        for (max_iter, radius) in [(25, 1e-3), (60, 1e-3), (1000, 1e-3), (1000, 1e-6), (1000, 1e-8)] {
            let run = run.with_seed(seed);
            let solver = solver(LaplacianParams { max_iter, ..Default::default() });
            let (x, info, certificate) = solver.solve_certified(&b, None, &Within(radius), &run).unwrap();
            all += 1;
            known += usize::from(certificate.errors.lambda > 0.0);
            without_factor += usize::from(info.preconditioners.iter().all(|level| *level <= FallbackLevel::TwoLevel));
            for c in 0..s {
                let unit: Vec<f64> = (0..s).map(|at| f64::from(u8::from(at == c))).collect();
                let bound = certificate.errors.of(&unit);
                for (row, (x, exact)) in x.rows().zip(exact.rows()).enumerate() {
                    let error = (x[c] - exact[c]).abs();
                    let bound = bound.at(certificate.deviations[row]);
                    assert!(error <= bound + 1e-10, "seed {seed} row {row} column {c}: {error} > {bound}");
                }
            }
        }
    }
    assert!(2 * without_factor > all && 2 * known > all, "{without_factor} {known} of {all}");
}

/// The comparison has teeth: with an eigenvalue bound that is a hundred times too large it fails.
#[test]
fn a_wrong_eigenvalue_bound_is_caught() {
    let run = Run::new(Some(1), 0).unwrap();
    let mut violated = 0;
    for seed in 0..30 {
        let system = system(seed as usize % 3, 0, &mut run.rng(Stream::Synthetic, seed));
        let params = LaplacianParams { preconditioner: PreconditionerChoice::Jacobi, tol: 1e-3, ..Default::default() };
        let (x, _, mut certificate) = solved(&system, params, &run);
        certificate.errors.lambda *= 100.0;
        violated += violations(&system, &x, &certificate).1;
    }
    assert!(violated > 0);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let n = 9000u32;
    let edges: Vec<_> = (0..n).flat_map(|v| [1, 7, 30].map(|d| (v, (v + d) % n, 1.0 + f64::from(v % 5)))).collect();
    let graph = Graph::from_edges(n as usize, &edges).unwrap();
    let diagonal: Vec<f64> = (0..n).map(|v| if v % 1000 == 0 { 1.0 } else { 0.0 }).collect();
    let b = Matrix::new(n as usize, 2, (0..2 * n).map(|i| f64::from((i * 31) % 17) - 8.0).collect()).unwrap();
    for preconditioner in [PreconditionerChoice::ApproxCholesky, PreconditionerChoice::TwoLevel] {
        let solved = |threads| {
            let run = Run::new(Some(threads), 0).unwrap();
            let params = LaplacianParams { preconditioner, ..Default::default() };
            let solver = LaplacianSolver::new(&graph, Some(&diagonal), params, &run).unwrap();
            let (x, _, certificate) = solver.solve_certified(&b, None, &Within(1e-7), &run).unwrap();
            (x, certificate)
        };
        let one = solved(1);
        assert!(one.1.errors.lambda > 0.0);
        assert!(one == solved(2) && one == solved(7));
    }
}

/// Systems of many rows check a sample of them before they check all.
#[test]
fn all_of_many_rows_are_settled_within_their_bounds() {
    let n = 70_000u32;
    let mut rng = Run::new(None, 7).unwrap().rng(Stream::Synthetic, 7);
    let mut edges = Vec::new();
    for v in 1..n {
        for _ in 0..6 {
            edges.push((v - 1 - rng.random_range(0..v.min(3000)), v, 0.5 + rng.random::<f64>()));
        }
    }
    edges.sort_by_key(|edge| (edge.0, edge.1));
    edges.dedup_by_key(|edge| (edge.0, edge.1));
    let graph = Graph::from_edges(n as usize, &edges).unwrap();
    let rows: Vec<u32> = (0..n).step_by(700).collect();
    let mut diagonal = vec![0.0; n as usize];
    rows.iter().for_each(|&row| diagonal[row as usize] = 1.0);
    let values = Matrix::new(rows.len(), 2, (0..2 * rows.len()).map(|_| rng.random::<f64>() - 0.5).collect()).unwrap();
    let solve = |threads| {
        let run = Run::new(Some(threads), 1).unwrap();
        let b = RightHandSides::of_rows(n as usize, &rows, values.clone()).unwrap();
        let solver = LaplacianSolver::new(&graph, Some(&diagonal), LaplacianParams::default(), &run).unwrap();
        let certified = solver.solve_certified(b, None, &Within(1e-6), &run).unwrap();
        (solver, certified)
    };
    let (mut solver, (x, info, certificate)) = solve(2);
    assert!(info.converged && certificate.is_exhausted, "{info:?}");
    assert_eq!(info.preconditioners, [FallbackLevel::TwoLevel]);
    assert!(x == solve(1).1.0);
    let run = Run::new(Some(2), 1).unwrap();
    solver.set_tol(1e-12).unwrap();
    let b = RightHandSides::of_rows(n as usize, &rows, values.clone()).unwrap();
    let (exact, _) = solver.solve(b, Some(&x), &run).unwrap();
    for column in 0..2 {
        let unit: Vec<f64> = (0..2).map(|at| f64::from(u8::from(at == column))).collect();
        let bound = certificate.errors.of(&unit);
        for (row, (x, exact)) in x.rows().zip(exact.rows()).enumerate() {
            let (error, bound) = ((x[column] - exact[column]).abs(), bound.at(certificate.deviations[row]));
            assert!(error <= bound && bound <= 1e-6, "row {row} column {column}: {error} of {bound}");
        }
    }
}

/// Bounds of s columns whose residuals are numbers without a pattern, correlated more or less.
fn bounds_of(s: usize, with_products: bool) -> ErrorBounds {
    let value = |at: usize| ((at * 7919 + 13) % 101) as f64 / 50.0 - 1.0;
    let residual = |row: usize, column: usize| value(row * s + column) * 10f64.powi(column as i32 % 5 - 7) + 1e-7;
    let product = |a: usize, b: usize| (0..3 * s).map(|row| residual(row, a) * residual(row, b)).sum::<f64>();
    let gram = (0..s * s).map(|at| product(at / s, at % s));
    ErrorBounds {
        lambda: 0.25,
        gram: if with_products { gram.collect() } else { Vec::new() },
        rounding: (0..s).map(|at| 1e-12 * (2.0 + value(at))).collect(),
        constant: (0..s).map(|at| 1e-14 * (2.0 + value(at + 1))).collect(),
    }
}

#[test]
fn bounds_of_differences_are_those_of_their_weights() {
    let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-11 * b;
    for (s, with_products) in [(1, true), (2, true), (9, true), (60, true), (9, false), (300, false)] {
        let errors = bounds_of(s, with_products);
        for is_last_implied in [false, true] {
            let (c, differences) = (s + usize::from(is_last_implied), errors.differences(is_last_implied));
            let scale = |class: usize| if class % 7 == 3 { 0.0 } else { 0.5 + (class % 4) as f64 };
            for (a, b) in (0..c).flat_map(|a| (0..c).map(move |b| (a, b))) {
                let mut weights = vec![0.0; c];
                weights[a] += scale(a);
                let found = if a == b {
                    differences.one(a, scale(a))
                } else {
                    weights[b] -= scale(b);
                    differences.of((a, scale(a)), (b, scale(b)))
                };
                if is_last_implied {
                    let last = weights.pop().unwrap();
                    weights.iter_mut().for_each(|weight| *weight -= last);
                }
                let expected = errors.of(&weights);
                let is_same = is_near(found.slope, expected.slope) && is_near(found.constant, expected.constant);
                assert!(is_same, "{s} {is_last_implied} {a} {b}: {found:?} {expected:?}");
                // No bound by triangles is smaller.
                let apart = differences.one(a, scale(a)).plus(differences.one(b, scale(b)));
                assert!(a == b || found.slope <= apart.slope * (1.0 + 1e-12), "{s} {a} {b}");
            }
        }
    }
}

#[test]
fn bounds_of_columns_by_themselves_hold_for_all_products() {
    let joint = bounds_of(9, true);
    let own = |at: usize| joint.rounding[at] + joint.gram[at * 10].sqrt();
    let apart = ErrorBounds { gram: Vec::new(), rounding: (0..9).map(own).collect(), ..joint.clone() };
    for seed in 0..50usize {
        let weights: Vec<f64> = (0..9).map(|at| ((at * 31 + seed * 17) % 13) as f64 - 6.0).collect();
        assert!(joint.of(&weights).slope <= apart.of(&weights).slope * (1.0 + 1e-9));
    }
}
