//! Tiles of products between a few rows and a block of others, dense and sparse: the main work of exact searches.
//!
//! Dense rows go into a matrix product. Sparse rows are cut in two: frequent columns hold most of the multiplications and go through
//! [`crate::knn::exact::frequent`]; products over the rare ones are added entry by entry through an inverted index of the block.
//! Cost: one multiplication for each pair and column of dense rows; of sparse rows one for each entry in a frequent column
//! and row of the other side, and one for each pair of entries in a rare column.

use lapwing_core::Csr;
use lapwing_core::parallel::*;
use lapwing_simd::prefetch;

use super::frequent::Panel;
use crate::knn::rows::{SearchRows, TILE_ROWS, products};

/// Rows on the right of a tile: the products of one row with them stay in the L1 cache.
const TILE_COLUMNS: usize = 4096;
/// Most rows on the right: an index numbers them by 16 bits.
const MOST_COLUMNS: usize = 1 << 16;

/// Bytes of a tile of products with n dense rows.
pub(crate) fn tile_bytes(n: usize) -> usize {
    size_of::<f32>() * TILE_ROWS * TILE_COLUMNS.min(n)
}

/// Rows to take products of.
pub(crate) struct Side {
    /// The rows with their h; of no columns if they are sparse.
    pub rows: SearchRows,
    /// The values of sparse rows.
    pub sparse: Option<SparseRows>,
}

/// Sparse rows, cut in two; columns that cannot meet are left out.
pub(crate) struct SparseRows {
    /// Columns that many rows use.
    pub frequent: Csr<f32>,
    /// The others.
    pub rare: Csr<f32>,
}

/// Some rows on the left, ready for products with any block.
pub(crate) struct LeftRows<'a> {
    values: Values<'a>,
    ids: &'a [u32],
}

enum Values<'a> {
    /// One row below the other.
    Dense(Vec<f32>),
    Sparse(Panel, &'a Csr<f32>),
}

impl Side {
    /// The rows `ids`, at most [`TILE_ROWS`].
    pub fn gather<'a>(&'a self, ids: &'a [u32]) -> LeftRows<'a> {
        let values = match &self.sparse {
            None => Values::Dense(ids.iter().flat_map(|&id| self.rows.row(id as usize)).copied().collect()),
            Some(sparse) => Values::Sparse(Panel::new(&sparse.frequent, ids), &sparse.rare),
        };
        LeftRows { values, ids }
    }
}

/// Rows that are searched, cut into blocks.
pub(crate) struct Target<'a> {
    pub side: &'a Side,
    /// Rows of a block.
    pub block: usize,
    index: Vec<BlockIndex>,
}

/// Where a column is used among the rows of a block.
struct BlockIndex {
    /// Of each rare column, where its entries start (columns + 1).
    start: Vec<u32>,
    /// Row within the block.
    rows: Vec<u16>,
    values: Vec<f32>,
}

impl<'a> Target<'a> {
    pub fn new(side: &'a Side) -> Self {
        let n = side.rows.n;
        let Some(SparseRows { rare, .. }) = &side.sparse else {
            return Self { side, block: TILE_COLUMNS.min(n), index: Vec::new() };
        };
        // Each block has an offset for every column: no more of them than four for an entry.
        let most_blocks = (4 * rare.nnz() / rare.n_cols().max(1)).max(1);
        let block = n.div_ceil(most_blocks).clamp(TILE_COLUMNS, MOST_COLUMNS).min(n);
        let index = |at: usize| BlockIndex::new(rare, at * block..((at + 1) * block).min(n));
        Self { side, block, index: (0..n.div_ceil(block)).into_par_iter().map(index).collect() }
    }

    pub fn n_blocks(&self) -> usize {
        self.side.rows.n.div_ceil(self.block)
    }

    /// Products of the rows `left` with the first `columns` rows of block `at`, row by row.
    pub fn products(&self, left: &LeftRows<'_>, at: usize, columns: usize, out: &mut [f32]) {
        let (d, first) = (self.side.rows.d, at * self.block);
        match (&left.values, &self.side.sparse, self.index.get(at)) {
            (Values::Sparse(panel, rare), Some(sparse), Some(index)) => {
                panel.products(&sparse.frequent, first..first + columns, out);
                for (&row, sums) in left.ids.iter().zip(out.chunks_exact_mut(columns)) {
                    let (ids, values) = rare.row(row as usize);
                    index.prefetch(ids, 0);
                    for (at, (&column, &value)) in ids.iter().zip(values).enumerate() {
                        index.prefetch(ids, at + 1);
                        index.add(column as usize, value, sums);
                    }
                }
            }
            (Values::Dense(values), ..) => {
                products(values, &self.side.rows.values[first * d..(first + columns) * d], d, out);
            }
            _ => unreachable!("both sides are sparse, or both dense"),
        }
    }
}

impl BlockIndex {
    fn new(rare: &Csr<f32>, rows: std::ops::Range<usize>) -> Self {
        let mut start = vec![0u32; rare.n_cols() + 1];
        for row in rows.clone() {
            rare.row(row).0.iter().for_each(|&column| start[column as usize + 1] += 1);
        }
        (0..rare.n_cols()).for_each(|column| start[column + 1] += start[column]);
        let mut next = start.clone();
        let entries = start[rare.n_cols()] as usize;
        let mut index = Self { start, rows: vec![0; entries], values: vec![0.0; entries] };
        for (at, row) in rows.enumerate() {
            let (columns, values) = rare.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                let place = next[column as usize] as usize;
                next[column as usize] += 1;
                (index.rows[place], index.values[place]) = (at as u16, value);
            }
        }
        index
    }

    /// Prefetches where the entries of a later column begin, and the first entries of the column `ids[at]`.
    #[inline]
    fn prefetch(&self, ids: &[u32], at: usize) {
        /// So many columns ahead.
        const AHEAD: usize = 4;
        if let Some(&later) = ids.get(at + AHEAD) {
            prefetch(&self.start, later as usize);
        }
        if let Some(&next) = ids.get(at) {
            let start = self.start[next as usize] as usize;
            prefetch(&self.rows, start);
            prefetch(&self.values, start);
        }
    }

    /// sums[row] += value · entry for the entries of `column` below `sums.len()`.
    #[inline]
    fn add(&self, column: usize, value: f32, sums: &mut [f32]) {
        let range = self.start[column] as usize..self.start[column + 1] as usize;
        for (&row, &entry) in self.rows[range.clone()].iter().zip(&self.values[range]) {
            // Rows ascend within a column.
            let Some(sum) = sums.get_mut(usize::from(row)) else { break };
            *sum += value * entry;
        }
    }
}
