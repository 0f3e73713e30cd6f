//! Damaged files for every reader of lapwing.
//!
//! A [`Target`] is a reader with checks of everything that it accepts. Valid files for it are in `tests/corpus`, or made by the target
//! itself. libFuzzer damages them, led by coverage; [`mutate`] gets its changes past checksums. [`replay()`] reads files again: the test
//! `corpus` those that have shown defects, within limits of time and memory. `cargo xtask fuzz` runs all targets.

mod bench;
pub mod mutate;
pub mod reading;
mod replay;
mod targets;

pub use bench::{Answer, Bench, Verdict};
pub use replay::{files_of, judge, note_panics, replay};
pub use targets::{TARGETS, Target};

/// The most bytes of a process at a time: a small file must not take gigabytes. The programs of this crate allocate no more. Readers
/// allocate sizes that a file states with a check, and return an error when the limit refuses them; any other allocation ends the process.
pub const MEMORY: usize = 64 << 20;
