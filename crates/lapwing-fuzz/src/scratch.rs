//! The folder for files of the readers, in memory if the system has such folders.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Variable with the folder of the supervising process, which removes the files of a process that was ended.
pub const WITHIN: &str = "LAPWING_FUZZ_SCRATCH";

/// A new folder, removed when this value is dropped.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
}

impl Scratch {
    /// Makes a folder, in the one of [`WITHIN`] if that variable is set.
    pub fn new() -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("lapwing-fuzz-");
        let folder = match std::env::var_os(WITHIN) {
            Some(within) => builder.tempdir_in(within)?,
            None => builder.tempdir_in("/dev/shm").or_else(|_| builder.tempdir())?,
        };
        Ok(Self { folder })
    }

    /// The path of a file of this name.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file, in the place of one with this name.
    pub fn file(&self, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let path = self.path(name);
        // A new file each time: a mapping of the last one keeps its bytes.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        File::create_new(&path)?.write_all(bytes)?;
        Ok(path)
    }
}
