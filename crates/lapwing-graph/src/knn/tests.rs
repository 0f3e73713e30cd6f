//! Neighbor searches against brute force.

use std::sync::Arc;

use lapwing_core::Csr;

use super::*;
use crate::testkit::{blobs, brute_force, dense_values};

fn run() -> Run {
    Run::new(Some(2), 0).unwrap()
}

fn params(k: usize, metric: Metric, method: KnnMethod) -> KnnParams {
    KnnParams { n_neighbors: k, metric: Some(metric), method, recall_target: 0.99, ..Default::default() }
}

#[test]
fn exact_search_equals_brute_force_for_dense_and_sparse_rows() {
    for metric in [Metric::Euclidean, Metric::Cosine] {
        for (n, d) in [(40, 3), (700, 17), (1100, 5)] {
            let features = blobs(n, d, 4);
            let expected = brute_force(&features, 7, metric);
            let (found, report) = kneighbors(&features, &params(7, metric, KnnMethod::Exact), &run()).unwrap();
            assert_eq!(report.recall, 1.0);
            let values = dense_values(&features);
            let entries: Vec<(u32, u32, f32)> =
                (0..n * d).map(|at| ((at / d) as u32, (at % d) as u32, values[at] as f32)).collect();
            let sparse = Features::Sparse(Arc::new(Csr::from_entries(n, d, &entries).unwrap()));
            let (from_sparse, _) = kneighbors(&sparse, &params(7, metric, KnnMethod::Exact), &run()).unwrap();
            for at in 0..n * 7 {
                for found in [&found, &from_sparse] {
                    assert!(
                        (found.distances[at] - expected.distances[at]).abs() <= 2e-6 * expected.distances[at].max(1.0)
                    );
                }
            }
            assert_eq!(found.indices, expected.indices);
            found.check().unwrap();
        }
    }
}

#[test]
fn partitions_reach_their_recall_in_few_and_many_columns() {
    for (d, metric) in [(8, Metric::Euclidean), (120, Metric::Euclidean), (120, Metric::Cosine)] {
        let features = blobs(6000, d, 6);
        let (found, report) = kneighbors(&features, &params(10, metric, KnnMethod::Partitions), &run()).unwrap();
        found.check().unwrap();
        let exact = kneighbors(&features, &params(10, metric, KnnMethod::Exact), &run()).unwrap().0;
        let hits = (0..6000)
            .flat_map(|row| {
                let truth: Vec<u32> = exact.row(row).map(|e| e.0).collect();
                found.row(row).map(move |(id, _)| truth.contains(&id))
            })
            .filter(|hit| *hit)
            .count();
        let recall = hits as f64 / 60_000.0;
        assert!(report.recall >= 0.99, "{report:?}");
        assert!((recall - report.recall).abs() < 5.0 * report.recall_error.max(1e-3), "{recall} against {report:?}");
    }
}

#[test]
fn partitions_of_bytes_and_for_many_neighbors_reach_their_recall() {
    let bytes: Vec<u8> = dense_values(&blobs(6000, 30, 6)).iter().map(|v| (v * 8.0 + 128.0) as u8).collect();
    let bytes = Features::from_u8(6000, 30, bytes).unwrap();
    for (features, k) in [(bytes, 10), (blobs(6000, 6, 4), 100)] {
        let (found, report) =
            kneighbors(&features, &params(k, Metric::Euclidean, KnnMethod::Partitions), &run()).unwrap();
        assert!(report.recall >= 0.99 && report.method == "partitions", "{report:?}");
        found.check().unwrap();
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let long = blobs(3000, 100, 3);
    let features = blobs(5000, 20, 3);
    for (features, method) in
        [(&features, KnnMethod::Exact), (&features, KnnMethod::Partitions), (&long, KnnMethod::Partitions)]
    {
        let found: Vec<_> = [1, 2, 7]
            .iter()
            .map(|&t| {
                kneighbors(features, &params(8, Metric::Euclidean, method), &Run::new(Some(t), 5).unwrap()).unwrap()
            })
            .collect();
        assert!(found[0] == found[1] && found[1] == found[2]);
    }
}

#[test]
fn duplicates_are_counted_and_do_not_break_the_carving() {
    let features = Features::from_f32(5000, 2, vec![1.0; 10_000]).unwrap();
    for method in [KnnMethod::Exact, KnnMethod::Partitions] {
        let (found, report) = kneighbors(&features, &params(3, Metric::Euclidean, method), &run()).unwrap();
        found.check().unwrap();
        assert_eq!(report.n_duplicate_rows, 5000);
    }
}

#[test]
fn many_equal_rows_have_the_neighbors_of_brute_force_without_a_search() {
    // Groups of equal rows beside 199 single rows: rows of group 0 are every second one.
    let (n, d) = (600usize, 3);
    let place = |row: usize| {
        if row.is_multiple_of(2) {
            0
        } else if row.is_multiple_of(3) {
            1
        } else {
            row
        }
    };
    let value = |row: usize, column: usize| lapwing_core::hash::uniform((place(row) * d + column) as u64);
    let values: Vec<f64> = (0..n * d).map(|at| value(at / d, at % d)).collect();
    let dense = Features::from_f64(n, d, values.clone()).unwrap();
    let entries: Vec<(u32, u32, f32)> =
        values.iter().enumerate().map(|(at, &x)| ((at / d) as u32, (at % d) as u32, x as f32)).collect();
    let sparse = Features::Sparse(Arc::new(Csr::from_entries(n, d, &entries).unwrap()));
    for features in [&dense, &sparse] {
        for method in [KnnMethod::Auto, KnnMethod::Exact, KnnMethod::Partitions] {
            for k in [1, 5] {
                let params = params(k, Metric::Euclidean, method);
                let (found, report) = kneighbors(features, &params, &run()).unwrap();
                let expected = brute_force(&dense, k, Metric::Euclidean).indices;
                assert!(method == KnnMethod::Partitions || found.indices == expected, "{method:?} {k}");
                assert_eq!(report.n_duplicate_rows, (0..n).filter(|&row| place(row) < 2).count());
                let groups = exact::DuplicateGroups::find(features, k, &run());
                assert_eq!(groups.kept(n).len(), 199 + 2 * (k + 1));
            }
        }
    }
}

#[test]
fn far_from_the_origin_distances_keep_their_digits() {
    let values: Vec<f64> = dense_values(&blobs(300, 4, 2)).iter().map(|v| v + 1e7).collect();
    let features = Features::from_f64(300, 4, values).unwrap();
    let (found, _) = kneighbors(&features, &params(5, Metric::Euclidean, KnnMethod::Exact), &run()).unwrap();
    assert_eq!(found.indices, brute_force(&features, 5, Metric::Euclidean).indices);
}

#[test]
fn bad_input_is_named() {
    let features = blobs(10, 2, 1);
    let text = |r: Result<(Neighbors, KnnReport)>| r.unwrap_err().to_string();
    let auto = |k| params(k, Metric::Euclidean, KnnMethod::Auto);
    assert!(text(kneighbors(&features, &auto(10), &run())).contains("n_neighbors is 10; expected below"));
    assert!(text(kneighbors(&features, &auto(0), &run())).contains("n_neighbors is 0"));
    let zero = Features::from_f32(3, 2, vec![1.0, 2.0, 0.0, 0.0, 3.0, 1.0]).unwrap();
    assert!(text(kneighbors(&zero, &params(1, Metric::Cosine, KnnMethod::Auto), &run())).contains("row 1"));
    let other = blobs(4, 3, 1);
    assert!(query(&features, &other, &auto(2), &run()).unwrap_err().to_string().contains("2 columns"));
    assert!(query(&features, &blobs(4, 2, 1), &auto(11), &run()).unwrap_err().to_string().contains("10"));
}

#[test]
fn values_beyond_the_range_of_products_are_refused_by_row() {
    let features = blobs(50, 3, 2);
    let mut values = vec![0.5f32; 6];
    values[4] = 1e30;
    let far = Features::from_f32(2, 3, values).unwrap();
    let auto = params(3, Metric::Euclidean, KnnMethod::Auto);
    let text = query(&features, &far, &auto, &run()).unwrap_err().to_string();
    assert!(text.starts_with("row 1 of features holds values so large"), "{text}");
    let entries: Vec<(u32, u32, f32)> = (0..20).map(|row| (row, row % 4, 1e25 * (row + 1) as f32)).collect();
    let sparse = Features::Sparse(Arc::new(Csr::from_entries(20, 4, &entries).unwrap()));
    kneighbors(&sparse, &auto, &run()).unwrap().0.check().unwrap();
    // One far row among the fitted ones shrinks the frame of all; every row still finds neighbors.
    let mut values = vec![1.0f32; 60];
    values[7] = 1e30;
    kneighbors(&Features::from_f32(20, 3, values).unwrap(), &auto, &run()).unwrap().0.check().unwrap();
}

#[test]
fn queries_include_equal_rows() {
    let features = blobs(50, 3, 2);
    let found = query(&features, &features, &params(1, Metric::Euclidean, KnnMethod::Auto), &run()).unwrap();
    assert!(found.indices.iter().enumerate().all(|(row, &id)| row == id as usize));
    assert!(found.distances.iter().all(|&d| d == 0.0));
}
