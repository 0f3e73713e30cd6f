//! `cargo xtask quick`: format, layers, clippy and unit tests of the crates that changed, while working on them.
//!
//! The tests are built by the profile `quick`, whose artifacts are kept for the next time; clippy shares those of `cargo check`.

use std::collections::BTreeSet;

use crate::layers;
use crate::process::{Call, Result, root};
use crate::system::answers;

/// The help of the command.
pub const HELP: &str = "\
cargo xtask quick [CRATE …] [-- TEST …]: the checks of format and layers, and clippy and unit tests of these crates

Without names, takes the crates with files that differ from the branch `main`, or that are not committed. Tests run by cargo-nextest if
it is installed. TEST is a part of the names of the tests to run. The first call compiles all dependencies, which takes minutes.
";

/// Checks the crates that are named before `--`, or those that changed; behind it stand parts of the names of tests.
pub fn quick(words: &[&str]) -> Result<()> {
    let mut parts = words.splitn(2, |word| *word == "--");
    let (named, tests) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let crates = if named.is_empty() { changed()? } else { named.iter().map(|name| (*name).to_owned()).collect() };
    Call::cargo("fmt").args(["--all", "--", "--check"]).run()?;
    layers::check(&[])?;
    if crates.is_empty() {
        println!("no crate differs from main");
        return Ok(());
    }
    println!("{}", crates.iter().map(String::as_str).collect::<Vec<_>>().join(", "));
    // Next to each other: they build in different folders.
    let clippy = Call::cargo("clippy").args(["--quiet", "--locked"]).args(packages(&crates));
    let clippy = std::thread::spawn(|| clippy.args(["--", "-D", "warnings"]).read().map(drop));
    // The tests of the binding are those in Python.
    let tested: BTreeSet<String> = crates.into_iter().filter(|name| name != "python").collect();
    let targets: BTreeSet<&str> = tested.iter().map(|name| if name == "xtask" { "--bins" } else { "--lib" }).collect();
    let outcome = match tested.is_empty() {
        true => Ok(()),
        false => runner().args(packages(&tested)).args(targets).args(["--"]).args(tests).run(),
    };
    clippy.join().map_err(|_| "clippy could not be called".to_owned())??;
    outcome
}

/// Folders of the crates with files that differ from the branch `main`, or that are not committed.
fn changed() -> Result<BTreeSet<String>> {
    let git = |words: &[&str]| Call::new("git").args(words).read();
    let base = ["origin/main", "main"].iter().find_map(|branch| git(&["merge-base", "HEAD", branch]).ok());
    let changed = git(&["diff", "--name-only", base.as_deref().unwrap_or("HEAD")])?;
    let new = git(&["ls-files", "--others", "--exclude-standard"])?;
    Ok(changed.lines().chain(new.lines()).filter_map(folder_of).filter(|name| is_crate(name)).collect())
}

/// The folder of the crate that a file belongs to.
fn folder_of(file: &str) -> Option<String> {
    let mut parts = file.split('/');
    match parts.next()? {
        "crates" => parts.next().map(str::to_owned),
        "python" => (parts.next()? == "src").then(|| "python".to_owned()),
        other => (other == "xtask").then(|| other.to_owned()),
    }
}

fn is_crate(name: &str) -> bool {
    ["crates", ""].iter().any(|folder| root().join(folder).join(name).join("Cargo.toml").exists())
}

/// Options that name the packages in these folders.
fn packages(folders: &BTreeSet<String>) -> impl Iterator<Item = &str> {
    folders.iter().flat_map(|name| ["--package", if name == "python" { "lapwing-python" } else { name }])
}

/// The program that runs tests, each in a process of its own if it is cargo-nextest.
fn runner() -> Call {
    if answers("cargo-nextest") {
        let words = ["run", "--cargo-profile", "quick", "--cargo-quiet", "--locked", "--no-tests", "pass"];
        return Call::cargo("nextest").args(words).args(["--status-level", "fail", "--final-status-level", "slow"]);
    }
    Call::cargo("test").args(["--profile", "quick", "--quiet", "--locked"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_belong_to_crates() {
        let folders = ["crates/lapwing-core/src/run.rs", "python/src/fit.rs", "xtask/Cargo.toml"].map(folder_of);
        assert_eq!(folders, ["lapwing-core", "python", "xtask"].map(|name| Some(name.to_owned())));
        assert!(
            ["README.md", "python/lapwing/_base.py", "docs/crates/x.md"]
                .into_iter()
                .all(|file| folder_of(file).is_none())
        );
        assert!(is_crate("lapwing-core") && is_crate("xtask") && !is_crate("README.md"));
    }
}
