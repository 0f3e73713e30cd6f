//! Reading inputs again, one after the other, each within a time limit.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lapwing_core::lock;

use crate::bench::{Answer, Bench, Verdict};
use crate::targets::Target;

/// The most processor time of an input.
const LIMIT: Duration = Duration::from_secs(5);

/// The place and the words of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Notes panics and prints nothing: readers catch some of them, and [`judge`] returns the others.
pub fn note_panics() {
    std::panic::set_hook(Box::new(|info| *lock(&PANIC) = info.to_string()));
}

/// Reads `bytes` with a target; a panic is a defect.
pub fn judge(bench: &Bench, target: &Target, bytes: &[u8]) -> Verdict {
    let read = || (target.read)(bench, &bench.file(target.file, bytes), bytes);
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(std::mem::take(&mut *lock(&PANIC))))
}

/// Reads inputs and returns the number of those with a defect. Prints `begin NAME` before each and `refused`, `accepted` or
/// `DEFECT …` after it, so that the output names the input that ended the process: by memory beyond the limit, or by its time.
pub fn replay(bench: &Bench, target: &Target, files: &[PathBuf]) -> io::Result<usize> {
    let start = Arc::new(Mutex::new(worked()));
    watch(start.clone());
    let mut n_defects = 0;
    for file in files {
        let bytes = std::fs::read(file)?;
        say(&format!("begin {}", file.display()))?;
        *lock(&start) = worked();
        match judge(bench, target, &bytes) {
            Ok(Answer::Refused) => say("refused")?,
            Ok(Answer::Accepted) => say("accepted")?,
            Err(words) => {
                n_defects += 1;
                eprintln!("DEFECT {}", words.replace('\n', " "));
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

/// Ends the process when it works for longer than [`LIMIT`] from `start` on.
fn watch(start: Arc<Mutex<Duration>>) {
    std::thread::spawn(move || {
        while worked().saturating_sub(*lock(&start)) < LIMIT {
            std::thread::sleep(Duration::from_millis(100));
        }
        eprintln!("an input took more than {} s", LIMIT.as_secs());
        std::process::abort();
    });
}

/// Processor time of this process so far; 0 if the system does not report it.
fn worked() -> Duration {
    #[cfg(unix)]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the call writes a time into `time`.
        if unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) } == 0 {
            return Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.max(0) as u32);
        }
    }
    Duration::ZERO
}

/// The files of a folder, sorted; none if there is no folder.
pub fn files_of(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    files.retain(|file| file.is_file());
    files.sort();
    Ok(files)
}
