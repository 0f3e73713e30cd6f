//! A running hash of the rows of a stream. It tells whether a stream that is read again begins with the same rows.
//!
//! The hash is the sum of 64-bit hashes of (number of the row, ends, weight), modulo 2⁶⁴: it depends on the order of the rows,
//! but not on the portions they are read in. A change goes unnoticed with a probability of 2⁻⁶⁴. Cost: about a nanosecond an edge.

use lapwing_core::Edge;
use lapwing_core::hash::mix;

/// Hash of row `row`.
pub(super) fn of_row(row: u64, edge: &Edge) -> u64 {
    let ends = u64::from(edge.u) << 32 | u64::from(edge.v);
    mix(mix(mix(row) ^ ends) ^ edge.weight.to_bits())
}

/// Adds rows, of which the first has number `first`, to the `digest` of those before.
pub(super) fn add(digest: u64, first: u64, edges: &[Edge]) -> u64 {
    (first..).zip(edges).fold(digest, |sum, (row, edge)| sum.wrapping_add(of_row(row, edge)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_their_order_and_their_number_count() {
        let edges: Vec<Edge> = (0..50).map(|u| Edge { u, v: u + 1, weight: 1.0 }).collect();
        let whole = add(0, 0, &edges);
        for cut in 0..50 {
            assert_eq!(add(add(0, 0, &edges[..cut]), cut as u64, &edges[cut..]), whole);
            assert_ne!(add(0, 0, &edges[..cut]), whole);
            for change in
                [|e: &mut Edge| e.weight = -0.0, |e: &mut Edge| (e.u, e.v) = (e.v, e.u), |e: &mut Edge| e.u ^= 1]
            {
                let mut other = edges.clone();
                change(&mut other[cut]);
                assert_ne!(add(0, 0, &other), whole);
            }
            let mut other = edges.clone();
            other.swap(cut, (cut + 1) % 50);
            assert_ne!(add(0, 0, &other), whole);
        }
    }
}
