//! What a fit will need, added up from what it allocates.

use lapwing_graph::GraphParams;

use super::params::{LayerSolver, UnfoldedParams};
use super::routes::MOST_NODES;
use super::select::{MOST_COLUMNS as MOST_SHARED_COLUMNS, MOST_NODES as MOST_SHARED_NODES};
use crate::harmonic::{PlannedGraph, base_bytes, plan_graph};
use crate::{Plan, PlanStep, ProblemSize};

/// Bytes of columns under way, in strips.
const STRIPS: usize = (1 << 27) + (1 << 22);

pub(super) fn plan(params: &UnfoldedParams, graph: &GraphParams, size: &ProblemSize) -> Plan {
    let (n, c, l) = (size.n_samples, size.n_classes.max(2), size.n_labeled.max(1));
    let k = size.n_features + usize::from(params.bias);
    let base = base_bytes(size) + if size.sparse { size.input_bytes } else { 0 };
    let PlannedGraph { mut steps, n_edges, held_bytes: held } = plan_graph(graph, size);
    // The matrix of the system, and what belongs to a node.
    let system = 2 * 12 * n_edges + 40 * n;
    let mut step = |name: &str, bytes: usize| {
        steps.push(PlanStep { name: name.into(), peak_bytes: (base + held + system + bytes) as u64 });
    };
    if params.graph_reg.is_none() {
        let shared = match () {
            () if l <= MOST_SHARED_NODES => 8 * l * (2 * k + 3 * l),
            () if k <= MOST_SHARED_COLUMNS => 8 * l * k + 2 * 8 * k * k,
            () => 0,
        };
        step("select", shared + STRIPS + 8 * n * 32);
    }
    let units = params.hidden.unwrap_or(k);
    let stored = match params.solver {
        LayerSolver::Gd | LayerSolver::Adam | LayerSolver::MatrixFree => 0,
        _ if l < units && l <= MOST_NODES => 8 * l * (2 * units + 3 * l),
        _ => 4 * l * units + 2 * 8 * units * units,
    };
    let hidden = params.hidden.map_or(0, |units| 6 * 8 * n * units);
    step("solve", stored + hidden + STRIPS + 8 * n * (2 * c + 32) + 3 * 8 * l * c);
    step("decide", 4 * 8 * n * c + 48 * n);
    let passes = if size.n_edges.is_some() { 3 } else { 5 };
    Plan::of_steps(n, n_edges, passes, steps)
}
