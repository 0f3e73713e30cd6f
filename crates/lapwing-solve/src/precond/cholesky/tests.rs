//! Factors against dense inverses, and their orders on graphs whose best order is known.

use lapwing_core::CancelToken;
use lapwing_simd::each_level;

use super::*;

/// No limits.
const UNLIMITED: Budget = Budget { products: f64::INFINITY, entries: usize::MAX, hubs: true };

fn run() -> Run {
    Run::new(Some(1), 0).unwrap()
}

/// A number in [0, 1) for each pair of numbers.
fn uniform(a: usize, b: usize) -> f64 {
    lapwing_core::hash::uniform(lapwing_core::hash::mix(a as u64 + 1) ^ b as u64)
}

fn graph(n: usize, edges: impl IntoIterator<Item = (usize, usize, f64)>) -> Csr<f64> {
    let both: Vec<_> =
        edges.into_iter().flat_map(|(u, v, w)| [(u as u32, v as u32, w), (v as u32, u as u32, w)]).collect();
    Csr::from_entries(n, n, &both).unwrap()
}

/// Every pair is joined with probability `share`, by a weight between 10^−`range` and 10^`range`.
fn random(n: usize, share: f64, range: f64) -> Csr<f64> {
    let pairs = (0..n).flat_map(|u| (0..u).map(move |v| (u, v))).filter(|&(u, v)| uniform(u, v) < share);
    graph(n, pairs.map(|(u, v)| (u, v, 10f64.powf(range * (2.0 * uniform(v, u + n) - 1.0)))))
}

fn grid(side: usize) -> Csr<f64> {
    let at = |x: usize, y: usize| x * side + y;
    let right = (1..side).flat_map(|x| (0..side).map(move |y| (at(x - 1, y), at(x, y), 1.0)));
    graph(side * side, right.chain((0..side).flat_map(|x| (1..side).map(move |y| (at(x, y - 1), at(x, y), 1.0)))))
}

/// (L + D)·x, with differences of x, so that nothing cancels for constants.
fn product(adjacency: &Csr<f64>, diagonal: &[f64], x: &[f64]) -> Vec<f64> {
    let sum = |v: usize| {
        let (ids, weights) = adjacency.row(v);
        ids.iter().zip(weights).map(|(&u, w)| w * (x[v] - x[u as usize])).sum::<f64>()
    };
    (0..x.len()).map(|v| diagonal[v] * x[v] + sum(v)).collect()
}

/// M⁻¹·B for columns in the order of the vertices.
fn solved(factor: &SparseCholesky, b: &[f64], s: usize) -> Vec<f64> {
    let place = |block: &[f64]| factor.order().iter().flat_map(|&v| block[v as usize * s..][..s].to_vec()).collect();
    let (r, mut z): (Vec<f64>, _) = (place(b), vec![0.0; b.len()]);
    factor.product(&r, &mut z, s);
    let mut x = vec![0.0; b.len()];
    factor.order().iter().zip(z.chunks_exact(s)).for_each(|(&v, z)| x[v as usize * s..][..s].copy_from_slice(z));
    x
}

#[test]
fn solutions_are_exact_at_every_level_and_width() {
    for (n, share, range) in [(1, 0.0, 0.0), (2, 1.0, 0.0), (40, 0.1, 8.0), (60, 0.5, 2.0), (300, 0.02, 3.0)] {
        let adjacency = random(n, share, range);
        // Every second vertex has ground, and vertices without neighbors.
        let ground = |v: usize| if v.is_multiple_of(2) || adjacency.row(v).0.is_empty() { 1e-3 } else { 0.0 };
        let diagonal: Vec<f64> = (0..n).map(ground).collect();
        let factor = SparseCholesky::new(&adjacency, &diagonal, UNLIMITED, &run()).unwrap();
        let mut sorted = factor.order().to_vec();
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(at, &v)| at == v as usize));
        for s in [1, 3, 16, 21] {
            let expected: Vec<f64> = (0..n * s).map(|at| uniform(at, 7)).collect();
            let column = |block: &[f64], c: usize| block.iter().skip(c).step_by(s).copied().collect::<Vec<_>>();
            let mut b = vec![0.0; n * s];
            for c in 0..s {
                let product = product(&adjacency, &diagonal, &column(&expected, c));
                product.into_iter().enumerate().for_each(|(v, value)| b[v * s + c] = value);
            }
            let found = each_level(|| solved(&factor, &b, s));
            assert!(found.iter().all(|x| *x == found[0]));
            // Weights over 16 orders of magnitude round the right-hand side itself.
            let tol = if range > 4.0 { 1e-2 } else { 1e-8 };
            assert!(found[0].iter().zip(&expected).all(|(x, e)| (x - e).abs() < tol), "{n} {s}");
        }
        let again = each_level(|| SparseCholesky::new(&adjacency, &diagonal, UNLIMITED, &run()).unwrap());
        assert!(again.iter().all(|other| other.columns.shares == factor.columns.shares));
    }
}

#[test]
fn light_weights_keep_their_precision() {
    // A path whose weights fall by ten orders of magnitude, held at its heavy end: potentials of a current are sums of 1/w.
    let n = 11;
    let adjacency = graph(n, (1..n).map(|v| (v - 1, v, 10f64.powi(1 - v as i32))));
    let mut diagonal = vec![0.0; n];
    diagonal[0] = 1.0;
    let factor = SparseCholesky::new(&adjacency, &diagonal, UNLIMITED, &run()).unwrap();
    let mut b = vec![0.0; n];
    b[n - 1] = 1.0;
    let mut expected = 1.0;
    for (v, x) in solved(&factor, &b, 1).into_iter().enumerate() {
        expected += if v > 0 { 10f64.powi(v as i32 - 1) } else { 0.0 };
        assert!((x / expected - 1.0).abs() < 1e-14, "{v}: {x} {expected}");
    }
}

#[test]
fn components_without_ground_are_solved_up_to_a_constant() {
    // Two triangles and a vertex of its own.
    let triangle = |v: usize| [(v, v + 1, 1.0), (v + 1, v + 2, 2.0), (v, v + 2, 3.0)];
    let adjacency = graph(7, triangle(0).into_iter().chain(triangle(3)));
    let factor = SparseCholesky::new(&adjacency, &[0.0; 7], UNLIMITED, &run()).unwrap();
    let b = [1.0, -3.0, 2.0, 0.0, 1.0, -1.0, 0.0];
    let x = solved(&factor, &b, 1);
    let product = product(&adjacency, &[0.0; 7], &x);
    assert!(product.iter().zip(&b).all(|(p, b)| (p - b).abs() < 1e-14), "{product:?}");
    let empty = SparseCholesky::new(&graph(0, []), &[], UNLIMITED, &run()).unwrap();
    assert_eq!((empty.order().len(), empty.n_entries()), (0, 0));
}

#[test]
fn variances_bound_the_inverse_and_colored_noise_has_the_covariance_of_the_matrix() {
    let n = 30;
    let adjacency = random(n, 0.2, 1.0);
    let diagonal: Vec<f64> = (0..n).map(|v| 0.1 + uniform(v, 3)).collect();
    let factor = SparseCholesky::new(&adjacency, &diagonal, UNLIMITED, &run()).unwrap();
    let (variances, inverse) = (factor.variances(), factor.inverse_diagonal(&run()).unwrap().unwrap());
    for (at, &v) in factor.order().iter().enumerate() {
        let mut unit = vec![0.0; n];
        unit[v as usize] = 1.0;
        let own = solved(&factor, &unit, 1)[v as usize];
        assert!((inverse[at] / own - 1.0).abs() < 1e-12, "{} {own}", inverse[at]);
        assert!(variances[at] >= own * (1.0 - 1e-12) && variances[at] <= 20.0 * own, "{} {own}", variances[at]);
    }
    // The rows of L·D^½ times their transposes are the matrix.
    let mut root = vec![0.0; n * n];
    (0..n).for_each(|at| root[at * n + at] = 1.0);
    factor.color(&mut root, n);
    for (i, &v) in factor.order().iter().enumerate() {
        let mut unit = vec![0.0; n];
        unit[v as usize] = 1.0;
        let row = product(&adjacency, &diagonal, &unit);
        for (j, &u) in factor.order().iter().enumerate() {
            let own: f64 = (0..n).map(|k| root[i * n + k] * root[j * n + k]).sum();
            assert!((own - row[u as usize]).abs() < 1e-12, "{i} {j}");
        }
    }
}

#[test]
fn orders_are_good_where_the_best_is_known() {
    let entries = |adjacency: &Csr<f64>| {
        let factor = Fronts::new(adjacency, UNLIMITED, &run()).unwrap().unwrap();
        assert!(factor.fronts.iter().all(|front| factor.rows[front.rows.clone()].is_sorted()));
        factor.n_entries
    };
    // Trees have one entry an edge, rings two.
    assert_eq!(entries(&graph(500, (1..500).map(|v| (v / 2, v, 1.0)))), 499);
    assert_eq!(entries(&graph(300, (1..300).map(|v| (0, v, 1.0)))), 299);
    assert_eq!(entries(&graph(200, (0..200).map(|v| (v, (v + 1) % 200, 1.0)))), 198 * 2 + 1);
    assert_eq!(entries(&random(50, 2.0, 0.0)), 50 * 49 / 2);
    // A grid in its natural order has `side` entries a row: 10⁶.
    let filled = entries(&grid(100));
    assert!(filled < 250_000, "{filled}");
}

#[test]
fn what_exceeds_its_budget_or_is_stopped_has_no_factor() {
    let adjacency = random(200, 0.3, 0.0);
    let diagonal = vec![1.0; 200];
    let small = SparseCholesky::new(&adjacency, &diagonal, Budget::small(&grid(10), 32.0), &run());
    assert!(matches!(small, Err(Error::TooLarge { .. })));
    let little = SparseCholesky::new(&adjacency, &diagonal, Budget::of_fill(&adjacency, 0.5), &run());
    assert!(matches!(little, Err(Error::TooLarge { .. })));
    let star = graph(1000, (1..1000).map(|v| (0, v, 1.0)));
    assert!(Fronts::new(&star, Budget::small(&star, 32.0), &run()).unwrap().is_none());
    let stop = CancelToken::default();
    stop.cancel();
    let stopped = SparseCholesky::new(&star, &[1.0; 1000], UNLIMITED, &run().with_cancel(stop));
    assert!(matches!(stopped, Err(Error::Interrupted)));
}
