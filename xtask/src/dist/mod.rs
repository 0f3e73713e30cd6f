//! `cargo xtask dist WHAT`: makes and checks the files of a release, in `target/dist`.
//!
//! The workflows of the code host call these commands, so that whatever fails there can be repeated here.

mod crates;
mod files;
mod image;
mod program;
mod project;
mod systems;
mod wheel;

use crate::process::Result;
pub use files::version;
use systems::System;

/// The help of the command.
pub const HELP: &str = "\
cargo xtask dist WHAT: the files of a release, in target/dist

  wheel [--target T]     the Python wheel for a system (default: this one)
  sdist                  the source package of the Python package
  try FILE [--oldest]    installs a wheel or a source package in a new environment, and does a small job with it; --oldest
                         takes the oldest NumPy, SciPy and scikit-learn that are supported. PYTHON names the interpreter
  program [--target T]   the program with manual pages and completions, packed; its path is the last line of stdout
  crates [--publish]     packs every crate, and builds each from its package; --publish then uploads them in their order
  image [--push TAG …]   the container image, with Open MPI, by docker or podman
  check [T …]            type-checks program and Python module for other systems (default: all that releases are built for)
  project                checks workflows, citation file, recipe, container file, scripts and licenses of dependencies
  advisories             compares the crates that we depend on with the database of known vulnerabilities
  notes VERSION          the changes of a version, from CHANGELOG.md
  checksums              SHA256SUMS of all files in target/dist

A target T is the triple of Rust, such as aarch64-unknown-linux-gnu. On Linux, compiler and linker come from the Python package
ziglang, so that files for every Linux run with a C library as old as the oldest that is supported.
";

/// Runs `cargo xtask dist WORDS`.
pub fn dist(words: &[&str]) -> Result<()> {
    match words {
        ["wheel"] => println!("{}", wheel::build(&System::own()?)?.display()),
        ["wheel", "--target", name] => println!("{}", wheel::build(&System::named(name)?)?.display()),
        ["sdist"] => println!("{}", wheel::source()?.display()),
        ["try", file] => wheel::attempt(file, &[])?,
        ["try", file, "--oldest"] => wheel::attempt(file, &["--oldest"])?,
        ["program"] => println!("{}", program::pack(&System::own()?)?.display()),
        ["program", "--target", name] => println!("{}", program::pack(&System::named(name)?)?.display()),
        ["crates"] => crates::check()?,
        ["crates", "--publish"] => crates::publish()?,
        ["image"] => image::build(&[])?,
        ["image", "--push", tags @ ..] if !tags.is_empty() => image::build(tags)?,
        ["check", targets @ ..] => systems::check(targets)?,
        ["project"] => project::check()?,
        ["advisories"] => project::advisories()?,
        ["notes", version] => print!("{}", files::notes(version)?),
        ["checksums"] => files::checksums()?,
        _ => return Err(format!("unknown command `cargo xtask dist {}`\n\n{HELP}", words.join(" "))),
    }
    Ok(())
}
