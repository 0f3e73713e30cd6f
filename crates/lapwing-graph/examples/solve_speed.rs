//! Seconds of Laplacian systems, as lines of JSON: `solve_speed [REPEATS]`, medians.
//!
//! A grid of 1000 × 1000 vertices and the 15-neighbor graph of MNIST (`mnist.npz` of the folder `LAPWING_DATA`), each with 10
//! right-hand sides; 100 right-hand sides on a grid of 20,000 vertices; and smoothing of 64 columns over the graph of MNIST.
//! `bits` is a hash of the solution: equal numbers are equal solutions.

use std::path::PathBuf;
use std::time::Instant;

use lapwing_core::hash::{mix, uniform};
use lapwing_core::{Matrix, Result, Run};
use lapwing_graph::{Graph, GraphParams, affinity_graph};
use lapwing_solve::{LaplacianParams, LaplacianSolver, Propagator, PropagatorParams};
use lapwing_table::read::ReadOptions;
use lapwing_table::read_samples;

fn main() -> Result<()> {
    let repeats = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5);
    let run = Run::new(Some(2), 0)?;
    solve("grid", &grid(1000, 1000)?, 10, 0, repeats, &run)?;
    solve("grid, 100 columns", &grid(200, 100)?, 100, 0, repeats, &run)?;
    let Some(folder) = std::env::var_os("LAPWING_DATA") else { return Ok(()) };
    let samples = read_samples(&PathBuf::from(folder).join("mnist.npz"), &ReadOptions::default(), &run)?;
    let params = GraphParams { n_neighbors: 15, ..GraphParams::default() };
    let mnist = affinity_graph(&samples.features, &params, &run)?.graph;
    solve("mnist", &mnist, 10, 100, repeats, &run)?;
    solve("mnist, singular", &mnist, 10, 0, repeats, &run)?;
    for (graph_reg, tol) in [(1.0, 1e-2), (20.0, 1e-6), (20.0, 1e-10)] {
        smooth(&mnist, graph_reg, tol, repeats, &run)?;
    }
    Ok(())
}

fn grid(rows: usize, columns: usize) -> Result<Graph> {
    let mut edges = Vec::new();
    for v in 0..rows * columns {
        if v % columns + 1 < columns {
            edges.push((v as u32, v as u32 + 1, 0.5 + uniform(2 * v as u64)));
        }
        if v + columns < rows * columns {
            edges.push((v as u32, (v + columns) as u32, 0.5 + uniform(2 * v as u64 + 1)));
        }
    }
    Graph::from_edges(rows * columns, &edges)
}

/// Solves for `s` random columns, with `n_held` rows held by a diagonal entry.
fn solve(name: &str, graph: &Graph, s: usize, n_held: usize, repeats: usize, run: &Run) -> Result<()> {
    let n = graph.n_samples();
    let b = Matrix::new(n, s, (0..n * s).map(|at| uniform(at as u64) - 0.5).collect())?;
    let mut diagonal = vec![0.0; n];
    (0..n_held).for_each(|at| diagonal[at * n / n_held] = graph.mean_degree());
    let diagonal = Some(diagonal.as_slice()).filter(|_| n_held > 0);
    let (mut setups, mut seconds, mut last) = (Vec::new(), Vec::new(), None);
    for _ in 0..repeats {
        let start = Instant::now();
        let solver = LaplacianSolver::new(graph, diagonal, LaplacianParams::default(), run)?;
        setups.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        last = Some(solver.solve(&b, None, run)?);
        seconds.push(start.elapsed().as_secs_f64());
    }
    if let Some((x, info)) = last {
        let n_iter = info.iterations.iter().max().copied().unwrap_or(0);
        let residual = info.residuals.iter().fold(0.0f64, |most, &r| most.max(r));
        println!(
            r#"{{"task": "{name}", "setup": {:.3}, "solve": {:.3}, "iterations": {n_iter}, "residual": {residual:.2e}, "bits": "{:016x}"}}"#,
            median(setups),
            median(seconds),
            bits(&x)
        );
    }
    Ok(())
}

fn smooth(graph: &Graph, graph_reg: f64, tol: f64, repeats: usize, run: &Run) -> Result<()> {
    let n = graph.n_samples();
    let f = Matrix::new(n, 64, (0..n * 64).map(|at| uniform(at as u64) - 0.5).collect())?;
    let params = PropagatorParams { graph_reg, ..PropagatorParams::default() };
    let propagator = Propagator::new(graph, params, run)?;
    let (mut seconds, mut last) = (Vec::new(), None);
    for _ in 0..repeats {
        let start = Instant::now();
        last = Some(propagator.solve(&f, tol, run)?);
        seconds.push(start.elapsed().as_secs_f64());
    }
    if let Some(z) = last {
        let (seconds, bits) = (median(seconds), bits(&z));
        println!(
            r#"{{"task": "smooth", "graph_reg": {graph_reg}, "tol": {tol:e}, "solve": {seconds:.3}, "bits": "{bits:016x}"}}"#
        );
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn bits(x: &Matrix) -> u64 {
    x.values().iter().fold(0, |hash, value| mix(hash ^ value.to_bits()))
}
