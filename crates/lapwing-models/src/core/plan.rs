//! Plans: peak memory of a fit by its parts, known before it starts. The process has memory beside the arrays of a fit: its program, its
//! threads, its input.

use lapwing_graph::{GraphParams, graph_bytes};
use serde::Serialize;

use super::problem::ProblemSize;

/// One part of a plan.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PlanStep {
    /// Part, named as the report's phases are.
    pub name: String,
    /// Largest memory during it, input included.
    pub peak_bytes: u64,
}

/// Peak memory and passes of a fit, known before it starts.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Plan {
    /// Rows.
    pub n_samples: usize,
    /// Undirected edges; an estimate if the graph is built.
    pub n_edges: usize,
    /// Largest resident memory of the process.
    pub peak_bytes: u64,
    /// The part of it that no allocation shows: pages of the program and its libraries.
    pub program_bytes: u64,
    /// Passes over the input.
    pub passes: usize,
    /// Parts in order.
    pub steps: Vec<PlanStep>,
}

impl Plan {
    /// The plan with these parts.
    pub(crate) fn from_steps(
        program: Program,
        n_samples: usize,
        n_edges: usize,
        passes: usize,
        steps: Vec<PlanStep>,
    ) -> Self {
        let peak_bytes = steps.iter().map(|step| step.peak_bytes).max().unwrap_or(0);
        Self { n_samples, n_edges, peak_bytes, program_bytes: program.bytes() as u64, passes, steps }
    }

    /// Adds the step that scales the features first. It reads the original features (`read_bytes`) twice and holds them
    /// beside the scaled ones of `size`.
    pub fn scaled(mut self, size: &ProblemSize, read_bytes: usize) -> Self {
        let base = base_bytes(Program::Search, size);
        let step = PlanStep { name: "scale".into(), peak_bytes: (base + read_bytes) as u64 };
        self.peak_bytes = self.peak_bytes.max(step.peak_bytes);
        self.passes += 2;
        self.steps.insert(0, step);
        self
    }
}

/// The parts of the program that a method runs. Only pages that run are in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Program {
    /// Neighbor searches and small dense problems.
    Search,
    /// The same, and low-rank factors.
    Factor,
    /// Solvers on a given graph.
    Solver,
    /// Building a graph, and solvers on it.
    Graph,
}

impl Program {
    /// The parts that a method on a graph runs; the graph is built if there are features.
    pub(crate) fn on_graph(size: &ProblemSize) -> Self {
        if size.n_features == 0 { Self::Solver } else { Self::Graph }
    }

    /// Pages of the program and its libraries that a run touches, plus allocations before the work starts; measured on 1,000 rows.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::Search => 29 << 19,
            Self::Factor => 34 << 19,
            Self::Solver => 35 << 19,
            Self::Graph => 46 << 19,
        }
    }
}

/// Stack, buffers and allocator arena of a thread.
const THREAD_BYTES: usize = 3 << 18;
/// Packed panels of a matrix product of rows: bytes for each column, and the most bytes, since panels are cut to fit a cache.
const PANEL_BYTES: usize = 8 << 10;
const MOST_PANELS: usize = 3 << 19;
/// Packed panels of a product in double precision; always the most, since these products are large.
const DOUBLE_PANELS: usize = 1 << 20;
/// Given labels, for each row; sparse labels take less.
const LABEL_BYTES: usize = 4;

/// Bytes in memory when the fit starts: input, process and labels.
pub(crate) fn base_bytes(program: Program, size: &ProblemSize) -> usize {
    size.input_bytes + process_bytes(program, size) + LABEL_BYTES * size.n_samples
}

/// Bytes of the process without input, for rows that are read in blocks.
pub(crate) fn process_bytes(program: Program, size: &ProblemSize) -> usize {
    program.bytes() + size.threads * (THREAD_BYTES + MOST_PANELS.min(PANEL_BYTES * size.n_features))
}

/// Bytes of the packed panels of products in double precision.
pub(crate) fn double_panels(size: &ProblemSize) -> usize {
    size.threads * DOUBLE_PANELS
}

/// Plan of reading or building the graph.
pub(crate) struct PlannedGraph {
    pub steps: Vec<PlanStep>,
    /// Undirected edges; an estimate if the graph is built.
    pub n_edges: usize,
    /// Bytes of the graph, held until the end.
    pub held_bytes: usize,
}

pub(crate) fn plan_graph(graph: &GraphParams, size: &ProblemSize) -> PlannedGraph {
    let n = size.n_samples;
    let base = base_bytes(Program::on_graph(size), size);
    let step = |name: &str, bytes: usize| PlanStep { name: name.into(), peak_bytes: (base + bytes) as u64 };
    if let Some(n_edges) = size.n_edges {
        let steps = vec![step("read", 2 * graph_bytes(n, n_edges))];
        return PlannedGraph { steps, n_edges, held_bytes: graph_bytes(n, n_edges) };
    }
    let entries = size.sparse.then_some(size.input_bytes / 8);
    let built = graph.plan(n, size.n_features, entries, size.threads);
    let steps = vec![step("neighbors", built.search_bytes), step("weights", built.weigh_bytes)];
    PlannedGraph { steps, n_edges: built.n_edges, held_bytes: built.graph_bytes }
}
