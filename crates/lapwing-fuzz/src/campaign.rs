//! A campaign: each target runs in a process of its own, which is started again after an input has ended it.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use crate::found::{Found, defects, words_of};
use crate::judge::Defect;
use crate::replay::{HANG, LIMIT, WALL_LIMIT, files_of};
use crate::scratch::{Scratch, WITHIN};
use crate::{Bench, Target, lock};

/// Variable with the folder of the campaign.
pub const FOLDER: &str = "LAPWING_FUZZ_FOLDER";

/// The most megabytes of a process, with mapped files.
const PROCESS_MEGABYTES: u32 = 1536;
/// The most starts of a target.
const MOST_STARTS: usize = 200;

/// The plan of a campaign.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The folder for everything that the campaign writes.
    pub folder: PathBuf,
    /// Inputs in the repository, a folder for each target.
    pub corpus: PathBuf,
    /// The targets to run.
    pub targets: Vec<&'static Target>,
    /// Processor time of all targets together.
    pub time: Duration,
    /// Processes at a time.
    pub jobs: usize,
}

/// The results of one target.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Name of the target.
    pub target: &'static str,
    /// Inputs tried.
    pub inputs: u64,
    /// Seconds for all inputs.
    pub seconds: f64,
    /// Edges of the code that inputs reached; `None` without coverage.
    pub edges: Option<u64>,
    /// Inputs that reached new code.
    pub corpus: usize,
    /// Kept inputs that were accepted.
    pub accepted: usize,
    /// Inputs that showed a defect, with their texts.
    pub defects: Vec<(PathBuf, String)>,
}

/// Runs all targets.
pub fn run(plan: &Plan) -> io::Result<Vec<Outcome>> {
    let shares: u32 = plan.targets.iter().map(|target| target.share).sum();
    let queue: Mutex<VecDeque<_>> = Mutex::new(plan.targets.iter().copied().collect());
    let next = || lock(&queue).pop_front();
    let worker = || -> io::Result<Vec<Outcome>> {
        let mut outcomes = Vec::new();
        while let Some(target) = next() {
            let outcome = run_target(plan, target, plan.time * target.share / shares.max(1))?;
            println!("{}", outcome.line());
            outcomes.push(outcome);
        }
        Ok(outcomes)
    };
    println!("{}", Outcome::head());
    let outcomes = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..plan.jobs.max(1)).map(|_| scope.spawn(worker)).collect();
        let join = |worker: ScopedJoinHandle<'_, _>| {
            worker.join().unwrap_or_else(|_| Err(io::Error::other("a worker panicked")))
        };
        workers.into_iter().map(join).collect::<io::Result<Vec<_>>>()
    });
    let mut outcomes = outcomes?.concat();
    outcomes.sort_by_key(|outcome| plan.targets.iter().position(|target| target.name == outcome.target));
    Ok(outcomes)
}

impl Outcome {
    /// The sum of several outcomes.
    pub fn total(outcomes: &[Self]) -> Self {
        let mut total = Self { target: "all", ..Self::default() };
        for outcome in outcomes {
            total.inputs += outcome.inputs;
            total.seconds += outcome.seconds;
            total.corpus += outcome.corpus;
            total.accepted += outcome.accepted;
            total.defects.extend(outcome.defects.iter().cloned());
        }
        total
    }

    /// The head of the table of outcomes.
    pub fn head() -> String {
        Self::cells(["target", "inputs", "inputs/s", "edges", "corpus", "accepted", "defects"].map(String::from))
    }

    /// A line of the table of outcomes.
    pub fn line(&self) -> String {
        let edges = self.edges.map_or("-".into(), |edges| edges.to_string());
        let rate = format!("{:.0}", self.inputs as f64 / self.seconds.max(1e-9));
        let counts = [self.corpus, self.accepted, self.defects.len()].map(|count| count.to_string());
        let [corpus, accepted, defects] = counts;
        Self::cells([self.target.into(), self.inputs.to_string(), rate, edges, corpus, accepted, defects])
    }

    fn cells([target, inputs, rate, edges, corpus, accepted, defects]: [String; 7]) -> String {
        format!("{target:<15} {inputs:>11} {rate:>9} {edges:>8} {corpus:>7} {accepted:>9} {defects:>8}")
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
pub fn write_seeds(folder: &Path, target: &Target) -> io::Result<()> {
    let bench = Bench::new()?;
    (target.seeds)(&bench)
        .iter()
        .try_for_each(|(name, bytes)| fs::write(folder.join(format!("{name}-{}", target.file)), bytes))
}

fn run_target(plan: &Plan, target: &'static Target, time: Duration) -> io::Result<Outcome> {
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
        if ending.is_success || take_artifacts(&folders, &found, &ending.place)? {
            continue;
        }
        // libFuzzer kept no input: the one that ended the process is the last file of the reader.
        let input = last_input(&scratch, target).unwrap_or_default();
        let words = match ending.code {
            Some(HANG) => format!("took more than {} s", LIMIT.as_secs()),
            _ => format!("the process was ended{}", ending.place),
        };
        found.defect(&input, &Defect { place: words.clone(), words })?;
    }
    outcome.seconds = start.elapsed().as_secs_f64();
    outcome.corpus = files_of(&folders.corpus)?.len();
    outcome.accepted = files_of(&plan.folder.join("accepted").join(target.name))?.len();
    outcome.defects = defects(&plan.folder, target)?;
    Ok(outcome)
}

/// Removes inputs of earlier campaigns that show a defect no longer.
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

/// The end of a process.
struct Ending {
    is_success: bool,
    code: Option<i32>,
    /// ` at FILE:LINE` of our code, if the process printed it.
    place: String,
}

/// Runs a process to its end and adds its figures to `outcome`.
fn watch(command: &mut Command, outcome: &mut Outcome) -> io::Result<Ending> {
    let mut child = command.spawn()?;
    let (mut inputs, mut place) = (0, None);
    for line in child.stderr.take().into_iter().flat_map(|words| BufReader::new(words).split(b'\n')) {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        inputs = inputs.max(count_of(&line).unwrap_or(0));
        outcome.edges = outcome.edges.max(number_behind(&line, " cov: "));
        // The first of our own lines in the backtrace of a refused allocation.
        place = place.or_else(|| place_of(&line));
    }
    outcome.inputs += inputs;
    let status = child.wait()?;
    Ok(Ending { is_success: status.success(), code: status.code(), place: place.unwrap_or_default() })
}

/// ` at FILE:LINE` from a line of a backtrace in our code outside of this crate.
fn place_of(line: &str) -> Option<String> {
    let at = line.trim_start().strip_prefix("at ")?;
    let start = at.find("crates/lapwing-")?;
    (!at.contains("crates/lapwing-fuzz")).then(|| format!(" at {}", &at[start..]))
}

/// The number of inputs so far, from a line of libFuzzer or of the blind fuzzer.
fn count_of(line: &str) -> Option<u64> {
    number_behind(line, "stat::number_of_executed_units: ").or_else(|| leading(line.strip_prefix('#')?))
}

fn number_behind(line: &str, mark: &str) -> Option<u64> {
    leading(line.split_once(mark)?.1)
}

fn leading(text: &str) -> Option<u64> {
    let text = text.trim_start();
    text[..text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())].parse().ok()
}

/// Keeps the inputs of libFuzzer's artifacts as defects, one for each kind and place; true if there were any.
fn take_artifacts(folders: &Folders, found: &Found, place: &str) -> io::Result<bool> {
    let mut is_any = false;
    for path in files_of(&folders.artifacts)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kind = name.split('-').next().unwrap_or_default();
        let words = match kind {
            "timeout" => Some(format!("took more than {} s", WALL_LIMIT.as_secs())),
            "oom" => Some(format!("took more than {PROCESS_MEGABYTES} MB")),
            "crash" => Some("ended the process (memory beyond the limit, or a signal)".into()),
            // A slow input, within the limit.
            _ => None,
        };
        if let Some(words) = words {
            let defect = Defect { place: format!("{kind}{place}"), words: format!("{words}{place}") };
            found.defect(&fs::read(&path)?, &defect)?;
            is_any = true;
        }
        fs::remove_file(&path)?;
    }
    Ok(is_any)
}

/// The newest input file in the scratch folder of an ended process.
fn last_input(scratch: &Scratch, target: &Target) -> Option<Vec<u8>> {
    let folders = fs::read_dir(scratch.folder()).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let files = folders.map(|folder| folder.join(target.file)).filter(|file| file.is_file());
    let newest = files.max_by_key(|file| File::open(file).and_then(|file| file.metadata()?.modified()).ok());
    fs::read(newest?).ok()
}
