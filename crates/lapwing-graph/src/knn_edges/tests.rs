//! Streamed neighbor graphs against those that are held.

use std::sync::Arc;

use lapwing_core::{Csr, Edge, Stream};
use proptest::prelude::*;
use rand::RngExt;

use super::*;
use crate::knn::{Metric, ZeroRows};
use crate::testkit::{blobs, dense_values, tight_clusters};
use crate::{Graph, affinity_graph};
use crate::{Symmetrize, Weighting};

const WEIGHTS: [Weighting; 4] = [Weighting::SelfTuning, Weighting::Gaussian, Weighting::Cosine, Weighting::Binary];
const WAYS: [Symmetrize; 3] = [Symmetrize::Union, Symmetrize::Mean, Symmetrize::Mutual];

fn read(source: &dyn EdgeSource, most: usize, run: &Run) -> Vec<Edge> {
    let (mut reader, mut out) = (source.open(run).unwrap(), Vec::new());
    loop {
        let before = out.len();
        reader.read(most, &mut out, run).unwrap();
        assert!(out.len() - before <= most);
        if out.len() == before {
            return out;
        }
    }
}

fn graph_of(n: usize, edges: &[Edge]) -> Graph {
    let mut names: Vec<_> = edges.iter().map(|edge| (edge.u, edge.v)).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "an edge came twice");
    let edges: Vec<_> = edges.iter().map(|edge| (edge.u, edge.v, edge.weight)).collect();
    Graph::from_edges(n, &edges).unwrap()
}

/// The stream is the graph, to the bit.
fn assert_same(features: &Features<'_>, params: &GraphParams, threads: usize) {
    let run = Run::new(Some(threads), 0).unwrap();
    let expected = affinity_graph(features, params, &run);
    let found = KnnEdges::new(features, params, &run);
    let (expected, found) = match (expected, found) {
        (Ok(expected), Ok(found)) => (expected, found),
        (Err(expected), found) => {
            return assert_eq!(found.err().map(|e| e.to_string()), Some(expected.to_string()));
        }
        (_, Err(error)) => panic!("{error}"),
    };
    let edges = read(&found, usize::MAX >> 1, &run);
    assert!(edges.iter().all(|edge| edge.u < edge.v));
    assert_eq!(graph_of(features.n_rows(), &edges), expected.graph, "{params:?}");
    assert_eq!(found.widths(), &expected.widths);
    assert_eq!(Some(found.report()), expected.knn.as_ref());
}

/// All weightings and symmetrizations that go with `metric`.
fn assert_all_same(features: &Features<'_>, k: usize, metric: Metric, zero_rows: ZeroRows) {
    for weights in WEIGHTS {
        for symmetrize in WAYS {
            let knn_method = KnnMethod::Exact;
            let params = GraphParams {
                n_neighbors: k,
                metric: Some(metric),
                weights,
                symmetrize,
                knn_method,
                zero_rows,
                ..GraphParams::default()
            };
            if params.validate().is_ok() {
                assert_same(features, &params, 2);
            }
        }
    }
}

fn sparse_of(features: &Features<'_>) -> Features<'static> {
    let (n, d) = (features.n_rows(), features.n_cols());
    let values = dense_values(features);
    let entries: Vec<(u32, u32, f32)> =
        values.iter().enumerate().map(|(at, &v)| ((at / d) as u32, (at % d) as u32, v as f32)).collect();
    let entries: Vec<_> = entries.into_iter().filter(|entry| entry.2 != 0.0).collect();
    Features::Sparse(Arc::new(Csr::from_entries(n, d, &entries).unwrap()))
}

#[test]
fn blobs_give_the_affinity_graph_for_any_number_of_neighbors() {
    for (n, d, k) in [(2, 3, 1), (90, 3, 20), (140, 17, 139), (500, 5, 90)] {
        let features = blobs(n, d, 4);
        for metric in [Metric::Euclidean, Metric::Cosine, Metric::InnerProduct] {
            assert_all_same(&features, k, metric, ZeroRows::Error);
            assert_all_same(&sparse_of(&features), k, metric, ZeroRows::Error);
        }
    }
}

#[test]
fn ties_and_equal_rows_give_the_affinity_graph() {
    let (n, d) = (700, 2);
    let values = (0..n * d).map(|at| ((at * 7919) % 13 / (1 + at % 2)) as f32).collect();
    let grid = Features::from_f32(n, d, values).unwrap();
    let same = Features::from_f32(120, d, vec![0.1; 120 * d]).unwrap();
    for k in [9, 60, 119] {
        for features in [&grid, &sparse_of(&grid), &same] {
            assert_all_same(features, k, Metric::Euclidean, ZeroRows::Error);
            assert_all_same(features, k, Metric::InnerProduct, ZeroRows::Error);
        }
    }
    let bytes = Features::from_u8(400, 3, (0..1200).map(|at| (at * 37 % 11) as u8).collect()).unwrap();
    assert_all_same(&bytes, 150, Metric::Euclidean, ZeroRows::Error);
}

#[test]
fn tight_clusters_far_from_the_origin_give_the_affinity_graph() {
    let features = tight_clusters(400, 4, 8);
    for k in [7, 49, 80] {
        assert_all_same(&features, k, Metric::Euclidean, ZeroRows::Error);
    }
}

#[test]
fn sparse_rows_some_without_entries_give_the_affinity_graph() {
    // Column c is used by one row in 1 + c, rows 5, 105, … are empty; more rows than one block.
    let (n, d) = (4500u32, 50u32);
    let mut rng = Run::new(Some(1), 0).unwrap().rng(Stream::Synthetic, 1);
    let mut entries = Vec::new();
    for row in (0..n).filter(|row| row % 100 != 5) {
        for column in 0..d {
            if rng.random_range(0..=column) == 0 {
                entries.push((row, column, rng.random_range(0.0f32..2.0)));
            }
        }
    }
    let features = Features::Sparse(Arc::new(Csr::from_entries(n as usize, d as usize, &entries).unwrap()));
    let params = GraphParams { n_neighbors: 50, metric: Some(Metric::Cosine), ..GraphParams::default() };
    let params = GraphParams { zero_rows: ZeroRows::Allow, knn_method: KnnMethod::Exact, ..params };
    assert_same(&features, &params, 2);
    assert_same(&features, &GraphParams { metric: Some(Metric::Euclidean), ..params }, 2);
}

#[test]
fn zero_rows_of_either_kind_give_the_affinity_graph() {
    let (n, d) = (90, 3);
    let mut values: Vec<f32> = dense_values(&blobs(n, d, 4)).iter().map(|&v| v as f32).collect();
    [4, 9, 33].iter().for_each(|&row| values[row * d..(row + 1) * d].fill(0.0));
    let dense = Features::from_f32(n, d, values).unwrap();
    for k in [3, 40, 60, 88] {
        for features in [&dense, &sparse_of(&dense)] {
            assert_all_same(features, k, Metric::Cosine, ZeroRows::Allow);
            assert_all_same(features, k, Metric::Cosine, ZeroRows::Error);
        }
    }
}

#[test]
fn neighbors_that_are_held_give_the_affinity_graph() {
    let features = blobs(3000, 8, 6);
    for knn_method in [KnnMethod::Auto, KnnMethod::Partitions] {
        for symmetrize in WAYS {
            let params = GraphParams { symmetrize, knn_method, ..GraphParams::default() };
            assert!(is_held(3000, 8, false, &params));
            assert_same(&features, &params, 2);
        }
    }
}

#[test]
fn any_number_of_threads_and_any_block_size_give_the_same_bits() {
    let features = blobs(9000, 3, 5);
    let params = GraphParams { n_neighbors: 130, ..GraphParams::default() };
    let held = GraphParams { n_neighbors: 12, ..GraphParams::default() };
    for params in [params, held] {
        let expected = {
            let run = Run::new(Some(1), 0).unwrap();
            read(&KnnEdges::new(&features, &params, &run).unwrap(), 1 << 30, &run)
        };
        for (threads, most) in [(2, 1), (7, 4097), (2, 1 << 20)] {
            let run = Run::new(Some(threads), 0).unwrap();
            let found = KnnEdges::new(&features, &params, &run).unwrap();
            assert!(read(&found, most, &run) == expected);
            let mut reader = found.open(&run).unwrap();
            reader.skip(70_000, &run).unwrap();
            let mut out = Vec::new();
            reader.read(10, &mut out, &run).unwrap();
            assert!(out == expected[expected.len().min(70_000)..expected.len().min(70_010)]);
        }
    }
}

#[test]
fn widths_that_lose_a_row_are_refused() {
    let run = Run::new(Some(1), 0).unwrap();
    let features = blobs(300, 3, 2);
    let params = GraphParams { n_neighbors: 150, weights: Weighting::Gaussian, ..GraphParams::default() };
    let params = GraphParams { bandwidth: Some(1e-3), ..params };
    let expected = affinity_graph(&features, &params, &run).unwrap_err().to_string();
    assert_eq!(KnnEdges::new(&features, &params, &run).err().unwrap().to_string(), expected);
}

#[test]
fn a_stop_is_noticed_while_searching_and_while_reading() {
    let cancel = lapwing_core::CancelToken::default();
    let run = Run::new(Some(2), 0).unwrap().with_cancel(cancel.clone());
    let features = blobs(500, 3, 2);
    let params = GraphParams { n_neighbors: 200, ..GraphParams::default() };
    let graph = KnnEdges::new(&features, &params, &run).unwrap();
    let mut reader = graph.open(&run).unwrap();
    cancel.cancel();
    assert!(matches!(reader.read(1, &mut Vec::new(), &run), Err(lapwing_core::Error::Interrupted)));
    assert!(matches!(KnnEdges::new(&features, &params, &run), Err(lapwing_core::Error::Interrupted)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn whole_numbers_give_the_affinity_graph(
        values in prop::collection::vec(-4i8..5, 8..240),
        (d, share) in (1usize..4, 0.0..1.0f64),
        (way, weight) in (0usize..3, 0usize..4),
    ) {
        let n = values.len() / d;
        let k = 1 + (share * (n - 2) as f64) as usize;
        let features = Features::from_f32(n, d, values[..n * d].iter().map(|&v| v.into()).collect()).unwrap();
        let (symmetrize, weights, knn_method) = (WAYS[way], WEIGHTS[weight], KnnMethod::Exact);
        let params = GraphParams { n_neighbors: k, symmetrize, weights, knn_method, metric: Some(Metric::Euclidean), ..GraphParams::default() };
        if params.validate().is_ok() {
            assert_same(&features, &params, 1);
            assert_same(&sparse_of(&features), &params, 1);
        }
    }
}
