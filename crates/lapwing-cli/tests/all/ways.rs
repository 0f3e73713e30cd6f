//! Tables whose columns are written as people write them are labeled as well as plain ones, by a plain call.

use crate::common::Folder;

const ROWS: usize = 120;

/// The class of a row.
fn class(row: usize) -> usize {
    row * 7 % 3
}

/// A whole number below `most`, different in every row.
fn any(row: usize, most: usize) -> usize {
    let mixed = (row as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)) % most as u64) as usize
}

/// Words of a class.
fn word(row: usize, at: usize) -> &'static str {
    let words =
        [["sock", "shirt", "scarf", "glove"], ["apple", "pear", "plum", "grape"], ["chair", "table", "shelf", "couch"]];
    words[class(row)][any(row * 5 + at, 4)]
}

/// A table of one informative column and one of noise; every fifth row has a label. Returns the text and the classes of all rows.
fn table(name: &str, cell: impl Fn(usize) -> String, classes: [&str; 3]) -> (String, Vec<String>) {
    let mut text = format!("{name},w,kind\n");
    let mut truth = Vec::new();
    for row in 0..ROWS {
        let own = classes[class(row)];
        let label = if row.is_multiple_of(5) { own } else { "" };
        let cell = cell(row).replace('"', "\"\"");
        text += &format!("\"{cell}\",{:.2},{label}\n", any(row, 4000) as f64 / 100.0);
        truth.push(own.to_owned());
    }
    (text, truth)
}

/// The share of right labels; the whole message if the program refuses.
fn accuracy(name: &str, (text, truth): (String, Vec<String>)) -> f64 {
    let folder = Folder::new();
    folder.write("t.csv", text);
    folder.ok("label t.csv --label-column kind -o o.csv -q");
    let written = folder.read("o.csv");
    let labels: Vec<&str> = written.lines().skip(1).map(|line| line.split(',').nth(1).unwrap()).collect();
    assert_eq!(labels.len(), truth.len(), "{name}");
    labels.iter().zip(&truth).filter(|(label, truth)| *label == truth).count() as f64 / truth.len() as f64
}

#[test]
fn columns_of_every_kind_say_what_they_say_in_plain_writing() {
    // A number that the class tells, with noise.
    let value = |row: usize| 100.0 * class(row) as f64 + any(row, 60) as f64 + 5.0;
    let seconds = move |row: usize| (value(row) * 1000.0) as u64;
    let clock = move |row: usize| {
        let s = seconds(row);
        format!("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
    };
    let day = move |row: usize| {
        let at = value(row) as usize;
        (at / 28 % 12 + 1, at % 28 + 1)
    };
    let vector = |row: usize| {
        let entry = |at: usize| if at % 3 == class(row) { 2.0 } else { 0.0 } + any(row * 16 + at, 100) as f64 / 80.0;
        let entries: Vec<String> = (0..12).map(|at| format!("{:.3}", entry(at))).collect();
        format!("[{}]", entries.join(", "))
    };
    let signs = |row: usize| {
        let signs = [["衬衫", "围巾", "袜子"], ["苹果", "梨子", "葡萄"], ["椅子", "桌子", "沙发"]];
        let own = |at: usize| signs[class(row)][any(row * 3 + at, 3)];
        format!("送货{}快{}收到{}。", own(0), own(1), ["便宜", "喜欢", "包装好"][any(row, 3)])
    };
    let plain = ["alpha", "beta", "gamma"];
    let of = |name: &str, cell: &dyn Fn(usize) -> String, least: f64| {
        let found = accuracy(name, table(name, cell, plain));
        assert!(found >= least, "{name}: {found:.3}");
    };
    of("plain", &|row| format!("{}", value(row)), 0.9);
    of("rupees", &|row| format!("₹{}", value(row)), 0.9);
    of(
        "thousands",
        &|row| if value(row) > 99.0 { format!("€{:.3}M", value(row) / 1e3) } else { format!("€{}K", value(row)) },
        0.9,
    );
    of("gaps", &|row| if row % 16 == 3 { "..".into() } else { format!("{}", value(row)) }, 0.85);
    of("limits", &|row| if row % 8 == 3 { format!("<{}", value(row)) } else { format!("{}", value(row)) }, 0.9);
    of("took", &clock, 0.9);
    of("zoned", &|row| format!("2024-{:02}-{:02} 08:23:51 UTC", day(row).0, day(row).1), 0.85);
    of("american", &|row| format!("{:02}/{:02}/2024 10:00", day(row).0, day(row).1), 0.85);
    of("embedding", &vector, 0.85);
    of("tags", &|row| format!("{}|{}|{}", word(row, 0), ["new", "old"][row % 2], word(row, 1)), 0.85);
    of("product", &|row| format!("{} {}", word(row, 0), 1000 + row), 0.85);
    of("url", &|row| format!("https://shop.example/{}/{}/{}", word(row, 0), word(row, 1), 1000 + row), 0.85);
    of("review", &signs, 0.75);
    of("population", &|row| format!("{}", 2_000_000 - 1000 * (value(row) as i64) - row as i64), 0.85);
}

#[test]
fn classes_may_be_called_none_and_markers_are_asked_for() {
    let value = |row: usize| format!("{}", 100 * class(row) + any(row, 60));
    assert!(accuracy("None", table("x", value, ["None", "alpha", "NA"])) > 0.9);
    let folder = Folder::new();
    let marked = table("x", value, ["alpha", "beta", "gamma"]).0.replace(",\n", ",TBD\n");
    folder.write("t.csv", &marked);
    let said = folder.refused("label t.csv --label-column kind -o o.csv");
    assert!(said.contains("the most frequent is 'TBD' (96 of 120 rows)") && said.contains("--unlabeled TBD"), "{said}");
    folder.ok("label t.csv --label-column kind -o o.csv --unlabeled TBD");
    folder.write("t.csv", marked.replace("TBD", "NaT"));
    folder.ok("label t.csv --label-column kind -o o.csv");
    // Spellings of one class, two columns of its name, and measurements.
    let spelled = table("x", value, ["Yes", "no", "maybe"]).0;
    let row = spelled.lines().position(|line| line.ends_with("Yes")).unwrap();
    let spelled: String = spelled
        .lines()
        .enumerate()
        .map(|(at, line)| if at == row { line.replace("Yes", "YES") } else { line.into() } + "\n")
        .collect();
    folder.write("t.csv", spelled);
    let ran = folder.ok("label t.csv --label-column kind -o o.csv");
    assert!(
        ran.stderr.contains("'YES' (1) count as one class") && !folder.read("o.csv").contains("YES"),
        "{}",
        ran.stderr
    );
    folder.write("t.csv", "x,kind,kind\n1,a,b\n2,,\n");
    assert!(folder.refused("label t.csv --label-column kind -o o.csv").contains("two columns are named 'kind'"));
    let row = |row: usize| {
        format!(
            "{},{}\n",
            row * 7 % 53,
            if row.is_multiple_of(4) { format!("{}.37", 100 + row) } else { String::new() }
        )
    };
    folder.write("t.csv", format!("x,kind\n{}", (0..120).map(row).collect::<String>()));
    assert!(folder.refused("label t.csv --label-column kind -o o.csv").contains("measurements rather than classes"));
    // Labels of a file are used, whatever else holds some.
    let line = |row: usize| format!("{} 1:{} 2:1\n", if row < 3 { "+1" } else { "-1" }, 10 * (row % 2) + row / 8);
    folder.write("t.svm", (0..24).map(line).collect::<String>());
    folder.write("y.csv", "row,label\n0,even\n1,odd\n2,even\n3,odd\n");
    let ran = folder.ok("label t.svm --labels y.csv -o o.csv");
    assert!(
        ran.stderr.contains("those in the file of the data are not") && folder.read("o.csv").contains("even"),
        "{}",
        ran.stderr
    );
}

#[test]
fn several_files_are_one_table_and_others_are_named() {
    let folder = Folder::new();
    let (text, truth) = table("x", |row| format!("{}", 100 * class(row) + any(row, 60)), ["alpha", "beta", "gamma"]);
    let lines: Vec<&str> = text.lines().collect();
    let part = |rows: &[&str]| format!("{}\n{}\n", lines[0], rows.join("\n"));
    folder.write("a.csv", part(&lines[1..50]));
    folder.write("b.csv", part(&lines[50..]));
    folder.write("all.csv", &text);
    let labels = |arguments: &str| {
        folder.ok(&format!("label {arguments} --label-column kind -o o.csv -q"));
        folder.read("o.csv")
    };
    let whole = labels("all.csv");
    assert_eq!((whole.lines().count(), labels("a.csv b.csv")), (truth.len() + 1, whole.clone()));
    assert_eq!(labels("a.csv b.csv --keep all").lines().count(), truth.len() + 1);
    let described = folder.ok("describe a.csv b.csv --label-column kind").stdout;
    assert!(described.starts_with("a.csv: 120 rows, 2 columns"), "{described}");
    folder.write("c.csv", "x,w\n1,2\n");
    let error = folder.error("label a.csv c.csv --label-column kind -o p.csv");
    assert!(error.starts_with("c.csv: the columns are not those of a.csv: without kind;"), "{error}");
    assert!(folder.refused("label a.csv b.csv --label-column kind -o b.csv").contains("b.csv"));
    // From a pipe, objects in lines are a table too; what is no text is named.
    let piped = |bytes: &[u8]| {
        use std::io::Write;
        let mut child = folder.piped("describe -");
        let mut input = child.stdin.take().unwrap();
        let _ = input.write_all(bytes);
        drop(input);
        let ran = child.wait_with_output().unwrap();
        (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
    };
    assert_eq!(piped(b"{\"a\": 1}\n{\"a\": 2}\n{\"a\": 5}\n"), (Some(0), String::new()));
    let (code, error) = piped(b"\x93NUMPY\x01\0");
    assert!(code == Some(2) && error.contains("-: this is an array (.npy); expected text"), "{error}");
    folder.write("d.sqlite3", b"SQLite format 3\0\x10\0\x01\x01");
    for command in ["label d.sqlite3 --label-column kind -o p.csv", "describe d.sqlite3"] {
        let error = folder.error(command);
        let expected = "d.sqlite3: this is a database of SQLite; hand a table of it over: sqlite3 -csv -header d.sqlite3 'select * from TABLE' | lapwing label - …";
        assert!(error.contains(expected) && error.contains("sqlite_scan('d.sqlite3', 'TABLE')"), "{error}");
    }
}
