//! Tables as people have them: each is labeled at the first attempt, and the program says what it did.

use std::path::{Path, PathBuf};

use crate::common::{Folder, assert_says, clouds};

/// A folder of the tables of the project.
fn tables() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tables").canonicalize().unwrap()
}

fn table(name: &str) -> String {
    tables().join(name).display().to_string()
}

/// The cells of a column of a CSV text.
fn column(text: &str, name: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let at =
        reader.headers().unwrap().iter().position(|header| header == name).unwrap_or_else(|| panic!("no '{name}'"));
    reader.records().map(|record| record.unwrap()[at].to_owned()).collect()
}

/// The share of the rows that get their true label.
fn accuracy(folder: &Folder, out: &str, truth: &str) -> f64 {
    let found = column(&folder.read(out), "label");
    let known = column(&std::fs::read_to_string(tables().join("truth").join(truth)).unwrap(), "label");
    assert_eq!(found.len(), known.len(), "{truth}");
    found.iter().zip(&known).filter(|(a, b)| a == b).count() as f64 / known.len() as f64
}

#[test]
fn every_table_is_labeled_at_the_first_attempt() {
    let cases = [
        (
            "messy.csv",
            "y",
            "messy.csv",
            0.86,
            &["left out: names the rows", "date: year, month", "4 levels", "gaps filled"][..],
        ),
        ("european.csv", "klasse", "european.csv", 0.87, &["cells between ';', decimal commas", "date: year"]),
        ("survey.csv", "segment", "survey.csv", 0.87, &["5 levels in order, 'strongly disagree' to 'strongly agree'"]),
        ("sensors.csv", "state", "sensors.csv", 0.88, &["left out: all cells are equal"]),
        ("shop.tsv", "department", "shop.csv", 0.94, &["cells between tabs", "text: ", "terms (TF-IDF)"]),
        ("embeddings.parquet", "y", "embeddings.csv", 0.92, &["list of 32 numbers, to one length"]),
        ("bank.csv", "deposit", "bank.csv", 0.93, &["cells between ';'", "true or false"]),
        ("log.jsonl", "verdict", "log.csv", 0.9, &["left out: names the rows"]),
        ("wide.csv", "target", "wide.csv", 0.86, &["1200 columns to one width"]),
        ("parts", "outcome", "parts.csv", 0.86, &["all cells differ: drop it if it names the rows"]),
        (
            "spreadsheet.csv",
            "Churned?",
            "spreadsheet.csv",
            0.9,
            &["left out: counts the rows", "left out: all cells are missing"],
        ),
    ];
    let folder = Folder::new();
    for (name, label, truth, least, says) in cases {
        let ran = folder.ok(&format!("label {} --label-column {label} -o out.csv", table(name)));
        assert_says(&ran.stdout, says);
        let right = accuracy(&folder, "out.csv", truth);
        assert!(right >= least, "{name}: {right}");
    }
}

#[test]
fn a_graph_of_names_is_labeled_by_names() {
    let folder = Folder::new();
    let (edges, labels) = (table("friends.csv"), table("friends_labels.csv"));
    folder.ok(&format!("label --graph {edges} --labels {labels} -o out.csv -q"));
    let truth = std::fs::read_to_string(tables().join("truth/friends.csv")).unwrap();
    let known: std::collections::HashMap<String, String> =
        column(&truth, "person").into_iter().zip(column(&truth, "group")).collect();
    let out = folder.read("out.csv");
    let found: Vec<(String, String)> = column(&out, "node").into_iter().zip(column(&out, "label")).collect();
    let right = found.iter().filter(|(person, group)| known.get(person) == Some(group)).count();
    assert!(found.len() == known.len() && right as f64 >= 0.84 * found.len() as f64, "{right} of {}", found.len());
}

#[test]
fn preparing_is_undone_by_one_option() {
    let folder = Folder::new();
    let message = folder.error(&format!("label {} --label-column y -o out.csv --prepare none", table("messy.csv")));
    assert_says(
        &message,
        &["4 columns with cells that are not numbers", "'id' (600 of 600", "'plan'", "--drop id,signup"],
    );
}

#[test]
fn a_model_repeats_the_recipe_and_counts_what_is_new() {
    let folder = Folder::new();
    let messy = table("messy.csv");
    for method in ["auto", "harmonic", "low-rank"] {
        folder.ok(&format!("label {messy} --label-column y -o out.csv --model m --method {method} -q"));
        let ran = folder.ok(&format!("predict m {messy} -o new.csv"));
        assert_eq!(ran.stderr, "", "{method}");
        assert!(accuracy(&folder, "new.csv", "messy.csv") > 0.85, "{method}");
    }
    let text = std::fs::read_to_string(tables().join("bank.csv")).unwrap();
    folder.write("bank.csv", &text);
    let newer: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(at, line)| if at == 5 { line.replace("\"no\"", "\"\"") } else { line.into() })
        .collect();
    folder.write("newer.csv", newer.join("\n").replace("\"divorced\"", "\"parted\"") + "\n");
    for method in ["harmonic", "low-rank"] {
        folder.ok(&format!("label bank.csv --label-column deposit -o out.csv --model m --method {method} -q"));
        let ran = folder.ok("predict m newer.csv -o new.csv");
        let expected = ["a level that the fit did not have, first 'parted'"];
        assert!(!text.contains("divorced") || ran.stderr.contains(expected[0]), "{}", ran.stderr);
    }
    folder.write("less.csv", "age;balance\n30;100\n");
    assert_says(&folder.error("predict m less.csv -o new.csv"), &["less.csv: no columns"]);
    folder.write("x.npy", crate::common::npy(2, 3, (0..6).map(|x| x as f32)));
    assert_says(&folder.error("predict m x.npy -o new.csv"), &["the model was fitted on a table", "age"]);
}

#[test]
fn rows_in_blocks_are_prepared_as_those_in_memory() {
    let folder = Folder::new();
    for name in ["messy.csv", "parts", "shop.tsv"] {
        let label = if name == "messy.csv" {
            "y"
        } else if name == "parts" {
            "outcome"
        } else {
            "department"
        };
        let ran = folder.ok(&format!("label {} --label-column {label} -o out.csv --method low-rank", table(name)));
        assert_says(&ran.stdout, &["columns"]);
        let truth = format!("{}.csv", name.split('.').next().unwrap());
        assert!(accuracy(&folder, "out.csv", &truth) > 0.75, "{name}");
    }
}

#[test]
fn input_columns_stand_beside_the_labels() {
    let folder = Folder::new();
    let messy = table("messy.csv");
    folder.ok(&format!("label {messy} --label-column y -o kept.csv --keep id,income -q"));
    let kept = folder.read("kept.csv");
    assert!(kept.starts_with("id,income,label,confidence,reached\nC-0001,37378,"), "{}", &kept[..120]);
    folder.ok(&format!("label {messy} --label-column y -o filled.csv --fill -q"));
    let (filled, input) = (folder.read("filled.csv"), std::fs::read_to_string(&messy).unwrap());
    assert!(filled.starts_with("id,signup,plan,active,income"));
    assert!(filled.lines().next().unwrap().ends_with(",y,confidence,reached"));
    for name in ["signup", "minutes", "income"] {
        assert_eq!(column(&filled, name), column(&input, name), "cells stay as they are");
    }
    let (given, labels) = (column(&input, "y"), column(&filled, "y"));
    assert!(given.iter().zip(&labels).all(|(given, label)| given.is_empty() || given == label));
    assert!(labels.iter().all(|label| !label.is_empty()));
    // Several formats, methods that read in blocks, and new rows.
    for (name, label) in [("parts", "outcome"), ("embeddings.parquet", "y"), ("log.jsonl", "verdict")] {
        for method in ["harmonic", "low-rank"] {
            let path = table(name);
            folder
                .ok(&format!("label {path} --label-column {label} -o a.parquet --fill -q --method {method} --model m"));
            folder.ok(&format!("predict m {path} -o b.parquet --keep all -q"));
            // What was written is a table, and its labels are known now.
            let ran = folder.ok(&format!("describe a.parquet --label-column {label}"));
            assert_says(&ran.stdout, &["rows have a label", "confidence"]);
            assert_says(&folder.ok("describe b.parquet").stdout, &["confidence", label]);
        }
    }
    assert_says(
        &folder.error(&format!("label {messy} --label-column y -o x.npy --fill")),
        &["a .csv or .parquet file"],
    );
    assert_says(&folder.error(&format!("label {messy} --label-column y -o x.csv --keep idd")), &["did you mean 'id'?"]);
}

#[test]
fn describe_shows_columns_classes_and_doubts() {
    let folder = Folder::new();
    let ran = folder.ok(&format!("describe {} --label-column y", table("messy.csv")));
    assert_says(
        &ran.stdout,
        &["600 rows, 10 columns", "left out: names the rows", "60 of 600 rows have a label", "stays"],
    );
    let found = folder.ok(&format!("describe {} --label-column y --json", table("messy.csv"))).json();
    assert_eq!((&found["n_rows"], &found["columns"][4]["kind"]), (&600.into(), &"number".into()));
    assert_eq!(found["classes"].as_array().unwrap().len(), 3);
    folder.write("dates.csv", "when;n\n03/04/2024;1,234\n05/06/2024;2,345\n");
    let ran = folder.ok("describe dates.csv");
    assert_says(&ran.stderr, &["may start with the day or the month", "numbers such as 1,234"]);
    folder.write("x.npy", crate::common::npy(2, 3, (0..6).map(|x| x as f32)));
    assert_says(&folder.error("describe x.npy"), &["expected a table"]);
}

#[test]
fn what_a_text_does_not_tell_can_be_said() {
    let folder = Folder::new();
    let text = clouds(60, 4).replace(',', "@");
    folder.write("t.csv", &text);
    assert!(folder.error("label t.csv --label-column kind -o out.csv").contains("no column 'kind'"));
    let ran = folder.ok("label t.csv --label-column kind -o out.csv --delimiter @ --json");
    assert!(ran.stdout.contains(r#""delimiter":"@""#) || ran.stdout.contains(r#""delimiter": "@""#), "{}", ran.stdout);
    let body: String = text.lines().skip(1).map(|line| format!("{line}\n")).collect();
    folder.write("b.csv", body.replace('@', "\t"));
    folder.ok("label b.csv --label-column 2 -o out.csv --no-header --delimiter tab -q");
    assert_says(&folder.error("label b.csv --label-column 2 -o out2.csv --delimiter ab"), &["one character"]);
}

#[test]
fn describe_fits_in_a_hundred_columns_and_its_options_work() {
    let folder = Folder::new();
    let row = |at: usize| {
        let price = if at == 9 { "broken".into() } else { format!("{}.5K", at % 17) };
        let income = if at.is_multiple_of(4) { String::new() } else { (at * 7 % 31).to_string() };
        format!("{:02}/{:02}/2021,${price},{:03},{income},{}\n", at % 12 + 1, at % 11 + 1, at % 5, at * 13 % 41)
    };
    let text: String = (0..60).map(row).collect();
    folder.write("t.csv", format!("Sales\n# ours\nwhen,price,shop,income,size\n{text}"));
    let ran = folder.ok("describe t.csv");
    assert_says(
        &ran.stdout,
        &[
            "1 line before the header is passed over (line 1: 'Sales')\n1 line of comment before the rows is passed over (line 2: '# ours')\n",
            "column  kind    gaps  different  becomes\n",
            "; $0.5K → 500\n    1 no number, counted as missing: '$broken' (line 13)\n",
            "    or the month first: --read-as when=month-first\n",
            "    or numbers: --read-as shop=number\n",
            "15 gaps filled",
        ],
    );
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 100), "{}", ran.stdout);
    let ran = folder.ok("describe t.csv --read-as when=month-first,shop=number --read-as price=text --json");
    let found = ran.json();
    let kinds: Vec<&str> =
        found["columns"].as_array().unwrap().iter().map(|column| column["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["date", "text", "number", "number", "number"]);
    assert_eq!(found["columns"][0]["example"]["value"], "2021-01-01");
    assert_eq!(found["warnings"].as_array().unwrap().len(), 1, "{}", found["warnings"]);
    assert_says(&folder.error("describe t.csv --read-as shop"), &["expected a column, = and a kind, such as zip=text"]);
    assert_says(&folder.error("describe t.csv --read-as shop=word"), &["one of number, text, day-first, month-first"]);
    let none = folder.error("label t.csv --label-column shop -o out.csv --prepare none --read-as size=text");
    assert_says(&none, &["--read-as needs a table whose columns are prepared"]);
    assert_says(&folder.error("describe t.csv --read-as size=text --drop size"), &["a column that is a feature"]);
}
