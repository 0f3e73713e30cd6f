//! The one error type of the workspace: each variant carries facts, the text is made from them.

use std::path::PathBuf;

use crate::BadColumns;
use crate::memory::bytes_text;

/// What can go wrong, by kind of mistake.
///
/// A result that merely did not converge, or rows that no label reaches, are not errors: they are
/// part of the summary every fit returns (see [`Report`](crate::Report)).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter outside its range.
    #[error("{name} is {value}; expected {expected}")]
    Param {
        /// Parameter as the caller wrote it.
        name: String,
        /// Value found.
        value: String,
        /// What would have been accepted.
        expected: String,
    },
    /// Sizes that do not fit together.
    #[error("{what} has {got}; expected {expected}")]
    Shape {
        /// Which array or file.
        what: String,
        /// Size wanted.
        expected: String,
        /// Size found.
        got: String,
    },
    /// A single value that cannot be used.
    #[error("row {row} of {what} holds {value}{}; {advice}", column_text(*.col))]
    Value {
        /// Which array or file.
        what: String,
        /// Row, counted from 0.
        row: usize,
        /// Column, counted from 0, where there is one.
        col: Option<usize>,
        /// Value found.
        value: String,
        /// What to do about it.
        advice: String,
    },
    /// Columns of features that cannot be used, all of them.
    #[error("{0}")]
    Columns(Box<BadColumns>),
    /// Labels that cannot be used.
    #[error("labels: {reason}")]
    Labels {
        /// What is wrong and what was expected.
        reason: String,
    },
    /// A graph that cannot be used.
    #[error("graph: {reason}")]
    Graph {
        /// What is wrong, naming the edge, and what was expected.
        reason: String,
    },
    /// A file whose contents cannot be understood.
    #[error("{}{}: {reason}", path.display(), line_text(*.line))]
    Format {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1, where there is one.
        line: Option<u64>,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// A file written by a newer program.
    #[error("{} has format version {found}; this program reads up to {supported}: update lapwing", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Version found.
        found: u64,
        /// Newest version understood.
        supported: u64,
    },
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Its answer.
        source: std::io::Error,
    },
    /// More memory than there is, or than was allowed.
    #[error("{what} needs {}; {} are available; {advice}", bytes_text(*.bytes), bytes_text(*.limit))]
    TooLarge {
        /// What is too large.
        what: String,
        /// Bytes needed.
        bytes: u64,
        /// Bytes available.
        limit: u64,
        /// How to do with less.
        advice: String,
    },
    /// An iteration stopped short, where the caller asked for strictness.
    #[error(
        "{solver} stopped after {iterations} iterations at relative residual {residual:.2e} (tol {tol:.1e}); \
         raise max_iter or tol"
    )]
    NotConverged {
        /// Which solver.
        solver: String,
        /// Iterations done.
        iterations: usize,
        /// Relative residual reached.
        residual: f64,
        /// Relative residual asked for.
        tol: f64,
    },
    /// Another process of the run failed, or could not be reached.
    #[error("rank {rank}: {reason}")]
    Comm {
        /// The process, from 0.
        rank: usize,
        /// What it said, or what happened.
        reason: String,
    },
    /// The caller cancelled the run.
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

    /// Unusable labels.
    pub fn labels(reason: impl Into<String>) -> Self {
        Self::Labels { reason: reason.into() }
    }

    /// An unusable graph.
    pub fn graph(reason: impl Into<String>) -> Self {
        Self::Graph { reason: reason.into() }
    }

    /// A file that cannot be understood.
    pub fn format(path: impl Into<PathBuf>, line: Option<u64>, reason: impl Into<String>) -> Self {
        Self::Format { path: path.into(), line, reason: reason.into() }
    }

    /// More memory than there is, and how to do with less.
    pub fn too_large(what: impl Into<String>, bytes: u64, limit: u64, advice: impl Into<String>) -> Self {
        Self::TooLarge { what: what.into(), bytes, limit, advice: advice.into() }
    }

    /// A refusal of the operating system about `path`.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}

/// Parses one of a closed set of words; the error lists the known ones.
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
        let unknown = parse_choice("metric", "manhattan", &[("euclidean", 1), ("cosine", 2)]).unwrap_err();
        assert_eq!(unknown.to_string(), "metric is 'manhattan'; expected one of euclidean, cosine");
    }
}
