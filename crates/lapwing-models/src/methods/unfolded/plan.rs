//! The memory of a fit: the sum of its allocations.

use lapwing_graph::GraphParams;
use lapwing_solve::Propagator;

use super::params::{LayerSolver, UnfoldedParams};
use super::routes::MOST_NODES;
use super::select::{MOST_COLUMNS as MOST_SHARED_COLUMNS, MOST_NODES as MOST_SHARED_NODES};
use super::smooth::NODES;
use crate::core::plan::{PlannedGraph, Program, base_bytes, plan_graph};
use crate::maps::precondition::PROBES;
use crate::{Plan, PlanStep, ProblemSize};

pub(super) fn plan(params: &UnfoldedParams, graph: &GraphParams, size: &ProblemSize) -> Plan {
    let (n, c, l) = (size.n_samples, size.n_classes.max(2), size.n_labeled.max(1));
    let k = size.n_features + usize::from(params.bias);
    let base = base_bytes(Program::on_graph(size), size) + if size.sparse { size.input_bytes } else { 0 };
    let PlannedGraph { mut steps, n_edges, held_bytes: held } = plan_graph(graph, size);
    let system = Propagator::memory_bytes(n, n_edges);
    // Columns are in single precision for choosing λ and for training, in double for scores.
    let strips = |columns: usize, is_single: bool| Propagator::strip_bytes(n, columns, is_single, size.threads);
    let mut step = |name: &str, bytes: usize| {
        steps.push(PlanStep { name: name.into(), peak_bytes: (base + held + system + bytes) as u64 });
    };
    // One solve for each labeled node if these are few, else one for each column.
    let is_by_nodes = |columns: usize, most: usize| l < columns && l <= most;
    let nodes = 8 * l * (2 * k + 3 * l) + 8 * n * NODES.min(l) + strips(NODES.min(l), false);
    if params.graph_reg.is_none() {
        let shared = match () {
            () if is_by_nodes(k, MOST_SHARED_NODES) => nodes,
            () if k <= MOST_SHARED_COLUMNS => 8 * l * k + 2 * 8 * k * k + strips(k, true),
            () => strips(k, true),
        };
        step("select", shared);
    }
    let units = params.hidden.unwrap_or(k);
    let smoothed = match params.solver {
        LayerSolver::Gd | LayerSolver::Adam | LayerSolver::MatrixFree => strips(c, true),
        _ if is_by_nodes(units, MOST_NODES) => nodes,
        _ => 4 * l * units + 2 * 8 * units * units + strips(k, true),
    };
    let hidden = params.hidden.map_or(0, |units| 6 * 8 * n * units);
    step("pilot", 8 * n * PROBES + strips(PROBES, true));
    step("solve", smoothed + hidden + 3 * 8 * l * c);
    step("propagate", hidden + 2 * 8 * n * c + strips(c, false));
    step("decide", 3 * 8 * n * c + 48 * n);
    let passes = if size.n_edges.is_some() { 3 } else { 5 };
    Plan::from_steps(Program::on_graph(size), n, n_edges, passes, steps)
}
