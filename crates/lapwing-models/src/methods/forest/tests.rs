//! The forest: pure fits, ties, sparse rows, threads, held-out shares, files.

use std::sync::Arc;

use crate::testkit::{blobs, dense_values};
use lapwing_core::model_file::ModelFile;
use lapwing_core::{Csr, Features, Labels};
use serde_json::json;

use super::*;
use crate::core::extend::Extend;
use crate::core::held_out::folds::NEVER;

fn run(threads: usize) -> Run {
    Run::new(Some(threads), 3).unwrap()
}

fn forest(n_trees: usize) -> Forest {
    Forest::new(ForestParams { n_trees }).unwrap()
}

/// Rows of overlapping columns, many of them zero, dense and sparse.
fn rows(n: usize, d: usize) -> [Features<'static>; 2] {
    let mut values = dense_values(&blobs(n, d, 3));
    for (at, x) in values.iter_mut().enumerate() {
        let random = lapwing_core::hash::uniform(at as u64);
        *x = if random < 0.4 { 0.0 } else { (*x * 0.2 + 4.0 * random).round() };
    }
    let entries: Vec<(u32, u32, f32)> =
        values.iter().enumerate().map(|(at, &x)| ((at / d) as u32, (at % d) as u32, x as f32)).collect();
    let stored: Vec<_> = entries.into_iter().filter(|(_, _, x)| *x != 0.0).collect();
    let sparse = Features::Sparse(Arc::new(Csr::from_entries(n, d, &stored).unwrap()));
    [Features::from_f64(n, d, values).unwrap(), sparse]
}

fn labels(n: usize, step: usize) -> Targets {
    let class = |row: usize| row.is_multiple_of(step).then_some((row / step % 3) as i64);
    Targets::one_hot(&Labels::from_integers((0..n).map(class)), None).unwrap()
}

#[test]
fn labeled_rows_keep_their_labels_and_equal_rows_share_them() {
    // Rows 0 to 3 differ; rows 4 to 6 are equal, with two labels of one class and one of another.
    let values = vec![0.0, 1.0, 2.0, 3.0, 9.0, 9.0, 9.0, 9.0];
    let features = Features::from_f64(8, 1, values).unwrap();
    let given = [Some(0), Some(1), Some(0), Some(1), Some(0), Some(2), Some(2), None];
    let targets = Targets::one_hot(&Labels::from_integers(given), None).unwrap();
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let fitted = forest(50).fit(&problem, &run(2)).unwrap();
    assert_eq!(fitted.labeling.labels, [0, 1, 0, 1, 2, 2, 2, 2]);
    // One tree sees all rows, the next a sample of them.
    let fitted = forest(1).fit(&problem, &run(2)).unwrap();
    let shares = |row: usize| fitted.labeling.label_distributions.row(row).to_vec();
    let close = |found: Vec<f64>, expected: [f64; 3]| found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
    let mixed = |share: f64| (share + 1.0 / 3.0) / 2.0;
    assert!(close(shares(0), [mixed(1.0), mixed(0.0), mixed(0.0)]), "{:?}", shares(0));
    assert!(close(shares(7), [mixed(1.0 / 3.0), mixed(0.0), mixed(2.0 / 3.0)]), "{:?}", shares(7));
}

#[test]
fn soft_labels_and_trust_weigh_the_classes_of_a_leaf() {
    let features = Features::from_f64(2, 1, vec![5.0, 5.0]).unwrap();
    let shares = Matrix::new(2, 2, vec![0.5, 0.5, 1.0, 0.0]).unwrap();
    let targets = Targets::soft(&shares, Some(&[2.0, 6.0])).unwrap();
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let fitted = forest(1).fit(&problem, &run(1)).unwrap();
    // (1 + 6) of 8, smoothed by half a tree for each class.
    assert!((fitted.labeling.label_distributions.row(0)[0] - (7.0 / 8.0 + 0.5) / 2.0).abs() < 1e-6);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (targets, [dense, sparse]) = (labels(900, 7), rows(900, 11));
    let fit = |features: &Features<'_>, threads: usize| {
        let problem = Problem { features: Some(features), ..Problem::new(&targets) };
        let fitted = forest(20).fit(&problem, &run(threads)).unwrap();
        (fitted.labeling.scores, fitted.rule)
    };
    let found = [&dense, &sparse].map(|features| {
        let first = fit(features, 1);
        assert!(first == fit(features, 3));
        // Labels are many enough to fit the temperature.
        assert!(first.1.temperature.is_some_and(|temperature| temperature != 1.0));
        first.0
    });
    // Trees of sparse rows differ, because a constant column counts as drawn; their shares do so little.
    let shares = found.each_ref().map(|scores| scores.values().iter().map(|score| score.exp()));
    let [dense, sparse] = shares;
    let distance = dense.zip(sparse).map(|(a, b)| (a - b).abs()).sum::<f64>() / found[0].values().len() as f64;
    assert!(distance < 0.1, "{distance}");
}

#[test]
fn rows_that_are_stored_as_sparse_ones_may_not_be_sparse() {
    for (n_given, are_sparse) in [(3, true), (4, false)] {
        let entries: Vec<(u32, u32, f32)> =
            (0..60).flat_map(|row| (0..n_given).map(move |at| (row, (7 * row + at) % 32, 1.0))).collect();
        let sparse = Features::Sparse(Arc::new(Csr::from_entries(60, 32, &entries).unwrap()));
        assert_eq!(Columns::new(&sparse).unwrap().are_sparse, are_sparse);
    }
    assert!(!Columns::new(&rows(60, 4)[0]).unwrap().are_sparse);
}

#[test]
fn held_out_shares_are_those_of_fits_without_the_fold() {
    let (targets, [features, _]) = (labels(200, 4), rows(200, 6));
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let folds: Vec<usize> = (0..targets.rows().len()).map(|at| [NEVER, 0, 1][at % 3]).collect();
    let found = forest(15).shares_held_out(&problem, &folds, &run(2)).unwrap();
    for fold in 0..2 {
        let kept = targets.subset(|at| folds[at] != fold).unwrap();
        let fitted = forest(15).fit(&Problem { targets: &kept, ..problem }, &run(2)).unwrap();
        for at in (0..folds.len()).filter(|&at| folds[at] == fold) {
            let expected = fitted.labeling.scores.row(targets.rows()[at] as usize);
            assert!(found.row(at).iter().zip(expected).all(|(share, score)| *share == score.exp()));
        }
    }
    assert!((0..folds.len()).all(|at| found.row(at)[0].is_nan() == (folds[at] == NEVER)));
}

#[test]
fn a_split_separates_classes_that_a_column_separates() {
    // Column 0 separates the classes widely, the others are noise: nearly all trees need one split only where it is drawn.
    let n = 200;
    let noise = |at: usize| lapwing_core::hash::uniform(at as u64);
    let values = (0..n * 4).map(|at| if at % 4 == 0 { 10.0 * (at / 4 % 2) as f64 + noise(at) } else { noise(at) });
    let features = Features::from_f64(n, 4, values.collect()).unwrap();
    let class = |row: usize| (row < 60).then_some((row % 2) as i64);
    let targets = Targets::one_hot(&Labels::from_integers((0..n).map(class)), None).unwrap();
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let fitted = forest(100).fit(&problem, &run(2)).unwrap();
    assert!((0..n).all(|row| fitted.labeling.labels[row] as usize == row % 2));
}

#[test]
fn damaged_trees_are_refused() {
    let (targets, [features, _]) = (labels(60, 3), rows(60, 4));
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let trees = forest(3).grown(3, &problem, &targets, &run(1)).unwrap();
    let stored = |change: &dyn Fn(&mut ModelFile)| {
        let mut file = ModelFile::new(FOREST, json!({}));
        trees.store(&mut file).unwrap();
        change(&mut file);
        Trees::stored(&file, 3)
    };
    assert_eq!(stored(&|_| {}).unwrap(), trees);
    let replaced = |name: &str, value: u32| {
        let mut file = ModelFile::new(FOREST, json!({}));
        trees.store(&mut file).unwrap();
        let mut values = file.array::<u32>(name, &[None]).unwrap().1.as_slice().to_vec();
        values[0] = value;
        stored(&|file| file.insert(name, &[values.len()], values.clone()).unwrap())
    };
    // A root that is no node, a column that is not there, a node that leads to itself, a leaf without shares.
    let cases = [("roots", 1 << 20), ("columns", 4), ("next", 0), ("next", 1 << 20)];
    for (name, value) in cases {
        let error = replaced(name, value).unwrap_err().to_string();
        assert!(error.contains("its trees are out of range"), "{name}: {error}");
    }
}

/// The classes of a column change at 0. A bagged tree splits it there, by a sample of its rows; a randomized one elsewhere.
#[test]
fn bagged_trees_take_the_best_threshold_of_their_sample() {
    let n = 5000;
    let values: Vec<f64> = (0..n).map(|row| (row as f64 - 2500.0).powi(3)).collect();
    let features = Features::from_f64(n, 1, values).unwrap();
    let labels = Labels::from_integers((0..n).map(|row| Some(i64::from(row >= 2500))));
    let targets = Targets::one_hot(&labels, None).unwrap();
    let (columns, sums) = (Columns::new(&features).unwrap(), LabelSums::new(&targets));
    for tree in 0..5 {
        let run = run(1);
        let grown = grow(&columns, &sums, Kind::Bagged, &mut run.rng(Stream::Trees, tree), &run);
        // A sample finds it within some rows; the rest is split among the few that were not in it.
        let threshold = grown.nodes[0].threshold;
        assert!(threshold.abs() < 20f32.powi(3) && grown.nodes.len() < 16, "{threshold} {}", grown.nodes.len());
        let random = grow(&columns, &sums, Kind::Random, &mut run.rng(Stream::Trees, tree), &run);
        assert!(random.nodes[0].threshold.abs() > threshold.abs());
    }
}
