//! The dialect of a CSV file: what separates and quotes its cells, whether it has a header, its decimal mark; told from the start of
//! the text.
//!
//! A delimiter is likely if it makes records of one length and cells of clear types. The first line is a header unless its cells fit
//! the types of the cells below them. What the text does not tell is a [`Doubt`]: the likelier reading is taken, and said.

use std::collections::HashMap;

use serde::{Serialize, Serializer};

use super::cells::Cells;
use crate::read::cell::{CellType, Found, Marks, infer, is_missing, plain};

/// Records of the sample that are looked at.
pub(super) const MAX_RECORDS: usize = 1000;

/// Delimiters that are tried; of equally likely ones, the first is taken.
const DELIMITERS: [u8; 4] = [b'\t', b';', b'|', b','];

/// How the cells of a CSV file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Dialect {
    /// The byte between two cells.
    #[serde(serialize_with = "as_char")]
    pub delimiter: u8,
    /// The byte around cells that hold delimiters or line ends.
    #[serde(serialize_with = "as_char")]
    pub quote: u8,
    /// Whether the first line names the columns.
    pub has_header: bool,
    /// The byte before the decimals of a number.
    #[serde(serialize_with = "as_char")]
    pub decimal: u8,
}

fn as_char<S: Serializer>(byte: &u8, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_char(char::from(*byte))
}

impl Default for Dialect {
    fn default() -> Self {
        Self { delimiter: b',', quote: b'"', has_header: true, decimal: b'.' }
    }
}

/// What a text does not tell about its dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Doubt {
    /// Two delimiters are equally likely.
    Delimiter,
    /// The first line may be a header or a row.
    Header,
    /// Numbers such as `1,234` may be whole or have decimals.
    Decimal,
    /// Dates such as 03/04/2024 may start with the day or the month.
    Dates,
}

/// What is known about the dialect before the text is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    pub delimiter: Option<u8>,
    pub has_header: Option<bool>,
    pub decimal: Option<u8>,
    /// Whether the name of the file says that tabs separate the cells.
    pub is_tsv: bool,
    /// Whether every line is a JSON object.
    pub is_json: bool,
}

/// A dialect with the columns of a sample.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sniffed {
    pub dialect: Dialect,
    /// Cells of the header; empty without one.
    pub header: Vec<Vec<u8>>,
    /// Types of the columns.
    pub columns: Vec<Found>,
    pub doubts: Vec<Doubt>,
    /// The records behind the header.
    pub records: Sample,
}

/// Records of a sample.
pub(super) type Sample = Vec<Vec<Vec<u8>>>;

/// Tells the dialect of a text from its start; `is_whole` says that this is all of it.
pub(super) fn sniff(sample: &[u8], is_whole: bool, known: Known) -> Sniffed {
    let mut doubts = Vec::new();
    let quote = if memchr::memchr(b'"', sample).is_none() { single_quote(sample, known) } else { b'"' };
    let delimiter = known.delimiter.unwrap_or_else(|| delimiter(sample, is_whole, quote, known.is_tsv, &mut doubts));
    let mut dialect = Dialect { delimiter, quote, ..Dialect::default() };
    let mut records = records(sample, is_whole, &dialect);
    dialect.decimal = known.decimal.unwrap_or_else(|| decimal(&records, delimiter, &mut doubts));
    let body = types(&records[records.len().min(1)..], dialect.decimal);
    dialect.has_header = known.has_header.unwrap_or_else(|| has_header(&records, &body, dialect.decimal, &mut doubts));
    let columns = if dialect.has_header { body } else { types(&records, dialect.decimal) };
    doubts.extend(columns.iter().any(|column| column.is_doubtful).then_some(Doubt::Dates));
    let is_pair =
        |record: &Vec<Vec<u8>>| record.len() == 2 && record.iter().all(|cell| cell.iter().all(u8::is_ascii_digit));
    if known.delimiter.is_none() && delimiter == b',' && !dialect.has_header && records.iter().all(is_pair) {
        // Each line may be one number with a decimal comma.
        doubts.push(Doubt::Delimiter);
    }
    let header = if dialect.has_header && !records.is_empty() { records.remove(0) } else { Vec::new() };
    Sniffed { dialect, header, columns, doubts, records }
}

/// How cells of a small table are written, told from the start of its text. Where nothing else is between cells, a space may be.
pub(crate) fn delimiter_of(sample: &[u8], is_whole: bool, known: Known) -> Dialect {
    let found = sniff(sample, is_whole, known).dialect;
    let width = |dialect: &Dialect| records(sample, is_whole, dialect).first().map_or(0, Vec::len);
    let spaced = Dialect { delimiter: b' ', ..found };
    match known.delimiter.is_none() && width(&found) == 1 && width(&spaced) > 1 {
        true => spaced,
        false => found,
    }
}

/// The first records of a sample. The last one counts only if the text ends with it.
fn records(sample: &[u8], is_whole: bool, dialect: &Dialect) -> Sample {
    let (mut cells, mut records) = (Cells::new(sample, dialect), Vec::new());
    while records.len() < MAX_RECORDS && cells.start().is_some() {
        let mut record = Vec::new();
        if cells.record(|_, cell| record.push(cell.trim_ascii().to_vec())).is_none() {
            break;
        }
        if is_whole || cells.place() < sample.len() {
            records.push(record);
        }
    }
    records
}

/// Line and text of a cell of the first record whose quote is not closed.
pub(super) fn unclosed_header(sample: &[u8], dialect: &Dialect) -> Option<(u64, String)> {
    let mut cells = Cells::new(sample, dialect);
    cells.start()?;
    if cells.record(|_, _| ()).is_some() {
        return None;
    }
    let (at, cell) = cells.unclosed()?;
    Some((super::cells::count_lines(&sample[..at]) + 1, crate::read::records::shown(cell.trim_ascii())))
}

/// The types of the columns of JSON lines.
pub(super) fn json_columns(records: &[Vec<Vec<u8>>], n_columns: usize) -> Vec<Found> {
    let mut found = types(records, b'.');
    found.resize(n_columns, Found { kind: None, is_doubtful: false });
    found
}

/// The types of the columns of some records.
fn types(records: &[Vec<Vec<u8>>], decimal: u8) -> Vec<Found> {
    let width = records.iter().map(Vec::len).max().unwrap_or(0);
    let column = |at: usize| records.iter().filter_map(move |record| record.get(at).map(Vec::as_slice));
    (0..width).map(|at| infer(column(at), decimal)).collect()
}

/// The single quote, if cells are put in such quotes; else the double quote.
fn single_quote(sample: &[u8], known: Known) -> u8 {
    let delimiters = known.delimiter.map_or(DELIMITERS.to_vec(), |delimiter| vec![delimiter]);
    let is_end = |byte: Option<&u8>| byte.is_none_or(|byte| matches!(byte, b'\n' | b'\r') || delimiters.contains(byte));
    let places = || memchr::memchr_iter(b'\'', sample);
    let n_opening = places().filter(|&at| is_end(at.checked_sub(1).and_then(|before| sample.get(before)))).count();
    let n_closing = places().filter(|&at| is_end(sample.get(at + 1))).count();
    if n_opening >= 2 && n_opening == n_closing { b'\'' } else { b'"' }
}

/// How well a delimiter explains a sample.
struct Candidate {
    delimiter: u8,
    width: usize,
    score: f64,
}

fn delimiter(sample: &[u8], is_whole: bool, quote: u8, is_tsv: bool, doubts: &mut Vec<Doubt>) -> u8 {
    let candidate = |&delimiter: &u8| candidate(sample, is_whole, delimiter, quote, is_tsv);
    let mut candidates: Vec<Candidate> = DELIMITERS.iter().map(candidate).filter(|found| found.width > 1).collect();
    // The order of the list decides between equal scores.
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
    match candidates.as_slice() {
        [] if is_tsv => b'\t',
        [] => b',',
        [first, second, ..] if first.score - second.score < 0.05 => {
            doubts.push(Doubt::Delimiter);
            first.delimiter
        }
        [first, ..] => first.delimiter,
    }
}

fn candidate(sample: &[u8], is_whole: bool, delimiter: u8, quote: u8, is_tsv: bool) -> Candidate {
    let records = records(sample, is_whole, &Dialect { delimiter, quote, ..Dialect::default() });
    let mut widths: HashMap<usize, usize> = HashMap::new();
    records.iter().for_each(|record| *widths.entry(record.len()).or_default() += 1);
    let (width, n_equal) = widths.into_iter().max_by_key(|&(width, n)| (n, width)).unwrap_or((0, 0));
    let consistent = n_equal as f64 / records.len().max(1) as f64;
    let body = if records.len() > 1 { &records[1..] } else { &records[..] };
    // Decimal commas are numbers too.
    let columns = [b'.', b','].map(|decimal| types(body, decimal));
    let is_typed = |at: usize| {
        columns.iter().any(|columns| columns.get(at).is_some_and(|found| !matches!(found.kind, Some(CellType::Text))))
    };
    let typed = (0..width).filter(|&at| is_typed(at)).count() as f64 / width.max(1) as f64;
    let spaced = spaced_texts(body, sample, delimiter);
    let named = if is_tsv && delimiter == b'\t' { 1.0 } else { 0.0 };
    let score = 4.0 * consistent * consistent + typed + 0.3 * (1.0 - 1.0 / width.max(1) as f64) - spaced + named;
    Candidate { delimiter, width, score }
}

/// The share of delimiters that a space follows and a letter precedes, as in prose.
fn spaced_texts(records: &[Vec<Vec<u8>>], sample: &[u8], delimiter: u8) -> f64 {
    if records.is_empty() || delimiter == b'\t' {
        return 0.0;
    }
    let is_prose = |at: &usize| {
        let before = at.checked_sub(1).and_then(|before| sample.get(before));
        before.is_some_and(u8::is_ascii_alphabetic) && sample.get(at + 1) == Some(&b' ')
    };
    let places: Vec<usize> = memchr::memchr_iter(delimiter, sample).take(10 * MAX_RECORDS).collect();
    0.5 * places.iter().filter(|at| is_prose(at)).count() as f64 / places.len().max(1) as f64
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

/// Whether the first record names the columns; `body` are the types of the others.
fn has_header(records: &Sample, body: &[Found], decimal: u8, doubts: &mut Vec<Doubt>) -> bool {
    let Some(first) = records.first() else { return true };
    if records.len() == 1 {
        // A single line of numbers holds values.
        return !first.iter().all(|cell| plain(cell, decimal).is_some());
    }
    let kind = |at: usize| body.get(at).and_then(|found| found.kind).filter(|kind| *kind != CellType::Text);
    let typed: Vec<usize> = (0..first.len()).filter(|&at| kind(at).is_some()).collect();
    if !typed.is_empty() {
        if is_run(first, &typed) {
            doubts.push(Doubt::Header);
            return true;
        }
        let fits = |at: &usize| is_missing(&first[*at]) || kind(*at).is_some_and(|kind| kind.fits(&first[*at]));
        return !typed.iter().all(fits) || typed.iter().all(|at| is_missing(&first[*at]));
    }
    let repeats = |at: usize| {
        !is_missing(&first[at])
            && records[1..].iter().any(|record| record.get(at).is_some_and(|cell| *cell == first[at]))
    };
    let repeated = (0..first.len()).filter(|&at| repeats(at)).count();
    let is_named = first.iter().all(|cell| !cell.is_empty()) && repeated == 0;
    if repeated == 0 && !is_named && first.len() > 1 {
        doubts.push(Doubt::Header);
    }
    repeated == 0
}

/// Whether cells are numbers that count up by 1, as years and numbers of columns do: at least three of them.
fn is_run(first: &[Vec<u8>], typed: &[usize]) -> bool {
    let number = |at: &usize| std::str::from_utf8(&first[*at]).ok()?.parse::<u32>().ok();
    let numbers: Option<Vec<u32>> = typed.iter().map(number).collect();
    numbers
        .is_some_and(|numbers| numbers.len() >= 3 && numbers.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Sniffed {
        sniff(text.as_bytes(), true, Known::default())
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
        assert_eq!(of("a,b\n'x, y',1\n'z',2\n").dialect.quote, b'\'');
        assert_eq!(of("a,b\nO'Brien,1\nO'Neil,2\n").dialect.quote, b'"');
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
