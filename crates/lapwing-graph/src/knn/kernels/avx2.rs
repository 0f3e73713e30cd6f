//! The kernels on processors with AVX2 and fused multiply-add; sixteen lanes are two registers.

use std::arch::x86_64::*;

use crate::knn::kernels::lanes::{self, Element, Kernel, LANES};

/// f32 rows.
pub(crate) struct Floats;
/// Rows of bytes.
pub(crate) struct Bytes;

macro_rules! shared {
    () => {
        #[inline(always)]
        unsafe fn within_either(values: [__m256; 2], limit: f32, limits: *const f32) -> u32 {
            // SAFETY: as the trait asks.
            unsafe {
                let half = |half: usize| {
                    let most = _mm256_max_ps(_mm256_set1_ps(limit), _mm256_loadu_ps(limits.add(8 * half)));
                    _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(values[half], most)) as u32
                };
                half(0) | half(1) << 8
            }
        }
        #[inline(always)]
        unsafe fn within(values: [__m256; 2], limit: f32) -> u32 {
            // SAFETY: as the trait asks.
            unsafe {
                let most = _mm256_set1_ps(limit);
                let half = |v| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(v, most)) as u32;
                half(values[0]) | half(values[1]) << 8
            }
        }
        #[inline(always)]
        unsafe fn store(values: [__m256; 2], out: *mut f32) {
            // SAFETY: as the trait asks.
            unsafe {
                _mm256_storeu_ps(out, values[0]);
                _mm256_storeu_ps(out.add(8), values[1]);
            }
        }
    };
}

impl Kernel for Floats {
    type Element = lanes::Floats;
    type Words = [__m256; 2];
    type Sums = [__m256; 2];
    type Values = [__m256; 2];

    #[inline(always)]
    fn zero() -> Self::Sums {
        // SAFETY: only reached where the processor has AVX2.
        unsafe { [_mm256_setzero_ps(); 2] }
    }
    #[inline(always)]
    unsafe fn load(words: *const f32) -> Self::Words {
        // SAFETY: as the trait asks.
        unsafe { [_mm256_loadu_ps(words), _mm256_loadu_ps(words.add(8))] }
    }
    #[inline(always)]
    unsafe fn splat(word: *const f32) -> Self::Words {
        // SAFETY: as the trait asks.
        unsafe { [_mm256_set1_ps(*word); 2] }
    }
    #[inline(always)]
    unsafe fn step(sums: Self::Sums, left: Self::Words, right: Self::Words) -> Self::Sums {
        // SAFETY: as the trait asks.
        unsafe { [_mm256_fmadd_ps(left[0], right[0], sums[0]), _mm256_fmadd_ps(left[1], right[1], sums[1])] }
    }
    #[inline(always)]
    unsafe fn finish(sums: Self::Sums, left: f32, right: *const f32) -> Self::Values {
        // SAFETY: as the trait asks.
        unsafe {
            let left = _mm256_set1_ps(left);
            let half =
                |half: usize| _mm256_sub_ps(_mm256_add_ps(left, _mm256_loadu_ps(right.add(8 * half))), sums[half]);
            [half(0), half(1)]
        }
    }
    shared!();
    #[inline(always)]
    unsafe fn pair(left: *const f32, right: *const f32, n: usize, left_norm: f32, right_norm: f32) -> f32 {
        // SAFETY: as the trait asks; what is left of the rows is copied beside zeros.
        unsafe {
            let mut sums = Self::zero();
            let mut at = 0;
            while at + LANES <= n {
                sums = Self::step(sums, Self::load(left.add(at)), Self::load(right.add(at)));
                at += LANES;
            }
            if at < n {
                let (mut a, mut b) = ([0f32; LANES], [0f32; LANES]);
                std::ptr::copy_nonoverlapping(left.add(at), a.as_mut_ptr(), n - at);
                std::ptr::copy_nonoverlapping(right.add(at), b.as_mut_ptr(), n - at);
                sums = Self::step(sums, Self::load(a.as_ptr()), Self::load(b.as_ptr()));
            }
            let mut all = [0f32; LANES];
            Self::store(sums, all.as_mut_ptr());
            (left_norm + right_norm) - lanes::halved(all)
        }
    }
}

impl Kernel for Bytes {
    type Element = lanes::Bytes;
    type Words = [__m256i; 2];
    type Sums = [__m256i; 2];
    type Values = [__m256; 2];

    #[inline(always)]
    fn zero() -> Self::Sums {
        // SAFETY: only reached where the processor has AVX2.
        unsafe { [_mm256_setzero_si256(); 2] }
    }
    #[inline(always)]
    unsafe fn load(words: *const u32) -> Self::Words {
        // SAFETY: as the trait asks.
        unsafe { [_mm256_loadu_si256(words.cast()), _mm256_loadu_si256(words.add(8).cast())] }
    }
    #[inline(always)]
    unsafe fn splat(word: *const u32) -> Self::Words {
        // SAFETY: as the trait asks.
        unsafe { [_mm256_set1_epi32(*word as i32); 2] }
    }
    #[inline(always)]
    unsafe fn step(sums: Self::Sums, left: Self::Words, right: Self::Words) -> Self::Sums {
        // SAFETY: as the trait asks.
        unsafe { [quads(sums[0], left[0], right[0]), quads(sums[1], left[1], right[1])] }
    }
    #[inline(always)]
    unsafe fn finish(sums: Self::Sums, left: i32, right: *const i32) -> Self::Values {
        // SAFETY: as the trait asks.
        unsafe {
            let left = _mm256_set1_epi32(left);
            let half = |half: usize| {
                let norms = _mm256_add_epi32(left, _mm256_loadu_si256(right.add(8 * half).cast()));
                _mm256_cvtepi32_ps(_mm256_sub_epi32(norms, _mm256_slli_epi32::<1>(sums[half])))
            };
            [half(0), half(1)]
        }
    }
    shared!();
    #[inline(always)]
    unsafe fn pair(left: *const u32, right: *const u32, n: usize, left_norm: i32, right_norm: i32) -> f32 {
        // SAFETY: as the trait asks; what is left of the rows is copied beside zeros.
        unsafe {
            let flip = _mm256_set1_epi32(lanes::Bytes::turned(0) as i32);
            let mut sums = Self::zero();
            let mut at = 0;
            while at + LANES <= n {
                let b = Self::load(right.add(at));
                let b = [_mm256_xor_si256(b[0], flip), _mm256_xor_si256(b[1], flip)];
                sums = Self::step(sums, Self::load(left.add(at)), b);
                at += LANES;
            }
            if at < n {
                let (mut a, mut b) = ([0u32; LANES], [0u32; LANES]);
                std::ptr::copy_nonoverlapping(left.add(at), a.as_mut_ptr(), n - at);
                std::ptr::copy_nonoverlapping(right.add(at), b.as_mut_ptr(), n - at);
                let b = b.map(lanes::Bytes::turned);
                sums = Self::step(sums, Self::load(a.as_ptr()), Self::load(b.as_ptr()));
            }
            let mut all = [0i32; LANES];
            _mm256_storeu_si256(all.as_mut_ptr().cast(), sums[0]);
            _mm256_storeu_si256(all.as_mut_ptr().add(8).cast(), sums[1]);
            (left_norm + right_norm - 2 * all.iter().sum::<i32>()) as f32
        }
    }
}

/// Adds Σ y·z of the four bytes of each word, y unsigned and z signed: bytes widened to 16 bits, so that no product
/// saturates.
#[inline(always)]
unsafe fn quads(sums: __m256i, left: __m256i, right: __m256i) -> __m256i {
    // SAFETY: the caller vouches for AVX2.
    unsafe {
        let even = _mm256_and_si256(left, _mm256_set1_epi16(0xFF));
        let odd = _mm256_srli_epi16::<8>(left);
        let right_even = _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(right));
        let right_odd = _mm256_srai_epi16::<8>(right);
        let products = _mm256_add_epi32(_mm256_madd_epi16(even, right_even), _mm256_madd_epi16(odd, right_odd));
        _mm256_add_epi32(sums, products)
    }
}
