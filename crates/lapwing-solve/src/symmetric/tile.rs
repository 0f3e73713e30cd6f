//! A tile times vectors: eight numbers at a time, with the same bits at every SIMD level (no fused multiply-add).
//!
//! Numbers of a tile are stored in the order in which they are used: bands of four rows, and within a band eight columns at a
//! time. So the processor reads one stream.

use lapwing_simd::{DOUBLES, Doubles, Simd, dispatch, prefetch};

use super::TILE;

/// A tile is prefetched so many numbers ahead.
const AHEAD: usize = 1024;
/// Rows that are multiplied together: each has its own sum, and one load and store of the other side serves all.
const ROWS: usize = 4;
/// Vectors of a row.
const VECTORS: usize = TILE / DOUBLES;

/// Position of row i, column j in a tile.
pub(super) fn place(i: usize, j: usize) -> usize {
    (i / ROWS) * (ROWS * TILE) + (j / DOUBLES) * (ROWS * DOUBLES) + (i % ROWS) * DOUBLES + j % DOUBLES
}

/// OUT ← a tile given row by row, each number passed through `round`.
pub(super) fn pack<T: Copy>(rows: &[f64], out: &mut [T], round: impl Fn(f64) -> T) {
    let mut at = 0;
    for band in rows.chunks_exact(ROWS * TILE) {
        for column in (0..TILE).step_by(DOUBLES) {
            for row in band.chunks_exact(TILE) {
                for value in &row[column..column + DOUBLES] {
                    out[at] = round(*value);
                    at += 1;
                }
            }
        }
    }
}

/// The number type of a stored tile.
pub(super) trait Stored: Copy {
    /// Eight numbers in double precision.
    fn load<S: Simd>(simd: S, from: &[Self; DOUBLES]) -> S::F64;
}

impl Stored for f64 {
    #[inline(always)]
    fn load<S: Simd>(simd: S, from: &[Self; DOUBLES]) -> S::F64 {
        simd.load_doubles(from)
    }
}

impl Stored for f32 {
    #[inline(always)]
    fn load<S: Simd>(simd: S, from: &[Self; DOUBLES]) -> S::F64 {
        simd.widen(from)
    }
}

dispatch! {
    /// y_row ← y_row + T·x_col and, unless the tile is on the diagonal, y_col ← y_col + Tᵀ·x_row.
    pub(super) fn multiply[T: Stored](
        tile: &[T], x_row: &[f64], x_col: &[f64], y_row: &mut [f64], y_col: Option<&mut [f64]>
    ) = multiply_with(simd)
}

#[inline(always)]
fn multiply_with<S: Simd, T: Stored>(
    simd: S,
    tile: &[T],
    x_row: &[f64],
    x_col: &[f64],
    y_row: &mut [f64],
    y_col: Option<&mut [f64]>,
) {
    let bands = tile.as_chunks::<DOUBLES>().0.as_chunks::<ROWS>().0.as_chunks::<VECTORS>().0;
    let x_col = &x_col.as_chunks::<DOUBLES>().0.as_chunks::<VECTORS>().0[0];
    let mut y_col = y_col.map(|y| &mut y.as_chunks_mut::<DOUBLES>().0.as_chunks_mut::<VECTORS>().0[0]);
    let rows = x_row.as_chunks::<ROWS>().0.iter().zip(y_row.as_chunks_mut::<ROWS>().0);
    for (band, (own, y_row)) in bands.iter().zip(rows) {
        let own = own.map(|x| simd.splat_double(x));
        let mut sums = [simd.splat_double(0.0); ROWS];
        for at in 0..VECTORS {
            let x = simd.load_doubles(&x_col[at]);
            let here: [S::F64; ROWS] = std::array::from_fn(|r| T::load(simd, &band[at][r]));
            let numbers = band[at].as_flattened();
            (0..ROWS * DOUBLES).step_by(64 / size_of::<T>()).for_each(|line| prefetch(numbers, AHEAD + line));
            for r in 0..ROWS {
                sums[r] = sums[r].add_product(here[r], x);
            }
            if let Some(y) = &mut y_col {
                let mut sum = simd.load_doubles(&y[at]);
                for r in 0..ROWS {
                    sum = sum.add_product(here[r], own[r]);
                }
                sum.store(&mut y[at]);
            }
        }
        for r in 0..ROWS {
            let mut lanes = [0.0; DOUBLES];
            sums[r].store(&mut lanes);
            y_row[r] += by_halves(&lanes);
        }
    }
}

/// The sum of a vector: halves added until one is left.
#[inline(always)]
fn by_halves(sum: &[f64; DOUBLES]) -> f64 {
    ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]))
}

#[cfg(test)]
mod tests {
    use lapwing_simd::each_level;

    use super::*;

    #[test]
    fn every_level_and_precision_gives_the_same_bits() {
        let tile: Vec<f32> = (0..TILE * TILE).map(|i| ((i * 7919) % 1009) as f32 / 97.0 - 5.0).collect();
        let wide: Vec<f64> = tile.iter().map(|x| f64::from(*x)).collect();
        let x: Vec<f64> = (0..2 * TILE).map(|i| ((i * 31) % 101) as f64 / 7.0 - 6.0).collect();
        let (a, b) = x.split_at(TILE);
        let all = each_level(|| {
            let (mut rows, mut cols) = ([vec![0.5; TILE], vec![0.5; TILE]], [vec![-0.25; TILE], vec![-0.25; TILE]]);
            multiply(&tile, a, b, &mut rows[0], Some(&mut cols[0]));
            multiply(&wide, a, b, &mut rows[1], Some(&mut cols[1]));
            assert!(rows[0] == rows[1] && cols[0] == cols[1]);
            [rows, cols]
        });
        assert!(all.iter().all(|one| *one == all[0]));
    }
}
