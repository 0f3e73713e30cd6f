//! Where the table is in a text: the way to read it that makes the most consistent table of the first lines.
//!
//! Every delimiter is tried, with quotes, and where these look odd without them and with backslashes. A way is likely if its records have one width
//! and its columns clear types; lines before the table, cells that hold several records, and a first line of another width than the rows
//! count against it. Cost: the first thousand records, once for each way.

use std::collections::{HashMap, HashSet};

use super::cells::Cells;
use super::dialect::{Dialect, Doubt, Known, MAX_RECORDS, Sample, Separator, filler, types};
use super::header::holds_names;
use crate::cell::{CellType, plain};

/// Lines before a table, at most.
const MAX_PREAMBLE: usize = 50;

/// Delimiters that are tried; of equally likely ones, the first is taken.
const DELIMITERS: [u8; 4] = [b'\t', b';', b'|', b','];

/// A line of a sample, or several if a cell has line ends.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub start: usize,
    pub end: usize,
    pub cells: Vec<Vec<u8>>,
    /// Whether it starts with a mark of comments, and is no row.
    pub is_comment: bool,
}

impl Line {
    pub(super) fn text<'s>(&self, sample: &'s [u8]) -> &'s [u8] {
        sample[self.start..self.end].trim_ascii_end()
    }
}

/// Where the table is among the lines of a sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// The first line of the table.
    pub first: usize,
    pub width: usize,
    /// Whether the first line has no name for the first column.
    pub has_row_names: bool,
    /// The share of the lines that are records of the table, about.
    consistent: f64,
}

/// A sample as a table.
pub(super) struct Table {
    pub dialect: Dialect,
    pub lines: Vec<Line>,
    pub shape: Shape,
    quotes: Quotes,
}

/// How many cells of a sample are in quotes, how many of these have text behind the closing quote, and whether one has no such quote.
#[derive(Clone, Copy, Debug, Default)]
struct Quotes {
    n: usize,
    n_odd: usize,
    is_open: bool,
    /// Cells with one quote within: most often, a cell in quotes was cut there.
    n_cut: usize,
}

/// Marks of comments.
pub(super) const COMMENTS: [u8; 2] = [b'#', b'%'];

/// The lines of a sample and their quotes; the last line counts only if the text ends with it.
fn lines(sample: &[u8], is_whole: bool, dialect: &Dialect) -> (Vec<Line>, Quotes) {
    let (mut cells, mut lines, mut is_open, mut n_cut) = (Cells::new(sample, dialect), Vec::new(), false, 0);
    while lines.len() < MAX_RECORDS
        && let Some(start) = cells.start()
    {
        if filler(&sample[start..], dialect.delimiter).is_some() {
            cells.skip_line();
            continue;
        }
        let is_comment = COMMENTS.contains(&sample[start]);
        let mut record = Vec::new();
        let take = |_: usize, cell: &[u8]| {
            n_cut += usize::from(dialect.quote.is_some_and(|quote| memchr::memchr_iter(quote, cell).count() % 2 == 1));
            record.push(cell.trim_ascii().to_vec());
        };
        if cells.record(take).is_none() {
            is_open = is_whole;
            break;
        }
        if is_whole || cells.at < sample.len() {
            lines.push(Line { start, end: cells.at, cells: record, is_comment });
        }
    }
    (lines, Quotes { n: cells.quoted, n_odd: cells.odd, is_open, n_cut })
}

/// Where the table is among lines.
fn shape_of(lines: &[Line], known: &Known) -> Shape {
    let (names, mut records) = (&known.names, lines.iter().enumerate().filter(|(_, line)| !line.is_comment));
    if known.is_list {
        // The first line tells the columns.
        let (first, width) = records.next().map_or((0, 0), |(place, line)| (place, line.cells.len()));
        let (n, n_even) =
            records.fold((0, 0), |(n, even), (_, line)| (n + 1, even + usize::from(line.cells.len() == width)));
        let consistent = if n == 0 { 1.0 } else { n_even as f64 / n as f64 };
        return Shape { first, width, has_row_names: false, consistent };
    }
    let records: Vec<(usize, &Line)> = records.collect();
    let mut widths: HashMap<usize, usize> = HashMap::new();
    records.iter().for_each(|(_, line)| *widths.entry(line.cells.len()).or_default() += 1);
    let usual = widths.iter().map(|(&width, &n)| (n, width)).max().map_or(0, |(_, width)| width);
    // The line that holds the names that were asked for is the header, if the lines before it are none: each has fewer filled cells.
    let n_filled = |line: &Line| line.cells.iter().filter(|cell| !cell.is_empty()).count();
    let asked = records
        .iter()
        .take(MAX_PREAMBLE)
        .position(|(_, line)| !names.is_empty() && holds_names(&line.cells, names))
        .filter(|&at| records[..at].iter().all(|(_, line)| n_filled(line) < n_filled(records[at].1)));
    let width_at = |at: usize| records.get(at).map_or(0, |(_, line)| line.cells.len());
    let is_empty_last = |line: &Line| line.cells.last().is_some_and(Vec::is_empty);
    // Behind lines of titles, the table starts with its first wide line.
    let wide =
        records.iter().take(MAX_PREAMBLE).position(|(_, line)| line.cells.len() + 1 >= usual && line.cells.len() > 1);
    let at = asked
        .or(wide)
        .filter(|&at| asked.is_some() || (0..at).all(|before| width_at(before) < width_at(at)))
        .unwrap_or(0);
    let at = names_below(&records, at).unwrap_or(at);
    let is_open = records.get(at).is_some_and(|(_, line)| is_empty_last(line));
    // A delimiter behind the names alone makes no column.
    let top = width_at(at) - usize::from(is_open && usual + 1 == width_at(at));
    let body = records.get(at + 1..).unwrap_or_default();
    let (n, n_wider) = (body.len(), body.iter().filter(|(_, line)| line.cells.len() > top).count());
    let by_one: Vec<&Line> = body.iter().map(|(_, line)| *line).filter(|line| line.cells.len() == top + 1).collect();
    let (n_by_one, have_extra) = (by_one.len(), by_one.iter().all(|line| is_empty_last(line)));
    // What R writes before the cells is different in each row.
    let are_different = by_one.iter().map(|line| &line.cells[0]).collect::<HashSet<_>>().len() == n_by_one;
    let has_row_names = are_different && n > 1 && n_by_one * 10 >= n * 9 && !have_extra && top > 1;
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

/// The place of the names if the line at `at` holds a title or the names of groups: some of its cells are empty, and the next line has
/// different words in all, which are none of the rows.
fn names_below(records: &[(usize, &Line)], at: usize) -> Option<usize> {
    let (top, names) = (&records.get(at)?.1.cells, &records.get(at + 1)?.1.cells);
    let n_filled = top.iter().filter(|cell| !cell.is_empty()).count();
    let is_word = |cell: &Vec<u8>| !cell.is_empty() && plain(cell, b'.').is_none();
    let are_distinct = || names.iter().enumerate().all(|(at, name)| !names[..at].contains(name));
    // Names of rows have no name; a delimiter behind the names is none.
    let are_names = n_filled + 1 >= top.len();
    if top.len() != names.len() || are_names || n_filled == 0 || !names.iter().all(is_word) || !are_distinct() {
        return None;
    }
    let body: Sample = records[at + 2..].iter().take(MAX_PREAMBLE).map(|(_, line)| line.cells.clone()).collect();
    let is_typed = types(&body, b'.').iter().any(|found| !matches!(found.kind, None | Some(CellType::Text)));
    (is_typed || (n_filled == 1 && top.len() > 2)).then_some(at + 1)
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

/// Further delimiters, of which only tables whose first record is one of words make use.
const RARE_DELIMITERS: [u8; 3] = [b'^', b'~', b':'];

/// Delimiters that no text holds else.
const CONTROL_DELIMITERS: [u8; 2] = [0x01, 0x1f];

/// What cells in quotes count for a way to read a text, if each record has one.
const NEAT: f64 = 0.2;

/// What quotes within cells, and cells cut at quotes, count against a way to read a text.
const ODD: f64 = 0.5;
const CUT: f64 = 2.0;

/// A sample read in each dialect that it may have, with how likely that is.
fn readings(sample: &[u8], is_whole: bool, known: &Known) -> Vec<(Table, f64)> {
    let has = |bytes: &[u8]| memchr::memmem::find(sample, bytes).is_some();
    let mut tables: Vec<(Table, f64)> = Vec::new();
    let mut read = |dialect: Dialect, penalty: f64| {
        let (table, score) = scored(sample, is_whole, dialect, known);
        let quotes = table.quotes;
        tables.push((table, score - penalty));
        quotes
    };
    let delimiters = known.delimiter.map_or(DELIMITERS.to_vec(), |delimiter| vec![delimiter]);
    let is_edge = |line: &[u8]| line.starts_with(b"|") && line.trim_ascii_end().ends_with(b"|");
    let is_framed = sample.split(|&byte| byte == b'\n').filter(|line| !line.starts_with(b"+")).take(2).all(is_edge);
    let quotes = if has(b"'") { &b"\"'"[..] } else { &b"\""[..] };
    for &quote in quotes {
        let plain = |delimiter: u8| {
            let separator = match delimiter {
                b' ' if known.is_list => Separator::Run,
                b'|' if is_framed => Separator::Framed,
                _ => Separator::One,
            };
            Dialect { delimiter, separator, quote: Some(quote), ..Dialect::default() }
        };
        for &delimiter in &delimiters {
            let dialect = plain(delimiter);
            let Quotes { n_odd, is_open, .. } = read(dialect, 0.0);
            if !known.is_list && (n_odd > 0 || is_open) {
                read(Dialect { quote: None, ..dialect }, UNUSUAL);
            }
            if !known.is_list && has(&[b'\\', quote]) {
                read(Dialect { escape: Some(b'\\'), ..dialect }, UNUSUAL / 2.0);
            }
            if !known.is_list && has(&[b'\\', delimiter]) {
                read(Dialect { quote: None, escape: Some(b'\\'), ..dialect }, UNUSUAL);
            }
        }
        if known.is_list || known.delimiter.is_some() {
            continue;
        }
        read(Dialect { separator: Separator::Run, ..plain(b' ') }, 2.0 * UNUSUAL);
        if has(b"  ") {
            read(plain(b' '), 2.0 * UNUSUAL);
        }
        for delimiter in RARE_DELIMITERS.into_iter().chain(CONTROL_DELIMITERS).filter(|&delimiter| has(&[delimiter])) {
            read(plain(delimiter), UNUSUAL);
        }
    }
    // Single quotes are those of cells only if they stand around them.
    let are_around = |quotes: Quotes| quotes.n > 1 && quotes.n_odd == 0 && !quotes.is_open;
    tables.retain(|(table, _)| table.dialect.quote != Some(b'\'') || are_around(table.quotes));
    tables
}

/// Whether the delimiter of a table is a likely one, or the first record of words has as many as all others.
fn is_likely(table: &Table) -> bool {
    let words = || table.lines.get(table.shape.first).map_or(&[][..], |line| &line.cells);
    !RARE_DELIMITERS.contains(&table.dialect.delimiter)
        || (table.shape.consistent == 1.0
            && words().len() == table.shape.width
            && words().iter().all(|word| !word.is_empty() && plain(word, b'.').is_none()))
}

/// The most likely table in a sample.
pub(super) fn best_table(sample: &[u8], is_whole: bool, known: &Known, doubts: &mut Vec<Doubt>) -> Table {
    let mut tables = readings(sample, is_whole, known);
    tables.retain(|(table, _)| known.delimiter.is_some() || is_likely(table));
    // A single column is a table where each of its cells is in quotes.
    let is_wide = |table: &Table| {
        let is_quoted = |line: &Line| {
            let text = line.text(sample);
            text.len() > 1 && text.first() == table.dialect.quote.as_ref() && text.last() == text.first()
        };
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
        return scored(sample, is_whole, Dialect { delimiter: fallback, ..Dialect::default() }, known).0;
    }
    tables.swap_remove(0).0
}

/// A sample read in a dialect, and how likely that is: by records of one width and cells of clear types.
fn scored(sample: &[u8], is_whole: bool, dialect: Dialect, known: &Known) -> (Table, f64) {
    let (mut lines, quotes) = lines(sample, is_whole, &dialect);
    let mut shape = shape_of(&lines, known);
    // Lines with the mark among the rows, and as wide as these, are rows: colors, hashtags.
    let is_row = |line: &Line| line.is_comment && line.cells.len() == shape.width;
    let n_comments = lines.iter().filter(|line| line.is_comment).count();
    let has_rows = lines.get(shape.first + 1..).is_some_and(|own| own.iter().any(is_row));
    let are_comments = if known.is_list { n_comments < lines.len() } else { n_comments * 2 <= lines.len() };
    if has_rows || !are_comments || (shape.width < 2 && n_comments > 0 && lines.len() > n_comments + 1) {
        let width = shape.width;
        lines.iter_mut().for_each(|line| line.is_comment &= has_rows && line.cells.len() != width);
        shape = shape_of(&lines, known);
    }
    let own = lines.get(shape.first + 1..).filter(|own| !own.is_empty()).unwrap_or(&lines);
    let body: Sample = own.iter().filter(|line| !line.is_comment).map(|line| line.cells.clone()).collect();
    let columns = types(&body, b'.');
    let is_typed = |at: usize| columns.get(at).is_some_and(|found| !matches!(found.kind, Some(CellType::Text)));
    let width = shape.width;
    let typed = (0..width).filter(|&at| is_typed(at)).count() as f64 / width.max(1) as f64;
    let spaced = spaced_texts(&body, sample, dialect.delimiter);
    let named = if known.is_tsv && dialect.delimiter == b'\t' { 1.0 } else { 0.0 };
    let asked =
        lines.get(shape.first).is_some_and(|line| !known.names.is_empty() && holds_names(&line.cells, &known.names));
    // A cell that holds delimiters and line ends most often starts with a quote that is its own.
    let is_merged = |cell: &Vec<u8>| cell.contains(&b'\n') && cell.contains(&dialect.delimiter);
    let merged = body.iter().flatten().any(is_merged);
    let top = lines.get(shape.first).map_or(0, |line| {
        let is_open = line.cells.len() == width + 1 && line.cells.last().is_some_and(Vec::is_empty);
        line.cells.len() + usize::from(shape.has_row_names) - usize::from(is_open)
    });
    let has_titles = lines[..shape.first].iter().any(|line| !line.is_comment);
    let odd = [
        if has_titles { TITLES } else { 0.0 },
        spaced,
        if merged { MERGED } else { 0.0 },
        if top != width { OTHER_HEADER } else { 0.0 },
        ODD * quotes.n_odd as f64 / quotes.n.max(1) as f64,
        CUT * (quotes.n_cut as f64 / lines.len().max(1) as f64).min(1.0),
    ];
    let neat = if quotes.n_odd == 0 { quotes.n as f64 / lines.len().max(1) as f64 } else { 0.0 };
    let even = [
        4.0 * shape.consistent * shape.consistent,
        typed,
        0.3 * (1.0 - 1.0 / width.max(1) as f64),
        named,
        if asked { ASKED } else { 0.0 },
        NEAT * neat.min(1.0),
    ];
    let score = even.iter().sum::<f64>() - odd.iter().sum::<f64>();
    let comment = lines.iter().find(|line| line.is_comment).map(|line| sample[line.start]).filter(|_| !has_rows);
    (Table { dialect: Dialect { comment, ..dialect }, lines, shape, quotes }, score)
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
