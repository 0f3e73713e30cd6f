//! Sorted candidate lists: the kk nearest rows seen so far for every row.
//!
//! A candidate is one 64-bit key, distance bits above row number, mapped so that keys order by (distance, row) for
//! distances of either sign. A row appears once, with the smallest distance seen. The content of a list is therefore the kk
//! smallest of all candidates offered, in whatever order they came: no thread order can show.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// Key of a place not yet taken; above every key of a finite distance.
pub(super) const EMPTY: u64 = u64::MAX;

/// Key of row `id` at `distance`, in whatever unit the list is kept.
#[inline]
pub(super) fn key(distance: f32, id: u32) -> u64 {
    // −0 and 0 are one distance. Bits of positive floats ascend, those of negative ones descend.
    let bits = (distance + 0.0).to_bits();
    let ordered = if bits >> 31 == 0 { bits | 1 << 31 } else { !bits };
    (u64::from(ordered) << 32) | u64::from(id)
}

/// Row of a key.
#[inline]
pub(super) fn id_of(key: u64) -> u32 {
    key as u32
}

/// Distance of a key; infinite for an empty place.
#[inline]
pub(super) fn distance_of(key: u64) -> f32 {
    let ordered = (key >> 32) as u32;
    match key {
        EMPTY => f32::INFINITY,
        _ if ordered >> 31 == 1 => f32::from_bits(ordered ^ 1 << 31),
        _ => f32::from_bits(!ordered),
    }
}

/// Offers a candidate to a sorted list.
#[inline]
pub(super) fn offer(list: &mut [u64], candidate: u64) {
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

/// Gives a row's lock back, whatever happens while it is held.
struct Held<'a>(&'a AtomicBool);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Lists of all rows (n, kk), each behind its own lock.
pub(super) struct SharedLists {
    keys: Box<[UnsafeCell<u64>]>,
    locks: Box<[AtomicBool]>,
    width: usize,
}

// SAFETY: keys are only reached through `with_row`, which holds the row's lock, or through `&mut self`.
unsafe impl Sync for SharedLists {}

impl SharedLists {
    pub fn new(n: usize, width: usize) -> Self {
        Self {
            keys: (0..n * width).map(|_| UnsafeCell::new(EMPTY)).collect(),
            locks: (0..n).map(|_| AtomicBool::new(false)).collect(),
            width,
        }
    }

    /// Works on the list of `row`, alone. `work` must not panic or take another row.
    pub fn with_row<T>(&self, row: usize, work: impl FnOnce(&mut [u64]) -> T) -> T {
        let lock = &self.locks[row];
        while lock.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            std::hint::spin_loop();
        }
        let cells = &self.keys[row * self.width..(row + 1) * self.width];
        // SAFETY: the cells lie together, `UnsafeCell<u64>` has the layout of `u64`, and the lock makes this the only
        // reference to them until it is released.
        let list = unsafe { std::slice::from_raw_parts_mut(UnsafeCell::raw_get(cells.as_ptr()), self.width) };
        let _held = Held(lock);
        work(list)
    }

    /// The lists, row-major (n, kk), without the locks.
    pub fn into_vec(self) -> Vec<u64> {
        self.keys.into_vec().into_iter().map(UnsafeCell::into_inner).collect()
    }

    /// The lists, row-major (n, kk).
    pub fn as_slice(&mut self) -> &[u64] {
        // SAFETY: `&mut self` excludes every `with_row`; layout as there.
        unsafe { std::slice::from_raw_parts(self.keys.as_ptr().cast(), self.keys.len()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_order_by_distance_of_either_sign() {
        let distances = [f32::NEG_INFINITY, -3e20, -2.0, -1e-40, 0.0, 1e-40, 1.0, 1.5, f32::MAX, f32::INFINITY];
        for pair in distances.windows(2) {
            assert!(key(pair[0], 9) < key(pair[1], 3));
        }
        distances.iter().for_each(|&d| assert_eq!(distance_of(key(d, 5)), d));
        assert_eq!(key(-0.0, 1), key(0.0, 1));
        assert!(key(f32::INFINITY, u32::MAX - 1) < EMPTY);
        assert_eq!(distance_of(EMPTY), f32::INFINITY);
    }

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
