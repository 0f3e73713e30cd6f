//! Rows of a text, found again by marks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Place, are_all};
use crate::read::csv::{bad_cells, bad_values, no_rows};
use crate::read::format::{is_compressed, open_filled};
use crate::read::records::{Mark, Records};
use crate::read::{ReadOptions, columns};
use crate::{BadColumns, Error, Result, RowReader, Run};

/// Rows read between two looks at the run's cancellation.
const CHECK_ROWS: usize = 1 << 10;

/// Bytes of text between two marks, as long as there are few.
const MARK_BYTES: u64 = 1 << 16;

/// Marks kept at most: at more, every second is forgotten.
const MAX_MARKS: usize = 1 << 17;

/// A counted text: which of its columns are features, and where some of its rows start.
#[derive(Debug)]
pub(super) struct CsvRows {
    path: PathBuf,
    /// Bytes of the file.
    pub length: u64,
    pub n_rows: usize,
    /// Names of all columns.
    names: Arc<[String]>,
    /// Columns that are features.
    features: Vec<usize>,
    pub feature_names: Vec<String>,
    marks: Option<Marks>,
}

impl CsvRows {
    pub(super) fn open(path: &Path, options: &ReadOptions, run: &Run) -> Result<Self> {
        let (_, length) = open_filled(path)?;
        let mut records = Records::open(path)?;
        let features = columns::by_name(path, &records.names, options)?.features;
        let mut marks = (!is_compressed(path)).then(Marks::new);
        let n_rows = count(&mut records, marks.as_mut(), length, run)?;
        if n_rows == 0 {
            return Err(no_rows(path));
        }
        let feature_names = features.iter().map(|&at| records.names[at].clone()).collect();
        let (path, names) = (path.to_owned(), records.names);
        Ok(Self { path, length, n_rows, names, features, feature_names, marks })
    }

    pub(super) fn is_seekable(&self) -> bool {
        self.marks.is_some()
    }

    pub(super) fn chosen(&self) -> Option<&[usize]> {
        (!are_all(&self.features, self.names.len())).then_some(&self.features)
    }

    /// All features with values that cannot be used.
    pub(super) fn bad_columns(&self, run: &Run) -> Result<Option<BadColumns>> {
        bad_values(&self.path, &self.features, run)
    }

    pub(super) fn reader<'s>(&'s self, place: Place, shift: &'s [f32], run: &Run) -> Result<Box<dyn RowReader + 's>> {
        let (row, records) = match self.marks.as_ref().and_then(|marks| marks.before(place.row)) {
            Some((row, mark)) => (row, Records::open_at(&self.path, mark, self.names.clone())?),
            None => (0, Records::open(&self.path)?),
        };
        let mut reader = Reader { rows: self, records, shift, place };
        for at in row..reader.place.row {
            if at % CHECK_ROWS == 0 {
                run.check()?;
            }
            reader.next()?;
        }
        Ok(Box::new(reader))
    }
}

/// Counts the rows of a text of `length` bytes.
fn count(records: &mut Records, mut marks: Option<&mut Marks>, length: u64, run: &Run) -> Result<usize> {
    let (mut n_rows, mut told) = (0, 0);
    // What is read of a compressed file is not known.
    let total = if marks.is_some() { length } else { 0 };
    run.progress().start("scan", total);
    while records.next()? {
        if n_rows % CHECK_ROWS == 0 {
            run.check()?;
            let read = if total == 0 { n_rows as u64 } else { records.mark().byte };
            if read >= told {
                run.progress().update(read, "");
                told = read + (total / 128).max(1 << 20);
            }
        }
        if let Some(marks) = &mut marks {
            marks.pass(n_rows, records.mark());
        }
        n_rows += 1;
    }
    run.progress().finish();
    Ok(n_rows)
}

/// Where some rows of a text start, ascending, at about equal distances.
#[derive(Debug)]
struct Marks {
    rows: Vec<usize>,
    places: Vec<Mark>,
    /// Bytes from a mark to the next, at least.
    distance: u64,
}

impl Marks {
    fn new() -> Self {
        Self { rows: Vec::new(), places: Vec::new(), distance: MARK_BYTES }
    }

    /// Row `row` starts at `place`.
    #[inline]
    fn pass(&mut self, row: usize, place: Mark) {
        if self.places.last().is_some_and(|last| place.byte < last.byte + self.distance) {
            return;
        }
        self.rows.push(row);
        self.places.push(place);
        if self.rows.len() > MAX_MARKS {
            let halved = self.rows.len().div_ceil(2);
            for at in 0..halved {
                (self.rows[at], self.places[at]) = (self.rows[2 * at], self.places[2 * at]);
            }
            self.rows.truncate(halved);
            self.places.truncate(halved);
            self.distance *= 2;
        }
    }

    /// The last mark up to `row`, with its row.
    fn before(&self, row: usize) -> Option<(usize, Mark)> {
        let at = self.rows.partition_point(|&other| other <= row).checked_sub(1)?;
        Some((self.rows[at], self.places[at]))
    }
}

struct Reader<'s> {
    rows: &'s CsvRows,
    records: Records,
    shift: &'s [f32],
    place: Place,
}

impl Reader<'_> {
    /// Goes to the next row, which must be there and as long as when it was counted.
    fn next(&mut self) -> Result<()> {
        let changed = |what: &str| Error::format(&self.rows.path, None, format!("the file has changed ({what})"));
        if !self.records.next()? {
            return Err(changed(&format!("it had {} rows", self.rows.n_rows)));
        }
        match self.records.width() == self.rows.names.len() {
            true => Ok(()),
            false => Err(changed("its rows have other lengths")),
        }
    }
}

impl RowReader for Reader<'_> {
    fn read(&mut self, out: &mut [f32], run: &Run) -> Result<()> {
        self.place.advance(out.len())?;
        for (row, out) in out.chunks_exact_mut(self.place.n_cols).enumerate() {
            if row % CHECK_ROWS == 0 {
                run.check()?;
            }
            self.next()?;
            for (at, (out, &col)) in out.iter_mut().zip(&self.rows.features).enumerate() {
                let shift = self.shift.get(at).copied().unwrap_or(0.0);
                let Some(value) = self.records.number(col) else {
                    return Err(bad_cells(&self.rows.path, &self.rows.names, &self.rows.features, run)?);
                };
                *out = (value - f64::from(shift)) as f32;
            }
        }
        Ok(())
    }

    /// By reading on, unless a mark lies between.
    fn skip(&mut self, n_rows: usize, run: &Run) -> Result<bool> {
        let (here, marks) = (self.place.row, self.rows.marks.as_ref());
        let is_nearer = marks.is_some_and(|marks| marks.before(here + n_rows).is_some_and(|(row, _)| row > here));
        if is_nearer || !self.place.skip(n_rows) {
            return Ok(false);
        }
        for row in 0..n_rows {
            if row % CHECK_ROWS == 0 {
                run.check()?;
            }
            self.next()?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_few_and_found() {
        let mut marks = Marks::new();
        let n_rows = 5 * MAX_MARKS;
        for row in 0..n_rows {
            marks.pass(row, Mark { byte: row as u64 * MARK_BYTES, lines: row as u64 });
        }
        assert!(marks.rows.len() <= MAX_MARKS && marks.distance == 8 * MARK_BYTES);
        for row in [0, 1, 7, 8, n_rows / 2 + 3, n_rows - 1] {
            let (found, mark) = marks.before(row).unwrap();
            assert_eq!((found, mark.byte), (row / 8 * 8, found as u64 * MARK_BYTES));
        }
        assert!(Marks::new().before(0).is_none());
    }
}
