//! Memory of suggestions and audits, before they begin.

use lapwing_graph::GraphParams;

use crate::core::plan::{Program, base_bytes, plan_graph};
use crate::{Plan, PlanStep, ProblemSize};

/// Most cells with seeds.
const CELLS: usize = 1000;
/// Working blocks of conjugate gradients, besides right-hand side and solution, in units of half a block.
const CG_HALVES: usize = 9;
/// Columns that an audit solves for at a time.
const AUDIT_COLUMNS: usize = 16;

/// The plan of a batch of suggestions, or of an audit, on a graph that is built with these parameters, or given.
pub fn plan_loop(graph: &GraphParams, size: &ProblemSize, is_audit: bool) -> Plan {
    let base = base_bytes(Program::on_graph(size), size);
    let planned = plan_graph(graph, size);
    let (n, n_edges, held) = (size.n_samples, planned.n_edges, planned.held_bytes);
    let mut steps = planned.steps;
    let mut step =
        |name: &str, bytes: usize| steps.push(PlanStep { name: name.into(), peak_bytes: (base + held + bytes) as u64 });
    let k = CELLS.min(n.div_ceil(5));
    let cells = 8 * k * k + 24 * n;
    // The solver's copy of the graph, right-hand side, solution, and its working blocks.
    let solve = |columns: usize| 16 * n_edges + 8 * n * (2 * columns + CG_HALVES * columns / 2) + 60 * n;
    let c = size.n_classes.max(1);
    if is_audit {
        // Scores and raw columns are held while labels are left out.
        step("solve", solve(c) + 8 * n * c);
        step("leave one out", 8 * n * (2 * c + 7) + solve(AUDIT_COLUMNS));
        // The cells of parts far from labels, which are looked for unless a quarter of the rows has a label.
        step("classes", 8 * n * (2 * c + 1) + cells + 8 * k * k);
        step("duplicates", 8 * n * (2 * c + 1) + 8 * n_edges + 64 * n);
    } else {
        step("cells", cells + 8 * k * k + 32 * n);
        if size.n_labeled > 0 {
            // The raw columns of this solve and of the last one, scores and shares.
            step("solve", cells + solve(c) + 8 * n * 2 * c);
            step("pick", cells + 8 * n * (3 * c + 4));
        } else {
            step("pick", cells + 32 * n);
        }
    }
    Plan::from_steps(Program::on_graph(size), n, n_edges, if size.n_edges.is_some() { 1 } else { 3 }, steps)
}
