//! Each command on input it can use: tables, JSON, files, exit codes.

use std::collections::BTreeSet;

use crate::common::{Folder, Noise, clouds};
use serde_json::Value;

fn folder_with_clouds() -> Folder {
    Folder::with_clouds("in.csv", 300, 3)
}

/// Labels of a written table.
fn labels(csv: &str) -> Vec<&str> {
    csv.lines().skip(1).map(|line| line.split(',').nth(1).unwrap()).collect()
}

/// What the clouds of [`clouds`] are.
fn kinds(n: usize) -> Vec<&'static str> {
    (0..n).map(|row| ["alder", "birch", "cedar"][row % 3]).collect()
}

fn keys(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn label_writes_every_row() {
    let folder = folder_with_clouds();
    let ran = folder.ok("label in.csv --label-column kind -o out.csv --method harmonic --probabilities");
    let table = folder.read("out.csv");
    assert_eq!(table.lines().next(), Some("row,label,confidence,reached,certified,p_alder,p_birch,p_cedar"));
    assert_eq!(labels(&table), kinds(300));
    for part in ["rows", "300", "edges", "components", "residual", "peak memory", "out.csv"] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    assert_eq!(folder.names(), ["in.csv", "out.csv"]);
}

#[test]
fn sources_of_labels_agree() {
    let folder = folder_with_clouds();
    let table = clouds(300, 3);
    let kinds: Vec<&str> = table.lines().skip(1).map(|line| line.rsplit(',').next().unwrap()).collect();
    folder.write("lines.txt", kinds.join("\n") + "\n");
    let pairs = kinds.iter().enumerate().filter(|(_, kind)| !kind.is_empty());
    folder.write("pairs.csv", pairs.map(|(row, kind)| format!("{row},{kind}\n")).collect::<String>());
    folder.write("marked.csv", table.replace(",\n", ",unknown\n"));
    folder.ok("label in.csv --label-column kind -o column.csv");
    folder.ok("label in.csv --drop kind --labels lines.txt -o lines.csv");
    folder.ok("label in.csv --columns x,y --labels pairs.csv -o pairs-out.csv");
    folder.ok("label marked.csv --label-column kind --unlabeled unknown -o marked-out.csv");
    let first = folder.read("column.csv");
    ["lines.csv", "pairs-out.csv", "marked-out.csv"].iter().for_each(|name| assert_eq!(folder.read(name), first));
}

#[test]
fn json_has_a_schema() {
    let folder = folder_with_clouds();
    let arguments =
        "label in.csv --label-column kind -o out.csv --method harmonic --report r.html --model m.lapwing --json";
    let object = folder.ok(arguments).json();
    let expected = [
        "schema",
        "command",
        "method",
        "n_samples",
        "n_features",
        "n_classes",
        "n_labeled",
        "n_unreached",
        "n_unlabeled_components",
        "graph",
        "solve",
        "chosen",
        "parts",
        "phases",
        "peak_bytes",
        "warnings",
        "classes",
        "certificate",
        "outputs",
    ];
    assert_eq!(keys(&object), BTreeSet::from(expected));
    assert_eq!((&object["schema"], &object["command"]), (&Value::from(2), &Value::from("label")));
    assert_eq!((&object["n_samples"], &object["n_labeled"]), (&Value::from(300), &Value::from(9)));
    assert_eq!(object["certificate"]["n_open"], 0);
    assert_eq!(object["classes"][1], serde_json::json!({"name": "birch", "given": 3, "inferred": 100}));
    assert_eq!(object["outputs"], serde_json::json!({"labels": "out.csv", "model": "m.lapwing", "report": "r.html"}));
}

#[test]
fn same_bytes_for_any_number_of_threads() {
    let folder = folder_with_clouds();
    let mut seen = Vec::new();
    for threads in [1, 2, 7] {
        folder
            .ok(&format!("label in.csv --label-column kind -o out.csv --model m --probabilities --threads {threads}"));
        folder.ok(&format!("graph in.csv --drop kind -o g.npz --threads {threads}"));
        seen.push(["out.csv", "m", "g.npz"].map(|name| std::fs::read(folder.path(name)).unwrap()));
    }
    assert!(seen[0] == seen[1] && seen[0] == seen[2]);
}

#[test]
fn model_labels_new_rows_by_the_names_of_their_columns() {
    let folder = folder_with_clouds();
    folder.ok("label in.csv --label-column kind -o out.csv --method harmonic --model m.lapwing --standardize");
    let mut noise = Noise(99);
    let mut new = String::from("id,y,x\n");
    for row in 0..30 {
        new += &format!("{row},{},{}\n", noise.next(), 4.0 * f64::from(row % 3) + noise.next());
    }
    folder.write("new.csv", &new);
    let object = folder.ok("predict m.lapwing new.csv -o new-out.csv --json").json();
    assert_eq!(labels(&folder.read("new-out.csv")), kinds(30));
    assert!(folder.read("new-out.csv").starts_with("row,label,confidence,reached,certified\n"));
    assert_eq!(object["certificate"], serde_json::json!({"n_open": 0}));
    assert_eq!((&object["command"], &object["n_samples"]), (&Value::from("predict"), &Value::from(30)));
    folder.write("wrong.csv", new.replace("id,y,x", "id,y,z"));
    assert!(folder.error("predict m.lapwing wrong.csv -o w.csv").contains("no column 'x'"));
    folder.write("foreign", "x,y\n");
    assert!(folder.error("predict foreign new.csv -o w.csv").contains("foreign"));
}

#[test]
fn rows_no_label_reaches() {
    let folder = Folder::new();
    folder.write("edges.csv", "0,1\n1,2\n3,4\n4,5\n6,7\n");
    folder.write("labels.csv", "0,a\n1,a\n3,b\n");
    let ran = folder.ok("label --graph edges.csv --labels labels.csv -o out.csv");
    assert_eq!(labels(&folder.read("out.csv")), ["a", "a", "a", "b", "b", "b", "", ""]);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("warning: ") && ran.stderr.contains('2'), "{}", ran.stderr);
    let strict = folder.run("label --graph edges.csv --labels labels.csv -o out.csv --strict -q");
    assert_eq!((strict.code, strict.stderr.as_str()), (Some(1), ""));
    let prior = "label --graph edges.csv --labels labels.csv -o out.csv --unreached prior --report r.html --json";
    let warning = &folder.ok(prior).json()["warnings"][0];
    assert_eq!(warning["kind"], "unreached");
    assert_eq!(ran.stderr, format!("warning: {}\n", warning["text"].as_str().unwrap()));
    assert!(folder.read("r.html").contains(warning["text"].as_str().unwrap()));
    assert_eq!(labels(&folder.read("out.csv"))[6..], ["a", "a"]);
}

#[test]
fn rows_that_only_features_reach_are_told() {
    let folder = Folder::new();
    // Two parts far from each other; all labels are in the first, of two classes by the place in it.
    let line = |row: usize| {
        let x = if row < 100 { row as f64 / 100.0 } else { 1000.0 + row as f64 / 100.0 };
        let kind = if row < 100 && row.is_multiple_of(4) { ["low", "high"][usize::from(row >= 50)] } else { "" };
        format!("{x},{kind}\n")
    };
    folder.write("in.csv", "x,kind\n".to_owned() + &(0..200).map(line).collect::<String>());
    let label = "label in.csv --label-column kind --candidates harmonic,linear -o out.csv";
    let ran = folder.ok(label);
    assert!(ran.stderr.contains("no label reaches 100 rows through the graph, in 1 component"), "{}", ran.stderr);
    assert_eq!(folder.run(&format!("{label} --strict -q")).code, Some(1));
}

#[test]
fn graph_describes_what_it_writes() {
    let folder = folder_with_clouds();
    let built = folder.ok("graph in.csv --drop kind -k 10 -o g.npz --json").json();
    assert_eq!((&built["schema"], &built["graph"]["n_components"]), (&Value::from(2), &Value::from(3)));
    assert_eq!(built["graph"]["recall"], Value::from(1.0));
    let again = folder.ok("graph --graph g.npz --json").json();
    assert_eq!(built["graph"]["n_edges"], again["graph"]["n_edges"]);
    assert_eq!(built["graph"]["degree"], again["graph"]["degree"]);
    let text = folder.ok("graph in.csv --drop kind").stdout;
    assert!(["edges", "3 (100 + 100 + 100)", "degree", "neighbors found"].iter().all(|t| text.contains(t)), "{text}");
}

#[test]
fn labeling_a_graph_equals_labeling_its_features() {
    let folder = folder_with_clouds();
    let table = clouds(300, 3);
    let kinds: String = table.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().to_owned() + "\n").collect();
    folder.write("labels.txt", kinds);
    folder.ok("graph in.csv --drop kind -o g.npz");
    folder.ok("label --graph g.npz --labels labels.txt -o by-graph.csv --method harmonic");
    folder.ok("label in.csv --label-column kind -o by-features.csv --method harmonic");
    assert_eq!(folder.read("by-graph.csv"), folder.read("by-features.csv"));
}

#[test]
fn plan_does_nothing_but_tell() {
    let folder = folder_with_clouds();
    let object = folder.ok("label in.csv --label-column kind --plan --json").json();
    assert_eq!((&object["command"], &object["n_samples"]), (&Value::from("plan"), &Value::from(300)));
    assert!(object["peak_bytes"].as_u64() > Some(0) && object["passes"].as_u64() > Some(0));
    assert_eq!((&object["size"]["n_classes"], &object["size"]["n_labeled"]), (&Value::from(3), &Value::from(9)));
    let text = folder.ok("label in.csv --label-column kind -o out.csv --plan --standardize").stdout;
    assert!(text.contains("peak memory") && text.contains("passes"), "{text}");
    assert_eq!(folder.names(), ["in.csv"]);
}

#[test]
fn demo_labels_the_digits() {
    let folder = Folder::new();
    let ran = folder.ok("demo");
    let accuracy = ran.stdout.lines().find_map(|line| line.strip_prefix("accuracy")).unwrap().trim();
    assert!(accuracy[..5].parse::<f64>().unwrap() > 0.9, "{accuracy}");
    assert!(ran.stdout.contains("lapwing-demo/labels.csv") && ran.stdout.contains("lapwing-demo/report.html"));
    assert!(ran.stderr.contains("lapwing label"));
    assert_eq!(folder.read("lapwing-demo/labels.csv").lines().count(), 1798);
    // The data are there to go on with.
    let again = folder.ok("label lapwing-demo/digits.csv.gz --label-column digit -o again.csv -q");
    assert!(again.stdout.is_empty() && folder.read("again.csv").lines().count() == 1798);
    let object = folder.ok("demo -o elsewhere --json").json();
    assert!(object["accuracy"].as_f64() > Some(0.9));
}

#[test]
fn progress_as_json_lines() {
    let folder = folder_with_clouds();
    let ran = folder.ok("label in.csv --label-column kind -o out.csv --progress json");
    let events: Vec<Value> = ran.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |event: &str| events.iter().filter(|e| e["event"] == event).count();
    assert!(count("start") > 2 && count("start") == count("finish"), "{events:?}");
    let verbose = folder.ok("label in.csv --label-column kind -o out.csv --verbose").stderr;
    assert!(verbose.lines().any(|line| line.starts_with("read: ") && line.ends_with(" s")), "{verbose}");
}

#[test]
fn help_tells_defaults_and_examples() {
    let folder = Folder::new();
    for command in [
        "demo",
        "label",
        "predict",
        "compare",
        "describe",
        "graph",
        "sparsify",
        "completions",
        "methods",
        "suggest",
        "audit",
    ] {
        let help = folder.ok(&format!("{command} --help")).stdout;
        assert!(help.contains("Example"), "{command}: {help}");
    }
    let short = folder.ok("label -h").stdout;
    assert!(short.lines().count() <= 50 && short.contains("lapwing methods"), "fits a screen: {short}");
    let help = folder.ok("label --help").stdout;
    for part in [
        "[default: 15, range: [1, ∞)]",
        "[default: self-tuning]",
        "[default: auto, range: (0,",
        "Harmonic propagation:",
        "Output:",
    ] {
        assert!(help.contains(part), "{part}: {help}");
    }
    assert!(folder.ok("--version").stdout.starts_with("lapwing "));
    assert!(folder.ok("completions zsh").stdout.contains("--label-column"));
}

#[test]
fn methods_are_listed_with_their_parameters() {
    let folder = Folder::new();
    let list = folder.ok("methods").stdout;
    assert!(list.lines().any(|line| line.starts_with("lapsvm ")) && list.contains("methods NAME"), "{list}");
    let page = folder.ok("methods lapsvm").stdout;
    for part in ["In Python: LaplacianSVC", "--degree  (default 3)", "Needs --kernel poly.", "--graph-bandwidth"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let object = folder.ok("methods nystrom --json").json();
    let names: Vec<&str> = object["parameters"].as_array().unwrap().iter().filter_map(|p| p["name"].as_str()).collect();
    assert!(names.contains(&"bandwidth") && !names.contains(&"n_nearest"), "{names:?}");
}

#[test]
fn parameters_come_from_a_file() {
    let folder = Folder::with_clouds("in.csv", 90, 3);
    let run = "label in.csv --label-column kind -o out.csv --method harmonic --json --params p.json";
    folder.write("p.json", r#"{"n_neighbors": 7, "graph_reg": "inf", "form": "stable"}"#);
    folder.ok(run);
    for (text, part) in [
        (
            r#"{"n_neighbours": 7}"#,
            "p.json: parameter is 'n_neighbours'; expected a known parameter; the nearest is n_neighbors",
        ),
        (r#"{"n_neighbors": 1.5}"#, "p.json: n_neighbors is 1.5; expected a whole number of at least 1"),
        (r#"{"tol": {}}"#, "p.json: tol is {}; expected null, true, false, a number"),
        ("[1]", "p.json: expected a JSON object"),
        ("{", "p.json: EOF"),
    ] {
        folder.write("p.json", text);
        let error = folder.error(run);
        assert!(error.contains(part), "{text}: {error}");
    }
    folder.write("p.json", r#"{"n_neighbors": 7}"#);
    let edges = |options: &str| folder.ok(&format!("{run} {options}")).json()["graph"]["n_edges"].clone();
    assert_ne!(edges(""), edges("-k 12"), "options override the file");
    folder.write("p.json", r#"{"harmonic": {"tol": 1e-9}, "lapsvm": {"kernel": "linear"}}"#);
    let compare =
        "compare in.csv --label-column kind --labeled 6 --repeats 1 --methods harmonic,lapsvm --params p.json";
    folder.ok(compare);
    folder.write("p.json", r#"{"harmonics": {}}"#);
    assert!(folder.error(compare).contains("the nearest is harmonic"));
    folder.write("p.json", r#"{"glnp": {}}"#);
    assert!(folder.error(compare).contains("'glnp' is not among the methods compared"));
    folder.write("p.json", "{}");
    let same =
        folder.error("label in.csv --label-column kind -o out.csv --method harmonic --model p.json --params p.json");
    assert!(same.contains("--params") && folder.read("p.json") == "{}", "{same}");
}

#[test]
fn rows_with_few_others_have_few_neighbors() {
    let folder = Folder::new();
    folder.write("in.csv", clouds(12, 3));
    let text = "n_neighbors is 15, but each of 12 rows has only 11 neighbors; using 11";
    for command in ["label in.csv --label-column kind -o out.csv", "graph in.csv --drop kind -o out.npz"] {
        let warnings = folder.ok(&format!("{command} --json")).json()["warnings"].clone();
        assert!(warnings.as_array().unwrap().iter().any(|warning| warning["text"] == text), "{command}: {warnings}");
    }
    folder.ok("label in.csv --label-column kind -o out.csv --model m.lapwing");
    folder.ok("predict m.lapwing in.csv -o new.csv");
}
