//! `cargo xtask bench NAME`: lapwing beside its peers, in the same run on the same data.

use std::fs;
use std::path::Path;

use crate::process::{Call, Result, root};
use crate::python::Venv;
use crate::{mpi, wheel};

/// The benchmarks there are: folders of `benches/`, with `_` for `-`, each with a `bench.py`, a `requirements.txt` and
/// perhaps an `optional.txt`.
pub const NAMES: [&str; 10] =
    ["accuracy", "graph-learning", "knn", "label", "lapsvm", "low-rank", "plan", "solve", "sparsify", "unfolded"];

/// Those that start the programs, that across ranks among them.
const WITH_PROGRAMS: [&str; 2] = ["low-rank", "plan"];

/// Run a benchmark; the options are those of its `bench.py`.
///
/// # Errors
/// When there is no such benchmark, the peers it requires cannot be installed, or the run fails.
pub fn bench(name: &str, options: &[&str]) -> Result<()> {
    if !NAMES.contains(&name) {
        return Err(format!("no benchmark is called {name:?}; there are: {}", NAMES.join(", ")));
    }
    let benches = root().join("benches");
    let scripts = benches.join(name.replace('-', "_"));
    let venv = Venv::kept("bench")?;
    venv.install([Path::new("--requirement"), &scripts.join("requirements.txt")])?;
    if !options.iter().any(|option| ["-h", "--help"].contains(option)) {
        install_optional(&venv, &scripts.join("optional.txt"))?;
        venv.install_wheel(&wheel::build(None)?)?;
        if WITH_PROGRAMS.contains(&name) {
            mpi::programs()?;
        }
    }
    // Paths among the options are meant from where the user stands.
    let here = std::env::current_dir().map_err(|error| format!("cannot tell the current directory: {error}"))?;
    let call = venv.call().env("PYTHONPATH", benches).args([scripts.join("bench.py")]);
    call.args(options).within(here).run()
}

/// Install what has no wheel and needs a C++ compiler; without one, say how to get it and go on without those peers.
fn install_optional(venv: &Venv, list: &Path) -> Result<()> {
    let Ok(text) = fs::read_to_string(list) else { return Ok(()) };
    for package in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if venv.has(package) {
            continue;
        }
        if Call::new("c++").args(["--version"]).read().is_err() {
            install_compiler();
        }
        if let Err(error) = venv.install([package]) {
            eprintln!("{package} is left out, it could not be installed ({error}); it needs a C++ compiler:");
            eprintln!("  sudo apt-get install -y --no-install-recommends g++ python3-dev");
        }
    }
    Ok(())
}

/// A C++ compiler from Debian, where we may; what goes wrong shows when it is used.
fn install_compiler() {
    if Call::new("id").args(["-u"]).read().is_ok_and(|id| id == "0") {
        let install = ["install", "-y", "-q", "--no-install-recommends", "g++", "python3-dev"];
        let call = Call::new("apt-get").args(install).env("DEBIAN_FRONTEND", "noninteractive");
        if let Err(error) = call.quiet_stdout().run() {
            eprintln!("no C++ compiler could be installed: {error}");
        }
    }
}
