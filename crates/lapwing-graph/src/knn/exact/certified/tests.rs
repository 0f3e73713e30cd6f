//! Certified neighbors against brute force, on rows that rounding could misplace.

use std::sync::Arc;

use lapwing_core::Csr;

use super::*;
use crate::knn::{KnnMethod, Metric, kneighbors, query};
use crate::testkit::{blobs, brute_force, dense_values, tight_clusters};

fn run() -> Run {
    Run::new(Some(2), 0).unwrap()
}

fn params(k: usize, metric: Metric) -> KnnParams {
    KnnParams { n_neighbors: k, metric: Some(metric), method: KnnMethod::Exact, ..KnnParams::default() }
}

fn sparse(features: &Features<'_>) -> Features<'static> {
    let d = features.n_cols();
    let values = dense_values(features);
    let entries: Vec<(u32, u32, f32)> =
        values.iter().enumerate().map(|(at, &v)| ((at / d) as u32, (at % d) as u32, v as f32)).collect();
    let entries: Vec<_> = entries.into_iter().filter(|entry| entry.2 != 0.0).collect();
    Features::Sparse(Arc::new(Csr::from_entries(features.n_rows(), d, &entries).unwrap()))
}

/// As [`brute_force`], but compares distances in f32, as they are returned.
fn expected(features: &Features<'_>, k: usize, metric: Metric) -> Neighbors {
    let n = features.n_rows();
    let distances = Distances::new(features, features, metric);
    let mut out = Neighbors { n_neighbors: k, indices: Vec::new(), distances: Vec::new() };
    for row in 0..n {
        let mut keys: Vec<u64> = (0..n).filter(|&j| j != row).map(|j| key(distances.get(row, j), j as u32)).collect();
        keys.sort_unstable();
        out.indices.extend(keys[..k].iter().map(|&key| id_of(key)));
        out.distances.extend(keys[..k].iter().map(|&key| distance_of(key)));
    }
    out
}

#[test]
fn tight_clusters_far_apart_are_ranked_exactly() {
    let n = 600;
    let features = tight_clusters(n, 5, 12);
    let found = kneighbors(&features, &params(7, Metric::Euclidean), &run()).unwrap().0;
    let truth = brute_force(&features, 7, Metric::Euclidean);
    assert_eq!(found, expected(&features, 7, Metric::Euclidean));
    assert_eq!(found.indices, truth.indices);
    let found = query(&features, &features, &params(7, Metric::Euclidean), &run()).unwrap();
    assert!((0..n).all(|row| found.indices[7 * row] as usize == row));
}

#[test]
fn ties_and_crowds_are_ordered_by_index() {
    // Whole numbers: many equal rows, many equal distances.
    let (n, d) = (900, 2);
    let values = (0..n * d).map(|at| ((at * 7919) % 13 / (1 + at % 2)) as f32).collect();
    let features = Features::from_f32(n, d, values).unwrap();
    for metric in [Metric::Euclidean, Metric::InnerProduct] {
        let truth = expected(&features, 9, metric);
        assert_eq!(kneighbors(&features, &params(9, metric), &run()).unwrap().0, truth);
        assert_eq!(kneighbors(&sparse(&features), &params(9, metric), &run()).unwrap().0, truth);
    }
    let same = Features::from_f32(n, d, vec![0.1; n * d]).unwrap();
    let found = kneighbors(&same, &params(3, Metric::Euclidean), &run()).unwrap().0;
    assert_eq!(found.indices[..6], [1, 2, 3, 0, 2, 3]);
    assert_eq!(found, expected(&same, 3, Metric::Euclidean));
}

#[test]
fn inner_products_are_ranked_exactly() {
    for (n, d) in [(40, 3), (700, 17), (4500, 4)] {
        let features = blobs(n, d, 4);
        let truth = expected(&features, 7, Metric::InnerProduct);
        let found = kneighbors(&features, &params(7, Metric::InnerProduct), &run()).unwrap().0;
        assert_eq!(found, truth);
        found.check().unwrap();
        let found = kneighbors(&sparse(&features), &params(7, Metric::InnerProduct), &run()).unwrap().0;
        assert_eq!(found.indices, truth.indices);
    }
}

#[test]
fn sparse_rows_with_frequent_and_rare_columns_are_ranked_exactly() {
    // Column c is used by one row in 1 + c: some are dense, most are indexed; more rows than one block.
    let (n, d) = (5000, 60);
    let mut rng = run().rng(lapwing_core::Stream::Synthetic, 1);
    let mut entries = Vec::new();
    for row in 0..n {
        for column in 0..d {
            if rand::RngExt::random_range(&mut rng, 0..=column) == 0 {
                entries.push((row, column, rand::RngExt::random_range(&mut rng, -1.0f32..2.0)));
            }
        }
    }
    let features = Features::Sparse(Arc::new(Csr::from_entries(n as usize, d as usize, &entries).unwrap()));
    for metric in [Metric::Euclidean, Metric::Cosine, Metric::InnerProduct] {
        let truth = expected(&features, 6, metric);
        assert_eq!(kneighbors(&features, &params(6, metric), &run()).unwrap().0, truth);
        let found = query(&features, &features, &params(7, metric), &run()).unwrap();
        for row in (0..n as usize).step_by(7) {
            let others: Vec<_> = found.row(row).filter(|e| e.0 as usize != row).take(6).collect();
            assert_eq!(others, truth.row(row).collect::<Vec<_>>());
        }
    }
}
