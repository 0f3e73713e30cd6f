//! A campaign: every target in turn, in a process of its own that is started again when an input ends it.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::found::{Found, defects, words_of};
use crate::judge::Defect;
use crate::replay::{HANG, LIMIT, WALL_LIMIT, files_of};
use crate::scratch::{Scratch, WITHIN};
use crate::{Bench, Target};

/// Names the folder of the campaign.
pub const FOLDER: &str = "LAPWING_FUZZ_FOLDER";

/// Megabytes of a process, mapped files and all.
const PROCESS_MEGABYTES: u32 = 1536;
/// Times that a target is started again.
const MOST_STARTS: usize = 200;

/// What is run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where everything goes.
    pub folder: PathBuf,
    /// Inputs that are kept in the repository, a folder for each target.
    pub corpus: PathBuf,
    /// Targets.
    pub targets: Vec<&'static Target>,
    /// Processor time for all of them together.
    pub time: Duration,
    /// Processes at a time.
    pub jobs: usize,
}

/// What became of one target.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Name of the target.
    pub target: &'static str,
    /// Inputs tried.
    pub inputs: u64,
    /// Seconds they took.
    pub seconds: f64,
    /// Edges of the code that were reached; none without coverage.
    pub edges: Option<u64>,
    /// Inputs that reached something new.
    pub corpus: usize,
    /// Accepted inputs that were kept.
    pub accepted: usize,
    /// Inputs that showed a defect, and what happened.
    pub defects: Vec<(PathBuf, String)>,
}

/// Runs all targets.
///
/// # Errors
/// When folders cannot be made or processes cannot be started.
pub fn run(plan: &Plan) -> io::Result<Vec<Outcome>> {
    let shares: u32 = plan.targets.iter().map(|target| target.share).sum();
    let queue: Mutex<VecDeque<&'static Target>> = Mutex::new(plan.targets.iter().copied().collect());
    let next = || queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop_front();
    let worker = || -> io::Result<Vec<Outcome>> {
        let mut outcomes = Vec::new();
        while let Some(target) = next() {
            let outcome = of_target(plan, target, plan.time * target.share / shares.max(1))?;
            println!("{}", outcome.line());
            outcomes.push(outcome);
        }
        Ok(outcomes)
    };
    println!("{}", Outcome::head());
    let mut outcomes = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..plan.jobs.max(1)).map(|_| scope.spawn(worker)).collect();
        let results =
            workers.into_iter().map(|worker| worker.join().map_err(|_| io::Error::other("a worker panicked")));
        results.collect::<io::Result<Vec<_>>>()?.into_iter().collect::<io::Result<Vec<_>>>()
    })?
    .concat();
    outcomes.sort_by_key(|outcome| plan.targets.iter().position(|target| target.name == outcome.target));
    Ok(outcomes)
}

impl Outcome {
    /// The head of the table of outcomes.
    pub fn head() -> String {
        format!(
            "{:<15} {:>11} {:>9} {:>8} {:>7} {:>9} {:>8}",
            "target", "inputs", "inputs/s", "edges", "corpus", "accepted", "defects"
        )
    }

    /// A line of the table.
    pub fn line(&self) -> String {
        let edges = self.edges.map_or("-".to_owned(), |edges| edges.to_string());
        let rate = self.inputs as f64 / self.seconds.max(1e-9);
        format!(
            "{:<15} {:>11} {rate:>9.0} {edges:>8} {:>7} {:>9} {:>8}",
            self.target,
            self.inputs,
            self.corpus,
            self.accepted,
            self.defects.len()
        )
    }
}

/// Folders of a target.
struct Folders {
    seeds: PathBuf,
    corpus: PathBuf,
    kept: PathBuf,
    artifacts: PathBuf,
}

impl Folders {
    fn make(plan: &Plan, target: &Target) -> io::Result<Self> {
        let within = |name: &str| plan.folder.join(name).join(target.name);
        let (seeds, corpus, artifacts) = (within("seeds"), within("corpus"), within("artifacts"));
        [&seeds, &corpus, &artifacts].into_iter().try_for_each(fs::create_dir_all)?;
        write_seeds(&seeds, target)?;
        Ok(Self { seeds, corpus, artifacts, kept: plan.corpus.join(target.name) })
    }
}

/// Writes the seeds of a target into a folder.
///
/// # Errors
/// When they cannot be written.
pub fn write_seeds(folder: &Path, target: &Target) -> io::Result<()> {
    let bench = Bench::new()?;
    (target.seeds)(&bench)
        .iter()
        .try_for_each(|(name, bytes)| fs::write(folder.join(format!("{name}-{}", target.file)), bytes))
}

fn of_target(plan: &Plan, target: &'static Target, time: Duration) -> io::Result<Outcome> {
    let folders = Folders::make(plan, target)?;
    let scratch = Scratch::new()?;
    let found = Found::open(&plan.folder, target)?;
    forget_mended(plan, target)?;
    let mut outcome = Outcome { target: target.name, ..Outcome::default() };
    let start = Instant::now();
    for _ in 0..MOST_STARTS {
        let left = time.saturating_sub(start.elapsed());
        if left < Duration::from_secs(1) {
            break;
        }
        let mut command = command(plan, target, &folders, &scratch, left)?;
        let ending = watch(&mut command, &mut outcome)?;
        if ending.is_well {
            continue;
        }
        // The input that ended the process lies where libFuzzer put it, or where the reader found it.
        if !take_artifacts(&folders, &found, ending.place.as_deref())? {
            let input = last_input(&scratch, target).unwrap_or_default();
            let words = match ending.code {
                Some(HANG) => format!("took more than {} s", LIMIT.as_secs()),
                _ => format!("the process was ended{}", at(ending.place.as_deref())),
            };
            found.defect(&input, &Defect { place: words.clone(), words })?;
        }
    }
    outcome.seconds = start.elapsed().as_secs_f64();
    outcome.corpus = files_of(&folders.corpus)?.len();
    outcome.accepted = files_of(&plan.folder.join("accepted").join(target.name))?.len();
    outcome.defects = defects(&plan.folder, target)?;
    Ok(outcome)
}

/// Removes inputs of earlier campaigns that no longer show a defect.
fn forget_mended(plan: &Plan, target: &Target) -> io::Result<()> {
    for (path, _) in defects(&plan.folder, target)? {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["run", target.name]).arg(&path).stdout(Stdio::null()).stderr(Stdio::null());
        if command.status()?.success() {
            fs::remove_file(words_of(&path))?;
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn command(plan: &Plan, target: &Target, folders: &Folders, scratch: &Scratch, left: Duration) -> io::Result<Command> {
    let seconds = left.as_secs().max(1);
    let mut command = Command::new(std::env::current_exe()?);
    if cfg!(feature = "libfuzzer") {
        let artifacts = folders.artifacts.display();
        command.args(["guided", target.name]).args([
            format!("-max_total_time={seconds}"),
            format!("-timeout={}", 2 * WALL_LIMIT.as_secs()),
            format!("-rss_limit_mb={PROCESS_MEGABYTES}"),
            format!("-max_len={}", target.most),
            format!("-artifact_prefix={artifacts}/"),
            "-print_final_stats=1".into(),
            "-detect_leaks=0".into(),
            "-reload=0".into(),
            "-len_control=0".into(),
        ]);
        command.args([&folders.corpus, &folders.seeds]);
        command.args(folders.kept.is_dir().then_some(&folders.kept));
    } else {
        command.args(["blind", target.name, &seconds.to_string()]).args([&folders.seeds, &folders.kept]);
    }
    command.env(FOLDER, &plan.folder).env(WITHIN, scratch.folder()).env("RUST_BACKTRACE", "1");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    Ok(command)
}

/// How a process came to its end.
struct Ending {
    is_well: bool,
    code: Option<i32>,
    /// Where in our code, if it said so.
    place: Option<String>,
}

/// The place of an ending, in words.
fn at(place: Option<&str>) -> String {
    place.map_or(String::new(), |place| format!(" at {place}"))
}

/// Runs a process to its end and adds what it says to `outcome`.
fn watch(command: &mut Command, outcome: &mut Outcome) -> io::Result<Ending> {
    let mut child = command.spawn()?;
    let (mut inputs, mut place) = (0, None);
    if let Some(words) = child.stderr.take() {
        for line in BufReader::new(words).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            if let Some(count) = count_of(&line) {
                inputs = inputs.max(count);
            }
            if let Some(edges) = number_behind(&line, " cov: ") {
                outcome.edges = outcome.edges.max(Some(edges));
            }
            // The backtrace of memory that was refused: the first of our own lines.
            place = place.or_else(|| place_of(&line));
        }
    }
    outcome.inputs += inputs;
    let status = child.wait()?;
    Ok(Ending { is_well: status.success(), code: status.code(), place })
}

/// The line of our code that a line of a backtrace names, if it is not one of this crate.
fn place_of(line: &str) -> Option<String> {
    let at = line.trim_start().strip_prefix("at ")?;
    let start = at.find("crates/lapwing-")?;
    (!at.contains("crates/lapwing-fuzz")).then(|| at[start..].to_owned())
}

/// Inputs so far, in the lines of libFuzzer and of the blind program.
fn count_of(line: &str) -> Option<u64> {
    number_behind(line, "stat::number_of_executed_units: ").or_else(|| number_behind(line, "#"))
}

fn number_behind(line: &str, mark: &str) -> Option<u64> {
    let rest = if mark == "#" { line.strip_prefix(mark)? } else { line.split_once(mark)?.1 };
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// What libFuzzer left becomes defects, one for each kind and place; false where it left nothing.
fn take_artifacts(folders: &Folders, found: &Found, place: Option<&str>) -> io::Result<bool> {
    let mut is_any = false;
    for path in files_of(&folders.artifacts)? {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let kind = name.split('-').next().unwrap_or_default();
        let words = match kind {
            "timeout" => format!("took more than {} s", WALL_LIMIT.as_secs()),
            "oom" => format!("took more than {PROCESS_MEGABYTES} MB"),
            "crash" => "ended the process (memory beyond the limit, or a signal)".to_owned(),
            // Slow ones within the limit.
            _ => {
                fs::remove_file(&path)?;
                continue;
            }
        };
        let (bytes, words) = (fs::read(&path)?, format!("{words}{}", at(place)));
        found.defect(&bytes, &Defect { place: format!("{kind}{}", at(place)), words })?;
        fs::remove_file(&path)?;
        is_any = true;
    }
    Ok(is_any)
}

/// The file that a process that was ended had written last.
fn last_input(scratch: &Scratch, target: &Target) -> Option<Vec<u8>> {
    let folders = fs::read_dir(scratch.folder()).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let files = folders.map(|folder| folder.join(target.file)).filter(|file| file.is_file());
    let newest = files.max_by_key(|file| File::open(file).and_then(|file| file.metadata()?.modified()).ok());
    fs::read(newest?).ok()
}
