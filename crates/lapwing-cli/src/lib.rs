//! The program `lapwing` as a function: parses the arguments, calls the library, prints. No numerics here.
//!
//! It is a function of the processes that run it, so that `lapwing` alone and `lapwing-mpi` across ranks have the same
//! commands and options.

mod commands;
mod ending;
mod failure;
mod files;
mod heap;
mod input;
mod interrupt;
mod limits;
mod options;
mod outcome;
mod progress;
mod ranks;
mod session;
mod stderr;
#[cfg(test)]
mod tests;
mod text;
mod written;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use lapwing::data::{Communicator, Error};
use lapwing_core::mapped::check_files;
use lapwing_core::text::write_options_by;

use crate::commands::{
    audit, compare, completions, demo, describe, graph, label, methods, predict, reference, sparsify, suggest,
};
use crate::failure::Failure;
use crate::interrupt::INTERRUPTS;
pub use crate::limits::Allocator;
use crate::options::Subject;
use crate::outcome::Outcome;
use crate::ranks::Ranks;
use crate::stderr::say_after;

/// Labels for millions of rows from a handful of labeled ones
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
    Suggest(suggest::Suggest),
    Audit(audit::Audit),
    Compare(compare::Compare),
    Describe(describe::Describe),
    Methods(methods::Methods),
    Graph(graph::Graph),
    Sparsify(sparsify::Sparsify),
    Completions(completions::Completions),
    Reference(reference::Reference),
}

/// Runs the program on the arguments of this process, together with the other ranks of `communicator`; all ranks return
/// the same exit code, and rank 0 alone prints.
///
/// `threads` is the default of `--threads`; `None` means every processor that this process may use.
pub fn main(communicator: &dyn Communicator, threads: Option<usize>) -> ExitCode {
    write_options_by(text::in_message);
    heap::return_freed_memory();
    limits::listen();
    let ranks = Ranks::new(communicator, threads);
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let heard = interrupt::listen(communicator.is_root());
    let result = heard.and_then(|()| parse(&arguments)).and_then(|(cli, subject)| run(&cli.command, &subject, &ranks));
    // Whatever was made of a file of which a part was gone is wrong, also an error about its values.
    end_by(communicator, check_files().map_err(Failure::from).and(result))
}

/// Parses the arguments (the program's name first) into a command and its parameters.
fn parse(arguments: &[OsString]) -> Result<(Cli, Subject), Failure> {
    let arguments = &options::joined_words(arguments)[..];
    let known = Cli::command();
    let is_command = |word: &&OsString| known.get_subcommands().any(|c| c.get_name() == word.as_os_str());
    let name = arguments.iter().skip(1).find(is_command).map(|name| name.to_string_lossy().into_owned());
    let mut subject = Subject::new(name.as_deref().unwrap_or_default(), arguments);
    let called = name.as_deref().map_or_else(|| "lapwing".into(), |name| format!("lapwing {name}"));
    let failure = |error: clap::Error| match unknown_option(&error).and_then(|option| subject.misplaced(&option)) {
        Some(reason) => Failure::Usage(reason),
        None => Failure::Parse { error, command: called.clone() },
    };
    let mut command = whole_command(name.as_deref(), &subject);
    let matches = command.try_get_matches_from_mut(arguments).map_err(failure)?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| failure(error.format(&mut command)))?;
    if let Some((_, matches)) = matches.subcommand() {
        subject.read(matches)?;
    }
    Ok((cli, subject))
}

/// The program's commands. The command `name` gets the parameters of `subject`.
fn whole_command(name: Option<&str>, subject: &Subject) -> clap::Command {
    // A negative number is parsed as a value, not as an option, so that the error names the range of the parameter.
    let takes_numbers = |argument: clap::Arg| match argument.get_action().takes_values() && !argument.is_positional() {
        true => argument.allow_negative_numbers(true),
        false => argument,
    };
    let command = match name {
        Some(name) => Cli::command().mut_subcommand(name, |command| subject.add_to(command)),
        None => Cli::command(),
    };
    command.mut_subcommands(|subcommand| subcommand.mut_args(takes_numbers))
}

/// Whether a command has an option of this name, for a parameter of any method.
fn is_option(long: &str) -> bool {
    let has = |command: &clap::Command| command.get_arguments().any(|argument| argument.get_long() == Some(long));
    Subject::add_all_to(Cli::command()).get_subcommands().any(has)
}

/// The option that the command does not have, if that is the error.
fn unknown_option(error: &clap::Error) -> Option<String> {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) => Some(option.clone()),
        _ => None,
    }
}

/// Ends this rank as the program does: waits for the others, prints the first failure at rank 0, and returns the common exit
/// code. For other programs that call the library across ranks.
pub fn end(communicator: &dyn Communicator, result: Result<(), Error>) -> ExitCode {
    end_by(communicator, result.map(|()| Outcome::Done).map_err(Failure::from))
}

fn end_by(communicator: &dyn Communicator, result: Result<Outcome, Failure>) -> ExitCode {
    let result = result.map_err(|failure| failure.in_options(is_option));
    let ending = ending::join(communicator, &result);
    match (&result, ending.text) {
        (Err(Failure::Parse { error, .. }), _) if communicator.is_root() && !failure::is_wrong(error) => {
            // Help or the version. An error here means that the reader has closed the pipe.
            let _ = error.print();
        }
        (_, Some(text)) if communicator.is_root() => {
            say_after("error:", "31", &text);
            let hints = result.as_ref().err().map(Failure::hints).unwrap_or_default();
            hints.iter().for_each(|hint| say_after("hint:", "36", hint));
        }
        _ => {}
    }
    // All is said. `mpirun` ends the ranks that are still there once the first has ended with an error.
    INTERRUPTS.say_nothing();
    ending.code.into()
}

fn run(command: &Command, subject: &Subject, ranks: &Ranks) -> Result<Outcome, Failure> {
    if !matches!(command, Command::Label(_) | Command::Predict(_)) {
        ranks.refuse_many("this command", "only label and predict run across ranks")?;
    }
    match (command, subject) {
        (Command::Demo(demo), _) => demo.run(),
        (Command::Label(label), Subject::Method(settings)) => label.run(settings, ranks),
        (Command::Predict(predict), _) => predict.run(ranks),
        (Command::Compare(compare), Subject::Methods(methods)) => compare.run(methods),
        (Command::Describe(describe), _) => describe.run(),
        (Command::Methods(methods), _) => methods.run(),
        (Command::Graph(graph), Subject::Graph(params)) => graph.run(params),
        (Command::Sparsify(sparsify), Subject::Sparsifier(params)) => sparsify.run(params),
        (Command::Suggest(suggest), Subject::Suggestions(params)) => suggest.run(params),
        (Command::Audit(audit), Subject::Audit(params)) => audit.run(params),
        (Command::Completions(completions), _) => completions.run(Cli::command()),
        (Command::Reference(reference), _) => reference.run(&Cli::command()),
        _ => Err(Error::Internal { reason: "a command without its parameters".into() }.into()),
    }
}
