//! Neighbors of new rows by an index: cells of near rows, which are found once and kept.
//!
//! Rows are divided into disjoint cells (`means.rs`) and lie in memory cell after cell. A new row is
//! compared with the means of groups of cells, with the means of the cells in the nearest groups, and then with the rows of the few cells
//! whose means are nearest, by the kernels of searches; from 16 columns on these rows are rounded to bytes where that is precise. The nearest
//! of them are ranked by exact distances. The number of cells that a row visits follows from queries of a sample of fitted rows, whose true
//! neighbors are known.
//!
//! Under the inner product cells are those of (y, √(M² − ‖y‖²)), M the largest norm, whose Euclidean distances to (x, 0)
//! order the y as products do (Bachrach et al. 2014, §3).
//!
//! Cost of building: carving, an f32 copy of the features, and brute force for the sample. Of a query: about
//! (p·s + 8·p + g)·d multiplications with cells of s ≈ √n/7 rows, p of them visited, in g ≈ √(n/s) groups. Parallel over batches of new rows; the
//! answer for a row does not depend on its batch.

mod cells;
mod means;
mod rows;
mod visits;

use std::ops::Range;

use lapwing_core::parallel::*;
use lapwing_core::{Dense, Error, Features, Result, Run};

pub use cells::{IndexCells, IndexStart};

use self::cells::enough;
use self::means::{Means, augmented, beside, cells_of, means_of};
use self::rows::CellRows;
use self::visits::{Held, Visits};
use crate::knn::distance::{Distances, norms};
use crate::knn::kernels::element::Floats;
use crate::knn::kernels::points::{FloatSource, Points, Source};
use crate::knn::partitions::{byte_scale, is_precise, list_width, may_round};
use crate::knn::recall::Truth;
use crate::knn::rows::Frame;
use crate::knn::{KnnMethod, KnnParams, Metric, Neighbors, memory, zero_rows};

/// Most new rows that a thread works on at a time: so many that about as many as `VISITORS` visit a cell each time it is read from memory.
const BATCH: usize = 8192;
const LARGE_BATCH: usize = 1 << 15;
const VISITORS: usize = 64;
/// Fewest, unless there are no more.
const FEW: usize = 64;
/// Neighbors of a row that is compared with one cell, to tell whether it is covered.
const COVERING: usize = 7;
/// Rows, and values of all rows, beyond which an index saves time.
const MANY: usize = 4096;
const LONG: usize = 250_000;
/// Share of true neighbors that is nearly all.
const NEARLY_ALL: f64 = 0.99;
/// Share of the fitted rows that lie alone: they reach no farther than others, so that they do not reach all rows.
const ALONE: f64 = 0.01;
/// Share of the fitted rows that no other reaches, and how often the distance to the k-th neighbor a row reaches at most.
const BEYOND: f64 = 1e-3;
const FARTHEST: f32 = 2.0;
/// Share of the time of building for the cells.
const CARVED: Range<f64> = 0.0..0.5;

/// Fitted rows, prepared for queries by new rows.
#[derive(Clone, Debug)]
pub struct NeighborIndex {
    cells: IndexCells,
    /// Sizes of the cells, ascending.
    sizes: Vec<u32>,
    frame: Frame,
    rows: Held,
    means: Means,
    n_rows: usize,
    n_cols: usize,
    /// Norms of the fitted rows, if the metric needs them.
    norms: Vec<f64>,
    /// Fitted rows of zeros under the cosine metric.
    zeros: Vec<u32>,
}

impl NeighborIndex {
    /// Whether an index saves time: if [`crate::knn::kneighbors`] searches by partitions, and where it would compare all pairs, but a new
    /// row with all fitted ones takes longer than a visit of cells.
    pub fn pays(features: &Features<'_>, params: &KnnParams) -> bool {
        let Features::Dense(dense) = features else { return false };
        let (n, d, k) = (dense.n_rows(), dense.n_cols(), params.n_neighbors);
        let is_long = || n > MANY && n * d > LONG && k <= memory::MOST_NEIGHBORS;
        params.method.choose(n, d, k) == KnnMethod::Partitions || params.method == KnnMethod::Auto && is_long()
    }

    /// The share of true neighbors that queries find: that of the parameters, and nearly all where the graph of the fitted rows has all.
    fn recall_target(dense: &Dense<'_>, params: &KnnParams) -> f64 {
        match params.method.choose(dense.n_rows(), dense.n_cols(), params.n_neighbors) {
            KnnMethod::Partitions => params.recall_target,
            _ => params.recall_target.max(NEARLY_ALL),
        }
    }

    /// Carves dense `features` and measures how many cells have to be visited for the target recall.
    ///
    /// # Errors
    /// As [`crate::knn::kneighbors`]; [`Error::Shape`] for sparse rows, or a single one.
    pub fn build(features: &Features<'_>, params: &KnnParams, run: &Run) -> Result<Self> {
        params.validate()?;
        features.check(run)?;
        let dense = dense(features)?;
        let n = dense.n_rows();
        if n < 2 {
            return Err(Error::shape("features of the index", "at least two rows", n));
        }
        let frame = Frame::new(dense, params.metric(), run);
        let source = FloatSource { dense, frame: &frame };
        // Cells are some six tenths full.
        let leaf = ((n as f64).sqrt() / 4.0).clamp(64.0, 512.0) as usize;
        let part = run.part(CARVED, "rows carved");
        let mut points = Points::<Floats>::prepare(&source, None, run)?;
        if params.metric() == Metric::InnerProduct {
            points = augmented(&points, frame.longest);
        }
        let cells = cells_of(&points, leaf, &part)?;
        drop(points);
        let recall_target = Self::recall_target(dense, params);
        let few = KnnParams { n_neighbors: params.n_neighbors.min(n - 1), recall_target, ..params.clone() };
        let truth = {
            let distances = run.install(|| Distances::new(features, features, params.metric()));
            Truth::new(&source, &distances, &few, &run.part(CARVED.end..1.0, ""))?
        };
        let mut cells = cells;
        if params.metric() == Metric::Euclidean && may_round(dense.n_cols()) {
            cells.byte_scale = Some(byte_scale(&source, run)?).filter(|&scale| is_precise(scale, &truth));
        }
        let mut index = Self::ready(features, dense, frame, params, cells, run)?;
        index.measure(features, &truth, &few, run)?;
        Ok(index)
    }

    /// The index from `cells` of an earlier one of the same rows, which were checked then.
    ///
    /// # Errors
    /// As [`crate::knn::kneighbors`]; [`Error::Shape`] for sparse rows, or cells that do not hold every row once.
    #[doc(hidden)]
    pub fn from_cells(features: &Features<'_>, params: &KnnParams, cells: IndexCells, run: &Run) -> Result<Self> {
        let dense = dense(features)?;
        cells.check(dense.n_rows(), dense.n_cols())?;
        let frame = match &cells.start {
            Some(IndexStart { center, scale, longest, .. }) => {
                Frame { center: center.clone(), scale: *scale, longest: *longest, metric: params.metric() }
            }
            None => Frame::new(dense, params.metric(), run),
        };
        Self::ready(features, dense, frame, params, cells, run)
    }

    fn ready(
        features: &Features<'_>,
        dense: &Dense<'_>,
        frame: Frame,
        params: &KnnParams,
        mut cells: IndexCells,
        run: &Run,
    ) -> Result<Self> {
        let zeros = zero_rows::find(features, params.metric(), params.zero_rows, run)?;
        let start = match cells.start.take() {
            Some(start) => start,
            None => {
                let (d, source) = (dense.n_cols(), FloatSource { dense, frame: &frame });
                let means = means_of(&cells, d, run, |id, row| {
                    source.copy(id as usize, &mut row[..d])?;
                    if frame.metric == Metric::InnerProduct {
                        row[d] = beside(&row[..d], frame.longest);
                    }
                    Ok(())
                })?;
                IndexStart { center: frame.center.clone(), scale: frame.scale, longest: frame.longest, means }
            }
        };
        let means = Means::new(&start.means, dense.n_cols(), run)?;
        let rows = match cells.byte_scale {
            Some(scale) => Held::Bytes(CellRows::new(cells.len()), scale),
            None => Held::Floats(CellRows::new(cells.len())),
        };
        cells.start = Some(start);
        let norms = run.install(|| norms(features, params.metric()));
        Ok(Self {
            sizes: cells.sizes(),
            cells,
            frame,
            rows,
            means,
            n_rows: dense.n_rows(),
            n_cols: dense.n_cols(),
            norms,
            zeros,
        })
    }

    /// The cells, from which [`NeighborIndex::from_cells`] makes the index again.
    #[doc(hidden)]
    pub fn cells(&self) -> &IndexCells {
        &self.cells
    }

    /// The k nearest of the fitted rows `train` for every row of `new`, a row itself included where it is equal.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `train` has the rows of the index and `new` its columns; as [`crate::knn::query`] else.
    pub fn query(&self, train: &Features<'_>, new: &Features<'_>, params: &KnnParams, run: &Run) -> Result<Neighbors> {
        self.check(train, new, params, run)?;
        self.neighbors(train, new, self.cells.n_probes, None, params, run)
    }

    fn check(&self, train: &Features<'_>, new: &Features<'_>, params: &KnnParams, run: &Run) -> Result<()> {
        crate::knn::check_query(train, new, params, run)?;
        if matches!(new, Features::Sparse(_)) {
            return Err(Error::shape("features", "dense rows, as in the fit", "sparse rows"));
        }
        if train.n_rows() != self.n_rows || train.n_cols() != self.n_cols || params.metric() != self.frame.metric {
            let got = format!("{} × {}", train.n_rows(), train.n_cols());
            let expected = format!("{} × {}", self.n_rows, self.n_cols);
            return Err(Error::shape("features of the index", expected, got));
        }
        Ok(())
    }

    /// How far every fitted row reaches (n): as far beyond its k-th neighbor that nearly every fitted row is within reach of another, but at
    /// most twice as far. Rows that lie alone reach no farther than others.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn reach(&self, train: &Features<'_>, params: &KnnParams, run: &Run) -> Result<Vec<f32>> {
        let found = self.all(train, params, run)?;
        let mut reach = found.last();
        let usual = nth(reach.clone(), 1.0 - ALONE);
        reach.iter_mut().for_each(|reach| *reach = reach.min(usual));
        let ratio = |row: usize| {
            found.row(row).map(|(id, distance)| distance / reach[id as usize]).fold(f32::INFINITY, f32::min)
        };
        // A row whose k neighbors are equal to it divides 0 by 0, which is no number and never the least.
        let ratios = (0..self.n_rows).map(ratio).filter(|ratio| ratio.is_finite()).collect();
        let factor = nth(ratios, 1.0 - BEYOND).clamp(1.0, FARTHEST);
        reach.iter_mut().for_each(|reach| *reach *= factor);
        Ok(reach)
    }

    /// Whether each row of `new` is within `reach` (n) of one of its k nearest fitted rows `train`; and up to seven, the nearest of the cell
    /// it visits.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    ///
    /// # Complexity
    /// That of a query that visits one cell; a whole query for rows that no row of this cell reaches.
    pub fn covers(
        &self,
        train: &Features<'_>,
        new: &Features<'_>,
        reach: &[f32],
        params: &KnnParams,
        run: &Run,
    ) -> Result<(Vec<bool>, Neighbors)> {
        let is_near =
            |found: &Neighbors, row: usize| found.row(row).any(|(id, distance)| distance <= reach[id as usize]);
        self.check(train, new, params, run)?;
        let few = KnnParams { n_neighbors: COVERING.min(params.n_neighbors), ..params.clone() };
        let first = self.neighbors(train, new, 1, None, &few, run)?;
        let mut covered: Vec<bool> = (0..new.n_rows()).map(|row| is_near(&first, row)).collect();
        let open: Vec<u32> = (0..new.n_rows() as u32).filter(|&row| !covered[row as usize]).collect();
        if !open.is_empty() {
            let found = self.query(train, &new.select(&open)?, params, run)?;
            open.iter().enumerate().for_each(|(at, &row)| covered[row as usize] = is_near(&found, at));
        }
        Ok((covered, first))
    }

    /// The k nearest others of every fitted row.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn all(&self, features: &Features<'_>, params: &KnnParams, run: &Run) -> Result<Neighbors> {
        self.neighbors(features, features, self.cells.n_probes, Some(&|row| row as u32), params, run)
    }

    /// Neighbors of the rows of `new` in the nearest `n_probes` cells; `own` is the row of `train` that each of them is, if they are.
    fn neighbors(
        &self,
        train: &Features<'_>,
        new: &Features<'_>,
        n_probes: usize,
        own: Option<&(dyn Fn(usize) -> u32 + Sync)>,
        params: &KnnParams,
        run: &Run,
    ) -> Result<Neighbors> {
        let (m, k) = (new.n_rows(), params.n_neighbors);
        let n_probes = enough(&self.sizes, n_probes, k + usize::from(own.is_some()));
        let new_zeros = zero_rows::find(new, params.metric(), params.zero_rows, run)?;
        let distances = run.install(|| Distances::with_norms(new, train, params.metric(), &self.norms));
        let visits = Visits {
            cells: &self.cells,
            rows: &self.rows,
            fitted: FloatSource { dense: dense(train)?, frame: &self.frame },
            means: &self.means,
            new: dense(new)?,
            frame: &self.frame,
            distances,
            k,
            width: list_width(k, self.cells.byte_scale.is_some(), params.recall_target),
            n_probes,
            own,
            run,
        };
        let mut found = Neighbors::none(m, k);
        let most = (VISITORS * self.cells.len() / n_probes).clamp(BATCH, LARGE_BATCH);
        let batch = m.div_ceil(run.threads()).clamp(FEW, most);
        let done = run.counter(m, "rows");
        run.install(|| {
            let parts = found.indices.par_chunks_mut(batch * k).zip(found.distances.par_chunks_mut(batch * k));
            parts.enumerate().try_for_each(|(at, (ids, distances))| {
                let first = at * batch;
                visits.batch(first..first + ids.len() / k, ids, distances)?;
                done.add(ids.len() / k);
                Ok(())
            })?;
            zero_rows::merge(&mut found, &new_zeros, &self.zeros, own.is_some());
            Ok::<_, Error>(())
        })?;
        found.complete(train, new)?;
        Ok(found)
    }

    /// Finds how many cells hold the target share of true neighbors, by queries of a sample of fitted rows.
    fn measure(&mut self, features: &Features<'_>, truth: &Truth, params: &KnnParams, run: &Run) -> Result<()> {
        let ids: Vec<u32> = truth.rows.iter().map(|&row| row as u32).collect();
        let sample = features.select(&ids)?;
        let silent = run.quiet();
        // A query of so many neighbors visits these at least. The number is kept, so that a query of fewer neighbors visits them too.
        let mut n_probes = enough(&self.sizes, 1, params.n_neighbors + 1);
        loop {
            let found = self.neighbors(features, &sample, n_probes, Some(&|row| ids[row]), params, &silent)?;
            let (recall, error) = truth.recall(&found.distances, params.n_neighbors);
            (self.cells.n_probes, self.cells.recall, self.cells.recall_error) = (n_probes, recall, error);
            // The measured recall may be too high by its standard error.
            if recall - error >= params.recall_target || recall == 1.0 || n_probes == self.cells.len() {
                return Ok(());
            }
            n_probes = (n_probes + 1 + n_probes / 8).min(self.cells.len());
        }
    }
}

/// The value that a `share` of the values is not above; 0 of none.
fn nth(mut values: Vec<f32>, share: f64) -> f32 {
    let at = ((values.len() as f64 * share) as usize).min(values.len().saturating_sub(1));
    if values.is_empty() { 0.0 } else { *values.select_nth_unstable_by(at, f32::total_cmp).1 }
}

fn dense<'a, 'b>(features: &'b Features<'a>) -> Result<&'b Dense<'a>> {
    match features {
        Features::Dense(dense) => Ok(dense),
        Features::Sparse(_) => Err(Error::shape("features of the index", "dense rows", "sparse rows")),
    }
}

#[cfg(test)]
mod tests;
