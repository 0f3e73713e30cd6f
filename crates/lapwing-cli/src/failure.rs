//! Failures of a command: exit code, text and hints.

use std::io;

use clap::error::ErrorKind;
use lapwing::data::{BadColumn, Error};
use lapwing_core::publish::is_stdout;
use lapwing_table::read::join_columns;

use crate::outcome::{DONE, ERROR, INTERRUPTED};
use crate::text::{plain, typed};

/// The reason why a command ends early.
#[derive(Debug)]
pub enum Failure {
    /// Arguments that `command` cannot parse, or a request for help or version.
    Parse { error: clap::Error, command: String },
    /// Options that do not go together.
    Usage(String),
    /// An error of the library.
    Library(Error),
    /// The reader of standard output has closed it. This is no error.
    ClosedPipe,
    /// The user asked to stop.
    Interrupted,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Interrupted => Self::Interrupted,
            Error::Io { path, source } if is_stdout(&path) => Self::stdout(source),
            error => Self::Library(error),
        }
    }
}

impl Failure {
    /// Options that do not go together.
    pub fn usage(reason: impl Into<String>) -> Self {
        Self::Usage(reason.into())
    }

    /// An error of writing to standard output.
    pub fn stdout(source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::Library(Error::io("standard output", source)),
        }
    }

    /// The failure in the words of the command line: a parameter of the library has the name of the option that sets it, such as
    /// `--n-neighbors`, if one does. `is_option` says so of a name without hyphens in front.
    pub fn in_options(self, is_option: impl FnOnce(&str) -> bool) -> Self {
        let Self::Library(Error::Param { name, value, expected }) = self else { return self };
        let long = match name.as_str() {
            "n_labeled" => "labeled".into(),
            "number of nodes" => "nodes".into(),
            other => other.replace('_', "-"),
        };
        let name = if is_option(&long) { format!("--{long}") } else { name };
        Self::Library(Error::Param { name, value, expected })
    }

    /// Hints, one line each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Parse { error, command } if is_wrong(error) => {
                usage_lines(error, command).1.iter().map(|hint| plain(hint).into()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Parse { error, .. } if !error.use_stderr() => DONE,
            Self::Parse { .. } | Self::Usage(_) | Self::Library(_) => ERROR,
            Self::ClosedPipe => DONE,
            Self::Interrupted => INTERRUPTED,
        }
    }

    /// The message, one line that steers no terminal; `None` for failures without one.
    pub fn text(&self) -> Option<String> {
        self.words().map(|words| plain(&words.replace(['\n', '\r'], " ")).into_owned())
    }

    fn words(&self) -> Option<String> {
        match self {
            Self::Parse { error, command } => is_wrong(error).then(|| usage_lines(error, command).0),
            Self::Usage(reason) => Some(reason.clone()),
            Self::Library(Error::Columns(bad)) => {
                let columns: Vec<String> = bad.columns.iter().map(BadColumn::key).collect();
                Some(format!("{bad}: {}", typed("drop", &join_columns(&columns))))
            }
            Self::Library(error) => Some(error.to_string()),
            Self::ClosedPipe => None,
            Self::Interrupted => Some("interrupted".into()),
        }
    }
}

/// Whether this is an error; otherwise it is a request for help or the version.
pub fn is_wrong(error: &clap::Error) -> bool {
    error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
}

/// What is wrong with arguments: the line, without `error:`, and hints; `command` is the called command, such as `lapwing label`.
fn usage_lines(error: &clap::Error, command: &str) -> (String, Vec<String>) {
    let text = error.render().to_string();
    // The usage is cut off; a hint points to it instead.
    let text = text.split("\n\nUsage:").next().unwrap_or_default();
    let text = text.split("\n\nFor more information").next().unwrap_or_default();
    let (mut words, mut hints) = (String::new(), Vec::new());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(tip) = line.strip_prefix("tip: ") {
            hints.push(tip.to_owned());
        } else if words.is_empty() {
            words = line.strip_prefix("error: ").unwrap_or(line).to_owned();
        } else {
            words.push_str(if words.ends_with(':') || line.starts_with('[') { " " } else { ", " });
            words.push_str(line);
        }
    }
    hints.push(format!("{command} --help describes every option"));
    (words, hints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_named_as_they_are_typed() {
        let is_option = |name: &str| ["n-neighbors", "labeled"].contains(&name);
        let text = |name: &str| Failure::from(Error::param(name, 0, "more")).in_options(is_option).text().unwrap();
        assert_eq!(text("n_neighbors"), "--n-neighbors is 0; expected more");
        assert_eq!(text("n_labeled"), "--labeled is 0; expected more");
        assert_eq!(text("no_option"), "no_option is 0; expected more");
    }

    #[test]
    fn matrices_that_are_not_positive_definite_end_with_the_code_of_errors() {
        let failure = Failure::from(Error::not_positive_definite("the matrix", Some(2), "raise the ridge"));
        assert_eq!(failure.code(), ERROR);
        let text = "the matrix is not positive definite: the pivot of column 2 is not above 0; raise the ridge";
        assert_eq!(failure.text().unwrap(), text);
    }
}
