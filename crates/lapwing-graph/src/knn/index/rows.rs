//! The fitted rows of an index as the kernels take them: in panels, cell after cell; and the means of the cells, in groups.

use lapwing_core::parallel::*;
use lapwing_core::{Result, Run};

use super::IndexCells;
use super::cells::enough;
use crate::knn::Metric;
use crate::knn::kernels::element::{Element, Floats};
use crate::knn::kernels::points::{Block, FloatSource, PANEL, Panels, Points, Source, put};
use crate::knn::partitions::carve::{CarveParams, Partition};
use crate::knn::rows::half_squared;

/// Rows of cells.
#[derive(Clone, Debug)]
pub(super) struct CellRows {
    /// Words of a row.
    width: usize,
    /// Words of the rows in panels; every cell begins one.
    words: Vec<f32>,
    /// Norms of the rows on the right.
    right: Vec<f32>,
    /// First place of each cell, and the end of the last (cells + 1).
    starts: Vec<usize>,
}

/// A cell that is being filled.
struct Cell<'a> {
    ids: &'a [u32],
    words: &'a mut [f32],
    right: &'a mut [f32],
}

/// What a row has besides its words.
struct Beside {
    /// Its norm on the right.
    right: f32,
    /// The value of the column that makes the norms of all rows equal, under the inner product; else 0.
    beyond: f32,
}

/// The mean of a cell.
#[derive(Clone, Debug)]
pub(super) struct Mean {
    values: Vec<f32>,
    beyond: f32,
}

impl CellRows {
    /// The rows of `source`, by cells, and the means of the cells.
    pub fn new(source: &FloatSource<'_>, cells: &IndexCells, run: &Run) -> Result<(Self, Vec<Mean>)> {
        let longest = source.frame.longest.powi(2);
        let copy = |id: u32, row: &mut [f32]| {
            source.copy(id as usize, row)?;
            let beyond = match source.frame.metric {
                Metric::InnerProduct => (longest - 2.0 * half_squared(row)).max(0.0).sqrt(),
                _ => 0.0,
            };
            Ok(Beside { right: source.norms(row).1, beyond })
        };
        Self::filled(source.width(), cells, copy, run)
    }

    /// The rows that `copy` writes, by cells, and the means of the cells.
    fn filled(
        width: usize,
        cells: &IndexCells,
        copy: impl Fn(u32, &mut [f32]) -> Result<Beside> + Sync,
        run: &Run,
    ) -> Result<(Self, Vec<Mean>)> {
        let mut starts = vec![0];
        let mut end = 0;
        for cell in 0..cells.len() {
            end += cells.range(cell).len().next_multiple_of(PANEL);
            starts.push(end);
        }
        let (mut words, mut right) = (vec![0f32; end * width], vec![0f32; end]);
        let (mut rest, mut norms) = (&mut words[..], &mut right[..]);
        let mut parts = Vec::with_capacity(cells.len());
        for (cell, range) in starts.windows(2).enumerate() {
            let places = range[1] - range[0];
            let (words, others) = rest.split_at_mut(places * width);
            let (right, behind) = norms.split_at_mut(places);
            (rest, norms) = (others, behind);
            parts.push(Cell { ids: &cells.ids[cells.range(cell)], words, right });
        }
        let means = run.install(|| {
            let parts = parts.into_par_iter();
            parts.map_init(|| vec![0f32; width], |row, cell| cell.fill(&copy, row)).collect::<Result<_>>()
        })?;
        Ok((Self { width, words, right, starts }, means))
    }

    /// Columns of the rows.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The rows of a cell, whose numbers are `ids`.
    pub fn block<'a>(&'a self, cell: usize, ids: &'a [u32]) -> Block<'a, Floats> {
        let places = self.starts[cell]..self.starts[cell + 1];
        let words = &self.words[places.start * self.width..places.end * self.width];
        Block { words, right: &self.right[places], ids }
    }
}

impl Cell<'_> {
    /// Fills the cell; `row` is room for one.
    fn fill(self, copy: &impl Fn(u32, &mut [f32]) -> Result<Beside>, row: &mut [f32]) -> Result<Mean> {
        let (mut sums, mut beyond) = (vec![0f64; row.len()], 0f64);
        for (at, &id) in self.ids.iter().enumerate() {
            let beside = copy(id, row)?;
            put::<Floats>(self.words, at, row);
            self.right[at] = beside.right;
            sums.iter_mut().zip(&*row).for_each(|(sum, &x)| *sum += f64::from(x));
            beyond += f64::from(beside.beyond);
        }
        let n = self.ids.len() as f64;
        Ok(Mean { values: sums.iter().map(|sum| (sum / n) as f32).collect(), beyond: (beyond / n) as f32 })
    }
}

impl Mean {
    /// Half of its square.
    fn norm(&self) -> f32 {
        half_squared(&self.values) + self.beyond * self.beyond / 2.0
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
    /// Groups the means of cells, the same for every seed.
    pub fn new(means: &[Mean], metric: Metric, run: &Run) -> Result<Self> {
        let (n, width) = (means.len(), means.first().map_or(0, |mean| mean.values.len()));
        let groups = match n <= UNGROUPED {
            true => IndexCells::of((0..n as u32).collect(), vec![0, n as u64]),
            false => {
                let is_longer = metric == Metric::InnerProduct;
                let words: Vec<f32> = means
                    .iter()
                    .flat_map(|mean| mean.values.iter().chain(is_longer.then_some(&mean.beyond)).copied())
                    .collect();
                let width = width + usize::from(is_longer);
                let norms = words.chunks_exact(width).map(Floats::norms).collect();
                let points = Points::<Floats> { n, width, words, norms };
                let leaf = ((n as f64).sqrt() as usize).max(16);
                let carving = CarveParams { leaf, fanout: vec![1], leaders: 1000 };
                let found = Partition::carve(&points, &carving, u64::MAX, &run.with_seed(0).quiet())?;
                IndexCells::of(found.ids, found.starts.iter().map(|&start| start as u64).collect())
            }
        };
        let copy = |cell: u32, row: &mut [f32]| {
            let mean = &means[cell as usize];
            row.copy_from_slice(&mean.values);
            Ok(Beside { right: mean.norm(), beyond: mean.beyond })
        };
        let (rows, found) = CellRows::filled(width, &groups, copy, run)?;
        let mut centers = Panels::default();
        centers.clear(found.len(), width);
        for (at, mean) in found.iter().enumerate() {
            centers.put(at, &mean.values, (0.0, mean.norm()));
        }
        let (numbers, sizes) = ((0..found.len() as u32).collect(), groups.sizes());
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
