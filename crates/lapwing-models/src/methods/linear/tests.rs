//! The linear model against a dense Newton's method, on every form of the rows; held-out shares, choices, units.

use std::sync::Arc;

use crate::testkit::{blobs, dense_values};
use lapwing_core::{Csr, Features, Labels, Stream};
use lapwing_solve::dense::least_squares;
use rand::RngExt;

use super::*;
use crate::core::held_out::folds::NEVER;

/// Rows (n, d) of classes that overlap, dense and sparse. Columns from 4 on are mostly zero.
fn rows(n: usize, d: usize) -> [Features<'static>; 2] {
    let mut rng = Run::new(Some(1), 0).unwrap().rng(Stream::Synthetic, 1);
    let mut values = vec![0f32; n * d];
    for (at, x) in values.iter_mut().enumerate() {
        let (row, column) = (at / d, at % d);
        let noise = rng.random_range(-1.0..1.0f64);
        if column < 4 || (row + column) % 5 == 0 {
            *x = (3.0 + 2.0 * noise + f64::from(u8::from(row % 3 == column % 3))) as f32;
        }
    }
    let stored = values.iter().enumerate().filter(|(_, x)| **x != 0.0);
    let entries: Vec<(u32, u32, f32)> = stored.map(|(at, &x)| ((at / d) as u32, (at % d) as u32, x)).collect();
    let sparse = Features::Sparse(Arc::new(Csr::from_entries(n, d, &entries).unwrap()));
    [Features::from_f32(n, d, values).unwrap(), sparse]
}

/// Soft labels of three classes with different trust, for every third row.
fn labels(n: usize) -> Targets {
    let ids: Vec<u32> = (0..n as u32).filter(|row| row % 3 != 1 || row % 2 == 0).collect();
    let mut values = Matrix::filled(ids.len(), 3, 0.0);
    for (at, &id) in ids.iter().enumerate() {
        let class = id as usize % 3;
        values.row_mut(at)[class] = 0.8;
        values.row_mut(at)[(class + usize::from(at % 4 == 0)) % 3] += 0.2;
    }
    let trust = (0..ids.len()).map(|at| 0.5 + (at % 3) as f64).collect();
    Targets::new(n, ids, values, trust).unwrap()
}

/// Rows ((x − x̄)/s, 1) (n, d + 1) in units of the rows `ids`.
fn scaled(features: &Features<'_>, ids: &[u32]) -> Matrix {
    let (n, d) = (features.n_rows(), features.n_cols());
    let values = match features {
        Features::Dense(_) => Matrix::new(n, d, dense_values(features)).unwrap(),
        Features::Sparse(rows) => {
            let mut values = Matrix::filled(n, d, 0.0);
            for row in 0..n {
                let (columns, entries) = rows.row(row);
                columns.iter().zip(entries).for_each(|(&j, &x)| values.row_mut(row)[j as usize] = x.into());
            }
            values
        }
    };
    let l = ids.len() as f64;
    let mean: Vec<f64> = (0..d).map(|j| ids.iter().map(|&i| values.row(i as usize)[j]).sum::<f64>() / l).collect();
    let square = |row: &[f64]| row.iter().zip(&mean).map(|(x, m)| (x - m).powi(2)).sum::<f64>();
    let s = (ids.iter().map(|&i| square(values.row(i as usize))).sum::<f64>() / l).sqrt();
    let mut out = Matrix::filled(n, d + 1, 1.0);
    for (row, own) in values.rows().enumerate() {
        out.row_mut(row)[..d].iter_mut().zip(own.iter().zip(&mean)).for_each(|(out, (x, m))| *out = (x - m) / s);
    }
    out
}

/// Scores (n, c) of all rows by Newton's method on the whole Hessian, from the labels of `targets`.
fn newton(rows: &Matrix, targets: &Targets, ridge: f64) -> Matrix {
    let (k, c) = (rows.n_cols(), targets.n_columns());
    let mut w = Matrix::filled(k, c, 0.0);
    for _ in 0..30 {
        let p = to_shares(lapwing_solve::products::times(rows, &w));
        let mut hessian = Matrix::filled(k * c, k * c, 0.0);
        let mut gradient = Matrix::filled(k * c, 1, 0.0);
        for (at, &id) in targets.rows().iter().enumerate() {
            let (x, p, m) = (rows.row(id as usize), p.row(id as usize), targets.weights()[at]);
            for (i, a) in (0..k).flat_map(|i| (0..c).map(move |a| (i, a))) {
                gradient.row_mut(i * c + a)[0] += m * x[i] * (p[a] - targets.values().row(at)[a]);
                for (j, b) in (0..k).flat_map(|j| (0..c).map(move |b| (j, b))) {
                    let own = if a == b { p[a] } else { 0.0 };
                    hessian.row_mut(i * c + a)[j * c + b] += m * x[i] * x[j] * (own - p[a] * p[b]);
                }
            }
        }
        for at in 0..k * c {
            hessian.row_mut(at)[at] += ridge;
            gradient.row_mut(at)[0] += ridge * w.values()[at];
        }
        let step = least_squares(&hessian, &gradient, 1e-14).unwrap();
        w.values_mut().iter_mut().zip(step.values()).for_each(|(w, s)| *w -= s);
    }
    lapwing_solve::products::times(rows, &w)
}

fn worst(a: &Matrix, b: &Matrix) -> f64 {
    a.values().iter().zip(b.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn method(l2_reg: Option<f64>) -> Linear {
    Linear::new(LinearParams { l2_reg }).unwrap()
}

#[test]
fn scores_are_those_of_newtons_method_for_every_form_of_the_rows() {
    let run = Run::new(Some(2), 0).unwrap();
    // More labeled rows than columns, and fewer.
    for (n, d) in [(60, 5), (15, 12)] {
        let targets = labels(n);
        for features in rows(n, d) {
            let design = Design::new(&features, targets.rows(), &run).unwrap();
            assert_eq!(matches!(design.rows, Rows::Coordinates { .. }), targets.rows().len() <= d);
            for ridge in [0.5, 0.01] {
                let limits = Limits { tol: 1e-9, max_iter: 1000 };
                let (weights, trace) = design.rows.fit(&targets, ridge, limits, None, &run).unwrap();
                let scores = design.layers(&weights, &run).unwrap().outputs(&features, &run).unwrap();
                let worst = worst(&scores, &newton(&scaled(&features, targets.rows()), &targets, ridge));
                assert!(trace.converged && worst < 1e-3, "{n} × {d}, ridge {ridge}: {worst}");
            }
        }
    }
}

#[test]
fn held_out_shares_are_those_of_fits_without_the_fold() {
    let run = Run::new(Some(2), 0).unwrap();
    let targets = labels(60);
    let folds: Vec<usize> = (0..targets.rows().len()).map(|at| [NEVER, 0, 1, 2][at % 4]).collect();
    for features in rows(60, 5) {
        let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
        let found = method(Some(0.05)).shares_held_out(&problem, &folds, &run).unwrap();
        let rows = scaled(&features, targets.rows());
        for fold in 0..3 {
            let kept = targets.subset(|at| folds[at] != fold).unwrap();
            let expected = to_shares(newton(&rows, &kept, 0.05));
            for at in (0..folds.len()).filter(|&at| folds[at] == fold) {
                let expected = expected.row(targets.rows()[at] as usize);
                // Fits of a comparison stop early.
                let close = found.row(at).iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.03);
                assert!(close, "{:?} against {expected:?}", found.row(at));
            }
        }
        assert!((0..folds.len()).all(|at| found.row(at)[0].is_nan() == (folds[at] == NEVER)));
    }
}

#[test]
fn the_penalty_follows_the_labels() {
    let run = Run::new(Some(2), 0).unwrap();
    let (blobs, [noise, _]) = (blobs(400, 20, 2), rows(400, 20));
    let problem = |features: &Features<'_>, targets: &Targets| {
        let problem = Problem { features: Some(features), ..Problem::new(targets) };
        Linear::new(LinearParams::default()).unwrap().fit(&problem, &run).unwrap().report.chosen
    };
    let one_hot = |class: &dyn Fn(usize) -> Option<i64>| {
        Targets::one_hot(&Labels::from_integers((0..400).map(class)), None).unwrap()
    };
    // Blobs far apart: less penalty than the default makes the losses smaller still.
    let clear = problem(&blobs, &one_hot(&|row| (row < 80).then_some(row as i64 % 2)));
    assert!(clear["l2_reg"].as_f64().unwrap() < 0.01, "{clear:?}");
    assert!(clear["cross_validation"].as_array().unwrap().len() >= 3);
    assert!(clear.contains_key("temperature"));
    // Labels at random: the more penalty, the better.
    let random = problem(&noise, &one_hot(&|row| (row < 80).then_some(lapwing_core::hash::mix(row as u64) as i64 & 1)));
    assert_eq!(random["l2_reg"], 1.0);
    // Four labels of a class are too few to choose by.
    let few = problem(&blobs, &one_hot(&|row| (row < 8).then_some(row as i64 % 2)));
    assert_eq!(few["l2_reg"], 0.01);
    assert!(!few.contains_key("cross_validation") && few["temperature"] == 1.0);
}

#[test]
fn units_do_not_matter() {
    let run = Run::new(Some(2), 0).unwrap();
    let (targets, [features, _]) = (labels(60), rows(60, 5));
    let moved: Vec<f64> = dense_values(&features).iter().map(|x| 1000.0 * x - 7e4).collect();
    let moved = Features::from_f64(60, 5, moved).unwrap();
    let scores = [&features, &moved].map(|features| {
        let problem = Problem { features: Some(features), ..Problem::new(&targets) };
        method(None).fit(&problem, &run).unwrap().labeling.scores
    });
    assert!(worst(&scores[0], &scores[1]) < 1e-3, "{}", worst(&scores[0], &scores[1]));
}
