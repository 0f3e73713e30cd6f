//! Prefetches and large pages.

/// Least bytes of an allocation that gets large pages.
const LARGE: usize = 4 << 20;
/// Bytes of a large page, and of a cache line.
const PAGE: usize = 1 << 21;
const LINE: usize = 64;

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
    #[cfg(target_os = "linux")]
    {
        let (start, bytes) = (values.as_ptr() as usize, n * size_of::<T>());
        let (first, last) = (start.next_multiple_of(PAGE), (start + bytes) & !(PAGE - 1));
        if bytes >= LARGE && last > first {
            // SAFETY: the range lies within the vector's own memory, and the advice changes no byte of it. The system may
            // refuse the advice; nothing depends on it.
            unsafe { libc::madvise(first as *mut libc::c_void, last - first, libc::MADV_HUGEPAGE) };
        }
    }
    values
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
            prefetch(&block, 0);
            prefetch(&block, usize::MAX);
            prefetch_lines(&block);
        }
    }
}
