//! Exact distance of the k-th neighbor of every row, without holding the neighbors: for k in the thousands.
//!
//! A row is compared with all others by the lower bounds b of [`crate::knn::exact::certified`], which are off by at most
//! s(x) + s(y). With L the k-th smallest b and U the largest b + s(x) + s(y) where b ≤ L, the k-th distance lies in
//! [L, U]: rows with b + s(x) + s(y) < L come before it, rows with b > U after it, and exact distances rank the few
//! between. Cost: n² products and a selection among n values for each row; memory O(n), and a tile of up to 64 rows × n
//! f32 for each thread. Parallel over tiles; each row is computed by itself, so that the result does not depend on threads. If
//! bounds rule out nothing (all rows equal, or far closer to each other than to the origin), the distances of all pairs are
//! computed.

use lapwing_core::parallel::*;
use lapwing_core::{Features, Result, Run};

use crate::knn::distance::{self, Distances};
use crate::knn::exact::bounds::{
    Band, after, before, largest_upper, lower_bounds, ordered, scan, smallest_upper, unordered,
};
use crate::knn::exact::certified::slack;
use crate::knn::exact::products::{Side, Target};
use crate::knn::exact::ready;
use crate::knn::exact::signed::{distance_of, key};
use crate::knn::from_row::FromRow;
use crate::knn::rows::{FAR, Frame, TILE_ROWS, lowered};
use crate::knn::{KnnParams, check_rows, largest_row, overflow};

/// Most values of a tile of bounds.
const TILE_VALUES: usize = 1 << 23;

/// Rows prepared to be compared, all with all.
pub(crate) struct AllPairs<'a> {
    features: Features<'a>,
    pub frame: Frame,
    pub side: Side,
    /// Norms of the rows for [`Distances`].
    norms: Vec<f64>,
    /// s of each row (n): a distance exceeds its lower bound by at most the sum of both rows' s.
    pub slacks: Vec<f32>,
}

/// Nearest and last neighbor of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Reached {
    /// [`key`] of the last neighbor.
    pub last: u64,
    /// Distance of the nearest.
    pub nearest: f32,
}

/// Space for one tile.
struct Scratch<'a> {
    from: FromRow<'a>,
    products: Vec<f32>,
    bounds: Vec<f32>,
    order: Vec<u32>,
    keys: Vec<u64>,
}

impl<'a> Scratch<'a> {
    fn new(from: FromRow<'a>) -> Self {
        Self { from, products: Vec::new(), bounds: Vec::new(), order: Vec::new(), keys: Vec::new() }
    }
}

/// Rows of a tile.
pub(crate) fn tile_rows(n: usize) -> usize {
    (TILE_VALUES / n.max(1)).clamp(8, TILE_ROWS)
}

impl<'a> AllPairs<'a> {
    /// Checks and prepares `features`.
    pub fn new(features: &Features<'a>, params: &KnnParams, run: &Run) -> Result<Self> {
        let zeros = check_rows(features, params, run)?;
        let (frame, mut side) = ready(features, params.metric(), run)?;
        // Rows of zeros are compared too, at distance 1: their h is that of other rows.
        zeros.iter().for_each(|&row| side.rows.half_norms[row as usize] = lowered(0.5, 0, 0.5));
        debug_assert!(side.rows.half_norms.iter().all(|&h| h < FAR));
        let terms = |row: usize| match features {
            Features::Dense(dense) => dense.n_cols(),
            Features::Sparse(sparse) => sparse.row(row).0.len(),
        };
        let half_norms = side.rows.half_norms.iter().enumerate();
        let slacks = half_norms.map(|(row, &h)| slack(h, terms(row), params.metric())).collect();
        let norms = run.install(|| distance::norms(features, params.metric()));
        Ok(Self { features: features.clone(), frame, side, norms, slacks })
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.side.rows.n
    }

    /// The rows as the right side of products.
    pub fn target(&self, run: &Run) -> Target<'_> {
        run.install(|| Target::new(&self.side))
    }

    /// Exact distances.
    pub fn distances(&self) -> Distances<'_> {
        Distances::among(&self.features, self.frame.metric, &self.norms)
    }

    /// Nearest and `k`-th neighbor of every row.
    ///
    /// # Errors
    /// [`lapwing_core::Error::Value`] for distances that overflow; [`lapwing_core::Error::Interrupted`].
    pub fn reached(&self, k: usize, run: &Run) -> Result<Vec<Reached>> {
        let (n, target, distances) = (self.n(), self.target(run), self.distances());
        let tile = Tile { pairs: self, target: &target, k };
        let mut reached = vec![Reached::default(); n];
        let rows = tile_rows(n);
        let done = run.counter(n, "rows");
        run.install(|| {
            let scratch = || Scratch::new(FromRow::new(&distances));
            reached.par_chunks_mut(rows).enumerate().try_for_each_init(scratch, |scratch, (at, out)| {
                tile.bounds(at * rows..at * rows + out.len(), scratch, run)?;
                tile.select(at * rows, scratch, out, run)?;
                done.add(out.len());
                Ok(())
            })
        })?;
        let is_known = |row: &Reached| distance_of(row.last).is_finite();
        if reached.iter().all(is_known) { Ok(reached) } else { Err(overflow(largest_row(&self.features).0)) }
    }
}

/// Inputs of all tiles.
struct Tile<'a> {
    pairs: &'a AllPairs<'a>,
    target: &'a Target<'a>,
    k: usize,
}

impl Tile<'_> {
    /// Lower bounds of the distances of `rows` to all rows, row by row.
    fn bounds(&self, rows: std::ops::Range<usize>, scratch: &mut Scratch<'_>, run: &Run) -> Result<()> {
        let (side, n) = (&self.pairs.side, self.pairs.n());
        let Scratch { products, bounds, .. } = scratch;
        let ids: Vec<u32> = (rows.start as u32..rows.end as u32).collect();
        let left = side.gather(&ids);
        bounds.resize(ids.len() * n, 0.0);
        products.resize(ids.len() * self.target.block, 0.0);
        for at in 0..self.target.n_blocks() {
            run.check()?;
            let first = at * self.target.block;
            let end = (first + self.target.block).min(n);
            let out = &mut products[..ids.len() * (end - first)];
            self.target.products(&left, at, end - first, out);
            for ((row, out), bounds) in rows.clone().zip(out.chunks_exact(end - first)).zip(bounds.chunks_exact_mut(n))
            {
                let half_norms = &side.rows.half_norms;
                lower_bounds(out, &half_norms[first..end], half_norms[row], &mut bounds[first..end]);
            }
        }
        Ok(())
    }

    /// Nearest and last neighbor of the rows from `first` on, by the bounds of a tile.
    fn select(&self, first: usize, scratch: &mut Scratch<'_>, out: &mut [Reached], run: &Run) -> Result<()> {
        let Scratch { from, bounds, order, keys, .. } = scratch;
        for (at, (out, bounds)) in out.iter_mut().zip(bounds.chunks_exact_mut(self.pairs.n())).enumerate() {
            run.check()?;
            // No row is its own neighbor.
            bounds[first + at] = f32::INFINITY;
            from.set(first + at);
            let nearest = self.nearest(from, first + at, bounds);
            *out = Reached { last: self.last(from, first + at, bounds, order, keys), nearest };
        }
        Ok(())
    }

    /// Key of the last of the k nearest rows.
    fn last(&self, from: &FromRow<'_>, row: usize, bounds: &[f32], order: &mut Vec<u32>, keys: &mut Vec<u64>) -> u64 {
        let slacks = &self.pairs.slacks;
        order.clear();
        order.extend(bounds.iter().map(|&bound| ordered(bound)));
        let low = unordered(*order.select_nth_unstable(self.k - 1).1);
        let high = largest_upper(bounds, slacks, low) + slacks[row];
        let band = Band { own: slacks[row], before: before(low), after: after(high) };
        keys.clear();
        let n_before = scan(bounds, slacks, band, &mut |id| {
            if id != row {
                keys.push(key(from.get(id), id as u32));
            }
        });
        *keys.select_nth_unstable(self.k - 1 - n_before).1
    }

    /// Distance of the nearest row.
    fn nearest(&self, from: &FromRow<'_>, row: usize, bounds: &[f32]) -> f32 {
        let slacks = &self.pairs.slacks;
        let high = smallest_upper(bounds, slacks) + slacks[row];
        let band = Band { own: slacks[row], before: f32::NEG_INFINITY, after: after(high) };
        let mut nearest = f32::INFINITY;
        scan(bounds, slacks, band, &mut |id| {
            if id != row {
                nearest = nearest.min(from.get(id));
            }
        });
        nearest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knn::Metric;
    use crate::testkit::blobs;

    #[test]
    fn rows_reach_their_last_neighbor() {
        let run = Run::new(Some(2), 0).unwrap();
        let features = blobs(150, 3, 4);
        for metric in [Metric::Euclidean, Metric::Cosine, Metric::InnerProduct] {
            for k in [1, 40, 149] {
                let params = KnnParams { n_neighbors: k, metric: Some(metric), ..KnnParams::default() };
                let pairs = AllPairs::new(&features, &params, &run).unwrap();
                let distances = pairs.distances();
                for (row, found) in pairs.reached(k, &run).unwrap().into_iter().enumerate() {
                    let others = (0..150).filter(|&id| id != row);
                    let mut keys: Vec<u64> = others.map(|id| key(distances.get(row, id), id as u32)).collect();
                    keys.sort_unstable();
                    assert_eq!(found, Reached { last: keys[k - 1], nearest: distance_of(keys[0]) });
                }
            }
        }
    }
}
