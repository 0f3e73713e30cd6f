//! Memory for blocks of vectors that are read in no order: large pages, asking ahead, and the numbers they hold.

use std::ops::{Add, Mul, Sub};

use crate::Operator;

/// Bytes from which a block is worth large pages.
const LARGE: usize = 4 << 20;

/// Numbers that blocks of vectors are stored as.
pub trait Real:
    Copy + Default + Send + Sync + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + 'static
{
    /// Largest exponent of a power of two by which values are scaled and scaled back.
    const LARGEST_EXPONENT: i32;

    /// From f64, rounded.
    fn round(value: f64) -> Self;
    /// To f64, exactly.
    fn wide(self) -> f64;
    /// Exponent of the power of two near `x`, as far as it and its inverse are values.
    fn exponent(x: f64) -> i32 {
        (x.log2().round() as i32).clamp(-Self::LARGEST_EXPONENT, Self::LARGEST_EXPONENT)
    }

    /// [`Operator::apply_dot`] for a block of these.
    fn apply_dot(operator: &dyn Operator, x: &[Self], y: &mut [f64], s: usize) -> Vec<f64>;
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

    fn apply_dot(operator: &dyn Operator, x: &[Self], y: &mut [f64], s: usize) -> Vec<f64> {
        operator.apply_dot(x, y, s)
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

    fn apply_dot(operator: &dyn Operator, x: &[Self], y: &mut [f64], s: usize) -> Vec<f64> {
        operator.apply_dot_single(x, y, s)
    }
}

/// `n` zeros, on large pages where the system has them for the asking: gathers from small ones spend a fifth of their
/// time on finding the page.
pub(crate) fn zeros<T: Real>(n: usize) -> Vec<T> {
    let values = vec![T::default(); n];
    #[cfg(target_os = "linux")]
    {
        let (start, bytes) = (values.as_ptr() as usize, n * size_of::<T>());
        let first = start.next_multiple_of(1 << 21);
        let last = (start + bytes) & !((1 << 21) - 1);
        if bytes >= LARGE && last > first {
            // SAFETY: the range lies within the vector's own memory, and the advice changes no byte of it. That it may
            // be refused is of no consequence.
            unsafe { libc::madvise(first as *mut libc::c_void, last - first, libc::MADV_HUGEPAGE) };
        }
    }
    values
}

/// Asks for an element that will be needed soon; any place is allowed.
#[inline(always)]
pub(crate) fn prefetch<T>(values: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults, and the address is formed without the rules of pointers within an object.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, at);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_blocks_are_zero_and_writable() {
        for n in [0, 5, LARGE / 8 + 3, LARGE] {
            let mut block = zeros::<f64>(n);
            assert!(block.len() == n && block.iter().all(|v| *v == 0.0));
            block.iter_mut().for_each(|v| *v = 1.0);
            assert_eq!(block.iter().sum::<f64>(), n as f64);
        }
    }
}
