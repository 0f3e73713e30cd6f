//! A folder for the files that readers are given, in memory where the system has such folders.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Names the folder of whoever supervises this process, and cleans up when it was ended.
pub const WITHIN: &str = "LAPWING_FUZZ_SCRATCH";

/// A folder of its own that goes away with this.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
}

impl Scratch {
    /// Makes one, in the folder that the environment variable [`WITHIN`] names if it is set.
    ///
    /// # Errors
    /// When no folder can be made.
    pub fn new() -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("lapwing-fuzz-");
        let folder = match std::env::var_os(WITHIN) {
            Some(within) => builder.tempdir_in(within)?,
            None => builder.tempdir_in("/dev/shm").or_else(|_| builder.tempdir())?,
        };
        Ok(Self { folder })
    }

    /// The file of that name.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file, in place of the one of that name.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn file(&self, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let path = self.path(name);
        // A file of its own each time: what mapped the last one keeps its bytes.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file: File = OpenOptions::new().write(true).create_new(true).open(&path)?;
        file.write_all(bytes)?;
        Ok(path)
    }
}
