//! The number types of blocks of vectors, and memory for them.

use std::ops::{Add, Mul, Sub};

pub(crate) use lapwing_simd::{prefetch, zeros};

/// A number type of blocks of vectors.
pub trait Real:
    Copy + Default + Send + Sync + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + 'static
{
    /// Largest exponent of a power of two by which values are scaled and scaled back.
    const LARGEST_EXPONENT: i32;

    /// From f64, rounded.
    fn round(value: f64) -> Self;
    /// To f64, exactly.
    fn wide(self) -> f64;
    /// Exponent of the power of two near `x`, limited so that it and its inverse are values.
    fn exponent(x: f64) -> i32 {
        (x.log2().round() as i32).clamp(-Self::LARGEST_EXPONENT, Self::LARGEST_EXPONENT)
    }
}

impl Real for f64 {
    const LARGEST_EXPONENT: i32 = 1022;

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

    #[inline(always)]
    fn round(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        self.into()
    }
}
