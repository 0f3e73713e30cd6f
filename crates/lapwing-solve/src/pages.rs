//! The number types of blocks of vectors, and memory for them.

use std::ops::{Add, Mul, Sub};

use lapwing_simd::Number;
pub(crate) use lapwing_simd::{Lines, prefetch, zeros};

use crate::kernels::sdd_product;
use crate::operator::SddMatrix;

/// A number type of blocks of vectors.
pub trait Real: Number + Default + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + 'static {
    /// Largest exponent of a power of two by which values are scaled and scaled back.
    const LARGEST_EXPONENT: i32;

    /// Y ← A·X as [`SddMatrix::product`], computed in f32. This function and the next are not generic, so that their kernels are compiled
    /// in this crate alone. Generic ones would be compiled again in every crate that multiplies.
    fn product_in_single(matrix: &SddMatrix<'_>, x: &[Self], y: &mut [f32], s: usize) -> Vec<f64>;
    /// The same, computed in f64.
    fn product_in_double(matrix: &SddMatrix<'_>, x: &[Self], y: &mut [f64], s: usize) -> Vec<f64>;
    /// The one of the two that computes in the precision of `y`.
    fn product<P: Real>(matrix: &SddMatrix<'_>, x: &[P], y: &mut [Self], s: usize) -> Vec<f64>;

    /// From f64, rounded.
    fn round(value: f64) -> Self;
    /// To f64, exactly.
    fn wide(self) -> f64;
    /// Exponent of the power of two near `x`, limited so that it and its inverse are values.
    fn exponent(x: f64) -> i32 {
        (x.log2().round() as i32).clamp(-Self::LARGEST_EXPONENT, Self::LARGEST_EXPONENT)
    }
}

/// The products of a number type; `$own` is the one that computes in its precision.
macro_rules! products {
    ($own:ident) => {
        #[inline(never)]
        fn product_in_single(matrix: &SddMatrix<'_>, x: &[Self], y: &mut [f32], s: usize) -> Vec<f64> {
            sdd_product(matrix, x, y, s)
        }

        #[inline(never)]
        fn product_in_double(matrix: &SddMatrix<'_>, x: &[Self], y: &mut [f64], s: usize) -> Vec<f64> {
            sdd_product(matrix, x, y, s)
        }

        fn product<P: Real>(matrix: &SddMatrix<'_>, x: &[P], y: &mut [Self], s: usize) -> Vec<f64> {
            P::$own(matrix, x, y, s)
        }
    };
}

impl Real for f64 {
    const LARGEST_EXPONENT: i32 = 1022;

    products! { product_in_double }

    #[inline(always)]
    fn round(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
}

impl Real for f32 {
    const LARGEST_EXPONENT: i32 = 126;

    products! { product_in_single }

    #[inline(always)]
    fn round(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        self.into()
    }
}
