//! Queries of an index: chooses the cells that new rows visit, and finds the exact neighbors within these cells.
//!
//! A batch is compared with the means of all cells by a matrix product, then cell by cell with the queries that visit it.
//! Cost: for each query d multiplications for every mean and for every row of the cells visited.

use std::ops::Range;

use lapwing_core::{Dense, Result, Run};

use crate::knn::exact::certified::{Reranker, limit, write};
use crate::knn::exact::pass::{Limits, pass};
use crate::knn::exact::signed::key;
use crate::knn::from_row::FromRow;
use crate::knn::index::cells::IndexCells;
use crate::knn::kernels::lists::{EMPTY, id_of, offer};
use crate::knn::list_width;
use crate::knn::rows::{Frame, SearchRows, products};

/// New rows whose products with centroids are computed together: a fixed number, so that rounding does not depend on the batch.
pub(crate) const ROUTE_ROWS: usize = 64;
/// Centroids of one matrix product.
const ROUTE_CELLS: usize = 2048;

/// The index.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a> {
    pub cells: &'a IndexCells,
    /// Rows of the cells, one after another, with h lowered by the error of products.
    pub rows: &'a SearchRows,
    /// Means of the cells.
    pub centroids: &'a SearchRows,
}

/// A query of new rows.
pub(crate) struct Visits<'a> {
    pub places: Places<'a>,
    pub new: &'a Dense<'a>,
    pub reranker: Reranker<'a>,
    pub frame: &'a Frame,
    /// Cells each new row visits.
    pub n_probes: usize,
    /// The new rows are the fitted ones, and no row is its own neighbor.
    pub same: bool,
    pub run: &'a Run,
}

impl Visits<'_> {
    /// Neighbors of the new rows `rows`, written into `ids` and `distances`, k for each.
    pub fn batch(&self, rows: Range<usize>, ids: &mut [u32], distances: &mut [f32]) -> Result<()> {
        let (m, d, k) = (rows.len(), self.places.rows.d, self.reranker.k);
        // Whole blocks, so that every product with centroids has the same shape.
        let mut values = vec![0f32; m.next_multiple_of(ROUTE_ROWS) * d];
        rows.clone().zip(values.chunks_exact_mut(d)).for_each(|(row, out)| self.frame.copy_row(self.new, row, out));
        let visited = self.route(m, &values)?;
        values.truncate(m * d);
        let new = SearchRows::bounded(d, values, self.frame);
        let lists = self.meet(rows.start, &new, &visited)?;
        let (width, mut from) = (self.width(), FromRow::new(&self.reranker.distances));
        for (at, row) in rows.enumerate() {
            from.set(row);
            let cells = &visited[at * self.n_probes..(at + 1) * self.n_probes];
            let others: usize = cells.iter().map(|&cell| self.places.cells.range(cell as usize).len()).sum();
            let list = &lists[at * width..(at + 1) * width];
            let mut reranked = self.reranker.rerank(&from, list, others - self.own_among(row, cells));
            if !reranked.is_certain {
                self.look_again(row, new.row(at), new.half_norms[at], cells, &mut reranked.keys);
            }
            write(&reranked.keys, &mut ids[at * k..(at + 1) * k], &mut distances[at * k..(at + 1) * k]);
        }
        Ok(())
    }

    fn width(&self) -> usize {
        list_width(self.reranker.k, self.places.rows.n)
    }

    /// 1 if `row` is a fitted row and one of `cells` holds it.
    fn own_among(&self, row: usize, cells: &[u32]) -> usize {
        let meets = |&cell: &u32| self.places.cells.ids[self.places.cells.range(cell as usize)].contains(&(row as u32));
        usize::from(self.same && cells.iter().any(meets))
    }

    /// Cells that the first `m` rows of `values` visit, nearest first (m, n_probes).
    fn route(&self, m: usize, values: &[f32]) -> Result<Vec<u32>> {
        let (d, n_probes, centroids) = (self.places.rows.d, self.n_probes, self.places.centroids);
        let mut out = vec![0f32; ROUTE_ROWS * ROUTE_CELLS.min(centroids.n)];
        let mut lists = vec![EMPTY; m * n_probes];
        for (block, lists) in values.chunks_exact(ROUTE_ROWS * d).zip(lists.chunks_mut(ROUTE_ROWS * n_probes)) {
            for first in (0..centroids.n).step_by(ROUTE_CELLS) {
                self.run.check()?;
                let end = (first + ROUTE_CELLS).min(centroids.n);
                let out = &mut out[..ROUTE_ROWS * (end - first)];
                products(block, &centroids.values[first * d..end * d], d, out);
                let half_norms = &centroids.half_norms[first..end];
                for (list, products) in lists.chunks_exact_mut(n_probes).zip(out.chunks_exact(end - first)) {
                    collect(list, products, half_norms, 0.0, |at| Some((first + at) as u32));
                }
            }
        }
        Ok(lists.into_iter().map(id_of).collect())
    }

    /// Lists by lower bounds of the new rows, whose first is `first`, in the cells they visit.
    fn meet(&self, first: usize, new: &SearchRows, visited: &[u32]) -> Result<Vec<u64>> {
        let (d, width, rows) = (new.d, self.width(), self.places.rows);
        let mut lists = vec![EMPTY; new.n * width];
        let (mut heads, mut out) = (Vec::new(), Vec::new());
        for visitors in by_cell(visited, self.n_probes).chunk_by(|a, b| a.0 == b.0) {
            self.run.check()?;
            let range = self.places.cells.range(visitors[0].0 as usize);
            let (ids, half_norms) = (&self.places.cells.ids[range.clone()], &rows.half_norms[range.clone()]);
            heads.clear();
            visitors.iter().for_each(|&(_, at)| heads.extend_from_slice(new.row(at as usize)));
            out.resize(visitors.len() * range.len(), 0.0);
            products(&heads, &rows.values[range.start * d..range.end * d], d, &mut out);
            for (&(_, at), products) in visitors.iter().zip(out.chunks_exact(range.len())) {
                let at = at as usize;
                let own = if self.same { (first + at) as u32 } else { u32::MAX };
                let list = &mut lists[at * width..(at + 1) * width];
                collect(list, products, half_norms, new.half_norms[at], |at| Some(ids[at]).filter(|&id| id != own));
            }
        }
        Ok(lists)
    }

    /// Evaluates every row of `cells` that could come before the last of `keys`.
    fn look_again(&self, row: usize, values: &[f32], half_norm: f32, cells: &[u32], keys: &mut [u64]) {
        let (d, rows) = (self.places.rows.d, self.places.rows);
        for &cell in cells {
            let range = self.places.cells.range(cell as usize);
            let (ids, half_norms) = (&self.places.cells.ids[range.clone()], &rows.half_norms[range.clone()]);
            let mut out = vec![0f32; range.len()];
            products(values, &rows.values[range.start * d..range.end * d], d, &mut out);
            let row_limit = self.reranker.limit(keys, half_norm);
            let limits = Limits { half_norms, row: row_limit, half_norm, columns: &mut [] };
            pass(&out, limits, &mut |at| {
                if !(self.same && ids[at] as usize == row) {
                    self.reranker.evaluate(row, ids[at], keys);
                }
                (self.reranker.limit(keys, half_norm), f32::NEG_INFINITY)
            });
        }
    }
}

/// Offers row `id(at)` at 2·(h(x) + h(y) − xᵀy) for every product `at` that could enter `list`.
pub(crate) fn collect(
    list: &mut [u64],
    products: &[f32],
    half_norms: &[f32],
    half_norm: f32,
    id: impl Fn(usize) -> Option<u32>,
) {
    let limits = Limits { half_norms, row: limit(list, half_norm), half_norm, columns: &mut [] };
    pass(products, limits, &mut |at| {
        if let Some(id) = id(at) {
            offer(list, key(2.0 * ((half_norms[at] - products[at]) + half_norm), id));
        }
        (limit(list, half_norm), f32::NEG_INFINITY)
    });
}

/// (cell, new row) for each visit, cells ascending.
fn by_cell(visited: &[u32], n_probes: usize) -> Vec<(u32, u32)> {
    let visits = visited.iter().enumerate();
    let mut pairs: Vec<(u32, u32)> = visits.map(|(at, &cell)| (cell, (at / n_probes) as u32)).collect();
    pairs.sort_unstable();
    pairs
}
