//! CSV, plain or compressed, from a file or standard input.

use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};

use super::columns::{self, Choice};
use super::format::{TEXT_BYTES, open, open_text};
use super::labels::LabelTexts;
use super::{ReadOptions, Samples, Size};
use crate::{Error, Features, Labels, Result, Run, SparseLabels};

/// Rows read between two looks at the run's cancellation.
const CHECK_ROWS: u64 = 1024;

/// Where a record starts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    pub byte: u64,
    /// Lines before it.
    pub lines: u64,
}

/// Records of a CSV file, all of one length.
pub(super) struct Records {
    path: PathBuf,
    reader: Reader<Box<dyn BufRead + Send>>,
    record: ByteRecord,
    /// Names of the columns; their numbers where the file has no header.
    pub names: Arc<[String]>,
    /// Whether `record` is the first line of a file without a header, to be read again.
    is_pending: bool,
    /// Lines of the file before the first that `reader` saw.
    lines_before: u64,
}

impl Records {
    /// Opens the file and reads its first line: a header, unless every cell of it is a number.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut records = Self::of_text(path, open_text(path)?, Arc::default(), 0);
        if !records.next()? {
            return Err(Error::format(records.path, None, "the file is empty"));
        }
        let cells = || (0..records.record.len()).map(|at| records.cell(at));
        let is_pending = cells().all(|cell| text(cell).is_some_and(|text| text.parse::<f64>().is_ok()));
        records.names = match is_pending {
            true => (0..records.record.len()).map(|at| at.to_string()).collect(),
            false => cells().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect(),
        };
        records.is_pending = is_pending;
        Ok(records)
    }

    /// Opens a file that is not compressed at the start of a record.
    pub(super) fn open_at(path: &Path, mark: Mark, names: Arc<[String]>) -> Result<Self> {
        let mut file = open(path)?;
        file.seek(SeekFrom::Start(mark.byte)).map_err(|e| Error::io(path, e))?;
        Ok(Self::of_text(path, Box::new(BufReader::with_capacity(TEXT_BYTES, file)), names, mark.lines))
    }

    fn of_text(path: &Path, text: Box<dyn BufRead + Send>, names: Arc<[String]>, lines_before: u64) -> Self {
        let reader = ReaderBuilder::new().has_headers(false).from_reader(text);
        Self { path: path.to_owned(), reader, record: ByteRecord::new(), names, is_pending: false, lines_before }
    }

    /// Where the current record starts.
    pub(super) fn mark(&self) -> Mark {
        let position = self.record.position();
        position.map_or_else(Mark::default, |at| Mark {
            byte: at.byte(),
            lines: self.lines_before + at.line().saturating_sub(1),
        })
    }

    /// Goes to the next record; false at the end.
    pub(super) fn next(&mut self) -> Result<bool> {
        if std::mem::take(&mut self.is_pending) {
            return Ok(true);
        }
        self.reader.read_byte_record(&mut self.record).map_err(|e| csv_error(&self.path, self.lines_before, e))
    }

    /// Number of cells of the current record.
    pub(super) fn width(&self) -> usize {
        self.record.len()
    }

    /// The text of column `at` without spaces around it; empty where there is no such column.
    pub(super) fn cell(&self, at: usize) -> &[u8] {
        self.record.get(at).unwrap_or_default().trim_ascii()
    }

    /// An error about the current record.
    pub(super) fn error(&self, reason: impl Into<String>) -> Error {
        let line = self.record.position().map(|at| self.lines_before + at.line());
        Error::format(&self.path, line, reason)
    }

    /// The label in column `at`.
    fn label(&self, at: usize) -> Result<&str> {
        text(self.cell(at)).ok_or_else(|| self.error("the label is not UTF-8 text"))
    }

    /// The number in column `at`, NaN where it is missing.
    pub(super) fn number(&self, at: usize) -> Result<f64> {
        let cell = self.cell(at);
        text(cell).and_then(parse_number).ok_or_else(|| {
            let shown = String::from_utf8_lossy(cell);
            self.error(format!(
                "column '{}' holds '{shown}'; expected a number (or leave the column out)",
                self.names[at]
            ))
        })
    }
}

fn text(cell: &[u8]) -> Option<&str> {
    std::str::from_utf8(cell).ok()
}

/// A number, or NaN for what stands for a missing one.
fn parse_number(text: &str) -> Option<f64> {
    let is_missing = || text.is_empty() || ["null", "na", "n/a", "none"].iter().any(|m| text.eq_ignore_ascii_case(m));
    text.parse().ok().or_else(|| is_missing().then_some(f64::NAN))
}

fn csv_error(path: &Path, lines_before: u64, error: ::csv::Error) -> Error {
    let line = error.position().map(|at| lines_before + at.line());
    match error.into_kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            Error::format(path, line, format!("{len} fields; the lines before have {expected_len}"))
        }
        ErrorKind::Io(e) => match e.kind() {
            std::io::ErrorKind::UnexpectedEof => Error::format(path, line, "the file is truncated"),
            std::io::ErrorKind::InvalidData | std::io::ErrorKind::InvalidInput | std::io::ErrorKind::Other => {
                Error::format(path, line, format!("the file is damaged ({e})"))
            }
            _ => Error::io(path, e),
        },
        other => Error::format(path, line, format!("{other:?}")),
    }
}

/// Reads samples into one buffer of doubles: text has digits that single precision would lose.
pub(super) fn read_samples(path: &Path, options: &ReadOptions, run: &Run) -> Result<Samples> {
    let mut records = Records::open(path)?;
    let Choice { features, label } = columns::by_name(path, &records.names, options)?;
    let mut values = Vec::new();
    let mut texts = LabelTexts::new(options.unlabeled.as_deref());
    let mut n_rows = 0u64;
    while records.next()? {
        if n_rows.is_multiple_of(CHECK_ROWS) {
            run.check()?;
        }
        for &at in &features {
            values.push(records.number(at)?);
        }
        if let Some(label) = label {
            texts.push(records.label(label)?);
        }
        n_rows += 1;
    }
    if n_rows == 0 {
        return Err(no_rows(path));
    }
    let names = features.iter().map(|&at| records.names[at].clone()).collect();
    Ok(Samples {
        features: Features::from_f64(n_rows as usize, features.len(), values)?,
        feature_names: Some(names),
        labels: label.map(|_| texts.finish().map(Labels::from)).transpose()?,
    })
}

/// Reads the labels alone.
pub(super) fn read_labels(path: &Path, column: &str, unlabeled: Option<&str>, run: &Run) -> Result<SparseLabels> {
    let mut records = Records::open(path)?;
    let label = columns::find_name(path, &records.names, column)?;
    let mut texts = LabelTexts::new(unlabeled);
    let mut n_rows = 0u64;
    while records.next()? {
        if n_rows.is_multiple_of(CHECK_ROWS) {
            run.check()?;
        }
        texts.push(records.label(label)?);
        n_rows += 1;
    }
    if n_rows == 0 { Err(no_rows(path)) } else { texts.finish() }
}

/// The error for a file that is nothing but a header.
pub(super) fn no_rows(path: &Path) -> Error {
    Error::format(path, None, "no rows after the header")
}

/// Counts the rows.
pub(super) fn probe(path: &Path, options: &ReadOptions) -> Result<Size> {
    let mut records = Records::open(path)?;
    let choice = columns::by_name(path, &records.names, options)?;
    let mut n_rows = 0;
    while records.next()? {
        n_rows += 1;
    }
    Ok(Size::dense(n_rows, choice.features.len(), size_of::<f64>()))
}
