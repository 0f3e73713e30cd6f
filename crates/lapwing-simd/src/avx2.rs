//! AVX2 with fused multiply-add: a vector is two registers.
//!
//! A value of [`Avx2`], or of a vector type here, exists only on a processor that has its instructions.

use std::arch::x86_64::*;

use crate::simd::{DOUBLES, Doubles, Floats, Ints, LANES, Simd, check_transpose};

/// Proof that the processor is of [`Level::Avx2`](crate::Level::Avx2).
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

/// Sixteen f32.
#[derive(Clone, Copy, Debug)]
pub struct F32(__m256, __m256);

/// Sixteen i32.
#[derive(Clone, Copy, Debug)]
pub struct I32(__m256i, __m256i);

/// Eight f64.
#[derive(Clone, Copy, Debug)]
pub struct F64(__m256d, __m256d);

impl Avx2 {
    /// # Safety
    /// The processor is of this level, or above.
    #[inline(always)]
    pub unsafe fn trusted() -> Self {
        Self(())
    }
}

// SAFETY of all blocks below: the processor has the instructions; loads and stores stay within arrays of the size of two
// registers, or within the lengths that were asserted.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Simd for Avx2 {
    const IS_WIDE: bool = false;
    type F32 = F32;
    type I32 = I32;
    type F64 = F64;

    #[inline(always)]
    fn splat(self, value: f32) -> F32 {
        let half = unsafe { _mm256_set1_ps(value) };
        F32(half, half)
    }
    #[inline(always)]
    fn load(self, from: &[f32; LANES]) -> F32 {
        unsafe { F32(_mm256_loadu_ps(from.as_ptr()), _mm256_loadu_ps(from.as_ptr().add(8))) }
    }
    #[inline(always)]
    fn splat_int(self, value: i32) -> I32 {
        let half = unsafe { _mm256_set1_epi32(value) };
        I32(half, half)
    }
    #[inline(always)]
    fn load_ints(self, from: &[i32; LANES]) -> I32 {
        unsafe { I32(_mm256_loadu_si256(from.as_ptr().cast()), _mm256_loadu_si256(from.as_ptr().add(8).cast())) }
    }
    #[inline(always)]
    fn splat_double(self, value: f64) -> F64 {
        let half = unsafe { _mm256_set1_pd(value) };
        F64(half, half)
    }
    #[inline(always)]
    fn load_doubles(self, from: &[f64; DOUBLES]) -> F64 {
        unsafe { F64(_mm256_loadu_pd(from.as_ptr()), _mm256_loadu_pd(from.as_ptr().add(4))) }
    }
    #[inline(always)]
    fn widen(self, from: &[f32; DOUBLES]) -> F64 {
        let half = |at: usize| unsafe { _mm256_cvtps_pd(_mm_loadu_ps(from.as_ptr().add(at))) };
        F64(half(0), half(4))
    }
    #[inline(always)]
    fn transpose(self, from: &[f32], stride: usize, to: &mut [f32], to_stride: usize) {
        check_transpose(from, stride, to, to_stride);
        for (row, column) in [(0, 0), (0, 8), (8, 0), (8, 8)] {
            unsafe {
                let from = from.as_ptr().add(row * stride + column);
                transpose_eight(from, stride, to.as_mut_ptr().add(column * to_stride + row), to_stride);
            }
        }
    }
}

/// [`Simd::transpose`] for eight rows of eight values.
///
/// # Safety
/// The rows and columns are valid, and the processor has AVX2.
#[inline(always)]
unsafe fn transpose_eight(from: *const f32, stride: usize, to: *mut f32, to_stride: usize) {
    // SAFETY: as of the caller.
    unsafe {
        // No closure: it would be a function without the instructions of this one.
        let mut rows = [_mm256_setzero_ps(); 8];
        for (row, values) in rows.iter_mut().enumerate() {
            *values = _mm256_loadu_ps(from.add(row * stride));
        }
        let mut pairs = rows;
        for at in (0..8).step_by(2) {
            pairs[at] = _mm256_unpacklo_ps(rows[at], rows[at + 1]);
            pairs[at + 1] = _mm256_unpackhi_ps(rows[at], rows[at + 1]);
        }
        let mut fours = pairs;
        for at in (0..8).step_by(4) {
            fours[at] = _mm256_shuffle_ps::<0x44>(pairs[at], pairs[at + 2]);
            fours[at + 1] = _mm256_shuffle_ps::<0xEE>(pairs[at], pairs[at + 2]);
            fours[at + 2] = _mm256_shuffle_ps::<0x44>(pairs[at + 1], pairs[at + 3]);
            fours[at + 3] = _mm256_shuffle_ps::<0xEE>(pairs[at + 1], pairs[at + 3]);
        }
        for column in 0..4 {
            let (low, high) = (fours[column], fours[column + 4]);
            _mm256_storeu_ps(to.add(column * to_stride), _mm256_permute2f128_ps::<0x20>(low, high));
            _mm256_storeu_ps(to.add((column + 4) * to_stride), _mm256_permute2f128_ps::<0x31>(low, high));
        }
    }
}

/// Lanes 4 to 7 added to lanes 0 to 3, and so on.
///
/// # Safety
/// The processor has AVX.
#[inline(always)]
pub(crate) unsafe fn sum_of_eight(values: __m256) -> f32 {
    // SAFETY: as of the caller.
    unsafe {
        let four = _mm_add_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps::<1>(values));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
    }
}

/// Methods of two vectors with one instruction for each half.
macro_rules! binary {
    ($($name:ident: $intrinsic:ident),+) => {$(
        #[inline(always)]
        fn $name(self, other: Self) -> Self {
            unsafe { Self($intrinsic(self.0, other.0), $intrinsic(self.1, other.1)) }
        }
    )+};
}

// SAFETY of all blocks below: as above.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Floats for F32 {
    binary!(add: _mm256_add_ps, sub: _mm256_sub_ps, mul: _mm256_mul_ps, div: _mm256_div_ps, max: _mm256_max_ps);

    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        unsafe {
            _mm256_storeu_ps(to.as_mut_ptr(), self.0);
            _mm256_storeu_ps(to.as_mut_ptr().add(8), self.1);
        }
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        unsafe { Self(_mm256_fmadd_ps(self.0, factor.0, term.0), _mm256_fmadd_ps(self.1, factor.1, term.1)) }
    }
    #[inline(always)]
    fn round(self) -> Self {
        const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        unsafe { Self(_mm256_round_ps::<NEAREST>(self.0), _mm256_round_ps::<NEAREST>(self.1)) }
    }
    #[inline(always)]
    fn power_of_two(self) -> Self {
        let half = |x: __m256| unsafe {
            let biased = _mm256_add_epi32(_mm256_cvtps_epi32(x), _mm256_set1_epi32(127));
            _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased))
        };
        Self(half(self.0), half(self.1))
    }
    #[inline(always)]
    fn at_most(self, limit: Self) -> u32 {
        let half =
            |x: __m256, limit: __m256| unsafe { _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(x, limit)) as u32 };
        half(self.0, limit.0) | half(self.1, limit.1) << 8
    }
    #[inline(always)]
    fn select_less(self, other: Self, yes: Self, no: Self) -> Self {
        let half = |x: __m256, other: __m256, yes: __m256, no: __m256| unsafe {
            _mm256_blendv_ps(no, yes, _mm256_cmp_ps::<_CMP_LT_OQ>(x, other))
        };
        Self(half(self.0, other.0, yes.0, no.0), half(self.1, other.1, yes.1, no.1))
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        unsafe { sum_of_eight(_mm256_add_ps(self.0, self.1)) }
    }
}

// SAFETY of all blocks below: as above.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Ints for I32 {
    type F32 = F32;
    binary!(add: _mm256_add_epi32, sub: _mm256_sub_epi32, xor: _mm256_xor_si256);

    /// Bytes are widened to 16 bits, so that no product saturates.
    #[inline(always)]
    fn add_byte_products(self, y: Self, z: Self) -> Self {
        let half = |sum: __m256i, y: __m256i, z: __m256i| unsafe {
            let (even, odd) = (_mm256_and_si256(y, _mm256_set1_epi16(0xFF)), _mm256_srli_epi16::<8>(y));
            let z_even = _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(z));
            let z_odd = _mm256_srai_epi16::<8>(z);
            _mm256_add_epi32(sum, _mm256_add_epi32(_mm256_madd_epi16(even, z_even), _mm256_madd_epi16(odd, z_odd)))
        };
        Self(half(self.0, y.0, z.0), half(self.1, y.1, z.1))
    }
    #[inline(always)]
    fn to_floats(self) -> F32 {
        unsafe { F32(_mm256_cvtepi32_ps(self.0), _mm256_cvtepi32_ps(self.1)) }
    }
    #[inline(always)]
    fn sum(self) -> i32 {
        let mut lanes = [0i32; 8];
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), _mm256_add_epi32(self.0, self.1)) };
        lanes.iter().fold(0, |sum, x| sum.wrapping_add(*x))
    }
}

// SAFETY of all blocks below: as above.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Doubles for F64 {
    #[inline(always)]
    fn store(self, to: &mut [f64; DOUBLES]) {
        unsafe {
            _mm256_storeu_pd(to.as_mut_ptr(), self.0);
            _mm256_storeu_pd(to.as_mut_ptr().add(4), self.1);
        }
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        unsafe { Self(_mm256_fmadd_pd(self.0, factor.0, term.0), _mm256_fmadd_pd(self.1, factor.1, term.1)) }
    }
}
