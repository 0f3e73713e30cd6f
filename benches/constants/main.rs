//! Measures constants in the code again on this machine: `cargo xtask bench constants`.
//!
//! Prints each constant with its value in the code and the value measured now. Values in the code are read from its text, or
//! found by calling the rule that uses them. A different value is no error: constants suit several machines, and most costs
//! change slowly around the best value. `cargo xtask bench constants NAME …` measures those whose names contain a NAME.

use std::fs;
use std::path::Path;
use std::time::Instant;

use lapwing::data::{Features, GeneratedRows, Matrix, Result, Run};
use lapwing::graph::{Graph, GraphParams, KnnMethod, KnnParams, affinity_graph, kneighbors};
use lapwing::solve::{LaplacianParams, LaplacianSolver, PreconditionerChoice};
use lapwing_core::gather;
use lapwing_solve::{Cholesky, Precision, gram_of_rows};

/// A constant: its name, its value in the code, and a function that measures it.
struct Constant {
    name: &'static str,
    in_code: fn() -> String,
    measure: fn(&Run) -> Result<String>,
}

const CONSTANTS: [Constant; 7] = [
    Constant {
        name: "partitions from rows (32 columns)",
        in_code: || crossover_in_code(32),
        measure: |run| crossover(32, run),
    },
    Constant {
        name: "partitions from rows (128 columns)",
        in_code: || crossover_in_code(128),
        measure: |run| crossover(128, run),
    },
    Constant {
        name: "laplacian BUDGET: diagonal iterations per factor",
        in_code: || in_text("lapwing-solve", "BUDGET"),
        measure: |run| budget(&neighbor_graph(60_000, run)?, run),
    },
    Constant {
        name: "laplacian SPARSE_BUDGET: the same on grids",
        in_code: || in_text("lapwing-solve", "SPARSE_BUDGET"),
        measure: |run| budget(&grid(300)?, run),
    },
    Constant {
        name: "laplacian WIDEST: columns of a block",
        in_code: || in_text("lapwing-solve", "WIDEST"),
        measure: block_width,
    },
    Constant { name: "unfolded GRAM: flops/s", in_code: || in_text("lapwing-models", "GRAM"), measure: gram_speed },
    Constant {
        name: "unfolded FACTOR: flops/s",
        in_code: || in_text("lapwing-models", "FACTOR"),
        measure: factor_speed,
    },
];

fn main() {
    // Cargo passes `--bench` to every benchmark.
    let names: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if names.iter().any(|word| word.starts_with('-')) {
        println!("cargo xtask bench constants [NAME …]\n\nMeasures constants of the code again:");
        return CONSTANTS.iter().for_each(|constant| println!("  {}", constant.name));
    }
    println!("{:<52} {:>14} {:>14}", "constant", "in the code", "measured now");
    for constant in &CONSTANTS {
        if names.is_empty() || names.iter().any(|name| constant.name.contains(name.as_str())) {
            let measured = Run::new(None, 0).and_then(|run| (constant.measure)(&run));
            let measured = measured.unwrap_or_else(|error| format!("error: {error}"));
            println!("{:<52} {:>14} {measured:>14}", constant.name, (constant.in_code)());
        }
    }
}

/// The value of `const NAME` in the text of a crate; `?` if there is no such constant.
fn in_text(package: &str, name: &str) -> String {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(package).join("src");
    value_below(&sources, name).unwrap_or_else(|| "?".into())
}

fn value_below(folder: &Path, name: &str) -> Option<String> {
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let path = entry.path();
        let text = if path.is_dir() { None } else { fs::read_to_string(&path).ok() };
        let in_file = text.as_deref().and_then(|text| {
            let start = text.find(&format!("const {name}: "))?;
            let value = text[start..].split_once('=')?.1.split_once(';')?.0;
            Some(value.trim().to_owned())
        });
        if let Some(value) = in_file.or_else(|| value_below(&path, name)) {
            return Some(value);
        }
    }
    None
}

/// Seconds of a call: the least of three.
fn seconds<T>(mut call: impl FnMut() -> Result<T>) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        call()?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok(least)
}

fn features(n: usize, d: usize, run: &Run) -> Result<Features<'static>> {
    let rows: Vec<u32> = (0..n as u32).collect();
    Features::from_f32(n, d, gather(&GeneratedRows::new(n, d, 10, 0)?, &rows, &[], run)?)
}

fn neighbor_graph(n: usize, run: &Run) -> Result<Graph> {
    Ok(affinity_graph(&features(n, 16, run)?, &GraphParams::default(), run)?.graph)
}

/// A square grid with weights of 1.
fn grid(side: usize) -> Result<Graph> {
    let edges = (0..side * side).flat_map(|v| {
        let right = (v % side + 1 < side).then_some((v as u32, v as u32 + 1, 1.0));
        let below = (v / side + 1 < side).then_some((v as u32, (v + side) as u32, 1.0));
        right.into_iter().chain(below)
    });
    Graph::from_edges(side * side, &edges.collect::<Vec<_>>())
}

// --- neighbor search -----------------------------------------------------------------------------------------------------

/// The number of rows from which `Auto` searches by partitions.
fn crossover_in_code(d: usize) -> String {
    let is_exact = |n: &usize| KnnMethod::Auto.choose(*n, d, KnnParams::default().n_neighbors) == KnnMethod::Exact;
    let (mut low, mut high) = (1, 1 << 24);
    while low + 1 < high {
        let middle = (low + high) / 2;
        if is_exact(&middle) { low = middle } else { high = middle }
    }
    high.to_string()
}

/// The number of rows from which partitions are faster, between steps of a fifth.
fn crossover(d: usize, run: &Run) -> Result<String> {
    let mut n = 4000;
    while n < 200_000 {
        let features = features(n, d, run)?;
        let took = |method| seconds(|| kneighbors(&features, &KnnParams { method, ..KnnParams::default() }, run));
        if took(KnnMethod::Partitions)? < took(KnnMethod::Exact)? {
            return Ok(n.to_string());
        }
        n += n / 5;
    }
    Ok("> 200000".into())
}

// --- Laplacian systems ---------------------------------------------------------------------------------------------------

/// Right-hand sides (n, s) that sum to 0.
fn right_sides(n: usize, s: usize) -> Result<Matrix> {
    let values = (0..n * s).map(|at| ((at * 7919) % 1009) as f64).collect::<Vec<f64>>();
    let mean = values.iter().sum::<f64>() / (n * s) as f64;
    Matrix::new(n, s, values.iter().map(|value| value - mean).collect())
}

fn laplacian(
    graph: &Graph,
    preconditioner: PreconditionerChoice,
    max_iter: usize,
    run: &Run,
) -> Result<LaplacianSolver> {
    let diagonal = vec![1e-3; graph.n_samples()];
    let params = LaplacianParams { preconditioner, max_iter, ..LaplacianParams::default() };
    LaplacianSolver::new(graph, Some(&diagonal), params, run)
}

/// Iterations with the diagonal that take as long as building a factor and solving with it.
fn budget(graph: &Graph, run: &Run) -> Result<String> {
    let b = right_sides(graph.n_samples(), 1)?;
    let with_factor =
        seconds(|| laplacian(graph, PreconditionerChoice::ApproxCholesky, 10_000, run)?.solve(&b, None, run))?;
    let few = 10;
    let with_diagonal = laplacian(graph, PreconditionerChoice::Jacobi, few, run)?;
    let all = seconds(|| with_diagonal.solve(&b, None, run))?;
    Ok(format!("{:.0}", with_factor / (all / few as f64)))
}

/// The number of columns, up to the widest block, with the least time for each column.
fn block_width(run: &Run) -> Result<String> {
    let graph = neighbor_graph(20_000, run)?;
    let mut best = (f64::INFINITY, 0);
    for width in [1, 4, 8, 12, 16] {
        let b = right_sides(graph.n_samples(), width)?;
        let solver = laplacian(&graph, PreconditionerChoice::Jacobi, 10_000, run)?;
        let took = seconds(|| solver.solve(&b, None, run))? / width as f64;
        best = if took < best.0 { (took, width) } else { best };
    }
    Ok(best.1.to_string())
}

// --- dense kernels -------------------------------------------------------------------------------------------------------

/// Flops a second of a Gram matrix in single precision.
fn gram_speed(run: &Run) -> Result<String> {
    let (n, d) = (20_000, 512);
    let rows: Vec<f32> = (0..n * d).map(|at| ((at * 7919) % 1009) as f32 / 1009.0 - 0.5).collect();
    let took = seconds(|| gram_of_rows(&rows, d, Precision::Single, run))?;
    Ok(format!("{:.1e}", (n * d * d) as f64 / took))
}

/// Flops a second of a Cholesky factor.
fn factor_speed(run: &Run) -> Result<String> {
    let n = 2000;
    let value = |at: usize| if at.is_multiple_of(n + 1) { n as f64 } else { ((at * 7919) % 1009) as f64 / 1009.0 };
    let matrix: Vec<f64> = (0..n * n).map(value).collect();
    let took = seconds(|| Cholesky::factor(n, matrix.clone(), run))?;
    Ok(format!("{:.1e}", (n * n * n) as f64 / 3.0 / took))
}
