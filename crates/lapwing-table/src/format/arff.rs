//! ARFF tables (Weka) as CSV: the names of the attributes are the header, each row is a line, and lines that are no rows are empty, so
//! that lines keep their numbers. Sparse rows are filled: with 0, or with the first level of a nominal attribute.

use std::io::{self, BufRead, Read};
use std::path::Path;

use crate::cell::{CellType, NumberStyle};
use crate::lines::text_error;
use lapwing_core::{Error, Result};

/// An attribute: a column.
pub(crate) struct Attribute {
    name: String,
    /// What it declares its cells to be; `None` for dates, whose cells tell how they are written.
    pub declared: Option<CellType>,
    /// The cell of sparse rows that leave it out.
    absent: String,
}

/// Whether a text starts as ARFF does.
pub(crate) fn is_arff(start: &[u8]) -> bool {
    let mut lines = start.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"%")).unwrap_or_default();
    behind(first, "@relation").or_else(|| behind(first, "@attribute")).is_some()
}

/// The rest of a line behind a word in any case.
fn behind<'l>(line: &'l [u8], word: &str) -> Option<&'l [u8]> {
    let (start, rest) = line.split_at_checked(word.len())?;
    start.eq_ignore_ascii_case(word.as_bytes()).then(|| rest.trim_ascii())
}

/// The rows of an ARFF table as CSV.
pub(crate) struct ArffText<R> {
    text: R,
    pub attributes: Vec<Attribute>,
    line: Vec<u8>,
    n_lines: u64,
    /// CSV that is not handed over yet.
    ready: io::Cursor<Vec<u8>>,
}

impl<R: BufRead> ArffText<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// [`Error::Format`] naming the line of an attribute of an unknown type, and for a header without end.
    pub(crate) fn open(path: &Path, text: R) -> Result<Self> {
        let (line, ready) = (Vec::new(), io::Cursor::default());
        let mut found = Self { text, attributes: Vec::new(), line, n_lines: 0, ready };
        while found.next_line().map_err(|e| text_error(path, None, e))? {
            let line = found.line.trim_ascii();
            if let Some(rest) = behind(line, "@attribute") {
                let attribute = attribute(&String::from_utf8_lossy(rest));
                let failed = |reason| Error::format(path, Some(found.n_lines), reason);
                found.attributes.push(attribute.map_err(failed)?);
            } else if behind(line, "@data").is_some() {
                let names = found.attributes.iter().map(|attribute| attribute.name.clone()).collect();
                let mut header = vec![b'\n'; found.n_lines as usize - 1];
                header.extend(csv_line(names));
                found.ready = io::Cursor::new(header);
                return Ok(found);
            }
        }
        Err(Error::format(path, None, "no line @data behind the attributes"))
    }

    fn next_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        self.n_lines += 1;
        Ok(self.text.read_until(b'\n', &mut self.line)? > 0)
    }

    /// The line that was read last, as CSV.
    fn row(&self) -> io::Result<Vec<u8>> {
        let text = String::from_utf8_lossy(self.line.trim_ascii());
        if text.is_empty() || text.starts_with('%') {
            return Ok(vec![b'\n']);
        }
        let Some(entries) = in_braces(&text) else {
            return Ok(csv_line(split(&text, if text.contains(',') { ",\t" } else { " \t" }).map(unquoted).collect()));
        };
        let mut cells: Vec<String> = self.attributes.iter().map(|attribute| attribute.absent.clone()).collect();
        for entry in split(entries, ",").map(str::trim).filter(|entry| !entry.is_empty()) {
            let (at, value) = entry.split_once([' ', '\t']).unwrap_or((entry, ""));
            let cell = at.parse().ok().and_then(|at: usize| cells.get_mut(at)).filter(|_| !value.is_empty());
            let reason =
                || format!("line {}: '{entry}' is no cell of {} attributes", self.n_lines, self.attributes.len());
            *cell.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, reason()))? = unquoted(value);
        }
        Ok(csv_line(cells))
    }
}

impl<R: BufRead> Read for ArffText<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.ready.position() == self.ready.get_ref().len() as u64 && self.next_line()? {
            self.ready = io::Cursor::new(self.row()?);
        }
        self.ready.read(buffer)
    }
}

/// Cells as a line of CSV.
fn csv_line(cells: Vec<String>) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory does not fail.
    let _ = writer.write_record(cells.iter().map(|cell| cell.replace(['\n', '\r'], " ")));
    writer.into_inner().unwrap_or_default()
}

fn in_braces(text: &str) -> Option<&str> {
    text.strip_prefix('{')?.trim_end().strip_suffix('}')
}

/// An attribute from what stands behind its keyword.
fn attribute(text: &str) -> std::result::Result<Attribute, String> {
    let name = split(text, " \t{").next().unwrap_or_default();
    let kind = text[name.len()..].trim();
    let word = kind.split_ascii_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    let first = in_braces(kind).and_then(|levels| split(levels, ",").next());
    let (declared, absent) = match (first, word.as_str()) {
        (Some(first), _) => (Some(CellType::Text), unquoted(first)),
        (None, "numeric" | "real" | "integer") => (Some(CellType::Number(NumberStyle::Plain(b'.'))), "0".into()),
        (None, "string") => (Some(CellType::Text), String::new()),
        (None, "date") => (None, String::new()),
        _ => {
            return Err(format!(
                "attribute {name}: '{kind}' is none of numeric, real, integer, string, date, {{levels}}"
            ));
        }
    };
    Ok(Attribute { name: unquoted(name), declared, absent })
}

/// The pieces of a line between marks that are not in quotes. A quote within a word is one of its letters.
fn split<'l>(line: &'l str, marks: &'l str) -> impl Iterator<Item = &'l str> {
    let (mut quote, mut is_escaped, mut is_start) = (None, false, true);
    line.split(move |c: char| {
        let is_mark = !is_escaped && quote.is_none() && marks.contains(c);
        match quote {
            _ if is_escaped => {}
            Some(open) => quote = quote.filter(|_| c != open),
            None => quote = Some(c).filter(|c| is_start && matches!(c, '\'' | '"')),
        }
        is_escaped = !is_escaped && c == '\\';
        is_start = is_mark || (is_start && c == ' ');
        is_mark
    })
}

/// A cell without its quotes; empty if it is missing.
fn unquoted(cell: &str) -> String {
    let cell = cell.trim();
    let inner = ['\'', '"'].iter().find_map(|&quote| cell.strip_prefix(quote)?.strip_suffix(quote));
    let mut characters = inner.unwrap_or(if cell == "?" { "" } else { cell }).chars();
    std::iter::from_fn(|| characters.next().and_then(|c| if c == '\\' { characters.next() } else { Some(c) })).collect()
}
