//! Rows of texts: their names, lines that are none, and aligned columns.

use lapwing_core::{Run, Standardize};
use lapwing_table::prepare::prepare;
use lapwing_table::read::{ReadOptions, TableFile, read_names};
use lapwing_table::read_samples;

use crate::common::{Folder, values};

fn run(threads: usize) -> Run {
    Run::new(Some(threads), 0).unwrap()
}

fn said(warnings: &[lapwing_core::Warning]) -> String {
    warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[test]
fn names_of_rows_are_those_of_the_rows() {
    let folder = Folder::new();
    let rows: String = (0..30).map(|at| format!("p{at},{}.5,{}\n", at * 7 % 31, at % 5)).collect();
    let text = format!("Report\nid,x,y\n{rows}id,x,y\np30,8.5\n\nSource: own data\n");
    let options = ReadOptions { id: Some("id".into()), ..ReadOptions::default() };
    let path = folder.file("t.csv", &text);
    let names = read_names(&path, &options, &run(1)).unwrap();
    assert_eq!((names.len(), names.name(0), names.name(30)), (31, "p0", "p30"));
    let found = prepare(&path, &options, Standardize::Off, &run(1)).unwrap();
    assert_eq!(found.names.unwrap().len(), 31);
    let expected = "t.csv: 1 line before the header is passed over (line 1: 'Report'); 1 line equal to the header is passed over (line 33: 'id,x,y'); 1 line of one cell behind the table is passed over (line 36: 'Source: own data'); 1 row lacks its last cells, which count as missing (line 34: 'p30,8.5')";
    assert!(said(&found.warnings).contains(expected), "{}", said(&found.warnings));
    // A name that comes twice is named with its lines.
    let twice = folder.file("u.csv", text.replace("p7,", "p3,"));
    let error = read_names(&twice, &options, &run(1)).unwrap_err().to_string();
    assert!(error.contains("line 6") && error.contains("line 10"), "{error}");
}

#[test]
fn all_cells_tell_the_order_of_day_and_month() {
    let folder = Folder::new();
    let table = |rows: usize, date: &dyn Fn(usize) -> String| -> String {
        let row = |at: usize| format!("{},{}\n", date(at), at * 7 % 31);
        format!("when,x\n{}", (0..rows).map(row).collect::<String>())
    };
    let warned = |text: String| {
        let found = prepare(&folder.file("t.csv", text), &ReadOptions::default(), Standardize::Off, &run(1)).unwrap();
        said(&found.warnings).contains("may start with the day or the month")
    };
    let early = |at: usize| (at % 12 + 1, at / 12 % 12 + 1);
    assert!(warned(table(3000, &|at| format!("{:02}/{:02}/2024", early(at).0, early(at).1))));
    // Behind the first thousand rows, days are beyond 12: no warning.
    let late = |at: usize| if at > 2000 { (13 + at % 15, 5) } else { early(at) };
    assert!(!warned(table(3000, &|at| format!("{:02}/{:02}/2024", late(at).0, late(at).1))));
    assert!(!warned(table(3000, &|at| format!("{:02}/{:02}/2024", late(at).1, late(at).0))));
}

#[test]
fn a_row_is_no_line_of_units_and_no_header() {
    let folder = Folder::new();
    let rows: String = (1..40)
        .map(|at| format!("{},{}\n", if at % 9 == 0 { "ND".into() } else { at.to_string() }, ["red", "blue"][at % 2]))
        .collect();
    let n_rows = |text: String, options: &ReadOptions| {
        prepare(&folder.file("t.csv", text), options, Standardize::Off, &run(1)).map(|found| found.description.n_rows)
    };
    // The first cell stands for a gap, as others do below.
    assert_eq!(n_rows(format!("x,color\nND,red\n{rows}"), &ReadOptions::default()).unwrap(), 40);
    assert_eq!(n_rows(format!("x,color\nmm,\n{rows}"), &ReadOptions::default()).unwrap(), 39);
    // A value is no name of a column.
    let dropped = ReadOptions { drop: vec!["red".into()], ..ReadOptions::default() };
    let error = n_rows(format!("x,color\n{rows}"), &dropped).unwrap_err().to_string();
    assert!(error.contains("no column 'red'") && error.contains("x, color"), "{error}");
    // In a single column, a cell may equal the name of the column.
    let text: String =
        (0..1500).map(|at| format!("{}\n", if at == 1400 { "word".into() } else { format!("w{}", at % 7) })).collect();
    assert_eq!(n_rows(format!("word\n{text}"), &ReadOptions::default()).unwrap(), 1500);
    let numbers = folder.file("n.csv", "a,b,c\n1,2,3\n4,5\n");
    let error = read_samples(&numbers, &ReadOptions::default(), &run(1)).unwrap().check(&run(1)).unwrap_err();
    assert!(error.to_string().contains("'c' (1 of 2 rows, first NaN in line 3)"), "{error}");
}

/// In aligned columns, a row may lack its last cells; where a cell in the midst may be missing, the row is refused.
#[test]
fn aligned_rows_lack_last_cells_only() {
    let folder = Folder::new();
    let options = ReadOptions::default();
    let read = |text: &str| read_samples(&folder.file("t.txt", text), &options, &run(1));
    let left = "x1      x2      x3\n95.82   45.11   1\n101.89  40.66\n156.50  20.87\n135.79  14.97   3\n";
    let right = "   x1     x2  x3\n95.82  45.11   1\n 1.89  40.66\n 6.50  20.87\n35.79  14.97   3\n";
    for text in [left, right] {
        let found = values(&read(text).unwrap().features);
        assert_eq!((found.len(), found[2], found[3]), (12, 1.0, if text == left { 101.89 } else { 1.89 }));
        assert!(found[5].is_nan() && found[8].is_nan() && (found[7] - 20.87).abs() < 1e-4);
    }
    let gap = "x1      x2      x3\n95.82   45.11   1\n101.89          2\n156.50  20.87   1\n135.79  14.97   3\n";
    let error = read(gap).unwrap_err().to_string();
    assert!(error.contains("line 3: 2 fields; the lines before have 3"), "{error}");
    assert_eq!(TableFile::open(&folder.file("t.txt", gap), &options).unwrap().names(), ["x1", "x2", "x3"]);
}

#[test]
fn what_a_column_or_a_line_leaves_open_is_said() {
    let folder = Folder::new();
    let warned = |text: &str| {
        let found = prepare(&folder.file("t.csv", text), &ReadOptions::default(), Standardize::Off, &run(1)).unwrap();
        said(&found.warnings)
    };
    let rows = |row: &dyn Fn(usize) -> String| (0..30).map(row).collect::<String>();
    // A cell that holds a delimiter and is in no quotes, or names of rows.
    let open = warned(&format!("x,y\n{}", rows(&|at| format!("item {at},{}.5,{}\n", at % 7, at % 5))));
    assert!(
        open.contains("30 rows have one cell more than the header") && open.contains("line 2: 'item 0,0.5,0'"),
        "{open}"
    );
    for first in [1, 1 << 32] {
        let counted = rows(&|at| format!("{},{}.5,{}\n", first + at as u64, at % 7, at % 5));
        assert!(!warned(&format!("x,y\n{counted}")).contains("header"));
    }
    // 300,000 beside numbers with points.
    let text = format!("wing;price\n{}", rows(&|at| format!("{},{}00;{at}.25\n", 300 + at, at % 10)));
    let open = warned(&text);
    assert!(open.contains("those of column 'wing' are taken as whole; decimal='comma' reads 300,000 → 300"), "{open}");
    let options = ReadOptions { decimal: Some(b'.'), ..ReadOptions::default() };
    let found = prepare(&folder.file("t.csv", &text), &options, Standardize::Off, &run(1)).unwrap();
    assert!(!said(&found.warnings).contains("wing") && values(&found.features)[0] == 300_000.0);
    let money = warned(&format!("price;x\n{}", rows(&|at| format!("${},500;{at}.25\n", at + 1))));
    assert!(!money.contains("decimal="), "{money}");
    // Sums of rows, and marks that are not seen.
    let row = |at: usize| format!("{},{}\n", ["Oslo", "Rome", "Subtotal"][at % 3], at * 7 % 31);
    assert!(warned(&format!("city,x\n{}", rows(&row))).contains("column 'city': some of its cells name totals"));
    let row = |at: usize| format!("{},{}\n", ["Oslo", "Os\u{ad}lo", "Rome"][at % 3], at * 7 % 31);
    assert!(warned(&format!("city,x\n{}", rows(&row))).contains("marks that are not seen"));
    // A NUL in a text.
    let text = format!("city,x\n{}", rows(&|at| format!("{},{at}\n", if at == 4 { "Os\0lo" } else { "Oslo" })));
    let error = prepare(&folder.file("t.csv", text), &ReadOptions::default(), Standardize::Off, &run(1)).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("line 6: 'Os lo' in column 'city' holds a NUL") && error.contains("tr -d '\\0'"), "{error}");
}

#[test]
fn numbers_in_brackets_are_negative_beside_others_only() {
    let folder = Folder::new();
    let first = |rows: &dyn Fn(usize) -> String| {
        let text = format!("year,x\n{}", (0..30).map(rows).collect::<String>());
        let found = prepare(&folder.file("t.csv", text), &ReadOptions::default(), Standardize::Off, &run(1)).unwrap();
        values(&found.features)[0]
    };
    assert_eq!(first(&|at| format!("({}),{}\n", 2012 - at * 7 % 31, at % 5)), 2012.0);
    assert_eq!(
        first(&|at| format!("{},{}\n", if at % 2 == 0 { format!("({})", 12 + at) } else { at.to_string() }, at % 5)),
        -12.0
    );
}
