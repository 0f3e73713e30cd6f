//! Tiles of products between a few rows and a block of others, dense and sparse: the main work of exact searches.
//!
//! A row is a dense head, which goes into a matrix product, and for sparse rows a tail of the rarer columns, whose products
//! are added entry by entry through an inverted index of the block. Frequent columns hold most of the multiplications of
//! sparse rows, and are faster as dense ones. Cost: one multiplication for each pair and column of the heads,
//! and for each pair of tail entries in one column.

use lapwing_data::Csr;
use rayon::prelude::*;

use crate::knn::rows::{SearchRows, products};

/// Rows on the left of a tile: few enough that a tile stays in the L2 cache, enough for a matrix product.
pub(crate) const TILE_ROWS: usize = 64;
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
    /// Heads, possibly of no columns, with h of the whole rows.
    pub head: SearchRows,
    /// Tails by row; none for dense rows.
    pub tail: Option<Csr<f32>>,
}

impl Side {
    /// Head columns and tails of the rows `ids`, one below the other.
    pub fn gather_heads(&self, ids: &[u32], out: &mut Vec<f32>) {
        out.clear();
        ids.iter().for_each(|&id| out.extend_from_slice(self.head.row(id as usize)));
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
    /// Of each column, where its entries start (columns + 1).
    start: Vec<u32>,
    /// Row within the block.
    rows: Vec<u16>,
    values: Vec<f32>,
}

impl<'a> Target<'a> {
    pub fn new(side: &'a Side) -> Self {
        let n = side.head.n;
        let Some(tail) = &side.tail else {
            return Self { side, block: TILE_COLUMNS.min(n), index: Vec::new() };
        };
        // Each block has an offset for every column: no more of them than four for an entry.
        let most_blocks = (4 * tail.nnz() / tail.n_cols().max(1)).max(1);
        let block = n.div_ceil(most_blocks).clamp(TILE_COLUMNS, MOST_COLUMNS).min(n);
        let index = |at: usize| BlockIndex::new(tail, at * block..((at + 1) * block).min(n));
        Self { side, block, index: (0..n.div_ceil(block)).into_par_iter().map(index).collect() }
    }

    pub fn n_blocks(&self) -> usize {
        self.side.head.n.div_ceil(self.block)
    }

    /// Products of `rows` of `left`, whose heads are `heads`, with the first `columns` rows of block `at`, row by row.
    pub fn products(&self, left: &Side, rows: &[u32], heads: &[f32], at: usize, columns: usize, out: &mut [f32]) {
        let d = self.side.head.d;
        let first = at * self.block;
        if d > 0 {
            products(heads, &self.side.head.values[first * d..(first + columns) * d], d, out);
        } else {
            out.fill(0.0);
        }
        let (Some(tail), Some(index)) = (&left.tail, self.index.get(at)) else { return };
        for (&row, sums) in rows.iter().zip(out.chunks_exact_mut(columns)) {
            let (ids, values) = tail.row(row as usize);
            for (&column, &value) in ids.iter().zip(values) {
                index.add(column as usize, value, sums);
            }
        }
    }
}

impl BlockIndex {
    fn new(tail: &Csr<f32>, rows: std::ops::Range<usize>) -> Self {
        let mut start = vec![0u32; tail.n_cols() + 1];
        for row in rows.clone() {
            tail.row(row).0.iter().for_each(|&column| start[column as usize + 1] += 1);
        }
        (0..tail.n_cols()).for_each(|column| start[column + 1] += start[column]);
        let mut next = start.clone();
        let entries = start[tail.n_cols()] as usize;
        let mut index = Self { start, rows: vec![0; entries], values: vec![0.0; entries] };
        for (at, row) in rows.enumerate() {
            let (columns, values) = tail.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                let place = next[column as usize] as usize;
                next[column as usize] += 1;
                (index.rows[place], index.values[place]) = (at as u16, value);
            }
        }
        index
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
