//! Sixteen pairs of rows at a time: the few operations from which every search kernel is made.
//!
//! Rows are sequences of 32-bit words: one f32 value ([`Floats`]) or four signed bytes ([`Bytes`]). A kernel multiplies
//! one word of a row on the left with the same word of sixteen rows on the right, sums over words, and turns the sums
//! into *search distances*, which order pairs as their distances do: half the squared distance for f32, the squared
//! distance for bytes. Sums of bytes are exact, those of f32 taken in word order with one rounding per word, so all
//! versions of a kernel — AVX-512, AVX2, plain — agree to the bit (but for plain f32 where the processor does not fuse).

use crate::knn::kernels::lists;

/// Rows on the right that are met at once.
pub(crate) const LANES: usize = 16;

/// What the words of a row are.
pub(crate) trait Element: Send + Sync + Sized + 'static {
    /// A word.
    type Word: bytemuck::Pod + Send + Sync;
    /// Type of norms, and of sums.
    type Norm: bytemuck::Pod + Send + Sync;
    /// The word of a row on the left as it stands on the right.
    fn turned(word: Self::Word) -> Self::Word;
    /// Norm of a row as it enters a search distance on the left and on the right.
    fn norms(row: &[Self::Word]) -> (Self::Norm, Self::Norm);
    /// Squared distances per search distance.
    const SQUARED: f32;
    type Plain: Kernel<Element = Self>;
    #[cfg(target_arch = "x86_64")]
    type Avx2: Kernel<Element = Self>;
    #[cfg(target_arch = "x86_64")]
    type Avx512: Kernel<Element = Self>;
}

/// Word of an element.
pub(crate) type Word<K> = <<K as Kernel>::Element as Element>::Word;
/// Norm of an element.
pub(crate) type Norm<K> = <<K as Kernel>::Element as Element>::Norm;

/// The operations on one kind of processor.
///
/// # Safety of the methods
/// The processor has the features of the implementation; pointers are valid for [`LANES`] values (`dot`: for `n`).
pub(crate) trait Kernel {
    type Element: Element;
    /// Sixteen words.
    type Words: Copy;
    /// Sixteen running sums.
    type Sums: Copy;
    /// Sixteen search distances.
    type Values: Copy;

    fn zero() -> Self::Sums;
    unsafe fn load(words: *const Word<Self>) -> Self::Words;
    /// A word of the row on the left, sixteen times.
    unsafe fn splat(word: *const Word<Self>) -> Self::Words;
    /// Adds the products of the words.
    unsafe fn step(sums: Self::Sums, left: Self::Words, right: Self::Words) -> Self::Sums;
    /// Search distances from sums and norms.
    unsafe fn finish(sums: Self::Sums, left: Norm<Self>, right: *const Norm<Self>) -> Self::Values;
    /// Which values are at most `limit` or at most their own of `limits`.
    unsafe fn within_either(values: Self::Values, limit: f32, limits: *const f32) -> u32;
    /// Which values are at most `limit`.
    unsafe fn within(values: Self::Values, limit: f32) -> u32;
    unsafe fn store(values: Self::Values, out: *mut f32);
    /// Search distance of two rows of `n` words, both as they stand on the left.
    unsafe fn pair(
        left: *const Word<Self>,
        right: *const Word<Self>,
        n: usize,
        left_norm: Norm<Self>,
        right_norm: Norm<Self>,
    ) -> f32;
    /// [`lists::insert`].
    unsafe fn insert(list: &mut [u64], key: u64) {
        lists::insert(list, key);
    }
    /// [`lists::offer`].
    unsafe fn offer(list: &mut [u64], key: u64) {
        lists::offer(list, key);
    }
}

/// Rows of f32 values.
pub(crate) struct Floats;

impl Element for Floats {
    type Word = f32;
    type Norm = f32;
    const SQUARED: f32 = 2.0;

    #[inline(always)]
    fn turned(word: f32) -> f32 {
        word
    }

    fn norms(row: &[f32]) -> (f32, f32) {
        let half = row.iter().map(|x| x * x).sum::<f32>() / 2.0;
        (half, half)
    }

    type Plain = PlainFloats;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = crate::knn::kernels::avx2::Floats;
    #[cfg(target_arch = "x86_64")]
    type Avx512 = crate::knn::kernels::avx512::Floats;
}

/// Rows of bytes, four to a word, unsigned on the left and less 128 on the right, as processors multiply them.
///
/// With x = y − 128 for a row y on the left and z on the right, Σ y·z = Σ x·z + 128·Σ z, and
/// ‖x − z‖² = ‖x‖² + (‖z‖² + 256·Σ z) − 2·Σ y·z.
pub(crate) struct Bytes;

impl Bytes {
    /// Most columns for which no sum leaves 32 bits.
    pub const MOST_COLUMNS: usize = 1 << 14;
}

impl Element for Bytes {
    type Word = u32;
    type Norm = i32;
    const SQUARED: f32 = 1.0;

    #[inline(always)]
    fn turned(word: u32) -> u32 {
        word ^ 0x8080_8080
    }

    fn norms(row: &[u32]) -> (i32, i32) {
        let bytes: &[u8] = bytemuck::cast_slice(row);
        let signed = |&y: &u8| i32::from(y) - 128;
        let squares = bytes.iter().map(|y| signed(y) * signed(y)).sum::<i32>();
        let sum = bytes.iter().map(signed).sum::<i32>();
        (squares, squares + 256 * sum)
    }

    type Plain = PlainBytes;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = crate::knn::kernels::avx2::Bytes;
    #[cfg(target_arch = "x86_64")]
    type Avx512 = crate::knn::kernels::avx512::Bytes;
}

/// The twin of all f32 kernels.
pub(crate) struct PlainFloats;

/// a·b + c: fused where the target does that in hardware.
#[inline(always)]
fn fused(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(any(target_arch = "aarch64", target_feature = "fma")) { a.mul_add(b, c) } else { a * b + c }
}

/// Bit i says whether `test(i)`.
#[inline(always)]
fn mask(test: impl Fn(usize) -> bool) -> u32 {
    (0..LANES).fold(0, |bits, lane| bits | u32::from(test(lane)) << lane)
}

/// Sixteen values from an address.
#[inline(always)]
unsafe fn read<T: Copy>(from: *const T) -> [T; LANES] {
    // SAFETY: the caller vouches for sixteen values.
    unsafe { from.cast::<[T; LANES]>().read_unaligned() }
}

impl Kernel for PlainFloats {
    type Element = Floats;
    type Words = [f32; LANES];
    type Sums = [f32; LANES];
    type Values = [f32; LANES];

    #[inline(always)]
    fn zero() -> Self::Sums {
        [0.0; LANES]
    }
    #[inline(always)]
    unsafe fn load(words: *const f32) -> Self::Words {
        // SAFETY: as the trait asks.
        unsafe { read(words) }
    }
    #[inline(always)]
    unsafe fn splat(word: *const f32) -> Self::Words {
        // SAFETY: as the trait asks.
        [unsafe { *word }; LANES]
    }
    #[inline(always)]
    unsafe fn step(sums: Self::Sums, left: Self::Words, right: Self::Words) -> Self::Sums {
        std::array::from_fn(|lane| fused(left[lane], right[lane], sums[lane]))
    }
    #[inline(always)]
    unsafe fn finish(sums: Self::Sums, left: f32, right: *const f32) -> Self::Values {
        // SAFETY: as the trait asks.
        let right = unsafe { read(right) };
        std::array::from_fn(|lane| (left + right[lane]) - sums[lane])
    }
    #[inline(always)]
    unsafe fn within_either(values: Self::Values, limit: f32, limits: *const f32) -> u32 {
        // SAFETY: as the trait asks.
        let limits = unsafe { read(limits) };
        mask(|lane| values[lane] <= limits[lane].max(limit))
    }
    #[inline(always)]
    unsafe fn within(values: Self::Values, limit: f32) -> u32 {
        mask(|lane| values[lane] <= limit)
    }
    #[inline(always)]
    unsafe fn store(values: Self::Values, out: *mut f32) {
        // SAFETY: as the trait asks.
        unsafe { out.cast::<[f32; LANES]>().write_unaligned(values) }
    }
    #[inline(always)]
    unsafe fn pair(left: *const f32, right: *const f32, n: usize, left_norm: f32, right_norm: f32) -> f32 {
        // SAFETY: as the trait asks.
        let (left, right) = unsafe { (std::slice::from_raw_parts(left, n), std::slice::from_raw_parts(right, n)) };
        let mut sums = [0f32; LANES];
        for (left, right) in left.chunks(LANES).zip(right.chunks(LANES)) {
            for (lane, (&a, &b)) in left.iter().zip(right).enumerate() {
                sums[lane] = fused(a, b, sums[lane]);
            }
        }
        (left_norm + right_norm) - halved(sums)
    }
}

/// Sum of sixteen values in the order of the vector versions: halves added until one is left.
pub(crate) fn halved(mut sums: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}

/// The twin of all byte kernels.
pub(crate) struct PlainBytes;

/// Σ (x + 128)·z of the four bytes of a word.
#[inline(always)]
fn quad(left: u32, right: u32) -> i32 {
    let (left, right) = (left.to_ne_bytes(), right.to_ne_bytes());
    (0..4).map(|at| i32::from(left[at]) * i32::from(right[at] as i8)).sum()
}

impl Kernel for PlainBytes {
    type Element = Bytes;
    type Words = [u32; LANES];
    type Sums = [i32; LANES];
    type Values = [f32; LANES];

    #[inline(always)]
    fn zero() -> Self::Sums {
        [0; LANES]
    }
    #[inline(always)]
    unsafe fn load(words: *const u32) -> Self::Words {
        // SAFETY: as the trait asks.
        unsafe { read(words) }
    }
    #[inline(always)]
    unsafe fn splat(word: *const u32) -> Self::Words {
        // SAFETY: as the trait asks.
        [unsafe { *word }; LANES]
    }
    #[inline(always)]
    unsafe fn step(sums: Self::Sums, left: Self::Words, right: Self::Words) -> Self::Sums {
        std::array::from_fn(|lane| sums[lane] + quad(left[lane], right[lane]))
    }
    #[inline(always)]
    unsafe fn finish(sums: Self::Sums, left: i32, right: *const i32) -> Self::Values {
        // SAFETY: as the trait asks.
        let right = unsafe { read(right) };
        std::array::from_fn(|lane| (left + right[lane] - 2 * sums[lane]) as f32)
    }
    #[inline(always)]
    unsafe fn within_either(values: Self::Values, limit: f32, limits: *const f32) -> u32 {
        // SAFETY: as the trait asks.
        unsafe { PlainFloats::within_either(values, limit, limits) }
    }
    #[inline(always)]
    unsafe fn within(values: Self::Values, limit: f32) -> u32 {
        // SAFETY: as the trait asks.
        unsafe { PlainFloats::within(values, limit) }
    }
    #[inline(always)]
    unsafe fn store(values: Self::Values, out: *mut f32) {
        // SAFETY: as the trait asks.
        unsafe { PlainFloats::store(values, out) }
    }
    #[inline(always)]
    unsafe fn pair(left: *const u32, right: *const u32, n: usize, left_norm: i32, right_norm: i32) -> f32 {
        // SAFETY: as the trait asks.
        let (left, right) = unsafe { (std::slice::from_raw_parts(left, n), std::slice::from_raw_parts(right, n)) };
        let sum: i32 = left.iter().zip(right).map(|(&a, &b)| quad(a, Bytes::turned(b))).sum();
        (left_norm + right_norm - 2 * sum) as f32
    }
}
