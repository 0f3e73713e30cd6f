//! `cargo xtask bench NAME`: lapwing beside its peers, in the same run on the same rows.

use std::path::Path;

use crate::process::{Result, root};
use crate::python::Venv;
use crate::wheel;

/// Features to labels; the options are those of `benches/label/bench.py`.
///
/// # Errors
/// When the peers cannot be installed or the run fails.
pub fn label(options: &[&str]) -> Result<()> {
    let scripts = root().join("benches/label");
    let venv = Venv::kept("bench")?;
    venv.install([Path::new("--requirement"), &scripts.join("requirements.txt")])?;
    if !options.iter().any(|option| ["-h", "--help"].contains(option)) {
        venv.install_wheel(&wheel::build(None)?)?;
    }
    // Paths among the options are meant from where the user stands.
    let here = std::env::current_dir().map_err(|error| format!("cannot tell the current directory: {error}"))?;
    venv.call().args([scripts.join("bench.py")]).args(options).within(here).run()
}
