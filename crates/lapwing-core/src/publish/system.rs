//! All system calls that create files, in one place, so that tests can make each of them fail.

use std::fs::{File, Metadata};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempPath};

use super::{faults, unfinished};

/// An open file whose writes and syncs can be made to fail in tests.
#[derive(Debug)]
pub struct Storage {
    file: File,
    /// Bytes written since the last request to start writing to the disk.
    unstored: u64,
}

/// Bytes after which a large file's pages are sent to the disk, so that the final sync is short.
const STORE_STEP: u64 = 32 << 20;

impl Storage {
    /// Of an open file.
    pub fn new(file: File) -> Self {
        Self { file, unstored: 0 }
    }

    /// Opens an existing device or pipe.
    pub fn open(path: &Path) -> io::Result<Self> {
        faults::step()?;
        File::options().write(true).open(path).map(Self::new)
    }

    /// Gives the file, once it is written, the rights of the file `older` that it will replace.
    pub fn finish_rights(&self, older: &Metadata) -> io::Result<()> {
        faults::step()?;
        rights::finish(&self.file, older)
    }

    /// Syncs the file.
    pub fn sync(&self) -> io::Result<()> {
        faults::step()?;
        self.file.sync_all()
    }
}

impl Write for Storage {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        faults::step()?;
        let written = self.file.write(bytes)?;
        self.unstored += written as u64;
        if self.unstored >= STORE_STEP {
            self.unstored = 0;
            begin_to_store(&self.file);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Storage {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[cfg(target_os = "linux")]
fn begin_to_store(file: &File) {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is open; a request that is refused changes nothing.
    unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}

#[cfg(not(target_os = "linux"))]
fn begin_to_store(_: &File) {}

/// Creates an empty hidden file beside `target`, where `older` is the file that is there already; it is removed when its name is dropped.
pub(super) fn temporary_beside(target: &Path, older: Option<&Metadata>) -> io::Result<(Storage, TempPath)> {
    let (file, path) = hidden_beside(target, |path| create(path, older))?;
    Ok((Storage::new(file), path))
}

/// Creates the file `path`, which will replace the file `older`. From its first byte on it is as private as the older file; without
/// one it has the rights of any new file, by the user's mask.
fn create(path: &Path, older: Option<&Metadata>) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    if older.is_some() {
        rights::narrow(&mut options);
    }
    let held = unfinished::hold_files();
    let file = options.open(path)?;
    unfinished::remember(path);
    drop(held);
    match older.map_or(Ok(()), |older| rights::take(&file, older)) {
        Ok(()) => Ok(file),
        Err(error) => {
            let _ = std::fs::remove_file(path);
            Err(error)
        }
    }
}

/// Owner, group and mode of a file that replaces another one.
#[cfg(unix)]
mod rights {
    use std::fs::{File, Metadata, OpenOptions, Permissions};
    use std::io;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};

    /// What a file that is written must allow its owner.
    const OWNER: u32 = 0o600;

    /// Nobody but the owner may read a file that these options create.
    pub(super) fn narrow(options: &mut OpenOptions) {
        options.mode(OWNER);
    }

    /// Gives an empty file the owner, the group and the mode of `older`, but never its bits that change the user or the group of a
    /// program. Where the system keeps the group for itself, that group may do what everybody may.
    pub(super) fn take(file: &File, older: &Metadata) -> io::Result<()> {
        let own = file.metadata()?;
        if own.uid() != older.uid() {
            // Only root gives files away; those of others become the caller's.
            let _ = fchown(file, Some(older.uid()), None);
        }
        let has_group = own.gid() == older.gid() || fchown(file, None, Some(older.gid())).is_ok();
        let all = older.mode() & 0o777;
        let mode = if has_group { all } else { all & (0o707 | (all & 0o007) << 3) };
        file.set_permissions(Permissions::from_mode(mode | OWNER))
    }

    /// Takes from the owner what the owner of `older` has not.
    pub(super) fn finish(file: &File, older: &Metadata) -> io::Result<()> {
        let mode = file.metadata()?.mode() & 0o777;
        file.set_permissions(Permissions::from_mode(mode & (older.mode() | !OWNER)))
    }
}

/// Whether a file that replaces another one can be written again.
#[cfg(not(unix))]
mod rights {
    use std::fs::{File, Metadata, OpenOptions};
    use std::io;

    pub(super) fn narrow(_: &mut OpenOptions) {}

    pub(super) fn take(_: &File, _: &Metadata) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn finish(file: &File, older: &Metadata) -> io::Result<()> {
        file.set_permissions(older.permissions())
    }
}

/// Creates a hidden hard link to `target` in its folder; it is removed when dropped.
pub(super) fn second_name(target: &Path) -> io::Result<TempPath> {
    Ok(hidden_beside(target, |path| std::fs::hard_link(target, path))?.1)
}

/// Moves `target` to a hidden name in its folder; the file is removed when that name is dropped.
pub(super) fn move_aside(target: &Path) -> io::Result<TempPath> {
    Ok(hidden_beside(target, |path| std::fs::rename(target, path))?.1)
}

/// Calls `create` with new hidden names beside `target`; errors do not contain the hidden name.
fn hidden_beside<T>(target: &Path, mut create: impl FnMut(&Path) -> io::Result<T>) -> io::Result<(T, TempPath)> {
    faults::step()?;
    let mut code = None;
    let made = Builder::new()
        .prefix(".lapwing-")
        .suffix(".part")
        .make_in(folder_of(target), |path| create(path).inspect_err(|error| code = error.raw_os_error()));
    let named = made.map_err(|error| code.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error))?;
    let (file, path) = named.into_parts();
    Ok((file, path))
}

/// Renames a temporary file, replacing an existing one; removes the temporary file if that fails.
pub(super) fn rename(temporary: TempPath, target: &Path) -> io::Result<()> {
    faults::step()?;
    temporary.persist(target).map_err(|error| error.error)
}

/// Syncs the folder of a new name, if the system allows that; the file is complete in any case.
pub(super) fn sync_folder(target: &Path) {
    if let Ok(folder) = File::open(folder_of(target)) {
        let _ = folder.sync_all();
    }
}

/// The folder of a file, `.` for a bare name.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The path of a file beside `target`.
pub(super) fn beside(target: &Path, name: impl AsRef<Path>) -> PathBuf {
    folder_of(target).join(name)
}
