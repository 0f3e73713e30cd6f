//! `cargo xtask`: the commands of this repository, for people and for continuous integration.
//!
//! The machine needs cargo, rustc and python3. All other tools go to `target/`, except system packages (MPI, for `test`): these
//! are installed if the user is root, else named in the error. Every call of cargo uses the release profile and the features of
//! the whole workspace, so that a crate compiles once.

mod fuzz;
mod layers;
mod levels;
mod mpi;
mod process;
mod project;
mod python;
mod quick;
mod scripts;
mod site;
mod system;
mod test;
mod wheel;

use std::process::ExitCode;

use process::{Call, Result, is_help};
use scripts::{BENCHES, PAPERS};

fn help() -> String {
    let (benches, papers) = (BENCHES.names().join(", "), PAPERS.names().join(", "));
    format!(
        "\
cargo xtask COMMAND: the working commands of this repository

  test                 all checks of continuous integration, in its order
  quick [CRATE …]      format, layers, clippy and unit tests of the crates that changed, or of these
  layers [CRATE …]     whether crates and modules use only what layers.txt puts below them (one of the checks of `test`)
  wheel [--out DIR]    build the Python wheel (into target/wheels); its path is the last line of stdout
  doc                  build the documentation of our crates
  site [--help]        build the documentation site, into target/site
  generate             write the signatures of the Python package and the tables of parameters in docs/methods again, from the
                       parameters that the crates declare
  project              check workflows, citation file, recipe, container file and scripts of releases
  fuzz [--minutes M] [--jobs N] [--targets T …]
                       give damaged files of every format to every reader, and compare accepted files with what other
                       readers of the formats say
  bench NAME [--help]  measure lapwing beside other programs in one run; or `kernels`, the speed of single kernels,
                       `regress`, whether a change slows one down, and `constants`, those in the code that come from
                       measurements
  reproduce PAPER [--help]
                       repeat the experiments of a paper, with results in docs/results

Benchmarks: {benches}
Papers: {papers}

Nothing needs to be prepared: virtual environments are made under target/.
"
    )
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if wheel::is_cargo() {
        return wheel::cargo_for_maturin(&args);
    }
    if fuzz::is_rustc() {
        return fuzz::rustc(&args);
    }
    match dispatch(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(words: &[&str]) -> Result<()> {
    match words {
        [] | ["help" | "-h" | "--help", ..] => print!("{}", help()),
        ["fuzz", option] if is_help(option) => print!("{}", fuzz::HELP),
        ["site", option] if is_help(option) => print!("{}", site::HELP),
        [_, option] if is_help(option) => print!("{}", help()),
        ["test"] => test::test()?,
        ["wheel"] => println!("{}", wheel::build(None)?.display()),
        ["wheel", "--out", folder] => println!("{}", wheel::build(Some(folder))?.display()),
        ["quick", option] if is_help(option) => print!("{}", quick::HELP),
        ["quick", words @ ..] => quick::quick(words)?,
        ["layers", option] if is_help(option) => print!("{}", layers::HELP),
        ["layers", crates @ ..] => layers::check(crates)?,
        ["doc"] => site::doc(&[])?,
        ["site", options @ ..] => site::command(options)?,
        ["project"] => project::check()?,
        ["generate"] => generate()?,
        ["fuzz", options @ ..] => fuzz::fuzz(options)?,
        ["bench", name, options @ ..] => BENCHES.run(name, options)?,
        ["reproduce", paper, options @ ..] => PAPERS.run(paper, options)?,
        _ => return Err(format!("unknown command `cargo xtask {}`\n\n{}", words.join(" "), help())),
    }
    Ok(())
}

/// Writes the signatures of the Python package and the tables of the documentation, from the parameters that the extension
/// module lists.
fn generate() -> Result<()> {
    Call::cargo("build").args(&wheel::BUILD[1..]).run()?;
    let library = format!("{}_lapwing{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let extension = process::target().join("release").join(library);
    let script = process::root().join("python/tools/generate.py");
    python::Venv::kept("maturin")?.call().args([script, extension]).run()
}
