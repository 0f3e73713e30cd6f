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
mod named;
mod options;
mod output;
mod prior;
mod progress;
mod ranks;
mod row_lists;
mod rows;
mod session;
mod text;
mod usage;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use lapwing::data::{Communicator, Error};
use lapwing_core::mapped::check_files;

use crate::commands::{
    audit, compare, completions, demo, describe, graph, label, methods, predict, reference, sparsify, suggest,
};
use crate::failure::Failure;
use crate::interrupt::INTERRUPTS;
pub use crate::limits::Allocator;
use crate::options::Subject;
use crate::ranks::Ranks;

/// Exit code: all done.
const DONE: u8 = 0;
/// Exit code, only with `--strict`: finished, but not converged, or with rows unreached or undecided.
const LOOK: u8 = 1;
/// Exit code: usage or input error.
const ERROR: u8 = 2;
/// Exit code: stopped by Ctrl-C or SIGTERM.
const INTERRUPTED: u8 = 130;

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

/// Outcome of a command that did not fail.
enum Outcome {
    Done,
    /// Not converged, or rows unreached or undecided.
    Look,
}

/// Runs the program on the arguments of this process, together with the other ranks of `communicator`; all ranks return
/// the same exit code, and rank 0 alone prints.
///
/// `threads` is the default of `--threads`; `None` means every processor that this process may use.
pub fn main(communicator: &dyn Communicator, threads: Option<usize>) -> ExitCode {
    heap::return_freed_memory();
    limits::listen();
    let ranks = Ranks::new(communicator, threads);
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let heard = interrupt::listen(communicator.is_root());
    let result = heard.and_then(|()| parse(&arguments)).and_then(|(cli, subject)| run(&cli.command, &subject, &ranks));
    // Whatever was made of a file of which a part was gone is wrong, also an error about its values.
    let result = check_files().map_err(Failure::from).and(result);
    end_by(communicator, &result)
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

/// The program's commands with the parameters of every method: for completions, and to look up which parameters have options.
fn command_of_all() -> clap::Command {
    let add = |command: clap::Command| Subject::all(command.get_name()).add_to(command);
    Cli::command().mut_subcommands(add)
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
    end_by(communicator, &result.map(|()| Outcome::Done).map_err(Failure::from))
}

fn end_by(communicator: &dyn Communicator, result: &Result<Outcome, Failure>) -> ExitCode {
    let ending = ending::join(communicator, result);
    match (result, ending.text) {
        (Err(Failure::Parse { error, .. }), _) if communicator.is_root() && !usage::is_wrong(error) => answer(error),
        (_, Some(text)) if communicator.is_root() => {
            progress::say(&format!("{} {text}", paint("error:", "31")));
            let hints = result.as_ref().err().map(Failure::hints).unwrap_or_default();
            hints.iter().for_each(|hint| progress::say(&format!("{} {hint}", paint("hint:", "36"))));
        }
        _ => {}
    }
    // All is said. `mpirun` ends the ranks that are still there once the first has ended with an error.
    INTERRUPTS.say_nothing();
    ending.code.into()
}

fn run(command: &Command, subject: &Subject, ranks: &Ranks) -> Result<Outcome, Failure> {
    if !matches!(command, Command::Label(_)) {
        ranks.refuse_many("this command", "only label runs across ranks")?;
    }
    match (command, subject) {
        (Command::Demo(demo), _) => demo.run(),
        (Command::Label(label), Subject::Method(settings)) => label.run(settings, ranks),
        (Command::Predict(predict), _) => predict.run(),
        (Command::Compare(compare), Subject::Methods(methods)) => compare.run(methods),
        (Command::Describe(describe), _) => describe.run(),
        (Command::Methods(methods), _) => methods.run(),
        (Command::Graph(graph), Subject::Graph(params)) => graph.run(params),
        (Command::Sparsify(sparsify), Subject::Sparsifier(params)) => sparsify.run(params),
        (Command::Suggest(suggest), Subject::Suggestions(params)) => suggest.run(params),
        (Command::Audit(audit), Subject::Audit(params)) => audit.run(params),
        (Command::Completions(completions), _) => completions.run(),
        (Command::Reference(reference), _) => reference.run(),
        _ => Err(Error::Internal { reason: "a command without its parameters".into() }.into()),
    }
}

/// Prints help or the version.
fn answer(question: &clap::Error) {
    // An error here means that the reader of the help has closed the pipe.
    let _ = question.print();
}

/// `text`, bold and in an ANSI color on terminals; unchanged if `NO_COLOR` is set.
fn paint(text: &str, color: &str) -> String {
    let is_wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        && std::io::stderr().is_terminal();
    if is_wanted { format!("\x1b[1;{color}m{text}\x1b[0m") } else { text.into() }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    /// Markdown files below a folder of the repository, without the pages of the commands, which a built site leaves there.
    fn pages(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries
            .flat_map(|path| match path.is_dir() {
                true if path.ends_with("reference/cli") => Vec::new(),
                true => pages(&path),
                false => vec![path],
            })
            .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
            .collect()
    }

    /// Commands of the program in the code blocks of a page, or in the examples of a help.
    fn commands(text: &str) -> Vec<String> {
        let joined = text.replace("\\\n", " ");
        let lines = joined.lines().map(|line| line.rsplit(" | ").next().unwrap_or(line).trim());
        let lines =
            lines.filter(|line| line.starts_with("lapwing ") && !line.contains('…') && !line.contains("COMMAND"));
        // The rest of a line after one of these is an explanation, a comment or a redirection.
        let ends = ["  ", " #", " > ", " 2>", " < ", " | ", "`"];
        lines
            .map(|line| ends.iter().fold(line, |line, end| line.split(end).next().unwrap_or(line)).to_owned())
            .collect()
    }

    #[test]
    fn commands_of_pages_and_examples_are_understood() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut texts: Vec<String> =
            pages(&root.join("docs")).iter().map(|page| std::fs::read_to_string(page).unwrap()).collect();
        texts.push(std::fs::read_to_string(root.join("README.md")).unwrap());
        let in_blocks = |text: &String| text.split("```").skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        let mut texts: Vec<String> = texts.iter().flat_map(in_blocks).collect();
        texts.extend(Cli::command().get_subcommands().filter_map(|c| c.get_after_help()).map(|help| help.to_string()));
        let all: Vec<String> = texts.iter().flat_map(|text| commands(text)).collect();
        assert!(all.len() > 40, "{all:?}");
        for line in &all {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let used = parse(&words);
            if let Err(failure) = used
                && failure.code() != DONE
            {
                panic!("{line}: {}", failure.text().unwrap_or_default());
            }
        }
    }
}
