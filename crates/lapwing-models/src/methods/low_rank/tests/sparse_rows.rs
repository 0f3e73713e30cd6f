//! Sparse rows against the same rows with their zeros.

use crate::testkit::{densified, texts};

use super::*;
use crate::ProblemSize;

fn sparse_problem() -> (Features<'static>, Targets) {
    let features = texts(3000, 400, 3);
    let labels = Labels::from_integers((0..3000).map(|i| (i % 40 == 1).then_some((i % 3) as i64)));
    (features, Targets::one_hot(&labels, None).unwrap())
}

#[test]
fn labels_of_sparse_rows_are_those_of_dense_ones() {
    let (sparse, targets) = sparse_problem();
    let dense = densified(&sparse);
    for params in variants().into_iter().chain([learned()]) {
        let (found, expected) = (fitted(&params, &sparse, &targets, 2), fitted(&params, &dense, &targets, 2));
        let differ = found.labeling.labels.iter().zip(&expected.labeling.labels).filter(|(a, b)| a != b).count();
        assert!(differ <= 3, "{differ} labels differ: {params:?}");
        assert_eq!(found.report.chosen.get("alpha"), expected.report.chosen.get("alpha"));
        let largest = expected.labeling.scores.values().iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-3 * largest || (a.is_nan() && b.is_nan());
        let pairs = found.labeling.scores.values().iter().zip(expected.labeling.scores.values());
        let far = pairs.filter(|pair| !near(*pair)).count();
        assert!(far <= 9, "{far} scores differ: {params:?}");

        // A model of sparse rows scores the same rows with their zeros, and the other way round.
        let run = Run::new(Some(2), 7).unwrap();
        let extension = found.extension.as_ref().unwrap();
        let (here, there) = (extension.scores_of(&sparse, &run).unwrap(), extension.scores_of(&dense, &run).unwrap());
        let far = here.values().iter().zip(there.values()).filter(|pair| !near(*pair)).count();
        assert!(far <= 9, "{far} scores of new rows differ: {params:?}");
    }
}

#[test]
fn sparse_rows_give_the_same_bits_for_any_number_of_threads() {
    let (sparse, targets) = sparse_problem();
    for params in variants() {
        let first = fitted(&params, &sparse, &targets, 1);
        for threads in [2, 7] {
            let other = fitted(&params, &sparse, &targets, threads);
            let bits = |fit: &Fitted<'_>| fit.labeling.scores.values().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert!(bits(&first) == bits(&other), "{params:?}");
        }
    }
}

#[test]
fn the_plan_of_sparse_rows_has_no_dense_copies() {
    let size = ProblemSize {
        n_samples: 20_000,
        n_features: 40_000,
        n_edges: None,
        input_bytes: 20 << 20,
        sparse: true,
        streamed: false,
        n_classes: 20,
        n_labeled: 100,
        threads: 2,
    };
    let peak = |params: &LowRankParams, size: &ProblemSize| LowRank::new(params.clone()).unwrap().plan(size).peak_bytes;
    let params = LowRankParams::default();
    // A dense sample would have 3.2 GB, landmarks and their copies have 64 MB.
    assert!(peak(&params, &size) < 200 << 20, "{}", peak(&params, &size));
    assert!(peak(&params, &ProblemSize { sparse: false, ..size }) > 3 << 30);
}
