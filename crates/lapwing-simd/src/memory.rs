//! Prefetches, large pages, and memory that begins at a cache line.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Least bytes of an allocation that gets large pages.
#[cfg(target_os = "linux")]
const LARGE: usize = 4 << 20;
/// Bytes of a large page.
#[cfg(target_os = "linux")]
const PAGE: usize = 1 << 21;
/// Bytes of a cache line.
pub const LINE: usize = 64;

/// Prefetches the element at `at`; beyond the end of `values` this does nothing.
#[inline(always)]
pub fn prefetch<T>(values: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults, and `wrapping_add` may leave the slice.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().wrapping_add(at).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, at);
}

/// Prefetches all of `values`, a cache line at a time.
#[inline(always)]
pub fn prefetch_lines<T>(values: &[T]) {
    (0..values.len()).step_by(LINE / size_of::<T>()).for_each(|at| prefetch(values, at));
}

/// `n` zeros; if there are many, on large pages if the system has them. With small pages, gathers spend a fifth of their time on
/// address translation.
pub fn zeros<T: Copy + Default>(n: usize) -> Vec<T> {
    let values = vec![T::default(); n];
    advise(&values);
    values
}

/// Asks for large pages under `values`, if they are many.
fn advise<T>(values: &[T]) {
    #[cfg(target_os = "linux")]
    {
        let (start, bytes) = (values.as_ptr() as usize, size_of_val(values));
        let (first, last) = (start.next_multiple_of(PAGE), (start + bytes) & !(PAGE - 1));
        if bytes >= LARGE && last > first {
            // SAFETY: the range lies within the slice's own memory, and the advice changes no byte of it. The system may
            // refuse the advice; nothing depends on it.
            unsafe { libc::madvise(first as *mut libc::c_void, last - first, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = values;
}

/// A number type whose zero is all bits zero.
pub trait Number: Copy + Send + Sync + sealed::Sealed {}

impl Number for f32 {}
impl Number for f64 {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Values that begin at a cache line, as [`zeros`]: rows of a power of two of bytes then straddle no line, and reading one at
/// random takes one access.
#[derive(Debug)]
pub struct Lines<T: Number> {
    start: NonNull<T>,
    len: usize,
}

// SAFETY: the values are owned and reached through references only.
unsafe impl<T: Number> Send for Lines<T> {}
// SAFETY: as above.
unsafe impl<T: Number> Sync for Lines<T> {}

impl<T: Number> Lines<T> {
    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let layout = Self::layout(len);
        if layout.size() == 0 {
            return Self { start: NonNull::dangling(), len };
        }
        // SAFETY: the layout has a size.
        let Some(start) = NonNull::new(unsafe { alloc_zeroed(layout) }) else { handle_alloc_error(layout) };
        let lines = Self { start: start.cast(), len };
        advise(&lines);
        lines
    }

    fn layout(len: usize) -> Layout {
        let layout = Layout::array::<T>(len).and_then(|layout| layout.align_to(LINE));
        layout.unwrap_or_else(|_| panic!("{len} values are more than memory has addresses"))
    }
}

impl<T: Number> Deref for Lines<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` values were allocated here, and all bits zero are a value of a `Number`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Number> DerefMut for Lines<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Number> Drop for Lines<T> {
    fn drop(&mut self) {
        let layout = Self::layout(self.len);
        if layout.size() > 0 {
            // SAFETY: the memory was allocated with this layout, and is not used any more.
            unsafe { dealloc(self.start.as_ptr().cast(), layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_zero_writable_and_begin_at_a_line() {
        for n in [0, 1, 15, 1000, LARGE / 4 + 3] {
            let mut block = Lines::<f32>::zeros(n);
            assert!(block.len() == n && block.iter().all(|v| *v == 0.0));
            assert!(n == 0 || (block.as_ptr() as usize).is_multiple_of(LINE));
            block.iter_mut().for_each(|v| *v = 1.0);
            assert_eq!(block.iter().sum::<f32>(), n as f32);
        }
    }

    #[test]
    fn large_blocks_are_zero_and_writable() {
        for n in [0, 5, LARGE / 8 + 3, LARGE] {
            let mut block = zeros::<f64>(n);
            assert!(block.len() == n && block.iter().all(|v| *v == 0.0));
            block.iter_mut().for_each(|v| *v = 1.0);
            assert_eq!(block.iter().sum::<f64>(), n as f64);
            prefetch(&block, 0);
            prefetch(&block, usize::MAX);
            prefetch_lines(&block);
        }
    }
}
