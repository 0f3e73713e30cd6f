//! The error type of the workspace: each variant holds facts, from which its text is composed.

use std::path::PathBuf;

use crate::text::bytes_text;
use crate::{BadColumns, BadNames};

/// Errors, by kind of mistake.
///
/// Results that did not converge and rows that no label reaches are not errors, but part of the summary that every fit
/// returns (see [`Report`](crate::Report)).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter outside its range.
    #[error("{name} is {value}; expected {expected}")]
    Param {
        /// Name of the parameter for the caller.
        name: String,
        /// Value found.
        value: String,
        /// Accepted values.
        expected: String,
    },
    /// Sizes that do not fit together.
    #[error("{what} has {got}; expected {expected}")]
    Shape {
        /// The array or file.
        what: String,
        /// Expected size.
        expected: String,
        /// Size found.
        got: String,
    },
    /// A single value that cannot be used.
    #[error("row {row} of {what} holds {value}{}; {advice}", column_text(*.col))]
    Value {
        /// The array or file.
        what: String,
        /// Row, counted from 0.
        row: usize,
        /// Column, counted from 0, if there is one.
        col: Option<usize>,
        /// Value found.
        value: String,
        /// Advice.
        advice: String,
    },
    /// All columns of features that cannot be used.
    #[error("{0}")]
    Columns(Box<BadColumns>),
    /// Names of rows or nodes that cannot be used.
    #[error("{0}")]
    Names(Box<BadNames>),
    /// Labels that cannot be used.
    #[error("labels: {reason}")]
    Labels {
        /// What is wrong, and what was expected.
        reason: String,
    },
    /// A graph that cannot be used.
    #[error("graph: {reason}")]
    Graph {
        /// What is wrong with which edge, and what was expected.
        reason: String,
    },
    /// A file with malformed contents.
    #[error("{}{}: {reason}", path.display(), line_text(*.line))]
    Format {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1, if there is one.
        line: Option<u64>,
        /// What is wrong, and what was expected.
        reason: String,
    },
    /// A file written by a newer program.
    #[error("{} has format version {found}; this program reads up to {supported}: update lapwing", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Version found.
        found: u64,
        /// Newest version supported.
        supported: u64,
    },
    /// An error of the operating system.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// More memory than is available or allowed.
    #[error("{what} needs {}; {} are available; {advice}", bytes_text(*.bytes), bytes_text(*.limit))]
    TooLarge {
        /// What is too large.
        what: String,
        /// Bytes needed.
        bytes: u64,
        /// Bytes available.
        limit: u64,
        /// How to need less.
        advice: String,
    },
    /// A matrix that is not positive definite, up to rounding.
    #[error("{what} is not positive definite{}; {advice}", pivot_text(*.pivot))]
    NotPositiveDefinite {
        /// The matrix.
        what: String,
        /// Column, counted from 0, whose pivot is not above 0, if a factorization found it.
        pivot: Option<usize>,
        /// Advice.
        advice: String,
    },
    /// An iteration that did not converge, if the caller requires convergence.
    #[error(
        "{solver} stopped after {iterations} iterations at relative residual {residual:.2e} (tol {tol:.1e}); \
         raise max_iter or tol"
    )]
    NotConverged {
        /// The solver.
        solver: String,
        /// Iterations done.
        iterations: usize,
        /// Relative residual reached.
        residual: f64,
        /// Relative residual requested.
        tol: f64,
    },
    /// Another process of the run failed, or could not be reached.
    #[error("rank {rank}: {reason}")]
    Comm {
        /// The process, from 0.
        rank: usize,
        /// Its message, or what happened.
        reason: String,
    },
    /// The caller canceled the run.
    #[error("interrupted")]
    Interrupted,
    /// A fault of this program, not of its input.
    #[error("internal error: {reason}; please report it")]
    Internal {
        /// What happened.
        reason: String,
    },
}

/// Result with the workspace's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A parameter outside its range.
    pub fn param(name: impl Into<String>, value: impl ToString, expected: impl Into<String>) -> Self {
        Self::Param { name: name.into(), value: value.to_string(), expected: expected.into() }
    }

    /// Sizes that do not fit together.
    pub fn shape(what: impl Into<String>, expected: impl ToString, got: impl ToString) -> Self {
        Self::Shape { what: what.into(), expected: expected.to_string(), got: got.to_string() }
    }

    /// Columns that cannot be features.
    pub fn columns(bad: BadColumns) -> Self {
        Self::Columns(Box::new(bad))
    }

    /// Names of rows or nodes that cannot be used.
    pub fn names(bad: BadNames) -> Self {
        Self::Names(Box::new(bad))
    }

    /// Unusable labels.
    pub fn labels(reason: impl Into<String>) -> Self {
        Self::Labels { reason: reason.into() }
    }

    /// An unusable graph.
    pub fn graph(reason: impl Into<String>) -> Self {
        Self::Graph { reason: reason.into() }
    }

    /// A file with malformed contents.
    pub fn format(path: impl Into<PathBuf>, line: Option<u64>, reason: impl Into<String>) -> Self {
        Self::Format { path: path.into(), line, reason: reason.into() }
    }

    /// More memory than is available, and how to need less.
    pub fn too_large(what: impl Into<String>, bytes: u64, limit: u64, advice: impl Into<String>) -> Self {
        Self::TooLarge { what: what.into(), bytes, limit, advice: advice.into() }
    }

    /// A matrix that is not positive definite, and what to change.
    pub fn not_positive_definite(what: impl Into<String>, pivot: Option<usize>, advice: impl Into<String>) -> Self {
        Self::NotPositiveDefinite { what: what.into(), pivot, advice: advice.into() }
    }

    /// The same error of some rows of `what`, at their rows in the whole: `place` gives these.
    #[must_use]
    pub fn at_rows(mut self, of: &str, place: impl Fn(usize) -> usize) -> Self {
        if let Self::Value { what, row, .. } = &mut self
            && what == of
        {
            *row = place(*row);
        }
        self
    }

    /// Whether another method may do what this error keeps one method from: it is none of the caller's wish to stop, nor of files or labels,
    /// which all methods share.
    pub fn is_of_method(&self) -> bool {
        !matches!(
            self,
            Self::Interrupted
                | Self::Labels { .. }
                | Self::Columns(_)
                | Self::Names(_)
                | Self::Format { .. }
                | Self::Version { .. }
                | Self::Io { .. }
                | Self::Comm { .. }
                | Self::Internal { .. }
        )
    }

    /// An error of the operating system about `path`.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}

/// Parses one of a fixed set of words; the error lists all of them.
///
/// # Errors
/// [`Error::Param`] naming `name` and every word of `known`.
pub fn parse_choice<T: Copy>(name: &str, value: &str, known: &[(&str, T)]) -> Result<T> {
    known.iter().find(|(word, _)| *word == value).map(|(_, choice)| *choice).ok_or_else(|| {
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        Error::param(name, format!("'{value}'"), format!("one of {}", words.join(", ")))
    })
}

fn column_text(col: Option<usize>) -> String {
    col.map(|col| format!(" (column {col})")).unwrap_or_default()
}

fn pivot_text(pivot: Option<usize>) -> String {
    pivot.map(|column| format!(": the pivot of column {column} is not above 0")).unwrap_or_default()
}

fn line_text(line: Option<u64>) -> String {
    line.map(|line| format!(", line {line}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_the_offender() {
        let nan = Error::Value {
            what: "features".into(),
            row: 17,
            col: Some(3),
            value: "NaN".into(),
            advice: "remove or impute it".into(),
        };
        assert_eq!(nan.to_string(), "row 17 of features holds NaN (column 3); remove or impute it");
        let indefinite = Error::not_positive_definite("the Gram matrix", Some(7), "raise ambient_reg");
        let text = "the Gram matrix is not positive definite: the pivot of column 7 is not above 0; raise ambient_reg";
        assert_eq!(indefinite.to_string(), text);
        let unknown = parse_choice("metric", "manhattan", &[("euclidean", 1), ("cosine", 2)]).unwrap_err();
        assert_eq!(unknown.to_string(), "metric is 'manhattan'; expected one of euclidean, cosine");
    }
}
