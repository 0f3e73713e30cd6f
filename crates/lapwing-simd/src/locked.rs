//! Rows of one array that many threads change, each with a lock of one byte.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::memory::{prefetch, prefetch_lines};

/// Rows (n, width).
pub struct LockedRows<T> {
    values: Box<[UnsafeCell<T>]>,
    locks: Box<[AtomicBool]>,
    width: usize,
}

// SAFETY: values are only reached through `lock`, which holds the row's lock, or through `&mut self`.
unsafe impl<T: Send> Sync for LockedRows<T> {}

/// Exclusive access to a row; dropping it releases the lock.
pub struct Locked<'a, T> {
    row: &'a mut [T],
    lock: &'a AtomicBool,
}

impl<T: Copy> LockedRows<T> {
    /// `n` rows of `width` times `value`.
    pub fn new(n: usize, width: usize, value: T) -> Self {
        Self {
            values: (0..n * width).map(|_| UnsafeCell::new(value)).collect(),
            locks: (0..n).map(|_| AtomicBool::new(false)).collect(),
            width,
        }
    }

    /// Locks the row `row`. The holder must not panic or lock another row.
    #[inline(always)]
    pub fn lock(&self, row: usize) -> Locked<'_, T> {
        let lock = &self.locks[row];
        while lock.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            std::hint::spin_loop();
        }
        let cells = &self.values[row * self.width..(row + 1) * self.width];
        // SAFETY: the cells lie together, `UnsafeCell<T>` has the layout of `T`, and the lock makes this the only reference
        // to them until it is released.
        let row = unsafe { std::slice::from_raw_parts_mut(UnsafeCell::raw_get(cells.as_ptr()), self.width) };
        Locked { row, lock }
    }

    /// Prefetches the row `row`, which will be locked soon.
    #[inline(always)]
    pub fn prefetch(&self, row: usize) {
        prefetch(&self.locks, row);
        prefetch_lines(&self.values[row * self.width..(row + 1) * self.width]);
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.locks.len()
    }

    /// Values of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// All rows (n, width), mutable.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        // SAFETY: `&mut self` excludes every `lock`; layout as there.
        unsafe { std::slice::from_raw_parts_mut(UnsafeCell::raw_get(self.values.as_ptr()), self.values.len()) }
    }

    /// All rows (n, width), without the locks.
    pub fn into_vec(self) -> Vec<T> {
        self.values.into_vec().into_iter().map(UnsafeCell::into_inner).collect()
    }
}

impl<T> Drop for Locked<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.lock.store(false, Ordering::Release);
    }
}

impl<T> std::ops::Deref for Locked<'_, T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        self.row
    }
}

impl<T> std::ops::DerefMut for Locked<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        self.row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_change_is_lost() {
        let mut rows = LockedRows::new(3, 4, 0u64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for at in 0..9000 {
                        rows.prefetch(at % 3);
                        rows.lock(at % 3).iter_mut().for_each(|value| *value += 1);
                    }
                });
            }
        });
        assert!((rows.n_rows(), rows.width()) == (3, 4) && rows.as_mut_slice().iter().all(|value| *value == 12_000));
        assert_eq!(rows.into_vec().len(), 12);
    }
}
