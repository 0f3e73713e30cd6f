//! Records and cells of a piece of text, by the rules of RFC 4180 as the crate `csv` reads them.
//!
//! A quote is special at the start of a cell, or behind spaces there; within quotes, two quotes stand for one. Lines end with `\n`, `\r\n` or
//! `\r`, and empty lines are skipped. Some texts have runs of blanks between cells, or two characters, or delimiters around records, and
//! some have backslashes before quotes, or before delimiters if they have no quotes.

use memchr::{memchr, memchr2, memchr3};

use super::dialect::{Dialect, Separator};

/// The byte order mark that some programs write before UTF-8 text.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Appends the cells of a line, as written; false if a quote stays open.
pub(crate) fn record(line: &[u8], dialect: &Dialect, into: &mut Vec<Vec<u8>>) -> bool {
    Cells::new(line, dialect).record(|_, cell| into.push(cell.to_vec())).is_some()
}

/// Goes through the records of a text.
pub(super) struct Cells<'b> {
    bytes: &'b [u8],
    /// Start of the next record, or of line ends before it; behind all records read.
    pub at: usize,
    /// How they are written; without a quote if the text has none.
    dialect: Dialect,
    /// Whether backslashes stand before delimiters.
    has_escapes: bool,
    /// Start of a cell whose quote is not closed.
    open: Option<usize>,
    /// A cell without its quotes.
    unquoted: Vec<u8>,
    /// Cells in quotes, and those of them that have text behind the closing quote.
    pub quoted: usize,
    pub odd: usize,
}

impl<'b> Cells<'b> {
    /// The records of `bytes`, whose first byte starts a record.
    pub(super) fn new(bytes: &'b [u8], dialect: &Dialect) -> Self {
        let quote = dialect.quote.filter(|&quote| memchr(quote, bytes).is_some());
        let has_escapes = dialect.quote.is_none() && dialect.escape.is_some();
        let (dialect, unquoted) = (Dialect { quote, ..*dialect }, Vec::new());
        Self { bytes, at: 0, dialect, has_escapes, open: None, unquoted, quoted: 0, odd: 0 }
    }

    /// Skips line ends and returns the start of the next record; `None` at the end.
    #[inline]
    pub(super) fn start(&mut self) -> Option<usize> {
        while let Some(&byte) = self.bytes.get(self.at) {
            // DOS ended files with a byte of its own.
            let is_end = matches!(byte, b'\n' | b'\r') || (byte == 0x1a && self.at + 1 == self.bytes.len());
            let is_blank = self.dialect.separator == Separator::Run && byte == self.dialect.delimiter;
            if byte == BYTE_ORDER_MARK[0] && self.bytes[self.at..].starts_with(BYTE_ORDER_MARK) {
                // Texts were put together.
                self.at += BYTE_ORDER_MARK.len();
                continue;
            }
            if !(is_end || is_blank) {
                let is_frame = self.dialect.separator == Separator::Framed && byte == self.dialect.delimiter;
                self.at += usize::from(is_frame);
                break;
            }
            self.at += 1;
        }
        (self.at < self.bytes.len()).then_some(self.at)
    }

    /// Goes back to the start of a record.
    pub(super) fn back_to(&mut self, start: usize) {
        (self.at, self.open) = (start, None);
    }

    /// Passes over the line at the current place.
    pub(super) fn skip_line(&mut self) {
        self.at = memchr2(b'\n', b'\r', &self.bytes[self.at..]).map_or(self.bytes.len(), |length| self.at + length);
    }

    /// Hands the cells of the record at the current place to `take`, each with its number, as written;
    /// returns how many there are, or `None` if a quote is not closed before the end of the text.
    #[inline]
    pub(super) fn record(&mut self, mut take: impl FnMut(usize, &[u8])) -> Option<usize> {
        let start = self.at;
        let mut width = 0;
        loop {
            let end = if self.is_quoted() {
                let Some(end) = self.quoted_end() else {
                    self.open = Some(self.at);
                    self.at = start;
                    return None;
                };
                take(width, &self.unquoted);
                end
            } else if self.has_escapes {
                let end = self.escaped_end();
                take(width, &self.unquoted);
                end
            } else {
                let end = self.plain_end(self.at);
                take(width, &self.bytes[self.at..end]);
                end
            };
            width += 1;
            self.at = end + 1;
            match self.bytes.get(end) {
                Some(&byte) if byte == self.dialect.delimiter => {
                    if matches!(self.dialect.separator, Separator::Run | Separator::Framed) && self.pass_separator() {
                        return Some(width);
                    }
                }
                found => {
                    let is_pair = found == Some(&b'\r') && self.bytes.get(end + 1) == Some(&b'\n');
                    self.at = end + usize::from(found.is_some()) + usize::from(is_pair);
                    return Some(width);
                }
            }
        }
    }

    /// Passes over the rest of a separator of several characters; true if the record ends behind it.
    #[cold]
    fn pass_separator(&mut self) -> bool {
        let passed = if self.dialect.separator == Separator::Framed { b' ' } else { self.dialect.delimiter };
        let n_passed = self.bytes[self.at..].iter().take_while(|&&byte| byte == passed).count();
        let end = self.at + n_passed;
        // What stands at the end of a line separates nothing.
        let is_end = self.bytes.get(end).is_none_or(|byte| matches!(byte, b'\n' | b'\r'));
        self.at = if is_end || self.dialect.separator == Separator::Run { end } else { self.at };
        is_end
    }

    /// Removes the backslashes before delimiters in the current cell, which is in no quotes, and returns its end.
    #[cold]
    fn escaped_end(&mut self) -> usize {
        self.unquoted.clear();
        let mut start = self.at;
        loop {
            let end = self.plain_end(start);
            let cell = &self.bytes[start..end];
            // A backslash that follows another is itself.
            let n_escapes = cell.iter().rev().take_while(|&&byte| Some(byte) == self.dialect.escape).count();
            if n_escapes % 2 == 0 || end == self.bytes.len() {
                self.unquoted.extend_from_slice(cell);
                return end;
            }
            self.unquoted.extend_from_slice(&cell[..cell.len() - 1]);
            self.unquoted.push(self.bytes[end]);
            start = end + 1;
        }
    }

    /// Whether a quote starts the cell at the current place; goes to the quote, past spaces.
    #[inline]
    fn is_quoted(&mut self) -> bool {
        let Some(quote) = self.dialect.quote else { return false };
        let spaces = self.bytes[self.at..].iter().take_while(|&&byte| byte == b' ').count();
        let is_quoted = self.bytes.get(self.at + spaces) == Some(&quote);
        self.at += if is_quoted { spaces } else { 0 };
        is_quoted
    }

    /// The first delimiter or line end at or behind `at`.
    #[inline]
    fn plain_end(&self, at: usize) -> usize {
        memchr3(self.dialect.delimiter, b'\n', b'\r', &self.bytes[at..]).map_or(self.bytes.len(), |length| at + length)
    }

    /// Removes the quotes of the current cell, and returns its end.
    fn quoted_end(&mut self) -> Option<usize> {
        let quote = self.dialect.quote?;
        self.unquoted.clear();
        let mut at = self.at + 1;
        loop {
            let rest = self.bytes.get(at..)?;
            let end = at + memchr2(quote, self.dialect.escape.unwrap_or(quote), rest)?;
            self.unquoted.extend_from_slice(&self.bytes[at..end]);
            if self.bytes[end] != quote {
                let escaped = self.bytes.get(end + 1)?;
                // A backslash before anything else is itself.
                self.unquoted
                    .extend((*escaped != quote && Some(*escaped) != self.dialect.escape).then_some(self.bytes[end]));
                self.unquoted.push(*escaped);
                at = end + 2;
                continue;
            }
            if self.bytes.get(end + 1) != Some(&quote) {
                let rest = self.plain_end(end + 1);
                let behind = &self.bytes[end + 1..rest];
                self.unquoted.extend_from_slice(behind);
                self.quoted += 1;
                self.odd += usize::from(!behind.trim_ascii().is_empty());
                return Some(rest);
            }
            self.unquoted.push(quote);
            at = end + 2;
        }
    }

    /// The cell whose quote is not closed, and its place.
    pub(super) fn unclosed(&self) -> Option<(usize, &'b [u8])> {
        self.open.map(|open| (open, &self.bytes[(open + 1).min(self.bytes.len())..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cells of every record; an error if a quote stays open.
    fn all(text: &str) -> Result<Vec<Vec<String>>, ()> {
        let (mut cells, mut records) = (Cells::new(text.as_bytes(), &Dialect::default()), Vec::new());
        while cells.start().is_some() {
            let mut record = Vec::new();
            let width = cells
                .record(|_, cell| record.push(String::from_utf8_lossy(cell.trim_ascii()).into_owned()))
                .ok_or(())?;
            assert_eq!(width, record.len());
            records.push(record);
        }
        Ok(records)
    }

    #[test]
    fn cells_are_those_of_the_crate_csv() {
        // All texts of six characters that matter.
        let letters = ['a', ',', '"', '\n', '\r'];
        for number in 0..5usize.pow(6) {
            let text: String = (0..6).map(|at| letters[number / 5usize.pow(at) % 5]).collect();
            let mut theirs = ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
            let theirs: Vec<Vec<String>> = theirs
                .records()
                .map(|record| record.unwrap().iter().map(|cell| cell.trim_ascii().to_owned()).collect())
                .collect();
            // Only an open quote is an error.
            if let Ok(ours) = all(&text) {
                assert_eq!(ours, theirs, "{text:?}");
            }
        }
    }

    #[test]
    fn an_open_quote_is_found() {
        assert!(all("a,b\n1,\"2").is_err());
        assert!(all("a,b\n1,\"\"\"").is_err());
        let mut cells = Cells::new(b"a,b\n1,\"r\n2,3\n", &Dialect::default());
        assert!(cells.start().is_some() && cells.record(|_, _| ()) == Some(2));
        assert!(cells.start() == Some(4) && cells.record(|_, _| ()).is_none());
        assert_eq!(cells.unclosed(), Some((6, &b"r\n2,3\n"[..])));
        assert_eq!(cells.at, 4);
    }

    #[test]
    fn cells_are_apart_in_other_ways_too() {
        let of = |text: &str, dialect: Dialect| {
            let (mut cells, mut records) = (Cells::new(text.as_bytes(), &dialect), Vec::new());
            while cells.start().is_some() {
                let mut record = Vec::new();
                cells.record(|_, cell| record.push(String::from_utf8_lossy(cell).into_owned())).unwrap();
                records.push(record.join("|"));
            }
            records.join("\n")
        };
        let with = |delimiter, separator| Dialect { delimiter, separator, ..Dialect::default() };
        assert_eq!(of("  a   b\nc d  \n\x1a", with(b' ', Separator::Run)), "a|b\nc|d");
        let escaped = Dialect { escape: Some(b'\\'), ..Dialect::default() };
        assert_eq!(of(r#"1,"a \"b\", c\n",2"#, escaped), r#"1|a "b", c\n|2"#);
        assert_eq!(of("\"a\tb", Dialect { delimiter: b'\t', quote: None, ..Dialect::default() }), "\"a|b");
    }
}
