//! Connected components, and which of them hold a label.
//!
//! Union-find over the edges. Cost: nearly linear in the edges, 4 bytes a row.

use lapwing_core::Csr;

use crate::DisjointSets;

/// Connected components of a graph, numbered by their smallest row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Components {
    /// Component of each row (n).
    pub id: Vec<u32>,
    /// Rows of each component.
    pub sizes: Vec<usize>,
}

/// The first neighbors of each row that are joined before the rest: enough to connect nearly all rows of a graph.
const FIRST: usize = 2;
/// Rows sampled to find the largest component so far.
const SAMPLE: usize = 1024;

impl Components {
    /// Components of a symmetric matrix, by union–find. Most edges are never read: after all rows have been joined to their first
    /// neighbors, the other edges of the largest component so far are skipped (Sutton, Ben-Nun & Barak 2018).
    ///
    /// # Complexity
    /// O(n + m) time in the worst case, O(n) for graphs with one large component; 4 bytes per row of scratch.
    #[doc(hidden)]
    pub fn new<T>(adjacency: &Csr<T>) -> Self {
        Self::of(adjacency.n_rows(), |row| adjacency.row(row).0.iter().copied())
    }

    /// Components of a symmetric relation among `n` rows, as [`new`](Self::new) finds them.
    #[doc(hidden)]
    pub fn of<I: Iterator<Item = u32>>(n: usize, neighbors: impl Fn(usize) -> I) -> Self {
        let mut sets = DisjointSets::new(n);
        for row in 0..n {
            for column in neighbors(row).take(FIRST) {
                sets.join(row as u32, column);
            }
        }
        let largest = most_frequent_root(&mut sets, n);
        for row in 0..n as u32 {
            if sets.root(row) != largest {
                for column in neighbors(row as usize).skip(FIRST) {
                    sets.join(row, column);
                }
            }
        }
        // Roots are the smallest rows, so they come first and number the components.
        let (mut id, mut sizes) = (vec![0; n], Vec::new());
        for row in 0..n {
            let root = sets.root(row as u32) as usize;
            if root == row {
                id[row] = sizes.len() as u32;
                sizes.push(0);
            } else {
                id[row] = id[root];
            }
            sizes[id[row] as usize] += 1;
        }
        Self { id, sizes }
    }

    /// Which components hold at least one of `rows`.
    #[doc(hidden)]
    pub fn holding(&self, rows: &[u32]) -> Vec<bool> {
        let mut holds = vec![false; self.sizes.len()];
        rows.iter().for_each(|&row| holds[self.id[row as usize] as usize] = true);
        holds
    }
}

/// The most frequent root among rows spread over all of them.
fn most_frequent_root(sets: &mut DisjointSets, n: usize) -> u32 {
    let mut roots: Vec<u32> = (0..n).step_by((n / SAMPLE).max(1)).map(|row| sets.root(row as u32)).collect();
    roots.sort_unstable();
    roots.chunk_by(|a, b| a == b).max_by_key(|run| run.len()).map_or(0, |run| run[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_numbered_by_their_first_row() {
        let edges = [(0, 3), (3, 5), (1, 2)];
        let both: Vec<_> = edges.iter().flat_map(|&(u, v)| [(u, v, 1.0), (v, u, 1.0)]).collect();
        let components = Components::new(&Csr::from_entries(6, 6, &both).unwrap());
        assert_eq!(components.id, [0, 1, 1, 0, 2, 0]);
        assert_eq!(components.sizes, [3, 2, 1]);
        assert_eq!(components.holding(&[2, 4]), [false, true, true]);
    }

    #[test]
    fn edges_beyond_the_first_of_each_row_count() {
        // Three stars whose centers are joined by their last edges only.
        let mut edges = Vec::new();
        for center in [0u32, 10, 20] {
            edges.extend((1..8).map(|leaf| (center, center + leaf)));
        }
        edges.extend([(0, 20), (10, 29)]);
        let both: Vec<_> = edges.iter().flat_map(|&(u, v)| [(u, v, 1.0), (v, u, 1.0)]).collect();
        let components = Components::new(&Csr::from_entries(30, 30, &both).unwrap());
        assert_eq!(components.id[20], components.id[0]);
        assert_eq!(components.id[29], components.id[10]);
        assert_ne!(components.id[0], components.id[10]);
        let isolated = [8, 9, 18, 19, 28];
        assert!(isolated.iter().all(|&row: &usize| components.sizes[components.id[row] as usize] == 1));
        assert_eq!(components.sizes.iter().sum::<usize>(), 30);
    }
}
