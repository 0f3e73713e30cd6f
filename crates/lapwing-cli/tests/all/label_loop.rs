//! `lapwing suggest`, `lapwing audit` and sets of classes.

use crate::common::Folder;

/// A table of two clouds without labels, and which cloud each row is of.
fn table(folder: &Folder, name: &str, n: usize, label: impl Fn(usize) -> String) {
    let mut text = "id,x,y,price,kind\n".to_owned();
    for row in 0..n {
        let (angle, class) = (row as f64 * 2.399, row % 2);
        let (x, y) = (6.0 * class as f64 + angle.cos() * (1.0 + (row % 7) as f64 * 0.1), angle.sin());
        text += &format!("r{row},{x:.4},{y:.4},{},{}\n", if row % 3 == 0 { 1 } else { 1_000_000 }, label(row));
    }
    folder.write(name, text);
}

fn lines(text: &str) -> Vec<Vec<String>> {
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn a_session_of_suggestions_labels_and_an_audit() {
    let folder = Folder::new();
    table(&folder, "data.csv", 300, |_| String::new());
    let options = "--columns x,y --seed 3";
    folder.ok(&format!("suggest data.csv {options} -n 8 --save-graph graph.npz -o todo.csv"));
    let todo = lines(&folder.read("todo.csv"));
    assert_eq!(todo[0], ["row", "label", "reason", "score", "guess", "confidence"]);
    assert_eq!(todo.len(), 9);
    assert!(todo[1..].iter().all(|line| line[1].is_empty() && line[2] == "cover" && line[4].is_empty()));
    // The filled-in file is a file of labels.
    let filled = |todo: &[Vec<String>]| -> String {
        let line = |line: &Vec<String>| {
            let class = if line[0].parse::<usize>().unwrap() % 2 == 0 { "left" } else { "right" };
            format!("{},{class},{}\n", line[0], line[2..].join(","))
        };
        todo[1..].iter().map(line).collect()
    };
    let head = format!("{}\n", todo[0].join(","));
    folder.write("known.csv", head.clone() + &filled(&todo));
    let ran = folder.ok("suggest --graph graph.npz --labels known.csv -n 40 --check 0.5 -o next.csv");
    assert!(ran.stdout.contains("rows suggested") && ran.stdout.contains("strategy"), "{ran:?}");
    let next = lines(&folder.read("next.csv"));
    assert_eq!(next.iter().filter(|line| line[2] == "check").count(), 20);
    assert!(next[1..].iter().all(|line| ["left", "right"].contains(&line[4].as_str())));
    folder.write("known.csv", head + &filled(&todo) + &filled(&next));
    // The kept graph beside the data: labels, with sets calibrated by the check rows.
    let label = "label data.csv --columns x,y --graph graph.npz --labels known.csv --method harmonic --sets 0.9";
    let ran = folder.ok(&format!("{label} -o labels.csv --report report.html"));
    assert!(ran.stdout.contains("check labels") && !ran.stderr.contains("check rows"), "{ran:?}");
    assert!(ran.stderr.contains("harder than other rows"), "{ran:?}");
    let labels = lines(&folder.read("labels.csv"));
    assert_eq!(labels[0], ["row", "label", "confidence", "reached", "certified", "set"]);
    let right = labels[1..].iter().enumerate().filter(|(row, line)| line[1] == ["left", "right"][row % 2]).count();
    assert!(right > 290, "{right}");
    assert!(labels[1..].iter().all(|line| line[5].split('|').all(|class| ["left", "right"].contains(&class))));
    let page = folder.read("report.html");
    assert!(page.contains("Label these next") && page.contains("Least certain rows"));
    let json = folder.ok(&format!("{label} -o labels.parquet --json")).json();
    assert_eq!(
        (json["parts"]["sets"]["level"].as_f64(), json["parts"]["sets"]["n_held_out"].as_u64()),
        (Some(0.9), Some(20))
    );
    // One label is wrong: the audit finds it.
    let wrong = folder.read("known.csv").replacen(",left,", ",right,", 1);
    folder.write("wrong.csv", wrong);
    let ran = folder.run("audit data.csv --columns x,y --labels wrong.csv -o audit.csv --strict --report audit.html");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let found = lines(&folder.read("audit.csv"));
    let head = ["row", "given", "proposed", "quality", "flagged", "judged", "duplicate_group", "contradicts"];
    assert_eq!(found[0], [&head[..], &["outlier_percentile", "reached"]].concat());
    assert_eq!(
        (found.len(), found[1][1].as_str(), found[1][2].as_str(), found[1][4].as_str()),
        (301, "right", "left", "true")
    );
    assert!(folder.read("audit.html").contains("Doubtful labels"));
    let json = folder.ok("audit data.csv --columns x,y --labels wrong.csv --json").json();
    assert_eq!((json["audit"]["n_labeled"].as_u64(), json["audit"]["n_flagged"].as_u64()), (Some(48), Some(1)));
    assert_eq!(json["audit"]["confused"][0]["classes"], serde_json::json!(["left", "right"]));
}

#[test]
fn suggested_labels_without_checks_are_no_sample() {
    let folder = Folder::new();
    table(&folder, "data.csv", 200, |_| String::new());
    folder.ok("suggest data.csv --columns x,y -n 30 -o todo.csv");
    let todo = lines(&folder.read("todo.csv"));
    let mut known = todo[0].join(",") + "\n";
    for line in &todo[1..] {
        known += &format!("{},{},{}\n", line[0], line[0].parse::<usize>().unwrap() % 2, line[2..].join(","));
    }
    folder.write("known.csv", known);
    let ran = folder.ok("label data.csv --columns x,y --labels known.csv --method harmonic --sets 0.9 -o labels.csv");
    assert!(
        ran.stderr.contains("suggested, not drawn at random") && ran.stdout.contains("suggested labels"),
        "{ran:?}"
    );
}

#[test]
fn rows_have_names_costs_and_kept_columns() {
    let folder = Folder::new();
    table(&folder, "data.csv", 150, |row| if row < 40 { ["a", "b"][row % 2].into() } else { String::new() });
    folder.write("some.txt", (60..120).map(|row| format!("r{row}\n")).collect::<String>());
    let options = "--id id --label-column kind --cost price --candidates some.txt";
    folder.ok(&format!("suggest data.csv {options} --strategy cover -n 4 --keep x,y -o todo.csv"));
    let todo = lines(&folder.read("todo.csv"));
    assert_eq!(todo[0], ["id", "label", "reason", "score", "guess", "confidence", "x", "y"]);
    let row = |name: &str| name[1..].parse::<usize>().unwrap();
    assert!(todo[1..].iter().all(|line| (60..120).contains(&row(&line[0])) && row(&line[0]) % 3 == 0), "{todo:?}");
    let ran = folder.ok(&format!("suggest data.csv {options} -n 100 -o all.csv"));
    assert!(ran.stderr.contains("100 rows are wanted, but only 60 are left"), "{ran:?}");
    assert_eq!(lines(&folder.read("all.csv")).len(), 61);
    // Without -o the rows go to standard output, and words to standard error.
    let ran = folder.ok("suggest data.csv --id id --label-column kind -n 3");
    assert!(ran.stdout.starts_with("id,label,reason") && ran.stdout.lines().count() == 4, "{ran:?}");
    let json = folder.ok("suggest data.csv --id id --label-column kind -n 3 --json").json();
    assert_eq!(json["suggestions"].as_array().unwrap().len(), 3);
    assert!(json["suggestions"][0]["row"].as_str().unwrap().starts_with('r'));
    let flagged = folder.ok("audit data.csv --id id --label-column kind --top flagged -o - -q").stdout;
    assert!(flagged.lines().skip(1).all(|line| line.split(',').nth(4) == Some("true")), "{flagged}");
    let refused = folder.refused("audit data.csv --label-column kind --top doubted -o - -q");
    assert!(refused.contains("or flagged"), "{refused}");
    let audit = folder.ok("audit data.csv --id id --label-column kind --top 5 -o - -q");
    assert_eq!(audit.stdout.lines().count(), 6);
}

#[test]
fn files_of_rows_and_reasons_are_read_as_labels_are() {
    let folder = Folder::new();
    table(&folder, "data.csv", 120, |_| String::new());
    let names = folder.read("data.csv").replace("r7,", "\"Smith, John\",");
    folder.write("named.csv", names);
    folder.write("some.csv", "\u{feff}id;reason\n\"Smith, John\";cover\nr3;far\n");
    folder.ok("suggest named.csv --id id --columns x,y --candidates some.csv -n 2 -o two.csv");
    let two = folder.read("two.csv");
    assert!(two.contains("\"Smith, John\"") && two.contains("r3"), "{two}");
    // A filled-in list may have lines without all its columns, and a column that is named reason says nothing by its name.
    let line = |row: usize| format!("{row},{}", row % 2);
    let labels: Vec<String> = (0..40).map(|row| line(row) + if row % 2 == 0 { ",random,,," } else { "" }).collect();
    folder.write("ragged.csv", format!("row,label,reason,score,guess,confidence\n{}\n", labels.join("\n")));
    let of = |labels: &str| {
        let json =
            folder.ok(&format!("label data.csv --columns x,y --labels {labels} --method harmonic -o l.csv --json"));
        json.json()["chosen"]["labels_drawn"].clone()
    };
    folder.write("plain.csv", format!("row,label\n{}\n", (0..40).map(line).collect::<Vec<_>>().join("\n")));
    assert_eq!(of("ragged.csv"), of("plain.csv"));
    // The distances of the features are used beside a graph that is given; a graph alone has none.
    folder.ok("graph data.csv --columns x,y -o g.npz");
    folder.ok("audit data.csv --columns x,y --graph g.npz --labels plain.csv --metric cosine -o audit.csv");
    let ran = folder.run("audit --graph g.npz --labels plain.csv --metric cosine");
    assert!(ran.code == Some(2) && ran.stderr.contains("--metric needs DATA"), "{ran:?}");
}

#[test]
fn bad_requests_are_named_and_write_nothing() {
    let folder = Folder::new();
    table(&folder, "data.csv", 60, |row| if row < 20 { "only".into() } else { String::new() });
    folder.write("bad.txt", "3\nninety\n");
    folder.write("twice.txt", "3\n3\n");
    let refused = [
        ("suggest data.csv --drop kind -n 0 -o out.csv", "--number is 0"),
        ("suggest data.csv --drop kind --strategy border -o out.csv", "cover, which needs no labels"),
        ("suggest data.csv --drop kind --check 0.8 --explore 0.4 -o out.csv", "--explore is 0.4"),
        ("suggest data.csv --drop kind --candidates bad.txt -o out.csv", "line 2"),
        ("suggest data.csv --drop kind --candidates twice.txt -o out.csv", "listed twice"),
        ("suggest data.csv --drop kind --cost id -o out.csv", "costs are numbers"),
        ("suggest data.csv --drop kind -o out.npy", "--output"),
        ("suggest data.csv --drop kind --id reason -o out.csv", "another column of this name"),
        ("suggest data.csv --drop kind --json -o -", "standard output"),
        ("suggest --graph missing.npz -o out.csv", "missing.npz"),
        ("audit data.csv --label-column kind -o out.csv", "all labels are of one class"),
        ("audit data.csv --drop kind -o out.csv", "no labels"),
        ("audit data.csv --label-column kind --rounds 0 -o out.csv", "--rounds is 0"),
        ("label data.csv --label-column kind --sets 1.5 -o out.csv", "between 0 and 1"),
        ("label data.csv --label-column kind --sets 0.9 -o out.npy", "--output"),
        ("label data.csv --label-column kind --method harmonic --sets 0.9 -o out.csv", "--sets"),
    ];
    for (arguments, part) in refused {
        let ran = folder.run(arguments);
        assert!(ran.code == Some(2) && ran.stderr.contains(part), "{arguments}: {ran:?}");
        assert!(!folder.path("out.csv").exists() && !folder.path("out.npy").exists(), "{arguments}");
    }
    table(&folder, "few.csv", 60, |row| if row < 6 { ["a", "b"][row % 2].into() } else { String::new() });
    let ran = folder.run("label few.csv --label-column kind --method harmonic --sets 0.9 -o out.csv");
    assert!(ran.code == Some(2) && ran.stderr.contains("at least 9"), "{ran:?}");
    table(&folder, "bar.csv", 60, |row| if row < 30 { ["a|b", "c"][row % 2].into() } else { String::new() });
    let ran = folder.run("label bar.csv --label-column kind --method harmonic --sets 0.9 -o out.csv");
    assert!(ran.code == Some(2) && ran.stderr.contains(r#"the class "a|b""#), "{ran:?}");
    let ran = folder.run("label data.csv --label-column kind --method nearest-label --save-graph g.npz -o out.csv");
    assert!(ran.code == Some(2) && ran.stderr.contains("builds no graph"), "{ran:?}");
}
