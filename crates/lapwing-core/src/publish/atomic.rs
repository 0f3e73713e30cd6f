//! Files that are written completely or not at all.

use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::place::{Place, is_stdout};
use super::staged::Staged;
use super::system::{Storage, temporary_beside};
use crate::{Error, Result};

const BUFFER_BYTES: usize = 1 << 20;

/// A file that gets its name, and replaces an older file, when it is [published](Staged::publish). Dropped before that, it
/// leaves nothing behind.
///
/// It is written under a temporary name in the same folder. Symbolic links are followed. Pipes, devices and standard
/// output (`-`) are written directly.
///
/// # Example
/// ```
/// use std::io::Write;
/// # use lapwing_core::publish::AtomicFile;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("notes.txt");
/// let mut file = AtomicFile::create(&path)?;
/// file.write_all(b"half of it, ")?;
/// assert!(!path.exists());
/// file.write_all(b"all of it")?;
/// file.stage()?.publish()?;
/// assert_eq!(std::fs::read(&path)?, b"half of it, all of it");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    // Declared before the temporary name: fields are dropped in this order, so the buffer is dropped before the file is
    // removed.
    out: BufWriter<Sink>,
    temporary: Option<(TempPath, Place)>,
}

#[derive(Debug)]
enum Sink {
    Stdout(io::Stdout),
    File(Storage),
}

impl AtomicFile {
    /// Creates the temporary file that will become `path`.
    ///
    /// # Errors
    /// [`Error::Io`] naming `path`.
    pub fn create(path: &Path) -> Result<Self> {
        Self::try_create(path).map_err(|e| Error::io(path, e))
    }

    fn try_create(path: &Path) -> io::Result<Self> {
        let (sink, temporary) = if is_stdout(path) {
            (Sink::Stdout(io::stdout()), None)
        } else if let Some(place) = Place::from_path(path)? {
            let (file, temporary) = temporary_beside(&place.target, place.older.as_ref())?;
            (Sink::File(file), Some((temporary, place)))
        } else {
            (Sink::File(Storage::open(path)?), None)
        };
        Ok(Self { path: path.to_owned(), out: BufWriter::with_capacity(BUFFER_BYTES, sink), temporary })
    }

    /// Syncs the file under its temporary name, so that several files can be [published](super::publish_all) together.
    ///
    /// # Errors
    /// [`Error::Io`] naming the path, with the error kind of the system.
    pub fn stage(self) -> Result<Staged> {
        let Self { path, out, temporary } = self;
        Self::try_stage(&path, out, temporary).map_err(|e| Error::io(path, e))
    }

    fn try_stage(path: &Path, mut out: BufWriter<Sink>, temporary: Option<(TempPath, Place)>) -> io::Result<Staged> {
        out.flush()?;
        match (out.get_ref(), temporary) {
            (Sink::File(file), Some((temporary, place))) => Staged::new(path, file, temporary, place),
            _ => Ok(Staged::direct(path.to_owned())),
        }
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Excludes standard output.
impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.out.seek(to)
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::File(file) => file.flush(),
        }
    }
}

impl Seek for Sink {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Stdout(_) => Err(io::ErrorKind::Unsupported.into()),
            Self::File(file) => file.seek(to),
        }
    }
}

/// Writes and syncs a file under a temporary name in the same folder; [`Staged::publish`] renames it.
///
/// # Errors
/// [`Error::Io`] naming `path`, with the error kind of the system (a full disk, a closed pipe).
pub fn stage_atomic(path: &Path, write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Result<Staged> {
    stage_file(path, |file| write(file))
}

/// [`stage_atomic`] for writers that seek; such files cannot be written to standard output.
///
/// # Errors
/// As [`stage_atomic`].
pub fn stage_file(path: &Path, write: impl FnOnce(&mut AtomicFile) -> io::Result<()>) -> Result<Staged> {
    let mut file = AtomicFile::create(path)?;
    write(&mut file).map_err(|e| Error::io(path, e))?;
    file.stage()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_atomic(path: &Path, write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Result<()> {
        stage_atomic(path, write)?.publish()
    }

    fn names_in(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn an_error_leaves_the_older_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        write_atomic(&path, |out| out.write_all(b"old")).unwrap();
        let failed = write_atomic(&path, |out| {
            out.write_all(&[b'x'; 3 << 20])?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert!(failed.unwrap_err().to_string().contains("out.csv"));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(names_in(folder.path()), ["out.csv"]);
        let panicked = std::panic::catch_unwind(|| write_atomic(&path, |_| std::panic::resume_unwind(Box::new(()))));
        assert!(panicked.is_err());
        assert_eq!(names_in(folder.path()), ["out.csv"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_a_full_disk_is_told() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target.csv"), folder.path().join("link.csv"));
        write_atomic(&target, |out| out.write_all(b"1")).unwrap();
        std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&target, &link).unwrap();
        write_atomic(&link, |out| out.write_all(b"2")).unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"2");
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(target.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        let full = folder.path().join("full.csv");
        symlink("/dev/full", &full).unwrap();
        super::super::check_writable(&full, &[".csv"]).unwrap();
        match write_atomic(&full, |out| out.write_all(b"a little")) {
            Err(Error::Io { path, source }) => {
                assert_eq!((path, source.kind()), (full, io::ErrorKind::StorageFull));
            }
            other => panic!("{other:?}"),
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_has_the_rights_of_the_older_one_from_its_first_byte_on() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        let part = || {
            let names: Vec<String> =
                names_in(folder.path()).into_iter().filter(|name| name.ends_with(".part")).collect();
            let [name] = &names[..] else { panic!("{names:?}") };
            folder.path().join(name).metadata().unwrap()
        };
        for (older, while_written, after) in [
            (0o600, 0o600, 0o600),
            (0o640, 0o640, 0o640),
            (0o666, 0o666, 0o666),
            (0o444, 0o644, 0o444),
            (0o400, 0o600, 0o400),
            (0o4711, 0o711, 0o711),
            (0o2750, 0o750, 0o750),
            (0o1000, 0o600, 0o000),
        ] {
            std::fs::write(&path, "older").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(older)).unwrap();
            let owner = path.metadata().map(|data| (data.uid(), data.gid())).unwrap();
            let mut file = AtomicFile::create(&path).unwrap();
            let found = part();
            assert_eq!((found.len(), found.mode() & 0o7777), (0, while_written), "{older:o}");
            file.write_all(b"new").unwrap();
            file.flush().unwrap();
            assert_eq!((part().len(), part().mode() & 0o7777), (3, while_written), "{older:o}");
            file.stage().unwrap().publish().unwrap();
            let found = path.metadata().unwrap();
            assert_eq!((found.mode() & 0o7777, (found.uid(), found.gid())), (after, owner), "{older:o}");
            std::fs::remove_file(&path).unwrap();
        }
    }

    /// Only root may give a file away, so that there is nothing to see for others.
    #[cfg(unix)]
    #[test]
    fn the_owner_stays() {
        use std::os::unix::fs::{MetadataExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        std::fs::write(&path, "older").unwrap();
        if chown(&path, Some(12_345), Some(54_321)).is_err() {
            return eprintln!("skipped: only root can give files away");
        }
        write_atomic(&path, |out| out.write_all(b"new")).unwrap();
        let found = path.metadata().unwrap();
        assert_eq!((found.uid(), found.gid()), (12_345, 54_321));
    }
}
