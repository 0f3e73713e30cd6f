//! The program `lapwing` as a function: parses the arguments, calls the library, prints. No numerics here.
//!
//! It is a function of the processes that run it, so that `lapwing` alone and `lapwing-mpi` across ranks have the same
//! commands and options.

mod commands;
mod ending;
mod failure;
mod heap;
mod html;
mod input;
mod options;
mod output;
mod progress;
mod ranks;
mod rows;
mod session;
mod summary;
mod text;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use lapwing::data::{Communicator, Error};

use crate::commands::{compare, completions, demo, graph, label, predict, sparsify};
use crate::failure::Failure;
use crate::ranks::Ranks;

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

/// Runs the program on the arguments of this process, together with the other ranks of `communicator`; all ranks return
/// the same exit code, and rank 0 alone prints.
///
/// `threads` are the worker threads where `--threads` is not given; `None` stands for every processor this process may
/// use.
pub fn main(communicator: &dyn Communicator, threads: Option<usize>) -> ExitCode {
    heap::return_freed_memory();
    let ranks = Ranks::new(communicator, threads);
    let result = Cli::try_parse().map_err(Failure::Parse).and_then(|cli| run(&cli.command, &ranks));
    end_by(communicator, &result)
}

/// Ends the work of this rank as the program does: waits for the others, prints the first failure at rank 0, and returns
/// the exit code of them all. For programs of their own that call the library across ranks.
pub fn end(communicator: &dyn Communicator, result: Result<(), Error>) -> ExitCode {
    end_by(communicator, &result.map(|()| Outcome::Done).map_err(Failure::from))
}

fn end_by(communicator: &dyn Communicator, result: &Result<Outcome, Failure>) -> ExitCode {
    let ending = ending::settle(communicator, result);
    match (result, ending.text) {
        (Err(Failure::Parse(parse)), _) if communicator.is_root() => explain(parse),
        (_, Some(text)) if communicator.is_root() => {
            progress::say(&format!("{} {text}", paint("error:", "31")));
        }
        _ => {}
    }
    ending.code.into()
}

fn run(command: &Command, ranks: &Ranks) -> Result<Outcome, Failure> {
    if !matches!(command, Command::Label(_)) {
        ranks.refuse_many("this command", "only label runs across ranks")?;
    }
    match command {
        Command::Demo(demo) => demo.run(),
        Command::Label(label) => label.run(ranks),
        Command::Predict(predict) => predict.run(),
        Command::Compare(compare) => compare.run(),
        Command::Graph(graph) => graph.run(),
        Command::Sparsify(sparsify) => sparsify.run(),
        Command::Completions(completions) => completions.run(),
    }
}

/// Help and version go to standard output, usage errors to standard error.
fn explain(parse: &clap::Error) {
    // A reader that closed its end has read enough of the help.
    let _ = parse.print();
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
