//! The folder of the files of a release, the changes of a version, and checksums.

use std::fs;
use std::path::{Path, PathBuf};

use super::systems::tools;
use crate::process::{Call, Result, root, target};

/// The folder of the files.
pub fn folder() -> PathBuf {
    target().join("dist")
}

/// Makes a folder anew, without files.
pub fn emptied(folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| format!("cannot remove {}: {error}", folder.display()))?;
    }
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    Ok(folder.to_owned())
}

/// The version of all crates and of the Python package.
pub fn version() -> Result<String> {
    let id = Call::cargo("pkgid").args(["--offline", "--package", "lapwing"]).within(root()).read()?;
    let version = id.rsplit(['#', '@']).next().unwrap_or_default();
    Ok(version.to_owned())
}
/// The section of a version in `CHANGELOG.md`, without its heading.
pub fn notes(version: &str) -> Result<String> {
    let path = root().join("CHANGELOG.md");
    let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    section(&text, version).ok_or_else(|| format!("CHANGELOG.md: there is no heading `## {version} (…)`"))
}

fn section(text: &str, version: &str) -> Option<String> {
    let heading = format!("## {version} (");
    let lines = text.lines().skip_while(|line| !line.starts_with(&heading));
    let lines: Vec<&str> = lines.skip(1).take_while(|line| !line.starts_with("## ")).collect();
    (!lines.is_empty()).then(|| format!("{}\n", lines.join("\n").trim()))
}

/// Writes `SHA256SUMS`, as `sha256sum --check` reads it.
pub fn checksums() -> Result<()> {
    const SCRIPT: &str = "\
import hashlib, pathlib
files = [file for file in sorted(pathlib.Path('.').iterdir()) if file.is_file() and file.name != 'SHA256SUMS']
lines = [f'{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\\n' for file in files]
pathlib.Path('SHA256SUMS').write_text(''.join(lines), newline='\\n')";
    tools()?.call().args(["-c", SCRIPT]).within(folder()).run()
}

#[cfg(test)]
mod tests {
    use super::section;

    #[test]
    fn notes_end_before_the_next_version() {
        let text = "# Changes\n\n## 1.1.0 (2026-01-02)\n\n- a\n\n### Fixed\n- b\n\n## 1.0.0 (2026-01-01)\n\n- c\n";
        assert_eq!(section(text, "1.1.0").unwrap(), "- a\n\n### Fixed\n- b\n");
        assert_eq!(section(text, "1.0.0").unwrap(), "- c\n");
        assert!(section(text, "1.0").is_none());
    }
}
