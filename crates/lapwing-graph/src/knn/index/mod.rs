//! Neighbors of new rows by an index: cells of near rows, which are found once and kept.
//!
//! Rows are carved into disjoint cells ([`crate::knn::partitions::carve`]) and lie in memory cell after cell. A new row is
//! compared with the centroids of all cells, by one matrix product for many new rows, and then with the rows of the few cells
//! whose centroids are nearest. Within these cells the answer is exact ([`crate::knn::exact::certified`]). The number of cells
//! that a row visits follows from a sample of fitted rows, by the cells in which their true neighbors lie.
//!
//! Under the inner product cells are those of (y, √(M² − ‖y‖²)), M the largest norm, whose Euclidean distances to (x, 0)
//! order the y as products do (Bachrach et al. 2014, §3).
//!
//! Cost of building: carving, an f32 copy of the features, and brute force for the sample. Of a query: about
//! (n/s + p·s)·d multiplications with cells of s ≈ √n/3 rows, p of them visited. Parallel over batches of new rows; the
//! answer for a row does not depend on its batch.

mod cells;
mod visits;

use std::ops::Range;

use lapwing_core::parallel::*;
use lapwing_core::{Dense, Error, Features, Result, Run, Stream};
use rand::seq::index;

pub use cells::IndexCells;

use crate::knn::distance::{Distances, norms};
use crate::knn::exact::certified::{CertifiedSearch, Reranker};
use crate::knn::exact::products::{Side, Target};
use crate::knn::exact::signed::key;
use crate::knn::index::visits::{Places, ROUTE_ROWS, Visits, collect};
use crate::knn::kernels::lists::{EMPTY, id_of};
use crate::knn::partitions::carve::{Assign, CarveParams, Partition};
use crate::knn::recall::mean_and_error;
use crate::knn::rows::{Frame, SearchRows, half_squared, products};
use crate::knn::{KnnMethod, KnnParams, Metric, Neighbors, zero_rows};

/// Fitted rows whose true neighbors decide how many cells are visited.
const SAMPLE: usize = 500;
/// Most new rows that a thread works on at a time: many, so that several visit the same cell.
const BATCH: usize = 4096;
/// Share of the time of building for the cells.
const CARVED: Range<f64> = 0.0..0.5;
/// Round number of the carving, apart from the rounds of a search by partitions.
const ROUND: u64 = u64::MAX;

/// Fitted rows, prepared for queries by new rows.
#[derive(Clone, Debug)]
pub struct NeighborIndex {
    cells: IndexCells,
    frame: Frame,
    /// Rows of the cells, one after another, with h lowered by the error of products.
    rows: SearchRows,
    /// Means of the cells.
    centroids: SearchRows,
    /// Norms of the fitted rows, if the metric needs them.
    norms: Vec<f64>,
    /// Fitted rows of zeros under the cosine metric.
    zeros: Vec<u32>,
}

impl NeighborIndex {
    /// Whether an index saves time: if [`crate::knn::kneighbors`] searches by partitions.
    pub fn pays(features: &Features<'_>, params: &KnnParams) -> bool {
        let Features::Dense(dense) = features else { return false };
        params.method.choose(dense.n_rows(), dense.n_cols(), params.n_neighbors) == KnnMethod::Partitions
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
        let rows = SearchRows::prepare(dense, &frame, run);
        // Carved cells are some six tenths full.
        let leaf = ((n as f64).sqrt() / 2.0).clamp(128.0, 1024.0) as usize;
        let carving = CarveParams { leaf, fanout: vec![1], leaders: 1000 };
        let part = run.part(CARVED, "rows carved");
        let partition = match params.metric() {
            Metric::InnerProduct => Partition::carve(&augmented(&rows), &carving, ROUND, &part)?,
            Metric::Euclidean | Metric::Cosine => Partition::carve(&rows, &carving, ROUND, &part)?,
        };
        let truth = Truth::new(features, dense, &frame, rows, params, &run.part(CARVED.end..1.0, ""))?;
        let starts = partition.starts.iter().map(|&start| start as u64).collect();
        let cells = IndexCells { ids: partition.ids, starts, n_probes: 1, recall: 1.0, recall_error: 0.0 };
        let mut index = Self::ready(features, dense, frame, params, cells, run)?;
        index.measure(dense, &truth, params.recall_target, run);
        Ok(index)
    }

    /// The index from `cells` of an earlier one.
    ///
    /// # Errors
    /// As [`crate::knn::kneighbors`]; [`Error::Shape`] for sparse rows, or cells that do not hold every row once.
    #[doc(hidden)]
    pub fn from_cells(features: &Features<'_>, params: &KnnParams, cells: IndexCells, run: &Run) -> Result<Self> {
        let dense = dense(features)?;
        cells.check(dense.n_rows())?;
        features.check(run)?;
        Self::ready(features, dense, Frame::new(dense, params.metric(), run), params, cells, run)
    }

    fn ready(
        features: &Features<'_>,
        dense: &Dense<'_>,
        frame: Frame,
        params: &KnnParams,
        cells: IndexCells,
        run: &Run,
    ) -> Result<Self> {
        let zeros = zero_rows::find(features, params.metric(), params.zero_rows, run)?;
        let d = dense.n_cols();
        let mut values = vec![0f32; dense.n_rows() * d];
        let fill = |(out, &id): (&mut [f32], &u32)| frame.copy_row(dense, id as usize, out);
        run.install(|| values.par_chunks_mut(d).with_min_len(256).zip(&cells.ids).for_each(fill));
        let rows = SearchRows::new(d, values, &frame, run);
        let centroids = run.install(|| centroids(&rows, &cells, params.metric()));
        let rows = run.install(|| rows.lowered());
        let norms = run.install(|| norms(features, params.metric()));
        Ok(Self { cells, frame, rows, centroids, norms, zeros })
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
        crate::knn::check_query(train, new, params, run)?;
        if matches!(new, Features::Sparse(_)) {
            return Err(Error::shape("features", "dense rows, as in the fit", "sparse rows"));
        }
        if train.n_rows() != self.rows.n || train.n_cols() != self.rows.d || params.metric() != self.frame.metric {
            let got = format!("{} × {}", train.n_rows(), train.n_cols());
            return Err(Error::shape("features of the index", format!("{} × {}", self.rows.n, self.rows.d), got));
        }
        self.neighbors(train, new, false, params, run)
    }

    /// Neighbors of all rows among the others.
    pub(crate) fn all(&self, features: &Features<'_>, params: &KnnParams, run: &Run) -> Result<Neighbors> {
        self.neighbors(features, features, true, params, run)
    }

    fn neighbors(
        &self,
        train: &Features<'_>,
        new: &Features<'_>,
        same: bool,
        params: &KnnParams,
        run: &Run,
    ) -> Result<Neighbors> {
        let (m, k) = (new.n_rows(), params.n_neighbors);
        let new_zeros = zero_rows::find(new, params.metric(), params.zero_rows, run)?;
        let distances = run.install(|| Distances::with_norms(new, train, params.metric(), &self.norms));
        let places = Places { cells: &self.cells, rows: &self.rows, centroids: &self.centroids };
        let visits = Visits {
            places,
            new: dense(new)?,
            reranker: Reranker { distances, frame: &self.frame, k },
            frame: &self.frame,
            n_probes: self.cells.enough(self.cells.n_probes, k + usize::from(same)),
            same,
            run,
        };
        let mut found = Neighbors::none(m, k);
        let batch = m.div_ceil(4 * run.threads()).clamp(ROUTE_ROWS, BATCH);
        let done = run.counter(m, "rows");
        run.install(|| {
            let parts = found.indices.par_chunks_mut(batch * k).zip(found.distances.par_chunks_mut(batch * k));
            parts.enumerate().try_for_each(|(at, (ids, distances))| {
                let first = at * batch;
                visits.batch(first..first + ids.len() / k, ids, distances)?;
                done.add(ids.len() / k);
                Ok(())
            })?;
            zero_rows::merge(&mut found, &new_zeros, &self.zeros, same);
            Ok::<_, Error>(())
        })?;
        found.complete(train, new)?;
        Ok(found)
    }

    /// Finds how many cells hold the target share of true neighbors.
    fn measure(&mut self, dense: &Dense<'_>, truth: &Truth, recall_target: f64, run: &Run) {
        let mut cell_of = vec![0u32; self.rows.n];
        for cell in 0..self.cells.len() {
            self.cells.ids[self.cells.range(cell)].iter().for_each(|&id| cell_of[id as usize] = cell as u32);
        }
        // For every sampled row, the places in its order of cells at which its neighbors lie.
        let places = |(&row, ids): (&usize, &[u32])| -> Vec<u32> {
            let ranks = self.ranks(dense, row);
            ids.iter().map(|&id| ranks[cell_of[id as usize] as usize]).collect()
        };
        let places: Vec<Vec<u32>> =
            run.install(|| truth.rows.par_iter().zip(truth.ids.par_chunks(truth.k)).map(places).collect());
        let share = |probes: usize| {
            let found = |row: &Vec<u32>| row.iter().filter(|&&at| (at as usize) < probes).count() as f64;
            mean_and_error(&places.iter().map(|row| found(row) / truth.k as f64).collect::<Vec<_>>())
        };
        // The measured recall may be too high by its standard error.
        let is_enough = |probes: usize| {
            let (recall, error) = share(probes);
            recall - error >= recall_target || recall == 1.0
        };
        let n_probes = (1..self.cells.len()).find(|&probes| is_enough(probes)).unwrap_or(self.cells.len());
        (self.cells.recall, self.cells.recall_error) = share(n_probes);
        self.cells.n_probes = n_probes;
    }

    /// Place of every cell in the order in which `row` of the fitted rows visits them.
    fn ranks(&self, dense: &Dense<'_>, row: usize) -> Vec<u32> {
        let mut query = vec![0f32; self.rows.d];
        self.frame.copy_row(dense, row, &mut query);
        let mut out = vec![0f32; self.cells.len()];
        products(&query, &self.centroids.values, self.rows.d, &mut out);
        let pairs = out.iter().zip(&self.centroids.half_norms).enumerate();
        let mut order: Vec<u64> = pairs.map(|(cell, (p, h))| key(h - p, cell as u32)).collect();
        order.sort_unstable();
        let mut ranks = vec![0u32; self.cells.len()];
        order.iter().enumerate().for_each(|(at, &key)| ranks[id_of(key) as usize] = at as u32);
        ranks
    }
}

/// True neighbors of a sample of rows.
struct Truth {
    k: usize,
    rows: Vec<usize>,
    /// Rows of the k nearest others (sample, k).
    ids: Vec<u32>,
}

impl Truth {
    fn new(
        features: &Features<'_>,
        dense: &Dense<'_>,
        frame: &Frame,
        prepared: SearchRows,
        params: &KnnParams,
        run: &Run,
    ) -> Result<Self> {
        let (n, d, k) = (dense.n_rows(), dense.n_cols(), params.n_neighbors.min(dense.n_rows() - 1));
        let mut rows = index::sample(&mut run.rng(Stream::Recall, ROUND), n, SAMPLE.min(n)).into_vec();
        rows.sort_unstable();
        let (mut exact, mut values) = (vec![0f64; rows.len() * d], vec![0f32; rows.len() * d]);
        for ((&row, exact), value) in rows.iter().zip(exact.chunks_exact_mut(d)).zip(values.chunks_exact_mut(d)) {
            dense.copy_row_f64(row, exact);
            frame.copy_row(dense, row, value);
        }
        let sample = Features::from_f64(rows.len(), d, exact)?;
        let side = |rows: SearchRows| Side { rows: run.install(|| rows.lowered()), sparse: None };
        let (left, right) = (side(SearchRows::new(d, values, frame, run)), side(prepared));
        // One more than wanted: most rows find themselves.
        let reranker = Reranker { distances: Distances::new(&sample, features, params.metric()), frame, k: k + 1 };
        let search =
            CertifiedSearch { left: &left, target: Target::new(&right), reranker, same: false, duplicates: None, run };
        let found = search.neighbors()?;
        let others = |(row, ids): (&usize, &[u32])| {
            let row = *row as u32;
            ids.iter().copied().filter(move |&id| id != row).take(k).collect::<Vec<_>>()
        };
        let ids = rows.iter().zip(found.indices.chunks_exact(k + 1)).flat_map(others).collect();
        Ok(Self { k, rows, ids })
    }
}

impl Assign for SearchRows {
    fn n_rows(&self) -> usize {
        self.n
    }

    fn assign(&self, ids: &[u32], leaders: &[u32], nearest: &mut [u16]) {
        let (mut heads, mut half_norms) = (Vec::new(), Vec::new());
        self.gather(leaders, &mut heads, &mut half_norms);
        let (mut block, mut norms) = (Vec::new(), Vec::new());
        self.gather(ids, &mut block, &mut norms);
        let mut out = vec![0f32; ids.len() * leaders.len()];
        products(&block, &heads, self.d, &mut out);
        let fanout = nearest.len() / ids.len();
        for (nearest, products) in nearest.chunks_exact_mut(fanout).zip(out.chunks_exact(leaders.len())) {
            let mut list = vec![EMPTY; fanout];
            collect(&mut list, products, &half_norms, 0.0, |at| Some(at as u32));
            nearest.iter_mut().zip(list).for_each(|(place, key)| *place = id_of(key) as u16);
        }
    }
}

/// Rows with a column that makes their norms equal, for carving under the inner product.
fn augmented(rows: &SearchRows) -> SearchRows {
    let halves: Vec<f32> = rows.values.chunks_exact(rows.d).map(half_squared).collect();
    let most = halves.iter().copied().fold(0.0, f32::max);
    let d = rows.d + 1;
    let mut values = vec![0f32; rows.n * d];
    for ((out, row), half) in values.chunks_exact_mut(d).zip(rows.values.chunks_exact(rows.d)).zip(halves) {
        out[..rows.d].copy_from_slice(row);
        out[rows.d] = (2.0 * (most - half)).sqrt();
    }
    SearchRows { n: rows.n, d, values, half_norms: vec![most; rows.n] }
}

/// Means of the cells, with h for the distance of a row to them.
fn centroids(rows: &SearchRows, cells: &IndexCells, metric: Metric) -> SearchRows {
    let d = rows.d;
    let halves: Vec<f32> = rows.values.par_chunks(d).map(half_squared).collect();
    let most = halves.iter().copied().fold(0.0, f32::max);
    let mut values = vec![0f32; cells.len() * d];
    let half_norms = values.par_chunks_mut(d).enumerate().map(|(cell, out)| {
        let range = cells.range(cell);
        let mut sums = vec![0f64; d];
        for place in range.clone() {
            sums.iter_mut().zip(rows.row(place)).for_each(|(sum, &x)| *sum += f64::from(x));
        }
        let mean = |sum: f64| (sum / range.len() as f64) as f32;
        out.iter_mut().zip(&sums).for_each(|(out, &sum)| *out = mean(sum));
        let beyond = match metric {
            // The column that makes norms equal has a mean too.
            Metric::InnerProduct => mean(range.clone().map(|at| f64::from(2.0 * (most - halves[at])).sqrt()).sum()),
            Metric::Euclidean | Metric::Cosine => 0.0,
        };
        half_squared(out) + beyond * beyond / 2.0
    });
    let half_norms = half_norms.collect();
    SearchRows { n: cells.len(), d, values, half_norms }
}

fn dense<'a, 'b>(features: &'b Features<'a>) -> Result<&'b Dense<'a>> {
    match features {
        Features::Dense(dense) => Ok(dense),
        Features::Sparse(_) => Err(Error::shape("features of the index", "dense rows", "sparse rows")),
    }
}

#[cfg(test)]
mod tests;
