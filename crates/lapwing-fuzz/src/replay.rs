//! Inputs read again, one after the other, each within its time.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::judge::{Answer, judge};
use crate::{Bench, Target};

/// Processor time that an input may take.
pub const LIMIT: Duration = Duration::from_secs(5);
/// Time that it may take on a machine that has much else to do, or when it waits for something.
pub const WALL_LIMIT: Duration = Duration::from_secs(60);
/// Exit code of a process that ended itself since an input took longer.
pub const HANG: i32 = 70;

/// Reads inputs and prints `begin NAME` before each and `refused`, `accepted` or `DEFECT …` after it, so that whoever
/// started this process knows which one ended it. Returns how many showed a defect.
///
/// # Errors
/// When a file cannot be read.
pub fn replay(bench: &Bench, target: &Target, files: &[PathBuf]) -> io::Result<usize> {
    let clock = Clock::start();
    let mut n_defects = 0;
    for file in files {
        let bytes = std::fs::read(file)?;
        say(&format!("begin {}", file.display()))?;
        clock.begin();
        let outcome = judge(bench, target, &bytes);
        clock.end();
        match outcome {
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

/// Ends the process when an input takes too long.
#[derive(Clone, Debug)]
pub struct Clock {
    since: Arc<Mutex<Option<Start>>>,
}

/// When an input began: on the clock, and in processor time of the process.
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
    /// Starts to watch.
    pub fn start() -> Self {
        let clock = Self { since: Arc::default() };
        let watched = clock.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(100));
                if watched.set(|_| {}).is_some_and(Start::is_over) {
                    eprintln!("an input took more than {} s", LIMIT.as_secs());
                    // SAFETY: ends the process at once; what others would do at its end may wait for the input.
                    unsafe { libc::_exit(HANG) };
                }
            }
        });
        clock
    }

    /// An input begins.
    pub fn begin(&self) {
        self.set(|since| *since = Some(Start::now()));
    }

    /// It has come to its end.
    pub fn end(&self) {
        self.set(|since| *since = None);
    }

    fn set(&self, change: impl FnOnce(&mut Option<Start>)) -> Option<Start> {
        let mut since = self.since.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        change(&mut since);
        *since
    }
}

/// Processor time of this process so far; 0 where the system does not say.
fn worked() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes a time to the place it is given.
    let is_told = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) } == 0;
    if is_told { Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.max(0) as u32) } else { Duration::ZERO }
}

/// The files of a folder in order; none where there is no folder.
///
/// # Errors
/// When the folder cannot be read.
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
