//! AVX-512: a vector is a register.
//!
//! A value of [`Avx512`], or of a vector type here, exists only on a processor that has its instructions.

use std::arch::x86_64::*;

use crate::inlined;
use crate::simd::{DOUBLES, Doubles, Floats, Ints, LANES, Simd, check_transpose};

/// Proof that the processor is of [`Level::Avx512`](crate::Level::Avx512).
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

/// Sixteen f32.
#[derive(Clone, Copy, Debug)]
pub struct F32(__m512);

/// Sixteen i32.
#[derive(Clone, Copy, Debug)]
pub struct I32(__m512i);

/// Eight f64.
#[derive(Clone, Copy, Debug)]
pub struct F64(__m512d);

impl Avx512 {
    /// # Safety
    /// The processor is of this level.
    #[inline(always)]
    pub unsafe fn trusted() -> Self {
        Self(())
    }
}

/// Mask of the first `len` lanes.
#[inline(always)]
fn first_lanes(len: usize) -> __mmask16 {
    assert!(len <= LANES);
    ((1u32 << len) - 1) as u16
}

// SAFETY of all blocks below: the processor has the instructions; loads and stores stay within arrays of the size of a register,
// or within the lengths that were asserted.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Simd for Avx512 {
    const IS_WIDE: bool = true;
    type F32 = F32;
    type I32 = I32;
    type F64 = F64;

    inlined! {
        fn splat(self, value: f32) -> F32 = F32(unsafe { _mm512_set1_ps(value) });
        fn load(self, from: &[f32; LANES]) -> F32 = F32(unsafe { _mm512_loadu_ps(from.as_ptr()) });
        fn splat_int(self, value: i32) -> I32 = I32(unsafe { _mm512_set1_epi32(value) });
        fn load_ints(self, from: &[i32; LANES]) -> I32 = I32(unsafe { _mm512_loadu_si512(from.as_ptr().cast()) });
        fn splat_double(self, value: f64) -> F64 = F64(unsafe { _mm512_set1_pd(value) });
        fn load_doubles(self, from: &[f64; DOUBLES]) -> F64 = F64(unsafe { _mm512_loadu_pd(from.as_ptr()) });
        fn widen(self, from: &[f32; DOUBLES]) -> F64 = F64(unsafe { _mm512_cvtps_pd(_mm256_loadu_ps(from.as_ptr())) });
    }
    #[inline(always)]
    fn load_part(self, from: &[f32]) -> F32 {
        F32(unsafe { _mm512_maskz_loadu_ps(first_lanes(from.len()), from.as_ptr()) })
    }
    #[inline(always)]
    fn load_ints_part(self, from: &[i32]) -> I32 {
        I32(unsafe { _mm512_maskz_loadu_epi32(first_lanes(from.len()), from.as_ptr()) })
    }

    #[inline(always)]
    fn transpose(self, from: &[f32], stride: usize, to: &mut [f32], to_stride: usize) {
        check_transpose(from, stride, to, to_stride);
        unsafe {
            // No closures: they would be functions without the instructions of this one.
            let mut rows = [_mm512_setzero_ps(); LANES];
            for (row, values) in rows.iter_mut().enumerate() {
                *values = _mm512_loadu_ps(from.as_ptr().add(row * stride));
            }
            // Pairs of rows, then pairs of pairs, within each quarter of a register; then the quarters.
            for at in (0..LANES).step_by(2) {
                let (a, b) = (rows[at], rows[at + 1]);
                (rows[at], rows[at + 1]) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
            }
            let mut fours = rows;
            for at in (0..LANES).step_by(4) {
                let (a, b) = (_mm512_castps_pd(rows[at]), _mm512_castps_pd(rows[at + 1]));
                let (c, d) = (_mm512_castps_pd(rows[at + 2]), _mm512_castps_pd(rows[at + 3]));
                fours[at] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
                fours[at + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
                fours[at + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
                fours[at + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
            }
            for column in 0..4 {
                let [a, b, c, d] = [fours[column], fours[column + 4], fours[column + 8], fours[column + 12]];
                let (even_low, odd_low) = (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xDD>(a, b));
                let (even_high, odd_high) = (_mm512_shuffle_f32x4::<0x88>(c, d), _mm512_shuffle_f32x4::<0xDD>(c, d));
                let columns = [
                    _mm512_shuffle_f32x4::<0x88>(even_low, even_high),
                    _mm512_shuffle_f32x4::<0x88>(odd_low, odd_high),
                    _mm512_shuffle_f32x4::<0xDD>(even_low, even_high),
                    _mm512_shuffle_f32x4::<0xDD>(odd_low, odd_high),
                ];
                for (quarter, values) in columns.into_iter().enumerate() {
                    _mm512_storeu_ps(to.as_mut_ptr().add((4 * quarter + column) * to_stride), values);
                }
            }
        }
    }

    /// Without a branch: position i takes the smaller of its key and the larger of the new key and the key at i − 1.
    #[inline(always)]
    fn insert_sorted(self, list: &mut [u64], key: u64) {
        debug_assert!(list.len().is_multiple_of(DOUBLES));
        unsafe {
            let key = _mm512_set1_epi64(key as i64);
            let mut before = _mm512_setzero_si512();
            for places in list.as_chunks_mut::<DOUBLES>().0 {
                let here = _mm512_loadu_si512(places.as_ptr().cast());
                let shifted = _mm512_alignr_epi64::<7>(here, before);
                _mm512_storeu_si512(places.as_mut_ptr().cast(), _mm512_min_epu64(here, _mm512_max_epu64(key, shifted)));
                before = here;
            }
        }
    }
    #[inline(always)]
    fn has_low(self, list: &[u64], low: u32) -> bool {
        debug_assert!(list.len().is_multiple_of(DOUBLES));
        unsafe {
            let (low, half) = (_mm512_set1_epi64(i64::from(low)), _mm512_set1_epi64(i64::from(u32::MAX)));
            let is_equal = |keys: &[u64; DOUBLES]| {
                _mm512_cmpeq_epi64_mask(_mm512_and_si512(_mm512_loadu_si512(keys.as_ptr().cast()), half), low)
            };
            list.as_chunks::<DOUBLES>().0.iter().fold(0, |found, keys| found | is_equal(keys)) != 0
        }
    }
}

/// Methods of two vectors with one instruction.
macro_rules! binary {
    ($($name:ident: $intrinsic:ident),+) => {$(
        #[inline(always)]
        fn $name(self, other: Self) -> Self {
            Self(unsafe { $intrinsic(self.0, other.0) })
        }
    )+};
}

// SAFETY of all blocks below: as above.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Floats for F32 {
    binary!(add: _mm512_add_ps, sub: _mm512_sub_ps, mul: _mm512_mul_ps, div: _mm512_div_ps, max: _mm512_max_ps);

    inlined! {
        fn store(self, to: &mut [f32; LANES]) = unsafe { _mm512_storeu_ps(to.as_mut_ptr(), self.0) };
        fn mul_add(self, factor: Self, term: Self) -> Self = Self(unsafe { _mm512_fmadd_ps(self.0, factor.0, term.0) });
        fn power_of_two(self) -> Self = Self(unsafe { _mm512_scalef_ps(_mm512_set1_ps(1.0), self.0) });
        fn at_most(self, limit: Self) -> u32 = u32::from(unsafe { _mm512_cmp_ps_mask::<_CMP_LE_OQ>(self.0, limit.0) });
    }
    #[inline(always)]
    fn round(self) -> Self {
        Self(unsafe { _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0) })
    }
    #[inline(always)]
    fn select_less(self, other: Self, yes: Self, no: Self) -> Self {
        Self(unsafe { _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, other.0), no.0, yes.0) })
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        unsafe {
            let high = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(self.0)));
            crate::avx2::sum_of_eight(_mm256_add_ps(_mm512_castps512_ps256(self.0), high))
        }
    }
}

// SAFETY of all blocks below: as above.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Ints for I32 {
    type F32 = F32;
    binary!(add: _mm512_add_epi32, sub: _mm512_sub_epi32, xor: _mm512_xor_si512);

    inlined! {
        fn add_byte_products(self, y: Self, z: Self) -> Self = Self(unsafe { _mm512_dpbusd_epi32(self.0, y.0, z.0) });
        fn to_floats(self) -> F32 = F32(unsafe { _mm512_cvtepi32_ps(self.0) });
        fn sum(self) -> i32 = unsafe { _mm512_reduce_add_epi32(self.0) };
    }
}

// SAFETY of all blocks below: as above.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Doubles for F64 {
    #[inline(always)]
    fn store(self, to: &mut [f64; DOUBLES]) {
        unsafe { _mm512_storeu_pd(to.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        Self(unsafe { _mm512_fmadd_pd(self.0, factor.0, term.0) })
    }
}
