//! XᵀX of rows in single precision, summed in double precision: the lower triangle, column after column, as
//! [`Cholesky`](crate::Cholesky) takes it.
//!
//! Cost: n·d² flops (the lower half), d²·8 bytes. With [`Precision::Single`], products of blocks of 512 rows are taken in single
//! precision and added up in double. [`Precision::Double`] takes all products in double precision at half the speed, for sums
//! that are inverted without a ridge. Parallel over tiles of columns if there are many columns, else over sixteen parts of the
//! rows, so that results do not depend on threads.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use lapwing_core::ordered::sum_of_parts;
use lapwing_core::parallel::*;
use lapwing_core::{Result, Run};

use crate::Precision;

/// Rows whose products are taken at a time.
const ROWS: usize = 512;
/// Columns of a tile.
const TILE: usize = 256;
/// Up to so many columns, tasks divide the rows among them; beyond, the tiles.
const FEW_COLUMNS: usize = 1024;
/// Parts of the rows.
const PARTS: usize = 16;

/// Lower triangle of XᵀX (d, d), column after column (the upper one holds zeros), of rows `x` (n, d).
///
/// # Errors
/// [`Error::Interrupted`](lapwing_core::Error::Interrupted).
pub fn gram_of_rows(x: &[f32], d: usize, precision: Precision, run: &Run) -> Result<Vec<f64>> {
    let n = x.len() / d.max(1);
    let mut out = vec![0.0; d * d];
    if n == 0 {
        return Ok(out);
    }
    run.install(|| {
        if d > FEW_COLUMNS {
            out.par_chunks_mut(TILE * d).enumerate().try_for_each(|(piece, out)| {
                let first = piece * TILE;
                (first..d).step_by(TILE).try_for_each(|row| {
                    run.check()?;
                    add_tile(x, d, (row, first), precision, out);
                    Ok(())
                })
            })?;
            return Ok(out);
        }
        let rows = n.div_ceil(PARTS).max(ROWS);
        let parts: Vec<Vec<f64>> = x
            .par_chunks(rows * d)
            .map(|x| {
                let mut part = vec![0.0; d * d];
                for first in (0..d).step_by(TILE) {
                    let columns = first * d..(first + TILE).min(d) * d;
                    for row in (first..d).step_by(TILE) {
                        run.check()?;
                        add_tile(x, d, (row, first), precision, &mut part[columns.clone()]);
                    }
                }
                Ok(part)
            })
            .collect::<Result<_>>()?;
        Ok(sum_of_parts(out, &parts))
    })
}

/// Adds a tile of XᵀX from (row, column) on to the columns `out`, whole columns of d.
fn add_tile(x: &[f32], d: usize, (row, column): (usize, usize), precision: Precision, out: &mut [f64]) {
    let (height, width) = (TILE.min(d - row), out.len() / d);
    let mut single = vec![0f32; height * width];
    let mut double = vec![0f64; height * width];
    for block in x.chunks(ROWS * d) {
        let rows = block.len() / d;
        let block = MatRef::from_row_major_slice(block, rows, d);
        let (left, right) = (block.subcols(row, height), block.subcols(column, width));
        match precision {
            Precision::Single => {
                let product = MatMut::from_column_major_slice_mut(&mut single, height, width);
                matmul(product, Accum::Replace, left.transpose(), right, 1.0, Par::Seq);
                double.iter_mut().zip(&single).for_each(|(sum, x)| *sum += f64::from(*x));
            }
            Precision::Double => {
                let wide = |part: MatRef<'_, f32>| -> Vec<f64> {
                    (0..part.ncols()).flat_map(|j| (0..rows).map(move |i| f64::from(part[(i, j)]))).collect()
                };
                let (left, right) = (wide(left), wide(right));
                let left = MatRef::from_column_major_slice(&left, rows, height);
                let right = MatRef::from_column_major_slice(&right, rows, width);
                let product = MatMut::from_column_major_slice_mut(&mut double, height, width);
                matmul(product, Accum::Add, left.transpose(), right, 1.0, Par::Seq);
            }
        }
    }
    for (at, tile) in double.chunks_exact(height).enumerate() {
        // Entries above the diagonal are not kept.
        let above = (column + at).saturating_sub(row).min(height);
        let out = &mut out[at * d + row..][..height];
        out[above..].iter_mut().zip(&tile[above..]).for_each(|(out, x)| *out += x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_precisions_are_the_sums_of_products_for_any_number_of_threads() {
        for (n, d) in [(1, 1), (700, 3), (1300, 300), (40, 1100)] {
            let x: Vec<f32> = (0..n * d).map(|at| ((at * 31 + at / d * 7) % 13) as f32 - 6.0).collect();
            let mut first: Option<Vec<f64>> = None;
            for (threads, precision) in
                [(1, Precision::Single), (2, Precision::Single), (7, Precision::Single), (2, Precision::Double)]
            {
                let run = Run::new(Some(threads), 0).unwrap();
                let found = gram_of_rows(&x, d, precision, &run).unwrap();
                // Sums of small integers are exact in both.
                assert!(first.get_or_insert_with(|| found.clone()) == &found, "{n} {d}");
            }
            let found = first.unwrap();
            for (i, j) in [(0, 0), (d - 1, 0), (d - 1, d - 1), (d / 2, d / 3)] {
                let expected: f64 = x.chunks_exact(d).map(|row| f64::from(row[i]) * f64::from(row[j])).sum();
                assert_eq!(found[j * d + i], expected);
            }
            assert!((0..d * d).all(|at| at % d >= at / d || found[at] == 0.0));
        }
    }
}
