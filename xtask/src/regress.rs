//! `cargo xtask bench regress`: whether a change slows a kernel down, told by ratios in one run.
//!
//! The benchmark of kernels is built twice, from a revision and from the working tree, and both run in turns. A stored figure would hold
//! for one machine, and there for one hour.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::process::{Call, Result, root, target};

pub const HELP: &str = "\
cargo xtask bench regress [--rounds N] [--only NAME] [REVISION]

Runs the kernels of REVISION (default HEAD, without the changes of the working tree) and those of the working tree in turns, N
times each (default 3), and prints the ratio of the medians. A kernel that became more than 5 % slower in every round is an error.
NAME is a part of the names of the kernels to run. The first call for a revision builds it, which takes minutes.
";

/// Times a kernel may be as slow as before.
const MOST: f64 = 1.05;

/// The options of a call.
struct Options<'a> {
    rounds: usize,
    only: Option<&'a str>,
    revision: &'a str,
}

pub fn regress(words: &[&str]) -> Result<()> {
    let options = parse(words)?;
    let commit =
        Call::new("git").args(["rev-parse", "--verify", &format!("{}^{{commit}}", options.revision)]).read()?;
    let folder = target().join("regress");
    let tree = folder.join("tree");
    if tree.join(".git").exists() {
        Call::new("git").args(["checkout", "--quiet", "--detach", &commit]).within(&tree).run()?;
    } else {
        Call::new("git").args(["worktree", "prune"]).run()?;
        Call::new("git")
            .args(["worktree", "add", "--quiet", "--detach"])
            .args([tree.as_os_str()])
            .args([&commit])
            .run()?;
    }
    let sides = [("before", built(&tree, &folder.join("build"))?), ("after", built(&root(), &target())?)];
    let mut ratios: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut seconds: BTreeMap<String, f64> = BTreeMap::new();
    for round in 1..=options.rounds {
        for (name, program) in &sides {
            eprintln!("round {round} of {}, {name}", options.rounds);
            let home = folder.join("criterion");
            let call =
                Call::new(program).args(["--bench", "--noplot", "--warm-up-time", "1", "--measurement-time", "2"]);
            let call = call.args(["--save-baseline", name]).args(options.only).env("CRITERION_HOME", &home);
            call.quiet_stdout().run()?;
        }
        let home = folder.join("criterion");
        let (before, after) = (medians(&home, "before"), medians(&home, "after"));
        for (kernel, after) in after {
            let Some(before) = before.get(&kernel) else { continue };
            ratios.entry(kernel.clone()).or_default().push(after / before);
            seconds.insert(kernel, after);
        }
    }
    report(&ratios, &seconds)
}

fn parse<'a>(words: &[&'a str]) -> Result<Options<'a>> {
    let mut options = Options { rounds: 3, only: None, revision: "HEAD" };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n\n{HELP}"));
        match *word {
            "--rounds" => {
                let number = value()?.parse().ok().filter(|&rounds| rounds > 0);
                options.rounds = number.ok_or("--rounds needs a whole number above 0")?;
            }
            "--only" => options.only = Some(value()?),
            option if option.starts_with('-') => return Err(format!("unknown option {option}\n\n{HELP}")),
            revision => options.revision = revision,
        }
    }
    Ok(options)
}

/// The program that measures the kernels of the sources in `tree`.
fn built(tree: &Path, build: &Path) -> Result<PathBuf> {
    // Asked for the workspace, cargo picks the features of all other builds and compiles no other crate again.
    let words = ["--locked", "--workspace", "--bench", "kernels", "--no-run", "--message-format", "json"];
    let messages = Call::cargo("bench").args(words).within(tree).env("CARGO_TARGET_DIR", build).read()?;
    let name = "\"executable\":\"";
    let found = messages.lines().filter(|line| line.contains("\"name\":\"kernels\"")).find_map(|line| {
        let rest = &line[line.find(name)? + name.len()..];
        Some(PathBuf::from(&rest[..rest.find('"')?]))
    });
    found.ok_or_else(|| format!("cargo did not say where it put the benchmark of {}", tree.display()))
}

/// Median nanoseconds of each kernel in a baseline that Criterion saved.
fn medians(home: &Path, baseline: &str) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    for group in crate::system::entries(home) {
        for kernel in crate::system::entries(&group) {
            let Ok(text) = std::fs::read_to_string(kernel.join(baseline).join("estimates.json")) else { continue };
            let name = |path: &Path| path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
            if let Some(median) = median_of(&text) {
                found.insert(format!("{} / {}", name(&group), name(&kernel)), median);
            }
        }
    }
    found
}

/// The point estimate of the median in an `estimates.json`.
fn median_of(text: &str) -> Option<f64> {
    let median = &text[text.find("\"median\"")?..];
    let name = "\"point_estimate\":";
    let value = median[median.find(name)? + name.len()..].trim_start();
    value[..value.find([',', '}'])?].trim().parse().ok()
}

fn report(ratios: &BTreeMap<String, Vec<f64>>, nanoseconds: &BTreeMap<String, f64>) -> Result<()> {
    println!("| kernel | ms | times as long as before: median | least | most |\n|---|---|---|---|---|");
    let mut slower = Vec::new();
    for (kernel, all) in ratios {
        let mut sorted = all.clone();
        sorted.sort_by(f64::total_cmp);
        let (least, median, most) = (sorted[0], sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
        println!("| {kernel} | {:.3} | {median:.3} | {least:.3} | {most:.3} |", nanoseconds[kernel] / 1e6);
        if least > MOST {
            slower.push(kernel.as_str());
        }
    }
    match slower.as_slice() {
        [] => Ok(()),
        slower => Err(format!("more than 5 % slower than before in every round: {}", slower.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_found_among_the_estimates() {
        let text = r#"{"mean":{"point_estimate":2.0},"median":{"confidence_interval":{"lower_bound":1.0},"point_estimate":12.5,"standard_error":0.1}}"#;
        assert_eq!(median_of(text), Some(12.5));
        assert_eq!(median_of(r#"{"mean":{"point_estimate":2.0}}"#), None);
    }

    #[test]
    fn options_are_read_or_named() {
        let found = parse(&["--rounds", "5", "v1", "--only", "tree"]).unwrap();
        assert_eq!((found.rounds, found.only, found.revision), (5, Some("tree"), "v1"));
        assert_eq!(parse(&[]).unwrap().revision, "HEAD");
        for words in [["--rounds", "0"], ["--rounds", "x"], ["--speed", "1"]] {
            assert!(parse(&words).is_err());
        }
        assert!(parse(&["--only"]).err().is_some_and(|error| error.contains("--only needs a value")));
    }

    #[test]
    fn only_what_is_slower_in_every_round_is_an_error() {
        let ratios = |values: [f64; 3]| BTreeMap::from([("tree".to_owned(), values.to_vec())]);
        let seconds = BTreeMap::from([("tree".to_owned(), 1e6)]);
        assert!(report(&ratios([1.2, 1.04, 1.3]), &seconds).is_ok());
        assert!(report(&ratios([1.2, 1.06, 1.3]), &seconds).unwrap_err().contains("tree"));
    }
}
