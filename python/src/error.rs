//! Conversion of Rust errors to Python exceptions.

use std::io::{self, ErrorKind};

use lapwing::data::Error;
use lapwing_report::text::plain;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

pyo3::import_exception!(numpy.linalg, LinAlgError);

/// The Python exception for `error`, with its text in one line that steers no terminal.
pub fn to_py(error: Error) -> PyErr {
    let text = plain(&error.to_string().replace(['\n', '\r'], " ")).into_owned();
    match error {
        Error::Param { .. }
        | Error::Shape { .. }
        | Error::Value { .. }
        | Error::Columns(_)
        | Error::Names(_)
        | Error::Labels { .. }
        | Error::Graph { .. }
        | Error::Format { .. }
        | Error::Version { .. } => PyValueError::new_err(text),
        // With an errno, `OSError(...)` becomes FileNotFoundError, PermissionError and so on.
        Error::Io { path, source } => match errno(&source) {
            Some(errno) => PyOSError::new_err((errno, system_text(errno), path.into_os_string())),
            None => PyOSError::new_err(text),
        },
        Error::NotPositiveDefinite { .. } => LinAlgError::new_err(text),
        Error::TooLarge { .. } => PyMemoryError::new_err(text),
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        _ => PyRuntimeError::new_err(text),
    }
}

/// The errno of an error. Errors that passed through a wrapper have only kept their kind; the kinds here have the same errno on
/// every system.
fn errno(source: &io::Error) -> Option<i32> {
    source.raw_os_error().or(match source.kind() {
        ErrorKind::NotFound => Some(2),
        ErrorKind::PermissionDenied => Some(13),
        ErrorKind::AlreadyExists => Some(17),
        ErrorKind::NotADirectory => Some(20),
        ErrorKind::IsADirectory => Some(21),
        ErrorKind::StorageFull => Some(28),
        ErrorKind::FileTooLarge => Some(27),
        ErrorKind::ReadOnlyFilesystem => Some(30),
        _ => None,
    })
}

/// The system's message without Rust's " (os error 2)", because the exception shows the errno.
fn system_text(errno: i32) -> String {
    let text = io::Error::from_raw_os_error(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
