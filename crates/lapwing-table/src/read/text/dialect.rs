//! The dialect of a CSV file: what separates and quotes its cells, whether it has a header, its decimal mark; told from the start of
//! the text.
//!
//! A delimiter is likely if it makes records of one length and cells of clear types. The first line is a header unless its cells fit
//! the types of the cells below them. What the text does not tell is a [`Doubt`]: the likelier reading is taken, and said.

use std::collections::HashMap;

use serde::{Serialize, Serializer};

use super::cells::Cells;
use crate::read::cell::{CellType, Found, Marks, infer, is_missing, plain};

/// Lines before a table, at most.
const MAX_PREAMBLE: usize = 50;

/// Records of the sample that are looked at.
pub(super) const MAX_RECORDS: usize = 1000;

/// Delimiters that are tried; of equally likely ones, the first is taken.
const DELIMITERS: [u8; 4] = [b'\t', b';', b'|', b','];

/// What is between two cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Separator {
    /// One delimiter.
    #[default]
    One,
    /// Two, as in `a::b`.
    Two,
    /// One or more, as blanks in aligned columns; those around a line separate nothing.
    Run,
}

/// How the cells of a CSV file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Dialect {
    /// The byte between two cells.
    #[serde(serialize_with = "as_char")]
    pub delimiter: u8,
    /// How often it stands there.
    pub separator: Separator,
    /// The byte around cells that hold delimiters or line ends.
    #[serde(serialize_with = "as_text")]
    pub quote: Option<u8>,
    /// The byte before a quote that belongs to the cell, besides a second quote.
    #[serde(serialize_with = "as_text")]
    pub escape: Option<u8>,
    /// The byte at the start of lines that are no records.
    #[serde(serialize_with = "as_text")]
    pub comment: Option<u8>,
    /// Whether the first line names the columns.
    pub has_header: bool,
    /// The byte before the decimals of a number.
    #[serde(serialize_with = "as_char")]
    pub decimal: u8,
    /// The encoding of the text, by its name in the standard of the web.
    pub encoding: &'static str,
}

fn as_char<S: Serializer>(byte: &u8, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_char(char::from(*byte))
}

fn as_text<S: Serializer>(byte: &Option<u8>, serializer: S) -> Result<S::Ok, S::Error> {
    byte.map(char::from).serialize(serializer)
}

impl Default for Dialect {
    fn default() -> Self {
        Self {
            delimiter: b',',
            separator: Separator::One,
            quote: Some(b'"'),
            escape: None,
            comment: None,
            has_header: true,
            decimal: b'.',
            encoding: "UTF-8",
        }
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// Names of columns that the user asked for: a line that holds all of them is the header.
    pub names: Vec<String>,
    /// Whether the text is a small table of a fixed form, such as a list of edges.
    pub is_list: bool,
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
    /// Where the rows start.
    pub body: usize,
    /// What was passed over before.
    pub passed: Vec<String>,
    /// The line of the header, if it names the columns.
    pub header_line: Vec<u8>,
}

/// Cells of records.
pub(super) type Sample = Vec<Vec<Vec<u8>>>;

/// Tells the dialect of a text from its start; `is_whole` says that this is all of it.
pub(super) fn sniff(sample: &[u8], is_whole: bool, known: &Known) -> Sniffed {
    let (mut doubts, mut passed) = (Vec::new(), Vec::new());
    let mut known = known.clone();
    let (start, delimiter) = separator_line(sample);
    if start > 0 {
        passed.push("the line that names the separator".to_owned());
        known.delimiter = known.delimiter.or(delimiter);
    }
    let table = best_table(&sample[start..], is_whole, &known, &mut doubts);
    let Table { mut dialect, lines, shape } = table;
    let (first, width) = (shape.first, shape.width);
    let own = &lines[first..];
    let cells: Sample = own.iter().filter(|line| !line.is_comment).map(|line| line.cells.clone()).collect();
    dialect.decimal = known.decimal.unwrap_or_else(|| decimal(&cells, dialect.delimiter, &mut doubts));
    // Names of rows, as R writes them, have no name of their own.
    let mut cells = cells;
    if let Some(top) = cells.first_mut().filter(|_| shape.has_row_names) {
        top.insert(0, b"row_names".to_vec());
    }
    let is_asked = !known.names.is_empty() && cells.first().is_some_and(|top| holds_names(top, &known.names));
    let body = types(&cells[cells.len().min(1)..], dialect.decimal);
    let mut told = || has_header(&cells, &body, dialect.decimal, &mut doubts);
    dialect.has_header = known.has_header.unwrap_or_else(|| is_asked || shape.has_row_names || told());
    let mut header = Vec::new();
    let mut header_line = Vec::new();
    let mut at = first;
    let before = lines[..first].iter().filter(|line| !line.is_comment).count();
    let comments = lines[..first].len() - before;
    if dialect.has_header && !cells.is_empty() {
        header = cells.remove(0);
        header_line = lines[first].text(&sample[start..]).to_vec();
        at += 1;
        let further = further_header_lines(&cells, dialect.decimal);
        passed.extend((further > 0).then(|| format!("{} with types or units below the header", lines_of(further))));
        cells.drain(..further);
        at += further;
    } else if let Some(commented) = lines[..first].last().filter(|line| line.is_comment) {
        // # x,y,label
        let mut names: Vec<Vec<u8>> = commented.cells.clone();
        if let Some(first) = names.first_mut() {
            let length = first.iter().take_while(|byte| COMMENTS.contains(byte) || **byte == b' ').count();
            first.drain(..length);
        }
        if names.len() == width && names.iter().all(|name| plain(name, dialect.decimal).is_none()) {
            header = names;
        }
    }
    if before > 0 {
        let text: String = String::from_utf8_lossy(lines[..first][0].text(&sample[start..])).chars().take(40).collect();
        passed.push(format!("{} before the header, first '{}'", lines_of(before), text.replace(char::is_control, " ")));
    }
    passed.extend((comments > 0).then(|| format!("{} of comment", lines_of(comments))));
    let columns = types(&cells, dialect.decimal);
    doubts.extend(columns.iter().any(|column| column.is_doubtful).then_some(Doubt::Dates));
    let is_pair =
        |record: &Vec<Vec<u8>>| record.len() == 2 && record.iter().all(|cell| cell.iter().all(u8::is_ascii_digit));
    if known.delimiter.is_none() && dialect.delimiter == b',' && !dialect.has_header && cells.iter().all(is_pair) {
        // Each line may be one number with a decimal comma.
        doubts.push(Doubt::Delimiter);
    }
    let mut columns = columns;
    columns.truncate(if header.is_empty() { usize::MAX } else { header.len() });
    let end = lines.get(at).map_or_else(|| lines.last().map_or(0, |line| line.end), |line| line.start);
    Sniffed { dialect, header, columns, doubts, records: cells, body: start + end, passed, header_line }
}

fn lines_of(n: usize) -> String {
    if n == 1 { "1 line".to_owned() } else { format!("{n} lines") }
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

/// Whether a record holds all names.
fn holds_names(record: &[Vec<u8>], names: &[String]) -> bool {
    names.iter().all(|name| record.iter().any(|cell| cell == name.trim().as_bytes()))
}

/// A line of a sample, or several if a cell has line ends.
#[derive(Clone, Debug)]
struct Line {
    start: usize,
    end: usize,
    cells: Vec<Vec<u8>>,
    /// Whether it starts with a mark of comments, and is no row.
    is_comment: bool,
}

impl Line {
    fn text<'s>(&self, sample: &'s [u8]) -> &'s [u8] {
        sample[self.start..self.end].trim_ascii_end()
    }
}

/// Where the table is among the lines of a sample.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// The first line of the table.
    first: usize,
    width: usize,
    /// Whether the first line has no name for the first column.
    has_row_names: bool,
    /// The share of the lines that are records of the table, about.
    consistent: f64,
}

/// A sample as a table.
struct Table {
    dialect: Dialect,
    lines: Vec<Line>,
    shape: Shape,
}

/// Marks of comments.
const COMMENTS: [u8; 2] = [b'#', b'%'];

/// The lines of a sample; the last one counts only if the text ends with it.
fn lines(sample: &[u8], is_whole: bool, dialect: &Dialect) -> Vec<Line> {
    let (mut cells, mut lines) = (Cells::new(sample, dialect), Vec::new());
    while lines.len() < MAX_RECORDS
        && let Some(start) = cells.start()
    {
        let is_comment = COMMENTS.contains(&sample[start]);
        let mut record = Vec::new();
        if cells.record(|_, cell| record.push(cell.trim_ascii().to_vec())).is_none() {
            break;
        }
        if is_whole || cells.place() < sample.len() {
            lines.push(Line { start, end: cells.place(), cells: record, is_comment });
        }
    }
    lines
}

/// Where the table is among lines.
fn shape_of(lines: &[Line], names: &[String]) -> Shape {
    let records: Vec<(usize, &Line)> = lines.iter().enumerate().filter(|(_, line)| !line.is_comment).collect();
    let mut widths: HashMap<usize, usize> = HashMap::new();
    records.iter().for_each(|(_, line)| *widths.entry(line.cells.len()).or_default() += 1);
    let usual = widths.iter().map(|(&width, &n)| (n, width)).max().map_or(0, |(_, width)| width);
    // The line that holds the names that were asked for is the header.
    let asked =
        records.iter().take(MAX_PREAMBLE).position(|(_, line)| !names.is_empty() && holds_names(&line.cells, names));
    let width_at = |at: usize| records.get(at).map_or(0, |(_, line)| line.cells.len());
    let is_empty_last = |line: &Line| line.cells.last().is_some_and(Vec::is_empty);
    // Behind lines of titles, the table starts with its first wide line.
    let wide =
        records.iter().take(MAX_PREAMBLE).position(|(_, line)| line.cells.len() + 1 >= usual && line.cells.len() > 1);
    let at = asked
        .or(wide)
        .filter(|&at| asked.is_some() || (0..at).all(|before| width_at(before) < width_at(at)))
        .unwrap_or(0);
    let top = width_at(at);
    let body = records.get(at + 1..).unwrap_or_default();
    let (n, n_wider) = (body.len(), body.iter().filter(|(_, line)| line.cells.len() > top).count());
    let n_by_one = body.iter().filter(|(_, line)| line.cells.len() == top + 1).count();
    let have_extra = body.iter().filter(|(_, line)| line.cells.len() == top + 1).all(|(_, line)| is_empty_last(line));
    let has_row_names = n > 1 && n_by_one * 10 >= n * 9 && !have_extra && top > 1;
    let width = match () {
        () if has_row_names => top + 1,
        // Rows may lack their last cells, or have delimiters behind these.
        () if top >= usual && top > 1 => top,
        () if n_wider == n_by_one && have_extra && n_wider > 0 => top,
        () => usual,
    };
    let fits = |line: &Line| match line.cells.len() {
        found if found == width => 1.0,
        found if found == width + 1 && is_empty_last(line) => 0.9,
        found if found + 1 == width && found > 1 => 0.8,
        found if found < width && found > 1 => 0.3,
        _ => 0.0,
    };
    let total: f64 = body.iter().map(|(_, line)| fits(line)).sum::<f64>() + if n == 0 { 1.0 } else { 0.0 };
    let first = records.get(at).map_or(0, |(place, _)| *place);
    Shape { first, width, has_row_names, consistent: total / n.max(1) as f64 }
}

/// How cells of a small table are written, told from the start of its text. Where nothing else is between cells, a space may be.
pub(crate) fn delimiter_of(sample: &[u8], is_whole: bool, known: Known) -> Dialect {
    let found = sniff(sample, is_whole, &Known { is_list: true, ..known.clone() }).dialect;
    let width = |dialect: &Dialect| lines(sample, is_whole, dialect).first().map_or(0, |line| line.cells.len());
    let spaced = Dialect { delimiter: b' ', ..found };
    match known.delimiter.is_none() && width(&found) == 1 && width(&spaced) > 1 {
        true => spaced,
        false => found,
    }
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

/// Lines below the header that hold types or units of the columns: at most two.
fn further_header_lines(records: &[Vec<Vec<u8>>], decimal: u8) -> usize {
    const TYPES: [&str; 22] = [
        "continuous",
        "discrete",
        "string",
        "c",
        "d",
        "s",
        "t",
        "time",
        "text",
        "numeric",
        "number",
        "nominal",
        "categorical",
        "integer",
        "int",
        "int64",
        "float",
        "float64",
        "double",
        "str",
        "object",
        "date",
    ];
    const FLAGS: [&str; 7] = ["class", "meta", "ignore", "i", "m", "feature", "target"];
    let are_of = |record: &[Vec<u8>], words: &[&str]| {
        let is_word = |cell: &Vec<u8>| words.iter().any(|word| cell.eq_ignore_ascii_case(word.as_bytes()));
        record.iter().any(is_word) && record.iter().all(|cell| cell.is_empty() || is_word(cell))
    };
    let Some(first) = records.first().filter(|_| records.len() > 3) else { return 0 };
    if are_of(first, &TYPES) {
        return 1
            + usize::from(records[1].iter().any(|cell| !cell.is_empty()) && are_of(&records[1], &FLAGS))
            + usize::from(records[1].iter().all(Vec::is_empty));
    }
    let body = types(&records[1..], decimal);
    let is_typed = |at: usize| body.get(at).and_then(|found| found.kind).is_some_and(|kind| kind != CellType::Text);
    let typed: Vec<usize> = (0..first.len()).filter(|&at| is_typed(at)).collect();
    let is_unit = |cell: &[u8]| {
        let in_brackets = matches!((cell.first(), cell.last()), (Some(b'(' | b'['), Some(b')' | b']')));
        !is_missing(cell) && cell.len() <= 12 && (in_brackets || !cell.iter().any(u8::is_ascii_digit))
    };
    let kind = |at: usize| body[at].kind;
    let are_units = typed.iter().all(|&at| is_unit(&first[at]) && kind(at).is_some_and(|kind| !kind.fits(&first[at])));
    usize::from(!typed.is_empty() && are_units)
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
fn single_quote(sample: &[u8], known: &Known) -> u8 {
    let delimiters = known.delimiter.map_or(DELIMITERS.to_vec(), |delimiter| vec![delimiter]);
    let is_end = |byte: Option<&u8>| byte.is_none_or(|byte| matches!(byte, b'\n' | b'\r') || delimiters.contains(byte));
    let places = || memchr::memchr_iter(b'\'', sample);
    let n_opening = places().filter(|&at| is_end(at.checked_sub(1).and_then(|before| sample.get(before)))).count();
    let n_closing = places().filter(|&at| is_end(sample.get(at + 1))).count();
    if n_opening >= 2 && n_opening == n_closing { b'\'' } else { b'"' }
}

/// How much better another way to read a text must be than the plain ones.
const UNUSUAL: f64 = 0.3;

/// What counts against a way to read a text: lines before the table, a cell of several records, and a first line of another width than the
/// rows.
const TITLES: f64 = 0.3;
const MERGED: f64 = 0.5;
const OTHER_HEADER: f64 = 1.0;

/// What counts for one: a line with the names that were asked for.
const ASKED: f64 = 2.0;

/// The most likely table in a sample.
fn best_table(sample: &[u8], is_whole: bool, known: &Known, doubts: &mut Vec<Doubt>) -> Table {
    let has = |byte: u8| memchr::memchr(byte, sample).is_some();
    let quote = if has(b'"') { b'"' } else { single_quote(sample, known) };
    let delimiters = known.delimiter.map_or(DELIMITERS.to_vec(), |delimiter| vec![delimiter]);
    let plain = |delimiter: u8| Dialect { delimiter, quote: Some(quote), ..Dialect::default() };
    let mut ways: Vec<(Dialect, f64)> = delimiters.iter().map(|&delimiter| (plain(delimiter), 0.0)).collect();
    if !known.is_list {
        let mut further: Vec<(Dialect, f64)> = Vec::new();
        for (dialect, _) in &ways {
            if has(quote) {
                further.push((Dialect { quote: None, ..*dialect }, UNUSUAL));
            }
            if has(b'\\') && memchr::memmem::find(sample, &[b'\\', quote]).is_some() {
                further.push((Dialect { escape: Some(b'\\'), ..*dialect }, UNUSUAL / 2.0));
            }
        }
        if known.delimiter.is_none() {
            if memchr::memmem::find(sample, b"::").is_some() {
                further.push((Dialect { separator: Separator::Two, ..plain(b':') }, UNUSUAL / 2.0));
            }
            further.push((Dialect { separator: Separator::Run, ..plain(b' ') }, 2.0 * UNUSUAL));
        }
        ways.extend(further);
    }
    let mut tables: Vec<(Table, f64)> = ways
        .into_iter()
        .map(|(dialect, penalty)| {
            let (table, score) = scored(sample, is_whole, dialect, known);
            (table, score - penalty)
        })
        .collect();
    // A single column is a table where each of its cells is in quotes.
    let is_quoted = |line: &Line| {
        let text = line.text(sample);
        text.len() > 1 && text.first() == Some(&quote) && text.last() == Some(&quote)
    };
    let is_wide = |table: &Table| {
        let is_column = || table.lines.len() > 1 && table.dialect.quote.is_some() && table.lines.iter().all(is_quoted);
        table.shape.width > 1 || is_column()
    };
    // The order of the list decides between equal scores.
    tables.sort_by(|a, b| is_wide(&b.0).cmp(&is_wide(&a.0)).then(b.1.total_cmp(&a.1)));
    if let [(first, best), others @ ..] = tables.as_slice()
        && first.shape.width > 1
        && known.delimiter.is_none()
        && others.iter().any(|(other, score)| {
            is_wide(other) && other.dialect.delimiter != first.dialect.delimiter && best - score < 0.05
        })
    {
        doubts.push(Doubt::Delimiter);
    }
    let is_none = tables.first().is_none_or(|(table, _)| table.shape.width < 2);
    let fallback = known.delimiter.unwrap_or(if known.is_tsv { b'\t' } else { b',' });
    if is_none {
        return scored(sample, is_whole, plain(fallback), known).0;
    }
    tables.swap_remove(0).0
}

/// A sample read in a dialect, and how likely that is: by records of one width and cells of clear types.
fn scored(sample: &[u8], is_whole: bool, dialect: Dialect, known: &Known) -> (Table, f64) {
    let mut lines = lines(sample, is_whole, &dialect);
    let mut shape = shape_of(&lines, &known.names);
    // Lines with the mark among the rows, and as wide as these, are rows: colors, hashtags.
    let is_row = |line: &Line| line.is_comment && line.cells.len() == shape.width;
    let n_comments = lines.iter().filter(|line| line.is_comment).count();
    let has_rows = lines.get(shape.first + 1..).is_some_and(|own| own.iter().any(is_row));
    if has_rows || n_comments * 2 > lines.len() || (shape.width < 2 && n_comments > 0 && lines.len() > n_comments + 1) {
        let width = shape.width;
        lines.iter_mut().for_each(|line| line.is_comment &= has_rows && line.cells.len() != width);
        shape = shape_of(&lines, &known.names);
    }
    let own = lines.get(shape.first + 1..).filter(|own| !own.is_empty()).unwrap_or(&lines);
    let body: Sample = own.iter().filter(|line| !line.is_comment).map(|line| line.cells.clone()).collect();
    // Decimal commas are numbers too.
    let columns = [b'.', b','].map(|decimal| types(&body, decimal));
    let is_typed = |at: usize| {
        columns.iter().any(|columns| columns.get(at).is_some_and(|found| !matches!(found.kind, Some(CellType::Text))))
    };
    let width = shape.width;
    let typed = (0..width).filter(|&at| is_typed(at)).count() as f64 / width.max(1) as f64;
    let spaced = spaced_texts(&body, sample, dialect.delimiter);
    let named = if known.is_tsv && dialect.delimiter == b'\t' { 1.0 } else { 0.0 };
    let asked =
        lines.get(shape.first).is_some_and(|line| !known.names.is_empty() && holds_names(&line.cells, &known.names));
    // A cell that holds delimiters and line ends most often starts with a quote that is its own.
    let is_merged = |cell: &Vec<u8>| cell.contains(&b'\n') && cell.contains(&dialect.delimiter);
    let merged = body.iter().flatten().any(is_merged);
    let top = lines.get(shape.first).map_or(0, |line| line.cells.len() + usize::from(shape.has_row_names));
    let has_titles = lines[..shape.first].iter().any(|line| !line.is_comment);
    let odd = [
        if has_titles { TITLES } else { 0.0 },
        spaced,
        if merged { MERGED } else { 0.0 },
        if top != width { OTHER_HEADER } else { 0.0 },
    ];
    let even = [
        4.0 * shape.consistent * shape.consistent,
        typed,
        0.3 * (1.0 - 1.0 / width.max(1) as f64),
        named,
        if asked { ASKED } else { 0.0 },
    ];
    let score = even.iter().sum::<f64>() - odd.iter().sum::<f64>();
    let comment = lines.iter().find(|line| line.is_comment).map(|line| sample[line.start]).filter(|_| !has_rows);
    (Table { dialect: Dialect { comment, ..dialect }, lines, shape }, score)
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
