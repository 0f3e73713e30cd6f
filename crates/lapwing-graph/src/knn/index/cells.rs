//! The cells of an index.

use std::ops::Range;

use lapwing_core::{Error, Result};

/// The least number of cells of these `sizes`, ascending, at least `n_probes`, such that any so many cells hold `k` rows.
pub(super) fn enough(sizes: &[u32], n_probes: usize, k: usize) -> usize {
    let mut total = 0;
    let needed = sizes.iter().take_while(|&&size| {
        let is_short = total < k;
        total += size as usize;
        is_short
    });
    n_probes.max(needed.count()).min(sizes.len())
}

/// The part of an index that a model saves; with the features, the index can be built again from it.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexCells {
    /// Rows, cell after cell (n).
    pub ids: Vec<u32>,
    /// First place of each cell in `ids`, and the end of the last (cells + 1).
    pub starts: Vec<u64>,
    /// Number of cells that a new row visits.
    pub n_probes: usize,
    /// Share of true neighbors that are found, measured on a sample of fitted rows.
    pub recall: f64,
    /// Standard error of the recall.
    pub recall_error: f64,
    /// Bytes to a unit of length, if queries compare rows that are rounded to bytes.
    pub byte_scale: Option<f32>,
    /// What queries begin with; `None` if it is to be found by a pass over the rows.
    pub start: Option<IndexStart>,
}

/// What queries begin with: how rows are shifted and scaled, and the means of the cells.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexStart {
    /// Subtracted from the columns (d), or nothing.
    pub center: Vec<f64>,
    /// Factor of the rows.
    pub scale: f64,
    /// The largest norm of a row, under the inner product.
    pub longest: f32,
    /// Means of the cells (cells, d + 1), the last column that which makes the norms of all rows equal, under the inner product.
    pub means: Vec<f32>,
}

impl IndexCells {
    /// Cells of which one is visited.
    pub(super) fn of(ids: Vec<u32>, starts: Vec<u64>) -> Self {
        Self { ids, starts, n_probes: 1, recall: 1.0, recall_error: 0.0, byte_scale: None, start: None }
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there is no cell, and no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Places of the rows of a cell.
    pub(crate) fn range(&self, cell: usize) -> Range<usize> {
        self.starts[cell] as usize..self.starts[cell + 1] as usize
    }

    /// Sizes of the cells, ascending.
    pub(super) fn sizes(&self) -> Vec<u32> {
        let mut sizes: Vec<u32> = (0..self.len()).map(|cell| self.range(cell).len() as u32).collect();
        sizes.sort_unstable();
        sizes
    }

    /// Checks that the cells hold each of `n` rows of `d` columns once and that there are as many as are visited.
    ///
    /// # Errors
    /// [`Error::Shape`] otherwise.
    pub fn check(&self, n: usize, d: usize) -> Result<()> {
        let mut seen = vec![false; n];
        let is_new = |&id: &u32| seen.get_mut(id as usize).is_some_and(|seen| !std::mem::replace(seen, true));
        let is_whole = self.ids.len() == n && self.ids.iter().all(is_new);
        let is_cut = self.starts.first() == Some(&0)
            && self.starts.last() == Some(&(n as u64))
            && self.starts.windows(2).all(|pair| pair[0] < pair[1]);
        let begins = self.start.as_ref().is_none_or(|IndexStart { center, means, .. }| {
            means.len() == self.len() * (d + 1) && (center.is_empty() || center.len() == d)
        });
        if is_whole && is_cut && begins && (1..=self.len()).contains(&self.n_probes) {
            return Ok(());
        }
        let got = format!("{} rows in {} cells, {} visited", self.ids.len(), self.starts.len(), self.n_probes);
        Err(Error::shape("cells of the index", format!("each of {n} rows once"), got))
    }
}
