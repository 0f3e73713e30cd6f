//! MPI: the only system library that a part of the workspace needs.

use std::path::{Path, PathBuf};

use crate::process::{Call, Result};
use crate::system::{answers, entries, provide};
use crate::wheel::BUILD;

/// The cargo feature that builds the MPI part. It is always built with the whole workspace: for the package alone, cargo would
/// pick other features and compile the heavy crates once more.
pub const FEATURES: [&str; 2] = ["--features", "lapwing-mpi/mpi"];

const PACKAGES: [&str; 3] = ["libopenmpi-dev", "openmpi-bin", "libclang-dev"];

/// Makes sure of an MPI library (any one; its compiler is searched for) and of libclang, which reads its headers.
pub fn ensure() -> Result<()> {
    provide("MPI or libclang is missing", &PACKAGES, || answers("mpicc") && answers("mpirun") && has_libclang())
}

/// Builds `lapwing`, `lapwing-mpi` and all examples.
pub fn programs() -> Result<()> {
    ensure()?;
    Call::cargo(BUILD[0]).args(&BUILD[1..]).args(["--examples"]).args(FEATURES).run()
}

/// Runs the tests of the program and of its collectives, as ranks on this machine.
pub fn test() -> Result<()> {
    let tests = ["--test", "collectives", "--test", "program", "--test", "label"];
    Call::cargo("test").args(["--release", "--locked", "--workspace"]).args(FEATURES).args(tests).run()
}

/// Whether libclang is in one of the folders that the bindings generator searches.
fn has_libclang() -> bool {
    let named = std::env::var_os("LIBCLANG_PATH").map(PathBuf::from);
    let of_llvm = Call::new("llvm-config").args(["--libdir"]).read().ok().map(PathBuf::from);
    let usual = ["/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64"].map(PathBuf::from);
    let of_versions = entries(Path::new("/usr/lib")).into_iter().flat_map(|folder| [folder.join("lib"), folder]);
    let mut folders = named.into_iter().chain(of_llvm).chain(usual).chain(of_versions);
    folders.any(|folder| is_libclang(&folder) || entries(&folder).iter().any(|file| is_libclang(file)))
}

/// Whether a file is libclang; `libclang-cpp` is another library.
fn is_libclang(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let is_named = name.starts_with("libclang.") || name.starts_with("libclang-") && !name.starts_with("libclang-cpp");
    is_named && !file.is_dir()
}
