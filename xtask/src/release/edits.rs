//! The lines that state the version or the date of the release.

use std::fs;
use std::path::Path;

use super::version::Version;
use crate::process::Result;

/// Lines of a file that state one value each.
struct Place {
    file: &'static str,
    /// The line after which they stand, up to the next such line; empty for the whole file.
    section: &'static str,
    /// How they begin.
    start: &'static str,
    /// What stands before the value, which ends at a quote or with the line.
    before: &'static str,
}

const VERSIONS: [Place; 4] = [
    Place { file: "Cargo.toml", section: "[workspace.package]", start: "version", before: "version = \"" },
    Place { file: "Cargo.toml", section: "[workspace.dependencies]", start: "lapwing", before: "version = \"" },
    Place { file: "CITATION.cff", section: "", start: "version", before: "version: " },
    Place { file: "packaging/conda/recipe.yaml", section: "context:", start: "  version", before: "version: \"" },
];
const DATE: Place = Place { file: "CITATION.cff", section: "", start: "date-released", before: "date-released: " };
const CHANGES: &str = "CHANGELOG.md";
const UNRELEASED: &str = "(unreleased)";

/// What is released.
pub struct Release {
    /// Its version.
    pub version: Version,
    /// Its date.
    pub date: String,
}

/// A line that changes.
#[derive(Debug)]
pub struct Edit {
    file: &'static str,
    /// Number of the line, from 1.
    line: usize,
    old: String,
    new: String,
}

/// A value in a line.
struct Stated {
    line: usize,
    text: String,
    from: usize,
    to: usize,
}

impl Release {
    /// All lines of a work tree that change.
    pub fn edits(&self, root: &Path) -> Result<Vec<Edit>> {
        let version = self.version.text();
        inherited(root)?;
        let present = present_version(root)?;
        let mut edits = Vec::new();
        for place in &VERSIONS {
            for stated in place.agreeing(root, &present)? {
                edits.push(stated.changed_to(place.file, &version));
            }
        }
        edits.extend(DATE.stated(root)?.iter().map(|stated| stated.changed_to(DATE.file, &self.date)));
        let heading = heading(root)?;
        if !heading.text.ends_with(UNRELEASED) {
            let Stated { line, text, .. } = heading;
            return Err(format!(
                "{CHANGES}:{line}: the newest heading is `{text}`; one that ends in {UNRELEASED} is needed"
            ));
        }
        edits.push(heading.changed_to(CHANGES, &format!("## {version} ({})", self.date)));
        edits.retain(|edit| edit.new != edit.old);
        Ok(edits)
    }
}

impl Edit {
    /// The change for people.
    pub fn shown(&self) -> String {
        format!("{}:{}:\n- {}\n+ {}", self.file, self.line, self.old, self.new)
    }

    /// Makes the change.
    pub fn write(&self, root: &Path) -> Result<()> {
        let text = read(root, self.file)?;
        let lines =
            text.lines().enumerate().map(|(index, line)| if index + 1 == self.line { &self.new[..] } else { line });
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        fs::write(root.join(self.file), text).map_err(|error| format!("cannot write {}: {error}", self.file))
    }
}

/// Fails unless all files state a version, and the changes have its heading with a date.
pub fn check(root: &Path, version: &str) -> Result<()> {
    inherited(root)?;
    VERSIONS.iter().try_for_each(|place| place.agreeing(root, version).map(|_| ()))?;
    let heading = heading(root)?;
    let is_dated = heading.text.starts_with(&format!("## {version} (")) && !heading.text.ends_with(UNRELEASED);
    let Stated { line, text, .. } = heading;
    if is_dated {
        Ok(())
    } else {
        Err(format!("{CHANGES}:{line}: the newest heading is `{text}`, not that of {version}"))
    }
}

impl Place {
    /// The values of its lines, of which there must be one at least.
    fn stated(&self, root: &Path) -> Result<Vec<Stated>> {
        let text = read(root, self.file)?;
        let is_head = |line: &str| !line.starts_with([' ', '#', '-']) && (line.starts_with('[') || line.ends_with(':'));
        let mut is_within = self.section.is_empty();
        let mut found = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if !self.section.is_empty() && is_head(line) {
                is_within = line == self.section;
            }
            if !is_within || !line.starts_with(self.start) {
                continue;
            }
            let line_number = index + 1;
            let at = line.find(self.before).map(|at| at + self.before.len());
            let from = at.ok_or_else(|| format!("{}:{line_number}: `{}…` is missing", self.file, self.before))?;
            let to = line[from..].find('"').map_or(line.len(), |length| from + length);
            found.push(Stated { line: line_number, text: line.to_owned(), from, to });
        }
        let within = if self.section.is_empty() { String::new() } else { format!(" below `{}`", self.section) };
        let missing = || format!("{}: no line begins with `{}`{within}", self.file, self.start);
        if found.is_empty() { Err(missing()) } else { Ok(found) }
    }

    /// The same; all values must be `version`.
    fn agreeing(&self, root: &Path, version: &str) -> Result<Vec<Stated>> {
        let all = self.stated(root)?;
        match all.iter().find(|stated| stated.value() != version) {
            None => Ok(all),
            Some(other) => {
                let (file, line, value) = (self.file, other.line, other.value());
                Err(format!("{file}:{line}: the version is {value}, not {version} as elsewhere"))
            }
        }
    }
}

impl Stated {
    fn value(&self) -> &str {
        &self.text[self.from..self.to]
    }

    fn changed_to(&self, file: &'static str, value: &str) -> Edit {
        let new = [&self.text[..self.from], value, &self.text[self.to..]].concat();
        Edit { file, line: self.line, old: self.text.clone(), new }
    }
}

/// The version of the workspace.
fn present_version(root: &Path) -> Result<String> {
    Ok(VERSIONS[0].stated(root)?[0].value().to_owned())
}

/// The newest heading of the changes, as a whole.
fn heading(root: &Path) -> Result<Stated> {
    let text = read(root, CHANGES)?;
    let found = text.lines().enumerate().find(|(_, line)| line.starts_with("## "));
    let (index, line) = found.ok_or_else(|| format!("{CHANGES}: no line begins with `## `"))?;
    Ok(Stated { line: index + 1, text: line.to_owned(), from: 0, to: line.len() })
}

/// Fails if a crate states a version of its own instead of that of the workspace.
fn inherited(root: &Path) -> Result<()> {
    let folders =
        crate::system::entries(&root.join("crates")).into_iter().chain(["python", "xtask"].map(|name| root.join(name)));
    let mut manifests: Vec<_> = folders.map(|folder| folder.join("Cargo.toml")).filter(|file| file.exists()).collect();
    manifests.sort();
    for manifest in manifests {
        let name = manifest.strip_prefix(root).unwrap_or(&manifest).to_string_lossy().into_owned();
        let text = read(root, &name)?;
        let is_of_package = |(_, line): &(usize, &str)| *line != "[package]";
        let mut package =
            text.lines().enumerate().skip_while(is_of_package).skip(1).take_while(|(_, line)| !line.starts_with('['));
        match package.find(|(_, line)| line.starts_with("version")) {
            Some((_, "version.workspace = true")) => {}
            Some((index, _)) => return Err(format!("{name}:{}: write `version.workspace = true`", index + 1)),
            None => return Err(format!("{name}: `version.workspace = true` is missing")),
        }
    }
    Ok(())
}

fn read(root: &Path, file: &str) -> Result<String> {
    fs::read_to_string(root.join(file)).map_err(|error| format!("cannot read {file}: {error}"))
}

#[cfg(test)]
mod tests;
