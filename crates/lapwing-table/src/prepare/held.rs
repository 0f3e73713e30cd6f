//! The cells of a table in memory, until its recipe is known.
//!
//! Numbers are held in rows, other columns as they were read, batch by batch. If there are only numbers, and the recipe leaves them as
//! they are, the rows are the features, and no copy is made. Else cells are encoded from the last row to the first, and what is encoded is
//! freed, so that memory is needed for about the larger of cells and features.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, Float32Array, Float64Array, UInt32Array};
use arrow_select::take::take;
use rayon::prelude::*;

use super::Recipe;
use super::encode::{Encoder, Feature, Unlike, write_dense};
use crate::read::table::ColumnType;
use lapwing_core::{Csr, Error, Features, Result, Run, memory};

/// Rows that a thread writes or encodes at a time.
const TILE_ROWS: usize = 1 << 11;

/// Parts in which rows are encoded and freed.
const PARTS: usize = 16;

/// Advice where memory is short.
const ADVICE: &str = "give fewer rows or columns";

/// Cells of the columns that are read.
pub(super) struct Held {
    kinds: Vec<Kind>,
    singles: NumberRows<f32>,
    doubles: NumberRows<f64>,
    batches: Vec<Batch>,
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

/// The columns of some rows that hold no numbers.
struct Batch {
    first_row: usize,
    others: Vec<ArrayRef>,
}

/// Numbers, row-major.
struct NumberRows<T> {
    width: usize,
    values: Vec<T>,
    /// Whether one is missing, or counts as such.
    has_gap: bool,
}

/// A type in which numbers are held.
trait HeldNumber: Feature {
    fn array(values: Vec<Self>) -> ArrayRef;
}

impl HeldNumber for f32 {
    fn array(values: Vec<Self>) -> ArrayRef {
        Arc::new(Float32Array::from(values))
    }
}

impl HeldNumber for f64 {
    fn array(values: Vec<Self>) -> ArrayRef {
        Arc::new(Float64Array::from(values))
    }
}

/// Consecutive rows of one batch.
#[derive(Clone, Copy)]
struct Tile {
    row: usize,
    n_rows: usize,
    batch: usize,
}

/// What cells become, and where: a table in messages, and the places of the columns that are read among those of the recipe.
#[derive(Clone, Copy)]
pub(super) struct Encoding<'e> {
    pub recipe: &'e Recipe,
    pub path: &'e Path,
    pub columns: &'e [usize],
}

impl Encoding<'_> {
    /// Calls `write` with the encoders of arrays, and returns what was unlike the fit.
    fn with_encoders<R>(
        &self,
        arrays: &[ArrayRef],
        write: impl FnOnce(&mut [Encoder<'_>]) -> R,
    ) -> Result<(R, Vec<Unlike>)> {
        let mut encoders = self.recipe.encoders(arrays, self.columns).ok_or_else(|| foreign(self.path))?;
        let written = write(&mut encoders);
        Ok((written, encoders.into_iter().map(|encoder| encoder.unlike).collect()))
    }
}

impl Held {
    /// No cells yet, of columns of `types`. `are_single` says of each whether single precision keeps its numbers; `n_rows` is the number
    /// of rows if it is known.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub(super) fn new(path: &Path, types: &[ColumnType], are_single: &[bool], n_rows: Option<usize>) -> Result<Self> {
        let kind = |(kind, is_single): (&ColumnType, &bool)| match (kind, is_single) {
            (ColumnType::Number, true) => Kind::Single,
            (ColumnType::Number, false) => Kind::Double,
            _ => Kind::Other,
        };
        let kinds: Vec<Kind> = types.iter().zip(are_single).map(kind).collect();
        let width = |of: Kind| kinds.iter().filter(|kind| **kind == of).count();
        let singles = NumberRows::new(path, width(Kind::Single), n_rows)?;
        let doubles = NumberRows::new(path, width(Kind::Double), n_rows)?;
        Ok(Self { kinds, singles, doubles, batches: Vec::new(), n_rows: 0 })
    }

    /// Takes the next rows.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub(super) fn push(&mut self, path: &Path, arrays: Vec<ArrayRef>) -> Result<()> {
        let n_rows = arrays.first().map_or(0, |array| array.len());
        let of = |of: Kind| -> Vec<ArrayRef> {
            let same = self.kinds.iter().zip(&arrays).filter(|(kind, _)| **kind == of);
            same.map(|(_, array)| array.clone()).collect()
        };
        let (singles, doubles, others) = (of(Kind::Single), of(Kind::Double), of(Kind::Other));
        self.singles.push(path, &singles)?;
        self.doubles.push(path, &doubles)?;
        self.batches.push(Batch { first_row: self.n_rows, others });
        self.n_rows += n_rows;
        Ok(())
    }

    /// All columns of some rows, those of the batch that are not numbers given.
    fn arrays(&self, rows: impl Iterator<Item = usize> + Clone, others: Vec<ArrayRef>) -> Vec<ArrayRef> {
        let mut singles = self.singles.columns(rows.clone()).into_iter();
        let mut doubles = self.doubles.columns(rows).into_iter();
        let mut others = others.into_iter();
        let next = |kind: &Kind| match kind {
            Kind::Single => singles.next(),
            Kind::Double => doubles.next(),
            Kind::Other => others.next(),
        };
        self.kinds.iter().filter_map(next).collect()
    }

    fn tile_arrays(&self, tile: Tile) -> Vec<ArrayRef> {
        let batch = &self.batches[tile.batch];
        let others = batch.others.iter().map(|array| array.slice(tile.row - batch.first_row, tile.n_rows)).collect();
        self.arrays(tile.row..tile.row + tile.n_rows, others)
    }

    /// The features of the rows `rows`, ascending. `None` if the columns are not those that the recipe reads.
    pub(super) fn some_rows(&self, recipe: &Recipe, columns: &[usize], rows: &[usize]) -> Option<Vec<f64>> {
        let width = recipe.n_features();
        let mut out = vec![0.0; rows.len() * width];
        let (mut rest, mut left) = (&mut out[..], rows);
        for (at, batch) in self.batches.iter().enumerate() {
            let end = self.batches.get(at + 1).map_or(self.n_rows, |next| next.first_row);
            let here = left.split_off(..left.partition_point(|row| *row < end))?;
            let room = rest.split_off_mut(..here.len() * width)?;
            if here.is_empty() {
                continue;
            }
            let places = here.iter().map(|row| (row - batch.first_row) as u32).collect::<UInt32Array>();
            let others =
                batch.others.iter().map(|array| take(array, &places, None).ok()).collect::<Option<Vec<_>>>()?;
            let arrays = self.arrays(here.iter().copied(), others);
            write_dense(&mut recipe.encoders(&arrays, columns)?, here.len(), width, room);
        }
        Some(out)
    }

    /// Encodes all cells, which are freed on the way.
    ///
    /// # Errors
    /// [`Error::Format`] for columns of other types than the recipe reads; [`Error::TooLarge`]; [`Error::Interrupted`].
    pub(super) fn encode(mut self, encoding: Encoding<'_>, run: &Run) -> Result<(Features<'static>, Vec<Unlike>)> {
        let (n_rows, recipe) = (self.n_rows, encoding.recipe);
        let width = recipe.n_features();
        // New rows may have gaps where the fit had none.
        let has_gap = self.singles.has_gap || self.doubles.has_gap;
        let are_kept = recipe.is_plain() && width == self.kinds.len() && (!has_gap || recipe.keeps_gaps());
        let all = |of: Kind| are_kept && self.kinds.iter().all(|kind| *kind == of);
        if all(Kind::Single) && !recipe.is_double {
            return Ok((Features::from_f32(n_rows, width, self.singles.finished())?, Vec::new()));
        }
        if all(Kind::Double) && recipe.is_double {
            return Ok((Features::from_f64(n_rows, width, self.doubles.finished())?, Vec::new()));
        }
        match (recipe.is_sparse, recipe.is_double) {
            (true, _) => self.encode_sparse(encoding, run),
            (false, true) => {
                let (values, unlike) = self.encode_dense::<f64>(encoding, run)?;
                Ok((Features::from_f64(n_rows, width, values)?, unlike))
            }
            (false, false) => {
                let (values, unlike) = self.encode_dense::<f32>(encoding, run)?;
                Ok((Features::from_f32(n_rows, width, values)?, unlike))
            }
        }
    }

    fn encode_dense<F: Feature>(&mut self, encoding: Encoding<'_>, run: &Run) -> Result<(Vec<F>, Vec<Unlike>)> {
        let width = encoding.recipe.n_features();
        let mut out: Vec<F> = memory::zeros(&shown(encoding.path), self.n_rows.saturating_mul(width), ADVICE)?;
        let (mut rest, mut all, mut tiles) = (&mut out[..], Vec::new(), self.tiles());
        while let Some(part) = self.last_part(&mut tiles) {
            let mut room = rest.split_off_mut(part[0].row * width..).unwrap_or_default();
            let cut = |tile: Tile| (tile, room.split_off_mut(..tile.n_rows * width).unwrap_or_default());
            let pieces: Vec<(Tile, &mut [F])> = part.iter().copied().map(cut).collect();
            let held = &*self;
            let encode = |(tile, out): (Tile, &mut [F])| {
                run.check()?;
                let arrays = held.tile_arrays(tile);
                encoding.with_encoders(&arrays, |encoders| write_dense(encoders, tile.n_rows, width, out))
            };
            let found: Vec<Result<((), Vec<Unlike>)>> = run.install(|| pieces.into_par_iter().map(encode).collect());
            for unlike in found.into_iter().rev() {
                all.push(unlike?.1);
            }
            self.free_from(part[0].row);
        }
        all.reverse();
        Ok((out, sum(all)))
    }

    fn encode_sparse(mut self, encoding: Encoding<'_>, run: &Run) -> Result<(Features<'static>, Vec<Unlike>)> {
        let (mut encoded, mut tiles) = (Vec::new(), self.tiles());
        while let Some(part) = self.last_part(&mut tiles) {
            let held = &self;
            let encode = |tile: Tile| {
                run.check()?;
                let arrays = held.tile_arrays(tile);
                encoding.with_encoders(&arrays, |encoders| sparse_rows(encoders, tile.n_rows))
            };
            let first_row = part[0].row;
            let found: Vec<Result<(SparseRows, Vec<Unlike>)>> =
                run.install(|| part.into_par_iter().map(encode).collect());
            encoded.extend(found.into_iter().rev());
            self.free_from(first_row);
        }
        let (mut indptr, mut indices, mut values, mut unlike) = (vec![0u64], Vec::new(), Vec::new(), Vec::new());
        for part in encoded.into_iter().rev() {
            let ((ends, part_indices, part_values), part_unlike) = part?;
            let before = indices.len() as u64;
            indptr.extend(ends.into_iter().map(|end| before + end));
            indices.extend(part_indices);
            values.extend(part_values);
            unlike.push(part_unlike);
        }
        let rows = Csr::new(self.n_rows, encoding.recipe.n_features(), indptr, indices, values)?;
        Ok((Features::Sparse(rows.into()), sum(unlike)))
    }

    /// All rows, in tiles.
    fn tiles(&self) -> Vec<Tile> {
        let ends = self.batches.iter().skip(1).map(|batch| batch.first_row).chain([self.n_rows]);
        let of_batch = |(batch, (held, end)): (usize, (&Batch, usize))| {
            let starts = (held.first_row..end).step_by(TILE_ROWS);
            starts.map(move |row| Tile { row, n_rows: TILE_ROWS.min(end - row), batch }).collect::<Vec<_>>()
        };
        self.batches.iter().zip(ends).enumerate().flat_map(of_batch).collect()
    }

    /// Takes the last tiles, about a [`PARTS`]-th of all rows; `None` if none are left.
    fn last_part(&self, tiles: &mut Vec<Tile>) -> Option<Vec<Tile>> {
        let end = tiles.last().map(|tile| tile.row + tile.n_rows)?;
        let start = end.saturating_sub((self.n_rows / PARTS).max(4 * TILE_ROWS));
        Some(tiles.split_off(tiles.partition_point(|tile| tile.row < start)))
    }

    /// Frees the rows from `row` on.
    fn free_from(&mut self, row: usize) {
        self.singles.truncate(row);
        self.doubles.truncate(row);
        while self.batches.pop_if(|batch| batch.first_row >= row).is_some() {}
    }
}

impl<T: HeldNumber> NumberRows<T> {
    fn new(path: &Path, width: usize, n_rows: Option<usize>) -> Result<Self> {
        let room = n_rows.unwrap_or(0).saturating_mul(width);
        Ok(Self { width, values: memory::with_capacity(&shown(path), room, ADVICE)?, has_gap: false })
    }

    fn push(&mut self, path: &Path, arrays: &[ArrayRef]) -> Result<()> {
        let (start, more) = (self.values.len(), arrays.first().map_or(0, |array| array.len()) * self.width);
        if self.values.capacity() - start < more {
            let room = more.max(start / 4);
            memory::check_memory(&shown(path), (room * size_of::<T>()) as u64, ADVICE)?;
            memory::reserve(&shown(path), &mut self.values, room, ADVICE)?;
        }
        self.values.resize(start + more, T::default());
        let tiles = self.values[start..].par_chunks_mut(TILE_ROWS * self.width.max(1)).enumerate();
        let write = |(tile, out): (usize, &mut [T])| {
            for (at, array) in arrays.iter().enumerate() {
                let cells = out[at..].iter_mut().step_by(self.width);
                let first = tile * TILE_ROWS;
                match array.as_primitive_opt::<Float64Type>() {
                    Some(array) => cells.zip(&array.values()[first..]).for_each(|(cell, x)| *cell = T::of(*x)),
                    None => {
                        let values = array.as_primitive_opt::<Float32Type>().map_or(&[][..], |array| array.values());
                        let values = values.get(first..).unwrap_or_default();
                        cells.zip(values).for_each(|(cell, x)| *cell = T::of(f64::from(*x)));
                    }
                }
            }
            out.iter().any(|x| x.is_missing())
        };
        self.has_gap |= tiles.map(write).reduce(|| false, |a, b| a || b);
        Ok(())
    }

    /// The columns of some rows.
    fn columns(&self, rows: impl Iterator<Item = usize> + Clone) -> Vec<ArrayRef> {
        let column = |at: usize| T::array(rows.clone().map(|row| self.values[row * self.width + at]).collect());
        (0..self.width).map(column).collect()
    }

    fn truncate(&mut self, n_rows: usize) {
        self.values.truncate(n_rows * self.width);
        self.values.shrink_to_fit();
    }

    /// The numbers, without room for more.
    fn finished(mut self) -> Vec<T> {
        self.values.shrink_to_fit();
        self.values
    }
}

/// The ends of rows, and the columns and values of their entries.
type SparseRows = (Vec<u64>, Vec<u32>, Vec<f32>);

fn sparse_rows(encoders: &mut [Encoder<'_>], n_rows: usize) -> SparseRows {
    let (mut ends, mut indices, mut values) = (Vec::with_capacity(n_rows), Vec::new(), Vec::new());
    for row in 0..n_rows {
        for encoder in &mut *encoders {
            encoder.each(row, |at, x| {
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

/// The sums of counts of all parts.
fn sum(parts: Vec<Vec<Unlike>>) -> Vec<Unlike> {
    let mut all: Vec<Unlike> = Vec::new();
    for part in parts {
        all.resize(part.len().max(all.len()), Unlike::default());
        all.iter_mut().zip(part).for_each(|(all, part)| all.add(part));
    }
    all
}

/// The error for arrays that are not of the types of a recipe.
pub(super) fn foreign(path: &Path) -> Error {
    Error::format(path, None, "the columns are not of the types that the recipe reads")
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
