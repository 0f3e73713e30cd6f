//! `label --prior`: files of shares, their columns, and what is refused.

use crate::common::Folder;

/// A graph of two rings of 30 nodes, three labels on either, and shares of the classes in `shares.csv`.
fn rings() -> Folder {
    let folder = Folder::new();
    let ring = |first: usize| (0..30).map(move |i| format!("{},{}\n", first + i, first + (i + 1) % 30));
    folder.write("edges.csv", format!("u,v\n{}", ring(0).chain(ring(30)).collect::<String>()));
    let known = [(0, "right"), (9, "right"), (20, "right"), (31, "left"), (44, "left"), (55, "left")];
    folder.write("known.csv", format!("row,label\n{}", known.map(|(row, label)| format!("{row},{label}\n")).concat()));
    folder.write("shares.csv", format!("left,right\n{}", lines(left, |row| 1.0 - left(row))));
    folder
}

/// The share of class left: right about the side of three rows in four.
fn left(row: usize) -> f64 {
    if (row >= 30) != row.is_multiple_of(4) { 0.75 } else { 0.25 }
}

fn lines(first: impl Fn(usize) -> f64, second: impl Fn(usize) -> f64) -> String {
    (0..60).map(|row| format!("{},{}\n", first(row), second(row))).collect()
}

const RUN: &str = "label --graph edges.csv --labels known.csv --method harmonic -o out.csv";

#[test]
fn columns_are_those_of_the_classes_by_name_or_by_order() {
    let folder = rings();
    let object = folder.ok(&format!("{RUN} --prior shares.csv --json")).json();
    assert!(object["chosen"]["prior_weight"].is_number(), "{object}");
    let table = folder.read("out.csv");
    let right =
        table.lines().skip(1).enumerate().filter(|(row, line)| line.contains(if *row < 30 { "right" } else { "left" }));
    assert!(right.count() >= 55, "{table}");
    folder.write("swapped.csv", format!("right,left\n{}", lines(|row| 1.0 - left(row), left)));
    folder.write("unnamed.csv", lines(left, |row| 1.0 - left(row)));
    for file in ["swapped.csv", "unnamed.csv"] {
        folder.ok(&format!("{RUN} --prior {file}"));
        assert_eq!(folder.read("out.csv"), table, "{file}");
    }
    // The weight matters, and is a number above 0.
    folder.ok(&format!("{RUN} --prior shares.csv --prior-weight 100"));
    let follows = |(row, line): (usize, &str)| line.contains(if left(row) > 0.5 { "left" } else { "right" });
    let agreeing = folder.read("out.csv").lines().skip(1).enumerate().filter(|row| follows(*row)).count();
    assert!(agreeing >= 54, "{agreeing}");
    let sparse = RUN.replace("--method harmonic", "--method sparse-harmonic");
    folder.ok(&format!("{sparse} --prior shares.csv --prior-weight 1"));
}

#[test]
fn a_line_of_integer_classes_is_a_header() {
    let folder = rings();
    folder.write("known.csv", "row,label\n0,7\n9,7\n20,7\n31,3\n44,3\n55,3\n");
    folder.write("named.csv", format!("7,3\n{}", lines(|row| 1.0 - left(row), left)));
    folder.write("unnamed.csv", lines(left, |row| 1.0 - left(row)));
    folder.ok(&format!("{RUN} --prior named.csv"));
    let table = folder.read("out.csv");
    folder.ok(&format!("{RUN} --prior unnamed.csv"));
    assert_eq!(folder.read("out.csv"), table);
    let sevens = table.lines().skip(1).take(30).filter(|line| line.split(',').nth(1) == Some("7"));
    assert!(sevens.count() >= 27, "{table}");
}

#[test]
fn what_is_wrong_is_named() {
    let folder = rings();
    let text = |arguments: &str| folder.refused(&format!("{RUN} {arguments}"));
    folder.write("short.csv", "left,right\n0.5,0.5\n");
    assert!(text("--prior short.csv").contains("1 rows and 2 columns; expected 60 rows and 2 columns"));
    folder.write("other.csv", format!("up,down\n{}", lines(left, left)));
    assert!(text("--prior other.csv").contains("no column is named as the class 'left'"));
    folder.write("sums.csv", format!("left,right\n{}", lines(|_| 0.5, |row| if row == 17 { 0.25 } else { 0.5 })));
    let sums = text("--prior sums.csv");
    assert!(
        sums.contains("sums.csv") && sums.contains("row 17, counted from 0, holds shares that sum to 0.75"),
        "{sums}"
    );
    folder.write("negative.csv", format!("left,right\n{}", lines(|_| 1.25, |_| -0.25)));
    assert!(text("--prior negative.csv").contains("row 0, counted from 0, holds -0.25 for the class 'right'"));
    folder.write("missing.csv", format!("left,right\n{}", lines(|row| if row == 3 { f64::NAN } else { 0.5 }, |_| 0.5)));
    let missing = text("--prior missing.csv");
    assert!(missing.contains("missing.csv") && missing.contains("left"), "{missing}");
    assert!(text("--prior none.csv").contains("none.csv"));
    assert!(text("--prior-weight 2").contains("--prior-weight changes nothing without --prior"));
    assert!(text("--prior shares.csv --prior-weight 0").contains("--prior-weight is 0; expected"));
    assert!(text("--prior shares.csv --form stable").contains("form is stable; expected auto or plain with a prior"));
    let simple = RUN.replace("--method harmonic", "--method simple-harmonic --prior shares.csv");
    assert!(folder.refused(&simple).contains("simple-harmonic takes no --prior"));
    assert!(
        folder
            .refused("label --graph edges.csv --labels known.csv --prior shares.csv -o shares.csv")
            .contains("--prior")
    );
    let compare = "compare --graph edges.csv --labels known.csv --labeled 4 --methods harmonic --prior-weight 1";
    assert!(folder.refused(compare).contains("compare, which takes no prior"));
}
