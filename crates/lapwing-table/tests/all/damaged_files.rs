//! Files cut short or with a byte changed: an error or an answer, never a panic.

use std::path::{Path, PathBuf};

use crate::common::*;
use lapwing_table::read::{ReadOptions, read_graph, read_labels};
use lapwing_table::{probe, read_label_column, read_samples};
use proptest::prelude::*;

/// One small file of each format, by name.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let array = npy("<f4", "(3, 2)", &f32s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let mut files = vec![
        ("a.npy", array.clone()),
        ("fortran.npy", npy_in_order("<i2", "True", "(3, 2)", &[1; 12])),
        ("text.npy", npy("<U2", "(3,)", &[65, 0, 0, 0, 66, 0, 0, 0].repeat(3))),
        ("x.npz", npz(&[("X", array), ("y", npy("<i8", "(3,)", &i64s(&[0, 1, -1])))])),
        ("sparse.npz", scipy("csr", [3, 3], &[0, 1, 2, 2], &[1, 0], &[1.0, 1.0])),
        ("t.csv", b"a,b,label\n1,2,\"x\"\n3,4,y\n5,6,\n".to_vec()),
        ("s.svm", b"1 1:2 3:4\n2 2:1\n1\n".to_vec()),
    ];
    files.push(("labels.parquet", parquet()));
    files
}

fn parquet() -> Vec<u8> {
    use lapwing_core::ClassNames;
    use lapwing_table::write::LabeledRows;
    let folder = Folder::new();
    let path = folder.path("t.parquet");
    let rows = LabeledRows {
        classes: &ClassNames::Texts(vec!["a".into(), "b".into()]),
        labels: &[Some(0), Some(1), None],
        confidence: &[0.9, 0.75, f64::NAN],
        reached: &[true, true, false],
        certified: None,
        probabilities: None,
    };
    write_labels(&path, &rows).unwrap();
    std::fs::read(path).unwrap()
}

/// Reads a file in every way there is; true if the samples could be read.
fn read_all(path: &Path) -> bool {
    let label_column =
        path.extension().is_some_and(|ending| ending == "csv" || ending == "parquet").then(|| "label".into());
    let options = ReadOptions { label_column, ..ReadOptions::default() };
    let _ = (probe(path, &options), read_labels(path, 3, None), read_graph(path, None, &run()));
    let _ = read_label_column(path, &options, &run());
    read_samples(path, &options, &run()).is_ok()
}

#[test]
fn every_truncation_is_survived() {
    let folder = Folder::new();
    for (name, bytes) in files() {
        let is_binary = !matches!(name, "t.csv" | "s.svm" | "text.npy");
        assert_eq!(read_all(&folder.file(name, &bytes)), name != "text.npy", "{name}");
        for len in 0..bytes.len() {
            let path: PathBuf = folder.file(name, &bytes[..len]);
            assert!(!read_all(&path) || !is_binary, "{name} cut to {len} of {} bytes was read", bytes.len());
        }
    }
}

#[test]
fn archives_with_two_members_of_one_name_are_refused() {
    let folder = Folder::new();
    let array = |value: f32| npy("<f4", "(1, 1)", &f32s(&[value]));
    let mut bytes = npz(&[("X", array(1.0)), ("Z", array(2.0))]);
    let places: Vec<usize> = (0..bytes.len() - 5).filter(|&at| &bytes[at..at + 5] == b"Z.npy").collect();
    places.iter().for_each(|&at| bytes[at] = b'X');
    assert_eq!(places.len(), 2);
    let path = folder.file("x.npz", bytes);
    let text = read_samples(&path, &ReadOptions::default(), &run()).unwrap_err().to_string();
    assert!(text.contains("duplicate file names"), "{text}");
}

#[test]
fn no_texts_of_any_size_take_no_memory() {
    let folder = Folder::new();
    for width in ["2147483647", "4"] {
        let path = folder.file("none.npy", npy(&format!("|S{width}"), "(0,)", &[]));
        assert_eq!(read_labels(&path, 0, None).unwrap().len(), 0, "{width}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn every_changed_byte_is_survived(at in any::<prop::sample::Index>(), flip in 1u8..=255) {
        let folder = Folder::new();
        for (name, mut bytes) in files() {
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            read_all(&folder.file(name, &bytes));
        }
    }
}
