//! A tile times vectors: eight numbers at a time.
//!
//! Numbers of a tile are stored in the order in which they are used: bands of four rows, and within a band eight columns at a
//! time. So the processor reads one stream.

use lapwing_simd::{DOUBLES, Doubles, Simd, dispatch, lanes, lanes_mut, prefetch};

/// Edge of a tile: one in single precision stays in the L2 cache for several vectors.
pub(super) const TILE: usize = 256;
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

/// What a tile multiplies of one vector, and the sums that take the products.
pub(super) struct Parts<'a> {
    pub x_row: &'a [f64],
    pub x_col: &'a [f64],
    pub y_row: &'a mut [f64],
    /// `None` for a tile on the diagonal, which is not mirrored.
    pub y_col: Option<&'a mut [f64]>,
}

dispatch! {
    /// y_row ← y_row + T·x_col and, unless the tile is on the diagonal, y_col ← y_col + Tᵀ·x_row, for each of the vectors.
    pub(super) fn multiply[T: Stored](tile: &[T], vectors: &mut [Parts<'_>]) = multiply_with(simd)
}

#[inline(always)]
fn multiply_with<S: Simd, T: Stored>(simd: S, tile: &[T], vectors: &mut [Parts<'_>]) {
    // Two vectors share the loads of the tile, if their sums fit the registers.
    let (pairs, rest) = vectors.as_chunks_mut::<2>();
    for pair in pairs {
        if S::IS_WIDE {
            some::<S, T, 2>(simd, tile, pair);
        } else {
            for one in pair.as_chunks_mut::<1>().0 {
                some::<S, T, 1>(simd, tile, one);
            }
        }
    }
    for one in rest.as_chunks_mut::<1>().0 {
        some::<S, T, 1>(simd, tile, one);
    }
}

/// [`multiply`] of `V` vectors.
#[inline(always)]
fn some<S: Simd, T: Stored, const V: usize>(simd: S, tile: &[T], vectors: &mut [Parts<'_>; V]) {
    let bands = tile.as_chunks::<DOUBLES>().0.as_chunks::<ROWS>().0.as_chunks::<VECTORS>().0;
    for (at_band, band) in bands.iter().enumerate() {
        let mut here = [simd.splat_double(0.0); ROWS];
        let (mut sums, mut factors) = ([here; V], [here; V]);
        for v in 0..V {
            for r in 0..ROWS {
                factors[v][r] = simd.splat_double(vectors[v].x_row[at_band * ROWS + r]);
            }
        }
        for at in 0..VECTORS {
            for r in 0..ROWS {
                here[r] = T::load(simd, &band[at][r]);
            }
            let numbers = band[at].as_flattened();
            for line in (0..ROWS * DOUBLES).step_by(64 / size_of::<T>()) {
                prefetch(numbers, AHEAD + line);
            }
            for v in 0..V {
                let x = simd.load_doubles(lanes(vectors[v].x_col, at * DOUBLES));
                for r in 0..ROWS {
                    sums[v][r] = here[r].mul_add(x, sums[v][r]);
                }
                if let Some(y) = &mut vectors[v].y_col {
                    let y = lanes_mut(y, at * DOUBLES);
                    let mut sum = simd.load_doubles(y);
                    for r in 0..ROWS {
                        sum = here[r].mul_add(factors[v][r], sum);
                    }
                    sum.store(y);
                }
            }
        }
        for v in 0..V {
            for r in 0..ROWS {
                let mut all = [0.0; DOUBLES];
                sums[v][r].store(&mut all);
                vectors[v].y_row[at_band * ROWS + r] += by_halves(&all);
            }
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
    fn every_level_and_precision_gives_the_product_for_any_number_of_vectors() {
        // Small multiples of powers of two: every order of summation is exact.
        let tile: Vec<f32> = (0..TILE * TILE).map(|i| ((i * 7919) % 1009) as f32 / 64.0 - 5.0).collect();
        let wide: Vec<f64> = tile.iter().map(|x| f64::from(*x)).collect();
        let vector =
            |v: usize| -> Vec<f64> { (0..2 * TILE).map(|i| ((i * 31 + v * 7) % 101) as f64 / 8.0 - 6.0).collect() };
        let entry = |i: usize, j: usize| wide[place(i, j)];
        for count in 1..=3 {
            let x: Vec<Vec<f64>> = (0..count).map(vector).collect();
            let expected: Vec<Vec<f64>> = x
                .iter()
                .map(|x| {
                    let of_rows = (0..TILE).map(|i| 0.5 + (0..TILE).map(|j| entry(i, j) * x[TILE + j]).sum::<f64>());
                    let of_cols = (0..TILE).map(|j| 0.25 + (0..TILE).map(|i| entry(i, j) * x[i]).sum::<f64>());
                    of_rows.chain(of_cols).collect()
                })
                .collect();
            for is_single in [false, true] {
                for found in each_level(|| {
                    let mut y = vec![[vec![0.5; TILE], vec![0.25; TILE]].concat(); count];
                    let mut vectors: Vec<Parts<'_>> = Vec::new();
                    for (x, y) in x.iter().zip(&mut y) {
                        let (y_row, y_col) = y.split_at_mut(TILE);
                        vectors.push(Parts { x_row: &x[..TILE], x_col: &x[TILE..], y_row, y_col: Some(y_col) });
                    }
                    if is_single {
                        multiply(&tile, &mut vectors)
                    } else {
                        multiply(&wide, &mut vectors)
                    }
                    y
                }) {
                    assert_eq!(found, expected);
                }
            }
        }
    }
}
