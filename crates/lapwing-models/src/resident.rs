//! Memory of a process beside the arrays of a fit: its program, its threads, its input. Part of every plan.

use crate::ProblemSize;

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
