//! Columns as features by a recipe: of the rows of its fit, and of new rows.

use std::path::Path;

use arrow_array::{Array, ArrayRef};
use rayon::prelude::*;

use super::columns::unfit_cells;
use super::encode::{Encoder, Feature, Unlike, write_dense};
use super::held::{ADVICE, Held};
use super::{Applied, ColumnRecipe, Recipe, summary};
use crate::read::table::{ColumnType, Tally, no_rows};
use crate::read::{ReadOptions, TableFile};
use crate::{Csr, Error, Features, Result, Run, Warning, memory};

impl Recipe {
    /// The features of new rows. Columns are found by their names, or by `columns`, the names that the used columns have in this table;
    /// other columns of the table are not read.
    ///
    /// # Errors
    /// [`Error::Format`] naming columns that are missing; [`Error::Shape`] for another number of `columns`; as [`TableFile::open`];
    /// [`Error::Interrupted`].
    pub fn apply(&self, table: &TableFile, columns: Option<&[String]>, run: &Run) -> Result<Applied> {
        let (places, types) = self.places(table, columns)?;
        let mut rows = table.scan(&places, &types)?;
        let are_single = places.iter().all(|&at| table.is_single(at));
        let mut held = Held::new(table.path(), &types, are_single, table.n_rows())?;
        while let Some(arrays) = rows.next(run)? {
            run.install(|| held.push(table.path(), arrays))?;
        }
        if rows.n_rows() == 0 {
            return Err(no_rows(table.path()));
        }
        // A column that no longer holds what it held is refused: all but a few of its cells must be of its kind.
        let is_other = |tally: &Tally| !tally.are_few_unfit();
        if let Some(error) = unfit_cells(table, &places, rows.tallies(), rows.n_rows(), is_other) {
            return Err(error);
        }
        let used = self.used_places();
        let (features, unlike) = self.encode(table.path(), held, &used, run)?;
        Ok(Applied { features, warnings: self.warnings(&used, &unlike, rows.tallies()) })
    }

    /// Places of the used columns among those of the recipe.
    pub(super) fn used_places(&self) -> Vec<usize> {
        (0..self.columns.len()).filter(|&at| self.columns[at].step.width() > 0).collect()
    }

    /// Places in a table, and types, of the used columns.
    pub(super) fn places(
        &self,
        table: &TableFile,
        columns: Option<&[String]>,
    ) -> Result<(Vec<usize>, Vec<ColumnType>)> {
        let used: Vec<&ColumnRecipe> = self.used_places().into_iter().map(|at| &self.columns[at]).collect();
        let names = match columns {
            None => used.iter().map(|column| column.name.clone()).collect(),
            Some(columns) if columns.len() == used.len() => columns.to_vec(),
            Some(columns) => {
                let expected = format!("{} columns, those of the fit", used.len());
                return Err(Error::shape("the list of columns", expected, format!("{} columns", columns.len())));
            }
        };
        let options = ReadOptions { columns: Some(names), ..ReadOptions::default() };
        let places = crate::read::choose(table.path(), table.names(), &options)?.features;
        let types = used.iter().map(|column| column.kind.column_type().unwrap_or(ColumnType::Text)).collect();
        Ok((places, types))
    }

    /// Encodes columns in memory, each batch of which is freed when it is done.
    pub(super) fn encode_batches(
        &self,
        path: &Path,
        batches: Vec<Vec<ArrayRef>>,
        columns: &[usize],
        run: &Run,
    ) -> Result<(Features<'static>, Vec<Unlike>)> {
        let n_rows = batches.iter().filter_map(|batch| batch.first()).map(|array| array.len()).sum();
        match (self.is_sparse, self.is_double) {
            (true, _) => self.encode_sparse(path, batches, n_rows, columns, run),
            (false, true) => {
                let (values, unlike) = self.encode_dense::<f64>(path, batches, n_rows, columns, run)?;
                Ok((Features::from_f64(n_rows, self.n_features(), values)?, unlike))
            }
            (false, false) => {
                let (values, unlike) = self.encode_dense::<f32>(path, batches, n_rows, columns, run)?;
                Ok((Features::from_f32(n_rows, self.n_features(), values)?, unlike))
            }
        }
    }

    pub(super) fn encoders<'a>(&'a self, arrays: &'a [ArrayRef], columns: &[usize]) -> Option<Vec<Encoder<'a>>> {
        let widths: Vec<usize> = self.columns.iter().map(|column| column.step.width()).collect();
        let first = |at: usize| widths[..at].iter().sum();
        let filled = self.gaps.as_ref().map_or_else(Vec::new, |gaps| gaps.filled(arrays, columns));
        let filled = filled.into_iter().chain(std::iter::repeat(None));
        let used = columns.iter().zip(arrays).zip(filled).filter(|((at, _), _)| widths[**at] > 0);
        used.map(|((&at, array), filled)| Encoder::new(&self.columns[at].step, array, first(at), filled)).collect()
    }

    /// Calls `write` with the encoders of a batch, and returns what was unlike the fit.
    fn with_encoders<R>(
        &self,
        path: &Path,
        batch: &[ArrayRef],
        columns: &[usize],
        run: &Run,
        write: impl FnOnce(&mut [Encoder<'_>]) -> R,
    ) -> Result<(R, Vec<Unlike>)> {
        run.check()?;
        let mut encoders = self.encoders(batch, columns).ok_or_else(|| foreign(path))?;
        let written = write(&mut encoders);
        Ok((written, encoders.into_iter().map(|encoder| encoder.unlike).collect()))
    }

    fn encode_dense<T: Feature>(
        &self,
        path: &Path,
        batches: Vec<Vec<ArrayRef>>,
        n_rows: usize,
        columns: &[usize],
        run: &Run,
    ) -> Result<(Vec<T>, Vec<Unlike>)> {
        let width = self.n_features();
        let what = path.display().to_string();
        let mut out: Vec<T> = memory::zeros(&what, n_rows.saturating_mul(width), ADVICE)?;
        let mut rest = &mut out[..];
        let mut parts = Vec::with_capacity(batches.len());
        for batch in batches {
            let rows = batch.first().map_or(0, |array| array.len());
            parts.push((batch, rows, rest.split_off_mut(..rows * width).unwrap_or_default()));
        }
        let encode = |(batch, rows, out): (Vec<ArrayRef>, usize, &mut [T])| {
            self.with_encoders(path, &batch, columns, run, |encoders| write_dense(encoders, rows, width, out))
        };
        let found: Vec<Result<((), Vec<Unlike>)>> = run.install(|| parts.into_par_iter().map(encode).collect());
        let unlike = found.into_iter().map(|found| found.map(|(_, unlike)| unlike)).collect::<Result<_>>()?;
        Ok((out, sum(unlike)))
    }

    fn encode_sparse(
        &self,
        path: &Path,
        batches: Vec<Vec<ArrayRef>>,
        n_rows: usize,
        columns: &[usize],
        run: &Run,
    ) -> Result<(Features<'static>, Vec<Unlike>)> {
        let encode = |batch: Vec<ArrayRef>| {
            let rows = batch.first().map_or(0, |array| array.len());
            self.with_encoders(path, &batch, columns, run, |encoders| sparse_rows(encoders, rows))
        };
        let encoded: Vec<Result<(SparseRows, Vec<Unlike>)>> =
            run.install(|| batches.into_par_iter().map(encode).collect());
        let (mut indptr, mut indices, mut values, mut unlike) = (vec![0u64], Vec::new(), Vec::new(), Vec::new());
        for part in encoded {
            let ((ends, part_indices, part_values), part_unlike) = part?;
            let before = indices.len() as u64;
            indptr.extend(ends.into_iter().map(|end| before + end));
            indices.extend(part_indices);
            values.extend(part_values);
            unlike.push(part_unlike);
        }
        let rows = Csr::new(n_rows, self.n_features(), indptr, indices, values)?;
        Ok((Features::Sparse(rows.into()), sum(unlike)))
    }

    /// What is unlike the fit in new rows; `columns` are the places of the columns that were read.
    pub(super) fn warnings(&self, columns: &[usize], unlike: &[Unlike], tallies: &[Tally]) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (place, (&at, unlike)) in columns.iter().zip(unlike).enumerate() {
            let column = || self.columns[at].name.clone();
            if let Some(first) = &unlike.first_unknown {
                warnings.push(Warning::UnknownLevels {
                    column: column(),
                    n_cells: unlike.n_unknown,
                    first: first.clone(),
                });
            }
            if unlike.n_gaps > 0 {
                warnings.push(Warning::NewGaps { column: column(), n_cells: unlike.n_gaps });
            }
            if let Some((tally, first)) =
                tallies.get(place).and_then(|tally| Some((tally, tally.first_unfit.as_ref()?)))
            {
                let kind = summary::a_kind(&self.columns[at].kind);
                let (n_cells, first, place) = (tally.unfit, first.text.clone(), first.place());
                warnings.push(Warning::UnfitCells { column: column(), n_cells, kind, first, place });
            }
        }
        warnings
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

/// The sums of counts of all batches.
pub(super) fn sum(batches: Vec<Vec<Unlike>>) -> Vec<Unlike> {
    let mut all: Vec<Unlike> = Vec::new();
    for batch in batches {
        all.resize(batch.len().max(all.len()), Unlike::default());
        all.iter_mut().zip(batch).for_each(|(all, batch)| all.add(batch));
    }
    all
}

/// The error for arrays that are not of the types of a recipe.
pub(super) fn foreign(path: &Path) -> Error {
    Error::format(path, None, "the columns are not of the types that the recipe reads")
}
