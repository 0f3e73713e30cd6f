//! Rows on their way from a file or matrix to a caller.
//!
//! Every format has one [`RowScan`], which hands on rows in the type that keeps their values, to one of two sinks:
//! [`KeptRows`] holds them in that type (samples), and [`Centered`] subtracts a center from every column and then
//! rounds to single precision (streamed rows). No other place subtracts centers from streamed rows.

use std::ops::Range;
use std::sync::Arc;

use lapwing_simd::dispatch;
use xxhash_rust::xxh3::xxh3_64;

pub use crate::dense::Value;
pub use crate::rows::pieces;
use crate::{Csr, Dense, DenseValues, Error, Features, Result, RowReader, RowSource, Run, memory, with_slice};

/// Values of rows written at a time, about: few enough to stay in the L1 cache until they are rounded.
pub const PIECE_VALUES: usize = 1 << 12;

/// Values of a repeated center, at least.
const CENTER_VALUES: usize = 1 << 9;

/// Reads rows of a source in the type that keeps their values.
pub trait RowScan {
    /// Type of the values.
    type Value: Value;

    /// Hands the rows `rows`, which exist, to `sink`. They follow the rows read or skipped before.
    fn read(&mut self, rows: Range<usize>, sink: &mut impl RowSink<Self::Value>, run: &Run) -> Result<()>;

    /// Passes over the rows `rows` and returns true, if that costs less than opening the source again; else returns
    /// false and stays. Sources that can read any rows at once have nothing to do.
    fn skip(&mut self, _rows: Range<usize>, _run: &Run) -> Result<bool> {
        Ok(true)
    }
}

/// Where a scan puts rows: whole rows by [`fill`](Self::fill) or [`copy`](Self::copy), or columns and then
/// [`advance`](Self::advance).
pub trait RowSink<T: Copy> {
    /// Takes the next `n_rows` rows; `write` writes them, row-major, into memory that it is given.
    fn fill(&mut self, n_rows: usize, write: impl FnOnce(&mut [T]) -> Result<()>) -> Result<()>;

    /// Takes the next `n_rows` rows, which are in memory, row-major.
    fn copy(&mut self, n_rows: usize, values: &[T]) -> Result<()> {
        self.fill(n_rows, |room| {
            room.copy_from_slice(values);
            Ok(())
        })
    }

    /// Takes values of column `col`, the first of which belongs to row `first` of the rows still to come.
    fn column(&mut self, col: usize, first: usize, values: &[T]);

    /// Ends `n_rows` rows, all of whose columns were taken.
    fn advance(&mut self, n_rows: usize);
}

/// Rows held in the type of their values.
pub struct KeptRows<T> {
    values: Vec<T>,
    n_cols: usize,
    /// Number of values of the rows that are complete.
    end: usize,
}

impl<T: Value> KeptRows<T> {
    /// Room for `n_rows` rows of a file `what`.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn new(what: &str, n_rows: usize, n_cols: usize) -> Result<Self> {
        let values = memory::zeros(what, n_rows.saturating_mul(n_cols), "give fewer rows or columns")?;
        Ok(Self { values, n_cols, end: 0 })
    }

    /// All `n_rows` rows.
    pub fn finish(self, n_rows: usize) -> Result<Features<'static>> {
        Dense::new(n_rows, self.n_cols, T::owned_values(self.values)).map(Features::Dense)
    }
}

impl<T: Value> RowSink<T> for KeptRows<T> {
    fn fill(&mut self, n_rows: usize, write: impl FnOnce(&mut [T]) -> Result<()>) -> Result<()> {
        let start = self.end;
        self.end += n_rows * self.n_cols;
        write(&mut self.values[start..self.end])
    }

    fn column(&mut self, col: usize, first: usize, values: &[T]) {
        let cells = self.values[self.end + first * self.n_cols + col..].iter_mut().step_by(self.n_cols);
        cells.zip(values).for_each(|(cell, value)| *cell = *value);
    }

    fn advance(&mut self, n_rows: usize) {
        self.end += n_rows * self.n_cols;
    }
}

/// The rows that a reader hands on next.
pub struct Place {
    pub row: usize,
    pub n_rows: usize,
    pub n_cols: usize,
}

impl Place {
    /// Starts at row `row` of a source whose columns will have `center` subtracted.
    ///
    /// # Errors
    /// [`Error::Param`] for a row behind the last, [`Error::Shape`] unless there is one center for each column, or
    /// none.
    pub fn new(source: &impl RowSource, row: usize, center: &[f64]) -> Result<Self> {
        let (n_rows, n_cols) = (source.n_rows(), source.n_cols());
        if row > n_rows {
            return Err(Error::param("first row", row, format!("at most {n_rows}, the number of rows")));
        }
        if !center.is_empty() && center.len() != n_cols {
            let expected = format!("{n_cols} values, one per column");
            return Err(Error::shape("center", expected, format!("{} values", center.len())));
        }
        Ok(Self { row, n_rows, n_cols })
    }

    /// Passes the next rows, which take `n_values` values, and returns them.
    fn advance(&mut self, n_values: usize) -> Result<Range<usize>> {
        let rows = n_values / self.n_cols.max(1);
        if rows * self.n_cols != n_values {
            return Err(Error::shape("block", format!("whole rows of {} values", self.n_cols), n_values));
        }
        if rows > self.n_rows - self.row {
            return Err(Error::shape("features", format!("{} rows", self.row + rows), self.n_rows));
        }
        self.row += rows;
        Ok(self.row - rows..self.row)
    }
}

/// A reader of rows less the centers of their columns, in single precision.
pub struct Centered<S: RowScan> {
    scan: S,
    place: Place,
    /// The center of some rows, repeated so that it is subtracted from many values at a time; empty for none.
    center: Vec<f64>,
    scratch: Vec<S::Value>,
}

impl<'s, S: RowScan + Send + 's> Centered<S> {
    /// Reads the rows that `scan` hands on from `place` on.
    pub fn boxed(scan: S, place: Place, center: &[f64]) -> Box<dyn RowReader + 's> {
        let center = center.repeat((CENTER_VALUES / center.len().max(1)).max(1));
        Box::new(Self { scan, place, center, scratch: Vec::new() })
    }
}

impl<S: RowScan + Send> RowReader for Centered<S> {
    fn read(&mut self, out: &mut [f32], run: &Run) -> Result<()> {
        let rows = self.place.advance(out.len())?;
        let (n_cols, center) = (self.place.n_cols, &self.center[..]);
        self.scan.read(rows, &mut CenteredRows { out, n_cols, center, scratch: &mut self.scratch }, run)
    }

    fn hold(&mut self, n_rows: usize, run: &Run) -> Result<Features<'static>> {
        let rows = self.place.advance(n_rows.saturating_mul(self.place.n_cols))?;
        let mut kept = KeptRows::new("a block of rows", n_rows, self.place.n_cols)?;
        self.scan.read(rows, &mut kept, run)?;
        kept.finish(n_rows)
    }

    fn skip(&mut self, n_rows: usize, run: &Run) -> Result<bool> {
        let Place { row, n_rows: end, .. } = self.place;
        let is_passed = n_rows <= end - row && self.scan.skip(row..row + n_rows, run)?;
        self.place.row += if is_passed { n_rows } else { 0 };
        Ok(is_passed)
    }
}

/// Memory of a caller for rows less the centers of their columns.
struct CenteredRows<'o, T> {
    out: &'o mut [f32],
    n_cols: usize,
    /// As in [`Centered`].
    center: &'o [f64],
    scratch: &'o mut Vec<T>,
}

impl<T: Value> RowSink<T> for CenteredRows<'_, T> {
    fn fill(&mut self, n_rows: usize, write: impl FnOnce(&mut [T]) -> Result<()>) -> Result<()> {
        let rows = self.out.split_off_mut(..n_rows * self.n_cols).unwrap_or_default();
        if let Some(room) = T::own_room(rows) {
            write(room)?;
            subtract(rows, self.center);
            return Ok(());
        }
        self.scratch.resize(self.scratch.len().max(rows.len()), T::default());
        let values = &mut self.scratch[..rows.len()];
        write(values)?;
        round_rows(values, self.center, rows);
        Ok(())
    }

    fn copy(&mut self, n_rows: usize, values: &[T]) -> Result<()> {
        let rows = self.out.split_off_mut(..n_rows * self.n_cols).unwrap_or_default();
        round_rows(values, self.center, rows);
        Ok(())
    }

    fn column(&mut self, col: usize, first: usize, values: &[T]) {
        let center = self.center.get(col).copied().unwrap_or(0.0);
        let cells = self.out[first * self.n_cols + col..].iter_mut().step_by(self.n_cols);
        cells.zip(values).for_each(|(cell, value)| *cell = value.less(center));
    }

    fn advance(&mut self, n_rows: usize) {
        let _ = self.out.split_off_mut(..n_rows * self.n_cols);
    }
}

dispatch! {
    /// Subtracts `center` from rows in place.
    pub fn subtract(rows: &mut [f32], center: &[f64]) = plain_subtract
}

#[inline(always)]
fn plain_subtract(rows: &mut [f32], center: &[f64]) {
    if !center.is_empty() {
        rows.chunks_mut(center.len()).for_each(|rows| rows.iter_mut().zip(center).for_each(|(x, c)| *x = x.less(*c)));
    }
}

/// Writes rows less `center` to `out`.
fn round_rows<T: Value>(values: &[T], center: &[f64], out: &mut [f32]) {
    if center.is_empty() {
        return out.iter_mut().zip(values).for_each(|(out, value)| *out = value.less(0.0));
    }
    for (values, out) in values.chunks(center.len()).zip(out.chunks_mut(center.len())) {
        out.iter_mut().zip(values).zip(center).for_each(|((out, value), &center)| *out = value.less(center));
    }
}

impl RowSource for Features<'_> {
    fn n_rows(&self) -> usize {
        self.n_rows()
    }

    fn n_cols(&self) -> usize {
        self.n_cols()
    }

    fn bytes(&self) -> u64 {
        self.bytes() as u64
    }

    fn is_seekable(&self) -> bool {
        true
    }

    fn sparse(&self) -> Option<&Arc<Csr<f32>>> {
        if let Features::Sparse(matrix) = self { Some(matrix) } else { None }
    }

    /// The type of the values, and a hash of all of them.
    fn identity(&self, run: &Run) -> Result<Option<String>> {
        run.check()?;
        let hash = |bytes: &[u8]| format!("{:016x}", xxh3_64(bytes));
        Ok(Some(match self {
            Features::Dense(dense) => {
                let name = match dense.values() {
                    DenseValues::F32(_) => "f32",
                    DenseValues::F64(_) => "f64",
                    DenseValues::U8(_) => "u8",
                };
                format!("{name} {}", with_slice!(dense.values(), slice => hash(bytemuck::cast_slice(slice))))
            }
            Features::Sparse(sparse) => {
                let parts = [
                    hash(bytemuck::cast_slice(sparse.indptr())),
                    hash(bytemuck::cast_slice(sparse.indices())),
                    hash(bytemuck::cast_slice(sparse.values())),
                ];
                format!("sparse {}", parts.join(" "))
            }
        }))
    }

    fn open<'s>(&'s self, first: usize, center: &'s [f64], _: &Run) -> Result<Box<dyn RowReader + 's>> {
        let (place, n_cols) = (Place::new(self, first, center)?, self.n_cols());
        Ok(match self {
            Features::Dense(dense) => with_slice!(dense.values(), values => {
                Centered::boxed(DenseScan { values, n_cols }, place, center)
            }),
            Features::Sparse(matrix) => Centered::boxed(&**matrix, place, center),
        })
    }
}

/// Rows of a dense matrix in memory.
struct DenseScan<'s, T> {
    values: &'s [T],
    n_cols: usize,
}

impl<T: Value> RowScan for DenseScan<'_, T> {
    type Value = T;

    fn read(&mut self, rows: Range<usize>, sink: &mut impl RowSink<T>, _: &Run) -> Result<()> {
        let d = self.n_cols;
        sink.copy(rows.len(), &self.values[rows.start * d..rows.end * d])
    }
}

impl RowScan for &Csr<f32> {
    type Value = f32;

    fn read(&mut self, rows: Range<usize>, sink: &mut impl RowSink<f32>, _: &Run) -> Result<()> {
        let d = self.n_cols().max(1);
        pieces(rows, PIECE_VALUES / d).try_for_each(|rows| {
            sink.fill(rows.len(), |room| {
                room.fill(0.0);
                for (room, row) in room.chunks_exact_mut(d).zip(rows) {
                    let (columns, values) = self.row(row);
                    columns.iter().zip(values).for_each(|(&column, &value)| room[column as usize] = value);
                }
                Ok(())
            })
        })
    }
}
