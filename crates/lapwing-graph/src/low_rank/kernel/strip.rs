//! Strips of 64 rows, and their values as vectors.

use lapwing_simd::{Floats, LANES, Simd};

/// Rows of a strip.
pub(crate) const STRIP: usize = 64;
/// Vectors of a strip, for each landmark.
pub(super) const VECTORS: usize = STRIP / LANES;
/// Strips of a chunk.
pub(crate) const CHUNK_STRIPS: usize = 16;
/// Rows of a chunk. Sums within a chunk are in single precision, lane by lane; sums over chunks are in double precision.
pub(crate) const CHUNK_ROWS: usize = STRIP * CHUNK_STRIPS;

/// The 64 values of one column or landmark, as vectors.
pub(super) type Vectors = [[f32; LANES]; VECTORS];

/// A strip (k, 64), or a slab of columns (columns, 64), by vectors.
#[inline(always)]
pub(super) fn vectors(strip: &[f32]) -> &[Vectors] {
    strip.as_chunks().0.as_chunks().0
}

/// [`vectors`], to be written.
#[inline(always)]
pub(super) fn vectors_mut(strip: &mut [f32]) -> &mut [Vectors] {
    strip.as_chunks_mut().0.as_chunks_mut().0
}

/// Coefficients of 2ˣ on [−½, ½] by degree, minimax (Remez): relative error 8·10⁻⁸ with the rounding of single precision.
const EXP2: [f32; 7] =
    [1.0, std::f32::consts::LN_2, 0.240_226_46, 0.055_503_286, 0.009_618_489, 0.001_339_993_1, 0.000_153_458_11];
/// Exponents below give 0.
const LEAST_EXPONENT: f32 = -126.0;

/// 2 to the `x` for values of at most 0; 0 below 2⁻¹²⁶.
#[inline(always)]
pub(super) fn exp2<S: Simd>(simd: S, x: S::F32) -> S::F32 {
    let least = simd.splat(LEAST_EXPONENT);
    let clamped = x.max(least);
    let whole = clamped.round();
    let part = clamped.sub(whole);
    let mut value = simd.splat(EXP2[6]);
    for degree in (0..6).rev() {
        value = value.mul_add(part, simd.splat(EXP2[degree]));
    }
    x.select_less(least, simd.splat(0.0), value.mul(whole.power_of_two()))
}
