//! Graphs that are hard for solvers and samplers, and dense reference solutions: shared by the tests of several crates.

// Each of these tests takes some.
#![allow(dead_code)]

use lapwing_core::{Matrix, Run, Stream};
use lapwing_solve::Graph;
use lapwing_solve::dense::eigen_symmetric;
use rand::RngExt;

/// A named graph.
pub type Case = (&'static str, Graph);

/// Graphs that are hard for solvers and samplers. All but the last two groups are connected.
pub fn nasty_graphs() -> Vec<Case> {
    let edges =
        |pairs: Vec<(u32, u32)>| -> Vec<(u32, u32, f64)> { pairs.into_iter().map(|(u, v)| (u, v, 1.0)).collect() };
    let clique = |first: u32, n: u32| (first..first + n).flat_map(move |u| (u + 1..first + n).map(move |v| (u, v)));
    let path = |first: u32, n: u32| (first..first + n - 1).map(|u| (u, u + 1));
    let graph =
        |n: usize, edges: Vec<(u32, u32, f64)>| Graph::from_edges(n, &edges).expect("the edges are well formed");
    let uneven: Vec<_> = path(0, 25).map(|(u, v)| (u, v, 10f64.powi((u % 13) as i32 - 6))).collect();
    vec![
        ("star", graph(20, edges((1..20).map(|v| (0, v)).collect()))),
        ("path", graph(30, edges(path(0, 30).collect()))),
        ("clique with tail", graph(22, edges(clique(0, 12).chain(path(11, 11)).collect()))),
        ("bipartite", graph(16, edges((0..8).flat_map(|u| (8..16).map(move |v| (u, v))).collect()))),
        ("barbell", graph(20, edges(clique(0, 10).chain(clique(10, 10)).chain([(9, 10)]).collect()))),
        ("weights over twelve orders", graph(25, uneven)),
        ("two components", graph(18, edges(clique(0, 8).chain(path(8, 10)).collect()))),
        ("isolated point", graph(12, edges(path(0, 11).collect()))),
        ("duplicate edges", graph(6, edges(path(0, 6).chain(path(0, 6)).chain([(2, 4), (4, 2)]).collect()))),
    ]
}

/// Rows of `d` columns around `centers` centers (n·d values): row i belongs to center i mod `centers`.
pub fn blob_values(n: usize, d: usize, centers: usize) -> Vec<f32> {
    let run = Run::new(Some(1), 17).expect("one thread is allowed");
    let mut rng = run.rng(Stream::Synthetic, (n * 31 + d) as u64);
    let mut normal = move || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    let middles: Vec<f64> = (0..centers * d).map(|_| 4.0 * normal()).collect();
    (0..n * d).map(|at| (middles[(at / d % centers) * d + at % d] + normal()) as f32).collect()
}

/// The graph of the `k` nearest neighbors of blobs, with self-tuning weights exp(−d²/(σᵢσⱼ)), σ the distance to the last
/// neighbor.
pub fn neighbor_graph(n: usize, d: usize, centers: usize, k: usize) -> Graph {
    let values = blob_values(n, d, centers);
    let square = |i: usize, j: usize| -> f64 {
        values[i * d..(i + 1) * d].iter().zip(&values[j * d..]).map(|(a, b)| f64::from(a - b).powi(2)).sum()
    };
    let nearest = |i: usize| -> Vec<(f64, usize)> {
        let mut others: Vec<_> = (0..n).filter(|&j| j != i).map(|j| (square(i, j), j)).collect();
        others.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        others.truncate(k);
        others
    };
    let lists: Vec<_> = (0..n).map(nearest).collect();
    let widths: Vec<f64> = lists.iter().map(|list| list[k - 1].0.sqrt()).collect();
    let mut edges = std::collections::BTreeMap::new();
    for (i, &(square, j)) in lists.iter().enumerate().flat_map(|(i, list)| list.iter().map(move |entry| (i, entry))) {
        edges.insert((i.min(j) as u32, i.max(j) as u32), (-square / (widths[i] * widths[j])).exp());
    }
    let edges: Vec<_> = edges.into_iter().map(|((u, v), weight)| (u, v, weight)).collect();
    Graph::from_edges(n, &edges).expect("the edges are well formed")
}

/// A cube of `side`³ vertices, each joined to the 26 around it by edges of weight 1.
pub fn cube(side: u32) -> Graph {
    let near = |v: u32| v.saturating_sub(1)..(v + 2).min(side);
    let name = |x: u32, y: u32, z: u32| (x * side + y) * side + z;
    let mut edges = Vec::new();
    for (x, y, z) in (0..side.pow(3)).map(|v| (v / side / side, v / side % side, v % side)) {
        for (a, b, c) in near(x).flat_map(|a| near(y).flat_map(move |b| near(z).map(move |c| (a, b, c)))) {
            if name(a, b, c) > name(x, y, z) {
                edges.push((name(x, y, z), name(a, b, c), 1.0));
            }
        }
    }
    Graph::from_edges((side as usize).pow(3), &edges).expect("a cube is a graph")
}

/// A grid of `rows` × `columns` nodes, its weights spread evenly over `orders` orders of magnitude around 1.
pub fn grid(rows: usize, columns: usize, orders: f64) -> Graph {
    let run = Run::new(Some(1), 23).expect("one thread is allowed");
    let mut rng = run.rng(Stream::Synthetic, (rows * 31 + columns) as u64);
    let mut edges = Vec::new();
    for v in 0..rows * columns {
        let mut weight = || 10f64.powf(orders * (rng.random::<f64>() - 0.5));
        if v % columns + 1 < columns {
            edges.push((v as u32, v as u32 + 1, weight()));
        }
        if v + columns < rows * columns {
            edges.push((v as u32, (v + columns) as u32, weight()));
        }
    }
    Graph::from_edges(rows * columns, &edges).expect("the edges are well formed")
}

/// Every node after the first joins `m` ends of edges before it (Barabási & Albert 1999): a few hubs, many leaves.
pub fn preferential_attachment(n: usize, m: usize) -> Graph {
    let run = Run::new(Some(1), 29).expect("one thread is allowed");
    let mut rng = run.rng(Stream::Synthetic, (n * 31 + m) as u64);
    let (mut ends, mut edges) = (vec![0u32], std::collections::BTreeSet::new());
    for v in 1..n as u32 {
        for _ in 0..m {
            let u = ends[rng.random_range(0..ends.len())];
            if u != v && edges.insert((u.min(v), u.max(v))) {
                ends.extend([u, v]);
            }
        }
    }
    let edges: Vec<_> = edges.into_iter().map(|(u, v)| (u, v, 1.0)).collect();
    Graph::from_edges(n, &edges).expect("the edges are well formed")
}

/// Solves (L + diag)·x = b by dense elimination that only ever adds, multiplies and divides positive numbers (Grassmann, Taksar &
/// Heyman 1985), so that weights far apart lose no digits. On components without a diagonal, right-hand sides sum to 0 and
/// solutions have mean zero.
pub fn dense_laplacian_solve(graph: &Graph, diagonal: Option<&[f64]>, b: &Matrix) -> Matrix {
    let (n, s) = (graph.n_samples(), b.n_cols());
    // Vertex n is the ground, held at 0.
    let mut weights = vec![vec![0.0; n + 1]; n];
    for row in 0..n {
        let (columns, values) = graph.adjacency().row(row);
        columns.iter().zip(values).for_each(|(&column, &w)| weights[row][column as usize] = w);
        weights[row][n] = diagonal.map_or(0.0, |diagonal| diagonal[row]);
    }
    let mut x = b.clone();
    let mut shares: Vec<Vec<(usize, f64)>> = Vec::with_capacity(n);
    let mut pivots = Vec::with_capacity(n);
    for v in 0..n {
        let later: Vec<(usize, f64)> = (v + 1..=n).map(|u| (u, weights[v][u])).filter(|e| e.1 > 0.0).collect();
        let pivot: f64 = later.iter().map(|e| e.1).sum();
        for &(u, w) in later.iter().filter(|e| e.0 < n) {
            for &(t, other) in later.iter().filter(|e| e.0 != u) {
                weights[u][t] += w * other / pivot;
            }
            for c in 0..s {
                x.row_mut(u)[c] += w / pivot * x.row(v)[c];
            }
        }
        shares.push(later.iter().map(|&(u, w)| (u, w / pivot)).collect());
        pivots.push(pivot);
    }
    for v in (0..n).rev() {
        for c in 0..s {
            let own = if pivots[v] > 0.0 { x.row(v)[c] / pivots[v] } else { 0.0 };
            let sum: f64 = shares[v].iter().filter(|e| e.0 < n).map(|&(u, share)| share * x.row(u)[c]).sum();
            x.row_mut(v)[c] = own + sum;
        }
    }
    let components = graph.components();
    for id in 0..components.sizes.len() {
        let rows: Vec<usize> = (0..n).filter(|&row| components.id[row] as usize == id).collect();
        if diagonal.is_some_and(|diagonal| rows.iter().any(|&row| diagonal[row] > 0.0)) {
            continue;
        }
        for c in 0..s {
            let mean = rows.iter().map(|&row| x.row(row)[c]).sum::<f64>() / rows.len() as f64;
            rows.iter().for_each(|&row| x.row_mut(row)[c] -= mean);
        }
    }
    x
}

/// Two cliques of `side` nodes joined by ten edges of weight 0.1: a cut that samplers may lose.
pub fn dumbbell(side: u32) -> Graph {
    let clique = |first: u32| (first..first + side).flat_map(move |u| (u + 1..first + side).map(move |v| (u, v, 1.0)));
    let bridge = (0..10).map(|i| (i * side / 10, side + i * side / 10, 0.1));
    let edges: Vec<_> = clique(0).chain(clique(side)).chain(bridge).collect();
    Graph::from_edges(2 * side as usize, &edges).expect("the edges are well formed")
}

/// Measures the distortion of sparsifiers of one connected graph.
pub struct Distortion {
    /// L^(−1/2) on the space orthogonal to constants (n, n).
    root: Matrix,
}

impl Distortion {
    /// Prepares the measure for `graph`, by dense eigenvectors.
    pub fn from(graph: &Graph) -> Self {
        let (values, vectors) = eigen_symmetric(&dense_laplacian(graph)).expect("a Laplacian has eigenvalues");
        let n = values.len();
        let mut scaled = vectors.clone();
        for row in 0..n {
            // The first eigenvector is the constant one.
            scaled.row_mut(row).iter_mut().zip(&values).for_each(|(x, value)| *x /= value.sqrt());
            scaled.row_mut(row)[0] = 0.0;
        }
        Self { root: product(&scaled, &transposed(&vectors)) }
    }

    /// The least ε with (1 − ε)·xᵀLx ≤ xᵀL_Hx ≤ (1 + ε)·xᵀLx for all x, `sparsifier` being H.
    pub fn of(&self, sparsifier: &Graph) -> f64 {
        let whitened = product(&product(&self.root, &dense_laplacian(sparsifier)), &self.root);
        let (values, _) = eigen_symmetric(&whitened).expect("a symmetric matrix has eigenvalues");
        // The eigenvalue 0 of constants is left out.
        let zero = values.iter().enumerate().min_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).map(|(at, _)| at);
        let others = values.iter().enumerate().filter(|(at, _)| Some(*at) != zero);
        others.map(|(_, value)| (value - 1.0).abs()).fold(0.0, f64::max)
    }
}

/// L = D − W with all its entries.
pub fn dense_laplacian(graph: &Graph) -> Matrix {
    let n = graph.n_samples();
    let mut laplacian = Matrix::filled(n, n, 0.0);
    for row in 0..n {
        let (columns, weights) = graph.adjacency().row(row);
        columns.iter().zip(weights).for_each(|(&column, weight)| laplacian.row_mut(row)[column as usize] = -weight);
        laplacian.row_mut(row)[row] = graph.degree()[row];
    }
    laplacian
}

fn transposed(a: &Matrix) -> Matrix {
    let mut out = Matrix::filled(a.n_cols(), a.n_rows(), 0.0);
    a.rows().enumerate().for_each(|(i, row)| row.iter().enumerate().for_each(|(j, &v)| out.row_mut(j)[i] = v));
    out
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::filled(a.n_rows(), b.n_cols(), 0.0);
    for (i, row) in a.rows().enumerate() {
        for (k, &x) in row.iter().enumerate() {
            out.row_mut(i).iter_mut().zip(b.row(k)).for_each(|(out, b)| *out += x * b);
        }
    }
    out
}
