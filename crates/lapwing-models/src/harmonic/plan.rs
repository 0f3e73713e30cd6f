//! What a harmonic fit will need, added up from what it allocates.

use lapwing_graph::sparsify::SparsifyParams;
use lapwing_graph::{GraphParams, KnnEdges, graph_bytes};

use super::leave_one_out::{FEWEST_LABELS, LEAST_PER_CLASS, most_labels};
use crate::{Plan, PlanStep, ProblemSize};

/// The pages of the program and its libraries that a run touches, and what it has allocated before the work; the stack and
/// buffers of a thread.
const PROGRAM_BYTES: usize = 18 << 20;
const THREAD_BYTES: usize = 2 << 20;

/// What is there before anything is done: the input, the program and its threads, the given labels.
pub(crate) fn base_bytes(size: &ProblemSize) -> usize {
    size.input_bytes + PROGRAM_BYTES + THREAD_BYTES * size.threads + 4 * size.n_samples
}

/// The part of a plan that makes the graph.
pub(crate) struct PlannedGraph {
    pub steps: Vec<PlanStep>,
    /// Undirected edges, estimated where the graph is still to be built.
    pub n_edges: usize,
    /// Bytes that are held from then on.
    pub held_bytes: usize,
}

pub(crate) fn plan_graph(graph: &GraphParams, size: &ProblemSize) -> PlannedGraph {
    let n = size.n_samples;
    if let Some(n_edges) = size.n_edges {
        return PlannedGraph { steps: Vec::new(), n_edges, held_bytes: graph_bytes(n, n_edges) };
    }
    let base = base_bytes(size);
    let step = |name: &str, bytes: usize| PlanStep { name: name.into(), peak_bytes: (base + bytes) as u64 };
    let entries = size.sparse.then_some(size.input_bytes / 8);
    let built = graph.plan(n, size.n_features, entries, size.threads);
    let steps = vec![step("neighbors", built.search_bytes), step("weights", built.weigh_bytes)];
    PlannedGraph { steps, n_edges: built.n_edges, held_bytes: built.graph_bytes }
}

pub(super) fn plan(graph: &GraphParams, size: &ProblemSize) -> Plan {
    let (n, c) = (size.n_samples, size.n_classes.max(2));
    let base = base_bytes(size);
    let PlannedGraph { mut steps, n_edges, held_bytes: held } = plan_graph(graph, size);
    let mut step =
        |name: &str, bytes: usize| steps.push(PlanStep { name: name.into(), peak_bytes: (base + bytes) as u64 });
    // The copy that is solved with, 8 bytes for each direction of an edge; right-hand side and its copy, solution and
    // four blocks of the iteration, with two columns that certify; degrees, weights, marks and places of the rows; what comes
    // with the labels that are left out, once the solution is there.
    let solve = (14 * 4 * n * (c + 1)).max(8 * n * (c - 1) + LEFT_OUT_BLOCKS * 8 * n * left_out(size));
    step("solve", held + 16 * n_edges + solve + 60 * n);
    // Scores and distributions; class, confidence and mark of each row, twice while they are taken apart.
    step("decide", held + 2 * 8 * n * c + 48 * n);
    // The features are read to be checked, to be centered and to be searched.
    let passes = if size.n_edges.is_some() { 1 } else { 3 };
    Plan::of_steps(n, n_edges, passes, steps)
}

/// Blocks of the columns of labels that are left out: right-hand side, its copy, solution and the iteration's.
const LEFT_OUT_BLOCKS: usize = 6;

/// Columns that leaving out labels takes.
fn left_out(size: &ProblemSize) -> usize {
    let most = most_labels(size.n_samples);
    let applies = most >= FEWEST_LABELS && size.n_labeled >= LEAST_PER_CLASS * size.n_classes.max(2);
    if applies { most.min(size.n_labeled) + 1 } else { 0 }
}

/// The same on a sparsified graph.
pub(super) fn plan_sparse(graph: &GraphParams, sparsify: &SparsifyParams, size: &ProblemSize) -> Plan {
    let (n, c) = (size.n_samples, size.n_classes.max(2));
    let base = base_bytes(size);
    let entries = size.sparse.then_some(size.input_bytes / 8);
    let (n_edges, source) = match size.n_edges {
        Some(n_edges) => (n_edges, 0),
        None => {
            let plan = graph.plan(n, size.n_features, entries, size.threads);
            let n_edges = plan.n_edges;
            // Learned weights are found for all edges together, and the graph is held.
            let held = plan.search_bytes.max(plan.weigh_bytes);
            (
                n_edges,
                if graph.weights.model().is_some() {
                    held
                } else {
                    KnnEdges::memory_bytes(n, size.n_features, entries, graph, size.threads)
                },
            )
        }
    };
    let sparsified = sparsify.plan(n, n_edges);
    let kept = graph_bytes(n, sparsified.n_kept);
    let solve = source + kept + 16 * sparsified.n_kept + 13 * 4 * n * (c - 1) + 60 * n;
    // Solution, direction, preconditioned residual, two residuals, product and right-hand side.
    let refine = solve + 7 * 8 * n * (c - 1);
    let steps: Vec<PlanStep> = [
        ("neighbors", if size.n_edges.is_none() { source } else { 0 }),
        ("sparsify", source + sparsified.peak_bytes),
        ("solve", refine),
        ("decide", source + kept + 2 * 8 * n * c + 48 * n),
    ]
    .into_iter()
    .filter(|(_, bytes)| *bytes > 0)
    .map(|(name, bytes)| PlanStep { name: name.into(), peak_bytes: (base + bytes) as u64 })
    .collect();
    let peak_bytes = steps.iter().map(|step| step.peak_bytes).max().unwrap_or(base as u64);
    // Refinements included; features are checked, centered and searched twice before.
    let passes = if size.n_edges.is_some() { 4 } else { 7 };
    Plan { n_samples: n, n_edges, peak_bytes, passes, steps }
}
