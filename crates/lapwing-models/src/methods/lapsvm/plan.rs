//! The memory of a fit: the sum of its allocations.

use lapwing_graph::GraphParams;
use lapwing_solve::symmetric_bytes;

use super::basis::Storage;
use super::gram::{BLOCK_ROWS, PANEL, SHARES};
use super::machine::chosen_solver;
use super::newton::{FETCHED, SMOOTHED};
use super::params::{KernelKind, KernelSolver, LapSvmParams, MOST_WEIGHTS};
use super::select::{MOST_LABELS, MOST_RANK, n_columns};
use crate::core::plan::{PlannedGraph, Program, base_bytes, double_panels, plan_graph};
use crate::{Plan, PlanStep, ProblemSize};

/// Blocks of columns while L^p·Z is computed a panel at a time: the panel and its product with the Laplacian.
const PANEL_BLOCKS: usize = 2;

pub(super) fn plan(params: &LapSvmParams, graph: &GraphParams, size: &ProblemSize) -> Plan {
    let (rows, d, c) = (size.n_samples, size.n_features, size.n_classes.max(2));
    let is_supervised = params.graph_reg == Some(0.0);
    let n = if is_supervised { size.n_labeled.max(1).min(rows) } else { rows };
    let base = base_bytes(Program::on_graph(size), size);
    let PlannedGraph { mut steps, n_edges, held_bytes: held } = if is_supervised {
        PlannedGraph { steps: Vec::new(), n_edges: 0, held_bytes: 0 }
    } else {
        plan_graph(graph, size)
    };
    let storage = Storage::new(params, n, d, size.sparse);
    let problems = if c == 2 { 1 } else { c };
    let wide = if size.sparse || params.kernel == KernelKind::Precomputed { 0 } else { 8 * n * d };
    let (name, gram, rank) = match storage {
        Storage::Tiles(precision) => ("kernel", symmetric_bytes(n, precision), 0),
        Storage::Blocks => ("kernel (not stored: made in every product)", wide, 0),
        Storage::Landmarks(count) => ("kernel (landmarks)", 4 * n * count, count),
        Storage::Features if size.sparse => ("kernel (features)", size.input_bytes, d),
        Storage::Features => ("kernel (features)", 4 * n * d, d),
    };
    let mut step = |name: &str, bytes: usize| {
        steps.push(PlanStep { name: name.into(), peak_bytes: (base + held + double_panels(size) + bytes) as u64 });
    };
    let building = match storage {
        Storage::Tiles(_) => wide,
        Storage::Landmarks(count) => nystrom_bytes(n, count, 0, size.threads).max(8 * 7 * count * count),
        _ => 0,
    };
    step(name, gram + building);
    let labeled = size.n_labeled.max(1);
    let smooth = |rank: usize| smooth_bytes(n, rank, size.threads);
    if !is_supervised && rank > 0 && rank <= MOST_WEIGHTS {
        // Three more vectors, as measured.
        step("smooth", gram + smooth(rank) + 24 * n);
    }
    if params.ambient_reg.is_none() || params.graph_reg.is_none() {
        // Columns of the Gram matrix and their factor, or the existing factor.
        let (own, columns) = if rank > 0 && rank <= MOST_RANK { (0, rank) } else { (4 * n, n_columns(n)) };
        let l = labeled.min(MOST_LABELS);
        // Leaving labels out one by one: eigenvectors, their labeled rows twice, and Q with its factor and inverse.
        let left_out = 8 * (3 * columns * columns + 3 * l * columns + 4 * l * l);
        let compressed = if own > 0 { 8 * n * columns + nystrom_bytes(n, columns, 4 * n, size.threads) } else { 0 };
        let smoothed = if is_supervised || own == 0 { 0 } else { smooth(columns) };
        // Six vectors of every problem besides a matrix in tiles, as measured.
        let vectors = if own > 0 { 48 * n * problems } else { 0 };
        step("select", gram + vectors + compressed.max(own * columns + smoothed.max(left_out)));
    }
    let is_direct = matches!(chosen_solver(params, storage, n, d), KernelSolver::Newton | KernelSolver::Dual);
    // Sums of the sixteen parts of a product, and the vectors of every problem.
    let iteration = (16 + 11) * 8 * n * problems;
    step("solve", gram + if is_direct { direct_bytes(n, labeled, rank, is_supervised) } else { iteration });
    let kept = if rank > 0 { 0 } else { 8 * n * problems };
    step("decide", gram + kept + 2 * 8 * rows * c + 48 * rows);
    // Copies for the checks, the search and the similarities.
    let passes = if size.n_edges.is_some() || is_supervised { 3 } else { 5 };
    Plan::from_steps(Program::on_graph(size), rows, n_edges, passes, steps)
}

/// Bytes of a solve by equations: of the columns of a factor, or of all rows, M, Q, and two copies of a system of as many equations.
fn direct_bytes(n: usize, labeled: usize, rank: usize, is_supervised: bool) -> usize {
    if rank > 0 {
        8 * (3 * rank * rank + 2 * labeled * rank + 2 * labeled * labeled) + 8 * 4 * n
    } else if is_supervised {
        8 * 4 * n * n
    } else {
        8 * (labeled * n + (n * n + FETCHED.min(n) * n + 3 * SMOOTHED * n).max(labeled * (n + 3 * labeled)))
    }
}

/// Bytes for computing ZᵀL^pZ (r, r): a panel of columns, sums of the parts of the rows, and for each thread a block of rows in
/// double precision.
fn smooth_bytes(n: usize, rank: usize, threads: usize) -> usize {
    let width = PANEL.min(rank);
    let rows = BLOCK_ROWS.min(n.div_ceil(SHARES));
    8 * (PANEL_BLOCKS * n * width + SHARES * rank * width + 2 * rank * rank + threads * rows * rank)
}

/// Bytes for computing a factor of this number of columns: first the kernel of its landmarks, eigenvectors and their scratch;
/// then a factor of `row_bytes` for each column, the map, and for each thread similarities and products of a block of rows.
fn nystrom_bytes(n: usize, columns: usize, row_bytes: usize, threads: usize) -> usize {
    let blocks = 2 * 8 * threads.min(n.div_ceil(BLOCK_ROWS)) * BLOCK_ROWS.min(n) * columns;
    (4 * 8 * columns * columns).max(8 * columns * columns + row_bytes * columns + blocks)
}
