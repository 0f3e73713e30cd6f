//! `cargo xtask bench NAME` and `cargo xtask reproduce PAPER`: measurements in Python, and benchmarks in Rust.
//!
//! Each Python benchmark or paper is a folder, named with `_` instead of `-`, that holds a script (`bench.py` or `run.py`), a
//! `requirements.txt`, unless it needs Python alone and not our package, and optionally an `optional.txt`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{Call, Result, is_help, root};
use crate::python::Venv;
use crate::system::{answers, entries, provide};
use crate::{mpi, wheel};

/// Scripts that are started in the same way.
pub struct Scripts {
    /// The folder of all of them, and the name of the virtual environment.
    folder: &'static str,
    environment: &'static str,
    script: &'static str,
    /// Folders on the module search path of Python.
    modules: &'static [&'static str],
    /// Names of scripts that start `lapwing` or `lapwing-mpi`.
    with_programs: &'static [&'static str],
    /// Names of benchmarks in Rust: bench targets of the crate `lapwing`.
    in_rust: &'static [&'static str],
}

/// Benchmarks beside peers.
pub const BENCHES: Scripts = Scripts {
    folder: "benches",
    environment: "bench",
    script: "bench.py",
    modules: &["benches"],
    with_programs: &["low-rank", "plan", "signals", "tables"],
    in_rust: &["kernels", "constants"],
};

/// Experiments of papers; they use the modules of the benchmarks too.
pub const PAPERS: Scripts = Scripts {
    folder: "reproduce",
    environment: "reproduce",
    script: "run.py",
    modules: &["benches", "reproduce"],
    with_programs: &["biglp"],
    in_rust: &[],
};

impl Scripts {
    /// Names for the command line, sorted.
    pub fn names(&self) -> Vec<String> {
        let folders = entries(&root().join(self.folder)).into_iter().filter(|folder| folder.join(self.script).exists());
        let name = |folder: PathBuf| Some(folder.file_name()?.to_string_lossy().replace('_', "-"));
        let in_rust = self.in_rust.iter().map(|name| (*name).to_owned());
        let mut names: Vec<String> = folders.filter_map(name).chain(in_rust).collect();
        names.sort();
        names
    }

    /// Runs the script of this name with these options.
    pub fn run(&self, name: &str, options: &[&str]) -> Result<()> {
        let names = self.names();
        if !names.iter().any(|known| known == name) {
            return Err(format!("there is no {name:?} in {}/; there are: {}", self.folder, names.join(", ")));
        }
        if self.in_rust.contains(&name) {
            // The whole workspace, so that cargo picks the features of the other builds and compiles no crate again.
            let call = Call::cargo("bench").args(["--locked", "--workspace", "--bench", name, "--"]);
            return call.args(options).run();
        }
        let folder = root().join(self.folder).join(name.replace('-', "_"));
        let venv = Venv::kept(self.environment)?;
        let requirements = folder.join("requirements.txt");
        if requirements.exists() {
            venv.install([Path::new("--requirement"), &requirements])?;
        }
        if requirements.exists() && !options.iter().any(is_help) {
            install_optional(&venv, &folder.join("optional.txt"))?;
            venv.install_wheel(&wheel::build(None)?)?;
            if self.with_programs.contains(&name) {
                mpi::programs()?;
            }
        }
        let modules = std::env::join_paths(self.modules.iter().map(|folder| root().join(folder)));
        let modules = modules.map_err(|error| format!("the path of the scripts cannot be searched: {error}"))?;
        // Relative paths among the options refer to the user's folder.
        let here = std::env::current_dir().map_err(|error| format!("the current directory is unknown: {error}"))?;
        let call = venv.call().env("PYTHONPATH", modules).args([folder.join(self.script)]);
        call.args(options).within(here).run()
    }
}

/// Installs packages without wheels, which need a C++ compiler. Packages that cannot be installed are left out.
fn install_optional(venv: &Venv, list: &Path) -> Result<()> {
    let Ok(text) = fs::read_to_string(list) else { return Ok(()) };
    for package in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if venv.has(package) {
            continue;
        }
        let compiler = provide("a C++ compiler is missing", &["g++", "python3-dev"], || answers("c++"));
        if let Err(error) = compiler.and_then(|()| venv.install([package])) {
            eprintln!("the run goes on without {package}: {error}");
        }
    }
    Ok(())
}
