//! Sixteen rows at a time: the few operations from which the kernels are made.
//!
//! Lanes are rows and never mix but in [`Lanes::sum`], so that every version gives the same bits: AVX-512, AVX2 with FMA,
//! and plain where the target fuses multiply-adds.

/// Rows that stand side by side.
pub(crate) const LANES: usize = 16;

/// Coefficients of 2ˣ on [−½, ½] by degree, minimax (Remez): relative error 8·10⁻⁸ with the rounding of single precision.
const EXP2: [f32; 7] =
    [1.0, std::f32::consts::LN_2, 0.240_226_46, 0.055_503_286, 0.009_618_489, 0.001_339_993_1, 0.000_153_458_11];

/// Exponents below give 0.
const LEAST_EXPONENT: f32 = -126.0;

/// Sixteen f32 values, and what the kernels do with them.
///
/// # Safety of the methods
/// The processor has the features of the implementation; pointers are valid for [`LANES`] values.
pub(crate) trait Lanes: Copy {
    /// Vectors of sixteen rows that a tile of [`WIDEST`](super::WIDEST) landmarks keeps in registers.
    const TILE: usize;
    type Mask: Copy;

    unsafe fn splat(value: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
    /// `self`·`factor` + `term`, rounded once where the processor can.
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self;
    unsafe fn max(self, other: Self) -> Self;
    unsafe fn round(self) -> Self;
    /// 2 to whole numbers between −126 and 127.
    unsafe fn power_of_two(self) -> Self;
    /// Where `self` < `other`.
    unsafe fn less(self, other: Self) -> Self::Mask;
    /// `yes` where the mask is set, else `no`.
    unsafe fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// Sum of the lanes: halves added until one is left.
    unsafe fn sum(self) -> f32;
    /// Turns sixteen rows of sixteen values, `stride` apart, into sixteen columns, `to_stride` apart.
    unsafe fn transpose(from: *const f32, stride: usize, to: *mut f32, to_stride: usize) {
        for row in 0..LANES {
            for column in 0..LANES {
                // SAFETY: as the trait asks, for each row and column.
                unsafe { *to.add(column * to_stride + row) = *from.add(row * stride + column) };
            }
        }
    }

    /// 2 to the `self` for values of at most 0; 0 below 2⁻¹²⁶.
    #[inline(always)]
    unsafe fn exp2(self) -> Self {
        // SAFETY: as the trait asks.
        unsafe {
            let least = Self::splat(LEAST_EXPONENT);
            let clamped = self.max(least);
            let whole = clamped.round();
            let part = clamped.sub(whole);
            let mut value = Self::splat(EXP2[6]);
            for degree in (0..6).rev() {
                value = value.mul_add(part, Self::splat(EXP2[degree]));
            }
            Self::select(self.less(least), Self::splat(0.0), value.mul(whole.power_of_two()))
        }
    }
}

/// The twin of all versions.
#[derive(Clone, Copy)]
pub(crate) struct Plain([f32; LANES]);

/// a·b + c: fused where the target does that in hardware.
#[inline(always)]
fn fused(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(any(target_arch = "aarch64", target_feature = "fma")) { a.mul_add(b, c) } else { a * b + c }
}

impl Plain {
    #[inline(always)]
    fn zip(self, other: Self, with: impl Fn(f32, f32) -> f32) -> Self {
        Self(std::array::from_fn(|lane| with(self.0[lane], other.0[lane])))
    }
}

impl Lanes for Plain {
    const TILE: usize = 1;
    type Mask = [bool; LANES];

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self([value; LANES])
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: as the trait asks.
        Self(unsafe { from.cast::<[f32; LANES]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as the trait asks.
        unsafe { to.cast::<[f32; LANES]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| a / b)
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        Self(std::array::from_fn(|lane| fused(self.0[lane], factor.0[lane], term.0[lane])))
    }
    // As the instructions do it: the second where one is NaN.
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    unsafe fn round(self) -> Self {
        // Adding 1.5·2²³ leaves no bits for a fraction, for any sum below 2²².
        const SHIFT: f32 = 12_582_912.0;
        Self(self.0.map(|x| (x + SHIFT) - SHIFT))
    }
    #[inline(always)]
    unsafe fn power_of_two(self) -> Self {
        Self(self.0.map(|x| f32::from_bits(((x as i32 + 127) as u32) << 23)))
    }
    #[inline(always)]
    unsafe fn less(self, other: Self) -> [bool; LANES] {
        std::array::from_fn(|lane| self.0[lane] < other.0[lane])
    }
    #[inline(always)]
    unsafe fn select(mask: [bool; LANES], yes: Self, no: Self) -> Self {
        Self(std::array::from_fn(|lane| if mask[lane] { yes.0[lane] } else { no.0[lane] }))
    }
    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        let mut sums = self.0;
        for half in [8, 4, 2, 1] {
            for lane in 0..half {
                sums[lane] += sums[lane + half];
            }
        }
        sums[0]
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use self::x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Lanes;

    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

    /// One register of sixteen; needs AVX-512F.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx512(__m512);

    // SAFETY of all blocks below: as the trait asks of the caller.
    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Lanes for Avx512 {
        const TILE: usize = 4;
        type Mask = __mmask16;

        #[inline(always)]
        unsafe fn splat(value: f32) -> Self {
            unsafe { Self(_mm512_set1_ps(value)) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            unsafe { Self(_mm512_loadu_ps(from)) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            unsafe { _mm512_storeu_ps(to, self.0) }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            unsafe { Self(_mm512_add_ps(self.0, other.0)) }
        }
        #[inline(always)]
        unsafe fn sub(self, other: Self) -> Self {
            unsafe { Self(_mm512_sub_ps(self.0, other.0)) }
        }
        #[inline(always)]
        unsafe fn mul(self, other: Self) -> Self {
            unsafe { Self(_mm512_mul_ps(self.0, other.0)) }
        }
        #[inline(always)]
        unsafe fn div(self, other: Self) -> Self {
            unsafe { Self(_mm512_div_ps(self.0, other.0)) }
        }
        #[inline(always)]
        unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
            unsafe { Self(_mm512_fmadd_ps(self.0, factor.0, term.0)) }
        }
        #[inline(always)]
        unsafe fn max(self, other: Self) -> Self {
            unsafe { Self(_mm512_max_ps(self.0, other.0)) }
        }
        #[inline(always)]
        unsafe fn round(self) -> Self {
            unsafe { Self(_mm512_roundscale_ps::<NEAREST>(self.0)) }
        }
        #[inline(always)]
        unsafe fn power_of_two(self) -> Self {
            unsafe { Self(_mm512_scalef_ps(_mm512_set1_ps(1.0), self.0)) }
        }
        #[inline(always)]
        unsafe fn less(self, other: Self) -> __mmask16 {
            unsafe { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, other.0) }
        }
        #[inline(always)]
        unsafe fn select(mask: __mmask16, yes: Self, no: Self) -> Self {
            unsafe { Self(_mm512_mask_blend_ps(mask, no.0, yes.0)) }
        }
        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            unsafe {
                let high = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(self.0)));
                sum_of_eight(_mm256_add_ps(_mm512_castps512_ps256(self.0), high))
            }
        }
        #[inline(always)]
        unsafe fn transpose(from: *const f32, stride: usize, to: *mut f32, to_stride: usize) {
            unsafe {
                let mut rows: [__m512; 16] = std::array::from_fn(|row| _mm512_loadu_ps(from.add(row * stride)));
                // Pairs of rows, then of pairs, within each quarter of a register; then the quarters.
                for at in (0..16).step_by(2) {
                    let (a, b) = (rows[at], rows[at + 1]);
                    (rows[at], rows[at + 1]) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
                }
                let mut fours = rows;
                for at in (0..16).step_by(4) {
                    let [a, b, c, d] =
                        [rows[at], rows[at + 1], rows[at + 2], rows[at + 3]].map(|x| _mm512_castps_pd(x));
                    fours[at] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
                    fours[at + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
                    fours[at + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
                    fours[at + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
                }
                for column in 0..4 {
                    let [a, b, c, d] = [fours[column], fours[column + 4], fours[column + 8], fours[column + 12]];
                    let (even_low, odd_low) = (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xDD>(a, b));
                    let (even_high, odd_high) =
                        (_mm512_shuffle_f32x4::<0x88>(c, d), _mm512_shuffle_f32x4::<0xDD>(c, d));
                    let columns = [
                        _mm512_shuffle_f32x4::<0x88>(even_low, even_high),
                        _mm512_shuffle_f32x4::<0x88>(odd_low, odd_high),
                        _mm512_shuffle_f32x4::<0xDD>(even_low, even_high),
                        _mm512_shuffle_f32x4::<0xDD>(odd_low, odd_high),
                    ];
                    for (quarter, values) in columns.into_iter().enumerate() {
                        _mm512_storeu_ps(to.add((4 * quarter + column) * to_stride), values);
                    }
                }
            }
        }
    }

    /// Two registers of eight; needs AVX2 and FMA.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(__m256, __m256);

    /// [`Lanes::transpose`] for eight rows of eight values.
    #[inline(always)]
    unsafe fn transpose_eight(from: *const f32, stride: usize, to: *mut f32, to_stride: usize) {
        // SAFETY: as the trait asks.
        unsafe {
            let rows: [__m256; 8] = std::array::from_fn(|row| _mm256_loadu_ps(from.add(row * stride)));
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
    #[inline(always)]
    unsafe fn sum_of_eight(values: __m256) -> f32 {
        // SAFETY: as the trait asks; AVX-512 has AVX.
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps::<1>(values));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }

    // SAFETY of all blocks below: as the trait asks of the caller.
    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Lanes for Avx2 {
        const TILE: usize = 1;
        type Mask = (__m256, __m256);

        #[inline(always)]
        unsafe fn splat(value: f32) -> Self {
            unsafe { Self(_mm256_set1_ps(value), _mm256_set1_ps(value)) }
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            unsafe { Self(_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))) }
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            unsafe {
                _mm256_storeu_ps(to, self.0);
                _mm256_storeu_ps(to.add(8), self.1);
            }
        }
        #[inline(always)]
        unsafe fn add(self, other: Self) -> Self {
            unsafe { Self(_mm256_add_ps(self.0, other.0), _mm256_add_ps(self.1, other.1)) }
        }
        #[inline(always)]
        unsafe fn sub(self, other: Self) -> Self {
            unsafe { Self(_mm256_sub_ps(self.0, other.0), _mm256_sub_ps(self.1, other.1)) }
        }
        #[inline(always)]
        unsafe fn mul(self, other: Self) -> Self {
            unsafe { Self(_mm256_mul_ps(self.0, other.0), _mm256_mul_ps(self.1, other.1)) }
        }
        #[inline(always)]
        unsafe fn div(self, other: Self) -> Self {
            unsafe { Self(_mm256_div_ps(self.0, other.0), _mm256_div_ps(self.1, other.1)) }
        }
        #[inline(always)]
        unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
            unsafe { Self(_mm256_fmadd_ps(self.0, factor.0, term.0), _mm256_fmadd_ps(self.1, factor.1, term.1)) }
        }
        #[inline(always)]
        unsafe fn max(self, other: Self) -> Self {
            unsafe { Self(_mm256_max_ps(self.0, other.0), _mm256_max_ps(self.1, other.1)) }
        }
        #[inline(always)]
        unsafe fn round(self) -> Self {
            unsafe { Self(_mm256_round_ps::<NEAREST>(self.0), _mm256_round_ps::<NEAREST>(self.1)) }
        }
        #[inline(always)]
        unsafe fn power_of_two(self) -> Self {
            #[inline(always)]
            unsafe fn power(x: __m256) -> __m256 {
                // SAFETY: as the trait asks.
                unsafe {
                    let biased = _mm256_add_epi32(_mm256_cvtps_epi32(x), _mm256_set1_epi32(127));
                    _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased))
                }
            }
            unsafe { Self(power(self.0), power(self.1)) }
        }
        #[inline(always)]
        unsafe fn less(self, other: Self) -> (__m256, __m256) {
            unsafe { (_mm256_cmp_ps::<_CMP_LT_OQ>(self.0, other.0), _mm256_cmp_ps::<_CMP_LT_OQ>(self.1, other.1)) }
        }
        #[inline(always)]
        unsafe fn select(mask: (__m256, __m256), yes: Self, no: Self) -> Self {
            unsafe { Self(_mm256_blendv_ps(no.0, yes.0, mask.0), _mm256_blendv_ps(no.1, yes.1, mask.1)) }
        }
        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            unsafe { sum_of_eight(_mm256_add_ps(self.0, self.1)) }
        }
        #[inline(always)]
        unsafe fn transpose(from: *const f32, stride: usize, to: *mut f32, to_stride: usize) {
            unsafe {
                for (row, column) in [(0, 0), (0, 8), (8, 0), (8, 8)] {
                    transpose_eight(
                        from.add(row * stride + column),
                        stride,
                        to.add(column * to_stride + row),
                        to_stride,
                    );
                }
            }
        }
    }
}

/// Declares `$name`, which runs `$plain::<L>`, `#[inline(always)]`, with the lanes of this processor:
/// `on_lanes! { name = plain(argument: Type, …) }`.
macro_rules! on_lanes {
    ($(#[$doc:meta])* $name:ident = $plain:ident ($($arg:ident: $kind:ty),* $(,)?)) => {
        $(#[$doc])*
        #[allow(clippy::too_many_arguments)]
        pub(crate) fn $name($($arg: $kind),*) {
            $crate::low_rank::kernel::lanes::on_version!($plain, $crate::low_rank::kernel::lanes::version(), $($arg: $kind),*)
        }
    };
}
pub(crate) use on_lanes;

/// See [`on_lanes`].
macro_rules! on_version {
    ($plain:ident, $version:expr, $($arg:ident: $kind:ty),*) => {{
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f,avx2,fma")]
            #[allow(clippy::too_many_arguments)]
            unsafe fn avx512($($arg: $kind),*) {
                // SAFETY: the caller has asked the processor.
                unsafe { $plain::<$crate::low_rank::kernel::lanes::Avx512>($($arg),*) }
            }
            #[target_feature(enable = "avx2,fma")]
            #[allow(clippy::too_many_arguments)]
            unsafe fn avx2($($arg: $kind),*) {
                // SAFETY: the caller has asked the processor.
                unsafe { $plain::<$crate::low_rank::kernel::lanes::Avx2>($($arg),*) }
            }
            match $version {
                // SAFETY: `version` has asked the processor.
                2 => return unsafe { avx512($($arg),*) },
                // SAFETY: likewise.
                1 => return unsafe { avx2($($arg),*) },
                _ => {}
            }
        }
        let _ = $version;
        // SAFETY: any processor will do.
        unsafe { $plain::<$crate::low_rank::kernel::lanes::Plain>($($arg),*) }
    }};
}
pub(crate) use on_version;

#[cfg(test)]
thread_local! {
    /// The version that tests ask for on this thread.
    pub(crate) static FORCED: std::cell::Cell<Option<u8>> = const { std::cell::Cell::new(None) };
}

/// The best version for this processor: 2 AVX-512, 1 AVX2 with FMA, 0 plain.
pub(crate) fn version() -> u8 {
    let best = best_version();
    #[cfg(test)]
    let best = FORCED.get().map_or(best, |forced| forced.min(best));
    best
}

fn best_version() -> u8 {
    #[cfg(target_arch = "x86_64")]
    {
        let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        if has_avx2 && is_x86_feature_detected!("avx512f") {
            return 2;
        }
        if has_avx2 {
            return 1;
        }
    }
    0
}
