//! Packages of the system: installed where we may, else the command to type.

use crate::process::{Call, Result};

/// Makes sure of what `is_there` looks for; `lack` says what it means that it is not, `packages` are Debian's.
///
/// # Errors
/// When it is not there and cannot be installed, with the command that would.
pub fn provide(lack: &str, packages: &[&str], is_there: impl Fn() -> bool) -> Result<()> {
    if is_there() {
        return Ok(());
    }
    let names = packages.join(" ");
    if is_root() && Call::new("apt-get").args(["--version"]).read().is_ok() {
        eprintln!("{lack}; installing {names}");
        install(packages)?;
    }
    if is_there() {
        return Ok(());
    }
    Err(format!("{lack}; on Debian or Ubuntu run:\n  sudo apt-get install -y {names}"))
}

fn install(packages: &[&str]) -> Result<()> {
    let install = || {
        let options = ["install", "-y", "-q", "--no-install-recommends"];
        let call = Call::new("apt-get").args(options).args(packages);
        call.env("DEBIAN_FRONTEND", "noninteractive").quiet_stdout().run()
    };
    // The lists of a fresh machine are empty or old.
    install().or_else(|_| {
        Call::new("apt-get").args(["update", "-q"]).quiet_stdout().run()?;
        install()
    })
}

fn is_root() -> bool {
    Call::new("id").args(["-u"]).read().is_ok_and(|id| id == "0")
}
