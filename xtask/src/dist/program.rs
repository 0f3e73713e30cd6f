//! The program for people who download it: one archive for a system, with manual pages and completions.
//!
//! Its name is `lapwing-VERSION-TARGET.tar.gz` (`.zip` for Windows), and it holds one folder of that name. The table
//! `package.metadata.binstall` of `lapwing-cli` states the same, so that `cargo binstall lapwing-cli` finds it.

use std::fs;
use std::path::{Path, PathBuf};

use super::files::{emptied, folder, version};
use super::systems::{System, tools, zig_cargo};
use crate::process::{Call, Result, root, target};

/// Texts that are packed beside the program.
const TEXTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Builds the program for a system and packs it; returns the path of the archive.
pub fn pack(system: &System) -> Result<PathBuf> {
    let program = build(system)?;
    let name = format!("lapwing-{}-{}", version()?, system.name);
    let parts = emptied(&folder().join("parts").join(&name))?;
    for file in TEXTS.map(|text| root().join(text)).iter().chain([&program]) {
        let to = parts.join(file.file_name().unwrap_or_default());
        fs::copy(file, &to).map_err(|error| format!("cannot copy {} to {}: {error}", file.display(), to.display()))?;
    }
    let pages = runnable(system, &program)?;
    for (format, place) in [("man", "man"), ("completions", "completions")] {
        Call::new(&pages).args(["reference", "--format", format]).args([parts.join(place)]).quiet_stdout().run()?;
    }
    let archive = folder().join(format!("{name}.{}", if system.is_windows() { "zip" } else { "tar.gz" }));
    let script = root().join("packaging/archive.py");
    tools()?.call().args([script, parts, archive.clone()]).run()?;
    Ok(archive)
}

/// Builds the program by the profile `dist`; returns its path.
fn build(system: &System) -> Result<PathBuf> {
    system.ensure_library()?;
    let options = ["--profile", "dist", "--locked", "--package", "lapwing-cli", "--target"];
    let (call, triple) = match system.takes_zig() {
        true => (zig_cargo(&tools()?).args(["zigbuild"]), system.with_c_library()),
        false => (Call::cargo("build"), system.name.to_owned()),
    };
    call.args(options).args([triple]).quiet_stdout().run()?;
    let name = if system.is_windows() { "lapwing.exe" } else { "lapwing" };
    Ok(target().join(system.name).join("dist").join(name))
}

/// A program of the same sources that runs on this machine: the packed one, else one that is built for it.
fn runnable(system: &System, program: &Path) -> Result<PathBuf> {
    if System::own().is_ok_and(|own| own.name == system.name) {
        return Ok(program.to_owned());
    }
    Call::cargo("build").args(["--release", "--locked"]).quiet_stdout().run()?;
    Ok(target().join("release").join(format!("lapwing{}", std::env::consts::EXE_SUFFIX)))
}
