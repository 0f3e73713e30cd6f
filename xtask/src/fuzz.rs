//! `cargo xtask fuzz`: feeds damaged files to every reader, mutated under guidance of coverage, for a number of minutes.
//!
//! LLVM's sanitizer pass records coverage, which guides libFuzzer; stable Rust accepts the flags of the pass as codegen flags.
//! This program wraps rustc and adds the flags for our crates and the parsers that they use ([`FOLLOWED`]). Coverage of the
//! linear algebra would cost time at every input and find nothing. The build and the findings of the campaign are in a folder of
//! their own, `target/fuzz`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::process::{Call, Result, own_file, replaced_by, root, target};
use crate::python::Venv;
use crate::system::{answers, entries, provide};

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

/// The most megabytes of a process, with mapped files.
const MEGABYTES: u32 = 1536;

/// The help of the command.
pub const HELP: &str = "\
cargo xtask fuzz [--minutes M] [--jobs N] [--targets T …]

Damages files of every format and gives them to our readers, models, checkpoints and streams of edges: one target after the other, by
libFuzzer. Then compares the accepted files with what other readers of the formats say. Fails if a reader panicked, ended the process,
took more than 5 s or more memory than the limit, contradicted itself, or accepted a file that the other reader refuses.

  --minutes M      time of all targets together (default 10)
  --jobs N         processes at a time (default 2)
  --targets T …    some of them (default all): csv, csv-gz, csv-zst, jsonl, arrow, svmlight, npy, npz, parquet, labels-text, labels-npy,
                   edges-csv, edges-npy, edges-parquet, graph-npz, model, forged-model, sparsifier, low-rank-sums

Inputs that reach new code are kept in target/fuzz/corpus, and the next run starts from them. Inputs that show a defect are kept in
target/fuzz/defects; each is printed with the command that repeats it. After the defect is mended, put its input into tests/corpus:
`cargo xtask test` reads all files there.
";

/// Options of the command.
struct Options<'a> {
    minutes: f64,
    jobs: f64,
    targets: Vec<&'a str>,
}

/// Runs a campaign, then compares accepted inputs with other readers.
pub fn fuzz(options: &[&str]) -> Result<()> {
    let Options { minutes, jobs, targets } = parsed(options)?;
    let folder = target().join("fuzz");
    build(&folder)?;
    let program = folder.join("release/fuzz");
    let all = Call::new(&program).args(["targets"]).read()?;
    let targets = if targets.is_empty() { all.lines().collect() } else { targets };
    if let Some(unknown) = targets.iter().find(|name| !all.lines().any(|known| known == **name)) {
        return Err(format!("no target is called {unknown}\n\n{HELP}"));
    }
    let mut n_defects = 0;
    for name in &targets {
        run(&folder, name, jobs, minutes * 60.0 / targets.len() as f64)?;
        n_defects += defects(&program, &folder.join("defects").join(name), name)?;
    }
    let agreement = referees(&program, &folder, &targets);
    if n_defects > 0 {
        return Err(format!("{n_defects} defects were found; see {}", folder.join("defects").display()));
    }
    agreement.map_err(|_| "other readers of the formats refuse accepted inputs, or read other values; see above".into())
}

fn parsed<'a>(options: &[&'a str]) -> Result<Options<'a>> {
    let mut parsed = Options { minutes: 10.0, jobs: 2.0, targets: Vec::new() };
    let number = |text: &str| text.parse().ok().filter(|value| *value > 0.0 && *value < 1e6);
    for group in options.chunk_by(|_, next| !next.starts_with("--")) {
        let unknown = || format!("unknown options `{}`\n\n{HELP}", group.join(" "));
        match group {
            ["--minutes", minutes] => parsed.minutes = number(minutes).ok_or_else(unknown)?,
            ["--jobs", jobs] => parsed.jobs = number(jobs).ok_or_else(unknown)?.ceil(),
            ["--targets", targets @ ..] => parsed.targets.extend(targets),
            _ => return Err(unknown()),
        }
    }
    Ok(parsed)
}

/// Builds libFuzzer with all targets.
fn build(folder: &Path) -> Result<()> {
    provide("a C++ compiler is missing, which builds libFuzzer", &["g++"], || answers("c++"))?;
    let call =
        Call::cargo("build").args(["--release", "--locked", "--package", "lapwing-fuzz", "--features", "libfuzzer"]);
    call.env("CARGO_TARGET_DIR", folder).env("RUSTC_WRAPPER", own_file()?).env(IS_RUSTC, "1").run()
}

/// Runs libFuzzer on a target. Its processes end at an input that shows a defect, which it keeps, and are started again.
fn run(folder: &Path, name: &str, jobs: f64, seconds: f64) -> Result<()> {
    let within = |kind: &str| folder.join(kind).join(name);
    let (kept, valid, found, scratch) = (within("corpus"), within("valid"), within("defects"), folder.join("scratch"));
    // What ended processes have left.
    let _ = fs::remove_dir_all(&scratch);
    for folder in [&kept, &valid, &found, &scratch] {
        fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    }
    Call::new(folder.join("release/fuzz")).args(["valid", name]).args([&valid]).run()?;
    let dictionary = root().join("crates/lapwing-fuzz/words.dict");
    Call::new(folder.join("release/guided"))
        .args([format!("-fork={jobs}"), format!("-max_total_time={}", seconds.ceil())])
        .args([format!("-artifact_prefix={}/", found.display()), format!("-dict={}", dictionary.display())])
        .args(["-timeout=60".to_owned(), format!("-rss_limit_mb={MEGABYTES}")])
        .args(["-ignore_crashes=1", "-ignore_ooms=1", "-ignore_timeouts=1", "-detect_leaks=0"])
        .args([&kept, &valid, &root().join("tests/corpus").join(name)])
        .env("LAPWING_FUZZ_TARGET", name)
        .env("TMPDIR", &scratch)
        // Readers allocate buffers for each file: mapping and unmapping them would take longer than reading it.
        .env("MALLOC_MMAP_THRESHOLD_", (32 << 20).to_string())
        .env("MALLOC_TRIM_THRESHOLD_", (256 << 20).to_string())
        .run()
}

/// Reads the inputs in a folder of defects again and prints the smallest for each defect; removes all others.
fn defects(program: &Path, folder: &Path, name: &str) -> Result<usize> {
    let mut files = entries(folder);
    files.sort_by_key(|file| fs::metadata(file).map_or(0, |facts| facts.len()));
    let mut known = BTreeSet::new();
    for file in files {
        let outcome = Call::new(program).args(["run", name]).args([&file]).read();
        let words = outcome.err().map(|error| error.split_once('\n').unwrap_or_default().1.to_owned());
        // The same defect has other numbers in other inputs; without words, it is mended.
        let is_new = words.as_ref().is_some_and(|words| known.insert(words.replace(|c: char| c.is_ascii_digit(), "")));
        match words.filter(|_| is_new) {
            None => fs::remove_file(&file).map_err(|error| format!("cannot remove {}: {error}", file.display()))?,
            Some(words) => {
                let program = "cargo run --release -p lapwing-fuzz --bin fuzz --";
                println!("\n{name}: {words}\n  {program} run {name} {}", file.display());
            }
        }
    }
    Ok(known.len())
}

/// Compares accepted inputs with the results of other readers of the formats.
fn referees(program: &Path, folder: &Path, targets: &[&str]) -> Result<()> {
    let venv = Venv::kept("fuzz")?;
    venv.install(REFEREES)?;
    let corpus = root().join("tests/corpus");
    let call = venv.call().args([&root().join("crates/lapwing-fuzz/referee.py"), program, folder, &corpus]);
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
