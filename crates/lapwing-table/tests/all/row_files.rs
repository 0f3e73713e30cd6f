//! Files of features read in blocks, against the same files read whole.

use std::path::Path;

use crate::common::rows::{N_ROWS, assert_same, error, files, options, read, text};
use crate::common::*;
use lapwing_core::{Error, RowSource, gather};
use lapwing_table::read::ReadOptions;
use lapwing_table::{RowFile, can_stream, read_samples};
use proptest::prelude::*;

/// Holds every way of reading a file against the samples of it.
fn check(path: &Path, options: &ReadOptions) {
    let name = format!("{} with {options:?}", path.display());
    let samples = read_samples(path, options, &run()).unwrap();
    let expected: &dyn RowSource = &samples.features;
    let file = RowFile::open(path, options, &run()).unwrap();
    assert_eq!((file.n_rows(), file.n_cols()), (expected.n_rows(), expected.n_cols()), "{name}");
    assert_eq!(file.feature_names(), samples.feature_names.as_deref(), "{name}");
    let n = file.n_rows();
    let center: Vec<f64> = (0..file.n_cols()).map(|col| 2.5 - col as f64 / 3.0).collect();
    for center in [&[][..], &center] {
        for (block, first) in [(1, 0), (2, n / 30), (7, n / 9), (n, 0), (n, n / 2), (5, n - 1), (1, n)] {
            let rows = |source| read(source, first, center, block).unwrap();
            assert_same(&rows(&file), &rows(expected), &format!("{name} from {first}, {block} at a time"));
        }
        let mut some = vec![0, 1.min(n as u32 - 1), n as u32 / 2, n as u32 - 1];
        some.dedup();
        let rows = |source| gather(source, &some, center, &run()).unwrap();
        assert_same(&rows(&file), &rows(expected), &name);
    }
}

#[test]
fn every_format_gives_the_rows_of_its_samples() {
    let folder = Folder::new();
    for (name, bytes) in files() {
        let path = folder.file(name, bytes);
        assert!(can_stream(&path));
        options(&path).iter().for_each(|options| check(&path, options));
    }
}

fn bytes_of(name: &str) -> Vec<u8> {
    let file = files().into_iter().find(|(other, _)| *other == name);
    file.unwrap().1
}

#[test]
fn bytes_are_those_of_a_pass() {
    let folder = Folder::new();
    let bytes = |name: &str, which: usize| {
        let path = folder.file(name, bytes_of(name));
        RowFile::open(&path, &options(&path)[which], &run()).unwrap().bytes()
    };
    assert_eq!(bytes("f4.npy", 0), (N_ROWS * 4 * 4) as u64);
    assert_eq!(bytes("f4.npy", 1), (N_ROWS * 4 * 4) as u64);
    assert_eq!(bytes("fortran_f8.npy", 1), (N_ROWS * 2 * 8) as u64);
    assert_eq!(bytes("named.csv", 0), text(true, "\n", N_ROWS).len() as u64);
}

#[test]
fn long_files_are_read_from_anywhere_by_several_threads() {
    let folder = Folder::new();
    let n = 30_000;
    let values: Vec<f64> = (0..3 * n).map(|x| x as f64).collect();
    let singles: Vec<f32> = values.iter().map(|&x| x as f32).collect();
    let paths = [
        folder.file("a.csv", text(true, "\r\n", n)),
        folder.file("a.npy", npy("<f4", &format!("({n}, 3)"), &f32s(&singles))),
        folder.file("b.npy", npy("<f8", &format!("({n}, 3)"), &f64s(&values))),
        folder.file("c.npy", npy_in_order("<f8", "True", &format!("({n}, 3)"), &f64s(&values))),
        folder.file("d.npy", npy("<f4", "(3, 30000)", &f32s(&singles))),
    ];
    for path in paths {
        for options in options(&path).into_iter().filter(|o| o.columns.is_none() && o.drop.is_empty()) {
            let file = RowFile::open(&path, &options, &run()).unwrap();
            assert!(file.is_seekable());
            let samples = read_samples(&path, &options, &run()).unwrap().features;
            let firsts = [0, 1, 2000, 2001, 9999, 20_000, n - 1].map(|first| first * file.n_rows() / n);
            std::thread::scope(|scope| {
                for first in firsts {
                    let (file, samples) = (&file, &samples);
                    scope.spawn(move || {
                        let rows = |source| read(source, first, &[], 1000).unwrap();
                        assert_same(&rows(file), &rows(samples), &format!("{} from {first}", file.path().display()));
                    });
                }
            });
        }
    }
}

#[test]
fn errors_name_line_and_column_wherever_reading_starts() {
    let folder = Folder::new();
    let rows = |bad: usize| (0..20_000).map(move |row| if row == bad { "1,red,3\n" } else { "1,\"2\",3\n" });
    let path = folder.file("t.csv", format!("a,b,c\n{}", rows(15_000).collect::<String>()));
    let file = RowFile::open(&path, &ReadOptions::default(), &run()).unwrap();
    for first in [0, 9000, 14_999, 15_000] {
        let text = read(&file, first, &[], 999).unwrap_err().to_string();
        let expected = "1 column with cells that are not numbers: 'b' (1 of 20000 rows, first 'red' in line 15002)";
        assert!(text.contains(expected), "{text}");
    }
    assert!(read(&file, 15_001, &[], 999).is_ok());
    let short = folder.file("s.csv", "a,b\n1,2\n3,4,5\n");
    let text = RowFile::open(&short, &ReadOptions::default(), &run()).unwrap_err().to_string();
    assert!(text.ends_with("s.csv, line 3: 3 fields; the lines before have 2"), "{text}");
}

#[test]
fn other_files_and_uses_are_refused() {
    let folder = Folder::new();
    let none = ReadOptions::default();
    let labeled = ReadOptions { label_column: Some("y".into()), ..ReadOptions::default() };
    let array = npy("<f4", "(2, 2)", &f32s(&[1.0, 2.0, 3.0, 4.0]));
    let path = folder.file("a.npy", &array);
    assert!(error(&path, &labeled).contains("a file of their own"));
    assert!(error(&folder.file("t.npy", npy("<U1", "(1, 1)", &[65, 0, 0, 0])), &none).contains("holds text"));
    assert!(error(&folder.file("v.npy", npy("<f4", "(1,)", &[0; 4])), &none).contains("expected two dimensions"));
    assert!(error(&folder.file("e.csv", "a,b\n"), &none).ends_with("no rows after the header"));
    assert!(error(&folder.file("e.npy", ""), &none).ends_with("the file is empty"));
    assert!(error(&folder.file("x.npz", "x"), &none).contains("not read in blocks; expected rows as .npy"));
    assert!(error(&folder.file("x.dat", [0; 9]), &none).contains("neither text nor a known format"));
    assert!(error(&folder.path("absent.npy"), &none).contains("absent.npy"));
    assert!(error(Path::new("-"), &none).contains("only once"));
    for name in ["x.npz", "x.svm", "x.dat", "-", "x.npy.gz"] {
        assert!(!can_stream(Path::new(name)), "{name}");
    }

    let file = RowFile::open(&path, &none, &run()).unwrap();
    let run = run();
    assert!(file.open(3, &[], &run).err().unwrap().to_string().contains("first row is 3; expected at most 2"));
    assert!(file.open(0, &[1.0], &run).err().unwrap().to_string().contains("center has 1 values"));
    let mut reader = file.open(1, &[], &run).unwrap();
    assert!(reader.read(&mut [0.0; 3], &run).unwrap_err().to_string().contains("whole rows of 2"));
    assert!(reader.read(&mut [0.0; 4], &run).unwrap_err().to_string().contains("2; expected 3 rows"));
    let mut last = [0.0; 2];
    reader.read(&mut last, &run).unwrap();
    assert_eq!(last, [3.0, 4.0]);
    assert!(reader.read(&mut last, &run).is_err());

    folder.file("a.npy", &array[..array.len() - 4]);
    assert!(file.open(0, &[], &run).err().unwrap().to_string().contains("the file has changed"));
}

#[test]
fn arrays_without_rows_or_columns_are_read() {
    let folder = Folder::new();
    for shape in ["(0, 3)", "(3, 0)", "(0, 0)"] {
        for order in ["False", "True"] {
            let path = folder.file("a.npy", npy_in_order("<f8", order, shape, &[]));
            let file = RowFile::open(&path, &ReadOptions::default(), &run()).unwrap();
            assert!(read(&file, 0, &[], 1).unwrap().is_empty());
            file.open(0, &[], &run()).unwrap().read(&mut [], &run()).unwrap();
        }
    }
}

#[test]
fn a_canceled_run_stops_reading() {
    let folder = Folder::new();
    let stopped = canceled();
    let none = ReadOptions::default();
    let csv = folder.file("a.csv", "a\n1\n");
    assert!(matches!(RowFile::open(&csv, &none, &stopped), Err(Error::Interrupted)));
    for path in [csv, folder.file("a.npy", npy("<f4", "(1, 1)", &[0; 4]))] {
        let file = RowFile::open(&path, &none, &run()).unwrap();
        let mut reader = file.open(0, &[], &run()).unwrap();
        assert!(matches!(reader.read(&mut [0.0], &stopped), Err(Error::Interrupted)));
    }
}

#[test]
fn identities_tell_files_and_columns_apart() {
    let folder = Folder::new();
    let of = |name: &str, text: &str, options: &ReadOptions| {
        RowFile::open(&folder.file(name, text), options, &run()).unwrap().identity(&run()).unwrap().unwrap()
    };
    let none = ReadOptions::default();
    let some = ReadOptions { drop: vec!["a".into()], ..ReadOptions::default() };
    assert_eq!(of("a.csv", "a,b\n1,2\n", &none), of("b.csv", "a,b\n1,2\n", &none));
    assert_ne!(of("a.csv", "a,b\n1,2\n", &none), of("b.csv", "a,b\n1,3\n", &none));
    assert_ne!(of("a.csv", "a,b\n1,2\n", &none), of("a.csv", "a,b\n1,2\n", &some));
    // Kept by runs that are resumed later: must stay what it is.
    assert_eq!(of("c.csv", "0,1\n", &none), "6b08680ff806556d");
    // Every byte counts, at either end of a block, and dates do not.
    let mut long = vec![1u8; (8 << 20) + 12];
    let mut last = Vec::new();
    for at in [None, Some(200_000), Some((8 << 20) - 1), Some(8 << 20), Some((8 << 20) + 11)] {
        at.into_iter().for_each(|at: usize| long[at] = 2);
        let file = RowFile::open(&folder.file("l.npy", npy("<f4", "(2097155, 1)", &long)), &none, &run()).unwrap();
        let found = file.fingerprint(&run()).unwrap();
        assert!(!last.contains(&found));
        last.push(found);
    }
}

#[cfg(unix)]
#[test]
fn pipes_are_refused_without_being_opened() {
    let folder = Folder::new();
    let path = folder.pipe("pipe.csv");
    assert!(!can_stream(&path));
    assert!(error(&path, &ReadOptions::default()).contains("only once"));
}

/// Truncations of every length, and changed bytes: an answer or an error.
fn survives(name: &str, bytes: &[u8]) {
    let folder = Folder::new();
    let path = folder.file(name, bytes);
    for options in options(&path).into_iter().take(2) {
        error(&path, &options);
    }
}

/// Cuts a file at every length, before it is opened and while it is open. A cut text may be a shorter table; a cut array is an error.
fn survives_every_truncation(name: &str, bytes: &[u8]) {
    let folder = Folder::new();
    for len in 0..bytes.len() {
        let path = folder.file(name, &bytes[..len]);
        let options = &options(&path)[0];
        let text = error(&path, options);
        assert!(!text.is_empty() || name.ends_with(".csv"), "{name} cut to {len} bytes was read");
        folder.file(name, bytes);
        let file = RowFile::open(&path, options, &run()).unwrap();
        folder.file(name, &bytes[..len]);
        assert!(read(&file, 3, &[], 4).is_err() || name.ends_with(".csv"), "{name} cut to {len} bytes was read");
    }
}

#[test]
fn every_truncation_of_arrays_is_survived() {
    ["f4.npy", "i2.npy"].into_iter().for_each(|name| survives_every_truncation(name, &bytes_of(name)));
}

#[test]
fn every_truncation_of_text_is_survived() {
    survives_every_truncation("named.csv", text(true, "\n", 60).as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn every_changed_byte_is_survived(at in any::<prop::sample::Index>(), flip in 1u8..=255) {
        for (name, mut bytes) in files() {
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            survives(name, &bytes);
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for name in ["a.npy", "a.csv", "a.csv.gz", "a.csv.zst", "a.parquet"] {
            survives(name, &bytes);
        }
    }

    #[test]
    fn text_of_any_shape_gives_the_same_rows(
        lines in prop::collection::vec(("[0-9]{1,3}", "[ \"]?[0-9.]{0,4}", "(\r?\n){1,3}"), 1..60),
        first in 0usize..60,
    ) {
        let folder = Folder::new();
        let text: String = lines.iter().map(|(a, b, end)| format!("{a},{b}{end}")).collect();
        let path = folder.file("t.csv", text);
        let none = ReadOptions::default();
        match (read_samples(&path, &none, &run()), RowFile::open(&path, &none, &run())) {
            (Ok(samples), Ok(file)) => {
                let first = first.min(file.n_rows());
                let rows = |source| read(source, first, &[], 3).unwrap();
                assert_same(&rows(&file), &rows(&samples.features), "rows");
            }
            (Err(expected), Ok(file)) => {
                prop_assert_eq!(read(&file, 0, &[], 3).unwrap_err().to_string(), expected.to_string());
            }
            // A row of another length is found when rows are counted, even behind a cell that is no number.
            (Err(_), Err(_)) => {}
            (Ok(_), Err(error)) => prop_assert!(false, "{}", error),
        }
    }
}

mod tables {
    use std::io::Write;
    use std::sync::Arc;

    use crate::common::edges::parquet;
    use arrow_array::{ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, StringArray};

    use super::*;

    /// Columns of several types with nulls, in groups of 32 rows; `n` rows.
    fn table(n: usize) -> Vec<u8> {
        let cell = |row: usize, col: usize| (row * 31 + col * 7) % 101;
        let singles = (0..n).map(|row| (row % 6 != 1).then_some(cell(row, 0) as f32 / 3.0));
        let doubles = (0..n).map(|row| (row % 9 != 2).then_some(1.7e9 + cell(row, 1) as f64 / 3.0));
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("a", Arc::new(Float32Array::from_iter(singles))),
            ("e", Arc::new(Float64Array::from_iter(doubles))),
            ("label", Arc::new(StringArray::from_iter((0..n).map(|row| (row % 3 != 0).then_some("x"))))),
            ("i", Arc::new(Int64Array::from_iter_values((0..n).map(|row| cell(row, 2) as i64 - 50)))),
            ("b", Arc::new(BooleanArray::from_iter((0..n).map(|row| Some(row % 2 == 0))))),
        ];
        parquet(columns)
    }

    #[test]
    fn parquet_gives_the_rows_of_its_samples() {
        let folder = Folder::new();
        for n in [1, 32, 100] {
            let path = folder.file("t.parquet", table(n));
            assert!(can_stream(&path));
            options(&path).iter().for_each(|options| check(&path, options));
            let single = ReadOptions { columns: Some(vec!["b".into(), "a".into()]), ..ReadOptions::default() };
            check(&path, &single);
            let file = RowFile::open(&path, &single, &run()).unwrap();
            assert!(file.is_seekable() && file.bytes() > 0);
        }
        let path = folder.file("t.parquet", table(9));
        assert!(
            error(&path, &ReadOptions::default()).contains("1 column of a type that is not a number: 'label' (Utf8)")
        );
    }

    #[test]
    fn a_folder_of_parquet_is_read_from_anywhere() {
        let folder = Folder::new();
        std::fs::create_dir(folder.path("parts")).unwrap();
        for (name, n) in [("a", 32), ("b", 1), ("c", 100), ("d", 7)] {
            folder.file(&format!("parts/{name}.parquet"), table(n));
        }
        let columns = Some(vec!["b".into(), "e".into(), "a".into()]);
        for path in [folder.path("parts"), folder.path("parts/*.parquet")] {
            let options = ReadOptions { columns: columns.clone(), ..ReadOptions::default() };
            assert!(can_stream(&path) && RowFile::open(&path, &options, &run()).unwrap().is_seekable());
            check(&path, &options);
        }
    }

    #[test]
    fn compressed_text_gives_the_rows_of_its_samples() {
        let folder = Folder::new();
        let text = text(true, "\n", N_ROWS);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let paths = [
            folder.file("t.csv.gz", gzip.finish().unwrap()),
            folder.file("t.csv.zst", zstd::encode_all(text.as_bytes(), 1).unwrap()),
        ];
        for path in paths {
            assert!(can_stream(&path));
            options(&path).iter().for_each(|options| check(&path, options));
            assert!(!RowFile::open(&path, &options(&path)[0], &run()).unwrap().is_seekable());
        }
    }

    #[test]
    fn damaged_tables_are_survived() {
        let (folder, bytes) = (Folder::new(), table(40));
        let whole = folder.file("t.parquet", &bytes);
        let options = &options(&whole)[0];
        let file = RowFile::open(&whole, options, &run()).unwrap();
        for len in 0..bytes.len() {
            let path = folder.file("cut.parquet", &bytes[..len]);
            assert!(!error(&path, options).is_empty(), "cut to {len} bytes was read");
            // The footer is known, the pages are cut.
            folder.file("t.parquet", &bytes[..len]);
            let _ = read(&file, 1, &[], 7);
        }
        for at in (0..bytes.len()).step_by(3) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x55;
            error(&folder.file("flip.parquet", bytes), options);
        }
    }
}
