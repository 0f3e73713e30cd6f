//! The edges a sparsifier holds, and the matrix they make.
//!
//! Cost: 24 bytes an edge; a parallel sort, and two serial passes for the matrix.

use lapwing_data::{Csr, Error, Result, memory};
use rayon::prelude::*;

/// An edge that is held. Its weight in the sparsifier is `weight · copies / (trials · probability)`, whose mean over all draws
/// is `weight`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Held {
    pub u: u32,
    pub v: u32,
    /// Weight it came with.
    pub weight: f64,
    /// Probability with which each of its copies is there.
    pub probability: f32,
    /// Copies that are there.
    pub copies: u32,
}

impl Held {
    /// Weight in the sparsifier, of `trials` copies to begin with.
    pub fn current(&self, trials: f64) -> f64 {
        self.weight * f64::from(self.copies) / (trials * f64::from(self.probability))
    }

    fn ends(&self) -> u64 {
        (u64::from(self.u) << 32) | u64::from(self.v)
    }

    /// Orders by ends, untouched edges first; equal keys mean equal edges.
    fn key(&self) -> (u64, u32, u64, u32) {
        (self.ends(), !self.probability.to_bits(), self.weight.to_bits(), self.copies)
    }

    fn is_untouched(&self) -> bool {
        self.probability == 1.0
    }
}

/// Brings edges into the order of their ends and adds up untouched ones that join the same nodes.
///
/// # Errors
/// [`Error::Graph`] naming the first edge whose weights add up to more than a number of double precision.
pub(super) fn sort_and_merge(held: &mut Vec<Held>) -> Result<()> {
    held.par_sort_unstable_by_key(Held::key);
    held.dedup_by(|next, first| {
        let is_same = next.ends() == first.ends() && next.is_untouched() && first.is_untouched();
        if is_same {
            first.weight += next.weight;
        }
        is_same
    });
    match held.iter().find(|edge| !edge.weight.is_finite()) {
        None => Ok(()),
        Some(Held { u, v, .. }) => Err(Error::graph(format!(
            "edge ({u}, {v}) comes again and again, and its weights add up to more than double precision holds; scale \
             all weights down"
        ))),
    }
}

/// The symmetric matrix of edges u < v that come in the order of their ends; parallel edges add up.
///
/// # Complexity
/// Two passes over the edges; 12 bytes for each direction.
pub(crate) fn adjacency(n: usize, edges: impl Iterator<Item = (u32, u32, f64)> + Clone) -> Result<Csr<f64>> {
    let (nodes, fewer) = ("a sparse graph", "number the nodes from 0 without gaps");
    let mut starts = memory::zeros::<u64>(nodes, n + 1, fewer)?;
    let mut last = None;
    for (u, v, _) in edges.clone() {
        if last != Some((u, v)) {
            starts[u as usize + 1] += 1;
            starts[v as usize + 1] += 1;
            last = Some((u, v));
        }
    }
    (0..n).for_each(|row| starts[row + 1] += starts[row]);
    let mut next: Vec<u64> = memory::with_capacity(nodes, n, fewer)?;
    next.extend_from_slice(&starts[..n]);
    let (edges_kept, fewer) = ("a sparse graph", "keep fewer edges");
    let mut ids = memory::zeros::<u32>(edges_kept, starts[n] as usize, fewer)?;
    let mut weights = memory::zeros::<f64>(edges_kept, starts[n] as usize, fewer)?;
    let (mut last, mut places) = (None, [0, 0]);
    for (u, v, weight) in edges {
        if last == Some((u, v)) {
            places.iter().for_each(|&place: &usize| weights[place] += weight);
            continue;
        }
        last = Some((u, v));
        // All (w, u) with w < u came before (u, v): columns ascend in every row.
        for (side, (row, column)) in [(u, v), (v, u)].into_iter().enumerate() {
            let place = next[row as usize] as usize;
            (ids[place], weights[place], places[side]) = (column, weight, place);
            next[row as usize] += 1;
        }
    }
    Csr::new(n, n, starts, ids, weights)
}

/// Bytes of [`adjacency`]: starts of the rows and where their next entries go, and both directions of every edge.
pub(super) fn adjacency_bytes(n: usize, n_edges: usize) -> usize {
    2 * (size_of::<u32>() + size_of::<f64>()) * n_edges + 16 * n
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(u: u32, v: u32, weight: f64, probability: f32) -> Held {
        Held { u, v, weight, probability, copies: 1 }
    }

    #[test]
    fn untouched_edges_merge_and_thinned_ones_stay_apart() {
        let mut edges = vec![
            held(1, 2, 1.0, 1.0),
            held(0, 2, 4.0, 0.5),
            held(1, 2, 2.0, 0.5),
            held(1, 2, 3.0, 1.0),
            held(0, 1, 5.0, 1.0),
        ];
        sort_and_merge(&mut edges).unwrap();
        assert_eq!(edges, [held(0, 1, 5.0, 1.0), held(0, 2, 4.0, 0.5), held(1, 2, 4.0, 1.0), held(1, 2, 2.0, 0.5)]);
        let matrix = adjacency(4, edges.iter().map(|e| (e.u, e.v, e.current(1.0)))).unwrap();
        assert_eq!(matrix.row(1), ([0u32, 2].as_slice(), [5.0, 8.0].as_slice()));
        assert_eq!(matrix.row(2), ([0u32, 1].as_slice(), [8.0, 8.0].as_slice()));
        assert!(matrix.row(3).0.is_empty());
    }

    #[test]
    fn weights_that_add_up_to_infinity_are_named() {
        let mut edges = vec![held(0, 1, 1.0, 1.0), held(1, 2, 1e308, 1.0), held(1, 2, 1e308, 1.0)];
        assert!(sort_and_merge(&mut edges).unwrap_err().to_string().contains("edge (1, 2) comes again"));
    }
}
