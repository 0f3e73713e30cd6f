//! Tables in other encodings and in spreadsheets, and texts whose lines are not all rows.

use lapwing_core::{Run, Standardize};
use lapwing_table::prepare::{Step, prepare};
use lapwing_table::read::{ReadOptions, TableFile, read_names, read_samples};

use crate::common::Folder;

fn run(threads: usize) -> Run {
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

/// A spreadsheet with these sheets, whose cells are numbers where they look like these, else texts.
fn workbook(sheets: &[(&str, &str)]) -> Vec<u8> {
    use std::io::{Cursor, Write};
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let mut add = |name: &str, text: String| {
        zip.start_file(name, zip::write::FileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    };
    let of_all = |each: &dyn Fn(usize, &str) -> String| -> String {
        sheets.iter().enumerate().map(|(at, (name, _))| each(at + 1, name)).collect()
    };
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let package = "http://schemas.openxmlformats.org/package/2006";
    let kind = "application/vnd.openxmlformats-officedocument.spreadsheetml";
    let parts = of_all(&|at, _| {
        format!("<Override PartName='/xl/worksheets/sheet{at}.xml' ContentType='{kind}.worksheet+xml'/>")
    });
    add(
        "[Content_Types].xml",
        format!(
            "<Types xmlns='{package}/content-types'><Default Extension='rels' ContentType='application/vnd.openxmlformats-package.relationships+xml'/><Override PartName='/xl/workbook.xml' ContentType='{kind}.sheet.main+xml'/>{parts}</Types>"
        ),
    );
    add(
        "_rels/.rels",
        format!(
            "<Relationships xmlns='{package}/relationships'><Relationship Id='r1' Type='{relation}/officeDocument' Target='xl/workbook.xml'/></Relationships>"
        ),
    );
    let listed = of_all(&|at, name| format!("<sheet name='{name}' sheetId='{at}' r:id='r{at}'/>"));
    add(
        "xl/workbook.xml",
        format!("<workbook xmlns='{main}' xmlns:r='{relation}'><sheets>{listed}</sheets></workbook>"),
    );
    let targets = of_all(&|at, _| {
        format!("<Relationship Id='r{at}' Type='{relation}/worksheet' Target='worksheets/sheet{at}.xml'/>")
    });
    add(
        "xl/_rels/workbook.xml.rels",
        format!("<Relationships xmlns='{package}/relationships'>{targets}</Relationships>"),
    );
    for (at, (_, text)) in sheets.iter().enumerate() {
        let cell = |cell: &str| match cell.parse::<f64>() {
            Ok(_) => format!("<c><v>{cell}</v></c>"),
            Err(_) => format!("<c t='inlineStr'><is><t>{cell}</t></is></c>"),
        };
        let row = |line: &str| format!("<row>{}</row>", line.split(',').map(cell).collect::<String>());
        let rows: String = text.lines().map(row).collect();
        add(
            &format!("xl/worksheets/sheet{}.xml", at + 1),
            format!("<worksheet xmlns='{main}'><sheetData>{rows}</sheetData></worksheet>"),
        );
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn sheets_of_spreadsheets_are_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.xlsx");
    let rows =
        |from: usize| (from..from + 40).map(|at| format!("{}.5,red{}\n", at * 7 % 41, at % 3)).collect::<String>();
    let first = format!("Report of the year\nx,color\n{}", rows(0));
    std::fs::write(&path, workbook(&[("all", &first), ("more", &format!("y,color\n{}", rows(9)))])).unwrap();
    let found = prepare(&path, &ReadOptions::default(), Standardize::Off, &run(1)).unwrap();
    assert_eq!(found.recipe.feature_names(), ["x", "color_red0", "color_red1", "color_red2"]);
    let said: Vec<String> = found.warnings.iter().map(ToString::to_string).collect();
    assert!(
        said[0].contains("1 line before the header is passed over (line 1: 'Report of the year')")
            && said[0].contains("other sheets are passed over: 'more'"),
        "{said:?}"
    );
    let named = ReadOptions { sheet: Some("more".into()), ..ReadOptions::default() };
    assert_eq!(TableFile::open(&path, &named).unwrap().names(), ["y", "color"]);
    let unknown = ReadOptions { sheet: Some("none".into()), ..ReadOptions::default() };
    let error = TableFile::open(&path, &unknown).unwrap_err().to_string();
    assert!(error.contains("no sheet 'none'; the sheets are 'all', 'more'"), "{error}");
    std::fs::write(&path, "no workbook").unwrap();
    assert!(TableFile::open(&path, &ReadOptions::default()).unwrap_err().to_string().contains("no spreadsheet"));
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
