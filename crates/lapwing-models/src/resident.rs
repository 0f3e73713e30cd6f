//! What a process has in memory beside the arrays of a fit: its program, its threads, its input. Part of every plan.

use crate::ProblemSize;

/// How far into the program a method goes: pages of it count once they are run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Program {
    /// Searches and small dense problems.
    Search,
    /// Those, and factors of low rank.
    Factor,
    /// Solvers on graphs that are given.
    Solver,
    /// Graphs that are built, and their solvers.
    Graph,
}

impl Program {
    /// That of a method on a graph, which is built where there are features alone.
    pub(crate) fn on_graph(size: &ProblemSize) -> Self {
        if size.n_features == 0 { Self::Solver } else { Self::Graph }
    }

    /// Pages of the program and of its libraries that a run touches, and what it has allocated before the work: measured on
    /// 1,000 rows.
    const fn bytes(self) -> usize {
        match self {
            Self::Search => 26 << 19,
            Self::Factor => 31 << 19,
            Self::Solver => 32 << 19,
            Self::Graph => 37 << 19,
        }
    }
}

/// Stack and buffers of a thread, and its share of the allocator.
const THREAD_BYTES: usize = 3 << 18;
/// Panels that matrix products of rows pack, for each column, and at most: they are cut to fit a cache.
const PANEL_BYTES: usize = 8 << 10;
const MOST_PANELS: usize = 3 << 19;
/// The same of products in double precision, where the sizes are those of the problem.
const DOUBLE_PANELS: usize = 1 << 20;
/// Given labels, one a row; sparse ones take less.
const LABEL_BYTES: usize = 4;

/// What is there before anything is done, features included.
pub(crate) fn base_bytes(program: Program, size: &ProblemSize) -> usize {
    size.input_bytes + process_bytes(program, size) + LABEL_BYTES * size.n_samples
}

/// The process alone: rows that are read in blocks are not held.
pub(crate) fn process_bytes(program: Program, size: &ProblemSize) -> usize {
    program.bytes() + size.threads * (THREAD_BYTES + MOST_PANELS.min(PANEL_BYTES * size.n_features))
}

/// What products in double precision pack besides.
pub(crate) fn double_panels(size: &ProblemSize) -> usize {
    size.threads * DOUBLE_PANELS
}
