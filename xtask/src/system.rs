//! System packages: installed if the user is root, else named in the error.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{Call, Result};

/// Makes sure that `is_there` holds, by installing Debian `packages` if necessary; `lack` names what is missing.
pub fn provide(lack: &str, packages: &[&str], is_there: impl Fn() -> bool) -> Result<()> {
    if is_there() {
        return Ok(());
    }
    let names = packages.join(" ");
    if is_root() && answers("apt-get") {
        eprintln!("{lack}; installing {names}");
        install(packages)?;
    }
    if is_there() {
        return Ok(());
    }
    Err(format!("{lack}; on Debian or Ubuntu run:\n  sudo apt-get install -y {names}"))
}

/// Whether a program is on the search path and reports its version.
pub fn answers(program: &str) -> bool {
    Call::new(program).args(["--version"]).read().is_ok()
}

/// Files and folders in a folder; none if it cannot be read.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn install(packages: &[&str]) -> Result<()> {
    let install = || {
        let options = ["install", "-y", "-q", "--no-install-recommends"];
        let call = Call::new("apt-get").args(options).args(packages);
        call.env("DEBIAN_FRONTEND", "noninteractive").quiet_stdout().run()
    };
    // The package lists of a fresh machine are empty or old.
    install().or_else(|_| {
        Call::new("apt-get").args(["update", "-q"]).quiet_stdout().run()?;
        install()
    })
}

fn is_root() -> bool {
    Call::new("id").args(["-u"]).read().is_ok_and(|id| id == "0")
}
