//! Eigenfunctions against a straightforward version on dense matrices.

use crate::testkit::{blobs, dense_values};
use lapwing_core::{Features, Labels, Warning};
use lapwing_solve::dense::eigen_symmetric;

use super::*;
use crate::classifier::extension_to_file;

fn run() -> Run {
    Run::new(Some(2), 0).unwrap()
}

/// f (n, c), and U (n, q): steps 1 to 6 as they are written, one after the other.
fn dense_twin(values: &[f64], d: usize, targets: &Targets, params: &EigenfunctionParams) -> (Matrix, Matrix) {
    let n = values.len() / d;
    let mut x = Matrix::new(n, d, values.to_vec()).unwrap();
    for j in 0..d {
        let mean = (0..n).map(|i| x.row(i)[j]).sum::<f64>() / n as f64;
        (0..n).for_each(|i| x.row_mut(i)[j] -= mean);
    }
    let mut covariance = Matrix::filled(d, d, 0.0);
    for (a, b) in (0..d * d).map(|at| (at / d, at % d)) {
        covariance.row_mut(a)[b] = (0..n).map(|i| x.row(i)[a] * x.row(i)[b]).sum();
    }
    let (_, axes) = eigen_symmetric(&covariance).unwrap();
    let r = 64.min(d);
    let column =
        |j: usize| -> Vec<f64> { (0..n).map(|i| (0..d).map(|k| x.row(i)[k] * axes.row(k)[d - 1 - j]).sum()).collect() };
    let columns: Vec<Vec<f64>> = (0..r).map(column).collect();
    let b = 50.min(n / 10).max(2);
    let mut pool: Vec<(f64, usize, Vec<f64>, Vec<f64>)> = Vec::new();
    for (j, z) in columns.iter().enumerate() {
        let (low, high) = z.iter().fold((f64::MAX, f64::MIN), |(a, b), &v| (a.min(v), b.max(v)));
        let width = (high - low) / b as f64;
        let t: Vec<f64> = (0..b).map(|k| low + (k as f64 + 0.5) * width).collect();
        let count = |k: usize| z.iter().filter(|&&v| (((v - low) / width) as usize).min(b - 1) == k).count() as f64;
        let p: Vec<f64> = (0..b).map(|k| count(k) / n as f64 + 0.1).collect();
        let total: f64 = p.iter().sum();
        let p: Vec<f64> = p.iter().map(|p| p / total).collect();
        let mean = (0..b * b).map(|at| (t[at / b] - t[at % b]).abs()).sum::<f64>() / (b * b) as f64;
        let s = 0.2 * mean;
        let w = |r: usize, c: usize| (-(t[r] - t[c]).powi(2) / (2.0 * s * s)).exp();
        let tilde: Vec<f64> = (0..b).map(|c| (0..b).map(|r| p[r] * w(r, c) * p[c]).sum()).collect();
        let m: Vec<f64> = (0..b).map(|c| p[c] * (0..b).map(|r| p[r] * w(r, c)).sum::<f64>()).collect();
        let mut a = Matrix::filled(b, b, 0.0);
        for (r, c) in (0..b * b).map(|at| (at / b, at % b)) {
            let own = if r == c { tilde[r] } else { 0.0 };
            a.row_mut(r)[c] = (own - p[r] * w(r, c) * p[c]) / (m[r] * m[c]).sqrt();
        }
        let (values, vectors) = eigen_symmetric(&a).unwrap();
        for (k, &value) in values.iter().enumerate().filter(|(_, value)| **value >= 1e-10) {
            pool.push((value, j, (0..b).map(|r| vectors.row(r)[k] / m[r].sqrt()).collect(), t.clone()));
        }
    }
    pool.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    pool.truncate(params.n_eigenfunctions);
    let q = pool.len();
    let mut u = Matrix::filled(n, q + 1, (n as f64).sqrt().recip());
    for (k, (_, j, g, t)) in pool.iter().enumerate() {
        let mut sorted = columns[*j].clone();
        sorted.sort_by(f64::total_cmp);
        let percentile = |share: f64| {
            let rank = share * (n - 1) as f64;
            let (below, above) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
            below + (rank - rank.floor()) * (above - below)
        };
        let (low, high) = (percentile(0.025), percentile(1.0 - 0.025));
        let value = |z: f64| {
            let z = z.clamp(low, high);
            let right = (1..b - 1).find(|&at| t[at] >= z).unwrap_or(b - 1);
            g[right - 1] + (z - t[right - 1]) / (t[right] - t[right - 1]) * (g[right] - g[right - 1])
        };
        let norm = columns[*j].iter().map(|&z| value(z).powi(2)).sum::<f64>().sqrt();
        (0..n).for_each(|i| u.row_mut(i)[k] = value(columns[*j][i]) / norm);
    }
    let columns = q + 1;
    let (c, w) = (targets.n_columns(), 100.0);
    let (mut a, mut rhs) = (Matrix::filled(columns, columns, 0.0), Matrix::filled(columns, c, 0.0));
    for k in 0..columns {
        for (at, &row) in targets.rows().iter().enumerate() {
            let (own, trust) = (u.row(row as usize), targets.weights()[at]);
            (0..columns).for_each(|m| a.row_mut(k)[m] += w * trust * own[k] * own[m]);
            (0..c).for_each(|class| rhs.row_mut(k)[class] += w * trust * own[k] * targets.values().row(at)[class]);
        }
        a.row_mut(k)[k] += pool.get(k).map_or(0.0, |function| function.0);
    }
    let alpha = solve_spd(&a, &rhs).unwrap();
    let mut f = Matrix::filled(n, c, 0.0);
    for (i, class) in (0..n * c).map(|at| (at / c, at % c)) {
        f.row_mut(i)[class] = (0..columns).map(|k| u.row(i)[k] * alpha.row(k)[class]).sum();
    }
    (f, u)
}

#[test]
fn scores_and_functions_are_those_of_the_dense_version() {
    let (n, d) = (700, 5);
    let features = blobs(n, d, 3);
    let values = dense_values(&features);
    let labels = Labels::from_integers((0..n).map(|row| (row % 29 == 3).then_some((row % 3) as i64)));
    let trust: Vec<f64> = (0..n).map(|row| 0.5 + (row % 3) as f64).collect();
    let targets = Targets::one_hot(&labels, Some(&trust)).unwrap();
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    for n_eigenfunctions in [7, 12, 30] {
        let params = EigenfunctionParams { n_eigenfunctions };
        let (f, u) = dense_twin(&values, d, &targets, &params);
        let fitted = Eigenfunction::new(params.clone()).unwrap().fit(&problem, &run()).unwrap();
        let largest = f.values().iter().fold(0.0f64, |most, v| most.max(v.abs()));
        for (found, expected) in fitted.labeling.scores.values().iter().zip(f.values()) {
            assert!((found - expected).abs() < 1e-7 * largest, "{params:?}: {found} against {expected}");
        }
        let file = extension_to_file(&*fitted.extension.unwrap()).unwrap();
        let extension = EigenfunctionExtension::stored(&file, targets.n_columns()).unwrap();
        let functions = extension.evaluate(&features, &run()).unwrap();
        assert_eq!(functions.n_cols(), params.n_eigenfunctions);
        for k in 0..functions.n_cols() {
            let dot: f64 = functions.rows().zip(u.rows()).map(|(a, b)| a[k] * b[k]).sum();
            assert!((dot.abs() - 1.0).abs() < 1e-9, "function {k}: {dot}");
        }
    }
}

#[test]
fn functions_of_a_uniform_square_are_cosines_of_its_sides() {
    // Sides of different length, so that they are the principal axes.
    let side = 60;
    let at = |k: usize| (k as f64 + 0.5) / side as f64;
    let values = (0..side * side).flat_map(|i| [3.0 * at(i / side), at(i % side)]).collect();
    let features = Features::from_f64(side * side, 2, values).unwrap();
    let labels = Labels::from_integers((0..side * side).map(|row| (row % 500 == 0).then_some((row % 2) as i64)));
    let targets = Targets::one_hot(&labels, None).unwrap();
    let problem = Problem { features: Some(&features), ..Problem::new(&targets) };
    let params = EigenfunctionParams { n_eigenfunctions: 2 };
    let fitted = Eigenfunction::new(params).unwrap().fit(&problem, &run()).unwrap();
    let file = extension_to_file(&*fitted.extension.unwrap()).unwrap();
    let extension = EigenfunctionExtension::stored(&file, targets.n_columns()).unwrap();
    let u = extension.evaluate(&features, &run()).unwrap();
    let cosine = |k: usize, i: usize| (std::f64::consts::PI * if k == 0 { at(i / side) } else { at(i % side) }).cos();
    // Both sides have the same functions: their order is that of the axes.
    for k in 0..2 {
        let sums =
            (0..side * side).fold([0.0; 2], |[ab, bb], i| [ab + u.row(i)[k] * cosine(k, i), bb + cosine(k, i).powi(2)]);
        assert!(sums[0].abs() / sums[1].sqrt() > 0.99, "function {k}: correlation {}", sums[0].abs() / sums[1].sqrt());
    }
}

#[test]
fn constant_columns_are_skipped_and_equal_rows_told() {
    let targets = |n: usize| {
        let labels = Labels::from_integers((0..n).map(|row| (row < 2).then_some(row as i64)));
        Targets::one_hot(&labels, None).unwrap()
    };
    let values = (0..300).flat_map(|row| [7.0, (row % 2) as f32 * 10.0 + row as f32 / 300.0, -1.0]).collect();
    let features = Features::from_f32(300, 3, values).unwrap();
    let known = targets(300);
    let problem = Problem { features: Some(&features), ..Problem::new(&known) };
    let method = Eigenfunction::new(EigenfunctionParams::default()).unwrap();
    let fitted = method.fit(&problem, &run()).unwrap();
    assert!((0..300).all(|row| fitted.labeling.labels[row] == row as u32 % 2));
    assert!(fitted.report.warnings.is_empty());
    let equal = Features::from_f32(30, 2, vec![1.5; 60]).unwrap();
    let known = targets(30);
    let problem = Problem { features: Some(&equal), ..Problem::new(&known) };
    let fitted = method.fit(&problem, &run()).unwrap();
    assert_eq!(fitted.report.warnings, [Warning::NoFunction {}]);
    assert!((fitted.labeling.scores.row(7)[0] - 0.5).abs() < 1e-9);
}
