//! The program `lapwing`: parses its arguments, calls the library, prints. No numerics here.

mod commands;
mod failure;
mod html;
mod input;
mod options;
mod output;
mod progress;
mod session;
mod summary;
mod text;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::commands::{compare, completions, demo, graph, label, predict, sparsify};
use crate::failure::Failure;

/// Exit code: all done.
const DONE: u8 = 0;
/// Exit code, only with `--strict`: finished, but there is something to look at.
const LOOK: u8 = 1;
/// Exit code: usage or input error.
const ERROR: u8 = 2;
/// Exit code: stopped by Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Labels for millions of rows from a handful of labelled ones
#[derive(Parser)]
#[command(name = "lapwing", version, max_term_width = 110, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  lapwing demo
      label 1,797 handwritten digits from 5 examples of each
  lapwing label flowers.csv --label-column species -o out.csv
      label the rows whose species is empty
  lapwing label --help
      everything about a command, with examples

Exit codes: 0 done; 1 finished but look (only with --strict); 2 usage or input error; 130 interrupted.";

#[derive(Subcommand)]
enum Command {
    Demo(demo::Demo),
    Label(label::Label),
    Predict(predict::Predict),
    Compare(compare::Compare),
    Graph(graph::Graph),
    Sparsify(sparsify::Sparsify),
    Completions(completions::Completions),
}

/// How a command that did not fail ended.
enum Outcome {
    /// Nothing to add.
    Done,
    /// Not converged, or rows without a label.
    Look,
}

fn main() -> ExitCode {
    let result = match Cli::try_parse() {
        Ok(cli) => run(&cli.command),
        Err(usage) => return explain(&usage),
    };
    let code = match &result {
        Ok(Outcome::Done) | Err(Failure::ClosedPipe) => DONE,
        Ok(Outcome::Look) => LOOK,
        Err(Failure::Usage(_) | Failure::Library(_)) => ERROR,
        Err(Failure::Interrupted) => INTERRUPTED,
    };
    if let Some(text) = result.err().and_then(|failure| failure.text()) {
        progress::say(&format!("{} {text}", paint("error:", "31")));
    }
    code.into()
}

fn run(command: &Command) -> Result<Outcome, Failure> {
    match command {
        Command::Demo(demo) => demo.run(),
        Command::Label(label) => label.run(),
        Command::Predict(predict) => predict.run(),
        Command::Compare(compare) => compare.run(),
        Command::Graph(graph) => graph.run(),
        Command::Sparsify(sparsify) => sparsify.run(),
        Command::Completions(completions) => completions.run(),
    }
}

/// Help and version go to standard output, usage errors to standard error.
fn explain(usage: &clap::Error) -> ExitCode {
    // A reader that closed its end has read enough of the help.
    let _ = usage.print();
    if usage.use_stderr() { ERROR.into() } else { DONE.into() }
}

/// Bold and in an ANSI color, on terminals whose user did not object.
fn paint(text: &str, color: &str) -> String {
    let is_wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        && std::io::stderr().is_terminal();
    if is_wanted { format!("\x1b[1;{color}m{text}\x1b[0m") } else { text.into() }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn arguments_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
