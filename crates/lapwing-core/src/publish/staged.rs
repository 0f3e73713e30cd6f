//! Files that are complete under temporary names, so that several of them can be renamed together.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::place::Place;
use super::system::{Storage, move_aside, rename, second_name, sync_folder};
use super::unfinished::hold_files;
use crate::{Error, Result};

/// A file that was written and synced under a temporary name. [Publishing](Self::publish) renames it; dropping it
/// before removes it.
///
/// Output to a device, a pipe or standard output is written already.
#[derive(Debug)]
#[must_use = "a staged file that is not published is removed"]
pub struct Staged {
    path: PathBuf,
    /// The temporary file and its final place.
    waiting: Option<(TempPath, PathBuf)>,
}

impl Staged {
    /// Syncs a temporary file, whose rights become exactly those of the file that it will replace.
    pub(super) fn new(path: &Path, file: &Storage, temporary: TempPath, place: Place) -> io::Result<Self> {
        let Place { target, older } = place;
        if let Some(older) = older {
            file.finish_rights(&older)?;
        }
        file.sync()?;
        Ok(Self { path: path.to_owned(), waiting: Some((temporary, target)) })
    }

    /// Output that was written directly.
    pub(super) fn direct(path: PathBuf) -> Self {
        Self { path, waiting: None }
    }

    /// The name that the file will have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the file, replacing an older one.
    ///
    /// # Errors
    /// [`Error::Io`] naming the path; the older file is then unchanged.
    pub fn publish(self) -> Result<()> {
        publish_all(vec![self])
    }
}

/// Renames all files or none: if one cannot be renamed, the files before it are removed and the files that they
/// replaced are restored.
///
/// A process that is killed between two renames, which directly follow each other, leaves the files renamed so far.
///
/// # Errors
/// [`Error::Io`] naming the file that could not be renamed.
///
/// # Example
/// ```
/// use std::io::Write;
/// # use lapwing_core::publish::{AtomicFile, publish_all};
/// # let folder = tempfile::tempdir()?;
/// # let path = |name: &str| folder.path().join(name);
/// let mut staged = Vec::new();
/// for name in ["labels.csv", "model"] {
///     let mut file = AtomicFile::create(&path(name))?;
///     file.write_all(b"all of it")?;
///     staged.push(file.stage()?);
/// }
/// assert!(!path("labels.csv").exists());
/// publish_all(staged)?;
/// assert!(path("labels.csv").exists() && path("model").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn publish_all(files: Vec<Staged>) -> Result<()> {
    let n_waiting = files.iter().filter(|file| file.waiting.is_some()).count();
    let held = hold_files();
    let mut published = Vec::with_capacity(n_waiting);
    for Staged { path, waiting } in files {
        let Some((temporary, target)) = waiting else { continue };
        // Nothing can fail after the last file.
        let is_last = published.len() + 1 == n_waiting;
        match Published::new(temporary, target, !is_last) {
            Ok(file) => published.push(file),
            Err(error) => {
                published.into_iter().rev().for_each(Published::take_back);
                return Err(Error::io(path, error));
            }
        }
    }
    let targets: Vec<PathBuf> = published.iter().map(|file| file.target.clone()).collect();
    // The older files go before the lock does.
    drop((published, held));
    targets.iter().for_each(|target| sync_folder(target));
    Ok(())
}

/// A renamed file, with the means to undo that.
struct Published {
    target: PathBuf,
    older: Older,
}

/// The replaced file, kept under a hidden name that is removed when this is dropped.
enum Older {
    /// There was none, or it cannot be restored.
    None,
    /// A hard link to it.
    Linked(TempPath),
    /// The file moved to a hidden name, on file systems without hard links.
    Moved(TempPath),
}

impl Published {
    fn new(temporary: TempPath, target: PathBuf, with_way_back: bool) -> io::Result<Self> {
        let older = if with_way_back { Older::keep(&target)? } else { Older::None };
        match rename(temporary, &target) {
            Ok(()) => Ok(Self { target, older }),
            Err(error) => {
                if let Older::Moved(older) = older {
                    restore(older, &target);
                }
                Err(error)
            }
        }
    }

    fn take_back(self) {
        match self.older {
            Older::Linked(older) | Older::Moved(older) => restore(older, &self.target),
            Older::None => drop(std::fs::remove_file(&self.target)),
        }
    }
}

impl Older {
    fn keep(target: &Path) -> io::Result<Self> {
        match second_name(target) {
            Ok(older) => Ok(Self::Linked(older)),
            Err(_) if !target.try_exists()? => Ok(Self::None),
            Err(_) => move_aside(target).map(Self::Moved),
        }
    }
}

/// Restores the name of an older file. If that fails, the file keeps its hidden name: nothing is lost.
fn restore(older: TempPath, target: &Path) {
    if let Err(error) = older.persist(target) {
        let _ = error.path.keep();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::publish::AtomicFile;
    use crate::publish::faults::each_call_fails;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn write_both(folder: &Path) -> Result<()> {
        let mut staged = Vec::new();
        for name in ["a.csv", "b.csv", "c.csv"] {
            let mut file = AtomicFile::create(&folder.join(name))?;
            file.write_all(b"new").map_err(|e| Error::io(name, e))?;
            staged.push(file.stage()?);
        }
        publish_all(staged)
    }

    #[test]
    fn whatever_call_fails_all_files_are_new_or_none() {
        let mut n_failed = 0;
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        // One file is new, two replace older ones.
        let prepare = || {
            names(folder).iter().for_each(|name| std::fs::remove_file(folder.join(name)).unwrap());
            std::fs::write(folder.join("a.csv"), "old a").unwrap();
            std::fs::write(folder.join("c.csv"), "old c").unwrap();
        };
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        each_call_fails(
            || {
                prepare();
                write_both(folder)
            },
            |call, done| {
                let contents = ["a.csv", "b.csv", "c.csv"].map(read);
                let expected = match done {
                    Ok(()) => [Some("new".into()), Some("new".into()), Some("new".into())],
                    Err(_) => [Some("old a".into()), None, Some("old c".into())],
                };
                assert_eq!(contents, expected, "call {call:?}");
                assert!(names(folder).iter().all(|name| !name.starts_with('.')), "call {call:?}: {:?}", names(folder));
                n_failed += usize::from(done.is_err());
            },
        );
        // A create, a write and a sync for each file, three renames and more.
        assert!(n_failed >= 12, "{n_failed}");
    }

    #[test]
    fn a_name_that_cannot_be_taken_takes_back_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let mut first = AtomicFile::create(&folder.join("a.csv")).unwrap();
        first.write_all(b"a").unwrap();
        let second = AtomicFile::create(&folder.join("b.csv")).unwrap();
        // A folder appears where the second file is to be.
        std::fs::create_dir(folder.join("b.csv")).unwrap();
        let error = publish_all(vec![first.stage().unwrap(), second.stage().unwrap()]).unwrap_err();
        assert!(error.to_string().contains("b.csv"), "{error}");
        assert_eq!(names(folder), ["b.csv"]);
    }
}
