//! Files of labels and of graphs, and graphs written and read again.

use std::path::Path;

use crate::common::*;
use lapwing_core::{ClassNames, Csr};
use lapwing_table::read::{read_graph, read_labels};
use lapwing_table::write::{GRAPH_ENDINGS, LABEL_ENDINGS, LabeledRows, write_graph};
use proptest::prelude::*;

fn labels_error(path: &Path, n_rows: usize) -> String {
    read_labels(path, n_rows, None).unwrap_err().to_string()
}

fn graph_error(path: &Path, n_rows: Option<usize>) -> String {
    read_graph(path, n_rows, &run()).unwrap_err().to_string()
}

#[test]
fn labels_come_one_a_line_or_in_pairs() {
    let folder = Folder::new();
    let index = |content: &str, n| read_labels(&folder.file("y.txt", content), n, None).unwrap().index;
    assert_eq!(index("3\n1\n-1\n", 3), [1, 0, -1]);
    assert_eq!(index("3\n\n1\n-1\n", 4), [2, -1, 1, 0], "-1 is a class where other rows are empty");
    assert_eq!(index("label\nham\r\n\"spam, more\"\nham", 3), [0, 1, 0]);
    assert_eq!(index("2,spam\n0,ham\n", 4), [0, -1, 1, -1]);
    assert_eq!(index("row,label,confidence\n1,5,0.5\n", 2), [-1, 0]);
    assert_eq!(index("row,label\n", 2), [-1, -1]);
    let named = read_labels(&folder.file("y.txt", "a\n?\n"), 2, Some("?")).unwrap();
    assert_eq!(named.index, [0, -1]);
}

#[test]
fn bad_label_files_are_named_by_line() {
    let folder = Folder::new();
    let text = |content: &str, n| labels_error(&folder.file("y.csv", content), n);
    assert!(text("1\n2\n3\n", 2).ends_with("y.csv has 3 labels; expected 2 labels, one per row of the data"));
    assert!(text("1\n", 2).contains("has 1 labels; expected 2"));
    assert!(text("", 2).ends_with("the file is empty"));
    assert!(text("0,a\n2,b\n", 2).ends_with("line 2: row 2 is out of range; the data has 2 rows, counted from 0"));
    assert!(text("0,a\n0,b\n", 2).ends_with("line 2: a second label for row 0"));
    assert!(text("0,a\nx,b\n", 2).contains("line 2: 'x' is no row number; rows are counted from 0"));
    assert!(text("0,a\n1,b,c\n", 2).contains("line 2: 3 fields"));
    assert!(text("a\nb,c\n", 2).contains("line 2: 2 fields; expected one label"));
    assert!(labels_error(&folder.file("y.npz", "x"), 1).contains("labels as .npy, or as a table"));
}

#[test]
fn labels_come_as_arrays() {
    let folder = Folder::new();
    let read = |bytes: Vec<u8>, n| read_labels(&folder.file("y.npy", bytes), n, None);
    assert_eq!(read(npy("<i8", "(3,)", &i64s(&[5, -1, 2])), 3).unwrap().index, [1, -1, 0]);
    assert_eq!(read(npy("<f8", "(3, 1)", &f64s(&[1.0, f64::NAN, 0.0])), 3).unwrap().index, [1, -1, 0]);
    assert_eq!(read(npy("|b1", "(2,)", &[1, 0]), 2).unwrap().classes, ClassNames::Integers(vec![0, 1]));
    assert_eq!(read(npy("|S4", "(2,)", b"ham\0spam"), 2).unwrap().index, [0, 1]);
    let longer = read(npy("<i8", "(3,)", &i64s(&[5, -1, 2])), 2).unwrap_err().to_string();
    assert!(longer.contains("has 3 labels; expected 2 labels"), "{longer}");
    assert!(read(npy("<i8", "(1, 2)", &i64s(&[1, 2])), 1).unwrap_err().to_string().contains("shape (1, 2)"));
}

#[test]
fn edge_lists_become_symmetric() {
    let folder = Folder::new();
    // 0–1 both ways, 1–2 once, 2–3 twice in one direction, a loop.
    let content = "u,v,w\n0,1,2\n1,0,2\n2,1,0.5\n2,3,1\n2,3,1\n3,3,9\n";
    let graph = read_graph(&folder.file("e.csv", content), Some(5), &run()).unwrap();
    assert_eq!((graph.n_rows(), graph.nnz()), (5, 6));
    assert_eq!(graph.row(1), (&[0, 2][..], &[2.0, 0.5][..]));
    assert_eq!(graph.row(3), (&[2][..], &[2.0][..]));
    let bare = read_graph(&folder.file("b.csv", "0,1\n2,1\n"), None, &run()).unwrap();
    assert_eq!((bare.n_rows(), bare.values()), (3, &[1.0; 4][..]));
    let array = npy("<f8", "(2, 3)", &f64s(&[0.0, 1.0, 0.5, 1.0, 2.0, 0.0]));
    let graph = read_graph(&folder.file("e.npy", array), None, &run()).unwrap();
    assert_eq!((graph.n_rows(), graph.nnz()), (3, 2));
    let member = npz(&[("edges", npy("<i4", "(1, 2)", &i32s(&[0, 2]))), ("y", npy("|u1", "(3,)", &[0; 3]))]);
    assert_eq!(read_graph(&folder.file("e.npz", member), Some(3), &run()).unwrap().indices(), [2, 0]);
}

#[test]
fn bad_graphs_are_named_by_edge() {
    let folder = Folder::new();
    let text = |content: &str, n| graph_error(&folder.file("e.csv", content), n);
    let directions = text("0,1,2\n1,0,3\n", None);
    assert!(directions.contains("the weight from 0 to 1 is 2, from 1 to 0 it is 3"), "{directions}");
    assert!(text("0,1,1\n0,2,-1\n", None).ends_with("line 2: weight -1; weights must be finite and at least 0"));
    assert!(text("0,1,1\n0,2,inf\n", None).contains("line 2: weight inf"));
    assert!(text("0,1,1\n0,2,\n", None).contains("line 2: weight NaN"));
    assert!(
        text("u,v\n0,1\n0,7\n", Some(3))
            .ends_with("line 3: node 7 is out of range; the data has 3 rows, counted from 0")
    );
    assert!(text("u,v\n-1,0\n", None).contains("node -1 is out of range"));
    assert!(text("u,v\nann,bob\n", None).contains("node 'ann' is not an integer"));
    assert!(text("1,2,3,4\n", None).contains("4 columns; expected two nodes"));
    let fraction = folder.file("e.npy", npy("<f8", "(1, 2)", &f64s(&[0.0, 0.5])));
    assert!(graph_error(&fraction, None).ends_with("row 0: node 0.5 is not an integer"));
    let matrix = |indptr: &[i32], indices: &[i32], data: &[f64]| {
        folder.file("m.npz", scipy("csr", [2, indptr.len() as i64 - 1], indptr, indices, data))
    };
    let asymmetric = graph_error(&matrix(&[0, 2, 3], &[0, 1, 0], &[9.0, 1.0, 2.0]), None);
    assert!(asymmetric.contains("the weight from 0 to 1 is 1, from 1 to 0 it is 2"), "{asymmetric}");
    let one_way = graph_error(&matrix(&[0, 1, 1], &[1], &[1.0]), None);
    assert!(one_way.contains("from 1 to 0 it is 0"), "{one_way}");
    let negative = graph_error(&matrix(&[0, 1, 2], &[1, 0], &[-1.0, -1.0]), None);
    assert!(negative.contains("entry (0, 1) is -1; weights must be finite"), "{negative}");
    let shape = graph_error(&matrix(&[0, 1, 2], &[1, 0], &[1.0, 1.0]), Some(3));
    assert!(shape.contains("2 × 2 entries; expected 3 × 3"), "{shape}");
}

#[test]
fn written_labels_are_read_again() {
    let folder = Folder::new();
    let rows = LabeledRows {
        classes: &ClassNames::Integers(vec![3, 8]),
        labels: &[Some(1), None, Some(0)],
        confidence: &[0.5, f64::NAN, 1.0],
        reached: &[true, false, true],
        certified: None,
        probabilities: None,
    };
    let path = folder.path("out.csv");
    write_labels(&path, &rows).unwrap();
    let labels = read_labels(&path, 3, None).unwrap();
    assert_eq!((labels.classes, labels.index), (ClassNames::Integers(vec![3, 8]), vec![1, -1, 0]));
    for ending in LABEL_ENDINGS {
        let result = write_labels(&folder.path(&format!("none/out{ending}")), &rows);
        assert!(result.unwrap_err().to_string().contains("none"));
    }
}

#[test]
fn written_tables_are_read_again() {
    use lapwing_core::Matrix;
    use lapwing_table::read::ReadOptions;
    use lapwing_table::{probe, read_samples};
    let folder = Folder::new();
    let classes = ClassNames::Texts(vec!["a".into(), "b".into()]);
    let probabilities = Matrix::new(3, 2, vec![0.9, 0.1, 0.25, 0.75, f64::NAN, f64::NAN]).unwrap();
    let rows = LabeledRows {
        classes: &classes,
        labels: &[Some(0), Some(1), None],
        confidence: &[0.9, 0.75, f64::NAN],
        reached: &[true, true, false],
        certified: Some(&[true, false, false]),
        probabilities: Some(&probabilities),
    };
    let path = folder.path("out.parquet");
    write_labels(&path, &rows).unwrap();
    let options = ReadOptions { label_column: Some("label".into()), ..ReadOptions::default() };
    let samples = read_samples(&path, &options, &run()).unwrap();
    assert_eq!(samples.feature_names.unwrap(), ["row", "confidence", "reached", "certified", "p_a", "p_b"]);
    let labels = samples.labels.unwrap();
    assert_eq!((labels.classes, labels.index), (classes, vec![0, 1, -1]));
    let found = values(&samples.features);
    assert_eq!(found[..12], [0.0, 0.9, 1.0, 1.0, 0.9, 0.1, 1.0, 0.75, 1.0, 0.0, 0.25, 0.75]);
    assert!(found[13].is_nan() && found[16].is_nan());
    assert_eq!(probe(&path, &options).unwrap().bytes_in_memory, samples.features.bytes());
    let reordered = ReadOptions { columns: Some(vec!["p_b".into(), "row".into()]), ..ReadOptions::default() };
    assert_eq!(values(&read_samples(&path, &reordered, &run()).unwrap().features)[..4], [0.1, 0.0, 0.75, 1.0]);
    let text = read_samples(&path, &ReadOptions::default(), &run()).unwrap_err().to_string();
    assert!(
        text.contains("1 column of a type that is not a number: 'label' (Utf8); prepare it, or leave it out"),
        "{text}"
    );
    let unknown = ReadOptions { drop: vec!["roww".into()], ..ReadOptions::default() };
    assert!(read_samples(&path, &unknown, &run()).unwrap_err().to_string().contains("did you mean 'row'?"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn graphs_survive_every_format(entries in prop::collection::vec((0u32..9, 0u32..9, 0.1f64..9.0), 1..40)) {
        let folder = Folder::new();
        let mut upper: Vec<(u32, u32, f64)> =
            entries.into_iter().filter(|e| e.0 != e.1).map(|(u, v, w)| (u.min(v), u.max(v), w)).collect();
        upper.push((0, 8, 1.0));
        upper.sort_by_key(|e| (e.0, e.1));
        upper.dedup_by_key(|e| (e.0, e.1));
        let both: Vec<_> = upper.iter().flat_map(|&(u, v, w)| [(u, v, w), (v, u, w)]).collect();
        let graph = Csr::from_entries(9, 9, &both).unwrap();
        for ending in GRAPH_ENDINGS {
            let path = folder.path(&format!("g{ending}"));
            write_graph(&path, &graph).unwrap();
            prop_assert_eq!(&read_graph(&path, None, &run()).unwrap(), &graph, "{}", ending);
        }
    }
}
