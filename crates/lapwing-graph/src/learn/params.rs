//! The neighbor search of a learned graph, and its memory.

use lapwing_core::{Error, Result};

use crate::{GraphParams, KnnMethod, KnnParams, Metric};

/// Products of an exact search (n²·d) up to which a repair takes it by default: a minute or two on two cores.
const MOST_EXACT: f64 = 1e13;

impl GraphParams {
    /// The method of the neighbor search for a graph of `n` rows of `d` columns: only exact neighbors certify a repaired graph.
    pub(crate) fn search_method(&self, n: usize, d: usize) -> KnnMethod {
        let is_repaired = self.learn.repair && self.weights.model().is_some();
        match self.knn_method {
            KnnMethod::Auto if is_repaired && (n as f64).powi(2) * d as f64 <= MOST_EXACT => KnnMethod::Exact,
            given => given,
        }
    }

    /// The neighbor search for a graph of `n` rows that is learned.
    pub(super) fn learn_search(&self, n: usize, d: usize) -> Result<KnnParams> {
        let n_neighbors = self.learn.n_allowed(self.n_neighbors, n);
        if self.learn.sparsity.is_none() && n_neighbors <= self.n_neighbors {
            let expected = format!(
                "at most {}, the number of rows less 2: the sparsity looks at one neighbor more",
                n.saturating_sub(2)
            );
            return Err(Error::param("n_neighbors", self.n_neighbors, expected));
        }
        if self.metric() == Metric::InnerProduct {
            return Err(Error::param("metric", "inner-product", "a distance: a graph is learned from distances"));
        }
        Ok(KnnParams { n_neighbors: n_neighbors.max(1), method: self.search_method(n, d), ..self.knn() })
    }
}

/// Bytes that learning takes besides the features, for `k` allowed neighbors of each of `n` rows: the table, the transposed table,
/// and the support, two entries a pair.
pub(crate) fn learn_bytes(n: usize, k: usize) -> usize {
    n.saturating_mul(k).saturating_mul(8 + 20 + 16) + n.saturating_mul(120)
}
