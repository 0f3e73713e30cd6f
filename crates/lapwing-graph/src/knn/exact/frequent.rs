//! Products over the columns that many rows use: the rows on the left as a dense panel, those on the right entry by entry.
//!
//! The panel holds a column's values in all rows on the left side by side. An entry of a row on the right is multiplied with a whole
//! column of the panel, and the sums of the row stay in registers. An inverted index adds one product at a time to memory: it is
//! slower if at least one of about [`COMMON`] rows uses the column. A matrix product multiplies every column of every pair: it is
//! slower unless nearly all rows use the column. Cost: one multiplication for each entry on the right and row on the left, sixteen
//! at a time.

use std::ops::Range;

use lapwing_core::Csr;
use lapwing_simd::{Floats, LANES, Lines, Simd, dispatch, lanes_mut};

use crate::knn::rows::TILE_ROWS;

/// A column is frequent if at least one row in so many uses it.
const COMMON: usize = 48;

/// Most frequent columns: their panel stays in the L2 cache.
const MOST: usize = 4096;

/// How many of `n` rows must use a column to make it frequent; `counts` are the uses of all columns.
pub(crate) fn least_uses(counts: &[u32], n: usize) -> u32 {
    let least = (n.div_ceil(COMMON) as u32).max(2);
    let mut frequent: Vec<u32> = counts.iter().copied().filter(|&count| count >= least).collect();
    if frequent.len() <= MOST {
        return least;
    }
    *frequent.select_nth_unstable_by(MOST, |a, b| b.cmp(a)).1 + 1
}

/// Most bytes of a panel of rows with `d` columns.
pub(crate) fn panel_bytes(d: usize) -> usize {
    size_of::<f32>() * TILE_ROWS * d.min(MOST)
}

/// Values of some rows, column by column.
pub(crate) struct Panel {
    /// Rows.
    len: usize,
    /// Values (columns, rows), rows padded with zeros to whole vectors.
    values: Lines<f32>,
}

impl Panel {
    /// The rows `ids`, at most [`TILE_ROWS`].
    pub fn new(rows: &Csr<f32>, ids: &[u32]) -> Self {
        assert!(ids.len() <= TILE_ROWS, "a panel of more rows than a tile");
        let width = ids.len().next_multiple_of(LANES);
        let mut values = Lines::zeros(rows.n_cols() * width);
        for (at, &id) in ids.iter().enumerate() {
            let (columns, entries) = rows.row(id as usize);
            for (&column, &entry) in columns.iter().zip(entries) {
                values[column as usize * width + at] = entry;
            }
        }
        Self { len: ids.len(), values }
    }

    /// out[i·m + j] ← product of row i of the panel with row j of the m rows `range` on the right.
    pub fn products(&self, right: &Csr<f32>, range: Range<usize>, out: &mut [f32]) {
        match self.len.div_ceil(LANES) {
            0 => {}
            1 => one(self, right, range, out),
            2 => two(self, right, range, out),
            3 => three(self, right, range, out),
            _ => four(self, right, range, out),
        }
    }
}

dispatch! { fn one(panel: &Panel, right: &Csr<f32>, range: Range<usize>, out: &mut [f32]) = with::<_, 1>(simd) }
dispatch! { fn two(panel: &Panel, right: &Csr<f32>, range: Range<usize>, out: &mut [f32]) = with::<_, 2>(simd) }
dispatch! { fn three(panel: &Panel, right: &Csr<f32>, range: Range<usize>, out: &mut [f32]) = with::<_, 3>(simd) }
dispatch! { fn four(panel: &Panel, right: &Csr<f32>, range: Range<usize>, out: &mut [f32]) = with::<_, 4>(simd) }

/// [`Panel::products`] of a panel of `V` vectors a column.
#[inline(always)]
fn with<S: Simd, const V: usize>(simd: S, panel: &Panel, right: &Csr<f32>, range: Range<usize>, out: &mut [f32]) {
    let (columns, m) = (panel.values.as_chunks::<LANES>().0.as_chunks::<V>().0, range.len());
    let (mut sums, mut turned) = ([[0f32; LANES]; LANES], [0f32; LANES * LANES]);
    let mut tile = [[[0f32; LANES]; LANES]; V];
    for first in (0..m).step_by(LANES) {
        let len = LANES.min(m - first);
        for at in 0..len {
            let (ids, values) = right.row(range.start + first + at);
            let found = row_sums::<S, V>(simd, columns, ids, values);
            for v in 0..V {
                found[v].store(&mut tile[v][at]);
            }
        }
        for v in 0..V {
            sums.copy_from_slice(&tile[v]);
            simd.transpose(sums.as_flattened(), LANES, &mut turned, LANES);
            let rows = (v * LANES..panel.len.min((v + 1) * LANES)).zip(turned.as_chunks::<LANES>().0);
            for (row, turned) in rows {
                let at = row * m + first;
                if len == LANES {
                    *lanes_mut(out, at) = *turned;
                } else {
                    out[at..at + len].copy_from_slice(&turned[..len]);
                }
            }
        }
    }
}

/// Σ value · column over the entries of a row.
#[inline(always)]
fn row_sums<S: Simd, const V: usize>(
    simd: S,
    columns: &[[[f32; LANES]; V]],
    ids: &[u32],
    values: &[f32],
) -> [S::F32; V] {
    let mut sums = [simd.splat(0.0); V];
    for (&id, &value) in ids.iter().zip(values) {
        let (column, value) = (&columns[id as usize], simd.splat(value));
        for v in 0..V {
            sums[v] = simd.load(&column[v]).mul_add(value, sums[v]);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use lapwing_simd::each_level;

    use super::*;

    #[test]
    fn products_are_those_of_dense_rows_at_every_level() {
        let (n, d) = (83u32, 29u32);
        let value = |row: u32, column: u32| match (row * 31 + column * 17) % 5 {
            0 => ((row % 9) as f32 - 4.0) * (1 + column % 5) as f32,
            _ => 0.0,
        };
        let entries: Vec<(u32, u32, f32)> =
            (0..n * d).map(|at| (at / d, at % d, value(at / d, at % d))).filter(|entry| entry.2 != 0.0).collect();
        let rows = Csr::from_entries(n as usize, d as usize, &entries).unwrap();
        for (ids, range) in [
            (vec![5], 0..40),
            ((10..33).collect(), 3..83),
            ((0..48).rev().collect(), 7..8),
            ((19..83).collect(), 2..77),
        ] {
            let expected = ids.iter().flat_map(|&id| {
                range
                    .clone()
                    .map(move |other| (0..d).map(|column| value(id, column) * value(other as u32, column)).sum())
            });
            let expected: Vec<f32> = expected.collect();
            for found in each_level(|| {
                let mut out = vec![f32::NAN; ids.len() * range.len()];
                Panel::new(&rows, &ids).products(&rows, range.clone(), &mut out);
                out
            }) {
                // Of small whole numbers, in whatever order.
                assert_eq!(found, expected, "{} rows", ids.len());
            }
        }
    }

    #[test]
    fn the_most_used_columns_are_frequent_and_no_more_than_fit() {
        assert_eq!(least_uses(&[0, 1, 2, 900], 10), 2);
        assert_eq!(least_uses(&[500, 20, 21], 1000), 21);
        let counts: Vec<u32> = (0..MOST as u32 + 100).map(|column| 1000 + column).collect();
        let least = least_uses(&counts, 2000);
        assert_eq!(counts.iter().filter(|&&count| count >= least).count(), MOST);
    }
}
