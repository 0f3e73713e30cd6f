//! Plan of a harmonic fit: peak memory by phase, added up from its allocations.

use lapwing_graph::sparsify::SparsifyParams;
use lapwing_graph::{GraphParams, KnnEdges, graph_bytes};
use lapwing_solve::LaplacianSolver;

use super::influence::{FEWEST_LABELS, most_labels};
use crate::core::held_out::folds::LEAST_PER_CLASS;
use crate::core::plan::{PlannedGraph, Program, base_bytes, plan_graph};
use crate::{Plan, PlanStep, ProblemSize};

pub(super) fn plan(graph: &GraphParams, size: &ProblemSize) -> Plan {
    let base = base_bytes(Program::on_graph(size), size);
    let PlannedGraph { mut steps, n_edges, held_bytes: held } = plan_graph(graph, size);
    let mut step =
        |name: &str, bytes: usize| steps.push(PlanStep { name: name.into(), peak_bytes: (base + bytes) as u64 });
    step("solve", held + solve_bytes(size, n_edges));
    step("decide", held + decide_bytes(size));
    // Features are read three times: to check, to center and to search them.
    let passes = if size.n_edges.is_some() { 1 } else { 3 };
    Plan::from_steps(Program::on_graph(size), size.n_samples, n_edges, passes, steps)
}

/// Bytes of a solve on a graph of `n_edges`: the solver's copy of the graph, 8 bytes for each direction of an edge; vectors; and
/// the larger of two systems, that of the scores and that of the labels left out.
fn solve_bytes(size: &ProblemSize, n_edges: usize) -> usize {
    let (n, c) = (size.n_samples, size.n_classes.max(2));
    // One class follows from the others; the certificate takes two columns more.
    let (s, width) = (c - 1, c + 1);
    // The solution; in single precision corrections, residuals, products, and directions in rows of a power of two of values.
    let solving = 8 * s + 4 * (3 * width + width.next_power_of_two());
    // The solution; residuals and their rounding errors, and the same preconditioned.
    let certifying = 8 * s + 16 * (s + 1) + 8;
    let placing = 16 * c;
    // Scores and solution are held while labels are left out.
    let left_out = 8 * (2 * c + left_out_columns(size));
    16 * n_edges + n * solving.max(certifying).max(placing).max(left_out) + 76 * n
}

/// Bytes of scores and distributions, and twice of class, confidence and mark of each row, which are copied once.
fn decide_bytes(size: &ProblemSize) -> usize {
    2 * 8 * size.n_samples * size.n_classes.max(2) + 48 * size.n_samples
}

/// Columns of f64 that leaving out labels takes: right-hand sides and solutions of all labels; for each block of them that is solved at
/// the same time, copies of both, the residual, and in single precision residual, product, direction, correction, and a block that columns
/// are leaving.
fn left_out_columns(size: &ProblemSize) -> usize {
    let most = most_labels(size.n_samples);
    if most < FEWEST_LABELS || size.n_labeled < LEAST_PER_CLASS * size.n_classes.max(2) {
        return 0;
    }
    let n_columns = most.min(size.n_labeled) + 1;
    let n_blocks = LaplacianSolver::blocks_at_once(size.n_samples, n_columns, size.threads);
    2 * n_columns + 7 * n_blocks * LaplacianSolver::block_width(n_columns)
}

/// Plan of a fit on a sparsified graph.
pub(super) fn plan_sparse(
    graph: &GraphParams,
    sparsify: &SparsifyParams,
    refinements: usize,
    size: &ProblemSize,
) -> Plan {
    let (n, d, c) = (size.n_samples, size.n_features, size.n_classes.max(2));
    let base = base_bytes(Program::on_graph(size), size);
    let entries = size.sparse.then_some(size.input_bytes / 8);
    // Number of edges; bytes to set up their source, bytes it holds, and bytes of a batch while edges are read.
    let (n_edges, source, held, batch) = match size.n_edges {
        Some(n_edges) => (n_edges, 0, 0, 0),
        None => {
            let plan = graph.plan(n, d, entries, size.threads);
            // Learned weights are computed for all edges together, so the graph is held.
            if graph.weights.model().is_some() {
                (plan.n_edges, plan.search_bytes.max(plan.weigh_bytes), plan.graph_bytes, 0)
            } else {
                let source = KnnEdges::memory_bytes(n, d, entries, graph, size.threads);
                let held = KnnEdges::held_bytes(n, d, entries, graph, size.threads);
                (plan.n_edges, source, held, KnnEdges::batch_bytes(n, graph))
            }
        }
    };
    let sparsified = sparsify.plan(n, n_edges);
    let kept = graph_bytes(n, sparsified.n_kept);
    let solve = solve_bytes(size, sparsified.n_kept);
    // A graph that was not thinned needs no refinement. Refinement holds 7 blocks: solution, direction, preconditioned residual,
    // two residuals, product and right-hand side.
    let is_thinned = sparsified.n_kept < n_edges;
    let refine =
        if is_thinned && refinements > 0 { batch + 16 * sparsified.n_kept + 7 * 8 * n * (c - 1) + 60 * n } else { 0 };
    // Two vectors more than the solve allocates, as measured.
    let remaining = 16 * n;
    let steps: Vec<PlanStep> = [
        ("neighbors", source),
        ("sparsify", held + sparsified.peak_bytes + batch),
        ("solve", held + kept + solve + remaining),
        ("refine", if refine > 0 { held + kept + refine } else { 0 }),
        ("decide", held + kept + decide_bytes(size)),
    ]
    .into_iter()
    .filter(|(_, bytes)| *bytes > 0)
    .map(|(name, bytes)| PlanStep { name: name.into(), peak_bytes: (base + bytes) as u64 })
    .collect();
    // Edges are read once, and once more by every refinement. Features are read three times to check, center and search them. If
    // neighbors are not held, each reading of the edges searches again.
    let readings = 1 + if is_thinned { refinements } else { 0 };
    let passes = match size.n_edges {
        Some(_) => readings,
        None if graph.weights.model().is_some() || KnnEdges::holds_neighbors(n, d, entries, graph) => 3,
        None => 3 + readings,
    };
    Plan::from_steps(Program::on_graph(size), n, n_edges, passes, steps)
}
