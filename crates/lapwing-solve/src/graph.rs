//! The symmetric weighted graph that all solvers and methods use, and its checks.

use lapwing_core::parallel::*;
use lapwing_core::{Csr, Error, GraphSummary, Result};

use crate::Components;
use crate::blocks::of_rows;
use crate::check::check_adjacency;
use crate::scale::{exponent_for, times_power};

/// Undirected graph with positive finite weights, no self loops; each edge is stored in both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    adjacency: Csr<f64>,
    degree: Vec<f64>,
}

impl Graph {
    /// Takes a symmetric matrix (n, n) as a graph. Self loops and zero weights are dropped.
    ///
    /// # Errors
    /// [`Error::Shape`] for a matrix that is not square; [`Error::Graph`] naming the first entry that is negative, not finite,
    /// or differs from its mirror by more than 1e-12 relative, or the first node whose weights add up to more than double
    /// precision holds.
    ///
    /// # Complexity
    /// O(m) time, parallel within a pool of threads; no copy unless entries are dropped.
    pub fn new(adjacency: Csr<f64>) -> Result<Self> {
        Self::from_symmetric(check_adjacency(adjacency)?)
    }

    /// Takes a matrix that is known to be symmetric, with positive finite weights and without self loops. Only sums are checked.
    ///
    /// # Errors
    /// [`Error::Graph`] naming the first node at which the sum of its weights, or of all weights so far, exceeds double precision.
    pub fn from_symmetric(adjacency: Csr<f64>) -> Result<Self> {
        let graph = Self::unchecked(adjacency);
        let mut volume = 0.0;
        for (node, degree) in graph.degree.iter().enumerate() {
            volume += degree;
            if !volume.is_finite() {
                let whose = if degree.is_finite() { format!("nodes 0 to {node}") } else { format!("node {node}") };
                let reason = "add up to more than double precision holds; scale all weights down";
                return Err(Error::graph(format!("the weights at {whose} {reason}")));
            }
        }
        Ok(graph)
    }

    /// Graph of the undirected edges (u, v, weight) among `n_samples` nodes; repeated edges add up.
    ///
    /// # Errors
    /// As [`Graph::new`].
    pub fn from_edges(n_samples: usize, edges: &[(u32, u32, f64)]) -> Result<Self> {
        let both: Vec<_> = edges.iter().filter(|e| e.0 != e.1).flat_map(|&(u, v, w)| [(u, v, w), (v, u, w)]).collect();
        Self::new(Csr::from_entries(n_samples, n_samples, &both)?)
    }

    fn unchecked(adjacency: Csr<f64>) -> Self {
        let degree = of_rows(adjacency.n_rows(), |row| adjacency.row(row).1.iter().sum());
        Self { adjacency, degree }
    }

    /// The graph on `rows`, which are ascending, with the edges among them.
    ///
    /// `place` maps a node to its number in the part. It is scratch: callers that cut several parts out of one graph share it, so
    /// that the cost is linear in the entries of the part.
    ///
    /// # Errors
    /// None for rows that are nodes.
    #[doc(hidden)]
    pub fn part(&self, rows: &[u32], place: &mut Vec<u32>) -> Result<Self> {
        place.resize(self.n_samples(), 0);
        rows.iter().enumerate().for_each(|(at, &row)| place[row as usize] = at as u32);
        let n_entries = rows.iter().map(|&row| self.adjacency.row(row as usize).0.len()).sum();
        let (mut indptr, mut indices, mut values) =
            (vec![0u64], Vec::with_capacity(n_entries), Vec::with_capacity(n_entries));
        for &row in rows {
            let (columns, weights) = self.adjacency.row(row as usize);
            for (&column, &weight) in columns.iter().zip(weights) {
                let at = place[column as usize];
                // An earlier part may have left a number at a column outside this one.
                if rows.get(at as usize) == Some(&column) {
                    indices.push(at);
                    values.push(weight);
                }
            }
            indptr.push(indices.len() as u64);
        }
        Csr::new(rows.len(), rows.len(), indptr, indices, values).map(Self::unchecked)
    }

    /// The graph with every weight times `factor`; edges whose weights become 0 are dropped.
    ///
    /// # Errors
    /// [`Error::Graph`] for weights or sums that exceed double precision.
    pub(crate) fn scaled(&self, factor: f64) -> Result<Self> {
        let mut adjacency = self.adjacency.clone();
        adjacency.values_mut().par_iter_mut().for_each(|w| *w *= factor);
        Self::new(adjacency)
    }

    /// This graph plus `scale` times another one among the same nodes.
    ///
    /// # Errors
    /// [`Error::Shape`] for a graph of another number of nodes; [`Error::Graph`] for weights that exceed double precision.
    ///
    /// # Complexity
    /// O(m) for the edges of both.
    pub fn plus(&self, other: &Self, scale: f64) -> Result<Self> {
        let n = self.n_samples();
        if other.n_samples() != n {
            return Err(Error::shape("the other graph", format!("{n} nodes"), format!("{} nodes", other.n_samples())));
        }
        let most = self.adjacency.nnz() + other.adjacency.nnz();
        let (mut indptr, mut indices, mut values) = (vec![0u64], Vec::with_capacity(most), Vec::with_capacity(most));
        for row in 0..n {
            let (columns, weights) = self.adjacency.row(row);
            let mut own = columns.iter().copied().zip(weights.iter().copied()).peekable();
            let (columns, weights) = other.adjacency.row(row);
            for (column, weight) in columns.iter().zip(weights) {
                let before = std::iter::from_fn(|| own.next_if(|(own, _)| own < column));
                before.for_each(|(column, weight)| {
                    indices.push(column);
                    values.push(weight);
                });
                let same = own.next_if(|(own, _)| own == column).map_or(0.0, |(_, weight)| weight);
                indices.push(*column);
                values.push(same + scale * weight);
            }
            own.for_each(|(column, weight)| {
                indices.push(column);
                values.push(weight);
            });
            indptr.push(indices.len() as u64);
        }
        Self::new(Csr::new(n, n, indptr, indices, values)?)
    }

    /// Number of nodes.
    pub fn n_samples(&self) -> usize {
        self.adjacency.n_rows()
    }

    /// Number of undirected edges.
    pub fn n_edges(&self) -> usize {
        self.adjacency.nnz() / 2
    }

    /// The weights as a symmetric matrix (n, n).
    pub fn adjacency(&self) -> &Csr<f64> {
        &self.adjacency
    }

    /// Returns the matrix.
    pub fn into_adjacency(self) -> Csr<f64> {
        self.adjacency
    }

    /// Weighted degrees dᵢ = Σⱼ wᵢⱼ (n).
    pub fn degree(&self) -> &[f64] {
        &self.degree
    }

    /// Mean weighted degree.
    pub fn mean_degree(&self) -> f64 {
        self.degree.iter().sum::<f64>() / self.n_samples().max(1) as f64
    }

    /// The graph with all weights multiplied by a power of two, and its exponent, if weights are so near the limits of f64 that
    /// their sums, squares or inverses might overflow or vanish; `None` otherwise.
    #[doc(hidden)]
    pub fn moderate(&self) -> Option<(Self, i32)> {
        let exponent = exponent_for(self.adjacency.values());
        (exponent != 0).then(|| {
            let mut adjacency = self.adjacency.clone();
            adjacency.values_mut().iter_mut().for_each(|w| *w = times_power(*w, exponent));
            (Self::unchecked(adjacency), exponent)
        })
    }

    /// Connected components.
    pub fn components(&self) -> Components {
        Components::new(&self.adjacency)
    }

    /// Summary of the graph, whose components are `components`.
    #[doc(hidden)]
    pub fn summary(&self, components: &Components) -> GraphSummary {
        let mut sizes = components.sizes.clone();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let mut degree = self.degree.clone();
        degree.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| degree.get(((degree.len().max(1) - 1) as f64 * share) as usize).copied().unwrap_or(0.0);
        GraphSummary {
            n_edges: self.n_edges(),
            n_components: sizes.len(),
            n_isolated: (0..self.n_samples()).filter(|&row| self.adjacency.row(row).0.is_empty()).count(),
            largest_components: sizes.into_iter().take(10).collect(),
            degree: [at(0.0), at(0.5), at(1.0)],
            mean_degree: self.mean_degree(),
            ..GraphSummary::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::nasty_graphs;

    fn matrix(n: usize, entries: &[(u32, u32, f64)]) -> Csr<f64> {
        Csr::from_entries(n, n, entries).unwrap()
    }

    #[test]
    fn asymmetric_negative_and_infinite_weights_are_named() {
        let text = |entries: &[(u32, u32, f64)]| Graph::new(matrix(4, entries)).unwrap_err().to_string();
        assert!(text(&[(0, 1, 1.0)]).contains("edge (0, 1) has weight 1 but (1, 0) has 0"));
        assert!(text(&[(1, 0, 1.0)]).contains("edge (1, 0) has weight 1 but (0, 1) has 0"));
        assert!(text(&[(3, 0, 1.0), (0, 2, 1.0), (2, 0, 1.0)]).contains("(3, 0)"));
        assert!(text(&[(0, 1, 1.0), (1, 0, 2.0)]).contains("weight 1 but (1, 0) has 2"));
        assert!(text(&[(2, 3, -1.0), (3, 2, -1.0)]).contains("edge (2, 3) has weight -1"));
        assert!(text(&[(2, 3, f64::INFINITY), (3, 2, f64::INFINITY)]).contains("inf"));
    }

    #[test]
    fn sums_have_the_edges_of_both() {
        let (a, b) = ([(0, 1, 1.0), (1, 2, 2.0)], [(0, 3, 4.0), (1, 2, 1.0), (2, 3, 1.0)]);
        let graph = |edges: &[_]| Graph::from_edges(4, edges).unwrap();
        let sum = graph(&a).plus(&graph(&b), 0.5).unwrap();
        assert_eq!(sum, graph(&[(0, 1, 1.0), (0, 3, 2.0), (1, 2, 2.5), (2, 3, 0.5)]));
        assert!(graph(&a).plus(&Graph::from_edges(3, &[]).unwrap(), 1.0).unwrap_err().to_string().contains("4 nodes"));
        for (name, graph) in nasty_graphs() {
            let double = graph.plus(&graph, 1.0);
            assert!(double.is_err() || double.unwrap() == graph.scaled(2.0).unwrap(), "{name}");
        }
    }

    #[test]
    fn weights_whose_sums_overflow_are_named() {
        let text = |edges: &[(u32, u32, f64)]| Graph::from_edges(4, edges).unwrap_err().to_string();
        assert!(text(&[(0, 1, 1e308); 10]).contains("edge (0, 1) has weight inf"));
        assert!(text(&[(0, 1, 1e308), (1, 2, 1e308)]).contains("the weights at node 1 add up to more"));
        assert!(text(&[(0, 1, 8e307), (2, 3, 8e307)]).contains("the weights at nodes 0 to 2 add up to more"));
        assert!(Graph::from_edges(4, &[(0, 1, 8e307)]).is_ok());
    }

    #[test]
    fn loops_and_zero_weights_are_dropped() {
        let graph = Graph::new(matrix(3, &[(0, 0, 5.0), (0, 1, 2.0), (1, 0, 2.0), (1, 2, 0.0)])).unwrap();
        assert_eq!((graph.n_edges(), graph.degree()), (1, [2.0, 2.0, 0.0].as_slice()));
        let summary = graph.summary(&graph.components());
        assert_eq!((summary.n_components, summary.n_isolated), (2, 1));
        assert_eq!(summary.degree, [0.0, 2.0, 2.0]);
    }

    #[test]
    fn parts_that_share_scratch_space_are_those_cut_out_alone() {
        for (name, graph) in nasty_graphs() {
            let n = graph.n_samples() as u32;
            let mut place = Vec::new();
            for step in 1..4 {
                let rows: Vec<u32> = (0..n).filter(|row| row % step == 0).collect();
                let part = graph.part(&rows, &mut place).unwrap();
                assert_eq!(part, graph.part(&rows, &mut Vec::new()).unwrap(), "{name}");
                let mut n_within = 0;
                for &row in &rows {
                    let (columns, weights) = graph.adjacency().row(row as usize);
                    for (&column, &weight) in columns.iter().zip(weights).filter(|(column, _)| *column % step == 0) {
                        n_within += 1;
                        let (places, values) = part.adjacency().row((row / step) as usize);
                        let at = places.binary_search(&(column / step)).unwrap();
                        assert_eq!(values[at], weight, "{name}");
                    }
                }
                assert_eq!(part.adjacency().nnz(), n_within, "{name}");
            }
        }
    }
}
