//! Tells the dialect of a text and what its columns hold from its first records.
//!
//! `shape` finds the table and the delimiter, `header` the names of the columns. What the text leaves open is a [`Doubt`]: the likelier
//! reading is taken, and a warning names the other.

use super::cells::Cells;
use super::dialect::{Dialect, Doubt, Known, Lines, Sample, types};
use super::header::{count_up, further_header_lines, has_header, holds_names};
use super::shape::{COMMENTS, Line, Table, best_table};
use crate::cell::{Found, Marks, plain};

/// A dialect with the columns of a sample.
#[derive(Debug, Default)]
pub(crate) struct Sniffed {
    pub dialect: Dialect,
    /// Cells of the header; empty without one.
    pub header: Vec<Vec<u8>>,
    /// Types of the columns.
    pub columns: Vec<Found>,
    pub doubts: Vec<Doubt>,
    /// The records behind the header.
    pub records: Sample,
    /// Where the rows start.
    pub body: usize,
    /// What was passed over before.
    pub passed: Vec<String>,
    /// The line of the header, if it names the columns.
    pub header_line: Vec<u8>,
}

/// Tells the dialect of a text from its start; `is_whole` says that this is all of it.
pub(super) fn sniff(sample: &[u8], is_whole: bool, known: &Known) -> Sniffed {
    let (mut doubts, mut passed) = (Vec::new(), Vec::new());
    let mut known = known.clone();
    let (start, delimiter) = separator_line(sample);
    if start > 0 {
        passed.push("the line that names the separator is passed over".to_owned());
        known.delimiter = known.delimiter.or(delimiter);
    }
    let table = list_or_table(&sample[start..], is_whole, &known, &mut doubts);
    let Table { mut dialect, lines, shape, .. } = table;
    let (first, width) = (shape.first, shape.width);
    let own = &lines[first..];
    let mut cells: Sample = own.iter().filter(|line| !line.is_comment).map(|line| line.cells.clone()).collect();
    dialect.decimal = known.decimal.unwrap_or_else(|| decimal(&cells, dialect.delimiter, &mut doubts));
    // Names of rows, as R writes them, have no name of their own.
    if let Some(top) = cells.first_mut().filter(|_| shape.has_row_names) {
        top.insert(0, b"row_names".to_vec());
    }
    let is_asked = !known.names.is_empty() && cells.first().is_some_and(|top| holds_names(top, &known.names));
    let mut told = || has_header(&cells, dialect.decimal, &mut doubts);
    dialect.has_header = known.has_header.unwrap_or_else(|| is_asked || shape.has_row_names || told());
    let (mut header, mut header_line, mut at) = (Vec::new(), Vec::new(), first);
    if dialect.has_header && !cells.is_empty() {
        header = cells.remove(0);
        // A delimiter behind the names alone makes no column.
        header.truncate(width.max(1));
        // In a single column, a cell that equals the name is a cell.
        if width > 1 && !known.is_list {
            header_line = lines[first].text(&sample[start..]).to_vec();
        }
        let further = if known.is_list { 0 } else { further_header_lines(&cells, dialect.decimal) };
        let below = noted(sample, start, lines.iter().skip(at + 1).take(further));
        passed.extend(below.passed_over("with types or units below the header"));
        cells.drain(..further);
        at += 1 + further;
    } else if let Some(names) = lines[..first].last().and_then(|line| commented_names(line, width, dialect.decimal)) {
        header = names;
    }
    if shape.has_row_names && dialect.delimiter != b'\t' && !count_up(cells.iter().filter_map(|record| record.first()))
    {
        let is_bare = |line: &&Line| line.text(&sample[start..]).first() != dialect.quote.as_ref();
        let rows = noted(sample, start, lines[at..].iter().filter(is_bare));
        passed.extend(rows.words(
            "row has one cell more than the header, and the first is taken for its name; or a cell holds a delimiter and is in no quotes",
            "rows have one cell more than the header, and the first is taken for their name; or cells hold delimiters and are in no quotes",
        ));
    }
    let before =
        |is_comment: bool| noted(sample, start, lines[..first].iter().filter(|line| line.is_comment == is_comment));
    passed.extend(before(false).passed_over("before the header"));
    passed.extend(before(true).passed_over("of comment before the rows"));
    let mut columns = types(&cells, dialect.decimal);
    doubt_columns(&columns, &cells, &known, &dialect, &mut doubts);
    let n_columns = if known.is_list { width } else { columns.len() };
    columns.resize(if header.is_empty() { n_columns } else { header.len() }, Found::default());
    let end = lines.get(at).map_or_else(|| lines.last().map_or(0, |line| line.end), |line| line.start);
    Sniffed { dialect, header, columns, doubts, records: cells, body: start + end, passed, header_line }
}

/// The names of `width` columns in a line of comment: # x,y,label.
fn commented_names(line: &Line, width: usize, decimal: u8) -> Option<Vec<Vec<u8>>> {
    let mut names: Vec<Vec<u8>> = line.is_comment.then(|| line.cells.clone())?;
    if let Some(first) = names.first_mut() {
        let length = first.iter().take_while(|byte| COMMENTS.contains(byte) || **byte == b' ').count();
        first.drain(..length);
    }
    (names.len() == width && names.iter().all(|name| plain(name, decimal).is_none())).then_some(names)
}

/// Adds the doubts about what cells hold.
fn doubt_columns(columns: &[Found], cells: &Sample, known: &Known, dialect: &Dialect, doubts: &mut Vec<Doubt>) {
    for doubt in columns.iter().filter_map(|column| Doubt::of_column(*column)) {
        let is_known = doubt == Doubt::Groups && (known.decimal.is_some() || doubts.contains(&Doubt::Decimal));
        doubts.extend((!is_known && !doubts.contains(&doubt)).then_some(doubt));
    }
    let is_pair =
        |record: &Vec<Vec<u8>>| record.len() == 2 && record.iter().all(|cell| cell.iter().all(u8::is_ascii_digit));
    if known.delimiter.is_none() && dialect.delimiter == b',' && !dialect.has_header && cells.iter().all(is_pair) {
        // Each line may be one number with a decimal comma.
        doubts.push(Doubt::Delimiter);
    }
}

/// Lines of a sample, whose places count from byte `start`.
fn noted<'l>(sample: &[u8], start: usize, lines: impl Iterator<Item = &'l Line>) -> Lines {
    let mut found = Lines::default();
    lines.for_each(|line| found.note(sample, start + line.start));
    found
}

/// The length of a first line such as `sep=;`, and its delimiter.
fn separator_line(sample: &[u8]) -> (usize, Option<u8>) {
    let length = memchr::memchr(b'\n', sample).map_or(sample.len(), |at| at + 1);
    let line = sample[..length].trim_ascii();
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    match line {
        [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', delimiter] => (length, Some(*delimiter)),
        b"sep=" => (length, Some(b'\t')),
        _ => (0, None),
    }
}

/// The most likely table; in a list, also one of cells with blanks between.
fn list_or_table(sample: &[u8], is_whole: bool, known: &Known, doubts: &mut Vec<Doubt>) -> Table {
    let table = best_table(sample, is_whole, known, doubts);
    if !known.is_list || known.delimiter.is_some() || table.shape.width > 1 {
        return table;
    }
    let blanks = Known { delimiter: Some(b' '), ..known.clone() };
    Some(best_table(sample, is_whole, &blanks, doubts)).filter(|spaced| spaced.shape.width > 1).unwrap_or(table)
}

/// Line and text of a cell of the first record whose quote is not closed.
pub(super) fn unclosed_header(sample: &[u8], dialect: &Dialect) -> Option<(u64, String)> {
    let mut cells = Cells::new(sample, dialect);
    cells.start()?;
    if cells.record(|_, _| ()).is_some() {
        return None;
    }
    let (at, cell) = cells.unclosed()?;
    Some((crate::lines::count_lines(&sample[..at]) + 1, crate::lines::shown(cell.trim_ascii())))
}

fn decimal(records: &Sample, delimiter: u8, doubts: &mut Vec<Doubt>) -> u8 {
    match Marks::of(records.iter().flatten().map(Vec::as_slice)) {
        Marks { comma, point, .. } if comma > point => b',',
        Marks { comma: 0, point: 0, unclear, .. } if unclear > 0 && delimiter != b',' => {
            doubts.push(Doubt::Decimal);
            if delimiter == b';' { b',' } else { b'.' }
        }
        Marks { comma: 0, point: 0, unclear_point: 1.., .. } if delimiter == b';' => {
            doubts.push(Doubt::Decimal);
            b'.'
        }
        _ => b'.',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Sniffed {
        sniff(text.as_bytes(), true, &Known::default())
    }

    #[test]
    fn delimiters_are_told() {
        for (text, delimiter) in [
            ("a,b\n1,2\n", b','),
            ("a;b\n1,5;2,5\n3,5;4,5\n", b';'),
            ("a\tb\nx, y\tz\n", b'\t'),
            ("a|b|c\n1|2|3\n", b'|'),
            ("a\n1\n", b','),
            ("name;note\n\"x\";\"a, b\"\n\"y\";\"c, d\"\n", b';'),
        ] {
            assert_eq!(of(text).dialect.delimiter, delimiter, "{text:?}");
        }
        assert_eq!(of("a,b\n'x, y',1\n'z',2\n").dialect.quote, Some(b'\''));
        assert_eq!(of("a,b\nO'Brien,1\nO'Neil,2\n").dialect.quote, Some(b'"'));
    }

    #[test]
    fn headers_and_decimals_are_told() {
        assert!(of("a,b\n1,2\n").dialect.has_header);
        assert!(!of("1,2\n3,4\n").dialect.has_header);
        let found = of("red,2\nblue,4\n");
        assert!(!found.dialect.has_header, "{found:?}");
        assert!(of("0,1,2\n7,3,5\n").dialect.has_header && !of("3,1,2\n7,3,5\n").dialect.has_header);
        assert!(of("x,y\nu,v\n").dialect.has_header);
        assert!(!of("red,cat\nred,dog\nblue,cat\n").dialect.has_header);
        assert_eq!(of("a;b\n1,5;x\n").dialect.decimal, b',');
        assert_eq!(of("a;b\n1.234,50;x\n").dialect.decimal, b',');
        assert_eq!(of("a;b\n1.5;x\n").dialect.decimal, b'.');
        let unclear = of("a;b\n1,234;x\n2,345;y\n");
        assert_eq!(unclear.doubts, [Doubt::Decimal]);
        assert_eq!(of("a;b\n1,234,567;x\n2,345;y\n").dialect.decimal, b'.');
    }
}
