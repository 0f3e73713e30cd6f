//! `cargo xtask`: what people and continuous integration run in this repository.
//!
//! Nothing but cargo, rustc and python3 is expected on the machine; what else a command needs it puts under `target/`, but
//! for packages of the system (MPI, for `test`), which it installs as root and names otherwise.
//! Every call of cargo uses the release profile and the features of the whole workspace, so that a crate compiles once.

mod bench;
mod fuzz;
mod mpi;
mod process;
mod python;
mod reproduce;
mod system;
mod test;
mod wheel;

use std::process::ExitCode;

use process::{Call, Result};

const HELP: &str = "\
cargo xtask COMMAND: the working commands of this repository

  test                 everything continuous integration checks, in its order
  wheel [--out DIR]    build the Python wheel (into target/wheels); its path is the last line of stdout
  doc                  build the documentation of our crates
  generate             write the signatures of the Python package again, from the parameters that the crates declare
  fuzz [--minutes M] [--jobs N] [--targets T …]
                       damage files of every format, give them to every reader, and hold what is accepted against the
                       formats' own readers
  bench NAME [--help]  hold lapwing against its peers in one run; names: accuracy, graph-learning, knn, label, lapsvm,
                       low-rank, solve, sparsify, unfolded
  reproduce PAPER [--help]
                       run the experiments of a paper again, into docs/results; papers: sparse-hfs, biglp, lapsvm,
                       graph-learning, herta

Nothing needs to be prepared: virtual environments are made under target/.
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if wheel::stands_in_for_cargo() {
        return wheel::cargo_for_maturin(&args);
    }
    if fuzz::stands_in_for_rustc() {
        return fuzz::rustc(&args);
    }
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &[String]) -> Result<()> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        []
        | ["help" | "-h" | "--help", ..]
        | ["test" | "wheel" | "doc" | "generate", "-h" | "--help"]
        | ["bench" | "reproduce", "-h" | "--help"] => {
            print!("{HELP}");
            Ok(())
        }
        ["test"] => test::test(),
        ["wheel"] => wheel::wheel(None),
        ["wheel", "--out", folder] => wheel::wheel(Some(folder)),
        ["doc"] => doc(&[]),
        ["generate"] => generate(),
        ["fuzz", "-h" | "--help"] => {
            print!("{}", fuzz::HELP);
            Ok(())
        }
        ["fuzz", options @ ..] => fuzz::fuzz(options),
        ["bench", name, options @ ..] => bench::bench(name, options),
        ["reproduce", paper, options @ ..] => reproduce::reproduce(paper, options),
        _ => Err(format!("cannot make sense of `cargo xtask {}`\n\n{HELP}", args.join(" "))),
    }
}

/// Signatures of the Python package, from what the extension module says of the parameters.
fn generate() -> Result<()> {
    Call::cargo("build").args(&wheel::BUILD[1..]).run()?;
    let library = format!("{}_lapwing{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let extension = process::target().join("release").join(library);
    let script = process::root().join("python/tools/signatures.py");
    python::Venv::kept("maturin")?.call().args([script, extension]).run()
}

/// Documentation of our crates, with these features, warnings counted as errors.
fn doc(features: &[&str]) -> Result<()> {
    Call::cargo("doc")
        .args(["--release", "--locked", "--workspace", "--no-deps"])
        .args(features)
        .env("RUSTDOCFLAGS", "-D warnings")
        .run()
}
