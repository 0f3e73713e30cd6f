//! One run of the program: threads, progress, output and interruption.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lapwing::data::{Alone, CancelToken, Communicator, Error, Progress, Report, Run, Silent, Warning};

use lapwing_report::summary::Row;

use crate::failure::Failure;
use crate::options::{ProgressStyle, RunOptions};
use crate::output::Written;
use crate::progress::{Console, say};
use crate::ranks::Ranks;
use crate::text::{shell_word, summary};
use crate::{INTERRUPTED, paint};

/// One run of the program, in one process or as one of several ranks, of which only rank 0 prints.
pub struct Session<'c> {
    /// The run that the library gets.
    pub run: Run,
    /// The processes of this run.
    pub communicator: &'c dyn Communicator,
    /// Whether results are printed as JSON.
    pub json: bool,
    quiet: bool,
    may_exit: Arc<AtomicBool>,
}

impl Session<'static> {
    /// Starts the threads of a single process and listens for Ctrl-C.
    pub fn start(options: &RunOptions) -> Result<Self, Failure> {
        Self::across(options, &Ranks::new(&Alone, None))
    }
}

impl<'c> Session<'c> {
    /// Starts the threads of one of `ranks` and listens for Ctrl-C.
    pub fn across(options: &RunOptions, ranks: &Ranks<'c>) -> Result<Self, Failure> {
        let communicator = ranks.communicator;
        let prints = communicator.is_root();
        let cancel = CancelToken::default();
        let may_exit = Arc::new(AtomicBool::new(false));
        listen(cancel.clone(), may_exit.clone(), prints)?;
        let progress = if prints { progress(options) } else { Arc::new(Silent) };
        let threads = options.threads.or(ranks.threads);
        let run = Run::new(threads, options.seed)?.with_cancel(cancel).with_progress(progress);
        Ok(Self { run, communicator, json: options.json, quiet: options.quiet || !prints, may_exit })
    }

    /// Reads input as the phase `read` of `report`. Ctrl-C ends the program at once, even in the middle of a slow pipe,
    /// because no output has been begun.
    pub fn read<T>(&self, report: &mut Report, work: impl FnOnce() -> T) -> T {
        self.unless_interrupted(|| report.time("read", &self.run, |_| work()))
    }

    /// Does work without output: Ctrl-C ends the program at once.
    pub fn unless_interrupted<T>(&self, work: impl FnOnce() -> T) -> T {
        self.may_exit.store(true, Ordering::SeqCst);
        let out = work();
        self.may_exit.store(false, Ordering::SeqCst);
        out
    }

    /// The command line of this run, as it can be typed again.
    pub fn command(&self) -> String {
        let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        let Some((program, words)) = words.split_first() else { return String::new() };
        let name = Path::new(program).file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        [name].iter().chain(words).map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
    }

    /// Prints a warning on standard error.
    pub fn warn(&self, warning: &Warning) {
        if !self.quiet {
            say(&format!("{} {warning}", paint("warning:", "33")));
        }
    }

    /// Prints a summary, with the files that were written, on standard output, or on standard error if standard output holds the
    /// result. A quiet run whose result is in files prints nothing.
    pub fn print_summary(&self, mut rows: Vec<Row>, written: &Written, to_stderr: bool) -> Result<(), Failure> {
        let of_files = written.rows();
        if self.quiet && !of_files.is_empty() {
            return Ok(());
        }
        rows.extend(of_files);
        let text = summary(&rows);
        if !to_stderr {
            return self.print(&text);
        }
        self.note(text.trim_end());
        Ok(())
    }

    /// Prints a result on standard output.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        if self.communicator.is_root() { print(text) } else { Ok(()) }
    }

    /// Prints a text for people on standard error.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            say(text);
        }
    }
}

/// Prints a result on standard output, in any rank.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::stdout)
}

/// The first Ctrl-C cancels the run, the second ends the program at once.
fn listen(cancel: CancelToken, may_exit: Arc<AtomicBool>, prints: bool) -> Result<(), Failure> {
    let handler = move || {
        if cancel.is_canceled() || may_exit.load(Ordering::SeqCst) {
            if prints {
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
    let json = matches!(options.progress, Some(ProgressStyle::Json));
    let bar = matches!(options.progress, None | Some(ProgressStyle::Bar));
    let bar = bar && !options.quiet && std::io::stderr().is_terminal();
    Arc::new(Console::new(bar, json, options.verbose && !json))
}
