//! Finds cells of near rows, and the cells whose means are near a row.
//!
//! Cells are carved ([`crate::knn::partitions::carve`]); then every row moves to the cell whose mean is nearest, as in a step of Lloyd's
//! k-means, so that a visit of the nearest means meets more of the nearest rows: .96 of them in half as many rows of a curved mixture. The
//! means are themselves rows in such cells, here called groups, so that a query is compared with the means of few groups only.
//!
//! Cost: the carving, and for each row that of finding one cell.

use lapwing_core::parallel::*;
use lapwing_core::{Error, Result, Run};

use super::IndexCells;
use super::cells::enough;
use super::rows::{CellRows, Writer, meet, nearest};
use crate::knn::kernels::element::{Element, Floats};
use crate::knn::kernels::lists::empty_lists;
use crate::knn::kernels::points::{Panels, Points};
use crate::knn::kernels::tile::compare;
use crate::knn::partitions::carve::{CarveParams, Partition};
use crate::knn::rows::half_squared;

/// Cells whose means are compared with all rows that are routed; more are grouped.
const UNGROUPED: usize = 256;
/// Cells in the groups that a row visits, for each cell that it visits; and groups at least.
const SPREAD: usize = 8;
const LEAST_GROUPS: usize = 3;
/// Rows that are compared with the means of all groups at a time: they stay in the cache.
const ROUTED: usize = 256;
/// Rows that a thread moves to their cells at a time.
const MOVED: usize = 4096;
/// Most leaders of a set that is carved.
const LEADERS: usize = 1000;
/// Round number of the carving, apart from the rounds of a search by partitions.
const ROUND: u64 = u64::MAX;
/// How many times the rows of a carved cell there may be in a cell, before it is carved again.
const LARGEST: usize = 2;

/// The means of cells in groups of near ones, and the means of the groups.
#[derive(Clone, Debug)]
pub(super) struct Means {
    groups: IndexCells,
    rows: CellRows<Floats>,
    /// (cells, width + 1).
    means: Vec<f32>,
    width: usize,
    /// Means of the groups in panels, and their norms.
    centers: Panels<Floats>,
    /// Numbers of the groups, and their sizes, ascending.
    numbers: Vec<u32>,
    sizes: Vec<u32>,
}

/// Means as rows: without the last column, which counts in the norm.
struct MeanRows<'m>(&'m Means);

impl Writer<Floats> for MeanRows<'_> {
    fn write(&self, id: u32, row: &mut [f32]) -> Result<f32> {
        let mean = self.0.row(id);
        row.copy_from_slice(&mean[..self.0.width]);
        Ok(half_squared(mean))
    }
}

impl Means {
    /// Groups the means (cells, `width` + 1) of cells, the same for every seed.
    pub fn new(means: &[f32], width: usize, run: &Run) -> Result<Self> {
        let n = means.len() / (width + 1);
        let groups = match n <= UNGROUPED {
            true => IndexCells::of((0..n as u32).collect(), vec![0, n as u64]),
            false => {
                let norms = means.chunks_exact(width + 1).map(Floats::norms).collect();
                let points = Points::<Floats> { n, width: width + 1, words: means.to_vec(), norms };
                cells_of(&points, ((n as f64).sqrt() as usize).max(16), &run.with_seed(0).quiet())?
            }
        };
        let (mut centers, mut center) = (Panels::default(), vec![0f32; width + 1]);
        centers.clear(groups.len(), width);
        let row = |id: u32, row: &mut [f32]| {
            row.copy_from_slice(&means[id as usize * row.len()..][..row.len()]);
            Ok(())
        };
        for group in 0..groups.len() {
            mean_of(&groups.ids[groups.range(group)], &mut center, row)?;
            centers.put(group, &center[..width], (0.0, half_squared(&center)));
        }
        let (numbers, sizes) = ((0..groups.len() as u32).collect(), groups.sizes());
        Ok(Self { rows: CellRows::new(groups.len()), groups, means: means.to_vec(), width, centers, numbers, sizes })
    }

    fn row(&self, cell: u32) -> &[f32] {
        &self.means[cell as usize * (self.width + 1)..][..self.width + 1]
    }

    /// The `n_probes` cells whose means are nearest to each row, nearest first (rows, n_probes).
    pub fn route(&self, queries: &Points<Floats>, n_probes: usize, run: &Run) -> Result<Vec<u32>> {
        let (n, n_groups) = (queries.n, self.groups.len());
        let least = (SPREAD * n_probes * n_groups).div_ceil(self.groups.ids.len().max(1)) + LEAST_GROUPS;
        let n_visited = enough(&self.sizes, least.min(n_groups), n_probes);
        let visited = match n_groups {
            1 => vec![0; n],
            _ => {
                let everyone: Vec<u32> = (0..n as u32).collect();
                let mut lists = empty_lists(n, n_visited);
                for routed in everyone.chunks(ROUTED) {
                    run.check()?;
                    compare(queries, routed, self.centers.block(&self.numbers), bytemuck::cast_slice_mut(&mut lists));
                }
                nearest(&lists, n, n_visited)
            }
        };
        let lists = meet(queries, &visited, (&self.groups, &self.rows, &MeanRows(self)), n_probes, run)?;
        Ok(nearest(&lists, n, n_probes))
    }
}

/// Disjoint cells of near points, of about half of `leaf` points each, none of them empty.
pub(super) fn cells_of(points: &Points<Floats>, leaf: usize, run: &Run) -> Result<IndexCells> {
    let params = CarveParams { leaf, fanout: vec![1], leaders: LEADERS };
    let everyone = (0..points.n as u32).collect();
    let carved = Partition::carve_rows(points, everyone, &params, ROUND, run)?;
    let carved = IndexCells::of(carved.ids, carved.starts.iter().map(|&start| start as u64).collect());
    let means = means_of(&carved, points.width, run, |id, row| {
        row[..points.width].copy_from_slice(points.row(id as usize));
        Ok(())
    })?;
    let means = Means::new(&means, points.width, run)?;
    let mut home = vec![0u32; points.n];
    run.install(|| {
        home.par_chunks_mut(MOVED).enumerate().try_for_each(|(at, home)| {
            let rows = at * MOVED..at * MOVED + home.len();
            let words = points.words[rows.start * points.width..rows.end * points.width].to_vec();
            let queries = Points { n: home.len(), width: points.width, words, norms: points.norms[rows].to_vec() };
            home.copy_from_slice(&means.route(&queries, 1, run)?);
            Ok::<_, Error>(())
        })
    })?;
    let mut moved = vec![Vec::new(); carved.len()];
    home.iter().enumerate().for_each(|(row, &cell)| moved[cell as usize].push(row as u32));
    let (mut ids, mut starts) = (Vec::with_capacity(points.n), vec![0]);
    let mut add = |rows: &[u32]| {
        ids.extend(rows);
        starts.push(ids.len() as u64);
    };
    for (cell, rows) in moved.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
        if rows.len() <= LARGEST * leaf {
            add(&rows);
            continue;
        }
        // Equal rows have all moved to one cell.
        let parts = Partition::carve_rows(points, rows, &params, ROUND - 1 - cell as u64, &run.quiet())?;
        (0..parts.n_leaves()).for_each(|leaf| add(parts.leaf(leaf)));
    }
    Ok(IndexCells::of(ids, starts))
}

/// Means (cells, width + 1) of the rows of cells, which `row` writes, with a column more.
pub(super) fn means_of(
    cells: &IndexCells,
    width: usize,
    run: &Run,
    row: impl Fn(u32, &mut [f32]) -> Result<()> + Sync,
) -> Result<Vec<f32>> {
    let mut means = vec![0f32; cells.len() * (width + 1)];
    let of_cells = means.par_chunks_mut(width + 1).enumerate();
    run.install(|| of_cells.try_for_each(|(cell, mean)| mean_of(&cells.ids[cells.range(cell)], mean, &row)))?;
    Ok(means)
}

/// The mean of the rows `ids`.
fn mean_of(ids: &[u32], mean: &mut [f32], row: impl Fn(u32, &mut [f32]) -> Result<()>) -> Result<()> {
    let (mut sums, mut values) = (vec![0f64; mean.len()], vec![0f32; mean.len()]);
    for &id in ids {
        row(id, &mut values)?;
        sums.iter_mut().zip(&values).for_each(|(sum, &x)| *sum += f64::from(x));
    }
    mean.iter_mut().zip(&sums).for_each(|(mean, sum)| *mean = (sum / ids.len() as f64) as f32);
    Ok(())
}

/// The value beside a row of an inner product that makes all norms `longest`.
pub(super) fn beside(row: &[f32], longest: f32) -> f32 {
    (longest * longest - 2.0 * half_squared(row)).max(0.0).sqrt()
}

/// Points with a column that makes their norms equal, for carving under the inner product.
pub(super) fn augmented(points: &Points<Floats>, longest: f32) -> Points<Floats> {
    let (width, half) = (points.width + 1, longest * longest / 2.0);
    let mut words = Vec::with_capacity(points.n * width);
    for row in points.words.chunks_exact(points.width) {
        words.extend_from_slice(row);
        words.push(beside(row, longest));
    }
    Points { n: points.n, width, words, norms: vec![(half, half); points.n] }
}
