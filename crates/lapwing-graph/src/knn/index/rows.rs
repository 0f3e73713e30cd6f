//! The fitted rows of an index as the kernels take them: in panels, cell after cell; and the means of the cells, in groups.

use std::sync::OnceLock;

use lapwing_core::parallel::*;
use lapwing_core::{Result, Run};

use super::IndexCells;
use super::cells::enough;
use crate::knn::Metric;
use crate::knn::kernels::element::{Element, Floats};
use crate::knn::kernels::points::{Block, FloatSource, Panels, Points, Source};
use crate::knn::partitions::carve::{CarveParams, Partition};
use crate::knn::rows::half_squared;

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
    pub fn block<'a>(
        &'a self,
        cell: usize,
        ids: &'a [u32],
        width: usize,
        rows: &impl Writer,
    ) -> Result<Block<'a, Floats>> {
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

/// Means (cells, d + 1) of the rows of cells.
pub(super) fn means_of(source: &FloatSource<'_>, cells: &IndexCells, run: &Run) -> Result<Vec<f32>> {
    let (width, longest) = (source.width(), source.frame.longest.powi(2));
    let mut means = vec![0f32; cells.len() * (width + 1)];
    run.install(|| {
        means.par_chunks_mut(width + 1).enumerate().try_for_each_init(
            || vec![0f32; width],
            |row, (cell, mean)| -> Result<()> {
                let (mut sums, ids) = (vec![0f64; width + 1], &cells.ids[cells.range(cell)]);
                for &id in ids {
                    source.copy(id as usize, row)?;
                    sums.iter_mut().zip(&*row).for_each(|(sum, &x)| *sum += f64::from(x));
                    if source.frame.metric == Metric::InnerProduct {
                        sums[width] += f64::from((longest - 2.0 * half_squared(row)).max(0.0).sqrt());
                    }
                }
                mean.iter_mut().zip(&sums).for_each(|(mean, sum)| *mean = (sum / ids.len() as f64) as f32);
                Ok(())
            },
        )
    })?;
    Ok(means)
}

/// Means as rows: without the last column, which counts in the norm.
struct MeanRows<'m> {
    means: &'m [f32],
    width: usize,
}

impl MeanRows<'_> {
    fn row(&self, at: usize) -> &[f32] {
        &self.means[at * (self.width + 1)..(at + 1) * (self.width + 1)]
    }
}

impl Writer for MeanRows<'_> {
    fn write(&self, id: u32, row: &mut [f32]) -> Result<f32> {
        let mean = self.row(id as usize);
        row.copy_from_slice(&mean[..self.width]);
        Ok(half_squared(mean))
    }
}

/// Cells whose means are compared with all rows that are routed; more are grouped.
const UNGROUPED: usize = 256;
/// Cells in the groups that a row visits, for each cell that it visits; and groups at least.
const SPREAD: usize = 8;
const LEAST_GROUPS: usize = 3;

/// The means of the cells in groups of near ones, and the means of the groups.
#[derive(Clone, Debug)]
pub(super) struct Means {
    pub groups: IndexCells,
    pub rows: CellRows,
    /// Means of the groups in panels, and their norms.
    centers: Panels<Floats>,
    /// Numbers of the groups, and their sizes, ascending.
    numbers: Vec<u32>,
    sizes: Vec<u32>,
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
                let leaf = ((n as f64).sqrt() as usize).max(16);
                let carving = CarveParams { leaf, fanout: vec![1], leaders: 1000 };
                let found = Partition::carve(&points, &carving, u64::MAX, &run.with_seed(0).quiet())?;
                IndexCells::of(found.ids, found.starts.iter().map(|&start| start as u64).collect())
            }
        };
        let (all, rows) = (MeanRows { means, width }, CellRows::new(groups.len()));
        let mut centers = Panels::default();
        centers.clear(groups.len(), width);
        for group in 0..groups.len() {
            let ids = &groups.ids[groups.range(group)];
            rows.block(group, ids, width, &all)?;
            let mut sums = vec![0f64; width + 1];
            for &id in ids {
                sums.iter_mut().zip(all.row(id as usize)).for_each(|(sum, &x)| *sum += f64::from(x));
            }
            let center: Vec<f32> = sums.iter().map(|sum| (sum / ids.len() as f64) as f32).collect();
            centers.put(group, &center[..width], (0.0, half_squared(&center)));
        }
        let (numbers, sizes) = ((0..groups.len() as u32).collect(), groups.sizes());
        Ok(Self { groups, rows, centers, numbers, sizes })
    }

    /// The means of the groups.
    pub fn centers(&self) -> Block<'_, Floats> {
        self.centers.block(&self.numbers)
    }

    /// Number of groups that a row visits which visits `n_probes` cells.
    pub fn n_visited(&self, n_probes: usize) -> usize {
        let n_groups = self.groups.len();
        let least = (SPREAD * n_probes * n_groups).div_ceil(self.groups.ids.len().max(1)) + LEAST_GROUPS;
        enough(&self.sizes, least.min(n_groups), n_probes)
    }
}

/// Points with a column that makes their norms equal, for carving under the inner product.
pub(super) fn augmented(points: &Points<Floats>, longest: f32) -> Points<Floats> {
    let (width, squared) = (points.width + 1, longest * longest);
    let mut words = Vec::with_capacity(points.n * width);
    for row in points.words.chunks_exact(points.width) {
        words.extend_from_slice(row);
        words.push((squared - 2.0 * half_squared(row)).max(0.0).sqrt());
    }
    Points { n: points.n, width, words, norms: vec![(squared / 2.0, squared / 2.0); points.n] }
}
