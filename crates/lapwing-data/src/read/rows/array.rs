//! Rows of a NumPy array, read by position.

use std::path::{Path, PathBuf};

use super::values::{Elements, PIECE_BYTES, Source, Value, is_in_order};
use super::{Place, are_all};
use crate::read::array::{Width, refuse_label_column};
use crate::read::format::open_filled;
use crate::read::npy::{Dtype, Kind, NpyReader, Origin};
use crate::read::{ReadOptions, columns};
use crate::{Result, RowReader, Run};

/// Values of a repeated shift, about.
const SHIFT_VALUES: usize = 1 << 9;

/// Where the values of an array are, and which of them are features.
#[derive(Debug)]
pub(super) struct ArrayRows {
    path: PathBuf,
    /// Bytes of the file.
    length: u64,
    /// Byte of the first value.
    start: u64,
    dtype: Dtype,
    /// First index fastest.
    fortran: bool,
    pub n_rows: usize,
    /// Columns of the file.
    width: usize,
    /// Columns that are features, where these are not all of them in order.
    keep: Option<Vec<usize>>,
}

impl ArrayRows {
    pub(super) fn open(path: &Path, options: &ReadOptions) -> Result<Self> {
        refuse_label_column(options)?;
        let (file, length) = open_filled(path)?;
        let reader: NpyReader<'_, _> = NpyReader::new(file, length, Origin { path, array: "" })?;
        let header = &reader.header;
        let (n_rows, width) = header.matrix_shape(reader.origin)?;
        let keep = columns::by_number(path, width, options)?.filter(|keep| !are_all(keep, width));
        if !header.dtype.is_number() {
            return Err(reader.origin.error("holds text; expected numbers"));
        }
        let (start, dtype, fortran) = (reader.offset as u64, header.dtype, header.fortran);
        Ok(Self { path: path.to_owned(), length, start, dtype, fortran, n_rows, width, keep })
    }

    pub(super) fn n_cols(&self) -> usize {
        self.keep.as_ref().map_or(self.width, Vec::len)
    }

    pub(super) fn chosen(&self) -> Option<&[usize]> {
        self.keep.as_deref()
    }

    /// Bytes that a pass reads: whole rows, or in Fortran order the columns that are features.
    pub(super) fn bytes(&self) -> u64 {
        let n_cols = if self.fortran { self.n_cols() } else { self.width };
        (self.n_rows * n_cols * self.dtype.size) as u64
    }

    pub(super) fn reader<'s>(&'s self, place: Place, shift: &'s [f32]) -> Result<Box<dyn RowReader + 's>> {
        let source = Source::open(&self.path, self.length)?;
        let is_single = (self.dtype.kind, self.dtype.size) == (Kind::Float, 4) && is_in_order(self.dtype);
        if is_single && !self.fortran && self.keep.is_none() {
            // Repeated for narrow rows, so that it is taken from many values at a time.
            let shift = shift.repeat((SHIFT_VALUES / shift.len().max(1)).max(1));
            return Ok(Box::new(Direct { rows: self, source, place, shift }));
        }
        Ok(match Width::of(self.dtype) {
            Width::U8 => Box::new(Converting::<u8>::new(self, source, place, shift)),
            Width::F32 => Box::new(Converting::<f32>::new(self, source, place, shift)),
            Width::F64 => Box::new(Converting::<f64>::new(self, source, place, shift)),
        })
    }

    /// Rows of `size` bytes that make up a piece.
    fn piece_rows(&self, size: usize) -> usize {
        (PIECE_BYTES / size.max(1)).max(1)
    }
}

/// Rows that are read into the caller's memory as they stand.
struct Direct<'s> {
    rows: &'s ArrayRows,
    source: Source<'s>,
    place: Place,
    /// The shift of some rows.
    shift: Vec<f32>,
}

impl RowReader for Direct<'_> {
    fn read(&mut self, out: &mut [f32], run: &Run) -> Result<()> {
        let width = self.rows.width;
        let mut at = self.rows.start + (self.place.row * width * size_of::<f32>()) as u64;
        self.place.advance(out.len())?;
        // By pieces, so that the shift is taken from what is still in the cache.
        for piece in out.chunks_mut((self.rows.piece_rows(width * size_of::<f32>()) * width).max(1)) {
            run.check()?;
            self.source.read(at, bytemuck::cast_slice_mut(piece))?;
            subtract(piece, &self.shift);
            at += size_of_val(piece) as u64;
        }
        Ok(())
    }

    fn skip(&mut self, n_rows: usize, _: &Run) -> Result<bool> {
        Ok(self.place.skip(n_rows))
    }
}

/// Rows of another type, in Fortran order, or some of the columns.
struct Converting<'s, T> {
    rows: &'s ArrayRows,
    elements: Elements<'s, T>,
    place: Place,
    shift: &'s [f32],
}

impl<'s, T: Value> Converting<'s, T> {
    fn new(rows: &'s ArrayRows, source: Source<'s>, place: Place, shift: &'s [f32]) -> Self {
        Self { rows, elements: Elements::new(source, rows.start, rows.dtype), place, shift }
    }

    /// Rows from `first` on, as they stand in the file.
    fn by_rows(&mut self, first: usize, out: &mut [f32]) -> Result<()> {
        let width = self.rows.width;
        let count = out.len() / self.place.n_cols * width;
        let values = self.elements.load((first * width) as u64, count)?;
        match &self.rows.keep {
            None => less_rows(values, self.shift, out),
            Some(keep) => {
                for (values, out) in values.chunks_exact(width).zip(out.chunks_exact_mut(keep.len())) {
                    for (at, (out, &col)) in out.iter_mut().zip(keep).enumerate() {
                        *out = values[col].less(self.shift.get(at).copied().unwrap_or(0.0));
                    }
                }
            }
        }
        Ok(())
    }

    /// Rows from `first` on, gathered from the columns.
    fn by_columns(&mut self, first: usize, out: &mut [f32]) -> Result<()> {
        let n_cols = self.place.n_cols;
        for at in 0..n_cols {
            let col = self.rows.keep.as_ref().map_or(at, |keep| keep[at]);
            let values = self.elements.load((col * self.rows.n_rows + first) as u64, out.len() / n_cols)?;
            let shift = self.shift.get(at).copied().unwrap_or(0.0);
            let cells = out[at..].iter_mut().step_by(n_cols);
            cells.zip(values).for_each(|(out, value)| *out = value.less(shift));
        }
        Ok(())
    }
}

impl<T: Value> RowReader for Converting<'_, T> {
    fn read(&mut self, out: &mut [f32], run: &Run) -> Result<()> {
        let (mut first, n_cols) = (self.place.row, self.place.n_cols);
        self.place.advance(out.len())?;
        let size = if self.rows.fortran { 1 } else { self.rows.width };
        let piece_rows = self.rows.piece_rows(size * self.rows.dtype.size);
        for piece in out.chunks_mut((piece_rows * n_cols).max(1)) {
            run.check()?;
            if self.rows.fortran {
                self.by_columns(first, piece)?
            } else {
                self.by_rows(first, piece)?
            }
            first += piece_rows;
        }
        Ok(())
    }

    fn skip(&mut self, n_rows: usize, _: &Run) -> Result<bool> {
        Ok(self.place.skip(n_rows))
    }
}

/// Takes `shift`, that of a whole number of rows, from rows.
fn subtract(rows: &mut [f32], shift: &[f32]) {
    if !shift.is_empty() {
        rows.chunks_mut(shift.len()).for_each(|rows| rows.iter_mut().zip(shift).for_each(|(x, s)| *x -= s));
    }
}

/// Values of all columns less `shift`.
fn less_rows<T: Value>(values: &[T], shift: &[f32], out: &mut [f32]) {
    if shift.is_empty() {
        return out.iter_mut().zip(values).for_each(|(out, value)| *out = value.less(0.0));
    }
    for (values, out) in values.chunks_exact(shift.len()).zip(out.chunks_exact_mut(shift.len())) {
        out.iter_mut().zip(values).zip(shift).for_each(|((out, value), &shift)| *out = value.less(shift));
    }
}
