//! Rows and nodes by name: columns of ids, labels for names, edges between names.

use crate::common::{Folder, Noise, assert_says};

/// A table of three clouds whose rows have names: `p0`, `p1`, …; the kinds are in `kinds.csv`, by name and out of order.
fn folder(n_rows: usize) -> Folder {
    let folder = Folder::new();
    let (mut noise, mut table) = (Noise(7), String::from("id,x,y\n"));
    for row in 0..n_rows {
        table += &format!("p{row},{},{}\n", 4.0 * (row % 3) as f64 + noise.next(), noise.next());
    }
    folder.write("t.csv", table);
    folder.write("kinds.csv", "id,label\np5,cedar\np0,alder\np1,birch\np3,alder\np2,cedar\n");
    folder
}

/// The cells of a column of a CSV file.
fn column(text: &str, at: usize) -> Vec<&str> {
    text.lines().skip(1).filter_map(|line| line.split(',').nth(at)).collect()
}

#[test]
fn rows_have_their_names_in_labels_files_and_outputs() {
    let folder = folder(60);
    folder.ok("label t.csv --id id --labels kinds.csv --method harmonic -o out.csv --model m.lapwing");
    let out = folder.read("out.csv");
    assert!(out.starts_with("id,label,confidence,reached"), "{out}");
    assert!(column(&out, 0).iter().enumerate().all(|(row, id)| *id == format!("p{row}")));
    let kinds = ["alder", "birch", "cedar"];
    assert!(column(&out, 1).iter().enumerate().all(|(row, kind)| *kind == kinds[row % 3]), "{out}");
    // Row numbers give the same labels.
    folder.write(
        "x.csv",
        folder.read("t.csv").lines().map(|line| line.split_once(',').unwrap().1.to_owned() + "\n").collect::<String>(),
    );
    folder.write("numbers.csv", "5,cedar\n0,alder\n1,birch\n3,alder\n2,cedar\n");
    folder.ok("label x.csv --labels numbers.csv --method harmonic -o numbered.csv");
    let without_first =
        |text: &str| text.lines().skip(1).map(|line| line.split_once(',').unwrap().1.to_owned()).collect::<Vec<_>>();
    assert_eq!(without_first(&out), without_first(&folder.read("numbered.csv")));
    // The output of one run, and text with tabs, are labels files of another.
    folder.write("tabs.txt", "name\tkind\np5\tcedar\np0\talder\np1\tbirch\np3\talder\np2\tcedar\n");
    folder.ok("label t.csv --id id --labels tabs.txt --method harmonic -o tabs.csv");
    assert_eq!(folder.read("tabs.csv"), out);
    folder.ok("label t.csv --id id --labels out.csv --method harmonic -o again.csv --model m.lapwing");
    assert_eq!(column(&folder.read("again.csv"), 1), column(&out, 1));
    // The model knows the column.
    folder.ok("predict m.lapwing t.csv -o predicted.csv");
    assert_eq!(column(&folder.read("predicted.csv"), 0), column(&out, 0));
    folder.ok("predict m.lapwing x.csv -o rows.csv");
    assert!(folder.read("rows.csv").starts_with("row,"));
    folder.write("named.csv", folder.read("t.csv").replace("id,x", "key,x"));
    folder.ok("predict m.lapwing named.csv --id key -o keys.csv");
    assert!(folder.read("keys.csv").starts_with("key,label"));
    in_columns(&folder, &out);
}

/// Labels in a column beside the names, plans and comparisons.
fn in_columns(folder: &Folder, out: &str) {
    folder.write(
        "c.csv",
        folder
            .read("out.csv")
            .lines()
            .zip(folder.read("x.csv").lines())
            .map(|(a, b)| {
                let cells: Vec<&str> = a.split(',').collect();
                format!("{},{},{b}\n", cells[0], cells[1].replace("label", "kind"))
            })
            .collect::<String>(),
    );
    folder.ok("label c.csv --id id --label-column kind --method nearest-label -o column.csv");
    assert_eq!(column(&folder.read("column.csv"), 0), column(out, 0));
    folder.ok("label t.csv --id id --labels kinds.csv --plan");
    let compared =
        folder.ok("compare c.csv --id id --label-column kind --methods nearest-label --per-class 2 --repeats 1");
    assert_says(&compared.stdout, &["next: lapwing label c.csv --id id --label-column kind"]);
}

#[test]
fn rows_in_blocks_have_names_too() {
    let folder = folder(90);
    let run = "--id id --labels kinds.csv --method low-rank --n-landmarks 6";
    folder.ok(&format!("label t.csv {run} -o out.csv --model m.lapwing"));
    let out = folder.read("out.csv");
    assert!(out.starts_with("id,label,confidence,reached\np0,alder,"), "{out}");
    assert_eq!(out.lines().count(), 91);
    folder.ok("predict m.lapwing t.csv -o predicted.csv");
    assert_eq!(column(&folder.read("predicted.csv"), 0), column(&out, 0));
    let ran = folder.ok(&format!("label t.csv {run} -o out.npy"));
    assert_says(&ran.stderr, &["out.npy holds row numbers, counted from 0, and no ids"]);
    folder.ok(&format!("label t.csv {run} -o out.parquet"));
    folder.ok(
        "label out.parquet --id id --label-column label --drop reached --method low-rank --n-landmarks 6 -o again.csv --model m.lapwing",
    );
    assert!(folder.read("again.csv").starts_with("id,label,confidence,reached\np0,"));
}

#[test]
fn names_that_no_row_or_two_rows_have() {
    let folder = folder(9);
    let label = "label t.csv --id id --method harmonic -o o.csv --labels";
    folder.write("bad.csv", "id,label\nzoe,a\np1,a\np2,b\np1,b\nyan,a\np2,b\np3,\n");
    let error = folder.error(&format!("{label} bad.csv"));
    assert_says(
        &error,
        &[
            "bad.csv: 2 of 7 ids are no ids of the column 'id' of the data ('zoe' in line 2, 'yan' in line 6)",
            "1 line gives a second label to ids that have another ('p1' is 'a' in line 3 and 'b' in line 5)",
            "correct these lines, or leave the unknown ones out: --ignore-unknown",
        ],
    );
    // The second label of one row stays an error; the same label twice is none.
    let error = folder.error(&format!("{label} bad.csv --ignore-unknown"));
    assert_says(&error, &["bad.csv: 1 line gives a second label", "keep one label for each"]);
    folder.write("good.csv", "id,label\nzoe,a\np1,a\np2,b\nyan,a\np2,b\np3,\n");
    let ran = folder.ok(&format!("{label} good.csv --ignore-unknown --json"));
    let warning = "2 labels of good.csv are for ids that are not in the data, and were left out";
    assert_says(&ran.stderr, &[warning]);
    assert_eq!(ran.json()["n_labeled"], 2);
    let listed =
        ran.json()["warnings"].as_array().unwrap().iter().any(|w| w["kind"] == "not-as-given" && w["text"] == warning);
    assert!(listed, "{}", ran.stdout);
    // More labels than rows; row numbers where names are needed.
    folder.write("many.csv", (0..12).map(|row| format!("p{row},a\n")).collect::<String>());
    assert_says(&folder.error(&format!("{label} many.csv")), &["3 of 12 ids", "12 labels for 9 rows"]);
    folder.write("rows.csv", "row,label\n0,a\n1,b\n");
    assert_says(
        &folder.error(&format!("{label} rows.csv")),
        &["2 of 2 ids", "where the first is 'p0'", "'0' in line 2"],
    );
    folder.write("wide.csv", "code,score,label\np1,1,a\n");
    assert_says(
        &folder.error(&format!("{label} wide.csv")),
        &["line 1: 3 columns; expected a column 'id' of ids and a column 'label'"],
    );
    // Labels in the order of the rows need no names.
    folder.write("order.txt", "a\nb\n\na\nb\n\n\n\n\n");
    folder.ok(&format!("{label} order.txt"));
}

#[test]
fn columns_of_ids_that_cannot_be_used() {
    let folder = folder(9);
    folder.write("b.csv", "id,x\na,1\n,2\nb,3\na,4\n");
    let error = folder.error("label b.csv --id id --labels kinds.csv -o o.csv");
    assert_says(
        &error,
        &["b.csv: 1 row has no id (line 3); 1 row repeats an id of the column 'id' ('a' in line 2 and line 5); give"],
    );
    let error = |run: &str| folder.error(run);
    assert_says(&error("label t.csv --id ix --labels kinds.csv -o o.csv"), &["no column 'ix'; did you mean"]);
    assert_says(&error("label t.csv --id id --columns id,x --labels kinds.csv -o o.csv"), &["id column is 'id'"]);
    assert_says(&error("label t.csv --id id --label-column id -o o.csv"), &["another column than that of the labels"]);
    assert_says(&error("label t.csv --id label --labels kinds.csv -o o.csv"), &["rename the column of ids"]);
    assert_says(&error("label - --id id --labels kinds.csv -o o.csv"), &["can be read only once"]);
    assert_says(&error("label --graph e.csv --id id --labels kinds.csv -o o.csv"), &["--id names a column of DATA"]);
    folder.write("x.npy", crate::common::npy(9, 2, (0..18).map(|at| at as f32)));
    assert_says(
        &error("label x.npy --id id --labels kinds.csv -o o.csv"),
        &["expected a table, since ids are a column"],
    );
}

#[test]
fn minus_one_is_a_class_where_other_rows_are_empty() {
    let folder = Folder::new();
    let table = |unlabeled: &str| {
        let row = |row: i32| {
            format!(
                "{},{}\n",
                5 * (row % 2) + row / 2,
                [["1", "-1"][row as usize % 2], unlabeled][usize::from(row >= 8)]
            )
        };
        "x,y\n".to_owned() + &(0..24).map(row).collect::<String>()
    };
    folder.write("empty.csv", table(""));
    let label = "--label-column y --method nearest-label -o o.csv";
    let ran = folder.ok(&format!("label empty.csv {label}"));
    assert_says(&ran.stderr, &["-1 is used as a class, because rows without a label are empty", "--unlabeled -1"]);
    assert!(folder.read("o.csv").contains(",-1,"));
    let ran = folder.ok(&format!("label empty.csv {label} --unlabeled -1"));
    assert!(!ran.stderr.contains("used as a class") && !folder.read("o.csv").contains(",-1,"));
    assert_says(&ran.stderr, &["all labels are of one class, 1", "if -1 is the other class"]);
    folder.write("marked.csv", table("-1"));
    let ran = folder.ok(&format!("label marked.csv {label}"));
    assert!(!ran.stderr.contains("used as a class") && !folder.read("o.csv").contains(",-1,"));
    // In a labels file, a column of a Parquet table, and rows in blocks.
    folder.write(
        "y.txt",
        table("")
            .lines()
            .map(|line| line.split(',').nth(1).unwrap().to_owned() + "\n")
            .collect::<String>()
            .replacen('y', "label", 1),
    );
    let ran = folder.ok("label empty.csv --drop y --labels y.txt --method low-rank --n-landmarks 4 -o o.parquet");
    assert_says(&ran.stderr, &["-1 is used as a class"]);
    // A text that may be a marker is a class too, with a warning.
    folder.write("asked.csv", table("?"));
    let ran = folder.ok(&format!("label asked.csv {label}"));
    assert_says(&ran.stderr, &["'?' is used as a class; if it marks rows without a label, pass --unlabeled '?'"]);
    let ran = folder.ok("label asked.csv --label-column y --method nearest-label -o o.csv --unlabeled ?");
    assert!(!ran.stderr.contains("used as a class"), "{}", ran.stderr);
    folder.write("parts.csv", "x,kind\n1,1\n2,-1\n3,1\n4,\n5,-1\n6,\n");
    folder.ok("label parts.csv --label-column kind --method nearest-label -o parts.parquet");
}

/// Two rings of eight nodes each, joined by a weak edge, as lines of names.
fn rings() -> String {
    let ring = |name: char| (0..8).map(move |at| format!("{name}{at},{name}{},1\n", (at + 1) % 8)).collect::<String>();
    format!("{}a0,b0,0.01\n{}", ring('a'), ring('b'))
}

#[test]
fn nodes_have_the_names_of_their_edges() {
    let folder = Folder::new();
    folder.write("e.csv", rings());
    folder.write("k.csv", "who,team\nb3,red\na2,blue\n");
    for method in ["harmonic", "sparse-harmonic", "auto", "simple-harmonic"] {
        folder.ok(&format!("label --graph e.csv --labels k.csv --method {method} -o out.csv"));
        let out = folder.read("out.csv");
        assert!(out.starts_with("node,label,confidence,reached"), "{out}");
        assert_eq!(column(&out, 0)[..3], ["a0", "a1", "a2"], "{method}");
        let is_right = |line: &str| line.contains(if line.starts_with('a') { ",blue," } else { ",red," });
        assert!(out.lines().count() == 17 && out.lines().skip(1).all(is_right), "{method}: {out}");
    }
    folder.ok("label --graph e.csv --labels k.csv --plan");
    folder.ok("label --graph e.csv --labels k.csv --method sparse-harmonic --plan");
    folder.write("all.csv", (0..8).map(|at| format!("a{at},blue\nb{at},red\n")).collect::<String>());
    folder.ok("compare --graph e.csv --labels all.csv --methods harmonic --per-class 1 --repeats 1");
    folder.write("bad.csv", "node,label\na1,x\nc1,y\n");
    let error = folder.error("label --graph e.csv --labels bad.csv -o o.csv");
    assert_says(&error, &["bad.csv: 1 of 2 nodes are no nodes of the graph ('c1' in line 3)", "--ignore-unknown"]);
    folder.ok("label --graph e.csv --labels bad.csv --ignore-unknown -o o.csv");
    let error = folder.error("label --graph e.csv --labels k.csv --method sparse-harmonic --nodes 16 -o o.csv");
    assert_says(&error, &["--nodes is 16; expected none: the nodes have names"]);
    // Writers of graphs keep names, in files that hold some.
    folder.ok("sparsify e.csv -o sparse.csv");
    assert_says(&folder.read("sparse.csv"), &["u,v,weight\na0,a1,"]);
    folder.ok("graph --graph e.csv -o again.parquet");
    folder.ok("label --graph again.parquet --labels k.csv --method harmonic -o parquet.csv");
    assert_eq!(column(&folder.read("parquet.csv"), 0)[..2], ["a0", "a1"]);
    for run in ["sparsify e.csv -o s.npz", "graph --graph e.csv -o s.npy"] {
        assert_says(&folder.error(run), &["expected a file .csv or .parquet: the nodes have names"]);
    }
    // A name behind many numbers makes names of all.
    let late: String = (0..9500).map(|at| format!("{at},{}\n", at + 1)).chain(["7,x\n".into()]).collect();
    folder.write("late.csv", late);
    folder.ok("sparsify late.csv -o o.csv");
    assert_says(&folder.read("o.csv"), &["7,x,"]);
    let error = folder.error("sparsify late.csv --nodes 9501 -o o.csv");
    assert_says(
        &error,
        &["late.csv, line 9501: node 'x' is not an integer; if nodes have names, say so (--nodes names)"],
    );
}

#[test]
fn edges_are_read_as_their_names_and_options_say() {
    let folder = Folder::new();
    folder.write("known.csv", "row,label\n0,x\n4,y\n");
    let label = |graph: &str, options: &str| {
        let ran = folder.ok(&format!("label --graph {graph} --method harmonic {options} -o out.csv"));
        (folder.read("out.csv"), ran)
    };
    let edges = [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7)];
    let text = |line: fn(usize, usize) -> String| {
        edges.iter().enumerate().map(|(at, &(u, _))| line(at, u) + "\n").collect::<String>()
    };
    folder.write("right.csv", "source,target\n".to_owned() + &text(|_, u| format!("{u},{}", u + 1)));
    folder.write("index.csv", ",source,target\n".to_owned() + &text(|at, u| format!("{at},{u},{}", u + 1)));
    folder.write("first.csv", "weight,source,target\n".to_owned() + &text(|_, u| format!("1,{u},{}", u + 1)));
    let (expected, ran) = label("right.csv", "--labels known.csv");
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    let (out, ran) = label("index.csv", "--labels known.csv");
    assert_eq!(out, expected);
    assert_says(&ran.stderr, &["index.csv: column 1 without a name is left out"]);
    assert_eq!(label("first.csv", "--labels known.csv").0, expected);
    folder.ok("sparsify index.csv -o sparse.csv --json");
    folder.ok("label --graph index.csv --labels known.csv --method sparse-harmonic -o sparse-out.csv");
    // The first of some pairs, with and without the option.
    folder.write("pairs.csv", "a1,b1\na2,b2\na3,b3\n");
    folder.write("k.csv", "node,label\na2,x\na3,y\n");
    for option in ["", "--no-header"] {
        assert!(label("pairs.csv", &format!("--labels k.csv {option}")).0.contains("\na1,"), "{option}");
    }
    assert!(!label("pairs.csv", "--labels k.csv --header").0.contains("a1"));
    folder.write("z.csv", "source,target\n7,1\n007,2\n1,3\n2,4\n");
    folder.write("zk.csv", "row,label\n3,x\n4,y\n");
    let (out, _) = label("z.csv", "--labels zk.csv");
    assert_eq!(column(&out, 0), ["7", "1", "007", "2", "3", "4"]);
    folder.write("spaced.csv", "node,label\n3,x\n4,y\n1,x\u{a0}\n");
    let (_, ran) = label("z.csv", "--labels spaced.csv");
    assert_says(&ran.stderr, &["labels are written in several ways: ", "'x\\u{a0}' (1)", "count as one class"]);
}

#[test]
fn nodes_beside_rows_are_ids() {
    let folder = folder(16);
    let name = |row: usize| format!("p{row}");
    let edges: String = (0..15).map(|row| format!("{},{}\n", name(row), name((row + 3) % 16))).collect();
    folder.write("e.csv", &edges);
    folder.write("unknown.csv", format!("{edges}p1,zoe\n"));
    let label = "label t.csv --labels kinds.csv --method unfolded-gnn -o o.csv --model m.lapwing";
    folder.ok(&format!("{label} --id id --graph e.csv"));
    let out = folder.read("o.csv");
    assert!(out.starts_with("id,label,") && out.lines().count() == 17, "{out}");
    assert_says(
        &folder.ok(&format!("{label} --id id --graph e.csv --plan").replace("-o o.csv --model m.lapwing", "")).stdout,
        &["edges"],
    );
    let error = folder.refused(&format!("{label} --id id --graph unknown.csv"));
    assert_says(
        &error,
        &[
            "unknown.csv: 1 node, in 1 of 16 edges, is no id of the column 'id' of the data ('zoe' in line 16)",
            "--ignore-unknown",
        ],
    );
    let ran = folder.ok(&format!("{label} --id id --graph unknown.csv --ignore-unknown"));
    assert_says(&ran.stderr, &["1 node of unknown.csv is no id of the data; 1 edge with such nodes was left out"]);
    assert_eq!(folder.read("o.csv"), out);
    folder.write("numbers.csv", "0,a\n1,b\n");
    let error =
        folder.refused("label t.csv --drop id --labels numbers.csv --method unfolded-gnn --graph e.csv -o n.csv");
    assert_says(&error, &["give the column that names the rows: --id COLUMN"]);
    folder.ok("predict m.lapwing t.csv --graph e.csv -o predicted.csv");
    assert_eq!(column(&folder.read("predicted.csv"), 1), column(&out, 1));
    assert_says(&folder.refused("predict m.lapwing t.csv --graph unknown.csv -o p.csv"), &["'zoe' in line 16"]);
    folder.ok("predict m.lapwing t.csv --graph unknown.csv --ignore-unknown -o p.csv");
    // Integer ids are names, not row numbers.
    folder.write(
        "i.csv",
        folder.read("t.csv").lines().map(|line| line.replacen('p', "10", 1) + "\n").collect::<String>(),
    );
    folder.write("ie.csv", edges.replace('p', "10"));
    folder.write("ik.csv", folder.read("kinds.csv").replace("p", "10"));
    folder.ok("label i.csv --id id --graph ie.csv --labels ik.csv --method unfolded-gnn -o i-out.csv");
    assert_eq!(column(&folder.read("i-out.csv"), 1), column(&out, 1));
    assert_eq!(column(&folder.read("i-out.csv"), 0)[1], "101");
    folder.ok("graph t.csv --id id -k 3 -o g.csv");
    assert_says(&folder.read("g.csv"), &["u,v,weight\np0,p"]);
}

#[test]
fn shares_of_another_classifier_are_found_by_name() {
    let folder = folder(30);
    let share = |row: usize| ["0.8,0.1,0.1", "0.1,0.8,0.1", "0.1,0.1,0.8"][row % 3];
    let lines: Vec<String> = (0..30).map(|row| format!("p{row},{}\n", share(row))).collect();
    let header = "id,alder,birch,cedar\n";
    folder.write("s.csv", header.to_owned() + &lines.concat());
    folder.write("r.csv", header.to_owned() + &lines.iter().rev().map(String::as_str).collect::<String>());
    let label = "label t.csv --id id --labels kinds.csv --method harmonic";
    folder.ok(&format!("{label} --prior s.csv -o s-out.csv"));
    folder.ok(&format!("{label} --prior r.csv -o r-out.csv"));
    assert_eq!(folder.read("s-out.csv"), folder.read("r-out.csv"));
    folder.write("w.csv", folder.read("s.csv").replace("p7,", "q7,"));
    assert_says(
        &folder.error(&format!("{label} --prior w.csv -o o.csv")),
        &["no row has the name 'p7' of row 7 of the data"],
    );
}
