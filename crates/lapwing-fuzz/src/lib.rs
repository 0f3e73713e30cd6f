//! Damaged files for every reader of lapwing.
//!
//! A [`Target`] is a reader with what must hold of whatever it accepts; [`seeds`] makes valid files for it, [`mutate`]
//! damages them by what is known of their format, and [`judge`] says what became of one. With the feature `libfuzzer`,
//! mutations follow coverage (`guided`). The program `fuzz` supervises a [`campaign`], as `cargo xtask fuzz` starts it, and
//! the test `corpus` reads again what is kept in `tests/corpus`.

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

pub use targets::{Bench, TARGETS, Target, target};
