//! Sorted candidate lists: the kk nearest rows seen so far for every row.
//!
//! A candidate is one 64-bit key, distance bits above row number: distances are not negative, so keys order by
//! (distance, row). A row appears once, with the smallest distance seen. The content of a list is therefore the kk
//! smallest of all candidates offered, in whatever order they came: no thread order can show.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

use lapwing_data::vectored::prefetch;

/// Key of a place not yet taken; above every key of a finite distance.
pub(crate) const EMPTY: u64 = u64::MAX;

/// Places of a list are a multiple of this: a vector register of keys.
pub(crate) const STEP: usize = 8;

/// Key of row `id` at squared distance `distance`; rounding below 0 counts as 0.
#[inline]
pub(crate) fn key(distance: f32, id: u32) -> u64 {
    (u64::from(distance.max(0.0).to_bits()) << 32) | u64::from(id)
}

/// Row of a key.
#[inline]
pub(crate) fn id_of(key: u64) -> u32 {
    key as u32
}

/// Distance of a key; infinite for an empty place.
#[inline]
pub(crate) fn distance_of(key: u64) -> f32 {
    let distance = f32::from_bits((key >> 32) as u32);
    if key == EMPTY { f32::INFINITY } else { distance }
}

/// Offers a candidate to a sorted list.
#[inline]
pub(crate) fn offer(list: &mut [u64], candidate: u64) {
    let last = list.len() - 1;
    if candidate >= list[last] {
        return;
    }
    // The same row may be there with another rounding of its distance: the smaller one stays.
    let end = match list.iter().position(|&k| id_of(k) == id_of(candidate) && k != EMPTY) {
        Some(at) if list[at] <= candidate => return,
        Some(at) => at,
        None => last,
    };
    let at = list[..end].partition_point(|&k| k < candidate);
    list.copy_within(at..end, at + 1);
    list[at] = candidate;
}

/// Puts a candidate whose row is not there in its place of a sorted list; one beyond the end is dropped.
#[inline]
pub(crate) fn insert(list: &mut [u64], candidate: u64) {
    let last = list.len() - 1;
    if candidate < list[last] {
        let at = list.partition_point(|&k| k < candidate);
        list.copy_within(at..last, at + 1);
        list[at] = candidate;
    }
}

/// A list that nobody else can reach; its lock is given back when this goes.
pub(crate) struct Locked<'a> {
    list: &'a mut [u64],
    lock: &'a AtomicBool,
}

impl Drop for Locked<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.lock.store(false, Ordering::Release);
    }
}

impl std::ops::Deref for Locked<'_> {
    type Target = [u64];

    #[inline(always)]
    fn deref(&self) -> &[u64] {
        self.list
    }
}

impl std::ops::DerefMut for Locked<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u64] {
        self.list
    }
}

/// Lists of all rows (n, kk), each behind its own lock; kk is a multiple of [`STEP`].
pub(crate) struct SharedLists {
    keys: Box<[UnsafeCell<u64>]>,
    locks: Box<[AtomicBool]>,
    width: usize,
}

// SAFETY: keys are only reached through `lock`, which holds the row's lock, or through `&mut self`.
unsafe impl Sync for SharedLists {}

impl SharedLists {
    /// Lists of at least `width` places.
    pub fn new(n: usize, width: usize) -> Self {
        let width = width.next_multiple_of(STEP);
        Self {
            keys: (0..n * width).map(|_| UnsafeCell::new(EMPTY)).collect(),
            locks: (0..n).map(|_| AtomicBool::new(false)).collect(),
            width,
        }
    }

    /// The list of `row`, alone. Whoever holds one must not panic or take another.
    #[inline(always)]
    pub fn lock(&self, row: usize) -> Locked<'_> {
        let lock = &self.locks[row];
        while lock.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            std::hint::spin_loop();
        }
        let cells = &self.keys[row * self.width..(row + 1) * self.width];
        // SAFETY: the cells lie together, `UnsafeCell<u64>` has the layout of `u64`, and the lock makes this the only
        // reference to them until it is released.
        let list = unsafe { std::slice::from_raw_parts_mut(UnsafeCell::raw_get(cells.as_ptr()), self.width) };
        Locked { list, lock }
    }

    /// The lists, row-major (n, kk), without the locks.
    pub fn into_vec(self) -> Vec<u64> {
        self.keys.into_vec().into_iter().map(UnsafeCell::into_inner).collect()
    }

    /// Asks for the memory of the list of `row`, which will be locked soon.
    #[inline(always)]
    pub fn prefetch(&self, row: usize) {
        prefetch(&self.locks[row]);
        self.keys[row * self.width..(row + 1) * self.width].chunks(STEP).for_each(|keys| prefetch(&keys[0]));
    }

    /// Places of a list.
    pub fn width(&self) -> usize {
        self.width
    }

    pub fn n_rows(&self) -> usize {
        self.locks.len()
    }

    /// The lists, row-major (n, kk), to change in place.
    pub fn as_mut_slice(&mut self) -> &mut [u64] {
        // SAFETY: `&mut self` excludes every `lock`; layout as there.
        unsafe { std::slice::from_raw_parts_mut(UnsafeCell::raw_get(self.keys.as_ptr()), self.keys.len()) }
    }

    /// The lists, row-major (n, kk).
    pub fn as_slice(&mut self) -> &[u64] {
        // SAFETY: `&mut self` excludes every `lock`; layout as there.
        unsafe { std::slice::from_raw_parts(self.keys.as_ptr().cast(), self.keys.len()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_list_holds_the_smallest_in_any_order(mut offers in prop::collection::vec((0u32..20, 0u32..50), 1..200), seed in 0usize..1000) {
            let fill = |offers: &[(u32, u32)]| {
                let mut list = vec![EMPTY; 6];
                offers.iter().for_each(|&(id, d)| offer(&mut list, key(d as f32, id)));
                list
            };
            let list = fill(&offers);
            let len = offers.len();
            offers.rotate_left(seed % len);
            offers.reverse();
            prop_assert_eq!(&list, &fill(&offers));
            let mut best = std::collections::BTreeMap::new();
            for &(id, d) in &offers {
                let entry = best.entry(id).or_insert(d);
                *entry = d.min(*entry);
            }
            let mut expected: Vec<u64> = best.iter().map(|(&id, &d)| key(d as f32, id)).collect();
            expected.sort_unstable();
            expected.resize(6, EMPTY);
            prop_assert_eq!(list, expected[..6].to_vec());
        }
    }
}
