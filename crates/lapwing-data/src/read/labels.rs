//! Labels: columns of tables, arrays, and files of their own.

use std::collections::HashMap;
use std::io::{BufRead, Cursor, Read};
use std::path::Path;

use super::format::{Format, map, open_text, unknown_ending};
use super::npy::{NpyReader, Origin};
use crate::{Error, Labels, Result, Run, UNLABELED};

/// Collects label texts, each distinct one held once.
#[derive(Default)]
pub(super) struct LabelTexts {
    ids: HashMap<String, usize>,
    rows: Vec<usize>,
}

impl LabelTexts {
    pub(super) fn push(&mut self, text: &str) {
        let id = match self.ids.get(text) {
            Some(&id) => id,
            None => {
                self.ids.insert(text.to_owned(), self.ids.len());
                self.ids.len() - 1
            }
        };
        self.rows.push(id);
    }

    /// A number as text; NaN is no label.
    pub(super) fn push_number(&mut self, value: f64) {
        if value.is_nan() { self.push("") } else { self.push(&value.to_string()) }
    }

    /// The labels, as [`Labels::from_texts`] understands the texts.
    pub(super) fn finish(self, unlabeled: Option<&str>) -> Labels {
        let mut texts = vec![""; self.ids.len()];
        for (text, &id) in &self.ids {
            texts[id] = text;
        }
        let distinct = Labels::from_texts(texts, unlabeled);
        Labels { index: self.rows.iter().map(|&id| distinct.index[id]).collect(), classes: distinct.classes }
    }
}

/// Labels from whole numbers: −1, or the number that `unlabeled` spells, marks rows without one.
pub(super) fn from_integers(values: impl IntoIterator<Item = Option<i64>>, unlabeled: Option<&str>) -> Labels {
    let marker = match unlabeled {
        None => Some(i64::from(UNLABELED)),
        Some(text) => text.trim().parse().ok(),
    };
    Labels::from_integers(values.into_iter().map(|value| value.filter(|_| value != marker)))
}

/// Labels from an array of one dimension (or one column).
pub(super) fn from_array<R: Read>(
    reader: NpyReader<'_, R>,
    n_rows: usize,
    unlabeled: Option<&str>,
    run: &Run,
) -> Result<Labels> {
    if !matches!(reader.header.shape[..], [_] | [_, 1]) {
        let shape = reader.header.shape_text();
        return Err(reader.origin.error(format!("shape {shape}; expected one label per row")));
    }
    check_count(reader.origin, n_rows, reader.n_rows())?;
    if reader.header.dtype.is_integer() {
        return Ok(from_integers(reader.numbers(run)?.into_iter().map(Some), unlabeled));
    }
    let mut texts = LabelTexts::default();
    if reader.header.dtype.is_number() {
        reader.numbers(run)?.into_iter().for_each(|value| texts.push_number(value));
    } else {
        reader.texts(run)?.iter().for_each(|text| texts.push(text));
    }
    Ok(texts.finish(unlabeled))
}

fn check_count(origin: Origin<'_>, n_rows: usize, found: usize) -> Result<()> {
    if found == n_rows {
        return Ok(());
    }
    let what = match origin.array {
        "" => origin.path.display().to_string(),
        array => format!("array '{array}' of {}", origin.path.display()),
    };
    Err(Error::shape(what, format!("{n_rows} labels, one per row of the data"), format!("{found} labels")))
}

/// Reads the labels of `n_rows` rows from a file of their own.
///
/// `.npy`: one per row, integers, floats, truth values or fixed-width text. Text, also `.gz` and `.zst`: one label a
/// line, a first line `label`, `labels` or `y` being a header; or `row,label` pairs, rows counted from 0, with or
/// without a header `row,label` (columns after these two are ignored), rows left out being unlabeled.
/// Unlabeled are −1, empty, NaN and null, or what equals `unlabeled`.
///
/// # Errors
/// [`Error::Shape`] naming both numbers if there are more or fewer labels than rows; [`Error::Format`] naming the line
/// of a pair that is malformed, out of range, or a second one for its row.
pub fn read_labels(path: &Path, n_rows: usize, unlabeled: Option<&str>) -> Result<Labels> {
    match Format::of(path) {
        Format::Npy => {
            let map = map(path)?;
            let origin = Origin { path, array: "" };
            let reader = NpyReader::new(Cursor::new(&map[..]), map.len() as u64, origin)?;
            from_array(reader, n_rows, unlabeled, &Run::new(Some(1), 0)?)
        }
        Format::Csv | Format::Other => read_text(path, n_rows, unlabeled),
        _ => Err(unknown_ending(path, "labels as .npy, or as text with one label or row,label pair a line")),
    }
}

/// Reads lines in either of the two layouts; the first line decides.
fn read_text(path: &Path, n_rows: usize, unlabeled: Option<&str>) -> Result<Labels> {
    let mut lines = Lines::open(path)?;
    if !lines.next()? {
        return Err(Error::format(path, None, "the file is empty"));
    }
    let first = lines.fields.clone();
    let has_pair_header = first.len() >= 2 && first[0] == "row" && first[1] == "label";
    if has_pair_header || (first.len() == 2 && first[0].parse::<u64>().is_ok()) {
        return read_pairs(lines, n_rows, unlabeled, has_pair_header);
    }
    let mut texts = LabelTexts::default();
    let mut has_line =
        !matches!(first[..], [ref name] if ["label", "labels", "y"].contains(&name.as_str())) || lines.next()?;
    while has_line {
        match &lines.fields[..] {
            [label] => texts.push(label),
            fields => {
                let reason = format!("{} fields; expected one label, or a row number and a label", fields.len());
                return Err(lines.error(reason));
            }
        }
        has_line = lines.next()?;
    }
    check_count(Origin { path, array: "" }, n_rows, texts.rows.len())?;
    Ok(texts.finish(unlabeled))
}

fn read_pairs(mut lines: Lines<'_>, n_rows: usize, unlabeled: Option<&str>, header: bool) -> Result<Labels> {
    let mut texts = LabelTexts::default();
    texts.push("");
    texts.rows.resize(n_rows, 0);
    let mut seen = vec![false; n_rows];
    let mut has_line = !header || lines.next()?;
    while has_line {
        let [row_text, label, rest @ ..] = &lines.fields[..] else {
            return Err(lines.error("expected a row number and a label"));
        };
        if !rest.is_empty() && !header {
            return Err(lines.error(format!("{} fields; expected a row number and a label", 2 + rest.len())));
        }
        let Ok(row) = row_text.parse::<usize>() else {
            return Err(lines.error(format!("'{row_text}' is no row number")));
        };
        if row >= n_rows {
            return Err(lines.error(format!("row {row} is out of range; the data has {n_rows} rows, counted from 0")));
        }
        if std::mem::replace(&mut seen[row], true) {
            return Err(lines.error(format!("a second label for row {row}")));
        }
        texts.push(label);
        texts.rows[row] = texts.rows.pop().unwrap_or(0);
        has_line = lines.next()?;
    }
    Ok(texts.finish(unlabeled))
}

/// Lines of a text file split into fields; unlike a CSV reader it keeps empty lines, which are rows without a label.
struct Lines<'a> {
    path: &'a Path,
    reader: Box<dyn BufRead>,
    number: u64,
    line: String,
    fields: Vec<String>,
}

impl<'a> Lines<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        Ok(Self { path, reader: open_text(path)?, number: 0, line: String::new(), fields: Vec::new() })
    }

    /// Goes to the next line; false at the end.
    fn next(&mut self) -> Result<bool> {
        self.line.clear();
        self.number += 1;
        let n = self.reader.read_line(&mut self.line).map_err(|e| match e.kind() {
            std::io::ErrorKind::InvalidData => self.error("not UTF-8 text"),
            std::io::ErrorKind::UnexpectedEof => self.error("the file is truncated"),
            _ => Error::io(self.path, e),
        })?;
        let line = self.line.trim_start_matches('\u{feff}');
        self.fields = split_fields(line.trim());
        Ok(n > 0)
    }

    fn error(&self, reason: impl Into<String>) -> Error {
        Error::format(self.path, Some(self.number), reason)
    }
}

/// Splits at commas outside double quotes; at least one field.
fn split_fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let field = fields.last_mut().expect("one field from the start");
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            _ => field.push(c),
        }
    }
    fields.iter().map(|field| field.trim().to_owned()).collect()
}
