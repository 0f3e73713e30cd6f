//! Rows of an array of two dimensions, as numbers of the type that keeps them.

use std::ops::Range;

use super::{Dtype, NpyReader, Number, Source};
use lapwing_core::scan::{RowScan, RowSink, Value, pieces};
use lapwing_core::{Result, Run};

/// Bytes of elements read at a time: few enough to stay in the L2 cache until they are converted.
const PIECE_BYTES: usize = 1 << 17;

/// Rows of an array in either order of its elements.
pub(in crate::read) struct ArrayScan<'a, R, T> {
    reader: NpyReader<'a, R>,
    n_rows: usize,
    width: usize,
    /// Columns that are features, unless these are all of them in order.
    keep: Option<&'a [usize]>,
    /// In Fortran order, rows that are gathered from all columns before the next ones.
    tile_rows: usize,
    scratch: Vec<T>,
}

impl<'a, R: Source, T: Value + Number> ArrayScan<'a, R, T> {
    /// Rows of the columns `keep`, or of all columns.
    pub(in crate::read) fn new(reader: NpyReader<'a, R>, keep: Option<&'a [usize]>) -> Result<Self> {
        let (n_rows, width) = reader.header.feature_shape(reader.origin)?;
        let tile_rows = piece_rows(reader.header.dtype, 1);
        Ok(Self { reader, n_rows, width, keep, tile_rows, scratch: Vec::new() })
    }

    /// All rows, for sources that cannot seek: reads the elements in the order of the file, and then to the end of the
    /// source.
    pub(in crate::read) fn read_all(mut self, sink: &mut impl RowSink<T>, run: &Run) -> Result<()> {
        self.tile_rows = self.n_rows;
        self.read(0..self.n_rows, sink, run)?;
        self.reader.finish(run)
    }

    fn read_rows(&mut self, rows: Range<usize>, sink: &mut impl RowSink<T>) -> Result<()> {
        let Self { reader, width, keep, scratch, .. } = self;
        let (start, n_values) = (rows.start * *width, rows.len() * *width);
        let Some(keep) = keep else { return sink.fill(rows.len(), |room| reader.load(start, room)) };
        scratch.resize(scratch.len().max(n_values), T::default());
        reader.load(start, &mut scratch[..n_values])?;
        sink.fill(rows.len(), |room| {
            for (room, values) in room.chunks_exact_mut(keep.len()).zip(scratch.chunks_exact(*width)) {
                room.iter_mut().zip(*keep).for_each(|(cell, &col)| *cell = values[col]);
            }
            Ok(())
        })
    }

    fn read_columns(&mut self, rows: Range<usize>, sink: &mut impl RowSink<T>, run: &Run) -> Result<()> {
        let Self { reader, keep, scratch, .. } = self;
        for at in 0..keep.map_or(self.width, <[usize]>::len) {
            let col = keep.map_or(at, |keep| keep[at]);
            for piece in pieces(rows.clone(), piece_rows(reader.header.dtype, 1)) {
                run.check()?;
                scratch.resize(scratch.len().max(piece.len()), T::default());
                let values = &mut scratch[..piece.len()];
                reader.load(col * self.n_rows + piece.start, values)?;
                sink.column(at, piece.start - rows.start, values);
            }
        }
        sink.advance(rows.len());
        Ok(())
    }
}

impl<R: Source, T: Value + Number> RowScan for ArrayScan<'_, R, T> {
    type Value = T;

    fn read(&mut self, rows: Range<usize>, sink: &mut impl RowSink<T>, run: &Run) -> Result<()> {
        if self.width == 0 {
            return Ok(());
        }
        if self.reader.header.fortran {
            return pieces(rows, self.tile_rows).try_for_each(|rows| self.read_columns(rows, sink, run));
        }
        pieces(rows, piece_rows(self.reader.header.dtype, self.width)).try_for_each(|rows| {
            run.check()?;
            self.read_rows(rows, sink)
        })
    }
}

/// Rows of `width` elements that make up a piece.
fn piece_rows(dtype: Dtype, width: usize) -> usize {
    (PIECE_BYTES / (width * dtype.size).max(1)).max(1)
}
