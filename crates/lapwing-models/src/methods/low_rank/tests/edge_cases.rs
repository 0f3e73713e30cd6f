//! Data at the edge of what can be labeled.

use lapwing_core::Warning;

use super::*;

#[test]
fn an_offset_changes_nothing() {
    let (features, targets, _) = problem(2000, 4);
    let moved: Vec<f64> = dense_values(&features).iter().map(|x| x + 1000.0).collect();
    let moved = Features::from_f64(2000, 4, moved).unwrap();
    for params in variants() {
        let (here, there) = (fitted(&params, &features, &targets, 2), fitted(&params, &moved, &targets, 2));
        assert_eq!(here.labeling.labels, there.labeling.labels);
    }
}

#[test]
fn an_outlier_without_evidence_is_told() {
    let (features, targets, _) = problem(1200, 3);
    let mut values = dense_values(&features);
    values[1199 * 3] = 1e6;
    let features = Features::from_f64(1200, 3, values).unwrap();
    let params = LowRankParams {
        n_landmarks: 12,
        factor: FactorKind::Nystrom,
        // Of k-means the outlier would be a landmark itself.
        landmarks: LandmarkRule::Uniform,
        bandwidth: Some(1.0),
        ..LowRankParams::default()
    };
    let fit = fitted(&params, &features, &targets, 2);
    assert!(fit.labeling.scores.row(1199).iter().all(|score| score.is_nan()));
    assert_eq!((fit.labeling.reached[1199], fit.report.n_unreached), (false, 1));
    assert!(
        fit.report.warnings.contains(&Warning::NoEvidence { n_rows: 1, n_samples: 1200 }),
        "{:?}",
        fit.report.warnings
    );
    let anchors = LowRankParams { factor: FactorKind::Anchor, ..params.clone() };
    assert_eq!(fitted(&anchors, &features, &targets, 2).report.n_unreached, 0);
}

/// Nearly all rows lie beyond the second of two landmarks, a few before the first: what the kernel of the landmarks says of
/// these is a degree below 0.
#[test]
fn negative_degrees_are_raised_and_counted() {
    let n = 1000;
    let values = (0..n).map(|i| if i % 200 == 7 { -1.0 } else { 2.0 + (i % 11) as f64 / 50.0 });
    let features = Features::from_f64(n, 1, values.collect()).unwrap();
    let labels = Labels::from_integers((0..n).map(|i| (i < 10).then_some(i64::from(i != 7))));
    let targets = Targets::one_hot(&labels, None).unwrap();
    let method = |params| {
        let params = LowRankParams { factor: FactorKind::Nystrom, select: Select::Off, ..params };
        LowRank::new(params).unwrap().with_landmarks(Features::from_f64(2, 1, vec![0.0, 1.0]).unwrap())
    };
    let run = Run::new(Some(2), 7).unwrap();
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let fit = method(LowRankParams { bandwidth: Some(1.0), ..LowRankParams::default() });
    let fit = fit.fit(&problem, &run).unwrap();
    let part = &fit.report.parts["low_rank"];
    let number = |name: &str| part[name].as_f64().unwrap();
    assert!(number("least_degree") < -0.01 * number("mean_degree"), "{part}");
    assert_eq!((number("n_nonpositive_degrees"), number("n_floored_degrees")), (5.0, 5.0));
    // Raised degrees do away with the stationary vector: what exceeds 1 is divided by, and told.
    let is_told = fit.report.warnings.iter().any(|warning| matches!(warning, Warning::LargeEigenvalue { .. }));
    assert_eq!(is_told, number("largest_eigenvalue") > 1.0 + 1e-6);
    assert!(number("largest_eigenvalue").is_finite() && fit.report.n_unreached == 0);
    assert!(fit.labeling.label_distributions.values().iter().all(|p| p.is_finite()));
}

/// The temperature is fitted to scores of another size than those of the rows: what is said of them must not show it.
#[test]
fn confidence_does_not_depend_on_the_number_of_rows() {
    let run = Run::new(Some(2), 7).unwrap();
    let mean = |n: usize, factor| {
        let rows = lapwing_core::GeneratedRows::new(n, 20, 4, 1).unwrap();
        let known = |i: usize| (i < 80).then(|| rows.class(i) as i64);
        let targets = Targets::one_hot(&Labels::from_integers((0..n).map(known)), None).unwrap();
        let params = LowRankParams { n_landmarks: 40, factor, ..LowRankParams::default() };
        let fit = LowRank::new(params).unwrap().fit_rows(&RowProblem::new(&rows, &targets), &Alone, &run).unwrap();
        let (mut confidence, mut right) = (0.0, 0.0);
        fit.label_rows(&rows, &targets, 0..n, &run, |first, labeling| {
            confidence += labeling.confidence.iter().sum::<f64>();
            let found = (first..).zip(&labeling.labels).filter(|(at, label)| rows.class(*at) == **label as usize);
            right += found.count() as f64;
            Ok(())
        })
        .unwrap();
        (confidence / n as f64, right / n as f64)
    };
    for factor in [FactorKind::Anchor, FactorKind::Nystrom] {
        for n in [20_000, 300_000] {
            let (confidence, right) = mean(n, factor);
            assert!((confidence - right).abs() < 0.1, "{factor:?}, {n} rows: {confidence} {right}");
        }
    }
}

#[test]
fn a_checkpoint_is_of_sums() {
    let kept = LowRankParams { checkpoint: Some("sums".into()), factor: FactorKind::Glnp, ..LowRankParams::default() };
    assert!(LowRank::new(kept).unwrap_err().to_string().starts_with("checkpoint is given"));
}

#[test]
fn bad_values_are_named_by_their_row() {
    let n = 60_000;
    let mut values: Vec<f32> = (0..n * 2).map(|at| (at * 7919 % 1009) as f32 + 100.0 * (at / 2 % 2) as f32).collect();
    values[2 * 55_555 + 1] = f32::NAN;
    let rows = Features::from_f32(n, 2, values).unwrap();
    let known = |i: usize| (i.is_multiple_of(11_111) || i < 20).then_some((i % 2) as i64);
    let targets = Targets::one_hot(&Labels::from_integers((0..n).map(known)), None).unwrap();
    let run = Run::new(Some(2), 7).unwrap();
    for params in variants().into_iter().chain([learned()]) {
        // Labeled, and most likely not in the sample.
        let text = LowRank::new(params)
            .unwrap()
            .fit_rows(&RowProblem::new(&rows, &targets), &Alone, &run)
            .unwrap_err()
            .to_string();
        assert!(text.starts_with("row 55555 of features holds NaN (column 1)"), "{text}");
    }
}

#[test]
fn the_largest_eigenvalue_is_one() {
    let (features, targets, _) = problem(3000, 4);
    for params in variants() {
        let fit = fitted(&params, &features, &targets, 2);
        let part = &fit.report.parts["low_rank"];
        // Shares and similarities are in single precision; degrees of few rows were raised.
        let tol = if part["n_floored_degrees"] == 0 { 1e-6 } else { 1e-3 };
        assert!((part["largest_eigenvalue"].as_f64().unwrap() - 1.0).abs() < tol, "{part} {params:?}");
    }
}

#[test]
fn edge_cases_give_labels() {
    let (features, targets, _) = problem(60, 2);
    for params in [
        LowRankParams { n_landmarks: 1, ..LowRankParams::default() },
        LowRankParams { n_landmarks: 60, landmarks: LandmarkRule::Uniform, ..LowRankParams::default() },
        LowRankParams { n_landmarks: 60, factor: FactorKind::Nystrom, ..LowRankParams::default() },
        LowRankParams { n_landmarks: 5, alpha: 0.0, select: Select::Off, ..LowRankParams::default() },
    ] {
        let fit = fitted(&params, &features, &targets, 2);
        assert!(fit.labeling.label_distributions.values().iter().all(|p| p.is_finite()));
    }
    // α = 0: only labeled rows have evidence.
    let params = LowRankParams { n_landmarks: 5, alpha: 0.0, select: Select::Off, ..LowRankParams::default() };
    assert_eq!(fitted(&params, &features, &targets, 2).report.n_unreached, 60 - targets.rows().len());
    let all = Labels::from_integers((0..60).map(|i| Some(i % 2)));
    let one = Labels::from_integers((0..60).map(|i| (i < 3).then_some(5)));
    for labels in [all, one] {
        let targets = Targets::one_hot(&labels, None).unwrap();
        let fit = fitted(&LowRankParams { n_landmarks: 6, ..LowRankParams::default() }, &features, &targets, 2);
        assert_eq!(fit.report.n_unreached, 0);
    }
    // Many classes.
    let many = Labels::from_integers((0..60).map(Some));
    let targets = Targets::one_hot(&many, None).unwrap();
    let fit = fitted(&LowRankParams { n_landmarks: 60, ..LowRankParams::default() }, &features, &targets, 2);
    assert_eq!(fit.labeling.scores.n_cols(), 60);

    // More landmarks than rows: all rows are taken.
    let of = |n_landmarks| fitted(&LowRankParams { n_landmarks, ..LowRankParams::default() }, &features, &targets, 2);
    let (all, more) = (of(60), of(61));
    assert_eq!(more.labeling.scores, all.labeling.scores);
    assert_eq!(
        (&more.report.chosen["n_landmarks"], all.report.chosen.contains_key("n_landmarks")),
        (&60.into(), false)
    );
    assert!(matches!(more.report.warnings[0], Warning::ManyLandmarks { given: 61, n_samples: 60 }));
}

/// The width cannot come from rows that are landmarks themselves.
#[test]
fn few_rows_are_labeled_with_the_defaults() {
    for n in [48, 84, 96, 132] {
        let (features, targets, _) = problem(n, 4);
        for factor in [FactorKind::Anchor, FactorKind::Nystrom] {
            let fit = fitted(&LowRankParams { factor, ..LowRankParams::default() }, &features, &targets, 2);
            let right = (0..n).filter(|&i| fit.labeling.labels[i] as usize == i % 3).count();
            assert!(right * 10 >= n * 9 && fit.report.n_unreached == 0, "{n} {factor:?}: {right}");
        }
    }
}

#[test]
fn balanced_columns_do_not_favor_the_class_with_more_labels() {
    let features = blobs(3000, 8, 3);
    // 100 labels of class 0, two of each other.
    let labels = Labels::from_integers((0..3000i64).map(|i| (i < 300 && (i % 3 == 0 || i < 6)).then_some(i % 3)));
    let targets = Targets::one_hot(&labels, None).unwrap();
    let accuracy = |balance, alpha| {
        let params = LowRankParams {
            n_landmarks: 20,
            n_nearest: 0,
            bandwidth: Some(6.0),
            balance,
            alpha,
            select: Select::Off,
            ..LowRankParams::default()
        };
        let fit = fitted(&params, &features, &targets, 2);
        (0..3000).filter(|&i| fit.labeling.labels[i] as usize == i % 3).count() as f64 / 3000.0
    };
    assert!(accuracy(Balance::Balanced, 0.99) > 0.9);
    assert!(accuracy(Balance::Raw, 0.999) < accuracy(Balance::Balanced, 0.999));
}
