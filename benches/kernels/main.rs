//! Speed of the kernels, each called through the public interface, by Criterion: `cargo xtask bench kernels`.
//!
//! Options are those of Criterion, such as a part of a name. `cargo xtask bench regress` compares with an earlier revision. All processors are used, except for the row kernel, which runs on one.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use lapwing::data::{Features, GeneratedRows, Matrix, Result, Run};
use lapwing::graph::learn::{LearnModel, LearnParams, LearnSolver};
use lapwing::graph::{AffinityGraph, GraphParams, KnnMethod, KnnParams, affinity_graph, kneighbors};
use lapwing_core::gather;
use lapwing_graph::learn::{Support, learn_weights};
use lapwing_graph::low_rank::{Coefficients, FactorSpace, RowFactor, RowKernel, RowPass};
use lapwing_solve::precond::Jacobi;
use lapwing_solve::{
    CgParams, HadamardSketch, LaplacianParams, LaplacianSolver, Nnls, Operator, Precision, Projection, SddMatrix,
    gram_of_rows, solve,
};

const COLUMNS: usize = 32;
const CLASSES: usize = 10;

/// Generated rows of ten classes, as f32 values.
fn values(n_rows: usize, run: &Run) -> Result<Vec<f32>> {
    let rows: Vec<u32> = (0..n_rows as u32).collect();
    gather(&GeneratedRows::new(n_rows, COLUMNS, CLASSES, 0)?, &rows, &[], run)
}

fn features(n_rows: usize, run: &Run) -> Result<Features<'static>> {
    Features::from_f32(n_rows, COLUMNS, values(n_rows, run)?)
}

/// A neighbor graph with 15 neighbors of each row.
fn graph(n_rows: usize, run: &Run) -> Result<AffinityGraph> {
    affinity_graph(&features(n_rows, run)?, &GraphParams::default(), run)
}

fn group<'c>(c: &'c mut Criterion, name: &str, elements: usize) -> BenchmarkGroup<'c, WallTime> {
    let mut group = c.benchmark_group(name);
    group.sample_size(10).throughput(Throughput::Elements(elements as u64));
    group
}

/// Products with the Laplacian, and iterations of conjugate gradients, for blocks of 1 and 10 columns.
fn laplacian(c: &mut Criterion, run: &Run) -> Result<()> {
    let n = 200_000;
    let graph = graph(n, run)?.graph;
    let matrix = SddMatrix::new(&graph, vec![0.01; n])?;
    let jacobi = Jacobi::new(matrix.diagonal())?;
    for s in [1, 10] {
        let (x, mut y) = (vec![1.0; n * s], vec![0.0; n * s]);
        let mut products = group(c, "laplacian product", graph.n_edges() * s);
        products.bench_function(format!("{s} columns"), |b| b.iter(|| matrix.apply(&x, &mut y, s, run)));
        products.finish();
        let b_values = Matrix::new(n, s, (0..n * s).map(|at| (at % 7) as f64 - 3.0).collect())?;
        let params = CgParams { tol: 1e-14, max_iter: 20, ..CgParams::default() };
        let mut iterations = group(c, "cg with jacobi, 20 iterations", 20 * graph.n_edges() * s);
        iterations.bench_function(format!("{s} columns"), |b| {
            b.iter(|| solve(&matrix, (&jacobi).into(), Projection::None, &b_values, None, params, run))
        });
    }
    Ok(())
}

/// A system of few rows and many columns, as leaving out labels solves it.
fn small_system(c: &mut Criterion, run: &Run) -> Result<()> {
    let (n, s) = (2000, 100);
    let graph = graph(n, run)?.graph;
    let diagonal: Vec<f64> = (0..n).map(|row| if row % 20 == 0 { 5.0 } else { 0.0 }).collect();
    let mut b = Matrix::filled(n, s, 0.0);
    (0..s).for_each(|column| b.row_mut(20 * column)[column] = 5.0);
    let params = LaplacianParams { tol: 1e-4, ..LaplacianParams::default() };
    let solver = LaplacianSolver::new(&graph, Some(&diagonal), params, run)?;
    group(c, "laplacian solver", n * s)
        .bench_function("2,000 rows, 100 columns", |c| c.iter(|| solver.solve(&b, None, run)));
    Ok(())
}

/// Exact search by blocks of distances and by a tree, and search by partitions.
fn neighbors(c: &mut Criterion, run: &Run) -> Result<()> {
    let flat: Vec<f32> = values(50_000, run)?.chunks_exact(COLUMNS).flat_map(|row| [row[0], row[1]]).collect();
    let flat = Features::from_f32(flat.len() / 2, 2, flat)?;
    group(c, "neighbors", 50_000).bench_function("tree", |b| b.iter(|| kneighbors(&flat, &KnnParams::default(), run)));
    let few = features(2000, run)?;
    group(c, "neighbors", 2000).bench_function("few rows", |b| b.iter(|| kneighbors(&few, &KnnParams::default(), run)));
    for (name, method, n) in [("exact", KnnMethod::Exact, 20_000), ("partitions", KnnMethod::Partitions, 200_000)] {
        let features = features(n, run)?;
        let params = KnnParams { method, ..KnnParams::default() };
        group(c, "neighbors", n).bench_function(name, |b| b.iter(|| kneighbors(&features, &params, run)));
    }
    Ok(())
}

/// Distances to landmarks, factor rows and scores of ten classes, on one processor.
fn row_kernel(c: &mut Criterion) -> Result<()> {
    let (n, run) = (100_000, Run::new(Some(1), 0)?);
    let values = values(n, &run)?;
    let features = Features::from_f32(n, COLUMNS, values.clone())?;
    for k in [20, 100] {
        let kernel = RowKernel::new(&features, &[], &values[..k * COLUMNS], 6.0);
        let pass = RowPass { source: &features, center: &[], kernel: &kernel };
        let factor = RowFactor::Nystrom { weights: vec![1.0; k], floor: 1e-3 };
        let coefficients = Coefficients::new(&Matrix::filled(k, CLASSES, 0.5));
        let score = || {
            let mut total = 0.0;
            pass.visit(
                0..n,
                &run,
                FactorSpace::default,
                |space, chunk| {
                    let mut scores = vec![0.0; chunk.n_rows * CLASSES];
                    factor.scores(chunk, &coefficients, space, &mut scores);
                    Ok(scores[0])
                },
                |_, score| {
                    total += score;
                    Ok(())
                },
            )
            .map(|()| total)
        };
        group(c, "low-rank rows", n).bench_function(format!("{k} landmarks"), |b| b.iter(score));
    }
    Ok(())
}

/// Small dense kernels: sketch, Gram matrix, non-negative least squares.
fn dense(c: &mut Criterion, run: &Run) -> Result<()> {
    let (n, d) = (1 << 14, 64);
    let rows: Vec<f32> = (0..n * d).map(|at| ((at * 7919) % 1009) as f32 / 1009.0 - 0.5).collect();
    let sketch = HadamardSketch::new(n, 1024, run)?;
    group(c, "hadamard sketch", n * d)
        .bench_function("16,384 × 64", |b| b.iter(|| run.install(|| sketch.apply(&rows, d))));
    for (name, precision) in [("single", Precision::Single), ("double", Precision::Double)] {
        group(c, "gram matrix", n * d * d).bench_function(name, |b| b.iter(|| gram_of_rows(&rows, d, precision, run)));
    }
    let values = gram_of_rows(&rows, d, Precision::Double, run)?;
    let lower = |i: usize, j: usize| values[i.min(j) * d + i.max(j)];
    let gram = Matrix::new(d, d, (0..d * d).map(|at| lower(at / d, at % d)).collect())?;
    let right: Vec<f64> = (0..d).map(|at| (at % 5) as f64 - 1.5).collect();
    let (mut nnls, mut x) = (Nnls::new(&gram), vec![0.0; d]);
    group(c, "nnls", d).bench_function("64 columns", |b| b.iter(|| nnls.solve(&right, &mut x)));
    Ok(())
}

/// Iterations of the first-order solver for the weights of a learned graph.
fn learned_weights(c: &mut Criterion, run: &Run) -> Result<()> {
    let features = features(50_000, run)?;
    let (neighbors, _) = kneighbors(&features, &KnnParams { n_neighbors: 30, ..KnnParams::default() }, run)?;
    let rows = (0..neighbors.n_samples()).flat_map(|row| neighbors.row(row).map(move |(id, z)| (row as u32, id, z)));
    let mut pairs: Vec<(u32, u32, f32)> = rows.map(|(u, v, z)| (u.min(v), u.max(v), z * z)).collect();
    pairs.sort_unstable_by_key(|&(u, v, _)| (u, v));
    pairs.dedup_by_key(|&mut (u, v, _)| (u, v));
    let edges: Vec<(u32, u32)> = pairs.iter().map(|&(u, v, _)| (u, v)).collect();
    let squared: Vec<f32> = pairs.iter().map(|&(_, _, z)| z).collect();
    let support = Support::from_edges(neighbors.n_samples(), &edges, &squared, run)?;
    let first_order = LearnSolver::PrimalDual;
    let params = LearnParams { sparsity: Some(1.0), solver: first_order, max_iter: Some(10), ..LearnParams::default() };
    group(c, "learned weights, 10 iterations", 10 * edges.len())
        .bench_function("50,000 rows", |b| b.iter(|| learn_weights(&support, LearnModel::Log, &params, None, run)));
    Ok(())
}

fn kernels(c: &mut Criterion) {
    let all = |c: &mut Criterion| -> Result<()> {
        let run = Run::new(None, 0)?;
        laplacian(c, &run)?;
        small_system(c, &run)?;
        neighbors(c, &run)?;
        row_kernel(c)?;
        dense(c, &run)?;
        learned_weights(c, &run)
    };
    if let Err(error) = all(c) {
        eprintln!("error: {error}");
    }
}

criterion_group!(benches, kernels);
criterion_main!(benches);
