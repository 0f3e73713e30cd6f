//! The words of a row, and the operations on sixteen pairs of rows that all search kernels use.
//!
//! Rows are sequences of 32-bit words: one f32 value ([`Floats`]) or four signed bytes ([`Bytes`]). A kernel multiplies
//! one word of a row on the left with the same word of sixteen rows on the right, sums over words, and turns the sums
//! into *search distances*, which order pairs as their distances do: half the squared distance for f32, the squared
//! distance for bytes. Sums of bytes are exact, those of f32 are taken in word order with one rounding per word, so that
//! kernels give the same bits at every level of processors (but for f32 where the processor does not fuse).

use lapwing_simd::{Floats as _, Ints, LANES, Simd, inlined, lanes};

/// The words of a row.
pub(crate) trait Element: Send + Sync + Sized + 'static {
    /// A word.
    type Word: bytemuck::Pod + Send + Sync + std::fmt::Debug;
    /// Type of norms, and of sums.
    type Norm: bytemuck::Pod + Send + Sync + std::fmt::Debug;
    /// Sixteen words, or sums.
    type Lanes<S: Simd>: Copy;
    /// Squared distances per search distance.
    const SQUARED: f32;

    /// The word of a row on the left as it stands on the right.
    fn to_right(word: Self::Word) -> Self::Word;
    /// Norm of a row as it enters a search distance on the left and on the right.
    fn norms(row: &[Self::Word]) -> (Self::Norm, Self::Norm);
    /// Sums of zero.
    #[inline(always)]
    fn zero<S: Simd>(simd: S) -> Self::Lanes<S> {
        Self::splat(simd, bytemuck::Zeroable::zeroed())
    }
    /// Sixteen words.
    fn load<S: Simd>(simd: S, words: &[Self::Word; LANES]) -> Self::Lanes<S>;
    /// A word of the row on the left, sixteen times.
    fn splat<S: Simd>(simd: S, word: Self::Word) -> Self::Lanes<S>;
    /// Adds the products of the words.
    fn step<S: Simd>(sums: Self::Lanes<S>, left: Self::Lanes<S>, right: Self::Lanes<S>) -> Self::Lanes<S>;
    /// Search distances from sums and norms.
    fn finish<S: Simd>(simd: S, sums: Self::Lanes<S>, left: Self::Norm, right: &[Self::Norm; LANES]) -> S::F32;
    /// Search distance of two rows of equal length, both as they stand on the left.
    fn pair<S: Simd>(simd: S, left: &[Self::Word], right: &[Self::Word], norms: (Self::Norm, Self::Norm)) -> f32;
}

/// Rows of f32 values.
#[derive(Clone, Debug)]
pub(crate) struct Floats;

impl Element for Floats {
    type Word = f32;
    type Norm = f32;
    type Lanes<S: Simd> = S::F32;
    const SQUARED: f32 = 2.0;

    inlined! {
        fn to_right(word: f32) -> f32 = word;
        fn load<S: Simd>(simd: S, words: &[f32; LANES]) -> S::F32 = simd.load(words);
        fn splat<S: Simd>(simd: S, word: f32) -> S::F32 = simd.splat(word);
        fn step<S: Simd>(sums: S::F32, left: S::F32, right: S::F32) -> S::F32 = left.mul_add(right, sums);
    }
    fn norms(row: &[f32]) -> (f32, f32) {
        let half = row.iter().map(|x| x * x).sum::<f32>() / 2.0;
        (half, half)
    }
    #[inline(always)]
    fn finish<S: Simd>(simd: S, sums: S::F32, left: f32, right: &[f32; LANES]) -> S::F32 {
        simd.splat(left).add(simd.load(right)).sub(sums)
    }
    #[inline(always)]
    fn pair<S: Simd>(simd: S, left: &[f32], right: &[f32], norms: (f32, f32)) -> f32 {
        let mut sums = simd.splat(0.0);
        let ((left, left_rest), (right, right_rest)) = (left.as_chunks::<LANES>(), right.as_chunks::<LANES>());
        for (left, right) in left.iter().zip(right) {
            sums = simd.load(left).mul_add(simd.load(right), sums);
        }
        if !left_rest.is_empty() {
            sums = simd.load_part(left_rest).mul_add(simd.load_part(right_rest), sums);
        }
        (norms.0 + norms.1) - sums.sum()
    }
}

/// Rows of bytes, four to a word, unsigned on the left and less 128 on the right, as processors multiply them.
///
/// With x = y − 128 for a row y on the left and z on the right, Σ y·z = Σ x·z + 128·Σ z, and
/// ‖x − z‖² = ‖x‖² + (‖z‖² + 256·Σ z) − 2·Σ y·z.
#[derive(Clone, Debug)]
pub(crate) struct Bytes;

impl Bytes {
    /// Most columns for which no sum leaves 32 bits.
    pub const MOST_COLUMNS: usize = 1 << 14;
    /// The bits in which a word on the right differs from the same word on the left.
    const SIGNS: i32 = 0x8080_8080_u32 as i32;
}

impl Element for Bytes {
    type Word = i32;
    type Norm = i32;
    type Lanes<S: Simd> = S::I32;
    const SQUARED: f32 = 1.0;

    inlined! {
        fn to_right(word: i32) -> i32 = word ^ Self::SIGNS;
        fn load<S: Simd>(simd: S, words: &[i32; LANES]) -> S::I32 = simd.load_ints(words);
        fn splat<S: Simd>(simd: S, word: i32) -> S::I32 = simd.splat_int(word);
        fn step<S: Simd>(sums: S::I32, left: S::I32, right: S::I32) -> S::I32 = sums.add_byte_products(left, right);
    }
    fn norms(row: &[i32]) -> (i32, i32) {
        let bytes: &[u8] = bytemuck::cast_slice(row);
        let signed = |&y: &u8| i32::from(y) - 128;
        let squares = bytes.iter().map(|y| signed(y) * signed(y)).sum::<i32>();
        let sum = bytes.iter().map(signed).sum::<i32>();
        (squares, squares + 256 * sum)
    }
    #[inline(always)]
    fn finish<S: Simd>(simd: S, sums: S::I32, left: i32, right: &[i32; LANES]) -> S::F32 {
        simd.splat_int(left).add(simd.load_ints(right)).sub(sums.add(sums)).to_floats()
    }
    #[inline(always)]
    fn pair<S: Simd>(simd: S, left: &[i32], right: &[i32], norms: (i32, i32)) -> f32 {
        let signs = simd.splat_int(Self::SIGNS);
        // Two sums, so that an addition need not wait for the one before.
        let mut sums = [simd.splat_int(0); 2];
        let ((left, left_rest), (right, right_rest)) =
            (left.as_chunks::<{ 2 * LANES }>(), right.as_chunks::<{ 2 * LANES }>());
        for (left, right) in left.iter().zip(right) {
            for half in 0..2 {
                let right = simd.load_ints(lanes(right, half * LANES)).xor(signs);
                sums[half] = sums[half].add_byte_products(simd.load_ints(lanes(left, half * LANES)), right);
            }
        }
        for (left, right) in left_rest.chunks(LANES).zip(right_rest.chunks(LANES)) {
            // Words after the end are zero on the left, so that those on the right do not count.
            let right = simd.load_ints_part(right).xor(signs);
            sums[0] = sums[0].add_byte_products(simd.load_ints_part(left), right);
        }
        (norms.0 + norms.1 - 2 * sums[0].add(sums[1]).sum()) as f32
    }
}
