//! `lapwing label --method sparse-harmonic`: labels for the nodes of a graph that is read as a stream.

use std::io::Write;
use std::process::Stdio;

use crate::common::{Folder, Noise};

/// Two dense blocks of `n` nodes that hang together by two edges, as lines `u,v`.
fn blocks(n: u32, share: f64) -> String {
    let mut noise = Noise(3);
    let mut lines = String::from("u,v\n");
    for first in [0, n] {
        for u in 0..n {
            (0..u).filter(|_| noise.next() < share).for_each(|v| lines += &format!("{},{}\n", first + u, first + v));
        }
    }
    lines + &format!("{},{}\n3,{}\n", n - 1, n, n + 3)
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("edges.csv", blocks(120, 0.7));
    folder.write("known.csv", "row,label\n5,left\n150,right\n");
    folder
}

fn classes(table: &str) -> Vec<String> {
    table.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().to_owned()).collect()
}

#[test]
fn a_stream_is_labeled_like_the_graph() {
    let folder = folder();
    let arguments = "label --graph edges.csv --labels known.csv --seed 1";
    folder.ok(&format!("{arguments} -o whole.csv"));
    let ran =
        folder.ok(&format!("{arguments} -o out.csv --method sparse-harmonic --edge-budget 1200 --json --threads 2"));
    let report = ran.json();
    let kept = &report["parts"]["sparsify"];
    assert!(kept["n_edges"].as_u64().unwrap() > 9000 && kept["n_kept"].as_u64().unwrap() < 1600, "{kept}");
    assert_eq!(report["parts"]["refine"]["passes"], 3);
    assert_eq!(classes(&folder.read("out.csv")), classes(&folder.read("whole.csv")));
    let ran = folder.ok(&format!("{arguments} -o out2.csv --method sparse-harmonic --edge-budget 1200 --threads 1"));
    assert!(ran.stdout.contains("edges kept") && ran.stdout.contains("after 3 passes"), "{}", ran.stdout);
    assert_eq!(folder.read("out2.csv"), folder.read("out.csv"));
}

#[test]
fn a_pipe_is_labeled_without_refinement() {
    let folder = folder();
    let arguments =
        "label --graph - --nodes 240 --labels known.csv -o out.csv --method sparse-harmonic --edge-budget 1200";
    let mut child =
        folder.command(&format!("{arguments} --json")).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(folder.read("edges.csv").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["parts"]["refine"].is_null() && !report["parts"]["sparsify"].is_null());
    let classes = classes(&folder.read("out.csv"));
    assert!(classes.iter().enumerate().filter(|(row, class)| (*row < 120) == (*class == "left")).count() > 230);
}

#[test]
fn bad_input_is_named() {
    let folder = folder();
    let says = |arguments: &str, text: &str| {
        let error = folder.error(&format!("label --labels known.csv -o out.csv {arguments}"));
        assert!(error.contains(text), "{arguments}: {error}");
    };
    says("--graph edges.csv --checkpoint c", "--checkpoint needs --method sparse-harmonic");
    says("--graph edges.csv --nodes 9", "is out of range; the data has 9 rows");
    let sparse = "--method sparse-harmonic";
    says(&format!("--graph edges.csv --nodes 200 {sparse}"), "node");
    says(
        &format!("--graph - --nodes 240 --refinements 2 {sparse}"),
        "--refinements needs edges that can be read again",
    );
    says(&format!("--graph - --nodes 240 --checkpoint c {sparse}"), "cannot be read again");
    says(&format!("--graph edges.csv --clamp hard --form plain --refinements 1 {sparse}"), "clamped hard");
    says(&format!("--graph edges.csv --edge-budget 0 {sparse}"), "edge-budget is 0");
    folder.write("bad.csv", "u,v,weight\n0,1,1\n1,2,-1\n");
    says(&format!("--graph bad.csv {sparse}"), "line 3");
}

#[test]
fn features_with_many_neighbors_are_never_a_graph_and_models_are_kept() {
    let folder = Folder::with_clouds("points.csv", 400, 6);
    let graph = "-k 150 --method sparse-harmonic --edge-budget 3000 --seed 2";
    let ran = folder.ok(&format!("label points.csv --label-column kind -o out.csv --model m.lapwing --json {graph}"));
    let report = ran.json();
    assert!(report["parts"]["sparsify"]["rounds"].as_u64().unwrap() > 0, "{report}");
    folder.ok("predict m.lapwing points.csv -o again.csv");
    let (labels, again) = (classes(&folder.read("out.csv")), classes(&folder.read("again.csv")));
    assert!(labels.iter().zip(&again).filter(|(a, b)| a == b).count() >= 396);
    let plan = folder.ok(&format!("label points.csv --label-column kind --plan --json {graph}")).json();
    assert!(plan["steps"].as_array().unwrap().iter().any(|step| step["name"] == "sparsify"), "{plan}");
}

#[test]
fn a_killed_run_goes_on_to_the_same_labels() {
    let folder = Folder::new();
    let mut noise = Noise(5);
    let mut edges = String::from("u,v\n");
    for _ in 0..1_500_000 {
        let (u, v) = ((noise.next() * 1500.0) as u32, (noise.next() * 1500.0) as u32);
        // Mostly within either half.
        let v = if noise.next() < 0.8 { u / 750 * 750 + v % 750 } else { v };
        edges += &format!("{u},{v}\n");
    }
    folder.write("edges.csv", edges);
    folder.write("known.csv", "row,label\n5,left\n1400,right\n");
    let arguments = "label --graph edges.csv --nodes 1500 --labels known.csv --method sparse-harmonic \
                     --edge-budget 45000 --capacity 180000 --sampler kelner-levin --seed 3 --refinements 0 \
                     --probabilities";
    folder.ok(&format!("{arguments} -o expected.csv"));
    let kept = format!("{arguments} -o out.csv --checkpoint state");
    folder.kill_after("state", &kept);
    assert!(!folder.path("out.csv").exists());
    let ran = folder.ok(&kept);
    assert!(ran.stdout.contains("resumed after row"), "{}", ran.stdout);
    assert_eq!(folder.read("out.csv"), folder.read("expected.csv"));
    assert!(!folder.path("state").exists());
}
