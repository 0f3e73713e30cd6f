//! `cargo xtask reproduce PAPER`: the experiments of a paper, run again, with tables and plots in `docs/results/`.

use crate::process::{Result, root};
use crate::python::Venv;
use crate::{mpi, wheel};

/// The papers there are: folders of `reproduce/`, with `_` for `-`, each with a `run.py` and a `requirements.txt`.
pub const NAMES: [&str; 5] = ["sparse-hfs", "biglp", "lapsvm", "graph-learning", "herta"];
/// Those whose experiments start the programs, that across ranks among them.
const WITH_PROGRAMS: [&str; 1] = ["biglp"];

/// Run the experiments of a paper; the options are those of its `run.py`.
///
/// # Errors
/// When there is no such paper, what its scripts need cannot be installed or built, or the run fails.
pub fn reproduce(paper: &str, options: &[&str]) -> Result<()> {
    if !NAMES.contains(&paper) {
        return Err(format!("no experiments are called {paper:?}; there are: {}", NAMES.join(", ")));
    }
    let scripts = root().join("reproduce").join(paper.replace('-', "_"));
    let venv = Venv::kept("reproduce")?;
    venv.install(["--requirement".as_ref(), scripts.join("requirements.txt").as_os_str()])?;
    if !options.iter().any(|option| ["-h", "--help"].contains(option)) {
        venv.install_wheel(&wheel::build(None)?)?;
        if WITH_PROGRAMS.contains(&paper) {
            mpi::programs()?;
        }
    }
    // Processes, data and tables are what benchmarks have too.
    let modules = std::env::join_paths([root().join("benches"), root().join("reproduce")]);
    let modules = modules.map_err(|error| format!("cannot name where the scripts lie: {error}"))?;
    venv.call().env("PYTHONPATH", modules).args([scripts.join("run.py")]).args(options).run()
}
