//! Files that are either written whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

use crate::read::format::is_stdin as is_stdout;
use crate::{Error, Result};

const BUFFER_BYTES: usize = 1 << 20;

/// Writes a file through a temporary one in the same folder, which is synced and then renamed.
///
/// On an error nothing is left behind and an older file of that name stays as it was. Symbolic links are followed.
/// What is no regular file (a pipe, a device) is written directly; `-` is standard output.
///
/// # Errors
/// [`Error::Io`] naming `path`, with the kind that the system gave (a full disk, a closed pipe).
pub fn write_atomic(path: &Path, write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Result<()> {
    if is_stdout(path) {
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, io::stdout());
        return write(&mut out).and_then(|()| out.flush()).map_err(|e| Error::io(path, e));
    }
    write_file(path, |file| write(file))
}

/// [`write_atomic`] for formats whose writer goes back in the file; these cannot go to standard output.
pub(super) fn write_file(path: &Path, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Result<()> {
    try_write_file(path, write).map_err(|e| Error::io(path, e))
}

fn try_write_file(path: &Path, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> io::Result<()> {
    let existing = std::fs::metadata(path).ok();
    if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        let file = File::options().write(true).open(path)?;
        return write_through(&file, write);
    }
    // Through a link, the file it leads to is replaced and the link stays.
    let target = if existing.is_some() { std::fs::canonicalize(path)? } else { path.to_owned() };
    let temporary = temporary_beside(&target)?;
    write_through(temporary.as_file(), write)?;
    if let Some(metadata) = existing {
        temporary.as_file().set_permissions(metadata.permissions())?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(&target).map_err(|e| e.error)?;
    sync_folder(&target);
    Ok(())
}

fn write_through(file: &File, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, file);
    write(&mut out).and_then(|()| out.flush())
}

/// A new empty file, hidden, in the folder of `target`, removed when dropped.
fn temporary_beside(target: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".lapwing-").suffix(".part");
    #[cfg(unix)]
    {
        // As any new file: the user's mask decides, not the narrow default of temporary files.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder_of(target))
}

fn folder_of(path: &Path) -> &Path {
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
