//! One run of the program: its threads and progress, its words, and how it is interrupted.

use std::io::{IsTerminal, Write};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lapwing::data::{CancelToken, Communicator, Error, Progress, Report, Run, Silent};

use crate::failure::Failure;
use crate::options::{ProgressStyle, RunOptions};
use crate::progress::{Bar, Both, JsonLines, PhaseLines, say};
use crate::ranks::Ranks;
use crate::summary::Row;
use crate::text::summary;
use crate::{INTERRUPTED, paint};

/// One run of the program, in one process or as one rank of several. Of several, rank 0 alone speaks.
pub struct Session<'c> {
    /// What the library is given.
    pub run: Run,
    /// The processes of this run.
    pub communicator: &'c dyn Communicator,
    /// Whether results are printed as JSON.
    pub json: bool,
    quiet: bool,
    may_exit: Arc<AtomicBool>,
}

impl Session<'static> {
    /// Starts threads, listens for Ctrl-C; in one process.
    pub fn start(options: &RunOptions) -> Result<Self, Failure> {
        Self::across(options, &Ranks::alone())
    }
}

impl<'c> Session<'c> {
    /// Starts threads, listens for Ctrl-C; as one of `ranks`.
    pub fn across(options: &RunOptions, ranks: &Ranks<'c>) -> Result<Self, Failure> {
        let communicator = ranks.communicator;
        let speaks = communicator.is_root();
        let cancel = CancelToken::default();
        let may_exit = Arc::new(AtomicBool::new(false));
        listen(cancel.clone(), may_exit.clone(), speaks)?;
        let progress = if speaks { progress(options) } else { Arc::new(Silent) };
        let threads = options.threads.or(ranks.threads);
        let run = Run::new(threads, options.seed)?.with_cancel(cancel).with_progress(progress);
        Ok(Self { run, communicator, json: options.json, quiet: options.quiet || !speaks, may_exit })
    }

    /// Reads input as the phase `read` of `report`. As there is nothing to tidy up yet, Ctrl-C ends the program at
    /// once, even in the middle of a slow pipe.
    pub fn read<T>(&self, report: &mut Report, work: impl FnOnce() -> T) -> T {
        self.unless_interrupted(|| report.time("read", &self.run, |_| work()))
    }

    /// Does work that leaves nothing to tidy up: Ctrl-C ends the program at once.
    pub fn unless_interrupted<T>(&self, work: impl FnOnce() -> T) -> T {
        self.may_exit.store(true, Ordering::SeqCst);
        let out = work();
        self.may_exit.store(false, Ordering::SeqCst);
        out
    }

    /// Something to look at, on standard error.
    pub fn warn(&self, text: &str) {
        if !self.quiet {
            say(&format!("{} {text}", paint("warning:", "33")));
        }
    }

    /// Prints a summary on standard output, or on standard error where the result itself went to standard output.
    pub fn print_summary(&self, rows: &[Row], to_stderr: bool) -> Result<(), Failure> {
        let text = summary(rows);
        if to_stderr {
            self.note(text.trim_end());
            return Ok(());
        }
        self.print(&text)
    }

    /// Prints a result on standard output.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        if self.communicator.is_root() { print(text) } else { Ok(()) }
    }

    /// Words for people, on standard error.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            say(text);
        }
    }
}

/// Prints a result on standard output, whichever process this is.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::stdout)
}

/// The first Ctrl-C asks the run to stop, the second ends the program at once.
fn listen(cancel: CancelToken, may_exit: Arc<AtomicBool>, speaks: bool) -> Result<(), Failure> {
    let handler = move || {
        if cancel.is_cancelled() || may_exit.load(Ordering::SeqCst) {
            if speaks {
                say(&format!("{} interrupted", paint("error:", "31")));
            }
            process::exit(INTERRUPTED.into());
        }
        cancel.cancel();
    };
    ctrlc::set_handler(handler)
        .map_err(|e| Failure::Library(Error::Internal { reason: format!("cannot listen for Ctrl-C: {e}") }))
}

fn progress(options: &RunOptions) -> Arc<dyn Progress> {
    let is_terminal = std::io::stderr().is_terminal();
    let style = options.progress.unwrap_or(ProgressStyle::Bar);
    match style {
        ProgressStyle::Json => Arc::new(JsonLines::default()),
        ProgressStyle::Bar if is_terminal && !options.quiet && options.verbose => {
            Arc::new(Both(Bar::default(), PhaseLines::default()))
        }
        ProgressStyle::Bar if is_terminal && !options.quiet => Arc::new(Bar::default()),
        _ if options.verbose => Arc::new(PhaseLines::default()),
        _ => Arc::new(Silent),
    }
}
