//! Distances along the edges of a graph, and groups of equal rows: what tells duplicates and outliers.

use lapwing_core::parallel::*;
use lapwing_core::{Error, Features, Result, Run};

use super::distance::Distances;
use super::exact::DuplicateGroups;
use crate::{Graph, Metric};

/// Rows between two checks and reports.
const CHECK: usize = 1024;

/// Distance between the two rows of every entry of the adjacency matrix, in its order (2m): euclidean, or between rows scaled to length
/// 1 for [`Metric::Cosine`].
///
/// # Errors
/// [`Error::Shape`] unless features and graph have the same rows; [`Error::Interrupted`].
///
/// # Complexity
/// O(m·d) time, in parallel; 4 bytes an entry.
pub fn edge_distances(features: &Features<'_>, graph: &Graph, metric: Metric, run: &Run) -> Result<Vec<f32>> {
    let n = graph.n_samples();
    if features.n_rows() != n {
        return Err(Error::shape(
            "features",
            format!("{n} rows, as the graph has"),
            format!("{} rows", features.n_rows()),
        ));
    }
    let (adjacency, is_cosine) = (graph.adjacency(), metric == Metric::Cosine);
    let metric = if is_cosine { Metric::Cosine } else { Metric::Euclidean };
    let mut found = vec![0f32; adjacency.nnz()];
    let done = run.counter(n.div_ceil(CHECK), "");
    run.install(|| {
        let distances = Distances::new(features, features, metric);
        let mut rows: Vec<(usize, &mut [f32])> = Vec::with_capacity(n);
        let mut rest = &mut found[..];
        for row in 0..n {
            let (own, others) = rest.split_at_mut(adjacency.row(row).0.len());
            rows.push((row, own));
            rest = others;
        }
        rows.into_par_iter().with_min_len(64).try_for_each(|(row, out)| {
            if row.is_multiple_of(CHECK) {
                run.check()?;
                done.add(1);
            }
            for (out, &other) in out.iter_mut().zip(adjacency.row(row).0) {
                let distance = distances.get(row, other as usize);
                // The cosine distance is half of the squared distance.
                *out = if is_cosine { (2.0 * distance.max(0.0)).sqrt() } else { distance };
            }
            Ok(())
        })
    })?;
    Ok(found)
}

/// Rows that equal another one, ascending, with the number of their group.
///
/// # Complexity
/// O(n·d) time, in parallel; 12 bytes a row.
pub fn equal_rows(features: &Features<'_>, run: &Run) -> Vec<(u32, u32)> {
    DuplicateGroups::find(features, 1, run).members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_rows_of_each_entry() {
        let run = Run::new(Some(2), 0).unwrap();
        let rows = Features::from_f64(4, 2, vec![0.0, 1.0, 3.0, 5.0, 0.0, 1.0, 0.0, 2.0]).unwrap();
        let graph = Graph::from_edges(4, &[(0, 1, 1.0), (0, 2, 1.0), (0, 3, 1.0)]).unwrap();
        let found = edge_distances(&rows, &graph, Metric::Euclidean, &run).unwrap();
        assert_eq!(found, [5.0, 0.0, 1.0, 5.0, 0.0, 1.0]);
        let cosine = edge_distances(&rows, &graph, Metric::Cosine, &run).unwrap();
        let expected = (2.0 - 2.0 * 5.0 / 34f32.sqrt()).sqrt();
        assert!((cosine[0] - expected).abs() < 1e-6 && cosine[1..3] == [0.0, 0.0]);
        assert_eq!(equal_rows(&rows, &run), [(0, 0), (2, 0)]);
    }
}
