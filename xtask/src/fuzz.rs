//! `cargo xtask fuzz`: feeds damaged files to every reader, mutated under guidance of coverage, for a number of minutes.
//!
//! LLVM's sanitizer pass records coverage, which guides libFuzzer; stable Rust accepts the flags of the pass as codegen flags.
//! This program wraps rustc and adds the flags for our crates and the parsers that they use ([`FOLLOWED`]). Coverage of the
//! linear algebra would cost time at every input and find nothing. The build and the findings of the campaign are in a folder of
//! their own, `target/fuzz`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::process::{Call, Result, own_file, replaced_by, root, target};
use crate::python::Venv;
use crate::system::{answers, provide};

/// Variable that is set while this program acts as rustc.
const IS_RUSTC: &str = "LAPWING_XTASK_COVERAGE";

/// Crates whose coverage is recorded, by name, or by a prefix of their names (`_` at the end). The parsers `csv-core` and
/// `miniz_oxide` are left out: they build tables for each file, and their coverage would take most of the time.
const FOLLOWED: [&str; 11] = [
    "lapwing_core",
    "lapwing_table",
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

/// Flags that count edges and record operands of comparisons, from which libFuzzer finds magic numbers.
const COVERAGE: [&str; 5] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// Python packages with other readers of the formats.
const REFEREES: [&str; 4] = ["numpy", "scipy", "pyarrow", "safetensors"];

/// The help of the command.
pub const HELP: &str = "\
cargo xtask fuzz [--minutes M] [--jobs N] [--targets T …]

Damages files of every format and gives them to our readers, models, checkpoints and streams of edges. Then compares the
accepted files with what other readers of the formats say. Fails if a reader panicked, ended the process, took more than 5 s
or more memory than the limit, contradicted itself, or accepted a file that the other reader refuses.

  --minutes M      wall time of all targets together (default 10)
  --jobs N         processes at a time (default 2)
  --targets T …    some of them (default all): csv, csv-gz, csv-zst, jsonl, arrow, svmlight, npy, npz, parquet,
                   labels-text, labels-npy, edges-csv, edges-npy, edges-parquet, graph-npz, model, sparsifier, low-rank-sums

Inputs that reach new code are kept in target/fuzz/corpus, and the next run starts from them. Inputs that show a defect are
kept in target/fuzz/defects, each with a description and the command that repeats it. After the defect is mended, put its
input into tests/corpus: `cargo xtask test` reads all files there.
";

/// Options of the command.
struct Options<'a> {
    minutes: &'a str,
    jobs: &'a str,
    targets: Vec<&'a str>,
}

/// Runs a campaign, then compares accepted inputs with other readers.
pub fn fuzz(options: &[&str]) -> Result<()> {
    let Options { minutes, jobs, targets } = parsed(options)?;
    let folder = target().join("fuzz");
    let program = program(&folder)?;
    let corpus = root().join("tests/corpus");
    let call = Call::new(&program).args(["campaign".as_ref(), folder.as_os_str(), corpus.as_os_str()]);
    let outcome = call.args([minutes, jobs]).args(&targets).run();
    let agreement = referees(&program, &folder, &corpus, &targets);
    outcome.map_err(|_| format!("defects were found; see {}", folder.join("defects").display()))?;
    agreement.map_err(|_| "other readers of the formats refuse accepted inputs, or read other values; see above".into())
}

fn parsed<'a>(options: &[&'a str]) -> Result<Options<'a>> {
    let mut parsed = Options { minutes: "10", jobs: "2", targets: Vec::new() };
    for group in options.chunk_by(|_, next| !next.starts_with("--")) {
        match group {
            ["--minutes", minutes] if is_number(minutes) => parsed.minutes = minutes,
            ["--jobs", jobs] if is_number(jobs) => parsed.jobs = jobs,
            ["--targets", targets @ ..] => parsed.targets.extend(targets),
            _ => return Err(format!("unknown options `{}`\n\n{HELP}", group.join(" "))),
        }
    }
    Ok(parsed)
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(|value| value > 0.0 && value < 1e6)
}

/// Builds the fuzzer; coverage is recorded if there is a C++ compiler.
fn program(folder: &Path) -> Result<PathBuf> {
    let compiler = provide("a C++ compiler is missing, which builds libFuzzer", &["g++"], || answers("c++"));
    let build = if compiler.is_ok() { folder.to_owned() } else { target() };
    let call = Call::cargo("build").args(["--release", "--locked", "--package", "lapwing-fuzz", "--bin", "fuzz"]);
    let call = call.env("CARGO_TARGET_DIR", &build);
    match compiler {
        Ok(()) => call.args(["--features", "libfuzzer"]).env("RUSTC_WRAPPER", own_file()?).env(IS_RUSTC, "1").run()?,
        Err(error) => {
            eprintln!("{error}\nwithout a compiler, mutations do not follow coverage");
            call.run()?;
        }
    }
    Ok(build.join("release/fuzz"))
}

/// Compares accepted inputs with the results of other readers of the formats.
fn referees(program: &Path, folder: &Path, corpus: &Path, targets: &[&str]) -> Result<()> {
    let venv = Venv::kept("fuzz")?;
    venv.install(REFEREES)?;
    let call = venv.call().args([root().join("crates/lapwing-fuzz/referee.py").as_path(), program, folder, corpus]);
    call.args(targets).run()
}

/// Whether cargo called this program as its rustc.
pub fn is_rustc() -> bool {
    std::env::var_os(IS_RUSTC).is_some()
}

/// Calls rustc, with the coverage flags for crates in [`FOLLOWED`].
pub fn rustc(args: &[String]) -> ExitCode {
    let Some((rustc, args)) = args.split_first() else { return ExitCode::FAILURE };
    let name = args.iter().skip_while(|arg| *arg != "--crate-name").nth(1);
    let is_followed = name.is_some_and(|name| {
        FOLLOWED.iter().any(|known| name == known || known.ends_with('_') && name.starts_with(known))
    });
    let flags: &[&str] = if is_followed { &COVERAGE } else { &[] };
    replaced_by(Command::new(rustc).args(args).args(flags))
}
