//! Kernel machines from the shell: labels, models, comparison, plans, and what they refuse.

use crate::common::{Folder, clouds};

#[test]
fn both_methods_label_and_keep_a_model() {
    let folder = Folder::with_clouds("in.csv", 300, 6);
    folder.write("new.csv", clouds(40, 0));
    let kinds = ["", "--kernel poly --degree 2", "--kernel low-rank --n-landmarks 30", "--kernel linear --bias"];
    for (method, kind) in ["lapsvm", "laprls"].iter().flat_map(|method| kinds.iter().map(move |kind| (method, kind))) {
        let run = format!("label in.csv --label-column kind --method {method} {kind} -o out.csv --model m.lapwing");
        let object = folder.ok(&format!("{run} --report r.html --json --seed 1")).json();
        assert_eq!(object["method"], *method);
        assert!(object["parts"]["lapsvm"]["objective"].as_array().is_some_and(|all| !all.is_empty()), "{object}");
        assert!(folder.read("r.html").contains(method));
        folder.ok("predict m.lapwing new.csv -o new-labels.csv");
        assert_eq!(folder.read("new-labels.csv").lines().count(), 41);
        let twice = folder.read("out.csv");
        folder.ok(&format!("{run} --threads 3 --seed 1"));
        assert_eq!(folder.read("out.csv"), twice, "{kind}");
    }
}

#[test]
fn every_solver_is_at_hand() {
    let folder = Folder::with_clouds("in.csv", 300, 9);
    for solver in ["newton", "cg", "dual", "cg --stopping validation", "cg --stopping mixed"] {
        let run = format!("label in.csv --label-column kind --method lapsvm --solver {solver} -o out.csv --json");
        let object = folder.ok(&run).json();
        assert_eq!(object["parts"]["lapsvm"]["solver"], solver.split(' ').next().unwrap());
    }
    let table = folder.ok("compare in.csv --label-column kind --labeled 12 --repeats 1").stdout;
    assert!(table.contains("lapsvm") && table.contains("laprls"), "{table}");
}

#[test]
fn plans_say_where_the_gram_matrix_goes() {
    let folder = Folder::with_clouds("in.csv", 300, 9);
    let plan =
        |options: &str| folder.ok(&format!("label in.csv --label-column kind --method lapsvm {options} --plan")).stdout;
    assert!(plan("").contains("kernel "));
    assert!(plan("--kernel low-rank").contains("landmarks"));
}

#[test]
fn what_cannot_be_is_told_before_anything_is_read() {
    let folder = Folder::new();
    let refused = |arguments: &str| folder.refused(arguments);
    let label = "label nowhere.csv --label-column y -o out.csv --method";
    assert!(
        refused(&format!("{label} lapsvm --ambient-reg 0")).contains("--ambient-reg is 0; expected a number above 0")
    );
    assert!(refused(&format!("{label} lapsvm --bandwidth -1")).contains("expected a number above 0"));
    assert!(
        refused(&format!("{label} lapsvm --n-landmarks few"))
            .contains("expected a whole number of at least 1 and at most 2048, auto, or none")
    );
    assert!(refused(&format!("{label} laprls --solver dual")).contains("--solver is dual"));
    assert!(refused(&format!("{label} lapsvm --graph-bandwidth -1")).contains("--graph-bandwidth is -1"));
    assert!(refused(&format!("{label} lapsvm --tol 2")).contains("--tol is 2"));
    let graph = "label --graph nowhere.npz --labels none.csv --method lapsvm -o out.csv";
    assert!(refused(graph).contains("the method lapsvm needs features, not a graph"));
}
