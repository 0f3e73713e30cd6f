//! The place of an output file, checked before any work is done.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use super::system::{beside, folder_of, temporary_beside};
use crate::{Error, Result};

/// Number of symbolic links followed before a chain counts as a loop, as on Linux.
const MAX_LINKS: usize = 40;

/// The place of a file.
#[derive(Debug)]
pub struct Place {
    /// The file, behind all links.
    pub target: PathBuf,
    /// The file that is there already.
    pub older: Option<Metadata>,
}

impl Place {
    /// The place of `path`; `None` if it is something other than a regular file.
    ///
    /// Symbolic links are followed: the target of a link is replaced, and the link remains.
    pub fn from_path(path: &Path) -> io::Result<Option<Self>> {
        let (target, metadata) = resolved(path)?;
        Ok(match metadata {
            Some(metadata) if !metadata.is_file() => None,
            older => Some(Self { target, older }),
        })
    }
}

/// The path behind all symbolic links, and the metadata of the file there.
fn resolved(path: &Path) -> io::Result<(PathBuf, Option<Metadata>)> {
    match std::fs::metadata(path) {
        // The descriptor of a pipe, such as /dev/fd/3, has no other name.
        Ok(metadata) => return Ok((std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()), Some(metadata))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // There is no file, or a link to no file.
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match std::fs::read_link(&target) {
            Ok(link) => target = beside(&target, link),
            Err(_) => return Ok((target, None)),
        }
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

/// Checks, before any work is done, that `path` can be written and ends in one of `endings` (such as `".csv"`).
///
/// `-` is accepted where `.csv` is. Devices and pipes, such as `/dev/null`, need no ending.
///
/// # Errors
/// [`Error::Param`] listing the endings; [`Error::Io`] for a folder that is missing or cannot be written, or a name
/// that is a folder or a loop of symbolic links.
pub fn check_writable(path: &Path, endings: &[&str]) -> Result<()> {
    if is_stdout(path) && endings.contains(&".csv") {
        return Ok(());
    }
    let place = if is_stdout(path) { None } else { Some(resolved(path).map_err(|e| Error::io(path, e))?) };
    match &place {
        Some((_, Some(metadata))) if metadata.is_dir() => {
            return Err(Error::io(path, io::ErrorKind::IsADirectory.into()));
        }
        Some((_, Some(metadata))) if !metadata.is_file() => return Ok(()),
        _ => {}
    }
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let Some((target, older)) =
        place.filter(|_| endings.iter().any(|ending| name.ends_with(ending) && name.len() > ending.len()))
    else {
        return Err(Error::param("output", path.display(), format!("a name ending in {}", endings.join(", "))));
    };
    temporary_beside(&target, older.as_ref()).map(drop).map_err(|e| {
        // A link may lead to another folder than the one in `path`.
        let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        let folder = folder_of(path);
        match is_link {
            false if !folder.exists() => {
                Error::io(path, io::Error::new(e.kind(), format!("there is no folder {}", folder.display())))
            }
            _ => Error::io(if is_link { path } else { folder }, e),
        }
    })
}

/// Whether `path` stands for standard output: `-`, or a name of its descriptor such as `/dev/stdout`, `/dev/fd/1` or a link to one.
pub fn is_stdout(path: &Path) -> bool {
    if path.as_os_str() == "-" {
        return true;
    }
    let is_descriptor = |path: &Path| {
        path.file_name().is_some_and(|name| name == "1")
            && std::fs::canonicalize(folder_of(path)).is_ok_and(|folder| is_folder_of_descriptors(&folder))
    };
    let mut name = path.to_owned();
    for _ in 0..MAX_LINKS {
        if is_descriptor(&name) {
            return true;
        }
        match std::fs::read_link(&name) {
            Ok(link) => name = beside(&name, link),
            Err(_) => return false,
        }
    }
    false
}

/// Whether `folder` holds the open descriptors of this process: `/proc/self/fd` behind its links, or `/dev/fd`.
fn is_folder_of_descriptors(folder: &Path) -> bool {
    let own = PathBuf::from(format!("/proc/{}", std::process::id()));
    folder == Path::new("/dev/fd") || folder.ends_with("fd") && folder.starts_with(own)
}

/// Checks that no output of a run would replace one of its inputs, or come to the same place as another one of its outputs or
/// standard output.
///
/// Each file is given with its name in messages, such as `"labels"`. Existing files, pipes and sockets are compared by device and inode,
/// behind links; other files by folder and name. All terminals count as one place; what is written to `/dev/null` is not compared.
///
/// # Errors
/// [`Error::Param`] naming an output and the file that it would replace.
///
/// # Example
/// ```
/// # use lapwing_core::publish::check_distinct;
/// # use std::path::Path;
/// let table = Path::new("table.csv");
/// assert!(check_distinct(&[("data", table)], &[("output", Path::new("labels.csv"))]).is_ok());
/// let error = check_distinct(&[("data", table)], &[("output", Path::new("./table.csv"))]).unwrap_err();
/// assert!(error.to_string().starts_with("output is ./table.csv; expected another file than data"));
/// ```
pub fn check_distinct(inputs: &[(&str, &Path)], outputs: &[(&str, &Path)]) -> Result<()> {
    let identified = |files: &[(&str, &Path)], standard: Standard| -> Vec<Option<Identity>> {
        files.iter().map(|(_, path)| Identity::from_path(path, standard)).collect()
    };
    let (read, written) = (identified(inputs, Standard::Input), identified(outputs, Standard::Output));
    let stdout = Identity::of_standard(Standard::Output).filter(|identity| *identity != Identity::Terminal);
    for (at, (name, path)) in outputs.iter().enumerate() {
        let Some(own) = &written[at] else { continue };
        let others = inputs.iter().zip(&read).filter(|(_, identity)| *identity != &Some(Identity::Terminal));
        let others = others.map(|(file, identity)| (file, identity, "which is read"));
        let earlier =
            outputs[..at].iter().zip(&written).map(|(file, identity)| (file, identity, "which is written as well"));
        let same = others.chain(earlier).find(|(_, identity, _)| identity.as_ref() == Some(own));
        if let Some(((other, other_path), _, what)) = same {
            let expected = format!("another file than {other} ({}), {what}", other_path.display());
            return Err(Error::param(*name, path.display(), expected));
        }
        if stdout.as_ref() == Some(own) && !is_stdout(path) {
            let expected = "another file than that of standard output, which is written as well";
            return Err(Error::param(*name, path.display(), expected));
        }
    }
    Ok(())
}

/// What `-` stands for.
#[derive(Clone, Copy)]
enum Standard {
    Input,
    Output,
}

/// The place of a file.
#[derive(Debug, PartialEq, Eq)]
enum Identity {
    /// Device and inode of an existing file, pipe or socket.
    #[cfg(unix)]
    There(u64, u64),
    /// A device that is no terminal and keeps what is written.
    #[cfg(unix)]
    Device(u64),
    Terminal,
    /// Path of a file that does not exist yet.
    Path(PathBuf),
}

impl Identity {
    /// The place of a file; `None` for devices that forget, and where it cannot be told.
    fn from_path(path: &Path, standard: Standard) -> Option<Self> {
        if path.as_os_str() == "-" || is_stdout(path) {
            return Self::of_standard(standard);
        }
        // Opening the file will fail if its path cannot be resolved.
        match resolved(path).ok()? {
            #[cfg(unix)]
            (_, Some(metadata)) => Self::from_metadata(&metadata),
            #[cfg(not(unix))]
            (_, Some(metadata)) if !metadata.is_file() && !metadata.is_dir() => None,
            (target, _) => {
                let folder =
                    std::fs::canonicalize(folder_of(&target)).unwrap_or_else(|_| folder_of(&target).to_owned());
                Some(Self::Path(folder.join(target.file_name().unwrap_or_default())))
            }
        }
    }

    #[cfg(unix)]
    fn of_standard(standard: Standard) -> Option<Self> {
        use std::os::fd::AsFd;
        let open = match standard {
            Standard::Input => std::io::stdin().as_fd().try_clone_to_owned(),
            Standard::Output => std::io::stdout().as_fd().try_clone_to_owned(),
        };
        Self::from_metadata(&std::fs::File::from(open.ok()?).metadata().ok()?)
    }

    #[cfg(not(unix))]
    fn of_standard(_: Standard) -> Option<Self> {
        None
    }

    #[cfg(unix)]
    fn from_metadata(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        if !metadata.file_type().is_char_device() {
            return Some(Self::There(metadata.dev(), metadata.ino()));
        }
        // Numbers of Linux: memory, such as /dev/null; and terminals of several kinds. Others have numbers of their own.
        match metadata.rdev() >> 8 & 0xfff {
            _ if cfg!(not(target_os = "linux")) => None,
            1 => None,
            4 | 5 | 136..=143 => Some(Self::Terminal),
            _ => Some(Self::Device(metadata.rdev())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_told_early() {
        let folder = tempfile::tempdir().unwrap();
        let text = |path: &Path| check_writable(path, &[".csv", ".npy"]).unwrap_err().to_string();
        assert!(text(&folder.path().join("out.xlsx")).contains("ending in .csv, .npy"));
        assert!(text(&folder.path().join(".csv")).contains("ending in"));
        assert_eq!(
            text(&folder.path().join("none/out.csv")),
            format!("{0}/out.csv: there is no folder {0}", folder.path().join("none").display())
        );
        std::fs::create_dir(folder.path().join("dir.csv")).unwrap();
        assert!(text(&folder.path().join("dir.csv")).contains("dir.csv"));
        check_writable(&folder.path().join("out.CSV"), &[".csv"]).unwrap();
        check_writable(Path::new("-"), &[".csv"]).unwrap();
        assert!(check_writable(Path::new("-"), &[".npz"]).is_err());
        let entries: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(entries, ["dir.csv"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_to_their_files_and_loops_nowhere() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        symlink("b.csv", path("a.csv")).unwrap();
        symlink("a.csv", path("b.csv")).unwrap();
        let error = check_writable(&path("a.csv"), &[".csv"]).unwrap_err();
        assert!(matches!(&error, Error::Io { path: named, .. } if *named == path("a.csv")), "{error}");
        assert!(Place::from_path(&path("b.csv")).is_err());
        symlink("new.csv", path("c.csv")).unwrap();
        assert_eq!(Place::from_path(&path("c.csv")).unwrap().unwrap().target, path("new.csv"));
        check_writable(Path::new("/dev/null"), &[".csv"]).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn one_file_under_two_names_is_refused() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("sub")).unwrap();
        std::fs::write(path("t.csv"), "x").unwrap();
        symlink("t.csv", path("link.csv")).unwrap();
        std::fs::hard_link(path("t.csv"), path("hard.csv")).unwrap();
        symlink("sub/new.csv", path("dangling.csv")).unwrap();
        let is_refused = |input: &str, outputs: &[&str]| {
            let outputs: Vec<PathBuf> = outputs.iter().map(|name| path(name)).collect();
            let outputs: Vec<(&str, &Path)> = outputs.iter().map(|path| ("output", path.as_path())).collect();
            check_distinct(&[("data", &path(input))], &outputs).is_err()
        };
        for same in ["t.csv", "./t.csv", "sub/../t.csv", "link.csv", "hard.csv"] {
            assert!(is_refused("t.csv", &[same]), "{same}");
        }
        assert!(is_refused("t.csv", &["o.csv", "sub/../o.csv"]));
        assert!(is_refused("t.csv", &["sub/new.csv", "dangling.csv"]));
        assert!(!is_refused("t.csv", &["o.csv", "sub/o.csv"]));
        let devices =
            [("output", Path::new("/dev/null")), ("model", Path::new("/dev/null")), ("report", Path::new("-"))];
        check_distinct(&[("data", Path::new("-")), ("labels", Path::new("/dev/null"))], &devices).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn standard_output_is_known_by_all_of_its_names() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        symlink("/dev/stdout", path("link")).unwrap();
        symlink("link", path("second")).unwrap();
        std::fs::write(path("1"), "").unwrap();
        let own = format!("/proc/{}/fd/1", std::process::id());
        for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1", &own] {
            assert!(is_stdout(Path::new(name)), "{name}");
        }
        assert!(is_stdout(&path("link")) && is_stdout(&path("second")));
        for name in ["/dev/stderr", "/dev/fd/2", "/dev/null", "1", "stdout"] {
            assert!(!is_stdout(Path::new(name)) && !is_stdout(&path("1")), "{name}");
        }
    }
}
