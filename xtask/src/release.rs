//! `cargo xtask release VERSION`: the commit and the tag of a release.
//!
//! The version is changed in a work tree of its own, `target/release-check`. There the change is committed, and crates and Python
//! package are packed and built. Only if all of that succeeds does the branch move to the commit, which then gets the tag. Nothing
//! is uploaded: the workflow of the code host does that for a pushed tag.

mod edits;
mod version;

use std::fs;
use std::path::Path;

use crate::dist;
use crate::process::{Call, Result, root, target};
use edits::Release;
use version::Version;

/// The help of the command.
pub const HELP: &str = "\
cargo xtask release VERSION [--dry-run]
cargo xtask release --check TAG

Changes the version in Cargo.toml, Cargo.lock, CITATION.cff, the recipe and the heading of CHANGELOG.md, packs and builds crates and
Python package, then makes the commit and the tag, and prints what to push. The work tree must be clean.

  --dry-run    does all of it but the commit and the tag
  --check TAG  fails unless the tag `vX.Y.Z` names the version of all these files (for the workflow of releases)
";

/// Makes the release of a version; with `is_dry` all but commit and tag.
pub fn release(version: &str, is_dry: bool) -> Result<()> {
    let release = Release { version: Version::parsed(version)?, date: today()? };
    let old = Version::parsed(&dist::version()?)?;
    if release.version < old {
        return Err(format!("version {version} is older than the present one, {}", old.text()));
    }
    let tag = format!("v{version}");
    if git(root(), &["tag", "--list", &tag])?.trim() == tag {
        return Err(format!("the tag {tag} exists"));
    }
    clean()?;
    let branch = git(root(), &["symbolic-ref", "--short", "HEAD"]).map_err(|_| "HEAD is on no branch".to_owned())?;

    let tree = WorkTree::new()?;
    for edit in release.edits(&tree.folder)? {
        eprintln!("{}", edit.shown());
        edit.write(&tree.folder)?;
    }
    Call::cargo("update").args(["--quiet", "--workspace", "--offline"]).within(&tree.folder).run()?;
    git(&tree.folder, &["commit", "--quiet", "--all", "--message", &format!("Version {version}")])?;
    let commit = git(&tree.folder, &["rev-parse", "HEAD"])?;
    let xtask = |words: &[&str]| {
        let call = Call::cargo("xtask").args(["dist"]).args(words).within(&tree.folder);
        call.env("CARGO_TARGET_DIR", target()).quiet_stdout().run()
    };
    xtask(&["crates"])?;
    xtask(&["sdist"])?;
    drop(tree);

    if is_dry {
        eprintln!("nothing is changed; without --dry-run, {branch} would get the commit and the tag {tag}");
        return Ok(());
    }
    clean()?;
    git(root(), &["merge", "--quiet", "--ff-only", &commit])?;
    git(root(), &["tag", "--annotate", &tag, "--message", &format!("lapwing {version}"), &commit])?;
    println!("git push origin {branch} {tag}");
    Ok(())
}

/// Whether a tag names the version that all files have.
pub fn check(tag: &str) -> Result<()> {
    let version = dist::version()?;
    if tag.strip_prefix('v') != Some(&version) {
        return Err(format!("the tag is {tag}, and the version in Cargo.toml {version}"));
    }
    edits::check(root().as_path(), &version)
}

fn clean() -> Result<()> {
    let changed = git(root(), &["status", "--porcelain"])?;
    if changed.is_empty() { Ok(()) } else { Err(format!("files are changed and not committed:\n{changed}")) }
}

/// Today's date, as `2026-01-31`.
fn today() -> Result<String> {
    Call::new("date").args(["+%Y-%m-%d"]).read()
}

fn git(folder: impl AsRef<Path>, words: &[&str]) -> Result<String> {
    Call::new("git").args(words).within(folder).read()
}

/// A work tree of the present commit, removed when dropped.
struct WorkTree {
    folder: std::path::PathBuf,
}

impl WorkTree {
    fn new() -> Result<Self> {
        let tree = Self { folder: target().join("release-check") };
        tree.remove();
        let folder = tree.folder.to_string_lossy();
        git(root(), &["worktree", "add", "--quiet", "--detach", &folder])?;
        Ok(tree)
    }

    fn remove(&self) {
        let _ = fs::remove_dir_all(&self.folder);
        let _ = git(root(), &["worktree", "prune"]);
    }
}

impl Drop for WorkTree {
    fn drop(&mut self) {
        self.remove();
    }
}
