//! Low-rank propagation against dense closed forms and golden figures.

use crate::testkit::{blobs, dense_values};
use lapwing_core::model_file::ModelFile;
use lapwing_core::{Labels, Matrix, UNLABELED};
use lapwing_graph::low_rank::{GlnpCenters, LandmarkRule, Landmarks, NystromMap, glnp};
use lapwing_solve::dense::solve_spd;
use lapwing_solve::products::{times, transposed_times};

use super::solve::Spectrum;
use super::*;
use crate::core::extend::Extend;
use crate::golden::golden;
use crate::{Classifier, extension_to_file};

mod edge_cases;
mod sparse_rows;

fn problem(n: usize, d: usize) -> (Features<'static>, Targets, Labels) {
    let features = blobs(n, d, 3);
    let labels = Labels::from_integers((0..n).map(|i| (i % (n / 12) == 0).then_some((i % 3) as i64)));
    let targets = Targets::one_hot(&labels, None).unwrap();
    (features, targets, labels)
}

fn fitted<'a>(params: &LowRankParams, features: &'a Features<'a>, targets: &Targets, threads: usize) -> Fitted<'a> {
    let run = Run::new(Some(threads), 7).unwrap();
    let problem = Problem { features: Some(features), ..Problem::new(targets) };
    LowRank::new(params.clone()).unwrap().fit(&problem, &run).unwrap()
}

fn variants() -> Vec<LowRankParams> {
    let base = LowRankParams { n_landmarks: 12, select: Select::Off, ..LowRankParams::default() };
    vec![
        base.clone(),
        LowRankParams { n_nearest: 0, ..base.clone() },
        LowRankParams { head: Head::Regression, ..base.clone() },
        LowRankParams { n_nearest: 7, landmarks: LandmarkRule::Uniform, ..base.clone() },
        LowRankParams { factor: FactorKind::Nystrom, ..base.clone() },
        LowRankParams { factor: FactorKind::Nystrom, select: Select::Auto, ..base.clone() },
        LowRankParams { balance: Balance::Raw, alpha: 0.5, ..base.clone() },
        LowRankParams { select: Select::Auto, ..base },
    ]
}

fn learned() -> LowRankParams {
    LowRankParams { n_landmarks: 12, factor: FactorKind::Glnp, ..LowRankParams::default() }
}

/// The extension from what a model keeps of it.
fn copied(extension: &dyn Extend) -> LowRankExtension {
    LowRankExtension::stored(&extension_to_file(extension).unwrap(), extension.n_outputs()).unwrap()
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (features, targets, _) = problem(5000, 6);
    for params in variants().into_iter().chain([learned()]) {
        let first = fitted(&params, &features, &targets, 1);
        for threads in [2, 7] {
            let other = fitted(&params, &features, &targets, threads);
            assert_eq!(first.labeling.scores.values(), other.labeling.scores.values(), "{params:?}");
            assert_eq!(first.labeling.label_distributions, other.labeling.label_distributions);
        }
    }
}

/// Dense twin: C, G and everything after them in double precision and all rows at once.
#[test]
fn scores_are_those_of_the_dense_system() {
    let (features, targets, _) = problem(1500, 5);
    for kind in [FactorKind::Anchor, FactorKind::Nystrom] {
        for (n_nearest, alpha) in [(3, 0.9), (0, 0.99), (12, 0.01)] {
            let params = LowRankParams {
                n_landmarks: 12,
                factor: kind,
                n_nearest,
                alpha,
                select: Select::Off,
                ..LowRankParams::default()
            };
            let found = fitted(&params, &features, &targets, 2);
            let run = Run::new(Some(1), 7).unwrap();
            let sample = RowSample::draw(&features, 12, &run).unwrap();
            let landmarks = sample.landmarks(12, params.landmarks, LandmarkBandwidth::Auto, &run).unwrap();
            let expected = dense_scores(&dense_values(&features), &landmarks, &targets, &params);
            let largest = expected.values().iter().fold(0.0f64, |most, x| most.max(x.abs()));
            for (found, expected) in found.labeling.scores.values().iter().zip(expected.values()) {
                assert!((found - expected).abs() < 1e-4 * largest, "{kind:?} {n_nearest} {alpha}: {found} {expected}");
            }
        }
    }
}

/// Scores by (I − α·S)⁻¹ on all rows, from the definition.
fn dense_scores(x: &[f64], landmarks: &Landmarks, targets: &Targets, params: &LowRankParams) -> Matrix {
    let d = landmarks.center.len();
    let (n, k) = (x.len() / d, landmarks.values.len() / d);
    let squared = |i: usize, l: usize| -> f64 {
        (0..d)
            .map(|j| x[i * d + j] - landmarks.center[j] - f64::from(landmarks.values[l * d + j]))
            .map(|difference| difference * difference)
            .sum()
    };
    let rate = 1.0 / (2.0 * landmarks.width * landmarks.width);
    let mut affinity = Matrix::filled(n, n, 0.0);
    if params.factor == FactorKind::Anchor {
        let s = if params.n_nearest == 0 { k } else { params.n_nearest };
        let mut z = Matrix::filled(n, k, 0.0);
        for i in 0..n {
            let mut order: Vec<usize> = (0..k).collect();
            order.sort_by(|&a, &b| squared(i, a).total_cmp(&squared(i, b)));
            let nearest = squared(i, order[0]);
            let weight = |l: usize| (-rate * (squared(i, l) - nearest)).exp();
            let total: f64 = order[..s].iter().map(|&l| weight(l)).sum();
            order[..s].iter().for_each(|&l| z.row_mut(i)[l] = weight(l) / total);
        }
        let sums: Vec<f64> = (0..k).map(|l| z.rows().map(|row| row[l]).sum()).collect();
        for i in 0..n {
            for j in 0..n {
                affinity.row_mut(i)[j] = (0..k).map(|l| z.row(i)[l] * z.row(j)[l] / sums[l]).sum();
            }
        }
    } else {
        let mut similarities = Matrix::filled(n, k, 0.0);
        (0..n).for_each(|i| (0..k).for_each(|l| similarities.row_mut(i)[l] = (-rate * squared(i, l)).exp()));
        let map = NystromMap::new(&landmarks.values, d, landmarks.width, super::fit::RCOND).unwrap().map;
        affinity = times_transposed(&times(&similarities, &map));
    }
    propagated(&affinity, targets, params)
}

/// F·Fᵀ.
fn times_transposed(factor: &Matrix) -> Matrix {
    let mut out = Matrix::filled(factor.n_rows(), factor.n_rows(), 0.0);
    for i in 0..factor.n_rows() {
        for j in 0..factor.n_rows() {
            out.row_mut(i)[j] = factor.row(i).iter().zip(factor.row(j)).map(|(a, b)| a * b).sum();
        }
    }
    out
}

/// The fixed point for an affinity of all rows.
fn propagated(affinity: &Matrix, targets: &Targets, params: &LowRankParams) -> Matrix {
    let (n, c) = (affinity.n_rows(), targets.n_columns());
    let degrees: Vec<f64> = affinity.rows().map(|row| row.iter().sum()).collect();
    let floor = 1e-3 * degrees.iter().sum::<f64>() / n as f64;
    let roots: Vec<f64> = degrees.iter().map(|degree| degree.max(floor).sqrt()).collect();
    let mut f0 = Matrix::filled(n, c, 0.0);
    let mut mass = vec![0.0; c];
    for (&row, y) in targets.rows().iter().zip(targets.values().rows()) {
        mass.iter_mut().zip(y).for_each(|(mass, y)| *mass += y * roots[row as usize]);
    }
    for (&row, y) in targets.rows().iter().zip(targets.values().rows()) {
        let out = f0.row_mut(row as usize).iter_mut().zip(y).zip(&mass);
        out.for_each(|((out, y), mass)| *out = (1.0 - params.alpha) * y / mass);
    }
    let mut system = Matrix::filled(n, n, 0.0);
    for i in 0..n {
        for j in 0..n {
            let scaled = affinity.row(i)[j] / (roots[i] * roots[j]);
            system.row_mut(i)[j] = f64::from(u8::from(i == j)) - params.alpha * scaled;
        }
    }
    solve_spd(&system, &f0).unwrap()
}

#[test]
fn new_rows_are_scored_as_they_were_in_the_fit() {
    let (features, targets, labels) = problem(3000, 6);
    let run = Run::new(Some(2), 7).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for params in variants() {
        let fit = fitted(&params, &features, &targets, 2);
        let extension = fit.extension.unwrap();
        let again = extension.scores_of(&features, &run).unwrap();
        for row in (0..3000).filter(|&row| labels.index[row] == UNLABELED) {
            assert_eq!(again.row(row), fit.labeling.scores.row(row), "{params:?}");
        }
        let model = Classifier {
            method: LOW_RANK.into(),
            classes: labels.classes.clone(),
            scaling: lapwing_core::Scaling::None,
            rule: fit.rule,
            extension,
        };
        let copy = copied(&*model.extension);
        assert_eq!(copy.scores_of(&features, &run).unwrap(), again);
        let path = folder.path().join("model");
        model.to_file().unwrap().save(&path).unwrap();
        assert!(path.metadata().unwrap().len() < 4000);
        let loaded = Classifier::from_file(&ModelFile::load(&path).unwrap()).unwrap();
        assert_eq!(loaded.extension.kind(), KIND);
        let (expected, found) = (model.predict(&features, &run).unwrap(), loaded.predict(&features, &run).unwrap());
        assert_eq!(expected.label_distributions, found.label_distributions);
    }
}

#[test]
fn a_learned_factor_is_propagated_as_it_is_defined() {
    let (features, targets, labels) = problem(600, 5);
    let run = Run::new(Some(2), 7).unwrap();
    let params = LowRankParams { select: Select::Off, ..learned() };
    let fit = fitted(&params, &features, &targets, 2);
    let sample = RowSample::draw(&features, 12, &run).unwrap();
    let landmarks = sample.landmarks(12, params.landmarks, LandmarkBandwidth::Auto, &run).unwrap();
    let centers = GlnpCenters { values: &landmarks.values, offset: &landmarks.center };
    let found = glnp(&features, Some(centers), &params.glnp(), &run).unwrap();
    let part = &fit.report.parts["glnp"];
    assert_eq!(part["n_iter"], found.n_iter);
    let affinity = times_transposed(&found.factor);
    let expected = propagated(&affinity, &targets, &params);
    let largest = expected.values().iter().fold(0.0f64, |most, x| most.max(x.abs()));
    for (found, expected) in fit.labeling.scores.values().iter().zip(expected.values()) {
        // Coefficients are kept in single precision.
        assert!((found - expected).abs() < 1e-5 * largest, "{found} {expected}");
    }

    // New rows get their rows of the factor from the basis, which a model saves.
    let extension = fit.extension.unwrap();
    let again = extension.scores_of(&features, &run).unwrap();
    let rule = Rule { temperature: Some(1.0), ..fit.rule.clone() };
    let placed = rule.decide(Arc::new(again.clone()));
    let same = placed.labels.iter().zip(&fit.labeling.labels).filter(|(a, b)| a == b).count();
    assert!(same > 570, "{same}");
    let copy = copied(&*extension);
    assert_eq!((copy.factor(), copy.n_landmarks(), copy.n_features()), (FactorKind::Glnp, 12, 5));
    assert!(copy.landmarks().is_none() && copy.bandwidth().is_none() && copy.n_nearest().is_none());
    assert_eq!(copy.scores_of(&features, &run).unwrap(), again);
    let wide = Features::from_f32(1, 6, vec![0.0; 6]).unwrap();
    assert!(copy.scores_of(&wide, &run).unwrap_err().to_string().contains("expected 5 columns"));
    let mut values: Vec<f32> = dense_values(&features).iter().map(|x| *x as f32).collect();
    values[7 * 5 + 2] = f32::NAN;
    let bad = Features::from_f32(600, 5, values).unwrap();
    let text = copy.scores_of(&bad, &run).unwrap_err().to_string();
    assert!(text.contains("column 2 (1 of 600 rows, first NaN in row 7)"), "{text}");
    assert_eq!(labels.index.len(), 600);
}

#[test]
fn a_factor_that_is_learned_from_a_sample_labels_all() {
    let (features, targets, _) = problem(3000, 20);
    let run = Run::new(Some(2), 7).unwrap();
    for fit_rows in [600, 3000] {
        let problem = RowProblem { fit_rows, ..RowProblem::new(&features, &targets) };
        let fit = LowRank::new(learned()).unwrap().fit_rows(&problem, &Alone, &run).unwrap();
        let mut right = 0;
        let count = |first: usize, labeling: crate::Labeling| {
            right += (first..).zip(labeling.labels).filter(|(row, label)| *label as usize == row % 3).count();
            Ok(())
        };
        fit.label_rows(&features, &targets, 0..3000, &run, count).unwrap();
        assert!(right > 2900, "{right}");
    }
    // Rows of zeros are similar to no other row: they have no evidence, and all others have.
    let mut values = dense_values(&features);
    values[..20].fill(0.0);
    values[200..220].fill(0.0);
    let zeros = Features::from_f64(3000, 20, values).unwrap();
    let fit = fitted(&learned(), &zeros, &targets, 2);
    assert!(fit.labeling.label_distributions.values().iter().all(|x| x.is_finite()));
}

/// Everything behind the similarities, in double precision, against another program's figures.
#[test]
fn the_nystrom_propagation_is_that_of_the_oracle() {
    let get = |name: &str| golden("lp_nystrom_500.npz", name);
    let (x, landmarks, sigma) = (get("X"), get("landmarks"), get("sigma")[0]);
    let (n, k, d) = (500, landmarks.len(), x.len() / 500);
    let f0 = get("f0");
    let c = f0.len() / n;
    let squared = |i: usize, j: usize| (0..d).map(|t| (x[i * d + t] - x[j * d + t]).powi(2)).sum::<f64>();
    let similarity = |i: usize, j: usize| (-squared(i, j) / (2.0 * sigma * sigma)).exp();
    let mut similarities = Matrix::filled(n, k, 0.0);
    let mut kernel = Matrix::filled(k, k, 0.0);
    for l in 0..k {
        (0..n).for_each(|i| similarities.row_mut(i)[l] = similarity(i, landmarks[l] as usize));
        (0..k).for_each(|m| kernel.row_mut(l)[m] = similarity(landmarks[l] as usize, landmarks[m] as usize));
    }
    let nystrom = NystromMap::from_kernel(&kernel, 1e-10).unwrap();
    assert_eq!(nystrom.rank() as f64, get("rank_kept")[0]);
    let factor = times(&similarities, &nystrom.map);
    let block = get("Wtilde_block");
    for i in 0..20 {
        for j in 0..20 {
            let product: f64 = factor.row(i).iter().zip(factor.row(j)).map(|(a, b)| a * b).sum();
            assert!((product - block[i * 20 + j]).abs() < 1e-8);
        }
    }
    let totals: Vec<f64> = (0..k).map(|l| similarities.rows().map(|row| row[l]).sum()).collect();
    let weights = nystrom.degree_weights(&totals);
    let degrees: Vec<f64> = similarities.rows().map(|row| row.iter().zip(&weights).map(|(c, v)| c * v).sum()).collect();
    for (found, expected) in degrees.iter().zip(get("degrees")) {
        assert!((found / expected - 1.0).abs() < 1e-9);
    }
    let mut scaled = similarities.clone();
    (0..n).for_each(|i| scaled.row_mut(i).iter_mut().for_each(|c| *c /= degrees[i].sqrt()));
    let f0 = Matrix::new(n, c, f0).unwrap();
    let spectrum = Spectrum::new(&nystrom.map, &transposed_times(&scaled, &scaled)).unwrap();
    let cross = transposed_times(&scaled, &f0);
    for (at, alpha) in get("alphas").into_iter().enumerate() {
        for solver in [PropagationSolver::Closed, PropagationSolver::Iterative] {
            let spread = times(&scaled, &spectrum.propagate(&cross, alpha, solver).0);
            let expected = get(&format!("f_closed_{at}"));
            let largest = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            for ((found, given), expected) in spread.values().iter().zip(f0.values()).zip(&expected) {
                let found = found + (1.0 - alpha) * given;
                assert!((found - expected).abs() < 1e-9 * largest, "{alpha} {solver:?}: {found} {expected}");
            }
        }
    }
}
