//! `cargo xtask fuzz`: damaged files for every reader, led by coverage, for so many minutes.
//!
//! Coverage comes from LLVM's sanitizer pass, which stable Rust takes as flags of the code generator; libFuzzer follows it.
//! Only our crates and the parsers below them are built with these flags ([`FOLLOWED`]): to follow linear algebra costs
//! time in every input and leads nowhere. This program stands in for rustc meanwhile and adds them. That build has a folder
//! of its own, `target/fuzz`, where what a campaign finds goes as well.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::process::{Call, Result, root, target};
use crate::python::Venv;
use crate::system::provide;

/// Says that we stand in for rustc.
const STANDS_IN: &str = "LAPWING_XTASK_COVERAGE";

/// Crates whose coverage is followed, by name or what it begins with. Parsers that are tables (`csv-core`, `miniz_oxide`) are
/// not: they build their tables for each file, which says nothing and takes most of the time if it is followed.
const FOLLOWED: [&str; 10] = [
    "lapwing_data",
    "lapwing_graph",
    "lapwing_models",
    "csv",
    "zip",
    "safetensors",
    "serde_json",
    "parquet",
    "arrow_",
    "flate2",
];

/// Counters of edges, and the operands of comparisons, so that magic numbers are found.
const COVERAGE: [&str; 5] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// What the formats' own readers need.
const REFEREES: [&str; 5] = ["numpy", "scipy", "pyarrow", "safetensors", "zstandard"];

/// What `cargo xtask fuzz --help` says.
pub const HELP: &str = "\
cargo xtask fuzz [--minutes M] [--jobs N] [--targets T …]

Damages files of every format and gives them to our readers, models, checkpoints and streams of edges; then holds what was
accepted against the formats' own readers. Fails where a reader panicked, ended the process, took over 5 s or memory beyond
a limit, contradicted itself, or accepted what the other refuses.

  --minutes M      wall time of all targets together (default 10)
  --jobs N         processes at a time (default 2)
  --targets T …    some of them (default all): csv, csv-gz, csv-zst, svmlight, npy, npz, parquet, labels-text,
                   labels-npy, edges-csv, edges-npy, edges-parquet, graph-npz, model, sparsifier, low-rank-sums

Inputs that reach something new stay in target/fuzz/corpus and are where the next run starts. Those that showed a defect are
in target/fuzz/defects, with what happened and the command to see it again; mend it, and put the input into tests/corpus,
which `cargo xtask test` reads again.
";

/// What was asked for.
struct Options<'a> {
    minutes: &'a str,
    jobs: &'a str,
    targets: Vec<&'a str>,
}

/// Run a campaign, then the referees.
///
/// # Errors
/// When the options make no sense, something cannot be built, or anything was found.
pub fn fuzz(options: &[&str]) -> Result<()> {
    let Options { minutes, jobs, targets } = parsed(options)?;
    let folder = target().join("fuzz");
    let program = program(&folder)?;
    let corpus = root().join("tests/corpus");
    let call = Call::new(&program).args(["campaign".as_ref(), folder.as_os_str(), corpus.as_os_str()]);
    let outcome = call.args([minutes, jobs]).args(&targets).run();
    let agreement = referees(&program, &folder, &corpus, &targets);
    outcome.map_err(|_| format!("defects were found; see {}", folder.join("defects").display()))?;
    agreement
        .map_err(|_| "inputs are accepted that the formats' own readers refuse, or read otherwise; see above".into())
}

fn parsed<'a>(options: &[&'a str]) -> Result<Options<'a>> {
    let mut parsed = Options { minutes: "10", jobs: "2", targets: Vec::new() };
    let mut rest = options;
    loop {
        rest = match rest {
            [] => return Ok(parsed),
            ["--minutes", minutes, rest @ ..] if is_number(minutes) => {
                parsed.minutes = minutes;
                rest
            }
            ["--jobs", jobs, rest @ ..] if is_number(jobs) => {
                parsed.jobs = jobs;
                rest
            }
            ["--targets", rest @ ..] => {
                let end = rest.iter().position(|word| word.starts_with('-')).unwrap_or(rest.len());
                parsed.targets.extend(&rest[..end]);
                &rest[end..]
            }
            _ => return Err(format!("cannot make sense of `{}`\n\n{HELP}", rest.join(" "))),
        };
    }
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(|value| value > 0.0 && value < 1e6)
}

/// Builds the program, one that follows coverage where there is a C++ compiler.
fn program(folder: &Path) -> Result<PathBuf> {
    let stand_in = std::env::current_exe().map_err(|error| format!("cannot tell where this program lies: {error}"))?;
    let is_there = || Call::new("c++").args(["--version"]).read().is_ok();
    let compiler = provide("a C++ compiler is missing, which builds libFuzzer", &["g++"], is_there);
    let build = if compiler.is_ok() { folder.to_owned() } else { target() };
    let call = Call::cargo("build").args(["--release", "--locked", "--package", "lapwing-fuzz", "--bin", "fuzz"]);
    let call = call.env("CARGO_TARGET_DIR", &build);
    match compiler {
        Ok(()) => call.args(["--features", "libfuzzer"]).env("RUSTC_WRAPPER", stand_in).env(STANDS_IN, "1").run()?,
        Err(error) => {
            eprintln!("{error}\nwithout it, mutations do not follow coverage");
            call.run()?;
        }
    }
    Ok(build.join("release/fuzz"))
}

/// Holds accepted inputs against the formats' own readers.
fn referees(program: &Path, folder: &Path, corpus: &Path, targets: &[&str]) -> Result<()> {
    let venv = Venv::kept("fuzz")?;
    venv.install(REFEREES)?;
    let call = venv.call().args([root().join("crates/lapwing-fuzz/referee.py").as_path(), program, folder, corpus]);
    call.args(targets).run()
}

/// Whether this process was started as rustc.
pub fn stands_in_for_rustc() -> bool {
    std::env::var_os(STANDS_IN).is_some()
}

/// Calls rustc, with coverage where it is followed.
pub fn rustc(args: &[String]) -> ExitCode {
    let Some((rustc, args)) = args.split_first() else { return ExitCode::FAILURE };
    let name = args.iter().skip_while(|arg| *arg != "--crate-name").nth(1);
    let is_followed = name.is_some_and(|name| {
        FOLLOWED.iter().any(|known| name == known || known.ends_with('_') && name.starts_with(known))
    });
    let flags: &[&str] = if is_followed { &COVERAGE } else { &[] };
    match Command::new(rustc).args(args).args(flags).status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("cannot start {rustc}: {error}");
            ExitCode::FAILURE
        }
    }
}
