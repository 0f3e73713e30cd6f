//! What a fit will need, added up from what it allocates.

use lapwing_graph::GraphParams;
use lapwing_solve::symmetric_bytes;

use super::basis::Storage;
use super::machine::chosen_solver;
use super::params::{KernelKind, KernelSolver, LapSvmParams};
use super::select::n_columns;
use crate::harmonic::{PlannedGraph, base_bytes, plan_graph};
use crate::{Plan, PlanStep, ProblemSize};

/// Columns of L^p·Z that are made at a time, and the copies of them.
const PANEL_BYTES: usize = 3 * 8 * 64;

pub(super) fn plan(params: &LapSvmParams, graph: &GraphParams, size: &ProblemSize) -> Plan {
    let (rows, d, c) = (size.n_samples, size.n_features, size.n_classes.max(2));
    let is_supervised = params.graph_reg == Some(0.0);
    let n = if is_supervised { size.n_labeled.max(1).min(rows) } else { rows };
    let base = base_bytes(size);
    let PlannedGraph { mut steps, n_edges, held_bytes: held } = if is_supervised {
        PlannedGraph { steps: Vec::new(), n_edges: 0, held_bytes: 0 }
    } else {
        plan_graph(graph, size)
    };
    let storage = Storage::of(params, n, d, size.sparse);
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
        steps.push(PlanStep { name: name.into(), peak_bytes: (base + held + bytes) as u64 });
    };
    let building = match storage {
        Storage::Tiles(_) => wide,
        // Their kernel, its eigenvectors, and what those are found in.
        Storage::Landmarks(count) => 8 * 6 * count * count,
        _ => 0,
    };
    step(name, gram + building);
    if params.ambient_reg.is_none() || params.graph_reg.is_none() {
        let own = if rank > 0 && rank <= 1024 { 0 } else { 12 * n * n_columns(n) };
        step("select", gram + own + PANEL_BYTES * n);
    }
    // Sixteen shares of a product, and the vectors of every problem.
    let iteration = (16 + 11) * 8 * n * problems;
    let labeled = size.n_labeled.max(1);
    let solve = match chosen_solver(params, storage, n, d) {
        KernelSolver::Newton | KernelSolver::Dual if rank > 0 => {
            8 * (3 * rank * rank + 2 * labeled * rank) + 3 * 8 * 32 * n
        }
        // M, Q, and a system of as many equations twice.
        KernelSolver::Newton | KernelSolver::Dual if is_supervised => 8 * 4 * n * n,
        KernelSolver::Newton | KernelSolver::Dual => {
            8 * (2 * labeled * n + (n * n + 512 * 3 * n).max(3 * labeled * labeled))
        }
        _ => iteration,
    };
    step("solve", gram + solve);
    let kept = if rank > 0 { 0 } else { 8 * n * problems };
    step("decide", gram + kept + 2 * 8 * rows * c + 48 * rows);
    // Checked, searched, and made similarities of.
    let passes = if size.n_edges.is_some() || is_supervised { 3 } else { 5 };
    Plan::of_steps(rows, n_edges, passes, steps)
}
