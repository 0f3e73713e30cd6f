//! Graphs that are learned, from the shell.

use crate::common::{Folder, assert_says, clouds};

#[test]
fn graph_learns_describes_and_writes() {
    let folder = Folder::with_clouds("in.csv", 300, 3);
    for weights in ["learned", "learned-l2"] {
        let run = format!("graph in.csv --drop kind --weights {weights} --n-neighbors 8");
        let ran = folder.ok(&format!("{run} -o graph.npz --report r.html"));
        for part in ["neighbors per row", "sparsity", "relative duality gap", "rows with all allowed pairs"] {
            assert!(ran.stdout.contains(part) && folder.read("r.html").contains(part), "{part}: {}", ran.stdout);
        }
        let object = folder.ok(&format!("{run} --json --tol 1e-10 --solver newton")).json();
        let learned = &object["graph"]["learned"];
        assert!(learned["gap"].as_f64().unwrap() <= 1e-10 && learned["converged"] == true, "{learned}");
        assert!((learned["mean_neighbors"].as_f64().unwrap() / 8.0 - 1.0).abs() < 0.35, "{learned}");
        // The same edges for any number of threads, as weights and from a file.
        folder.ok(&format!("{run} -o one.csv --threads 1"));
        folder.ok(&format!("graph in.csv --drop kind --weights {weights} -k 8 -o two.csv --threads 2"));
        assert_eq!(folder.read("one.csv"), folder.read("two.csv"));
        let given = folder.ok("graph --graph graph.npz --json").json();
        assert_eq!(given["graph"]["n_edges"], learned["n_edges"]);
    }
}

#[test]
fn repairs_and_full_support_agree() {
    let folder = Folder::with_clouds("in.csv", 200, 3);
    let edges = |options: &str| {
        let run = format!("graph in.csv --drop kind --weights learned -k 6 --sparsity 4 --tol 1e-13 --json {options}");
        folder.ok(&run).json()["graph"]["learned"].clone()
    };
    let (full, repaired) = (edges("--support-factor none"), edges("--support-factor 1 --repair"));
    assert_eq!(full["n_edges"], repaired["n_edges"]);
    assert_eq!((&full["n_uncertified"], &repaired["n_uncertified"]), (&0.into(), &0.into()));
    let close = |name: &str| (full[name].as_f64().unwrap() - repaired[name].as_f64().unwrap()).abs() < 1e-6;
    assert!(close("objective") && full["n_allowed"].as_u64() > repaired["n_allowed"].as_u64());
}

#[test]
fn every_method_that_takes_a_graph_takes_learned_weights() {
    let folder = Folder::with_clouds("in.csv", 300, 9);
    folder.write("new.csv", clouds(40, 0));
    for method in ["harmonic", "sparse-harmonic", "lapsvm", "laprls", "simple-harmonic", "subsampling"] {
        let run = format!("label in.csv --label-column kind --method {method} --weights learned -k 8 --seed 1");
        folder.ok(&format!("{run} -o out.csv --model m.lapwing --report r.html"));
        assert_eq!(folder.read("out.csv").lines().count(), 301, "{method}");
        folder.ok("predict m.lapwing new.csv -o new-labels.csv");
        assert_eq!(folder.read("new-labels.csv").lines().count(), 41);
        folder.ok(&format!("{run} --plan"));
    }
    let table =
        "compare in.csv --label-column kind --labeled 12 --repeats 1 --weights learned-l2 --methods harmonic,lapsvm";
    assert!(folder.ok(table).stdout.contains("lapsvm"));
}

#[test]
fn options_that_cannot_be_are_named() {
    let folder = Folder::with_clouds("in.csv", 30, 3);
    for (options, said) in [
        ("--repair", "--repair changes nothing without --weights learned or learned-l2"),
        ("--weights learned -k 29", "--n-neighbors is 29; expected at most 28"),
        ("--weights learned -k 3 --support-factor 0.2", "--support-factor is 0.2"),
        ("--weights learned -k 3 --tol 2", "--tol is 2"),
        (
            "--weights learned -k 3 --bandwidth 2",
            "--bandwidth changes nothing without --weights self-tuning or gaussian",
        ),
    ] {
        assert_says(&folder.error(&format!("graph in.csv --drop kind {options}")), &[said]);
    }
    let ran = folder.run("graph in.csv --drop kind --weights learned -k 3 --max-iter 1 --tol 1e-14 --strict");
    assert!(ran.code == Some(1) && ran.stderr.contains("stopped after 1 steps"), "{ran:?}");
}
