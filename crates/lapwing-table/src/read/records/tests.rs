use super::*;

use std::io::BufReader;

fn records(text: &str) -> Records {
    // Three bytes at a time, so that every rule is tested at the end of a piece.
    let text = BufReader::with_capacity(3, std::io::Cursor::new(text.as_bytes().to_vec()));
    let (text, skipped) = without_mark(Box::new(text)).unwrap();
    Records::from_text(Path::new("t.csv"), text, Mark { byte: skipped, lines: 0 })
}

/// Line, byte and cells of every record.
fn all(text: &str) -> Result<Vec<(u64, u64, Vec<String>)>> {
    let (mut records, mut found) = (records(text), Vec::new());
    while records.advance()? {
        let cells = (0..records.width()).map(|at| String::from_utf8(records.cell(at).to_vec()).unwrap()).collect();
        found.push((records.line(), records.mark().byte, cells));
    }
    Ok(found)
}

#[test]
fn records_know_their_lines_whatever_ends_these() {
    for end in ["\n", "\r\n", "\r"] {
        let text = ["a,b", "", "1,\"x\ny\"", "\"\"\"2\",q\"q", "3,\"\""].join(end) + end + end;
        let found = all(&text).unwrap();
        let lines: Vec<u64> = found.iter().map(|record| record.0).collect();
        assert_eq!(lines, [1, 3, 5, 6], "{end:?}");
        let cells: Vec<_> = found.iter().map(|record| record.2.join("|")).collect();
        assert_eq!(cells, ["a|b", "1|x\ny", "\"2|q\"q", "3|"]);
        for (at, (_, byte, cells)) in found.iter().enumerate() {
            assert_eq!(all(&text[*byte as usize..]).unwrap()[0].2, *cells, "record {at}");
        }
    }
}

#[test]
fn a_byte_order_mark_is_no_text_and_a_later_one_is() {
    let found = all("\u{feff}a,b\n\u{feff}1,2").unwrap();
    assert_eq!((found[0].1, found[0].2[0].as_str(), found[1].2[0].as_str()), (3, "a", "\u{feff}1"));
    let mut later = Records::from_text(Path::new("t.csv"), Box::new(&b"\xef\xbb\xbf1,2"[..]), Mark::default());
    assert!(later.advance().unwrap() && later.cell(0) == "\u{feff}1".as_bytes());
}

#[test]
fn a_quote_that_stays_open_is_named_by_its_line() {
    let text = |text: &str| all(text).unwrap_err().to_string();
    assert!(text("a,b\r\n1,2\r\n3,\"r\r\n5,6\r\n").starts_with("t.csv, line 3: the quote that opens before 'r  5,6"));
    assert!(text("a,b\n1,2\n\"x\ny\",\"r\n5,6").starts_with("t.csv, line 4: the quote that opens before 'r 5,6'"));
    assert!(text("a,b\n1,\"").starts_with("t.csv, line 2: the quote"));
    assert!(text("a,b\n1,\"\"\"").starts_with("t.csv, line 2: the quote"));
    for closed in ["a,b\n1,\"\"", "a,b\n1,\"2\"", "a,b\n1,2\"", "a,b\n1,\"2\"x", "a,b\n1,"] {
        assert_eq!(all(closed).unwrap().len(), 2, "{closed}");
    }
    let long = format!("a,b\n1,\"{}", "x".repeat(MAX_CELL_BYTES * 2));
    assert!(text(&long).contains("line 2") && text(&long).contains("16 MiB"));
}

#[test]
fn cells_are_those_of_the_crate_csv() {
    // All texts of six characters that matter.
    let letters = ['a', ',', '"', '\n', '\r'];
    for number in 0..5usize.pow(6) {
        let text: String = (0..6).map(|at| letters[number / 5usize.pow(at) % 5]).collect();
        let mut theirs = ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
        let mut ours = records(&text);
        for record in theirs.byte_records() {
            ours.expected = None;
            match ours.advance() {
                // Only an open quote is an error.
                Err(error) => {
                    assert!(error.to_string().contains("is not closed"), "{text:?}: {error}");
                    break;
                }
                Ok(is_there) => assert!(is_there, "{text:?}"),
            }
            let record = record.unwrap();
            let cells: Vec<&[u8]> = (0..ours.width()).map(|at| ours.cell(at)).collect();
            assert_eq!(cells, record.iter().map(<[u8]>::trim_ascii).collect::<Vec<_>>(), "{text:?}");
        }
    }
}
