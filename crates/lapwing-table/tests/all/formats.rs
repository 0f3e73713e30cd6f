//! Tables in other encodings, archives and formats, and texts whose lines are not all rows.

use lapwing_core::{Run, Standardize};
use lapwing_table::prepare::{Step, prepare};
use lapwing_table::read::{ReadOptions, TableFile, read_names};
use lapwing_table::read_samples;

use crate::common::Folder;

pub fn run(threads: usize) -> Run {
    Run::new(Some(threads), 0).unwrap()
}

#[test]
fn texts_of_other_encodings_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.csv");
    let wide = |text: &str, units: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(units).collect::<Vec<u8>>();
    let table = |word: &str| {
        format!("größe,{word}\n{}", (0..40).map(|at| format!("{at}.5,{word}{}\n", at % 3)).collect::<String>())
    };
    let latin = |text: &str| text.chars().map(|c| u32::from(c) as u8).collect::<Vec<u8>>();
    let encoded = |encoding: &'static encoding_rs::Encoding, text: &str| encoding.encode(text).0.into_owned();
    let cases = [
        ("UTF-16LE", "größe", "fußball", wide(&format!("\u{feff}{}", table("fußball")), u16::to_le_bytes)),
        ("UTF-16LE", "größe", "fussball", wide(&table("fussball"), u16::to_le_bytes)),
        ("UTF-16BE", "größe", "fußball", wide(&format!("\u{feff}{}", table("fußball")), u16::to_be_bytes)),
        ("windows-1252", "größe", "fußball", latin(&table("fußball"))),
        (
            "Shift_JIS",
            "大きさ",
            "すもうのちから",
            encoded(encoding_rs::SHIFT_JIS, &table("すもうのちから").replace("größe", "大きさ")),
        ),
        (
            "GBK",
            "尺寸",
            "送货很快包装很好",
            encoded(encoding_rs::GB18030, &table("送货很快包装很好").replace("größe", "尺寸")),
        ),
    ];
    for (encoding, first, second, bytes) in cases {
        std::fs::write(&path, &bytes).unwrap();
        let table = TableFile::open(&path, &ReadOptions::default()).unwrap();
        assert_eq!(table.names(), [first, second], "{encoding}");
        assert_eq!(table.dialect().unwrap().encoding, encoding);
        let found = prepare(&path, &ReadOptions::default(), Standardize::Auto, &run(1)).unwrap();
        assert!(found.description.reading().unwrap().contains(encoding));
        let Step::Category { levels, .. } = &found.recipe.columns[1].step else { panic!("{:?}", found.recipe) };
        assert_eq!(levels[2], format!("{second}2"));
    }
}

/// The kinds and the cells of a table as text, a line for each row.
pub fn table_of(path: &std::path::Path, options: &ReadOptions) -> (Vec<String>, String) {
    let table = TableFile::open(path, options).unwrap_or_else(|error| panic!("{error}"));
    let kinds = table.names().iter().zip(table.kinds()).map(|(name, kind)| format!("{name}:{}", kind.word())).collect();
    let cells = |name: &String| {
        let table = TableFile::open(path, options).unwrap();
        let kept = lapwing_table::write::KeptColumns::open(table, Some(vec![name.clone()]), None, Vec::new()).unwrap();
        kept.texts(None, &run(1)).unwrap()
    };
    let columns: Vec<Vec<Option<String>>> = table.names().iter().map(cells).collect();
    let row =
        |row: usize| columns.iter().map(|cells| cells[row].clone().unwrap_or_default()).collect::<Vec<_>>().join(",");
    (kinds, (0..columns[0].len()).map(|at| row(at) + "\n").collect())
}

pub fn refused(path: &std::path::Path) -> String {
    read_samples(path, &ReadOptions::default(), &run(1)).unwrap_err().to_string()
}

pub fn zipped(members: &[(&str, &[u8])]) -> Vec<u8> {
    use std::io::Write;
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// `xz` of "a,b\n1,2\n3,4\n".
const XZ: &[u8] = b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3\x01\x00\x0b\x61\x2c\x62\x0a\x31\x2c\x32\x0a\x33\x2c\x34\x0a\x00\x10\x55\xe3\x96\x32\x2f\x91\x5e\x00\x01\x24\x0c\xa6\x18\xd8\xd8\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a";

fn packed(text: &str) -> [(&'static str, Vec<u8>); 4] {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(text.as_bytes()).unwrap();
    let zip =
        zipped(&[("__MACOSX/._t.csv", b"\x00"), ("folder/t.csv", text.as_bytes()), ("folder/logo.png", b"\x89PNG")]);
    [
        ("gz", gzip.finish().unwrap()),
        ("zst", zstd::encode_all(text.as_bytes(), 1).unwrap()),
        ("bz2", bzip2.finish().unwrap()),
        ("zip", zip),
    ]
}

#[test]
fn packed_texts_are_read_whatever_their_ending() {
    let folder = Folder::new();
    let all = packed("a,b\n1,2\n3,4\n").into_iter().chain([("xz", XZ.to_vec())]);
    for (ending, bytes) in all {
        for name in [format!("t.csv.{ending}"), format!("t.{ending}"), "t.csv".into(), "t".into()] {
            let path = folder.file(&name, &bytes);
            let (kinds, cells) = table_of(&path, &ReadOptions::default());
            assert_eq!(
                (kinds.join(" ").as_str(), cells.as_str()),
                ("a:number b:number", "1,2\n3,4\n"),
                "{name} {ending}"
            );
        }
        let cut = folder.file("cut", &bytes[..bytes.len() - 6]);
        let error = refused(&cut);
        let is_named = ["truncated", "damaged", "cannot be read"].iter().any(|word| error.contains(word));
        assert!(is_named, "{ending}: {error}");
    }
    // A browser may have unpacked what the name still calls packed.
    assert_eq!(table_of(&folder.file("u.csv.gz", "a,b\n1,2\n"), &ReadOptions::default()).1, "1,2\n");
    let lines: String = (0..9).map(|at| format!("{at}\t{}\n", at * 7 % 5)).collect();
    let tsv = folder.file("t.zip", zipped(&[("t.tsv", lines.as_bytes())]));
    assert_eq!(read_samples(&tsv, &ReadOptions::default(), &run(1)).unwrap().features.n_rows(), 9);
}

#[test]
fn archives_hold_one_table() {
    let folder = Folder::new();
    let (a, b): (&[u8], &[u8]) = (b"a,b\n1,2\n", b"a,b\n3,4\n");
    let two = folder.file("two.zip", zipped(&[("x/b.csv", b), ("x/a.csv", a), ("x/", b"")]));
    let error = refused(&two);
    assert!(
        error.contains("the archive holds 2 files, not one table: x/a.csv, x/b.csv; give one of them: unzip -p "),
        "{error}"
    );
    // Packed twice, and arrays beside tables.
    let inner = folder.file("p.zip", zipped(&[("t.csv.gz", &packed("a,b\n1,2\n")[0].1), ("README", b"no table")]));
    assert!(
        refused(&inner).contains("neither text nor a known format: it starts with [1f, 8b, "),
        "{}",
        refused(&inner)
    );
    let mixed = folder.file("m.zip", zipped(&[("t.npy", b"\x93NUMPY\x01"), ("t.txt", b"a")]));
    assert!(refused(&mixed).contains("holds 2 files, not one table: t.npy, t.txt;"), "{}", refused(&mixed));
    assert!(refused(&folder.file("e.zip", zipped(&[("folder/", b"")]))).contains("holds 0 files"));
    let mut bytes = zipped(&[("t.csv", b"a,b\n1,2\n")]);
    let at = bytes.windows(4).position(|four| four == b"t.cs").unwrap();
    bytes[at + 6] ^= 1;
    let error = refused(&folder.file("damaged.zip", bytes));
    assert!(error.contains("damaged"), "{error}");
}

#[test]
fn contents_tell_files_without_a_known_ending() {
    use crate::common::{f32s, npy, npz, values};
    let folder = Folder::new();
    let array = npy("<f4", "(2, 1)", &f32s(&[1.0, 2.0]));
    let archive = npz(&[("X", array.clone())]);
    for name in ["x", "x.data", "x.csv"] {
        for bytes in [&array, &archive] {
            let read = read_samples(&folder.file(name, bytes), &ReadOptions::default(), &run(1)).unwrap();
            assert_eq!(values(&read.features), [1.0, 2.0], "{name}");
        }
    }
    let table = |bytes: &str| table_of(&folder.file("t.data", bytes), &ReadOptions::default());
    assert_eq!(table("{\"a\": 1, \"b\": \"x\"}\n{\"b\": \"y\", \"a\": 2}\n").1, "1,x\n2,y\n");
    assert_eq!(table("a|b\n1|x\n2|y\n").1, "1,x\n2,y\n");
    let sparse =
        read_samples(&folder.file("a9a", "+1 3:1 11:.5\n-1 5:2 7:1\n"), &ReadOptions::default(), &run(1)).unwrap();
    assert_eq!((sparse.features.n_rows(), sparse.features.n_cols()), (2, 11));
    assert!(lapwing_table::read::holds_labels(&folder.path("a9a")));
    // Hours are no sparse rows.
    assert_eq!(table("mon 9:00 17:30\ntue 10:00 18:00\nwed 9:30 12:00\n").0.len(), 3);
    for (name, bytes, expected) in [
        ("d.db", &b"SQLite format 3\0\x10\0\x01\x01"[..], "sqlite3 -csv -header "),
        ("h.h5", b"\x89HDF\r\n\x1a\n\0", "pandas.read_hdf('"),
        ("p.csv", b"<!DOCTYPE html><html><body>", "a page (HTML)"),
        ("j.json", b"[\n {\"a\": 1},\n {\"a\": 2}\n]\n", "jq -c '.[]' "),
        ("q", b"\x7fELF\x02\x01\x01\0\0\0", "it starts with [7f, 45, 4c, 46, 02, 01, 01, 00], '\\x7fELF"),
    ] {
        let path = folder.file(name, bytes);
        for error in [refused(&path), TableFile::open(&path, &ReadOptions::default()).unwrap_err().to_string()] {
            assert!(error.contains(expected) && error.contains(name), "{error}");
        }
    }
    let packed = folder.file("x.npy.zst", zstd::encode_all(&array[..], 1).unwrap());
    assert!(
        refused(&packed).contains("this is an array (.npy) in a packed file; unpack it first"),
        "{}",
        refused(&packed)
    );
}

#[test]
fn arff_has_the_types_of_its_attributes() {
    let folder = Folder::new();
    let text = "% iris\n@RELATION 'two words'\n\n@attribute size REAL\n@attribute 'the code' {1, 2,'3 a'}\n@attribute word string\n\
                @attribute day date yyyy-MM-dd\n@Attribute class {yes,no}\n\n@DATA\n1.5,1,'it\\'s, so',2024-01-02,yes\n% no row\n\
                ?,'3 a',\"b\",2024-02-03,?\n{0 2, 1 2, 4 no}\n{}\n";
    let (kinds, cells) = table_of(&folder.file("t.arff", text), &ReadOptions::default());
    assert_eq!(kinds, ["size:number", "the code:text", "word:text", "day:date", "class:text"]);
    assert_eq!(cells, "1.5,1,it's, so,2024-01-02,yes\n,3 a,b,2024-02-03,\n2,2,,,no\n0,1,,,yes\n");
    // Levels that are numbers are levels, as far as the last row, and a number is none.
    let rows: String = (0..60).map(|at| format!("{},{}\n", at % 3 + 1, at * 7 % 31)).collect();
    let header = "@relation r\n@attribute code {1,2,3}\n@attribute x numeric\n@data\n";
    let path = folder.file("n.data", format!("{header}{rows}"));
    let found = prepare(&path, &ReadOptions::default(), Standardize::Off, &run(1)).unwrap();
    assert_eq!(found.recipe.feature_names(), ["code_1", "code_2", "code_3", "x"]);
    let error = |text: String| refused(&folder.file("e.arff", text));
    assert!(error(format!("{header}1,2\n{{0 1, 5 x}}\n")).contains("line 6: '5 x' is no cell of 2 attributes"));
    assert!(error(format!("{header}1,2\n1,2,3\n")).ends_with("e.arff, line 6: 3 fields; the lines before have 2"));
    assert!(
        error("@relation r\n@attribute a relational\n".into()).contains("line 2: attribute a: 'relational' is none of")
    );
    assert!(error("@relation r\n@attribute a real\n".into()).contains("no line @data"));
}

#[test]
fn folders_of_keys_and_lists_of_files_are_one_table() {
    let folder = Folder::new();
    for (year, month) in [(2020, "01"), (2020, "02"), (2021, "01")] {
        let path = folder.path(&format!("h/year={year}/month={month}"));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("part.csv"), format!("x,word\n{month}.5,w{year}\n7,v\n")).unwrap();
    }
    let (kinds, cells) = table_of(&folder.path("h"), &ReadOptions::default());
    assert_eq!(kinds, ["x:number", "word:text", "year:number", "month:number"]);
    assert_eq!(
        cells,
        "01.5,w2020,2020,01\n7,v,2020,01\n02.5,w2020,2020,02\n7,v,2020,02\n01.5,w2021,2021,01\n7,v,2021,01\n"
    );
    let numbers = ReadOptions { drop: vec!["word".into()], ..ReadOptions::default() };
    let read = read_samples(&folder.path("h"), &numbers, &run(1)).unwrap();
    assert_eq!(crate::common::values(&read.features)[6..12], [2.5, 2020.0, 2.0, 7.0, 2020.0, 2.0]);
    // A key that names the rows, and one without a value.
    let path = folder.path("h/year=__HIVE_DEFAULT_PARTITION__/month=x");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("part.csv"), "word,x\nz,9\n").unwrap();
    let (kinds, cells) = table_of(&folder.path("h"), &ReadOptions::default());
    assert_eq!(kinds[3], "month:text");
    assert!(cells.ends_with("01.5,w2021,2021,01\n7,v,2021,01\n9,z,,x\n"), "{cells}");

    let (a, b) = (folder.file("a.csv", "x,y\n1,2\n"), folder.file("b.csv", "y,x\n4,3\n"));
    let both = ReadOptions { more: vec![b.clone()], ..ReadOptions::default() };
    assert_eq!(table_of(&a, &both).1, "1,2\n3,4\n");
    let options = ReadOptions { id: Some("x".into()), ..both.clone() };
    assert_eq!(read_names(&a, &options, &run(1)).unwrap().len(), 2);
    folder.file("b.csv", "y,z\n4,3\n");
    let error = read_samples(&a, &both, &run(1)).unwrap_err().to_string();
    assert!(
        error.contains("b.csv: the columns are not those of ") && error.contains("without x; with further z;"),
        "{error}"
    );
    let array = folder.file("a.npy", crate::common::npy("|u1", "(1, 1)", &[1]));
    let error = read_samples(&array, &both, &run(1)).unwrap_err().to_string();
    assert!(error.contains("only tables are read one below the other"), "{error}");
}

#[test]
fn sparse_rows_may_lack_labels_and_have_one() {
    use crate::common::values;
    let folder = Folder::new();
    let read = |text: &str| read_samples(&folder.file("t.svm", text), &ReadOptions::default(), &run(1)).unwrap();
    let none = read("1:2 2:.5\n# note\nqid:7 2:1 # end\n");
    assert_eq!((values(&none.features), none.labels.is_none()), (vec![2.0, 0.5, 0.0, 1.0], true));
    let some = read("cat 1:2\n2:1\nqid:3 1:1\ndog qid:4 1:4\n").labels.unwrap();
    assert_eq!((some.index, some.classes.names()), (vec![0, -1, -1, 1], vec!["cat".to_owned(), "dog".to_owned()]));
    let error = refused(&folder.file("t.svm", "1 5:.2\n1,3 5:.2\n"));
    assert!(
        error.contains("t.svm, line 2: '1,3' are several labels, and a row has one class: keep one of them"),
        "{error}"
    );
}

/// Text of which single bytes are no UTF-8 is refused where it is, and other encodings of single bytes are a guess.
#[test]
fn encodings_are_not_guessed_in_silence() {
    let folder = Folder::new();
    let options = ReadOptions { label_column: Some("kind".into()), ..ReadOptions::default() };
    let rows: String = (0..40).map(|at| format!("{}.5,M\u{e1}laga,{}\n", at % 7, ["a", "b"][at % 2])).collect();
    let text = format!("x,city,kind\n{rows}");
    let latin: Vec<u8> = text.chars().map(|c| c as u32 as u8).collect();
    let prepared = |bytes: &[u8]| prepare(&folder.file("t.csv", bytes), &options, Standardize::Off, &run(1));
    let found = prepared(&latin).unwrap();
    let said = found.warnings.iter().map(ToString::to_string).collect::<String>();
    assert!(
        said.contains("not in UTF-8; its letters are taken for those of windows-125") && said.contains("a guess"),
        "{said}"
    );
    assert!(prepared(text.as_bytes()).unwrap().warnings.is_empty());
    let mut damaged = text.clone().into_bytes();
    let at = text.rfind("5,M").unwrap() + 2;
    damaged[at] = 0xe9;
    let error = prepared(&damaged).unwrap_err().to_string();
    assert!(error.contains("line 41") && error.contains("'city' is not UTF-8 text"), "{error}");
    let wide: Vec<u8> =
        std::iter::once('\u{feff}').chain(text.chars()).flat_map(|c| (c as u32).to_le_bytes()).collect();
    assert!(prepared(&wide).unwrap_err().to_string().contains("UTF-32; save it as UTF-8"));
}
