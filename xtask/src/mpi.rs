//! The MPI tests: the one part of the workspace that needs a library of the system.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{Call, Result};
use crate::system::provide;
use crate::wheel::BUILD;

/// What turns the part on. Always together with the whole workspace: cargo would pick other features for the package alone,
/// and compile the heavy crates once more.
pub const FEATURES: [&str; 2] = ["--features", "lapwing-mpi/mpi"];

const PACKAGES: [&str; 3] = ["libopenmpi-dev", "openmpi-bin", "libclang-dev"];

/// Makes sure of an MPI (any: it is found by its compiler) and of libclang, which reads its headers.
///
/// # Errors
/// When one is missing and cannot be installed.
pub fn ensure() -> Result<()> {
    provide("MPI or libclang is missing", &PACKAGES, || answers("mpicc") && answers("mpirun") && has_libclang())
}

/// Builds `lapwing` and `lapwing-mpi`, and all examples.
///
/// # Errors
/// As [`ensure`], or when the build fails.
pub fn programs() -> Result<()> {
    ensure()?;
    Call::cargo(BUILD[0]).args(&BUILD[1..]).args(FEATURES).run()
}

/// Tests of the program and its collectives, as ranks on this machine.
///
/// # Errors
/// When one fails.
pub fn test() -> Result<()> {
    let tests = ["--test", "collectives", "--test", "program", "--test", "label"];
    Call::cargo("test").args(["--release", "--locked", "--workspace"]).args(FEATURES).args(tests).run()
}

fn answers(program: &str) -> bool {
    Call::new(program).args(["--version"]).read().is_ok()
}

/// Whether the library is where the generator of the bindings looks for it.
fn has_libclang() -> bool {
    let named = std::env::var_os("LIBCLANG_PATH").map(PathBuf::from);
    let asked = Call::new("llvm-config").args(["--libdir"]).read().ok().map(PathBuf::from);
    let usual = ["/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64"].map(PathBuf::from);
    let of_versions = entries(Path::new("/usr/lib")).into_iter().flat_map(|folder| [folder.join("lib"), folder]);
    let mut folders = named.into_iter().chain(asked).chain(usual).chain(of_versions);
    folders.any(|folder| is_libclang(&folder) || entries(&folder).iter().any(|file| is_libclang(file)))
}

/// The library itself; `libclang-cpp` is another one.
fn is_libclang(file: &Path) -> bool {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_named = name.starts_with("libclang.") || name.starts_with("libclang-") && !name.starts_with("libclang-cpp");
    is_named && !file.is_dir()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect()
}
