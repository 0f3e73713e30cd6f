//! Files of labels: which columns are rows and labels, what the first line is, and labels that differ in white space alone.

use crate::common::*;
use lapwing_core::{Error, Labels, RowNames, UNLABELED};
use lapwing_table::read::{LabelFileOptions, NamedLabels, ReadOptions, read_label_file};
use lapwing_table::read_samples;

fn read(
    folder: &Folder,
    text: &str,
    n_rows: usize,
    names: Option<&[&str]>,
    header: Option<bool>,
) -> Result<NamedLabels, Error> {
    let names = names.map(|names| RowNames::of_rows("id", names).unwrap());
    let options = LabelFileOptions { header, ..LabelFileOptions::default() };
    read_label_file(&folder.file("y.csv", text), n_rows, names.as_ref(), &options)
}

fn warnings(found: &NamedLabels) -> String {
    found.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn rows_and_labels_are_found_by_the_names_of_columns() {
    let folder = Folder::new();
    for text in [
        "row,label\n0,x\n2,y\n",
        "label,row\nx,0\ny,2\n",
        ",label\n0,x\n2,y\n",
        "score,class,index\n1,x,0\n1,y,2\n",
        "0,x\n2,y\n",
        "who,what\n0,x\n2,y\n",
    ] {
        let labels = Labels::from(read(&folder, text, 3, None, None).unwrap().labels);
        assert_eq!((labels.index, labels.classes.names().concat().as_str()), (vec![0, UNLABELED, 1], "xy"), "{text:?}");
    }
    let error = |text: &str| read(&folder, text, 9, None, None).unwrap_err().to_string();
    for odd in ["007", "+7", "7.0", "-1", "a"] {
        assert!(error(&format!("row,label\n1,x\n{odd},y\n")).contains(&format!("line 3: '{odd}' is no row number")));
    }
    assert!(error("a,b,c\n1,2,3\n").contains("3 fields; expected a row number and a label"));
    let postcodes = read(&folder, "postcode,label\n007,x\n7,y\n", 3, Some(&["7", "007", "08"]), None).unwrap();
    assert_eq!(Labels::from(postcodes.labels).index, [1, 0, UNLABELED]);
}

#[test]
fn labels_are_a_table_of_any_format() {
    let folder = Folder::new();
    let json = "{\"label\": \"x\", \"row\": 0}\n{\"label\": \"y\", \"row\": 2}\n";
    let labels = |path: &std::path::Path| {
        Labels::from(read_label_file(path, 3, None, &LabelFileOptions::default()).unwrap().labels)
    };
    let found = labels(&folder.file("y.jsonl", json));
    assert_eq!((found.index, found.classes.names().concat().as_str()), (vec![0, UNLABELED, 1], "xy"));
    let spread = labels(&folder.file("y.csv", "row,label,note\n0,x\n2,\"y\",\"two\nlines\"\n"));
    assert_eq!(spread.index, [0, UNLABELED, 1]);
    let again = folder.file("z.jsonl", json.replace("2}", "0}"));
    let text = read_label_file(&again, 3, None, &LabelFileOptions::default()).unwrap_err().to_string();
    assert!(text.contains("line 2: a second label for row 0"), "{text}");
    let column = labels(&folder.file("c.jsonl", "{\"kind\": \"x\"}\n{\"kind\": null}\n{\"kind\": \"y\"}\n"));
    assert_eq!(column.index, [0, UNLABELED, 1]);
}

#[test]
fn a_first_line_is_a_label_unless_it_is_a_header() {
    let folder = Folder::new();
    // One label a line: the number of rows and whether the word comes again tell. A lost line does not make a label of a header.
    assert!(read(&folder, "label\nn\ny\n", 3, None, None).is_err());
    assert!(read(&folder, "y\nn\nn\n", 3, None, None).is_err());
    assert_eq!(read(&folder, "y\nn\nn\n", 3, None, Some(false)).unwrap().labels.n_labeled(), 3);
    for (text, n_rows) in [("y\nn\ny\n", 3), ("y\nn\ny\n", 2), ("label\nn\ny\n", 2)] {
        let found = read(&folder, text, n_rows, None, None).unwrap();
        assert_eq!(
            (found.labels.n_samples, found.labels.n_labeled(), warnings(&found)),
            (n_rows, n_rows, String::new())
        );
    }
    // Pairs: a line that begins with a number is none of names, whatever is said of the header.
    assert_eq!(read(&folder, "0,cat\n2,dog\n", 3, None, Some(true)).unwrap().labels.n_labeled(), 2);
    let marked = read(&folder, "-1,cat\n0,dog\n", 3, None, None).unwrap_err().to_string();
    assert!(marked.contains("line 1: '-1' is no row number"), "{marked}");
    // Names: a name of the data, the words of a header, or a label that comes again.
    let names = Some(&["ann", "bob", "cid"][..]);
    let of = |text: &str, header| {
        read(&folder, text, 3, names, header).map(|found| (found.labels.n_labeled(), warnings(&found)))
    };
    assert_eq!(of("ann,x\nbob,y\n", None).unwrap(), (2, String::new()));
    assert_eq!(of("node,label\nann,x\nbob,y\n", None).unwrap(), (2, String::new()));
    assert_eq!(of("x,label\nann,x\nbob,y\n", None).unwrap(), (2, String::new()));
    let (n, warning) = of("who,team\nann,x\nbob,y\n", None).unwrap();
    assert!(n == 2 && warning.contains("'who' and 'team', is taken for a header; if it is a label, pass no_header"));
    assert_eq!(of("who,team\nann,x\nbob,y\n", Some(true)).unwrap(), (2, String::new()));
    let text = |text: &str, header| of(text, header).unwrap_err().to_string();
    assert!(
        text("zoe,x\nann,x\nbob,y\n", None)
            .contains("1 of 3 ids are no ids of the column 'id' of the data ('zoe' in line 1)")
    );
    assert!(text("who,team\nann,x\nbob,y\n", Some(false)).contains("('who' in line 1)"));
}

#[test]
fn labels_that_differ_in_white_space_alone_are_one_class() {
    let folder = Folder::new();
    let texts = ["x", "x ", "\tx", "x\u{a0}", "\u{200b}x", "x", "y z", "y  z", "y\u{a0}z"];
    let check = |n_classes: usize, text: &str, what: &str| {
        assert_eq!(n_classes, 2, "{what}");
        let apart = "'y z' (1) and 'y  z' (1) and 'y\\u{a0}z' (1) count as one class; write them alike";
        for part in ["'x' (2)", "'x ' (1)", "'x\\u{a0}' (1)", "'\\u{200b}x' (1)", "count as one class", apart] {
            assert!(text.contains(part), "{what}: {text}");
        }
    };
    let column: String = texts.iter().map(|text| format!("{text}\n")).collect();
    let rows: String = texts.iter().enumerate().map(|(row, text)| format!("{row},{text}\n")).collect();
    let names: Vec<String> = (0..9).map(|row| row.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for (text, names) in [(&column, None), (&rows, None), (&rows, Some(&names[..]))] {
        let found = read(&folder, text, 9, names, None).unwrap();
        check(found.labels.n_classes(), &warnings(&found), "a file of labels");
    }
    let options = ReadOptions { label_column: Some("y".into()), ..ReadOptions::default() };
    let table: String = texts.iter().enumerate().map(|(row, text)| format!("{row},{text}\n")).collect();
    let samples = read_samples(&folder.file("t.csv", format!("a,y\n{table}")), &options, &run()).unwrap();
    let text = samples.warnings.iter().map(ToString::to_string).collect::<String>();
    check(samples.labels.unwrap().n_classes(), &text, "a column");
    // Spaces that all labels have, or that separate cells, are no difference.
    let found = read(&folder, " x\n y\n x\n", 3, None, None).unwrap();
    assert_eq!((found.labels.classes.names(), warnings(&found)), (vec!["x".to_owned(), "y".into()], String::new()));
}
