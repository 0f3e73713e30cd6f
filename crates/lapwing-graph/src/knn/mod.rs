//! k-nearest-neighbor search for building graphs: exact, by overlapping partitions, and for sparse rows.
//!
//! `exact` compares all pairs and certifies the result, or takes a tree for rows of few columns. `partitions` compares rows that are likely near, until the measured recall
//! reaches its target. `index` finds neighbors of new rows by cells of fitted rows. `kernels` has their inner loops. Cost: n²·d/2
//! multiplications for the exact search, about n·3000·d by partitions.

pub(crate) mod checks;
pub(crate) mod distance;
pub(crate) mod exact;
mod from_row;
mod index;
mod kernels;
pub(crate) mod lists;
mod near;
pub(crate) mod pairs;
mod partitions;
mod recall;
mod rows;
mod zero_rows;

use lapwing_core::parallel::*;
use lapwing_core::params::Parameters;
use lapwing_core::{Error, Features, Result, Run};

pub use crate::params::{KnnMethod, KnnParams, Metric, ZeroRows};
pub use crate::relation::NO_NEIGHBOR;
pub(crate) use checks::check_rows;
use checks::{check_query, check_room};
use distance::Distances;
pub use index::{IndexCells, IndexStart, NeighborIndex};
pub use lists::{KnnReport, Neighbors};
pub(crate) use lists::{check_lists, largest_row, list_width, overflow};
pub use near::{edge_distances, equal_rows};

/// Columns up to which a tree is the fastest search for any number of rows. Measured on uniform rows, the hardest ones (2 cores), beside
/// all pairs or partitions: 2 columns of 10,000 rows in 4.5 ms instead of 53, of 200,000 in .11 s instead of 8.4; 4 columns in 10 ms
/// instead of 39, and .27 s instead of .50.
const TREE_COLUMNS: usize = 4;
/// Columns up to which it is for at most [`TREE_ROWS`] rows: 6 columns of 40,000 rows in .13 s instead of .42, of 200,000 in 1.2 s
/// instead of .5.
const MOST_TREE_COLUMNS: usize = 6;
const TREE_ROWS: usize = 1 << 16;

/// Equal rows are left out of a search if that leaves at most one in so many rows: every one of them would be a candidate for all others,
/// and of more than k + 1 only the first can be neighbors.
const MOST_KEPT: usize = 2;

/// The k nearest neighbors of every row among the others.
///
/// # Errors
/// [`Error::Param`] for k = 0 or k ≥ n, or a recall target outside (0, 1]; [`Error::Columns`] for values that are
/// not finite; [`Error::Value`] for values that are all too small, or a zero row under the cosine metric; [`Error::Interrupted`].
///
/// # Complexity
/// Exact: n²d multiplications, at the speed of matrix products, and 8·n·k bytes of lists. Up to four columns, six if rows are few: about
/// n·log n by a tree. Partitions: about 3000·n·d, and one
/// copy of the features, of a byte per value where there are 64 columns or more. Sparse rows: exact, Σ over columns of (entries
/// of the column)².
pub fn kneighbors(features: &Features<'_>, params: &KnnParams, run: &Run) -> Result<(Neighbors, KnnReport)> {
    let params = &params.resolved(features);
    let zeros = check_rows(features, params, run)?;
    let (n, k) = (features.n_rows(), params.n_neighbors);
    check_room(n, k)?;
    if let (true, Some(groups)) =
        (zeros.is_empty(), exact::certified::CertifiedSearch::duplicates(features, params, run))
        && let kept = groups.kept(n)
        && kept.len() <= n / MOST_KEPT
    {
        return among_distinct(features, params, &groups, &kept, run);
    }
    let all_pairs = || Ok((exact::search(features, features, true, params, run)?, KnnReport::exact()));
    let (mut neighbors, mut report) = match features {
        Features::Sparse(_) => all_pairs(),
        Features::Dense(dense) if params.method.takes_tree(n, dense.n_cols(), k, params.metric()) => {
            exact::tree::search(dense, k, run).map(|found| (found, KnnReport::exact()))
        }
        Features::Dense(dense) => match params.method.choose(n, dense.n_cols(), k) {
            // Without the rows of zeros there are too few rows to search.
            KnnMethod::Partitions if n - zeros.len() <= k => all_pairs(),
            KnnMethod::Partitions if params.metric().is_distance() && zeros.is_empty() => {
                partitions::search(features, dense, params, run)
            }
            KnnMethod::Partitions if params.metric().is_distance() => {
                // Rows of zeros are at distance 1 from every row and would fill all lists: only the others are searched.
                let kept: Vec<u32> = (0..n as u32).filter(|row| zeros.binary_search(row).is_err()).collect();
                let others = features.select(&kept)?;
                let Features::Dense(rows) = &others else {
                    return Err(Error::shape("features", "dense rows", "sparse"));
                };
                let (found, report) = partitions::search(&others, rows, params, run)?;
                Ok((zero_rows::spread(&found, &kept, n), report))
            }
            KnnMethod::Partitions => {
                // Rows of one leaf are near each other, which does not make their products large: an index is queried instead.
                let index = NeighborIndex::build(features, params, &run.part(0.0..0.5, "index"))?;
                let IndexCells { recall, recall_error, .. } = *index.cells();
                let report =
                    KnnReport { method: "partitions", recall, recall_error, repetitions: 1, ..KnnReport::exact() };
                index.all(features, params, &run.part(0.5..1.0, "")).map(|found| (found, report))
            }
            _ => all_pairs(),
        },
    }?;
    run.install(|| zero_rows::merge(&mut neighbors, &zeros, &zeros, true));
    neighbors.complete(features, features)?;
    if params.metric().is_distance() {
        report.n_duplicate_rows = neighbors.distances.chunks_exact(k).filter(|row| row[k - 1] == 0.0).count();
    }
    Ok((neighbors, report))
}

/// [`kneighbors`] of many equal rows: only the rows `kept` are searched; the others have their neighbors in their group.
fn among_distinct(
    features: &Features<'_>,
    params: &KnnParams,
    groups: &exact::DuplicateGroups,
    kept: &[u32],
    run: &Run,
) -> Result<(Neighbors, KnnReport)> {
    let (n, k) = (features.n_rows(), params.n_neighbors);
    let searched = kneighbors(&features.select(kept)?, params, run);
    let (found, mut report) = searched.map_err(|e| e.at_rows("features", |row| kept[row] as usize))?;
    let mut neighbors = zero_rows::spread(&found, kept, n);
    let lists = neighbors.indices.chunks_exact_mut(k).zip(neighbors.distances.chunks_exact_mut(k)).enumerate();
    for (row, (ids, distances)) in lists {
        if let Some(equal) = groups.neighbors(row as u32) {
            ids.iter_mut().zip(equal).for_each(|(id, other)| *id = other);
            distances.fill(0.0);
        }
    }
    report.n_duplicate_rows = neighbors.distances.chunks_exact(k).filter(|row| row[k - 1] == 0.0).count();
    Ok((neighbors, report))
}

/// The k nearest of every row among the others, by all distances and a sort of each row: if k is a large part of n, this is faster
/// than the lists of [`kneighbors`].
///
/// # Complexity
/// n²·d operations and n sorts of n distances; 8·n·k bytes.
pub(crate) fn sorted_neighbors(
    features: &Features<'_>,
    params: &KnnParams,
    run: &Run,
) -> Result<(Neighbors, KnnReport)> {
    let params = &params.resolved(features);
    if !check_rows(features, params, run)?.is_empty() {
        return kneighbors(features, params, run);
    }
    let (n, k) = (features.n_rows(), params.n_neighbors);
    let (mut indices, mut distances) = (vec![0u32; n * k], vec![0f32; n * k]);
    run.install(|| {
        let all = Distances::new(features, features, params.metric());
        let rows = indices.par_chunks_exact_mut(k).zip(distances.par_chunks_exact_mut(k)).enumerate();
        rows.try_for_each_init(Vec::new, |others, (row, (ids, distances))| {
            run.check()?;
            others.clear();
            others.extend((0..n).filter(|&other| other != row).map(|other| (all.get(row, other), other as u32)));
            others.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let places = ids.iter_mut().zip(distances);
            others.iter().zip(places).for_each(|(&(d, other), (id, distance))| (*id, *distance) = (other, d));
            if others.iter().all(|other| other.0.is_finite()) { Ok(()) } else { Err(overflow(largest_row(features).0)) }
        })
    })?;
    let neighbors = Neighbors { n_neighbors: k, indices, distances };
    let n_duplicate_rows = neighbors.last().iter().filter(|&&distance| distance == 0.0).count();
    Ok((neighbors, KnnReport { n_duplicate_rows, ..KnnReport::exact() }))
}

/// The k nearest rows of `train` for every row of `new`, a row of `train` itself included where it is equal; exact.
///
/// # Errors
/// As [`kneighbors`], with k ≤ rows of `train`; [`Error::Shape`] if the columns differ or one is sparse and the other dense.
///
/// # Complexity
/// n·m·d multiplications for n rows of `train` and m of `new`.
pub fn query(train: &Features<'_>, new: &Features<'_>, params: &KnnParams, run: &Run) -> Result<Neighbors> {
    train.check(run)?;
    let params = &params.resolved(train);
    check_query(train, new, params, run)?;
    check_room(new.n_rows(), params.n_neighbors)?;
    let zeros = zero_rows::find(train, params.metric(), params.zero_rows, run)?;
    let new_zeros = zero_rows::find(new, params.metric(), params.zero_rows, run)?;
    let mut neighbors = exact::search(new, train, false, params, run)?;
    run.install(|| zero_rows::merge(&mut neighbors, &new_zeros, &zeros, false));
    neighbors.complete(train, new)?;
    Ok(neighbors)
}

/// Sizes that decide how much memory a search takes, for plans.
pub(crate) mod memory {
    pub(crate) use super::exact::frequent::panel_bytes;
    pub(crate) use super::exact::products::tile_bytes;
    pub(crate) use super::from_row::FromRow;
    pub(crate) use super::partitions::polish::Degrees;
    pub(crate) use super::partitions::{FANOUT, MOST_NEIGHBORS, list_width as partition_width, may_round};

    pub(crate) fn list_width(k: usize, n: usize) -> usize {
        super::list_width(k, n)
    }
}

impl KnnParams {
    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first one outside.
    pub fn validate(&self) -> Result<()> {
        self.check_ranges()
    }

    /// Checks the parameters and the fitted rows as a query would, before the first query.
    ///
    /// # Errors
    /// As [`kneighbors`], whatever the number of rows.
    pub fn check(&self, features: &Features<'_>, run: &Run) -> Result<()> {
        self.validate()?;
        features.check(run)?;
        let params = self.resolved(features);
        zero_rows::find(features, params.metric(), params.zero_rows, run).map(drop)
    }
}

impl KnnMethod {
    /// Whether `n` rows of `d` columns are searched by a tree, which is exact.
    pub(crate) fn takes_tree(self, n: usize, d: usize, k: usize, metric: Metric) -> bool {
        let most_rows = if d <= TREE_COLUMNS { usize::MAX } else { TREE_ROWS };
        let is_small = d <= MOST_TREE_COLUMNS && n <= most_rows && k <= memory::MOST_NEIGHBORS;
        self != Self::Partitions && metric == Metric::Euclidean && is_small
    }

    /// Replaces `Auto`, where no tree is taken: partitions if all pairs would take more than about a second. Very many neighbors need the exact search,
    /// because a leaf of the partitions has only some hundred rows.
    pub fn choose(self, n: usize, d: usize, k: usize) -> Self {
        match self {
            _ if k > memory::MOST_NEIGHBORS => Self::Exact,
            Self::Auto if n as f64 * n as f64 * d as f64 > 1e11 && n > 10_000 => Self::Partitions,
            Self::Auto => Self::Exact,
            chosen => chosen,
        }
    }
}

#[cfg(test)]
mod tests;
