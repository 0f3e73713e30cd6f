//! Shared by the tests of several crates: synthetic rows, a brute-force twin of the neighbor search, and the graphs of the solver's
//! testkit.

// Each of these tests takes some.
#![allow(dead_code, unused_imports)]

mod graphs;

use std::sync::Arc;

use lapwing_core::{Csr, Features, RowSource, Run, hash};
use lapwing_graph::{Metric, Neighbors};

pub use self::graphs::*;

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

/// `n` sparse rows as of texts: eight of `d` columns each, most of them those of one of `topics`, with a norm near 1. Every 50th
/// row is empty, and every 70th like the first.
pub fn texts(n: usize, d: usize, topics: usize) -> Features<'static> {
    let mut entries = Vec::new();
    for row in 0..n {
        let like = if row % 70 == 0 { 0 } else { row };
        let drawn = |at: usize| hash::uniform((like * 16 + at) as u64);
        for at in 0..if row % 50 == 49 { 0 } else { 8 } {
            let share = drawn(at) * d as f64;
            let of_topic = (like % topics + (share as usize / topics) * topics).min(d - 1);
            let column = if at < 6 { of_topic } else { share as usize };
            entries.push((row as u32, column as u32, (0.2 + 0.4 * drawn(8 + at)) as f32));
        }
    }
    Features::Sparse(Arc::new(Csr::from_entries(n, d, &entries).expect("columns are below d")))
}

/// Sparse features with their zeros.
pub fn densified(features: &Features<'_>) -> Features<'static> {
    let (n, d) = (features.n_rows(), features.n_cols());
    let mut values = vec![0.0; n * d];
    let run = Run::new(Some(1), 0).expect("one thread is allowed");
    RowSource::open(features, 0, &[], &run)
        .and_then(|mut rows| rows.read(&mut values, &run))
        .expect("all rows are there");
    Features::from_f32(n, d, values).expect("n·d values were made")
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
        _ => -row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum::<f64>(),
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
