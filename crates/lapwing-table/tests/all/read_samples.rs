//! Samples of every format: what is read, and what is said about files that cannot be.

use std::path::Path;

use crate::common::*;
use lapwing_core::{Buffer, ClassNames, DenseValues, Error, Features};
use lapwing_table::read::{ReadOptions, Samples};
use lapwing_table::{probe, read_samples};
use proptest::prelude::*;

fn read(path: &Path) -> Samples {
    read_samples(path, &ReadOptions::default(), &run()).unwrap()
}

fn error(path: &Path, options: &ReadOptions) -> String {
    read_samples(path, options, &run()).unwrap_err().to_string()
}

fn labeled_by(name: &str) -> ReadOptions {
    ReadOptions { label_column: Some(name.into()), ..ReadOptions::default() }
}

#[test]
fn arrays_are_mapped_or_converted() {
    let folder = Folder::new();
    let path = folder.file("a.npy", npy("<f4", "(2, 3)", &f32s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])));
    let samples = read(&path);
    let Features::Dense(dense) = &samples.features else { panic!("dense expected") };
    assert!(matches!(dense.values(), DenseValues::F32(Buffer::Mapped(_))));
    assert_eq!(values(&samples.features), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let size = probe(&path, &ReadOptions::default()).unwrap();
    assert_eq!((size.n_rows, size.n_cols, size.bytes_in_memory, size.mapped), (2, 3, 24, true));

    let fortran = npy_in_order("<f8", "True", "(2, 3)", &f64s(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    assert_eq!(values(&read(&folder.file("f.npy", fortran)).features), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let big = npy("<i8", "(1, 2)", &i64s(&[1 << 40, -1]));
    assert_eq!(values(&read(&folder.file("i.npy", big)).features), [(1i64 << 40) as f64, -1.0]);
    let options = ReadOptions { columns: Some(vec!["2".into(), "0".into()]), ..ReadOptions::default() };
    assert_eq!(values(&read_samples(&path, &options, &run()).unwrap().features), [3.0, 1.0, 6.0, 4.0]);
    assert!(!probe(&path, &options).unwrap().mapped);

    let flat = folder.file("flat.npy", npy("<f4", "(3,)", &f32s(&[1.0, 2.0, 3.0])));
    assert!(error(&flat, &ReadOptions::default()).contains("shape (3,); expected two dimensions"));
    assert!(error(&path, &labeled_by("y")).contains("a file of their own"));
    assert!(error(&folder.file("e.npy", ""), &ReadOptions::default()).ends_with("e.npy: the file is empty"));
}

#[test]
fn archives_hold_arrays_or_sparse_matrices() {
    let folder = Folder::new();
    let dense = npz(&[
        ("X", npy("|u1", "(2, 2)", &[1, 2, 3, 4])),
        ("y", npy("<i8", "(2,)", &i64s(&[7, -1]))),
        ("part", npy("<U1", "(2,)", &[b'a', 0, 0, 0, b'b', 0, 0, 0])),
    ]);
    let path = folder.file("d.npz", dense);
    let samples = read(&path);
    assert_eq!(values(&samples.features), [1.0, 2.0, 3.0, 4.0]);
    let labels = samples.labels.unwrap();
    assert_eq!((labels.classes, labels.index), (ClassNames::Integers(vec![7]), vec![0, -1]));
    let parts = read_samples(&path, &labeled_by("part"), &run()).unwrap().labels.unwrap();
    assert_eq!(parts.classes, ClassNames::Texts(vec!["a".into(), "b".into()]));
    assert_eq!(probe(&path, &ReadOptions::default()).unwrap().bytes_in_memory, 4);

    // Columns out of order and repeated, as SciPy allows.
    let csr = scipy("csr", [2, 3], &[0, 3, 4], &[2, 0, 2, 1], &[1.0, 2.0, 3.0, 4.0]);
    let csr = folder.file("csr.npz", csr);
    assert_eq!(values(&read(&csr).features), [2.0, 0.0, 4.0, 0.0, 4.0, 0.0]);
    let size = probe(&csr, &ReadOptions::default()).unwrap();
    assert_eq!((size.n_rows, size.n_cols, size.n_entries), (2, 3, Some(4)));
    let csc = folder.file("csc.npz", scipy("csc", [3, 2], &[0, 2, 3], &[2, 0, 1], &[1.0, 2.0, 4.0]));
    assert_eq!(values(&read(&csc).features), [2.0, 0.0, 0.0, 4.0, 1.0, 0.0]);
    let named = npz(&[
        ("X_shape", npy("<i8", "(2,)", &i64s(&[2, 2]))),
        ("X_indptr", npy("<i8", "(3,)", &i64s(&[0, 1, 1]))),
        ("X_indices", npy("<i4", "(1,)", &i32s(&[1]))),
        ("X_data", npy("<f4", "(1,)", &f32s(&[5.0]))),
    ]);
    assert_eq!(values(&read(&folder.file("x.npz", named)).features), [0.0, 5.0, 0.0, 0.0]);

    let none = ReadOptions::default();
    let other = folder.file("o.npz", npz(&[("b", npy("|u1", "(1,)", &[1])), ("a", npy("|u1", "(1,)", &[1]))]));
    assert!(error(&other, &none).ends_with("the archive holds a, b"));
    let bsr = folder.file("b.npz", scipy("bsr", [1, 1], &[0, 0], &[], &[]));
    assert!(error(&bsr, &none).contains("format 'bsr'; save it as CSR"));
    let outside = folder.file("c.npz", scipy("csr", [1, 2], &[0, 1], &[-1], &[1.0]));
    assert!(error(&outside, &none).contains("array 'indices': entry 0 is not between 0 and 1"));
    assert!(error(&path, &labeled_by("z")).contains("expected an array 'z'; the archive holds X, part, y"));
    let longer = npz(&[("X", npy("|u1", "(1, 1)", &[1])), ("y", npy("<i8", "(2,)", &i64s(&[0, 1])))]);
    let text = error(&folder.file("l.npz", longer), &none);
    assert!(text.contains("has 2 labels; expected 1 labels, one per row"), "{text}");
}

#[test]
fn csv_has_a_header_unless_all_is_numbers() {
    let folder = Folder::new();
    let path = folder.file("t.csv", "\u{feff}id, width,label\n1,2.5,a\n2,,\n3,1e3,\"b\"\n");
    let options = ReadOptions { drop: vec!["id".into()], ..labeled_by("label") };
    let samples = read_samples(&path, &options, &run()).unwrap();
    assert_eq!(samples.feature_names.clone().unwrap(), ["width"]);
    let found = values(&samples.features);
    assert!(found[0] == 2.5 && found[1].is_nan() && found[2] == 1000.0);
    let text = samples.check(&run()).unwrap_err().to_string();
    assert!(
        text.contains("t.csv: 1 column with missing or infinite values: 'width' (1 of 3 rows, first NaN in line 3)")
    );
    assert_eq!(samples.labels.unwrap().index, [0, -1, 1]);
    assert_eq!(probe(&path, &options).unwrap().n_rows, 3);

    let bare = folder.file("bare.csv", "1,2,0\n3,4,1\n");
    let samples = read_samples(&bare, &labeled_by("2"), &run()).unwrap();
    assert_eq!(values(&samples.features), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(samples.labels.unwrap().classes, ClassNames::Integers(vec![0, 1]));
    let marked = ReadOptions { unlabeled: Some("0".into()), ..labeled_by("2") };
    assert_eq!(read_samples(&bare, &marked, &run()).unwrap().labels.unwrap().index, [-1, 0]);
}

#[test]
fn bad_csv_is_named_by_line_and_column() {
    let folder = Folder::new();
    let none = ReadOptions::default();
    let text = |content: &str| error(&folder.file("t.csv", content), &none);
    assert!(text("").ends_with("t.csv: the file is empty"));
    assert!(text("a,b\n").ends_with("no rows after the header"));
    assert!(text("a,b\n1,2\n1,2,3\n").ends_with("t.csv, line 3: 3 fields; the lines before have 2"));
    let cell = text("a,b\n1,2\n3,red\n");
    assert!(cell.contains("t.csv: 1 column with cells that are not numbers: 'b' (1 of 2 rows, first 'red' in line 3)"));
    let unknown = error(&folder.file("t.csv", "width,label\n1,2\n"), &labeled_by("lable"));
    assert!(unknown.contains("no column 'lable'; did you mean 'label'? The columns are: width, label"), "{unknown}");
    assert!(error(&folder.path("absent.csv"), &none).contains("absent.csv: No such file"));
    let unknown = error(&folder.file("t.doc", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), &none);
    assert!(
        unknown.contains(
            "it starts with [89, 50, 4e, 47, 0d, 0a, 1a, 0a], '\\x89PNG\\r\\n\\x1a\\n'; expected text (.csv, "
        ),
        "{unknown}"
    );
    assert!(probe(Path::new("-"), &none).unwrap_err().to_string().contains("only once"));
}

#[test]
fn sparse_text_counts_from_one_or_zero() {
    let folder = Folder::new();
    let ones = folder.file("o.svm", "# head\n2 qid:1 1:0.5 3:2 # note\n\n-1 2:1\n");
    let samples = read(&ones);
    assert_eq!(values(&samples.features), [0.5, 0.0, 2.0, 0.0, 1.0, 0.0]);
    assert_eq!(samples.labels.unwrap().index, [0, -1]);
    let zeros = folder.file("z.libsvm", "1 2:2 0:0.5\n3\n");
    assert_eq!(values(&read(&zeros).features), [0.5, 0.0, 2.0, 0.0, 0.0, 0.0]);
    let size = probe(&zeros, &ReadOptions::default()).unwrap();
    assert_eq!((size.n_rows, size.n_cols, size.n_entries), (2, 3, Some(2)));
    let text = |content: &str| error(&folder.file("b.svm", content), &ReadOptions::default());
    assert!(text("1 1:2\n1 2=3\n").ends_with("b.svm, line 2: '2=3' is no pair index:value"));
    assert!(text("1 1:2 1:3\n").ends_with("line 1: index 1 occurs twice"));
    assert!(text("# nothing\n").ends_with("the file is empty"));
    let named = ReadOptions { drop: vec!["width".into()], ..ReadOptions::default() };
    assert!(error(&ones, &named).contains("arrays have no column names"));
}

#[test]
fn a_canceled_run_stops_reading() {
    let folder = Folder::new();
    let run = canceled();
    let files = [
        folder.file("a.csv", "a\n1\n"),
        folder.file("a.npy", npy("<i8", "(1, 1)", &i64s(&[1]))),
        folder.file("a.npz", npz(&[("X", npy("<f4", "(1, 1)", &f32s(&[1.0])))])),
        folder.file("a.svm", "1 1:1\n".repeat(2000)),
    ];
    for path in files {
        let result = read_samples(&path, &ReadOptions::default(), &run);
        assert!(matches!(result, Err(Error::Interrupted)), "{}", path.display());
    }
}

#[test]
fn compressed_csv_is_read() {
    use std::io::Write;
    let folder = Folder::new();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"a,b\n1,2\n").unwrap();
    let gzip = gzip.finish().unwrap();
    assert_eq!(values(&read(&folder.file("t.csv.gz", &gzip)).features), [1.0, 2.0]);
    assert!(error(&folder.file("t.csv.gz", &gzip[..gzip.len() - 9]), &ReadOptions::default()).contains("truncated"));
    let zstd = zstd::encode_all(&b"a,b\n1,2\n"[..], 1).unwrap();
    assert_eq!(values(&read(&folder.file("t.csv.zst", &zstd)).features), [1.0, 2.0]);
    assert!(read_samples(&folder.file("t.csv.zst", "a,b\n"), &ReadOptions::default(), &run()).is_err());
}

#[test]
fn real_archives_are_read() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("LAPWING_DATA").map_or(beside, Into::into);
    let (dense, sparse) = (data.join("g50c.npz"), data.join("cora.npz"));
    if !dense.exists() || !sparse.exists() {
        eprintln!("skipped: no data sets in {}", data.display());
        return;
    }
    let samples = read(&dense);
    assert_eq!((samples.features.n_rows(), samples.features.n_cols()), (550, 50));
    assert_eq!(samples.labels.unwrap().n_classes(), 2);
    let samples = read(&sparse);
    assert!(matches!(samples.features, Features::Sparse(_)));
    assert_eq!((samples.features.n_rows(), samples.features.n_cols()), (2708, 1433));
    assert_eq!(probe(&sparse, &ReadOptions::default()).unwrap().bytes_in_memory, samples.features.bytes());
}

proptest! {
    #[test]
    fn numbers_survive_csv(rows in prop::collection::vec(prop::array::uniform3(prop::num::f64::NORMAL), 1..20)) {
        let folder = Folder::new();
        let lines = rows.iter().map(|row| format!("{:?},{:e},{}\n", row[0], row[1], row[2]));
        let path = folder.file("t.csv", format!("a,b,c\n{}", lines.collect::<String>()));
        prop_assert_eq!(values(&read(&path).features), rows.concat());
    }
}
