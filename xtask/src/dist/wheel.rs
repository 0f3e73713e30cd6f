//! Wheels and the source package of the Python package, by maturin.
//!
//! Unlike `cargo xtask wheel`, which shares the build of the workspace, these are built by the profile `dist`, on Linux by zig for
//! an old C library.

use std::fs;
use std::path::{Path, PathBuf};

use super::files::{emptied, folder};
use super::systems::{System, tools};
use crate::process::{Call, Result, root};
use crate::system::entries;

/// Builds the wheel for a system; returns its path.
pub fn build(system: &System) -> Result<PathBuf> {
    system.ensure_library()?;
    let mut words = vec!["build", "--profile", "dist", "--locked", "--target", system.name];
    if system.takes_zig() {
        words.push("--zig");
    }
    if let Some(platform) = system.platform {
        words.extend(["--compatibility", platform]);
    }
    let wheel = maturin(&words)?;
    if system.platform.is_some() {
        // Says which C library the wheel needs, from the symbols that it uses.
        tools()?.call().args(["-m", "auditwheel", "show"]).args([&wheel]).quiet_stdout().run()?;
    }
    Ok(wheel)
}

/// Packs the sources of the Python package with the crates that it is built from; returns the path.
pub fn source() -> Result<PathBuf> {
    maturin(&["sdist"])
}

/// Calls maturin for the binding crate; returns the file that it wrote.
fn maturin(words: &[&str]) -> Result<PathBuf> {
    let venv = tools()?;
    let out = emptied(&folder().join("parts/python"))?;
    venv.call()
        .args(["-m", "maturin"])
        .args(words)
        .args(["--manifest-path".as_ref(), root().join("python/Cargo.toml").as_os_str()])
        .args(["--out".as_ref(), out.as_os_str()])
        .env("CARGO_ZIGBUILD_PYTHON_PATH", venv.python())
        .quiet_stdout()
        .run()?;
    let [file] = &entries(&out)[..] else { return Err(format!("maturin left no single file in {}", out.display())) };
    let to = folder().join(file.file_name().unwrap_or_default());
    fs::rename(file, &to).map_err(|error| format!("cannot move {} to {}: {error}", file.display(), to.display()))?;
    Ok(to)
}

/// Installs a file in a new environment of the interpreter that `PYTHON` names, and does a small job with it.
pub fn attempt(file: &str, options: &[&str]) -> Result<()> {
    let script = root().join("packaging/try_wheel.py");
    let file = std::path::absolute(Path::new(file)).map_err(|error| format!("{file}: {error}"))?;
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    Call::new(python).args([script, file]).args(options).run()
}
