//! The vectors that every level provides.

/// Numbers of 32 bits in a vector.
pub const LANES: usize = 16;
/// f64 in a vector.
pub const DOUBLES: usize = 8;

/// The vectors of one level. A value of this type, or of its vectors, proves that the processor has them.
pub trait Simd: Copy + Send + Sync + 'static {
    /// Whether there are 32 registers of sixteen lanes, with room for larger tiles, instead of sixteen registers of eight.
    const IS_WIDE: bool;
    /// Sixteen f32.
    type F32: Floats;
    /// Sixteen i32, or as many groups of four bytes.
    type I32: Ints<F32 = Self::F32>;
    /// Eight f64.
    type F64: Doubles;

    /// One value in all lanes.
    fn splat(self, value: f32) -> Self::F32;
    /// Sixteen values.
    fn load(self, from: &[f32; LANES]) -> Self::F32;
    /// At most sixteen values, followed by zeros.
    #[inline(always)]
    fn load_part(self, from: &[f32]) -> Self::F32 {
        self.load(&padded(from))
    }
    /// One value in all lanes.
    fn splat_int(self, value: i32) -> Self::I32;
    /// Sixteen values.
    fn load_ints(self, from: &[i32; LANES]) -> Self::I32;
    /// At most sixteen values, followed by zeros.
    #[inline(always)]
    fn load_ints_part(self, from: &[i32]) -> Self::I32 {
        self.load_ints(&padded(from))
    }
    /// One value in all lanes.
    fn splat_double(self, value: f64) -> Self::F64;
    /// Eight values.
    fn load_doubles(self, from: &[f64; DOUBLES]) -> Self::F64;
    /// Eight values in double precision.
    fn widen(self, from: &[f32; DOUBLES]) -> Self::F64;
    /// Transposes sixteen rows of sixteen values, `stride` apart, to sixteen columns, `to_stride` apart.
    ///
    /// # Panics
    /// If a row or column ends beyond its slice.
    fn transpose(self, from: &[f32], stride: usize, to: &mut [f32], to_stride: usize);

    /// Inserts a key into a sorted list of whole vectors of keys ([`DOUBLES`]); the last key is dropped.
    #[inline(always)]
    fn insert_sorted(self, list: &mut [u64], key: u64) {
        let last = list.len() - 1;
        if key < list[last] {
            let at = list.partition_point(|&k| k < key);
            list.copy_within(at..last, at + 1);
            list[at] = key;
        }
    }
    /// Whether a list of whole vectors of keys has a key with the low half `low`.
    #[inline(always)]
    fn has_low(self, list: &[u64], low: u32) -> bool {
        list.iter().any(|&key| key as u32 == low)
    }
}

/// Sixteen f32.
pub trait Floats: Copy {
    /// Writes the lanes.
    fn store(self, to: &mut [f32; LANES]);
    /// self + other.
    fn add(self, other: Self) -> Self;
    /// self − other.
    fn sub(self, other: Self) -> Self;
    /// self · other.
    fn mul(self, other: Self) -> Self;
    /// self / other.
    fn div(self, other: Self) -> Self;
    /// self · factor + term, rounded once where the processor can.
    fn mul_add(self, factor: Self, term: Self) -> Self;
    /// The larger of both; `other` if one is NaN.
    fn max(self, other: Self) -> Self;
    /// The nearest whole numbers, of values below 2²² in absolute value.
    fn round(self) -> Self;
    /// 2 to the power of whole numbers between −126 and 127.
    fn power_of_two(self) -> Self;
    /// Bit i is set if lane i is at most that of `limit`.
    fn at_most(self, limit: Self) -> u32;
    /// `yes` in the lanes where `self` is less than `other`, else `no`.
    fn select_less(self, other: Self, yes: Self, no: Self) -> Self;
    /// Sum of the lanes: halves added until one is left.
    fn sum(self) -> f32;
}

/// Sixteen i32.
pub trait Ints: Copy {
    /// Sixteen f32 of the same level.
    type F32;
    /// self + other.
    fn add(self, other: Self) -> Self;
    /// self − other.
    fn sub(self, other: Self) -> Self;
    /// The bits that differ.
    fn xor(self, other: Self) -> Self;
    /// self + Σ y·z over the four bytes of each lane, y unsigned and z signed.
    fn add_byte_products(self, y: Self, z: Self) -> Self;
    /// As f32, rounded.
    fn to_floats(self) -> Self::F32;
    /// Sum of the lanes.
    fn sum(self) -> i32;
}

/// Eight f64.
pub trait Doubles: Copy {
    /// Writes the lanes.
    fn store(self, to: &mut [f64; DOUBLES]);
    /// self · factor + term, rounded once where the processor can.
    fn mul_add(self, factor: Self, term: Self) -> Self;
}

/// The N values of a slice from `at` on.
///
/// # Panics
/// If there are fewer.
#[inline(always)]
pub fn lanes<T, const N: usize>(values: &[T], at: usize) -> &[T; N] {
    values[at..].first_chunk().expect("a slice that holds whole vectors")
}

/// [`lanes`], mutable.
///
/// # Panics
/// If there are fewer.
#[inline(always)]
pub fn lanes_mut<T, const N: usize>(values: &mut [T], at: usize) -> &mut [T; N] {
    values[at..].first_chunk_mut().expect("a slice that holds whole vectors")
}

#[inline(always)]
fn padded<T: Copy + Default>(from: &[T]) -> [T; LANES] {
    let mut all = [T::default(); LANES];
    all[..from.len()].copy_from_slice(from);
    all
}

/// Panics unless sixteen rows `stride` apart, and as many columns `to_stride` apart, lie within their slices.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn check_transpose(from: &[f32], stride: usize, to: &[f32], to_stride: usize) {
    assert!(from.len() >= (LANES - 1) * stride + LANES && to.len() >= (LANES - 1) * to_stride + LANES);
}
