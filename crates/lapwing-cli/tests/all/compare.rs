//! `lapwing compare`: what it runs, what it advises, and what it prints.
#![cfg(unix)]

use std::process::Command;

use crate::common::{Folder, clouds};

/// The next command of an output.
fn next(text: &str) -> &str {
    text.lines().last().and_then(|line| line.strip_prefix("next: ")).unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn there_is_a_line_for_each_number_of_labels_and_a_sentence() {
    let folder = Folder::with_clouds("in.csv", 300, 100);
    let arguments = "compare in.csv --label-column kind --labeled 3,30 --per-class 4 --repeats 2 --methods harmonic";
    let text = folder.ok(arguments).stdout;
    assert!(text.starts_with("method") && text.contains("1.000 ± 0.000"), "{text}");
    for sentence in
        ["with 3 labels (1 per class): harmonic", "with 30 labels (10 per class): ", "with 12 labels (4 per class): "]
    {
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
    assert_eq!(text.matches("majority class").count(), 3, "{text}");
    let object = folder.ok(&format!("{arguments} --json --report r.html")).json();
    let results = object["results"].as_array().unwrap();
    assert_eq!((results.len(), results[0]["accuracy"].as_array().unwrap().len()), (6, 2));
    let winners = object["winners"].as_array().unwrap();
    assert_eq!((winners.len(), winners[0]["recommended"].as_str()), (3, Some("harmonic")));
    assert_eq!(object["next"].as_str().unwrap(), next(&text));
    assert!(folder.read("r.html").contains("harmonic, 30 labels"));
}

#[test]
fn no_number_of_labels_is_needed() {
    let folder = Folder::with_clouds("all.csv", 150, 50);
    let run = "--label-column kind --repeats 1 --methods nearest-label --json";
    let numbers = |arguments: &str| {
        let object = folder.ok(arguments).json();
        let rows = object["results"].as_array().unwrap().clone();
        let of = |row: &serde_json::Value| (row["n_labeled"].as_u64().unwrap(), row["n_folds"].as_u64());
        rows.iter().filter(|row| row["baseline"] == false).map(of).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&format!("compare all.csv {run}")), [(3, None), (15, None), (60, None)]);
    assert_eq!(numbers(&format!("compare all.csv {run} --folds 3")), [(100, Some(3))]);
    folder.write("few.csv", clouds(150, 5));
    assert_eq!(numbers(&format!("compare few.csv {run}")), [(12, Some(5))]);
    let text = folder.ok("compare few.csv --label-column kind --methods nearest-label").stdout;
    assert!(text.contains("cross-validation of the known labels: each of 5 folds"), "{text}");
    let all = folder.ok("compare few.csv --label-column kind --repeats 1").stdout;
    assert!(["harmonic", "lapsvm", "unfolded-gnn", "subsampling"].iter().all(|method| all.contains(method)), "{all}");
    folder.write("one.csv", clouds(150, 1));
    let error = folder.error("compare one.csv --label-column kind");
    assert!(error.contains("no class has two labels"), "{error}");
    let error = folder.error("compare few.csv --label-column kind --folds 16");
    assert!(error.contains("--folds is 16; expected between 2 and 15"), "{error}");
    let error = folder.error("compare few.csv --label-column kind --per-class 5");
    assert!(error.contains("--per-class is 5; expected between 1 and 4"), "{error}");
    folder.refused("compare few.csv --label-column kind --folds 2 --labeled 5");
}

#[test]
fn methods_with_equal_results_are_run_once_unless_they_are_named() {
    let folder = Folder::with_clouds("in.csv", 120, 40);
    let methods = |arguments: &str| {
        let object =
            folder.ok(&format!("compare in.csv --label-column kind --labeled 6 --repeats 1 --json {arguments}")).json();
        let of = |row: &serde_json::Value| row["method"].as_str().unwrap().to_owned();
        (object["results"].as_array().unwrap().iter().map(of).collect::<Vec<_>>(), object["left_out"].clone())
    };
    let (all, left_out) = methods("");
    assert!(all.contains(&"harmonic".into()) && !all.contains(&"sparse-harmonic".into()), "{all:?}");
    assert_eq!(left_out[0]["method"], "sparse-harmonic");
    assert_eq!((&left_out[1]["method"], &left_out[1]["same_as"]), (&"subsampling".into(), &"harmonic".into()));
    let (named, left_out) = methods("--methods harmonic,sparse-harmonic");
    assert!(named.contains(&"sparse-harmonic".into()) && left_out.as_array().unwrap().is_empty());
    // With so few edges it is another method.
    let (thinned, _) = methods("--edge-budget 150 --n-subsample 60");
    assert!(thinned.contains(&"sparse-harmonic".into()) && thinned.contains(&"subsampling".into()), "{thinned:?}");
}

#[test]
fn the_next_command_runs_in_a_shell() {
    let folder = Folder::new();
    folder.write("my data.csv", clouds(150, 50).replace("kind", "the kind's"));
    let mut compare = folder.command("compare");
    compare.args(["my data.csv", "--label-column", "the kind's", "--per-class", "3", "--methods", "harmonic"]);
    compare.args([
        "-k",
        "7",
        "--metric",
        "cosine",
        "--form",
        "plain",
        "--seed",
        "3",
        "--repeats",
        "1",
        "--standardize",
    ]);
    let text = String::from_utf8(compare.output().unwrap().stdout).unwrap();
    let line = next(&text);
    for part in ["'my data.csv'", "--method harmonic", "--n-neighbors=7", "--metric=cosine", "--form=plain", "--seed 3"]
    {
        assert!(line.contains(part), "{part}: {line}");
    }
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_lapwing")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(folder.path("")).env("PATH", path);
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
    assert_eq!(folder.read("labels.csv").lines().count(), 151);
}

#[test]
fn a_budget_that_is_too_small_is_told() {
    let folder = Folder::with_clouds("in.csv", 3000, 1000);
    let run = "compare in.csv --label-column kind --methods lapsvm";
    let error = folder.error(&format!("{run} --budget 1ms"));
    assert!(error.contains("--budget is 0.001 s; expected more time: no method finished"), "{error}");
    let error = folder.error(&format!("{run} --budget soon"));
    assert!(error.contains("such as 60s"), "{error}");
    // Enough for everything.
    let object = folder.ok("compare in.csv --label-column kind --methods nearest-label --budget 1h --json").json();
    assert_eq!(object["results"][0]["draws"], 5);
}

#[test]
fn progress_names_run_method_and_labels() {
    let folder = Folder::with_clouds("in.csv", 90, 30);
    let run = "compare in.csv --label-column kind --labeled 6 --repeats 2 --standardize=off \
               --methods harmonic,nearest-label";
    let told = folder.ok(&format!("{run} --progress json")).stderr;
    assert!(told.contains("\"note\":\"run 4 of 4: nearest-label, 6 labels\""), "{told}");
    assert!(!folder.ok(run).stderr.contains("of 4"));
}
