//! Texts whose marks a reader of cells does not know, written anew with those it knows: quotes of other kinds, delimiters of several bytes,
//! lines that are cells in quotes.
//!
//! A mark is taken for one only if it stands where such marks stand throughout the first lines; what was done is said. Lines stay lines, so
//! that a text is written anew block by block. Cost: a search for some marks in the first block, and nothing else where none is found.

use memchr::memmem;

use super::cells::Cells;
use super::dialect::{Dialect, Known, MAX_RECORDS};

/// The byte that stands for a delimiter of several bytes.
const LONG_DELIMITER: u8 = 0x1d;

/// Quotes that open and close cells, besides the plain ones.
const QUOTES: &str = "“” ”” „“ „” «» »« ‹› ‘’ 「」 `` ´´ ||";

/// What delimiters of several bytes are made of.
const MARKS: &str = "|;,~^:&#@*!<>=$%§¦¬·•\t";

/// Lines before the names, at most.
const MAX_TITLES: usize = 5;

/// What is written anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rewrite {
    /// Lines that are one cell in quotes become what the cell holds.
    Lines,
    /// Quotes that open and close cells become plain ones.
    Quotes(String, String),
    /// A delimiter becomes [`LONG_DELIMITER`]; not within quotes, if these open and close cells.
    Delimiter(String, bool),
}

impl Rewrite {
    /// What is to be written anew in a text with this start, and the start after that.
    pub(super) fn all(mut sample: Vec<u8>, is_whole: bool, known: &Known) -> (Vec<Self>, Vec<u8>) {
        let mut found = Vec::new();
        for way in [Self::of_lines, Self::of_quotes, Self::of_delimiter].into_iter().filter(|_| !known.is_list) {
            let end = if is_whole { sample.len() } else { memchr::memrchr(b'\n', &sample).unwrap_or(0) };
            let Ok(text) = std::str::from_utf8(&sample[..end]) else { break };
            let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(MAX_RECORDS).collect();
            if let Some(rewrite) =
                way(&lines).filter(|rewrite| rewrite.delimiter().is_none() || known.delimiter.is_none())
            {
                sample = rewrite.apply(&sample, &mut false);
                found.push(rewrite);
            }
        }
        (found, sample)
    }

    fn of_lines(lines: &[&str]) -> Option<Self> {
        // A list of names such as "Rome, Italy" is a column.
        let is_header = |line: &str| line.contains([',', ';', '\t', '|']) && !line.contains(", ");
        let are_cells = || lines.iter().all(|line| whole_cell(line.as_bytes()).is_some());
        (lines.len() > 1 && is_header(lines[0]) && are_cells()).then_some(Self::Lines)
    }

    fn of_quotes(lines: &[&str]) -> Option<Self> {
        let text = lines.join("\n");
        let pairs = QUOTES.split(' ').filter(|_| !text.contains('"')).map(|pair| pair.split_at(pair.len() / 2));
        let mut pairs = pairs.filter(|(open, close)| {
            let n_marks = text.matches(open).count() + if open == close { 0 } else { text.matches(close).count() };
            n_marks > 2 && requoted(text.as_bytes(), open.as_bytes(), close.as_bytes(), &mut false).1 == n_marks
        });
        pairs.next().map(|(open, close)| Self::Quotes(open.to_owned(), close.to_owned()))
    }

    fn of_delimiter(lines: &[&str]) -> Option<Self> {
        (0..MAX_TITLES.min(lines.len().saturating_sub(1))).find_map(|at| {
            let mut runs = lines[at].split(|c| !MARKS.contains(c)).filter(|run| !run.is_empty());
            let mark = runs.next().filter(|mark| mark.len() > 1 || *mark == "&")?;
            let is_alone = !lines[at].replace(mark, "").contains(|c| mark.contains(c));
            // Titles hold no part of it: in `x,y` above `5%,7%` the comma is the delimiter.
            let are_titles = !lines[..at].iter().any(|line| line.contains(|c| mark.contains(c)));
            let text = lines[at..].join("\n");
            let are_even = |has_quotes: &bool| {
                let mut is_inside = false;
                let (_, mut counts) = delimited(text.as_bytes(), mark.as_bytes(), *has_quotes, &mut is_inside);
                // The last row may be cut.
                counts.truncate(counts.len().saturating_sub(usize::from(is_inside)).max(1));
                counts.iter().all(|count| *count > 0 && *count == counts[0])
            };
            let has_quotes = [true, false].into_iter().filter(|_| is_alone && are_titles).find(are_even)?;
            Some(Self::Delimiter(mark.to_owned(), has_quotes))
        })
    }

    /// The byte that it puts between cells.
    pub(super) fn delimiter(&self) -> Option<u8> {
        matches!(self, Self::Delimiter(..)).then_some(LONG_DELIMITER)
    }

    /// A text, which ends with a line, written anew; `is_inside` is whether its start, and then its end, stands in quotes.
    pub(super) fn apply(&self, text: &[u8], is_inside: &mut bool) -> Vec<u8> {
        match self {
            Self::Quotes(open, close) => requoted(text, open.as_bytes(), close.as_bytes(), is_inside).0,
            Self::Delimiter(mark, has_quotes) => delimited(text, mark.as_bytes(), *has_quotes, is_inside).0,
            Self::Lines => {
                let new =
                    |line: &[u8]| whole_cell(line).map_or_else(|| line.to_vec(), |cell| [&cell[..], b"\n"].concat());
                text.split_inclusive(|&byte| byte == b'\n').flat_map(new).collect()
            }
        }
    }

    /// What was done, in words, if that may be wrong.
    pub(super) fn words(&self) -> Option<String> {
        match self {
            Self::Lines => {
                Some("each line is a cell in quotes that holds a line of a table; that table is read".to_owned())
            }
            Self::Quotes(open, close) => Some(format!("{open} and {close} around cells are taken for quotes")),
            Self::Delimiter(..) => None,
        }
    }
}

/// A text with [`LONG_DELIMITER`] for a mark, and the number of marks in each row. A quote counts where it opens a cell.
fn delimited(text: &[u8], mark: &[u8], has_quotes: bool, is_inside: &mut bool) -> (Vec<u8>, Vec<usize>) {
    let (mut out, mut counts, mut from) = (Vec::with_capacity(text.len()), vec![0], 0);
    let (mut cell, mut closed) = (0, usize::MAX);
    for at in memchr::memchr3_iter(b'"', b'\n', mark[0], text) {
        match text[at] {
            _ if at < from => {}
            b'"' if *is_inside => (*is_inside, closed) = (false, at + 1),
            // Behind a quote that closed the cell, a second one goes on with it.
            b'"' => *is_inside = has_quotes && (at == cell || at == closed),
            _ if *is_inside => {}
            b'\n' => {
                counts.push(0);
                cell = at + 1;
            }
            _ if text[at..].starts_with(mark) => {
                out.extend_from_slice(&text[from..at]);
                out.push(LONG_DELIMITER);
                (from, cell) = (at + mark.len(), at + mark.len());
                counts.last_mut().into_iter().for_each(|count| *count += 1);
            }
            _ => {}
        }
    }
    out.extend_from_slice(&text[from..]);
    if text.ends_with(b"\n") && !*is_inside {
        counts.pop();
    }
    (out, counts)
}

/// What a line holds that is one cell in quotes.
fn whole_cell(line: &[u8]) -> Option<Vec<u8>> {
    let (line, mut cell) = (line.trim_ascii_end(), Vec::new());
    let mut cells = Cells::new(line, &Dialect { delimiter: LONG_DELIMITER, ..Dialect::default() });
    let is_one = line.starts_with(b"\"") && cells.record(|_, text| cell = text.to_vec()) == Some(1);
    (is_one && line.ends_with(b"\"") && cells.odd == 0 && cells.at == line.len()).then_some(cell)
}

/// A text with plain quotes for those that open a cell and for those that close it, and the number of these.
fn requoted(text: &[u8], open: &[u8], close: &[u8], is_inside: &mut bool) -> (Vec<u8>, usize) {
    let is_edge = |byte: Option<&u8>| byte.is_none_or(|byte| b"\n\r,;\t|".contains(byte));
    let opens = |at: usize| is_edge(text[..at].iter().rev().find(|byte| **byte != b' '));
    let closes = |at: usize| is_edge(text[at + close.len()..].iter().find(|byte| **byte != b' '));
    let (mut out, mut from, mut at, mut n_quotes) = (Vec::with_capacity(text.len()), 0, 0, 0);
    loop {
        let mark = if *is_inside { close } else { open };
        let Some(found) = memmem::find(&text[at..], mark).map(|length| at + length) else { break };
        at = found + mark.len();
        if if *is_inside { closes(found) } else { opens(found) } {
            *is_inside = !*is_inside;
            out.extend_from_slice(&text[from..found]);
            out.push(b'"');
            (from, n_quotes) = (at, n_quotes + 1);
        }
    }
    out.extend_from_slice(&text[from..]);
    (out, n_quotes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (Vec<Rewrite>, String) {
        let (found, text) = Rewrite::all(text.as_bytes().to_vec(), true, &Known::default());
        (found, String::from_utf8(text).unwrap().replace('\u{1d}', "¤"))
    }

    #[test]
    fn marks_are_written_anew_where_they_stand_throughout() {
        assert_eq!(of("a,b\n1,”x, y”\n2,”z”\n").1, "a,b\n1,\"x, y\"\n2,\"z\"\n");
        assert_eq!(of("»a«;»b«\n»1«; »x; y«\n").1, "\"a\";\"b\"\n\"1\"; \"x; y\"\n");
        assert_eq!(of("a~|~b\r\n1~|~x\r\n").1, "a¤b\r\n1¤x\r\n");
        assert_eq!(of("Sales\na§b\n1§x, y\n").1, "Sales\na¤b\n1¤x, y\n");
        assert_eq!(of("a||b\n1||\n||\n").1, "a¤b\n1¤\n¤\n");
        assert_eq!(of("a::b\n1::\"x::\"\"y\"\"\nz\"\n2::5'10\"\"\n").1, "a¤b\n1¤\"x::\"\"y\"\"\nz\"\n2¤5'10\"\"\n");
        // Quotes go on over blocks.
        let (rewrite, mut is_inside) = (Rewrite::Delimiter("::".into(), true), false);
        assert_eq!(rewrite.apply(b"1::\"x::\n", &mut is_inside), b"1\x1d\"x::\n");
        assert_eq!(rewrite.apply(b"::y\"::2\n", &mut is_inside), b"::y\"\x1d2\n");
        let (rewrite, mut is_inside) = (Rewrite::Quotes("“".into(), "”".into()), false);
        assert_eq!(rewrite.apply("1,“x\n".as_bytes(), &mut is_inside), b"1,\"x\n");
        assert_eq!(rewrite.apply("y”,“z”\n".as_bytes(), &mut is_inside), b"y\",\"z\"\n");
        assert_eq!(of("\"a,b\"\n\"1,\"\"x, y\"\"\"\n").1, "a,b\n1,\"x, y\"\n");
        assert_eq!(of("a & b\n1 & x, y\n").1, "a ¤ b\n1 ¤ x, y\n");
        // Marks within cells, an empty column, names with commas.
        for text in
            ["x,y\n5%,7%\n3%,4%\n", "a,b\n1,the ”x” y\n2,”z”\n", "a|b|c\n1||2\n|3|\n", "\"place\"\n\"Rome, Italy\"\n"]
        {
            assert_eq!(of(text), (vec![], text.to_owned()));
        }
    }
}
