//! Messages in the words of the user: classes by their names, options as they are typed, advice that can be followed.

use crate::common::Folder;

/// Two groups of 30 points; every fifth of the first has the label `first`, of the second `second`.
fn table(first: &str, second: &str) -> String {
    let label = |row: usize| if row.is_multiple_of(5) { [first, second][row / 30] } else { "" };
    let line = |row: usize| format!("{},{},{}\n", row % 6, row % 5 + 100 * (row / 30), label(row));
    "x,y,kind\n".to_owned() + &(0..60).map(line).collect::<String>()
}

#[test]
fn one_class_is_called_by_its_name() {
    let folder = Folder::new();
    folder.write("in.csv", table("spam", "spam"));
    for method in ["harmonic", "low-rank", "lapsvm", "nearest-label"] {
        let ran = folder.ok(&format!("label in.csv --label-column kind -o out.csv --method {method}"));
        let said = "warning: all labels are of one class, 'spam': every row will get it";
        assert!(ran.stderr.contains(said), "{method}: {}", ran.stderr);
    }
}

#[test]
fn compare_and_label_name_the_same_options() {
    let folder = Folder::new();
    folder.write("in.csv", table("ham", "spam"));
    let cases = [
        ("lapsvm", "--tol 2", "--tol is 2;"),
        ("laprls", "--tol 2", "--tol is 2;"),
        ("lapsvm", "--n-landmarks 9000", "--n-landmarks is 9000;"),
        ("unfolded-gnn", "--tol 0", "--tol is 0;"),
        ("unfolded-gnn", "--edges 2", "--edges is 2;"),
        ("simple-harmonic", "--n-eigenvectors 0", "--n-eigenvectors is 0;"),
        ("simple-harmonic", "--n-eigenvectors 61", "--n-eigenvectors is 61;"),
        ("eigenfunction", "--n-eigenfunctions 0", "--n-eigenfunctions is 0;"),
        ("subsampling", "--n-subsample 0", "--n-subsample is 0;"),
        // Found by the fit, not before.
        ("subsampling", "--n-subsample 1", "--n-subsample is 1;"),
    ];
    for (method, options, said) in cases {
        let input = format!("in.csv --label-column kind {options}");
        let label = folder.error(&format!("label {input} --method {method} -o out.csv"));
        let compare = folder.error(&format!("compare {input} --methods {method} --labeled 4"));
        assert!(label.starts_with(said), "{label}");
        assert!(compare.starts_with(said), "{compare}");
    }
}

#[test]
fn rows_out_of_reach_are_advised_by_what_can_be_changed() {
    let folder = Folder::new();
    folder.write("in.csv", table("spam", ""));
    let ran = folder.ok("label in.csv --label-column kind -o out.csv -k 4");
    assert!(ran.stderr.contains("label one row in each, or raise the number of neighbors"), "{}", ran.stderr);
    let edges: String = (1..60).filter(|&i| i != 30).map(|i| format!("{},{i}\n", i - 1)).collect();
    folder.write("edges.csv", "source,target\n".to_owned() + &edges);
    folder.write("known.csv", "row,label\n0,spam\n10,ham\n");
    for method in ["harmonic", "sparse-harmonic", "simple-harmonic"] {
        let ran = folder.ok(&format!("label --graph edges.csv --labels known.csv -o out.csv --method {method}"));
        let advice = "label one row in each, or give a graph with edges between them and the labeled rows";
        assert!(ran.stderr.contains(advice), "{method}: {}", ran.stderr);
    }
}
