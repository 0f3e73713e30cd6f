//! Rows of zeros under the cosine metric, if they are allowed: they are at distance 1 from every row.
//!
//! A search puts them behind all other rows ([`crate::knn::rows::FAR`]). Afterwards they enter the lists of the others, where
//! distance 1 is near enough, and get lists of their own. Cost: one pass over rows and lists.

use lapwing_core::parallel::*;
use lapwing_core::{Error, Features, Result, Run};

use crate::knn::distance::norm;
use crate::knn::{Metric, Neighbors, ZeroRows};

/// The rows of zeros, ascending; empty unless the metric is cosine.
///
/// # Errors
/// [`Error::Value`] naming the first one unless they are allowed.
pub(crate) fn find(features: &Features<'_>, metric: Metric, zero_rows: ZeroRows, run: &Run) -> Result<Vec<u32>> {
    if metric != Metric::Cosine {
        return Ok(Vec::new());
    }
    let is_zero = |row: &u32| norm(features, *row as usize) == 0.0;
    let found: Vec<u32> = run.install(|| (0..features.n_rows() as u32).into_par_iter().filter(is_zero).collect());
    match (zero_rows, found.first()) {
        (ZeroRows::Error, Some(&row)) => Err(Error::Value {
            what: "features".into(),
            row: row as usize,
            col: None,
            value: "only zeros, which have no direction under the cosine metric".into(),
            advice: "remove the row, allow zero_rows or use the euclidean metric".into(),
        }),
        _ => Ok(found),
    }
}

/// Renumbers neighbors among the rows `kept` to numbers among all `n`; the lists of the other rows are empty.
pub(crate) fn spread(found: &Neighbors, kept: &[u32], n: usize) -> Neighbors {
    let k = found.n_neighbors;
    let mut all = Neighbors::none(n, k);
    for (at, &row) in kept.iter().enumerate() {
        let (from, to) = (at * k..(at + 1) * k, row as usize * k..(row as usize + 1) * k);
        all.indices[to.clone()]
            .iter_mut()
            .zip(&found.indices[from.clone()])
            .for_each(|(id, &at)| *id = kept[at as usize]);
        all.distances[to].copy_from_slice(&found.distances[from]);
    }
    all
}

/// Puts the zero rows `train` into the lists of `neighbors`, and gives the zero rows `new` lists; `same` says both are
/// rows of one matrix, where no row is its own neighbor.
pub(crate) fn merge(neighbors: &mut Neighbors, new: &[u32], train: &[u32], same: bool) {
    if new.is_empty() && train.is_empty() {
        return;
    }
    let k = neighbors.n_neighbors;
    let lists = neighbors.indices.par_chunks_mut(k).zip(neighbors.distances.par_chunks_mut(k));
    lists.enumerate().with_min_len(256).for_each(|(row, (ids, distances))| {
        let row = row as u32;
        if new.binary_search(&row).is_ok() {
            // All rows are at distance 1: the first by number come first.
            let others = (0u32..).filter(|&id| !(same && id == row));
            ids.iter_mut().zip(others).for_each(|(place, id)| *place = id);
            distances.fill(1.0);
            return;
        }
        let is_kept = |entry: &(u32, f32)| train.binary_search(&entry.0).is_err();
        let own = ids.iter().copied().zip(distances.iter().copied()).filter(is_kept);
        let mut all: Vec<(u32, f32)> = own.chain(train.iter().take(k).map(|&id| (id, 1.0))).collect();
        all.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        for ((id, distance), entry) in ids.iter_mut().zip(distances).zip(all) {
            (*id, *distance) = entry;
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lapwing_core::Csr;

    use super::*;
    use crate::knn::{KnnMethod, KnnParams, kneighbors, query};
    use crate::testkit::{blobs, dense_values};

    #[test]
    fn allowed_zero_rows_are_at_distance_one_from_every_row() {
        let run = Run::new(Some(2), 0).unwrap();
        let (n, d) = (60, 3);
        let mut values: Vec<f32> = dense_values(&blobs(n, d, 4)).iter().map(|&v| v as f32).collect();
        [4, 9, 33].iter().for_each(|&row| values[row * d..(row + 1) * d].fill(0.0));
        let entries: Vec<(u32, u32, f32)> = values
            .iter()
            .enumerate()
            .filter(|(_, v)| **v != 0.0)
            .map(|(at, &v)| ((at / d) as u32, (at % d) as u32, v))
            .collect();
        let dense = Features::from_f32(n, d, values).unwrap();
        let sparse = Features::Sparse(Arc::new(Csr::from_entries(n, d, &entries).unwrap()));
        // So many neighbors that zero rows are among them.
        let refused = KnnParams { n_neighbors: 55, metric: Some(Metric::Cosine), ..KnnParams::default() };
        let allowed = KnnParams { zero_rows: ZeroRows::Allow, method: KnnMethod::Exact, ..refused.clone() };
        for features in [&dense, &sparse] {
            let text = kneighbors(features, &refused, &run).unwrap_err().to_string();
            assert!(text.starts_with("row 4 of features holds only zeros"), "{text}");
            let found = kneighbors(features, &allowed, &run).unwrap().0;
            found.check().unwrap();
            assert_eq!(found.row(9).next(), Some((0, 1.0)));
            assert!(found.row(4).all(|(_, distance)| distance == 1.0));
            let reached: Vec<_> = found.row(0).filter(|(id, _)| [4, 9, 33].contains(id)).collect();
            assert_eq!(reached, [(4, 1.0), (9, 1.0), (33, 1.0)]);
            let found = query(features, features, &allowed, &run).unwrap();
            assert_eq!(found.row(33).take(2).collect::<Vec<_>>(), [(0, 1.0), (1, 1.0)]);
        }
    }
}
