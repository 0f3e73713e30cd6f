//! The outputs that the README and the guide print are those of this program.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use crate::common::Folder;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The fenced blocks of a page: language and contents.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let mut blocks: Vec<(&str, String)> = Vec::new();
    let mut is_inside = false;
    for line in page.lines() {
        match (line.strip_prefix("```"), is_inside) {
            (Some(language), false) => blocks.push((language, String::new())),
            (None, true) => blocks.last_mut().unwrap().1 += &format!("{line}\n"),
            _ => {}
        }
        is_inside ^= line.starts_with("```");
    }
    blocks
}

/// What a script of a page prints, in `folder`. The working commands of the repository are left out.
fn printed(folder: &Folder, script: &str) -> String {
    let script = script.replace("cargo run --release --", "lapwing");
    let script: String =
        script.lines().filter(|line| !line.starts_with("cargo")).map(|line| format!("{line}\n")).collect();
    let program = Path::new(env!("CARGO_BIN_EXE_lapwing")).parent().unwrap().to_owned();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", &script]).current_dir(folder.path("")).env("PATH", path).env("NO_COLOR", "1");
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{script}\n{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Whether a line depends on the machine: times, memory, and what is left out.
fn is_of_the_machine(line: &str) -> bool {
    line.starts_with("time") || line.contains("MiB") || line.contains('…') || line.ends_with(" s")
}

/// A line without seconds, in words.
fn words(line: &str) -> Vec<&str> {
    let line = if line.contains('±') { line.split_inclusive('%').next().unwrap() } else { line };
    line.split([' ', ',']).filter(|word| !word.is_empty()).collect()
}

fn are_equal(a: &[&str], b: &[&str]) -> bool {
    let is_near = |a: &str, b: &str| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 1e-6,
        _ => false,
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b || is_near(a, b))
}

#[test]
fn printed_outputs_are_those_of_this_program() {
    for (page, n_outputs) in [("README.md", 2), ("docs/guide.md", 10)] {
        let folder = Folder::new();
        let data = "crates/lapwing-cli/data";
        std::fs::create_dir_all(folder.path(data)).unwrap();
        let digits = format!("{data}/digits.csv.gz");
        std::fs::copy(Path::new(ROOT).join(&digits), folder.path(&digits)).unwrap();
        let text = std::fs::read_to_string(Path::new(ROOT).join(page)).unwrap();
        let blocks = blocks(&text);
        let mut n_compared = 0;
        for (at, (_, script)) in blocks.iter().enumerate().filter(|(_, (language, _))| *language == "sh") {
            let output = blocks.get(at + 1).filter(|(next, _)| *next == "text");
            if output.is_none() && !script.starts_with("cp ") {
                continue;
            }
            let found = printed(&folder, script);
            let Some((_, expected)) = output else { continue };
            let mut found = found.lines().filter(|line| !is_of_the_machine(line)).map(words);
            for line in expected.lines().filter(|line| !is_of_the_machine(line)) {
                assert!(
                    found.any(|found| are_equal(&found, &words(line))),
                    "{page}: no line like this is printed:\n{line}"
                );
            }
            n_compared += 1;
        }
        assert_eq!(n_compared, n_outputs, "{page}");
    }
}
