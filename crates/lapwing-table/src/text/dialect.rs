//! The dialect of a CSV file: what separates and quotes its cells, whether it has a header, its decimal mark; and what is known or open
//! about it.

use serde::{Serialize, Serializer};

use crate::cell::{CellType, Found, infer};
use crate::lines::{count_lines, shown};

/// Records of the sample that are looked at.
pub(super) const MAX_RECORDS: usize = 1000;

/// What is between two cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Separator {
    /// One delimiter.
    #[default]
    One,
    /// A mark of several bytes, as in `a::b`, for which [`Dialect::delimiter`] stands.
    Long,
    /// One or more, as blanks in aligned columns; those around a line separate nothing.
    Run,
    /// One, also before the first cell and behind the last, as in Markdown.
    Framed,
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
    /// All numbers of a column have three digits behind their only mark, which may separate thousands or decimals.
    Groups,
    /// Dates such as 03/04/2024 may start with the day or the month.
    Dates,
}

impl Doubt {
    /// What the cells of a column leave open about it.
    pub(crate) fn of_column(found: Found) -> Option<Self> {
        let is_date = matches!(found.kind, Some(CellType::Date(_)));
        found.is_doubtful.then_some(if is_date { Self::Dates } else { Self::Groups })
    }
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

/// What a line holds that is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filler {
    Blanks,
    /// Delimiters alone, at least two.
    Delimiters,
    /// Dashes, as below a header.
    Rule,
}

/// What the first line of a text holds if it is no record.
#[inline]
pub(super) fn filler(text: &[u8], delimiter: u8) -> Option<Filler> {
    let is_mark = |byte: &u8| *byte == delimiter || b"-=+|: \t".contains(byte);
    if !text.first().is_some_and(is_mark) {
        return None;
    }
    let length = text.iter().position(|byte| !is_mark(byte)).unwrap_or(text.len());
    let line = &text[..length];
    let is_plain = || line.iter().all(|byte| *byte == delimiter || matches!(byte, b' ' | b'\t'));
    match memchr::memchr_iter(delimiter, line).count() {
        _ if text.get(length).is_some_and(|end| !matches!(end, b'\n' | b'\r')) => None,
        _ if line.windows(3).any(|marks| matches!(marks, b"---" | b"===")) => Some(Filler::Rule),
        0 if is_plain() => Some(Filler::Blanks),
        2.. if is_plain() => Some(Filler::Delimiters),
        _ => None,
    }
}

/// Cells of records.
pub(super) type Sample = Vec<Vec<Vec<u8>>>;

/// Lines of a text of one sort: how many, and the number and the text of the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    n: usize,
    first: Option<(u64, String)>,
}

impl Lines {
    /// Notes the line that starts at byte `start` of a text.
    #[cold]
    pub(super) fn note(&mut self, text: &[u8], start: usize) {
        self.n += 1;
        let end = memchr::memchr2(b'\n', b'\r', &text[start..]).map_or(text.len(), |length| start + length);
        self.first.get_or_insert_with(|| (count_lines(&text[..start]) + 1, shown(text[start..end].trim_ascii())));
    }

    /// Adds those of a block, which follows `lines` others.
    pub(super) fn add(&mut self, block: Self, lines: u64) {
        self.n += block.n;
        self.first = self.first.take().or(block.first.map(|(line, text)| (line + lines, text)));
    }

    /// What is said of one line or of several; `None` without any.
    pub(super) fn words(&self, one: &str, several: &str) -> Option<String> {
        let (line, text) = self.first.as_ref()?;
        Some(match self.n {
            1 => format!("1 {one} (line {line}: '{text}')"),
            n => format!("{n} {several} (first line {line}: '{text}')"),
        })
    }

    /// What is said of lines that are no rows.
    pub(super) fn passed_over(&self, which: &str) -> Option<String> {
        self.words(&format!("line {which} is passed over"), &format!("lines {which} are passed over"))
    }
}

/// The types of the columns of some records.
pub(super) fn types(records: &[Vec<Vec<u8>>], decimal: u8) -> Vec<Found> {
    let width = records.iter().map(Vec::len).max().unwrap_or(0);
    let column = |at: usize| records.iter().filter_map(move |record| record.get(at).map(Vec::as_slice));
    (0..width).map(|at| infer(column(at), decimal)).collect()
}
