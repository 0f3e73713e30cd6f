//! Sheets of spreadsheets as tables, and those that need more memory than is free.

use std::io::Write;

use lapwing_core::Standardize;
use lapwing_table::prepare::prepare;
use lapwing_table::read::{ReadOptions, TableFile};

use crate::common::Folder;
use crate::formats::{refused, run, zipped};

/// A spreadsheet with these sheets, whose cells are numbers where they look like these, else texts.
fn workbook(sheets: &[(&str, &str)]) -> Vec<u8> {
    use std::io::{Cursor, Write};
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let mut add = |name: &str, text: String| {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
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
    std::fs::write(&path, "PK\x03\x04 no workbook").unwrap();
    assert!(TableFile::open(&path, &ReadOptions::default()).unwrap_err().to_string().contains("cannot be read"));
    // A text with the ending of a spreadsheet, and a spreadsheet with that of an older one or of a text.
    std::fs::write(&path, "x\tcolor\n1\tred\n2\tblue\n").unwrap();
    assert_eq!(TableFile::open(&path, &ReadOptions::default()).unwrap().names(), ["x", "color"]);
    for name in ["t.xls", "t.csv", "t"] {
        let path = folder.path().join(name);
        std::fs::write(&path, workbook(&[("all", &first)])).unwrap();
        assert_eq!(TableFile::open(&path, &ReadOptions::default()).unwrap().names(), ["x", "color"], "{name}");
    }
}

#[test]
fn spreadsheets_that_hold_more_than_memory_are_refused() {
    let folder = Folder::new();
    // Two cells in opposite corners.
    let book = workbook(&[("all", "x,y\n1,2\n")]);
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(&book)).unwrap();
    let names: Vec<String> = zip.file_names().map(|name| name.unwrap().into_owned()).collect();
    let mut members: Vec<(String, Vec<u8>)> = Vec::new();
    for name in names {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut zip.by_name(&name).unwrap(), &mut bytes).unwrap();
        members.push((name, bytes));
    }
    let sheet = members.iter_mut().find(|(name, _)| name.ends_with("sheet1.xml")).unwrap();
    let cells = "<row r='1'><c r='A1'><v>1</v></c></row><row r='1048576'><c r='XFD1048576'><v>2</v></c></row>";
    sheet.1 = format!("<worksheet xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'><sheetData>{cells}</sheetData></worksheet>").into_bytes();
    let given: Vec<(&str, &[u8])> = members.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let far = zipped(&given);
    // Members that state 4 GiB each, and one that states less than it holds.
    let many: Vec<String> = (0..3000).map(|at| format!("xl/{at}.xml")).collect();
    let stated = |by: [u8; 4], members: &[(&str, &[u8])]| {
        let mut bytes = zipped(members);
        let places: Vec<usize> = (0..bytes.len() - 4).filter(|&at| &bytes[at..at + 4] == b"PK\x01\x02").collect();
        places.iter().for_each(|at| bytes[at + 24..at + 28].copy_from_slice(&by));
        bytes
    };
    let large =
        stated([0xfe, 0xff, 0xff, 0xff], &many.iter().map(|name| (name.as_str(), &b"<a/>"[..])).collect::<Vec<_>>());
    let small = stated([1, 0, 0, 0], &given);
    for (bytes, expected) in [(large, "TiB"), (small, "larger than its declared uncompressed size")] {
        let error = refused(&folder.file("t.xlsx", bytes));
        assert!(error.contains(expected), "{error}");
    }
    // Rows of an .ods whose one cell stands for 16,384.
    let cell = "<table:table-cell table:number-columns-repeated='16384' office:value-type='float' office:value='1'/>";
    let row = format!("<table:table-row>{}</table:table-row>", cell.replace('\'', "\""));
    let content = format!("<office:document-content>{}</office:document-content>", row.repeat(600_000));
    let ods = zipped(&[
        ("mimetype", &b"application/vnd.oasis.opendocument.spreadsheet"[..]),
        ("content.xml", content.as_bytes()),
    ]);
    // An .xls with a cell in the first row, and one in the last of the last column; and one that states so many.
    let number =
        |row: u16, column: u16| [&[3, 2, 14, 0][..], &row.to_le_bytes(), &column.to_le_bytes(), &[0; 10]].concat();
    let stated = [&[0, 2, 14, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1][..], &[0; 2]].concat();
    let xls = |records: &[u8]| {
        let mut file = cfb::CompoundFile::create(std::io::Cursor::new(Vec::new())).unwrap();
        let mut stream = file.create_stream("/Workbook").unwrap();
        stream.write_all(&[&[9, 8, 2, 0, 0, 6][..], records].concat()).unwrap();
        drop(stream);
        file.into_inner().into_inner()
    };
    let (between, stated) = (xls(&[number(0, 0), number(65_535, 65_535)].concat()), xls(&stated));
    // 192 to 467 GiB: refused where so much is not free.
    if lapwing_core::available_memory_bytes().is_some_and(|free| free < 150 << 30) {
        for (name, bytes) in [("t.xlsx", far), ("t.ods", ods), ("t.xls", between), ("t.xls", stated)] {
            let error = refused(&folder.file(name, bytes));
            assert!(error.contains("GiB") && error.ends_with("save the sheet as CSV"), "{error}");
        }
    }
}
