//! The workbench of the readers, and what targets say of an input.

use std::io;
use std::path::{Path, PathBuf};

use lapwing_core::{Error, Result, Run};
use tempfile::TempDir;

/// A folder for the files of the readers, and a run.
#[derive(Debug)]
pub struct Bench {
    folder: TempDir,
    /// The run.
    pub run: Run,
}

impl Bench {
    /// A workbench with a single thread.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            folder: TempDir::with_prefix("lapwing-fuzz-")?,
            run: Run::new(Some(1), 0).map_err(io::Error::other)?,
        })
    }

    /// Writes a file of this name, in the place of one with this name.
    ///
    /// # Panics
    /// When the file cannot be written: no reader is at fault then.
    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        // A new file each time: a mapping of the last one keeps its bytes.
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("cannot write {name}: {error}"));
        path
    }

    /// The path of a file of this name.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The bytes of the file that `write` leaves at the path of this name.
    pub fn written(&self, name: &str, write: impl FnOnce(&Path) -> Result<()>) -> Result<Vec<u8>> {
        let path = self.path(name);
        let _ = std::fs::remove_file(&path);
        write(&path)?;
        std::fs::read(&path).map_err(|source| Error::Io { path, source })
    }
}

/// The result of an input without a defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The reader returned an error, as it should for a damaged file.
    Refused,
    /// The reader accepted the file, and all conditions hold.
    Accepted,
}

/// The result of a target; the error is a sentence about the condition that failed on an accepted input.
pub type Verdict = Checked<Answer>;

/// The result of a check: the error is a sentence about what is wrong.
pub type Checked<T = ()> = std::result::Result<T, String>;

/// A check that fails with `words` unless the condition holds.
pub fn holds(condition: bool, words: impl FnOnce() -> String) -> Checked {
    if condition { Ok(()) } else { Err(words()) }
}

/// The value of a result, `None` for errors of damaged files. Errors that no file may cause fail the check.
pub fn answer<T>(result: Result<T>) -> Checked<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) => refused(&error).map(|()| None),
    }
}

/// Checks that an error is one of those that files may cause.
pub fn refused(error: &Error) -> Checked {
    let text = error.to_string();
    match error {
        Error::Internal { .. } => Err(format!("an internal error: {text}")),
        Error::Interrupted => Err("interrupted without an interruption".into()),
        _ => holds(!text.trim().is_empty(), || "an error without a text".into()),
    }
}

/// The verdict on an input that was read without a defect.
pub fn accepted(is_accepted: bool) -> Verdict {
    Ok(if is_accepted { Answer::Accepted } else { Answer::Refused })
}
