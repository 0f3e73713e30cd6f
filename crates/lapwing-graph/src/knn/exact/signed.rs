//! Keys of candidates as in [`crate::knn::kernels::lists`], for distances of either sign: lower bounds and negative products.
//!
//! A list never mixes keys of the two kinds.

use crate::knn::kernels::lists::EMPTY;

/// Key of row `id` at `distance`, in any unit that is the same for the whole list.
#[inline]
pub(crate) fn key(distance: f32, id: u32) -> u64 {
    // −0 and 0 are one distance. Bits of positive floats ascend, those of negative ones descend.
    let bits = (distance + 0.0).to_bits();
    let ordered = if bits >> 31 == 0 { bits | 1 << 31 } else { !bits };
    (u64::from(ordered) << 32) | u64::from(id)
}

/// Distance of a key; infinite for an empty place.
#[inline]
pub(crate) fn distance_of(key: u64) -> f32 {
    let ordered = (key >> 32) as u32;
    match key {
        EMPTY => f32::INFINITY,
        _ if ordered >> 31 == 1 => f32::from_bits(ordered ^ 1 << 31),
        _ => f32::from_bits(!ordered),
    }
}

#[cfg(test)]
mod tests {
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
}
