//! The kernels on processors with AVX-512 and its byte products (VNNI).

use std::arch::x86_64::*;

use crate::knn::kernels::lanes::{self, Element, Kernel};

/// f32 rows.
pub(crate) struct Floats;
/// Rows of bytes.
pub(crate) struct Bytes;

/// Lanes that are left of `n` words from `at` on.
#[inline(always)]
fn tail(n: usize, at: usize) -> __mmask16 {
    (1u16 << (n - at)) - 1
}

macro_rules! shared {
    () => {
        #[inline(always)]
        unsafe fn within_either(values: __m512, limit: f32, limits: *const f32) -> u32 {
            // SAFETY: as the trait asks.
            unsafe {
                let most = _mm512_max_ps(_mm512_set1_ps(limit), _mm512_loadu_ps(limits));
                u32::from(_mm512_cmp_ps_mask::<_CMP_LE_OQ>(values, most))
            }
        }
        #[inline(always)]
        unsafe fn within(values: __m512, limit: f32) -> u32 {
            // SAFETY: as the trait asks.
            unsafe { u32::from(_mm512_cmp_ps_mask::<_CMP_LE_OQ>(values, _mm512_set1_ps(limit))) }
        }
        #[inline(always)]
        unsafe fn store(values: __m512, out: *mut f32) {
            // SAFETY: as the trait asks.
            unsafe { _mm512_storeu_ps(out, values) }
        }
        #[inline(always)]
        unsafe fn insert(list: &mut [u64], key: u64) {
            // SAFETY: the processor has AVX-512F.
            unsafe { insert(list, key) }
        }
        #[inline(always)]
        unsafe fn offer(list: &mut [u64], key: u64) {
            // SAFETY: the processor has AVX-512F.
            unsafe { offer(list, key) }
        }
    };
}

impl Kernel for Floats {
    type Element = lanes::Floats;
    type Words = __m512;
    type Sums = __m512;
    type Values = __m512;

    #[inline(always)]
    fn zero() -> __m512 {
        // SAFETY: only reached where the processor has AVX-512F.
        unsafe { _mm512_setzero_ps() }
    }
    #[inline(always)]
    unsafe fn load(words: *const f32) -> __m512 {
        // SAFETY: as the trait asks.
        unsafe { _mm512_loadu_ps(words) }
    }
    #[inline(always)]
    unsafe fn splat(word: *const f32) -> __m512 {
        // SAFETY: as the trait asks.
        unsafe { _mm512_set1_ps(*word) }
    }
    #[inline(always)]
    unsafe fn step(sums: __m512, left: __m512, right: __m512) -> __m512 {
        // SAFETY: as the trait asks.
        unsafe { _mm512_fmadd_ps(left, right, sums) }
    }
    #[inline(always)]
    unsafe fn finish(sums: __m512, left: f32, right: *const f32) -> __m512 {
        // SAFETY: as the trait asks.
        unsafe { _mm512_sub_ps(_mm512_add_ps(_mm512_set1_ps(left), _mm512_loadu_ps(right)), sums) }
    }
    shared!();
    #[inline(always)]
    unsafe fn pair(left: *const f32, right: *const f32, n: usize, left_norm: f32, right_norm: f32) -> f32 {
        // SAFETY: as the trait asks; the last load is masked to what is left of the rows.
        unsafe {
            let mut sums = _mm512_setzero_ps();
            let mut at = 0;
            while at + 16 <= n {
                sums = _mm512_fmadd_ps(_mm512_loadu_ps(left.add(at)), _mm512_loadu_ps(right.add(at)), sums);
                at += 16;
            }
            if at < n {
                let rest = tail(n, at);
                let (a, b) = (_mm512_maskz_loadu_ps(rest, left.add(at)), _mm512_maskz_loadu_ps(rest, right.add(at)));
                sums = _mm512_fmadd_ps(a, b, sums);
            }
            (left_norm + right_norm) - _mm512_reduce_add_ps(sums)
        }
    }
}

impl Kernel for Bytes {
    type Element = lanes::Bytes;
    type Words = __m512i;
    type Sums = __m512i;
    type Values = __m512;

    #[inline(always)]
    fn zero() -> __m512i {
        // SAFETY: only reached where the processor has AVX-512F.
        unsafe { _mm512_setzero_si512() }
    }
    #[inline(always)]
    unsafe fn load(words: *const u32) -> __m512i {
        // SAFETY: as the trait asks.
        unsafe { _mm512_loadu_si512(words.cast()) }
    }
    #[inline(always)]
    unsafe fn splat(word: *const u32) -> __m512i {
        // SAFETY: as the trait asks.
        unsafe { _mm512_set1_epi32(*word as i32) }
    }
    #[inline(always)]
    unsafe fn step(sums: __m512i, left: __m512i, right: __m512i) -> __m512i {
        // SAFETY: as the trait asks.
        unsafe { _mm512_dpbusd_epi32(sums, left, right) }
    }
    #[inline(always)]
    unsafe fn finish(sums: __m512i, left: i32, right: *const i32) -> __m512 {
        // SAFETY: as the trait asks.
        unsafe {
            let norms = _mm512_add_epi32(_mm512_set1_epi32(left), _mm512_loadu_si512(right.cast()));
            _mm512_cvtepi32_ps(_mm512_sub_epi32(norms, _mm512_slli_epi32::<1>(sums)))
        }
    }
    shared!();
    #[inline(always)]
    unsafe fn pair(left: *const u32, right: *const u32, n: usize, left_norm: i32, right_norm: i32) -> f32 {
        // SAFETY: as the trait asks; the last load is masked to what is left of the rows.
        unsafe {
            let flip = _mm512_set1_epi32(lanes::Bytes::turned(0) as i32);
            let (mut even, mut odd) = (_mm512_setzero_si512(), _mm512_setzero_si512());
            let mut at = 0;
            while at + 32 <= n {
                let (a, b) = (_mm512_loadu_si512(left.add(at).cast()), _mm512_loadu_si512(right.add(at).cast()));
                even = _mm512_dpbusd_epi32(even, a, _mm512_xor_si512(b, flip));
                let at_odd = at + 16;
                let (a, b) =
                    (_mm512_loadu_si512(left.add(at_odd).cast()), _mm512_loadu_si512(right.add(at_odd).cast()));
                odd = _mm512_dpbusd_epi32(odd, a, _mm512_xor_si512(b, flip));
                at += 32;
            }
            while at < n {
                // Words beyond the end are zero on the left, whatever they turn into on the right.
                let rest = if at + 16 <= n { u16::MAX } else { tail(n, at) };
                let a = _mm512_maskz_loadu_epi32(rest, left.add(at).cast());
                let b = _mm512_maskz_loadu_epi32(rest, right.add(at).cast());
                even = _mm512_dpbusd_epi32(even, a, _mm512_xor_si512(b, flip));
                at += 16;
            }
            (left_norm + right_norm - 2 * _mm512_reduce_add_epi32(_mm512_add_epi32(even, odd))) as f32
        }
    }
}

/// Sorted insertion without a branch: place i takes the smaller of itself and the larger of the key and place i − 1.
///
/// Lists are whole registers, as `SharedLists` makes them; places beyond the last whole one stay as they are.
#[inline(always)]
unsafe fn insert(list: &mut [u64], key: u64) {
    // SAFETY: the caller vouches for AVX-512F; every register is a chunk of the list.
    unsafe {
        let key = _mm512_set1_epi64(key as i64);
        let mut before = _mm512_setzero_si512();
        for places in list.chunks_exact_mut(8) {
            let here = _mm512_loadu_si512(places.as_ptr().cast());
            let shifted = _mm512_alignr_epi64::<7>(here, before);
            _mm512_storeu_si512(places.as_mut_ptr().cast(), _mm512_min_epu64(here, _mm512_max_epu64(key, shifted)));
            before = here;
        }
    }
}

/// [`crate::knn::kernels::lists::offer`]: looks for the row in all places at once; it is rarely there.
#[inline(always)]
unsafe fn offer(list: &mut [u64], key: u64) {
    if key >= list[list.len() - 1] {
        return;
    }
    // SAFETY: as for `insert`.
    unsafe {
        let id = _mm512_set1_epi64(i64::from(key as u32));
        let low = _mm512_set1_epi64(i64::from(u32::MAX));
        let mut is_there = 0;
        for places in list.chunks_exact(8) {
            let ids = _mm512_and_si512(_mm512_loadu_si512(places.as_ptr().cast()), low);
            is_there |= _mm512_cmpeq_epi64_mask(ids, id);
        }
        if is_there == 0 { insert(list, key) } else { crate::knn::kernels::lists::offer(list, key) }
    }
}
