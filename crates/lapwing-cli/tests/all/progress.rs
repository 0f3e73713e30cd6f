//! Progress as events, and silence.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::common::{Folder, clouds};

/// Checks the events of a run, and returns the names of its phases.
#[track_caller]
fn phases(folder: &Folder, arguments: &str) -> Vec<String> {
    let ran = folder.ok(&format!("{arguments} --progress json"));
    let lines = ran.stderr.lines().filter(|line| line.starts_with('{'));
    let mut phases: Vec<String> = Vec::new();
    // Name, steps done and total of the phase that is running.
    let mut running: Option<(String, u64, u64)> = None;
    for line in lines {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{arguments}: {e}: {line}"));
        let name = event["phase"].as_str().unwrap_or_else(|| panic!("{arguments}: {line}"));
        let number = |key: &str| event[key].as_u64().unwrap_or_else(|| panic!("{arguments}: {line}"));
        match event["event"].as_str() {
            Some("start") => {
                assert_eq!(running, None, "{arguments}: {line}");
                phases.push(name.into());
                running = Some((name.into(), 0, number("total")));
            }
            Some("update") => {
                let (running, done, total) = running.as_mut().unwrap_or_else(|| panic!("{arguments}: {line}"));
                assert_eq!(running, name, "{arguments}: {line}");
                assert!(event["note"].is_string(), "{arguments}: {line}");
                // A phase that learns its total counts anew.
                if number("total") != *total {
                    (*done, *total) = (0, number("total"));
                }
                assert!(number("done") >= *done, "{arguments}: {line} after {done}");
                assert!(*total == 0 || number("done") <= *total, "{arguments}: {line}");
                *done = number("done");
            }
            Some("finish") => {
                assert_eq!(running.take().map(|running| running.0).as_deref(), Some(name), "{arguments}: {line}");
                assert!(event["seconds"].as_f64() >= Some(0.0), "{arguments}: {line}");
            }
            _ => panic!("{arguments}: {line}"),
        }
    }
    assert_eq!(running, None, "{arguments}: a phase has no end");
    phases
}

/// Phases in which no total was ever told.
fn without_total(folder: &Folder, arguments: &str) -> BTreeSet<String> {
    let ran = folder.ok(&format!("{arguments} --progress json"));
    let events: Vec<Value> = ran.stderr.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let has_total = |event: &&Value| event["total"].as_u64() > Some(0);
    let name = |event: &Value| event["phase"].as_str().unwrap_or_default().to_owned();
    let told: BTreeSet<String> = events.iter().filter(has_total).map(name).collect();
    events.iter().map(name).filter(|name| !told.contains(name)).collect()
}

fn folder() -> Folder {
    let folder = Folder::with_clouds("in.csv", 240, 12);
    folder.write("new.csv", clouds(90, 0));
    folder
}

#[test]
fn events_are_well_formed() {
    let folder = folder();
    let label = "label in.csv --label-column kind -o out.csv";
    for method in ["harmonic", "low-rank", "forest", "auto", "lapsvm", "linear", "unfolded-gnn", "simple-harmonic"] {
        let found = phases(&folder, &format!("{label} --method {method} --model {method}.model"));
        assert!(found.len() > 2 && found[0] == "read", "{method}: {found:?}");
    }
    phases(&folder, &format!("{label} --method harmonic --weights learned --report page.html --save-graph g.csv"));
    phases(&folder, "graph in.csv --drop kind -o graph.npz");
    phases(&folder, "sparsify g.csv -o sparse.npz");
    phases(&folder, "suggest in.csv --label-column kind -n 6");
    phases(&folder, "audit in.csv --label-column kind");
    phases(&folder, "compare in.csv --label-column kind --methods harmonic,forest --repeats 2");
    for model in ["harmonic", "low-rank", "forest"] {
        phases(&folder, &format!("predict {model}.model new.csv -o new-labels.csv"));
    }
}

#[test]
fn long_phases_tell_their_total() {
    let folder = folder();
    let label = "label in.csv --label-column kind -o out.csv";
    // What takes time on large data, by phase.
    let long: [(&str, &[&str]); 4] = [
        ("harmonic", &["graph", "solve", "write"]),
        ("forest", &["hold out", "grow", "apply"]),
        ("low-rank", &["landmarks", "select", "sums"]),
        ("auto", &["graph", "choose"]),
    ];
    for (method, names) in long {
        let silent = without_total(&folder, &format!("{label} --method {method}"));
        assert!(names.iter().all(|name| !silent.contains(*name)), "{method}: {silent:?}");
    }
}

#[test]
fn quiet_runs_print_nothing_on_standard_error() {
    let folder = folder();
    // No label reaches the rows of the third kind.
    folder.write("two.csv", clouds(240, 12).replace("cedar", ""));
    let label = "label two.csv --label-column kind --method harmonic";
    assert!(folder.ok(&format!("{label} -o out.csv")).stderr.contains("warning: "));
    for arguments in [
        &format!("{label} -o -"),
        &format!("{label} --model m.model -o out.csv"),
        "graph in.csv --drop kind",
        "suggest in.csv --label-column kind -n 6",
        "audit in.csv --label-column kind",
        "compare in.csv --label-column kind --methods harmonic --repeats 2",
        "predict m.model new.csv -o new-labels.csv",
        "describe in.csv",
        "demo -o demo",
    ] {
        assert_eq!(folder.ok(&format!("{arguments} -q")).stderr, "", "{arguments}");
    }
}
