//! Queries of an index: chooses the cells that new rows visit, and finds the nearest rows in these cells.
//!
//! A batch is compared with the means of groups of cells, then with those of the cells in the nearest groups, then cell by cell with the
//! rows of the nearest cells, by the kernels of searches ([`crate::knn::kernels::tile`]). The lists they leave are ranked by exact distances. Cost: for each new row d
//! multiplications for every mean and every row that it is compared with. What is found for a row does not depend on the others.

use std::ops::Range;

use lapwing_core::{Dense, Result, Run};

use super::IndexCells;
use super::means::Means;
use super::rows::{CellRows, meet};
use crate::knn::distance::Distances;
use crate::knn::exact::signed::{distance_of, key};
use crate::knn::kernels::element::{Bytes, Element, Floats};
use crate::knn::kernels::lists::{EMPTY, id_of};
use crate::knn::kernels::points::{FloatSource, Points, RoundedSource, Source, round};
use crate::knn::rows::Frame;
use crate::relation::NO_NEIGHBOR;

/// The rows of cells as they are compared, and bytes to a unit of length.
#[derive(Clone, Debug)]
pub(crate) enum Held {
    Floats(CellRows<Floats>),
    Bytes(CellRows<Bytes>, f32),
}

/// A query of new rows.
pub(crate) struct Visits<'a> {
    pub cells: &'a IndexCells,
    pub rows: &'a Held,
    /// The fitted rows.
    pub fitted: FloatSource<'a>,
    pub means: &'a Means,
    pub new: &'a Dense<'a>,
    pub frame: &'a Frame,
    pub distances: Distances<'a>,
    pub k: usize,
    /// Places of the lists that are ranked by exact distances, without that of the row itself.
    pub width: usize,
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
        let visited = self.means.route(&queries, self.n_probes, self.run)?;
        // One row of a list may be the row itself.
        let width = self.width + usize::from(self.own.is_some());
        let lists = match self.rows {
            Held::Floats(held) => {
                for (words, norms) in queries.words.chunks_exact(queries.width).zip(&mut queries.norms) {
                    *norms = source.norms(words);
                }
                meet(&queries, &visited, (self.cells, held, &self.fitted), width, self.run)?
            }
            Held::Bytes(held, scale) => {
                let (n, fitted) = (queries.n, RoundedSource { rows: self.fitted, scale: *scale });
                let mut words = vec![0; n * fitted.width()];
                for (words, values) in
                    words.chunks_exact_mut(fitted.width()).zip(queries.words.chunks_exact(queries.width))
                {
                    round(values, *scale, words);
                }
                let norms = words.chunks_exact(fitted.width()).map(Bytes::norms).collect();
                let rounded = Points::<Bytes> { n, width: fitted.width(), words, norms };
                meet(&rounded, &visited, (self.cells, held, &fitted), width, self.run)?
            }
        };
        self.rank(rows.start, bytemuck::cast_slice(&lists), ids, distances);
        Ok(())
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
