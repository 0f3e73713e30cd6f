//! The edges that a sparsifier holds, and the matrix they make.
//!
//! Cost: 24 bytes an edge; a parallel sort, and two serial passes for the matrix.

use lapwing_core::{Csr, Error, Result};
use rayon::slice::ParallelSliceMut;

/// An edge of the sparsifier. Its weight there is `weight · copies / (n_copies · probability)`, where every edge starts with
/// `n_copies` copies; the mean of that over all draws is `weight`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SampledEdge {
    pub u: u32,
    pub v: u32,
    /// Weight in the stream.
    pub weight: f64,
    /// Probability with which each copy has been kept so far.
    pub probability: f32,
    /// Copies left. Samplers without copies have one; the field takes no room, since the weight aligns edges to 24 bytes.
    pub copies: u32,
}

impl SampledEdge {
    /// Weight in the sparsifier.
    pub fn current(&self, n_copies: f64) -> f64 {
        self.weight * f64::from(self.copies) / (n_copies * f64::from(self.probability))
    }

    fn ends(&self) -> u64 {
        (u64::from(self.u) << 32) | u64::from(self.v)
    }

    /// Sorts by ends, edges of probability 1 first; equal keys mean equal edges.
    fn key(&self) -> (u64, u32, u64, u32) {
        (self.ends(), !self.probability.to_bits(), self.weight.to_bits(), self.copies)
    }

    fn is_certain(&self) -> bool {
        self.probability == 1.0
    }
}

/// Sorts edges by their ends, and merges parallel edges of probability 1 into one, whose weight is the sum of theirs.
///
/// # Errors
/// [`Error::Graph`] naming the first edge whose weights add up to more than double precision holds.
pub(super) fn sort_and_merge(edges: &mut Vec<SampledEdge>) -> Result<()> {
    edges.par_sort_unstable_by_key(SampledEdge::key);
    edges.dedup_by(|next, first| {
        let is_same = next.ends() == first.ends() && next.is_certain() && first.is_certain();
        if is_same {
            first.weight += next.weight;
        }
        is_same
    });
    match edges.iter().find(|edge| !edge.weight.is_finite()) {
        None => Ok(()),
        Some(SampledEdge { u, v, .. }) => Err(Error::graph(format!(
            "edge ({u}, {v}) comes again and again, and its weights add up to more than double precision holds; scale \
             all weights down"
        ))),
    }
}

/// The edges u < v of a symmetric matrix with their weights, row by row.
pub(super) fn upper_triangle(matrix: &Csr<f64>) -> impl Iterator<Item = (u32, u32, f64)> + Clone {
    (0..matrix.n_rows()).flat_map(|row| {
        let (ids, weights) = upper(matrix, row);
        ids.iter().zip(weights).map(move |(&id, &weight)| (row as u32, id, weight))
    })
}

/// Entries of a row right of the diagonal.
pub(super) fn upper(matrix: &Csr<f64>, row: usize) -> (&[u32], &[f64]) {
    let (ids, weights) = matrix.row(row);
    let first = ids.partition_point(|&id| id as usize <= row);
    (&ids[first..], &weights[first..])
}

/// Peak of [`adjacency`] in bytes: for each row where it starts and where its next entry goes, and both directions of every edge.
pub(super) fn adjacency_bytes(n: usize, n_edges: usize) -> usize {
    2 * (size_of::<u32>() + size_of::<f64>()) * n_edges + 16 * n
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relation::adjacency;

    fn edge(u: u32, v: u32, weight: f64, probability: f32) -> SampledEdge {
        SampledEdge { u, v, weight, probability, copies: 1 }
    }

    #[test]
    fn certain_edges_merge_and_sampled_ones_stay_apart() {
        let mut edges = vec![
            edge(1, 2, 1.0, 1.0),
            edge(0, 2, 4.0, 0.5),
            edge(1, 2, 2.0, 0.5),
            edge(1, 2, 3.0, 1.0),
            edge(0, 1, 5.0, 1.0),
        ];
        sort_and_merge(&mut edges).unwrap();
        assert_eq!(edges, [edge(0, 1, 5.0, 1.0), edge(0, 2, 4.0, 0.5), edge(1, 2, 4.0, 1.0), edge(1, 2, 2.0, 0.5)]);
        let matrix = adjacency(4, edges.iter().map(|e| (e.u, e.v, e.current(1.0)))).unwrap();
        assert_eq!(matrix.row(1), ([0u32, 2].as_slice(), [5.0, 8.0].as_slice()));
        assert_eq!(matrix.row(2), ([0u32, 1].as_slice(), [8.0, 8.0].as_slice()));
        assert!(matrix.row(3).0.is_empty());
    }

    #[test]
    fn weights_that_add_up_to_infinity_are_named() {
        let mut edges = vec![edge(0, 1, 1.0, 1.0), edge(1, 2, 1e308, 1.0), edge(1, 2, 1e308, 1.0)];
        assert!(sort_and_merge(&mut edges).unwrap_err().to_string().contains("edge (1, 2) comes again"));
    }
}
