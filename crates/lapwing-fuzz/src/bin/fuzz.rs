//! Runs targets and campaigns, writes seeds, reads inputs again.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use lapwing_fuzz::campaign::{self, FOLDER, Outcome, Plan};
use lapwing_fuzz::found::Found;
use lapwing_fuzz::judge::note_panics;
use lapwing_fuzz::memory::Limited;
use lapwing_fuzz::mutate::{Mutator, havoc, mutate};
use lapwing_fuzz::reading::reading;
use lapwing_fuzz::replay::{Clock, files_of, replay};
use lapwing_fuzz::rng::Rng;
use lapwing_fuzz::{Bench, TARGETS, Target};

#[global_allocator]
static MEMORY: Limited = Limited::new();

const HELP: &str = "\
fuzz targets                                   print the names of all targets
fuzz seeds TARGET FOLDER                       write valid files
fuzz run TARGET FILE…                          read inputs again; fails if one shows a defect
fuzz read TARGET FILE…                         print the contents of files, a line of JSON for each
fuzz blind TARGET SECONDS FOLDER…              mutate without coverage
fuzz guided TARGET ARG…                        mutate by coverage, with arguments of libFuzzer
fuzz campaign FOLDER CORPUS MINUTES JOBS TARGET…
                                               run targets in processes of their own
";

type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("fuzz: {message}");
            ExitCode::from(2)
        }
    }
}

fn dispatch(args: &[&str]) -> Result<bool> {
    match args {
        ["targets"] => TARGETS.iter().for_each(|target| println!("{}", target.name)),
        ["seeds", name, folder] => campaign::write_seeds(Path::new(folder), named(name)?).map_err(words)?,
        ["run", name, files @ ..] => {
            note_panics();
            return Ok(replay(&bench()?, named(name)?, &paths(files)).map_err(words)? == 0);
        }
        ["read", name, files @ ..] => read(named(name)?, &paths(files))?,
        ["blind", name, seconds, folders @ ..] => {
            blind(named(name)?, Duration::from_secs(number(seconds)? as u64), &paths(folders))?;
        }
        #[cfg(feature = "libfuzzer")]
        ["guided", name, args @ ..] => {
            return lapwing_fuzz::guided::run(named(name)?, &folder(), args).map(|code| code == 0).map_err(words);
        }
        ["campaign", folder, corpus, minutes, jobs, names @ ..] => {
            let targets = names.iter().map(|name| named(name)).collect::<Result<Vec<_>>>()?;
            return run(&Plan {
                folder: folder.into(),
                corpus: corpus.into(),
                targets: if targets.is_empty() { TARGETS.iter().collect() } else { targets },
                time: Duration::from_secs_f64(number(minutes)? * number(jobs)?.max(1.0) * 60.0),
                jobs: number(jobs)? as usize,
            });
        }
        _ => print!("{HELP}"),
    }
    Ok(true)
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn bench() -> Result<Bench> {
    Bench::new().map_err(words)
}

fn named(name: &str) -> Result<&'static Target> {
    Target::named(name).ok_or_else(|| format!("no target is called '{name}'; `fuzz targets` lists them"))
}

/// The folder for findings.
fn folder() -> PathBuf {
    std::env::var_os(FOLDER).unwrap_or_else(|| "target/fuzz".into()).into()
}

fn number(text: &str) -> Result<f64> {
    text.parse()
        .ok()
        .filter(|value: &f64| (0.0..1e6).contains(value))
        .ok_or_else(|| format!("'{text}' is not a number from 0 to a million"))
}

fn paths(files: &[&str]) -> Vec<PathBuf> {
    files.iter().map(PathBuf::from).collect()
}

fn read(target: &Target, files: &[PathBuf]) -> Result<()> {
    note_panics();
    let bench = bench()?;
    for file in files {
        let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut line = reading(&bench, target, &bytes);
        line["file"] = file.display().to_string().into();
        println!("{line}");
    }
    Ok(())
}

/// Mutates the files in the folders, and mutated files without defects.
fn blind(target: &Target, time: Duration, folders: &[PathBuf]) -> Result<()> {
    let mut found = Found::open(&folder(), target).map_err(words)?;
    let mut pool = Vec::new();
    for folder in folders {
        for file in files_of(folder).map_err(words)? {
            pool.push(std::fs::read(file).map_err(words)?);
        }
    }
    note_panics();
    let (bench, clock, start) = (bench()?, Clock::start(), Instant::now());
    // A new seed each time, so that runs differ.
    let seed = RandomState::new().build_hasher().finish();
    let (mut rng, mut count) = (Rng::new(seed), 0u64);
    while start.elapsed() < time {
        let mut bytes = pool.get(rng.below(pool.len())).cloned().unwrap_or_default();
        let mut changes = Rng::new(rng.bits());
        let mut by_bytes = |bytes: &mut Vec<u8>, most: usize| havoc(&mut changes, bytes, most);
        mutate(target, &mut Mutator::new(rng.bits(), target.most, &mut by_bytes), &mut bytes);
        let outcome = clock.judge(&bench, target, &bytes);
        found.note(&bytes, &outcome);
        count += 1;
        if outcome.is_ok() && rng.one_in(64) && pool.len() < 4096 {
            pool.push(bytes);
        }
        if count.is_multiple_of(1024) {
            eprintln!("#{count}");
        }
    }
    eprintln!("stat::number_of_executed_units: {count}");
    Ok(())
}

/// Runs a campaign and prints its findings; true if there are no defects.
fn run(plan: &Plan) -> Result<bool> {
    let outcomes = campaign::run(plan).map_err(words)?;
    let total = Outcome::total(&outcomes);
    println!("{}", total.line());
    let program = "cargo run --release -p lapwing-fuzz --bin fuzz --";
    for outcome in &outcomes {
        for (path, words) in &outcome.defects {
            println!("\n{0}: {words}\n  {program} run {0} {1}", outcome.target, path.display());
        }
    }
    Ok(total.defects.is_empty())
}
