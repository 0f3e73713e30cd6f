//! Lists of neighbors, and how a search went.

use crate::relation::NO_NEIGHBOR;
use lapwing_core::{Error, Features, Result};
use serde::Serialize;

/// Neighbors of each row: never itself, sorted by (distance, index).
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbors {
    /// Neighbors of each row, k.
    pub n_neighbors: usize,
    /// Row numbers (n, k); lists that a caller gives may be short, and end with [`NO_NEIGHBOR`].
    pub indices: Vec<u32>,
    /// Distances (n, k): plain, not squared; under the inner-product metric −xᵀy.
    pub distances: Vec<f32>,
}

/// Method and recall of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct KnnReport {
    /// `exact` or `partitions`.
    pub method: &'static str,
    /// Share of true neighbors found: 1 if exact, else measured on a sample of rows.
    pub recall: f64,
    /// Standard error of the measured recall; 0 if exact.
    pub recall_error: f64,
    /// Partitions made; 0 if exact.
    pub repetitions: usize,
    /// Rows whose neighbors are all at distance 0.
    pub n_duplicate_rows: usize,
}

/// The search keeps more candidates than k: rounding in the matrix product may swap close ones.
pub(crate) fn list_width(k: usize, n: usize) -> usize {
    (k + 6).min(n)
}

impl Neighbors {
    /// Lists of `k` places for `n` rows, none of them taken.
    pub(super) fn none(n: usize, k: usize) -> Self {
        Self { n_neighbors: k, indices: vec![NO_NEIGHBOR; n * k], distances: vec![f32::INFINITY; n * k] }
    }

    /// Checks that every list of rows of `new` is full. Lists are not if products overflow f32, because values are too far apart.
    pub(super) fn complete(&self, train: &Features<'_>, new: &Features<'_>) -> Result<()> {
        if self.are_full() {
            return Ok(());
        }
        let ((fitted, most), (row, own)) = (largest_row(train), largest_row(new));
        match overflow(if most > own { fitted } else { row }) {
            Error::Value { row, col, value, advice, .. } if most > own => {
                Err(Error::Value { what: "the fitted features".into(), row, col, value, advice })
            }
            error => Err(error),
        }
    }

    /// Number of rows.
    pub fn n_samples(&self) -> usize {
        self.indices.len() / self.n_neighbors.max(1)
    }

    /// Neighbors of `row` and their distances, nearest first.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (u32, f32)> {
        let range = row * self.n_neighbors..(row + 1) * self.n_neighbors;
        let pairs = self.indices[range.clone()].iter().copied().zip(self.distances[range].iter().copied());
        pairs.take_while(|&(id, _)| id != NO_NEIGHBOR)
    }

    /// Whether every row has as many neighbors as the others.
    pub(crate) fn are_full(&self) -> bool {
        !self.indices.contains(&NO_NEIGHBOR)
    }

    /// Distance of each row to its last neighbor (n), 0 without any.
    pub fn last(&self) -> Vec<f32> {
        let k = self.n_neighbors.max(1);
        let lists = self.indices.chunks_exact(k).zip(self.distances.chunks_exact(k));
        let length = |ids: &[u32]| ids.iter().rposition(|&id| id != NO_NEIGHBOR);
        lists.map(|(ids, distances)| length(ids).map_or(0.0, |last| distances[last])).collect()
    }

    /// Checks neighbors that the caller provides: they are rows, never the row itself, no row twice, at distances that are finite
    /// and ascending. Behind a [`NO_NEIGHBOR`] nothing else may follow.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Graph`] naming the first offending row.
    pub fn check(&self) -> Result<()> {
        check_lists(self.n_neighbors, &self.indices, &self.distances, true)
    }
}

/// Checks lists of k neighbors with their distances, plain or squared: see [`Neighbors::check`]. They `may_end` before the k-th.
pub(crate) fn check_lists<D: Copy + Into<f64>>(
    k: usize,
    indices: &[u32],
    distances: &[D],
    may_end: bool,
) -> Result<()> {
    let n = indices.len() / k.max(1);
    if k == 0 || indices.len() != n * k || distances.len() != n * k {
        let got = format!("{} indices and {} distances for k = {k}", indices.len(), distances.len());
        return Err(Error::shape("neighbors", "n·k of each, k at least 1", got));
    }
    let mut seen = Vec::new();
    for (row, (ids, distances)) in indices.chunks_exact(k).zip(distances.chunks_exact(k)).enumerate() {
        let end = ids.iter().position(|&id| may_end && id == NO_NEIGHBOR).unwrap_or(k);
        if ids[end..].iter().any(|&id| id != NO_NEIGHBOR) {
            return Err(Error::graph(format!("row {row} names neighbors behind the end of its list")));
        }
        let ids = &ids[..end];
        let mut last = f64::NEG_INFINITY;
        seen.clear();
        for (&id, &distance) in ids.iter().zip(distances) {
            let distance: f64 = distance.into();
            if id as usize >= n || id as usize == row {
                let reason = format!("row {row} names neighbor {id}; expected another row below {n}");
                return Err(Error::graph(reason));
            }
            if !(distance >= last && distance.is_finite()) {
                let reason = format!("row {row} has neighbor distance {distance}; expected finite ascending ones");
                return Err(Error::graph(reason));
            }
            last = distance;
            seen.push(id);
        }
        seen.sort_unstable();
        if let Some(pair) = seen.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::graph(format!("row {row} names neighbor {} twice", pair[0])));
        }
    }
    Ok(())
}

impl KnnReport {
    pub(crate) fn exact() -> Self {
        Self { method: "exact", recall: 1.0, recall_error: 0.0, repetitions: 0, n_duplicate_rows: 0 }
    }

    /// Whether all neighbors found are the nearest.
    pub fn is_exact(&self) -> bool {
        self.method == "exact"
    }
}

/// The error for distances that overflow f32, because of values of `row`.
pub(crate) fn overflow(row: usize) -> Error {
    Error::Value {
        what: "features".into(),
        row,
        col: None,
        value: "values so large beside the other rows that distances overflow".into(),
        advice: "rescale the columns or remove the row".into(),
    }
}

/// The row of the largest value, and this value: it makes distances overflow. Once the mean is subtracted, those of other rows do too.
pub(crate) fn largest_row(features: &Features<'_>) -> (usize, f64) {
    features.largest_at().map_or((0, 0.0), |(row, _, most)| (row, most))
}
