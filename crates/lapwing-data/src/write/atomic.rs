//! Files that are either written whole or not at all.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile, TempPath};

use crate::read::format::is_stdin as is_stdout;
use crate::{Error, Result};

const BUFFER_BYTES: usize = 1 << 20;

/// A file that appears under its name, in the place of an older one, when it is [committed](Self::commit), and leaves
/// nothing behind when it is dropped before.
///
/// It is written beside its place. Symbolic links are followed. What is no regular file (a pipe, a device) is written
/// directly, and so is standard output, `-`.
///
/// # Example
/// ```
/// use std::io::Write;
/// # use lapwing_data::write::AtomicFile;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("notes.txt");
/// let mut file = AtomicFile::create(&path)?;
/// file.write_all(b"half of it, ")?;
/// assert!(!path.exists());
/// file.write_all(b"all of it")?;
/// file.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"half of it, all of it");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    // Before the temporary name, so that what is buffered is gone when that is removed.
    out: BufWriter<Sink>,
    temporary: Option<(TempPath, Place)>,
}

#[derive(Debug)]
enum Sink {
    Stdout(io::Stdout),
    File(File, Ahead),
}

/// Bytes since the system was last asked to begin with writing them down.
#[derive(Debug, Default)]
struct Ahead(u64);

impl Ahead {
    /// Of large files the disk is kept busy from the beginning, so that little is left to wait for at the end.
    fn written(&mut self, file: &File, bytes: u64) {
        const STEP: u64 = 32 << 20;
        self.0 += bytes;
        if self.0 >= STEP {
            self.0 = 0;
            begin_to_store(file);
        }
    }
}

#[cfg(target_os = "linux")]
fn begin_to_store(file: &File) {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is open; a wish that is not granted changes nothing.
    unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}

#[cfg(not(target_os = "linux"))]
fn begin_to_store(_: &File) {}

impl AtomicFile {
    /// Begins to write what will be `path`.
    ///
    /// # Errors
    /// [`Error::Io`] naming `path`.
    pub fn create(path: &Path) -> Result<Self> {
        Self::try_create(path).map_err(|e| Error::io(path, e))
    }

    fn try_create(path: &Path) -> io::Result<Self> {
        let (sink, temporary) = if is_stdout(path) {
            (Sink::Stdout(io::stdout()), None)
        } else if let Some(place) = Place::of(path)? {
            let (file, temporary) = temporary_beside(&place.target)?.into_parts();
            (Sink::File(file, Ahead::default()), Some((temporary, place)))
        } else {
            (Sink::File(File::options().write(true).open(path)?, Ahead::default()), None)
        };
        Ok(Self { path: path.to_owned(), out: BufWriter::with_capacity(BUFFER_BYTES, sink), temporary })
    }

    /// Makes what was written durable and gives it its name.
    ///
    /// # Errors
    /// [`Error::Io`] naming the path, with the kind that the system gave; the older file is then still there.
    pub fn commit(self) -> Result<()> {
        let Self { path, out, temporary } = self;
        Self::try_commit(out, temporary).map_err(|e| Error::io(path, e))
    }

    fn try_commit(mut out: BufWriter<Sink>, temporary: Option<(TempPath, Place)>) -> io::Result<()> {
        out.flush()?;
        match (out.get_ref(), temporary) {
            (Sink::File(file, _), Some((temporary, place))) => place.take(file, temporary),
            _ => Ok(()),
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

/// Not of standard output.
impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.out.seek(to)
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::File(file, ahead) => {
                let written = file.write(bytes)?;
                ahead.written(file, written as u64);
                Ok(written)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::File(file, _) => file.flush(),
        }
    }
}

impl Seek for Sink {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Stdout(_) => Err(io::ErrorKind::Unsupported.into()),
            Self::File(file, _) => file.seek(to),
        }
    }
}

/// Where a file will be.
#[derive(Debug)]
pub(super) struct Place {
    pub target: PathBuf,
    /// Those of the file that is there already.
    permissions: Option<Permissions>,
}

impl Place {
    /// The place of `path`; none where that is there and no regular file.
    pub(super) fn of(path: &Path) -> io::Result<Option<Self>> {
        Ok(match std::fs::metadata(path).ok() {
            None => Some(Self { target: path.to_owned(), permissions: None }),
            Some(metadata) if !metadata.is_file() => None,
            // Through a link, the file it leads to is replaced and the link stays.
            Some(metadata) => {
                Some(Self { target: std::fs::canonicalize(path)?, permissions: Some(metadata.permissions()) })
            }
        })
    }

    /// Puts a file, durably, where the place is.
    pub(super) fn take(self, file: &File, temporary: TempPath) -> io::Result<()> {
        if let Some(permissions) = self.permissions {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        temporary.persist(&self.target).map_err(|e| e.error)?;
        sync_folder(&self.target);
        Ok(())
    }
}

/// Writes a file through a temporary one in the same folder, which is synced and then renamed: an [`AtomicFile`] that
/// is committed if `write` succeeds.
///
/// # Errors
/// [`Error::Io`] naming `path`, with the kind that the system gave (a full disk, a closed pipe).
pub fn write_atomic(path: &Path, write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Result<()> {
    write_file(path, |file| write(file))
}

/// [`write_atomic`] for formats whose writer goes back in the file; these cannot go to standard output.
pub(super) fn write_file(path: &Path, write: impl FnOnce(&mut AtomicFile) -> io::Result<()>) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    write(&mut file).map_err(|e| Error::io(path, e))?;
    file.commit()
}

/// A new empty file, hidden, in the folder of `target`, removed when dropped.
fn temporary_beside(target: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".lapwing-").suffix(".part");
    #[cfg(unix)]
    {
        // As any new file: the user's mask decides, not the narrow default of temporary files.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder_of(target))
}

pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes the new name durable, where the system lets folders be synced; the file is whole either way.
fn sync_folder(target: &Path) {
    if let Ok(folder) = File::open(folder_of(target)) {
        let _ = folder.sync_all();
    }
}

/// Checks, before any work is done, that `path` can be written and ends in one of `endings` (such as `".csv"`).
///
/// `-` is accepted where `.csv` is.
///
/// # Errors
/// [`Error::Param`] listing the endings; [`Error::Io`] for a folder that is missing or cannot be written.
pub fn check_writable(path: &Path, endings: &[&str]) -> Result<()> {
    if is_stdout(path) && endings.contains(&".csv") {
        return Ok(());
    }
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    if is_stdout(path) || !endings.iter().any(|ending| name.ends_with(ending) && name.len() > ending.len()) {
        return Err(Error::param("output", path.display(), format!("a name ending in {}", endings.join(", "))));
    }
    #[cfg(not(feature = "tables"))]
    if name.ends_with(".parquet") {
        return Err(crate::read::format::without_tables(path));
    }
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(Error::io(path, io::ErrorKind::IsADirectory.into())),
        Ok(metadata) if !metadata.is_file() => Ok(()),
        _ => {
            let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            temporary_beside(&target).map(drop).map_err(|e| Error::io(folder_of(&target), e))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        check_writable(&full, &[".csv"]).unwrap();
        match write_atomic(&full, |out| out.write_all(b"a little")) {
            Err(Error::Io { path, source }) => {
                assert_eq!((path, source.kind()), (full, io::ErrorKind::StorageFull));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_cannot_be_written_is_told_early() {
        let folder = tempfile::tempdir().unwrap();
        let text = |path: &Path| check_writable(path, &[".csv", ".npy"]).unwrap_err().to_string();
        assert!(text(&folder.path().join("out.xlsx")).contains("ending in .csv, .npy"));
        assert!(text(&folder.path().join(".csv")).contains("ending in"));
        assert!(text(&folder.path().join("none/out.csv")).contains("none"));
        std::fs::create_dir(folder.path().join("dir.csv")).unwrap();
        assert!(text(&folder.path().join("dir.csv")).contains("dir.csv"));
        check_writable(&folder.path().join("out.CSV"), &[".csv"]).unwrap();
        check_writable(Path::new("-"), &[".csv"]).unwrap();
        assert!(check_writable(Path::new("-"), &[".npz"]).is_err());
        assert_eq!(names_in(folder.path()), ["dir.csv"]);
    }
}
