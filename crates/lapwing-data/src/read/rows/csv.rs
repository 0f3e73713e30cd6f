//! Rows of a text, with marks at some of them, so that readers can start near any row.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{OpenRows, RowFile, chosen};
use crate::read::csv::{bad_cells, each_number, no_rows};
use crate::read::format::{is_compressed, open_filled};
use crate::read::records::{Mark, Records};
use crate::read::{ReadOptions, columns};
use crate::scan::{Centered, PIECE_VALUES, Place, RowScan, RowSink, pieces};
use crate::{Error, Result, RowReader, Run};

/// Bytes of text between two marks, as long as there are few.
const MARK_BYTES: u64 = 1 << 16;

/// Number of marks at which every second one is removed.
const MAX_MARKS: usize = 1 << 17;

/// Rows between two reports of the progress of a count.
const REPORT_ROWS: usize = 1 << 10;

/// A text whose rows have been counted: its features, and the places of some of its rows.
#[derive(Debug)]
struct CsvRows {
    path: PathBuf,
    n_rows: usize,
    /// Names of all columns.
    names: Arc<[String]>,
    /// Columns that are features.
    features: Vec<usize>,
    marks: Option<Marks>,
}

pub(super) fn open(path: &Path, options: &ReadOptions, run: &Run) -> Result<RowFile> {
    let (_, bytes) = open_filled(path)?;
    let mut records = Records::open(path)?;
    let features = columns::by_name(path, &records.names, options)?.features;
    let mut marks = (!is_compressed(path)).then(Marks::new);
    let n_rows = count(&mut records, marks.as_mut(), bytes, run)?;
    if n_rows == 0 {
        return Err(no_rows(path));
    }
    let names = records.names;
    let feature_names = Some(features.iter().map(|&at| names[at].clone()).collect());
    let (n_cols, is_seekable, chosen) = (features.len(), marks.is_some(), chosen(features.clone(), names.len()));
    let path = path.to_owned();
    let rows = Box::new(CsvRows { path: path.clone(), n_rows, names, features, marks });
    Ok(RowFile { path, n_rows, n_cols, bytes, is_seekable, feature_names, chosen, rows })
}

impl OpenRows for CsvRows {
    fn reader<'s>(&'s self, place: Place, center: &'s [f32], run: &Run) -> Result<Box<dyn RowReader + 's>> {
        let (row, records) = match self.marks.as_ref().and_then(|marks| marks.before(place.row)) {
            Some((row, mark)) => (row, Records::open_at(&self.path, mark, self.names.clone())?),
            None => (0, Records::open(&self.path)?),
        };
        let mut scan = CsvScan { file: self, records };
        scan.pass(place.row - row, run)?;
        Ok(Centered::boxed(scan, place, center))
    }
}

/// Counts the rows of a text of `length` bytes.
fn count(records: &mut Records, mut marks: Option<&mut Marks>, length: u64, run: &Run) -> Result<usize> {
    let (mut n_rows, mut next_report) = (0, 0);
    // How much of a compressed file was read is unknown.
    let total = if marks.is_some() { length } else { 0 };
    run.progress().start("scan", total);
    while records.next(run)? {
        if n_rows % REPORT_ROWS == 0 {
            let read = if total == 0 { n_rows as u64 } else { records.mark().byte };
            if read >= next_report {
                run.progress().update(read, "");
                next_report = read + (total / 128).max(1 << 20);
            }
        }
        if let Some(marks) = &mut marks {
            marks.add(n_rows, records.mark());
        }
        n_rows += 1;
    }
    run.progress().finish();
    Ok(n_rows)
}

/// The starts of some rows of a text, ascending, at about equal distances.
#[derive(Debug)]
struct Marks {
    rows: Vec<usize>,
    places: Vec<Mark>,
    /// Least number of bytes between two marks.
    distance: u64,
}

impl Marks {
    fn new() -> Self {
        Self { rows: Vec::new(), places: Vec::new(), distance: MARK_BYTES }
    }

    /// Adds a mark for row `row`, which starts at `place`, if the last mark is far enough before it.
    #[inline]
    fn add(&mut self, row: usize, place: Mark) {
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

    /// The last mark at or before `row`, with its row.
    fn before(&self, row: usize) -> Option<(usize, Mark)> {
        let at = self.rows.partition_point(|&other| other <= row).checked_sub(1)?;
        Some((self.rows[at], self.places[at]))
    }
}

/// Rows of a text from some row on.
struct CsvScan<'s> {
    file: &'s CsvRows,
    records: Records,
}

impl CsvScan<'_> {
    /// Goes to the next row, which must be there and as long as when rows were counted.
    fn next(&mut self, run: &Run) -> Result<()> {
        let changed = |what: &str| Error::format(&self.file.path, None, format!("the file has changed ({what})"));
        if !self.records.next(run)? {
            return Err(changed(&format!("it had {} rows", self.file.n_rows)));
        }
        match self.records.width() == self.file.names.len() {
            true => Ok(()),
            false => Err(changed("its rows have other lengths")),
        }
    }

    fn pass(&mut self, n_rows: usize, run: &Run) -> Result<()> {
        (0..n_rows).try_for_each(|_| self.next(run))
    }

    /// The error for a cell that is no number: a second reading finds all such cells.
    fn bad_cells(&self, run: &Run) -> Result<Error> {
        let mut records = Records::open(&self.file.path)?;
        records.next(run)?;
        bad_cells(&mut records, &self.file.features, 0, run)
    }
}

impl RowScan for CsvScan<'_> {
    type Value = f64;

    fn read(&mut self, rows: Range<usize>, sink: &mut impl RowSink<f64>, run: &Run) -> Result<()> {
        let features = &self.file.features;
        pieces(rows, PIECE_VALUES / features.len()).try_for_each(|rows| {
            run.check()?;
            sink.fill(rows.len(), |room| {
                room.chunks_exact_mut(features.len()).try_for_each(|row| {
                    self.next(run)?;
                    let are_numbers = each_number(&self.records, features, |feature, x| row[feature] = x);
                    if are_numbers { Ok(()) } else { Err(self.bad_cells(run)?) }
                })
            })
        })
    }

    /// Reads the rows, unless a mark lies between.
    fn skip(&mut self, rows: Range<usize>, run: &Run) -> Result<bool> {
        let nearest = self.file.marks.as_ref().and_then(|marks| marks.before(rows.end));
        let is_nearer = nearest.is_some_and(|(row, _)| row > rows.start);
        if !is_nearer {
            self.pass(rows.len(), run)?;
        }
        Ok(!is_nearer)
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
            marks.add(row, Mark { byte: row as u64 * MARK_BYTES, lines: row as u64 });
        }
        assert!(marks.rows.len() <= MAX_MARKS && marks.distance == 8 * MARK_BYTES);
        for row in [0, 1, 7, 8, n_rows / 2 + 3, n_rows - 1] {
            let (found, mark) = marks.before(row).unwrap();
            assert_eq!((found, mark.byte), (row / 8 * 8, found as u64 * MARK_BYTES));
        }
        assert!(Marks::new().before(0).is_none());
    }
}
