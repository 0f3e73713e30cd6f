//! Reading inputs again, one after the other, each within a time limit.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::judge::{Answer, Defect, judge};
use crate::{Bench, Target, lock};

/// The most processor time of an input.
pub const LIMIT: Duration = Duration::from_secs(5);
/// The most wall time of an input: on a busy machine, or when the reader waits.
pub const WALL_LIMIT: Duration = Duration::from_secs(60);
/// Exit code of a process that ended itself because an input took longer.
pub const HANG: i32 = 70;

/// Reads inputs and returns the number of those with a defect. Prints `begin NAME` before each and `refused`, `accepted` or
/// `DEFECT …` after it, so that the output names the input that ended the process.
pub fn replay(bench: &Bench, target: &Target, files: &[PathBuf]) -> io::Result<usize> {
    let clock = Clock::start();
    let mut n_defects = 0;
    for file in files {
        let bytes = std::fs::read(file)?;
        say(&format!("begin {}", file.display()))?;
        match clock.judge(bench, target, &bytes) {
            Ok(Answer::Refused) => say("refused")?,
            Ok(Answer::Accepted) => say("accepted")?,
            Err(defect) => {
                n_defects += 1;
                say(&format!("DEFECT {}", defect.words.replace('\n', " ")))?;
            }
        }
    }
    Ok(n_defects)
}

fn say(words: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{words}")?;
    out.flush()
}

/// A thread that ends the process when an input takes too long.
#[derive(Clone, Debug)]
pub struct Clock {
    since: Arc<Mutex<Option<Start>>>,
}

/// The start of an input: on the clock, and in processor time of the process.
#[derive(Clone, Copy, Debug)]
struct Start {
    when: Instant,
    worked: Duration,
}

impl Start {
    fn now() -> Self {
        Self { when: Instant::now(), worked: worked() }
    }

    fn is_over(self) -> bool {
        worked().saturating_sub(self.worked) > LIMIT || self.when.elapsed() > WALL_LIMIT
    }
}

impl Clock {
    /// Starts the thread.
    pub fn start() -> Self {
        let clock = Self { since: Arc::default() };
        let watched = clock.since.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(100));
                if lock(&watched).is_some_and(Start::is_over) {
                    eprintln!("an input took more than {} s", LIMIT.as_secs());
                    // SAFETY: ends the process at once. Handlers at a regular end might wait for the input.
                    unsafe { libc::_exit(HANG) };
                }
            }
        });
        clock
    }

    /// Reads `bytes` with a target, within the time limit.
    pub fn judge(&self, bench: &Bench, target: &Target, bytes: &[u8]) -> Result<Answer, Defect> {
        *lock(&self.since) = Some(Start::now());
        let outcome = judge(bench, target, bytes);
        *lock(&self.since) = None;
        outcome
    }
}

/// Processor time of this process so far; 0 if the system does not report it.
#[cfg(unix)]
fn worked() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes a time into `time`.
    let is_told = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) } == 0;
    if is_told { Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.max(0) as u32) } else { Duration::ZERO }
}

#[cfg(not(unix))]
fn worked() -> Duration {
    Duration::ZERO
}

/// The files of a folder, sorted; none if there is no folder.
pub fn files_of(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    files.sort();
    Ok(files)
}
