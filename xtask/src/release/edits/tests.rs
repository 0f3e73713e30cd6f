//! Releases of a small tree of files, and the files of this repository.

use std::path::PathBuf;

use super::*;
use crate::process::target;

/// A folder with the files that state versions, and some text replaced in one of them.
fn tree(name: &str, file: &str, replace: [&str; 2]) -> PathBuf {
    let root = target().join("tests/release").join(name);
    let _ = fs::remove_dir_all(&root);
    let files = [
        (
            "Cargo.toml",
            "[workspace.package]\nversion = \"0.1.0\"\n\n[workspace.dependencies]\n\
            lapwing-core = { path = \"crates/lapwing-core\", version = \"0.1.0\" }\nlibc = { version = \"0.1.0\" }\n",
        ),
        ("CITATION.cff", "cff-version: 1.2.0\nversion: 0.1.0\ndate-released: 2026-01-01\n"),
        ("packaging/conda/recipe.yaml", "context:\n  version: \"0.1.0\"\n\nrecipe:\n  version: ${{ version }}\n"),
        ("CHANGELOG.md", "# Changes\n\n## 0.2.0 (unreleased)\n\n- a\n\n## 0.1.0 (2026-01-01)\n"),
        ("crates/lapwing-core/Cargo.toml", "[package]\nname = \"lapwing-core\"\nversion.workspace = true\n"),
        ("python/Cargo.toml", "[package]\nversion.workspace = true\n"),
        ("xtask/Cargo.toml", "[package]\nversion.workspace = true\n"),
    ];
    for (path, text) in files {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        let text = if path == file { text.replace(replace[0], replace[1]) } else { text.to_owned() };
        fs::write(root.join(path), text).unwrap();
    }
    root
}

fn release() -> Release {
    Release { version: Version::parsed("0.2.0").unwrap(), date: "2026-02-03".into() }
}

#[test]
fn versions_and_dates_are_changed() {
    let root = tree("changed", "", ["", ""]);
    check(&root, "0.1.0").unwrap_err();
    for edit in release().edits(&root).unwrap() {
        edit.write(&root).unwrap();
    }
    check(&root, "0.2.0").unwrap();
    let text = |file| fs::read_to_string(root.join(file)).unwrap();
    assert_eq!(text("CITATION.cff"), "cff-version: 1.2.0\nversion: 0.2.0\ndate-released: 2026-02-03\n");
    assert_eq!(text("CHANGELOG.md"), "# Changes\n\n## 0.2.0 (2026-02-03)\n\n- a\n\n## 0.1.0 (2026-01-01)\n");
    assert!(text("Cargo.toml").ends_with("lapwing-core\", version = \"0.2.0\" }\nlibc = { version = \"0.1.0\" }\n"));
    assert!(text("packaging/conda/recipe.yaml").contains("\"0.2.0\""));
}

#[test]
fn errors_name_file_and_line() {
    let cases = [
        (
            "Cargo.toml",
            ["core\", version = \"0.1.0\"", "core\", version = \"0.0.9\""],
            "Cargo.toml:5: the version is 0.0.9, not 0.1.0",
        ),
        ("Cargo.toml", ["core\", version = \"0.1.0\"", "core\""], "Cargo.toml:5: `version = \"…` is missing"),
        (
            "Cargo.toml",
            ["[workspace.package]", "[package]"],
            "Cargo.toml: no line begins with `version` below `[workspace.package]`",
        ),
        ("CITATION.cff", ["\nversion: 0.1.0", "\nversion: 0.1.1"], "CITATION.cff:2: the version is 0.1.1"),
        ("CITATION.cff", ["date-released", "date"], "CITATION.cff: no line begins with `date-released`"),
        ("CHANGELOG.md", ["unreleased", "2026-01-02"], "CHANGELOG.md:3: the newest heading is `## 0.2.0 (2026-01-02)`"),
        (
            "crates/lapwing-core/Cargo.toml",
            ["version.workspace = true", "version = \"0.1.0\""],
            "lapwing-core/Cargo.toml:3: write",
        ),
        (
            "xtask/Cargo.toml",
            ["version.workspace = true", ""],
            "xtask/Cargo.toml: `version.workspace = true` is missing",
        ),
    ];
    for (number, (file, replace, expected)) in cases.into_iter().enumerate() {
        let error = release().edits(&tree(&format!("error-{number}"), file, replace)).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn the_files_of_this_repository_state_one_version() {
    let root = crate::process::root();
    let present = present_version(&root).unwrap();
    let all: Vec<Edit> = VERSIONS
        .iter()
        .flat_map(|place| {
            place.agreeing(&root, &present).unwrap().into_iter().map(|stated| stated.changed_to(place.file, "9.9.9"))
        })
        .collect();
    assert!(all.len() >= 10 && all.iter().all(|edit| edit.new.contains("9.9.9")), "{all:?}");
    inherited(&root).unwrap();
    assert_eq!(DATE.stated(&root).unwrap().len(), 1);
    heading(&root).unwrap();
}
