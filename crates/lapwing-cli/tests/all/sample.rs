//! Fits to a sample of the rows: all rows are labeled by the model, the same however they are read.

use serde_json::Value;

use crate::common::{Folder, clouds, npy};

const N: usize = 12_000;

/// Three clouds as a table and as an array with a list of labels.
fn folder() -> Folder {
    let folder = Folder::with_clouds("table.csv", N, 10);
    let text = clouds(N, 10);
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let numbers = rows.iter().flat_map(|row| [row[0], row[1]]).map(|cell| cell.parse::<f64>().unwrap() as f32);
    folder.write("array.npy", npy(N, 2, numbers));
    let known = rows.iter().enumerate().filter(|(_, row)| !row[2].is_empty());
    let known: String = known.map(|(at, row)| format!("{at},{}\n", row[2])).collect();
    folder.write("known.csv", format!("row,label\n{known}"));
    folder
}

/// The share of rows that have the label of their cloud.
fn right(table: &str) -> f64 {
    let labels = table.lines().skip(1).map(|line| line.split(',').nth(1).unwrap());
    let clouds = ["alder", "birch", "cedar"].into_iter().cycle();
    labels.zip(clouds).filter(|(label, cloud)| label == cloud).count() as f64 / N as f64
}

#[test]
fn every_method_labels_all_rows_by_a_fit_to_some() {
    let folder = folder();
    for method in ["auto", "harmonic", "lapsvm", "linear", "forest", "nearest-label", "unfolded-gnn"] {
        let run = format!("label array.npy --labels known.csv --method {method} --fit-rows 1500");
        let ran = folder.ok(&format!("{run} -o a.csv --model a.lapwing --json"));
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let fitted = report["parts"]["sample"]["n_rows"].as_u64().unwrap();
        assert!((900..1700).contains(&fitted) && report["n_samples"] == N, "{method}: {report}");
        assert!(right(&folder.read("a.csv")) > 0.9, "{method}");
        folder.ok(&format!("{run} -o b.csv --model b.lapwing --threads 1"));
        assert!(folder.read("a.csv") == folder.read("b.csv"), "{method}");
        assert!(std::fs::read(folder.path("a.lapwing")).unwrap() == std::fs::read(folder.path("b.lapwing")).unwrap());
        // Rows that were not fitted get the labels that the model gives them.
        folder.ok("predict a.lapwing array.npy -o c.csv");
        let (a, c) = (folder.read("a.csv"), folder.read("c.csv"));
        let same = a.lines().zip(c.lines()).filter(|(a, c)| a == c).count();
        assert!(same + fitted as usize >= N, "{method}: {same} of {N} rows");
    }
}

#[test]
fn the_summary_says_what_was_fitted() {
    let folder = folder();
    let ran = folder.ok("label table.csv --label-column kind --fit-rows 1.5k -o out.csv");
    assert!(ran.stdout.contains("rows                   12,000\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\nrows fitted") && ran.stdout.contains("of them near labels"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\nexpected accuracy"), "{}", ran.stdout);
    let rows = folder.ok("label table.csv --label-column kind --fit-rows 1M -o all.csv");
    assert!(rows.stdout.contains("\nrows fitted            12,000\n"), "{}", rows.stdout);
}

#[test]
fn rows_far_from_the_sample_are_marked() {
    let folder = folder();
    let table = folder.read("table.csv");
    let mut lines: Vec<&str> = table.lines().collect();
    // One row alone, far from all; it is taken into the sample if it is not covered.
    lines[7001] = "900,900,";
    folder.write("far.csv", lines.join("\n"));
    let ran = folder.ok("label far.csv --label-column kind --method harmonic --fit-rows 1500 -o out.csv --json");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let sample = &report["parts"]["sample"];
    assert!(sample["n_far"].as_u64() >= Some(1) && sample["n_far_taken"] == sample["n_far"], "{sample}");
}

#[test]
fn what_a_sample_cannot_do_is_refused() {
    let folder = folder();
    let common = "label array.npy --labels known.csv --method harmonic --fit-rows 1000";
    let text = folder.error(&format!("{common} -o a.csv --report r.html"));
    assert!(text.starts_with("--fit-rows needs rows that are read in blocks"), "{text}");
    folder.write("edges.csv", "u,v\n0,1\n");
    let text = folder.error(&format!("{common} -o a.csv --graph edges.csv"));
    assert!(text.contains("a graph says how all rows are joined"), "{text}");
    let text = folder.error("label array.npy --labels known.csv --fit-rows 0 -o a.csv");
    assert!(text.contains("--fit-rows"), "{text}");
}

#[test]
fn a_bad_value_of_any_row_is_named_and_nothing_is_written() {
    let folder = folder();
    folder.write("bad.npy", npy(N, 2, (0..2 * N).map(|at| if at == 18_001 { f32::NAN } else { (at % 97) as f32 })));
    let text = folder.error("label bad.npy --labels known.csv --method harmonic --fit-rows 1000 -o a.csv --model m");
    assert!(text.contains("column 1 (1 of 12000 rows, first NaN in row 9000)"), "{text}");
}

#[test]
fn a_folder_of_tables_gets_a_folder_of_labels() {
    let folder = folder();
    folder.ok("label table.csv --label-column kind --method linear -o all.csv --keep all --model m");
    for year in [2023, 2024] {
        std::fs::create_dir_all(folder.path(&format!("parts/year={year}"))).unwrap();
    }
    for (name, rows) in [("year=2023/a", 0..5000), ("year=2023/b", 5000..5001), ("year=2024/c", 5001..N)] {
        folder.write("part.csv", rows_of(&folder.read("table.csv"), rows));
        // Kept columns are written as they are, so that this turns a table into .parquet.
        folder.ok(&format!("predict m part.csv -o parts/{name}.parquet --keep x,y"));
    }
    let run = "label parts --labels known.csv --columns x,y --method harmonic --fit-rows 1500";
    folder.ok(&format!("{run} -o one.csv"));
    let ran = folder.ok(&format!("{run} -o out"));
    assert_eq!(ran.stdout.matches("labels written to").count(), 1, "{}", ran.stdout);
    for command in ["predict m parts -o predicted --keep x", "label parts --labels known.csv --columns x,y -o held"] {
        folder.ok(command);
    }
    for out in ["out", "predicted", "held"] {
        for name in ["year=2023/a", "year=2023/b", "year=2024/c"] {
            assert!(folder.path(&format!("{out}/{name}.parquet")).exists(), "{out}/{name}");
        }
    }
    // Any model of columns of the labels reads them again.
    folder.ok("label one.csv --columns row,confidence --labels known.csv --method linear -o two.csv --model other");
    folder.ok("predict other out -o joined.csv --keep label");
    let labels = |name: &str, at: usize| -> Vec<String> {
        folder.read(name).lines().skip(1).map(|line| line.split(',').nth(at).unwrap().to_owned()).collect()
    };
    assert!(labels("one.csv", 1) == labels("joined.csv", 0));
    let text = folder.error(&format!("{run} -o parts"));
    assert!(text.contains("another folder than that of the rows"), "{text}");
    std::fs::create_dir(folder.path("texts")).unwrap();
    folder.write("texts/a.csv", folder.read("table.csv"));
    let text = folder.refused("label texts --label-column kind --method linear -o labels");
    assert!(text.contains("state their number of rows"), "{text}");
}

#[test]
fn the_loop_works_on_a_sample() {
    let folder = folder();
    let common = "array.npy --labels known.csv --fit-rows 1500";
    let ran = folder.ok(&format!("suggest {common} -n 9 -o next.csv"));
    assert!(ran.stderr.contains("of 12,000 rows are used"), "{}", ran.stderr);
    let next: Vec<usize> = rows_in(&folder.read("next.csv"));
    assert!(next.len() == 9 && next.iter().any(|&row| row > 2000), "{next:?}");
    folder.ok(&format!("audit {common} -o audit.csv"));
    let known: Vec<usize> = rows_in(&folder.read("known.csv"));
    let audit = folder.read("audit.csv");
    let with_label = |line: &&str| line.split(',').nth(1).is_some_and(|given| !given.is_empty() && given != "given");
    let mut judged = rows_in(&format!("row\n{}", audit.lines().filter(with_label).collect::<Vec<_>>().join("\n")));
    judged.sort_unstable();
    assert_eq!(judged, known);
    let ran = folder.ok(&format!("compare {common} --methods harmonic,linear"));
    assert!(ran.stdout.contains("harmonic") && ran.stdout.contains("--fit-rows 1500"), "{}", ran.stdout);
    // Tables keep columns and names of their rows.
    let table = folder.read("table.csv");
    let named: String = table
        .lines()
        .enumerate()
        .map(|(at, line)| if at == 0 { format!("id,{line}\n") } else { format!("r{at},{line}\n") })
        .collect();
    folder.write("named.csv", named);
    let named = "named.csv --id id --label-column kind --fit-rows 1500";
    folder.ok(&format!("suggest {named} -n 9 -o named-next.csv --keep x"));
    let all: Vec<&str> = table.lines().collect();
    for line in folder.read("named-next.csv").lines().skip(1) {
        let (name, rest) = line.split_once(',').unwrap();
        let row: usize = name.strip_prefix('r').unwrap().parse().unwrap();
        assert_eq!(rest.rsplit(',').next(), all[row].split(',').next(), "{line}");
    }
    folder.write("some.csv", "5\n");
    let text = folder.error(&format!("suggest {common} --exclude some.csv"));
    assert!(text.contains("of which --fit-rows takes some"), "{text}");
    folder.write("edges.csv", "u,v\n0,1\n");
    let text = folder.error(&format!("audit {common} --graph edges.csv"));
    assert!(text.starts_with("--fit-rows needs DATA that is read in blocks"), "{text}");
}

/// The numbers in the first column of a table.
fn rows_in(table: &str) -> Vec<usize> {
    table.lines().skip(1).map(|line| line.split(',').next().unwrap().parse().unwrap()).collect()
}

#[test]
fn damaged_and_unlike_parts_are_named_and_nothing_is_written() {
    let folder = folder();
    folder.ok("label table.csv --label-column kind --method linear -o all.csv --model m");
    std::fs::create_dir(folder.path("parts")).unwrap();
    for (name, rows) in [("a", 0..5000), ("b", 5000..5000), ("c", 5000..N)] {
        folder.write("part.csv", rows_of(&folder.read("table.csv"), rows.clone()));
        if rows.is_empty() {
            continue;
        }
        folder.ok(&format!("predict m part.csv -o parts/{name}.parquet --keep x,y"));
    }
    let run = "label parts --labels known.csv --columns x,y --method harmonic --fit-rows 1500 -o out.csv --model new";
    let whole = std::fs::read(folder.path("parts/c.parquet")).unwrap();
    // A file that another program is writing has no end yet.
    std::fs::write(folder.path("parts/c.parquet"), &whole[..whole.len() / 2]).unwrap();
    let text = folder.refused(run);
    assert!(text.contains("c.parquet"), "{text}");
    // Pages of the last columns are damaged.
    let mut damaged = whole.clone();
    let end = whole.len() - 4096;
    damaged[end / 2..end].fill(0x5a);
    std::fs::write(folder.path("parts/c.parquet"), &damaged).unwrap();
    let text = folder.refused(&run.replace("x,y", "x,y,confidence"));
    assert!(text.contains("c.parquet"), "{text}");
    // Another column in one of the files.
    folder.write("part.csv", rows_of(&folder.read("table.csv"), 5000..N));
    folder.ok("predict m part.csv -o parts/c.parquet --keep x");
    let text = folder.refused(run);
    assert!(text.contains("c.parquet") && text.contains('y'), "{text}");
    assert!(!folder.path("out.csv").exists() && !folder.path("new").exists());
}

#[test]
fn labels_may_lie_in_one_part_and_be_all_of_it() {
    let folder = folder();
    let table = folder.read("table.csv");
    folder.write("known-in-one.csv", {
        let kinds = ["alder", "birch", "cedar"];
        let rows: String = (5000..5060).map(|row| format!("{row},{}\n", kinds[row % 3])).collect();
        format!("row,label\n{rows}")
    });
    std::fs::create_dir(folder.path("parts")).unwrap();
    for (name, rows) in [("a", 0..5000), ("b", 5000..5060), ("c", 5060..5060), ("d", 5060..N)] {
        folder.write(&format!("parts/{name}.csv"), rows_of(&table, rows));
    }
    let run = "--labels known-in-one.csv --columns x,y --method harmonic --fit-rows 1500";
    folder.ok(&format!("label table.csv {run} -o one.csv"));
    folder.ok(&format!("label parts {run} -o many.csv"));
    assert!(folder.read("one.csv") == folder.read("many.csv"));
    assert!(right(&folder.read("one.csv")) > 0.9);
}

/// The header of a table and some of its rows.
fn rows_of(table: &str, rows: std::ops::Range<usize>) -> String {
    let lines = table.lines().take(1).chain(table.lines().skip(1 + rows.start).take(rows.len()));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_plan_of_a_sample_holds() {
    let folder = Folder::new();
    let n = 60_000;
    folder.write(
        "x.npy",
        npy(n, 8, (0..8 * n).map(|at| (at * 7919 % 1013) as f32 + if at / 8 % 2 == 0 { 9000.0 } else { 0.0 })),
    );
    folder.write("k.csv", (0..40).map(|row| format!("{row},{}\n", ["a", "b"][row % 2])).collect::<String>());
    let number = |text: &str, key: &str| serde_json::from_str::<Value>(text).unwrap()[key].as_u64().unwrap();
    for method in ["harmonic", "linear", "low-rank"] {
        let run = format!("label x.npy --labels k.csv --method {method} --fit-rows 5000 --json");
        let planned = folder.ok(&format!("{run} --plan")).stdout;
        let ran = folder.ok(&format!("{run} -o o.npy")).stdout;
        assert!(number(&planned, "peak_bytes") >= number(&ran, "peak_bytes"), "{method}: {planned} {ran}");
        assert_eq!(number(&planned, "passes"), if method == "low-rank" { 2 } else { 3 });
        assert!(number(&planned, "peak_bytes") < 160 << 20, "{planned}");
    }
}
