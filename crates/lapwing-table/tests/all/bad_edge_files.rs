//! Files of edges that are wrong, damaged or of another kind: an error that says where, never a panic.

use crate::common::edges::{edges, error, files, records};
use crate::common::*;
use lapwing_core::{EdgeSource, Error};
use lapwing_table::read::EdgeFile;
use proptest::prelude::*;

#[test]
fn bad_rows_of_text_are_named_by_line() {
    let folder = Folder::new();
    let text = |content: &str, n| error(&folder.file("e.csv", content), n);
    assert!(text("u,v,w\n0,1,1\n0,2,-1\n", None).ends_with("line 3: weight -1; weights must be finite and at least 0"));
    assert!(text("0,1,nan\n", Some(3)).contains("line 1: weight NaN"));
    assert!(
        text("0,1\n0,3\n", Some(3)).ends_with("line 2: node 3 is out of range; the data has 3 rows, counted from 0")
    );
    assert!(
        text("0,1\n0,4294967295\n", None)
            .ends_with("node 4294967295 is out of range; nodes count from 0 to 4294967294")
    );
    assert!(text("0,1\n0,99999999999999999999\n", None).contains("node '99999999999999999999' is not an integer"));
    assert!(text("0,1\n0,-1\n", None).contains("line 2: node -1 is out of range"));
    assert!(text("u,v\n0,1.5\n", None).contains("column 'v' holds numbers with decimals, which are no ids"));
    let late: String = (0..2000).map(|at| format!("{at},0\n")).chain(["0,1.5\n".into()]).collect();
    assert!(text(&late, None).contains("line 2001: node '1.5' is not an integer"));
    assert!(text("0,1\n0,1,2\n", None).contains("line 2: 3 fields; the lines before have 2"));
    assert!(text("0,1,2,3\n", None).contains("4 columns; expected two nodes and perhaps a weight"));
    assert!(text("0,1,x\n", None).contains("line 1: weight 'x' is no number"));
    assert!(text("", None).ends_with("the file is empty"));
    assert_eq!(EdgeFile::open(&folder.file("e.csv", "u,v\n"), None, &run()).unwrap().n_nodes(), 0);
}

#[test]
fn bad_arrays_are_named_by_row() {
    let folder = Folder::new();
    let text = |bytes: &[u8], n| error(&folder.file("e.npy", bytes), n);
    let float = |rows: &[f64]| npy("<f8", &format!("({}, 3)", rows.len() / 3), &f64s(rows));
    assert!(text(&float(&[0.0, 1.0, 1.0, 0.0, 1.5, 1.0]), None).ends_with("row 1: node 1.5 is not an integer"));
    assert!(text(&float(&[f64::NAN, 1.0, 1.0]), None).ends_with("row 0: node NaN is not an integer"));
    assert!(text(&float(&[0.0, 1.0, -2.0]), None).contains("row 0: weight -2; weights must be"));
    assert!(
        text(&npy("<i8", "(1, 2)", &i64s(&[0, 5])), Some(5)).contains("row 0: node 5 is out of range; the data has 5")
    );
    let packed = |rows: &[(u32, u32, f32)]| {
        let data: Vec<u8> =
            rows.iter().flat_map(|r| [r.0, r.1, r.2.to_bits()].map(u32::to_le_bytes).concat()).collect();
        records("[('u', '<u4'), ('v', '<u4'), ('w', '<f4')]", rows.len(), &data)
    };
    let rows = [(0, 1, 1.0), (1, 2, 1.0), (2, 7, 1.0), (0, 1, -1.0)];
    assert!(
        text(&packed(&rows), Some(7)).ends_with("row 2: node 7 is out of range; the data has 7 rows, counted from 0")
    );
    assert!(text(&packed(&rows), None).ends_with("row 3: weight -1; weights must be finite and at least 0"));
    assert!(text(&packed(&[(0, 1, f32::INFINITY)]), None).contains("row 0: weight inf"));
    let last = u32::MAX;
    assert!(text(&packed(&[(0, last, 1.0)]), None).contains("row 0: node 4294967295 is out of range"));
    assert!(text(&packed(&rows)[..150], None).contains("truncated"));
    assert!(text(b"", None).ends_with("the file is empty"));
}

#[test]
fn arrays_of_other_types_are_refused() {
    let folder = Folder::new();
    let text = |bytes: Vec<u8>| error(&folder.file("e.npy", bytes), None);
    let fields = |descr: &str, size: usize| text(records(descr, 1, &vec![0; size]));
    assert!(fields("[('u', '<u4')]", 4).ends_with("1 columns; expected two nodes and perhaps a weight"));
    assert!(fields("[('u', '<f4'), ('v', '<u4')]", 8).ends_with("field 'u': nodes are integers counted from 0"));
    assert!(fields("[('u', '<u4'), ('v', '<u4'), ('w', '<U1')]", 12).ends_with("field 'w': weights are numbers"));
    assert!(fields("[('u', '<u4', (2,))]", 8).contains("field 'u' is no plain number"));
    assert!(text(npy("<U1", "(1, 2)", &[0; 8])).ends_with("holds text; expected numbers"));
    assert!(text(npy("<i4", "(2,)", &[0; 8])).contains("shape (2,); expected two dimensions"));
    assert!(text(npy("<i4", "(1, 4)", &[0; 16])).contains("4 columns"));
    assert!(text(npy("<c8", "(1, 2)", &[0; 16])).contains("type '<c8'"));
    let table = npy_of_literal("[('u', '<u4'), ('v', '<u4')]", "False", "(1, 1)", &[0; 8]);
    assert!(text(table).contains("shape (1, 1); expected one dimension of records"));
}

#[test]
fn other_files_are_refused() {
    let folder = Folder::new();
    let archive = npz(&[("edges", npy("<i4", "(1, 2)", &[0; 8]))]);
    assert!(
        error(&folder.file("e.npz", archive), None).contains("archives are not read in blocks; expected edges as .npy")
    );
    assert!(error(&folder.file("e.dat", [1, 0, 2]), None).contains("starts with [01, 00, 02]"));
    assert_eq!(EdgeFile::open(&folder.file("e.dat", "0,1"), None, &run()).unwrap().n_nodes(), 2);
    assert!(matches!(EdgeFile::open(&folder.path("none.npy"), None, &run()), Err(Error::Io { .. })));
    assert!(matches!(EdgeFile::open(&folder.path("none.csv"), None, &run()), Err(Error::Io { .. })));
    let many = EdgeFile::open(&folder.file("e.csv", "0,1"), Some(1 << 33), &run()).unwrap_err().to_string();
    assert_eq!(many, "number of nodes is 8589934592; expected at most 4294967295");
}

mod tables {
    use std::sync::Arc;

    use crate::common::edges::parquet;
    use arrow_array::{ArrayRef, Float64Array, Int64Array, UInt32Array};

    use super::*;

    #[test]
    fn bad_columns_and_rows_of_parquet_are_named() {
        let folder = Folder::new();
        let nodes = |nodes: &[Option<i64>]| Arc::new(Int64Array::from(nodes.to_vec())) as ArrayRef;
        let numbers = |numbers: &[f64]| Arc::new(Float64Array::from(numbers.to_vec())) as ArrayRef;
        let text = |columns: Vec<(&str, ArrayRef)>| error(&folder.file("e.parquet", parquet(columns)), Some(3));
        let good = || nodes(&[Some(0), Some(1)]);
        assert!(text(vec![("u", good())]).contains("1 columns; expected two nodes"));
        let float = text(vec![("u", good()), ("v", numbers(&[0.0, 1.0]))]);
        assert!(float.ends_with("column 'v' holds Float64; nodes are integers counted from 0"), "{float}");
        assert!(text(vec![("u", good()), ("v", nodes(&[Some(0), None]))]).contains("row 1: a node is missing"));
        let weights = |w| text(vec![("u", good()), ("v", good()), ("w", numbers(&[1.0, w]))]);
        assert!(weights(-0.5).contains("row 1: weight -0.5; weights must be finite"));
        assert!(weights(f64::NAN).contains("row 1: weight NaN"));
        assert!(weights(1.0).is_empty());
    }

    #[test]
    fn damaged_parquet_is_survived() {
        let column = || Arc::new(UInt32Array::from(vec![0, 1, 2, 3])) as ArrayRef;
        damage(&[("e.parquet", parquet(vec![("u", column()), ("v", column())]))]);
    }
}

/// Cuts each file at every byte and changes every byte: an error or an answer, never a panic.
fn damage(files: &[(&str, Vec<u8>)]) {
    let folder = Folder::new();
    for (name, bytes) in files {
        assert_eq!(error(&folder.file(name, bytes), None), "", "{name}");
        for at in 0..bytes.len() {
            let cut = error(&folder.file(name, &bytes[..at]), None);
            assert!(!cut.is_empty() || name.ends_with(".csv"), "{name} cut to {at} bytes was read");
            for flip in [1, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                error(&folder.file(name, &changed), None);
            }
        }
    }
}

#[test]
fn damaged_files_are_survived() {
    let all = edges();
    damage(&files(&all[..3]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300), header in any::<bool>()) {
        let folder = Folder::new();
        let whole = if header { records("[('u', '<u4'), ('v', '<u4')]", bytes.len() / 8, &bytes) } else { bytes };
        for name in ["e.npy", "e.csv", "e.csv.gz", "e.csv.zst", "e.parquet", "e.npz"] {
            error(&folder.file(name, &whole), None);
        }
    }
}
