//! Damaged files for every reader of lapwing.
//!
//! A [`Target`] is a reader with checks of everything that it accepts. [`seeds`] makes valid files for it, [`mutate`] damages
//! them by their format, and [`judge`](mod@judge) classifies the result of one file. With the feature `libfuzzer`,
//! mutations follow coverage (`guided`). The program `fuzz` supervises a [`campaign`], as `cargo xtask fuzz` starts it. The
//! test `corpus` reads the files in `tests/corpus`, which have shown defects.

use std::sync::{Mutex, MutexGuard};

pub mod campaign;
pub mod found;
#[cfg(feature = "libfuzzer")]
pub mod guided;
pub mod judge;
pub mod memory;
pub mod mutate;
pub mod reading;
pub mod replay;
pub mod rng;
pub mod scratch;
pub mod seeds;
mod targets;

pub use targets::{Bench, TARGETS, Target};

/// The value behind a lock; no panic leaves such a value half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
