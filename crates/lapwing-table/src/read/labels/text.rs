//! Labels as lines of text: one for each row, or pairs of a row and its label.

use std::io::BufRead;
use std::path::Path;

use super::named::NamedLabels;
use super::{LabelFileOptions, LabelTexts, check_count};
use crate::read::fields::{Fields, n_fields};
use crate::read::format::{is_rereadable, open_text};
use crate::read::npy::ArrayName;
use crate::read::roles::{is_canonical, is_label_word, label_columns};
use crate::read::svmlight::read_error;
use lapwing_core::{Error, Result};

/// Reads lines in one of the two layouts, by the first line.
pub(super) fn read(path: &Path, n_rows: usize, options: &LabelFileOptions<'_>) -> Result<NamedLabels> {
    let mut lines = Lines::open(path)?;
    if !lines.next()? {
        return Err(Error::format(path, None, "the file is empty"));
    }
    lines.tell_delimiter()?;
    let width = lines.n_fields();
    if width == 1 {
        return read_column(lines, n_rows, options);
    }
    let fields: Vec<String> = (0..width).map(|at| lines.field(at).to_owned()).collect();
    let columns = label_columns(&fields, None);
    // Rows are numbered, so two words are a header. A line that begins with a number is none.
    let is_number = fields[0].parse::<f64>().is_ok();
    let is_header = columns.is_some() || (!is_number && options.header != Some(false));
    match (columns, width) {
        (None, 3..) => Err(lines.error(format!("{}; expected a row number and a label", n_fields(width)))),
        (columns, _) => read_pairs(lines, columns.unwrap_or([0, 1]), n_rows, is_header, options),
    }
}

/// Reads one label a line. A first line that may be a header is a label if the lines are as many as the rows and it comes again.
pub(super) fn read_column(lines: Lines<'_>, n_rows: usize, options: &LabelFileOptions<'_>) -> Result<NamedLabels> {
    let (path, word) = (lines.path, lines.field(0).to_owned());
    let may_be_header = options.header.is_none() && is_label_word(&word);
    let mut has_header = may_be_header || options.header == Some(true);
    let mut texts = column(lines, has_header, options)?;
    if may_be_header && texts.n_rows() + 1 == n_rows && texts.has(&word) && is_rereadable(path) {
        let mut lines = Lines::open(path)?;
        lines.next()?;
        has_header = false;
        texts = column(lines, has_header, options)?;
    }
    check_count(ArrayName::from_path(path), n_rows, texts.n_rows())?;
    NamedLabels::of_texts(texts)
}

fn column(mut lines: Lines<'_>, has_header: bool, options: &LabelFileOptions<'_>) -> Result<LabelTexts> {
    let mut texts = LabelTexts::new(options.unlabeled);
    let mut has_line = !has_header || lines.next()?;
    while has_line {
        match lines.n_fields() {
            1 => texts.push(lines.as_written(0)),
            found => {
                return Err(
                    lines.error(format!("{}; expected one label, or a row number and a label", n_fields(found)))
                );
            }
        }
        has_line = lines.next()?;
    }
    Ok(texts)
}

fn read_pairs(
    mut lines: Lines<'_>,
    [row_at, label_at]: [usize; 2],
    n_rows: usize,
    has_header: bool,
    options: &LabelFileOptions<'_>,
) -> Result<NamedLabels> {
    let mut texts = LabelTexts::among(n_rows, options.unlabeled)?;
    // Zeroed pages take no memory before they are written.
    let mut seen = vec![0u64; n_rows.div_ceil(64)];
    let mut has_line = !has_header || lines.next()?;
    while has_line {
        let found = lines.n_fields();
        if found <= row_at.max(label_at) {
            return Err(lines.error("expected a row number and a label"));
        }
        if found > 2 && !has_header {
            return Err(lines.error(format!("{}; expected a row number and a label", n_fields(found))));
        }
        let text = lines.field(row_at);
        let Some(row) = text.parse::<usize>().ok().filter(|_| is_canonical(text)) else {
            let advice = "rows are counted from 0; if they have names, say which column of the data holds these (--id)";
            return Err(lines.error(format!("'{text}' is no row number; {advice}")));
        };
        if row >= n_rows {
            return Err(lines.error(format!("row {row} is out of range; the data has {n_rows} rows, counted from 0")));
        }
        let (word, bit) = (&mut seen[row / 64], 1 << (row % 64));
        if *word & bit != 0 {
            return Err(lines.error(format!("a second label for row {row}")));
        }
        *word |= bit;
        // There are fewer rows than 2³².
        texts.put(row as u32, lines.as_written(label_at));
        has_line = lines.next()?;
    }
    NamedLabels::of_texts(texts)
}

impl NamedLabels {
    /// The labels of rows that are all known.
    fn of_texts(texts: LabelTexts) -> Result<Self> {
        let warnings = texts.spaced().into_iter().collect();
        Ok(Self { labels: texts.finish()?, n_unknown: 0, warnings })
    }
}

/// Calls `each` with the fields of every line that has text, and the number of the line, from 1. Lines are split as those of a file of
/// labels: at commas, or at tabs or semicolons if the first line has these and no comma.
///
/// # Errors
/// [`Error::Io`], [`Error::Format`] for text that is not UTF-8 and for a quote that stays open; those of `each`.
pub fn each_line(path: &Path, mut each: impl FnMut(&[&str], u64) -> Result<()>) -> Result<()> {
    let mut lines = Lines::open(path)?;
    let mut has_line = lines.next()?;
    lines.tell_delimiter()?;
    while has_line {
        if !lines.is_blank() {
            let fields: Vec<&str> = (0..lines.n_fields()).map(|at| lines.field(at)).collect();
            each(&fields, lines.number())?;
        }
        has_line = lines.next()?;
    }
    Ok(())
}

/// Lines of a text file, split into fields. Unlike a CSV reader, it keeps empty lines, which are rows without a label.
pub(super) struct Lines<'a> {
    path: &'a Path,
    reader: Box<dyn BufRead>,
    number: u64,
    line: String,
    fields: Fields,
}

impl<'a> Lines<'a> {
    pub(super) fn open(path: &'a Path) -> Result<Self> {
        Ok(Self { path, reader: open_text(path)?, number: 0, line: String::new(), fields: Fields::new() })
    }

    /// Goes to the next line; false at the end.
    pub(super) fn next(&mut self) -> Result<bool> {
        self.line.clear();
        self.number += 1;
        let read = self.reader.read_line(&mut self.line);
        let n = read.map_err(|e| read_error(self.path, self.number, e))?;
        if self.split() { Ok(n > 0) } else { Err(self.unclosed()) }
    }

    /// Splits the line into fields; false if a quote stays open.
    fn split(&mut self) -> bool {
        let mark = if self.number == 1 { "\u{feff}" } else { "" };
        let line = self.line.strip_prefix(mark).unwrap_or(&self.line);
        self.fields.split(line.trim_end_matches(['\r', '\n']))
    }

    fn unclosed(&self) -> Error {
        self.error("a quote that opens in this line is not closed; labels are of one line")
    }

    /// If the current line has tabs or semicolons and no commas, splits it and all lines behind it at these.
    pub(super) fn tell_delimiter(&mut self) -> Result<()> {
        let Some(delimiter) = [b'\t', b';'].into_iter().find(|delimiter| self.line.contains(char::from(*delimiter)))
        else {
            return Ok(());
        };
        if self.line.contains(',') {
            return Ok(());
        }
        self.fields = Fields::with(delimiter);
        self.split().then_some(()).ok_or_else(|| self.unclosed())
    }

    /// Whether the line has no text.
    pub(super) fn is_blank(&self) -> bool {
        self.line.trim().is_empty()
    }

    /// Number of the line, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Number of fields of the line, at least one.
    pub(super) fn n_fields(&self) -> usize {
        self.fields.len()
    }

    /// A field without spaces around it; empty if there is no such field.
    pub(super) fn field(&self, at: usize) -> &str {
        self.fields.get(at)
    }

    /// A field as it is written; empty if there is no such field.
    pub(super) fn as_written(&self, at: usize) -> &str {
        self.fields.as_written(at)
    }

    pub(super) fn error(&self, reason: impl Into<String>) -> Error {
        Error::format(self.path, Some(self.number), reason)
    }
}
