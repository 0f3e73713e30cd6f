//! `cargo xtask wheel`: the abi3 wheel, packed by maturin from the library that the workspace build makes.
//!
//! Left alone, maturin builds the binding crate by itself. Cargo then picks features for that crate alone, which differ
//! from those of the workspace in small crates deep down, and faer, gemm and our own crates compile a second time. So
//! this program stands in for cargo while maturin runs: `cargo rustc` becomes the workspace build, with the variables
//! removed that maturin sets for PyO3 (another value would rebuild it; `.cargo/config.toml` holds what is needed), and
//! every other call is passed on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::SystemTime;

use crate::process::{Result, cargo, root, target};
use crate::python::Venv;

/// Holds the real cargo while we stand in for it.
const REAL_CARGO: &str = "LAPWING_XTASK_CARGO";
const MATURIN: &str = "maturin>=1.16,<2";
/// `--examples` brings in the features that tests ask for, so that `cargo test` shares its crates with this build.
pub const BUILD: [&str; 7] = ["build", "--release", "--locked", "--workspace", "--lib", "--bins", "--examples"];

/// Build the wheel and print its path.
///
/// # Errors
/// When maturin cannot be had, the build fails, or no wheel appears.
pub fn wheel(out: Option<&str>) -> Result<()> {
    let path = build(out.map(PathBuf::from))?;
    println!("{}", path.display());
    Ok(())
}

/// Build the wheel into `out`, else `target/wheels`, and return its path.
///
/// # Errors
/// As [`wheel`].
pub fn build(out: Option<PathBuf>) -> Result<PathBuf> {
    let venv = Venv::kept("maturin")?;
    venv.install([MATURIN])?;
    let out = match out {
        Some(folder) => std::path::absolute(&folder).map_err(|error| format!("--out {}: {error}", folder.display()))?,
        None => target().join("wheels"),
    };
    let stand_in = std::env::current_exe().map_err(|error| format!("cannot tell where this program lies: {error}"))?;
    #[expect(clippy::disallowed_methods, reason = "files carry the clock of the system")]
    let start = SystemTime::now();
    venv.call()
        .args(["-m", "maturin", "build", "--release", "--locked", "--manifest-path"])
        .args([root().join("python/Cargo.toml")])
        .args(["--interpreter".as_ref(), venv.python().as_os_str(), "--out".as_ref(), out.as_os_str()])
        .env("CARGO", stand_in)
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
        .ok_or_else(|| format!("maturin ended well but left no wheel in {}", folder.display()))
}

/// Whether this process was called by maturin in the place of cargo.
pub fn stands_in_for_cargo() -> bool {
    std::env::var_os(REAL_CARGO).is_some()
}

/// Do what cargo would do with `args`, except that building one package builds the workspace.
pub fn cargo_for_maturin(args: &[String]) -> ExitCode {
    let real = std::env::var_os(REAL_CARGO).unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&real);
    command.env_remove(REAL_CARGO).env("CARGO", &real);
    if args.first().is_some_and(|word| word == "rustc") {
        command.args(BUILD).args(["--message-format", "json-render-diagnostics"]).current_dir(root());
        let foreign = std::env::vars_os().map(|(name, _)| name);
        for name in
            foreign.filter(|name| name.to_string_lossy().starts_with("PYO3_") || name == "CARGO_ENCODED_RUSTFLAGS")
        {
            command.env_remove(name);
        }
    } else {
        command.args(args);
    }
    match command.status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("xtask: cannot start {}: {error}", real.to_string_lossy());
            ExitCode::FAILURE
        }
    }
}
