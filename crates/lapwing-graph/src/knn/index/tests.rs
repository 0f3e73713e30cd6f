//! Queries of the index against brute force.

use super::*;
use crate::ZeroRows;
use crate::knn::{kneighbors, query};
use crate::testkit::{blobs, dense_values};

fn params(metric: Metric, method: KnnMethod) -> KnnParams {
    KnnParams { n_neighbors: 10, metric: Some(metric), method, ..KnnParams::default() }
}

/// Rows `rows` of `features`, as they are.
fn part(features: &Features<'_>, rows: Range<usize>) -> Features<'static> {
    let d = features.n_cols();
    Features::from_f64(rows.len(), d, dense_values(features)[rows.start * d..rows.end * d].to_vec()).unwrap()
}

fn shared(a: &Neighbors, b: &Neighbors) -> f64 {
    let hits = (0..a.n_samples()).map(|row| a.row(row).filter(|e| b.row(row).any(|f| f.0 == e.0)).count());
    hits.sum::<usize>() as f64 / a.indices.len() as f64
}

#[test]
fn new_rows_find_their_neighbors_under_every_metric() {
    let run = Run::new(Some(2), 3).unwrap();
    let all = blobs(9000, 8, 5);
    let (train, new) = (part(&all, 0..8000), part(&all, 8000..9000));
    for metric in [Metric::Euclidean, Metric::Cosine, Metric::InnerProduct] {
        let params = params(metric, KnnMethod::Partitions);
        let index = NeighborIndex::build(&train, &params, &run).unwrap();
        assert!(index.cells().recall >= 0.95 && index.cells().n_probes < index.cells().len(), "{metric:?}");
        let found = index.query(&train, &new, &params, &run).unwrap();
        let recall = shared(&found, &query(&train, &new, &params, &run).unwrap());
        assert!(recall > 0.93, "{metric:?}: {recall}");
        let again = NeighborIndex::from_cells(&train, &params, index.cells().clone(), &run).unwrap();
        assert_eq!(again.query(&train, &new, &params, &run).unwrap(), found);
    }
}

#[test]
fn answers_do_not_depend_on_threads_or_batches() {
    let all = blobs(6000, 5, 4);
    let (train, new) = (part(&all, 0..5000), part(&all, 5000..6000));
    let params = params(Metric::Euclidean, KnnMethod::Partitions);
    let answer = |threads: usize, step: usize| {
        let run = Run::new(Some(threads), 3).unwrap();
        let index = NeighborIndex::build(&train, &params, &run).unwrap();
        let parts = (0..1000).step_by(step).map(|at| part(&new, at..(at + step).min(1000)));
        let found = parts.map(|part| index.query(&train, &part, &params, &run).unwrap());
        found.flat_map(|found| found.indices.into_iter().zip(found.distances)).collect::<Vec<_>>()
    };
    let whole = answer(2, 1000);
    assert_eq!(whole, answer(1, 1000));
    assert_eq!(whole, answer(7, 3));
    assert_eq!(whole, answer(2, 100));
}

#[test]
fn long_rows_are_compared_as_bytes_and_ranked_exactly() {
    let all = blobs(9000, 32, 5);
    let (train, new) = (part(&all, 0..8000), part(&all, 8000..9000));
    let params = params(Metric::Euclidean, KnnMethod::Partitions);
    let answer = |threads: usize, step: usize| {
        let run = Run::new(Some(threads), 3).unwrap();
        let index = NeighborIndex::build(&train, &params, &run).unwrap();
        assert!(index.cells().byte_scale.is_some_and(|scale| scale > 0.0));
        let again = NeighborIndex::from_cells(&train, &params, index.cells().clone(), &run).unwrap();
        let parts = (0..1000).step_by(step).map(|at| part(&new, at..(at + step).min(1000)));
        let found = parts.map(|part| again.query(&train, &part, &params, &run).unwrap());
        found.flat_map(|found| found.indices.into_iter().zip(found.distances)).collect::<Vec<_>>()
    };
    let found = answer(2, 1000);
    assert_eq!(found, answer(1, 300));
    let exact = query(&train, &new, &params, &Run::new(Some(2), 3).unwrap()).unwrap();
    let own = |at: usize| &found[at * 10..(at + 1) * 10];
    let hits = (0..1000).map(|row| exact.row(row).filter(|neighbor| own(row).contains(neighbor)).count());
    // The distances are those of the rows as they are.
    assert!(hits.sum::<usize>() > 9300);
}

#[test]
fn equal_rows_are_found_in_the_cells_they_fill() {
    let run = Run::new(Some(2), 3).unwrap();
    let train = Features::from_f32(3000, 2, vec![0.3; 6000]).unwrap();
    let params = params(Metric::Euclidean, KnnMethod::Partitions);
    let index = NeighborIndex::build(&train, &params, &run).unwrap();
    let found = index.query(&train, &part(&train, 0..20), &params, &run).unwrap();
    assert!(found.distances.iter().all(|&distance| distance == 0.0));
    assert!((0..20).all(|row| found.row(row).collect::<Vec<_>>().is_sorted()));
}

#[test]
fn few_rows_and_rows_of_zeros_make_an_index_too() {
    let run = Run::new(Some(2), 3).unwrap();
    let euclidean = params(Metric::Euclidean, KnnMethod::Partitions);
    assert!(NeighborIndex::build(&blobs(1, 2, 1), &euclidean, &run).is_err());
    let index = NeighborIndex::build(&blobs(2, 2, 1), &euclidean, &run).unwrap();
    assert_eq!(index.cells().recall, 1.0);
    let mut values = dense_values(&blobs(3000, 4, 2));
    values[..1200].fill(0.0);
    let train = Features::from_f64(3000, 4, values).unwrap();
    let cosine = KnnParams { zero_rows: ZeroRows::Allow, ..params(Metric::Cosine, KnnMethod::Partitions) };
    let index = NeighborIndex::build(&train, &cosine, &run).unwrap();
    assert!(index.cells().recall >= 0.95, "{:?}", index.cells().recall);
    let found = index.query(&train, &train, &cosine, &run).unwrap();
    assert!(shared(&found, &query(&train, &train, &cosine, &run).unwrap()) > 0.93);
}

#[test]
fn large_products_are_found_by_partitions() {
    let run = Run::new(Some(2), 3).unwrap();
    let features = blobs(6000, 6, 5);
    let params = |method| params(Metric::InnerProduct, method);
    let (found, report) = kneighbors(&features, &params(KnnMethod::Partitions), &run).unwrap();
    found.check().unwrap();
    let exact = kneighbors(&features, &params(KnnMethod::Exact), &run).unwrap().0;
    assert!(report.recall >= 0.95 && shared(&found, &exact) > 0.93, "{report:?}");
}

#[test]
fn cells_that_do_not_fit_are_refused() {
    let cells = |ids: Vec<u32>, starts: Vec<u64>, n_probes| IndexCells {
        ids,
        starts,
        n_probes,
        recall: 1.0,
        recall_error: 0.0,
        byte_scale: None,
        start: None,
    };
    cells(vec![1, 0, 2], vec![0, 2, 3], 2).check(3, 2).unwrap();
    for bad in [
        cells(vec![1, 0, 1], vec![0, 2, 3], 2),
        cells(vec![1, 0, 3], vec![0, 2, 3], 2),
        cells(vec![1, 0, 2], vec![0, 2, 2], 2),
        cells(vec![1, 0, 2], vec![0, 2, 3], 3),
        cells(vec![1, 0, 2], vec![], 1),
    ] {
        assert!(bad.check(3, 2).is_err());
    }
}

#[test]
fn many_rows_of_zeros_leave_no_cell_empty() {
    let (n, d) = (3000, 8);
    let mut values = dense_values(&blobs(n, d, 20));
    values[5 * d..1000 * d].fill(0.0);
    let train = Features::from_f64(n, d, values).unwrap();
    let params =
        KnnParams { zero_rows: ZeroRows::Allow, n_neighbors: 3, ..params(Metric::Cosine, KnnMethod::Partitions) };
    for seed in 0..20 {
        let run = Run::new(Some(2), seed).unwrap();
        let index = NeighborIndex::build(&train, &params, &run).unwrap();
        index.cells().check(n, d).unwrap();
        assert_eq!(index.query(&train, &part(&train, 5..6), &params, &run).unwrap().distances, [1.0; 3]);
    }
}

#[test]
fn rows_beyond_the_fitted_ones_are_not_covered() {
    let run = Run::new(Some(2), 3).unwrap();
    let all = blobs(9000, 8, 5);
    let params = params(Metric::Euclidean, KnnMethod::Partitions);
    let train = part(&all, 0..8000);
    let index = NeighborIndex::build(&train, &params, &run).unwrap();
    let reach = index.reach(&train, &params, &run).unwrap();
    let covered = |new: &Features<'_>| {
        let (covered, _) = index.covers(&train, new, &reach, &params, &run).unwrap();
        covered.iter().filter(|covered| **covered).count()
    };
    // Rows that lie alone may miss their own cell.
    let (own, near) = (covered(&train), covered(&part(&all, 8000..9000)));
    assert!(own > 7980 && near > 985, "{own} {near}");
    let far: Vec<f64> = dense_values(&part(&all, 8000..9000)).iter().map(|x| x + 30.0).collect();
    assert_eq!(covered(&Features::from_f64(1000, 8, far).unwrap()), 0);
}
