//! New rows for a graph that stands.

use lapwing_core::{Csr, Error, Features, Result, Run};

use crate::knn::{NeighborIndex, Neighbors, kneighbors, query};
use crate::relation::single;
use crate::{AffinityGraph, Graph, GraphParams, KnnParams, Weighting, Widths};

impl AffinityGraph {
    /// This graph with rows `new` (m, d) behind its own, whose features are `old` (n, d); `index` may hold an index of these.
    ///
    /// Each new row is joined to the nearest rows among the old and the new ones. The lists of the old rows stay, so that a weight is that of
    /// a neighbor on one side only, unless both rows are new; the old rows keep their kernel widths. When many rows are added this way, the
    /// graph drifts from the one that would be built afresh: build it again once they exceed a fifth of all.
    ///
    /// # Errors
    /// [`Error::Param`] for learned weights, which have no widths; [`Error::Shape`] for other columns, or features of other rows; those of a
    /// neighbor search.
    ///
    /// # Complexity
    /// A query of m rows, a search among them, and a copy of the graph.
    pub fn with_rows(
        &self,
        old: &Features<'_>,
        new: &Features<'_>,
        index: Option<&NeighborIndex>,
        params: &GraphParams,
        run: &Run,
    ) -> Result<Self> {
        let (n, m) = (old.n_rows(), new.n_rows());
        if self.graph.n_samples() != n {
            return Err(Error::shape(
                "features",
                format!("{} rows, as the graph has", self.graph.n_samples()),
                format!("{n} rows"),
            ));
        }
        if m == 0 {
            return Ok(self.clone());
        }
        let params = params.resolved(old);
        if params.weights.model().is_some() {
            return Err(Error::param(
                "weights",
                params.weights.name(),
                "weights that are a function of the distance: learn the graph again",
            ));
        }
        let needs_width = matches!(params.weights, Weighting::SelfTuning | Weighting::Gaussian);
        if needs_width && self.widths == Widths::None {
            let expected = "a graph that was built from the features: a given one has no kernel widths for new edges";
            return Err(Error::param("graph", "given", expected));
        }
        let near = nearest(old, new, index, &params.knn(), run)?;
        let own = Widths::from_last(near.last(), &params);
        let widths = match (&self.widths, own) {
            (Widths::PerRow(old), Widths::PerRow(new)) => Widths::PerRow([&old[..], &new].concat()),
            (kept, _) => kept.clone(),
        };
        widths.check(near.distances.iter().step_by(near.n_neighbors).copied())?;
        Ok(Self {
            graph: grown(&self.graph, &near, &params, &widths, m)?,
            widths,
            knn: self.knn.clone(),
            learned: None,
        })
    }
}

/// The k nearest rows of each new row (m, k) among the n old ones and the other new ones, which are numbered from n on.
fn nearest(
    old: &Features<'_>,
    new: &Features<'_>,
    index: Option<&NeighborIndex>,
    params: &KnnParams,
    run: &Run,
) -> Result<Neighbors> {
    let (n, m) = (old.n_rows(), new.n_rows());
    let k = params.n_neighbors.min(n + m - 1).max(1);
    let outside = KnnParams { n_neighbors: k.min(n), ..params.clone() };
    let among_old = match index {
        Some(index) => index.query(old, new, &outside, run)?,
        None => query(old, new, &outside, run)?,
    };
    let among_new = match m {
        1 => None,
        _ => Some(kneighbors(new, &KnnParams { n_neighbors: k.min(m - 1), ..params.clone() }, run)?.0),
    };
    let (mut indices, mut distances) = (Vec::with_capacity(m * k), Vec::with_capacity(m * k));
    for row in 0..m {
        let mut all: Vec<(u32, f32)> = among_old.row(row).collect();
        all.extend(among_new.iter().flat_map(|near| near.row(row)).map(|(id, distance)| (id + n as u32, distance)));
        all.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        all.truncate(k);
        indices.extend(all.iter().map(|pair| pair.0));
        distances.extend(all.iter().map(|pair| pair.1));
    }
    Ok(Neighbors { n_neighbors: k, indices, distances })
}

/// The old graph with the edges of the new rows.
fn grown(graph: &Graph, near: &Neighbors, params: &GraphParams, widths: &Widths, m: usize) -> Result<Graph> {
    let n = graph.n_samples();
    let has = |row: usize, other: u32| near.row(row).find(|(id, _)| *id as usize == n + other as usize).map(|(_, d)| d);
    let mut edges: Vec<(u32, u32, f64)> = Vec::with_capacity(near.indices.len());
    for row in 0..m {
        for (id, distance) in near.row(row) {
            let own = (n + row) as u32;
            // An edge between two new rows is seen from both; the first one adds it.
            let other = if id as usize >= n { has(id as usize - n, row as u32) } else { None };
            if other.is_some() && id < own {
                continue;
            }
            let weight = widths.edge(params, (own as usize, id as usize), distance, other);
            if weight > 0.0 {
                edges.push((own, id, single(weight)));
            }
        }
    }
    let total = n + m;
    let mut entries: Vec<(u32, u32, f64)> = Vec::with_capacity(graph.adjacency().nnz() + 2 * edges.len());
    for row in 0..n {
        let (columns, weights) = graph.adjacency().row(row);
        entries.extend(columns.iter().zip(weights).map(|(&column, &weight)| (row as u32, column, weight)));
    }
    entries.extend(edges.iter().flat_map(|&(u, v, w)| [(u, v, w), (v, u, w)]));
    Graph::new(Csr::from_entries(total, total, &entries)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity_graph;
    use crate::testkit::blobs;

    #[test]
    fn new_rows_are_joined_to_the_rows_nearest_to_them() {
        let run = Run::new(Some(2), 0).unwrap();
        let all = blobs(240, 3, 5);
        let Features::Dense(dense) = &all else { panic!() };
        let rows = |range: std::ops::Range<usize>| {
            let mut values = vec![0.0; range.len() * dense.n_cols()];
            values
                .chunks_exact_mut(dense.n_cols())
                .zip(range.clone())
                .for_each(|(out, row)| dense.copy_row_f64(row, out));
            Features::from_f64(range.len(), dense.n_cols(), values).unwrap()
        };
        let (old, new) = (rows(0..200), rows(200..240));
        let params = GraphParams::default();
        let before = affinity_graph(&old, &params, &run).unwrap();
        let grown = before.with_rows(&old, &new, None, &params, &run).unwrap();
        assert_eq!(grown.graph.n_samples(), 240);
        // The old part is as it was, and a new row has at least its own neighbors.
        let mut place = Vec::new();
        let kept: Vec<u32> = (0..200).collect();
        assert_eq!(grown.graph.part(&kept, &mut place).unwrap(), before.graph);
        assert!((200..240).all(|row| grown.graph.adjacency().row(row).0.len() >= params.n_neighbors));
        // Neighbors of the new rows are those of a search among all rows.
        let (near, _) = kneighbors(&all, &params.knn(), &run).unwrap();
        for row in 200..240 {
            let columns = grown.graph.adjacency().row(row).0;
            assert!(near.row(row).all(|(id, _)| columns.contains(&id)), "{row}");
        }
        // A row alone, and a graph that has no widths.
        let one = before.with_rows(&old, &rows(200..201), None, &params, &run).unwrap();
        assert_eq!(one.graph.adjacency().row(200).0.len(), params.n_neighbors);
        let bare = AffinityGraph::given(before.graph.clone());
        let error = bare.with_rows(&old, &new, None, &params, &run).unwrap_err().to_string();
        assert!(error.contains("kernel widths"), "{error}");
    }
}
