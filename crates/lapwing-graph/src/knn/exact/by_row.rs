//! Lists of candidates row by row: for few rows, and for queries.
//!
//! [`super::certified`] computes each product once and offers it to the lists of both rows. A list then changes some k·ln(n/k) times,
//! which takes longer than the products if rows are few or short. Here each row is compared with all others. The rows are divided into
//! groups; the k-th smallest of the groups' minima is at least the k-th smallest of all values, so that one pass selects what is up to it.
//! Cost: n² products (twice as many), each read twice. Parallel over tiles of rows.

use std::ops::Range;

use lapwing_core::Result;
use lapwing_core::parallel::*;
use lapwing_simd::dispatch;

use super::certified::{CertifiedSearch, rounded_up};
use super::pass::{Limits, pass};
use super::signed::{distance_of, key};
use crate::knn::kernels::lists::EMPTY;
use crate::knn::rows::TILE_ROWS;

/// Most rows and values (n·d) among themselves for which products of both orders cost less than the lists of two sides. Measured for 15
/// neighbors of uniform rows (2 cores), by row and by two sides: 2,000 × 64 in 9 and 15 ms, 10,000 × 10 in 61 and 97, 5,000 × 80 in 62
/// and 74, 20,000 × 20 in 243 and 255; but 5,000 × 200 in 107 and 94, 2,000 × 784 in 67 and 45.
const MOST_ROWS: usize = 1 << 15;
const MOST_VALUES: usize = 400_000;
/// Rows of a tile: fewer than tiles elsewhere, so that all threads have work.
const ROWS: usize = TILE_ROWS / 2;
/// Groups for each place of a list. With more groups the bound is closer, and fewer candidates are sorted.
const GROUPS: usize = 4;
/// When there are this many candidates for each place of the list, all but the nearest are dropped.
const MOST_CANDIDATES: usize = 4;

dispatch! {
    /// minima[g] ← the least h(y) − xᵀy of the rows y of group g: every `minima.len()`-th row.
    fn group_minima(products: &[f32], half_norms: &[f32], minima: &mut [f32]) = group_minima_plain
}

#[inline(always)]
fn group_minima_plain(products: &[f32], half_norms: &[f32], minima: &mut [f32]) {
    minima.fill(f32::INFINITY);
    for (p, h) in products.chunks(minima.len()).zip(half_norms.chunks(minima.len())) {
        for ((least, p), h) in minima.iter_mut().zip(p).zip(h) {
            let value = h - p;
            *least = if value < *least { value } else { *least };
        }
    }
}

/// The candidates of one row.
struct Candidates {
    keys: Vec<u64>,
    /// Places of the list.
    width: usize,
}

impl Candidates {
    /// Keeps the nearest, as many as the list has places.
    fn reduce(&mut self) {
        if self.keys.len() > self.width {
            self.keys.select_nth_unstable(self.width - 1);
            self.keys.truncate(self.width);
        }
    }

    /// Largest h(y) − xᵀy that the list can take after [`reduce`](Self::reduce).
    fn limit(&self, half_norm: f32) -> f32 {
        let last = self.keys.iter().copied().max().filter(|_| self.keys.len() >= self.width);
        last.map_or(f32::INFINITY, |last| rounded_up(distance_of(last).into(), half_norm))
    }
}

impl CertifiedSearch<'_> {
    /// Whether lists are filled row by row.
    pub(super) fn is_by_row(&self) -> bool {
        let side = &self.target.side;
        !self.same || (side.sparse.is_none() && side.rows.n <= MOST_ROWS && side.rows.n * side.rows.d <= MOST_VALUES)
    }

    /// Lists by lower bounds (m, width), empty for rows that need no search.
    pub(super) fn lists_by_row(&self) -> Result<Vec<u64>> {
        let (m, width) = (self.left.rows.n, self.width());
        let mut lists = vec![EMPTY; m * width];
        let done = self.run.counter(m * self.target.side.rows.n, "pairs");
        self.run.install(|| {
            lists.par_chunks_mut(ROWS * width).enumerate().try_for_each(|(at, lists)| {
                let rows = at * ROWS..((at + 1) * ROWS).min(m);
                let pairs = rows.len() * self.target.side.rows.n;
                self.fill(rows, lists)?;
                done.add(pairs);
                Ok(())
            })
        })?;
        Ok(lists)
    }

    /// The lists of `rows`.
    fn fill(&self, rows: Range<usize>, lists: &mut [u64]) -> Result<()> {
        let (n, width) = (self.target.side.rows.n, self.width());
        let is_searched = |row: &usize| self.duplicates.as_ref().is_none_or(|groups| !groups.has(*row as u32));
        let open: Vec<u32> = rows.clone().filter(is_searched).map(|row| row as u32).collect();
        let left = self.left.gather(&open);
        let mut out = vec![0f32; open.len() * self.target.block];
        let mut minima = vec![0f32; (GROUPS * (width + 1)).next_multiple_of(16)];
        let mut all: Vec<Candidates> = open.iter().map(|_| Candidates { keys: Vec::new(), width }).collect();
        for at in 0..self.target.n_blocks() {
            self.run.check()?;
            let first = at * self.target.block;
            let columns = self.target.block.min(n - first);
            let out = &mut out[..open.len() * columns];
            self.target.products(&left, at, columns, out);
            for ((&row, candidates), products) in open.iter().zip(&mut all).zip(out.chunks_exact(columns)) {
                self.select(row, first, products, candidates, &mut minima);
            }
        }
        for (&row, candidates) in open.iter().zip(&mut all) {
            candidates.reduce();
            candidates.keys.sort_unstable();
            let list = &mut lists[(row as usize - rows.start) * width..][..candidates.keys.len()];
            list.copy_from_slice(&candidates.keys);
        }
        Ok(())
    }

    /// Adds the rows from `first` on that the list of `row` could take.
    fn select(&self, row: u32, first: usize, products: &[f32], candidates: &mut Candidates, minima: &mut [f32]) {
        let right = &self.target.side.rows.half_norms[first..first + products.len()];
        let half_norm = self.left.rows.half_norms[row as usize];
        if !half_norm.is_finite() {
            // Products overflow: the list stays empty, which is an error.
            return;
        }
        candidates.reduce();
        let mut most = candidates.limit(half_norm);
        // The row itself is the least of its group, and no candidate.
        let places = candidates.width + usize::from(self.same);
        if most == f32::INFINITY && products.len() >= minima.len() {
            group_minima(products, right, minima);
            most = *minima.select_nth_unstable_by(places - 1, f32::total_cmp).1;
        }
        let bounds = Limits { half_norms: right, row: most, half_norm, columns: &mut [] };
        pass(products, bounds, &mut |at| {
            let id = (first + at) as u32;
            if !(self.same && id == row) {
                candidates.keys.push(key(2.0 * ((right[at] - products[at]) + half_norm), id));
            }
            if candidates.keys.len() == MOST_CANDIDATES * candidates.width {
                candidates.reduce();
                most = most.min(candidates.limit(half_norm));
            }
            (most, f32::NEG_INFINITY)
        });
    }
}

#[cfg(test)]
mod tests {
    use lapwing_core::{Features, Run};

    use super::super::certified::Reranker;
    use super::super::products::Target;
    use super::*;
    use crate::knn::distance::Distances;
    use crate::knn::exact::ready;
    use crate::knn::{KnnParams, Metric};
    use crate::testkit::blobs;

    #[test]
    fn lists_by_row_and_lists_of_two_sides_give_the_same_neighbors() {
        let run = Run::new(Some(2), 0).unwrap();
        // The second has several blocks of rows, the third groups of equal rows.
        let whole = |n: u32| Features::from_f32(n as usize, 1, (0..n).map(|row| (row % 9) as f32).collect()).unwrap();
        for (features, k) in [(blobs(300, 7, 3), 5), (blobs(5000, 3, 4), 20), (whole(400), 12)] {
            for metric in [Metric::Euclidean, Metric::InnerProduct] {
                let params = KnnParams { n_neighbors: k, metric: Some(metric), ..KnnParams::default() };
                let (frame, side) = ready(&features, metric, &run).unwrap();
                let search = CertifiedSearch {
                    left: &side,
                    target: Target::new(&side),
                    reranker: Reranker { distances: Distances::new(&features, &features, metric), frame: &frame, k },
                    same: true,
                    duplicates: CertifiedSearch::duplicates(&features, &params, &run),
                    run: &run,
                };
                let by_row = search.neighbors_from(search.lists_by_row().unwrap()).unwrap();
                assert_eq!(by_row, search.neighbors_from(search.lists().unwrap()).unwrap());
            }
        }
    }

    #[test]
    fn minima_of_groups_are_those_of_a_loop() {
        for n in [64, 100, 203] {
            let products: Vec<f32> = (0..n).map(|i| ((i * 7919) % 211) as f32).collect();
            let half_norms: Vec<f32> = (0..n).map(|i| ((i * 31) % 17) as f32).collect();
            let least = |group: usize| {
                (group..n).step_by(64).map(|at| half_norms[at] - products[at]).fold(f32::INFINITY, f32::min)
            };
            let expected: Vec<f32> = (0..64).map(least).collect();
            for minima_of in [group_minima, group_minima_plain] {
                let mut found = vec![0.0; 64];
                minima_of(&products, &half_norms, &mut found);
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn a_list_keeps_the_nearest_and_its_limit_excludes_none_of_them() {
        let mut candidates = Candidates { keys: (0..9).map(|id| key((9 - id) as f32, id)).collect(), width: 4 };
        candidates.reduce();
        candidates.keys.sort_unstable();
        let ids: Vec<u32> = candidates.keys.iter().map(|&key| crate::knn::kernels::lists::id_of(key)).collect();
        assert_eq!(ids, [8, 7, 6, 5]);
        assert!((4.0 / 2.0 - 0.5..4.0 / 2.0 - 0.49).contains(&candidates.limit(0.5)));
        let few = Candidates { keys: Vec::new(), width: 4 };
        assert_eq!(few.limit(0.5), f32::INFINITY);
    }
}
