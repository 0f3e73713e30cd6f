//! The baselines from the shell: labels, models, comparison, and what they refuse.

use crate::common::{Folder, clouds};

const FACTORS: [&str; 3] = ["anchor", "nystrom", "glnp"];
const METHODS: [&str; 7] =
    ["eigenfunction", "subsampling", "simple-harmonic", "nearest-label", "linear", "forest", "majority"];

#[test]
fn every_baseline_labels_and_keeps_a_model() {
    let folder = Folder::with_clouds("in.csv", 300, 3);
    folder.write("new.csv", clouds(40, 0));
    let few = ["--n-eigenfunctions 6", "--n-subsample 60", "--n-eigenvectors 3", "", "", "--n-trees 20", ""];
    for (method, few) in METHODS.into_iter().zip(few) {
        let run = format!(
            "label in.csv --label-column kind --method {method} {few} --seed 1 -o {method}.csv --model m.lapwing"
        );
        let object = folder.ok(&format!("{run} --report r.html --json")).json();
        assert_eq!(object["method"], method);
        assert!(folder.read("r.html").contains(method));
        folder.ok("predict m.lapwing new.csv -o new-labels.csv");
        assert_eq!(folder.read("new-labels.csv").lines().count(), 41);
        let twice = folder.read(&format!("{method}.csv"));
        folder.ok(&format!("{run} --threads 3"));
        assert_eq!(folder.read(&format!("{method}.csv")), twice);
        let planned = folder.ok(&format!("label in.csv --label-column kind --method {method} --plan --json")).json();
        assert!(planned["peak_bytes"].as_u64() > Some(0));
    }
}

#[test]
fn compare_takes_all_methods_or_those_that_a_graph_is_enough_for() {
    let folder = Folder::with_clouds("in.csv", 300, 100);
    let table = folder.ok("compare in.csv --label-column kind --labeled 12 --repeats 1").stdout;
    assert!(METHODS.iter().all(|method| table.contains(method)), "{table}");
    // Factors of low-rank propagation where they are asked for.
    assert!(table.contains("low-rank") && !FACTORS.iter().any(|method| table.contains(method)), "{table}");
    let some =
        "compare in.csv --label-column kind --labeled 12 --repeats 1 --n-landmarks 9 --methods anchor,nystrom,glnp";
    let table = folder.ok(some).stdout;
    assert!(FACTORS.iter().all(|method| table.contains(method)), "{table}");
    let kinds: String =
        clouds(300, 100).lines().skip(1).map(|line| line.rsplit(',').next().unwrap().to_owned() + "\n").collect();
    folder.write("kinds.txt", kinds);
    folder.ok("graph in.csv --drop kind -o g.npz");
    let table = folder.ok("compare --graph g.npz --labels kinds.txt --labeled 12 --repeats 1").stdout;
    assert!(["simple-harmonic", "majority"].iter().all(|method| table.contains(method)), "{table}");
    assert!(["nearest-label", "linear", "forest"].iter().all(|method| !table.contains(method)), "{table}");
}

#[test]
fn what_cannot_be_is_told_before_anything_is_read() {
    let folder = Folder::new();
    let told = folder.refused("label --graph nowhere.npz --labels none.csv --method nearest-label -o out.csv");
    assert!(told.contains("the method nearest-label needs features, not a graph"), "{told}");
    let told =
        folder.refused("label nowhere.csv --label-column y --method eigenfunction --n-eigenfunctions 0 -o out.csv");
    assert!(told.contains("--n-eigenfunctions is 0; expected a whole number of at least 1"), "{told}");
    let told = folder.refused("compare --graph nowhere.npz --labels none.csv --labeled 3 --methods subsampling");
    assert!(told.contains("subsampling needs features"), "{told}");
}
