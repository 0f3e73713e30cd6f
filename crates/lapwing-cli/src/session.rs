//! One run of the program: threads, progress, output and interruption.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use lapwing::data::{Alone, Communicator, Error, Progress, Report, Run, Silent, Warning};
use lapwing_core::communicator;
use lapwing_report::summary::Row;
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::interrupt::INTERRUPTS;
use crate::options::{ProgressStyle, RunOptions};
use crate::progress::Console;
use crate::ranks::Ranks;
use crate::stderr::{say, say_after};
use crate::text::{plain, plain_json, plain_lines, shell_word, summary};
use crate::written::Written;

/// One run of the program, in one process or as one of several ranks, of which only rank 0 prints.
pub struct Session<'c> {
    /// The run that the library gets.
    pub run: Run,
    /// The processes of this run.
    pub communicator: &'c dyn Communicator,
    /// Whether results are printed as JSON.
    pub json: bool,
    quiet: bool,
}

impl Session<'static> {
    /// Starts the threads of a single process.
    pub fn start(options: &RunOptions) -> Result<Self, Failure> {
        Self::across(options, &Ranks::new(&Alone, None))
    }
}

impl<'c> Session<'c> {
    /// Starts the threads of one of `ranks`. Signals cancel its run from now on.
    pub fn across(options: &RunOptions, ranks: &Ranks<'c>) -> Result<Self, Failure> {
        let communicator = ranks.communicator;
        let prints = communicator.is_root();
        INTERRUPTS.may_exit(false);
        let progress = if prints { progress(options) } else { Arc::new(Silent) };
        let threads = options.threads.or(ranks.threads);
        let run = Run::new(threads, options.seed)?.with_cancel(INTERRUPTS.cancel.clone()).with_progress(progress);
        Ok(Self { run, communicator, json: options.json, quiet: options.quiet || !prints })
    }

    /// Waits until all ranks are done; then the result of this rank, or an error if any rank failed.
    pub fn agree<T>(&self, done: Result<T, Failure>) -> Result<T, Failure> {
        let mut failure = None;
        let done = done.map_err(|error| match error {
            Failure::Library(error) => error,
            other => {
                let reason = other.text().unwrap_or_default();
                failure = Some(other);
                Error::Internal { reason }
            }
        });
        communicator::agree(self.communicator, done).map_err(|error| failure.unwrap_or(Failure::Library(error)))
    }

    /// Reads input as the phase `read` of `report`. Ctrl-C ends the program at once, even in the middle of a slow pipe,
    /// because no output has been begun.
    pub fn read<T>(&self, report: &mut Report, work: impl FnOnce() -> T) -> T {
        self.unless_interrupted(|| report.time("read", &self.run, |_| work()))
    }

    /// Does work without output: Ctrl-C ends the program at once.
    pub fn unless_interrupted<T>(&self, work: impl FnOnce() -> T) -> T {
        INTERRUPTS.may_exit(true);
        let out = work();
        INTERRUPTS.may_exit(false);
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
            say_after("warning:", "33", &plain(&warning.to_string()));
        }
    }

    /// Prints the end of a command: warnings on standard error, then a JSON object of what `body` gives, or a summary of `rows` with the
    /// files that were written. The summary goes to standard output, or to standard error if standard output holds the result. A quiet
    /// run whose result is in files prints none.
    pub fn print_end<B: Serialize>(
        &self,
        command: &str,
        warnings: &[Warning],
        body: impl FnOnce() -> (B, Value),
        rows: impl FnOnce() -> Vec<Row>,
        (written, to_stderr): (&Written, bool),
    ) -> Result<(), Failure> {
        warnings.iter().for_each(|warning| self.warn(warning));
        if self.json {
            let (body, more) = body();
            return self.print(&written.object(command, &body, more)?);
        }
        let (mut rows, of_files) = (rows(), written.rows());
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

    /// Prints a result on standard output: JSON if that was asked for, else lines for people.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        let text = if self.json { plain_json(text) } else { plain_lines(text) };
        if self.communicator.is_root() { print(&text) } else { Ok(()) }
    }

    /// Prints a text for people on standard error.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            say(&plain_lines(text));
        }
    }
}

/// Prints a result on standard output, in any rank.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::stdout)
}

fn progress(options: &RunOptions) -> Arc<dyn Progress> {
    let json = matches!(options.progress, Some(ProgressStyle::Json));
    let bar = matches!(options.progress, None | Some(ProgressStyle::Bar));
    let bar = bar && !options.quiet && std::io::stderr().is_terminal();
    Arc::new(Console::new(bar, json, options.verbose && !json))
}
