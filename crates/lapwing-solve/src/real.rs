//! The number types of blocks of vectors, and memory for them. [`crate::kernels`] implements them for f64 and f32.

use std::ops::{Add, Mul, Sub};

use lapwing_core::Run;
use lapwing_simd::Number;
pub(crate) use lapwing_simd::{Lines, prefetch, zeros};

use crate::sdd_matrix::SddMatrix;

/// A number type of blocks of vectors.
pub trait Real: Number + Default + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + 'static {
    /// Largest exponent of a power of two by which values are scaled and scaled back.
    const LARGEST_EXPONENT: i32;

    /// Y ← A·X as [`SddMatrix::product`]. It is not generic, so that its kernels are compiled in this crate alone. A generic one would be
    /// compiled again in every crate that multiplies.
    fn product(matrix: &SddMatrix<'_>, x: &[Self], y: &mut [Self], s: usize, run: Option<&Run>) -> Vec<f64>;

    /// The values as those of another type; moved if it is the same.
    fn cast<T: Real>(values: Vec<Self>) -> Vec<T>;
    /// From values in single precision.
    fn of_single(values: Vec<f32>) -> Vec<Self>;
    /// From values in double precision, rounded.
    fn of_double(values: Vec<f64>) -> Vec<Self>;

    /// From f64, rounded.
    fn round(value: f64) -> Self;
    /// To f64, exactly.
    fn wide(self) -> f64;
    /// Exponent of the power of two near `x`, limited so that it and its inverse are values.
    fn exponent(x: f64) -> i32 {
        (x.log2().round() as i32).clamp(-Self::LARGEST_EXPONENT, Self::LARGEST_EXPONENT)
    }
}
