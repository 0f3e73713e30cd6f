//! The kernels as an older processor runs them: without its vector instructions.

use crate::process::{Call, Result};

/// Parts of the names of tests that run kernels.
const KERNELS: [&str; 6] = ["knn", "kernel", "symmetric", "cholesky", "lanes", "level"];

/// Runs these tests with the kernels for any processor. The tests of the kernels themselves compare all levels; these are of what is built
/// on them.
pub fn test() -> Result<()> {
    let call = Call::cargo("test").args(["--release", "--locked", "--workspace", "--tests", "--"]).args(KERNELS);
    call.env("LAPWING_SIMD", "portable").run()
}
