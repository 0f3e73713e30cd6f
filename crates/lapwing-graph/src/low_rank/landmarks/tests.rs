//! Landmarks of k-means and of random draws.

use super::*;
use crate::testkit::{blobs, densified, texts};

#[test]
fn centers_of_separate_groups_are_their_means() {
    let run = Run::new(Some(2), 3).unwrap();
    // Three groups of points at 0, 100 and 200, ten times ten within each.
    let values: Vec<f32> = (0..3000).map(|i| (i % 3) as f32 * 100.0 + ((i / 3) % 10) as f32 - 4.5 + 1e6).collect();
    let features = Features::from_f32(3000, 1, values).unwrap();
    let sample = RowSample::draw(&features, 3, &run).unwrap();
    let found = sample.landmarks(3, LandmarkRule::KMeans, LandmarkBandwidth::Auto, &run).unwrap();
    let mut centers: Vec<f64> = found.values.iter().map(|x| f64::from(*x) + found.center[0]).collect();
    centers.sort_by(f64::total_cmp);
    assert!(centers.iter().zip([1e6, 1e6 + 100.0, 1e6 + 200.0]).all(|(a, b)| (a - b).abs() < 0.1), "{centers:?}");
    // |−4.5| … |4.5| have the mean 2.5.
    assert!((found.mean_distance - 2.5).abs() < 1e-3 && (found.width - 1.25).abs() < 1e-3);
    let uniform = sample.landmarks(5, LandmarkRule::Uniform, LandmarkBandwidth::Value(2.0), &run).unwrap();
    let rows = uniform.rows.unwrap();
    assert!(rows.is_sorted_by(|a, b| a < b) && rows.len() == 5 && uniform.width == 2.0);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let features = blobs(5000, 7, 4);
    let all: Vec<Landmarks> = [1, 2, 7]
        .into_iter()
        .map(|threads| {
            let run = Run::new(Some(threads), 3).unwrap();
            let sample = RowSample::draw(&features, 30, &run).unwrap();
            sample.landmarks(30, LandmarkRule::KMeans, LandmarkBandwidth::Auto, &run).unwrap()
        })
        .collect();
    assert!(all[1..].iter().all(|other| other.values == all[0].values && other.width == all[0].width));
}

#[test]
fn equal_rows_and_too_many_landmarks_are_told() {
    let run = Run::new(Some(1), 3).unwrap();
    let equal = Features::from_f32(30, 2, vec![7.5; 60]).unwrap();
    let sample = RowSample::draw(&equal, 4, &run).unwrap();
    for rule in [LandmarkRule::KMeans, LandmarkRule::Uniform] {
        let text = sample.landmarks(4, rule, LandmarkBandwidth::Auto, &run).unwrap_err().to_string();
        assert!(text.starts_with("bandwidth is 0 by its rule"), "{text}");
        assert_eq!(sample.landmarks(4, rule, LandmarkBandwidth::Value(1.0), &run).unwrap().values.len(), 8);
    }
    let text = sample.landmarks(31, LandmarkRule::KMeans, LandmarkBandwidth::Auto, &run).unwrap_err().to_string();
    assert!(text.contains("between 1 and 30"));
    // Ten points, each of them many times: every row is a landmark.
    let points = Features::from_f32(300, 2, (0..600).map(|i| ((i / 2 * 7) % 10) as f32 + 0.3).collect()).unwrap();
    let sample = RowSample::draw(&points, 10, &run).unwrap();
    for (rule, k) in [(LandmarkRule::KMeans, 10), (LandmarkRule::KMeans, 40), (LandmarkRule::Uniform, 200)] {
        let found = sample.landmarks(k, rule, LandmarkBandwidth::Auto, &run).unwrap();
        assert!(found.mean_distance < 1e-6 && found.width > 1.0, "{} {}", found.mean_distance, found.width);
    }
    let tiny = Features::from_f32(3, 2, vec![0.0, 1e-17, 2e-17, 0.0, 0.0, 3e-17]).unwrap();
    let text = RowSample::draw(&tiny, 2, &run).unwrap_err().to_string();
    assert!(text.contains("too small to square in single precision; scale the features up"), "{text}");
    let bad = Features::from_f32(3, 2, vec![0.0, 1.0, 2.0, f32::NAN, 4.0, 5.0]).unwrap();
    let text = RowSample::draw(&bad, 2, &run).unwrap_err().to_string();
    assert!(text.starts_with("row 1 of features holds NaN (column 1)"), "{text}");
}

#[test]
fn landmarks_of_sparse_rows_are_those_of_the_same_dense_rows() {
    let sparse = texts(3000, 300, 5);
    let dense = densified(&sparse);
    let run = Run::new(Some(2), 3).unwrap();
    let sample_of = |features: &Features<'_>| RowSample::draw(features, 40, &run).unwrap();
    let (here, there) = (sample_of(&sparse), sample_of(&dense));
    assert!(matches!(here.held, HeldRows::Sparse { .. }) && matches!(there.held, HeldRows::Dense { .. }));
    assert!((here.extent() - there.extent()).abs() < 1e-6);
    let close = |a: &[f32], b: &[f32]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 2e-6);
    for rule in [LandmarkRule::KMeans, LandmarkRule::Uniform] {
        let find = |sample: &RowSample| sample.landmarks(40, rule, LandmarkBandwidth::Auto, &run).unwrap();
        let (found, expected) = (find(&here), find(&there));
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 2e-6;
        assert!(close(&found.values, &expected.values), "{rule:?}");
        assert!(found.center.iter().zip(&expected.center).all(near), "{rule:?}");
        assert_eq!(found.rows, expected.rows);
        let same = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-5;
        assert!(same(found.mean_distance, expected.mean_distance), "{rule:?}");
        assert!(same(found.width, expected.width), "{rule:?} {} {}", found.width, expected.width);
    }
}

#[test]
fn the_width_for_few_sparse_rows_is_that_of_dense_ones() {
    let sparse = texts(300, 200, 5);
    let run = Run::new(Some(2), 3).unwrap();
    let width = |features: &Features<'_>| {
        let sample = RowSample::draw(features, 100, &run).unwrap();
        sample.landmarks(100, LandmarkRule::Uniform, LandmarkBandwidth::Auto, &run).unwrap().width
    };
    let (found, expected) = (width(&sparse), width(&densified(&sparse)));
    assert!((found / expected - 1.0).abs() < 1e-5, "{found} {expected}");
}

#[test]
fn sparse_rows_give_the_same_bits_for_any_number_of_threads() {
    let features = texts(4000, 200, 6);
    let of = |threads| {
        let run = Run::new(Some(threads), 3).unwrap();
        let sample = RowSample::draw(&features, 30, &run).unwrap();
        let found = sample.landmarks(30, LandmarkRule::KMeans, LandmarkBandwidth::Auto, &run).unwrap();
        (found.values, found.width.to_bits())
    };
    assert!(of(1) == of(2) && of(1) == of(7));
}

#[test]
fn sparse_rows_at_a_landmark_have_no_distance_and_bad_ones_are_named() {
    let run = Run::new(Some(2), 3).unwrap();
    // Few distinct rows, far from the origin: every row is a landmark or equal to one.
    let entries: Vec<(u32, u32, f32)> =
        (0..900).map(|at| (at / 3, at % 3, 1e5 + (at / 3 % 10 * (at % 3)) as f32)).collect();
    let sparse = Features::Sparse(Csr::from_entries(300, 4, &entries).unwrap().into());
    let sample = RowSample::draw(&sparse, 40, &run).unwrap();
    let found = sample.landmarks(40, LandmarkRule::KMeans, LandmarkBandwidth::Auto, &run).unwrap();
    assert!(found.mean_distance < 1e-6 && found.width > 1.0, "{} {}", found.mean_distance, found.width);

    let empty = Features::Sparse(Csr::from_entries(30, 2, &[]).unwrap().into());
    let sample = RowSample::draw(&empty, 4, &run).unwrap();
    let text = sample.landmarks(4, LandmarkRule::KMeans, LandmarkBandwidth::Auto, &run).unwrap_err().to_string();
    assert!(text.starts_with("bandwidth is 0 by its rule"), "{text}");
    let tiny = Features::Sparse(Csr::from_entries(3, 2, &[(1, 0, 1e-17), (2, 0, 2e-17)]).unwrap().into());
    let text = RowSample::draw(&tiny, 2, &run).unwrap_err().to_string();
    assert!(text.contains("too small to square in single precision; scale the features up"), "{text}");
    let bad = Features::Sparse(Csr::from_entries(3, 9, &[(0, 1, 1.0), (1, 7, f32::NAN)]).unwrap().into());
    let text = RowSample::draw(&bad, 2, &run).unwrap_err().to_string();
    assert!(text.starts_with("row 1 of features holds NaN (column 7)"), "{text}");

    let cancel = lapwing_core::CancelToken::default();
    cancel.cancel();
    let sample = RowSample::draw(&texts(900, 50, 3), 20, &run).unwrap();
    let canceled = Run::new(Some(2), 3).unwrap().with_cancel(cancel);
    let stopped = sample.landmarks(20, LandmarkRule::KMeans, LandmarkBandwidth::Auto, &canceled);
    assert!(matches!(stopped, Err(Error::Interrupted)));
}
