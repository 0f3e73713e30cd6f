//! `cargo xtask wheel`: the abi3 wheel, packed by maturin from the library of the workspace build.
//!
//! By default, maturin builds the binding crate alone. For a single crate, cargo picks other features of indirect dependencies
//! than for the workspace, and compiles faer, gemm and our own crates a second time. So maturin is given this program as its
//! cargo. It turns `cargo rustc` into the build of the workspace, without the variables that maturin sets for PyO3 (their values
//! would cause a rebuild; `.cargo/config.toml` sets the needed one). All other calls go to the real cargo.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::SystemTime;

use crate::process::{Result, cargo, own_file, replaced_by, root, target};
use crate::python::Venv;

/// Variable with the path of the real cargo, set while this program acts as cargo.
const REAL_CARGO: &str = "LAPWING_XTASK_CARGO";
const MATURIN: &str = "maturin>=1.16,<2";
/// The build of the workspace.
pub const BUILD: [&str; 6] = ["build", "--release", "--locked", "--workspace", "--lib", "--bins"];

/// Builds the wheel in the folder `out`, by default `target/wheels`, and returns its path.
pub fn build(out: Option<&str>) -> Result<PathBuf> {
    let venv = Venv::kept("maturin")?;
    venv.install([MATURIN])?;
    let out = match out {
        Some(folder) => std::path::absolute(folder).map_err(|error| format!("--out {folder}: {error}"))?,
        None => target().join("wheels"),
    };
    #[expect(clippy::disallowed_methods, reason = "modification times of files are those of the system clock")]
    let start = SystemTime::now();
    venv.call()
        .args(["-m", "maturin", "build", "--release", "--locked", "--manifest-path"])
        .args([root().join("python/Cargo.toml")])
        .args(["--interpreter".as_ref(), venv.python().as_os_str(), "--out".as_ref(), out.as_os_str()])
        .env("CARGO", own_file()?)
        .env(REAL_CARGO, cargo())
        .quiet_stdout()
        .run()?;
    newest_wheel(&out, start)
}

fn newest_wheel(folder: &Path, since: SystemTime) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).map_err(|error| format!("cannot list {}: {error}", folder.display()))?;
    let written = |path: &PathBuf| fs::metadata(path).and_then(|facts| facts.modified()).ok();
    entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "whl"))
        .filter_map(|path| written(&path).map(|when| (when, path)))
        .max()
        .filter(|(when, _)| *when >= since)
        .map(|(_, path)| path)
        .ok_or_else(|| format!("maturin succeeded but left no wheel in {}", folder.display()))
}

/// Whether maturin called this program as its cargo.
pub fn is_cargo() -> bool {
    std::env::var_os(REAL_CARGO).is_some()
}

/// Handles a cargo call of maturin with `args`; builds the workspace instead of one package.
pub fn cargo_for_maturin(args: &[String]) -> ExitCode {
    let real = std::env::var_os(REAL_CARGO).unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&real);
    command.env_remove(REAL_CARGO).env("CARGO", &real);
    if args.first().is_none_or(|word| word != "rustc") {
        return replaced_by(command.args(args));
    }
    command.args(BUILD).args(["--message-format", "json-render-diagnostics"]).current_dir(root());
    let is_of_maturin = |name: &str| name.starts_with("PYO3_") || name == "CARGO_ENCODED_RUSTFLAGS";
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_maturin(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    replaced_by(&mut command)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::process::{Call, root};

    #[test]
    fn builds_and_tests_ask_for_the_same_features() {
        let tree = |options: &[&str]| -> BTreeSet<String> {
            let call = Call::cargo("tree").args(["--locked", "--prefix", "none", "--format", "{p} {f}"]).args(options);
            let text = call.within(root()).read().unwrap();
            text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
        };
        let all = tree(&["--workspace"]);
        for options in [&["--edges", "normal,build"][..], &["--workspace", "--edges", "normal,build"]] {
            let built = tree(options);
            let others: Vec<_> = built.difference(&all).collect();
            assert!(built.len() > 50 && others.is_empty(), "the tests compile these again: {others:?}");
        }
    }
}
