//! Shared by the tests of several crates: synthetic rows, a brute-force twin of the neighbor search, and the graphs of the solver's
//! testkit.

use lapwing_data::Features;
pub use lapwing_solve::testkit::*;

use crate::knn::{Metric, Neighbors};

/// `n` rows of `d` columns around `centers` centers, class by class in turn: row i belongs to center i mod `centers`.
pub fn blobs(n: usize, d: usize, centers: usize) -> Features<'static> {
    Features::from_f32(n, d, blob_values(n, d, centers)).expect("n·d values were made")
}

/// `n` rows of `d` columns in clusters of width 1e-4 that are 1e4 from each other: products in f32 say nothing within one.
pub fn tight_clusters(n: usize, d: usize, clusters: usize) -> Features<'static> {
    let noise = dense_values(&blobs(n, d, 1));
    let place = |at: usize| 1e4 * ((at / d % clusters) * (1 + at % d)) as f64 + 1e-5 * noise[at];
    Features::from_f64(n, d, (0..n * d).map(place).collect()).expect("n·d values were made")
}

/// The values of dense features as f64, row-major.
pub fn dense_values(features: &Features<'_>) -> Vec<f64> {
    let Features::Dense(dense) = features else { return Vec::new() };
    let mut values = vec![0.0; dense.n_rows() * dense.n_cols()];
    values.chunks_exact_mut(dense.n_cols()).enumerate().for_each(|(row, out)| dense.copy_row_f64(row, out));
    values
}

/// Neighbors by all distances in f64.
pub fn brute_force(features: &Features<'_>, k: usize, metric: Metric) -> Neighbors {
    let (n, d) = (features.n_rows(), features.n_cols());
    let values = dense_values(features);
    let row = |i: usize| &values[i * d..(i + 1) * d];
    let norm = |x: &[f64]| x.iter().map(|v| v * v).sum::<f64>().sqrt();
    let distance = |i: usize, j: usize| match metric {
        Metric::Euclidean => row(i).iter().zip(row(j)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt(),
        Metric::Cosine => {
            1.0 - row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum::<f64>() / (norm(row(i)) * norm(row(j)))
        }
        Metric::InnerProduct => -row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum::<f64>(),
    };
    let (mut indices, mut distances) = (Vec::new(), Vec::new());
    for i in 0..n {
        let mut others: Vec<(f64, u32)> = (0..n).filter(|&j| j != i).map(|j| (distance(i, j), j as u32)).collect();
        others.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        indices.extend(others[..k].iter().map(|e| e.1));
        distances.extend(others[..k].iter().map(|e| e.0 as f32));
    }
    Neighbors { n_neighbors: k, indices, distances }
}
