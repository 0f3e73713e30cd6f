//! The rows of cells as the kernels take them: in panels, cell after cell; and the comparison of queries with the cells they visit.

use std::sync::OnceLock;

use lapwing_core::{Result, Run};

use super::IndexCells;
use crate::knn::kernels::element::Floats;
use crate::knn::kernels::lists::{EMPTY, STEP, id_of};
use crate::knn::kernels::points::{Block, FloatSource, Panels, Points, Source};
use crate::knn::kernels::tile::compare;

/// Rows of cells, each cell filled when it is first visited.
#[derive(Clone, Debug)]
pub(super) struct CellRows(Vec<OnceLock<Panels<Floats>>>);

/// What writes rows, and returns their norms on the right.
pub(super) trait Writer: Sync {
    fn write(&self, id: u32, row: &mut [f32]) -> Result<f32>;
}

impl Writer for FloatSource<'_> {
    fn write(&self, id: u32, row: &mut [f32]) -> Result<f32> {
        self.copy(id as usize, row)?;
        Ok(self.norms(row).1)
    }
}

impl CellRows {
    pub fn new(n_cells: usize) -> Self {
        Self((0..n_cells).map(|_| OnceLock::new()).collect())
    }

    /// The rows of a cell, whose numbers are `ids`.
    fn block<'a>(&'a self, cell: usize, ids: &'a [u32], width: usize, rows: &impl Writer) -> Result<Block<'a, Floats>> {
        if let Some(panels) = self.0[cell].get() {
            return Ok(panels.block(ids));
        }
        let (mut panels, mut row) = (Panels::default(), vec![0f32; width]);
        panels.clear(ids.len(), width);
        for (at, &id) in ids.iter().enumerate() {
            let right = rows.write(id, &mut row)?;
            panels.put(at, &row, (0.0, right));
        }
        // Two threads may fill it at once, with the same rows.
        Ok(self.0[cell].get_or_init(|| panels).block(ids))
    }
}

/// The `k` nearest rows of every query in the cells it visits (queries, cells), by the distances of kernels: (queries, places of a list).
pub(super) fn meet(
    queries: &Points<Floats>,
    visited: &[u32],
    (cells, held, rows): (&IndexCells, &CellRows, &impl Writer),
    k: usize,
    run: &Run,
) -> Result<Vec<u64>> {
    let mut lists = vec![EMPTY; queries.n * k.next_multiple_of(STEP)];
    let (visitors, starts) = by_cell(visited, visited.len() / queries.n.max(1), cells.len());
    for (cell, range) in starts.windows(2).enumerate().filter(|(_, range)| range[0] < range[1]) {
        run.check()?;
        let block = held.block(cell, &cells.ids[cells.range(cell)], queries.width, rows)?;
        compare(queries, &visitors[range[0]..range[1]], block, &mut lists);
    }
    Ok(lists)
}

/// The first `k` of each of `n` lists (n, k).
pub(super) fn nearest(lists: &[u64], n: usize, k: usize) -> Vec<u32> {
    let lists = lists.chunks_exact(lists.len() / n.max(1));
    lists.flat_map(|list| list[..k].iter().map(|&key| id_of(key))).collect()
}

/// The queries that visit each cell, cell after cell, and where those of each begin (cells + 1).
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
