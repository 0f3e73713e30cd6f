//! Sorted candidate lists: the kk nearest rows seen so far for every row.
//!
//! A candidate is one 64-bit key, distance bits above row number: distances are not negative, so keys order by
//! (distance, row). A row appears once, with the smallest distance seen. A list therefore holds the kk smallest of all candidates
//! offered, in whatever order they were offered, and does not depend on threads.

use lapwing_simd::{DOUBLES, LockedRows, Simd};

/// Key of a place not yet taken; above every key of a finite distance.
pub(crate) const EMPTY: u64 = u64::MAX;

/// Places of a list are a multiple of this: a vector register of keys.
pub(crate) const STEP: usize = DOUBLES;

/// A vector of places, which begins at a cache line.
#[derive(Clone, Copy, Debug, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(64))]
pub(crate) struct Places([u64; STEP]);

/// `n` empty lists of at least `width` places.
pub(crate) fn empty_lists(n: usize, width: usize) -> Vec<Places> {
    vec![Places([EMPTY; STEP]); n * width.div_ceil(STEP)]
}

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
    // The list may hold the row with another rounding of its distance: the smaller one stays.
    let end = match list.iter().position(|&k| id_of(k) == id_of(candidate) && k != EMPTY) {
        Some(at) if list[at] <= candidate => return,
        Some(at) => at,
        None => last,
    };
    let at = list[..end].partition_point(|&k| k < candidate);
    list.copy_within(at..end, at + 1);
    list[at] = candidate;
}

/// [`offer`] to a list of whole vectors. The row, which is rarely in the list, is searched in whole vectors of places.
#[inline(always)]
pub(crate) fn offer_with<S: Simd>(simd: S, list: &mut [u64], candidate: u64) {
    if candidate >= list[list.len() - 1] {
        return;
    }
    if simd.has_low(list, id_of(candidate)) { offer(list, candidate) } else { simd.insert_sorted(list, candidate) }
}

/// Lists of all rows (n, kk), each behind its own lock; kk is a multiple of [`STEP`].
pub(crate) type SharedLists = LockedRows<u64>;

/// Empty lists of at least `width` places.
pub(crate) fn shared_lists(n: usize, width: usize) -> SharedLists {
    LockedRows::new(n, width.next_multiple_of(STEP), EMPTY)
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
