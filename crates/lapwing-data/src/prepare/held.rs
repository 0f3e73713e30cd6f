//! The cells of a table in memory, until its recipe is known.
//!
//! Columns of different kinds are held as they were read, batch by batch. Numbers alone are held in rows: if the recipe leaves them as
//! they are, these rows are the features, and no copy is made. Else they are encoded from the last row to the first, and what is encoded
//! is freed, so that memory is needed for about the larger of the two.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, Float32Array, Float64Array};
use rayon::prelude::*;

use super::Recipe;
use super::apply::{foreign, sum};
use super::encode::{Feature, Unlike, write_dense};
use crate::read::table::ColumnType;
use crate::{Features, Result, Run, memory};

/// Rows that a thread writes or encodes at a time.
const TILE_ROWS: usize = 1 << 11;

/// Parts in which rows are encoded and freed.
const PARTS: usize = 16;

/// Cells of the columns that are read.
pub(super) enum Held {
    /// Their arrays, batch by batch.
    Arrays(Vec<Vec<ArrayRef>>),
    /// Numbers that single precision keeps.
    Singles(NumberRows<f32>),
    /// Other numbers.
    Doubles(NumberRows<f64>),
}

/// Numbers, row-major.
pub(super) struct NumberRows<T> {
    width: usize,
    values: Vec<T>,
}

/// A type in which numbers are held.
pub(super) trait HeldNumber: Feature {
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

impl Held {
    /// No cells yet, of columns of `types`. `are_single` says that single precision keeps all numbers; `n_rows` is their number if it is
    /// known.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge).
    pub(super) fn new(path: &Path, types: &[ColumnType], are_single: bool, n_rows: Option<usize>) -> Result<Self> {
        let width = types.len();
        if width == 0 || types.iter().any(|kind| *kind != ColumnType::Number) {
            return Ok(Self::Arrays(Vec::new()));
        }
        let room = n_rows.unwrap_or(0).saturating_mul(width);
        Ok(match are_single {
            true => Self::Singles(NumberRows { width, values: memory::with_capacity(&shown(path), room, ADVICE)? }),
            false => Self::Doubles(NumberRows { width, values: memory::with_capacity(&shown(path), room, ADVICE)? }),
        })
    }

    /// Takes the next rows.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge).
    pub(super) fn push(&mut self, path: &Path, arrays: Vec<ArrayRef>) -> Result<()> {
        match self {
            Self::Arrays(batches) => batches.push(arrays),
            Self::Singles(rows) => rows.push(path, &arrays)?,
            Self::Doubles(rows) => rows.push(path, &arrays)?,
        }
        Ok(())
    }

    /// The features of the rows `rows`, ascending; `columns` are the places of the columns that are read. `None` if they are not those
    /// that the recipe reads.
    pub(super) fn some_rows(&self, recipe: &Recipe, columns: &[usize], rows: &[usize]) -> Option<Vec<f64>> {
        let width = recipe.n_features();
        let mut out = vec![0.0; rows.len() * width];
        match self {
            Self::Arrays(batches) => {
                let (mut left, mut first) = (rows.iter().zip(out.chunks_exact_mut(width.max(1))).peekable(), 0);
                for batch in batches {
                    let end = first + batch.first().map_or(0, |array| array.len());
                    let mut encoders = None;
                    while let Some((row, out)) = left.next_if(|(row, _)| **row < end) {
                        let encoders = match &mut encoders {
                            Some(encoders) => encoders,
                            none => none.insert(recipe.encoders(batch, columns)?),
                        };
                        encoders.iter_mut().for_each(|encoder| encoder.each(row - first, |at, x| out[at] = x));
                    }
                    first = end;
                }
            }
            Self::Singles(held) => write_rows(recipe, &held.columns(rows.iter().copied()), columns, &mut out)?,
            Self::Doubles(held) => write_rows(recipe, &held.columns(rows.iter().copied()), columns, &mut out)?,
        }
        Some(out)
    }
}

/// Advice where memory is short.
pub(super) const ADVICE: &str = "give fewer rows or columns";

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn write_rows(recipe: &Recipe, arrays: &[ArrayRef], columns: &[usize], out: &mut [f64]) -> Option<()> {
    let n_rows = arrays.first().map_or(0, |array| array.len());
    write_dense(&mut recipe.encoders(arrays, columns)?, n_rows, recipe.n_features(), out);
    Some(())
}

impl<T: HeldNumber> NumberRows<T> {
    fn n_rows(&self) -> usize {
        self.values.len() / self.width
    }

    fn push(&mut self, path: &Path, arrays: &[ArrayRef]) -> Result<()> {
        let (start, more) = (self.values.len(), arrays.first().map_or(0, |array| array.len()) * self.width);
        if self.values.capacity() - start < more {
            let room = more.max(start / 4);
            memory::check_memory(&shown(path), (room * size_of::<T>()) as u64, ADVICE)?;
            memory::reserve(&shown(path), &mut self.values, room, ADVICE)?;
        }
        self.values.resize(start + more, T::default());
        let tiles = self.values[start..].par_chunks_mut(TILE_ROWS * self.width).enumerate();
        tiles.for_each(|(tile, out)| {
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
        });
        Ok(())
    }

    /// The columns of some rows.
    fn columns(&self, rows: impl Iterator<Item = usize> + Clone) -> Vec<ArrayRef> {
        let column = |at: usize| T::array(rows.clone().map(|row| self.values[row * self.width + at]).collect());
        (0..self.width).map(column).collect()
    }

    /// The features of all rows, as values of a type.
    pub(super) fn encode<F: Feature>(
        mut self,
        recipe: &Recipe,
        path: &Path,
        columns: &[usize],
        run: &Run,
    ) -> Result<(Vec<F>, Vec<Unlike>)> {
        let (n_rows, width) = (self.n_rows(), recipe.n_features());
        let mut out: Vec<F> = memory::zeros(&shown(path), n_rows.saturating_mul(width), ADVICE)?;
        let mut unlike = Vec::new();
        let part = n_rows.div_ceil(PARTS).next_multiple_of(TILE_ROWS);
        for start in (0..n_rows).step_by(part).rev() {
            let rows = start..n_rows.min(start + part);
            let tiles = out[rows.start * width..rows.end * width].par_chunks_mut(TILE_ROWS * width).enumerate();
            let encode = |(tile, out): (usize, &mut [F])| -> Result<Vec<Unlike>> {
                run.check()?;
                let (first, n) = (start + tile * TILE_ROWS, out.len() / width);
                let arrays = self.columns(first..first + n);
                let mut encoders = recipe.encoders(&arrays, columns).ok_or_else(|| foreign(path))?;
                write_dense(&mut encoders, n, width, out);
                Ok(encoders.into_iter().map(|encoder| encoder.unlike).collect())
            };
            let found: Vec<Result<Vec<Unlike>>> = run.install(|| tiles.map(encode).collect());
            unlike.extend(found.into_iter().collect::<Result<Vec<_>>>()?);
            self.values.truncate(start * self.width);
            self.values.shrink_to_fit();
        }
        Ok((out, sum(unlike)))
    }

    /// The numbers as they are, if that is what the recipe makes of them.
    pub(super) fn as_they_are(&mut self, recipe: &Recipe) -> Option<Vec<T>> {
        let is_same = recipe.is_plain() && recipe.n_features() == self.width;
        is_same.then(|| {
            self.values.shrink_to_fit();
            std::mem::take(&mut self.values)
        })
    }
}

impl Recipe {
    /// Encodes cells in memory, which are freed on the way; `columns` are the places of what was read among the columns of the recipe.
    pub(super) fn encode(
        &self,
        path: &Path,
        held: Held,
        columns: &[usize],
        run: &Run,
    ) -> Result<(Features<'static>, Vec<Unlike>)> {
        match held {
            Held::Arrays(batches) => self.encode_batches(path, batches, columns, run),
            Held::Singles(mut rows) => {
                let n_rows = rows.n_rows();
                let (values, unlike) = match rows.as_they_are(self) {
                    Some(values) => (values, Vec::new()),
                    None => rows.encode(self, path, columns, run)?,
                };
                Ok((Features::from_f32(n_rows, self.n_features(), values)?, unlike))
            }
            Held::Doubles(rows) if !self.is_double => {
                let n_rows = rows.n_rows();
                let (values, unlike) = rows.encode(self, path, columns, run)?;
                Ok((Features::from_f32(n_rows, self.n_features(), values)?, unlike))
            }
            Held::Doubles(mut rows) => {
                let n_rows = rows.n_rows();
                let (values, unlike) = match rows.as_they_are(self) {
                    Some(values) => (values, Vec::new()),
                    None => rows.encode(self, path, columns, run)?,
                };
                Ok((Features::from_f64(n_rows, self.n_features(), values)?, unlike))
            }
        }
    }
}
