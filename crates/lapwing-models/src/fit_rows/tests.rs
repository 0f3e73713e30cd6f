//! Labels of rows in blocks, and fits that ranks share.

use lapwing_core::{ClassNames, Features, Labels, Scaling, Targets};

use super::*;
use crate::testkit::blobs;
use crate::{Classifier, METHODS, MethodParams, Problem, method};

const N: usize = 700;

/// Rows with some labels, and a fit of a method.
fn labeled(n: usize) -> (Features<'static>, Targets) {
    let features = blobs(n, 5, 3);
    let labels = Labels::from_integers((0..n).map(|row| (row % 29 < 2).then_some((row % 3) as i64)));
    (features, Targets::one_hot(&labels, None).unwrap())
}

/// Bits of the scores, shares and labels of the rows of `features`, read in parts of `step` rows.
fn bits(classifier: &Classifier<'_>, features: &Features<'_>, step: usize, run: &Run) -> Vec<u64> {
    let mut out = Vec::new();
    for first in (0..features.n_rows()).step_by(step) {
        let rows = first..features.n_rows().min(first + step);
        classifier
            .predict_rows(features, rows, run, &mut |_, labeling| {
                let shares = labeling.scores.rows().zip(labeling.label_distributions.rows());
                for ((scores, shares), label) in shares.zip(&labeling.labels) {
                    out.extend(scores.iter().chain(shares).map(|value| value.to_bits()));
                    out.push(u64::from(*label));
                }
                Ok(())
            })
            .unwrap();
    }
    out
}

#[test]
fn the_labels_of_a_row_do_not_depend_on_the_blocks_and_threads() {
    let (features, targets) = labeled(N);
    let new = blobs(N + 300, 5, 3);
    let run = Run::new(Some(2), 0).unwrap();
    for spec in METHODS {
        let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
        let fitted = method(spec.name, &MethodParams::default()).unwrap().fit(&problem, &run).unwrap();
        if fitted.extension.is_none() {
            continue;
        }
        let classifier = Classifier::of(fitted, ClassNames::Integers(vec![0, 1, 2])).unwrap();
        let all = bits(&classifier, &new, N + 300, &run);
        for (step, threads) in [(1, 1), (7, 2), (64, 1), (500, 2), (N + 300, 1)] {
            let other = bits(&classifier, &new, step, &Run::new(Some(threads), 0).unwrap());
            let first = all.iter().zip(&other).position(|(a, b)| a != b);
            assert_eq!(
                (first, all.len()),
                (None, other.len()),
                "{}: blocks of {step} rows, {threads} threads",
                spec.name
            );
        }
    }
}

#[test]
fn a_fit_that_is_sent_labels_as_its_own() {
    let (features, targets) = labeled(3000);
    let run = Run::new(Some(2), 0).unwrap();
    let problem = RowProblem { fit_rows: 600, ..RowProblem::new(&features, &targets) };
    for name in ["harmonic", "linear", "forest"] {
        let own = method(name, &MethodParams::default()).unwrap().fit_rows(&problem, &Alone, &run).unwrap();
        let sent = unpack(&pack(&own, "").unwrap(), &run).unwrap();
        assert_eq!(sent.scaling, Scaling::None);
        let labels = |fit: &RowFit| {
            let mut found = Vec::new();
            fit.label_rows(&features, &targets, 0..3000, &run, |_, labeling| {
                found.extend(labeling.chosen().into_iter().zip(labeling.confidence.iter().map(|c| c.to_bits())));
                Ok(())
            })
            .unwrap();
            found
        };
        assert_eq!(labels(&own), labels(&sent), "{name}");
    }
}

#[test]
fn a_fit_that_was_saved_is_taken_again() {
    let (features, targets) = labeled(2000);
    let run = Run::new(Some(2), 0).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit");
    let fit = |seed: u64, of: &str| {
        let problem =
            RowProblem { fit_rows: 500, checkpoint: Some((&path, of)), ..RowProblem::new(&features, &targets) };
        fit_rows(&*method("linear", &MethodParams::default()).unwrap(), &problem, &Alone, &run.with_seed(seed))
    };
    let first = fit(0, "a").unwrap();
    // Another seed would give another sample, if anything was fitted.
    let second = fit(1, "a").unwrap();
    let rows = |fit: &RowFit| match &fit.known {
        Known::Sample { rows, .. } => rows.clone(),
        Known::Own { .. } => Vec::new(),
    };
    assert!(rows(&first) == rows(&second) && rows(&first).len() > 100);
    assert_eq!(first.report.parts, second.report.parts);
    assert!(fit(0, "b").unwrap_err().to_string().contains("a checkpoint of another fit"));
}
