//! What readers once took without a word: open quotes, damaged archives, labels that lost characters, sums beyond f64.

use std::path::Path;

use crate::common::rows::error as rows_error;
use crate::common::*;
use lapwing_core::{EdgeSource, Error, Fault, Labels, RowSource, UNLABELED};
use lapwing_table::read::{EdgeFile, ReadOptions, read_graph, read_labels, read_sparse_labels};
use lapwing_table::{RowFile, read_label_column, read_samples};
use serde_json::Value;

fn labeled(name: &str) -> ReadOptions {
    ReadOptions { label_column: Some(name.into()), ..ReadOptions::default() }
}

fn samples_error(path: &Path, options: &ReadOptions) -> String {
    let result = read_samples(path, options, &run()).and_then(|samples| samples.check(&run()));
    result.unwrap_err().to_string()
}

/// Sixty rows, of which the one on line 22 has a label that opens a quote.
fn open_quote() -> String {
    let row = |row: usize| format!("{row},{},{}\n", row % 7, if row == 20 { "\"r" } else { "s" });
    std::iter::once("x,y,kind\n".to_owned()).chain((0..60).map(row)).collect()
}

#[test]
fn an_open_quote_is_an_error_wherever_text_is_read() {
    let folder = Folder::new();
    let path = folder.file("t.csv", open_quote());
    let opens = "t.csv, line 22: the quote that opens before 'r 21,0,s";
    assert!(samples_error(&path, &labeled("kind")).contains(opens));
    assert!(read_label_column(&path, &labeled("kind"), &run()).unwrap_err().to_string().contains(opens));
    assert!(rows_error(&path, &labeled("kind")).contains(opens));
    let edges = folder.file("e.csv", "u,v,w\r\n0,1,1\r\n1,2,\"3\r\n2,3,1\r\n");
    assert!(EdgeFile::open(&edges, None, &run()).unwrap_err().to_string().contains("e.csv, line 3: the quote"));
    assert!(read_graph(&edges, None, &run()).unwrap_err().to_string().contains("e.csv, line 3: the quote"));
    let file = EdgeFile::open(&edges, Some(4), &run()).unwrap();
    let read = file.open(&run()).and_then(|mut reader| reader.read(9, &mut Vec::new(), &run()));
    assert!(read.unwrap_err().to_string().contains("line 3"));
    for layout in ["a\n\"b\nc\n", "0,a\n1,\"b\n2,c\n", "row,label\n1,\"b\n"] {
        let text = read_labels(&folder.file("y.csv", layout), 3, None).unwrap_err().to_string();
        assert!(text.contains("y.csv, line 2: the quote that opens before 'b"), "{text}");
    }
}

#[test]
fn an_open_quote_is_an_error_in_compressed_text() {
    use std::io::Write;
    let folder = Folder::new();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(open_quote().as_bytes()).unwrap();
    for (name, bytes) in
        [("t.csv.gz", gzip.finish().unwrap()), ("t.csv.zst", zstd::encode_all(open_quote().as_bytes(), 1).unwrap())]
    {
        let path = folder.file(name, bytes);
        assert!(samples_error(&path, &labeled("kind")).contains("line 22: the quote"), "{name}");
        assert!(rows_error(&path, &labeled("kind")).contains("line 22: the quote"), "{name}");
    }
}

#[test]
fn quotes_that_are_no_quotes_stay_text() {
    let folder = Folder::new();
    let path = folder.file("t.csv", "x,kind\n1,5\" pipe\n2,\"5\"\" pipe\"\n3,\n");
    let labels = read_samples(&path, &labeled("kind"), &run()).unwrap().labels.unwrap();
    assert_eq!((labels.classes.names(), labels.index), (vec!["5\" pipe".to_owned()], vec![0, 0, -1]));
    let labels = read_labels(&folder.file("y.txt", "5\" pipe\n\"5\"\" pipe\"\n"), 2, None).unwrap();
    assert_eq!((labels.classes.names(), labels.index), (vec!["5\" pipe".to_owned()], vec![0, 0]));
}

#[test]
fn lines_are_counted_right_whatever_ends_them() {
    let folder = Folder::new();
    for end in ["\n", "\r\n", "\r"] {
        let text = ["a,b", "1,2", "", "\"3\n\",4", "5,red", "6,7"].join(end);
        let bad = folder.file("t.csv", text.clone() + end);
        for text in [samples_error(&bad, &ReadOptions::default()), rows_error(&bad, &ReadOptions::default())] {
            assert!(text.contains("'b' (1 of 4 rows, first 'red' in line 6)"), "{end:?}: {text}");
        }
        let ragged = folder.file("r.csv", text.replace("red", "8") + ",9" + end);
        for text in [samples_error(&ragged, &ReadOptions::default()), rows_error(&ragged, &ReadOptions::default())] {
            assert!(text.contains("r.csv, line 7: 3 fields; the lines before have 2"), "{end:?}: {text}");
        }
    }
    let edges = folder.file("e.csv", "0,1\r\n1,2\r\n1,x\r\n");
    assert!(read_graph(&edges, None, &run()).unwrap_err().to_string().contains("line 3: node 'x' is not an integer"));
    let weights = folder.file("w.csv", "u,v,w\r\n0,1,1\r\n1,2,heavy\r\n");
    let text = read_graph(&weights, None, &run()).unwrap_err().to_string();
    assert!(text.contains("line 3: weight 'heavy' is no number"), "{text}");
    let sparse = folder.file("t.svm", "\u{feff}1 1:2\r\n# note\r\n1 1:nan 2:1\r\n");
    let text = samples_error(&sparse, &ReadOptions::default());
    assert!(
        text.contains("t.svm: 1 column with missing or infinite values: column 0 (1 of 2 rows, first NaN in line 3)")
    );
}

/// Bytes of an archive of arrays that are stored as they are.
fn stored(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let members: Vec<_> = arrays.iter().map(|(name, bytes)| (format!("{name}.npy"), bytes)).collect();
    archive(&members)
}

fn archive(members: &[(String, &Vec<u8>)]) -> Vec<u8> {
    use std::io::Write;
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(name.as_str(), options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// What a file of samples holds, as text.
fn contents(path: &Path) -> Result<String, Error> {
    let samples = read_samples(path, &ReadOptions::default(), &run())?;
    Ok(format!("{:?} {:?}", values(&samples.features), samples.labels))
}

/// No byte can be changed so that something else is read without a word.
fn assert_checked(folder: &Folder, name: &str, bytes: &[u8]) {
    let whole = contents(&folder.file(name, bytes)).unwrap();
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80] {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= flip;
            if let Ok(found) = contents(&folder.file(name, damaged)) {
                assert_eq!(found, whole, "{name}: byte {at}");
            }
        }
    }
}

#[test]
fn no_changed_byte_of_an_archive_is_taken_for_another_number() {
    let folder = Folder::new();
    let x: Vec<f64> = (0..24).map(|x| f64::from(x) / 3.0).collect();
    let arrays = [("X", npy("<f8", "(6, 4)", &f64s(&x))), ("y", npy("<i8", "(6,)", &i64s(&[1, -1, 0, 2, -1, 1])))];
    assert_checked(&folder, "stored.npz", &stored(&arrays));
    assert_checked(&folder, "deflated.npz", &npz(&arrays));
    let sparse = scipy("csr", [2, 3], &[0, 2, 3], &[0, 2, 1], &[1.0, 2.0, 3.0]);
    assert_checked(&folder, "sparse.npz", &sparse);
}

#[test]
fn a_damaged_member_is_named() {
    let folder = Folder::new();
    let bytes = stored(&[("X", npy("|u1", "(2, 3)", &[1, 2, 3, 201, 202, 203]))]);
    let at = bytes.windows(3).position(|window| window == [201, 202, 203]).unwrap();
    let mut damaged = bytes.clone();
    damaged[at + 1] ^= 4;
    let text = samples_error(&folder.file("d.npz", &damaged), &ReadOptions::default());
    assert!(text.ends_with("d.npz: array 'X': the file is damaged (Invalid checksum)"), "{text}");
    // The name before the member, which the directory has too.
    let mut renamed = bytes.clone();
    renamed[30] = b'Z';
    let text = samples_error(&folder.file("r.npz", &renamed), &ReadOptions::default());
    assert!(text.contains("Local file header filename mismatch"), "{text}");
    // A directory of one entry less.
    let two = stored(&[("X", npy("|u1", "(1, 1)", &[1])), ("y", npy("|u1", "(1,)", &[1]))]);
    let mut fewer = two.clone();
    let end = fewer.len() - 22;
    (fewer[end + 8], fewer[end + 10]) = (1, 1);
    assert!(read_samples(&folder.file("f.npz", &two), &ReadOptions::default(), &run()).unwrap().labels.is_some());
    let text = samples_error(&folder.file("f.npz", &fewer), &ReadOptions::default());
    assert!(text.contains("local file header missing from central directory"), "{text}");
    // Fewer rows than the bytes of the member.
    let shorter = String::from_utf8_lossy(&bytes).contains("(2, 3)");
    assert!(shorter);
    let at = bytes.windows(6).position(|window| window == b"(2, 3)").unwrap();
    let mut cut = bytes;
    cut[at + 1] = b'1';
    assert!(samples_error(&folder.file("s.npz", &cut), &ReadOptions::default()).contains("Invalid checksum"));
}

#[test]
fn archives_are_those_that_numpy_reads() {
    let folder = Folder::new();
    let array = npy("|u1", "(1, 1)", &[1]);
    let whole = stored(&[("X", array.clone())]);
    let two = archive(&[("X.npy".into(), &array), ("X".into(), &array)]);
    let text = samples_error(&folder.file("two.npz", two), &ReadOptions::default());
    assert!(text.ends_with("two members of the archive have the same name"), "{text}");
    let text = samples_error(&folder.file("b.npz", [b"bytes before", &whole[..]].concat()), &ReadOptions::default());
    assert!(text.ends_with("b.npz: not an .npz archive (it starts with other bytes)"), "{text}");
}

#[test]
fn headers_that_numpy_cannot_understand_are_refused() {
    let folder = Folder::new();
    let says = |descr: &str, words: &str| {
        let bytes = npy_of_literal(descr, "False", "(1,)", &[0; 12]);
        let error = EdgeFile::open(&folder.file("e.npy", bytes), Some(9), &run()).map(drop).unwrap_err().to_string();
        assert!(error.contains(words), "{descr}: {error}");
    };
    says("[('u', '<u4'), ('v', '<u4'), ('u', '<f4')]", "two fields are named 'u'");
    says("[('u', '<u4'), ('v\0', '<u4'), ('w', '<f4')]", "a zero byte");
}

/// As in tables, where spaces may stand before a quote.
#[test]
fn a_quote_behind_a_space_opens_a_label() {
    let folder = Folder::new();
    let labels = read_labels(&folder.file("y.csv", " \"a\" \n\"b\"\n"), 2, None).unwrap();
    assert_eq!(labels.classes.names(), ["a", "b"]);
}

#[test]
fn elements_are_no_larger_than_numpy_allows() {
    let folder = Folder::new();
    for descr in ["|S2147483648", "<U536870912", "|S18446744073709551615"] {
        let text = read_labels(&folder.file("y.npy", npy(descr, "(0,)", &[])), 0, None).unwrap_err().to_string();
        assert!(text.contains(&format!("elements of type '{descr}'")), "{text}");
    }
}

#[test]
fn names_of_columns_may_be_in_other_encodings() {
    let folder = Folder::new();
    let table = folder.file("t.csv", b"a,b,caf\xe9\n1,2,3\n");
    let samples = read_samples(&table, &ReadOptions::default(), &run()).unwrap();
    assert_eq!(samples.feature_names.unwrap(), ["a", "b", "café"]);
}

#[test]
fn no_changed_byte_of_compressed_text_is_taken_for_another_number() {
    use std::io::Write;
    let folder = Folder::new();
    let text: String = (0..40).map(|row| format!("{row},{}\n", row * row % 17)).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(text.as_bytes()).unwrap();
    assert_checked(&folder, "t.csv.gz", &gzip.finish().unwrap());
    let mut zstd = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    zstd.include_checksum(true).unwrap();
    zstd.write_all(text.as_bytes()).unwrap();
    assert_checked(&folder, "t.csv.zst", &zstd.finish().unwrap());
}

#[test]
fn checksums_of_pages_are_held_against_them() {
    let folder = Folder::new();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/checksums.parquet");
    let bytes = std::fs::read(&path).unwrap();
    let found = values(&read_samples(&path, &ReadOptions::default(), &run()).unwrap().features);
    assert_eq!((found.len(), found[10], found[11]), (40, 5.0 / 3.0, 4.0));
    // A value of a plain page, and one of a dictionary.
    for value in [5.0 / 3.0, 4.0f64] {
        let at = bytes.windows(8).position(|window| window == value.to_le_bytes()).unwrap();
        let mut damaged = bytes.clone();
        damaged[at + 3] ^= 1;
        let path = folder.file("t.parquet", damaged);
        assert!(samples_error(&path, &ReadOptions::default()).contains("damaged"));
        assert!(rows_error(&path, &ReadOptions::default()).contains("damaged"));
    }
}

/// The label of each row by name.
fn names(labels: &Labels) -> Vec<Option<String>> {
    labels.index.iter().map(|&class| (class != UNLABELED).then(|| labels.classes.name(class as usize))).collect()
}

#[test]
fn labels_are_read_by_one_rule_whatever_they_stand_in() {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/labels.json");
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(table).unwrap()).unwrap();
    let folder = Folder::new();
    for case in &cases {
        let texts: Vec<&str> = case["texts"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
        let labels = |key: &str| -> Option<Vec<Option<String>>> {
            Some(case[key].as_array()?.iter().map(|label| label.as_str().map(str::to_owned)).collect())
        };
        let expected = labels("labels").unwrap();
        let unlabeled = case["unlabeled"].as_str();
        let n = texts.len();

        assert_eq!(names(&Labels::from_texts(&texts, unlabeled)), expected, "{case}");
        let expected = labels("in_files").unwrap_or(expected);
        let lines: String = texts.iter().map(|text| format!("{text}\n")).collect();
        let of_lines = read_labels(&folder.file("y.txt", format!("label\n{lines}")), n, unlabeled).unwrap();
        assert_eq!(names(&of_lines), expected, "{case}");
        let pairs: String = texts.iter().enumerate().map(|(row, text)| format!("{row},{text}\n")).collect();
        let of_pairs = read_sparse_labels(&folder.file("y.csv", format!("row,label\n{pairs}")), n, unlabeled).unwrap();
        assert_eq!(names(&of_pairs.into()), expected, "{case}");
        let rows: String = texts.iter().map(|text| format!("0,{text}\n")).collect();
        let options = ReadOptions { unlabeled: unlabeled.map(str::to_owned), ..labeled("y") };
        let samples = read_samples(&folder.file("t.csv", format!("x,y\n{rows}")), &options, &run()).unwrap();
        assert_eq!(names(&samples.labels.unwrap()), expected, "{case}");
        let codes =
            |text: &&str| (0..8).flat_map(|at| text.chars().nth(at).map_or(0, u32::from).to_le_bytes()).collect();
        let bytes: Vec<Vec<u8>> = texts.iter().map(codes).collect();
        let array = folder.file("y.npy", npy("<U8", &format!("({n},)"), &bytes.concat()));
        assert_eq!(names(&read_labels(&array, n, unlabeled).unwrap()), expected, "{case}");
    }
}

#[test]
fn numbers_in_arrays_are_labels_by_their_value() {
    let folder = Folder::new();
    let read = |values: &[f64], unlabeled| {
        let path = folder.file("y.npy", npy("<f8", &format!("({},)", values.len()), &f64s(values)));
        names(&read_labels(&path, values.len(), unlabeled).unwrap())
    };
    let texts = |texts: &[&str]| -> Vec<Option<String>> {
        texts.iter().map(|text| (!text.is_empty()).then(|| (*text).to_owned())).collect()
    };
    assert_eq!(read(&[7.0, -1.0, f64::NAN, -0.0, 2.5], None), texts(&["7", "-1", "", "0", "2.5"]));
    assert_eq!(read(&[7.0, -1.0, -0.0, 2.5], None), texts(&["7", "", "0", "2.5"]));
    assert_eq!(read(&[7.0, -1.0, 99.0], Some("99.0")), texts(&["7", "-1", ""]));
    let integers = folder.file("i.npy", npy("<i8", "(3,)", &i64s(&[7, -1, 99])));
    assert_eq!(names(&read_labels(&integers, 3, Some("99.0")).unwrap()), texts(&["7", "-1", ""]));
}

#[test]
fn all_columns_of_text_are_named_with_their_cells() {
    let folder = Folder::new();
    let row =
        |row: usize| format!("r{row},{row},2024-01-{row},{}\n", if row == 7 { "n/a," } else { "1.5," }.trim_end());
    let text: String = std::iter::once("id,x,date,y,\n".to_owned()).chain((1..31).map(row)).collect();
    let path = folder.file("t.csv", text.replace(",\n", "\n"));
    let expected = "t.csv: 2 columns with cells that are not numbers: 'id' (30 of 30 rows, first 'r1' in line 2), 'date' \
                    (30 of 30 rows, first '2024-01-1' in line 2); prepare them, or leave them out";
    for found in [samples_error(&path, &ReadOptions::default()), rows_error(&path, &ReadOptions::default())] {
        assert!(found.ends_with(expected), "{found}");
    }
    let Err(Error::Columns(bad)) = read_samples(&path, &ReadOptions::default(), &run()) else { panic!("no error") };
    assert_eq!((bad.fault, bad.n_rows), (Fault::Text, 30));
    let drop = bad.columns.iter().map(|column| column.key()).collect();
    let without = ReadOptions { drop, ..ReadOptions::default() };
    let text = samples_error(&path, &without);
    assert!(
        text.ends_with(
            "t.csv: 1 column with missing or infinite values: 'y' (1 of 30 rows, first NaN in line 8); \
                            impute these, or leave it out"
        ),
        "{text}"
    );
    let file = RowFile::open(&path, &without, &run()).unwrap();
    let met = Error::Value { what: "features".into(), row: 6, col: Some(1), value: "NaN".into(), advice: "x".into() };
    assert_eq!(file.explained(met, &run()).to_string(), text);
    assert_eq!(file.explained(Error::labels("none"), &run()).to_string(), "labels: none");
    assert_eq!((file.n_rows(), file.n_cols()), (30, 2));
}

#[test]
fn bad_values_of_arrays_are_named_by_column_and_row() {
    let folder = Folder::new();
    let mut x: Vec<f64> = (0..30).map(f64::from).collect();
    (x[4], x[10], x[14]) = (f64::NAN, f64::INFINITY, f64::NAN);
    let path = folder.file("x.npy", npy("<f8", "(6, 5)", &f64s(&x)));
    let text = samples_error(&path, &ReadOptions::default());
    assert!(
        text.contains("x.npy: 2 columns with missing or infinite values: column 0 (1 of 6 rows, first inf in row 2)")
    );
    assert!(text.contains("column 4 (2 of 6 rows, first NaN in row 0); impute these, or leave them out"), "{text}");
    // Numbers of the file, whatever was chosen of it.
    let chosen = ReadOptions { columns: Some(vec!["4".into(), "1".into()]), ..ReadOptions::default() };
    assert!(samples_error(&path, &chosen).contains("1 column with missing or infinite values: column 4 (2 of 6 rows"));
    let file = RowFile::open(&path, &chosen, &run()).unwrap();
    let met = Error::Value { what: "features".into(), row: 0, col: Some(0), value: "NaN".into(), advice: "x".into() };
    assert!(
        file.explained(met, &run()).to_string().contains("x.npy: 1 column with missing or infinite values: column 4")
    );
    let large = folder.file("l.npy", npy("<f8", "(1, 2)", &f64s(&[1.0, 1e300])));
    assert!(samples_error(&large, &ReadOptions::default()).contains("beyond single precision: column 1 (1 of 1 rows"));
}

#[test]
fn weights_that_add_up_to_infinity_are_named() {
    let folder = Folder::new();
    let path = folder.file("e.csv", "u,v,w\n1,2,1\n".to_owned() + &"0,1,1e308\n".repeat(10));
    let text = read_graph(&path, None, &run()).unwrap_err().to_string();
    assert!(text.contains("e.csv: edge (0, 1) comes again and again, and its weights add up to more"), "{text}");
}
