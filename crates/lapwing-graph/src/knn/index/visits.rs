//! Queries of an index: chooses the cells that new rows visit, and finds the nearest rows in these cells.
//!
//! A batch is compared with the means of groups of cells, then with those of the cells in the nearest groups, then cell by cell with the
//! rows of the nearest cells, by the kernels of searches ([`crate::knn::kernels::tile`]). The lists they leave are ranked by exact distances. Cost: for each new row d
//! multiplications for every mean and every row that it is compared with. What is found for a row does not depend on the others.

use std::ops::Range;

use lapwing_core::{Dense, Result, Run};

use super::IndexCells;
use super::rows::{CellRows, Means};
use crate::knn::distance::Distances;
use crate::knn::exact::signed::{distance_of, key};
use crate::knn::kernels::element::{Element, Floats};
use crate::knn::kernels::lists::{EMPTY, STEP, id_of};
use crate::knn::kernels::points::{FloatSource, Points, Source};
use crate::knn::kernels::tile::compare;
use crate::knn::rows::Frame;
use crate::relation::NO_NEIGHBOR;

/// Rows that are compared with the means of all groups at a time: they stay in the cache.
const ROUTED: usize = 256;

/// A query of new rows.
pub(crate) struct Visits<'a> {
    pub cells: &'a IndexCells,
    pub rows: &'a CellRows,
    /// The fitted rows.
    pub fitted: FloatSource<'a>,
    pub means: &'a Means,
    pub new: &'a Dense<'a>,
    pub frame: &'a Frame,
    pub distances: Distances<'a>,
    pub k: usize,
    /// Cells each new row visits.
    pub n_probes: usize,
    /// The fitted row that each new row is, and that is not its own neighbor; `None` if new rows are no fitted ones.
    pub own: Option<&'a (dyn Fn(usize) -> u32 + Sync)>,
    pub run: &'a Run,
}

impl Visits<'_> {
    /// Neighbors of the new rows `rows`, written into `ids` and `distances`, k for each.
    pub fn batch(&self, rows: Range<usize>, ids: &mut [u32], distances: &mut [f32]) -> Result<()> {
        let source = FloatSource { dense: self.new, frame: self.frame };
        let mut queries = Points::<Floats> {
            n: rows.len(),
            width: source.width(),
            words: vec![0.0; rows.len() * source.width()],
            norms: Vec::with_capacity(rows.len()),
        };
        for (row, words) in rows.clone().zip(queries.words.chunks_exact_mut(queries.width)) {
            source.copy(row, words)?;
            queries.norms.push(Floats::norms(words));
        }
        let visited = self.route(&queries)?;
        for (words, norms) in queries.words.chunks_exact(queries.width).zip(&mut queries.norms) {
            *norms = source.norms(words);
        }
        // Rounding may swap rows at the end of a list, and one may be the row itself.
        let width = self.k + 1 + usize::from(self.own.is_some());
        let lists = self.meet(&queries, &visited, self.n_probes, (self.cells, self.rows), width)?;
        self.rank(rows.start, &lists, ids, distances);
        Ok(())
    }

    /// Cells that every row visits, nearest first (rows, n_probes).
    fn route(&self, queries: &Points<Floats>) -> Result<Vec<u32>> {
        let n_groups = self.means.n_visited(self.n_probes);
        let groups = match self.means.groups.len() {
            1 => vec![0; queries.n],
            _ => {
                let everyone: Vec<u32> = (0..queries.n as u32).collect();
                let mut lists = vec![EMPTY; queries.n * n_groups.next_multiple_of(STEP)];
                for routed in everyone.chunks(ROUTED) {
                    self.run.check()?;
                    compare(queries, routed, self.means.centers(), &mut lists);
                }
                nearest(&lists, queries.n, n_groups)
            }
        };
        let means = (&self.means.groups, &self.means.rows);
        Ok(nearest(&self.meet(queries, &groups, n_groups, means, self.n_probes)?, queries.n, self.n_probes))
    }

    /// The `k` nearest rows of every row in the `n_visited` cells it visits, by the distances of kernels (rows, places of a list).
    fn meet(
        &self,
        queries: &Points<Floats>,
        visited: &[u32],
        n_visited: usize,
        (cells, rows): (&IndexCells, &CellRows),
        k: usize,
    ) -> Result<Vec<u64>> {
        let mut lists = vec![EMPTY; queries.n * k.next_multiple_of(STEP)];
        let (visitors, starts) = by_cell(visited, n_visited, cells.len());
        for (cell, range) in starts.windows(2).enumerate().filter(|(_, range)| range[0] < range[1]) {
            self.run.check()?;
            let ids = &cells.ids[cells.range(cell)];
            compare(
                queries,
                &visitors[range[0]..range[1]],
                rows.block(cell, ids, queries.width, &self.fitted)?,
                &mut lists,
            );
        }
        Ok(lists)
    }

    /// The k nearest of every list by exact distances; the first row is `first`.
    fn rank(&self, first: usize, lists: &[u64], ids: &mut [u32], distances: &mut [f32]) {
        let (k, width) = (self.k, lists.len() / (ids.len() / self.k).max(1));
        let mut exact = Vec::with_capacity(width);
        let outputs = ids.chunks_exact_mut(k).zip(distances.chunks_exact_mut(k));
        for (at, (ids, distances)) in outputs.enumerate() {
            let next = lists.get((at + 1) * width..(at + 2) * width).unwrap_or_default();
            ids_of(next).for_each(|id| self.distances.prefetch(id as usize));
            let own = self.own.map_or(NO_NEIGHBOR, |own| own(first + at));
            let others = ids_of(&lists[at * width..(at + 1) * width]).filter(|&id| id != own);
            exact.clear();
            exact.extend(others.map(|id| key(self.distances.get(first + at, id as usize), id)));
            exact.sort_unstable();
            for ((&key, id), distance) in exact.iter().zip(ids).zip(distances) {
                (*id, *distance) = (id_of(key), distance_of(key));
            }
        }
    }
}

/// The rows in a list.
fn ids_of(list: &[u64]) -> impl Iterator<Item = u32> {
    list.iter().take_while(|&&key| key != EMPTY).map(|&key| id_of(key))
}

/// The first `k` of each of `n` lists (n, k).
fn nearest(lists: &[u64], n: usize, k: usize) -> Vec<u32> {
    let lists = lists.chunks_exact(lists.len() / n.max(1));
    lists.flat_map(|list| list[..k].iter().map(|&key| id_of(key))).collect()
}

/// The rows that visit each cell, cell after cell, and where those of each begin (cells + 1).
fn by_cell(visited: &[u32], n_probes: usize, n_cells: usize) -> (Vec<u32>, Vec<usize>) {
    let mut starts = vec![0usize; n_cells + 1];
    visited.iter().for_each(|&cell| starts[cell as usize + 1] += 1);
    (0..n_cells).for_each(|cell| starts[cell + 1] += starts[cell]);
    let (mut next, mut visitors) = (starts.clone(), vec![0u32; visited.len()]);
    for (at, &cell) in visited.iter().enumerate() {
        let place = &mut next[cell as usize];
        visitors[*place] = (at / n_probes) as u32;
        *place += 1;
    }
    (visitors, starts)
}
