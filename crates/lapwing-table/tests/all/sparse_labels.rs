//! Labels without a place for every row: those that are read with one, from the same files.

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::*;
use lapwing_core::{ClassNames, Error, Labels, SparseLabels, Targets, UNLABELED};
use lapwing_table::read::{ReadOptions, read_labels, read_sparse_labels};
use lapwing_table::{read_label_column, read_samples};
use proptest::prelude::*;

/// The rules for texts, written down once more without regard to memory. In a file, −1 and `nan` are classes if other rows are empty.
fn twin(texts: &[&str], unlabeled: Option<&str>, in_file: bool) -> Labels {
    let is_open = |text: &str| ["-1", "-1.0", "nan", "null", "none", "na"].contains(&&*text.to_lowercase());
    let is_class = in_file && texts.iter().any(|text| text.trim().is_empty());
    let marks = |text: &str| match unlabeled {
        Some(marker) => text == marker,
        None => !is_class && is_open(text),
    };
    let kept: Vec<Option<&str>> =
        texts.iter().map(|text| Some(text.trim()).filter(|text| !text.is_empty() && !marks(text))).collect();
    // −1 and −1.0 are two ways to write a class, which is named as it is written more often.
    let count = |way: &str| kept.iter().filter(|text| **text == Some(way)).count();
    let usual = if count("-1.0") > count("-1") { "-1.0" } else { "-1" };
    let kept: Vec<Option<&str>> =
        kept.iter().map(|text| text.map(|text| if ["-1", "-1.0"].contains(&text) { usual } else { text })).collect();
    let integer = |text: &str| text.parse().ok().filter(|number: &i64| format!("{number}") == text);
    let integers: Option<Vec<i64>> = kept.iter().flatten().map(|text| integer(text)).collect();
    match integers {
        Some(integers) => {
            let names: Vec<i64> = BTreeSet::from_iter(integers).into_iter().collect();
            let class = |text: &str| names.iter().position(|name| integer(text) == Some(*name)).unwrap() as i32;
            let index = kept.iter().map(|text| text.map_or(UNLABELED, class)).collect();
            Labels { classes: ClassNames::Integers(names), index }
        }
        None => {
            let names: Vec<String> =
                BTreeSet::from_iter(kept.iter().flatten().map(|text| text.to_string())).into_iter().collect();
            let class = |text: &str| names.iter().position(|name| name == text).unwrap() as i32;
            let index = kept.iter().map(|text| text.map_or(UNLABELED, class)).collect();
            Labels { classes: ClassNames::Texts(names), index }
        }
    }
}

/// Both readings of a file of labels, which are the same; the labels or what is wrong.
#[track_caller]
fn both(path: &Path, n_rows: usize, unlabeled: Option<&str>) -> Result<Labels, String> {
    let dense = read_labels(path, n_rows, unlabeled).map_err(|e| e.to_string());
    let sparse = read_sparse_labels(path, n_rows, unlabeled).map_err(|e| e.to_string());
    assert_eq!(sparse, dense.as_ref().map(SparseLabels::from).map_err(String::clone), "{}", path.display());
    dense
}

const WORDS: [&str; 14] =
    ["", "-1", " 3", "03", "1e2", "-1.0", "NaN", "null", "a", "b c", "?", "inf", "9007199254740993", " "];

#[test]
fn rows_are_numbered_in_one_line_or_two_layouts() {
    let folder = Folder::new();
    let path = folder.file("y.csv", "row,label,confidence\n7,a,1\n2,\"b, c\",1\n3,,\n0,a\n");
    let labels = read_sparse_labels(&path, 9, None).unwrap();
    assert_eq!(labels.classes, ClassNames::Texts(vec!["a".into(), "b, c".into()]));
    assert_eq!((labels.rows, labels.index, labels.n_samples), (vec![0, 2, 7], vec![0, 1, 0], 9));
    for content in
        ["row,label\n", "label\n\n\n\n", "3\n\n1\n-1\n", "0,a\n0,b\n", "0,a\n1\n", "0,a\n9,b\n", "a\nb,c\n", ""]
    {
        for n_rows in [0, 2, 3, 4] {
            let _ = both(&folder.file("y.txt", content), n_rows, None);
        }
    }
    // Of a row without a label there must not be a second line either.
    let twice = both(&folder.file("y.csv", "70,\n3,b\n70,c\n"), 99, None).unwrap_err();
    assert!(twice.ends_with("line 3: a second label for row 70"), "{twice}");
    let many = both(&folder.file("y.csv", "1,2\n"), 1 << 32, None).unwrap_err();
    assert!(many.contains("at most 4294967295 rows"), "{many}");
}

#[test]
fn arrays_are_read_without_being_held() {
    let folder = Folder::new();
    let n = 300_000;
    let values: Vec<i64> = (0..n).map(|row| if row % 1000 == 3 { row / 1000 % 7 } else { -1 }).collect();
    let path = folder.file("y.npy", npy("<i8", &format!("({n},)"), &i64s(&values)));
    let labels = read_sparse_labels(&path, n as usize, None).unwrap();
    assert_eq!((labels.n_labeled(), labels.rows[1], labels.n_classes()), (300, 1003, 7));
    let known = |value: i64| Some(value).filter(|&value| value != -1);
    assert_eq!(Labels::from(labels), Labels::from_integers(values.into_iter().map(known)));
    let arrays = [
        npy("<f8", "(3, 1)", &f64s(&[1.0, f64::NAN, 0.0])),
        npy("<f4", "(3,)", &f32s(&[1.5, -1.0, 0.0])),
        npy("|b1", "(3,)", &[1, 0, 1]),
        npy("|S4", "(3,)", b"ham\0spamham\0"),
        npy("|S0", "(3,)", b""),
        npy("<U2", "(3,)", &[65, 0, 0, 0, 66, 0, 0, 0].repeat(3)),
        npy("<i8", "(1, 3)", &i64s(&[1, 2, 3])),
        npy("<i8", "(3,)", &i64s(&[1, 2])),
    ];
    for array in arrays {
        for unlabeled in [None, Some("1"), Some("?")] {
            let _ = both(&folder.file("y.npy", &array), 3, unlabeled);
        }
    }
}

#[test]
fn columns_of_text_are_read_alone() {
    let folder = Folder::new();
    let run = run();
    let options = |column: &str, unlabeled: Option<&str>| ReadOptions {
        label_column: Some(column.into()),
        unlabeled: unlabeled.map(str::to_owned),
        ..ReadOptions::default()
    };
    let path = folder.file("t.csv", crate::common::rows::text(true, "\r\n", 5000));
    for options in [options("label", None), options("label", Some("x"))] {
        let labels = read_samples(&path, &options, &run).unwrap().labels.unwrap();
        assert_eq!(read_label_column(&path, &options, &run).unwrap(), SparseLabels::from(&labels));
    }
    let text = |path: &Path, options| read_label_column(path, &options, &run).unwrap_err().to_string();
    assert!(text(&path, ReadOptions::default()).contains("label column is not given"));
    assert!(text(&path, options("lable", None)).contains("did you mean 'label'?"));
    assert!(text(&folder.file("e.csv", "a,y\n"), options("y", None)).ends_with("no rows after the header"));
    let latin = read_label_column(&folder.file("b.csv", b"y\n1\n\xff\n"), &options("y", None), &run).unwrap();
    assert_eq!(latin.classes.names(), ["1", "ÿ"]);
    assert!(text(&folder.file("y.npy", "x"), options("y", None)).contains("expected a table"));
    // Cells of other columns need not be numbers.
    assert_eq!(read_label_column(&folder.file("w.csv", "a,y\nred,1\n"), &options("y", None), &run).unwrap().rows, [0]);
    let stopped = read_label_column(&path, &options("label", None), &canceled());
    assert!(matches!(stopped, Err(Error::Interrupted)));
}

#[test]
fn columns_of_tables_are_read_alone() {
    use std::sync::Arc;

    use crate::common::edges::parquet;
    use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, StringArray};

    let folder = Folder::new();
    let run = run();
    let n = 100;
    let x: ArrayRef = Arc::new(Float64Array::from_iter_values((0..n).map(f64::from)));
    let labels: [ArrayRef; 4] = [
        Arc::new(Int32Array::from_iter((0..n).map(|row| (row % 3 != 0).then_some(row % 7 - 1)))),
        Arc::new(Float64Array::from_iter((0..n).map(|row| (row % 3 != 0).then_some(f64::from(row % 7) / 2.0)))),
        Arc::new(StringArray::from_iter((0..n).map(|row| (row % 3 != 0).then_some(WORDS[row as usize % 14])))),
        Arc::new(BooleanArray::from_iter((0..n).map(|row| (row % 3 != 0).then_some(row % 2 == 0)))),
    ];
    for y in labels {
        let path = folder.file("t.parquet", parquet(vec![("x", x.clone()), ("y", y)]));
        for unlabeled in [None, Some("3"), Some("?")] {
            let options = ReadOptions {
                label_column: Some("y".into()),
                unlabeled: unlabeled.map(str::to_owned),
                ..ReadOptions::default()
            };
            let labels = read_samples(&path, &options, &run).unwrap().labels.unwrap();
            assert_eq!(read_label_column(&path, &options, &run).unwrap(), SparseLabels::from(&labels));
        }
    }
}

proptest! {
    #[test]
    fn texts_follow_the_rules(
        words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..12),
        unlabeled in prop::sample::select(vec![None, Some("?"), Some("3.0"), Some("")]),
    ) {
        prop_assert_eq!(&Labels::from_texts(&words, unlabeled), &twin(&words, unlabeled, false));
        let expected = twin(&words, unlabeled, true);
        prop_assert_eq!(&Labels::from(SparseLabels::from(&expected)), &expected);
        let folder = Folder::new();
        let pairs: String = words.iter().enumerate().rev().map(|(row, word)| format!("{row},{word}\n")).collect();
        let path = folder.file("p.csv", format!("row,label\n{pairs}"));
        prop_assert_eq!(&both(&path, words.len(), unlabeled), &Ok(expected.clone()));
        let lines: String = words.iter().map(|word| format!("{word}\n")).collect();
        let path = folder.file("l.csv", format!("label\n{lines}"));
        prop_assert_eq!(&both(&path, words.len(), unlabeled), &Ok(expected.clone()));
        let table: String = words.iter().map(|word| format!("1,\"{word}\"\n")).collect();
        let path = folder.file("t.csv", format!("x,y\n{table}"));
        let options = ReadOptions {
            label_column: Some("y".into()), unlabeled: unlabeled.map(str::to_owned), ..ReadOptions::default()
        };
        if let Ok(labels) = read_label_column(&path, &options, &run()) {
            prop_assert_eq!(&Labels::from(labels), &expected);
        }
        if expected.n_labeled() > 0 {
            let targets = Targets::from_sparse(&SparseLabels::from(&expected)).unwrap();
            prop_assert_eq!(targets, Targets::one_hot(&expected, None).unwrap());
        }
    }
}
