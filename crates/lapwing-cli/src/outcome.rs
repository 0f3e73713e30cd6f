//! How a run ends, and its exit code.

/// Exit code: all done.
pub const DONE: u8 = 0;
/// Exit code, only with `--strict`: finished, but not converged, or with rows unreached or undecided.
pub const LOOK: u8 = 1;
/// Exit code: usage or input error.
pub const ERROR: u8 = 2;
/// Exit code: stopped by Ctrl-C or SIGTERM.
pub const INTERRUPTED: u8 = 130;

/// Outcome of a command that did not fail.
pub enum Outcome {
    Done,
    /// Not converged, or rows unreached or undecided.
    Look,
}

impl Outcome {
    /// The outcome of a result that is fine or not, which counts only with `--strict`.
    pub fn of(is_strict: bool, is_fine: bool) -> Self {
        if is_strict && !is_fine { Self::Look } else { Self::Done }
    }
}
