//! Where the table is in a text: the way to read it that makes the most consistent table of the first lines.
//!
//! Every delimiter is tried, with quotes, without them, and with backslashes before them. A way is likely if its records have one width
//! and its columns clear types; lines before the table, cells that hold several records, and a first line of another width than the rows
//! count against it. Cost: the first thousand records, once for each way.

use std::collections::HashMap;

use super::cells::Cells;
use super::dialect::{Dialect, Doubt, Known, MAX_RECORDS, Sample, Separator, types};
use super::header::holds_names;
use crate::read::cell::CellType;

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
}

/// Marks of comments.
pub(super) const COMMENTS: [u8; 2] = [b'#', b'%'];

/// The lines of a sample; the last one counts only if the text ends with it.
pub(super) fn lines(sample: &[u8], is_whole: bool, dialect: &Dialect) -> Vec<Line> {
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
pub(super) fn best_table(sample: &[u8], is_whole: bool, known: &Known, doubts: &mut Vec<Doubt>) -> Table {
    let has = |byte: u8| memchr::memchr(byte, sample).is_some();
    let quote = if has(b'"') { b'"' } else { single_quote(sample, known) };
    let delimiters = known.delimiter.map_or(DELIMITERS.to_vec(), |delimiter| vec![delimiter]);
    let plain = |delimiter: u8| {
        let separator = if known.is_list && delimiter == b' ' { Separator::Run } else { Separator::One };
        Dialect { delimiter, separator, quote: Some(quote), ..Dialect::default() }
    };
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
