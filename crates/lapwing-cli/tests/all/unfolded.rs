//! Graph networks from the shell: features with a graph, models, graphs of new rows, and what is refused.

use crate::common::{Folder, clouds};

/// Features of 60 nodes, nearly right about their side, edges along two rings, and a label on either.
fn rings() -> Folder {
    let folder = Folder::new();
    let side = |i: usize| if (i < 30) != i.is_multiple_of(7) { 1.0 } else { -1.0 };
    let rows: String = (0..60).map(|i| format!("{:?},{:?}\n", side(i), (i % 5) as f64)).collect();
    folder.write("nodes.csv", format!("side,noise\n{rows}"));
    let ring = |first: usize| (0..30).map(move |i| format!("{},{}\n", first + i, first + (i + 1) % 30));
    folder.write("edges.csv", format!("u,v\n{}", ring(0).chain(ring(30)).collect::<String>()));
    folder.write("known.csv", "row,label\n1,left\n2,left\n31,right\n32,right\n");
    folder
}

#[test]
fn features_and_a_graph_go_together() {
    let folder = rings();
    let run = "label nodes.csv --graph edges.csv --labels known.csv --method unfolded-gnn --graph-reg 5 -o out.csv";
    let object = folder.ok(&format!("{run} --json --model m.lapwing --report r.html")).json();
    assert_eq!(object["method"], "unfolded-gnn");
    assert_eq!(object["graph"]["n_edges"], 60);
    assert!(object["parts"]["unfolded"]["loss"].as_array().is_some_and(|curve| curve.len() > 1), "{object}");
    assert!(folder.read("r.html").contains("Training"));
    let table = folder.read("out.csv");
    let right =
        table.lines().skip(1).enumerate().filter(|(i, line)| line.contains(if *i < 30 { "left" } else { "right" }));
    assert!(right.count() >= 57, "{table}");
    for options in ["--threads 1", "--threads 3"] {
        folder.ok(&format!("{run} {options}"));
        assert_eq!(folder.read("out.csv"), table);
    }
    // The same nodes and edges once more are nothing new.
    folder.ok("predict m.lapwing nodes.csv --graph edges.csv -o again.csv");
    let labels = |text: &str| text.lines().map(|line| line.split(',').nth(1).unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(labels(&folder.read("again.csv")), labels(&table));
    folder.ok("predict m.lapwing nodes.csv -o alone.csv");
    assert!(folder.ok(&format!("{run} --plan")).stdout.contains("60"));
}

#[test]
fn every_solver_is_at_hand() {
    let folder = rings();
    for options in [
        "--solver direct",
        "--solver rough-pcg --loss mse",
        "--solver herta --edges 0.9",
        "--solver herta --optimizer adam",
        "--solver matrix-free --l2-reg 0.5",
        "--solver gd",
        "--solver adam --learning-rate 0.1",
        "--steps 6",
        "--hidden 4 --max-iter 30",
        "--attention 1 --bias=false --self-loop 0.5",
    ] {
        let run = format!("label nodes.csv --graph edges.csv --labels known.csv --method unfolded-gnn {options}");
        let object = folder.ok(&format!("{run} --json -o out.csv")).json();
        if let Some(solver) = options.strip_prefix("--solver ") {
            assert_eq!(object["parts"]["unfolded"]["solver"], solver.split(' ').next().unwrap());
        }
    }
}

#[test]
fn features_alone_make_their_graph_and_methods_are_compared() {
    let folder = Folder::with_clouds("in.csv", 300, 9);
    folder.write("new.csv", clouds(40, 0));
    folder.ok("label in.csv --label-column kind --method unfolded-gnn -o out.csv --model m.lapwing");
    folder.ok("predict m.lapwing new.csv -o new-labels.csv");
    assert_eq!(folder.read("new-labels.csv").lines().count(), 41);
    let run = "compare in.csv --label-column kind --labeled 12 --repeats 1 --methods unfolded-gnn,harmonic";
    assert!(folder.ok(run).stdout.contains("unfolded-gnn"));
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = rings();
    let base = "label nodes.csv --graph edges.csv --labels known.csv -o out.csv";
    let text = |options: &str| folder.error(&format!("{base} {options}"));
    assert!(text("--method linear").contains("leave --graph out"));
    assert!(text("--method low-rank").contains("leave --graph out"));
    assert!(text("--method unfolded-gnn --solver herta --edges 2").contains("--edges is 2"));
    assert!(text("--method unfolded-gnn --tol 0").contains("--tol is 0"));
    assert!(text("--method unfolded-gnn --optimizer cg").contains("--optimizer is cg"));
    folder.write("few.csv", "side,noise\n1.0,2.0\n-1.0,0.0\n");
    let few = folder.error("label few.csv --graph edges.csv --labels known.csv --method unfolded-gnn -o out.csv");
    assert!(few.contains("known.csv, line 3: row 2 is out of range; the data has 2 rows"), "{few}");
    assert!(folder.error("graph nodes.csv --graph edges.csv -o out.npz").contains("not both"));
    folder.ok("label nodes.csv --labels known.csv --method lapsvm -o out2.csv --model m.lapwing");
    let other = folder.error("predict m.lapwing nodes.csv --graph edges.csv -o out.csv");
    assert!(other.contains("have no use"), "{other}");
}
