//! Scale and metric that are chosen without being asked.

use crate::common::{Folder, Noise, npy};
use serde_json::Value;

/// Sixty rows of three kinds: `x` tells them apart, `income` is noise with a spread ten thousand times as wide. Two labels of each.
fn units() -> String {
    let mut noise = Noise(7);
    let mut table = String::from("x,income,kind\n");
    for row in 0..60 {
        let (x, income) = (4.0 * f64::from(row % 3) + noise.next(), 4e4 * noise.next());
        table += &format!("{x},{income},{}\n", if row < 6 { ["ash", "birch", "cedar"][row as usize % 3] } else { "" });
    }
    table
}

/// Counts of terms: rows of one kind share three terms. The last row is empty.
fn counts() -> String {
    let mut noise = Noise(3);
    let mut lines = String::new();
    for row in 0..60 {
        let of = |term: i32| 1 + 3 * (row % 2) + term;
        let many = 1 + (20.0 * noise.next().abs()) as i32;
        lines += &format!(
            "{} {}:{many} {}:{} 9:{}\n",
            if row < 8 { row % 2 } else { -1 },
            of(0),
            of(1 + row % 2),
            1 + row % 3,
            2
        );
    }
    lines + "-1\n"
}

fn right(folder: &Folder, name: &str) -> usize {
    let table = folder.read(name);
    let is_right = |(row, line): (usize, &str)| line.split(',').nth(1) == Some(["ash", "birch", "cedar"][row % 3]);
    table.lines().skip(1).enumerate().filter(|&(row, line)| is_right((row, line))).count()
}

#[test]
fn columns_in_different_units_are_scaled_and_new_rows_too() {
    let folder = Folder::new();
    folder.write("in.csv", units());
    let label = "label in.csv --label-column kind -k 5 -o out.csv";
    let text = folder.ok(&format!("{label} --model m")).stdout;
    let line = text.lines().find(|line| line.starts_with("scaled")).expect(&text);
    assert!(line.contains("2 columns to one width, because their spreads differ by up to"), "{line}");
    assert!(line.ends_with("; --standardize off leaves them"), "{line}");
    assert!(right(&folder, "out.csv") >= 57, "{}", right(&folder, "out.csv"));
    folder.ok("predict m in.csv --drop kind -o new.csv");
    assert!(right(&folder, "new.csv") >= 57);
    let scaled = folder.read("out.csv");
    for option in ["--standardize", "--standardize=on", "--standardize on"] {
        let object = folder.ok(&format!("{label} --json {option}")).json();
        assert!(right(&folder, "out.csv") >= 57, "{option}");
        assert_eq!((&object["scaling"]["kind"], &object["scaling"]["ratio"]), (&"standardize".into(), &Value::Null));
    }
    let object = folder.ok(&format!("{label} --json --standardize auto")).json();
    assert!(folder.read("out.csv") == scaled && object["scaling"]["ratio"].as_f64() > Some(1e3), "{object}");
    let off = folder.ok(&format!("{label} --standardize off")).stdout;
    assert!(!off.contains("scaled") && right(&folder, "out.csv") < 50, "{off}");
    folder.write("all.txt", (0..60).map(|row| format!("{}\n", row % 3)).collect::<String>());
    let compared = folder.ok("compare in.csv --drop kind --labels all.txt --labeled 9 --methods nearest-label");
    assert!(compared.stdout.contains("scaled  "), "{}", compared.stdout);
    assert!(folder.ok("graph in.csv --drop kind").stdout.contains("scaled  "));
    let plan = folder.ok("label in.csv --label-column kind --plan").stdout;
    assert!(plan.contains("  scale "), "{plan}");
}

#[test]
fn sparse_rows_are_compared_by_the_cosine_and_counts_weighed_if_asked() {
    let folder = Folder::new();
    folder.write("in.svm", counts());
    let label = "label in.svm -k 5 --method harmonic -o out.csv --json";
    let ran = folder.ok(label);
    let object = ran.json();
    assert_eq!(object["chosen"]["metric"], "cosine");
    let kinds = |object: &Value| -> Vec<String> {
        object["warnings"].as_array().unwrap().iter().map(|w| w["kind"].as_str().unwrap().into()).collect()
    };
    assert!(kinds(&object).contains(&"unscaled-features".into()) && ran.stderr.contains("--tfidf"), "{object}");
    assert!(kinds(&object).contains(&"indistinct-rows".into()) && ran.stderr.contains("1 of 61 rows"), "{object}");
    let words = ["--tfidf", "--tfidf=on", "--tfidf on"].map(|option| {
        folder.ok(&format!("{label} --metric euclidean {option}"));
        folder.read("out.csv")
    });
    assert!(words[0] == words[1] && words[0] == words[2]);
    let object = folder.ok(&format!("{label} --metric euclidean --tfidf --model m")).json();
    assert_eq!((&object["chosen"]["metric"], &object["scaling"]["kind"]), (&Value::Null, &"tfidf".into()));
    assert!(!kinds(&object).contains(&"unscaled-features".into()), "{object}");
    folder.ok("predict m in.svm -o new.csv");
    let label_of = |line: &str| line.split(',').nth(1).map(str::to_owned);
    let table = folder.read("new.csv");
    let labels: Vec<_> = table.lines().skip(1).take(60).map(label_of).collect();
    assert!(labels.iter().enumerate().all(|(row, label)| *label == Some((row % 2).to_string())), "{table}");
    // Asked for, the cosine refuses the row of zeros.
    assert!(
        folder
            .error("label in.svm -k 5 --method harmonic -o out.csv --metric cosine")
            .contains("row 60 of features holds only zeros")
    );
    assert!(folder.ok("graph in.svm -k 5").stdout.contains("metric (auto)"));
    let nearest = folder.ok("label in.svm -o out.csv --json --method nearest-label").json();
    assert_eq!(nearest["chosen"]["metric"], "cosine");
}

#[test]
fn rows_in_blocks_are_left_with_a_warning() {
    let folder = Folder::new();
    let mut noise = Noise(5);
    let value =
        move |at: usize| if at.is_multiple_of(2) { (at / 2 % 2) as f64 + noise.next() } else { 1e4 * noise.next() };
    folder.write("rows.npy", npy(200, 2, (0..400).map(value).map(|x| x as f32)));
    folder.write("labels.csv", (0..20).map(|row| format!("{row},{}\n", row % 2)).collect::<String>());
    let label = "label rows.npy --labels labels.csv --method low-rank --n-landmarks 10 -o out.csv";
    let ran = folder.ok(label);
    assert!(ran.stderr.contains("read in blocks are not scaled"), "{}", ran.stderr);
    let ran = folder.ok(&format!("{label} --standardize off"));
    assert!(!ran.stderr.contains("scaled"), "{}", ran.stderr);
    let ran = folder.ok(&format!("{label} --standardize"));
    assert!(ran.stdout.contains("2 columns to mean 0") && !ran.stderr.contains("scaled"), "{}", ran.stderr);
}

#[test]
fn scalings_that_do_not_fit_are_refused() {
    let folder = Folder::new();
    folder.write("in.csv", units());
    let label = "label in.csv --label-column kind -o out.csv";
    assert!(folder.error(&format!("{label} --tfidf")).contains("tfidf"));
    assert!(folder.error(&format!("{label} --tfidf --standardize")).contains("not both"));
    assert!(folder.error(&format!("{label} --standardize=much")).contains("much"));
    folder.write("edges.csv", "0,1\n1,2\n");
    assert!(folder.error("graph --graph edges.csv --tfidf").contains("need features"));
    assert!(folder.error("graph --graph edges.csv --standardize on").contains("need features"));
    folder.write("in.svm", counts());
    assert!(folder.error("label in.svm -o out.csv --standardize").contains("sparse"));
}
