//! What a process has in memory beside the arrays of a fit: its program, its threads, its input. Part of every plan.

use crate::ProblemSize;

/// How far into the program a method goes: pages of it count once they are run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Program {
    /// Searches and small dense problems.
    Search,
    /// Those, and factors of low rank.
    Factor,
    /// Graphs and their solvers.
    Solver,
}

impl Program {
    /// Pages of the program and of its libraries that a run touches, and what it has allocated before the work: measured on
    /// 1,000 rows.
    const fn bytes(self) -> usize {
        match self {
            Self::Search => 25 << 19,
            Self::Factor => 31 << 19,
            Self::Solver => 35 << 19,
        }
    }
}

/// Stack of a thread, and the panels that its matrix products pack.
const THREAD_BYTES: usize = 2 << 20;
/// Given labels, one a row; sparse ones take less.
const LABEL_BYTES: usize = 4;

/// What is there before anything is done, features included.
pub(crate) fn base_bytes(program: Program, size: &ProblemSize) -> usize {
    size.input_bytes + process_bytes(program, size.threads) + LABEL_BYTES * size.n_samples
}

/// The process alone: rows that are read in blocks are not held.
pub(crate) fn process_bytes(program: Program, threads: usize) -> usize {
    program.bytes() + THREAD_BYTES * threads
}
