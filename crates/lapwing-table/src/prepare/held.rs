//! The cells of a table in memory, until its recipe is known.
//!
//! Numbers are held in rows, other columns as they were read, batch by batch. If there are only numbers, and the recipe leaves them as
//! they are, the rows are the features, and no copy is made. Else cells are encoded from the last row to the first, and what is encoded is
//! freed, so that memory is needed for about the larger of cells and features.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array, UInt32Array};
use arrow_select::take::take_arrays;
use lapwing_core::parallel::*;

use super::Recipe;
use super::encode::{Encoder, Feature, Unlike, write_dense};
use super::numbers::Numbers;
use crate::cell::CellType;
use crate::read::TableFile;
use crate::scan::Ask;
use lapwing_core::scan::Value;
use lapwing_core::{Csr, Dense, Features, Result, Run, memory};

/// Rows that a thread writes or encodes at a time.
const TILE_ROWS: usize = 1 << 11;

/// Parts in which rows are encoded and freed.
const PARTS: usize = 16;

/// Advice where memory is short.
const ADVICE: &str = "give fewer rows or columns";

/// Cells of the columns that are read.
pub(super) struct Held {
    path: PathBuf,
    kinds: Vec<Kind>,
    singles: NumberRows<f32>,
    doubles: NumberRows<f64>,
    /// The first row of each batch, and its columns that hold no numbers.
    batches: Vec<(usize, Vec<ArrayRef>)>,
    n_rows: usize,
}

/// How the cells of a column are held.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Numbers that single precision keeps.
    Single,
    /// Other numbers.
    Double,
    /// An array of each batch.
    Other,
}

/// Numbers, row-major.
struct NumberRows<T> {
    /// The table in messages.
    what: String,
    width: usize,
    values: Vec<T>,
    /// Whether one is missing, or counts as such.
    has_gap: bool,
}

/// Consecutive rows of one batch.
#[derive(Clone, Copy)]
struct Tile {
    row: usize,
    n_rows: usize,
    batch: usize,
}

impl Held {
    /// No cells yet, of columns of a table.
    ///
    /// # Errors
    /// [`Error::TooLarge`](lapwing_core::Error::TooLarge).
    pub(super) fn new(table: &TableFile, asks: &[Ask]) -> Result<Self> {
        let kind = |ask: &Ask| match ask.cells {
            CellType::Number(_) if table.is_single(ask.column) => Kind::Single,
            CellType::Number(_) => Kind::Double,
            _ => Kind::Other,
        };
        let kinds: Vec<Kind> = asks.iter().map(kind).collect();
        let (singles, doubles) =
            (NumberRows::new(table, &kinds, Kind::Single)?, NumberRows::new(table, &kinds, Kind::Double)?);
        Ok(Self { path: table.path().to_owned(), kinds, singles, doubles, batches: Vec::new(), n_rows: 0 })
    }

    /// Takes the next rows.
    ///
    /// # Errors
    /// [`Error::TooLarge`](lapwing_core::Error::TooLarge).
    pub(super) fn push(&mut self, arrays: Vec<ArrayRef>) -> Result<()> {
        let n_rows = arrays.first().map_or(0, |array| array.len());
        let of = |of: Kind| -> Vec<ArrayRef> {
            let same = self.kinds.iter().zip(&arrays).filter(|(kind, _)| **kind == of);
            same.map(|(_, array)| array.clone()).collect()
        };
        let (singles, doubles, others) = (of(Kind::Single), of(Kind::Double), of(Kind::Other));
        self.singles.push(&singles)?;
        self.doubles.push(&doubles)?;
        self.batches.push((self.n_rows, others));
        self.n_rows += n_rows;
        Ok(())
    }

    /// All columns of some rows, those of the batch that are not numbers given.
    fn arrays(&self, rows: impl Iterator<Item = usize> + Clone, others: Vec<ArrayRef>) -> Vec<ArrayRef> {
        let mut singles = self.singles.columns(rows.clone());
        let mut doubles = self.doubles.columns(rows);
        let mut others = others.into_iter();
        let next = |kind: &Kind| match kind {
            Kind::Single => singles.next(),
            Kind::Double => doubles.next(),
            Kind::Other => others.next(),
        };
        self.kinds.iter().filter_map(next).collect()
    }

    /// The features of the rows `rows`, ascending; `columns` are the places of the columns that are read among those of the recipe.
    ///
    /// # Errors
    /// [`Error::Format`](lapwing_core::Error::Format) for columns of other types than the recipe reads.
    pub(super) fn some_rows(&self, recipe: &Recipe, columns: &[usize], rows: &[usize]) -> Result<Vec<f64>> {
        let width = recipe.n_features();
        let mut out = vec![0.0; rows.len() * width];
        let mut rest = &mut out[..];
        let batch_of = |row: &usize| self.batches.partition_point(|batch| batch.0 <= *row) - 1;
        for here in rows.chunk_by(|a, b| batch_of(a) == batch_of(b)) {
            let (first_row, others) = &self.batches[batch_of(&here[0])];
            let places = here.iter().map(|row| (row - first_row) as u32).collect::<UInt32Array>();
            let others = take_arrays(others, &places, None).unwrap_or_default();
            let arrays = self.arrays(here.iter().copied(), others);
            let room = rest.split_off_mut(..here.len() * width).unwrap_or_default();
            write_dense(&mut recipe.encoders(&self.path, &arrays, columns)?, here.len(), width, room);
        }
        Ok(out)
    }

    /// Encodes all cells, which are freed on the way; `columns` are as in [`some_rows`](Self::some_rows).
    ///
    /// # Errors
    /// [`Error::Format`](lapwing_core::Error::Format) for columns of other types than the recipe reads; [`Error::TooLarge`](lapwing_core::Error::TooLarge); [`Error::Interrupted`](lapwing_core::Error::Interrupted).
    pub(super) fn encode(
        mut self,
        recipe: &Recipe,
        columns: &[usize],
        run: &Run,
    ) -> Result<(Features<'static>, Vec<Unlike>)> {
        let (n_rows, width) = (self.n_rows, recipe.n_features());
        // New rows may have gaps where the fit had none.
        let has_gap = self.singles.has_gap || self.doubles.has_gap;
        let are_kept = recipe.is_plain() && width == self.kinds.len() && (!has_gap || recipe.keeps_gaps());
        let all = |of: Kind| are_kept && self.kinds.iter().all(|kind| *kind == of);
        match (recipe.is_sparse, recipe.is_double) {
            (_, false) if all(Kind::Single) => Ok((dense(n_rows, width, self.singles.values)?, Vec::new())),
            (_, true) if all(Kind::Double) => Ok((dense(n_rows, width, self.doubles.values)?, Vec::new())),
            (true, _) => {
                let rows = |_: Tile| ();
                let (parts, unlike) =
                    self.encode_tiles((recipe, columns), rows, |at, n, ()| sparse_rows(at, n), run)?;
                let (mut indptr, mut indices, mut values) = (vec![0u64], Vec::new(), Vec::new());
                for (ends, part_indices, part_values) in parts {
                    let before = indices.len() as u64;
                    indptr.extend(ends.into_iter().map(|end| before + end));
                    indices.extend(part_indices);
                    values.extend(part_values);
                }
                Ok((Features::Sparse(Csr::new(n_rows, width, indptr, indices, values)?.into()), unlike))
            }
            (false, true) => self.encode_dense::<f64>((recipe, columns), run),
            (false, false) => self.encode_dense::<f32>((recipe, columns), run),
        }
    }

    fn encode_dense<F: Feature>(
        &mut self,
        (recipe, columns): (&Recipe, &[usize]),
        run: &Run,
    ) -> Result<(Features<'static>, Vec<Unlike>)> {
        let (n_rows, width) = (self.n_rows, recipe.n_features());
        let mut out: Vec<F> = memory::zeros(&self.singles.what, n_rows.saturating_mul(width), ADVICE)?;
        let mut rest = &mut out[..];
        let room = |tile: Tile| rest.split_off_mut(tile.row * width..).unwrap_or_default();
        let write = |encoders: &mut [Encoder<'_>], n_rows, room: &mut [F]| write_dense(encoders, n_rows, width, room);
        let (_, unlike) = self.encode_tiles((recipe, columns), room, write, run)?;
        Ok((dense(n_rows, width, out)?, unlike))
    }

    /// Encodes all cells, the last ones first: `encode` takes the encoders of a tile, its number of rows, and what `room` gives for it.
    /// Returns what it yields for all tiles in order, and the counts of cells unlike those of the fit.
    fn encode_tiles<W: Send, R: Send>(
        &mut self,
        (recipe, columns): (&Recipe, &[usize]),
        mut room: impl FnMut(Tile) -> W,
        encode: impl Fn(&mut [Encoder<'_>], usize, W) -> R + Sync,
        run: &Run,
    ) -> Result<(Vec<R>, Vec<Unlike>)> {
        let (mut tiles, mut encoded) = (self.tiles(), Vec::new());
        while let Some(end) = tiles.last().map(|tile| tile.row + tile.n_rows) {
            let start = end.saturating_sub((self.n_rows / PARTS).max(4 * TILE_ROWS));
            let part = tiles.split_off(tiles.partition_point(|tile| tile.row < start));
            let first_row = part[0].row;
            let part: Vec<(Tile, W)> = part.into_iter().rev().map(|tile| (tile, room(tile))).collect();
            let held = &*self;
            let encode = |(tile, room): (Tile, W)| {
                run.check()?;
                let (start, others) = &held.batches[tile.batch];
                let slice = |array: &ArrayRef| array.slice(tile.row - start, tile.n_rows);
                let arrays = held.arrays(tile.row..tile.row + tile.n_rows, others.iter().map(slice).collect());
                let mut encoders = recipe.encoders(&held.path, &arrays, columns)?;
                let written = encode(&mut encoders, tile.n_rows, room);
                Ok((written, encoders.into_iter().map(|encoder| encoder.unlike).collect::<Vec<_>>()))
            };
            encoded.extend(run.install(|| part.into_par_iter().map(encode).collect::<Result<Vec<_>>>())?);
            self.singles.truncate(first_row);
            self.doubles.truncate(first_row);
            while self.batches.pop_if(|batch| batch.0 >= first_row).is_some() {}
        }
        let (mut written, mut all) = (Vec::with_capacity(encoded.len()), vec![Unlike::default(); columns.len()]);
        for (part, unlike) in encoded.into_iter().rev() {
            written.push(part);
            all.iter_mut().zip(unlike).for_each(|(all, unlike)| all.add(unlike));
        }
        Ok((written, all))
    }

    /// All rows, in tiles.
    fn tiles(&self) -> Vec<Tile> {
        let ends = self.batches.iter().skip(1).map(|batch| batch.0).chain([self.n_rows]);
        let of_batch = |(batch, ((first_row, _), end)): (usize, (&(usize, Vec<ArrayRef>), usize))| {
            let starts = (*first_row..end).step_by(TILE_ROWS);
            starts.map(move |row| Tile { row, n_rows: TILE_ROWS.min(end - row), batch })
        };
        self.batches.iter().zip(ends).enumerate().flat_map(of_batch).collect()
    }
}

impl<T: Feature> NumberRows<T> {
    /// No rows yet, of the columns that are held as `kind`.
    fn new(table: &TableFile, kinds: &[Kind], kind: Kind) -> Result<Self> {
        let (what, width) = (table.path().display().to_string(), kinds.iter().filter(|one| **one == kind).count());
        let room = table.n_rows().unwrap_or(0).saturating_mul(width);
        Ok(Self { values: memory::with_capacity(&what, room, ADVICE)?, what, width, has_gap: false })
    }

    fn push(&mut self, arrays: &[ArrayRef]) -> Result<()> {
        let (start, more) = (self.values.len(), arrays.first().map_or(0, |array| array.len()) * self.width);
        if self.values.capacity() - start < more {
            let room = more.max(start / 4);
            memory::check_memory(&self.what, (room * size_of::<T>()) as u64, ADVICE)?;
            memory::reserve(&self.what, &mut self.values, room, ADVICE)?;
        }
        self.values.resize(start + more, T::default());
        let numbers: Vec<Option<Numbers<'_>>> = arrays.iter().map(|array| Numbers::of(array)).collect();
        let tiles = self.values[start..].par_chunks_mut(TILE_ROWS * self.width.max(1)).enumerate();
        let write = |(tile, out): (usize, &mut [T])| {
            for (at, numbers) in numbers.iter().enumerate() {
                let (cells, first) = (out[at..].iter_mut().step_by(self.width), tile * TILE_ROWS);
                match numbers {
                    Some(Numbers::Singles(x)) => {
                        cells.zip(&x[first..]).for_each(|(cell, x)| *cell = T::of((*x).into()))
                    }
                    Some(Numbers::Doubles(x)) => cells.zip(&x[first..]).for_each(|(cell, x)| *cell = T::of(*x)),
                    None => {}
                }
            }
            out.iter().any(|x| x.is_missing())
        };
        self.has_gap |= tiles.map(write).reduce(|| false, |a, b| a || b);
        Ok(())
    }

    /// The columns of some rows.
    fn columns(&self, rows: impl Iterator<Item = usize> + Clone) -> impl Iterator<Item = ArrayRef> {
        let column = move |at: usize| rows.clone().map(move |row| self.values[row * self.width + at].into());
        (0..self.width).map(move |at| Arc::new(Float64Array::from_iter_values(column(at))) as ArrayRef)
    }

    fn truncate(&mut self, n_rows: usize) {
        self.values.truncate(n_rows * self.width);
        self.values.shrink_to_fit();
    }
}

/// Dense features, without room for more.
fn dense<T: Value>(n_rows: usize, width: usize, mut values: Vec<T>) -> Result<Features<'static>> {
    values.shrink_to_fit();
    Ok(Features::Dense(Dense::new(n_rows, width, T::owned_values(values))?))
}

/// The ends of rows, and the columns and values of their entries.
fn sparse_rows(encoders: &mut [Encoder<'_>], n_rows: usize) -> (Vec<u64>, Vec<u32>, Vec<f32>) {
    let (mut ends, mut indices, mut values) = (Vec::with_capacity(n_rows), Vec::new(), Vec::new());
    for row in 0..n_rows {
        for encoder in &mut *encoders {
            encoder.each(row..row + 1, |_, at, x| {
                if x != 0.0 {
                    indices.push(at as u32);
                    values.push(x as f32);
                }
            });
        }
        ends.push(indices.len() as u64);
    }
    (ends, indices, values)
}
