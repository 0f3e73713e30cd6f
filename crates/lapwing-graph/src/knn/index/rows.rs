//! The rows of cells as the kernels take them: in panels, cell after cell; and the comparison of queries with the cells they visit.

use std::ops::Range;
use std::sync::OnceLock;

use bytemuck::Zeroable;
use lapwing_core::{Result, Run};

use super::IndexCells;
use crate::knn::kernels::element::Element;
use crate::knn::kernels::lists::{Places, empty_lists, id_of};
use crate::knn::kernels::points::{Block, Panels, Points, Source};
use crate::knn::kernels::tile::compare;

/// Cells that a query visits before the others.
const FIRST: usize = 2;

/// Rows of cells, each cell filled when it is first visited.
#[derive(Clone, Debug)]
pub(super) struct CellRows<E: Element>(Vec<OnceLock<Panels<E>>>);

/// What writes rows, and returns their norms on the right.
pub(super) trait Writer<E: Element>: Sync {
    fn write(&self, id: u32, row: &mut [E::Word]) -> Result<E::Norm>;
}

impl<S: Source> Writer<S::Element> for S {
    fn write(&self, id: u32, row: &mut [Word<S>]) -> Result<Norm<S>> {
        self.copy(id as usize, row)?;
        Ok(self.norms(row).1)
    }
}

type Word<S> = <<S as Source>::Element as Element>::Word;
type Norm<S> = <<S as Source>::Element as Element>::Norm;

impl<E: Element> CellRows<E> {
    pub fn new(n_cells: usize) -> Self {
        Self((0..n_cells).map(|_| OnceLock::new()).collect())
    }

    /// Prefetches the first panel of a cell that is likely to be next.
    fn prefetch(&self, cell: usize) {
        if let Some(panels) = self.0.get(cell).and_then(OnceLock::get) {
            panels.prefetch(0);
        }
    }

    /// The rows of a cell, whose numbers are `ids`.
    fn block<'a>(&'a self, cell: usize, ids: &'a [u32], width: usize, rows: &impl Writer<E>) -> Result<Block<'a, E>> {
        if let Some(panels) = self.0[cell].get() {
            return Ok(panels.block(ids));
        }
        let (mut panels, mut row) = (Panels::default(), vec![E::Word::zeroed(); width]);
        panels.clear(ids.len(), width);
        for (at, &id) in ids.iter().enumerate() {
            let right = rows.write(id, &mut row)?;
            panels.put(at, &row, (E::Norm::zeroed(), right));
        }
        // Two threads may fill it at once, with the same rows.
        Ok(self.0[cell].get_or_init(|| panels).block(ids))
    }
}

/// The `k` nearest rows of every query in the cells it visits (queries, cells), by the distances of kernels: (queries, places of a list).
pub(super) fn meet<E: Element>(
    queries: &Points<E>,
    visited: &[u32],
    (cells, held, rows): (&IndexCells, &CellRows<E>, &impl Writer<E>),
    k: usize,
    run: &Run,
) -> Result<Vec<Places>> {
    let (mut lists, n_probes) = (empty_lists(queries.n, k), visited.len() / queries.n.max(1));
    // The nearest cells first: fewer rows of the others enter the lists.
    let first = FIRST.min(n_probes);
    for probes in [0..first, first..n_probes] {
        let (visitors, starts) = by_cell(visited, n_probes, probes, cells.len());
        for (cell, range) in starts.windows(2).enumerate().filter(|(_, range)| range[0] < range[1]) {
            run.check()?;
            held.prefetch(cell + 1);
            let block = held.block(cell, &cells.ids[cells.range(cell)], queries.width, rows)?;
            compare(queries, &visitors[range[0]..range[1]], block, bytemuck::cast_slice_mut(&mut lists));
        }
    }
    Ok(lists)
}

/// The first `k` of each of `n` lists (n, k).
pub(super) fn nearest(lists: &[Places], n: usize, k: usize) -> Vec<u32> {
    let lists: &[u64] = bytemuck::cast_slice(lists);
    let lists = lists.chunks_exact(lists.len() / n.max(1));
    lists.flat_map(|list| list[..k].iter().map(|&key| id_of(key))).collect()
}

/// The queries that visit each cell at some of their `n_probes` visits, cell after cell, and where those of each begin (cells + 1).
fn by_cell(visited: &[u32], n_probes: usize, probes: Range<usize>, n_cells: usize) -> (Vec<u32>, Vec<usize>) {
    let queries = || visited.chunks_exact(n_probes.max(1)).map(|cells| &cells[probes.clone()]);
    let mut starts = vec![0usize; n_cells + 1];
    queries().flatten().for_each(|&cell| starts[cell as usize + 1] += 1);
    (0..n_cells).for_each(|cell| starts[cell + 1] += starts[cell]);
    let (mut next, mut visitors) = (starts.clone(), vec![0u32; starts[n_cells]]);
    for (query, cells) in queries().enumerate() {
        for &cell in cells {
            let place = &mut next[cell as usize];
            visitors[*place] = query as u32;
            *place += 1;
        }
    }
    (visitors, starts)
}
