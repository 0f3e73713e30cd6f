//! Exact neighbors, certified: lists of candidates by lower bounds in f32, exact distances in f64 of the listed rows, and a second
//! search for rows whose lists do not rule out all other rows.
//!
//! A product of d terms in f32 is off by at most γ·‖x‖‖y‖ ≤ γ·(‖x‖² + ‖y‖²)/2 with γ = d·2⁻²⁴, in whatever order it was
//! summed (Higham 2002, §3.1). Subtracting that error from both h makes 2·(h(x) + h(y) − xᵀy) a lower bound of the distance.
//! Lists keep a few more than k rows by it. Candidates are evaluated in order of their bounds until a bound is beyond
//! the k-th exact distance: then no other row, listed or not, can be nearer. Where the list ends before that (rows far
//! closer to each other than to the origin, many equal rows), the products are computed again, and every row whose bound
//! is within the k-th distance is evaluated.
//!
//! Cost: n²/2 products for rows among themselves, each serving both rows, n·m for queries; lists of k + 6 places.
//! Parallel over blocks of rows. The result does not depend on the order: it is exact.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use lapwing_core::parallel::*;
use lapwing_core::{Features, Result, Run};

use crate::knn::distance::Distances;
use crate::knn::exact::duplicates::DuplicateGroups;
use crate::knn::exact::pass::{Limits, pass};
use crate::knn::exact::products::{Side, Target};
use crate::knn::exact::signed::{distance_of, key};
use crate::knn::from_row::FromRow;
use crate::knn::kernels::lists::{EMPTY, STEP, SharedLists, id_of, offer, shared_lists};
use crate::knn::rows::{Frame, SearchRows, TILE_ROWS, half_squared, lowered};
use crate::knn::{KnnParams, Metric, Neighbors, list_width};

/// Share of one row in the slack: a distance exceeds its lower bound 2·(h(x) + h(y) − xᵀy) by at most the slacks of both rows.
/// `half_norm` is the lowered h of the row, `terms` as in [`lowered`].
pub(crate) fn slack(half_norm: f32, terms: usize, metric: Metric) -> f32 {
    let share = (terms as f32 + 20.0) * (f32::EPSILON / 2.0) * 1.01;
    let error = match metric {
        Metric::InnerProduct => -half_norm,
        // The error that was subtracted, from the difference.
        Metric::Euclidean | Metric::Cosine if share < 0.5 => half_norm.max(0.0) * share / (1.0 - share) + 1e-36,
        Metric::Euclidean | Metric::Cosine => f32::INFINITY,
    };
    4.1 * error
}

impl SearchRows {
    /// The rows with h lowered by the error of their products.
    pub fn lowered(mut self) -> Self {
        let rows = self.values.par_chunks(self.d).with_min_len(256);
        self.half_norms.par_iter_mut().zip(rows).for_each(|(h, row)| *h = lowered(*h, row.len(), half_squared(row)));
        self
    }
}

/// A row whose lower bound, in the unit of the search, is above this is farther than `distance`.
pub(crate) fn reach(frame: &Frame, distance: f32) -> f64 {
    let last = frame.in_search(distance);
    // Distances are compared as they are returned, in f32.
    last + 4.0 * f64::from(f32::EPSILON) * last.abs()
}

/// A search for the k nearest rows.
pub(crate) struct CertifiedSearch<'a> {
    pub left: &'a Side,
    pub target: Target<'a>,
    pub reranker: Reranker<'a>,
    /// Both sides are one matrix, and no row is its own neighbor.
    pub same: bool,
    /// Groups of equal rows, which need no search.
    pub duplicates: Option<DuplicateGroups>,
    pub run: &'a Run,
}

/// Re-ranks candidates by exact distance.
pub(crate) struct Reranker<'a> {
    pub distances: Distances<'a>,
    pub frame: &'a Frame,
    pub k: usize,
}

/// A row whose list does not rule out all other rows, and its exact keys so far.
type Open = (u32, Vec<u64>);

/// Exact keys (distance, row) of a row, ascending, and whether they are certified to be the nearest.
pub(crate) struct Reranked {
    pub keys: Vec<u64>,
    pub is_certain: bool,
}

impl Reranker<'_> {
    /// Computes exact distances of the rows of a list to the row of `from`, until a lower bound rules out the rest of the `others`
    /// compared rows.
    pub fn rerank(&self, from: &FromRow<'_>, list: &[u64], others: usize) -> Reranked {
        let mut keys = vec![EMPTY; self.k];
        let mut listed = 0;
        for &candidate in list.iter().filter(|&&key| key != EMPTY) {
            if f64::from(distance_of(candidate)) > self.reach(&keys) {
                return Reranked { keys, is_certain: true };
            }
            let id = id_of(candidate);
            offer(&mut keys, key(from.get(id as usize), id));
            listed += 1;
        }
        Reranked { keys, is_certain: listed == others }
    }

    /// Offers row `id` at its exact distance.
    pub fn evaluate(&self, row: usize, id: u32, keys: &mut [u64]) {
        offer(keys, key(self.distances.get(row, id as usize), id));
    }

    /// A row whose lower bound is above this cannot come before the last of `keys`.
    fn reach(&self, keys: &[u64]) -> f64 {
        reach(self.frame, distance_of(keys[self.k - 1]))
    }

    /// Largest v of a row that could come before the last of `keys`.
    pub fn limit(&self, keys: &[u64], half_norm: f32) -> f32 {
        rounded_up(self.reach(keys), half_norm)
    }
}

impl CertifiedSearch<'_> {
    /// Rows of `features` that need no search for their neighbors among the others.
    pub fn duplicates(features: &Features<'_>, params: &KnnParams, run: &Run) -> Option<DuplicateGroups> {
        params.metric().is_distance().then(|| DuplicateGroups::find(features, params.n_neighbors, run))
    }

    /// The k nearest rows of every row on the left.
    pub fn neighbors(&self) -> Result<Neighbors> {
        self.neighbors_from(if self.is_by_row() { self.lists_by_row()? } else { self.lists()? })
    }

    /// The same from the lists of all rows.
    pub(super) fn neighbors_from(&self, lists: Vec<u64>) -> Result<Neighbors> {
        let (m, k) = (self.left.rows.n, self.reranker.k);
        let width = self.width();
        let mut neighbors = Neighbors::none(m, k);
        let open = self.run.install(|| {
            let rows = neighbors.indices.par_chunks_mut(k).zip(neighbors.distances.par_chunks_mut(k));
            let from = || FromRow::new(&self.reranker.distances);
            let rerank = |from: &mut FromRow<'_>, (row, (ids, distances)): (usize, (&mut [u32], &mut [f32]))| {
                self.run.check()?;
                let reranked = self.rerank(from, row, &lists[row * width..(row + 1) * width]);
                write(&reranked.keys, ids, distances);
                Ok((!reranked.is_certain).then_some((row as u32, reranked.keys)))
            };
            let found: Result<Vec<Option<Open>>> = rows.enumerate().with_min_len(64).map_init(from, rerank).collect();
            found.map(|found| found.into_iter().flatten().collect::<Vec<_>>())
        })?;
        drop(lists);
        for (row, keys) in self.look_again(open)? {
            let range = row as usize * k..(row as usize + 1) * k;
            write(&keys, &mut neighbors.indices[range.clone()], &mut neighbors.distances[range]);
        }
        Ok(neighbors)
    }

    pub(super) fn width(&self) -> usize {
        list_width(self.reranker.k, self.target.side.rows.n).next_multiple_of(STEP)
    }

    /// Lists by lower bounds (m, width).
    pub(super) fn lists(&self) -> Result<Vec<u64>> {
        let (m, width) = (self.left.rows.n, self.width());
        let shared = Shared {
            lists: shared_lists(m, width),
            limits: (0..if self.same { m } else { 0 }).map(|_| AtomicU32::new(f32::INFINITY.to_bits())).collect(),
        };
        let tile = |at: usize| at * TILE_ROWS..((at + 1) * TILE_ROWS).min(m);
        let pairs = |rows: &Range<usize>| rows.len() * if self.same { rows.end } else { self.target.side.rows.n };
        let done = self.run.counter((0..m.div_ceil(TILE_ROWS)).map(|at| pairs(&tile(at))).sum(), "pairs");
        self.run.install(|| {
            (0..m.div_ceil(TILE_ROWS)).into_par_iter().try_for_each(|at| {
                self.meet(tile(at), &shared)?;
                done.add(pairs(&tile(at)));
                Ok(())
            })
        })?;
        Ok(shared.lists.into_vec())
    }

    /// Compares `rows` with the rows before them, or with all rows of another matrix.
    fn meet(&self, rows: Range<usize>, shared: &Shared) -> Result<()> {
        let ids: Vec<u32> = (rows.start as u32..rows.end as u32).collect();
        let (left, width) = (self.left.gather(&ids), self.width());
        let mut own: Vec<u64> = rows.clone().flat_map(|row| shared.lists.lock(row).to_vec()).collect();
        let mut out = vec![0f32; ids.len() * self.target.block];
        let mut limits = Vec::new();
        let end = if self.same { rows.end } else { self.target.side.rows.n };
        for at in 0..end.div_ceil(self.target.block) {
            self.run.check()?;
            let first = at * self.target.block;
            let columns = self.target.block.min(end - first);
            let out = &mut out[..ids.len() * columns];
            self.target.products(&left, at, columns, out);
            shared.copy_limits(first, columns, &mut limits);
            for (at, row) in rows.clone().enumerate() {
                let columns_met = if self.same { columns.min(row - first.min(row)) } else { columns };
                let products = &out[at * columns..at * columns + columns_met];
                let met = limits.len().min(columns_met);
                self.offer_all(
                    row,
                    first,
                    products,
                    &mut own[at * width..(at + 1) * width],
                    &mut limits[..met],
                    shared,
                );
            }
        }
        for (row, list) in rows.zip(own.chunks_exact(width)) {
            let mut all = shared.lists.lock(row);
            list.iter().filter(|&&key| key != EMPTY).for_each(|&key| offer(&mut all, key));
        }
        Ok(())
    }

    /// Offers the rows from `first` on to the list of `row`, and `row` to their lists where `limits` is not empty.
    fn offer_all(
        &self,
        row: usize,
        first: usize,
        products: &[f32],
        list: &mut [u64],
        limits: &mut [f32],
        shared: &Shared,
    ) {
        let right = &self.target.side.rows.half_norms[first..first + products.len()];
        let half_norm = self.left.rows.half_norms[row];
        let mut row_limit = limit(list, half_norm);
        let bounds = Limits { half_norms: right, row: row_limit, half_norm, columns: limits };
        pass(products, bounds, &mut |at| {
            let bound = 2.0 * ((right[at] - products[at]) + half_norm);
            if right[at] - products[at] <= row_limit {
                offer(list, key(bound, (first + at) as u32));
                row_limit = limit(list, half_norm);
            }
            if !self.same {
                return (row_limit, f32::INFINITY);
            }
            let mut other = shared.lists.lock(first + at);
            offer(&mut other, key(bound, row as u32));
            let column_limit = limit(&other, right[at]);
            drop(other);
            shared.limits[first + at].store(column_limit.to_bits(), Ordering::Relaxed);
            (row_limit, column_limit)
        });
    }

    /// The k nearest rows of the list.
    fn rerank(&self, from: &mut FromRow<'_>, row: usize, list: &[u64]) -> Reranked {
        if let Some(equal) = self.duplicates.as_ref().and_then(|duplicates| duplicates.neighbors(row as u32)) {
            return Reranked { keys: equal.map(|id| key(0.0, id)).collect(), is_certain: true };
        }
        from.set(row);
        self.reranker.rerank(from, list, self.target.side.rows.n - usize::from(self.same))
    }

    /// Evaluates every row within the last distance of each open list.
    fn look_again(&self, mut open: Vec<Open>) -> Result<Vec<Open>> {
        // Rows with k equal ones are done early: sorted together, they end whole tiles early.
        open.sort_by_key(|(row, keys)| (distance_of(keys[self.reranker.k - 1]) != 0.0, *row));
        self.run.install(|| open.par_chunks_mut(TILE_ROWS / 2).try_for_each(|rows| self.look_again_at(rows)))?;
        Ok(open)
    }

    fn look_again_at(&self, open: &mut [Open]) -> Result<()> {
        let ids: Vec<u32> = open.iter().map(|(row, _)| *row).collect();
        let left = self.left.gather(&ids);
        let mut out = vec![0f32; ids.len() * self.target.block];
        for at in 0..self.target.n_blocks() {
            let first = at * self.target.block;
            let columns = self.target.block.min(self.target.side.rows.n - first);
            if open.iter().all(|(_, keys)| self.is_done(keys, first)) {
                break;
            }
            let out = &mut out[..ids.len() * columns];
            self.target.products(&left, at, columns, out);
            for ((row, keys), products) in open.iter_mut().zip(out.chunks_exact(columns)) {
                self.run.check()?;
                self.evaluate(*row, keys, first, products);
            }
        }
        Ok(())
    }

    /// Rows come in ascending order: after k rows at distance 0, no later row can precede them.
    fn is_done(&self, keys: &[u64], next: usize) -> bool {
        let last = keys[self.reranker.k - 1];
        self.reranker.frame.metric.is_distance() && distance_of(last) == 0.0 && (id_of(last) as usize) < next
    }

    fn evaluate(&self, row: u32, keys: &mut [u64], first: usize, products: &[f32]) {
        let right = &self.target.side.rows.half_norms[first..first + products.len()];
        let half_norm = self.left.rows.half_norms[row as usize];
        let row_limit = |keys: &[u64], next: usize| {
            if self.is_done(keys, next) { f32::NEG_INFINITY } else { self.reranker.limit(keys, half_norm) }
        };
        let bounds = Limits { half_norms: right, row: row_limit(keys, first), half_norm, columns: &mut [] };
        pass(products, bounds, &mut |at| {
            let id = (first + at) as u32;
            let is_new = keys.iter().all(|&key| key == EMPTY || id_of(key) != id);
            if is_new && !(self.same && id == row) {
                self.reranker.evaluate(row as usize, id, keys);
            }
            (row_limit(keys, first + at + 1), f32::NEG_INFINITY)
        });
    }
}

/// Lists of all rows, and limits of the rows that are compared as columns too.
struct Shared {
    lists: SharedLists,
    /// Largest h(x) − xᵀy that each list would take, as bits. A stale limit is too large, which only costs time.
    limits: Vec<AtomicU32>,
}

impl Shared {
    fn copy_limits(&self, first: usize, columns: usize, out: &mut Vec<f32>) {
        out.clear();
        if let Some(limits) = self.limits.get(first..first + columns) {
            out.extend(limits.iter().map(|limit| f32::from_bits(limit.load(Ordering::Relaxed))));
        }
    }
}

/// Largest v that a list could take.
pub(crate) fn limit(list: &[u64], half_norm: f32) -> f32 {
    rounded_up(distance_of(list[list.len() - 1]).into(), half_norm)
}

/// The v of a row at `distance` in the unit of the search, or a little more, so that rounding excludes no row.
pub(crate) fn rounded_up(distance: f64, half_norm: f32) -> f32 {
    let half = distance / 2.0;
    let slack = 4.0 * f64::from(f32::EPSILON) * (half.abs() + f64::from(half_norm.abs()));
    (half - f64::from(half_norm) + slack) as f32
}

pub(crate) fn write(keys: &[u64], ids: &mut [u32], distances: &mut [f32]) {
    for ((&key, id), distance) in keys.iter().zip(ids).zip(distances).filter(|((key, _), _)| **key != EMPTY) {
        (*id, *distance) = (id_of(key), distance_of(key));
    }
}

#[cfg(test)]
mod tests;
