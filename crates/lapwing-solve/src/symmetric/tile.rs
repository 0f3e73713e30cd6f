//! A tile times vectors: eight numbers at a time, by AVX-512, AVX2 or plain code, all of the same bits (no fused
//! multiply-add).
//!
//! A tile lies in memory in the order it is met: bands of four rows, of each band eight columns at a time, so that the
//! processor reads one stream.

use super::TILE;

/// Numbers of a vector.
const LANES: usize = 8;
/// Numbers by which a tile is asked for ahead.
const AHEAD: usize = 1024;
/// Rows that are met together: as many sums, and one load and store of the other side's for all.
const ROWS: usize = 4;

/// Where row i, column j of a tile lies.
pub(super) fn place(i: usize, j: usize) -> usize {
    (i / ROWS) * (ROWS * TILE) + (j / LANES) * (ROWS * LANES) + (i % ROWS) * LANES + j % LANES
}

/// OUT ← a tile given row by row, with its numbers changed on the way.
pub(super) fn pack<T: Copy>(rows: &[f64], out: &mut [T], round: impl Fn(f64) -> T) {
    let mut at = 0;
    for band in rows.chunks_exact(ROWS * TILE) {
        for column in (0..TILE).step_by(LANES) {
            for row in band.chunks_exact(TILE) {
                for value in &row[column..column + LANES] {
                    out[at] = round(*value);
                    at += 1;
                }
            }
        }
    }
}

/// Eight numbers in double precision.
pub(super) trait Vector: Copy {
    /// # Safety
    /// The processor has what the type needs, here and below.
    unsafe fn splat(x: f64) -> Self;
    /// # Safety
    /// There are eight numbers at `from`.
    unsafe fn load(from: *const f64) -> Self;
    /// # Safety
    /// There are eight numbers at `from`.
    unsafe fn widen(from: *const f32) -> Self;
    /// # Safety
    /// There is room for eight numbers at `to`.
    unsafe fn store(self, to: *mut f64);
    /// self + a·b, rounded twice.
    ///
    /// # Safety
    /// See above.
    unsafe fn add_product(self, a: Self, b: Self) -> Self;
}

/// What a tile is stored as.
pub(super) trait Stored: Copy {
    /// # Safety
    /// There are eight numbers at `from`, and the processor has what `V` needs.
    unsafe fn load<V: Vector>(from: *const Self) -> V;
}

impl Stored for f64 {
    #[inline(always)]
    unsafe fn load<V: Vector>(from: *const Self) -> V {
        // SAFETY: as of the caller.
        unsafe { V::load(from) }
    }
}

impl Stored for f32 {
    #[inline(always)]
    unsafe fn load<V: Vector>(from: *const Self) -> V {
        // SAFETY: as of the caller.
        unsafe { V::widen(from) }
    }
}

impl Vector for [f64; LANES] {
    #[inline(always)]
    unsafe fn splat(x: f64) -> Self {
        [x; LANES]
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: as of the caller; arrays have the alignment of their elements.
        unsafe { from.cast::<Self>().read() }
    }

    #[inline(always)]
    unsafe fn widen(from: *const f32) -> Self {
        // SAFETY: as of the caller.
        unsafe { from.cast::<[f32; LANES]>().read() }.map(f64::from)
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: as of the caller.
        unsafe { to.cast::<Self>().write(self) }
    }

    #[inline(always)]
    unsafe fn add_product(self, a: Self, b: Self) -> Self {
        std::array::from_fn(|lane| self[lane] + a[lane] * b[lane])
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256d, __m512d, _mm_loadu_ps, _mm256_add_pd, _mm256_cvtps_pd, _mm256_loadu_pd, _mm256_loadu_ps,
        _mm256_mul_pd, _mm256_set1_pd, _mm256_storeu_pd, _mm512_add_pd, _mm512_cvtps_pd, _mm512_loadu_pd,
        _mm512_mul_pd, _mm512_set1_pd, _mm512_storeu_pd,
    };

    use super::Vector;

    impl Vector for __m512d {
        #[inline(always)]
        unsafe fn splat(x: f64) -> Self {
            // SAFETY: as of the caller, here and below.
            unsafe { _mm512_set1_pd(x) }
        }

        #[inline(always)]
        unsafe fn load(from: *const f64) -> Self {
            // SAFETY: see above.
            unsafe { _mm512_loadu_pd(from) }
        }

        #[inline(always)]
        unsafe fn widen(from: *const f32) -> Self {
            // SAFETY: see above.
            unsafe { _mm512_cvtps_pd(_mm256_loadu_ps(from)) }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f64) {
            // SAFETY: see above.
            unsafe { _mm512_storeu_pd(to, self) }
        }

        #[inline(always)]
        unsafe fn add_product(self, a: Self, b: Self) -> Self {
            // SAFETY: see above.
            unsafe { _mm512_add_pd(self, _mm512_mul_pd(a, b)) }
        }
    }

    /// Two halves.
    impl Vector for [__m256d; 2] {
        #[inline(always)]
        unsafe fn splat(x: f64) -> Self {
            // SAFETY: as of the caller, here and below.
            unsafe { [_mm256_set1_pd(x); 2] }
        }

        #[inline(always)]
        unsafe fn load(from: *const f64) -> Self {
            // SAFETY: see above.
            unsafe { [_mm256_loadu_pd(from), _mm256_loadu_pd(from.add(4))] }
        }

        #[inline(always)]
        unsafe fn widen(from: *const f32) -> Self {
            // SAFETY: see above.
            unsafe { [_mm256_cvtps_pd(_mm_loadu_ps(from)), _mm256_cvtps_pd(_mm_loadu_ps(from.add(4)))] }
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f64) {
            // SAFETY: see above.
            unsafe {
                _mm256_storeu_pd(to, self[0]);
                _mm256_storeu_pd(to.add(4), self[1]);
            }
        }

        #[inline(always)]
        unsafe fn add_product(self, a: Self, b: Self) -> Self {
            // SAFETY: see above.
            unsafe {
                let half = |at: usize| _mm256_add_pd(self[at], _mm256_mul_pd(a[at], b[at]));
                [half(0), half(1)]
            }
        }
    }
}

/// y_row ← y_row + T·x_col and, unless the tile is on the diagonal, y_col ← y_col + Tᵀ·x_row.
pub(super) fn meet<T: Stored>(tile: &[T], x_row: &[f64], x_col: &[f64], y_row: &mut [f64], y_col: Option<&mut [f64]>) {
    let sizes = [tile.len() / TILE, x_row.len(), x_col.len(), y_row.len(), y_col.as_ref().map_or(TILE, |y| y.len())];
    assert!(sizes == [TILE; 5]);
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m256d, __m512d};

        #[target_feature(enable = "avx512f")]
        fn avx512<T: Stored>(tile: &[T], own: &[f64], x: &[f64], sums: &mut [f64], y: Option<&mut [f64]>) {
            // SAFETY: the sizes were checked, and the processor has AVX-512F.
            unsafe { meet_with::<__m512d, T>(tile, own, x, sums, y) }
        }
        #[target_feature(enable = "avx2")]
        fn avx2<T: Stored>(tile: &[T], own: &[f64], x: &[f64], sums: &mut [f64], y: Option<&mut [f64]>) {
            // SAFETY: the sizes were checked, and the processor has AVX2.
            unsafe { meet_with::<[__m256d; 2], T>(tile, own, x, sums, y) }
        }
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512F.
            return unsafe { avx512(tile, x_row, x_col, y_row, y_col) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { avx2(tile, x_row, x_col, y_row, y_col) };
        }
    }
    // SAFETY: the sizes were checked; plain code needs nothing of the processor.
    unsafe { meet_with::<[f64; LANES], T>(tile, x_row, x_col, y_row, y_col) }
}

/// # Safety
/// The tile has `TILE` × `TILE` numbers, every vector `TILE`, and the processor has what `V` needs.
#[inline(always)]
unsafe fn meet_with<V: Vector, T: Stored>(
    tile: &[T],
    x_row: &[f64],
    x_col: &[f64],
    y_row: &mut [f64],
    y_col: Option<&mut [f64]>,
) {
    let y_col = y_col.map(<[f64]>::as_mut_ptr);
    for first in (0..TILE).step_by(ROWS) {
        // SAFETY: `first` + 3 is below `TILE`, and so is `at` + 7.
        unsafe {
            let mut values = tile.as_ptr().add(first * TILE);
            let own: [V; ROWS] = std::array::from_fn(|r| V::splat(x_row[first + r]));
            let mut sums = [V::splat(0.0); ROWS];
            for at in (0..TILE).step_by(LANES) {
                let x = V::load(x_col.as_ptr().add(at));
                let here: [V; ROWS] = std::array::from_fn(|r| T::load(values.add(r * LANES)));
                prefetch(values.wrapping_add(AHEAD));
                values = values.add(ROWS * LANES);
                for r in 0..ROWS {
                    sums[r] = sums[r].add_product(here[r], x);
                }
                if let Some(y) = y_col {
                    let mut sum = V::load(y.add(at));
                    for r in 0..ROWS {
                        sum = sum.add_product(here[r], own[r]);
                    }
                    sum.store(y.add(at));
                }
            }
            for r in 0..ROWS {
                let mut lanes = [0.0; LANES];
                sums[r].store(lanes.as_mut_ptr());
                y_row[first + r] += halved(&lanes);
            }
        }
    }
}

/// Asks for what will be met soon, in whole lines of the cache.
#[inline(always)]
fn prefetch<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: any address may be asked for.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        for line in (0..ROWS * LANES * size_of::<T>()).step_by(64) {
            _mm_prefetch::<_MM_HINT_T0>(place.cast::<i8>().wrapping_add(line));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// The sum of a vector, by halves.
#[inline(always)]
fn halved(sum: &[f64; LANES]) -> f64 {
    ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_gives_the_same_bits() {
        let tile: Vec<f32> = (0..TILE * TILE).map(|i| ((i * 7919) % 1009) as f32 / 97.0 - 5.0).collect();
        let wide: Vec<f64> = tile.iter().map(|x| f64::from(*x)).collect();
        let x: Vec<f64> = (0..2 * TILE).map(|i| ((i * 31) % 101) as f64 / 7.0 - 6.0).collect();
        let with = |work: &dyn Fn(&mut [f64], &mut [f64])| {
            let (mut rows, mut cols) = (vec![0.5; TILE], vec![-0.25; TILE]);
            work(&mut rows, &mut cols);
            [rows, cols].concat()
        };
        let (a, b) = x.split_at(TILE);
        // SAFETY: sizes are those of a tile.
        let plain = with(&|rows, cols| unsafe { meet_with::<[f64; LANES], f64>(&wide, a, b, rows, Some(cols)) });
        assert!(with(&|rows, cols| meet(&wide, a, b, rows, Some(cols))) == plain);
        assert!(with(&|rows, cols| meet(&tile, a, b, rows, Some(cols))) == plain);
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            use std::arch::x86_64::__m256d;
            // SAFETY: the processor has AVX2, and sizes are those of a tile.
            let avx2 = with(&|rows, cols| unsafe { meet_with::<[__m256d; 2], f32>(&tile, a, b, rows, Some(cols)) });
            assert!(avx2 == plain);
        }
    }
}
