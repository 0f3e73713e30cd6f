//! Input that cannot be used: what the program says, and that it leaves nothing behind.

use crate::common::{Folder, assert_says, clouds, npy, truncate};

const LABEL: &str = "--label-column kind -o out.csv";

/// The message about a table.
fn about_table(table: &str, options: &str) -> String {
    let folder = Folder::new();
    folder.write("in.csv", table);
    folder.error(&format!("label in.csv {options}"))
}

#[test]
fn missing_value() {
    let mut lines: Vec<String> = clouds(60, 2).lines().map(str::to_owned).collect();
    lines[18] = "NaN,0.5,".into();
    assert_says(
        &about_table(&(lines.join("\n") + "\n"), &format!("{LABEL} --prepare none")),
        &["in.csv", "line 19", "NaN", "'x'", "impute", "--drop x"],
    );
    assert_says(
        &about_table(&(lines.join("\n") + "\n"), &format!("{LABEL} --prepare none --standardize")),
        &["line 19", "NaN"],
    );
}

#[test]
fn unknown_columns() {
    assert_says(&about_table(&clouds(60, 2), "--label-column kond -o out.csv"), &["no column 'kond'", "kind"]);
    assert_says(&about_table(&clouds(60, 2), &format!("{LABEL} --columns x,z")), &["no column 'z'"]);
    assert_says(&about_table(&clouds(60, 2), &format!("{LABEL} --drop z")), &["no column 'z'"]);
    assert_says(&about_table(&clouds(60, 2), &format!("{LABEL} --drop x,y")), &["at least one column"]);
}

#[test]
fn no_labels() {
    assert_says(&about_table(&clouds(60, 0), LABEL), &["no row has a label"]);
    assert_says(&about_table(&clouds(60, 2), "-o out.csv"), &["no labels", "--label-column", "--labels"]);
}

#[test]
fn too_many_neighbors() {
    assert_says(&about_table(&clouds(15, 2), &format!("{LABEL} --weights learned")), &["--n-neighbors is 15"]);
    assert_says(&about_table(&clouds(60, 2), &format!("{LABEL} -k 0")), &["--n-neighbors is 0"]);
}

#[test]
fn ragged_and_empty_tables() {
    let ragged = clouds(60, 2) + "1.0,2.0,x,y\n";
    assert_says(&about_table(&ragged, LABEL), &["in.csv, line 62", "4 fields", "3"]);
    assert_says(&about_table("", LABEL), &["in.csv", "empty"]);
    assert_says(&about_table("x,y,kind\n", LABEL), &["no rows"]);
}

#[test]
fn files_that_are_not_there_or_not_known() {
    let folder = Folder::new();
    assert_says(&folder.error(&format!("label nowhere.csv {LABEL}")), &["nowhere.csv", "No such file"]);
    folder.write("in.doc", [0; 9]);
    assert_says(&folder.error(&format!("label in.doc {LABEL}")), &["in.doc", ".parquet"]);
    folder.write("in.xlsx", "PK\x03\x04");
    assert_says(&folder.error(&format!("label in.xlsx {LABEL}")), &["in.xlsx", "the archive cannot be read"]);
}

#[test]
fn truncated_files() {
    let folder = Folder::with_clouds("in.csv", 60, 2);
    folder.write("labels.csv", "0,a\n1,b\n");
    folder.write("in.npy", npy(60, 2, (0..119).map(|i| i as f32)));
    assert_says(&folder.error("label in.npy --labels labels.csv -o out.csv"), &["in.npy", "truncated"]);
    folder.ok("graph in.csv --drop kind -o graph.npz");
    truncate(&folder.path("graph.npz"), 0.7);
    assert_says(&folder.error("label --graph graph.npz --labels labels.csv -o out.csv"), &["graph.npz", "truncated"]);
    folder.ok("graph in.csv --drop kind -o edges.parquet");
    truncate(&folder.path("edges.parquet"), 0.7);
    let message = folder.error("label edges.parquet --labels labels.csv -o out.csv");
    assert_says(&message, &["edges.parquet", "damaged"]);
}

#[test]
fn graphs_with_impossible_weights() {
    let folder = Folder::new();
    folder.write("labels.csv", "0,a\n1,b\n");
    folder.write("negative.csv", "u,v,weight\n0,1,1.0\n1,2,-0.5\n");
    let message = folder.error("label --graph negative.csv --labels labels.csv -o out.csv");
    assert_says(&message, &["negative.csv", "weight -0.5", "at least 0"]);
    folder.write("asymmetric.csv", "u,v,weight\n0,1,1.0\n1,0,2.0\n1,2,1.0\n");
    let message = folder.error("label --graph asymmetric.csv --labels labels.csv -o out.csv");
    assert_says(&message, &["asymmetric.csv", "not symmetric", "from 0 to 1 is 1", "from 1 to 0 it is 2"]);
}

#[test]
fn labels_that_do_not_fit() {
    let folder = Folder::with_clouds("in.csv", 60, 2);
    folder.write("long.txt", "a\n".repeat(61));
    folder.write("beyond.csv", "0,a\n60,b\n");
    assert_says(&folder.error("label in.csv --drop kind --labels long.txt -o out.csv"), &["60 labels", "61 labels"]);
    let message = folder.error("label in.csv --drop kind --labels beyond.csv -o out.csv");
    assert_says(&message, &["row 60 is out of range", "60 rows"]);
}

#[test]
fn one_class_is_only_worth_a_warning() {
    let folder = Folder::new();
    folder.write("in.csv", clouds(60, 2).replace("birch", "alder").replace("cedar", "alder"));
    let ran = folder.ok(&format!("label in.csv {LABEL}"));
    assert_says(&ran.stderr, &["warning: ", "one class"]);
    assert_eq!(folder.ok(&format!("label in.csv {LABEL} -q")).stderr, "");
}

#[test]
fn options_that_contradict_each_other() {
    let folder = Folder::with_clouds("in.csv", 60, 2);
    folder.write("edges.csv", "0,1\n1,2\n");
    let says = |arguments: &str, parts: &[&str]| {
        let ran = folder.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments}");
        assert!(ran.stderr.starts_with("error: "), "{arguments}: {}", ran.stderr);
        assert_says(&ran.stderr, parts);
    };
    says("label in.csv --label-column kind --labels edges.csv -o out.csv", &["--label-column", "--labels"]);
    says("label in.csv --graph edges.csv --labels edges.csv --method nearest-label -o out.csv", &["leave --graph out"]);
    says("label --graph edges.csv --label-column kind -o out.csv", &["--labels FILE"]);
    says("label --graph edges.csv --labels in.csv --columns a -o out.csv", &["--columns", "features"]);
    says("label --graph edges.csv --labels in.csv -k 5 -o out.csv", &["--n-neighbors", "--graph"]);
    says("label --graph edges.csv --labels in.csv --model m -o out.csv", &["--model", "features"]);
    says("label in.npy --label-column kind -o out.csv", &["--label-column", "--labels FILE"]);
    says("label in.csv --label-column kind", &["--output"]);
    says("label in.csv --label-column kind -o - --json", &["--json", "-o -"]);
    says("label in.csv --label-column kind -o out.txt", &["--output is out.txt", ".parquet"]);
    says("label in.csv --label-column kind -o out.csv --report r.pdf", &["--report is r.pdf", ".html"]);
    says(
        "label in.csv --label-column kind -o out.csv --method harmonic --form stable --clamp hard",
        &["--clamp is hard", "plain"],
    );
    says("label in.csv --label-column kind -o out.csv --method harmonic --graph-reg 0", &["--graph-reg is 0", "clamp"]);
    says("label in.csv --label-column kind -o out.csv --method harmonic --graph-reg lots", &["--graph-reg", "auto"]);
    says("label in.csv --label-column kind -o out.csv --method magic", &["magic", "harmonic"]);
    says(
        "label in.csv --label-column kind -o out.csv --metric manhattan",
        &["manhattan", "euclidean, cosine, inner-product"],
    );
    says(
        "label in.csv --label-column kind -o out.csv --method harmonic --class-prior 0.5,0.5",
        &["--class-prior", "3"],
    );
    says("label in.csv --label-column kind -o out.csv --threads 0", &["--threads is 0"]);
    says("compare in.csv --label-column kind --labeled 6", &["--labeled is 6", "6"]);
    says("demo --colour", &["--colour"]);
}
